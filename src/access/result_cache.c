/* result_cache.c -- see result_cache.h. */
#include "access/result_cache.h"

#include "base/bytes.h"

#include <pthread.h>

/* rows sent, rows passed, rows of the gathered row, lengths of JSON and of
 * `after` */
enum { HEAD = 8 + 8 + 4 + 4 + 4 };

struct rn_result_cache {
    pthread_mutex_t lock;
    struct rn_cached_result *first; /* the most recently used */
};

struct rn_cached_result *rn_cached_result_new(uint64_t id, uint64_t check)
{
    struct rn_cached_result *a = rn_new(sizeof(*a));

    if (!a)
        return NULL;
    a->id = id;
    a->check = check;
    /* A row is added completely, so the last one may exceed the limit. */
    a->rows = RN_BUF_INIT((size_t)2 * RN_CACHED_RESULT_BYTES_MAX + (64 << 20));
    return a;
}

void rn_cached_result_free(struct rn_cached_result *a)
{
    if (a)
        rn_buf_release(&a->rows);
    rn_free(a);
}

enum rn_code rn_cached_result_add(struct rn_cached_result *a,
                                  struct rn_view json,
                                  const struct rn_query_place *place)
{
    char head[HEAD];
    enum rn_code rc =
        rn_buf_reserve(&a->rows, HEAD + json.len + place->after.len);

    if (rc)
        return rc;
    rn_put_u64_be(head, place->rows);
    rn_put_u64_be(head + 8, place->passed);
    rn_put_u32_be(head + 16, place->document_rows);
    rn_put_u32_be(head + 20, (uint32_t)json.len);
    rn_put_u32_be(head + 24, (uint32_t)place->after.len);
    rc = rn_buf_add(&a->rows, rn_view_of(head, HEAD));
    if (!rc)
        rc = rn_buf_add(&a->rows, json);
    return rc ? rc : rn_buf_add(&a->rows, place->after);
}

bool rn_cached_result_is_empty(const struct rn_cached_result *a)
{
    return a->at == a->rows.len;
}

bool rn_cached_result_next(struct rn_cached_result *a, struct rn_view *json,
                           struct rn_query_place *place)
{
    const char *head = a->rows.at + a->at;
    size_t after;

    if (rn_cached_result_is_empty(a))
        return false;
    *json = rn_view_of(head + HEAD, rn_get_u32_be(head + 20));
    after = rn_get_u32_be(head + 24);
    *place = (struct rn_query_place){
        .rows = rn_get_u64_be(head),
        .passed = rn_get_u64_be(head + 8),
        .document_rows = rn_get_u32_be(head + 16),
        .after = rn_view_of(json->at + json->len, after),
    };
    a->at += HEAD + json->len + after;
    a->sent = place->rows;
    return true;
}

/* ---- the cache ----------------------------------------------------------- */

static void free_list(struct rn_cached_result *list)
{
    while (list) {
        struct rn_cached_result *a = list;
        list = a->next;
        rn_cached_result_free(a);
    }
}

struct rn_result_cache *rn_result_cache_new(void)
{
    struct rn_result_cache *all = rn_new(sizeof(*all));

    if (all)
        pthread_mutex_init(&all->lock, NULL);
    return all;
}

void rn_result_cache_free(struct rn_result_cache *all)
{
    if (!all)
        return;
    free_list(all->first);
    pthread_mutex_destroy(&all->lock);
    rn_free(all);
}

/* Evicts all results from the first one on that is too old or does not fit:
 * those after it are older still.  Returns the evicted ones. */
static struct rn_cached_result *cut(struct rn_result_cache *all, int64_t now_ms)
{
    struct rn_cached_result **at = &all->first, *old;
    size_t bytes = 0;
    uint32_t count = 0;

    for (; *at; at = &(*at)->next) {
        bytes += (*at)->rows.room;
        if (bytes > RN_RESULT_CACHE_BYTES_MAX ||
            ++count > RN_RESULT_CACHE_COUNT_MAX ||
            now_ms - (*at)->used_ms > RN_RESULT_CACHE_MS)
            break;
    }
    old = *at;
    *at = NULL;
    return old;
}

void rn_result_cache_put(struct rn_result_cache *all,
                         struct rn_cached_result *a, int64_t now_ms)
{
    struct rn_cached_result *old;

    a->used_ms = now_ms;
    pthread_mutex_lock(&all->lock);
    a->next = all->first;
    all->first = a;
    old = cut(all, now_ms);
    pthread_mutex_unlock(&all->lock);
    free_list(old);
}

struct rn_cached_result *rn_result_cache_take(struct rn_result_cache *all,
                                              uint64_t id, uint64_t check,
                                              uint64_t sent, int64_t now_ms)
{
    struct rn_cached_result **at, *found = NULL, *old;

    pthread_mutex_lock(&all->lock);
    for (at = &all->first; *at; at = &(*at)->next) {
        if ((*at)->id == id && (*at)->check == check && (*at)->sent == sent) {
            found = *at;
            *at = found->next;
            break;
        }
    }
    old = cut(all, now_ms);
    pthread_mutex_unlock(&all->lock);
    free_list(old);
    return found;
}

size_t rn_result_cache_bytes(struct rn_result_cache *all)
{
    size_t bytes = 0;

    pthread_mutex_lock(&all->lock);
    for (const struct rn_cached_result *a = all->first; a; a = a->next)
        bytes += a->rows.room;
    pthread_mutex_unlock(&all->lock);
    return bytes;
}
