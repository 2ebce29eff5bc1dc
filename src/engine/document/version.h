/* version.h -- a document made ready to be written.
 *
 * What grows with the document is done here, by whoever asks and before the
 * write is queued: the body is parsed, its key hashed, its row rendered with
 * slots of fixed width for what only the committer knows (_rid, _self, _etag,
 * _ts).  apply.h fills them.
 */
#ifndef RN_ENGINE_DOCUMENT_VERSION_H
#define RN_ENGINE_DOCUMENT_VERSION_H

#include "cosmos/etag.h"
#include "cosmos/pk.h"
#include "engine/key.h"
#include "engine/range/container.h"

/* Bytes of JSON as sent, but for the system properties, which are replaced. */
enum { RN_DOCUMENT_MAX = 2 << 20 };

struct rn_version {
    const struct rn_container *container;
    struct rn_epk epk;
    struct rn_key key; /* under 'd' */
    /* What a document there must have to be the one that is meant; borrowed.
     * NULL: no other can be there. */
    const struct rn_pk *pk;
    bool is_linkless; /* see row.h; set before it is rendered */
    int32_t ttl;      /* its own; 0: none */
    /* When it ends, if one of its properties says from when its time counts;
     * 0: none.  Then `ttl` is what is left of that when it is filled. */
    int64_t until;

    /* Of a rendered one. */
    struct rn_unique_hashes unique; /* of its unique values */
    struct rn_view id;              /* in the arena */
    struct rn_key *from; /* of what it replaces under another id; or NULL */
    struct rn_buf row;   /* feed row: header, epk, JSON with slots */
    size_t rid_slot, self_slot, etag_slot, ts_slot; /* in row */
};

/* Is the property of that name ours?  What a client sends of it is left out. */
bool rn_name_is_system(struct rn_view name);

/* Where the document of a key and an id lies; enough to delete it. */
void rn_version_aim(struct rn_version *v, const struct rn_container *c,
                    const struct rn_pk *pk, struct rn_view id);

/* Parses and checks `body` and renders it, into what memory v->row has and with
 * v->is_linkless: all else of `v` may be anything.  `pk`, unless NULL, is what
 * the request says and the body must agree with; `id`, unless at NULL, is that
 * of the document it replaces, and may be another.  RN_BAD_REQUEST (reason
 * KEY_MISMATCH where the key is the trouble), RN_TOO_LARGE. */
enum rn_code rn_version_render(struct rn_version *v,
                               const struct rn_container *c,
                               struct rn_view body, const struct rn_pk *pk,
                               struct rn_view id, struct rn_arena *arena,
                               struct rn_err *err) RN_CHECK;

/* Writes what the committer decided into the slots. */
void rn_version_fill(struct rn_version *v, uint64_t rid, struct rn_etag etag,
                     int64_t ts);
/* The document as served, once filled. */
struct rn_view rn_version_json(const struct rn_version *v);
void rn_version_release(struct rn_version *v); /* zeroed is fine */

#endif
