/* load.c -- many clients at a real server that is killed again and again, and
 * whether what they saw can be true.
 *
 *   history_load PROGRAM DIR OPERATIONS KILLS RANGES SHAPES SEED
 *
 * Starts PROGRAM on DIR, lets 64 clients read, write and compare-and-swap a few
 * hundred documents, alone and in batches, and 4 readers of every kind
 * (reader.h) follow the change feed.  Kills the server with SIGKILL every so
 * many operations and starts it again, and splits and merges ranges SHAPES
 * times.  At the end everything is read once more, quietly, and the history
 * checked (check.h).
 *
 * Exit status 0: nothing wrong; 1: violations, told on stdout; 2: it could not
 * be done.
 */
#include "history/crowd.h"
#include "history/reader.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CLIENTS = 64,
    READERS = 4,
    ALL =
        CLIENTS + READERS + 2, /* one splits and merges, one begins and ends */
    DOCUMENTS = 300,
    KEYS = 40,
    DOCUMENTS_EVEN = DOCUMENTS - DOCUMENTS % KEYS, /* d and d + KEYS: one key */
    PAGE_MAX = 200,
    EXCUSED_MAX = 10,           /* of 1,000 refusals, by lost writes */
    SEARCH_OPERATIONS = 400000, /* with more, not of all documents */
    SEARCH_MOST = 8000,
};

static struct {
    atomic_ulong left, done, tokens;
    atomic_bool over;
    unsigned long operations, kills, every, shapes;
    uint64_t seed;
    pthread_mutex_t lock;
    struct rn_etag seen[DOCUMENTS]; /* a version somebody was told; locked */
} world = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- what clients do ----------------------------------------------------- */

static void learn(const struct history_entry *e, struct rn_etag etag)
{
    pthread_mutex_lock(&world.lock);
    world.seen[e->document] = etag;
    pthread_mutex_unlock(&world.lock);
}

/* Fills in what was answered. */
static void settle(struct client *c, struct history_entry *e,
                   const struct answer *a)
{
    struct rn_json j;
    struct rn_etag etag;

    e->status = (uint16_t)a->status;
    e->point = a->lsn;
    e->range = a->range;
    if (a->status == 429 || a->status >= 500) {
        e->status = 0; /* it may have happened, after a 503 */
        e->point = 0;
        return;
    }
    if (a->status >= 400)
        return;
    if (e->op == HISTORY_DELETE) {
        e->version = a->lsn;
        return;
    }
    if (!rn_etag_parse(a->etag, &etag)) {
        c->broken = "an answer has no etag";
        return;
    }
    learn(e, etag);
    if (e->op != HISTORY_READ) {
        e->version = etag.lsn;
        e->point = etag.lsn;
        e->n = etag.n;
        return;
    }
    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, a->body, NULL) || !web_read_document(&j, 0, e))
        c->broken = "a document cannot be read";
    rn_json_release(&j);
}

/* `condition` is of what is drawn. */
static void draw(struct client *c, struct history_entry *e,
                 struct rn_etag *condition)
{
    static const uint8_t mix[] = {
        HISTORY_READ,   HISTORY_READ,   HISTORY_READ,    HISTORY_READ,
        HISTORY_UPSERT, HISTORY_UPSERT, HISTORY_REPLACE, HISTORY_REPLACE,
        HISTORY_CREATE, HISTORY_DELETE,
    };

    *e = (struct history_entry){
        .client = c->number,
        .document = (uint32_t)rn_chance_below(&c->chance, DOCUMENTS),
        .op = mix[rn_chance_below(&c->chance, sizeof(mix))],
        .t1 = HISTORY_NEVER,
    };
    /* Half of the work is on a few documents, so that clients collide. */
    if (rn_chance_percent(&c->chance, 50))
        e->document %= 8;
    e->key = e->document % KEYS;
    if (e->op != HISTORY_READ && e->op != HISTORY_DELETE)
        e->token = atomic_fetch_add(&world.tokens, 1) + 1;
    if ((e->op == HISTORY_REPLACE || e->op == HISTORY_DELETE) &&
        rn_chance_percent(&c->chance, 70)) {
        pthread_mutex_lock(&world.lock);
        *condition = world.seen[e->document];
        pthread_mutex_unlock(&world.lock);
        e->condition = condition->lsn;
    }
}

static void act(struct client *c, struct history_entry *e,
                struct rn_etag condition)
{
    static const char *const verbs[] = { "GET", "POST",  "POST",  "POST",
                                         "PUT", "PATCH", "DELETE" };
    bool in_list = e->op == HISTORY_CREATE || e->op == HISTORY_UPSERT;
    char link[64], path[80], more[512], body[256], tag[RN_ETAG_LEN];
    struct request ask = { .verb = verbs[e->op],
                           .word = "docs",
                           .link = link,
                           .path = path,
                           .more = more };
    struct answer a;
    int n;

    snprintf(link, sizeof(link),
             in_list ? "dbs/h/colls/c" : "dbs/h/colls/c/docs/d%u", e->document);
    snprintf(path, sizeof(path), in_list ? "/%s/docs" : "/%s", link);
    n = snprintf(
        more, sizeof(more), "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n%s",
        shape_name(e->key),
        e->op == HISTORY_UPSERT ? "x-ms-documentdb-is-upsert: True\r\n" : "");
    if (e->condition) {
        rn_etag_print(condition, tag);
        snprintf(more + n, sizeof(more) - (size_t)n, "If-Match: %.*s\r\n",
                 RN_ETAG_LEN, tag);
    }
    body[0] = 0;
    if (e->token)
        snprintf(body, sizeof(body),
                 "{\"id\":\"d%u\",\"pk\":\"k%u\",\"w\":%llu}", e->document,
                 shape_name(e->key), (unsigned long long)e->token);
    ask.body = rn_view_text(body);
    client_reach(c);
    e->t0 = web_now_ns();
    if (client_ask(c, &ask, &a)) {
        e->t1 = web_now_ns();
        settle(c, e, &a);
        if (e->op == HISTORY_READ && e->status == 0)
            return;
    } else if (e->op == HISTORY_READ) {
        return;
    }
    client_note(c, e);
}

/* ---- batches ------------------------------------------------------------- */

/* Two documents of one key are written at once: both or none. */
static void read_results(struct client *c, const struct answer *a,
                         struct history_entry *pair)
{
    struct rn_json j;
    struct rn_json_walk walk;
    size_t at = 0;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, a->body, NULL)) {
        c->broken = "a batch's answer cannot be read";
    } else {
        walk = rn_json_walk_begin(&j, 0);
        while (rn_json_walk_next(&walk) && at < 2) {
            struct history_entry *e = &pair[at++];
            struct rn_etag etag;

            if (!web_read_etag(&j, rn_json_find(&j, walk.value, RN_LIT("eTag")),
                               &etag)) {
                c->broken = "a batch's result has no etag";
                break;
            }
            learn(e, etag);
            e->point = e->version = etag.lsn;
            e->n = etag.n;
            e->range = a->range;
            e->status = 200;
        }
        if (at != 2)
            c->broken = "a batch has other than two results";
    }
    rn_json_release(&j);
}

static void act_together(struct client *c, const struct history_entry *first)
{
    struct history_entry pair[2] = { *first, *first };
    char more[256], body[512];
    struct request ask = { .verb = "POST",
                           .word = "docs",
                           .link = "dbs/h/colls/c",
                           .path = "/dbs/h/colls/c/docs",
                           .more = more };
    struct answer a;

    pair[0].flags = pair[1].flags = HISTORY_TOGETHER;
    pair[1].document = (first->document + KEYS) % DOCUMENTS_EVEN;
    pair[1].token = atomic_fetch_add(&world.tokens, 1) + 1;
    snprintf(more, sizeof(more),
             "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n"
             "x-ms-cosmos-is-batch-request: True\r\n"
             "x-ms-cosmos-batch-atomic: True\r\n",
             shape_name(first->key));
    body[0] = 0;
    for (size_t i = 0, n = 0; i < 2; i++)
        n += (size_t)snprintf(
            body + n, sizeof(body) - n,
            "%c{\"operationType\":\"Upsert\",\"resourceBody\":{\"id\":"
            "\"d%u\",\"pk\":\"k%u\",\"w\":%llu}}%s",
            i ? ',' : '[', pair[i].document, shape_name(pair[i].key),
            (unsigned long long)pair[i].token, i ? "]" : "");
    ask.body = rn_view_text(body);
    client_reach(c);
    pair[0].t0 = pair[1].t0 = web_now_ns();
    if (client_ask(c, &ask, &a) && a.status != 429 && a.status < 500) {
        pair[0].t1 = pair[1].t1 = web_now_ns();
        if (a.status == 200)
            read_results(c, &a, pair);
        else
            c->broken = "a batch is refused";
    }
    client_note(c, &pair[0]);
    client_note(c, &pair[1]);
}

static void *run_client(void *arg)
{
    struct client *c = arg;
    struct history_entry e;
    struct rn_etag condition = { 0 };

    while (!c->broken && atomic_load(&world.left)) {
        if (atomic_fetch_sub(&world.left, 1) > (1ul << 62)) {
            atomic_store(&world.left, 0);
            break;
        }
        draw(c, &e, &condition);
        if (e.op == HISTORY_UPSERT && e.document < DOCUMENTS_EVEN &&
            rn_chance_percent(&c->chance, 25))
            act_together(c, &e);
        else
            act(c, &e, condition);
        atomic_fetch_add(&world.done, 1);
    }
    return NULL;
}

/* ---- readers of the feed ------------------------------------------------- */

static void *run_reader(void *arg)
{
    static const enum reader_kind kinds[] = { READER_RANGES, READER_KEY,
                                              READER_EPKS, READER_ALL };
    struct client *c = arg;
    struct reader r;
    enum reader_kind kind = kinds[c->number % 4];

    reader_init(&r, c, kind, 0, kind == READER_KEY ? 1 : KEYS, false);
    while (!c->broken && !atomic_load(&world.over))
        if (!reader_step(
                &r, 1 + (unsigned)rn_chance_below(&c->chance, PAGE_MAX), 0))
            usleep(1000);
    return NULL;
}

/* ---- splits and merges --------------------------------------------------- */

/* Spread evenly over what the clients do. */
static void *run_shaper(void *arg)
{
    struct client *c = arg;
    unsigned long all = atomic_load(&world.left) + atomic_load(&world.done);

    for (unsigned long i = 1; i <= world.shapes && !c->broken; i++) {
        while (atomic_load(&world.done) < i * all / (world.shapes + 1) &&
               atomic_load(&world.left))
            usleep(500);
        shape_change(c);
    }
    return NULL;
}

/* ---- all together -------------------------------------------------------- */

/* Everything once more, when nobody writes. */
static void read_all(struct client *c)
{
    for (uint32_t d = 0; d < DOCUMENTS; d++) {
        struct history_entry e = { .client = c->number,
                                   .document = d,
                                   .key = d % KEYS,
                                   .op = HISTORY_READ,
                                   .t1 = HISTORY_NEVER };
        act(c, &e, (struct rn_etag){ 0 });
    }
    for (uint32_t i = 0; i < KEYS + 3; i++) {
        struct reader r;

        if (i < KEYS)
            reader_init(&r, c, READER_KEY, i, 1, false);
        else
            reader_init(&r, c,
                        i == KEYS       ? READER_RANGES
                        : i == KEYS + 1 ? READER_EPKS
                                        : READER_ALL,
                        0, KEYS, false);
        while (reader_step(&r, PAGE_MAX, 0) && !c->broken)
            ;
    }
}

/* Kills and starts the server each time the clients have done so much. */
static bool keep_killing(struct client *c)
{
    int port;

    for (unsigned long k = 1; k <= world.kills; k++) {
        while (atomic_load(&world.done) < k * world.every &&
               atomic_load(&world.left))
            usleep(500);
        web_kill(SIGKILL);
        port = web_start();
        if (!port)
            return false;
        client_note_start(c);
        web_announce(port);
    }
    return true;
}

static int judge(struct client *clients, size_t count)
{
    struct history_verdict v;
    struct search_verdict s;
    uint32_t one_in = 1 + (uint32_t)(world.operations / SEARCH_OPERATIONS);
    struct search what = { .one_in = one_in,
                           .from = (uint32_t)(world.seed % one_in),
                           .most = (size_t)one_in * SEARCH_MOST,
                           .out = stdout };

    if (!crowd_check(clients, count, &v, &what, &s))
        return 2;
    printf("%zu reads, %zu writes, %zu refusals, %zu unknown and unseen, %zu "
           "pages with %zu changes: %zu violations (order %zu, content %zu, "
           "unique %zu, phantom %zu, feed %zu)\n",
           v.reads, v.writes, v.refused, v.unknown, v.pages, v.items,
           history_violations(&v), v.order, v.content, v.unique, v.phantom,
           v.feed);
    printf("of %zu refusals and reads of nothing %zu are excused; searched: "
           "%zu documents with %zu requests, %zu wrong, %zu left out\n",
           v.refused + v.absent, v.excused, s.documents, s.requests, s.wrong,
           s.left_out);
    if (v.excused * 1000 > EXCUSED_MAX * (v.refused + v.absent) || v.blind ||
        !s.documents) {
        printf("too much is excused, or not looked at (%zu)\n", v.blind);
        return 1;
    }
    return history_violations(&v) || s.wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct client clients[ALL];
    struct client *last = &clients[ALL - 1];
    struct shape_count counts;
    bool alive;
    int rc;

    if (argc != 8)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    web.program = argv[1];
    web.dir = argv[2];
    web.keys = KEYS;
    shape_init();
    world.operations = strtoul(argv[3], NULL, 10);
    atomic_store(&world.left, world.operations);
    world.kills = strtoul(argv[4], NULL, 10);
    world.every = world.operations / (world.kills + 1);
    snprintf(web.ranges, sizeof(web.ranges), "%s", argv[5]);
    world.shapes = strtoul(argv[6], NULL, 10);
    world.seed = strtoull(argv[7], NULL, 10);
    for (uint32_t i = 0; i < ALL; i++)
        client_init(&clients[i], i, world.seed);
    client_note_start(last);
    web_announce(web_start());
    if (!atomic_load(&web.port) || !shape_make(last)) {
        printf("the server does not start\n");
        return 2;
    }
    for (uint32_t i = 0; i < ALL - 1; i++)
        pthread_create(&clients[i].thread, NULL,
                       i < CLIENTS             ? run_client
                       : i < CLIENTS + READERS ? run_reader
                                               : run_shaper,
                       &clients[i]);
    alive = keep_killing(last);
    for (uint32_t i = 0; alive && i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    atomic_store(&world.over, true);
    for (uint32_t i = CLIENTS; alive && i < ALL - 1; i++)
        pthread_join(clients[i].thread, NULL);
    if (!alive) {
        printf("the server does not start again\n");
        return 2;
    }
    read_all(last);
    web_kill(SIGTERM);
    rc = judge(clients, ALL);
    if (!crowd_release(clients, ALL) && !rc)
        rc = 1;
    counts = shape_count();
    printf("%lu kills, %u splits, %u merges\n", world.kills, counts.splits,
           counts.merges);
    return rc;
}
