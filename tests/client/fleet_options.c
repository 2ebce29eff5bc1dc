/* fleet_options.c -- hosts with several calls of a lease under way, and
 * handlers that make checkpoints by hand; see fleet.h. */
#include "client/feed/batch.h"
#include "client/fleet_own.h"
#include "client/lease/store.h"
#include "client/processor/write.h"

#include <stdio.h>
#include <stdlib.h>

void fleet_options_draw(struct fleet *f, uint64_t seed)
{
    static const unsigned checkpoints[] = { 100, 30, 0 };
    struct rn_prng *dice = &f->options_dice;

    rn_prng_init(dice, seed ^ UINT64_C(0x6f7074696f6e73));
    f->has_options = true;
    f->parallel = 1 + (uint32_t)rn_prng_below(dice, 3);
    f->pending_limit = 1 + (uint32_t)rn_prng_below(dice, 4);
    f->is_single_key = rn_prng_percent(dice, 30);
    f->is_whole_batch = rn_prng_percent(dice, 30);
    f->batch_limit = (uint32_t)rn_prng_below(dice, 4);
    f->page_limit = (uint32_t)rn_prng_below(dice, 8);
    f->is_manual = rn_prng_percent(dice, 50);
    f->checkpoints = checkpoints[rn_prng_below(dice, 3)];
    if (f->is_manual) { /* it excludes these */
        f->parallel = 1;
        f->is_single_key = false;
        f->batch_limit = 0;
    }
    /* A batch that comes again does not wait for later ones under way. */
    f->checker.several = f->parallel * (2 * f->pending_limit - 1);
    f->checker.is_ahead = f->pending_limit > 1;
    f->checker.is_manual = f->is_manual;
    f->figures->option_seeds++;
}

static bool draw(struct fleet *f, unsigned percent)
{
    return rn_prng_percent(&f->options_dice, percent);
}

/* ---- what a handler will do ---------------------------------------------- */

static void draw_marks(struct fleet *f, struct pending *p)
{
    for (size_t i = 0; i < p->count; i++) {
        p->marks[i] = RUNNEL_DONE;
        if (!draw(f, 6))
            continue;
        p->marks[i] = draw(f, 30) && (f->has_dead_letters || !f->is_whole_batch)
                          ? RUNNEL_REJECT
                          : RUNNEL_AGAIN;
        p->is_marked = true;
        f->figures->marks++;
    }
}

static void draw_verdict(struct fleet *f, struct pending *p)
{
    uint64_t drawn = rn_prng_below(&f->options_dice, 100);

    p->verdict = RUNNEL_DONE;
    if (f->is_healed)
        return;
    if (drawn < 12)
        p->verdict = RUNNEL_AGAIN;
    else if (drawn < 14 && f->may_yield)
        p->verdict = RUNNEL_YIELD;
    else if (drawn < 18 && f->has_dead_letters)
        p->verdict = RUNNEL_REJECT;
    else
        draw_marks(f, p);
    f->figures->again += p->verdict == RUNNEL_AGAIN;
    f->figures->yields += p->verdict == RUNNEL_YIELD;
    f->figures->rejects += p->verdict == RUNNEL_REJECT;
}

static struct pending *call_new(struct host *h, const char *lease,
                                const runnel_batch *batch)
{
    struct fleet *f = h->fleet;
    struct pending *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    snprintf(p->lease, sizeof(p->lease), "%s", lease);
    p->host = h;
    p->batch = batch;
    p->count =
        checker_delivered(&f->checker, h->number, lease, batch, p->commits);
    draw_verdict(f, p);
    p->must_checkpoint =
        f->is_manual && (f->is_healed || draw(f, f->checkpoints));
    p->due_ns =
        draw(f, 10)
            ? INT64_MAX
            : now_of(f) +
                  (int64_t)rn_prng_below(&f->options_dice, 8000) * 1000000;
    return p;
}

/* ---- its verdict --------------------------------------------------------- */

/* Is change `i` to come again: is it or an earlier one of its key marked so? */
static bool is_again(const struct pending *p, size_t i)
{
    runnel_bytes key = rn_batch_at(p->batch, i)->partition_key;

    for (size_t k = 0; k <= i; k++) {
        runnel_bytes other = rn_batch_at(p->batch, k)->partition_key;

        if (p->marks[k] == RUNNEL_AGAIN && other.len == key.len &&
            memcmp(other.at, key.at, key.len) == 0)
            return true;
    }
    return false;
}

/* The commits of the changes that the handler is done with. */
static size_t list_done(const struct pending *p, uint64_t *commits)
{
    size_t n = 0;

    for (size_t i = 0; i < p->count; i++) {
        if (p->marks[i] != RUNNEL_REJECT && !is_again(p, i))
            commits[n++] = p->commits[i];
    }
    return n;
}

static void mark(struct pending *p)
{
    struct fleet *f = p->host->fleet;

    for (size_t i = 0; i < p->count; i++) {
        if (p->marks[i] == RUNNEL_DONE)
            continue;
        checker_note(&f->checker, "commit %lu is marked %d",
                     (unsigned long)p->commits[i], (int)p->marks[i]);
        runnel_batch_mark(p->batch, i, p->marks[i]);
        if (p->marks[i] == RUNNEL_REJECT && !is_again(p, i))
            checker_given_up(&f->checker, p->host->number, p->lease,
                             p->commits[i]);
    }
}

static void keep(struct pending *p)
{
    struct checker *c = &p->host->fleet->checker;
    uint64_t commits[CHECKER_BATCH_MAX];
    size_t count = list_done(p, commits);

    checker_note(c, "host %d %s makes a checkpoint", p->host->number, p->lease);
    checker_kept(c, p->host->number, p->lease, commits, count);
}

/* Is a batch whose changes are not marked the rest of its page? */
static bool has_whole_pages(const struct fleet *f)
{
    return f->is_whole_batch && !f->has_dead_letters && !f->checker.is_ahead;
}

/* How the checkpoint went.  A handler may take back one that failed. */
static void note_checkpoint(struct pending *p, runnel_code code)
{
    struct fleet *f = p->host->fleet;

    checker_note(&f->checker, "host %d %s: its checkpoint is %s",
                 p->host->number, p->lease, runnel_code_name(code));
    f->figures->checkpoints++;
    f->figures->checkpoint_failures += code != RUNNEL_OK;
    if (!code && !p->is_marked && has_whole_pages(f))
        checker_is_kept(&f->checker, p->host->number, p->lease, p->commits,
                        p->count);
    if (code && !f->is_healed && draw(f, 50))
        p->verdict = RUNNEL_AGAIN;
}

static runnel_verdict conclude(struct pending *p)
{
    struct checker *c = &p->host->fleet->checker;
    int host = p->host->number;
    uint64_t commits[CHECKER_BATCH_MAX];
    size_t count = list_done(p, commits);

    for (size_t i = 0; i < p->count; i++) {
        if (p->verdict != RUNNEL_DONE || p->marks[i] == RUNNEL_REJECT ||
            is_again(p, i))
            checker_failed(c, host, p->lease, p->commits[i]);
    }
    for (size_t i = 0; i < count && p->verdict == RUNNEL_DONE; i++)
        checker_handled(c, host, p->lease, commits[i]);
    for (size_t i = 0;
         i < count && p->verdict != RUNNEL_DONE && p->must_checkpoint; i++) {
        checker_taken_back(c, host, p->lease, commits[i]);
        p->host->fleet->figures->taken_back++;
    }
    checker_note(c, "host %d %s verdict %d", host, p->lease, (int)p->verdict);
    checker_returned(c, host, p->lease);
    return p->verdict;
}

runnel_verdict fleet_options_changes(struct host *h, const char *lease,
                                     const runnel_batch *batch)
{
    struct fleet *f = h->fleet;
    struct pending *p = call_new(h, lease, batch);
    runnel_verdict verdict;

    if (draw(f, f->is_healed ? 20 : 50) && !f->is_healed) {
        p->next = h->pending;
        h->pending = p;
        f->figures->pending++;
        f->figures->late_calls++;
        return RUNNEL_PENDING;
    }
    mark(p);
    if (p->must_checkpoint) {
        keep(p);
        note_checkpoint(p, runnel_batch_checkpoint(batch, NULL, NULL));
    }
    verdict = conclude(p);
    free(p);
    return verdict;
}

/* ---- late, and from another task ----------------------------------------- */

/* As runnel_batch_checkpoint, but the world goes on meanwhile. */
static void ask(struct pending *p)
{
    p->wait = calloc(1, sizeof(*p->wait));
    if (!p->wait)
        abort();
    p->wait->delivery = p->batch->delivery;
    p->wait->message =
        (struct rn_message){ .kind = RN_MESSAGE_CHECKPOINT, .item = p->wait };
    rn_lease_store_call_init(&p->wait->record, RN_LEASE_STORE_REPLACE);
    rn_host_post(p->host->engine, &p->wait->message);
}

bool fleet_options_answer(struct pending *p)
{
    if (!p->wait)
        mark(p);
    if (!p->wait && p->must_checkpoint) {
        keep(p);
        ask(p);
        return false;
    }
    if (p->wait && !p->wait->is_over)
        return false;
    if (p->wait)
        note_checkpoint(p, p->wait->code);
    runnel_batch_ack(p->batch, conclude(p));
    return true;
}

void fleet_options_forget(struct pending *p)
{
    if (p->wait)
        rn_lease_store_call_release(&p->wait->record);
    free(p->wait);
    free(p);
}

void fleet_options_crash(struct fleet *f)
{
    for (int i = 0; i < FLEET_HOSTS; i++)
        fleet_host_kill(&f->hosts[i]);
}
