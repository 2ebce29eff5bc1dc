/* document.h -- a lease as JSON: one document for one range of the source.
 *
 * The form is that of the .NET library, version 3, all members in its order:
 *
 *   {"id":"printer127.0.0.1_M2V2ZQ==_M2V2Zbs9Vsc=..0","version":0,
 *    "_etag":"\"...\"","LeaseToken":"0",
 *    "FeedRange":{"Range":{"min":"","max":"FF"}},"Owner":"host-1",
 *    "ContinuationToken":"\"42\"","properties":{"runnel.epoch":"3"},
 *    "timestamp":"2026-11-18T02:50:32.698Z","_ts":1794970232,
 *    "Mode":"Incremental Feed"}
 *
 * Version 1 is the lease of an interval of effective partition keys (EPKs); its
 * token is "MIN-MAX", and Mode stands before timestamp.  A lease of version 2
 * of the library has PartitionId in the place of version, LeaseToken and
 * FeedRange; it is read, and written in the form above with its PartitionId.
 * Members that are not known are kept byte for byte behind the others.  Leases
 * of the Java library's EPK form are refused.
 *
 * What Runnel needs beyond this form lies in `properties`, text to text, which
 * all .NET hosts keep when they write a lease.  They copy the properties of a
 * lease into its children after a split, so each value must do no harm there:
 * it is bound to the token or to the position, or it is right to inherit.
 *
 * A lease is a struct of views.  A document owns the bytes of one.  To change a
 * lease, copy the struct, set views, and print it.
 *
 * Values only; any thread.
 */
#ifndef RN_CLIENT_LEASE_DOCUMENT_H
#define RN_CLIENT_LEASE_DOCUMENT_H

#include "client/http/error.h"
#include "cosmos/epk.h"

enum {
    RN_LEASE_TEXT_MAX = 1 << 20,
    RN_LEASE_ETAG_MAX = 64, /* with the NUL */
    RN_LEASE_PROPERTIES_MAX = 256,
    RN_LEASE_TOKEN_MAX = 2 * RN_EPK_TEXT_MAX + 2, /* with the NUL */
};

#define RN_LEASE_MODE_LATEST "Incremental Feed"
#define RN_LEASE_MODE_ALL "Full-Fidelity Feed"

/* Properties.  The comment says the form of the value. */
#define RN_LEASE_SESSION "runnel.session"       /* STARTMS-HEX */
#define RN_LEASE_OWNER "runnel.owner"           /* Owner at that session */
#define RN_LEASE_EPOCH "runnel.epoch"           /* decimal */
#define RN_LEASE_MADE "runnel.made"             /* TOKEN */
#define RN_LEASE_RANGE "runnel.range"           /* TOKEN MIN-MAX */
#define RN_LEASE_START "runnel.start"           /* beginning, now, time:S */
#define RN_LEASE_ATTEMPTS "runnel.attempts"     /* N CONTINUATION */
#define RN_LEASE_GENERATION "runnel.generation" /* decimal */
#define RN_LEASE_WANTED "runnel.wanted"         /* HOST SERVERMS */
#define RN_LEASE_INTERVALS "runnel.intervals"   /* ACQUIRE RENEW EXPIRE */
#define RN_LEASE_SPLIT "runnel.split"           /* TOKEN BOUND,BOUND,... */

struct rn_lease_property {
    struct rn_view name, value; /* value.at is NULL: JSON's null */
};

/* A view whose `at` is NULL is null or absent. */
struct rn_lease {
    struct rn_view id;
    struct rn_view partition_key; /* of a container keyed by /partitionKey */
    struct rn_view etag;
    struct rn_view token;
    struct rn_view partition_id; /* of a lease that version 2 made */
    struct rn_view owner;
    struct rn_view position; /* etag of the change feed, quotes included */
    struct rn_view mode;
    struct rn_view feed_range; /* JSON, as it was read */
    struct rn_view extras;     /* unknown members, as they were read */
    bool is_epk;               /* the token is an interval, not a range id */
    bool has_range;            /* `range` is known */
    struct rn_epk_range range;
    struct rn_view timestamp; /* the writer's time of the last write */
    int64_t timestamp_ms;     /* the same as a number */
    int64_t ts_s; /* the server's time of the last write, seconds; 0: none */
    size_t property_count;
    struct rn_lease_property properties[RN_LEASE_PROPERTIES_MAX];
};

/* Owns the text that its lease refers to. */
struct rn_lease_document {
    struct rn_arena arena;
    struct rn_lease lease;
};

/* Reads one document.  RUNNEL_PROTOCOL if it is damaged; RUNNEL_UNSUPPORTED if
 * it is a lease that another library made and that cannot be shared.  Both
 * have a message that names the id. */
runnel_code rn_lease_document_new(struct rn_view json,
                                  struct rn_lease_document **out,
                                  runnel_error *error) RN_CHECK;
void rn_lease_document_free(struct rn_lease_document *document);

/* Appends the JSON of a lease. */
runnel_code rn_lease_print(const struct rn_lease *lease,
                           struct rn_buf *out) RN_CHECK;

/* ---- properties ---------------------------------------------------------- */

/* The value, or a view whose `at` is NULL. */
struct rn_view rn_lease_property(const struct rn_lease *lease,
                                 const char *name);
/* Sets or, with a `value.at` of NULL, removes it.  The views are borrowed.
 * False if there are too many properties. */
bool rn_lease_set(struct rn_lease *lease, const char *name,
                  struct rn_view value) RN_CHECK;

/* A decimal value, or 0. */
uint64_t rn_lease_number(const struct rn_lease *lease, const char *name);
/* True if the owner is a host that uses this library. */
bool rn_lease_is_native(const struct rn_lease *lease);
/* True if the last write was one of version 2 of the .NET library, which keeps
 * neither FeedRange nor LeaseToken. */
bool rn_lease_is_version_2(const struct rn_lease *lease);
/* The value of a property of the form "TOKEN VALUE", if TOKEN is the token of
 * this lease; else a view whose `at` is NULL. */
struct rn_view rn_lease_bound(const struct rn_lease *lease, const char *name);
/* How often the batch after the lease's position has failed. */
uint32_t rn_lease_attempts(const struct rn_lease *lease);
/* The host that wants the lease and the server time of its mark. */
bool rn_lease_wanted(const struct rn_lease *lease, struct rn_view *host,
                     int64_t *at_ms);
/* The time after which an owner that uses this library loses the lease; 0 if
 * it is unknown. */
uint32_t rn_lease_expire_ms(const struct rn_lease *lease);
/* Is the lease to begin at a time?  It is one of this library's: a whole number
 * of seconds, and not before 1970 nor after 9999. */
bool rn_lease_start_second(const struct rn_lease *lease, int64_t *second);
/* Server time at which the owner's processor started; 0 if unknown. */
int64_t rn_lease_session_start(const struct rn_lease *lease);

/* ---- ranges and tokens --------------------------------------------------- */

/* Writes "MIN-MAX" and a NUL. */
struct rn_view rn_lease_token_print(const struct rn_epk_range *range,
                                    char out[RN_LEASE_TOKEN_MAX]);
/* Reads "MIN-MAX". */
bool rn_lease_token_parse(struct rn_view token, struct rn_epk_range *out);

/* ---- positions ----------------------------------------------------------- */

/* Order of two positions that are quoted integers; false if either is not. */
bool rn_lease_position_compare(struct rn_view a, struct rn_view b, int *order);

/* ---- times --------------------------------------------------------------- */

enum { RN_LEASE_TIME_MAX = 32 };

/* ISO 8601 with a Z, as .NET prints it: no trailing zeros. */
struct rn_view rn_lease_time_print(int64_t ms, char out[RN_LEASE_TIME_MAX]);
bool rn_lease_time_parse(struct rn_view text, int64_t *ms);
/* Sets the timestamp; its text lives in `out`. */
void rn_lease_stamp(struct rn_lease *lease, int64_t ms,
                    char out[RN_LEASE_TIME_MAX]);

#endif
