/* mixed_load.c -- see mixed_load.h. */
#include "history/mixed_load.h"

#include "history/chain.h"
#include "history/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVEN = MIXED_LOAD_DOCUMENTS -
           MIXED_LOAD_DOCUMENTS % MIXED_LOAD_KEYS, /* d, d + KEYS: one key */
    FEW = 8,
    CHAINS = 64,
    MORE_MAX = 512 + CHAIN_TEXT_MAX,
};

static const uint64_t far_ahead = UINT64_C(1) << 40;

/* A version that a client got. */
struct seen {
    struct rn_etag etag;
    uint64_t token;
};

static struct {
    atomic_ulong tokens;
    pthread_mutex_t lock;
    struct seen seen[MIXED_LOAD_DOCUMENTS]; /* locked */
    struct chain chains[CHAINS];
} mix = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A request on its way, and what is to be noted of it. */
struct errand {
    struct client *c;
    struct history_entry e[2];
    size_t count;
    struct seen condition; /* of the first; token 0: none */
    struct chain *chain;   /* NULL: it has no session */
    char more[MORE_MAX], link[64], path[80], body[512];
    char *session; /* in `more` */
};

void mixed_load_init(void)
{
    for (size_t i = 0; i < CHAINS; i++)
        chain_init(&mix.chains[i]);
}

static uint64_t next_token(void)
{
    return atomic_fetch_add(&mix.tokens, 1) + 1;
}

static bool is_read(const struct history_entry *e)
{
    return e->op == HISTORY_READ || e->op == HISTORY_QUERY;
}

/* The other document of its key. */
static uint32_t other_of(uint32_t document)
{
    return (document + MIXED_LOAD_KEYS) % EVEN;
}

/* ---- drawing ------------------------------------------------------------- */

/* Two of eight clients share one, two have their own. */
static struct chain *chain_of(const struct client *c)
{
    uint32_t number = c->number % CHAINS;

    if (number % 2 == 0)
        return NULL;
    return &mix.chains[number % 8 == 7 ? number - 4 : number];
}

static void draw_condition(struct errand *a)
{
    struct history_entry *e = &a->e[0];

    pthread_mutex_lock(&mix.lock);
    a->condition = mix.seen[e->document];
    pthread_mutex_unlock(&mix.lock);
    e->condition = a->condition.etag.lsn;
}

static void draw(struct errand *a)
{
    static const uint8_t ops[] = {
        HISTORY_READ,   HISTORY_READ,    HISTORY_READ,    HISTORY_READ,
        HISTORY_READ,   HISTORY_QUERY,   HISTORY_UPSERT,  HISTORY_UPSERT,
        HISTORY_UPSERT, HISTORY_REPLACE, HISTORY_REPLACE, HISTORY_PATCH,
        HISTORY_PATCH,  HISTORY_CREATE,  HISTORY_CREATE,  HISTORY_DELETE,
    };
    struct rn_prng *prng = &a->c->prng;
    struct history_entry *e = &a->e[0];

    e->document = (uint32_t)rn_prng_below(prng, MIXED_LOAD_DOCUMENTS);
    e->op = ops[rn_prng_below(prng, sizeof(ops))];
    if (rn_prng_percent(prng, 50))
        e->document %= FEW;
    if (!is_read(e) && e->op != HISTORY_DELETE)
        e->token = next_token();
    if (e->op >= HISTORY_REPLACE && rn_prng_percent(prng, 70))
        draw_condition(a);
    if (e->document < EVEN &&
        (e->op == HISTORY_UPSERT || e->op == HISTORY_QUERY) &&
        rn_prng_percent(prng, e->op == HISTORY_QUERY ? 50 : 25))
        a->count = 2;
    a->chain = chain_of(a->c);
    if (a->chain) {
        e->flags = HISTORY_SESSION;
        if (is_read(e) && rn_prng_percent(prng, 1))
            e->flags |= HISTORY_AHEAD;
    }
}

/* ---- asking -------------------------------------------------------------- */

static void add_more(struct errand *a, const char *format, ...) RN_PRINTF(2, 3);
static void add_more(struct errand *a, const char *format, ...)
{
    size_t n = strlen(a->more);
    va_list rest;
    int len;

    va_start(rest, format);
    len = vsnprintf(a->more + n, MORE_MAX - n, format, rest);
    va_end(rest);
    if (len < 0 || (size_t)len >= MORE_MAX - n)
        abort();
}

static void print_whole(const struct errand *a, size_t i, char out[128])
{
    const struct history_entry *e = &a->e[i];

    snprintf(out, 128, "{\"id\":\"d%u\",\"pk\":\"k%u\",\"w\":%llu,\"n\":0}",
             e->document, shape_name(e->key), (unsigned long long)e->token);
}

/* Its condition is one of the header or one of the patch. */
static void print_patch(struct errand *a)
{
    bool in_body = a->condition.token && rn_prng_percent(&a->c->prng, 50);
    int n = 0;

    if (in_body) {
        n = snprintf(a->body, sizeof(a->body),
                     "{\"condition\":\"from c where c.w = %llu\","
                     "\"operations\":",
                     (unsigned long long)a->condition.token);
        a->condition.token = 0;
    }
    snprintf(a->body + n, sizeof(a->body) - (size_t)n,
             "[{\"op\":\"set\",\"path\":\"/w\",\"value\":%llu},"
             "{\"op\":\"incr\",\"path\":\"/n\",\"value\":1}]%s",
             (unsigned long long)a->e[0].token, in_body ? "}" : "");
    add_more(a, "Content-Type: application/json_patch+json\r\n");
}

static void print_query(struct errand *a)
{
    int n = snprintf(a->body, sizeof(a->body),
                     "{\"query\":\"SELECT * FROM c WHERE c.id %s'd%u'",
                     a->count == 2 ? "IN (" : "= ", a->e[0].document);

    if (a->count == 2)
        n += snprintf(a->body + n, sizeof(a->body) - (size_t)n, ", 'd%u')",
                      a->e[1].document);
    snprintf(a->body + n, sizeof(a->body) - (size_t)n, "\"}");
    add_more(a, "x-ms-documentdb-isquery: True\r\n"
                "Content-Type: application/query+json\r\n");
}

static void print_batch(struct errand *a)
{
    char first[128], second[128];

    print_whole(a, 0, first);
    print_whole(a, 1, second);
    snprintf(a->body, sizeof(a->body),
             "[{\"operationType\":\"Upsert\",\"resourceBody\":%s},"
             "{\"operationType\":\"Upsert\",\"resourceBody\":%s}]",
             first, second);
    add_more(a, "x-ms-cosmos-is-batch-request: True\r\n"
                "x-ms-cosmos-batch-atomic: True\r\n");
}

static void print_condition(struct errand *a)
{
    char tag[RN_ETAG_LEN];

    if (!a->condition.token)
        return;
    rn_etag_print(a->condition.etag, tag);
    add_more(a, "If-Match: %.*s\r\n", RN_ETAG_LEN, tag);
}

static void print(struct errand *a)
{
    const struct history_entry *e = &a->e[0];

    add_more(a, "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n",
             shape_name(e->key));
    if (e->op == HISTORY_QUERY)
        print_query(a);
    else if (e->op == HISTORY_PATCH)
        print_patch(a);
    else if (a->count == 2)
        print_batch(a);
    else if (e->token)
        print_whole(a, 0, a->body);
    if (e->op == HISTORY_UPSERT && a->count == 1)
        add_more(a, "x-ms-documentdb-is-upsert: True\r\n");
    print_condition(a);
    a->session = a->more + strlen(a->more);
    if (a->chain) {
        uint64_t ahead = e->flags & HISTORY_AHEAD ? far_ahead : 0;
        uint64_t demand = chain_print(a->chain, e->key, ahead, a->session);

        a->e[0].demand = a->e[1].demand = demand;
    }
}

/* ---- answers ------------------------------------------------------------- */

static void learn(const struct history_entry *e, struct rn_etag etag)
{
    pthread_mutex_lock(&mix.lock);
    mix.seen[e->document] = (struct seen){ etag, e->token };
    pthread_mutex_unlock(&mix.lock);
}

/* A document in an answer: it must be the one that was written, or it is what
 * was seen. */
static void read_document(struct errand *a, const struct rn_json *j,
                          uint32_t at, struct history_entry *e)
{
    struct history_entry found = *e;
    struct rn_etag etag;

    if (!server_process_read_document(j, at, &found) ||
        found.document != e->document ||
        !server_process_read_etag(j, rn_json_find(j, at, RN_LIT("_etag")),
                                  &etag) ||
        (!is_read(e) && found.token != e->token)) {
        a->c->broken = "a document cannot be read, or is another";
        return;
    }
    *e = found;
    e->status = 200;
    learn(e, etag);
}

/* Those that are not among the rows are not there. */
static void read_rows(struct errand *a, const struct rn_json *j)
{
    struct rn_json_walk walk =
        rn_json_walk_begin(j, rn_json_find(j, 0, RN_LIT("Documents")));
    size_t rows = 0;

    for (size_t i = 0; i < a->count; i++)
        a->e[i].status = 404;
    while (rn_json_walk_next(&walk)) {
        struct history_entry row = { .op = HISTORY_QUERY };
        size_t i = 0;

        if (server_process_read_document(j, walk.value, &row))
            while (i < a->count &&
                   (a->e[i].document != row.document || a->e[i].status == 200))
                i++;
        else
            i = a->count;
        if (i == a->count)
            a->c->broken = "a row that nobody asked for";
        else
            read_document(a, j, walk.value, &a->e[i]);
        rows++;
    }
    if (rows > a->count)
        a->c->broken = "more rows than were asked for";
}

static void read_results(struct errand *a, const struct rn_json *j)
{
    struct rn_json_walk walk = rn_json_walk_begin(j, 0);
    size_t n = 0;

    while (rn_json_walk_next(&walk) && n < 2) {
        struct history_entry *e = &a->e[n++];
        struct rn_etag etag;

        if (!server_process_read_etag(
                j, rn_json_find(j, walk.value, RN_LIT("eTag")), &etag)) {
            a->c->broken = "a batch's result has no etag";
            break;
        }
        learn(e, etag);
        e->point = e->version = etag.lsn;
        e->n = etag.n;
    }
    if (n != 2)
        a->c->broken = "a batch has other than two results";
}

static void read_body(struct errand *a, const struct answer *got)
{
    struct history_entry *e = &a->e[0];
    struct rn_etag etag = { 0 };
    struct rn_json j;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, got->body, NULL))
        a->c->broken = "an answer cannot be read";
    else if (e->op == HISTORY_QUERY)
        read_rows(a, &j);
    else if (a->count == 2)
        read_results(a, &j);
    else
        read_document(a, &j, 0, e);
    rn_json_release(&j);
    if (is_read(e) || a->count == 2 || a->c->broken)
        return;
    if (!rn_etag_parse(got->etag, &etag) || etag.lsn != e->version)
        a->c->broken = "an answer's etag is another";
    e->point = e->version;
}

/* True if the range was asked for what it has not had yet.  A range that the
 * token does not name was not. */
static bool settle_session(struct errand *a, const struct answer *got)
{
    uint64_t demand = chain_demand(a->session, got->range);
    bool behind = got->status == 404 && got->reason == 1002;
    bool ahead = a->e[0].flags & HISTORY_AHEAD && (demand || behind);

    for (size_t i = 0; i < a->count; i++) {
        struct history_entry *e = &a->e[i];

        e->flags &= ~(uint32_t)(HISTORY_AHEAD | HISTORY_BEHIND);
        e->flags |=
            (ahead ? HISTORY_AHEAD : 0u) | (behind ? HISTORY_BEHIND : 0u);
        if (!ahead && demand < far_ahead && demand > e->demand)
            e->demand = demand;
        if (behind)
            e->point = 0;
    }
    if (!behind)
        chain_note(a->chain, a->e[0].key, got->session);
    return behind;
}

/* Fills in what was answered. */
static void note_answer(struct errand *a, const struct answer *got)
{
    const struct history_entry *e = &a->e[0];
    bool is_lost = got->status == 429 || got->status >= 500;

    for (size_t i = 0; i < a->count; i++) {
        a->e[i].status = (uint16_t)(is_lost ? 0 : got->status);
        a->e[i].point = is_lost ? 0 : got->lsn;
        a->e[i].range = got->range;
    }
    if (is_lost) /* it may have happened, after a 503 */
        return;
    if (a->chain && settle_session(a, got))
        return;
    if (got->status >= 400) {
        if (got->status != 404 && got->status != 409 && got->status != 412)
            a->c->broken = "a request is refused";
        if (e->op == HISTORY_QUERY || a->count == 2)
            a->c->broken = "a query or a batch is refused";
        return;
    }
    if (e->op == HISTORY_DELETE)
        a->e[0].version = got->lsn;
    else
        read_body(a, got);
}

/* ---- steps --------------------------------------------------------------- */

static void begin(struct errand *a, struct client *c)
{
    memset(a, 0, sizeof(*a));
    a->c = c;
    a->count = 1;
    a->e[0] =
        (struct history_entry){ .client = c->number, .t1 = HISTORY_NEVER };
}

static void run(struct errand *a)
{
    static const char *const verbs[] = { "GET", "POST",  "POST",  "POST",
                                         "PUT", "PATCH", "DELETE" };
    struct history_entry *e = &a->e[0];
    bool in_list = e->op >= HISTORY_QUERY && e->op <= HISTORY_UPSERT;
    struct request ask = { .verb = verbs[e->op],
                           .word = "docs",
                           .link = a->link,
                           .path = a->path,
                           .more = a->more };
    struct answer got;

    e->key = e->document % MIXED_LOAD_KEYS;
    a->e[1] = *e;
    a->e[1].document = other_of(e->document);
    if (a->count == 2 && e->op == HISTORY_UPSERT) {
        a->e[1].token = next_token();
        e->flags |= HISTORY_TOGETHER;
        a->e[1].flags |= HISTORY_TOGETHER;
    }
    snprintf(a->link, sizeof(a->link),
             in_list ? "dbs/h/colls/c" : "dbs/h/colls/c/docs/d%u", e->document);
    snprintf(a->path, sizeof(a->path), in_list ? "/%s/docs" : "/%s", a->link);
    client_reach(a->c);
    print(a);
    ask.body = rn_view_text(a->body);
    a->e[0].t0 = a->e[1].t0 = server_process_now_ns();
    if (client_ask(a->c, &ask, &got)) {
        a->e[0].t1 = a->e[1].t1 = server_process_now_ns();
        note_answer(a, &got);
    }
    for (size_t i = 0; i < a->count; i++)
        if (!is_read(e) || a->e[i].status)
            client_note(a->c, &a->e[i]);
}

void mixed_load_step(struct client *c)
{
    struct errand a;

    begin(&a, c);
    draw(&a);
    run(&a);
}

void mixed_load_read_all(struct client *c)
{
    struct errand a;

    for (uint32_t d = 0; d < MIXED_LOAD_DOCUMENTS && !c->broken; d++) {
        begin(&a, c);
        a.e[0].document = d;
        run(&a);
    }
}
