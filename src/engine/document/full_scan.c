/* full_scan.c -- see full_scan.h. */
#include "engine/document/full_scan.h"
#include "engine/document/snapshot.h"

#include "engine/engine_state.h"

enum rn_code rn_full_scan_open(struct rn_full_scan *w, struct rn_snapshot *r)
{
    struct rn_key from, before;
    struct rn_key_interval range;

    *w = (struct rn_full_scan){ .reading = r };
    rn_key_span_tag(r->container->number, RN_TAG_FEED, &from, &before);
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    return rn_txn_scan(r->txn, &range, &w->cursor);
}

enum rn_code rn_full_scan_next(struct rn_full_scan *w, struct rn_view *body)
{
    const struct rn_snapshot *r = w->reading;
    struct rn_view key, value;
    struct rn_row_feed row;
    enum rn_code rc;

    do {
        rc = rn_cursor_next(w->cursor, &key, &value);
        if (!rc)
            rc = rn_row_feed_decode(value, &row);
        if (rc)
            return rc;
    } while (rn_document_is_expired(r->container, &row, r->now));
    *body = row.json;
    return RN_OK;
}

void rn_full_scan_close(struct rn_full_scan *w)
{
    rn_cursor_end(w->cursor);
    w->cursor = NULL;
}
