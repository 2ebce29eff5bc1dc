/* verdict.c -- a handler's verdict on a batch, and the default event callbacks;
 * see runnel/processor.h.
 *
 * A batch is const for its readers.  These calls write the members of its
 * delivery, which belong to the handler until its verdict.
 */
#include "client/processor/host.h"
#include "client/processor/window.h"

#include <stdio.h>
#include <unistd.h>

void runnel_batch_ack(const runnel_batch *batch, runnel_verdict verdict)
{
    if (batch->delivery)
        rn_host_ack(batch->delivery, verdict);
}

void runnel_batch_mark(const runnel_batch *batch, size_t i,
                       runnel_verdict verdict)
{
    if (!batch->delivery || i >= batch->count)
        return;
    batch->delivery->marks[i] = verdict == RUNNEL_REJECT ? RN_MARK_REJECT
                                : verdict == RUNNEL_DONE ? RN_MARK_NONE
                                                         : RN_MARK_AGAIN;
}

void runnel_batch_explain(const runnel_batch *batch, const char *why)
{
    if (batch->delivery)
        snprintf(batch->delivery->why, sizeof(batch->delivery->why), "%s",
                 why ? why : "");
}

runnel_code runnel_batch_checkpoint(const runnel_batch *batch,
                                    void *transaction, runnel_error *error)
{
    if (!batch->delivery)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "only a batch of a processor has a checkpoint");
    return rn_host_checkpoint(batch->delivery, transaction, error);
}

bool runnel_batch_is_cancelled(const runnel_batch *batch)
{
    return batch->delivery && atomic_load(&batch->delivery->is_cancelled);
}

uint32_t runnel_batch_attempt(const runnel_batch *batch)
{
    return batch->delivery ? batch->delivery->attempt : 1;
}

uint64_t runnel_batch_epoch(const runnel_batch *batch)
{
    return batch->delivery ? batch->delivery->epoch : 0;
}

runnel_batch *runnel_batch_hold(const runnel_batch *batch)
{
    return rn_batch_ref((runnel_batch *)batch);
}

/* ---- events -------------------------------------------------------------- */

void runnel_event_ignore(void *context, const runnel_event *event)
{
    (void)context;
    (void)event;
}

void runnel_event_print(void *context, const runnel_event *event)
{
    char line[1024];
    int n;

    (void)context;
    if (event->severity > RUNNEL_SEVERITY_WARNING)
        return;
    n = snprintf(line, sizeof(line), "runnel: %s%s%s\n",
                 event->lease ? event->lease : "", event->lease ? ": " : "",
                 event->message);
    /* One write, so that lines of several threads stay whole; a failure cannot
     * be reported anywhere. */
    if (n > 0 &&
        write(STDERR_FILENO, line,
              (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) < 0)
        return;
}
