/* bloom_fill.c -- see bloom_fill.h. */
#include "engine/document/bloom_fill.h"

#include "engine/engine_state.h"

enum {
    SLICE_KEYS = 1024,
    CLOCK_KEYS = 16, /* between two looks at the clock */
    SLICE_NS = 1000000,
};

void rn_bloom_fill_want(struct rn_engine *e, uint32_t container)
{
    struct rn_bloom_fill *f = &e->bloom_fill;
    struct rn_key end;

    if (f->container || !rn_bloom_begin_partial(&e->blooms, container))
        return;
    f->container = container;
    rn_key_span_tag(container, RN_TAG_DOCUMENT, &f->at, &end);
    rn_background_set(e, RN_BACKGROUND_BLOOM, 0);
}

/* Adds keys up to a slice, and no longer than some time: pages that are not in
 * memory are read from the disk.  RN_NOT_FOUND after the last key. */
static enum rn_code add_some(struct rn_engine *e, struct rn_cursor *c)
{
    struct rn_bloom_fill *f = &e->bloom_fill;
    int64_t end_ns = rn_mono_ns(e->env) + SLICE_NS;
    enum rn_code rc = RN_OK;

    for (int i = 0; !rc && i < SLICE_KEYS; i++) {
        struct rn_view key, value;

        if (i % CLOCK_KEYS == CLOCK_KEYS - 1 && rn_mono_ns(e->env) >= end_ns)
            break;
        rc = rn_cursor_next(c, &key, &value);
        if (rc)
            break;
        rn_bloom_add(&e->blooms, f->container, key);
        memcpy(f->next.bytes, key.at, key.len);
        f->next.len = key.len;
        f->next.bytes[f->next.len++] = 0; /* just after it */
    }
    return rc;
}

static enum rn_code run(struct rn_engine *e, struct rn_txn *txn)
{
    struct rn_bloom_fill *f = &e->bloom_fill;
    struct rn_key first, before;
    struct rn_key_interval rest;
    struct rn_cursor *c = NULL;
    enum rn_code rc;

    f->next = f->at;
    f->is_end = true;
    if (!rn_bloom_is_partial(&e->blooms, f->container))
        return RN_OK; /* too large, or the container was deleted; or no work */
    rn_key_span_tag(f->container, RN_TAG_DOCUMENT, &first, &before);
    rest = (struct rn_key_interval){ .from = rn_key_view(&f->at),
                                     .before = rn_key_view(&before) };
    rc = rn_txn_scan(txn, &rest, &c);
    if (!rc)
        rc = add_some(e, c);
    rn_cursor_end(c);
    f->is_end = rc == RN_NOT_FOUND;
    return f->is_end ? RN_OK : rc;
}

/* Where keys cannot be read there is no filter until the next start. */
static void done(struct rn_engine *e, enum rn_code rc, const struct rn_err *err)
{
    struct rn_bloom_fill *f = &e->bloom_fill;

    (void)err;
    f->at = f->next;
    if (!rc && !f->is_end)
        return;
    if (rc)
        rn_bloom_drop(&e->blooms, f->container);
    else
        rn_bloom_complete(&e->blooms, f->container);
    f->container = 0;
    rn_background_set(e, RN_BACKGROUND_BLOOM, RN_NEVER);
}

const struct rn_background_ops rn_bloom_background = {
    .priority = 1,
    .is_paced = true,
    .flags = RN_OPERATION_FREES, /* it takes no space, at least */
    .run = run,
    .done = done,
};
