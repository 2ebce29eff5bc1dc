/* fleet_handler.c -- handlers that fail, reject, yield and answer late; see
 * fleet.h. */
#include "client/feed/batch.h"
#include "client/fleet_own.h"

#include <stdio.h>
#include <stdlib.h>

static runnel_code on_open(void *context, const char *lease)
{
    struct host *h = context;

    checker_tried(&h->fleet->checker, h->number, lease);
    if (!h->fleet->is_healed && roll(h->fleet, 3))
        return RUNNEL_BUSY;
    checker_opened(&h->fleet->checker, h->number, lease);
    return RUNNEL_OK;
}

static void on_close(void *context, const char *lease,
                     runnel_close_reason reason)
{
    struct host *h = context;

    checker_note(&h->fleet->checker, "host %d closes %s, reason %d", h->number,
                 lease, (int)reason);
    checker_closed(&h->fleet->checker, h->number, lease);
}

static runnel_verdict on_dead_letter(void *context, const char *lease,
                                     const runnel_failure *failure)
{
    struct host *h = context;
    struct fleet *f = h->fleet;

    (void)lease;
    if (!f->is_healed && roll(f, 40))
        return RUNNEL_AGAIN;
    /* If that of the next change fails, the whole batch comes again. */
    f->figures->dead_letters++;
    checker_acked(&f->checker, h->number, "",
                  checker_commit(&f->checker, failure->change));
    return RUNNEL_DONE;
}

/* Is change `i` to come again: is it or an earlier one of its key marked so? */
static bool is_again(const runnel_batch *batch, const runnel_verdict *marks,
                     size_t i)
{
    runnel_bytes key = rn_batch_at(batch, i)->partition_key;

    for (size_t k = 0; k <= i; k++) {
        runnel_bytes other = rn_batch_at(batch, k)->partition_key;

        if (marks[k] == RUNNEL_AGAIN && other.len == key.len &&
            memcmp(other.at, key.at, key.len) == 0)
            return true;
    }
    return false;
}

/* Done, but for changes that are marked: to come again, with those of their key
 * that follow, or to be rejected. */
static runnel_verdict done_but(struct host *h, const char *lease,
                               const runnel_batch *batch,
                               const uint64_t *commits, size_t count)
{
    struct fleet *f = h->fleet;
    runnel_verdict marks[CHECKER_BATCH_MAX] = { RUNNEL_DONE };

    for (size_t i = 0; i < count && !f->is_healed; i++) {
        if (!roll(f, 3))
            continue;
        marks[i] =
            f->has_dead_letters && roll(f, 30) ? RUNNEL_REJECT : RUNNEL_AGAIN;
        checker_note(&f->checker, "commit %lu is marked %d",
                     (unsigned long)commits[i], (int)marks[i]);
        f->figures->marks++;
        runnel_batch_mark(batch, i, marks[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (marks[i] != RUNNEL_REJECT && !is_again(batch, marks, i))
            checker_acked(&f->checker, h->number, lease, commits[i]);
    }
    return RUNNEL_DONE;
}

static runnel_verdict answer_later(struct host *h, const char *lease,
                                   const runnel_batch *batch,
                                   const uint64_t *commits, size_t count)
{
    struct fleet *f = h->fleet;
    struct pending *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    snprintf(p->lease, sizeof(p->lease), "%s", lease);
    p->batch = batch;
    p->count = count;
    memcpy(p->commits, commits, count * sizeof(*commits));
    p->verdict = roll(f, 70) ? RUNNEL_DONE : RUNNEL_AGAIN;
    p->due_ns = roll(f, 20) ? INT64_MAX
                            : now_of(f) + (int64_t)below(f, 15000) * 1000000;
    p->next = h->pending;
    h->pending = p;
    f->figures->pending++;
    return RUNNEL_PENDING;
}

static runnel_verdict on_changes(void *context, const char *lease,
                                 const runnel_batch *batch)
{
    struct host *h = context;
    struct fleet *f = h->fleet;
    uint64_t commits[CHECKER_BATCH_MAX];
    runnel_verdict verdict;
    uint64_t drawn;
    size_t count;

    f->figures->deliveries++;
    if (f->has_options)
        return fleet_options_changes(h, lease, batch);
    count = checker_delivered(&f->checker, h->number, lease, batch, commits);
    drawn = f->is_healed ? 99 : below(f, 100);
    if (drawn < 8)
        return answer_later(h, lease, batch, commits, count);
    if (drawn < 14) {
        f->figures->again++;
        verdict = RUNNEL_AGAIN;
    } else if (drawn < 16 && f->may_yield) {
        f->figures->yields++;
        verdict = RUNNEL_YIELD;
    } else if (drawn < 19 && f->has_dead_letters) {
        f->figures->rejects++;
        verdict = RUNNEL_REJECT;
    } else {
        verdict = done_but(h, lease, batch, commits, count);
    }
    checker_note(&f->checker, "host %d %s verdict %d", h->number, lease,
                 (int)verdict);
    checker_returned(&f->checker, h->number, lease);
    return verdict;
}

void fleet_answer(struct host *h)
{
    struct fleet *f = h->fleet;
    struct pending **at = &h->pending;

    while (*at && h->engine && !h->env.is_paused) {
        struct pending *p = *at;

        if (!f->is_healed && p->due_ns > now_of(f)) {
            at = &p->next;
            continue;
        }
        if (f->has_options) {
            if (fleet_options_answer(p)) {
                *at = p->next;
                fleet_options_forget(p);
            } else {
                at = &p->next;
            }
            continue;
        }
        *at = p->next;
        if (f->is_healed)
            p->verdict = RUNNEL_DONE;
        for (size_t i = 0; i < p->count && p->verdict == RUNNEL_DONE; i++)
            checker_acked(&f->checker, h->number, p->lease, p->commits[i]);
        checker_note(&f->checker, "host %d %s late verdict %d", h->number,
                     p->lease, (int)p->verdict);
        checker_returned(&f->checker, h->number, p->lease);
        runnel_batch_ack(p->batch, p->verdict);
        free(p);
    }
}

void fleet_forget(struct host *h)
{
    while (h->pending) {
        struct pending *p = h->pending;

        h->pending = p->next;
        fleet_options_forget(p);
    }
}

const runnel_observer fleet_observer = { .changes = on_changes,
                                         .open = on_open,
                                         .close = on_close,
                                         .dead_letter = on_dead_letter };
