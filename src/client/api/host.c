/* host.c -- the processor in the style of 2017 and 2018; see runnel/host.h. */
#include <runnel/host.h>

#include "client/api/container.h"
#include "client/http/error.h"
#include "client/http/options.h"

#include <pthread.h>

struct runnel_host {
    char *name;
    runnel_container *source, *leases, *dead_letters;
    runnel_processor_options options; /* texts and structs are ours */
    runnel_feed_options feed;
    char *prefix, *token, *session_token;
    pthread_mutex_t lock; /* guards the registration */
    runnel_processor *processor;
};

static runnel_code open_location(const runnel_location *l,
                                 runnel_container **out, runnel_error *error)
{
    runnel_client_options options = { RUNNEL_CLIENT_INIT };
    runnel_client *client = NULL;
    runnel_code rc = RUNNEL_OK;

    if (!l->database || !l->collection)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "a location needs a database and a collection");
    if (l->client)
        rc = rn_options_copy(&options, sizeof(options), l->client, error);
    if (l->uri)
        options.endpoint = l->uri;
    if (l->key)
        options.key = l->key;
    if (!rc)
        rc = runnel_client_open(&options, &client, error);
    if (!rc)
        rc = runnel_container_open(client, l->database, l->collection, out,
                                   error);
    runnel_client_close(client);
    return rc;
}

static bool copy_text(const char *text, char **out)
{
    *out = text ? rn_new_text(text) : NULL;
    return !text || *out;
}

/* Another handle of a container, since the caller may close its own. */
static bool copy_container(const runnel_container *container,
                           runnel_container **out)
{
    *out = container ? rn_new(sizeof(**out)) : NULL;
    if (*out)
        (*out)->inner = rn_client_container_ref(container->inner);
    return !container || *out;
}

static runnel_code copy_options(struct runnel_host *h,
                                const runnel_host_options *o,
                                runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    h->options = (runnel_processor_options){ RUNNEL_PROCESSOR_INIT };
    h->feed = (runnel_feed_options){ RUNNEL_FEED_INIT };
    if (o->processor)
        rc = rn_options_copy(&h->options, sizeof(h->options), o->processor,
                             error);
    if (!rc && o->feed)
        rc = rn_options_copy(&h->feed, sizeof(h->feed), o->feed, error);
    if (rc)
        return rc;
    if (h->options.lease_store || h->options.factory) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "a host has its leases and observers by other "
                            "members");
    }
    if (!copy_text(o->name, &h->name) ||
        !copy_text(h->options.name ? h->options.name : "", &h->prefix) ||
        !copy_text(h->feed.token, &h->token) ||
        !copy_text(h->feed.session_token, &h->session_token) ||
        !copy_container(h->options.dead_letters, &h->dead_letters))
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    h->feed.token = h->token;
    h->feed.session_token = h->session_token;
    h->options.name = h->prefix;
    h->options.host = h->name;
    h->options.feed = &h->feed;
    h->options.dead_letters = h->dead_letters;
    return RUNNEL_OK;
}

runnel_code runnel_host_open(const runnel_host_options *options,
                             runnel_host **out, runnel_error *error)
{
    runnel_host_options o = { 0 };
    runnel_host *h = NULL;
    runnel_code rc = rn_options_copy(&o, sizeof(o), options, error);

    if (!rc && (!o.name || !o.name[0]))
        rc = rn_error_set(error, RUNNEL_BAD_REQUEST, "a host needs a name");
    if (rc)
        return rc;
    h = rn_new(sizeof(*h));
    if (!h)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    pthread_mutex_init(&h->lock, NULL);
    rc = copy_options(h, &o, error);
    if (!rc)
        rc = open_location(&o.monitored, &h->source, error);
    if (!rc)
        rc = open_location(&o.leases, &h->leases, error);
    h->options.leases = h->leases;
    if (rc || !out)
        runnel_host_close(h);
    else
        *out = h;
    return rc;
}

static runnel_code start(runnel_host *h, const runnel_observer *observer,
                         const runnel_observer_factory *factory,
                         runnel_error *error)
{
    runnel_processor_options options;
    runnel_code rc;

    pthread_mutex_lock(&h->lock);
    options = h->options;
    options.factory = factory;
    if (h->processor) {
        rc = rn_error_set(error, RUNNEL_CONFLICT,
                          "an observer is registered already");
    } else {
        rc = runnel_processor_start(h->source, &options, observer,
                                    &h->processor, error);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

runnel_code runnel_host_register(runnel_host *host,
                                 const runnel_observer *observer,
                                 runnel_error *error)
{
    return start(host, observer, NULL, error);
}

runnel_code runnel_host_register_factory(runnel_host *host,
                                         const runnel_observer_factory *factory,
                                         runnel_error *error)
{
    return start(host, NULL, factory, error);
}

runnel_code runnel_host_unregister(runnel_host *host, runnel_error *error)
{
    runnel_processor *p;

    pthread_mutex_lock(&host->lock);
    p = host->processor;
    host->processor = NULL;
    pthread_mutex_unlock(&host->lock);
    if (!p)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "no observer is registered");
    runnel_processor_stop(p);
    return RUNNEL_OK;
}

static bool take_total(void *context, const runnel_lag *lag)
{
    int64_t *out = context;

    if (!lag->lease)
        *out = lag->behind;
    return true;
}

runnel_code runnel_host_remaining_work(runnel_host *host, int64_t *out,
                                       runnel_error *error)
{
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT, .source = host->source,
                             .name = host->prefix, .leases = host->leases };
    int64_t total = 0;
    runnel_code rc = runnel_lag_each(&set, take_total, &total, error);

    if (!rc && out)
        *out = total;
    return rc;
}

void runnel_host_close(runnel_host *host)
{
    if (!host)
        return;
    runnel_processor_stop(host->processor);
    runnel_container_close(host->source);
    runnel_container_close(host->leases);
    runnel_container_close(host->dead_letters);
    pthread_mutex_destroy(&host->lock);
    rn_free(host->name);
    rn_free(host->prefix);
    rn_free(host->token);
    rn_free(host->session_token);
    rn_free(host);
}
