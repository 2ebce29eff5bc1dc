/* lag.c -- see lag.h. */
#include "client/lag/lag.h"

#include "base/clock.h"
#include "client/feed/reader.h"

#include <stdio.h>

enum { PROBES_MAX = 8 }; /* under way at once */

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

/* One lease and the read that measures it. */
struct probe {
    runnel_lag lag;
    runnel_error error;
    char token[RN_LEASE_TOKEN_MAX];
    char host[132];
    struct rn_reader reader;
    bool is_reading; /* its answer is not there yet */
};

/* A round of probes: those of up to PROBES_MAX leases are under way at once,
 * and their outcomes are given in the order of the leases. */
struct round {
    struct rn_lease_set *set;
    struct rn_routing *map;
    struct rn_listing listing;
    struct rn_reader_source source;
    struct probe *probes; /* of lease i: probes[i % PROBES_MAX] */
    size_t begun, reported;
};

static void take_page(struct probe *p)
{
    const struct rn_change_page *page = p->reader.page;
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

static void begin_read(struct round *r, struct probe *p,
                       const struct rn_lease *lease,
                       const struct rn_epk_range *range)
{
    struct rn_position at = { .kind = RN_POSITION_BEGINNING };

    if (rn_position_set(&at, lease->position, &p->error)) {
        p->lag.state = RUNNEL_LAG_FAILED;
        return;
    }
    rn_reader_init(&p->reader, &r->source, range, &at);
    if (!rn_reader_route(&p->reader, r->map)) {
        p->lag.state = RUNNEL_LAG_GONE;
        return;
    }
    rn_reader_ask(&p->reader, r->set->transport, 0);
    p->is_reading = true;
}

static void begin_probe(struct round *r, size_t i)
{
    const struct rn_lease *lease = &r->listing.leases[i]->lease;
    const struct rn_cover *cover = &r->listing.covers[i];
    struct probe *p = &r->probes[i % PROBES_MAX];
    int64_t now_ms = r->listing.now_ms;
    int64_t sign_ms =
        lease->timestamp_ms ? lease->timestamp_ms : lease->ts_s * 1000;

    *p = (struct probe){ .lag = { .size = sizeof(p->lag),
                                  .lease = p->token,
                                  .state = RUNNEL_LAG_UNREAD,
                                  .behind = 1,
                                  .checkpoint_age_ms = -1,
                                  .leases = 1 } };
    snprintf(p->token, sizeof(p->token), "%.*s", RN_FMT(lease->token));
    snprintf(p->host, sizeof(p->host), "%.*s", RN_FMT(lease->owner));
    if (lease->owner.at)
        p->lag.host = p->host;
    if (now_ms && sign_ms)
        p->lag.checkpoint_age_ms = now_ms > sign_ms ? now_ms - sign_ms : 0;
    if (!cover->has_range)
        p->lag.state = RUNNEL_LAG_GONE;
    else if (lease->position.at)
        begin_read(r, p, lease, &cover->range);
}

static void end_read(struct probe *p, enum rn_reader_event event)
{
    p->is_reading = false;
    if (event == RN_READER_FAILED || event == RN_READER_GONE) {
        p->lag.state =
            event == RN_READER_GONE ? RUNNEL_LAG_GONE : RUNNEL_LAG_FAILED;
        p->error = p->reader.error;
    } else {
        p->lag.state = RUNNEL_LAG_KNOWN;
        p->lag.behind = 0;
        p->lag.is_upper_bound = p->reader.is_part;
        take_page(p);
    }
    rn_reader_release(&p->reader);
}

/* Waits until the probe of lease i is over; the others go on meanwhile. */
static struct probe *finish_probe(struct round *r, size_t i)
{
    struct rn_transport *t = r->set->transport;
    struct probe *p = &r->probes[i % PROBES_MAX];

    while (p->is_reading) {
        int64_t soonest = INT64_MAX;

        for (size_t k = i; k < r->begun; k++) {
            struct probe *other = &r->probes[k % PROBES_MAX];
            enum rn_reader_event event;
            int64_t next = INT64_MAX;

            if (!other->is_reading)
                continue;
            event = rn_reader_step(&other->reader, &next);
            if (event != RN_READER_NONE)
                end_read(other, event);
            else if (next < soonest)
                soonest = next;
        }
        if (p->is_reading)
            t->ops->wait(t, soonest);
    }
    if (p->lag.state == RUNNEL_LAG_FAILED)
        p->lag.error = &p->error;
    return p;
}

static void add_to_total(runnel_lag *total, const runnel_lag *lag)
{
    total->behind += lag->behind;
    total->charge += lag->charge;
    total->leases++;
    total->is_upper_bound = total->is_upper_bound || lag->is_upper_bound;
    if (lag->behind_ms > total->behind_ms)
        total->behind_ms = lag->behind_ms;
    if (lag->checkpoint_age_ms > total->checkpoint_age_ms)
        total->checkpoint_age_ms = lag->checkpoint_age_ms;
}

/* False if `each` wants no more. */
static bool report_leases(struct round *r, runnel_lag_fn each, void *context,
                          runnel_lag *total)
{
    size_t count = r->listing.count;
    bool go_on = true;

    for (size_t i = 0; go_on && i < count; i++) {
        struct probe *p;

        while (r->begun < count && r->begun < i + PROBES_MAX)
            begin_probe(r, r->begun++);
        p = finish_probe(r, i);
        r->reported = i + 1;
        add_to_total(total, &p->lag);
        go_on = each(context, &p->lag);
    }
    for (size_t i = r->reported; i < r->begun; i++)
        if (r->probes[i % PROBES_MAX].is_reading)
            rn_reader_release(&r->probes[i % PROBES_MAX].reader);
    return go_on;
}

runnel_code rn_lag_each(struct rn_lease_set *s, runnel_lag_fn each,
                        void *context, runnel_error *error)
{
    runnel_lag total = { .size = sizeof(total), .checkpoint_age_ms = -1 };
    struct round r = { .set = s,
                       .source = { .container = s->source,
                                   .definition = s->definition,
                                   .mode = RUNNEL_FEED_LATEST,
                                   .page_limit = 1,
                                   .since_s = INT64_MIN } };
    runnel_code rc = rn_lease_set_route(s, &r.listing, &r.map, error);

    if (!rc) {
        r.probes = rn_new(PROBES_MAX * sizeof(*r.probes));
        if (!r.probes)
            rc = rn_error_take(error, RN_NOMEM, NULL);
    }
    if (r.listing.count == 0) {
        total.behind = 1; /* so that a scaler starts the first host */
        total.state = RUNNEL_LAG_UNREAD;
    }
    if (r.probes && report_leases(&r, each, context, &total))
        each(context, &total);
    rn_free(r.probes);
    rn_listing_release(&r.listing);
    rn_routing_unref(r.map);
    return rc;
}
