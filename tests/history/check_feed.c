/* check_feed.c -- the checker's part for pages of feeds, and for restores. */
#include "history/check_own.h"

#include <stdlib.h>
#include <string.h>

static int by_key_lsn(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = CHECK_COMPARE(a->key, b->key);

    return order ? order : CHECK_COMPARE(a->point, b->point);
}

static int by_key_answer(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = CHECK_COMPARE(a->key, b->key);

    return order ? order : CHECK_COMPARE(a->t1, b->t1);
}

/* ---- restores ------------------------------------------------------------ */

static void undo(struct check *c, const entry *restore, entry *w)
{
    bool is_in = w->point <= restore->from;

    if (w->point > restore->to || !check_has_key(restore, w->key))
        return;
    if (!is_in && w->t1 < restore->t0)
        check_report(c, &c->verdict->restore, "restore",
                     "the backup lacks what was answered before it", w);
    if (is_in && w->t0 > restore->t1)
        check_report(c, &c->verdict->restore, "restore",
                     "the backup has what was sent after it", w);
    if (!is_in && restore->to < w->gone) {
        c->verdict->undone += w->gone == HISTORY_NEVER;
        w->gone = restore->to;
    }
}

int check_restores(struct check *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->restore_count += c->all[i].op == HISTORY_RESTORE;
    c->restores = malloc((c->restore_count + 1) * sizeof(entry *));
    if (!c->restores)
        return -1;
    c->restore_count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->all[i].op == HISTORY_RESTORE)
            c->restores[c->restore_count++] = &c->all[i];
    for (size_t i = 0; i < c->write_count; i++)
        for (size_t k = 0; k < c->restore_count; k++)
            undo(c, c->restores[k], c->writes[i]);
    return 0;
}

/* ---- pages --------------------------------------------------------------- */

/* Where each reader has come to with each key, and where each key's writes
 * begin. */
struct places {
    entry **by_key, **answered; /* writes, by LSN and by answer */
    uint64_t *high;             /* of `answered`: the highest LSN so far */
    size_t *key_at;
    uint64_t *at, *high_at; /* now, and at most */
    size_t clients, keys;
};

static const char *judge_item(struct check *c, const entry *page,
                              const entry *it, uint32_t number)
{
    entry *w = check_find_token(c, it->token), *now;

    if (!check_has_key(page, it->key))
        return "of another key";
    if (it->version <= page->from || it->version > page->to)
        return "outside of its page";
    if (!w)
        return NULL; /* a phantom, which has been reported */
    if (w->seen == number)
        return "twice in a page";
    w->seen = number;
    now = check_latest(c, it->document, page->point);
    if (now != w)
        return "not what is there";
    return NULL;
}

/* More than were asked for only if the last transaction has them. */
static bool is_too_long(const entry *page, const entry *items, size_t n)
{
    return page->max && n > page->max &&
           items[n - 1].version != items[page->max - 1].version;
}

static bool is_tied(const entry *page, const entry *items, size_t n)
{
    if (page->max != 1)
        return false;
    for (size_t i = 1; i < n; i++)
        if (items[i].range != items[0].range)
            return true;
    return false;
}

/* A page that was waited for: how long after its first change was answered, or
 * after it was asked for, did it come? */
static void note_wait(struct check *c, const entry *page, const entry *first)
{
    const entry *w = check_find_token(c, first->token);
    uint64_t since;

    if (!w || w->flags & HISTORY_LOST || w->t1 < page->t0)
        return;
    since = page->t1 > w->t1 ? page->t1 - w->t1 : 0;
    c->verdict->waits++;
    if (since > c->verdict->late_ns)
        c->verdict->late_ns = since;
}

static void check_page(struct check *c, const entry *page, const entry *items,
                       size_t n, uint32_t number)
{
    struct history_verdict *v = c->verdict;

    for (size_t i = 0; i < n; i++) {
        const char *why = judge_item(c, page, &items[i], number);
        if (why)
            check_report(c, &v->feed, "feed", why, &items[i]);
        if (i && items[i].version < items[i - 1].version)
            check_report(c, &v->feed, "feed", "out of order", &items[i]);
    }
    if (is_too_long(page, items, n))
        check_report(c, &v->feed, "feed", "longer than asked for", page);
    if (page->to < page->from)
        check_report(c, &v->feed, "feed", "it goes back", page);
    if (page->status == 304 && (page->to != page->point || n))
        check_report(c, &v->feed, "feed", "304 is not of now", page);
    if (page->flags & HISTORY_WAITS && n)
        note_wait(c, page, items);
    v->unmoved += page->status == 304;
    v->tied += is_tied(page, items, n);
}

static int note_missing(struct check *c, const entry *page, const entry *w)
{
    if (c->missing_count == c->missing_room) {
        size_t room = c->missing_room ? 2 * c->missing_room : 64;
        entry *more = realloc(c->missing, room * sizeof(entry));

        if (!more)
            return -1;
        c->missing = more;
        c->missing_room = room;
    }
    c->missing[c->missing_count++] = (entry){ .op = HISTORY_ITEM,
                                              .client = page->client,
                                              .t0 = page->t0,
                                              .t1 = page->t1,
                                              .point = page->point,
                                              .document = w->document,
                                              .key = w->key,
                                              .range = page->range,
                                              .version = w->version };
    return 0;
}

/* Writes of a key in a page's interval that are not in it must have been
 * overtaken. */
static int check_missing(struct check *c, const struct places *p,
                         const entry *page, uint32_t key, uint32_t number)
{
    size_t low = p->key_at[key], end = p->key_at[key + 1], high = end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->by_key[middle]->point <= page->from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && p->by_key[low]->point <= page->to; low++) {
        const entry *w = p->by_key[low];

        if (w->op == HISTORY_DELETE || w->seen == number ||
            check_latest(c, w->document, page->point) != w)
            continue;
        if (check_hidden(c, w, page)) {
            if (note_missing(c, page, w))
                return -1;
            continue;
        }
        check_report(c, &c->verdict->feed, "feed", "a change is missing", w);
        check_report(c, &c->verdict->feed, "feed", "in this page", page);
    }
    return 0;
}

/* The highest LSN of a key's writes that were answered before a time. */
static uint64_t high_before(const struct places *p, uint32_t key, uint64_t time)
{
    size_t begin = p->key_at[key], low = begin, high = p->key_at[key + 1];

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->answered[middle]->t1 < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low > begin ? p->high[low - 1] : 0;
}

static void check_place(struct check *c, struct places *p, const entry *page)
{
    size_t first = page->client * p->keys + page->key;
    uint64_t *at = p->at + first, *most = p->high_at + first;
    bool is_wrong = false, is_late = false;

    for (uint32_t i = 0; i < page->keys; i++) {
        is_wrong =
            is_wrong || (page->flags & HISTORY_AGAIN ? page->from > most[i]
                                                     : page->from != at[i]);
        at[i] = page->to;
        most[i] = most[i] > at[i] ? most[i] : at[i];
        is_late =
            is_late || high_before(p, page->key + i, page->t0) > page->point;
    }
    if (is_late)
        check_report(c, &c->verdict->feed, "feed", "it is of the past", page);
    if (is_wrong && !(page->flags & HISTORY_STARTS))
        check_report(c, &c->verdict->feed, "feed", "it does not go on", page);
}

static int check_pages(struct check *c, struct places *p)
{
    uint32_t number = 0;

    for (size_t i = 0, end; i < c->count; i = end) {
        const entry *page = &c->all[i];

        end = i + 1;
        if (page->op != HISTORY_PAGE)
            continue;
        while (end < c->count && c->all[end].op == HISTORY_ITEM &&
               c->all[end].client == page->client)
            end++;
        c->verdict->pages++;
        c->verdict->items += end - i - 1;
        number++;
        check_place(c, p, page);
        check_page(c, page, page + 1, end - i - 1, number);
        for (uint32_t k = 0; k < page->keys; k++)
            if (check_missing(c, p, page, page->key + k, number))
                return -1;
        /* They were all there at once. */
        for (size_t k = i + 1; k < end; k++)
            c->all[k].point = page->point;
    }
    return 0;
}

static void order_writes(const struct check *c, struct places *p)
{
    memcpy(p->by_key, c->writes, c->write_count * sizeof(entry *));
    memcpy(p->answered, c->writes, c->write_count * sizeof(entry *));
    check_sort(p->by_key, c->write_count, by_key_lsn);
    check_sort(p->answered, c->write_count, by_key_answer);
    for (size_t i = 0; i < c->write_count; i++) {
        const entry *w = p->answered[i];
        bool goes_on = i && p->answered[i - 1]->key == w->key;

        p->key_at[w->key + 1] = i + 1;
        p->high[i] =
            goes_on && p->high[i - 1] > w->point ? p->high[i - 1] : w->point;
    }
    for (size_t k = 1; k <= p->keys; k++)
        if (p->key_at[k] < p->key_at[k - 1])
            p->key_at[k] = p->key_at[k - 1];
}

int check_feed(struct check *c)
{
    struct places p = { 0 };
    int rc = -1;

    for (size_t i = 0; i < c->count; i++) {
        const entry *e = &c->all[i];
        uint32_t keys = e->op == HISTORY_PAGE ? e->keys : 1;
        p.clients = p.clients > e->client ? p.clients : e->client + 1;
        p.keys = p.keys > e->key + keys ? p.keys : e->key + keys;
    }
    p.by_key = malloc((c->write_count + 1) * sizeof(entry *));
    p.answered = malloc((c->write_count + 1) * sizeof(entry *));
    p.high = malloc((c->write_count + 1) * sizeof(*p.high));
    p.key_at = calloc(p.keys + 1, sizeof(*p.key_at));
    p.at = calloc(p.clients * p.keys + 1, sizeof(*p.at));
    p.high_at = calloc(p.clients * p.keys + 1, sizeof(*p.at));
    if (p.by_key && p.answered && p.high && p.key_at && p.at && p.high_at) {
        order_writes(c, &p);
        rc = check_pages(c, &p);
    }
    free(p.by_key);
    free(p.answered);
    free(p.high);
    free(p.key_at);
    free(p.at);
    free(p.high_at);
    return rc;
}
