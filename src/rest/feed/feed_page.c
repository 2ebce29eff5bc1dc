/* feed_page.c -- reads the documents of a change feed page.
 *
 * They are read piece by piece and printed into the body.  A page ends when it
 * is full or all pieces are read; a slice ends when its budget is spent.
 */
#include "rest/feed/feed_page.h"
#include "rest/feed/feed_place.h"
#include "rest/reply.h"

#include "base/decimal.h"
#include "engine/bug.h"
#include "engine/document/snapshot.h"

enum {
    PAGE_BYTES = 4 << 20,
    TAIL_MAX = 160, /* the longest suffix added to a document */
    SAMPLE = 16,    /* documents from which the average length is taken */
};

static enum rn_code begin_page(struct rn_feed_page *f)
{
    char rid[RN_RID_TEXT_MAX];
    struct rn_view text = rn_rid_print(f->x->container->rid, rid);

    return rn_buf_printf(&f->x->call->body,
                         "{\"_rid\":\"%.*s\",\"Documents\":[", RN_FMT(text));
}

static void add(struct rn_buf *b, struct rn_view v)
{
    memcpy(b->at + b->len, v.at, v.len);
    b->len += v.len;
}

static void add_number(struct rn_buf *b, struct rn_view before, uint64_t number)
{
    char digits[RN_DECIMAL_MAX];

    add(b, before);
    add(b, rn_decimal_print(number, digits + sizeof(digits)));
}

static enum rn_code add_version(struct rn_feed_page *f,
                                const struct rn_change *c)
{
    struct rn_buf *b = &f->x->call->body;
    enum rn_code rc = f->count ? rn_buf_add(b, RN_LIT(",")) : begin_page(f);

    f->count++;
    return rc ? rc
              : rn_history_print(&c->version, c->place.lsn,
                                 &f->x->container->container->pkdef, b);
}

/* A growing body is copied each time.  So a page of more than a few documents
 * gets all its memory once their average length is known; if that much is not
 * available, the body grows. */
static void make_room(const struct rn_feed_page *f)
{
    struct rn_buf *b = &f->x->call->body;
    size_t each = b->len / SAMPLE;
    size_t count = f->max < PAGE_BYTES / each ? f->max : PAGE_BYTES / each;

    (void)!rn_buf_reserve(b, count * each);
}

/* The stored document is JSON already; only its end is added here. */
static enum rn_code add_change(struct rn_feed_page *f,
                               const struct rn_change *c)
{
    struct rn_buf *b = &f->x->call->body;
    enum rn_code rc = f->count ? RN_OK : begin_page(f);

    if (f->count == SAMPLE)
        make_room(f);
    if (!rc)
        rc = rn_buf_reserve(b, c->json.len + TAIL_MAX);
    if (rc)
        return rc;
    if (f->count++)
        b->at[b->len++] = ',';
    if (f->is_wrapped) {
        add(b, RN_LIT("{\"current\":"));
        add(b, c->json);
        add_number(b, RN_LIT(",\"metadata\":{\"lsn\":"), c->place.lsn);
        add_number(b, RN_LIT(",\"crts\":"), (uint64_t)c->ts);
        add(b, RN_LIT("}}"));
    } else {
        add(b, rn_view_of(c->json.at, c->json.len - 1));
        add_number(b, RN_LIT(",\"_lsn\":"), c->place.lsn);
        b->at[b->len++] = '}';
    }
    return RN_OK;
}

static bool is_full(const struct rn_feed_page *f)
{
    return f->count >= f->max || f->x->call->body.len >= PAGE_BYTES;
}

/* The documents of one LSN stay in one page. */
static enum rn_code read_piece(struct rn_feed_page *f, struct rn_feed *feed,
                               struct rn_feed_piece *p, enum rn_feed_end *end)
{
    struct rn_change change;
    size_t before = f->count;
    enum rn_code rc;

    *end = RN_FEED_PAGE_FULL;
    while (!(rc = rn_feed_next(feed, &change))) {
        if (is_full(f) && (f->count == before || change.place.lsn != p->given ||
                           RN_BUG(LSN_DIVIDED)))
            return RN_OK;
        rc = f->mode == RN_FEED_ALL_VERSIONS ? add_version(f, &change)
                                             : add_change(f, &change);
        if (rc)
            return rc;
        p->given = change.place.lsn;
    }
    if (rc != RN_NOT_FOUND)
        return rc;
    if (p->after < feed->seen)
        p->after = feed->seen;
    *end = p->after >= p->upto ? RN_FEED_ALL_READ : RN_FEED_BUDGET_SPENT;
    return RN_OK;
}

static enum rn_code read_pieces(struct rn_feed_page *f, struct rn_snapshot *r,
                                uint32_t entries, size_t bytes,
                                enum rn_feed_end *end)
{
    enum rn_code rc = RN_OK;

    *end = RN_FEED_ALL_READ;
    for (size_t i = 0; *end == RN_FEED_ALL_READ && i < f->piece_count; i++) {
        struct rn_feed_piece *p = &f->pieces[i];
        struct rn_feed_scan scan = {
            .range = p->range,
            .epks = p->epks,
            .pk = f->pk,
            .after = p->after,
            .upto = p->upto,
            .floors = p->floors,
            .floor_count = p->floor_count,
            .since = f->since,
            .since_upto = p->since_upto,
            .all_versions = f->mode == RN_FEED_ALL_VERSIONS,
            .entries_max = entries,
            .bytes_max = bytes,
        };
        struct rn_feed feed = { 0 };

        rc = rn_feed_page_check_history(f, r, p);
        if (!rc)
            rc = rn_feed_open(&feed, r, &scan, &f->x->err);
        if (!rc)
            rc = read_piece(f, &feed, p, end);
        rn_feed_close(&feed);
        if (rc || *end != RN_FEED_ALL_READ)
            break;
        /* Of several pieces, one without changes for this reader advances too:
         * its LSN would otherwise fall behind what is retained. */
        if (f->piece_count > 1 || p->floor_count > 1)
            p->given = p->upto;
        if (i + 1 == f->piece_count)
            break;
        entries -= feed.entries < entries ? feed.entries : entries;
        bytes -= feed.bytes < bytes ? feed.bytes : bytes;
        *end = is_full(f)         ? RN_FEED_PAGE_FULL
               : entries && bytes ? RN_FEED_ALL_READ
                                  : RN_FEED_BUDGET_SPENT;
    }
    return rc;
}

enum rn_code rn_feed_page_read(struct rn_feed_page *f, uint32_t entries,
                               size_t bytes, enum rn_feed_end *end)
{
    struct rn_snapshot r = { 0 };
    enum rn_code rc;

    rc = rn_snapshot_begin(&r, f->x->rest->engine, f->x->container->container,
                           &f->x->err);
    *end = RN_FEED_ALL_READ;
    /* Waiters learn of a deleted container before the catalog does. */
    if (!rc && f->parked_ns)
        rc = rn_feed_check_database(&r, &f->x->err);
    if (!rc && !f->is_begun)
        rc = rn_feed_page_begin(f, &r);
    else if (!rc)
        rc = rn_feed_page_extend(f, &r);
    if (!rc && f->token.kind != RN_FEED_TOKEN_NOW && !f->is_old)
        rc = read_pieces(f, &r, entries, bytes, end);
    rn_reply_blame(f->x, &r, rc);
    rn_snapshot_end(&r);
    return rc;
}
