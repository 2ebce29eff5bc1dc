/* json_fuzz.c -- libFuzzer on the JSON parser.
 *
 * Any bytes: parsing must not crash.  What is taken must print, and what was
 * printed must give the same tape again, with the same scalars.  Both rules for
 * repeated names are tried: where we refuse, the other may only differ by
 * dropping members.  The first byte chooses limits, so that these are met too.
 *
 * Built only by clang, with -DRUNNEL_FUZZ=ON; a good corpus is one file per
 * line of tests/json/cases.txt (see fuzz/seed_json.sh).
 */
#include "json/print.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "json_fuzz: %s\n", what);
    abort();
}

static void same_tape(const struct rn_json *a, const struct rn_json *b)
{
    check(a->count == b->count, "as many nodes");
    for (uint32_t i = 0; i < a->count; i++) {
        const struct rn_json_node *x = &a->nodes[i], *y = &b->nodes[i];
        check(x->kind == y->kind && x->span == y->span &&
                  x->count == y->count && x->escaped == y->escaped,
              "the same node");
        check(x->kind >= RN_JSON_ARRAY ||
                  rn_view_eq(rn_json_text(a, i), rn_json_text(b, i)),
              "the same text");
    }
}

/* Numbers and strings are read and printed anew; they must keep their value. */
static void read_scalars(const struct rn_json *j)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 24);

    for (uint32_t i = 0; i < j->count; i++) {
        struct rn_buf buf = RN_BUF_INIT(1 << 24);
        struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
        struct rn_json back;
        struct rn_view text;
        int64_t integer;
        if (j->nodes[i].kind != RN_JSON_STRING &&
            j->nodes[i].kind != RN_JSON_NUMBER)
            continue;
        rn_json_init(&back, NULL);
        if (j->nodes[i].kind == RN_JSON_STRING) {
            check(!rn_json_string_copy(j, i, &arena, &text), "room to copy");
            check(rn_json_string_is(j, i, text), "a string is its copy");
            rn_json_out_string(&o, text);
        } else {
            rn_json_out_double(&o, rn_json_double(j, i));
            if (rn_json_int64(j, i, &integer))
                check((double)integer == rn_json_double(j, i),
                      "integer and double agree");
        }
        check(!rn_json_out_finish(&o), "room to print");
        check(!rn_json_parse(&back, rn_buf_view(&buf), NULL), "JSON again");
        if (j->nodes[i].kind == RN_JSON_STRING)
            check(rn_json_string_is(&back, 0, text), "the same string");
        else
            check(rn_json_double(&back, 0) == rn_json_double(j, i),
                  "the same number");
        rn_json_release(&back);
        rn_buf_release(&buf);
    }
    rn_arena_release(&arena);
}

static void survives_printing(const struct rn_json *j,
                              const struct rn_json_limits *limits)
{
    struct rn_buf buf = RN_BUF_INIT(1 << 24);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
    struct rn_json again;

    rn_json_init(&again, limits);
    rn_json_out_value(&o, j, 0);
    check(!rn_json_out_finish(&o), "room to print");
    check(!rn_json_parse(&again, rn_buf_view(&buf), NULL), "JSON again");
    same_tape(j, &again);
    rn_json_release(&again);
    rn_buf_release(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rn_json_limits limits = { .depth = 16 };
    struct rn_err err = { 0 };
    struct rn_json strict, lenient;
    struct rn_view text;
    enum rn_code rc;

    if (size == 0)
        return 0;
    if (data[0] & 1)
        limits.nodes = 20;
    if (data[0] & 2)
        limits.names = 5;
    text = rn_view_of(data + 1, size - 1);
    rn_json_init(&strict, &limits);
    limits.twice = RN_JSON_TWICE_LAST_WINS;
    rn_json_init(&lenient, &limits);

    rc = rn_json_parse(&strict, text, &err);
    check(rc == RN_OK || (err.code == rc && err.text[0]), "words for refusal");
    if (rc == RN_OK) {
        read_scalars(&strict);
        survives_printing(&strict, &limits);
        check(!rn_json_parse(&lenient, text, NULL), "strict implies lenient");
        same_tape(&strict, &lenient);
    } else if (!rn_json_parse(&lenient, text, NULL)) {
        check(!lenient.is_compact, "a member was dropped");
        survives_printing(&lenient, &limits);
    }
    rn_json_release(&strict);
    rn_json_release(&lenient);
    return 0;
}
