/* check.c -- see check.h. */
#include "history/check_own.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void check_report(const struct check *c, size_t *counter, const char *kind,
                  const char *why, const entry *e)
{
    static const char *const names[] = { "read",    "query",   "create",
                                         "upsert",  "replace", "patch",
                                         "delete",  "page",    "item",
                                         "restore", "start" };

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

static int by_token(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;

    return CHECK_COMPARE(a->token, b->token);
}

static int by_document(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = CHECK_COMPARE(a->document, b->document);

    if (!order)
        order = CHECK_COMPARE(a->point, b->point);
    return order ? order : CHECK_COMPARE(a->n, b->n);
}

static int by_key_sent(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = CHECK_COMPARE(a->key, b->key);

    return order ? order : CHECK_COMPARE(a->t0, b->t0);
}

static int by_range_sent(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = CHECK_COMPARE(a->range, b->range);

    return order ? order : CHECK_COMPARE(a->t0, b->t0);
}

static int by_answer(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;

    return CHECK_COMPARE(a->t1, b->t1);
}

static int by_range_lsn(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    int order = CHECK_COMPARE(a->range, b->range);

    if (!order)
        order = CHECK_COMPARE(a->point, b->point);
    return order ? order : CHECK_COMPARE(a->n, b->n);
}

/* Pages keep their items behind them. */
static int by_client(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    int order = CHECK_COMPARE(a->client, b->client);

    if (!order)
        order = CHECK_COMPARE(a->t0, b->t0);
    if (!order)
        order = CHECK_COMPARE(a->op, b->op);
    if (!order)
        order =
            CHECK_COMPARE(a->from, b->from); /* an item's place in its page */
    return order;
}

void check_sort(entry **list, size_t count,
                int (*compare)(const void *, const void *))
{
    if (count)
        qsort(list, count, sizeof(entry *), compare);
}

/* ---- the writer of each version ------------------------------------------ */

entry *check_find_token(const struct check *c, uint64_t token)
{
    size_t low = 0, high = c->token_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->tokens[middle]->token < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->token_count && c->tokens[low]->token == token
               ? c->tokens[low]
               : NULL;
}

/* A version that was seen: whose is it?  This is how unknown writes become
 * known. */
static void witness(struct check *c, entry *seen)
{
    entry *w = check_find_token(c, seen->token);

    if (!w || w->document != seen->document || w->t0 > seen->t1) {
        check_report(c, &c->verdict->phantom, "phantom", "nobody wrote it",
                     seen);
        return;
    }
    if (w->status == 0) {
        w->status = 200;
        w->point = w->version = seen->version;
        w->n = w->n ? w->n : seen->n;
        w->range = seen->range;
        w->count = seen->count;
        return;
    }
    if (!check_succeeded(w) || w->version != seen->version ||
        w->count != seen->count)
        check_report(c, &c->verdict->phantom, "phantom",
                     "it was not written so", seen);
}

static int resolve(struct check *c)
{
    c->tokens = malloc((c->count + 1) * sizeof(entry *));
    if (!c->tokens)
        return -1;
    for (size_t i = 0; i < c->count; i++) {
        if (check_is_write(&c->all[i]) && c->all[i].op != HISTORY_DELETE)
            c->tokens[c->token_count++] = &c->all[i];
    }
    check_sort(c->tokens, c->token_count, by_token);
    for (size_t i = 0; i < c->count; i++) {
        entry *e = &c->all[i];
        if ((check_is_read(e) || e->op == HISTORY_ITEM) && e->token)
            witness(c, e);
    }
    check_complete(c);
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
        if (check_is_write(e) && check_succeeded(e))
            c->writes[c->write_count++] = e;
        if (check_is_write(e) && e->status == 0)
            c->lost[c->lost_count++] = e;
        e->gone = HISTORY_NEVER;
    }
    check_sort(c->writes, c->write_count, by_document);
    check_sort(c->lost, c->lost_count, by_document);
    c->verdict->writes = c->write_count;
    c->verdict->unknown = c->lost_count;
    return 0;
}

/* ---- what was there ------------------------------------------------------ */

/* How many of the writes, by document and LSN, come before a place. */
static size_t count_before(const struct check *c, uint32_t document,
                           uint64_t lsn, uint32_t n)
{
    size_t low = 0, high = c->write_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const entry *w = c->writes[middle];
        if (w->document < document ||
            (w->document == document &&
             (w->point < lsn || (w->point == lsn && w->n < n))))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last of the document's before a place that is not undone at an LSN. */
static entry *last_before(const struct check *c, size_t place,
                          uint32_t document, uint64_t lsn)
{
    while (place && c->writes[place - 1]->document == document) {
        if (c->writes[--place]->gone > lsn)
            return c->writes[place];
    }
    return NULL;
}

entry *check_latest(const struct check *c, uint32_t document, uint64_t lsn)
{
    return last_before(c, count_before(c, document, lsn + 1, 0), document, lsn);
}

entry *check_found_by(const struct check *c, const entry *e)
{
    return last_before(c, count_before(c, e->document, e->point, e->n),
                       e->document, e->point);
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
            (check_is_write(e) && check_succeeded(e) && e->point == high))
            check_report(c, &c->verdict->order, "order",
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
        check_sort(sent, n, by_key ? by_key_sent : by_range_sent);
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n; end++)
                if (by_key ? sent[end]->key != sent[i]->key
                           : sent[end]->range != sent[i]->range)
                    break;
            memcpy(answered, sent + i, (end - i) * sizeof(entry *));
            check_sort(answered, end - i, by_answer);
            sweep(c, sent + i, answered, end - i);
        }
    }
    free(sent);
    free(answered);
    return sent && answered ? 0 : -1;
}

static int check_unique(struct check *c)
{
    entry **writes = malloc((c->write_count + 1) * sizeof(entry *));

    if (!writes)
        return -1;
    memcpy(writes, c->writes, c->write_count * sizeof(entry *));
    check_sort(writes, c->write_count, by_range_lsn);
    for (size_t i = 1; i < c->write_count; i++)
        if (writes[i]->range == writes[i - 1]->range &&
            writes[i]->point == writes[i - 1]->point &&
            writes[i]->n == writes[i - 1]->n)
            check_report(c, &c->verdict->unique, "unique", "an LSN given twice",
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
    rc = check_close(&c);
    if (!rc)
        rc = resolve(&c);
    if (!rc)
        rc = collect(&c);
    if (!rc)
        rc = check_restores(&c);
    if (!rc)
        rc = check_bounds(&c);
    if (!rc)
        rc = check_unique(&c);
    if (!rc)
        rc = check_order(&c, true);
    if (!rc)
        rc = check_order(&c, false);
    if (!rc)
        rc = check_feed(&c);
    if (!rc)
        rc = check_content(&c);
    if (!rc)
        rc = check_session(&c);
    free(c.writes);
    free(c.lost);
    free(c.tokens);
    free(c.missing);
    free(c.restores);
    return rc;
}

size_t history_violations(const struct history_verdict *v)
{
    return v->order + v->content + v->unique + v->phantom + v->feed +
           v->restore + v->session;
}
