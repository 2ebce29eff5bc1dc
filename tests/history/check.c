/* check.c -- see check.h. */
#include "history/check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct history_entry entry;

struct check {
    FILE *out;
    struct history_verdict *verdict;
    entry *all;
    size_t count;
    entry **writes; /* known ones, by document and LSN */
    size_t write_count;
    entry **lost; /* unknown ones that nobody saw, by document */
    size_t lost_count;
};

static bool is_write(const entry *e)
{
    return e->op >= HISTORY_CREATE && e->op <= HISTORY_DELETE;
}

static bool succeeded(const entry *e)
{
    return e->status >= 200 && e->status < 300;
}

static void tell(const struct check *c, size_t *counter, const char *kind,
                 const char *why, const entry *e)
{
    static const char *const names[] = { "read",    "create", "upsert",
                                         "replace", "delete", "page",
                                         "item" };

    if (++*counter > 3 || !c->out)
        return;
    fprintf(c->out,
            "%s: %s: client %u %s document %u key %u range %u status %u "
            "point %" PRIu64 " version %" PRIu64 " token %" PRIx64
            " condition %" PRIu64 " from %" PRIu64 " to %" PRIu64
            " sent %" PRIu64 " answered %" PRIu64 "\n",
            kind, why, e->client, names[e->op], e->document, e->key, e->range,
            e->status, e->point, e->version, e->token, e->condition, e->from,
            e->to, e->t0, e->t1);
}

/* ---- sorting ------------------------------------------------------------- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_token(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;

    return COMPARE(a->token, b->token);
}

static int by_document(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = COMPARE(a->document, b->document);

    if (!order)
        order = COMPARE(a->point, b->point);
    return order ? order : COMPARE(a->n, b->n);
}

static int by_key_sent(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = COMPARE(a->key, b->key);

    return order ? order : COMPARE(a->t0, b->t0);
}

static int by_range_sent(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = COMPARE(a->range, b->range);

    return order ? order : COMPARE(a->t0, b->t0);
}

static int by_answer(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;

    return COMPARE(a->t1, b->t1);
}

static int by_range_lsn(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = COMPARE(a->range, b->range);

    if (!order)
        order = COMPARE(a->point, b->point);
    return order ? order : COMPARE(a->n, b->n);
}

static int by_key_lsn(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = COMPARE(a->key, b->key);

    if (!order)
        order = COMPARE(a->point, b->point);
    return order ? order : COMPARE(a->n, b->n);
}

/* Pages keep their items behind them. */
static int by_client(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    int order = COMPARE(a->client, b->client);

    if (!order)
        order = COMPARE(a->t0, b->t0);
    if (!order)
        order = COMPARE(a->op, b->op);
    if (!order)
        order = COMPARE(a->from, b->from); /* an item's place in its page */
    return order;
}

static void sort(entry **list, size_t count,
                 int (*compare)(const void *, const void *))
{
    if (count)
        qsort(list, count, sizeof(entry *), compare);
}

/* ---- who wrote what ------------------------------------------------------ */

static entry *find_token(entry **list, size_t count, uint64_t token)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle]->token < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && list[low]->token == token ? list[low] : NULL;
}

/* A version that was seen: whose is it?  This is how unknown writes become
 * known. */
static void witness(struct check *c, entry **writers, size_t count, entry *seen)
{
    entry *w = find_token(writers, count, seen->token);

    if (!w || w->document != seen->document || w->t0 > seen->t1) {
        tell(c, &c->verdict->phantom, "phantom", "nobody wrote it", seen);
        return;
    }
    if (w->status == 0) {
        w->status = 200;
        w->point = w->version = seen->version;
        w->n = seen->n;
        /* In a page, a version's range may be one it was moved to. */
        w->range = seen->range;
        return;
    }
    if (!succeeded(w) || w->version != seen->version)
        tell(c, &c->verdict->phantom, "phantom", "it was not written so", seen);
}

static int resolve(struct check *c)
{
    entry **writers = malloc((c->count + 1) * sizeof(entry *));
    size_t n = 0;

    if (!writers)
        return -1;
    for (size_t i = 0; i < c->count; i++) {
        if (is_write(&c->all[i]) && c->all[i].op != HISTORY_DELETE)
            writers[n++] = &c->all[i];
    }
    sort(writers, n, by_token);
    for (size_t i = 0; i < c->count; i++) {
        entry *e = &c->all[i];
        if ((e->op == HISTORY_READ || e->op == HISTORY_ITEM) && e->token)
            witness(c, writers, n, e);
    }
    free(writers);
    return 0;
}

static int collect(struct check *c)
{
    c->writes = malloc((c->count + 1) * sizeof(entry *));
    c->lost = malloc((c->count + 1) * sizeof(entry *));
    if (!c->writes || !c->lost)
        return -1;
    for (size_t i = 0; i < c->count; i++) {
        entry *e = &c->all[i];
        if (is_write(e) && succeeded(e))
            c->writes[c->write_count++] = e;
        if (is_write(e) && e->status == 0)
            c->lost[c->lost_count++] = e;
    }
    sort(c->writes, c->write_count, by_document);
    sort(c->lost, c->lost_count, by_document);
    c->verdict->writes = c->write_count;
    c->verdict->unknown = c->lost_count;
    return 0;
}

/* ---- content ------------------------------------------------------------- */

/* The latest known write of the document with an LSN of at most `lsn`, or
 * NULL. */
static entry *latest(const struct check *c, uint32_t document, uint64_t lsn)
{
    size_t low = 0, high = c->write_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const entry *w = c->writes[middle];
        if (w->document < document ||
            (w->document == document && w->point <= lsn))
            low = middle + 1;
        else
            high = middle;
    }
    return low && c->writes[low - 1]->document == document ? c->writes[low - 1]
                                                           : NULL;
}

/* May a write that nobody saw have changed the document before this one was
 * answered? */
static bool excused(const struct check *c, const entry *e)
{
    size_t low = 0, high = c->lost_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->lost[middle]->document < e->document)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < c->lost_count && c->lost[low]->document == e->document; low++)
        if (c->lost[low]->t0 < e->t1)
            return true;
    return false;
}

static const char *judge_read(const struct check *c, const entry *e,
                              const entry *now)
{
    bool there = now && now->op != HISTORY_DELETE;

    if (e->token)
        return there && now->version == e->version ? NULL : "another version";
    return !there || excused(c, e) ? NULL : "it was there";
}

static const char *judge_write(const struct check *c, const entry *e,
                               const entry *before)
{
    bool there = before && before->op != HISTORY_DELETE;

    if (e->condition && e->op != HISTORY_CREATE &&
        (!there || before->version != e->condition))
        return "its condition did not hold";
    if (e->op == HISTORY_CREATE && there && !excused(c, e))
        return "created what was there";
    if ((e->op == HISTORY_REPLACE || e->op == HISTORY_DELETE) && !there &&
        !excused(c, e))
        return "changed what was not there";
    return NULL;
}

static const char *judge_refusal(const struct check *c, const entry *e,
                                 const entry *now)
{
    bool there = now && now->op != HISTORY_DELETE;

    if (excused(c, e))
        return NULL;
    if (e->status == 412 && there && now->version == e->condition)
        return "its condition held";
    if (e->status == 404 && there)
        return "it was there";
    if (e->status == 409 && !there)
        return "it was not there";
    return NULL;
}

static void check_content(struct check *c)
{
    struct history_verdict *v = c->verdict;

    for (size_t i = 0; i < c->count; i++) {
        const entry *e = &c->all[i];
        const char *why = NULL;

        if (!e->point || e->op > HISTORY_DELETE)
            continue;
        if (e->op == HISTORY_READ && (e->status == 200 || e->status == 404)) {
            v->reads++;
            why = judge_read(c, e, latest(c, e->document, e->point));
        } else if (is_write(e) && succeeded(e)) {
            why = judge_write(c, e, latest(c, e->document, e->point - 1));
        } else if (is_write(e) && e->status) {
            v->refused++;
            why = judge_refusal(c, e, latest(c, e->document, e->point));
        }
        if (why)
            tell(c, &v->content, "content", why, e);
    }
}

/* ---- order --------------------------------------------------------------- */

/* `sent` are requests of one key or range in the order they were sent,
 * `answered` the same in the order of their answers. */
static void sweep(struct check *c, entry **sent, entry **answered, size_t count)
{
    uint64_t high = 0;
    size_t a = 0;

    for (size_t i = 0; i < count; i++) {
        const entry *e = sent[i];
        while (a < count && answered[a]->t1 < e->t0) {
            if (answered[a]->point > high)
                high = answered[a]->point;
            a++;
        }
        if (e->point < high ||
            (is_write(e) && succeeded(e) && e->point == high))
            tell(c, &c->verdict->order, "order",
                 "an earlier one was decided later", e);
    }
}

static int check_order(struct check *c, bool by_key)
{
    entry **sent = malloc((c->count + 1) * sizeof(entry *));
    entry **answered = malloc((c->count + 1) * sizeof(entry *));
    size_t n = 0;

    if (sent && answered) {
        for (size_t i = 0; i < c->count; i++) {
            entry *e = &c->all[i];
            bool decided =
                e->op <= HISTORY_DELETE || (e->op == HISTORY_PAGE && !by_key);
            if (decided && e->point)
                sent[n++] = e;
        }
        sort(sent, n, by_key ? by_key_sent : by_range_sent);
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n; end++)
                if (by_key ? sent[end]->key != sent[i]->key
                           : sent[end]->range != sent[i]->range)
                    break;
            memcpy(answered, sent + i, (end - i) * sizeof(entry *));
            sort(answered, end - i, by_answer);
            sweep(c, sent + i, answered, end - i);
        }
    }
    free(sent);
    free(answered);
    return sent && answered ? 0 : -1;
}

/* ---- the feed ------------------------------------------------------------ */

static bool is_before(const entry *w, const entry *page)
{
    uint32_t a = page->of_key ? w->key : w->range;
    uint32_t b = page->of_key ? page->key : page->range;

    return a < b || (a == b && w->point <= page->from);
}

static bool is_within(const entry *w, const entry *page)
{
    return (page->of_key ? w->key == page->key : w->range == page->range) &&
           w->point <= page->to;
}

/* Writes in a page's interval that are not in it must have been overtaken.
 * `writes` are in the order of ranges, or of keys, and LSNs. */
static void check_missing(struct check *c, entry **writes, const entry *page,
                          const entry *items, size_t n)
{
    size_t low = 0, high = c->write_count, at = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(writes[middle], page))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < c->write_count && is_within(writes[low], page); low++) {
        const entry *w = writes[low];

        while (at < n && (items[at].version < w->point ||
                          (items[at].version == w->point &&
                           items[at].token != w->token && items[at].n < w->n)))
            at++;
        if ((at < n && items[at].token == w->token) || w->op == HISTORY_DELETE)
            continue;
        if (latest(c, w->document, page->point) == w &&
            !excused(c, &(entry){ .document = w->document, .t1 = page->t1 }))
            tell(c, &c->verdict->feed, "feed", "a change is missing", page);
    }
}

static void check_page(struct check *c, const entry *page, const entry *items,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const entry *it = &items[i];
        if (it->version <= page->from || it->version > page->to)
            tell(c, &c->verdict->feed, "feed", "outside of its page", it);
        if (i &&
            (it->version < items[i - 1].version ||
             (it->version == items[i - 1].version && it->n <= items[i - 1].n)))
            tell(c, &c->verdict->feed, "feed", "out of order", it);
    }
    if (page->to < page->from)
        tell(c, &c->verdict->feed, "feed", "it goes back", page);
    if (page->status == 304 && page->to != page->point)
        tell(c, &c->verdict->feed, "feed", "304 is not of now", page);
}

static bool goes_on(const entry *last, const entry *page)
{
    return !last || last->client != page->client || !page->from ||
           (page->of_key ? last->key != page->key
                         : last->range != page->range) ||
           page->from == last->to;
}

static void check_pages(struct check *c, entry **by_range, entry **by_key)
{
    const entry *last = NULL;

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
        if (!goes_on(last, page))
            tell(c, &c->verdict->feed, "feed", "it does not go on", page);
        last = page;
        check_page(c, page, page + 1, end - i - 1);
        check_missing(c, page->of_key ? by_key : by_range, page, page + 1,
                      end - i - 1);
    }
}

static int check_feed(struct check *c)
{
    size_t bytes = c->write_count * sizeof(entry *);
    entry **by_range = malloc(bytes + 1), **by_key = malloc(bytes + 1);

    if (by_range && by_key) {
        memcpy(by_range, c->writes, bytes);
        memcpy(by_key, c->writes, bytes);
        sort(by_range, c->write_count, by_range_lsn);
        sort(by_key, c->write_count, by_key_lsn);
        check_pages(c, by_range, by_key);
    }
    free(by_range);
    free(by_key);
    return by_range && by_key ? 0 : -1;
}

static int check_unique(struct check *c)
{
    entry **writes = malloc((c->write_count + 1) * sizeof(entry *));

    if (!writes)
        return -1;
    memcpy(writes, c->writes, c->write_count * sizeof(entry *));
    sort(writes, c->write_count, by_range_lsn);
    for (size_t i = 1; i < c->write_count; i++)
        if (writes[i]->range == writes[i - 1]->range &&
            writes[i]->point == writes[i - 1]->point &&
            writes[i]->n == writes[i - 1]->n)
            tell(c, &c->verdict->unique, "unique", "an LSN given twice",
                 writes[i]);
    free(writes);
    return 0;
}

/* ---- all of it ----------------------------------------------------------- */

int history_check(struct history_entry *e, size_t count, FILE *out,
                  struct history_verdict *v)
{
    struct check c = { .out = out, .verdict = v, .all = e, .count = count };
    int rc;

    *v = (struct history_verdict){ 0 };
    if (count)
        qsort(e, count, sizeof(*e), by_client);
    rc = resolve(&c);
    if (!rc)
        rc = collect(&c);
    if (!rc)
        rc = check_unique(&c);
    if (!rc)
        check_content(&c);
    if (!rc)
        rc = check_order(&c, true);
    if (!rc)
        rc = check_order(&c, false);
    if (!rc)
        rc = check_feed(&c);
    free(c.writes);
    free(c.lost);
    return rc;
}

size_t history_violations(const struct history_verdict *v)
{
    return v->order + v->content + v->unique + v->phantom + v->feed;
}
