/* shape.c -- see shape.h. */
#include "history/shape.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 1024, IDS_MAX = 1 << 14, SPLIT_MAX = 11 };

struct name {
    unsigned number;
    struct rn_epk epk;
    char text[SHAPE_TEXT_MAX];
};

static struct name names[KEYS_MAX];
static struct {
    bool is_known, is_lost;
    struct shape shape;
} table[IDS_MAX];
static size_t table_used; /* nothing is known of the ids from here on */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table */
static struct shape_count counts;

/* ---- keys ---------------------------------------------------------------- */

static int by_epk(const void *a, const void *b)
{
    return rn_epk_compare(&((const struct name *)a)->epk,
                          &((const struct name *)b)->epk);
}

void shape_init(void)
{
    memset(table, 0, table_used * sizeof(table[0]));
    table_used = 0;
    counts = (struct shape_count){ 0 };
    for (unsigned i = 0; i < server_process.keys; i++) {
        char text[16], hex[RN_EPK_TEXT_MAX];
        struct rn_pk_value value = { .type = RN_PK_STRING };
        struct rn_view v;

        snprintf(text, sizeof(text), "k%u", i);
        value.text = rn_view_text(text);
        names[i].number = i;
        if (rn_epk_hash(RN_PKDEF_HASH, 2, &value, 1, &names[i].epk))
            abort();
        v = rn_epk_print(&names[i].epk, hex);
        snprintf(names[i].text, sizeof(names[i].text), "%.*s", RN_FMT(v));
    }
    qsort(names, server_process.keys, sizeof(names[0]), by_epk);
}

unsigned shape_name(uint32_t key)
{
    return names[key].number;
}

const char *shape_epk(uint32_t key)
{
    return names[key].text;
}

/* The first key that is not before a bound. */
static uint32_t key_at(const struct rn_epk *bound)
{
    uint32_t i = 0;

    while (i < server_process.keys && rn_epk_compare(&names[i].epk, bound) < 0)
        i++;
    return i;
}

/* ---- ranges -------------------------------------------------------------- */

static void learn(struct shape *s, const struct rn_json *j, uint32_t parents)
{
    struct rn_json_walk walk = rn_json_walk_begin(j, parents);

    pthread_mutex_lock(&lock);
    s->generation = 0;
    while (rn_json_walk_next(&walk)) {
        unsigned long id = strtoul(rn_json_text(j, walk.value).at, NULL, 10);
        if (id < IDS_MAX && table[id].is_known &&
            table[id].shape.generation >= s->generation)
            s->generation = table[id].shape.generation + 1;
    }
    if (s->id < IDS_MAX && !table[s->id].is_known) {
        if (table_used <= s->id)
            table_used = s->id + 1;
        table[s->id].is_known = true;
        table[s->id].shape = *s;
    }
    if (s->generation > counts.generations)
        counts.generations = s->generation;
    pthread_mutex_unlock(&lock);
}

static void read_range(const struct rn_json *j, uint32_t at, struct shape *s)
{
    struct rn_view id = rn_json_text(j, rn_json_find(j, at, RN_LIT("id")));
    uint32_t min = rn_json_find(j, at, RN_LIT("minInclusive"));
    uint32_t max = rn_json_find(j, at, RN_LIT("maxExclusive"));

    if (rn_epk_parse(rn_json_text(j, min), &s->epks.min, NULL) ||
        rn_epk_parse(rn_json_text(j, max), &s->epks.max, NULL))
        abort();
    s->id = (uint32_t)strtoul(id.at, NULL, 10);
    s->key = key_at(&s->epks.min);
    s->keys = key_at(&s->epks.max) - s->key;
    learn(s, j, rn_json_find(j, at, RN_LIT("parents")));
}

size_t shape_read(struct client *c, struct shape out[SHAPE_RANGES_MAX])
{
    struct request r = { .verb = "GET",
                         .word = "pkranges",
                         .link = "dbs/h/colls/c",
                         .path = "/dbs/h/colls/c/pkranges" };
    struct rn_json j;
    struct rn_json_walk walk;
    struct answer a;
    size_t n = 0;

    if (!client_ask(c, &r, &a) || a.status != 200)
        return 0;
    rn_json_init(&j, NULL);
    if (!rn_json_parse(&j, a.body, NULL)) {
        walk = rn_json_walk_begin(
            &j, rn_json_find(&j, 0, RN_LIT("PartitionKeyRanges")));
        while (rn_json_walk_next(&walk) && n < SHAPE_RANGES_MAX)
            read_range(&j, walk.value, &out[n++]);
    }
    rn_json_release(&j);
    return n;
}

bool shape_make(struct client *c)
{
    struct request database = { "POST", "dbs", "",
                                "/dbs", "",    RN_LIT("{\"id\":\"h\"}") };
    struct request container = {
        "POST",
        "colls",
        "dbs/h",
        "/dbs/h/colls",
        "",
        RN_LIT("{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"],"
               "\"kind\":\"Hash\",\"version\":2}}"),
    };
    struct shape ranges[SHAPE_RANGES_MAX];
    struct answer a;

    return client_ask(c, &database, &a) && a.status == 201 &&
           client_ask(c, &container, &a) && a.status == 201 &&
           shape_read(c, ranges) > 0;
}

bool shape_find(uint32_t id, struct shape *out)
{
    bool is_known;

    pthread_mutex_lock(&lock);
    is_known = id < IDS_MAX && table[id].is_known;
    if (is_known)
        *out = table[id].shape;
    pthread_mutex_unlock(&lock);
    return is_known;
}

void shape_lose(uint32_t first, uint32_t end)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = first; i < end && i < IDS_MAX; i++) {
        table[i].is_lost = true;
        if (table_used <= i)
            table_used = i + 1;
    }
    pthread_mutex_unlock(&lock);
}

bool shape_is_lost(uint32_t id)
{
    bool is_lost;

    pthread_mutex_lock(&lock);
    is_lost = id < IDS_MAX && table[id].is_lost;
    pthread_mutex_unlock(&lock);
    return is_lost;
}

/* ---- splits and merges --------------------------------------------------- */

void shape_change(struct client *c)
{
    struct shape ranges[SHAPE_RANGES_MAX];
    size_t n = shape_read(c, ranges), at;
    bool splits = n < 3 || (n < SPLIT_MAX && rn_prng_percent(&c->prng, 50));
    struct request r = { .verb = "POST",
                         .word = "",
                         .link = splits ? "_runnel/split" : "_runnel/merge",
                         .path = splits ? "/_runnel/split" : "/_runnel/merge" };
    struct answer a;
    char body[160];

    if (!n)
        return;
    at = rn_prng_below(&c->prng, splits ? n : n - 1);
    if (splits)
        snprintf(body, sizeof(body),
                 "{\"container\":\"dbs/h/colls/c\",\"range\":%u}",
                 ranges[at].id);
    else
        snprintf(body, sizeof(body),
                 "{\"container\":\"dbs/h/colls/c\",\"range\":%u,\"with\":%u}",
                 ranges[at].id, ranges[at + 1].id);
    r.body = rn_view_text(body);
    if (!client_ask(c, &r, &a))
        return;
    if (a.status >= 300 && a.status < 500 && a.status != 410)
        c->broken = splits ? "a split is refused" : "a merge is refused";
    if (a.status < 300 && splits)
        counts.splits++;
    else if (a.status < 300)
        counts.merges++;
}

struct shape_count shape_count(void)
{
    return counts;
}
