/* failed_changes.c -- changes that failed too often: blocked, skipped or
 * dead-lettered.
 *
 * A dead letter in the container has the id RID-LSN, so storing it twice leaves
 * one.  The feed continues only after it is stored.
 */
#include "client/processor/failed_changes.h"

#include "client/account/call.h"
#include "client/account/container.h"
#include "client/http/bug.h"
#include "client/http/exchange.h"
#include "client/processor/deliver.h"
#include "client/processor/host.h"
#include "client/processor/state.h"
#include "client/processor/worker.h"
#include "cosmos/pk.h"
#include "json/print.h"

#include <stdio.h>

enum { LETTER_MAX = 8 << 20 };

static const runnel_change *change_of(const struct rn_delivery *d)
{
    return runnel_batch_at(d->batch, d->rejected);
}

static void tell(struct rn_worker *w, runnel_event_kind kind,
                 runnel_severity severity, const struct rn_delivery *d,
                 const char *what)
{
    const runnel_change *c = change_of(d);
    runnel_event event = { .kind = kind,
                           .severity = severity,
                           .lease = w->token,
                           .attempt = d->attempt - 1,
                           .count = d->count,
                           .lsn = c->lsn };

    rn_host_put(w->host, &event, "change %llu %s%s%s",
                (unsigned long long)c->lsn, what, d->why[0] ? ": " : "",
                d->why);
}

/* ---- by the program's function ------------------------------------------- */

static void run_dead_letter(struct rn_job *job)
{
    struct rn_worker *w = RN_CONTAINER_OF(job, struct rn_worker, job);

    rn_worker_note_job(w);
    w->dead_letter_verdict =
        w->observer.dead_letter(w->observer.context, w->token, &w->failure);
    w->answer = (struct rn_message){ .kind = RN_MESSAGE_DEAD_LETTER_RETURNED,
                                     .item = w };
    rn_host_post(w->host, &w->answer);
}

static void start_dead_letter(struct rn_worker *w, struct rn_delivery *d)
{
    w->failure = (runnel_failure){ .change = change_of(d),
                                   .why = d->why,
                                   .attempts = d->attempt - 1 };
    rn_worker_start_job(w, run_dead_letter);
}

/* ---- into the container -------------------------------------------------- */

/* The item's _rid; its id if the change has no document. */
static struct rn_view rid_of(const runnel_change *c, struct rn_json *j)
{
    struct rn_view json = rn_view_of(c->json.at, c->json.len);
    struct rn_view rid = { 0 };

    if (json.len && !rn_json_parse(j, json, NULL))
        rid = rn_json_text(j, rn_json_find(j, 0, RN_LIT("_rid")));
    return rid.at ? rid : rn_view_of(c->id.at, c->id.len);
}

static void print_change(struct rn_json_out *o, const runnel_change *c)
{
    rn_json_out_key(o, RN_LIT("change"));
    if (c->json.len)
        rn_json_out_raw(o, rn_view_of(c->json.at, c->json.len));
    else
        rn_json_out_null(o);
    if (c->previous.len) {
        rn_json_out_key(o, RN_LIT("previous"));
        rn_json_out_raw(o, rn_view_of(c->previous.at, c->previous.len));
    }
}

static void print_text(struct rn_json_out *o, const char *name,
                       const char *text)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_string(o, rn_view_text(text));
}

static enum rn_code print_letter(struct rn_worker *w, struct rn_delivery *d,
                                 const char *id)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&w->dead_letter_body);
    const runnel_change *c = change_of(d);

    rn_json_out_object_begin(&o);
    print_text(&o, "id", id);
    print_text(&o, "processor", w->host->config.name);
    print_text(&o, "lease", w->token);
    print_text(&o, "host", w->host->config.host);
    print_text(&o, "continuation", d->slot->token.etag);
    rn_json_out_key(&o, RN_LIT("lsn"));
    rn_json_out_uint(&o, c->lsn);
    rn_json_out_key(&o, RN_LIT("attempts"));
    rn_json_out_uint(&o, d->attempt - 1);
    print_text(&o, "why", d->why);
    print_change(&o, c);
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o);
}

static runnel_code fill_upsert(struct rn_worker *w, struct rn_delivery *d)
{
    struct rn_request *r = &w->dead_letter_call->request;
    const runnel_change *c = change_of(d);
    struct rn_buf key = RN_BUF_INIT(4096);
    struct rn_pk pk = { .count = 1 };
    struct rn_json j;
    char id[1024];
    runnel_code rc;

    rn_json_init(&j, NULL);
    snprintf(id, sizeof(id), "%.*s-%llu", RN_FMT(rid_of(c, &j)),
             (unsigned long long)c->lsn);
    rn_json_release(&j);
    rn_buf_clear(&w->dead_letter_body);
    w->dead_letter_body.ceiling = LETTER_MAX;
    pk.values[0] =
        (struct rn_pk_value){ .type = RN_PK_STRING, .text = rn_view_text(id) };
    rc = rn_error_code(print_letter(w, d, id));
    if (!rc)
        rc = rn_error_code(rn_pk_print(&pk, &key));
    if (!rc)
        rc = rn_headers_add(&r->headers, RN_HEADER_PARTITION_KEY,
                            rn_buf_view(&key), NULL);
    if (!rc)
        rc = rn_headers_add(&r->headers, RN_HEADER_IS_UPSERT, RN_LIT("True"),
                            NULL);
    r->body = rn_buf_view(&w->dead_letter_body);
    rn_buf_release(&key);
    return rc;
}

static bool start_upsert(struct rn_worker *w, struct rn_delivery *d)
{
    struct rn_client_container *to = w->host->config.at.dead_letters;
    struct rn_link link = rn_client_container_list(to, RN_KIND_DOCUMENT);

    w->dead_letter_call = rn_new(sizeof(*w->dead_letter_call));
    if (!w->dead_letter_call)
        return false;
    /* An upsert of the same bytes does no harm twice, so a lost answer is no
     * obstacle to trying again. */
    rn_client_call_init(w->dead_letter_call, rn_client_container_account(to),
                        "POST", RN_EFFECT_READ, &link);
    w->dead_letter_call->request.container = to;
    if (fill_upsert(w, d)) {
        rn_client_call_release(w->dead_letter_call);
        rn_free(w->dead_letter_call);
        w->dead_letter_call = NULL;
        return false;
    }
    rn_client_call_begin(w->dead_letter_call, w->host->transport);
    return true;
}

/* ---- outcomes ------------------------------------------------------------ */

/* What was handled is stored at once; but only the program's checkpoints say
 * what of the same page is. */
static void note_handled(struct rn_worker *w)
{
    if (w->host->config.o.manual_checkpoint)
        rn_worker_note_progress(w);
    else if (w->window.changes_done > 0)
        w->must_checkpoint = true;
}

static void wait_and_retry(struct rn_worker *w, struct rn_delivery *d)
{
    if (rn_window_block(&w->window, d, rn_mono_ns(w->host->env)))
        return;
    rn_worker_forget_batches(w); /* without memory: read it again later */
    rn_worker_begin_reading(w);
}

static void end_failed(struct rn_worker *w, bool is_stored)
{
    struct rn_delivery *d = w->dead_letter_delivery;
    struct rn_host *h = w->host;

    w->dead_letter_delivery = NULL;
    if (!d->slot) {
        rn_window_drop(&w->window, d);
        return;
    }
    if (!is_stored) {
        rn_host_tell(h, RUNNEL_EVENT_TROUBLE, RUNNEL_SEVERITY_CRITICAL,
                     w->token, NULL,
                     "a dead letter cannot be stored; the lease waits until "
                     "it can");
        wait_and_retry(w, d);
        return;
    }
    h->stats.dead_letters++;
    tell(w, RUNNEL_EVENT_DEAD_LETTERED, RUNNEL_SEVERITY_WARNING, d,
         "is a dead letter");
    d->state = RN_DELIVERY_REJECTED;
    if (++d->rejected == d->count)
        rn_window_finish(&w->window, d);
    note_handled(w);
}

void rn_worker_dead_letter_returned(struct rn_worker *w)
{
    w->is_job_running = false;
    end_failed(w, w->dead_letter_verdict == RUNNEL_DONE ||
                      RN_BUG(FAILED_DEAD_LETTER_COUNTS));
}

static void skip(struct rn_worker *w, struct rn_delivery *d)
{
    for (; d->rejected < d->count; d->rejected++) {
        w->host->stats.skips++;
        tell(w, RUNNEL_EVENT_SKIPPED, RUNNEL_SEVERITY_WARNING, d, "is skipped");
    }
    rn_window_finish(&w->window, d);
    note_handled(w);
}

static void block(struct rn_worker *w, struct rn_delivery *d)
{
    if (!d->is_reported) {
        tell(w, RUNNEL_EVENT_BLOCKED, RUNNEL_SEVERITY_CRITICAL, d,
             "holds up its lease; mend the handler, or choose a policy with "
             "`exhausted`");
    }
    d->is_reported = true;
    wait_and_retry(w, d);
}

static void begin(struct rn_worker *w, struct rn_delivery *d)
{
    const struct rn_config *c = &w->host->config;

    if (c->o.exhausted == RUNNEL_SKIP) {
        skip(w, d);
        return;
    }
    if (c->o.exhausted == RUNNEL_BLOCK ||
        (!w->observer.dead_letter && !c->at.dead_letters)) {
        block(w, d);
        return;
    }
    w->dead_letter_delivery = d;
    d->state = RN_DELIVERY_DEAD_LETTER;
    if (w->observer.dead_letter)
        start_dead_letter(w, d);
    else if (!start_upsert(w, d))
        end_failed(w, false);
}

int64_t rn_worker_handle_failed(struct rn_worker *w, int64_t now_ns)
{
    struct rn_delivery *d;
    int64_t next;

    if (w->dead_letter_call) {
        next = rn_client_call_step(w->dead_letter_call);
        if (!w->dead_letter_call->is_over)
            return next;
        next = w->dead_letter_call->code;
        rn_client_call_release(w->dead_letter_call);
        rn_free(w->dead_letter_call);
        w->dead_letter_call = NULL;
        end_failed(w, next == RUNNEL_OK);
    }
    if (w->dead_letter_delivery || w->is_job_running ||
        w->state != RN_WORKER_ACTIVE || !rn_worker_is_valid(w, now_ns))
        return RN_TASK_IDLE;
    d = rn_window_rejected(&w->window);
    if (!d)
        return RN_TASK_IDLE;
    begin(w, d);
    return RN_TASK_NOW;
}
