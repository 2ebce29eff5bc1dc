/* wait.pml -- a change is published while readers look, park, are woken, run
 * out of time, lose their clients, and the server ends.
 *
 * After src/waiters/waiters.c, the publishing in src/engine/engine.c and the
 * requests of src/rest/feed/feeds.c.  What happens under the waiters' lock is one
 * atomic step; the count of those that look is read without it, as there.
 *
 * Holds
 *   - nobody is parked who has not seen all that was published to him: at the
 *     moment of parking and at the end of every publishing
 *   - a parked reader is woken once, and a reader that is not parked never
 *   - each request is answered once
 *   - 304 names a place at or before which nothing lay that he asked for
 *   - all with a deadline are answered, and all once everything ends
 *
 * A reader may be of a part of its range, so that a commit is a move to it and
 * not a find: MATCH is one that all of them asked for.
 *
 * -DSPLIT lets range 0 die, too; with -DCALM no time passes, no client goes and
 * nothing ends, which leaves room for more readers.  -DBUG=n seeds a mistake; the list is in run.sh.
 */
#ifndef BUG
#define BUG 0
#endif

#ifndef READERS
#define READERS 2
#endif
#ifndef COMMITS
#define COMMITS 1
#endif
#define NEVER 9
#define ANY 2 /* the bucket of those who wait for any range */

/* Reader 1 reads ranges 0 and 1 and waits for ever; the others read range 0.
 * The arrays have room for three. */
#define BUCKET(w) ((w) == 1 -> ANY : 0)
#ifdef CALM
#define DEADLINE(w) NEVER
#define LAST_DEADLINE 0
#else
#define DEADLINE(w) ((w) == 1 -> NEVER : (w) / 2 + 1)
#define LAST_DEADLINE (READERS - 1)
#endif

/* The store, as a snapshot sees it. */
byte lsn[2];
byte matched[2]; /* the first LSN that was asked for, or 0 */
bool split;      /* range 0 is dead */

/* The waiters. */
#define IDLE 0
#define LOOKING 1
#define PARKED 2
byte state[3];
byte moves_seen[3];
bool dismissed[3];
byte moves[3];
byte looking;
bool closed;
byte now;
byte armed = NEVER; /* when the task looks at the deadlines */
bool poked;

/* The requests. */
byte seen[6]; /* how far reader w looked in range r: 2 * w + r */
bool owed[READERS], resumed[READERS], answered[3];

/* What has been told to the waiters in full. */
byte published[2];
bool published_split, published_end;

inline check_parked(w)
{
    assert(state[w] != PARKED ||
           (seen[2 * w] >= published[0] && !published_end &&
            (w != 1 || seen[2 * w + 1] >= published[1]) &&
            (w == 1 || !published_split)))
}

inline check_all_parked()
{
    check_parked(0);
    check_parked(1);
    check_parked(2)
}

/* Under the lock; `list` is of those that its caller will wake. */
inline take(w, list)
{
    state[w] = IDLE;
    assert(looking > 0);
    looking--;
    list = list | (1 << w)
}

inline wake(w)
{
    assert(owed[w] && !answered[w]);
    owed[w] = false;
    resumed[w] = true
}

inline wake_listed(w, list)
{
    if
    :: list & (1 << w) -> wake(w)
    :: else
    fi
}

inline wake_list(list)
{
    atomic {
        wake_listed(0, list);
        wake_listed(1, list);
        wake_listed(2, list);
        list = 0
    }
}

/* ---- the committer ------------------------------------------------------- */

inline move_bucket(b, list)
{
    moves[b]++;
    if
    :: b == 0 && state[0] == PARKED -> take(0, list)
    :: else
    fi;
    if
#if BUG == 11
    :: b == 0 && list == 0 && state[2] == PARKED -> take(2, list)
#else
    :: b == 0 && state[2] == PARKED -> take(2, list)
#endif
    :: else
    fi;
    if
    :: b == ANY && state[1] == PARKED -> take(1, list)
    :: else
    fi
}

inline told(r)
{
    published[r] = lsn[r];
    check_all_parked()
}

inline move(r, list)
{
    atomic {
        move_bucket(r, list);
#if BUG != 10
        move_bucket(ANY, list);
#endif
        told(r)
    };
    wake_list(list)
}

/* The look at the count and the taking of the lock are two steps. */
inline publish(r, list)
{
    cares = looking > 0;
    if
    :: cares -> move(r, list)
    :: else -> atomic { told(r) }
    fi
}

inline commit(r)
{
    atomic {
        lsn[r]++;
        if
        :: matched[r] == 0 -> matched[r] = lsn[r] /* MATCH */
        :: true
        fi
    }
}

inline publish_split(list)
{
    atomic {
        if
        :: looking > 0 ->
            move_bucket(0, list);
            move_bucket(1, list);
            move_bucket(ANY, list)
        :: else
        fi;
        published_split = true;
        check_all_parked()
    };
    wake_list(list)
}

active proctype committer()
{
    byte i, r, list;
    bool cares;

    do
    :: atomic {
        i < COMMITS ->
        i++;
        if
        :: r = 0
        :: r = 1
        fi
    };
#if BUG == 3
        publish(r, list);
        commit(r);
        atomic { told(r); r = 0; cares = false }
#elif BUG == 8
        cares = looking > 0;
        commit(r);
        if
        :: cares -> move(r, list)
        :: else -> atomic { told(r) }
        fi
#else
        commit(r);
        publish(r, list);
        atomic { r = 0; cares = false }
#endif
#ifdef SPLIT
    :: atomic { i < COMMITS && !split -> i++; split = true };
#if BUG == 12
        atomic { published_split = true; check_all_parked() }
#else
        publish_split(list)
#endif
#endif
    :: i == COMMITS -> break
    od
}

/* ---- time, clients that go, the end -------------------------------------- */

active proctype clock()
{
    do
    :: now < LAST_DEADLINE -> now++
    :: else -> break
    od
}

inline take_late(w, list)
{
    if
    :: state[w] == PARKED && DEADLINE(w) <= now ->
#if BUG == 4
        list = list | (1 << w) /* and taken out when it has been woken */
#else
        take(w, list)
#endif
    :: else
    fi
}

inline arm(w)
{
    if
    :: state[w] == PARKED && DEADLINE(w) < armed -> armed = DEADLINE(w)
    :: else
    fi
}

active proctype task()
{
    byte list;

end:
    do
    :: atomic {
        poked || now >= armed ->
        poked = false;
        armed = NEVER;
        take_late(0, list);
        take_late(1, list);
        take_late(2, list);
#if BUG != 4
        arm(0);
        arm(1);
        arm(2)
#endif
    };
#if BUG == 4
        byte woken = list;
        wake_list(list);
        atomic {
            if
            :: (woken & 1) && state[0] == PARKED -> take(0, list)
            :: else
            fi;
            if
            :: (woken & 4) && state[2] == PARKED -> take(2, list)
            :: else
            fi;
            list = 0;
            arm(0);
            arm(1);
            arm(2)
        }
#else
        wake_list(list)
#endif
    od
}

inline take_parked(w, list)
{
    if
    :: state[w] == PARKED -> take(w, list)
    :: else
    fi
}

/* The client of reader 0 may go away while it is not answered; then the server
 * may end. */
active proctype ends()
{
    bool was_parked;
    byte list;

#ifdef CALM
    goto out;
#endif

    if
    :: atomic {
        !answered[0] ->
        was_parked = state[0] == PARKED;
        dismissed[0] = true;
        if
        :: was_parked -> take(0, list)
        :: else
        fi;
        list = 0
    };
#if BUG == 5
        if
        :: atomic { !answered[0] -> wake(0) }
        :: else
        fi
#else
        if
        :: was_parked -> atomic { wake(0); was_parked = false }
        :: else
        fi
#endif
    :: true
    fi;
    if
    :: true -> goto out /* the server goes on */
    :: true
    fi;
    atomic {
#if BUG != 7
        closed = true;
#endif
        take_parked(0, list);
        take_parked(1, list);
        take_parked(2, list)
    };
#if BUG == 7
    closed = true;
#endif
    atomic { published_end = true; check_all_parked() };
    wake_list(list);
    /* From here on it may be freed, once all are answered. */
    answered[0] && answered[1] && (answered[2] || READERS < 3);
    assert(state[0] != PARKED && state[1] != PARKED && state[2] != PARKED);
    looking == 0;
out:
    skip
}

/* ---- a request ----------------------------------------------------------- */

inline begin(w)
{
    looking++;
    atomic {
        assert(state[w] == IDLE);
        moves_seen[w] = moves[BUCKET(w)];
        state[w] = LOOKING
    }
}

inline look(w)
{
    atomic {
        seen[2 * w] = lsn[0];
        if
        :: w == 1 -> seen[2 * w + 1] = lsn[1]
        :: else
        fi;
        found = (matched[0] > 0) || (w == 1 && matched[1] > 0);
        gone = w != 1 && split
    }
}

/* The scratch is cleared so that it does not make states differ. */
inline answer(w)
{
    assert(!answered[w] && !owed[w]);
    answered[w] = true;
    seen[2 * w] = 0;
    seen[2 * w + 1] = 0;
    moves_seen[w] = 0;
    found = false;
    gone = false;
    moved = false
}

inline answer_304(w)
{
    atomic {
#if BUG == 6
        seen[2 * w] = lsn[0];
        seen[2 * w + 1] = lsn[1];
#endif
        assert(matched[0] == 0 || matched[0] > seen[2 * w]);
        assert(w != 1 || matched[1] == 0 || matched[1] > seen[2 * w + 1]);
        answer(w)
    }
}

active [READERS] proctype reader()
{
    byte w = _pid - 4; /* after the four above */
    bool found, gone, may, moved, first;

again:
#if BUG == 1
    look(w);
    begin(w);
#else
    begin(w);
    look(w);
#endif
    if
    :: found || gone -> /* 200 or 410 */
        state[w] = IDLE;
        atomic { looking--; answer(w) };
        goto out
    :: else
    fi;
    atomic {
        may = !dismissed[w] && !closed && DEADLINE(w) > now;
#if BUG == 2
        moved = false;
#else
        moved = moves_seen[w] != moves[BUCKET(w)];
#endif
        if
        :: may && !moved ->
            state[w] = PARKED;
            owed[w] = true;
            first = w == 0 || (state[0] != PARKED &&
                               (w == 2 || state[2] != PARKED));
            check_parked(w)
        :: else ->
            state[w] = IDLE;
            looking--
        fi;
        moves_seen[w] = 0
    };
    if
    :: !may -> answer_304(w); goto out
    :: may && moved -> atomic { may = false; moved = false }; goto again
    :: else
    fi;
#if BUG != 9
    atomic {
        if
        :: first -> poked = true
        :: else
        fi;
        first = false;
        may = false
    };
#endif
    if
    :: DEADLINE(w) == NEVER ->
end_waits:
        resumed[w]
    :: else -> resumed[w]
    fi;
    resumed[w] = false;
    goto again;
out:
    skip
}
