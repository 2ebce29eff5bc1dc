/* window_judge.c -- what becomes of a delivery: done, tried again, bisected,
 * rejected; and which later changes of its keys come again with it.
 */
#include "client/feed/batch.h"
#include "client/http/bug.h"
#include "client/processor/pause.h"
#include "client/processor/window.h"

static uint32_t pick_at(const struct rn_delivery *d, size_t i)
{
    return d->batch->picks ? d->batch->picks[i] : (uint32_t)i;
}

/* Does `failed` have a chosen change of this key? */
static bool has_key(const struct rn_delivery *failed,
                    const unsigned char *chosen, const runnel_change *c)
{
    for (size_t i = 0; i < failed->count; i++) {
        if ((!chosen || chosen[i]) &&
            rn_window_same_key(rn_batch_at(failed->batch, i), c))
            return true;
    }
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
        made = rn_window_make(d->slot, picks, count);
    rn_free(picks);
    if (made)
        rn_window_insert(w, made, d->lane, behind);
    return made;
}

/* Other deliveries have the chosen changes of `d` now. */
static void leave(struct rn_delivery *d, unsigned char *chosen)
{
    for (size_t i = 0; d->tainted && i < d->count; i++)
        chosen[i] |= d->tainted[i];
    rn_free(d->tainted);
    d->tainted = chosen;
}

/* Later changes with the keys of the failed ones must come again after them. */
static bool take_along(struct rn_window *w, struct rn_delivery *failed,
                       const unsigned char *chosen)
{
    struct rn_delivery *next;

    for (struct rn_delivery *d = failed->after;
         d && !RN_BUG(LATER_CHANGES_STAY); d = next) {
        unsigned char *hit;
        bool any = false;
        next = d->after;
        if (d->state != RN_DELIVERY_DONE && d->state != RN_DELIVERY_DELIVERED)
            continue;
        hit = rn_new(d->count);
        if (!hit)
            return false;
        for (size_t i = 0; i < d->count; i++) {
            hit[i] = !(d->tainted && d->tainted[i]) &&
                     has_key(failed, chosen, rn_batch_at(d->batch, i));
            any = any || hit[i];
        }
        if (any && d->state == RN_DELIVERY_DONE && !put_back(w, d, hit, d)) {
            rn_free(hit);
            return false;
        }
        leave(d, hit);
    }
    return true;
}

static void back_off(struct rn_window *w, struct rn_delivery *d,
                     uint32_t failures, int64_t now_ns)
{
    int64_t delay = rn_pause(w->options->retry_delay_ms, failures - 1,
                             w->options->retry_delay_max_ms);
    uint32_t random;

    rn_random(w->env, &random, sizeof(random));
    delay = delay * 1000000 / 8 * (7 + random % 3); /* 7/8 to 9/8 */
    d->state = RN_DELIVERY_BACKOFF;
    d->due_ns = now_ns + delay;
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
    if (!halves[1]) {
        rn_free(chosen);
        return RN_OUTCOME_NO_MEMORY;
    }
    memset(chosen, 1, d->count);
    leave(d, chosen);
    rn_window_finish(w, d);
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
        for (size_t k = 0; count > 0 && !again[i] && k < i; k++) {
            again[i] = !RN_BUG(SUCCESSORS_OF_MARK_DONE) && again[k] &&
                       rn_window_same_key(rn_batch_at(d->batch, k),
                                          rn_batch_at(d->batch, i));
        }
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
    for (size_t i = 0; i < d->count; i++)
        chosen[i] |= bad[i];
    leave(d, chosen);
    rn_window_finish(w, d);
    return outcome;
}

/* Does the verdict DONE hold for none of the changes?  Then the batch failed,
 * and its attempts come to an end. */
static bool has_failed_whole(const struct rn_delivery *d)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->marks[i] != RN_MARK_AGAIN)
            return false;
    return true;
}

enum rn_outcome rn_window_judge(struct rn_window *w, struct rn_delivery *d,
                                runnel_verdict verdict, int64_t now_ns)
{
    w->delivered--;
    d->state = RN_DELIVERY_QUEUED; /* nobody has it, also without memory */
    switch (verdict) {
    case RUNNEL_DONE:
        return has_failed_whole(d) ? fail(w, d, now_ns)
                                   : split_verdict(w, d, now_ns);
    case RUNNEL_REJECT:
        d->state = RN_DELIVERY_REJECTED;
        d->rejected = 0;
        return RN_OUTCOME_REJECTED;
    default:
        return fail(w, d, now_ns);
    }
}

bool rn_window_block(struct rn_window *w, struct rn_delivery *d, int64_t now_ns)
{
    back_off(w, d, UINT32_MAX, now_ns);
    return take_along(w, d, NULL);
}
