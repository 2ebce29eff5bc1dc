/* page_diff.c -- see page_diff.h. */
#include "store/integrity/page_diff.h"

enum { PAGES_A_PAUSE = 64 };

struct diff {
    const struct rn_page_diff_opts *opts;
    struct rn_buf *out;
    struct rn_err *err;
    enum rn_code rc;  /* the first failure */
    uint64_t visited; /* pages */
};

static void diff_add(struct diff *s, uint64_t page, uint64_t checksum)
{
    struct rn_page_checksums_change change = { .page = page,
                                               .checksum = checksum };

    if (!s->rc)
        s->rc = rn_buf_add(s->out, rn_view_of(&change, sizeof(change)));
    if (s->rc && s->rc != RN_CORRUPT)
        rn_fail(s->err, s->rc, "%s", rn_code_name(s->rc));
}

static void diff_bad(void *context, uint64_t number, const char *what)
{
    struct diff *s = context;

    if (!s->rc)
        s->rc = rn_fail(s->err, RN_CORRUPT, "page %llu: %s",
                        (unsigned long long)number, what);
}

static const char *diff_read(void *context, unsigned buffer, uint64_t number,
                             uint64_t count)
{
    const struct diff *s = context;

    (void)buffer;
    (void)count;
    return s->opts->base + number * s->opts->meta->page_bytes;
}

static bool diff_reach(void *context, uint64_t number, uint64_t count)
{
    struct diff *s = context;
    size_t page_bytes = s->opts->meta->page_bytes;
    uint64_t known = 0;

    if (s->rc)
        return false;
    if (!rn_page_checksums_get(s->opts->checksums, number, &known))
        diff_bad(s, number, "its checksum is damaged");
    if (s->rc || known)
        return false;
    if (s->opts->pause && ++s->visited % PAGES_A_PAUSE == 0)
        s->opts->pause(s->opts->context);
    for (uint64_t n = number; n < number + count; n++) {
        diff_add(
            s, n,
            rn_page_checksums_of(
                rn_view_of(s->opts->base + n * page_bytes, page_bytes), n));
    }
    return true;
}

/* A record of the free table: a count, then as many page numbers.  Some are new
 * pages that were freed again; they have no checksum to remove. */
static void diff_record(void *context, enum rn_page_table table, uint64_t page,
                        struct rn_view key, struct rn_view value)
{
    struct diff *s = context;
    uint64_t txnid, count, known, number;

    if (table != RN_TABLE_FREE || !value.at)
        return;
    memcpy(&txnid, key.at, sizeof(txnid));
    if (txnid <= s->opts->since)
        return;
    if (value.len >= sizeof(count))
        memcpy(&count, value.at, sizeof(count));
    if (value.len < sizeof(count) || count > value.len / sizeof(count) - 1) {
        diff_bad(s, page, "a list of free pages is damaged");
        return;
    }
    for (uint64_t i = 1; i <= count && !s->rc; i++) {
        memcpy(&number, value.at + i * sizeof(number), sizeof(number));
        if (!rn_page_checksums_get(s->opts->checksums, number, &known))
            diff_bad(s, number, "its checksum is damaged");
        else if (known)
            diff_add(s, number, 0);
    }
}

enum rn_code rn_page_diff(const struct rn_page_diff_opts *opts,
                          struct rn_buf *out, struct rn_err *err)
{
    struct diff s = { .opts = opts, .out = out, .err = err };
    struct rn_page_walk walk = {
        .context = &s,
        .page_bytes = opts->meta->page_bytes,
        .last = opts->meta->last,
        .read = diff_read,
        .reach = diff_reach,
        .record = diff_record,
        .bad = diff_bad,
    };

    rn_page_walk(&walk, opts->meta);
    return s.rc;
}
