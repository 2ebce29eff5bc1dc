/* trigger.c -- `runnel trigger`: run a handler for the changes of a container.
 */
#include "tools/trigger/trigger.h"

#include "base/env.h"
#include "base/secret.h"
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"
#include "tools/trigger/body.h"
#include "tools/trigger/coprocess.h"
#include "tools/trigger/endpoint.h"
#include "tools/trigger/event.h"
#include "tools/trigger/exec.h"
#include "tools/trigger/http.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { LAG_MS = 5000, LAG_ONCE_MS = 200 };

void rn_trigger_stop(struct rn_trigger *t, int status)
{
    pthread_mutex_lock(&t->lock);
    if (!t->must_stop)
        t->status = status;
    t->must_stop = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

/* ---- callbacks ----------------------------------------------------------- */

/* Counts the call and turns its answer into a verdict. */
static runnel_verdict judge(struct rn_trigger *t, const runnel_batch *batch,
                            const struct rn_handler_answer *answer)
{
    static const runnel_verdict verdicts[] = {
        [RN_ANSWER_DONE] = RUNNEL_DONE,
        [RN_ANSWER_RETRY] = RUNNEL_AGAIN,
        [RN_ANSWER_POISON] = RUNNEL_REJECT,
        [RN_ANSWER_BROKEN] = RUNNEL_YIELD,
    };

    atomic_fetch_add(&t->calls[answer->kind], 1);
    if (answer->is_timeout)
        atomic_fetch_add(&t->timeouts, 1);
    runnel_batch_explain(batch, answer->why);
    if (answer->kind == RN_ANSWER_BROKEN) {
        pthread_mutex_lock(&t->lock);
        if (!t->must_stop)
            (void)!rn_report(RN_EXIT_FAILED, "%s", answer->why);
        pthread_mutex_unlock(&t->lock);
        rn_trigger_stop(t, RN_EXIT_FAILED);
    }
    return verdicts[answer->kind];
}

static runnel_verdict handle(void *context, const char *lease,
                             const runnel_batch *batch)
{
    struct rn_trigger *t = context;
    bool is_lines = t->plan.command && !t->plan.is_coprocess;
    struct rn_buf body = RN_BUF_INIT(RN_BODY_MAX);
    struct rn_handler_answer answer = { .kind = RN_ANSWER_DONE };
    int64_t began_ns = rn_mono_ns(rn_env_real());
    char id[RN_BODY_ID_MAX];
    struct rn_handler_call call = {
        .id = id,
        .batch = batch,
        .deadline_ns = began_ns + (int64_t)t->plan.timeout_ms * 1000000,
    };

    rn_body_id(batch, lease, id);
    rn_body_facts(batch, lease, &call);
    if (rn_body_print(batch, is_lines ? RN_BODY_LINES : RN_BODY_ARRAY, &body)) {
        rn_handler_answer_set(&answer, RN_ANSWER_RETRY,
                              "no memory for the batch");
    } else {
        call.body = rn_buf_view(&body);
        t->handler->call(t->handler, &call, &answer);
    }
    rn_buf_release(&body);
    atomic_fetch_add(&t->call_ns,
                     (uint64_t)(rn_mono_ns(rn_env_real()) - began_ns));
    return judge(t, batch, &answer);
}

static runnel_verdict bury(void *context, const char *lease,
                           const runnel_failure *failure)
{
    struct rn_trigger *t = context;
    struct rn_handler_answer answer;

    if (rn_dead_letter_store(&t->letters, lease, failure, &answer))
        return RUNNEL_DONE;
    (void)!rn_report(RN_EXIT_OK, "%s: a dead letter cannot be stored: %s",
                     lease, answer.why);
    return RUNNEL_AGAIN;
}

static bool note_lag(void *context, const runnel_lag *lag)
{
    struct rn_trigger *t = context;
    bool is_over, is_done;

    if (lag->lease)
        return true;
    pthread_mutex_lock(&t->lock);
    t->has_lag = true;
    t->lag_changes = lag->behind;
    t->lag_ms = lag->behind_ms;
    pthread_mutex_unlock(&t->lock);
    is_over = t->plan.has_lag_limit && lag->behind > 0 &&
              (uint64_t)lag->behind > t->plan.lag_limit;
    is_done = t->plan.is_once && lag->leases > 0 && lag->behind == 0;
    if (is_over) {
        (void)!rn_report(RN_EXIT_LAGGING, "the lag is %lld change%s",
                         (long long)lag->behind,
                         rn_plural((uint64_t)lag->behind));
    }
    if (is_over || is_done)
        rn_trigger_stop(t, is_over ? RN_EXIT_LAGGING : RN_EXIT_OK);
    return true;
}

/* A signal is the usual end, but not of --once. */
static void interrupt(void *context)
{
    struct rn_trigger *t = context;

    rn_trigger_stop(t, t->plan.is_once ? RN_EXIT_INTERRUPTED : RN_EXIT_OK);
}

/* ---- begin and end ------------------------------------------------------- */

static struct rn_handler *new_http(const struct rn_trigger_plan *p,
                                   const char *url, uint32_t timeout_ms)
{
    struct rn_http_options options = {
        .url = url,
        .ca_file = p->http_ca_file,
        .signing_key = rn_view_text(p->signing_key),
        .count = p->concurrency,
        .timeout_ms = timeout_ms,
    };

    return rn_http_new(&options);
}

static int open_handler(struct rn_trigger *t)
{
    const struct rn_trigger_plan *p = &t->plan;

    if (!rn_guard_start(&t->guard))
        return rn_report(RN_EXIT_FAILED, "a process cannot be started: %s",
                         strerror(errno));
    if (p->url)
        t->handler = new_http(p, p->url, p->timeout_ms);
    else if (p->is_coprocess)
        t->handler = rn_coprocess_new(p->command, p->concurrency, &t->guard);
    else
        t->handler = rn_exec_new(p->command, &t->guard);
    return t->handler ? RN_EXIT_OK : rn_report(RN_EXIT_FAILED, "out of memory");
}

static int open_letters(struct rn_trigger *t)
{
    const struct rn_trigger_plan *p = &t->plan;
    struct rn_dead_letters *l = &t->letters;

    l->processor = p->name;
    /* Unlike a batch, a letter under way cannot be given up by a drain. */
    l->timeout_ms = p->timeout_ms < p->processor.stop_ms ? p->timeout_ms
                                                         : p->processor.stop_ms;
    switch (p->letters) {
    case RN_LETTER_NONE:
        return RN_EXIT_OK;
    case RN_LETTER_CONTAINER:
        return rn_target_container(t->target.client, "--dlq",
                                   t->target.database_name, p->letters_to,
                                   &t->graveyard);
    case RN_LETTER_FILE:
        l->fd = open(p->letters_to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                     0600);
        return l->fd >= 0 ? RN_EXIT_OK
                          : rn_report(RN_EXIT_USAGE, "--dlq %s: %s",
                                      p->letters_to, strerror(errno));
    case RN_LETTER_URL:
        l->handler = new_http(p, p->letters_to, l->timeout_ms);
        break;
    case RN_LETTER_COMMAND:
        l->handler = rn_exec_new(p->letters_to, &t->guard);
        break;
    }
    return l->handler ? RN_EXIT_OK : rn_report(RN_EXIT_FAILED, "out of memory");
}

/* A container that does not exist is reported at once, and by its name. */
static int check_container(const struct rn_trigger *t, const char *option,
                           const char *name, runnel_container *container)
{
    runnel_error error = { 0 };

    if (!container || !runnel_container_read(container, NULL, &error))
        return RN_EXIT_OK;
    if (error.code == RUNNEL_NOT_FOUND) {
        return rn_report(RN_EXIT_NOT_FOUND,
                         "%s: container \"%s\" does not exist (database \"%s\" "
                         "unless the name has one)%s",
                         option, name, t->target.database_name,
                         container == t->leases ? "; --create-leases makes it"
                                                : "");
    }
    return rn_report_error_at(&error, "%s %s", option, name);
}

static int start_processor(struct rn_trigger *t)
{
    runnel_processor_options o = t->plan.processor;
    runnel_observer observer = { RUNNEL_OBSERVER_INIT, .context = t,
                                 .changes = handle };
    runnel_error error = { 0 };
    int status = check_container(t, "--container", t->target.container_name,
                                 t->target.container);

    if (!status && !o.create_leases)
        status = check_container(t, "--leases", t->plan.leases, t->leases);
    if (!status)
        status = check_container(t, "--dlq", t->plan.letters_to, t->graveyard);
    if (status)
        return status;
    o.feed = &t->plan.feed;
    o.leases = t->leases;
    o.dead_letters = t->graveyard;
    o.event = rn_trigger_event;
    o.event_context = t;
    if (t->plan.letters != RN_LETTER_NONE && !t->graveyard)
        observer.dead_letter = bury;
    if (runnel_processor_start(t->target.container, &o, &observer,
                               &t->processor, &error)) {
        return error.code == RUNNEL_BAD_REQUEST
                   ? rn_report(RN_EXIT_USAGE, "%s", error.message)
                   : rn_report_error(&error);
    }
    return RN_EXIT_OK;
}

static int open_all(struct rn_trigger *t, const struct rn_args *args)
{
    int status = rn_trigger_plan_read(args, &t->plan);

    if (!status)
        status = open_handler(t);
    if (!status)
        status = rn_target_open(args, &t->target);
    if (!status) {
        status = rn_target_container(t->target.client, "--leases",
                                     t->target.database_name, t->plan.leases,
                                     &t->leases);
    }
    if (!status)
        status = open_letters(t);
    return status ? status : start_processor(t);
}

static void close_all(struct rn_trigger *t)
{
    if (t->handler)
        t->handler->close(t->handler);
    if (t->letters.handler)
        t->letters.handler->close(t->letters.handler);
    if (t->letters.fd >= 0)
        close(t->letters.fd);
    rn_guard_stop(&t->guard);
    runnel_container_close(t->graveyard);
    runnel_container_close(t->leases);
    rn_target_close(&t->target);
    rn_wipe_secret(t->plan.signing_key, sizeof(t->plan.signing_key));
}

/* ---- the time between ---------------------------------------------------- */

static int start_estimator(struct rn_trigger *t, runnel_estimator **out)
{
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT,
                             .source = t->target.container,
                             .name = t->plan.name, .leases = t->leases };
    runnel_error error = { 0 };

    if (!t->plan.metrics && !t->plan.is_once && !t->plan.has_lag_limit)
        return RN_EXIT_OK;
    if (runnel_estimator_start(&set, t->plan.is_once ? LAG_ONCE_MS : LAG_MS,
                               note_lag, t, out, &error))
        return rn_report_error(&error);
    return RN_EXIT_OK;
}

static int start_endpoints(struct rn_trigger *t, struct rn_endpoint *out[2])
{
    const char *metrics = t->plan.metrics, *health = t->plan.health;
    int status = RN_EXIT_OK;

    if (metrics)
        status = rn_endpoint_open(t, "--metrics", metrics, &out[0]);
    if (!status && health && (!metrics || strcmp(metrics, health) != 0))
        status = rn_endpoint_open(t, "--health", health, &out[1]);
    return status;
}

/* Waits until there is a reason to end; the reason's status. */
static int wait_for_end(struct rn_trigger *t)
{
    int status;

    pthread_mutex_lock(&t->lock);
    while (!t->must_stop)
        pthread_cond_wait(&t->changed, &t->lock);
    status = t->status;
    pthread_mutex_unlock(&t->lock);
    return status;
}

/* Lets calls end and releases the leases.  Calls that take longer than the
 * deadline are killed; their batches come again. */
static int drain(struct rn_trigger *t, int status)
{
    runnel_error error = { 0 };
    uint32_t ms = t->plan.drain_ms ? t->plan.drain_ms : 1;

    if (runnel_processor_drain(t->processor, ms, &error) && !status) {
        status = rn_report(RN_EXIT_FAILED,
                           "calls under way did not end in time; their changes "
                           "will be delivered again");
    }
    return status;
}

static int work(struct rn_trigger *t)
{
    struct rn_endpoint *endpoints[2] = { NULL, NULL };
    runnel_estimator *estimator = NULL;
    int status;

    /* Until here a signal cancels the client, and with it any drain. */
    if (rn_interrupted())
        t->plan.drain_ms = 0;
    rn_on_interrupt(interrupt, t);
    status = start_endpoints(t, endpoints);
    if (!status)
        status = start_estimator(t, &estimator);
    if (!status)
        status = wait_for_end(t);
    runnel_estimator_stop(estimator);
    status = drain(t, status);
    rn_endpoint_close(endpoints[0]);
    rn_endpoint_close(endpoints[1]);
    runnel_processor_stop(t->processor);
    rn_on_interrupt(NULL, NULL);
    return status;
}

static int run(const struct rn_args *args)
{
    struct rn_trigger t = { .guard = { .fd = -1 },
                            .letters = { .fd = -1,
                                         .lock = PTHREAD_MUTEX_INITIALIZER },
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER };
    int status;

    t.wants_json = rn_args_flag(args, "json");
    rn_http_begin();
    status = open_all(&t, args);
    if (!status)
        status = work(&t);
    close_all(&t);
    return status;
}

const struct rn_tool rn_tool_trigger = {
    .name = "trigger",
    .usage = "",
    .summary = "Run a program or call a URL for the changes of a container",
    .help =
        "Follows the change feed of a container and hands the changes to a "
        "handler: a command (--exec) or a web service (--http).  Triggers of "
        "the same --lease-prefix share the changes by leases, take over from "
        "one that has died, and continue where it stopped.\n"
        "Every change is delivered until a handler has succeeded with it, at "
        "least once, in order for each partition key.  A failed call is "
        "repeated as --retry says; the position never moves past a change "
        "that was neither handled nor stored as a dead letter, unless "
        "--on-exhausted skip allows it.\n"
        "SIGTERM and Ctrl-C end it: calls under way may end, the position is "
        "stored and the leases are released.  A second signal ends it at once, "
        "and the calls under way are repeated by the next owner.",
    .example =
        "  runnel trigger --container shop/orders --create-leases \\\n"
        "      --exec 'python3 handler.py' --per partition-key\n"
        "  runnel trigger --container shop/orders --leases ops/leases \\\n"
        "      --http https://example.com/hook --signing-key-file hook.key \\\n"
        "      --dlq file:dead.ndjson --metrics :9464\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER | RN_USES_LEASES,
    .options = rn_trigger_options,
    .run = run,
};
