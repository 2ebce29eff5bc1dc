/* metrics.c -- see metrics.h. */
#include "tools/top/metrics.h"

#include "base/env.h"
#include "tools/common/report.h"
#include "tools/common/target.h"

#include <stdlib.h>

enum { SAMPLES_MAX = 1 << 20, NAME_MAX_BYTES = 128 };

/* ---- reading ------------------------------------------------------------- */

/* NAME{LABELS} VALUE, or NAME VALUE; label values may hold spaces. */
static bool parse_line(struct rn_view line, struct rn_sample *out)
{
    size_t space = line.len, open = 0;
    char number[64];

    while (space && line.at[space - 1] != ' ')
        space--;
    if (!space || line.at[0] == '#' || line.len - space >= sizeof(number))
        return false;
    memcpy(number, line.at + space, line.len - space);
    number[line.len - space] = '\0';
    while (open < space - 1 && line.at[open] != '{')
        open++;
    *out = (struct rn_sample){ .name = rn_view_of(line.at, open),
                               .value = strtod(number, NULL) };
    if (open < space - 1)
        out->labels = rn_view_of(line.at + open + 1, space - open - 3);
    return true;
}

static int parse(struct rn_metrics *m, struct rn_view text)
{
    size_t room = 1;

    for (size_t i = 0; i < text.len; i++)
        room += text.at[i] == '\n';
    if (room > SAMPLES_MAX)
        room = SAMPLES_MAX;
    m->samples = rn_new(room * sizeof(*m->samples));
    if (!m->samples)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    while (text.len && m->count < room) {
        const char *end = memchr(text.at, '\n', text.len);
        size_t len = end ? (size_t)(end - text.at) : text.len;

        if (len && parse_line(rn_view_of(text.at, len), &m->samples[m->count]))
            m->count++;
        len += end ? 1 : 0;
        text = rn_view_of(text.at + len, text.len - len);
    }
    return RN_EXIT_OK;
}

int rn_metrics_read(runnel_client *client, struct rn_metrics *out)
{
    runnel_error error = { 0 };

    *out = (struct rn_metrics){ 0 };
    if (runnel_client_send(
            client, &(runnel_request){ .method = "GET", .path = "/metrics" },
            &out->reply, &error)) {
        return error.code == RUNNEL_NOT_FOUND
                   ? rn_report(RN_EXIT_NOT_FOUND,
                               "this server has no /metrics: is it Runnel?")
                   : rn_report_error(&error);
    }
    out->read_ns = rn_mono_ns(rn_env_real());
    return parse(out, rn_view_lent(runnel_reply_body(out->reply)));
}

void rn_metrics_release(struct rn_metrics *m)
{
    runnel_reply_close(m->reply);
    rn_free(m->samples);
    *m = (struct rn_metrics){ 0 };
}

/* ---- values -------------------------------------------------------------- */

struct rn_view rn_sample_label(const struct rn_sample *s, const char *label)
{
    size_t len = strlen(label), at = 0, end;

    while (at + len + 2 <= s->labels.len) {
        bool is_it = memcmp(s->labels.at + at, label, len) == 0 &&
                     s->labels.at[at + len] == '=';
        while (at < s->labels.len && s->labels.at[at] != '"')
            at++;
        for (end = ++at; end < s->labels.len && s->labels.at[end] != '"';)
            end += s->labels.at[end] == '\\' ? 2 : 1;
        if (is_it)
            return rn_view_of(s->labels.at + at, end - at);
        at = end + 2; /* the quote and a comma */
    }
    return (struct rn_view){ 0 };
}

static bool is_asked(const struct rn_sample *s, const char *name,
                     const char *label, struct rn_view value)
{
    return rn_view_eq(s->name, rn_view_text(name)) &&
           (!label || rn_view_eq(rn_sample_label(s, label), value));
}

double rn_metrics_sum(const struct rn_metrics *m, const char *name,
                      const char *label, struct rn_view value)
{
    double sum = 0;

    for (size_t i = 0; i < m->count; i++) {
        if (is_asked(&m->samples[i], name, label, value))
            sum += m->samples[i].value;
    }
    return sum;
}

double rn_metrics_rate(const struct rn_metrics *before,
                       const struct rn_metrics *now, const char *name,
                       const char *label, struct rn_view value)
{
    double more = rn_metrics_sum(now, name, label, value) -
                  rn_metrics_sum(before, name, label, value);
    int64_t ns = now->read_ns - before->read_ns;

    return ns > 0 && more > 0 ? more * 1e9 / (double)ns : 0;
}

/* The count of a bucket: all samples with this bound that are asked for. */
static double bucket(const struct rn_metrics *m, const char *name,
                     const char *label, struct rn_view value,
                     struct rn_view bound)
{
    double sum = 0;

    for (size_t i = 0; i < m->count; i++) {
        if (is_asked(&m->samples[i], name, label, value) &&
            rn_view_eq(rn_sample_label(&m->samples[i], "le"), bound))
            sum += m->samples[i].value;
    }
    return sum;
}

double rn_metrics_quantile(const struct rn_metrics *before,
                           const struct rn_metrics *now, const char *name,
                           const char *label, struct rn_view value,
                           double share)
{
    char buckets[NAME_MAX_BYTES];
    double all, last = 0;

    snprintf(buckets, sizeof(buckets), "%s_bucket", name);
    all = bucket(now, buckets, label, value, RN_LIT("+Inf")) -
          bucket(before, buckets, label, value, RN_LIT("+Inf"));
    if (all <= 0)
        return 0;
    for (size_t i = 0; i < now->count; i++) {
        struct rn_view bound = rn_sample_label(&now->samples[i], "le");

        if (!is_asked(&now->samples[i], buckets, label, value) ||
            rn_view_eq(bound, RN_LIT("+Inf")))
            continue;
        last = strtod(bound.at, NULL); /* ended by a quote */
        if (bucket(now, buckets, label, value, bound) -
                bucket(before, buckets, label, value, bound) >=
            share * all)
            return last;
    }
    return -last;
}
