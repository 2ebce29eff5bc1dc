/* batch.c -- see batch.h. */
#include "client/feed/batch.h"

#include "client/feed/scope.h"

#include <assert.h>

enum { BATCH_ARENA_MAX = 64 << 20 };

static const char *text_copy(struct rn_arena *arena, struct rn_view text)
{
    char *copy = rn_arena_alloc(arena, text.len + 1);

    if (!copy)
        return NULL;
    if (text.len)
        memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return copy;
}

static bool range_fill(runnel_batch *b, const struct rn_batch_options *options)
{
    struct rn_buf text = RN_BUF_INIT(2 * RN_EPK_TEXT_MAX + 8);
    char hex[RN_EPK_TEXT_MAX];
    bool ok;

    b->range.id = text_copy(&b->arena, rn_view_text(options->range_id));
    b->range.min = text_copy(&b->arena, rn_epk_print(&options->keys->min, hex));
    b->range.max = text_copy(&b->arena, rn_epk_print(&options->keys->max, hex));
    ok = !rn_scope_print_range(options->keys, &text);
    if (ok)
        b->range.text = text_copy(&b->arena, rn_buf_view(&text));
    rn_buf_release(&text);
    return b->range.id && b->range.min && b->range.max && b->range.text;
}

static bool fill(runnel_batch *b, const struct rn_batch_options *options)
{
    size_t bytes = options->pick_count * sizeof(*options->picks);
    uint32_t *picks = NULL;

    b->count = options->page->count;
    if (options->picks) {
        picks = rn_arena_alloc(&b->arena, bytes);
        if (!picks)
            return false;
        memcpy(picks, options->picks, bytes);
        b->count = options->pick_count;
    }
    b->picks = picks;
    b->token = text_copy(&b->arena, rn_view_text(options->token));
    b->rid =
        text_copy(&b->arena, rn_view_text(options->rid ? options->rid
                                                       : options->page->rid));
    return b->token && b->rid && range_fill(b, options);
}

runnel_code rn_batch_new(const struct rn_batch_options *options,
                         runnel_batch **out, runnel_error *error)
{
    runnel_batch *b = rn_new(sizeof(*b));

    if (!b)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "out of memory");
    atomic_init(&b->refs, 1);
    b->arena = RN_ARENA_INIT(BATCH_ARENA_MAX);
    b->page = rn_change_page_ref(options->page);
    if (!fill(b, options)) {
        rn_batch_unref(b);
        return rn_error_set(error, RUNNEL_NO_MEMORY, "out of memory");
    }
    *out = b;
    return RUNNEL_OK;
}

const runnel_change *rn_batch_at(const runnel_batch *b, size_t i)
{
    assert(i < b->count);
    return &b->page->changes[b->picks ? b->picks[i] : i];
}

runnel_batch *rn_batch_ref(runnel_batch *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void rn_batch_unref(runnel_batch *b)
{
    if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
        return;
    rn_change_page_unref(b->page);
    rn_arena_release(&b->arena);
    rn_free(b);
}
