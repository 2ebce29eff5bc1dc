/* committing.h -- a committer held still, and operations that count.
 *
 * The committer runs in the simulation, as its only task: the test says when
 * it steps.  Its store is `mem` behind faulty.h.  cmocka's setup and teardown
 * make a new one for every test.
 */
#ifndef RN_TESTS_LIB_COMMITTING_H
#define RN_TESTS_LIB_COMMITTING_H

#include "base/sim.h"
#include "engine/commit.h"
#include "lib/faulty.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MB ((size_t)1 << 20)

struct probe {
    struct rn_operation op;
    char key[16];
    size_t writes, value_len;   /* puts under key, each with a number added */
    int64_t takes_ns;           /* to run */
    enum rn_code early;         /* answered before the first write */
    enum rn_code answer;        /* answered after the last */
    bool is_deaf;               /* takes no notice of a failed put */
    struct rn_committer *again; /* where `done` is to queue it once more */

    unsigned runs, dones;
    unsigned done_now; /* bench.now when it was answered */
    enum rn_code got;
    char words[80];
    enum rn_code again_rc;
};

struct bench {
    struct rn_sim *sim;
    struct rn_env *env;
    int start_error; /* what task_start is to return */
    struct rn_store *store;
    struct rn_committer *committer;

    unsigned now;         /* counts publish and done */
    unsigned wakes;       /* of the task */
    unsigned published;   /* groups */
    unsigned publish_now; /* `now` at the last of them */
    unsigned group_size;  /* of the last of them */
};
extern struct bench bench;

int setup(void **state);
int teardown(void **state);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Instead of what setup made. */
void open_with(uint32_t queue_max);

/* Probes that write once, numbered from `first`; a number means a key. */
struct probe *probes(size_t count, unsigned first);
void queue(struct probe *p);

void pass(int64_t ns);     /* so much time, and what falls due in it */
void step(void);           /* once; there must be something to do */
void run_until_idle(void); /* until there is nothing to do */

struct rn_committer_status status(void);
/* Answered exactly once, `rc`, with words if it is a failure; and the store
 * holds all of its writes or none. */
void assert_answered(const struct probe *p, enum rn_code rc);

#endif
