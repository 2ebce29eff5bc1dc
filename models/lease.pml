/* lease.pml -- hosts of one fleet take a lease from one another, checkpoint,
 * and replace it by two when its range is split; requests and answers are lost
 * and arrive late.
 *
 * After the compare-and-swap loop and the reshaping of src/client/processor.
 * A request is an atomic step of the lease store.  A host may take a lease at
 * any moment: clocks decide only when to try, so expiry is left out.  All hosts
 * have one name, the worst case: only sessions tell them apart.
 *
 * The feed has changes 1 to WRITES, each with a document of both keys.  Lease 0
 * has both keys; leases 1 and 2, its children after the split, one each.
 *
 * Holds
 *   - every change at or below a stored position was acknowledged for each key
 *     of the lease
 *   - each key has a lease, at every moment
 *   - a stored position never falls
 *   - a write of a session is accepted only while the lease is in its hands
 *
 * -DBUG=n seeds a mistake; the list is in run.sh.
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef WRITES
#define WRITES 1
#endif
#ifndef TAKES
#define TAKES 2 /* acquisitions of all hosts */
#endif

#define LEASES 3
#define HOSTS 2

/* ---- the lease store ----------------------------------------------------- */

bool there[LEASES] = { true, false, false };
byte etag[LEASES]; /* rises with each write */
byte session[LEASES];
byte position[LEASES];

byte feed;           /* changes that were written */
bool is_split;       /* the range of lease 0 is gone */
byte acked[2];       /* by key: bits */
byte takes, drawn;   /* acquisitions begun, sessions drawn */
byte touches;        /* renewals begun */

/* A request that was delayed: it arrives when it will. */
#define NOTHING 0
#define PUT 1
#define CREATE 2
#define DELETE 3
byte late, late_lease, late_etag, late_session, late_position;
bool late_takes;

#define HAS(l, k) ((l) == 0 || (l) == (k) + 1)
#define COVERED(k) (there[0] || there[(k) + 1])
#define UPTO(p) ((1 << ((p) + 1)) - 2) /* bits 1 to p */

/* What the host learns of a request. */
#define DONE 1
#define REFUSED 2 /* 404, 409 or 412 */
#define UNKNOWN 3

hidden byte k;

inline check()
{
    for (k : 0 .. 1) {
        assert(COVERED(k))
    }
    for (k : 0 .. 1) {
        assert(!there[0] || (acked[k] & UPTO(position[0])) ==
                            UPTO(position[0]));
        assert(!there[k + 1] || (acked[k] & UPTO(position[k + 1])) ==
                                UPTO(position[k + 1]))
    }
    k = 0
}

/* How a request ends at the store; `did` is DONE or REFUSED. */
inline arrive(what, l, e, s, p, is_take, did)
{
    did = REFUSED;
    if
    :: what == PUT && there[l] && etag[l] == e ->
        assert(is_take || session[l] == s);
        assert(p >= position[l]);
        session[l] = s;
        position[l] = p;
        etag[l]++;
        did = DONE
    :: what == CREATE && !there[l] ->
        there[l] = true;
        session[l] = s;
        position[l] = p;
        etag[l]++;
        did = DONE
    :: what == DELETE && there[l] && etag[l] == e ->
        there[l] = false;
        did = DONE
    :: else
    fi;
    check()
}

/* Sends a request; `got` is what the host learns, and `e` becomes the etag of
 * the answer.  It may be lost, on its way there or back, or be late. */
inline send(what, l, e, s, p, is_take, got)
{
    atomic {
        if
        :: d_step {
            arrive(what, l, e, s, p, is_take, got);
            e = (got == DONE -> etag[l] : e)
        }
        :: d_step { arrive(what, l, e, s, p, is_take, got); got = UNKNOWN }
        :: got = UNKNOWN
        :: late == NOTHING -> d_step {
            late = what;
            late_lease = l;
            late_etag = e;
            late_session = s;
            late_position = p;
            late_takes = is_take;
            got = UNKNOWN
        }
        fi
    }
}

active proctype wire()
{
    byte did;

end:
    do
    :: d_step {
        late != NOTHING ->
        arrive(late, late_lease, late_etag, late_session, late_position,
               late_takes, did);
        late = NOTHING;
        late_lease = 0;
        late_etag = 0;
        late_session = 0;
        late_position = 0;
        late_takes = false;
        did = 0
    }
    od
}

active proctype world()
{
    do
    :: feed < WRITES -> feed++
    :: d_step { !is_split -> is_split = true }
    :: feed == WRITES && is_split -> break
    od
}

/* ---- hosts --------------------------------------------------------------- */

/* Writes a position, as often as it takes; `mine` is false if the lease is
 * another's by then.  After a refusal, or if the outcome is unknown, the lease
 * is read and the write applied to what it says. */
inline store(p)
{
    do
    :: send(PUT, lease, tag, own, p, false, got);
        d_step {
            if
            :: got == DONE -> kept = p
#if BUG == 7
            :: got != DONE && there[lease] ->
#else
            :: got != DONE && there[lease] && session[lease] == own ->
#endif
                tag = etag[lease];
                got = (position[lease] == p -> DONE : UNKNOWN);
                if
                :: got == DONE -> kept = p
                :: else
                fi
            :: else -> mine = false
            fi
        };
        if
        :: atomic { got == DONE || !mine -> got = 0; break }
        :: else
        fi
    od
}

#if BUG == 8
/* A renewal with a copy of its own, from the acquisition, which is sent again
 * as it is with the fresh etag. */
inline touch()
{
    send(PUT, lease, first_tag, own, first, false, got);
    if
    :: got != DONE ->
        d_step {
            first_tag = etag[lease];
            mine = there[lease] && session[lease] == own
        };
        if
        :: mine -> send(PUT, lease, first_tag, own, first, false, got)
        :: else
        fi
    :: else
    fi
}
#else
inline touch()
{
    store(kept)
}
#endif

/* A child, until it is there: made by this host or by another. */
inline make(l, p)
{
    do
    :: atomic { there[l] -> new = 0; got = 0; break }
    :: else -> send(CREATE, l, new, 0, p, false, got)
    od
}

inline remove()
{
    send(DELETE, 0, tag, 0, 0, false, got);
#if BUG == 13
    if
    :: got == REFUSED ->
        /* The parent was lost: undo. */
        d_step { there[1] = false; check() };
        d_step { there[2] = false; check() }
    :: else
    fi
#endif
}

/* The lease is replaced by its children. */
inline reshape()
{
#if BUG == 2
    store(kept);
    if
    :: mine -> make(1, seen); make(2, seen); remove()
#elif BUG == 5
    store(done);
    if
    :: mine -> remove(); make(1, kept); make(2, kept)
#else
    store(done);
    if
    :: mine -> make(1, kept); make(2, kept); remove()
#endif
    :: else
    fi;
    mine = false
}

inline handle()
{
    done = seen;
    if
    :: HAS(lease, 0) -> acked[0] = acked[0] | (1 << done)
    :: else
    fi;
    if
    :: HAS(lease, 1) -> acked[1] = acked[1] | (1 << done)
    :: else
    fi
}

#if BUG == 1
#define STORABLE seen
#else
#define STORABLE done
#endif
#if BUG == 2
#define IS_DRAINED true
#else
#define IS_DRAINED (seen == done)
#endif

/* As the owner, until it is not: it also just stops, which is a crash. */
inline work()
{
    do
    :: atomic { mine && !(is_split && lease == 0) && seen == done &&
                seen < feed -> seen++ }
    :: d_step { mine && seen > done -> handle() }
    :: mine && STORABLE > kept -> store(STORABLE)
    :: atomic { mine && touches < 1 -> touches++ }; touch()
    :: mine && is_split && lease == 0 && IS_DRAINED -> reshape()
    :: mine -> mine = false
    :: !mine -> break
    od
}

inline forget()
{
    d_step {
        tag = 0;
        own = 0;
        kept = 0;
        seen = 0;
        done = 0;
        got = 0;
        lease = 0;
        mine = false;
#if BUG == 8
        first = 0;
        first_tag = 0;
#endif
        new = 0
    }
}

inline acquire()
{
    atomic {
        takes < TAKES -> takes++;
        if
        :: there[0] -> lease = 0
        :: there[1] -> lease = 1
        :: there[2] -> lease = 2
        fi;
        d_step {
            drawn++;
            own = drawn;
            tag = etag[lease];
            kept = position[lease]
        }
    };
    send(PUT, lease, tag, own, kept, true, got);
    d_step {
        /* Ours by session, also if the answer was lost. */
        mine = got == DONE || (there[lease] && session[lease] == own);
        tag = (got == DONE -> tag : etag[lease]);
#if BUG == 8
        first = kept;
        first_tag = tag;
#endif
        seen = kept;
        done = kept;
        got = 0
    }
}

/* A lease whose keys others have, too: the larger one is deleted, and nothing
 * else. */
inline sweep()
{
    atomic {
        there[0] && there[1] && there[2] -> lease = 0; tag = etag[0]
#if BUG == 14
        ;
        if
        :: true
        :: lease = 1; tag = etag[1]
        fi
#endif
    };
    send(DELETE, lease, tag, 0, 0, false, got)
}

active [HOSTS] proctype host()
{
    byte lease, tag, own, kept, seen, done, got, new;
#if BUG == 8
    byte first, first_tag;
#endif
    bool mine;

    do
    :: acquire(); work(); forget()
    :: sweep(); forget()
    :: takes == TAKES -> break
    od
}
