/* config.c -- checks the options of a processor. */
#include "client/processor/config.h"

#include "client/http/options.h"
#include "json/utf8.h"

#include <stdio.h>
#include <unistd.h>

static runnel_code refuse(runnel_error *error, const char *what)
{
    return rn_error_set(error, RUNNEL_BAD_REQUEST, "%s", what);
}

static void use_default(uint32_t *value, uint32_t standard)
{
    if (*value == 0)
        *value = standard;
}

static void fill_defaults(runnel_processor_options *o)
{
    use_default(&o->poll_ms, 5000);
    use_default(&o->wait_ms, 30000);
    use_default(&o->lease_renew_ms, 17000);
    use_default(&o->lease_acquire_ms, 13000);
    use_default(&o->lease_expire_ms, 60000);
    use_default(&o->leases_per_range, 1);
    use_default(&o->parallel, 1);
    use_default(&o->pending_limit, 1);
    use_default(&o->threads, 64);
    use_default(&o->buffer_bytes, 32u << 20);
    use_default(&o->retry_attempts, 5);
    use_default(&o->retry_delay_ms, 500);
    use_default(&o->retry_delay_max_ms, 60000);
    use_default(&o->stuck_ms, 60000);
    use_default(&o->give_up_ms, 600000);
    use_default(&o->start_ms, 60000);
    use_default(&o->stop_ms, 30000);
    if (!o->event)
        o->event = runnel_event_print;
}

/* A name becomes part of a document's id, or is compared with an owner. */
static runnel_code copy_name(const char *text, const char *what,
                             char out[RN_HOST_MAX + 1], runnel_error *error)
{
    size_t len = strlen(text);

    if (len > RN_HOST_MAX)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "%s has more than %d bytes", what, RN_HOST_MAX);
    if (!rn_utf8_is_valid(text, text + len))
        return rn_error_set(error, RUNNEL_BAD_REQUEST, "%s is not UTF-8", what);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 127 ||
            strchr("/\\?#", text[i])) {
            return rn_error_set(error, RUNNEL_BAD_REQUEST,
                                "%s has a control character or one of / \\ ? "
                                "#, which ids may not have",
                                what);
        }
    }
    memcpy(out, text, len + 1);
    return RUNNEL_OK;
}

/* MACHINE-PID-RANDOM */
static void make_host(struct rn_env *env, char out[RN_HOST_MAX + 1])
{
    char machine[65] = "host";
    uint32_t random;

    if (gethostname(machine, sizeof(machine) - 1))
        snprintf(machine, sizeof(machine), "host");
    for (char *c = machine; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr("/\\?#", *c))
            *c = '-';
    rn_random(env, &random, sizeof(random));
    snprintf(out, RN_HOST_MAX + 1, "%s-%ld-%08x", machine, (long)getpid(),
             random);
}

/* By the names; the bootstrap finds a container of another client. */
static bool is_same(struct rn_client_container *a,
                    struct rn_client_container *b)
{
    struct rn_link left = rn_client_container_link(a);
    struct rn_link right = rn_client_container_link(b);
    bool same =
        rn_client_container_account(a) == rn_client_container_account(b);

    for (size_t i = 0; same && i < left.depth; i++)
        same = rn_view_eq(left.ids[i], right.ids[i]);
    return same;
}

static runnel_code check_stores(const struct rn_config *c,
                                const runnel_processor_options *o,
                                runnel_error *error)
{
    const runnel_lease_store *table = o->lease_store;

    if ((c->at.leases != NULL) == (table != NULL))
        return refuse(error, "set one of leases and lease_store");
    if (table && (table->size == 0 || !table->list || !table->create ||
                  !table->replace || !table->remove))
        return refuse(error, "lease_store needs all of its four functions");
    if (c->at.leases && is_same(c->at.leases, c->at.source))
        return refuse(error, "leases must not be the source container");
    return RUNNEL_OK;
}

static runnel_code check_numbers(const runnel_processor_options *o,
                                 runnel_error *error)
{
    if (o->lease_renew_ms >= o->lease_expire_ms) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "lease_renew_ms (%u) must be below lease_expire_ms "
                            "(%u), or leases expire while their owner lives",
                            o->lease_renew_ms, o->lease_expire_ms);
    }
    if (o->manual_checkpoint &&
        (o->batch_limit || o->parallel > 1 || o->single_key)) {
        return refuse(error, "manual_checkpoint excludes batch_limit, parallel "
                             "and single_key: a part of a page has no "
                             "position");
    }
    if (o->weigh_leases && o->fleet == RUNNEL_FLEET_COMPATIBLE)
        return refuse(error, "weigh_leases excludes RUNNEL_FLEET_COMPATIBLE: "
                             "the official libraries know no weights");
    if (o->leases_per_range > 64)
        return refuse(error, "leases_per_range is at most 64");
    if (o->parallel > 1024 || o->threads > 4096 || o->pending_limit > 4096)
        return refuse(error, "parallel, threads or pending_limit is too large");
    return RUNNEL_OK;
}

static runnel_code check_observer(const struct rn_config *c,
                                  const runnel_processor_options *o,
                                  runnel_error *error)
{
    if (!c->has_factory && !c->observer.changes)
        return refuse(error, "an observer with changes, or a factory, is "
                             "needed");
    if (c->has_factory && !c->factory.create)
        return refuse(error, "the factory has no create");
    if (o->exhausted == RUNNEL_DEAD_LETTER && !c->at.dead_letters &&
        !c->has_factory && !c->observer.dead_letter)
        return refuse(error, "RUNNEL_DEAD_LETTER needs dead_letters or an "
                             "observer with dead_letter");
    return RUNNEL_OK;
}

static runnel_code take_feed(struct rn_config *c,
                             const runnel_feed_options *feed,
                             runnel_error *error)
{
    runnel_feed_options none = { RUNNEL_FEED_INIT };
    runnel_code rc;

    if (!feed)
        feed = &none;
    if (feed->size == 0)
        return refuse(error, "begin feed with RUNNEL_FEED_INIT");
    if (feed->range || feed->partition_key)
        return refuse(error, "feed.range and feed.partition_key are not for "
                             "processors, which read all ranges");
    c->mode = feed->mode;
    c->page_limit = feed->page_limit;
    rc = rn_position_start(feed, RUNNEL_START_NOW, &c->start, error);
    if (!rc && feed->token)
        rc = rn_position_set(&c->start, rn_view_text(feed->token), error);
    if (!rc && feed->session_token) {
        c->session_token = rn_new_text(feed->session_token);
        rc = c->session_token ? RUNNEL_OK : RUNNEL_NO_MEMORY;
    }
    return rc;
}

static runnel_code take_names(struct rn_config *c,
                              const runnel_processor_options *o,
                              struct rn_env *env, runnel_error *error)
{
    runnel_code rc;

    if (!o->name)
        return refuse(error, "a processor needs a name, which may be \"\"");
    rc = copy_name(o->name, "name", c->name, error);
    if (rc || !o->host) {
        make_host(env, c->host);
        return rc;
    }
    if (!o->host[0])
        return refuse(error, "host must not be empty");
    return copy_name(o->host, "host", c->host, error);
}

/* After the checks: nothing of the caller's is referred to any more. */
static void drop_pointers(runnel_processor_options *o)
{
    o->name = o->host = NULL;
    o->leases = o->dead_letters = NULL;
    o->lease_store = NULL;
    o->feed = NULL;
    o->factory = NULL;
}

runnel_code rn_config_init(struct rn_config *c,
                           const runnel_processor_options *options,
                           const runnel_observer *observer,
                           const struct rn_config_containers *containers,
                           struct rn_env *env, runnel_error *error)
{
    runnel_processor_options o;
    runnel_code rc = rn_options_copy(&o, sizeof(o), options, error);

    *c = (struct rn_config){ .at = *containers };
    if (rc) {
        c->at = (struct rn_config_containers){ 0 };
        return rc;
    }
    rn_client_container_ref(c->at.source);
    if (c->at.leases)
        rn_client_container_ref(c->at.leases);
    if (c->at.dead_letters)
        rn_client_container_ref(c->at.dead_letters);
    fill_defaults(&o);
    c->has_factory = o.factory != NULL;
    if (o.factory)
        c->factory = *o.factory;
    if (observer)
        c->observer = *observer;
    c->has_table = o.lease_store != NULL;
    if (o.lease_store)
        c->table = *o.lease_store;
    /* A transaction has the position behind the page, so all of its changes. */
    o.whole_batch = o.whole_batch || (o.manual_checkpoint && c->has_table);
    rc = check_stores(c, &o, error);
    if (!rc)
        rc = check_numbers(&o, error);
    if (!rc)
        rc = check_observer(c, &o, error);
    if (!rc)
        rc = take_names(c, &o, env, error);
    if (!rc)
        rc = take_feed(c, o.feed, error);
    drop_pointers(&o);
    c->o = o;
    return rc;
}

void rn_config_release(struct rn_config *c)
{
    rn_client_container_unref(c->at.source);
    rn_client_container_unref(c->at.leases);
    rn_client_container_unref(c->at.dead_letters);
    rn_free(c->session_token);
    *c = (struct rn_config){ 0 };
}
