/* mem.h -- memory management: borrowed views, owned buffers, request arenas.
 *
 *   struct rn_view    borrowed bytes.  Never freed.  Valid as long as its
 *                     source.
 *   struct rn_buf     owned, growable bytes with a ceiling.  One owner.
 *   struct rn_arena   everything that dies with the request, in one free.
 *
 * So a signature shows the ownership; the usual case needs no comment.  Nothing
 * else in the tree calls malloc for bytes of unknown length.
 */
#ifndef RN_BASE_MEM_H
#define RN_BASE_MEM_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rn_view {
    const char *at;
    size_t len;
};

#define RN_LIT(s) ((struct rn_view){ (s), sizeof(s) - 1 })
#define RN_FMT(v) (int)(v).len, (v).at /* for "%.*s" */

/* container_of: the struct of type `type` whose member `member` this is. */
#define RN_CONTAINER_OF(at, type, member)                                      \
    ((type *)(void *)((char *)(at)-offsetof(type, member)))

static inline struct rn_view rn_view_of(const void *at, size_t len)
{
    return (struct rn_view){ at, len };
}

static inline struct rn_view rn_view_text(const char *text)
{
    return (struct rn_view){ text, strlen(text) };
}

static inline bool rn_view_eq(struct rn_view a, struct rn_view b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* Unsigned bytes, shorter first on a tie: the order of every store. */
static inline int rn_view_compare(struct rn_view a, struct rn_view b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.at, b.at, n) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static inline bool rn_view_starts(struct rn_view v, struct rn_view prefix)
{
    return v.len >= prefix.len &&
           (prefix.len == 0 || memcmp(v.at, prefix.at, prefix.len) == 0);
}

/* Zeroed memory for one object of a known size.  NULL: out of memory, which the
 * caller reports as RN_NOMEM. */
void *rn_new(size_t size) RN_CHECK;
void rn_free(void *object);

/* Returns free memory to the system.  Takes milliseconds if there is much. */
void rn_trim(void);
/* A copy of a text with its NUL, or NULL. */
char *rn_new_text(const char *text) RN_CHECK;

struct rn_buf {
    char *at;
    size_t len, room, ceiling;
};

/* A zero ceiling would be a bug, so the initialiser demands one. */
#define RN_BUF_INIT(max) ((struct rn_buf){ .ceiling = (max) })

/* All four fail with RN_TOO_LARGE at the ceiling, RN_NOMEM without memory, and
 * then leave the buffer as it was. */
enum rn_code rn_buf_add(struct rn_buf *b, struct rn_view v) RN_CHECK;
/* Adds the view's length in two bytes, high one first, then the view.
 * RN_TOO_LARGE if two bytes cannot hold the length. */
enum rn_code rn_buf_add_counted(struct rn_buf *b, struct rn_view v) RN_CHECK;
enum rn_code rn_buf_printf(struct rn_buf *b, const char *fmt, ...)
    RN_PRINTF(2, 3) RN_CHECK;
/* Called by rn_buf_reserve alone, when there is no room. */
enum rn_code rn_buf_grow(struct rn_buf *b, size_t more) RN_CHECK;
/* Ensures that `more` bytes can be written at b->at + b->len. */
static inline RN_CHECK enum rn_code rn_buf_reserve(struct rn_buf *b,
                                                   size_t more)
{
    return b->room && more <= b->room - b->len ? RN_OK : rn_buf_grow(b, more);
}

static inline struct rn_view rn_buf_view(const struct rn_buf *b)
{
    return (struct rn_view){ b->at, b->len };
}
char *rn_buf_take(struct rn_buf *b); /* caller frees; b is empty again */
void rn_buf_clear(struct rn_buf *b); /* empty, keeps its memory */
/* Exchanges their memory and empties both; the ceilings stay. */
void rn_buf_swap(struct rn_buf *a, struct rn_buf *b);
void rn_buf_release(struct rn_buf *b);

struct rn_arena {
    struct rn_slab *head;
    size_t used, ceiling;
};

#define RN_ARENA_INIT(max) ((struct rn_arena){ .ceiling = (max) })

/* Both give NULL bytes at the ceiling or without memory.  Memory is aligned for
 * any object and not zeroed. */
void *rn_arena_alloc(struct rn_arena *a, size_t size) RN_CHECK;
struct rn_view rn_arena_copy(struct rn_arena *a, struct rn_view v) RN_CHECK;
void rn_arena_clear(struct rn_arena *a); /* empty, keeps its first slab */
void rn_arena_release(struct rn_arena *a);

#endif
