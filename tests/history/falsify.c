/* falsify.c -- see falsify.h. */
#include "history/falsify_own.h"

bool lie_acked(const struct history_entry *e)
{
    return e->op >= HISTORY_CREATE && e->op <= HISTORY_DELETE &&
           e->status == 200;
}

struct history_entry *lie_writer(struct simulated_history *w, uint32_t document,
                                 uint64_t lsn)
{
    for (size_t i = 0; i < w->count; i++)
        if (lie_acked(&w->log[i]) && w->log[i].document == document &&
            w->log[i].version == lsn)
            return &w->log[i];
    return NULL;
}

bool lie_is_read(const struct history_entry *e)
{
    return e->op == HISTORY_READ || e->op == HISTORY_QUERY;
}

static bool is_lost(const struct history_entry *e)
{
    return e->op >= HISTORY_CREATE && e->op <= HISTORY_DELETE && e->status == 0;
}

/* When it has happened, if it ever will. */
static uint64_t closed(const struct simulated_history *w,
                       const struct history_entry *l)
{
    uint64_t end = l->t1;

    for (size_t i = 0; i < w->count; i++)
        if (w->log[i].op == HISTORY_START && w->log[i].t0 > l->t0 &&
            w->log[i].t0 < end)
            end = w->log[i].t0;
    return end;
}

/* Did an answer show what became of it, between its end and a request?
 * An answer after the backup says nothing after the restore. */
static bool is_settled(const struct simulated_history *w,
                       const struct history_entry *l,
                       const struct history_entry *e)
{
    uint64_t end = closed(w, l);
    bool is_restored = w->restored && e->t1 > w->restored;

    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];

        if (f->document != l->document || f->t0 <= end || f->t1 >= e->t0 ||
            !(lie_acked(f) || (lie_is_read(f) && f->point)))
            continue;
        if (!is_restored || f->t0 > w->restored || f->t1 < w->begun)
            return true;
    }
    return false;
}

bool lie_is_doubtful(const struct simulated_history *w,
                     const struct history_entry *e)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *l = &w->log[i];

        if (is_lost(l) && l->document == e->document && l->t0 < e->t1 &&
            !is_settled(w, l, e))
            return true;
    }
    return false;
}

static bool read_shows_an_older_version(struct simulated_history *w,
                                        struct history_entry *e)
{
    if (!lie_is_read(e) || e->status != 200 || lie_is_doubtful(w, e))
        return false;
    for (uint64_t lsn = e->version; lsn-- > 1;) {
        const struct history_entry *old = lie_writer(w, e->document, lsn);
        if (!old || old->op == HISTORY_DELETE)
            continue;
        e->version = old->version;
        e->token = old->token;
        return true;
    }
    return false;
}

static bool read_is_decided_too_early(struct simulated_history *w,
                                      struct history_entry *e)
{
    uint64_t high = 0;

    if (!lie_is_read(e) || !e->point)
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

static bool read_finds_nothing(struct simulated_history *w,
                               struct history_entry *e)
{
    if (!lie_is_read(e) || e->status != 200 || lie_is_doubtful(w, e))
        return false;
    e->status = 404;
    e->token = e->version = 0;
    return true;
}

static bool read_finds_what_was_deleted(struct simulated_history *w,
                                        struct history_entry *e)
{
    if (!lie_is_read(e) || e->status != 404 || !e->point ||
        lie_is_doubtful(w, e))
        return false;
    for (uint64_t lsn = e->point; lsn > 0; lsn--) {
        const struct history_entry *old = lie_writer(w, e->document, lsn);
        if (!old || old->op == HISTORY_DELETE)
            continue;
        e->status = 200;
        e->version = old->version;
        e->token = old->token;
        return true;
    }
    return false;
}

static bool nobody_wrote_what_is_seen(struct simulated_history *w,
                                      struct history_entry *e)
{
    if ((!lie_is_read(e) && e->op != HISTORY_ITEM) || !e->token)
        return false;
    e->token = w->next_token + 77;
    return true;
}

static bool an_lsn_is_given_twice(struct simulated_history *w,
                                  struct history_entry *e)
{
    if (!lie_acked(e))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        if (!lie_acked(&w->log[i]) || &w->log[i] == e || w->log[i].n != e->n)
            continue;
        e->point = e->version = w->log[i].point;
        return true;
    }
    return false;
}

static bool two_writes_are_swapped(struct simulated_history *w,
                                   struct history_entry *e)
{
    if (!lie_acked(e))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        struct history_entry *f = &w->log[i];
        uint64_t lsn = e->point;
        if (!lie_acked(f) || f->key != e->key || e->t1 >= f->t0)
            continue;
        e->point = e->version = f->point;
        f->point = f->version = lsn;
        return true;
    }
    return false;
}

static bool a_write_is_lost(struct simulated_history *w,
                            struct history_entry *e)
{
    /* Acknowledged, but what comes after never saw it. */
    if (!lie_acked(e) || e->op == HISTORY_DELETE)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        struct history_entry *r = &w->log[i];
        if (!lie_is_read(r) || r->token != e->token)
            continue;
        for (uint64_t lsn = e->point; lsn-- > 1;) {
            const struct history_entry *old = lie_writer(w, e->document, lsn);
            if (!old || old->op == HISTORY_DELETE)
                continue;
            r->token = old->token;
            r->version = old->version;
            return true;
        }
    }
    return false;
}

static bool a_condition_is_ignored(struct simulated_history *w,
                                   struct history_entry *e)
{
    (void)w;
    if (!lie_acked(e) || !e->condition)
        return false;
    e->condition++;
    return true;
}

/* The version that a request found, if it is of an acknowledged write. */
static const struct history_entry *current(struct simulated_history *w,
                                           const struct history_entry *e)
{
    uint64_t lsn = 0;

    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        bool is_undone = e->point >= WORLD_JUMP && f->version < WORLD_JUMP &&
                         f->version > w->saved_lsn;

        if (f->document == e->document && f->op <= HISTORY_ITEM &&
            f->op != HISTORY_PAGE && f->version <= e->point && !is_undone &&
            f->version > lsn)
            lsn = f->version;
    }
    return lsn ? lie_writer(w, e->document, lsn) : NULL;
}

static bool a_good_condition_is_refused(struct simulated_history *w,
                                        struct history_entry *e)
{
    const struct history_entry *now;

    if (e->status != 412 || lie_is_doubtful(w, e))
        return false;
    now = current(w, e);
    if (!now || now->op == HISTORY_DELETE)
        return false;
    e->condition = now->version;
    return true;
}

static bool create_refused_for_nothing(struct simulated_history *w,
                                       struct history_entry *e)
{
    if (e->status != 404 || lie_is_read(e) || !e->point ||
        lie_is_doubtful(w, e))
        return false;
    e->op = HISTORY_CREATE;
    e->status = 409;
    return true;
}

static bool replace_misses_what_is_there(struct simulated_history *w,
                                         struct history_entry *e)
{
    if (e->status != 409 || lie_is_doubtful(w, e))
        return false;
    e->op = HISTORY_REPLACE;
    e->status = 404;
    return true;
}

static bool create_replaces(struct simulated_history *w,
                            struct history_entry *e)
{
    if (!lie_acked(e) || e->op != HISTORY_REPLACE || lie_is_doubtful(w, e))
        return false;
    e->op = HISTORY_CREATE;
    return true;
}

static bool delete_of_nothing(struct simulated_history *w,
                              struct history_entry *e)
{
    if (!lie_acked(e) || e->op != HISTORY_CREATE || lie_is_doubtful(w, e))
        return false;
    e->op = HISTORY_REPLACE;
    return true;
}

/* ---- lost writes --------------------------------------------------------- */

/* Gives every LSN from one on to the next, so that it is nobody's. */
static void make_room(struct simulated_history *w, uint64_t lsn)
{
    for (size_t i = 0; i < w->count; i++) {
        struct history_entry *e = &w->log[i];
        uint64_t *const numbers[] = { &e->point, &e->version, &e->condition,
                                      &e->from, &e->to };
        size_t count = e->op == HISTORY_ITEM ? 3 : 5; /* its place in a page */

        for (size_t k = 0; k < count; k++)
            *numbers[k] += *numbers[k] >= lsn;
    }
}

static bool is_seen(const struct simulated_history *w,
                    const struct history_entry *l)
{
    for (size_t i = 0; i < w->count; i++)
        if (&w->log[i] != l && w->log[i].token == l->token)
            return true;
    return false;
}

/* Was anything decided after a lost write's end, and before a request? */
static bool is_closed_before(const struct simulated_history *w,
                             const struct history_entry *l,
                             const struct history_entry *e)
{
    uint64_t end = closed(w, l);

    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        if (f->op <= HISTORY_DELETE && f->key == e->key && f->point &&
            f->t0 > end && f->t1 < e->t0 && f->point < e->point)
            return true;
    }
    return false;
}

static bool a_lost_write_comes_after_a_start(struct simulated_history *w,
                                             struct history_entry *e)
{
    if (!lie_is_read(e) || !e->point)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *l = &w->log[i];

        if (!is_lost(l) || l->op != HISTORY_UPSERT || is_seen(w, l) ||
            l->document != e->document || !is_closed_before(w, l, e))
            continue;
        e->status = 200;
        e->token = l->token;
        e->version = e->point;
        e->n = e->count = 0;
        make_room(w, e->point);
        e->version--;
        return true;
    }
    return false;
}

/* Two of one transaction, neither answered: one was seen. */
static bool half_a_lost_transaction_is_there(struct simulated_history *w,
                                             struct history_entry *e)
{
    const struct history_entry *l = NULL, *other = NULL, *old = NULL;

    for (size_t i = 0; lie_is_read(e) && e->token && i < w->count; i++)
        if (is_lost(&w->log[i]) && w->log[i].token == e->token &&
            w->log[i].flags & HISTORY_TOGETHER)
            l = &w->log[i];
    for (size_t i = 0; l && i < w->count; i++)
        if (is_lost(&w->log[i]) && w->log[i].client == l->client &&
            w->log[i].t0 == l->t0 && &w->log[i] != l)
            other = &w->log[i];
    if (!other || !is_seen(w, other))
        return false;
    for (uint64_t lsn = e->version; lsn-- > 1 && !old;)
        old = lie_writer(w, e->document, lsn);
    if (!old || old->op == HISTORY_DELETE)
        return false;
    e->version = old->version;
    e->token = old->token;
    e->n = old->n;
    e->count = old->count;
    return true;
}

static bool a_patch_counts_twice(struct simulated_history *w,
                                 struct history_entry *e)
{
    if (!lie_acked(e) || e->op != HISTORY_PATCH || lie_is_doubtful(w, e))
        return false;
    for (size_t i = 0; i < w->count; i++)
        w->log[i].count += w->log[i].token == e->token;
    return true;
}

/* ---- sessions ------------------------------------------------------------ */

static bool is_in_session(const struct history_entry *e)
{
    return e->flags & HISTORY_SESSION && !(e->flags & HISTORY_AHEAD) &&
           e->point;
}

static bool a_read_is_from_before_its_token(struct simulated_history *w,
                                            struct history_entry *e)
{
    (void)w;
    if (!is_in_session(e) || !lie_is_read(e))
        return false;
    e->demand = e->point + 1;
    return true;
}

static bool a_write_is_not_above_its_token(struct simulated_history *w,
                                           struct history_entry *e)
{
    (void)w;
    if (!is_in_session(e) || !lie_acked(e))
        return false;
    e->demand = e->point;
    return true;
}

static bool a_token_that_was_given_is_refused(struct simulated_history *w,
                                              struct history_entry *e)
{
    (void)w;
    if (!is_in_session(e) || !lie_is_read(e))
        return false;
    e->flags |= HISTORY_BEHIND;
    e->status = 404;
    e->point = e->version = e->token = 0;
    return true;
}

static bool a_token_of_the_future_is_answered(struct simulated_history *w,
                                              struct history_entry *e)
{
    (void)w;
    if (!(e->flags & HISTORY_BEHIND))
        return false;
    e->flags &= ~(uint32_t)HISTORY_BEHIND;
    return true;
}

static bool a_session_goes_back(struct simulated_history *w,
                                struct history_entry *e)
{
    if (!is_in_session(e))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];

        if (!is_in_session(f) || f->client != e->client || f->key != e->key ||
            f->t1 >= e->t0 || f->point < 2)
            continue;
        e->demand = f->point - 1;
        return true;
    }
    return false;
}

const struct falsification falsifications[] = {
#define LIE(f, share)                                                          \
    {                                                                          \
#f, f, share                                                           \
    }
#define FEED(f)                                                                \
    {                                                                          \
#f, lie_##f, 0                                                         \
    }
    LIE(read_shows_an_older_version, 60),
    LIE(read_is_decided_too_early, 0),
    LIE(read_finds_nothing, 60),
    LIE(read_finds_what_was_deleted, 60),
    LIE(nobody_wrote_what_is_seen, 10),
    LIE(an_lsn_is_given_twice, 0),
    LIE(two_writes_are_swapped, 0),
    LIE(a_write_is_lost, 60),
    LIE(a_condition_is_ignored, 90),
    LIE(a_good_condition_is_refused, 10),
    LIE(create_refused_for_nothing, 40),
    LIE(replace_misses_what_is_there, 60),
    LIE(create_replaces, 80),
    LIE(delete_of_nothing, 60),
    LIE(a_patch_counts_twice, 10),
    LIE(a_lost_write_comes_after_a_start, 10),
    LIE(half_a_lost_transaction_is_there, 0),
    LIE(a_read_is_from_before_its_token, 0),
    LIE(a_write_is_not_above_its_token, 0),
    LIE(a_token_that_was_given_is_refused, 0),
    LIE(a_token_of_the_future_is_answered, 0),
    LIE(a_session_goes_back, 0),
    FEED(a_feed_skips_a_change),
    FEED(a_feed_swaps_two_changes),
    FEED(a_feed_repeats_a_change),
    FEED(a_304_hides_a_change),
    FEED(a_reader_is_moved_on),
    FEED(a_page_is_of_the_past),
    FEED(a_reader_who_goes_back_is_moved_on),
    FEED(a_page_is_longer_than_asked_for),
    FEED(a_page_divides_a_transaction),
    FEED(a_page_is_of_another_key),
    FEED(a_change_is_twice_in_a_page),
    FEED(a_feed_gives_what_was_replaced),
    FEED(what_was_undone_is_read),
    FEED(what_was_undone_is_in_a_feed),
    FEED(a_backup_lacks_what_was_answered),
    FEED(a_backup_has_what_was_sent_later),
#undef LIE
#undef FEED
};

const size_t lie_count = sizeof(falsifications) / sizeof(falsifications[0]);
