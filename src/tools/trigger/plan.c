/* plan.c -- the options of `runnel trigger`. */
#include "tools/trigger/plan.h"

#include "tools/common/report.h"
#include "tools/common/start.h"
#include "tools/trigger/http.h"

#include <errno.h>
#include <stdlib.h>

const struct rn_option rn_trigger_options[] = {
    { "exec", RN_OPTION_TEXT, "COMMAND", NULL, NULL,
      "Handle changes with this shell command: a process for each call, which "
      "gets a line of JSON for each change on standard input.  Exit status 0 "
      "is success, 75 asks for a retry, 65 refuses the changes for good." },
    { "coprocess", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Keep the processes of --exec: each gets one line of JSON for a call and "
      "answers with one line, {\"ok\":true} or {\"fail\":[ids]}." },
    { "http", RN_OPTION_TEXT, "URL", NULL, NULL,
      "Handle changes with a POST of a JSON array to this URL.  A status of "
      "2xx is success; 4xx but 408 and 429 refuses the changes for good." },
    { "http-ca-file", RN_OPTION_FILE, NULL, NULL, NULL,
      "Trust the certificates in this PEM file for --http." },
    { "signing-key-file", RN_OPTION_FILE, NULL, NULL, NULL,
      "Sign each POST with the key in this file: the header Runnel-Signature "
      "has the HMAC-SHA256 of time, idempotency key and body." },
    { "per", RN_OPTION_CHOICE, "batch|doc|partition-key", "batch", NULL,
      "What one call gets: the changes of a page, one change, or changes of "
      "one partition key.  Changes of a partition key stay in order." },
    { "batch-max", RN_OPTION_COUNT, "N", NULL, NULL,
      "At most so many changes in one call." },
    { "concurrency", RN_OPTION_COUNT, "N", "4", NULL,
      "Calls at once: of different ranges, and with --per doc or "
      "partition-key of different partition keys in a range." },
    { "timeout", RN_OPTION_MS, NULL, "60s", NULL,
      "The time for one call; then the process is killed or the request given "
      "up, and the call counts as failed." },
    { "retry", RN_OPTION_TEXT, "POLICY", "exp:5:500:60s", NULL,
      "fixed:N:DELAY, exp:N:MIN:MAX or forever: how often a failed call is "
      "repeated, and after which time.  A batch that fails every time is "
      "halved until the change that fails is found." },
    { "on-exhausted", RN_OPTION_CHOICE, "block|skip|dlq", NULL, NULL,
      "What becomes of a change whose retries are used up: the range waits "
      "for it, it is dropped, or it goes to --dlq.  The default is dlq with "
      "--dlq, else block." },
    { "dlq", RN_OPTION_TEXT, "WHERE", NULL, NULL,
      "Dead letters: container:DB/NAME, file:PATH, a URL, or exec:COMMAND." },
    { "create-leases", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Create the lease container if it does not exist." },
    { "instance", RN_OPTION_TEXT, "NAME", NULL, NULL,
      "The name of this instance among those that share the changes.  With a "
      "fixed name it takes its leases back at once after a crash." },
    { "start", RN_OPTION_TEXT, "now|beginning|TIME", "now", NULL,
      "Where to begin if there is no lease yet.  TIME is as in "
      "2026-11-18T08:30:00Z." },
    { "all-versions", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Every version and every delete, instead of the latest version of each "
      "document." },
    { "checkpoint", RN_OPTION_TEXT, "WHEN", "batch", NULL,
      "Store the position after every batch, or with changes=N or time=MS less "
      "often.  A crash repeats what was not stored." },
    { "poll", RN_OPTION_MS, NULL, NULL, NULL,
      "Ask for changes this often, instead of letting the server hold the "
      "request until there is one." },
    { "lease-renew", RN_OPTION_MS, NULL, "17s", NULL,
      "How often a lease is renewed." },
    { "lease-acquire", RN_OPTION_MS, NULL, "13s", NULL,
      "How often leases are balanced." },
    { "lease-expire", RN_OPTION_MS, NULL, "60s", NULL,
      "After this time a lease that was not renewed is taken by another "
      "instance.  Three times --lease-renew is wise." },
    { "metrics", RN_OPTION_TEXT, "[HOST]:PORT", NULL, NULL,
      "Serve /metrics for Prometheus there.  Without HOST: on 127.0.0.1." },
    { "health", RN_OPTION_TEXT, "[HOST]:PORT", NULL, NULL,
      "Serve /live and /ready there.  It may be the same address." },
    { "drain-timeout", RN_OPTION_MS, NULL, "30s", NULL,
      "After SIGTERM, calls under way may take so long to end." },
    { "once", RN_OPTION_FLAG, NULL, NULL, NULL,
      "End with status 0 when nothing is left to do." },
    { "max-lag-exit", RN_OPTION_COUNT, "N", NULL, NULL,
      "End with status 10 when more than N changes are waiting." },
    { 0 },
};

/* ---- policies ------------------------------------------------------------ */

/* Takes the part before the next colon; false at the end. */
static bool next_part(const char **rest, char out[32])
{
    size_t len = strcspn(*rest, ":");

    if (!**rest || len == 0 || len > 31)
        return false;
    memcpy(out, *rest, len);
    out[len] = 0;
    *rest += len + ((*rest)[len] == ':');
    return true;
}

static bool take_count(const char **rest, uint32_t *out)
{
    char part[32], *end;
    unsigned long number;

    if (!next_part(rest, part) || part[0] < '0' || part[0] > '9')
        return false;
    number = strtoul(part, &end, 10);
    *out = (uint32_t)number;
    return !*end && number < 1000000;
}

static bool take_ms(const char **rest, uint32_t *out)
{
    uint64_t ms;
    char part[32];

    if (!next_part(rest, part) || !rn_option_parse_ms(part, &ms) || ms == 0)
        return false;
    *out = (uint32_t)ms;
    return true;
}

static bool parse_retry(const char *text, runnel_processor_options *o)
{
    const char *rest = text;
    uint32_t retries = 0;
    char word[32];
    bool is_good = next_part(&rest, word);

    if (is_good && strcmp(word, "forever") == 0) {
        o->retry_attempts = RUNNEL_OFF;
        return !*rest;
    }
    is_good = is_good && take_count(&rest, &retries) &&
              take_ms(&rest, &o->retry_delay_ms);
    o->retry_attempts = retries + 1; /* the first call is no retry */
    if (strcmp(word, "fixed") == 0)
        o->retry_delay_max_ms = o->retry_delay_ms;
    else {
        is_good = is_good && strcmp(word, "exp") == 0 &&
                  take_ms(&rest, &o->retry_delay_max_ms) &&
                  o->retry_delay_ms <= o->retry_delay_max_ms;
    }
    return is_good && !*rest;
}

static bool parse_checkpoint(const char *text, runnel_processor_options *o)
{
    if (strcmp(text, "batch") == 0)
        return true;
    if (strncmp(text, "changes=", 8) == 0) {
        text += 8;
        return take_count(&text, &o->checkpoint_changes) &&
               o->checkpoint_changes > 0 && !*text;
    }
    if (strncmp(text, "time=", 5) == 0) {
        text += 5;
        return take_ms(&text, &o->checkpoint_ms) && !*text;
    }
    return false;
}

static int read_letters(const struct rn_args *args,
                        struct rn_trigger_plan *plan)
{
    static const struct {
        const char *prefix;
        enum rn_letter_kind kind;
    } kinds[] = { { "container:", RN_LETTER_CONTAINER },
                  { "file:", RN_LETTER_FILE },
                  { "exec:", RN_LETTER_COMMAND } };
    const char *to = rn_args_text(args, "dlq");
    const char *then = rn_args_text(args, "on-exhausted");

    if (!then)
        then = to ? "dlq" : "block";
    if ((strcmp(then, "dlq") == 0) != (to != NULL))
        return rn_report(RN_EXIT_USAGE, "--on-exhausted dlq and --dlq need "
                                        "each other");
    if (!to) {
        plan->processor.exhausted =
            strcmp(then, "skip") == 0 ? RUNNEL_SKIP : RUNNEL_BLOCK;
        return RN_EXIT_OK;
    }
    plan->processor.exhausted = RUNNEL_DEAD_LETTER;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strncmp(to, kinds[i].prefix, strlen(kinds[i].prefix)) == 0) {
            plan->letters = kinds[i].kind;
            plan->letters_to = to + strlen(kinds[i].prefix);
        }
    }
    if (!plan->letters && rn_http_is_url(to)) {
        plan->letters = RN_LETTER_URL;
        plan->letters_to = to;
    }
    if (!plan->letters || !*plan->letters_to) {
        return rn_report(RN_EXIT_USAGE,
                         "--dlq is container:DB/NAME, file:PATH, a URL or "
                         "exec:COMMAND, not '%s'",
                         to);
    }
    return RN_EXIT_OK;
}

/* ---- the plan ------------------------------------------------------------ */

static int read_signing_key(const struct rn_args *args,
                            struct rn_trigger_plan *plan)
{
    const char *path = rn_args_text(args, "signing-key-file");
    FILE *file;
    size_t n;

    if (!path)
        return RN_EXIT_OK;
    if (!plan->url && plan->letters != RN_LETTER_URL)
        return rn_report(RN_EXIT_USAGE, "--signing-key-file needs --http");
    file = fopen(path, "re");
    if (!file)
        return rn_report(RN_EXIT_USAGE, "--signing-key-file %s: %s", path,
                         strerror(errno));
    n = fread(plan->signing_key, 1, sizeof(plan->signing_key), file);
    fclose(file);
    if (n == sizeof(plan->signing_key))
        return rn_report(RN_EXIT_USAGE, "--signing-key-file %s is too long",
                         path);
    plan->signing_key[n] = 0;
    plan->signing_key[strcspn(plan->signing_key, "\r\n")] = 0;
    if (!plan->signing_key[0])
        return rn_report(RN_EXIT_USAGE, "--signing-key-file %s holds no key",
                         path);
    return RN_EXIT_OK;
}

static int read_handler(const struct rn_args *args,
                        struct rn_trigger_plan *plan)
{
    uint64_t concurrency = rn_args_count(args, "concurrency");

    plan->command = rn_args_text(args, "exec");
    plan->url = rn_args_text(args, "http");
    plan->is_coprocess = rn_args_flag(args, "coprocess");
    plan->http_ca_file = rn_args_text(args, "http-ca-file");
    plan->timeout_ms = (uint32_t)rn_args_count(args, "timeout");
    if (plan->command && plan->url)
        return rn_report(RN_EXIT_USAGE, "give --exec or --http, not both");
    if (!plan->command && !plan->url)
        return rn_report(RN_EXIT_USAGE, "give a handler: --exec or --http");
    if (plan->command && !*plan->command)
        return rn_report(RN_EXIT_USAGE, "--exec is empty");
    if (plan->url && !rn_http_is_url(plan->url))
        return rn_report(RN_EXIT_USAGE, "--http is a URL, not '%s'", plan->url);
    if (plan->is_coprocess && !plan->command)
        return rn_report(RN_EXIT_USAGE, "--coprocess needs --exec");
    if (plan->http_ca_file && !plan->url)
        return rn_report(RN_EXIT_USAGE, "--http-ca-file needs --http");
    if (concurrency < 1 || concurrency > RN_SLOTS_MAX)
        return rn_report(RN_EXIT_USAGE, "--concurrency is from 1 to %d",
                         RN_SLOTS_MAX);
    if (plan->timeout_ms == 0)
        return rn_report(RN_EXIT_USAGE, "--timeout must not be 0");
    plan->concurrency = (uint32_t)concurrency;
    return RN_EXIT_OK;
}

/* Calls at once, and how the changes of a page are dealt out to them. */
static void set_batches(const struct rn_args *args,
                        struct rn_trigger_plan *plan)
{
    const char *per = rn_args_text(args, "per");
    runnel_processor_options *o = &plan->processor;
    uint64_t most = rn_args_count(args, "batch-max");

    o->threads = plan->concurrency;
    o->batch_limit = most < UINT32_MAX ? (uint32_t)most : 0;
    plan->feed.page_limit = o->batch_limit;
    if (strcmp(per, "batch") != 0)
        o->parallel = plan->concurrency;
    if (strcmp(per, "doc") == 0)
        o->batch_limit = 1;
    o->single_key = strcmp(per, "partition-key") == 0;
}

/* A call ends by itself at its time limit, so it is stuck only behind that. */
static void set_times(const struct rn_args *args, struct rn_trigger_plan *plan)
{
    enum { GRACE_MS = 120000, GIVE_UP_MS = 600000, ONCE_POLL_MS = 100 };
    runnel_processor_options *o = &plan->processor;
    uint64_t poll_ms = rn_args_count(args, "poll");

    if (plan->is_once && poll_ms == 0)
        poll_ms = ONCE_POLL_MS; /* the server would hold the last read */
    o->lease_renew_ms = (uint32_t)rn_args_count(args, "lease-renew");
    o->lease_acquire_ms = (uint32_t)rn_args_count(args, "lease-acquire");
    o->lease_expire_ms = (uint32_t)rn_args_count(args, "lease-expire");
    o->stuck_ms = plan->timeout_ms < UINT32_MAX - GRACE_MS - GIVE_UP_MS
                      ? plan->timeout_ms + GRACE_MS
                      : UINT32_MAX - GIVE_UP_MS - 1;
    o->give_up_ms = o->stuck_ms + GIVE_UP_MS;
    plan->drain_ms = (uint32_t)rn_args_count(args, "drain-timeout");
    o->stop_ms = plan->drain_ms ? plan->drain_ms : 1;
    if (poll_ms) {
        o->poll_ms = (uint32_t)poll_ms;
        o->wait_ms = RUNNEL_OFF;
    }
}

static int read_policies(const struct rn_args *args,
                         struct rn_trigger_plan *plan)
{
    const char *retry = rn_args_text(args, "retry");
    const char *start = rn_args_text(args, "start");
    const char *checkpoint = rn_args_text(args, "checkpoint");

    if (!parse_retry(retry, &plan->processor)) {
        return rn_report(RN_EXIT_USAGE,
                         "--retry is fixed:N:DELAY, exp:N:MIN:MAX or forever, "
                         "not '%s'",
                         retry);
    }
    if (!rn_start_parse(start, &plan->feed)) {
        return rn_report(RN_EXIT_USAGE,
                         "--start is now, beginning or a time such as "
                         "2026-11-18T08:30:00Z, not '%s'",
                         start);
    }
    if (!parse_checkpoint(checkpoint, &plan->processor)) {
        return rn_report(RN_EXIT_USAGE,
                         "--checkpoint is batch, changes=N or time=MS, not "
                         "'%s'",
                         checkpoint);
    }
    if (plan->is_once && strcmp(checkpoint, "batch") != 0) {
        return rn_report(RN_EXIT_USAGE,
                         "--once stores its position after every batch: leave "
                         "--checkpoint away");
    }
    return RN_EXIT_OK;
}

int rn_trigger_plan_read(const struct rn_args *args,
                         struct rn_trigger_plan *out)
{
    struct rn_trigger_plan plan = { .feed = { RUNNEL_FEED_INIT },
                                    .processor = { RUNNEL_PROCESSOR_INIT } };
    int status = read_handler(args, &plan);

    plan.name = rn_args_text(args, "lease-prefix");
    plan.leases = rn_args_text(args, "leases");
    plan.processor.name = plan.name;
    plan.processor.host = rn_args_text(args, "instance");
    plan.processor.create_leases = rn_args_flag(args, "create-leases");
    plan.metrics = rn_args_text(args, "metrics");
    plan.health = rn_args_text(args, "health");
    plan.is_once = rn_args_flag(args, "once");
    plan.has_lag_limit = rn_args_flag(args, "max-lag-exit");
    plan.lag_limit = rn_args_count(args, "max-lag-exit");
    if (rn_args_flag(args, "all-versions"))
        plan.feed.mode = RUNNEL_FEED_ALL;
    if (!status)
        status = read_letters(args, &plan);
    if (!status)
        status = read_signing_key(args, &plan);
    if (!status)
        status = read_policies(args, &plan);
    if (!status) {
        set_batches(args, &plan);
        set_times(args, &plan);
    }
    *out = plan;
    return status;
}
