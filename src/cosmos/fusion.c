/* fusion.c -- see fusion.h. */
#include "cosmos/fusion.h"

#include <stdlib.h>

#define FILTER "{documentdb-formattableorderbyquery-filter}"
#define MARK "{documentdb-formattablehybridsearchquery-"

enum { K = 60 }; /* the constant of reciprocal rank fusion */

/* ---- texts --------------------------------------------------------------- */

/* The statistics' value for a placeholder; empty if there is none. */
static struct rn_view meant_by(const struct rn_json *j, struct rn_view name)
{
    struct rn_view words = RN_LIT("totalwordcount-");
    struct rn_view hits = RN_LIT("hitcountsarray-"), member;
    struct rn_json_walk each =
        rn_json_walk_begin(j, rn_json_find(j, 0, RN_LIT("fullTextStatistics")));
    unsigned long place;

    if (rn_view_eq(name, RN_LIT("totaldocumentcount}")))
        return rn_json_text(j, rn_json_find(j, 0, RN_LIT("documentCount")));
    if (!rn_view_starts(name, words) && !rn_view_starts(name, hits))
        return RN_LIT("");
    member = rn_view_starts(name, words) ? RN_LIT("totalWordCount")
                                         : RN_LIT("hitCounts");
    place = strtoul(name.at + words.len, NULL, 10); /* ends at the brace */
    while (rn_json_walk_next(&each)) {
        if (place-- == 0)
            return rn_json_text(j, rn_json_find(j, each.value, member));
    }
    return RN_LIT("");
}

/* The length of a placeholder at the beginning of a text, with its brace; 0 if
 * there is none: a search term may look like one. */
static size_t mark_length(struct rn_view text)
{
    size_t n = sizeof(MARK) - 1;

    if (!rn_view_starts(text, RN_LIT(MARK)))
        return 0;
    while (n < text.len &&
           (text.at[n] == '-' || (text.at[n] >= '0' && text.at[n] <= '9') ||
            (text.at[n] >= 'a' && text.at[n] <= 'z')))
        n++;
    return n < text.len && text.at[n] == '}' ? n + 1 : 0;
}

enum rn_code rn_fusion_fill_in(struct rn_view text,
                               const struct rn_json *statistics,
                               struct rn_buf *out)
{
    const struct rn_view filter = RN_LIT(FILTER);
    const size_t name = sizeof(MARK) - 1;
    enum rn_code rc = RN_OK;

    while (text.len && !rc) {
        size_t n = mark_length(text);
        struct rn_view meant = RN_LIT("");

        if (n)
            meant = meant_by(statistics, rn_view_of(text.at + name, n - name));
        if (!meant.len && rn_view_starts(text, filter)) {
            n = filter.len;
            meant = RN_LIT("true");
        }
        if (!meant.len) {
            n = 1;
            meant = rn_view_of(text.at, 1);
        }
        rc = rn_buf_add(out, meant);
        text = rn_view_of(text.at + n, text.len - n);
    }
    return rc;
}

/* ---- ranks --------------------------------------------------------------- */

struct order {
    size_t component;
    bool is_descending;
};

static int by_rid(const void *a, const void *b)
{
    const struct rn_ranked *x = a, *y = b;

    return rn_view_compare(x->rid, y->rid);
}

static int compare(const struct rn_ranked *x, const struct rn_ranked *y,
                   const struct order *order)
{
    double p = x->scores[order->component], q = y->scores[order->component];
    int found = (p > q) - (p < q);

    return order->is_descending ? -found : found;
}

static int by_score(const void *a, const void *b, void *context)
{
    int found = compare(a, b, context);

    return found ? found : by_rid(a, b);
}

static int by_fused(const void *a, const void *b)
{
    const struct rn_ranked *x = a, *y = b;
    int found = (x->fused < y->fused) - (x->fused > y->fused);

    return found ? found : by_rid(a, b);
}

size_t rn_fusion_best(struct rn_ranked *list, size_t count, size_t component,
                      bool is_descending, size_t most)
{
    struct order order = { component, is_descending };

    if (count > 1)
        qsort_r(list, count, sizeof(*list), by_score, &order);
    return count < most ? count : most;
}

/* Documents with the same score have the same rank. */
static void fuse(struct rn_ranked *list, size_t count, struct order order,
                 double weight)
{
    size_t rank = 0;

    qsort_r(list, count, sizeof(*list), by_score, &order);
    for (size_t i = 0; i < count; i++) {
        rank += i == 0 || compare(&list[i - 1], &list[i], &order) != 0;
        list[i].fused += weight / (double)(K + rank);
    }
}

size_t rn_fusion_run(struct rn_ranked *list, size_t count,
                     const struct rn_rank_way *ways, size_t components)
{
    size_t n = 0;

    if (count == 0)
        return 0;
    qsort(list, count, sizeof(*list), by_rid);
    /* A document that is good by several scores was returned several times. */
    for (size_t i = 1; i < count; i++) {
        if (by_rid(&list[n], &list[i]))
            list[++n] = list[i];
    }
    count = n + 1;
    for (size_t i = 0; i < components; i++) {
        fuse(list, count, (struct order){ i, ways[i].is_descending },
             ways[i].weight);
    }
    qsort(list, count, sizeof(*list), by_fused);
    return count;
}
