/* lies.c -- see lies.h. */
#include "history/lies.h"

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
        bool is_undone =
            e->point >= WORLD_JUMP && lsn < WORLD_JUMP && lsn > w->saved_lsn;
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
        world_add(w, &again);
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
    world_add(w, &again);
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
        if (lsn == WORLD_JUMP)
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
    if (e->op != HISTORY_READ || e->point < WORLD_JUMP ||
        (e->status != 200 && e->status != 404))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        if (!acked(f) || f->op == HISTORY_DELETE || f->point >= WORLD_JUMP ||
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
    if (e->op != HISTORY_PAGE || e->point < WORLD_JUMP || e->from >= WORLD_JUMP)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        struct history_entry item = *f;
        if (!acked(f) || f->op == HISTORY_DELETE || f->point >= WORLD_JUMP ||
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
        world_add(w, &item);
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
    if (!acked(e) || e->t0 <= w->ended || e->point >= WORLD_JUMP)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->log[i].op == HISTORY_RESTORE)
            w->log[i].from = e->point;
    return true;
}

const struct lie lies[] = {
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

const size_t lie_count = sizeof(lies) / sizeof(lies[0]);
