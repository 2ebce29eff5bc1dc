/* counters.c -- request counters and histograms; see counters.h. */
#include "rest/metrics/counters.h"

#include "access/access_path.h"
#include "rest/metrics/metric_table.h"

#include <stddef.h>
#include <stdio.h>

enum {
    STRIPES = 8,
    STATUSES = 32, /* distinct ones; the last row is for all others */
    KINDS = RN_KINDS + 1,
    CELLS = RN_HTTP_METHODS * KINDS, /* per status */
    JUMP_MS = 1000,                  /* a smaller difference is not a jump */
    SLEW_MS = 20,
};

static const char *const reject_names[RN_REJECTS] = { "connections", "timeout",
                                                      "malformed" };
static const char *const feed_names[RN_FEED_RESULTS] = { "page", "304", "gone",
                                                         "error" };
static const char *const abort_names[RN_ABORTS] = { "steps", "memory" };

typedef _Atomic uint64_t counter;

/* A histogram of times. */
struct times {
    counter counts[RN_HISTOGRAM_BOUNDS + 1];
    counter ns;
};

struct stripe {
    _Alignas(64) counter requests[STATUSES][RN_HTTP_METHODS][KINDS];
    struct times durations[RN_HTTP_METHODS];
    struct times feed_waits, queries;
    counter bytes_in, bytes_out;
    counter centiunits[RN_COUNTED_CONTAINERS + 1];
    counter feed_reads[RN_FEED_RESULTS], feed_items;
    counter ways[RN_ACCESS_KINDS], examined, returned;
};

struct rn_rest_counters {
    _Atomic int
        statuses[STATUSES]; /* the status of each row; 0: not yet used */
    counter rejects[RN_REJECTS];
    counter aborts[RN_ABORTS];
    counter tokens;
    counter containers[RN_COUNTED_CONTAINERS]; /* the container of each slot; 0:
                                                free */
    struct stripe stripes[STRIPES];
};

struct rn_rest_counters *rn_rest_counters_new(void)
{
    return rn_new(sizeof(struct rn_rest_counters));
}

void rn_rest_counters_free(struct rn_rest_counters *t)
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

static struct stripe *own_stripe(struct rn_rest_counters *t)
{
    static atomic_uint next;
    static _Thread_local unsigned
        mine; /* this thread's stripe number plus one */

    if (!mine)
        mine = atomic_fetch_add(&next, 1) % STRIPES + 1;
    return &t->stripes[mine - 1];
}

/* The row of a status, allocated at its first use. */
static size_t row_of(struct rn_rest_counters *t, int status)
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

static void add_time(struct times *t, int64_t ns)
{
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;

    add(&t->counts[rn_scale_bucket(&rn_scale_times, value)], 1);
    add(&t->ns, value);
}

void rn_rest_counters_request(struct rn_rest_counters *t,
                              const struct rn_rest_counters_request *r)
{
    struct stripe *s = own_stripe(t);

    add(&s->requests[row_of(t, r->status)][r->method][r->kind], 1);
    add_time(&s->durations[r->method], r->ns);
    add(&s->bytes_in, r->bytes_in);
    add(&s->bytes_out, r->bytes_out);
    add(&s->centiunits[rn_rest_counters_place(t, r->container)],
        (uint64_t)(r->units * 100 + 0.5));
}

/* Two threads may allocate two slots for one container, if a slot becomes free
 * in between; by_container.c adds them up. */
size_t rn_rest_counters_place(struct rn_rest_counters *t, uint64_t container)
{
    size_t none = RN_COUNTED_CONTAINERS, empty = none;
    uint64_t nobody = 0;

    for (size_t i = 0; container && i < RN_COUNTED_CONTAINERS; i++) {
        size_t at = (container + i) % RN_COUNTED_CONTAINERS;
        uint64_t whose = get(&t->containers[at]);

        if (whose == container)
            return at;
        if (!whose && empty == none)
            empty = at;
    }
    if (empty != none && atomic_compare_exchange_strong(&t->containers[empty],
                                                        &nobody, container))
        return empty;
    return none;
}

uint64_t rn_rest_counters_container(struct rn_rest_counters *t, size_t place)
{
    return get(&t->containers[place]);
}

void rn_rest_counters_forget(struct rn_rest_counters *t, size_t place)
{
    for (size_t i = 0; i < STRIPES; i++) {
        counter *of = t->stripes[i].centiunits;
        add(&of[RN_COUNTED_CONTAINERS], atomic_exchange(&of[place], 0));
    }
    atomic_store(&t->containers[place], 0);
}

void rn_rest_counters_reject(struct rn_rest_counters *t, enum rn_reject why)
{
    add(&t->rejects[why], 1);
}

void rn_rest_counters_feed(struct rn_rest_counters *t,
                           enum rn_feed_result result, uint64_t items,
                           int64_t waited_ns)
{
    struct stripe *s = own_stripe(t);

    add(&s->feed_reads[result], 1);
    add(&s->feed_items, items);
    if (waited_ns > 0)
        add_time(&s->feed_waits, waited_ns);
}

void rn_rest_counters_query(struct rn_rest_counters *t, int64_t ns,
                            const struct rn_query_note *n)
{
    struct stripe *s = own_stripe(t);

    add_time(&s->queries, ns);
    if (n->has_way)
        add(&s->ways[n->way], 1);
    add(&s->examined, n->examined);
    add(&s->returned, n->returned);
}

void rn_rest_counters_abort(struct rn_rest_counters *t, enum rn_query_abort why)
{
    add(&t->aborts[why], 1);
}

void rn_rest_counters_token(struct rn_rest_counters *t)
{
    add(&t->tokens, 1);
}

/* ---- telling ------------------------------------------------------------- */

#define SUM(t, out, member)                                                    \
    do {                                                                       \
        (out) = 0;                                                             \
        for (size_t stripe_no = 0; stripe_no < STRIPES; stripe_no++)           \
            (out) += get(&(t)->stripes[stripe_no].member);                     \
    } while (0)

double rn_rest_counters_units(struct rn_rest_counters *t, size_t place)
{
    uint64_t n;

    SUM(t, n, centiunits[place]);
    return (double)n / 100;
}

uint64_t rn_rest_counters_status(struct rn_rest_counters *t, int status)
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

static enum rn_code print_requests(struct rn_rest_counters *t,
                                   struct rn_buf *out)
{
    enum rn_code rc = rn_metric_begin(out, "runnel_http_requests_total");

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

/* The sum of this histogram over all stripes. */
static enum rn_code print_times(struct rn_rest_counters *t, size_t place,
                                const char *name, const char *label,
                                struct rn_buf *out)
{
    struct rn_histogram h = { 0 };

    for (size_t i = 0; i < STRIPES; i++) {
        struct times *part =
            (struct times *)(void *)((char *)&t->stripes[i] + place);

        for (size_t k = 0; k <= RN_HISTOGRAM_BOUNDS; k++)
            h.counts[k] += get(&part->counts[k]);
        h.sum += get(&part->ns);
    }
    return rn_histogram_print(&h, &rn_scale_times, name, label, out);
}

static enum rn_code print_durations(struct rn_rest_counters *t,
                                    struct rn_buf *out)
{
    const char *name = "runnel_http_request_duration_seconds";
    enum rn_code rc = rn_metric_begin(out, name);
    char label[32];

    for (size_t m = 0; !rc && m < RN_HTTP_METHODS; m++) {
        snprintf(label, sizeof(label), "op=\"%s\"",
                 rn_http_method_name((enum rn_http_method)m));
        rc = print_times(
            t, offsetof(struct stripe, durations) + m * sizeof(struct times),
            name, label, out);
    }
    return rc;
}

static enum rn_code print_count(struct rn_buf *out, const char *name,
                                uint64_t n)
{
    enum rn_code rc = rn_metric_begin(out, name);

    return rc ? rc
              : rn_buf_printf(out, "%s %llu\n", name, (unsigned long long)n);
}

static enum rn_code print_labelled(struct rn_buf *out, const char *name,
                                   const char *label, const char *value,
                                   uint64_t n)
{
    return rn_buf_printf(out, "%s{%s=\"%s\"} %llu\n", name, label, value,
                         (unsigned long long)n);
}

static enum rn_code print_sums(struct rn_rest_counters *t, struct rn_buf *out)
{
    const char *rejected = "runnel_http_rejected_total";
    uint64_t in, bytes_out;
    enum rn_code rc;

    SUM(t, in, bytes_in);
    SUM(t, bytes_out, bytes_out);
    rc = print_count(out, "runnel_http_request_bytes_total", in);
    if (!rc)
        rc = print_count(out, "runnel_http_response_bytes_total", bytes_out);
    if (!rc)
        rc = print_count(out, "runnel_resource_tokens_issued_total",
                         get(&t->tokens));
    if (!rc)
        rc = rn_metric_begin(out, rejected);
    for (size_t i = 0; !rc && i < RN_REJECTS; i++)
        rc = print_labelled(out, rejected, "reason", reject_names[i],
                            get(&t->rejects[i]));
    return rc;
}

static enum rn_code print_feed(struct rn_rest_counters *t, struct rn_buf *out)
{
    const char *reads = "runnel_feed_reads_total";
    const char *wait = "runnel_feed_wait_seconds";
    enum rn_code rc = rn_metric_begin(out, reads);
    uint64_t n;

    for (size_t i = 0; !rc && i < RN_FEED_RESULTS; i++) {
        SUM(t, n, feed_reads[i]);
        rc = print_labelled(out, reads, "result", feed_names[i], n);
    }
    SUM(t, n, feed_items);
    if (!rc)
        rc = print_count(out, "runnel_feed_items_total", n);
    if (!rc)
        rc = rn_metric_begin(out, wait);
    return rc ? rc
              : print_times(t, offsetof(struct stripe, feed_waits), wait, "",
                            out);
}

static enum rn_code print_queries(struct rn_rest_counters *t,
                                  struct rn_buf *out)
{
    const char *name = "runnel_query_duration_seconds";
    enum rn_code rc = rn_metric_begin(out, name);
    uint64_t n;

    if (!rc)
        rc = print_times(t, offsetof(struct stripe, queries), name, "", out);
    SUM(t, n, examined);
    if (!rc)
        rc = print_count(out, "runnel_query_docs_examined_total", n);
    SUM(t, n, returned);
    if (!rc)
        rc = print_count(out, "runnel_query_docs_returned_total", n);
    name = "runnel_query_index_used_total";
    if (!rc)
        rc = rn_metric_begin(out, name);
    for (size_t i = 0; !rc && i < RN_ACCESS_KINDS; i++) {
        SUM(t, n, ways[i]);
        rc = print_labelled(out, name, "kind",
                            rn_access_name((enum rn_access_kind)i), n);
    }
    name = "runnel_query_aborted_total";
    if (!rc)
        rc = rn_metric_begin(out, name);
    for (size_t i = 0; !rc && i < RN_ABORTS; i++)
        rc = print_labelled(out, name, "reason", abort_names[i],
                            get(&t->aborts[i]));
    return rc;
}

enum rn_code rn_rest_counters_print(struct rn_rest_counters *t,
                                    struct rn_buf *out)
{
    enum rn_code rc = print_requests(t, out);

    if (!rc)
        rc = print_durations(t, out);
    if (!rc)
        rc = print_sums(t, out);
    if (!rc)
        rc = print_feed(t, out);
    return rc ? rc : print_queries(t, out);
}

/* ---- the wall clock ------------------------------------------------------ */

int64_t rn_clock_jumps_note(struct rn_clock_jumps *j, int64_t wall_ms,
                            int64_t mono_ns)
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
