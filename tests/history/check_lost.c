/* check_lost.c -- the checker's part for writes that nobody answered.
 *
 * Such a write has happened before the server's next start, or never will.  So
 * what was answered before it was sent, and after that start, says between
 * which LSNs it must be, if it is at all.  One that somebody saw is like one
 * that was answered at that start.
 */
#include "history/check_own.h"

#include <stdlib.h>

/* ---- until when ---------------------------------------------------------- */

static int by_time(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;

    return CHECK_COMPARE(*a, *b);
}

/* The first start after a time. */
static uint64_t next_start(const uint64_t *starts, size_t count, uint64_t time)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? starts[low] : HISTORY_NEVER;
}

int check_close(struct check *c)
{
    uint64_t *starts;
    size_t n = 0;

    for (size_t i = 0; i < c->count; i++)
        n += c->all[i].op == HISTORY_START;
    starts = malloc((n + 1) * sizeof(*starts));
    if (!starts)
        return -1;
    n = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->all[i].op == HISTORY_START)
            starts[n++] = c->all[i].t0;
    if (n)
        qsort(starts, n, sizeof(*starts), by_time);
    for (size_t i = 0; i < c->count; i++) {
        entry *e = &c->all[i];
        uint64_t start;

        if (!check_is_write(e) || e->status)
            continue;
        start = next_start(starts, n, e->t0);
        e->t1 = e->t1 < start ? e->t1 : start;
        e->flags |= HISTORY_LOST;
    }
    free(starts);
    c->verdict->starts = n;
    return 0;
}

/* Of a transaction all have happened if one has: of its LSN's numbers those of
 * the others are free. */
static void complete(entry *first, size_t count)
{
    const entry *known = NULL;
    uint32_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (check_succeeded(&first[i]))
            known = &first[i];
    for (size_t i = 0; known && i < count; i++) {
        entry *e = &first[i];

        if (e->status)
            continue;
        n += n == known->n;
        e->status = 200;
        e->point = e->version = known->version;
        e->range = known->range;
        e->n = n++;
    }
}

void check_complete(struct check *c)
{
    for (size_t i = 0, end; i < c->count; i = end) {
        const entry *e = &c->all[i];
        const uint32_t both = HISTORY_LOST | HISTORY_TOGETHER;

        end = i + 1;
        if ((e->flags & both) != both)
            continue;
        while (end < c->count && c->all[end].client == e->client &&
               c->all[end].t0 == e->t0)
            end++;
        complete(&c->all[i], end - i);
    }
}

/* ---- between which LSNs -------------------------------------------------- */

static int by_key_sent(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = CHECK_COMPARE(a->key, b->key);

    return order ? order : CHECK_COMPARE(a->t0, b->t0);
}

static int by_key_answer(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = CHECK_COMPARE(a->key, b->key);

    return order ? order : CHECK_COMPARE(a->t1, b->t1);
}

/* How many of the list come before a key's time, or at it. */
static size_t count_until(entry *const *list, size_t count, uint32_t key,
                          uint64_t time, bool by_answer, bool at_it)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const entry *e = list[middle];
        uint64_t t = by_answer ? e->t1 : e->t0;

        if (e->key < key ||
            (e->key == key && (t < time || (at_it && t == time))))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* `list` is by key and answer, `bound` the highest LSN so far in each key. */
static void bound_below(struct check *c, entry *const *list, size_t count,
                        uint64_t *bound)
{
    for (size_t i = 0; i < count; i++) {
        bool goes_on = i && list[i - 1]->key == list[i]->key;
        uint64_t before = goes_on ? bound[i - 1] : 0;

        bound[i] = list[i]->point > before ? list[i]->point : before;
    }
    for (size_t i = 0; i < c->lost_count; i++) {
        entry *l = c->lost[i];
        size_t at = count_until(list, count, l->key, l->t0, true, false);

        l->low = at && list[at - 1]->key == l->key ? bound[at - 1] : 0;
    }
}

/* `list` is by key and sending, `bound` the lowest LSN from there on. */
static void bound_above(struct check *c, entry *const *list, size_t count,
                        uint64_t *bound)
{
    for (size_t i = count; i-- > 0;) {
        bool goes_on = i + 1 < count && list[i + 1]->key == list[i]->key;
        uint64_t after = goes_on ? bound[i + 1] : UINT64_MAX;

        bound[i] = list[i]->point < after ? list[i]->point : after;
    }
    for (size_t i = 0; i < c->lost_count; i++) {
        entry *l = c->lost[i];
        size_t at = count_until(list, count, l->key, l->t1, false, true);

        l->high =
            at < count && list[at]->key == l->key ? bound[at] : UINT64_MAX;
    }
}

int check_bounds(struct check *c)
{
    entry **list;
    uint64_t *bound;
    size_t n = 0;

    if (!c->lost_count)
        return 0;
    list = malloc((c->count + 1) * sizeof(entry *));
    bound = malloc((c->count + 1) * sizeof(*bound));
    if (list && bound) {
        for (size_t i = 0; i < c->count; i++)
            if (c->all[i].op <= HISTORY_DELETE && c->all[i].point)
                list[n++] = &c->all[i];
        check_sort(list, n, by_key_answer);
        bound_below(c, list, n, bound);
        check_sort(list, n, by_key_sent);
        bound_above(c, list, n, bound);
    }
    free(list);
    free(bound);
    return list && bound ? 0 : -1;
}

/* ---- what they excuse ---------------------------------------------------- */

size_t check_find_lost(const struct check *c, uint32_t document)
{
    size_t low = 0, high = c->lost_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->lost[middle]->document < document)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool check_hidden(const struct check *c, const entry *w, const entry *page)
{
    uint64_t lsn = page->point;

    for (size_t i = check_find_lost(c, w->document);
         i < c->lost_count && c->lost[i]->document == w->document; i++) {
        const entry *l = c->lost[i];
        uint64_t low = l->low > w->point ? l->low : w->point;

        if (l->t0 <= page->t1 && low < (l->high < lsn ? l->high : lsn))
            return true;
    }
    return false;
}
