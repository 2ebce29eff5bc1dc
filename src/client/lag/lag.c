/* lag.c -- see lag.h. */
#include "client/lag/lag.h"

#include "base/clock.h"
#include "client/feed/reader.h"

#include <stdio.h>

/* ---- one lease ----------------------------------------------------------- */

/* The global LSN of a session token, as the .NET libraries take it: behind the
 * first colon, the second of the parts between '#', or the only one. */
static int64_t session_lsn(struct rn_view token)
{
    const char *at = token.len ? memchr(token.at, ':', token.len) : NULL;
    const char *end = token.at + token.len;
    const char *hash;
    int64_t lsn = 0;

    at = at ? at + 1 : token.at;
    hash = at && at < end ? memchr(at, '#', (size_t)(end - at)) : NULL;
    if (hash)
        at = hash + 1;
    for (; at && at < end && *at >= '0' && *at <= '9'; at++)
        lsn = lsn * 10 + (*at - '0');
    return lsn;
}

struct probe {
    struct rn_lease_set *set;
    const struct rn_routing *map;
    runnel_lag lag;
    runnel_error error;
    char token[RN_LEASE_TOKEN_MAX];
    char host[132];
};

static void take_page(struct probe *p, const struct rn_reader *r)
{
    const struct rn_page *page = r->page;
    const struct rn_headers *h;
    struct rn_view session;
    struct rn_view date;
    int64_t last;
    int64_t first;
    int64_t now_s;

    if (!page)
        return;
    h = &page->reply->headers;
    session = rn_headers_find(h, RN_HEADER_SESSION_TOKEN);
    date = rn_headers_find(h, RN_HEADER_DATE);
    p->lag.charge = runnel_reply_charge(page->reply);
    if (page->count == 0)
        return;
    last = session_lsn(session);
    first = (int64_t)page->changes[0].lsn - 1;
    p->lag.behind = first < 0 ? 1 : last > first ? last - first : 0;
    if (date.at && !rn_date_parse(date, &now_s, NULL))
        p->lag.behind_ms = now_s * 1000 - page->changes[0].time_ms;
    if (p->lag.behind_ms < 0)
        p->lag.behind_ms = 0;
}

static void read_lag(struct probe *p, const struct rn_lease *lease,
                     const struct rn_epk_range *range)
{
    struct rn_feed_source source = { .container = p->set->source,
                                     .definition = p->set->definition,
                                     .mode = RUNNEL_FEED_LATEST,
                                     .page_limit = 1,
                                     .since_s = INT64_MIN };
    struct rn_position at = { .kind = RN_POSITION_BEGINNING };
    struct rn_transport *t = p->set->transport;
    enum rn_reader_event event;
    struct rn_reader r;
    int64_t next = 0;

    if (rn_position_set(&at, lease->position, &p->error)) {
        p->lag.state = RUNNEL_LAG_FAILED;
        return;
    }
    rn_reader_init(&r, &source, range, &at);
    if (!rn_reader_route(&r, p->map)) {
        p->lag.state = RUNNEL_LAG_GONE;
        return;
    }
    rn_reader_ask(&r, t, 0);
    while ((event = rn_reader_step(&r, &next)) == RN_READER_NONE)
        t->ops->wait(t, next);
    if (event == RN_READER_FAILED || event == RN_READER_GONE) {
        p->lag.state =
            event == RN_READER_GONE ? RUNNEL_LAG_GONE : RUNNEL_LAG_FAILED;
        p->error = r.error;
    } else {
        p->lag.state = RUNNEL_LAG_KNOWN;
        p->lag.behind = 0;
        p->lag.is_upper_bound = r.is_part;
        take_page(p, &r);
    }
    rn_reader_release(&r);
}

static void measure(struct probe *p, const struct rn_listing *l, size_t i)
{
    const struct rn_lease *lease = &l->leases[i]->lease;
    int64_t sign_ms =
        lease->timestamp_ms ? lease->timestamp_ms : lease->ts_s * 1000;

    p->lag = (runnel_lag){ .size = sizeof(p->lag),
                           .lease = p->token,
                           .state = RUNNEL_LAG_UNREAD,
                           .behind = 1,
                           .checkpoint_age_ms = -1,
                           .leases = 1 };
    snprintf(p->token, sizeof(p->token), "%.*s", RN_FMT(lease->token));
    snprintf(p->host, sizeof(p->host), "%.*s", RN_FMT(lease->owner));
    if (lease->owner.at)
        p->lag.host = p->host;
    if (l->now_ms && sign_ms)
        p->lag.checkpoint_age_ms =
            l->now_ms > sign_ms ? l->now_ms - sign_ms : 0;
    if (!l->covers[i].has_range)
        p->lag.state = RUNNEL_LAG_GONE;
    else if (lease->position.at)
        read_lag(p, lease, &l->covers[i].range);
    if (p->lag.state == RUNNEL_LAG_FAILED)
        p->lag.error = &p->error;
}

runnel_code rn_lag_each(struct rn_lease_set *s, runnel_lag_fn each,
                        void *context, runnel_error *error)
{
    runnel_lag total = { .size = sizeof(total), .checkpoint_age_ms = -1 };
    struct probe p = { .set = s };
    struct rn_listing listing = { 0 };
    struct rn_routing *map = NULL;
    bool go_on = true;
    runnel_code rc = rn_lease_set_route(s, &listing, &map, error);

    p.map = map;
    for (size_t i = 0; !rc && go_on && i < listing.count; i++) {
        measure(&p, &listing, i);
        total.behind += p.lag.behind;
        total.charge += p.lag.charge;
        total.leases++;
        total.is_upper_bound = total.is_upper_bound || p.lag.is_upper_bound;
        if (p.lag.behind_ms > total.behind_ms)
            total.behind_ms = p.lag.behind_ms;
        if (p.lag.checkpoint_age_ms > total.checkpoint_age_ms)
            total.checkpoint_age_ms = p.lag.checkpoint_age_ms;
        go_on = each(context, &p.lag);
    }
    if (!rc && listing.count == 0) {
        total.behind = 1; /* so that a scaler starts the first host */
        total.state = RUNNEL_LAG_UNREAD;
    }
    if (!rc && go_on)
        each(context, &total);
    rn_listing_release(&listing);
    rn_routing_unref(map);
    return rc;
}
