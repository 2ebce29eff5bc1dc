/* window.c -- slots, lanes, and the position behind what is done. */
#include "client/processor/window.h"

#include "client/http/bug.h"

#include "base/hash.h"

#include <stdlib.h>

runnel_code rn_window_init(struct rn_window *w,
                           const struct rn_window_options *options,
                           struct rn_env *env)
{
    *w = (struct rn_window){ .options = options, .env = env };
    w->lanes = rn_new(options->lanes * sizeof(*w->lanes));
    return w->lanes ? RUNNEL_OK : RUNNEL_NO_MEMORY;
}

static void free_delivery(struct rn_delivery *d)
{
    if (!d)
        return;
    if (d->batch)
        d->batch->delivery = NULL;
    rn_batch_unref(d->batch);
    rn_free(d->marks);
    rn_free(d->tainted);
    rn_free(d);
}

static void unlink_delivery(struct rn_window *w, struct rn_delivery *d)
{
    struct rn_lane *lane = d->slot ? &w->lanes[d->lane] : &w->cut;

    if (d->before)
        d->before->after = d->after;
    else
        lane->first = d->after;
    if (d->after)
        d->after->before = d->before;
    else
        lane->last = d->before;
    d->before = d->after = NULL;
}

static void free_slot(struct rn_window *w, struct rn_slot *slot)
{
    if (slot->page)
        w->bytes -= slot->page->bytes;
    w->slots--;
    rn_change_page_unref(slot->page);
    rn_free(slot);
}

static void cut_off(struct rn_window *w, struct rn_delivery *d)
{
    atomic_store(&d->is_cancelled, true);
    d->after = w->cut.first;
    if (d->after)
        d->after->before = d;
    else
        w->cut.last = d;
    w->cut.first = d;
}

void rn_window_drop(struct rn_window *w, struct rn_delivery *d)
{
    unlink_delivery(w, d);
    free_delivery(d);
}

void rn_window_clear(struct rn_window *w)
{
    for (uint32_t i = 0; i < w->options->lanes; i++) {
        while (w->lanes[i].first) {
            struct rn_delivery *d = w->lanes[i].first;
            unlink_delivery(w, d);
            d->slot = NULL;
            if (d->state == RN_DELIVERY_DELIVERED ||
                d->state == RN_DELIVERY_BURYING)
                cut_off(w, d);
            else
                free_delivery(d);
        }
    }
    while (w->first) {
        struct rn_slot *slot = w->first;
        w->first = slot->next;
        free_slot(w, slot);
    }
    w->last = NULL;
    w->delivered = 0;
    w->has_moved = false;
    w->changes_done = 0;
}

void rn_window_shed(struct rn_window *w)
{
    bool has_moved = w->has_moved;
    uint64_t changes_done = w->changes_done;

    w->first_attempts = rn_window_attempts(w);
    rn_window_clear(w);
    w->has_moved = has_moved;
    w->changes_done = changes_done;
}

void rn_window_release(struct rn_window *w)
{
    if (w->lanes)
        rn_window_clear(w);
    while (w->cut.first)
        rn_window_drop(w, w->cut.first);
    rn_free(w->lanes);
    w->lanes = NULL;
}

/* ---- pages in ------------------------------------------------------------ */

static struct rn_view key_of(const runnel_change *c)
{
    return rn_view_of(c->partition_key.at, c->partition_key.len);
}

static bool same_key(const runnel_change *a, const runnel_change *b)
{
    return rn_view_eq(key_of(a), key_of(b));
}

static uint32_t lane_of(const struct rn_window *w, const runnel_change *c)
{
    if (w->options->lanes == 1)
        return 0;
    return (uint32_t)(rn_hash64(key_of(c), 0) % w->options->lanes);
}

/* A delivery of some changes of a slot's page; in no lane yet. */
static struct rn_delivery *make(struct rn_slot *slot, const uint32_t *picks,
                                size_t count)
{
    struct rn_delivery *d = rn_new(sizeof(*d));
    struct rn_batch_options options = { .page = slot->page,
                                        .picks = picks,
                                        .pick_count = count,
                                        .token = slot->token.etag,
                                        .rid = slot->page->rid,
                                        .range_id = slot->range_id,
                                        .keys = &slot->keys };

    if (!d)
        return NULL;
    d->slot = slot;
    d->count = count;
    d->attempt = 1;
    d->marks = rn_new(count);
    if (!d->marks || rn_batch_new(&options, &d->batch, NULL)) {
        free_delivery(d);
        return NULL;
    }
    d->batch->delivery = d;
    return d;
}

/* Behind `before`, or with NULL at the end of the lane. */
static void insert(struct rn_window *w, struct rn_delivery *d, uint32_t lane,
                   struct rn_delivery *before)
{
    struct rn_lane *l = &w->lanes[lane];

    d->lane = lane;
    d->before = before ? before : l->last;
    d->after = d->before ? d->before->after : l->first;
    if (d->before)
        d->before->after = d;
    else
        l->first = d;
    if (d->after)
        d->after->before = d;
    else
        l->last = d;
    d->slot->open++;
}

/* By partition key; the changes of one key stay in the order of the page. */
static int compare_picks(const void *a, const void *b, void *changes)
{
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const runnel_change *all = changes;
    int order = rn_view_compare(key_of(&all[i]), key_of(&all[k]));

    return order ? order : (i > k) - (i < k);
}

/* How many of the picks go into one delivery. */
static size_t take_picks(const struct rn_window *w, const struct rn_slot *slot,
                         const uint32_t *picks, size_t count)
{
    const runnel_change *changes = slot->page->changes;
    size_t limit = w->options->batch_limit;
    size_t n = 1;

    if (limit && count > limit)
        count = limit;
    if (!w->options->single_key)
        return count;
    while (n < count && same_key(&changes[picks[0]], &changes[picks[n]]))
        n++;
    return n;
}

/* Cuts the changes of one lane into deliveries. */
static runnel_code fill_lane(struct rn_window *w, struct rn_slot *slot,
                             uint32_t lane, uint32_t *picks)
{
    size_t count = 0;

    for (size_t i = 0; i < slot->page->count; i++)
        if (lane_of(w, &slot->page->changes[i]) == lane)
            picks[count++] = (uint32_t)i;
    if (w->options->single_key)
        qsort_r(picks, count, sizeof(*picks), compare_picks,
                slot->page->changes);
    for (size_t at = 0; at < count;) {
        size_t n = take_picks(w, slot, picks + at, count - at);
        struct rn_delivery *d = make(slot, picks + at, n);
        if (!d)
            return RUNNEL_NO_MEMORY;
        d->attempt += w->first_attempts;
        d->failures = w->first_attempts;
        insert(w, d, lane, NULL);
        at += n;
    }
    return RUNNEL_OK;
}

static runnel_code fill(struct rn_window *w, struct rn_slot *slot)
{
    uint32_t *picks = rn_new(slot->page->count * sizeof(*picks));
    runnel_code rc = picks ? RUNNEL_OK : RUNNEL_NO_MEMORY;

    for (uint32_t lane = 0; !rc && lane < w->options->lanes; lane++)
        rc = fill_lane(w, slot, lane, picks);
    rn_free(picks);
    w->first_attempts = 0;
    return rc;
}

/* Drops slots from the front in which everything is done. */
static void advance(struct rn_window *w)
{
    while (w->first && w->first->open == 0) {
        struct rn_slot *slot = w->first;
        for (uint32_t i = 0; i < w->options->lanes; i++) {
            while (w->lanes[i].first && w->lanes[i].first->slot == slot)
                rn_window_drop(w, w->lanes[i].first);
        }
        w->position = slot->token;
        w->has_moved = true;
        w->changes_done += slot->changes;
        w->first = slot->next;
        if (!w->first)
            w->last = NULL;
        free_slot(w, slot);
    }
}

runnel_code rn_window_add(struct rn_window *w, struct rn_change_page *page,
                          const struct rn_position *token, const char *range_id,
                          const struct rn_epk_range *keys)
{
    struct rn_slot *slot = rn_new(sizeof(*slot));
    runnel_code rc = RUNNEL_OK;

    if (!slot) {
        rn_change_page_unref(page);
        return RUNNEL_NO_MEMORY;
    }
    slot->page = page;
    slot->token = *token;
    slot->keys = *keys;
    slot->changes = page ? page->count : 0;
    memcpy(slot->range_id, range_id, strlen(range_id) + 1);
    if (w->last)
        w->last->next = slot;
    else
        w->first = slot;
    w->last = slot;
    w->slots++;
    if (page) {
        w->bytes += page->bytes;
        if (page->count > 0)
            rc = fill(w, slot);
    } else {
        w->first_attempts = 0; /* there is no such batch any more */
    }
    if (!rc)
        advance(w);
    return rc; /* after a failure the caller clears the window */
}

/* ---- deliveries out ------------------------------------------------------ */

/* The first of a lane that may be handed out now. */
static struct rn_delivery *next_of(struct rn_window *w, struct rn_lane *lane,
                                   int64_t now_ns, int64_t *due_ns)
{
    uint32_t under_way = 0;

    for (struct rn_delivery *d = lane->first; d; d = d->after) {
        if (d->state == RN_DELIVERY_DONE)
            continue;
        if (d->state == RN_DELIVERY_REJECTED || d->state == RN_DELIVERY_BURYING)
            return NULL;
        if (d->state == RN_DELIVERY_DELIVERED) {
            if (++under_way >= w->options->pending_limit || d->failures > 0)
                return NULL;
            continue;
        }
        if (d->failures > 0 && under_way > 0)
            return NULL; /* a retry is alone in its lane */
        if (d->state == RN_DELIVERY_BACKOFF && d->due_ns > now_ns) {
            if (d->due_ns < *due_ns)
                *due_ns = d->due_ns;
            return NULL;
        }
        return d;
    }
    return NULL;
}

struct rn_delivery *rn_window_next(struct rn_window *w, int64_t now_ns,
                                   int64_t *due_ns)
{
    if (w->cut.first)
        return NULL; /* calls of a lease do not overlap, through a seek either
                      */
    for (uint32_t i = 0; i < w->options->lanes; i++) {
        struct rn_delivery *d = next_of(w, &w->lanes[i], now_ns, due_ns);
        if (d) {
            d->state = RN_DELIVERY_DELIVERED;
            d->why[0] = 0;
            memset(d->marks, RN_MARK_NONE, d->count);
            w->delivered++;
            return d;
        }
    }
    return NULL;
}

void rn_window_undo(struct rn_window *w, struct rn_delivery *d)
{
    d->state = RN_DELIVERY_QUEUED;
    w->delivered--;
}

bool rn_window_has_queued(const struct rn_window *w)
{
    for (uint32_t i = 0; i < w->options->lanes; i++) {
        for (struct rn_delivery *d = w->lanes[i].first; d; d = d->after)
            if (d->state == RN_DELIVERY_QUEUED)
                return true;
    }
    return false;
}

static const struct rn_delivery *head_of(const struct rn_lane *lane)
{
    const struct rn_delivery *d = lane->first;

    while (d && d->state == RN_DELIVERY_DONE)
        d = d->after;
    return d;
}

bool rn_window_is_backing_off(const struct rn_window *w, int64_t now_ns,
                              int64_t *due_ns)
{
    *due_ns = INT64_MAX;
    for (uint32_t i = 0; i < w->options->lanes; i++) {
        const struct rn_delivery *d = head_of(&w->lanes[i]);
        if (d && (d->state != RN_DELIVERY_BACKOFF || d->due_ns <= now_ns))
            return false;
        if (d && d->due_ns < *due_ns)
            *due_ns = d->due_ns;
    }
    return *due_ns != INT64_MAX;
}

/* ---- verdicts ------------------------------------------------------------ */

static uint32_t pick_at(const struct rn_delivery *d, size_t i)
{
    return d->batch->picks ? d->batch->picks[i] : (uint32_t)i;
}

/* Does `failed` have a chosen change of this key? */
static bool has_key(const struct rn_delivery *failed,
                    const unsigned char *chosen, const runnel_change *c)
{
    for (size_t i = 0; i < failed->count; i++)
        if ((!chosen || chosen[i]) &&
            same_key(rn_batch_at(failed->batch, i), c))
            return true;
    return false;
}

/* A delivery of the chosen changes of `d`, behind `behind` in its lane. */
static struct rn_delivery *put_back(struct rn_window *w, struct rn_delivery *d,
                                    const unsigned char *chosen,
                                    struct rn_delivery *behind)
{
    uint32_t *picks = rn_new(d->count * sizeof(*picks));
    struct rn_delivery *made = NULL;
    size_t count = 0;

    for (size_t i = 0; picks && i < d->count; i++)
        if (chosen[i])
            picks[count++] = pick_at(d, i);
    if (picks && count > 0)
        made = make(d->slot, picks, count);
    rn_free(picks);
    if (made)
        insert(w, made, d->lane, behind);
    return made;
}

/* Later changes with the keys of the failed ones must come again after them. */
static bool take_along(struct rn_window *w, struct rn_delivery *failed,
                       const unsigned char *chosen)
{
    struct rn_delivery *next;

    for (struct rn_delivery *d = failed->after; d; d = next) {
        unsigned char *hit;
        bool any = false;
        next = d->after;
        if (d->state != RN_DELIVERY_DONE && d->state != RN_DELIVERY_DELIVERED)
            continue;
        hit = rn_new(d->count);
        if (!hit)
            return false;
        for (size_t i = 0; i < d->count; i++) {
            hit[i] = has_key(failed, chosen, rn_batch_at(d->batch, i));
            any = any || hit[i];
        }
        if (any && d->state == RN_DELIVERY_DELIVERED) {
            for (size_t i = 0; d->tainted && i < d->count; i++)
                hit[i] |= d->tainted[i];
            rn_free(d->tainted);
            d->tainted = hit;
            continue;
        }
        if (any && !put_back(w, d, hit, d)) {
            rn_free(hit);
            return false;
        }
        rn_free(hit);
    }
    return true;
}

void rn_window_settle(struct rn_window *w, struct rn_delivery *d)
{
    d->state = RN_DELIVERY_DONE;
    d->slot->open--;
    advance(w);
}

static void back_off(struct rn_window *w, struct rn_delivery *d,
                     uint32_t failures, int64_t now_ns)
{
    uint64_t delay = w->options->retry_delay_ms;
    uint32_t chance;

    for (uint32_t i = 1; i < failures && delay < w->options->retry_delay_max_ms;
         i++)
        delay *= 2;
    if (delay > w->options->retry_delay_max_ms)
        delay = w->options->retry_delay_max_ms;
    rn_random(w->env, &chance, sizeof(chance));
    delay = delay * 1000000 / 8 * (7 + chance % 3); /* 7/8 to 9/8 */
    d->state = RN_DELIVERY_BACKOFF;
    d->due_ns = now_ns + (int64_t)delay;
}

/* Two halves, in order, in the place of one that failed too often. */
static enum rn_outcome bisect(struct rn_window *w, struct rn_delivery *d)
{
    unsigned char *chosen = rn_new(d->count);
    struct rn_delivery *halves[2] = { NULL, NULL };

    if (!chosen)
        return RN_OUTCOME_NO_MEMORY;
    for (int half = 0; half < 2; half++) {
        for (size_t i = 0; i < d->count; i++)
            chosen[i] = (i < d->count / 2) == (half == 0);
        halves[half] = put_back(w, d, chosen, half ? halves[0] : d);
        if (!halves[half])
            break;
        halves[half]->is_piece = true;
        halves[half]->attempt = d->attempt;
    }
    rn_free(chosen);
    if (!halves[1])
        return RN_OUTCOME_NO_MEMORY;
    rn_window_settle(w, d);
    return RN_OUTCOME_BISECTED;
}

static enum rn_outcome fail(struct rn_window *w, struct rn_delivery *d,
                            int64_t now_ns)
{
    const struct rn_window_options *o = w->options;
    uint32_t limit = d->is_piece && d->count > 1 ? 1 : o->retry_attempts;

    d->failures++;
    d->attempt++;
    if (!take_along(w, d, NULL))
        return RN_OUTCOME_NO_MEMORY;
    if (limit != RUNNEL_OFF && d->failures >= limit) {
        if (d->count > 1 && !o->whole_batch)
            return bisect(w, d);
        d->state = RN_DELIVERY_REJECTED;
        d->rejected = 0;
        return RN_OUTCOME_REJECTED;
    }
    back_off(w, d, d->failures, now_ns);
    return RN_OUTCOME_AGAIN;
}

/* Which changes must come again: those marked, later ones of their keys, and
 * those that an earlier failure takes along. */
static size_t choose_again(struct rn_delivery *d, unsigned char *again)
{
    size_t count = 0;

    for (size_t i = 0; i < d->count; i++) {
        again[i] =
            d->marks[i] == RN_MARK_AGAIN || (d->tainted && d->tainted[i]);
        for (size_t k = 0; count > 0 && !again[i] && k < i; k++)
            again[i] =
                !RN_BUG(SUCCESSORS_OF_MARK_DONE) && again[k] &&
                same_key(rn_batch_at(d->batch, k), rn_batch_at(d->batch, i));
        count += again[i];
    }
    return count;
}

/* The verdict was DONE, but not of every change. */
static enum rn_outcome split_verdict(struct rn_window *w, struct rn_delivery *d,
                                     int64_t now_ns)
{
    unsigned char *chosen = rn_new(2 * d->count);
    unsigned char *bad = chosen ? chosen + d->count : NULL;
    enum rn_outcome outcome = RN_OUTCOME_DONE;
    struct rn_delivery *made;
    size_t again;
    size_t rejected = 0;

    if (!chosen)
        return RN_OUTCOME_NO_MEMORY;
    again = choose_again(d, chosen);
    for (size_t i = 0; i < d->count; i++) {
        bad[i] = !chosen[i] && d->marks[i] == RN_MARK_REJECT;
        rejected += bad[i];
    }
    if (again > 0) {
        made = put_back(w, d, chosen, d);
        if (!made || !take_along(w, d, chosen)) {
            rn_free(chosen);
            return RN_OUTCOME_NO_MEMORY;
        }
        made->is_piece = true;
        made->attempt = d->attempt + 1;
        made->failures = made->count == 1 ? 1 : 0;
        back_off(w, made, 1, now_ns);
        outcome = RN_OUTCOME_PARTLY;
    }
    if (rejected > 0) {
        made = put_back(w, d, bad, d);
        if (!made) {
            rn_free(chosen);
            return RN_OUTCOME_NO_MEMORY;
        }
        made->state = RN_DELIVERY_REJECTED;
        memcpy(made->why, d->why, sizeof(made->why));
        made->attempt = d->attempt;
        outcome = RN_OUTCOME_PARTLY;
    }
    rn_free(chosen);
    rn_window_settle(w, d);
    return outcome;
}

enum rn_outcome rn_window_judge(struct rn_window *w, struct rn_delivery *d,
                                runnel_verdict verdict, int64_t now_ns)
{
    w->delivered--;
    switch (verdict) {
    case RUNNEL_DONE:
        return split_verdict(w, d, now_ns);
    case RUNNEL_REJECT:
        d->state = RN_DELIVERY_REJECTED;
        d->rejected = 0;
        return RN_OUTCOME_REJECTED;
    default:
        return fail(w, d, now_ns);
    }
}

struct rn_delivery *rn_window_rejected(struct rn_window *w)
{
    for (uint32_t i = 0; i < w->options->lanes; i++) {
        for (struct rn_delivery *d = w->lanes[i].first; d; d = d->after)
            if (d->state == RN_DELIVERY_REJECTED)
                return d;
    }
    return NULL;
}

void rn_window_block(struct rn_window *w, struct rn_delivery *d, int64_t now_ns)
{
    back_off(w, d, UINT32_MAX, now_ns);
}

uint32_t rn_window_attempts(const struct rn_window *w)
{
    uint32_t most = w->first ? 0 : w->first_attempts;

    for (uint32_t i = 0; i < w->options->lanes; i++) {
        const struct rn_delivery *d = head_of(&w->lanes[i]);
        if (d && d->slot == w->first && d->attempt - 1 > most)
            most = d->attempt - 1;
    }
    return most;
}
