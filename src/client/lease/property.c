/* property.c -- what leases say in their properties, tokens and times. */
#include "client/lease/property.h"

#include "base/clock.h"
#include "client/lease/document.h"
#include "cosmos/etag.h"

#include <stdio.h>

static const struct rn_view nothing;
/* The end of 9999. */
#define SECOND_MAX UINT64_C(253402300799)

struct rn_view rn_lease_property(const struct rn_lease *lease, const char *name)
{
    struct rn_view wanted = rn_view_text(name);

    for (size_t i = 0; i < lease->property_count; i++)
        if (rn_view_eq(lease->properties[i].name, wanted))
            return lease->properties[i].value;
    return nothing;
}

bool rn_lease_set(struct rn_lease *lease, const char *name,
                  struct rn_view value)
{
    struct rn_view wanted = rn_view_text(name);
    size_t i = 0;

    while (i < lease->property_count &&
           !rn_view_eq(lease->properties[i].name, wanted))
        i++;
    if (!value.at) {
        if (i == lease->property_count)
            return true;
        lease->property_count--;
        memmove(&lease->properties[i], &lease->properties[i + 1],
                (lease->property_count - i) * sizeof(lease->properties[0]));
        return true;
    }
    if (i == RN_LEASE_PROPERTIES_MAX)
        return false;
    if (i == lease->property_count)
        lease->property_count++;
    lease->properties[i] =
        (struct rn_lease_property){ .name = wanted, .value = value };
    return true;
}

/* Takes a decimal number off the front of `*text`; false if there is none. */
static bool take_number(struct rn_view *text, uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0;

    while (i < text->len && text->at[i] >= '0' && text->at[i] <= '9') {
        unsigned digit = (unsigned)(text->at[i] - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
        i++;
    }
    if (i == 0)
        return false;
    *out = n;
    *text = rn_view_of(text->at + i, text->len - i);
    return true;
}

static bool take_text(struct rn_view *text, struct rn_view what)
{
    if (!rn_view_starts(*text, what))
        return false;
    *text = rn_view_of(text->at + what.len, text->len - what.len);
    return true;
}

uint64_t rn_lease_number(const struct rn_lease *lease, const char *name)
{
    struct rn_view text = rn_lease_property(lease, name);
    uint64_t n = 0;

    return text.at && take_number(&text, &n) && text.len == 0 ? n : 0;
}

bool rn_lease_is_native(const struct rn_lease *lease)
{
    struct rn_view owner = rn_lease_property(lease, RN_LEASE_OWNER);

    return lease->owner.at && owner.at && rn_view_eq(owner, lease->owner) &&
           rn_lease_property(lease, RN_LEASE_SESSION).at;
}

bool rn_lease_is_version_2(const struct rn_lease *lease)
{
    return lease->partition_id.at && !lease->feed_range.at;
}

struct rn_view rn_lease_bound(const struct rn_lease *lease, const char *name)
{
    struct rn_view text = rn_lease_property(lease, name);
    size_t len = lease->token.len;

    if (!text.at || text.len <= len || text.at[len] != ' ' ||
        !rn_view_starts(text, lease->token))
        return nothing;
    return rn_view_of(text.at + len + 1, text.len - len - 1);
}

uint32_t rn_lease_attempts(const struct rn_lease *lease)
{
    struct rn_view text = rn_lease_property(lease, RN_LEASE_ATTEMPTS);
    struct rn_view position =
        lease->position.at ? lease->position : RN_LIT("null");
    uint64_t n;

    if (!text.at || !take_number(&text, &n) || n > UINT32_MAX ||
        text.len == 0 || text.at[0] != ' ')
        return 0;
    text = rn_view_of(text.at + 1, text.len - 1);
    return rn_view_eq(text, position) ? (uint32_t)n : 0;
}

bool rn_lease_wanted(const struct rn_lease *lease, struct rn_view *host,
                     int64_t *at_ms)
{
    struct rn_view text = rn_lease_property(lease, RN_LEASE_WANTED);
    struct rn_view number;
    uint64_t n;
    size_t i = text.len;

    while (i > 0 && text.at[i - 1] != ' ')
        i--;
    if (i < 2)
        return false;
    number = rn_view_of(text.at + i, text.len - i);
    if (!take_number(&number, &n) || number.len > 0 || n > INT64_MAX)
        return false;
    *host = rn_view_of(text.at, i - 1);
    *at_ms = (int64_t)n;
    return true;
}

uint32_t rn_lease_expire_ms(const struct rn_lease *lease)
{
    struct rn_view text = rn_lease_property(lease, RN_LEASE_INTERVALS);
    uint64_t n = 0;

    for (int i = 0; i < 3; i++) {
        if (i && !take_text(&text, RN_LIT(" ")))
            return 0;
        if (!take_number(&text, &n) || n > UINT32_MAX)
            return 0;
    }
    return text.len == 0 ? (uint32_t)n : 0;
}

bool rn_lease_start_second(const struct rn_lease *lease, int64_t *second)
{
    struct rn_view text = rn_lease_property(lease, RN_LEASE_START);
    uint64_t n;

    if (!take_text(&text, RN_LIT("time:")) || !take_number(&text, &n) ||
        text.len > 0 || n > SECOND_MAX)
        return false;
    *second = (int64_t)n;
    return true;
}

/* Takes "STARTMS-" off the front. */
static bool take_start(struct rn_view *session, int64_t *start_ms)
{
    uint64_t n;

    if (!session->at || !take_number(session, &n) || n > INT64_MAX ||
        !take_text(session, RN_LIT("-")))
        return false;
    *start_ms = (int64_t)n;
    return true;
}

int64_t rn_lease_session_start(const struct rn_lease *lease)
{
    struct rn_view text = rn_lease_property(lease, RN_LEASE_SESSION);
    int64_t start_ms;

    return take_start(&text, &start_ms) ? start_ms : 0;
}

bool rn_lease_session_is_later(struct rn_view session, struct rn_view than)
{
    int64_t start_ms;
    int64_t than_ms;

    if (!take_start(&session, &start_ms) || !take_start(&than, &than_ms))
        return false;
    if (start_ms != than_ms)
        return start_ms > than_ms;
    return session.len >= RN_LEASE_TAG_LEN && than.len >= RN_LEASE_TAG_LEN &&
           memcmp(session.at, than.at, RN_LEASE_TAG_LEN) > 0;
}

/* ---- ranges and positions ------------------------------------------------ */

struct rn_view rn_lease_token_print(const struct rn_epk_range *range,
                                    char out[RN_LEASE_TOKEN_MAX])
{
    char min[RN_EPK_TEXT_MAX];
    char max[RN_EPK_TEXT_MAX];
    int n = snprintf(out, RN_LEASE_TOKEN_MAX, "%.*s-%.*s",
                     RN_FMT(rn_epk_print(&range->min, min)),
                     RN_FMT(rn_epk_print(&range->max, max)));

    return rn_view_of(out, (size_t)n);
}

bool rn_lease_token_parse(struct rn_view token, struct rn_epk_range *out)
{
    const char *dash = token.len ? memchr(token.at, '-', token.len) : NULL;
    struct rn_epk_range range;
    size_t n;

    if (!dash)
        return false;
    n = (size_t)(dash - token.at);
    if (rn_epk_parse(rn_view_of(token.at, n), &range.min, NULL) ||
        rn_epk_parse(rn_view_of(dash + 1, token.len - n - 1), &range.max,
                     NULL) ||
        rn_epk_compare(&range.min, &range.max) >= 0)
        return false;
    *out = range;
    return true;
}

bool rn_lease_is_overgrown(const struct rn_lease *lease)
{
    struct rn_view text = rn_lease_property(lease, RN_LEASE_RANGE);
    const char *space = text.at ? memchr(text.at, ' ', text.len) : NULL;
    struct rn_epk_range good;
    size_t n;

    if (!space || !lease->has_range)
        return false;
    n = (size_t)(space + 1 - text.at);
    return rn_lease_token_parse(rn_view_of(space + 1, text.len - n), &good) &&
           (rn_epk_compare(&lease->range.min, &good.min) < 0 ||
            rn_epk_compare(&good.max, &lease->range.max) < 0);
}

bool rn_lease_position_compare(struct rn_view a, struct rn_view b, int *order)
{
    uint64_t left;
    uint64_t right;

    if (rn_etag_parse_lsn(a, &left, NULL) || rn_etag_parse_lsn(b, &right, NULL))
        return false;
    *order = (left > right) - (left < right);
    return true;
}

/* ---- times --------------------------------------------------------------- */

struct rn_view rn_lease_time_print(int64_t ms, char out[RN_LEASE_TIME_MAX])
{
    char stamp[RN_STAMP_TEXT_MAX];
    struct rn_view text = rn_stamp_print(ms * 1000, stamp);
    size_t len = text.len - 1; /* without the Z */

    while (stamp[len - 1] == '0')
        len--;
    if (stamp[len - 1] == '.')
        len--;
    memcpy(out, stamp, len);
    out[len] = 'Z';
    out[len + 1] = 0;
    return rn_view_of(out, len + 1);
}

void rn_lease_stamp(struct rn_lease *lease, int64_t ms,
                    char out[RN_LEASE_TIME_MAX])
{
    lease->timestamp = rn_lease_time_print(ms, out);
    lease->timestamp_ms = ms;
}

/* Two or four digits that stand at `at`; -1 if they do not. */
static int digits(struct rn_view text, size_t at, size_t count)
{
    int n = 0;

    if (at + count > text.len)
        return -1;
    for (size_t i = at; i < at + count; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return -1;
        n = n * 10 + (text.at[i] - '0');
    }
    return n;
}

/* The date and the time of day, 19 bytes. */
static bool parse_civil(struct rn_view text, struct rn_civil *out)
{
    int year = digits(text, 0, 4);

    *out = (struct rn_civil){ .year = year,
                              .month = digits(text, 5, 2),
                              .day = digits(text, 8, 2),
                              .hour = digits(text, 11, 2),
                              .minute = digits(text, 14, 2),
                              .second = digits(text, 17, 2) };
    return text.len >= 19 && year >= 0 && text.at[4] == '-' &&
           text.at[7] == '-' && text.at[10] == 'T' && text.at[13] == ':' &&
           text.at[16] == ':' && out->month >= 1 && out->month <= 12 &&
           out->day >= 1 && out->day <= rn_days_in_month(year, out->month) &&
           out->hour >= 0 && out->hour < 24 && out->minute >= 0 &&
           out->minute < 60 && out->second >= 0 && out->second < 60;
}

bool rn_lease_time_parse(struct rn_view text, int64_t *ms)
{
    static const char *const zones[] = { "Z", "Z[UTC]", "+00:00", "" };
    struct rn_civil civil;
    struct rn_view rest;
    int64_t unit = 100;
    int64_t fraction = 0;
    size_t at = 19;

    if (!parse_civil(text, &civil))
        return false;
    if (at < text.len && text.at[at] == '.') {
        for (at++; digits(text, at, 1) >= 0; at++) {
            fraction += unit * digits(text, at, 1);
            unit /= 10;
        }
    }
    rest = rn_view_of(text.at + at, text.len - at);
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        if (rn_view_eq(rest, rn_view_text(zones[i]))) {
            *ms = rn_civil_seconds(&civil) * 1000 + fraction;
            return true;
        }
    }
    return false;
}
