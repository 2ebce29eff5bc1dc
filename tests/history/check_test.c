/* check_test.c -- the checker of histories lets no wrong one pass.
 *
 * Goal: a checker that cannot fail proves nothing.
 *
 * Method: histories of a correct server are made by a simulation, in which
 * clients send, are decided and are answered at times drawn, some answers are
 * lost, readers follow the feed, and half of the way what came after a backup
 * is undone.  They must pass.  Then one thing in each
 * is made wrong, in every way that a wrong server might, and each must be
 * found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/chance.h"
#include "history/check.h"

enum {
    CLIENTS = 8,
    READERS = 4,
    DOCUMENTS = 6,
    KEYS = 3,
    JUMP = 1000, /* of LSNs, by a restore; more than there are before */
    STEPS = 1500,
    ENTRIES = 4000,
    ROUNDS = 200,
};

struct version {
    uint64_t lsn, token; /* token 0: deleted or never there */
};

struct world {
    struct rn_chance chance;
    uint64_t clock, lsn, next_token;
    struct version now[DOCUMENTS], saved[DOCUMENTS];
    uint64_t saved_lsn, begun, ended; /* of the backup */
    int backups;                      /* 0, 1; 2 when restored */
    uint64_t known[DOCUMENTS];        /* a version that some client was told */
    struct history_entry at[CLIENTS];
    int phase[CLIENTS]; /* idle, sent, decided */
    uint64_t place[READERS], old[READERS];
    struct history_entry log[ENTRIES];
    size_t count;
};

static void add(struct world *w, const struct history_entry *e)
{
    assert_true(w->count < ENTRIES);
    w->log[w->count++] = *e;
}

static void send(struct world *w, uint32_t client)
{
    struct history_entry *e = &w->at[client];
    uint32_t document = (uint32_t)rn_chance_below(&w->chance, DOCUMENTS);

    *e = (struct history_entry){ .t0 = ++w->clock,
                                 .t1 = HISTORY_NEVER,
                                 .client = client,
                                 .document = document,
                                 .key = document % KEYS };
    e->op = (uint16_t)rn_chance_below(&w->chance, HISTORY_PAGE);
    if (e->op != HISTORY_READ && e->op != HISTORY_DELETE)
        e->token = ++w->next_token;
    if (e->op == HISTORY_REPLACE && rn_chance_percent(&w->chance, 70))
        e->condition = w->known[document];
}

/* What a correct server does. */
static void decide(struct world *w, struct history_entry *e)
{
    struct version *v = &w->now[e->document];

    e->point = w->lsn;
    if (e->op == HISTORY_READ) {
        e->status = v->token ? 200 : 404;
        e->token = v->token;
        e->version = v->token ? v->lsn : 0;
    } else if (e->op == HISTORY_CREATE && v->token) {
        e->status = 409;
    } else if ((e->op == HISTORY_REPLACE || e->op == HISTORY_DELETE) &&
               !v->token) {
        e->status = 404;
    } else if (e->condition && e->condition != v->lsn) {
        e->status = 412;
    } else {
        e->point = e->version = ++w->lsn;
        e->status = 200;
        *v =
            (struct version){ .lsn = e->point,
                              .token = e->op == HISTORY_DELETE ? 0 : e->token };
    }
}

/* The other document of its key, in the same transaction. */
static void decide_other(struct world *w, const struct history_entry *e)
{
    struct history_entry other = *e;

    other.document = (e->document + KEYS) % DOCUMENTS;
    other.token = ++w->next_token;
    other.n = 1;
    other.t1 = w->clock; /* as `e`, which is answered now */
    w->now[other.document] =
        (struct version){ .lsn = e->point, .token = other.token };
    add(w, &other);
}

/* Fills `items`; a transaction is not divided. */
static size_t look(const struct world *w, struct history_entry *page,
                   struct history_entry *items)
{
    size_t n = 0;

    for (uint64_t lsn = page->from; n < page->max && lsn < w->lsn;) {
        lsn++;
        if (lsn > w->saved_lsn && lsn < JUMP && w->backups == 2)
            lsn = w->saved_lsn + JUMP;
        for (uint32_t d = 0; d < DOCUMENTS; d++) {
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
                                               .version = lsn,
                                               .from = n };
            page->status = 200;
            page->to = lsn;
            n++;
        }
    }
    return n;
}

static void follow(struct world *w, uint32_t reader)
{
    bool of_key = reader % 2, again = rn_chance_percent(&w->chance, 10);
    struct history_entry page = { .client = CLIENTS + reader,
                                  .keys = of_key ? 1 : KEYS,
                                  .key = of_key,
                                  .op = HISTORY_PAGE,
                                  .max = 1 + reader,
                                  .flags = again ? HISTORY_AGAIN : 0,
                                  .point = w->lsn,
                                  .status = 304,
                                  .to = w->lsn };
    struct history_entry items[DOCUMENTS];
    size_t n;

    page.t0 = ++w->clock;
    page.t1 = ++w->clock;
    page.from = again ? w->old[reader] : w->place[reader];
    n = look(w, &page, items);
    add(w, &page);
    for (size_t i = 0; i < n; i++)
        add(w, &items[i]);
    w->place[reader] = page.to;
    if (rn_chance_percent(&w->chance, 20))
        w->old[reader] = page.to;
}

static void back_up(struct world *w)
{
    w->begun = ++w->clock;
    memcpy(w->saved, w->now, sizeof(w->now));
    w->saved_lsn = w->lsn;
    w->ended = ++w->clock;
    w->backups = 1;
}

/* Who waits for an answer gets none, and looks whether it has happened. */
static void restore(struct world *w)
{
    struct history_entry r = { .op = HISTORY_RESTORE,
                               .client = CLIENTS + READERS,
                               .keys = KEYS,
                               .t0 = w->begun,
                               .t1 = w->ended,
                               .from = w->saved_lsn,
                               .to = w->saved_lsn + JUMP };

    memcpy(w->now, w->saved, sizeof(w->now));
    w->lsn = r.to;
    w->backups = 2;
    add(w, &r);
    w->clock++;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct history_entry *e = &w->at[i];
        if (w->phase[i] == 2 && e->op != HISTORY_READ) {
            e->status = 0;
            e->point = e->version = 0;
            e->t1 = w->clock;
            add(w, e);
        }
        w->phase[i] = 0;
    }
}

static void end(struct world *w, struct history_entry *e)
{
    e->t1 = ++w->clock;
    if (rn_chance_percent(&w->chance, 3)) { /* the answer is lost */
        e->t1 = HISTORY_NEVER;
        e->status = 0;
        e->point = e->version = 0;
        if (e->op == HISTORY_READ)
            e->token = 0;
    } else if (e->version) {
        w->known[e->document] = e->version;
    }
    add(w, e);
}

static void step(struct world *w)
{
    uint32_t client = (uint32_t)rn_chance_below(&w->chance, CLIENTS + 1);

    if (client == CLIENTS) {
        follow(w, (uint32_t)rn_chance_below(&w->chance, READERS));
        return;
    }
    switch (w->phase[client]++) {
    case 0:
        send(w, client);
        break;
    case 1:
        decide(w, &w->at[client]);
        if (w->at[client].op == HISTORY_UPSERT &&
            rn_chance_percent(&w->chance, 30)) {
            struct history_entry *e = &w->at[client];
            e->t1 = ++w->clock;
            decide_other(w, e);
            add(w, e);
            w->phase[client] = 0;
        }
        break;
    default:
        end(w, &w->at[client]);
        w->phase[client] = 0;
    }
}

static struct world *make(uint64_t seed)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    rn_chance_init(&w->chance, seed);
    for (int i = 0; i < STEPS; i++) {
        if (i == STEPS / 3)
            back_up(w);
        if (i == STEPS / 2)
            restore(w);
        step(w);
    }
    /* The last of each client may have happened: like a lost answer. */
    for (uint32_t i = 0; i < CLIENTS; i++) {
        if (w->phase[i] < 2 || w->at[i].op == HISTORY_READ)
            continue;
        w->at[i].status = 0;
        w->at[i].point = w->at[i].version = 0;
        add(w, &w->at[i]);
    }
    return w;
}

/* ---- wrong in one thing -------------------------------------------------- */

/* Each changes one entry, and says false if this one does not fit. */
typedef bool mutation(struct world *w, struct history_entry *e);

static bool acked(const struct history_entry *e)
{
    return e->op >= HISTORY_CREATE && e->op <= HISTORY_DELETE &&
           e->status == 200;
}

static struct history_entry *writer(struct world *w, uint32_t document,
                                    uint64_t lsn)
{
    for (size_t i = 0; i < w->count; i++)
        if (acked(&w->log[i]) && w->log[i].document == document &&
            w->log[i].version == lsn)
            return &w->log[i];
    return NULL;
}

static bool is_doubtful(const struct world *w, uint32_t document)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->log[i].status == 0 && w->log[i].op != HISTORY_ITEM &&
            w->log[i].document == document)
            return true;
    return false;
}

static bool read_shows_an_older_version(struct world *w,
                                        struct history_entry *e)
{
    if (e->op != HISTORY_READ || e->status != 200 ||
        is_doubtful(w, e->document))
        return false;
    for (uint64_t lsn = e->version; lsn-- > 1;) {
        const struct history_entry *old = writer(w, e->document, lsn);
        if (!old || old->op == HISTORY_DELETE)
            continue;
        e->version = old->version;
        e->token = old->token;
        return true;
    }
    return false;
}

static bool read_is_decided_too_early(struct world *w, struct history_entry *e)
{
    uint64_t high = 0;

    if (e->op != HISTORY_READ || !e->point)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->log[i].t1 < e->t0 && w->log[i].point > high &&
            w->log[i].op <= HISTORY_PAGE)
            high = w->log[i].point;
    if (high < 2)
        return false;
    e->point = high - 1;
    return true;
}

static bool read_finds_nothing(struct world *w, struct history_entry *e)
{
    if (e->op != HISTORY_READ || e->status != 200 ||
        is_doubtful(w, e->document))
        return false;
    e->status = 404;
    e->token = e->version = 0;
    return true;
}

static bool read_finds_what_was_deleted(struct world *w,
                                        struct history_entry *e)
{
    if (e->op != HISTORY_READ || e->status != 404 ||
        is_doubtful(w, e->document))
        return false;
    for (uint64_t lsn = e->point; lsn > 0; lsn--) {
        const struct history_entry *old = writer(w, e->document, lsn);
        if (!old || old->op == HISTORY_DELETE)
            continue;
        e->status = 200;
        e->version = old->version;
        e->token = old->token;
        return true;
    }
    return false;
}

static bool nobody_wrote_what_is_seen(struct world *w, struct history_entry *e)
{
    if ((e->op != HISTORY_READ && e->op != HISTORY_ITEM) || !e->token)
        return false;
    e->token = w->next_token + 77;
    return true;
}

static bool an_lsn_is_given_twice(struct world *w, struct history_entry *e)
{
    if (!acked(e))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        if (!acked(&w->log[i]) || &w->log[i] == e)
            continue;
        e->point = e->version = w->log[i].point;
        return true;
    }
    return false;
}

static bool two_writes_are_swapped(struct world *w, struct history_entry *e)
{
    if (!acked(e))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        struct history_entry *f = &w->log[i];
        uint64_t lsn = e->point;
        if (!acked(f) || f->key != e->key || e->t1 >= f->t0)
            continue;
        e->point = e->version = f->point;
        f->point = f->version = lsn;
        return true;
    }
    return false;
}

static bool a_write_is_lost(struct world *w, struct history_entry *e)
{
    /* Acknowledged, but what comes after never saw it. */
    if (!acked(e) || e->op == HISTORY_DELETE)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        struct history_entry *r = &w->log[i];
        if (r->op != HISTORY_READ || r->token != e->token)
            continue;
        for (uint64_t lsn = e->point; lsn-- > 1;) {
            const struct history_entry *old = writer(w, e->document, lsn);
            if (!old || old->op == HISTORY_DELETE)
                continue;
            r->token = old->token;
            r->version = old->version;
            return true;
        }
    }
    return false;
}

static bool a_condition_is_ignored(struct world *w, struct history_entry *e)
{
    (void)w;
    if (!acked(e) || !e->condition)
        return false;
    e->condition++;
    return true;
}

static bool a_good_condition_is_refused(struct world *w,
                                        struct history_entry *e)
{
    if (e->status != 412 || is_doubtful(w, e->document))
        return false;
    for (uint64_t lsn = e->point; lsn > 0; lsn--) {
        bool is_undone = e->point >= JUMP && lsn < JUMP && lsn > w->saved_lsn;
        if (is_undone || !writer(w, e->document, lsn))
            continue;
        e->condition = lsn;
        return true;
    }
    return false;
}

static bool create_refused_for_nothing(struct world *w, struct history_entry *e)
{
    if (e->status != 404 || e->op == HISTORY_READ || !e->point ||
        is_doubtful(w, e->document))
        return false;
    e->op = HISTORY_CREATE;
    e->status = 409;
    return true;
}

static bool replace_misses_what_is_there(struct world *w,
                                         struct history_entry *e)
{
    if (e->status != 409 || is_doubtful(w, e->document))
        return false;
    e->op = HISTORY_REPLACE;
    e->status = 404;
    return true;
}

static bool create_replaces(struct world *w, struct history_entry *e)
{
    if (!acked(e) || e->op != HISTORY_REPLACE || is_doubtful(w, e->document))
        return false;
    e->op = HISTORY_CREATE;
    return true;
}

static bool delete_of_nothing(struct world *w, struct history_entry *e)
{
    if (!acked(e) || e->op != HISTORY_CREATE || is_doubtful(w, e->document))
        return false;
    e->op = HISTORY_REPLACE;
    return true;
}

static bool a_feed_skips_a_change(struct world *w, struct history_entry *e)
{
    if (e->op != HISTORY_ITEM || is_doubtful(w, e->document) ||
        !writer(w, e->document, e->version))
        return false;
    *e = w->log[--w->count];
    return true;
}

static bool a_feed_swaps_two_changes(struct world *w, struct history_entry *e)
{
    struct history_entry *f = e + 1, old = *e;

    if (e->op != HISTORY_ITEM || f >= w->log + w->count ||
        f->op != HISTORY_ITEM || f->client != e->client || f->t0 != e->t0 ||
        f->version == e->version)
        return false;
    e->from = f->from;
    f->from = old.from;
    return true;
}

static bool a_feed_repeats_a_change(struct world *w, struct history_entry *e)
{
    struct history_entry again = *e;

    if (e->op != HISTORY_ITEM)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *p = &w->log[i];
        if (p->op != HISTORY_PAGE || p->client != e->client ||
            p->from < e->version)
            continue;
        again.t0 = p->t0;
        again.t1 = p->t1;
        again.from = 0;
        add(w, &again);
        return true;
    }
    return false;
}

static bool a_304_hides_a_change(struct world *w, struct history_entry *e)
{
    if (e->op != HISTORY_PAGE || e->status != 200 || e->point == e->from)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        if (!acked(f) || f->t1 >= e->t0 || f->point <= e->from)
            continue;
        e->status = 304;
        e->to = e->point = e->from;
        return true;
    }
    return false;
}

static bool a_reader_is_moved_on(struct world *w, struct history_entry *e)
{
    (void)w;
    if (e->op != HISTORY_PAGE || e->from < 2 || e->flags)
        return false;
    e->from--;
    return true;
}

static bool a_page_is_of_the_past(struct world *w, struct history_entry *e)
{
    /* Of a range that nobody else has met, as after a split. */
    if (e->op != HISTORY_PAGE || e->status != 304 || e->from != e->to)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        if (!acked(f) || f->t1 >= e->t0 || f->point != e->point ||
            f->key < e->key || f->key >= e->key + e->keys)
            continue;
        e->from = e->to = --e->point;
        e->range = 77;
        e->flags = HISTORY_STARTS;
        return true;
    }
    return false;
}

static bool a_reader_who_goes_back_is_moved_on(struct world *w,
                                               struct history_entry *e)
{
    if (e->op != HISTORY_PAGE || e->status != 304 || e->from + 2 > e->to)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->log[i].op == HISTORY_PAGE && w->log[i].client == e->client &&
            w->log[i].t0 < e->t0 && w->log[i].to + 1 >= e->to)
            return false; /* it has been there */
    e->flags = HISTORY_AGAIN;
    e->from = e->to - 1;
    return true;
}

/* Its page, and how many items that has. */
static struct history_entry *page_of(struct world *w, struct history_entry *e,
                                     size_t *n)
{
    struct history_entry *page = e;

    while (page > w->log && page->op == HISTORY_ITEM)
        page--;
    *n = 0;
    while (page + *n + 1 < w->log + w->count &&
           page[*n + 1].op == HISTORY_ITEM &&
           page[*n + 1].client == page->client)
        ++*n;
    return page->op == HISTORY_PAGE ? page : NULL;
}

static bool a_page_is_longer_than_asked_for(struct world *w,
                                            struct history_entry *e)
{
    size_t n;
    struct history_entry *page = e->op == HISTORY_ITEM ? page_of(w, e, &n) : 0;

    if (!page || n < 2 || page[n].version == page[1].version)
        return false;
    page->max = 1;
    return true;
}

static bool a_page_divides_a_transaction(struct world *w,
                                         struct history_entry *e)
{
    size_t n;
    struct history_entry *page = e->op == HISTORY_ITEM ? page_of(w, e, &n) : 0;

    if (!page || n < 2 || page[n].version != page[n - 1].version ||
        is_doubtful(w, page[n].document))
        return false;
    page[n] = w->log[--w->count];
    return true;
}

static bool a_page_is_of_another_key(struct world *w, struct history_entry *e)
{
    size_t n;
    struct history_entry *page = e->op == HISTORY_ITEM ? page_of(w, e, &n) : 0;

    if (!page || page->keys != 1)
        return false;
    page->key = 2;
    page->flags = HISTORY_STARTS;
    return true;
}

static bool a_change_is_twice_in_a_page(struct world *w,
                                        struct history_entry *e)
{
    struct history_entry again = *e;

    if (e->op != HISTORY_ITEM)
        return false;
    add(w, &again);
    return true;
}

static bool a_feed_gives_what_was_replaced(struct world *w,
                                           struct history_entry *e)
{
    size_t n;
    struct history_entry *page = e->op == HISTORY_ITEM ? page_of(w, e, &n) : 0;

    if (!page || n != 1 || is_doubtful(w, e->document))
        return false;
    for (uint64_t lsn = e->version; --lsn > page->from;) {
        const struct history_entry *old;
        if (lsn == JUMP)
            return false;
        old = writer(w, e->document, lsn);
        if (!old || old->op == HISTORY_DELETE)
            continue;
        e->token = old->token;
        e->version = old->version;
        return true;
    }
    return false;
}

static bool what_was_undone_is_read(struct world *w, struct history_entry *e)
{
    if (e->op != HISTORY_READ || e->point < JUMP ||
        (e->status != 200 && e->status != 404))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        if (!acked(f) || f->op == HISTORY_DELETE || f->point >= JUMP ||
            f->point <= w->saved_lsn || f->document != e->document)
            continue;
        e->status = 200;
        e->token = f->token;
        e->version = f->version;
        return true;
    }
    return false;
}

static bool what_was_undone_is_in_a_feed(struct world *w,
                                         struct history_entry *e)
{
    if (e->op != HISTORY_PAGE || e->point < JUMP || e->from >= JUMP)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        struct history_entry item = *f;
        if (!acked(f) || f->op == HISTORY_DELETE || f->point >= JUMP ||
            f->point <= w->saved_lsn || f->point <= e->from ||
            f->point > e->to || f->key < e->key || f->key >= e->key + e->keys ||
            is_doubtful(w, f->document))
            continue;
        item.op = HISTORY_ITEM;
        item.client = e->client;
        item.t0 = e->t0;
        item.t1 = e->t1;
        item.from = 0;
        e->max = 0;
        add(w, &item);
        return true;
    }
    return false;
}

static bool a_backup_lacks_what_was_answered(struct world *w,
                                             struct history_entry *e)
{
    if (!acked(e) || e->t1 >= w->begun)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->log[i].op == HISTORY_RESTORE)
            w->log[i].from = e->point - 1;
    return true;
}

static bool a_backup_has_what_was_sent_later(struct world *w,
                                             struct history_entry *e)
{
    if (!acked(e) || e->t0 <= w->ended || e->point >= JUMP)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->log[i].op == HISTORY_RESTORE)
            w->log[i].from = e->point;
    return true;
}

static const struct {
    const char *name;
    mutation *apply;
} mutations[] = {
#define M(f)                                                                   \
    {                                                                          \
#f, f                                                                  \
    }
    M(read_shows_an_older_version),
    M(read_is_decided_too_early),
    M(read_finds_nothing),
    M(read_finds_what_was_deleted),
    M(nobody_wrote_what_is_seen),
    M(an_lsn_is_given_twice),
    M(two_writes_are_swapped),
    M(a_write_is_lost),
    M(a_condition_is_ignored),
    M(a_good_condition_is_refused),
    M(create_refused_for_nothing),
    M(replace_misses_what_is_there),
    M(create_replaces),
    M(delete_of_nothing),
    M(a_feed_skips_a_change),
    M(a_feed_swaps_two_changes),
    M(a_feed_repeats_a_change),
    M(a_304_hides_a_change),
    M(a_reader_is_moved_on),
    M(a_reader_who_goes_back_is_moved_on),
    M(a_page_is_of_the_past),
    M(a_page_is_longer_than_asked_for),
    M(a_page_divides_a_transaction),
    M(a_page_is_of_another_key),
    M(a_change_is_twice_in_a_page),
    M(a_feed_gives_what_was_replaced),
    M(what_was_undone_is_read),
    M(what_was_undone_is_in_a_feed),
    M(a_backup_lacks_what_was_answered),
    M(a_backup_has_what_was_sent_later),
#undef M
};

/* ---- tests --------------------------------------------------------------- */

static void histories_of_a_correct_server_pass(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct world *w = make(seed);
        struct history_verdict v;

        assert_int_equal(history_check(w->log, w->count, stderr, &v), 0);
        assert_true(v.reads > 20 && v.writes > 50 && v.refused > 20 &&
                    v.pages > 10 && v.items > 10);
        assert_int_equal(history_violations(&v), 0);
        free(w);
    }
}

static void every_wrong_thing_is_found(void **state)
{
    size_t kinds = sizeof(mutations) / sizeof(mutations[0]);
    int missed = 0;

    (void)state;
    for (size_t m = 0; m < kinds; m++) {
        int done = 0;

        for (uint64_t seed = 1; done < ROUNDS; seed++) {
            struct world *w = make(seed);
            struct history_verdict v;
            bool applied = false;
            size_t at = rn_chance_below(&w->chance, w->count);

            for (size_t i = 0; !applied && i < w->count; i++)
                applied = mutations[m].apply(w, &w->log[(at + i) % w->count]);
            if (applied) {
                done++;
                assert_int_equal(history_check(w->log, w->count, NULL, &v), 0);
                if (!history_violations(&v)) {
                    print_error("%s, seed %u: not found\n", mutations[m].name,
                                (unsigned)seed);
                    missed++;
                }
            }
            free(w);
            assert_true(seed < 50 * ROUNDS);
        }
    }
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_of_a_correct_server_pass),
        cmocka_unit_test(every_wrong_thing_is_found),
    };

    return cmocka_run_group_tests_name("history.check", tests, NULL, NULL);
}
