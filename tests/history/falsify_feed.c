/* falsify_feed.c -- falsified feeds and restores; see falsify.h. */
#include "history/falsify_own.h"

bool lie_a_feed_skips_a_change(struct simulated_history *w,
                               struct history_entry *e)
{
    if (e->op != HISTORY_ITEM || lie_is_doubtful(w, e) ||
        !lie_writer(w, e->document, e->version))
        return false;
    *e = w->log[--w->count];
    return true;
}

bool lie_a_feed_swaps_two_changes(struct simulated_history *w,
                                  struct history_entry *e)
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

bool lie_a_feed_repeats_a_change(struct simulated_history *w,
                                 struct history_entry *e)
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
        simulated_add(w, &again);
        return true;
    }
    return false;
}

bool lie_a_304_hides_a_change(struct simulated_history *w,
                              struct history_entry *e)
{
    if (e->op != HISTORY_PAGE || e->status != 200 || e->point == e->from)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        if (!lie_acked(f) || f->t1 >= e->t0 || f->point <= e->from)
            continue;
        e->status = 304;
        e->to = e->point = e->from;
        return true;
    }
    return false;
}

bool lie_a_reader_is_moved_on(struct simulated_history *w,
                              struct history_entry *e)
{
    (void)w;
    if (e->op != HISTORY_PAGE || e->from < 2 || e->flags)
        return false;
    e->from--;
    return true;
}

bool lie_a_page_is_of_the_past(struct simulated_history *w,
                               struct history_entry *e)
{
    /* Of a range that nobody else has met, as after a split. */
    if (e->op != HISTORY_PAGE || e->status != 304 || e->from != e->to)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        if (!lie_acked(f) || f->t1 >= e->t0 || f->point != e->point ||
            f->key < e->key || f->key >= e->key + e->keys)
            continue;
        e->from = e->to = --e->point;
        e->range = 77;
        e->flags = HISTORY_STARTS;
        return true;
    }
    return false;
}

bool lie_a_reader_who_goes_back_is_moved_on(struct simulated_history *w,
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
static struct history_entry *page_of(struct simulated_history *w,
                                     struct history_entry *e, size_t *n)
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

bool lie_a_page_is_longer_than_asked_for(struct simulated_history *w,
                                         struct history_entry *e)
{
    size_t n;
    struct history_entry *page = e->op == HISTORY_ITEM ? page_of(w, e, &n) : 0;

    if (!page || n < 2 || page[n].version == page[1].version)
        return false;
    page->max = 1;
    return true;
}

bool lie_a_page_divides_a_transaction(struct simulated_history *w,
                                      struct history_entry *e)
{
    size_t n;
    struct history_entry *page = e->op == HISTORY_ITEM ? page_of(w, e, &n) : 0;

    if (!page || n < 2 || page[n].version != page[n - 1].version ||
        lie_is_doubtful(w, &page[n]) ||
        !lie_writer(w, page[n].document, page[n].version))
        return false;
    page[n] = w->log[--w->count];
    return true;
}

bool lie_a_page_is_of_another_key(struct simulated_history *w,
                                  struct history_entry *e)
{
    size_t n;
    struct history_entry *page = e->op == HISTORY_ITEM ? page_of(w, e, &n) : 0;

    if (!page || page->keys != 1)
        return false;
    page->key = 2;
    page->flags = HISTORY_STARTS;
    return true;
}

bool lie_a_change_is_twice_in_a_page(struct simulated_history *w,
                                     struct history_entry *e)
{
    struct history_entry again = *e;

    if (e->op != HISTORY_ITEM)
        return false;
    simulated_add(w, &again);
    return true;
}

bool lie_a_feed_gives_what_was_replaced(struct simulated_history *w,
                                        struct history_entry *e)
{
    size_t n;
    struct history_entry *page = e->op == HISTORY_ITEM ? page_of(w, e, &n) : 0;

    if (!page || n != 1 || !lie_writer(w, e->document, e->version))
        return false;
    for (uint64_t lsn = e->version; --lsn > page->from;) {
        const struct history_entry *old;
        if (lsn == WORLD_JUMP)
            return false;
        old = lie_writer(w, e->document, lsn);
        if (!old || old->op == HISTORY_DELETE)
            continue;
        e->token = old->token;
        e->version = old->version;
        return true;
    }
    return false;
}

bool lie_what_was_undone_is_read(struct simulated_history *w,
                                 struct history_entry *e)
{
    if (!lie_is_read(e) || e->point < WORLD_JUMP ||
        (e->status != 200 && e->status != 404))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        if (!lie_acked(f) || f->op == HISTORY_DELETE ||
            f->point >= WORLD_JUMP || f->point <= w->saved_lsn ||
            f->document != e->document)
            continue;
        e->status = 200;
        e->token = f->token;
        e->version = f->version;
        return true;
    }
    return false;
}

bool lie_what_was_undone_is_in_a_feed(struct simulated_history *w,
                                      struct history_entry *e)
{
    if (e->op != HISTORY_PAGE || e->point < WORLD_JUMP || e->from >= WORLD_JUMP)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct history_entry *f = &w->log[i];
        struct history_entry item = *f;
        if (!lie_acked(f) || f->op == HISTORY_DELETE ||
            f->point >= WORLD_JUMP || f->point <= w->saved_lsn ||
            f->point <= e->from || f->point > e->to || f->key < e->key ||
            f->key >= e->key + e->keys)
            continue;
        item.op = HISTORY_ITEM;
        item.client = e->client;
        item.t0 = e->t0;
        item.t1 = e->t1;
        item.from = 0;
        e->max = 0;
        simulated_add(w, &item);
        return true;
    }
    return false;
}

bool lie_a_backup_lacks_what_was_answered(struct simulated_history *w,
                                          struct history_entry *e)
{
    if (!lie_acked(e) || e->t1 >= w->begun)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->log[i].op == HISTORY_RESTORE)
            w->log[i].from = e->point - 1;
    return true;
}

bool lie_a_backup_has_what_was_sent_later(struct simulated_history *w,
                                          struct history_entry *e)
{
    if (!lie_acked(e) || e->t0 <= w->ended || e->point >= WORLD_JUMP)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->log[i].op == HISTORY_RESTORE)
            w->log[i].from = e->point;
    return true;
}
