/* hosts.h -- hosts of a change feed processor in virtual time, and a ledger of
 * what their handlers got.
 *
 *   struct hosts h;
 *   hosts_open(&h, 7, 4);                    a source of four ranges, leases
 *   hosts_start(&h, 0, &options);            the host "host-0"
 *   hosts_put(&h, 0, 100);                   writes documents 0 to 99
 *   hosts_run(&h, 10000);                    ten seconds pass
 *   hosts_check(&h);                         nothing was missed
 *
 * Threads: one.
 */
#ifndef RN_TESTS_CLIENT_HOSTS_H
#define RN_TESTS_CLIENT_HOSTS_H

#include "client/processor/host.h"
#include "client/world.h"

enum { HOSTS_MAX = 200, HOSTS_DOCUMENTS_MAX = 20000, HOSTS_EVENTS_MAX = 32 };

/* What is delivered, and how handlers answer. */
struct hosts;
struct hosts_host {
    struct hosts *all;
    int number;
    char name[24];
    struct rn_env *env;         /* with clocks of its own; NULL: the world's */
    struct rn_network *network; /* its own end of the wire */
    struct rn_account *account;
    struct rn_client_container *source, *leases;
    struct rn_host *engine;
    unsigned batches, opened, closed;
    runnel_close_reason last_reason;
    unsigned events[HOSTS_EVENTS_MAX]; /* how many of each kind */
    char last_message[256];            /* of a warning or worse */
};

/* Refuses requests: the next `times` of this method that have `part` in path or
 * body get the status instead of the service's answer. */
struct hosts_fault {
    const char *method, *part;
    int status, sub;
    uint32_t retry_after_ms; /* 0: not said */
    unsigned times, done;
};

struct hosts {
    struct world world;
    struct service_box *leases;
    struct rn_task wire;
    struct hosts_host hosts[HOSTS_MAX];
    /* Of each document: its newest version that was written, and that was
     * handled; how often it was delivered and handled. */
    int written[HOSTS_DOCUMENTS_MAX];
    int seen[HOSTS_DOCUMENTS_MAX];
    unsigned delivered[HOSTS_DOCUMENTS_MAX];
    unsigned handled[HOSTS_DOCUMENTS_MAX]; /* with the verdict DONE */
    unsigned disorder; /* an older version after a newer one */
    unsigned deliveries;
    /* The verdict on a batch; NULL: DONE. */
    runnel_verdict (*judge)(struct hosts_host *h, const char *lease,
                            const runnel_batch *batch);
    /* While a lease is opened, closed; may be NULL. */
    void (*opening)(struct hosts_host *h);
    void (*closing)(struct hosts_host *h);
    struct rn_client_container *dead_letters;
    struct hosts_fault fault;
};

void hosts_open(struct hosts *h, uint64_t seed, unsigned ranges);
/* The same with a lease container keyed by this path. */
void hosts_open_keyed(struct hosts *h, uint64_t seed, unsigned ranges,
                      const char *key);
void hosts_close(struct hosts *h);

/* Short intervals: acquire 2 s, renew 3 s, expire 10 s, poll 200 ms; from the
 * beginning. */
runnel_processor_options hosts_options(void);
extern const runnel_feed_options hosts_beginning;

/* Starts a host without waiting.  Fails the test if the options are wrong. */
struct hosts_host *hosts_start(struct hosts *h, int number,
                               const runnel_processor_options *options);
/* The same; the error of the options or of the bootstrap. */
runnel_code hosts_try(struct hosts *h, int number,
                      const runnel_processor_options *options,
                      runnel_error *error);
void hosts_stop(struct hosts *h, int number); /* drains, and frees it */
void hosts_kill(struct hosts *h, int number);

void hosts_run(struct hosts *h, int64_t ms);
/* Runs until it is true, at most this long; then fails the test. */
void hosts_until(struct hosts *h, bool (*is_true)(struct hosts *h), int64_t ms);
bool hosts_all_seen(struct hosts *h);

/* Writes new versions of documents `from` to `to` - 1. */
void hosts_put(struct hosts *h, int from, int to);
/* Leases that a host owns, by their documents. */
unsigned hosts_owned(struct hosts *h, int number);
/* Leases there are. */
unsigned hosts_leases(struct hosts *h);
/* From now on; hosts.fault says how often it was. */
void hosts_refuse(struct hosts *h, const struct hosts_fault *fault);
/* Replaces a part of a lease's text, as a write of another host. */
void hosts_tamper(struct hosts *h, const char *token, const char *old,
                  const char *new_text);
/* Every newest version was handled, and none after a newer one. */
void hosts_check(struct hosts *h);

/* Leases in memory, by the clock of the hosts. */
runnel_lease_store *hosts_memory_open(struct hosts *h);
void hosts_memory_close(runnel_lease_store *store);

/* A lease document's JSON, or NULL; by the end of its id. */
const struct service_entry *hosts_lease(struct hosts *h, const char *token);

#endif
