/* handler.h -- what a handler is given, and what it answers.
 *
 * A handler is a program or a web service that takes the changes of one batch.
 * Whatever it is, one call has a body, some facts about the batch, and a time
 * limit, and ends with one answer.  There are three kinds:
 *
 *   exec.h       a process for each call; its exit status is the answer
 *   coprocess.h  long-lived processes; a line in, a line out
 *   http.h       a POST; its status code is the answer
 *
 * A call blocks its thread.  Calls may overlap.
 */
#ifndef RN_TOOLS_TRIGGER_HANDLER_H
#define RN_TOOLS_TRIGGER_HANDLER_H

#include "base/mem.h"

#include <runnel/runnel.h>

enum rn_handler_answer_kind {
    RN_ANSWER_DONE = 0,
    RN_ANSWER_RETRY,  /* failed: the retry policy applies */
    RN_ANSWER_POISON, /* will never succeed: no further attempt */
    RN_ANSWER_BROKEN, /* there is no such handler: the trigger must end */
};

struct rn_handler_answer {
    enum rn_handler_answer_kind kind;
    bool is_timeout; /* RETRY: the time limit was over */
    char why[200];   /* of all but DONE */
};

/* Sets kind and reason. */
void rn_handler_answer_set(struct rn_handler_answer *answer,
                           enum rn_handler_answer_kind kind, const char *fmt,
                           ...) RN_PRINTF(3, 4);

/* A fact about the call: an environment variable of a process, a member of a
 * co-process' line, a header of a request. */
struct rn_fact {
    const char *variable, *member, *header;
    bool is_number;
    char value[512];
};

enum { RN_FACTS_MAX = 8, RN_BODY_MAX = 512 << 20 };

struct rn_handler_call {
    struct rn_view body;
    const char *id; /* the idempotency key: the same for the same changes */
    struct rn_fact facts[RN_FACTS_MAX];
    size_t fact_count;
    const runnel_batch *batch; /* its acknowledgement may mark changes; NULL */
    int64_t deadline_ns;       /* on the clock of rn_mono_ns */
};

/* Is the answer of no interest any more?  Ask at least every
 * RN_HANDLER_SLICE_MS. */
enum { RN_HANDLER_SLICE_MS = 100 };
bool rn_handler_is_cancelled(const struct rn_handler_call *call);

/* How long to wait in poll(2) for an event of the call: what is left until the
 * deadline, at most a slice; 0: the time is over. */
int rn_handler_slice_ms(const struct rn_handler_call *call);

struct rn_handler {
    void (*call)(struct rn_handler *handler, const struct rn_handler_call *call,
                 struct rn_handler_answer *answer);
    /* After the last call; NULL is fine. */
    void (*close)(struct rn_handler *handler);
};

/* Which of `count` like things, such as co-processes, are free.  As many
 * threads as there are things use them, so one is always free. */
enum { RN_SLOTS_MAX = 1024 };
struct rn_slots;
struct rn_slots *rn_slots_new(uint32_t count) RN_CHECK;
void rn_slots_free(struct rn_slots *slots);
uint32_t rn_slots_take(struct rn_slots *slots);
void rn_slots_give(struct rn_slots *slots, uint32_t slot);

#endif
