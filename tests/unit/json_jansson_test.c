/* json_jansson_test.c -- another parser must agree, on valid and broken texts.
 *
 * A seeded generator makes documents of all kinds of values; half of them are
 * then broken by a few random edits of their bytes.  jansson and we must give
 * the same verdict, and where both take a text, the same tree: names, order
 * aside; strings unescaped; numbers as doubles.  What we take must also survive
 * printing.
 *
 * jansson is asked for what we do by choice: any value at the root, NUL in
 * strings, no repeated names, and integers read as doubles, since it refuses
 * those beyond 64 bits.  Then these differences are left:
 *
 *   - jansson refuses a NUL in a name whatever it is asked; we take it
 *   - jansson refuses a byte order mark in front, so it is not shown one
 *   - jansson nests to 2,048, we to 1,024 here; no text is that deep
 *
 *   json_jansson_test [seed [documents [seconds]]]
 *
 * Runs until either bound is met and prints the seed and both.
 */
#include "json/print.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { TEXT_MAX = 1 << 16, BUF_MAX = 4 * TEXT_MAX };

static struct {
    uint64_t seed;
    long documents;
    double seconds;
} bounds = { 1, 200000, 10 };

struct dice {
    uint64_t state;
};

/* splitmix64 */
static uint64_t roll(struct dice *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(struct dice *d, uint32_t limit)
{
    return (uint32_t)(roll(d) % limit);
}

/* ---- making texts -------------------------------------------------------- */

struct maker {
    struct dice dice;
    struct rn_buf out;
    uint32_t depth;
    bool is_compact;
};

static void put(struct maker *m, const char *text)
{
    assert_int_equal(rn_buf_add(&m->out, rn_view_text(text)), RN_OK);
}

static const char *pick(struct maker *m, const char *const *from, uint32_t n)
{
    return from[below(&m->dice, n)];
}
#define PICK(m, a) pick(m, a, sizeof(a) / sizeof((a)[0]))

static void make_space(struct maker *m)
{
    static const char *const spaces[] = { " ",    "\n", "\t",
                                          "\r\n", "  ", "\n         " };

    if (!m->is_compact && below(&m->dice, 3) == 0)
        put(m, PICK(m, spaces));
}

static void make_string(struct maker *m)
{
    static const char *const pieces[] = {
        "a",
        "id",
        "name",
        "0",
        " ",
        "/",
        "\\/",
        "\\\"",
        "\\\\",
        "\\n",
        "\\u0000",
        "\\u0041",
        "\\u00e9",
        "\\uD83D\\uDE80",
        "\\ud7ff",
        "\\uffff",
        "\xc3\xa9",
        "\xe6\x97\xa5",
        "\xf0\x9f\x9a\x80",
        "\x7f",
        "some longer plain text, over sixteen bytes",
    };
    uint32_t n = below(&m->dice, 5);

    put(m, "\"");
    for (uint32_t i = 0; i < n; i++)
        put(m, PICK(m, pieces));
    put(m, "\"");
}

static void make_name(struct maker *m)
{
    static const char *const often[] = { "\"a\"", "\"b\"", "\"\\u0061\"",
                                         "\"id\"", "\"\"" };
    char text[32];

    switch (below(&m->dice, 8)) {
    case 0:
        put(m, PICK(m, often));
        break;
    case 1:
        make_string(m);
        break;
    default:
        snprintf(text, sizeof(text), "\"k%u\"", below(&m->dice, 100000));
        put(m, text);
    }
}

static void make_number(struct maker *m)
{
    static const char *const odd[] = {
        "-0",    "1e400",    "1e-400", "5e-324", "1E+2", "0.1e-7",
        "1e308", "-1.5e308", "2e308",  "0e999",  "1.0",  "9007199254740993"
    };
    char text[64];
    double d;

    switch (below(&m->dice, 4)) {
    case 0:
        put(m, PICK(m, odd));
        return;
    case 1:
        snprintf(text, sizeof(text), "%lld", (long long)roll(&m->dice));
        break;
    case 2:
        snprintf(text, sizeof(text), "%u", below(&m->dice, 1000));
        break;
    default:
        d = (double)(int64_t)roll(&m->dice) /
            (double)(1 + below(&m->dice, 999));
        snprintf(text, sizeof(text), "%.*g", 1 + (int)below(&m->dice, 25), d);
    }
    put(m, text);
}

static void make_value(struct maker *m);

static void make_container(struct maker *m, bool is_object)
{
    uint32_t n =
        below(&m->dice, 40) == 0 ? below(&m->dice, 120) : below(&m->dice, 6);

    m->depth++;
    put(m, is_object ? "{" : "[");
    for (uint32_t i = 0; i < n && m->out.len < TEXT_MAX / 2; i++) {
        if (i)
            put(m, ",");
        make_space(m);
        if (is_object) {
            make_name(m);
            make_space(m);
            put(m, ":");
        }
        make_space(m);
        make_value(m);
        make_space(m);
    }
    put(m, is_object ? "}" : "]");
    m->depth--;
}

static void make_value(struct maker *m)
{
    static const char *const words[] = { "null", "true", "false" };
    uint32_t which = below(&m->dice, m->depth < 6 ? 10 : 6);

    if (which < 2)
        make_number(m);
    else if (which < 5)
        make_string(m);
    else if (which == 5)
        put(m, PICK(m, words));
    else
        make_container(m, which >= 8);
}

static void edit(struct maker *m)
{
    static const char *const splices[] = {
        "\"",
        "\\",
        ",",
        ":",
        "{",
        "}",
        "[",
        "]",
        "0",
        "-",
        ".",
        "e",
        "1",
        " ",
        "\n",
        "\\u",
        "\\ud800",
        "\\udc00",
        "\xff",
        "\xc0",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\x01",
        "null",
        "tru",
        "\xef\xbb\xbf",
        "//",
    };
    size_t at = m->out.len ? below(&m->dice, (uint32_t)m->out.len) : 0;
    struct rn_view with = rn_view_text(PICK(m, splices));
    size_t cut = below(&m->dice, 3);

    if (below(&m->dice, 8) == 0) {
        m->out.len = at; /* ends here */
        return;
    }
    if (below(&m->dice, 4) == 0)
        with.len = 0;
    if (cut > m->out.len - at)
        cut = m->out.len - at;
    assert_int_equal(rn_buf_reserve(&m->out, with.len), RN_OK);
    memmove(m->out.at + at + with.len, m->out.at + at + cut,
            m->out.len - at - cut);
    memcpy(m->out.at + at, with.at, with.len);
    m->out.len = m->out.len + with.len - cut;
}

/* One text, from a seed of its own, so that a failure can be made again. */
static void make_text(struct maker *m, uint64_t seed)
{
    m->dice.state = seed;
    m->depth = 0;
    rn_buf_clear(&m->out);
    m->is_compact = below(&m->dice, 2) == 0;
    make_space(m);
    make_value(m);
    make_space(m);
    if (below(&m->dice, 2) == 0) {
        for (uint32_t n = 1 + below(&m->dice, 3); n > 0; n--)
            edit(m);
    }
}

/* ---- comparing ----------------------------------------------------------- */

static bool same_string(const struct rn_json *j, uint32_t ours,
                        const json_t *theirs)
{
    return rn_json_string_is(
        j, ours,
        rn_view_of(json_string_value(theirs), json_string_length(theirs)));
}

static bool same(const struct rn_json *j, uint32_t ours, const json_t *theirs);

static bool same_array(const struct rn_json *j, uint32_t ours,
                       const json_t *theirs)
{
    struct rn_json_walk w = rn_json_walk_begin(j, ours);
    size_t n = 0;

    while (rn_json_walk_next(&w)) {
        if (!same(j, w.value, json_array_get(theirs, n++)))
            return false;
    }
    return n == json_array_size(theirs);
}

static bool same_object(const struct rn_json *j, uint32_t ours, json_t *theirs)
{
    const char *name;
    json_t *value;

    if (rn_json_count(j, ours) != json_object_size(theirs))
        return false;
    json_object_foreach(theirs, name, value)
    {
        if (!same(j, rn_json_find(j, ours, rn_view_text(name)), value))
            return false;
    }
    return true;
}

static bool same(const struct rn_json *j, uint32_t ours, const json_t *theirs)
{
    switch (rn_json_kind(j, ours)) {
    case RN_JSON_NULL:
        return json_is_null(theirs);
    case RN_JSON_FALSE:
        return json_is_false(theirs);
    case RN_JSON_TRUE:
        return json_is_true(theirs);
    case RN_JSON_NUMBER:
        return json_is_real(theirs) &&
               json_real_value(theirs) == rn_json_double(j, ours);
    case RN_JSON_STRING:
        return json_is_string(theirs) && same_string(j, ours, theirs);
    case RN_JSON_ARRAY:
        return json_is_array(theirs) && same_array(j, ours, theirs);
    case RN_JSON_OBJECT:
        return json_is_object(theirs) &&
               same_object(j, ours, (json_t *)(uintptr_t)theirs);
    case RN_JSON_UNDEFINED:
        return false;
    }
    return false;
}

/* The tape of what was printed is the tape that was printed. */
static bool survives_printing(const struct rn_json *j, struct rn_buf *out,
                              struct rn_json *again)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_buf_clear(out);
    rn_json_out_value(&o, j, 0);
    if (rn_json_out_finish(&o) ||
        rn_json_parse(again, rn_buf_view(out), NULL) ||
        again->count != j->count)
        return false;
    for (uint32_t i = 0; i < j->count; i++) {
        if (j->nodes[i].kind != again->nodes[i].kind ||
            j->nodes[i].span != again->nodes[i].span)
            return false;
        if (j->nodes[i].kind < RN_JSON_ARRAY &&
            !rn_view_eq(rn_json_text(j, i), rn_json_text(again, i)))
            return false;
    }
    return true;
}

struct judges {
    struct rn_json ours, again;
    struct rn_buf printed;
    long taken, refused, skipped;
};

static const char *judge(struct judges *jd, struct rn_view text)
{
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL |
                         JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL;
    json_error_t error;
    size_t mark =
        text.len >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    json_t *theirs = json_loadb(text.at + mark, text.len - mark, flags, &error);
    enum rn_code rc = rn_json_parse(&jd->ours, text, NULL);
    const char *complaint = NULL;

    if (!theirs && strstr(error.text, "NUL byte in object key"))
        jd->skipped++;
    else if (!theirs != (rc != RN_OK))
        complaint = theirs ? "only jansson takes it" : "only we take it";
    else if (theirs && !same(&jd->ours, 0, theirs))
        complaint = "the trees differ";
    if (!rc && !complaint &&
        !survives_printing(&jd->ours, &jd->printed, &jd->again))
        complaint = "it does not survive printing";
    jd->taken += rc == RN_OK;
    jd->refused += rc != RN_OK;
    json_decref(theirs);
    return complaint;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void both_parsers_agree(void **state)
{
    struct rn_json_limits limits = { .depth = RN_JSON_DEPTH_MAX };
    struct maker m = { .out = RN_BUF_INIT(BUF_MAX) };
    struct judges jd = { .printed = RN_BUF_INIT(BUF_MAX) };
    double start = now();
    long n = 0;

    (void)state;
    rn_json_init(&jd.ours, &limits);
    rn_json_init(&jd.again, &limits);
    for (; n < bounds.documents && now() - start < bounds.seconds; n++) {
        const char *complaint;
        make_text(&m, bounds.seed * 1000000007u + (uint64_t)n);
        complaint = judge(&jd, rn_buf_view(&m.out));
        if (complaint) {
            fail_msg("seed %llu, document %ld: %s: %.*s",
                     (unsigned long long)bounds.seed, n, complaint,
                     RN_FMT(rn_buf_view(&m.out)));
        }
    }
    print_message("seed %llu: %ld documents in %.1f s; %ld taken, %ld refused, "
                  "%ld not compared\n",
                  (unsigned long long)bounds.seed, n, now() - start, jd.taken,
                  jd.refused, jd.skipped);
    assert_true(jd.taken > n / 10 && jd.refused > n / 10);
    assert_true(jd.skipped < n / 10);
    rn_json_release(&jd.ours);
    rn_json_release(&jd.again);
    rn_buf_release(&jd.printed);
    rn_buf_release(&m.out);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_parsers_agree),
    };

    if (argc > 1)
        bounds.seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        bounds.documents = strtol(argv[2], NULL, 10);
    if (argc > 3)
        bounds.seconds = strtod(argv[3], NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
