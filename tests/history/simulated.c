/* simulated.c -- see simulated.h. */
#include "history/simulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS = 3, STEPS = 1800, LIFE = 200 };

void simulated_add(struct simulated_history *w, const struct history_entry *e)
{
    assert_true(w->count < WORLD_ENTRIES);
    w->log[w->count++] = *e;
}

static bool is_read(const struct history_entry *e)
{
    return e->op == HISTORY_READ || e->op == HISTORY_QUERY;
}

static void send(struct simulated_history *w, uint32_t client)
{
    struct history_entry *e = &w->at[client];
    uint32_t document = (uint32_t)rn_prng_below(&w->prng, WORLD_DOCUMENTS);

    *e = (struct history_entry){ .t0 = ++w->clock,
                                 .t1 = HISTORY_NEVER,
                                 .client = client,
                                 .document = document,
                                 .key = document % KEYS };
    e->op = (uint16_t)rn_prng_below(&w->prng, HISTORY_PAGE);
    if (!is_read(e) && e->op != HISTORY_DELETE)
        e->token = ++w->next_token;
    if ((e->op == HISTORY_REPLACE || e->op == HISTORY_PATCH) &&
        rn_prng_percent(&w->prng, 70))
        e->condition = w->known[document];
    if (client % 2) {
        e->flags = HISTORY_SESSION;
        e->demand = w->session[client];
        if (is_read(e) && rn_prng_percent(&w->prng, 5))
            e->flags |= HISTORY_AHEAD;
    }
}

/* What a correct server does. */
static void decide(struct simulated_history *w, struct history_entry *e)
{
    struct version *v = &w->now[e->document];

    e->point = w->lsn;
    if (e->flags & HISTORY_AHEAD) {
        e->flags |= HISTORY_BEHIND;
        e->status = 404;
        e->point = 0;
    } else if (is_read(e)) {
        e->status = v->token ? 200 : 404;
        e->token = v->token;
        e->version = v->token ? v->lsn : 0;
        e->count = v->token ? v->count : 0;
        e->n = v->token ? v->n : 0;
    } else if (e->op == HISTORY_CREATE && v->token) {
        e->status = 409;
    } else if (e->op > HISTORY_UPSERT && !v->token) {
        e->status = 404;
    } else if (e->condition && e->condition != v->lsn) {
        e->status = 412;
    } else {
        e->point = e->version = ++w->lsn;
        e->status = 200;
        e->count = e->op == HISTORY_PATCH ? v->count + 1 : 0;
        *v = (struct version){ .lsn = e->point,
                               .token = e->op == HISTORY_DELETE ? 0 : e->token,
                               .count = e->count };
    }
}

/* Its client gets no answer. */
static void lose(struct simulated_history *w, const struct history_entry *e)
{
    struct history_entry lost = *e;

    if (is_read(e))
        return;
    lost.t1 = HISTORY_NEVER;
    lost.status = 0;
    lost.point = lost.version = 0;
    lost.count = 0;
    simulated_add(w, &lost);
}

static void answer(struct simulated_history *w, const struct history_entry *e)
{
    simulated_add(w, e);
    if (e->version)
        w->known[e->document] = e->version;
    if (e->point > w->session[e->client])
        w->session[e->client] = e->point;
}

/* An upsert, and the other document of its key, in one transaction. */
static void decide_both(struct simulated_history *w, struct history_entry *e)
{
    struct history_entry other;

    e->flags |= HISTORY_TOGETHER;
    e->t1 = ++w->clock;
    other = *e;
    other.document = (e->document + KEYS) % WORLD_DOCUMENTS;
    other.token = ++w->next_token;
    other.n = 1;
    w->now[other.document] =
        (struct version){ .lsn = e->point, .token = other.token, .n = 1 };
    if (rn_prng_percent(&w->prng, 10)) {
        other.n = 0;
        lose(w, &other);
        lose(w, e);
    } else {
        answer(w, &other);
        answer(w, e);
    }
}

/* Fills `items`; a transaction is not divided. */
static size_t look(const struct simulated_history *w,
                   struct history_entry *page, struct history_entry *items)
{
    size_t n = 0;

    for (uint64_t lsn = page->from; n < page->max && lsn < w->lsn;) {
        lsn++;
        if (lsn > w->saved_lsn && lsn < WORLD_JUMP && w->backups == 2)
            lsn = w->saved_lsn + WORLD_JUMP;
        for (uint32_t d = 0; d < WORLD_DOCUMENTS; d++) {
            if (w->now[d].lsn != lsn || !w->now[d].token ||
                d % KEYS < page->key || d % KEYS >= page->key + page->keys)
                continue;
            items[n] = (struct history_entry){ .t0 = page->t0,
                                               .t1 = page->t1,
                                               .client = page->client,
                                               .op = HISTORY_ITEM,
                                               .document = d,
                                               .key = d % KEYS,
                                               .token = w->now[d].token,
                                               .count = w->now[d].count,
                                               .n = w->now[d].n,
                                               .version = lsn,
                                               .from = n };
            page->status = 200;
            page->to = lsn;
            n++;
        }
    }
    return n;
}

static void follow(struct simulated_history *w, uint32_t reader)
{
    bool of_key = reader % 2, again = rn_prng_percent(&w->prng, 10);
    struct history_entry page = { .client = WORLD_CLIENTS + reader,
                                  .keys = of_key ? 1 : KEYS,
                                  .key = of_key,
                                  .op = HISTORY_PAGE,
                                  .max = 1 + reader,
                                  .flags = again ? HISTORY_AGAIN : 0,
                                  .point = w->lsn,
                                  .status = 304,
                                  .to = w->lsn };
    struct history_entry items[WORLD_DOCUMENTS];
    size_t n;

    page.t0 = ++w->clock;
    page.t1 = ++w->clock;
    page.from = again ? w->old[reader] : w->place[reader];
    n = look(w, &page, items);
    simulated_add(w, &page);
    for (size_t i = 0; i < n; i++)
        simulated_add(w, &items[i]);
    w->place[reader] = page.to;
    if (rn_prng_percent(&w->prng, 20))
        w->old[reader] = page.to;
}

static void back_up(struct simulated_history *w)
{
    w->begun = ++w->clock;
    memcpy(w->saved, w->now, sizeof(w->now));
    w->saved_lsn = w->lsn;
    w->ended = ++w->clock;
    w->backups = 1;
}

static void start(struct simulated_history *w)
{
    struct history_entry e = { .op = HISTORY_START,
                               .client = WORLD_CLIENTS + WORLD_READERS };

    e.t0 = e.t1 = ++w->clock;
    w->given_up_count = 0;
    simulated_add(w, &e);
}

/* Pending requests get no answer; their clients look whether they happened. */
static void restore(struct simulated_history *w)
{
    struct history_entry r = { .op = HISTORY_RESTORE,
                               .client = WORLD_CLIENTS + WORLD_READERS,
                               .keys = KEYS,
                               .t0 = w->begun,
                               .t1 = w->ended,
                               .from = w->saved_lsn,
                               .to = w->saved_lsn + WORLD_JUMP };

    memcpy(w->now, w->saved, sizeof(w->now));
    w->lsn = r.to;
    w->backups = 2;
    simulated_add(w, &r);
    w->restored = ++w->clock;
    for (uint32_t i = 0; i < WORLD_CLIENTS; i++) {
        struct history_entry *e = &w->at[i];
        if (w->phase[i] == 2 && !is_read(e)) {
            e->status = 0;
            e->point = e->version = 0;
            e->count = 0;
            e->t1 = w->clock;
            simulated_add(w, e);
        }
        w->phase[i] = 0;
    }
    start(w);
}

/* What was decided is there, what was not never will be. */
static void kill_and_start(struct simulated_history *w)
{
    for (uint32_t i = 0; i < WORLD_CLIENTS; i++) {
        if (w->phase[i])
            lose(w, &w->at[i]);
        w->phase[i] = 0;
    }
    start(w);
}

static void end(struct simulated_history *w, struct history_entry *e)
{
    e->t1 = ++w->clock;
    if (rn_prng_percent(&w->prng, 3))
        lose(w, e);
    else
        answer(w, e);
}

/* Somebody's request is decided; or its client does not wait so long. */
static void take(struct simulated_history *w, uint32_t client)
{
    struct history_entry *e = &w->at[client];

    if (!is_read(e) && w->given_up_count < WORLD_GIVEN_UP &&
        rn_prng_percent(&w->prng, 3)) {
        lose(w, e);
        w->given_up[w->given_up_count++] = *e;
        w->phase[client] = 0;
        return;
    }
    decide(w, e);
    if (e->op == HISTORY_UPSERT && rn_prng_percent(&w->prng, 30)) {
        decide_both(w, e);
        w->phase[client] = 0;
    }
}

static void step(struct simulated_history *w)
{
    uint32_t client = (uint32_t)rn_prng_below(&w->prng, WORLD_CLIENTS + 2);

    if (client == WORLD_CLIENTS) {
        follow(w, (uint32_t)rn_prng_below(&w->prng, WORLD_READERS));
        return;
    }
    if (client > WORLD_CLIENTS) {
        if (w->given_up_count)
            decide(w, &w->given_up[--w->given_up_count]);
        return;
    }
    switch (w->phase[client]++) {
    case 0:
        send(w, client);
        break;
    case 1:
        take(w, client);
        break;
    default:
        end(w, &w->at[client]);
        w->phase[client] = 0;
    }
}

struct simulated_history *simulated_make(uint64_t seed, bool is_restored)
{
    struct simulated_history *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    rn_prng_init(&w->prng, seed);
    for (int i = 0; i < STEPS; i++) {
        if (i == STEPS / 3 && is_restored)
            back_up(w);
        if (i == STEPS / 2 && is_restored)
            restore(w);
        if (i % LIFE == LIFE - 1)
            kill_and_start(w);
        step(w);
    }
    /* The last of each client may have happened: like a lost answer. */
    for (uint32_t i = 0; i < WORLD_CLIENTS; i++)
        if (w->phase[i] == 2)
            lose(w, &w->at[i]);
    return w;
}
