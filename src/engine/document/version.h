/* version.h -- a document version, prepared for writing.
 *
 * Work that grows with the document is done here, by the requesting thread and
 * before the write is queued: the body is parsed, its key hashed, its row
 * rendered with slots of fixed width for the values that only the committer
 * knows (_rid, _self, _etag, _ts). apply.h fills them.
 */
#ifndef RN_ENGINE_DOCUMENT_VERSION_H
#define RN_ENGINE_DOCUMENT_VERSION_H

#include "cosmos/etag.h"
#include "cosmos/pk.h"
#include "engine/key.h"
#include "engine/range/container.h"

/* Bytes of JSON as sent, without the system properties, which are replaced. */
enum { RN_DOCUMENT_MAX = 2 << 20 };

struct rn_version {
    const struct rn_container *container;
    struct rn_epk epk;
    struct rn_key key; /* under 'd' */
    /* The key value that a document found there must have; borrowed.  NULL: no
     * other key value can have this key. */
    const struct rn_pk *pk;
    bool is_linkless; /* see row.h; set before it is rendered */
    int32_t ttl;      /* its own; 0: none */
    /* When it expires, if one of its properties gives the start of its ttl; 0:
     * none.  Then `ttl` becomes the remaining time when the version is filled.
     */
    int64_t until;

    /* Set by rendering. */
    struct rn_unique_hashes unique; /* of its unique values */
    struct rn_view id;              /* in the arena */
    struct rn_key *from; /* its document's key under the old id, or NULL */
    struct rn_buf row;   /* feed row: header, epk, JSON with slots */
    size_t rid_slot, self_slot, etag_slot, ts_slot; /* in row */
};

/* Is this the name of a system property?  Those in a client's body are dropped.
 */
bool rn_name_is_system(struct rn_view name);

/* Sets the key of a document from its key value and id; enough to delete it. */
void rn_version_aim(struct rn_version *v, const struct rn_container *c,
                    const struct rn_pk *pk, struct rn_view id);

/* Parses and checks `body` and renders it, into the memory of v->row and with
 * v->is_linkless; all other members of `v` may be uninitialised.  `pk`, unless
 * NULL, is the request's, and the body must agree with it.  `id`, unless at
 * NULL, is that of the document it replaces, and may differ from the body's.
 * RN_BAD_REQUEST (reason KEY_MISMATCH if the key is wrong), RN_TOO_LARGE. */
enum rn_code rn_version_render(struct rn_version *v,
                               const struct rn_container *c,
                               struct rn_view body, const struct rn_pk *pk,
                               struct rn_view id, struct rn_arena *arena,
                               struct rn_err *err) RN_CHECK;

/* Prepares a version that the container has had, from the tail of its key and
 * its feed row, without parsing it: such a copy is cheap.  Only for a document
 * that exists or whose place is free, since v->pk is not known.  RN_NOT_FOUND
 * if the row has to be rendered: the container needs values of it, or its
 * system properties are not those of this container's documents. */
enum rn_code rn_version_copy(struct rn_version *v, const struct rn_container *c,
                             struct rn_view key_tail,
                             struct rn_view row) RN_CHECK;

/* Writes the values that the committer assigned into the slots. */
void rn_version_fill(struct rn_version *v, uint64_t rid, struct rn_etag etag,
                     int64_t ts);
/* The document as served, and its rid, once filled. */
struct rn_view rn_version_json(const struct rn_version *v);
uint64_t rn_version_rid(const struct rn_version *v);
void rn_version_release(struct rn_version *v); /* zeroed is fine */

/* Makes the template of the system properties of a container's documents. */
enum rn_code rn_frame_make(struct rn_rid container, struct rn_arena *arena,
                           struct rn_frame *out) RN_CHECK;

#endif
