/* reader.c -- see reader.h. */
#include "history/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_MAX = 2048, PARTS_MAX = 64 };

struct part {
    uint32_t range;
    uint64_t lsn;
};

/* Only what is there: most readers have few leases. */
static void copy(struct places *to, const struct places *from)
{
    to->count = from->count;
    memcpy(to->at, from->at, from->count * sizeof(from->at[0]));
}

void reader_init(struct reader *r, struct client *c, enum reader_kind kind,
                 uint32_t key, uint32_t keys, bool from_now)
{
    r->c = c;
    r->kind = kind;
    r->from_now = from_now;
    r->now.count = 1;
    r->now.at[0] = (struct lease){
        .range = UINT32_MAX, .key = key, .keys = keys, .starts = true
    };
    reader_save(r);
}

void reader_save(struct reader *r)
{
    copy(&r->saved, &r->now);
}

void reader_go_back(struct reader *r)
{
    copy(&r->now, &r->saved);
    for (size_t i = 0; i < r->now.count; i++) {
        r->now.at[i].again = true;
        r->now.at[i].is_drained = false;
    }
}

/* ---- other ranges -------------------------------------------------------- */

static bool meets(const struct lease *l, uint32_t key, uint32_t keys)
{
    return l->key < key + keys && key < l->key + l->keys;
}

/* The earliest place of all that have something of an interval of keys. */
static struct lease inherit(const struct places *from, uint32_t range,
                            uint32_t key, uint32_t keys)
{
    struct lease out = { .range = range, .key = key, .keys = keys };
    bool is_first = true;

    for (size_t i = 0; i < from->count; i++) {
        const struct lease *l = &from->at[i];

        if (!meets(l, key, keys))
            continue;
        out.starts = out.starts || l->starts;
        out.again =
            out.again || l->again || (!is_first && l->place != out.place);
        if (is_first || l->place < out.place)
            out.place = l->place;
        is_first = false;
    }
    return out;
}

static void add(struct reader *r, struct lease l)
{
    if (r->now.count == READER_LEASES_MAX)
        abort();
    r->now.at[r->now.count++] = l;
}

/* Its leases are of ranges that are gone. */
static void find_ranges(struct reader *r)
{
    struct shape ranges[SHAPE_RANGES_MAX];
    const struct places *old = &r->before;
    size_t n = shape_read(r->c, ranges);

    if (!n)
        return;
    copy(&r->before, &r->now);
    r->now.count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct shape *s = &ranges[i];

        if (r->kind == READER_RANGES) {
            add(r, inherit(old, s->id, s->key, s->keys));
            continue;
        }
        for (size_t k = 0; k < old->count; k++) {
            struct lease l = old->at[k];
            uint32_t end = l.key + l.keys, s_end = s->key + s->keys;

            if (!meets(&l, s->key, s->keys))
                continue;
            l.key = l.key > s->key ? l.key : s->key;
            l.keys = (end < s_end ? end : s_end) - l.key;
            l.range = s->id;
            add(r, l);
        }
    }
}

/* A range's keys, even if it is new or gone. */
static bool know_range(struct client *c, uint32_t id, struct shape *out)
{
    struct shape ranges[SHAPE_RANGES_MAX];

    for (int i = 0; i < 1000; i++) {
        if (shape_find(id, out))
            return true;
        (void)!shape_read(c, ranges);
    }
    return false;
}

/* ---- asking -------------------------------------------------------------- */

static void print_scope(const struct reader *r, const struct lease *l,
                        char out[MORE_MAX], size_t *len)
{
    char *at = out + *len;
    size_t room = MORE_MAX - *len;
    int n = 0;

    if (r->kind == READER_KEY)
        n = snprintf(at, room, "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n",
                     shape_name(l->key));
    if (r->kind == READER_RANGES || (r->kind == READER_EPKS && l->keys != 1))
        n = snprintf(at, room, "x-ms-documentdb-partitionkeyrangeid: %u\r\n",
                     l->range);
    if (r->kind == READER_EPKS) /* just behind the last key */
        n += snprintf(at + n, room - (size_t)n,
                      "x-ms-start-epk: %s\r\nx-ms-end-epk: %s00\r\n"
                      "x-ms-read-key-type: EffectivePartitionKeyRange\r\n",
                      shape_epk(l->key), shape_epk(l->key + l->keys - 1));
    *len += (size_t)n;
}

/* Of one lease, or of all. */
static void print_place(const struct reader *r, const struct lease *l,
                        size_t count, char out[MORE_MAX], size_t *len)
{
    int n = 0;

    if (l->starts && r->from_now) {
        n = snprintf(out + *len, MORE_MAX - *len, "If-None-Match: *\r\n");
    } else if (!l->starts && count == 1) {
        n = snprintf(out + *len, MORE_MAX - *len, "If-None-Match: \"%llu\"\r\n",
                     (unsigned long long)l->place);
    } else if (!l->starts) {
        n = snprintf(out + *len, MORE_MAX - *len, "If-None-Match: \"");
        for (size_t i = 0; i < count; i++)
            n += snprintf(out + *len + n, MORE_MAX - *len - (size_t)n,
                          "%s%u:-1#%llu", i ? "," : "", l[i].range,
                          (unsigned long long)l[i].place);
        n += snprintf(out + *len + n, MORE_MAX - *len - (size_t)n, "\"\r\n");
    }
    *len += (size_t)n;
}

enum outcome { ANSWERED, GONE, NO_ANSWER };

static enum outcome ask(struct reader *r, const struct lease *l, size_t count,
                        struct history_entry *page, unsigned wait_s,
                        struct answer *a)
{
    char more[MORE_MAX];
    size_t len = (size_t)snprintf(
        more, sizeof(more),
        "A-IM: Incremental feed\r\nx-ms-max-item-count: %u\r\n", page->max);
    struct request ask = { .verb = "GET",
                           .word = "docs",
                           .link = "dbs/h/colls/c",
                           .path = "/dbs/h/colls/c/docs",
                           .more = more };

    page->flags = wait_s ? HISTORY_WAITS : 0;
    if (wait_s)
        len += (size_t)snprintf(more + len, sizeof(more) - len,
                                "Prefer: wait=%u\r\n", wait_s);
    print_scope(r, l, more, &len);
    print_place(r, l, count, more, &len);
    client_reach(r->c);
    page->t0 = server_process_now_ns();
    if (!client_ask(r->c, &ask, a))
        return NO_ANSWER;
    page->t1 = server_process_now_ns();
    page->status = (uint16_t)a->status;
    if (a->status == 200 || a->status == 304)
        return ANSWERED;
    if (a->status == 410)
        return GONE;
    if (a->status != 429 && a->status < 500) {
        fprintf(stderr, "%d: %.*s\n%s", a->status, RN_FMT(a->body), more);
        r->c->broken = "a page is refused";
    }
    return NO_ANSWER;
}

/* ---- noting -------------------------------------------------------------- */

/* "0:-1#12,1:-1#40", or a number alone. */
static size_t read_parts(struct rn_view text, uint32_t range,
                         struct part out[PARTS_MAX])
{
    char copy[MORE_MAX], *at = copy;
    size_t n = 0;

    snprintf(copy, sizeof(copy), "%.*s", RN_FMT(text));
    if (*at == '"')
        at++;
    if (!strchr(at, '#')) {
        out[0] = (struct part){ range, strtoull(at, NULL, 10) };
        return *at ? 1 : 0;
    }
    while (*at && *at != '"' && n < PARTS_MAX) {
        out[n].range = (uint32_t)strtoul(at, &at, 10);
        at = strchr(at, '#');
        if (!at)
            return 0;
        out[n++].lsn = strtoull(at + 1, &at, 10);
        if (*at == ',')
            at++;
    }
    return n;
}

/* Items of the page's keys; `end` is the last key that an item was of. */
static size_t note_items(struct client *c, const struct history_entry *page,
                         struct rn_view body)
{
    struct rn_json j;
    struct rn_json_walk walk;
    size_t count = 0;
    uint64_t place = 0;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, body, NULL)) {
        c->broken = "a page cannot be read";
    } else {
        walk = rn_json_walk_begin(&j, rn_json_find(&j, 0, RN_LIT("Documents")));
        while (rn_json_walk_next(&walk)) {
            struct history_entry item = { .t0 = page->t0,
                                          .t1 = page->t1,
                                          .client = page->client,
                                          .op = HISTORY_ITEM,
                                          .from = place++ };
            if (!server_process_read_document(&j, walk.value, &item))
                c->broken = "a change cannot be read";
            if (item.key < page->key || item.key >= page->key + page->keys)
                continue;
            client_note(c, &item);
            count++;
        }
    }
    rn_json_release(&j);
    return count;
}

static void note_page(struct reader *r, struct lease *l,
                      struct history_entry *page, const struct answer *a,
                      struct part to, uint64_t point)
{
    size_t at = r->c->count;

    page->from = l->place;
    page->to = to.lsn;
    page->point = point;
    page->range = to.range;
    page->key = l->key;
    page->keys = l->keys;
    page->flags |=
        (l->starts ? HISTORY_STARTS : 0u) | (l->again ? HISTORY_AGAIN : 0u);
    if (l->starts && r->from_now)
        page->from = page->to;
    client_note(r->c, page);
    if (page->status == 200 && note_items(r->c, page, a->body) == 0)
        r->c->log[at].max = 0;
    l->range = to.range;
    l->place = page->to;
    l->starts = l->again = false;
    l->is_drained = page->status == 304;
}

/* ---- pages --------------------------------------------------------------- */

static bool read_scoped(struct reader *r, struct lease *l, unsigned max,
                        unsigned wait_s)
{
    struct history_entry page = { .client = r->c->number,
                                  .op = HISTORY_PAGE,
                                  .max = max };
    struct part to[PARTS_MAX];
    struct answer a;
    enum outcome outcome = ask(r, l, 1, &page, wait_s, &a);

    if (outcome == GONE)
        find_ranges(r);
    if (outcome != ANSWERED)
        return true;
    if (read_parts(a.etag, a.range, to) != 1) {
        r->c->broken = "the place of a part is not one LSN";
        return true;
    }
    note_page(r, l, &page, &a, to[0], a.lsn);
    return page.status == 200;
}

/* Where the token of all was for one key: the highest place of the ranges that
 * held it.  Of a range that a restore has passed over nobody knows what it
 * held: the lowest of these, where nothing else is known. */
static struct lease place_of_key(const struct places *token, uint32_t key)
{
    struct lease out = { .key = key, .keys = 1 };
    bool is_known = false, is_lost = false;

    for (size_t i = 0; i < token->count; i++) {
        const struct lease *l = &token->at[i];
        struct shape s;

        out.starts = out.starts || l->starts;
        out.again = out.again || l->again;
        if (l->starts)
            continue;
        if (shape_is_lost(l->range)) {
            if (!is_known && (!is_lost || l->place < out.place))
                out.place = l->place;
            is_lost = out.again = true;
        } else if (shape_find(l->range, &s) && key >= s.key &&
                   key < s.key + s.keys) {
            out.place = is_known && out.place > l->place ? out.place : l->place;
            is_known = true;
        }
    }
    return out;
}

/* A page of one range is one of each interval of keys that was at one place. */
static void note_intervals(struct reader *r, const struct history_entry *page,
                           const struct answer *a, struct part to,
                           uint64_t point)
{
    struct shape s;
    uint32_t key, end;

    if (!shape_find(to.range, &s))
        return;
    for (key = s.key; key < s.key + s.keys; key = end) {
        struct lease l = place_of_key(&r->before, key);
        struct history_entry part = *page;
        struct part reached = to;

        for (end = key + 1; end < s.key + s.keys; end++, l.keys++) {
            if (place_of_key(&r->before, end).place != l.place)
                break;
        }
        if (reached.lsn < l.place)
            reached.lsn = l.place;
        part.t0 -= server_process.keys - key; /* in this order */
        note_page(r, &l, &part, a, reached, point);
    }
}

/* One page is a page of each range; those not read to stay where they are.  The
 * session has a part for each range that is read, and the place has the same
 * ones first. */
static bool read_all(struct reader *r, unsigned max, unsigned wait_s)
{
    struct history_entry page = { .client = r->c->number,
                                  .op = HISTORY_PAGE,
                                  .max = max };
    struct part to[PARTS_MAX], points[PARTS_MAX];
    struct rn_buf body = RN_BUF_INIT(16 << 20);
    struct answer a;
    size_t n, alive;

    if (ask(r, r->now.at, r->now.count, &page, wait_s, &a) != ANSWERED)
        return true;
    n = read_parts(a.etag, a.range, to);
    alive = read_parts(a.session, a.range, points);
    if (!n || alive > n || rn_buf_add(&body, a.body)) {
        r->c->broken = "the place of all is not one of each range";
        return true;
    }
    a.body = rn_buf_view(&body);
    for (size_t i = 0; i < n; i++) {
        struct shape s;
        /* Split off and undone by the restore before anybody asked: the page is
         * of what has not been, and is read again. */
        if (!know_range(r->c, to[i].range, &s)) {
            rn_buf_release(&body);
            return false;
        }
    }
    copy(&r->before, &r->now);
    r->now.count = 0;
    page.max = n > 1 || r->before.count > 1 ? 0 : max;
    for (size_t i = 0; i < n; i++) {
        if (i < alive && !r->c->broken)
            note_intervals(r, &page, &a, to[i], points[i].lsn);
        add(r, (struct lease){ .range = to[i].range, .place = to[i].lsn });
    }
    rn_buf_release(&body);
    return page.status == 200;
}

bool reader_step(struct reader *r, unsigned max, unsigned wait_s)
{
    size_t first = rn_prng_below(&r->c->prng, r->now.count);

    if (r->kind == READER_ALL)
        return read_all(r, max, wait_s);
    if (r->now.at[0].range == UINT32_MAX && r->kind != READER_KEY)
        find_ranges(r);
    for (size_t i = 0; i < r->now.count; i++) {
        struct lease *l = &r->now.at[(first + i) % r->now.count];
        if (l->keys == 0)
            l->is_drained = true;
        if (!l->is_drained)
            return read_scoped(r, l, max, wait_s) || r->now.count > 1;
    }
    for (size_t i = 0; i < r->now.count; i++)
        r->now.at[i].is_drained = false;
    return false;
}
