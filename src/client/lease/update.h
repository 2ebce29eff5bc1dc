/* update.h -- compare-and-swap of one lease, round by round.
 *
 *   next = rn_update_begin(&u)
 *   WRITE   replace the document by u.text if its etag is u.base's
 *           next = rn_update_written(&u, code, new etag)
 *   READ    read the document
 *           next = rn_update_read(&u, code, fresh document)
 *   DONE    u.base is the document that the store has now
 *   LOST    the lease belongs to another session, or is gone
 *   FAILED  the store did not answer; nothing is known beyond u.base
 *
 * The change is applied to the document that the etag belongs to, never to an
 * older copy, and only if Owner and session in that document are ours.  The
 * outcome of a write whose answer was lost is found by reading.  A position
 * that this session did not write wins if its generation is new (a seek);
 * otherwise the smaller one does.
 *
 * Decides only; sends nothing and asks no clock.  One thread.
 */
#ifndef RN_CLIENT_LEASE_UPDATE_H
#define RN_CLIENT_LEASE_UPDATE_H

#include "client/lease/document.h"

enum {
    RN_UPDATE_ROUNDS_MAX = 6,
    RN_SESSION_MAX = 64, /* of a session, with the NUL */
};

enum rn_update_kind {
    RN_UPDATE_ACQUIRE, /* become the owner */
    RN_UPDATE_STORE,   /* position and attempts; renews the lease */
    RN_UPDATE_RELEASE, /* position; no owner afterwards */
};

enum rn_update_next {
    RN_UPDATE_WRITE,
    RN_UPDATE_READ,
    RN_UPDATE_DONE,
    RN_UPDATE_LOST,
    RN_UPDATE_FAILED,
};

/* The host that writes. */
struct rn_update_host {
    const char *host;
    const char *session;   /* drawn for this acquisition */
    const char *intervals; /* value of runnel.intervals */
};

struct rn_update {
    enum rn_update_kind kind;
    const struct rn_update_host *host;
    struct rn_lease_document *base; /* the caller's, replaced on DONE */
    int64_t now_ms;                 /* the store's time, for the timestamp */

    /* ACQUIRE */
    struct rn_view owner_seen; /* when the lease was selected; null: free */
    bool was_expired;          /* give up if the document changed at all */
    bool has_range;            /* fill in the range of an old document */
    struct rn_epk_range range;

    /* STORE, RELEASE */
    struct rn_view position; /* null: as it is */
    struct rn_view doubtful; /* of an earlier write, whose outcome is unknown;
                              * null: there is none */
    uint32_t attempts;       /* of the batch after the position */
    struct rn_view split;    /* value of runnel.split; null: none */
    bool has_weight;         /* else the stored one stays */
    uint32_t weight;         /* changes a minute */

    /* ---- outcome ---- */
    struct rn_buf text;   /* the JSON to write */
    bool has_moved;       /* the position was changed from outside */
    bool has_failed_hard; /* FAILED: trying again is of no use */
    bool is_doubtful;     /* FAILED: what was written may be there */
    char owner[132];      /* LOST: the new owner; "": none or unknown */
    char owner_session[RN_SESSION_MAX]; /* LOST: its session; "": none */
    unsigned rounds;
};

/* The caller has set everything up to the outcome, the rest is zero. */
enum rn_update_next rn_update_begin(struct rn_update *u);
enum rn_update_next rn_update_written(struct rn_update *u, runnel_code code,
                                      const char *etag);
/* Takes `fresh`, which is NULL if there is no document or no answer. */
enum rn_update_next rn_update_read(struct rn_update *u, runnel_code code,
                                   struct rn_lease_document *fresh);
/* Gives the memory back; u->base stays. */
void rn_update_release(struct rn_update *u);

/* Is the owner in this document this session? */
bool rn_update_is_ours(const struct rn_update_host *host,
                       const struct rn_lease *lease);

#endif
