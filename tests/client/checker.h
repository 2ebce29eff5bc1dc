/* checker.h -- judges a fleet by what its handlers and its lease store saw.
 *
 * The fleet reports every call of a handler and every verdict; the lease store
 * is watched write by write.  At each event the checker compares with the log
 * of the source:
 *
 *   I1  every change at or below a stored position, in the interval of the
 *       lease, was acknowledged
 *   I2  once there is a marker, the leases cover all keys at every moment
 *   I3  calls of one lease in one host do not overlap
 *   I4  only the host whose session a lease has changes its position and owner
 *   I5  a stored position never falls
 *   I6  a change is delivered after all older ones of its key were acknowledged
 *   I7  no call starts before open or after close; close waits for the last
 *   I8  a host that lives opens what it acquired, also if the answer was lost
 *   I9  with a live host no lease is without a live owner for longer than the
 *       expiry and two passes, whatever others write into it meanwhile
 *
 * At all times every change is acknowledged, or lies above the position of a
 * lease that has its key: nothing is skipped.
 *
 * Repeats are bounded:
 *
 *   R1  what an acquisition delivers lies above the position that the lease had
 *       then, or was put back to by others who left it the lease
 *   R2  an acquisition delivers nothing again that its handler has
 *       acknowledged, but once for each such move (a rejected batch whose dead
 *       letters could not all be stored comes again as a whole)
 *   R3  no call starts when the last write of the lease is longer ago than the
 *       expiry less its margin, so that only the calls of that time come twice
 *   R4  what was acknowledged is stored at once: once the world has healed only
 *       the calls of the last write's flight come twice after a kill
 *   R5  a .NET host stores a page before it reads the next, so that at most one
 *       page of each of its acquisitions comes twice; R1 and R2 are theirs, too
 *   R6  what all leases that have the key of a change store stays stored: a
 *       host of this library makes no lease below it, but by a request that it
 *       sent while it could take the lease before for its own (R3): one that
 *       has its name, or that marked the lease, takes it before it expires
 *
 * So each acquisition repeats a change once at most, and only what the owner
 * before it could not store.  A .NET host alone puts back what was stored, by a
 * write without condition or a lease that it makes of one that it has lost.
 * Then each change of that comes again once for each acquisition that begins
 * before it is stored again.  How many changes that are has no bound but the
 * time until its next renewal: all that others did since its acquisition.
 *
 * Hosts of the .NET library (their numbers are above CHECKER_PEER) write
 * without conditions, know no sessions and put positions back; I3 to I5, I7 and
 * I8 are not theirs.  What they store must have been acknowledged all the same
 * (I1), what they delete must be covered (I2), and they keep the order of a key
 * (I6). Two errors are the library's own:
 *
 *   - When a range was split and a half merged with a neighbour before it
 *     looked, it makes a lease of the whole merged range at the position of the
 *     half.  The neighbour's lease stays, so that nothing is skipped; but I1
 *     and I6 are not judged any more of the keys of such a lease.  If it comes
 *     to the neighbour's lease, too, it finds that of the whole and deletes the
 *     neighbour's: what that had still to deliver is lost, and is no mistake of
 *     ours.
 *   - It takes a range for covered if an ancestor has a lease.  After a merge
 *     that ancestor may be smaller, and its marker then hides a hole.  I2 and
 *     skips are not judged of those keys until a host of this library has
 *     filled the hole.
 *
 * A host of this library writes a lease only while it owns it: also after one
 * of theirs took it and left the session in it (I4).
 *
 *   I10 a lease that is damaged is not written, and one that was tampered with
 *       is never taken for more than it says
 *
 * An operator who tampers writes as CHECKER_OPERATOR.  A damaged lease counts
 * as what it was.  The keys of a lease that the operator deleted count as if it
 * were still there, until leases made since then have them: what is above its
 * position is to be delivered by the lease that fills the hole.  Until then
 * this says nothing of a second fault in the same keys: that a host deletes its
 * own lease too early there is not found in that run.
 *
 * Several calls of a lease may be under way (`several`).  Then I3 bounds their
 * number, and in place of I6:
 *
 *   O1  when a change is delivered, each older one of its key was acknowledged
 *   O2  when a change comes again, later ones of its key that had come in the
 *       acquisition come again, too: that they were acknowledged counts for
 *       nothing.  Not those of a call whose mark gave the change up
 *
 * If calls of a key overlap, too (`is_ahead`), they may start in any order.  O1
 * and R2 are not judged then, and O2 of those that had come before the change
 * failed.
 *
 * With checkpoints by hand the handler keeps what it is done with in memory,
 * until it makes a checkpoint of it: only then it is acknowledged.  The rest is
 * lost with its host and must come again.  If the verdict after a checkpoint is
 * not DONE, the handler takes back what is not stored:
 *
 *   M1  a checkpoint that succeeded, of a whole page, is stored
 *   M2  what was taken back is stored by no request that was sent later
 *
 * The source is either of all versions, or its documents are written once; so
 * every entry of its log has to be acknowledged.  The first violation is kept.
 */
#ifndef RN_TESTS_CLIENT_CHECKER_H
#define RN_TESTS_CLIENT_CHECKER_H

#include "client/dotnet_peer.h"
#include "client/service.h"

#include <runnel/processor.h>

enum {
    CHECKER_COMMITS_MAX = 4096,
    CHECKER_SESSIONS_MAX = 1024,
    CHECKER_OPEN_MAX = 256,
    CHECKER_BATCH_MAX = 512,
    CHECKER_LEASES_MAX = 256,
    CHECKER_GONE_MAX = 64,
    CHECKER_PEER = 100000,
    CHECKER_OPERATOR = CHECKER_PEER,
};

/* Keys that have no lease through no fault of a host of this library: an
 * operator deleted it, or a .NET host began without it. */
struct checker_gone {
    struct rn_epk_range keys;
    int64_t lsn;     /* the position that the lease had; -1: none */
    uint64_t commit; /* of the lease container, when it went */
};

/* A lease that a host has opened. */
struct checker_open {
    int host;
    char lease[80];
    unsigned calls; /* that have not returned */
};

/* What a host does with a lease from one acquisition to the next. */
struct checker_work {
    int host;
    char lease[80];
    unsigned acquisition; /* 1, 2, ... */
    int64_t floor;        /* the LSN that it began at */
    int64_t stored;       /* the highest that it has stored */
    int64_t written_ns;   /* its last write of the lease */
    unsigned moves;       /* by others: it may begin again so often */
    uint16_t round;       /* + 1 each time it has done so */
    /* By commit: the round in which it was delivered, and acknowledged. */
    uint16_t seen[CHECKER_COMMITS_MAX], done[CHECKER_COMMITS_MAX];
    bool must_come[CHECKER_COMMITS_MAX]; /* O2: no verdict counts before */
    /* By commit: its last call; the youngest older change of its key that a
     * mark in one of its calls gave up, 0: none. */
    uint16_t call[CHECKER_COMMITS_MAX], passed[CHECKER_COMMITS_MAX];
    uint16_t failed[CHECKER_COMMITS_MAX];  /* when, counted as calls are */
    bool is_given_up[CHECKER_COMMITS_MAX]; /* by a mark */
    uint16_t calls;
};

/* A lease that no live host owns. */
struct checker_unowned {
    char lease[80];
    char session[80]; /* of the last acquisition */
    int64_t since_ns;
    bool is_there; /* in the listing of this moment */
};

struct checker {
    const struct service_box *source, *leases;
    bool has_marker;
    bool trace;                      /* prints what happens */
    bool acked[CHECKER_COMMITS_MAX]; /* by commit of the source */
    struct {
        char text[80];
        int host;
        bool was_tried; /* the host has called open */
    } sessions[CHECKER_SESSIONS_MAX];
    size_t session_count;
    struct checker_open opens[CHECKER_OPEN_MAX];
    size_t open_count;
    struct checker_gone gone[CHECKER_GONE_MAX];
    size_t gone_count;
    /* Intervals of leases that .NET hosts made too large. */
    struct rn_epk_range overgrown[CHECKER_GONE_MAX];
    size_t overgrown_count;
    struct checker_work works[CHECKER_OPEN_MAX];
    size_t work_count;
    int64_t acked_ns[CHECKER_COMMITS_MAX]; /* by commit: the last time */
    /* R6, by commit: from when on a host of this library can know that all
     * leases that have its key store it; 0: they do not. */
    int64_t stored_ns[CHECKER_COMMITS_MAX];
    int64_t valid_ms; /* R3: a lease is good so long after a write; 0: not
                       * judged */
    unsigned several; /* calls of a lease under way; 0: one */
    bool is_ahead;    /* calls of a key overlap, too */
    bool is_manual;   /* checkpoints are made by hand */
    /* By commit: the only acquisition whose handler acknowledged it, or 0. */
    unsigned acked_by[CHECKER_COMMITS_MAX], acquisitions;
    int64_t taken_ns[CHECKER_COMMITS_MAX]; /* M2, by commit: when; 0: not */
    int64_t sent_ns;                       /* of the lease write judged now */
    uint64_t repeats; /* deliveries of what was acknowledged before */
    struct checker_unowned unowned[CHECKER_LEASES_MAX];
    size_t unowned_count;
    uint64_t deliveries, acks, lease_writes, positions; /* for the report */
    uint64_t peer_writes;
    uint64_t put_back; /* changes that were stored, and are not any more */
    uint64_t lost;     /* ... that .NET hosts skipped by their own error */
    char failure[300]; /* "": none */
};

void checker_init(struct checker *c, const struct service_box *source,
                  const struct service_box *leases);

/* A line of the trace. */
void checker_note(const struct checker *c, const char *fmt, ...)
    RN_PRINTF(2, 3);

/* A write of the lease container, by `sender`, who sent it at that time. */
void checker_lease(struct checker *c, const struct service_entry *e, int sender,
                   int64_t sent_ns);

/* A call of open, and that it succeeded. */
void checker_tried(struct checker *c, int host, const char *lease);
void checker_opened(struct checker *c, int host, const char *lease);
void checker_closed(struct checker *c, int host, const char *lease);
/* Everything that a host had open is gone: it was killed. */
void checker_killed(struct checker *c, int host);

/* A call begins.  Writes the commits of its changes; returns how many. */
size_t checker_delivered(struct checker *c, int host, const char *lease,
                         const runnel_batch *batch,
                         uint64_t commits[CHECKER_BATCH_MAX]);
/* A call ends: its verdict was given. */
void checker_returned(struct checker *c, int host, const char *lease);
/* The handler is done with a change of the lease; "": its dead letter is
 * stored. */
void checker_acked(struct checker *c, int host, const char *lease,
                   uint64_t commit);
/* The verdict on a change is DONE.  With checkpoints by hand that acknowledges
 * nothing yet. */
void checker_handled(struct checker *c, int host, const char *lease,
                     uint64_t commit);
/* The verdict on a change is another. */
void checker_failed(struct checker *c, int host, const char *lease,
                    uint64_t commit);
/* The handler's mark gives a change up. */
void checker_given_up(struct checker *c, int host, const char *lease,
                      uint64_t commit);
/* A handler makes a checkpoint: what it has in memory and these changes last
 * from now on. */
void checker_kept(struct checker *c, int host, const char *lease,
                  const uint64_t *commits, size_t count);
/* A change does not last, unless it is stored. */
void checker_taken_back(struct checker *c, int host, const char *lease,
                        uint64_t commit);
/* M1 */
void checker_is_kept(struct checker *c, int host, const char *lease,
                     const uint64_t *commits, size_t count);
/* R4: what the host has acknowledged for longer than this is stored. */
void checker_stored(struct checker *c, int host, int64_t ms);
/* Of a host of the .NET library: it begins to read a lease at a position, ""
 * without one; its delegate is called. */
void checker_peer_began(struct checker *c, int host, const char *token,
                        const char *position);
void checker_peer_delivered(struct checker *c, int host, const char *token,
                            const struct dotnet_change *changes, size_t count);
/* The commit of a change; 0: it was never written. */
uint64_t checker_commit(const struct checker *c, const runnel_change *change);
uint64_t checker_find(const struct checker *c, struct rn_view id, uint64_t lsn);

/* How many changes are not acknowledged yet. */
size_t checker_missing(const struct checker *c);
/* I8: counts leases whose session belongs to a host for which `is_live`, and
 * for which that host has not called open. */
size_t checker_orphans(const struct checker *c,
                       bool (*is_live)(void *context, int host), void *context);
/* I9: called every moment from `now_ns` on.  Returns for how many nanoseconds
 * the lease that waits longest has had no owner for which `is_live`.  An
 * acquisition that a host sent before it died begins anew. */
int64_t checker_unowned(struct checker *c, int64_t now_ns,
                        bool (*is_live)(void *context, const char *host),
                        void *context);
/* Counts from anew. */
void checker_unowned_forget(struct checker *c);
/* I9: has every lease an owner for which `is_live`? */
bool checker_is_owned(const struct checker *c,
                      bool (*is_live)(void *context, const char *host),
                      void *context);

#endif
