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

#endif
