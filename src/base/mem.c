/* mem.c -- see mem.h. */
#include "base/mem.h"

#include <assert.h>
#include <malloc.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BUF_FIRST = 256,   /* most buffers hold one header or key */
    SLAB_FIRST = 4096, /* most requests need no second slab */
    SLAB_MAX = 1 << 20,
};

void *rn_new(size_t size)
{
    return calloc(1, size);
}

void rn_free(void *object)
{
    free(object);
}

void rn_trim(void)
{
    (void)malloc_trim(0);
}

char *rn_new_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = rn_new(size);

    if (copy)
        memcpy(copy, text, size);
    return copy;
}

/* ---- buffers ------------------------------------------------------------- */

enum rn_code rn_buf_grow(struct rn_buf *b, size_t more)
{
    size_t room = b->room ? b->room : BUF_FIRST;
    char *at;

    assert(b->ceiling > 0);
    if (more > b->ceiling || b->len > b->ceiling - more)
        return RN_TOO_LARGE;
    if (b->len + more <= b->room)
        return RN_OK;
    while (room < b->len + more)
        room *= 2;
    if (room > b->ceiling)
        room = b->ceiling;
    at = realloc(b->at, room);
    if (!at)
        return RN_NOMEM;
    b->at = at;
    b->room = room;
    return RN_OK;
}

enum rn_code rn_buf_add(struct rn_buf *b, struct rn_view v)
{
    enum rn_code rc = rn_buf_reserve(b, v.len);

    if (rc)
        return rc;
    if (v.len)
        memcpy(b->at + b->len, v.at, v.len);
    b->len += v.len;
    return RN_OK;
}

enum rn_code rn_buf_add_counted(struct rn_buf *b, struct rn_view v)
{
    const char len[2] = { (char)(v.len >> 8), (char)v.len };
    enum rn_code rc =
        v.len > UINT16_MAX ? RN_TOO_LARGE : rn_buf_reserve(b, v.len + 2);

    if (!rc)
        rc = rn_buf_add(b, rn_view_of(len, 2));
    return rc ? rc : rn_buf_add(b, v);
}

enum rn_code rn_buf_printf(struct rn_buf *b, const char *fmt, ...)
{
    va_list args;
    enum rn_code rc;
    int need;

    va_start(args, fmt);
    need = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    assert(need >= 0);
    rc = rn_buf_reserve(b, (size_t)need + 1); /* vsnprintf adds a NUL */
    if (rc)
        return rc;
    va_start(args, fmt);
    vsnprintf(b->at + b->len, (size_t)need + 1, fmt, args);
    va_end(args);
    b->len += (size_t)need;
    return RN_OK;
}

char *rn_buf_take(struct rn_buf *b)
{
    char *at = b->at;

    *b = RN_BUF_INIT(b->ceiling);
    return at;
}

void rn_buf_clear(struct rn_buf *b)
{
    b->len = 0;
}

void rn_buf_swap(struct rn_buf *a, struct rn_buf *b)
{
    struct rn_buf was = *a;

    *a = (struct rn_buf){ b->at, 0, b->room, a->ceiling };
    *b = (struct rn_buf){ was.at, 0, was.room, b->ceiling };
}

void rn_buf_release(struct rn_buf *b)
{
    free(b->at);
    *b = (struct rn_buf){ .ceiling = b->ceiling };
}

/* ---- arenas -------------------------------------------------------------- */

/* Slabs form a list, newest first; only the newest has free space. */
struct rn_slab {
    struct rn_slab *older;
    size_t used, size;
    alignas(max_align_t) char bytes[];
};

static struct rn_slab *slab_new(const struct rn_arena *a, size_t need)
{
    size_t size = a->head ? a->head->size * 2 : SLAB_FIRST;
    struct rn_slab *slab;

    if (size > SLAB_MAX)
        size = SLAB_MAX;
    if (size < need)
        size = need;
    slab = malloc(sizeof(*slab) + size);
    if (!slab)
        return NULL;
    slab->older = a->head;
    slab->used = 0;
    slab->size = size;
    return slab;
}

void *rn_arena_alloc(struct rn_arena *a, size_t size)
{
    const size_t grain = alignof(max_align_t);
    size_t need;
    void *at;

    assert(a->ceiling > 0);
    if (size > a->ceiling || a->used > a->ceiling - size)
        return NULL;
    need = (size + grain - 1) / grain * grain;
    if (need == 0)
        need = grain;
    if (!a->head || a->head->size - a->head->used < need) {
        struct rn_slab *slab = slab_new(a, need);
        if (!slab)
            return NULL;
        a->head = slab;
    }
    at = a->head->bytes + a->head->used;
    a->head->used += need;
    a->used += size;
    return at;
}

struct rn_view rn_arena_copy(struct rn_arena *a, struct rn_view v)
{
    char *at = rn_arena_alloc(a, v.len);

    if (!at)
        return (struct rn_view){ 0 };
    if (v.len)
        memcpy(at, v.at, v.len);
    return (struct rn_view){ at, v.len };
}

static void free_slabs(struct rn_slab *slab, const struct rn_slab *keep)
{
    while (slab && slab != keep) {
        struct rn_slab *older = slab->older;
        free(slab);
        slab = older;
    }
}

void rn_arena_clear(struct rn_arena *a)
{
    struct rn_slab *first = a->head;

    while (first && first->older)
        first = first->older;
    free_slabs(a->head, first);
    if (first)
        first->used = 0;
    a->head = first;
    a->used = 0;
}

void rn_arena_release(struct rn_arena *a)
{
    free_slabs(a->head, NULL);
    *a = RN_ARENA_INIT(a->ceiling);
}
