/* position.c -- see position.h. */
#include "client/feed/position.h"

#include "base/clock.h"
#include "cosmos/header.h"

int64_t rn_position_second(const struct rn_position *p)
{
    return p->time_ms / 1000 - (p->time_ms % 1000 < 0);
}

runnel_code rn_position_start(const runnel_feed_options *options,
                              runnel_start usual, struct rn_position *out,
                              runnel_error *error)
{
    runnel_start start = options->start;

    if (options->start_time_ms && start != RUNNEL_START_DEFAULT &&
        start != RUNNEL_START_TIME)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "start_time_ms and start exclude each other");
    if (options->start_time_ms)
        start = RUNNEL_START_TIME;
    if (start == RUNNEL_START_DEFAULT)
        start = usual;
    if (options->mode == RUNNEL_FEED_ALL && start != RUNNEL_START_NOW) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "start: all versions are read from now or from a "
                            "token");
    }
    *out = (struct rn_position){ .time_ms = options->start_time_ms };
    switch (start) {
    case RUNNEL_START_BEGINNING:
        out->kind = RN_POSITION_BEGINNING;
        return RUNNEL_OK;
    case RUNNEL_START_NOW:
        out->kind = RN_POSITION_NOW;
        return RUNNEL_OK;
    case RUNNEL_START_TIME:
        out->kind = RN_POSITION_TIME;
        return RUNNEL_OK;
    default:
        return rn_error_set(error, RUNNEL_BAD_REQUEST, "start is unknown");
    }
}

runnel_code rn_position_set(struct rn_position *p, struct rn_view etag,
                            runnel_error *error)
{
    if (etag.len == 0)
        return rn_error_set(error, RUNNEL_PROTOCOL,
                            "a page of the change feed has no etag");
    if (etag.len > RN_POSITION_MAX) {
        return rn_error_set(error, RUNNEL_PROTOCOL,
                            "an etag of the change feed has %zu bytes",
                            etag.len);
    }
    p->kind = RN_POSITION_ETAG;
    memcpy(p->etag, etag.at, etag.len);
    p->etag[etag.len] = '\0';
    return RUNNEL_OK;
}

runnel_code rn_position_add(const struct rn_position *p, struct rn_headers *h,
                            runnel_error *error)
{
    char date[RN_DATE_TEXT_MAX];

    switch (p->kind) {
    case RN_POSITION_NOW:
        return rn_headers_add(h, RN_HEADER_IF_NONE_MATCH, RN_LIT("*"), error);
    case RN_POSITION_TIME:
        return rn_headers_add(h, RN_HEADER_IF_MODIFIED_SINCE,
                              rn_date_print(rn_position_second(p) - 1, date),
                              error);
    case RN_POSITION_ETAG:
        return rn_headers_add(h, RN_HEADER_IF_NONE_MATCH, rn_view_text(p->etag),
                              error);
    default:
        return RUNNEL_OK;
    }
}
