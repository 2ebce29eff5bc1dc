/* batches.c -- see batches.h. */
#include "lib/batches.h"

#include <stdio.h>

struct rn_batch_operation ops[RN_BATCH_MAX];
struct rn_batch batch;
struct rn_err err;

static struct rn_arena arena;

#define DEFINITION CONTAINER(",\"defaultTtl\":-1")

int batches_open(uint32_t ranges)
{
    arena = RN_ARENA_INIT(64 << 20);
    return one_container_open(DEFINITION, ranges);
}

int batches_open_real(void)
{
    arena = RN_ARENA_INIT(64 << 20);
    return one_container_open_real(DEFINITION);
}

int batches_close(void **state)
{
    rn_arena_release(&arena);
    return one_container_close(state);
}

struct rn_pk *key_of(const char *text)
{
    struct rn_pk *pk = rn_arena_alloc(&arena, sizeof(*pk));

    assert_int_equal(rn_pk_parse(rn_view_text(text), &arena, pk, NULL), RN_OK);
    return pk;
}

void batch_begin(enum rn_batch_mode mode, const char *pk)
{
    memset(ops, 0, sizeof(ops));
    batch = (struct rn_batch){ .mode = mode,
                               .container = one_container->container,
                               .pk = pk ? key_of(pk) : NULL,
                               .operations = ops };
}

struct rn_batch_operation *batch_add_keyed(enum rn_document_verb verb,
                                           const char *pk, const char *id,
                                           const char *body)
{
    struct rn_batch_operation *op = &ops[batch.count++];

    op->verb = verb;
    op->pk = pk ? key_of(pk) : batch.pk;
    if (id)
        op->id = rn_view_text(id);
    if (body)
        op->body = rn_view_text(body);
    return op;
}

struct rn_batch_operation *batch_add(enum rn_document_verb verb, const char *id,
                                     const char *body)
{
    return batch_add_keyed(verb, NULL, id, body);
}

enum rn_code batch_run(void)
{
    return run_batch(&db, &batch, &err);
}

void assert_codes(const enum rn_code *codes)
{
    for (size_t i = 0; i < batch.count; i++)
        if (ops[i].code != codes[i])
            fail_msg("operation %zu: %s: %s", i, rn_code_name(ops[i].code),
                     ops[i].err.text);
}

const char *large(const char *rest)
{
    static char text[40 << 10];
    static char filler[32 << 10];

    memset(filler, 'x', sizeof(filler) - 1);
    snprintf(text, sizeof(text), "{\"id\":\"a\",\"pk\":1,\"f\":\"%s\"%s}",
             filler, rest);
    return text;
}

enum rn_code patch(const char *id, const char *body)
{
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_PATCH, id, body);
    assert_int_equal(batch_run(), RN_OK);
    rn_batch_release(&batch);
    return ops[0].code;
}

uint64_t lsn_now(void)
{
    struct document probe = { 0 };
    uint64_t lsn;

    (void)!read_document(&db, one_container, "[1]", "nobody", &probe);
    lsn = probe.place.lsn;
    document_clear(&probe);
    return lsn;
}

void assert_stored(const char *id, const char *part)
{
    assert_int_equal(read_document(&db, one_container, "[1]", id, &doc), RN_OK);
    if (!strstr(doc.body, part))
        fail_msg("no %s in %.200s", part, doc.body);
}

void assert_absent(const char *id)
{
    assert_int_equal(read_document(&db, one_container, "[1]", id, &doc),
                     RN_NOT_FOUND);
}
