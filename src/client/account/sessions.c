/* sessions.c -- session tokens by container and range; see sessions.h. */
#include "client/account/sessions.h"

#include <pthread.h>
#include <stdio.h>

enum {
    PARTS_BYTES_MAX = 64 << 20,
    RID_MAX = 32,
};

/* What was seen of one container. */
struct seen {
    struct seen *next;
    char *container;
    char rid[RID_MAX];
    struct rn_buf parts; /* of struct rn_session */
};

/* Rank 2 of the client's locks. */
struct rn_sessions {
    pthread_mutex_t lock;
    struct seen *first;
};

runnel_code rn_sessions_new(struct rn_sessions **out, runnel_error *error)
{
    struct rn_sessions *s = rn_new(sizeof(*s));

    if (!s)
        return rn_error_no_memory(error);
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return RUNNEL_OK;
}

static void free_seen(struct seen *one)
{
    rn_free(one->container);
    rn_buf_release(&one->parts);
    rn_free(one);
}

void rn_sessions_free(struct rn_sessions *s)
{
    if (!s)
        return;
    while (s->first) {
        struct seen *one = s->first;
        s->first = one->next;
        free_seen(one);
    }
    pthread_mutex_destroy(&s->lock);
    rn_free(s);
}

static struct seen *find(struct rn_sessions *s, struct rn_view container)
{
    for (struct seen *one = s->first; one; one = one->next) {
        if (rn_view_eq(rn_view_text(one->container), container))
            return one;
    }
    return NULL;
}

static struct seen *add(struct rn_sessions *s, struct rn_view container)
{
    struct seen *one = rn_new(sizeof(*one));
    char *name = rn_new(container.len + 1);

    if (!one || !name) {
        rn_free(one);
        rn_free(name);
        return NULL;
    }
    memcpy(name, container.at, container.len);
    one->container = name;
    one->parts = RN_BUF_INIT(PARTS_BYTES_MAX);
    one->next = s->first;
    s->first = one;
    return one;
}

static struct rn_session *parts(const struct seen *one, size_t *count)
{
    *count = one->parts.len / sizeof(struct rn_session);
    return (struct rn_session *)(void *)one->parts.at;
}

static enum rn_code note_part(struct seen *one, const struct rn_session *part)
{
    size_t count;
    struct rn_session *have = parts(one, &count);

    for (size_t i = 0; i < count; i++) {
        if (have[i].range != part->range)
            continue;
        /* Of one version but other regions: the answer is the newer. */
        if (rn_session_merge(&have[i], part, NULL) != RN_OK)
            have[i] = *part;
        return RN_OK;
    }
    return rn_buf_add(&one->parts, rn_view_of(part, sizeof(*part)));
}

static void set_rid(struct seen *one, struct rn_view rid)
{
    if (rid.len == 0 || rid.len >= RID_MAX)
        return;
    if (!rn_view_eq(rn_view_text(one->rid), rid)) {
        if (one->rid[0])
            rn_buf_clear(&one->parts);
        snprintf(one->rid, sizeof(one->rid), "%.*s", RN_FMT(rid));
    }
}

enum rn_code rn_sessions_note(struct rn_sessions *s, struct rn_view container,
                              struct rn_view rid, struct rn_view token)
{
    struct rn_session part;
    enum rn_code rc = RN_OK;
    struct seen *one;

    pthread_mutex_lock(&s->lock);
    one = find(s, container);
    if (!one)
        one = add(s, container);
    if (!one)
        rc = RN_NOMEM;
    else
        set_rid(one, rid);
    while (!rc && token.len > 0) {
        if (rn_session_next(&token, &part, NULL) != RN_OK)
            break;
        rc = note_part(one, &part);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void rn_sessions_drop(struct rn_sessions *s, struct rn_view container)
{
    struct seen *one;

    pthread_mutex_lock(&s->lock);
    one = find(s, container);
    if (one) {
        rn_buf_clear(&one->parts);
        one->rid[0] = '\0';
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- what is sent -------------------------------------------------------- */

/* False for an id that no session token can name. */
static bool read_range(const char *id, uint32_t *out)
{
    uint64_t n = 0;

    for (const char *at = id; *at; at++) {
        if (*at < '0' || *at > '9' || n > UINT32_MAX)
            return false;
        n = n * 10 + (uint64_t)(*at - '0');
    }
    *out = (uint32_t)n;
    return id[0] != '\0' && n <= UINT32_MAX;
}

static bool is_range(uint32_t range, const char *id)
{
    uint32_t n;

    return read_range(id, &n) && n == range;
}

static bool is_ancestor(const struct rn_range_route *route, uint32_t range)
{
    for (size_t i = 0; i < route->parent_count; i++) {
        if (is_range(range, route->parents[i]))
            return true;
    }
    return false;
}

static enum rn_code print_all(const struct seen *one, struct rn_buf *out)
{
    size_t count;
    const struct rn_session *have = parts(one, &count);
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < count; i++) {
        if (i > 0)
            rc = rn_buf_add(out, RN_LIT(","));
        if (!rc)
            rc = rn_session_print(&have[i], out);
    }
    return rc;
}

/* Its own part, or that of its parents under its id. */
static enum rn_code print_one(const struct seen *one,
                              const struct rn_range_route *route,
                              struct rn_buf *out)
{
    size_t count;
    const struct rn_session *have = parts(one, &count), *from = NULL;
    struct rn_session part;
    uint32_t range;

    if (!read_range(route->id, &range))
        return RN_OK;
    for (size_t i = 0; i < count; i++) {
        if (have[i].range == range) {
            from = &have[i];
            break;
        }
        if (is_ancestor(route, have[i].range) &&
            (!from || from->lsn < have[i].lsn))
            from = &have[i];
    }
    if (!from)
        return RN_OK;
    part = *from;
    part.range = range;
    return rn_session_print(&part, out);
}

enum rn_code rn_sessions_print(struct rn_sessions *s, struct rn_view container,
                               const struct rn_range_route *route,
                               struct rn_buf *out)
{
    struct seen *one;
    enum rn_code rc = RN_OK;

    pthread_mutex_lock(&s->lock);
    one = find(s, container);
    if (one)
        rc = route ? print_one(one, route, out) : print_all(one, out);
    pthread_mutex_unlock(&s->lock);
    return rc;
}
