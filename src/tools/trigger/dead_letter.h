/* dead_letter.h -- where a change goes that no handler takes.
 *
 *   container:DB/NAME   a document; librunnel stores it
 *   file:PATH           a line of JSON behind the others, synced; a line that a
 *                       full disk has cut stays, and counts as no letter
 *   http:URL            a POST of the JSON, as to a handler; also https:
 *   exec:COMMAND        a process that gets the JSON on standard input
 *
 * The feed goes on only when the letter is stored; until then it is tried again
 * with growing pauses.  A letter may be stored twice after a crash; its id is
 * the same then.
 */
#ifndef RN_TOOLS_TRIGGER_DEAD_LETTER_H
#define RN_TOOLS_TRIGGER_DEAD_LETTER_H

#include "tools/trigger/handler.h"

#include <pthread.h>

/* Letters to a file or to a handler; any thread. */
struct rn_dead_letters {
    struct rn_handler *handler; /* NULL: `fd` */
    int fd;
    pthread_mutex_t lock; /* one line after the other */
    const char *processor;
    uint32_t timeout_ms;
};

/* False: it was not stored, `answer` says why. */
bool rn_dead_letter_store(struct rn_dead_letters *to, const char *lease,
                          const runnel_failure *failure,
                          struct rn_handler_answer *answer) RN_CHECK;

#endif
