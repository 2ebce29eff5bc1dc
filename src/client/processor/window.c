/* window.c -- slots, lanes, and the position behind what is done. */
#include "client/processor/window.h"

#include "base/hash.h"

#include <assert.h>
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
    struct rn_lane *lane = &w->cut;

    if (d->slot) {
        assert(w->lanes);
        lane = &w->lanes[d->lane];
    }
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
                d->state == RN_DELIVERY_DEAD_LETTER)
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

bool rn_window_same_key(const runnel_change *a, const runnel_change *b)
{
    return rn_view_eq(key_of(a), key_of(b));
}

static uint32_t lane_of(const struct rn_window *w, const runnel_change *c)
{
    if (w->options->lanes == 1)
        return 0;
    return (uint32_t)(rn_hash64(key_of(c), 0) % w->options->lanes);
}

struct rn_delivery *rn_window_make(struct rn_slot *slot, const uint32_t *picks,
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

void rn_window_insert(struct rn_window *w, struct rn_delivery *d, uint32_t lane,
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
    while (n < count &&
           rn_window_same_key(&changes[picks[0]], &changes[picks[n]]))
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
        struct rn_delivery *d = rn_window_make(slot, picks + at, n);
        if (!d)
            return RUNNEL_NO_MEMORY;
        d->attempt += w->first_attempts;
        d->failures = w->first_attempts;
        rn_window_insert(w, d, lane, NULL);
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
        if (d->state == RN_DELIVERY_REJECTED ||
            d->state == RN_DELIVERY_DEAD_LETTER)
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
            rn_free(d->tainted); /* this call has all of them */
            d->tainted = NULL;
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

/* ---- what is done -------------------------------------------------------- */

void rn_window_finish(struct rn_window *w, struct rn_delivery *d)
{
    d->state = RN_DELIVERY_DONE;
    d->slot->open--;
    advance(w);
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
