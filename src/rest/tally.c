/* tally.c -- see tally.h. */
#include "rest/tally.h"

#include <stdlib.h>

enum {
    STRIPES = 8,
    STATUSES = 32, /* that differ; the last is for all that are more */
    BUCKETS = 14,  /* and one for all that took longer */
    KINDS = RN_KINDS + 1,
    CELLS = RN_HTTP_METHODS * KINDS, /* of a status */
    JUMP_MS = 1000,                  /* the least that is a jump */
    SLEW_MS = 20,
};

/* Seconds, as they are printed, and nanoseconds. */
static const struct {
    const char *le;
    int64_t ns;
} bounds[BUCKETS] = {
    { "0.0005", 500000 },
    { "0.001", 1000000 },
    { "0.0025", 2500000 },
    { "0.005", 5000000 },
    { "0.01", 10000000 },
    { "0.025", 25000000 },
    { "0.05", 50000000 },
    { "0.1", 100000000 },
    { "0.25", 250000000 },
    { "0.5", 500000000 },
    { "1", 1000000000 },
    { "2.5", 2500000000 },
    { "5", INT64_C(5) * 1000000000 },
    { "10", INT64_C(10) * 1000000000 },
};

static const char *const reject_names[RN_REJECTS] = { "connections", "timeout",
                                                      "malformed" };

typedef _Atomic uint64_t counter;

struct stripe {
    _Alignas(64) counter requests[STATUSES][RN_HTTP_METHODS][KINDS];
    counter durations[RN_HTTP_METHODS][BUCKETS + 1];
    counter ns[RN_HTTP_METHODS];
    counter bytes_in, bytes_out, centiunits;
};

struct rn_tally {
    _Atomic int statuses[STATUSES]; /* of each row; 0: not yet used */
    counter rejects[RN_REJECTS];
    struct stripe stripes[STRIPES];
};

struct rn_tally *rn_tally_new(void)
{
    return rn_new(sizeof(struct rn_tally));
}

void rn_tally_free(struct rn_tally *t)
{
    rn_free(t);
}

static void add(counter *c, uint64_t n)
{
    atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static uint64_t get(counter *c)
{
    return atomic_load_explicit(c, memory_order_relaxed);
}

static struct stripe *own_stripe(struct rn_tally *t)
{
    static atomic_uint next;
    static _Thread_local unsigned mine; /* one more than its number */

    if (!mine)
        mine = atomic_fetch_add(&next, 1) % STRIPES + 1;
    return &t->stripes[mine - 1];
}

/* The row of a status, taken at its first use. */
static size_t row_of(struct rn_tally *t, int status)
{
    for (size_t i = 0; i < STATUSES - 1; i++) {
        int seen = atomic_load_explicit(&t->statuses[i], memory_order_relaxed);
        if (seen == status)
            return i;
        if (seen == 0 &&
            (atomic_compare_exchange_strong(&t->statuses[i], &seen, status) ||
             seen == status))
            return i;
    }
    return STATUSES - 1;
}

void rn_tally_request(struct rn_tally *t, const struct rn_tally_request *r)
{
    struct stripe *s = own_stripe(t);
    size_t bucket = 0;

    while (bucket < BUCKETS && r->ns > bounds[bucket].ns)
        bucket++;
    add(&s->requests[row_of(t, r->status)][r->method][r->kind], 1);
    add(&s->durations[r->method][bucket], 1);
    add(&s->ns[r->method], r->ns > 0 ? (uint64_t)r->ns : 0);
    add(&s->bytes_in, r->bytes_in);
    add(&s->bytes_out, r->bytes_out);
    add(&s->centiunits, (uint64_t)(r->units * 100 + 0.5));
}

void rn_tally_reject(struct rn_tally *t, enum rn_reject why)
{
    add(&t->rejects[why], 1);
}

/* ---- telling ------------------------------------------------------------- */

#define SUM(t, out, member)                                                    \
    do {                                                                       \
        (out) = 0;                                                             \
        for (size_t stripe_no = 0; stripe_no < STRIPES; stripe_no++)           \
            (out) += get(&(t)->stripes[stripe_no].member);                     \
    } while (0)

uint64_t rn_tally_status(struct rn_tally *t, int status)
{
    size_t row = row_of(t, status);
    uint64_t total = 0, n;

    for (size_t m = 0; m < RN_HTTP_METHODS; m++) {
        for (size_t k = 0; k < KINDS; k++) {
            SUM(t, n, requests[row][m][k]);
            total += n;
        }
    }
    return total;
}

static struct rn_view kind_label(size_t kind)
{
    if (kind == RN_KINDS)
        return RN_LIT("none");
    return kind == RN_KIND_ACCOUNT ? RN_LIT("account")
                                   : rn_kind_word((enum rn_kind)kind);
}

static enum rn_code print_requests(struct rn_tally *t, struct rn_buf *out)
{
    enum rn_code rc =
        rn_buf_add(out, RN_LIT("# TYPE runnel_http_requests_total counter\n"));

    for (size_t i = 0; !rc && i < (size_t)STATUSES * CELLS; i++) {
        size_t row = i / CELLS, kind = i % KINDS;
        size_t method = i / KINDS % RN_HTTP_METHODS;
        uint64_t n;

        SUM(t, n, requests[row][method][kind]);
        if (n == 0)
            continue;
        rc = rn_buf_printf(
            out,
            "runnel_http_requests_total{op=\"%s\",resource=\"%.*s\","
            "code=\"%d\"} %llu\n",
            rn_http_method_name((enum rn_http_method)method),
            RN_FMT(kind_label(kind)), atomic_load(&t->statuses[row]),
            (unsigned long long)n);
    }
    return rc;
}

static enum rn_code print_durations(struct rn_tally *t, size_t method,
                                    struct rn_buf *out)
{
    const char *op = rn_http_method_name((enum rn_http_method)method);
    uint64_t total = 0, n;
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i <= BUCKETS; i++) {
        SUM(t, n, durations[method][i]);
        total += n;
        rc = rn_buf_printf(
            out,
            "runnel_http_request_duration_seconds_bucket{op=\"%s\",le=\"%s\"} "
            "%llu\n",
            op, i < BUCKETS ? bounds[i].le : "+Inf", (unsigned long long)total);
    }
    SUM(t, n, ns[method]);
    if (!rc) {
        rc = rn_buf_printf(
            out,
            "runnel_http_request_duration_seconds_sum{op=\"%s\"} %.9f\n"
            "runnel_http_request_duration_seconds_count{op=\"%s\"} %llu\n",
            op, (double)n / 1e9, op, (unsigned long long)total);
    }
    return rc;
}

static enum rn_code print_sums(struct rn_tally *t, struct rn_buf *out)
{
    uint64_t in, bytes_out, units;
    enum rn_code rc;

    SUM(t, in, bytes_in);
    SUM(t, bytes_out, bytes_out);
    SUM(t, units, centiunits);
    rc = rn_buf_printf(out,
                       "# TYPE runnel_http_request_bytes_total counter\n"
                       "runnel_http_request_bytes_total %llu\n"
                       "# TYPE runnel_http_response_bytes_total counter\n"
                       "runnel_http_response_bytes_total %llu\n"
                       "# TYPE runnel_request_units_total counter\n"
                       "runnel_request_units_total %.2f\n"
                       "# TYPE runnel_http_rejected_total counter\n",
                       (unsigned long long)in, (unsigned long long)bytes_out,
                       (double)units / 100);
    for (size_t i = 0; !rc && i < RN_REJECTS; i++) {
        rc = rn_buf_printf(
            out, "runnel_http_rejected_total{reason=\"%s\"} %llu\n",
            reject_names[i], (unsigned long long)get(&t->rejects[i]));
    }
    return rc;
}

enum rn_code rn_tally_print(struct rn_tally *t, struct rn_buf *out)
{
    enum rn_code rc = print_requests(t, out);

    if (!rc) {
        rc = rn_buf_add(out,
                        RN_LIT("# TYPE runnel_http_request_duration_seconds "
                               "histogram\n"));
    }
    for (size_t m = 0; !rc && m < RN_HTTP_METHODS; m++)
        rc = print_durations(t, m, out);
    return rc ? rc : print_sums(t, out);
}

/* ---- the wall clock ------------------------------------------------------ */

int64_t rn_jumps_note(struct rn_jumps *j, int64_t wall_ms, int64_t mono_ns)
{
    int64_t now = wall_ms - mono_ns / 1000000;
    int64_t old = atomic_load_explicit(&j->offset_ms, memory_order_relaxed);
    int64_t by = old ? now - old : 0;

    if (old && by > -SLEW_MS && by < SLEW_MS)
        return 0;
    if (!atomic_compare_exchange_strong(&j->offset_ms, &old, now) ||
        (by > -JUMP_MS && by < JUMP_MS))
        return 0;
    atomic_fetch_add(&j->count, 1);
    return by;
}
