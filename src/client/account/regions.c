/* regions.c -- the choice of a region; see regions.h. */
#include "client/account/regions.h"

#include <pthread.h>
#include <stdio.h>
#include <strings.h>

#define FIVE_MINUTES_NS INT64_C(300000000000)
#define FAILED_NS FIVE_MINUTES_NS /* how long a failure counts */
#define READ_AGAIN_NS FIVE_MINUTES_NS

struct region {
    char name[64];
    char url[RN_REGION_URL_MAX];
    int64_t failed_until_ns;
};

struct list {
    struct region of[RN_REGIONS_MAX];
    size_t count;
};

/* Rank 2 of the client's locks. */
struct rn_regions {
    pthread_mutex_t lock;
    struct region endpoint;
    char *preferred; /* NULL: only the endpoint is used */
    struct list reads, writes;
    int64_t read_again_ns;
};

runnel_code rn_regions_new(const char *endpoint, const char *preferred,
                           struct rn_regions **out, runnel_error *error)
{
    struct rn_regions *r = rn_new(sizeof(*r));

    if (r && preferred)
        r->preferred = rn_new_text(preferred);
    if (!r || (preferred && !r->preferred)) {
        rn_free(r);
        return rn_error_no_memory(error);
    }
    pthread_mutex_init(&r->lock, NULL);
    snprintf(r->endpoint.url, sizeof(r->endpoint.url), "%s", endpoint);
    *out = r;
    return RUNNEL_OK;
}

void rn_regions_free(struct rn_regions *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    rn_free(r->preferred);
    rn_free(r);
}

bool rn_regions_want(struct rn_regions *r, int64_t now_ns)
{
    bool want;

    if (!r->preferred)
        return false;
    pthread_mutex_lock(&r->lock);
    want = now_ns >= r->read_again_ns;
    if (want)
        r->read_again_ns = now_ns + READ_AGAIN_NS;
    pthread_mutex_unlock(&r->lock);
    return want;
}

/* ---- learning ------------------------------------------------------------ */

static bool copy_text(const struct rn_json *j, uint32_t object,
                      struct rn_view name, char *out, size_t room)
{
    uint32_t value = rn_json_find(j, object, name);
    struct rn_view text = rn_json_text(j, value);

    if (rn_json_kind(j, value) != RN_JSON_STRING || text.len >= room ||
        memchr(text.at, '\\', text.len))
        return false;
    snprintf(out, room, "%.*s", RN_FMT(text));
    return true;
}

static bool is_url(const char *text)
{
    return strncasecmp(text, "http://", 7) == 0 ||
           strncasecmp(text, "https://", 8) == 0;
}

static bool copy_list(const struct rn_json *j, struct rn_view name,
                      struct list *out)
{
    uint32_t array = rn_json_find(j, 0, name);
    struct rn_json_walk w = rn_json_walk_begin(j, array);

    out->count = 0;
    while (out->count < RN_REGIONS_MAX && rn_json_walk_next(&w)) {
        struct region *to = &out->of[out->count];
        size_t len;

        *to = (struct region){ 0 };
        if (!copy_text(j, w.value, RN_LIT("name"), to->name,
                       sizeof(to->name)) ||
            !copy_text(j, w.value, RN_LIT("databaseAccountEndpoint"), to->url,
                       sizeof(to->url)) ||
            !is_url(to->url))
            return false;
        for (len = strlen(to->url); to->url[len - 1] == '/'; len--)
            to->url[len - 1] = '\0';
        out->count++;
    }
    return out->count > 0;
}

/* A region that is known keeps its failure. */
static void keep_failures(const struct list *old, struct list *now)
{
    for (size_t i = 0; i < now->count; i++) {
        for (size_t k = 0; k < old->count; k++) {
            if (strcmp(now->of[i].url, old->of[k].url) == 0)
                now->of[i].failed_until_ns = old->of[k].failed_until_ns;
        }
    }
}

runnel_code rn_regions_learn(struct rn_regions *r, const struct rn_json *j,
                             runnel_error *error)
{
    struct list *lists = rn_new(2 * sizeof(*lists));
    bool ok;

    if (!lists)
        return rn_error_no_memory(error);
    ok = copy_list(j, RN_LIT("readableLocations"), &lists[0]) &&
         copy_list(j, RN_LIT("writableLocations"), &lists[1]);
    if (ok) {
        pthread_mutex_lock(&r->lock);
        keep_failures(&r->reads, &lists[0]);
        keep_failures(&r->writes, &lists[1]);
        r->reads = lists[0];
        r->writes = lists[1];
        pthread_mutex_unlock(&r->lock);
    }
    rn_free(lists);
    return ok ? RUNNEL_OK
              : rn_error_set(error, RUNNEL_PROTOCOL,
                             "the account names no regions");
}

/* ---- choosing ------------------------------------------------------------ */

/* Names are compared without case and blanks: "westeurope". */
static bool is_named(const struct region *r, struct rn_view name)
{
    const char *a = r->name;
    size_t i = 0;

    for (;;) {
        while (*a == ' ')
            a++;
        while (i < name.len && name.at[i] == ' ')
            i++;
        if (*a == '\0' || i == name.len)
            return *a == '\0' && i == name.len;
        if ((*a | 0x20) != (name.at[i] | 0x20))
            return false;
        a++;
        i++;
    }
}

static const struct region *better(const struct region *a,
                                   const struct region *b, int64_t now_ns)
{
    int64_t left_a = a->failed_until_ns > now_ns ? a->failed_until_ns : 0;
    int64_t left_b = b->failed_until_ns > now_ns ? b->failed_until_ns : 0;

    return left_b < left_a ? b : a;
}

/* The first that works; if none does, the one whose failure is the oldest. */
static const struct region *pick_read(const struct rn_regions *r,
                                      int64_t now_ns)
{
    const struct region *best = NULL;
    const char *at = r->preferred;

    while (*at) {
        size_t len = strcspn(at, ",");
        for (size_t i = 0; i < r->reads.count; i++) {
            const struct region *one = &r->reads.of[i];
            if (is_named(one, rn_view_of(at, len)))
                best = best ? better(best, one, now_ns) : one;
        }
        at += len + (at[len] == ',');
    }
    return best;
}

static const struct region *pick_write(const struct rn_regions *r,
                                       int64_t now_ns)
{
    const struct region *best = NULL;

    for (size_t i = 0; i < r->writes.count; i++)
        best = best ? better(best, &r->writes.of[i], now_ns) : r->writes.of;
    return best;
}

void rn_regions_pick(struct rn_regions *r, bool is_read, int64_t now_ns,
                     char out[RN_REGION_URL_MAX])
{
    const struct region *one = NULL;

    if (r->preferred) {
        pthread_mutex_lock(&r->lock);
        one = is_read ? pick_read(r, now_ns) : pick_write(r, now_ns);
        one = one ? better(one, &r->endpoint, now_ns) : &r->endpoint;
        memcpy(out, one->url, RN_REGION_URL_MAX);
        pthread_mutex_unlock(&r->lock);
    } else {
        memcpy(out, r->endpoint.url, RN_REGION_URL_MAX);
    }
}

static void mark(struct region *one, struct rn_view url, int64_t now_ns)
{
    size_t len = strlen(one->url);

    if (url.len >= len && memcmp(url.at, one->url, len) == 0 &&
        (url.len == len || url.at[len] == '/'))
        one->failed_until_ns = now_ns + FAILED_NS;
}

const char *rn_regions_endpoint(const struct rn_regions *r)
{
    return r->endpoint.url;
}

void rn_regions_fail(struct rn_regions *r, struct rn_view url, int64_t now_ns)
{
    if (!r->preferred)
        return;
    pthread_mutex_lock(&r->lock);
    mark(&r->endpoint, url, now_ns);
    for (size_t i = 0; i < r->reads.count; i++)
        mark(&r->reads.of[i], url, now_ns);
    for (size_t i = 0; i < r->writes.count; i++)
        mark(&r->writes.of[i], url, now_ns);
    r->read_again_ns = 0;
    pthread_mutex_unlock(&r->lock);
}
