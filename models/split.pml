/* split.pml -- ranges are split and merged while writers are queued with an old
 * view of them, entries are brought home, and readers hold their tokens.
 *
 * After src/engine/range/split_merge.c, home.c, turn.c, feed.c and the tokens of
 * src/rest/feed/feed_place.c.  The committer's transactions and a reader's snapshots
 * are atomic steps; a request of the first reader takes a snapshot for each LSN
 * it looks at, the worst that a budget can do to it.
 *
 * Holds
 *   - an LSN is above all that any range has used while it had the key
 *   - nothing is written at or below a token that has been given out
 *   - up to its token a reader has been given every document as it is now, or
 *     as it was at a later place than the token
 *   - the reader of intervals is given no change twice
 *   - no token is ever from the future
 *   - no two entries have one place
 *
 * -DBUG=n seeds a mistake; the list is in run.sh.
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef READER
#define READER 1 /* 1 reads intervals, 2 everything */
#endif
#ifndef WRITES
#define WRITES 2
#endif
#ifndef RESHAPES
#define RESHAPES 2
#endif

#define KEYS 3   /* one document each */
#define RANGES 7 /* 1 + 2 * RESHAPES */
#define NONE 7

/* Ranges; id 0 is the first. */
#define ALIVE 1
#define DEAD 2
#define EMPTY 3
byte state[RANGES] = { ALIVE, 0, 0, 0, 0, 0, 0 };
byte lo[RANGES];
byte hi[RANGES] = { KEYS, 0, 0, 0, 0, 0, 0 };
byte lsn[RANGES];
byte parent0[RANGES], parent1[RANGES]; /* id + 1, or 0 */
byte child[RANGES];                    /* the first; the next is child + 1 */
byte ids = 1;

/* The entry of each document. */
byte at[KEYS] = NONE, at_lsn[KEYS], at_n[KEYS];

byte used[KEYS]; /* the highest LSN of any range that had the key */

/* The reader of intervals: a token for each key; those between two cuts are of
 * one interval and equal. */
byte token[KEYS];
bool cut[KEYS];

/* The reader of everything: an LSN for each range that it has read. */
byte parts[RANGES];
byte has_part; /* bits */

/* Whether a reader has been given a document as it is now. */
#define INTERVALS 0
#define EVERYTHING KEYS
bool given[6];

/* For one step only. */
hidden byte i, j, k, r, a, b, from, to, low, sources, best;
hidden byte place[RANGES];
hidden byte found;

#define HAS(r, k) (lo[r] <= (k) && (k) < hi[r])

inline find_alive(key, out)
{
    for (i : 0 .. RANGES - 1) {
        if
        :: state[i] == ALIVE && HAS(i, key) -> out = i
        :: else
        fi
    }
}

/* Children have higher ids than their parents. */
inline descend(key, range)
{
    do
    :: state[range] != ALIVE ->
        range = child[range];
        if
        :: !HAS(range, key) -> range++
        :: else
        fi
    :: else -> break
    od
}

/* ---- writers ------------------------------------------------------------- */

inline check_new(key, range)
{
    for (i : 0 .. KEYS - 1) {
        if
        :: HAS(range, i) -> assert(lsn[range] > used[i]); used[i] = lsn[range]
        :: else
        fi
    }
    assert(lsn[range] > token[key]);
    for (i : 0 .. RANGES - 1) {
        assert(!(has_part & (1 << i)) || !HAS(i, key) ||
               lsn[range] > parts[i])
    }
}

inline write(key, range)
{
#if BUG != 7
    descend(key, range);
#endif
    lsn[range]++;
    check_new(key, range);
    at[key] = range;
    at_lsn[key] = lsn[range];
    at_n[key] = 0;
    given[INTERVALS + key] = false;
    given[EVERYTHING + key] = false
}

byte writes;

active [2] proctype writer()
{
    byte key, view;

    do
    :: atomic {
        writes < WRITES ->
        writes++;
        if
        :: key = 0
        :: key = 1
        :: key = 2
        fi;
        d_step { find_alive(key, view) }
    };
        d_step { write(key, view); key = 0; view = 0 }
    :: writes == WRITES -> break
    od
}

/* ---- splits and merges --------------------------------------------------- */

inline born(range, from_key, to_key, mother, father, begin)
{
    state[range] = ALIVE;
    lo[range] = from_key;
    hi[range] = to_key;
    lsn[range] = begin;
    parent0[range] = mother + 1;
    parent1[range] = father
}

inline split(range, bound)
{
#if BUG == 1
    born(ids, lo[range], bound, range, 0, 0);
    born(ids + 1, bound, hi[range], range, 0, 0);
#else
    born(ids, lo[range], bound, range, 0, lsn[range]);
    born(ids + 1, bound, hi[range], range, 0, lsn[range]);
#endif
    state[range] = DEAD;
    child[range] = ids;
    ids = ids + 2
}

inline merge(left, right)
{
#if BUG == 4
    best = lsn[left];
#else
    best = (lsn[left] > lsn[right] -> lsn[left] : lsn[right]) + 1;
#endif
    born(ids, lo[left], hi[right], left, right + 1, best);
    state[left] = DEAD;
    state[right] = DEAD;
    child[left] = ids;
    child[right] = ids;
    ids++
}

active proctype reshaper()
{
    byte n, bound;

    do
    :: n < RESHAPES ->
        atomic {
            if
            :: bound = 1
            :: bound = 2
            fi;
            d_step {
                find_alive(bound - 1, a);
                find_alive(bound, b);
                if
                :: a == b -> split(a, bound)
                :: else -> merge(a, b)
                fi;
                n++;
                bound = 0
            }
        }
    :: break
    od
}

/* ---- home ---------------------------------------------------------------- */

inline find_dead(out)
{
    out = NONE;
    for (i : 0 .. RANGES - 1) {
#if BUG == 6
        if
        :: state[i] == DEAD -> out = i
#else
        if
        :: state[i] == DEAD && out == NONE -> out = i
#endif
        :: else
        fi
    }
}

/* The first entry of a range. */
inline find_first(range, out)
{
    out = NONE;
    for (i : 0 .. KEYS - 1) {
        if
        :: at[i] == range && (out == NONE || at_lsn[i] < at_lsn[out] ||
           (at_lsn[i] == at_lsn[out] && at_n[i] < at_n[out])) -> out = i
        :: else
        fi
    }
}

inline is_taken(range, key)
{
    found = false;
    for (i : 0 .. KEYS - 1) {
        if
        :: i != key && at[i] == range && at_lsn[i] == at_lsn[key] &&
           at_n[i] == at_n[key] -> found = true
        :: else
        fi
    }
}

inline bring_home(key, range)
{
    to = range;
    descend(key, to);
#if BUG == 3
    lsn[to]++;
    at_lsn[key] = lsn[to];
#endif
    assert(at_lsn[key] <= lsn[to]);
    is_taken(to, key);
#if BUG == 8
    assert(!found);
#else
    do
    :: found -> at_n[key]++; is_taken(to, key)
    :: else -> break
    od;
#endif
    at[key] = to
}

#define SOME_DEAD (state[0] == DEAD || state[1] == DEAD || state[2] == DEAD || \
    state[3] == DEAD || state[4] == DEAD || state[5] == DEAD || \
    state[6] == DEAD)

active proctype home()
{
end:
    do
    :: atomic {
        SOME_DEAD -> d_step {
        find_dead(r);
        find_first(r, k);
        if
        :: k == NONE -> state[r] = EMPTY
        :: else ->
            bring_home(k, r);
#if BUG == 10
            state[r] = EMPTY /* after a slice, not after the last */
#endif
        fi }
    }
    od
}

/* ---- readers ------------------------------------------------------------- */

/* As find_sources() in feed.c. */
inline add_parent(p, after)
{
    if
    :: (p) > 0 ->
        if
        :: lsn[(p) - 1] > after && state[(p) - 1] == DEAD ->
            sources = sources | (1 << ((p) - 1))
        :: else
        fi
    :: else
    fi
}

inline find_sources(range, after)
{
    sources = 1 << range;
#if BUG != 2
    i = range + 1;
    do
    :: i > 0 ->
        i--;
        if
        :: sources & (1 << i) ->
            add_parent(parent0[i], after);
            add_parent(parent1[i], after)
        :: else
        fi
    :: else -> break
    od
#endif
}

/* The lowest LSN that lies in the sources, and whether any of it is wanted;
 * 255 if there is none. */
inline find_lowest(after, upto)
{
    low = 255;
    for (i : 0 .. KEYS - 1) {
        if
        :: at[i] != NONE ->
            if
            :: (sources & (1 << at[i])) && at_lsn[i] > after &&
               at_lsn[i] <= upto && at_lsn[i] < low -> low = at_lsn[i]
            :: else
            fi
        :: else
        fi
    }
}

inline give(first, end, reader)
{
    found = false;
    for (i : 0 .. KEYS - 1) {
        if
        :: first <= i && i < end && at_lsn[i] == low && at[i] != NONE ->
            if
#if BUG == 9
            :: !found && (sources & (1 << at[i])) ->
#else
            :: (sources & (1 << at[i])) ->
#endif
                assert(reader == EVERYTHING || !given[reader + i]);
                given[reader + i] = true;
                found = true
            :: else
            fi
        :: else
        fi
    }
}

inline check_given(first, end, upto, reader)
{
    for (i : 0 .. KEYS - 1) {
        assert(!(first <= i && i < end) || at[i] == NONE ||
               at_lsn[i] > upto || given[reader + i])
    }
}

inline set_token(first, end, mark)
{
    for (i : 0 .. KEYS - 1) {
        if
        :: first <= i && i < end -> token[i] = mark
        :: else
        fi
    }
    check_given(first, end, mark, INTERVALS)
}

/* The interval that a key begins, in the range that has it now; where ranges
 * have been split the interval is, too, and both go on from its token. */
inline begin_interval()
{
    find_alive(first, range);
    last = KEYS;
    i = KEYS - 1;
    do
    :: i > first ->
        if
        :: cut[i] -> last = i
        :: else
        fi;
        i--
    :: else -> break
    od;
    if
    :: hi[range] < last ->
        cut[hi[range]] = true;
#if BUG == 5
        last = hi[range];
        set_token(first, last, lsn[range]);
#endif
        last = hi[range]
    :: else
    fi;
    after = token[first];
    upto = lsn[range];
    assert(after <= upto)
}

#if READER == 1
active proctype intervals()
{
    byte first, last, range, after, upto;
    bool done;

end:
    do
    :: atomic {
        if
        :: first = 0
        :: cut[1] -> first = 1
        :: cut[2] -> first = 2
        fi;
        d_step { begin_interval(); done = false }
    };
        do
        :: atomic {
            !done -> d_step {
            if
            :: state[range] != ALIVE -> done = true /* 410 */
            :: else ->
                find_sources(range, after);
                find_lowest(after, upto);
                if
                :: low == 255 -> /* 304 */
                    set_token(first, last, upto);
                    done = true
                :: else ->
                    give(first, last, INTERVALS);
                    after = low;
                    if
                    :: found ->
                        set_token(first, last, low);
                        done = true
                    :: else
                    fi
                fi
            fi }
        }
        :: done -> break
        od;
        atomic { first = 0; last = 0; range = 0; after = 0; upto = 0 }
    od
}

#endif

/* Of the parts that a range has taken over the earliest counts. */
inline place_by_parts(range)
{
    from = 255;
    for (j : 0 .. RANGES - 1) {
        if
        :: (has_part & (1 << j)) && lo[j] < hi[range] && lo[range] < hi[j] ->
            assert(parts[j] <= lsn[j]);
#if BUG == 11
            if
            :: from == 255 || parts[j] > from -> from = parts[j]
#else
            if
            :: parts[j] < from -> from = parts[j]
#endif
            :: else
            fi
        :: else
        fi
    }
    from = (from == 255 -> 0 : from)
}

/* One page: the first range that has something gives it. */
inline read_page()
{
    a = 0;         /* the ranges of the answer */
    found = false; /* a document */
    b = false;     /* there is more */
    for (r : 0 .. RANGES - 1) {
        if
        :: state[r] == ALIVE ->
            a = a | (1 << r);
            place_by_parts(r);
            place[r] = from;
            if
            :: !found ->
                find_sources(r, from);
                find_lowest(from, lsn[r]);
                if
                :: low != 255 ->
                    give(lo[r], hi[r], EVERYTHING);
                    /* what is not of this range is passed by */
                    place[r] = low;
                    b = true
                :: else
                fi
            :: else
            fi
        :: else
        fi
    }
}

#if READER == 2
active proctype everything()
{
end:
    do
    :: true -> d_step {
        read_page();
        has_part = a;
        for (r : 0 .. RANGES - 1) {
            parts[r] = 0;
            if
            :: a & (1 << r) ->
                parts[r] = (b -> place[r] : lsn[r]); /* 200 or 304 */
                check_given(lo[r], hi[r], parts[r], EVERYTHING)
            :: else
            fi
        }
    }
    od
}
#endif
