/* engine_commit_load_test.c -- no answer is lost, doubled or untrue.
 *
 * Many operations from several threads, on the real env; and in the simulation,
 * many under faults drawn from a seed.  After either, every operation
 * must have been answered exactly once, in the order of its producer, and the
 * store must hold what the answers say.
 */
#include "engine/commit.h"

#include "base/prng.h"
#include "base/sim.h"
#include "lib/faulty.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct rn_store *open_faulty(void)
{
    struct rn_store *mem = NULL, *s;

    assert_int_equal(
        rn_store_open("mem", &(struct rn_store_opts){ 0 }, &mem, NULL), RN_OK);
    s = faulty_new(mem);
    assert_non_null(s);
    return s;
}

/* Adds one to the counter under its own number and puts a key of its own. */
struct entry {
    struct rn_operation op;
    unsigned producer, n;
    enum rn_code refusal; /* what `run` answers, if it is to fail */
    atomic_uint dones;
    enum rn_code answer;
    struct producer *owner;
};

struct producer {
    struct rn_committer *committer;
    struct entry *entries;
    unsigned count, number;
    unsigned next_done; /* written by the committer's thread alone */
    atomic_uint disorder;
};

static struct rn_view entry_key(char out[24], const struct entry *e)
{
    return rn_view_of(
        out, (size_t)snprintf(out, 24, "k%02u.%06u", e->producer, e->n));
}

static enum rn_code add_one(struct rn_txn *txn, char producer)
{
    char key[2] = { 'c', producer };
    struct rn_view v;
    uint32_t n = 0;
    enum rn_code rc = rn_txn_get(txn, rn_view_of(key, 2), &v);

    if (rc == RN_OK)
        memcpy(&n, v.at, sizeof(n));
    else if (rc != RN_NOT_FOUND)
        return rc;
    n++;
    return rn_txn_put(txn, rn_view_of(key, 2), rn_view_of(&n, sizeof(n)));
}

static enum rn_code entry_run(struct rn_operation *op, struct rn_txn *txn)
{
    struct entry *e = (struct entry *)op;
    char key[24];
    enum rn_code rc;

    if (e->refusal && !(op->flags & RN_OPERATION_MULTI))
        return e->refusal;
    rc = add_one(txn, (char)e->producer);
    if (!rc)
        rc = rn_txn_put(txn, entry_key(key, e), RN_LIT("here"));
    return rc ? rc : e->refusal;
}

static void entry_done(struct rn_operation *op, enum rn_code rc,
                       const struct rn_err *err)
{
    struct entry *e = (struct entry *)op;

    (void)err;
    if (e->owner->next_done++ != e->n)
        atomic_fetch_add(&e->owner->disorder, 1);
    e->answer = rc;
    atomic_fetch_add(&e->dones, 1);
}

static void producer_init(struct producer *p, unsigned number, unsigned count)
{
    *p = (struct producer){ .number = number, .count = count };
    p->entries = calloc(count, sizeof(*p->entries));
    assert_non_null(p->entries);
    for (unsigned i = 0; i < count; i++) {
        struct entry *e = &p->entries[i];

        e->op.run = entry_run;
        e->op.done = entry_done;
        e->op.flags = i % 3 == 0 ? RN_OPERATION_MULTI : 0;
        if (number % 4 == 3)
            e->op.flags |= RN_OPERATION_BACKGROUND;
        e->op.bytes = 100;
        e->refusal = i % 7 == 0 ? RN_CONFLICT : RN_OK;
        e->producer = number;
        e->n = i;
        e->owner = p;
    }
}

/* What the answers say is what the store holds; RN_UNKNOWN says nothing. */
static void assert_true_answers(struct rn_store *s, const struct producer *p)
{
    char counter[2] = { 'c', (char)p->number };
    uint32_t at_least = 0, at_most = 0, n = 0;
    struct rn_txn *t = NULL;
    struct rn_view v;

    assert_int_equal(
        rn_txn_begin(s, RN_TXN_READ, (struct rn_lock){ 0 }, &t, NULL), RN_OK);
    for (unsigned i = 0; i < p->count; i++) {
        const struct entry *e = &p->entries[i];
        char key[24];
        bool is_there = rn_txn_get(t, entry_key(key, e), &v) == RN_OK;

        assert_int_equal(atomic_load(&e->dones), 1);
        if (e->answer != RN_UNKNOWN)
            assert_int_equal(is_there, e->answer == RN_OK);
        at_least += e->answer == RN_OK;
        at_most += e->answer == RN_OK || e->answer == RN_UNKNOWN;
    }
    if (rn_txn_get(t, rn_view_of(counter, 2), &v) == RN_OK)
        memcpy(&n, v.at, sizeof(n));
    assert_in_range(n, at_least, at_most);
    rn_txn_abort(t);
    assert_int_equal(atomic_load(&p->disorder), 0);
}

/* ---- threads ------------------------------------------------------------- */

enum { PRODUCERS = 4, EACH = 3000 };

static void *produce(void *context)
{
    struct producer *p = context;

    for (unsigned i = 0; i < p->count; i++) {
        enum rn_code rc;

        do {
            rc = rn_committer_queue(p->committer, &p->entries[i].op);
            if (rc == RN_THROTTLED)
                sched_yield();
        } while (rc == RN_THROTTLED);
        if (rc) {
            atomic_fetch_add(&p->disorder, 1);
            break;
        }
    }
    return NULL;
}

/* Freed while much of it is still queued. */
static void threads_are_all_answered_once_and_in_order(void **state)
{
    struct rn_committer_opts opts = { .queue_max = 700 };
    struct rn_store *s = open_faulty();
    struct producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS];
    struct rn_committer_status status;
    struct rn_committer *c = NULL;

    (void)state;
    assert_int_equal(rn_committer_new(rn_env_real(), s, &opts, &c, NULL),
                     RN_OK);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        producer_init(&producers[i], i, i == 3 ? EACH / 10 : EACH);
        producers[i].committer = c;
    }
    for (unsigned i = 0; i < PRODUCERS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    rn_committer_status(c, &status);
    assert_true(status.groups > 0);
    rn_committer_free(c);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        assert_true_answers(s, &producers[i]);
        for (unsigned n = 0; n < producers[i].count; n++)
            assert_int_equal(producers[i].entries[n].answer,
                             producers[i].entries[n].refusal);
        free(producers[i].entries);
    }
    rn_store_close(s);
}

/* The one that is queued when all is idle must wake the committer: a lost
 * wake-up would hang here, and ctest would end it. */
static void an_idle_committer_wakes_for_each_operation(void **state)
{
    struct rn_store *s = open_faulty();
    struct rn_committer *c = NULL;
    struct producer p;

    (void)state;
    producer_init(&p, 0, 500);
    assert_int_equal(rn_committer_new(rn_env_real(), s,
                                      &(struct rn_committer_opts){ 0 }, &c,
                                      NULL),
                     RN_OK);
    for (unsigned i = 0; i < p.count; i++) {
        assert_int_equal(rn_committer_queue(c, &p.entries[i].op), RN_OK);
        while (atomic_load(&p.entries[i].dones) == 0)
            sched_yield();
    }
    rn_committer_free(c);
    assert_true_answers(s, &p);
    free(p.entries);
    rn_store_close(s);
}

/* ---- faults -------------------------------------------------------------- */

static void draw_fault(struct rn_store *s, struct rn_prng *dice)
{
    static const enum rn_code codes[] = { RN_BUSY,    RN_FULL, RN_READ_ONLY,
                                          RN_UNKNOWN, RN_IO,   RN_CORRUPT,
                                          RN_NOMEM,   RN_IO };
    static const enum faulty_call calls[] = {
        FAULTY_BEGIN_WRITE, FAULTY_BEGIN_SHRINK, FAULTY_COMMIT,
        FAULTY_PUT,         FAULTY_PUT,          FAULTY_GET,
    };
    enum faulty_call call = calls[rn_prng_below(dice, 6)];
    unsigned nth = (unsigned)rn_prng_below(dice, 40) + 1;

    if (call < FAULTY_GET)
        nth = (unsigned)rn_prng_below(dice, 3) + 1;
    faulty_fail(s, call, nth, (unsigned)rn_prng_below(dice, 4),
                codes[rn_prng_below(dice, 8)]);
}

static void run_with_faults(uint64_t seed)
{
    struct rn_sim *sim = rn_sim_new(seed);
    struct rn_store *s = open_faulty();
    struct rn_committer *c = NULL;
    struct producer producers[PRODUCERS];
    unsigned sent[PRODUCERS] = { 0 };
    struct rn_prng dice;

    rn_prng_init(&dice, seed);
    assert_int_equal(rn_committer_new(rn_sim_env(sim), s,
                                      &(struct rn_committer_opts){ 0 }, &c,
                                      NULL),
                     RN_OK);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        producer_init(&producers[i], i, 60);
        for (unsigned n = 0; n < 60; n++) {
            if (rn_prng_percent(&dice, 30))
                producers[i].entries[n].op.flags |= RN_OPERATION_FREES;
        }
    }
    for (unsigned round = 0; round < 400; round++) {
        unsigned i = (unsigned)rn_prng_below(&dice, PRODUCERS);

        if (sent[i] < producers[i].count) {
            struct entry *e = &producers[i].entries[sent[i]++];
            assert_int_equal(rn_committer_queue(c, &e->op), RN_OK);
        }
        if (rn_prng_percent(&dice, 15))
            draw_fault(s, &dice);
        if (rn_prng_percent(&dice, 20))
            rn_sim_step(sim);
    }
    for (unsigned i = 0; i < PRODUCERS; i++)
        producers[i].count = sent[i];
    rn_committer_free(c);
    for (int call = 0; call < FAULTY_CALLS; call++)
        faulty_fail(s, (enum faulty_call)call, 1, 0, RN_OK);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        assert_true_answers(s, &producers[i]);
        free(producers[i].entries);
    }
    rn_store_close(s);
    rn_sim_free(sim);
}

static void answers_are_true_whatever_fails(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        run_with_faults(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_all_answered_once_and_in_order),
        cmocka_unit_test(an_idle_committer_wakes_for_each_operation),
        cmocka_unit_test(answers_are_true_whatever_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
