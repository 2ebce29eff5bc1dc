/* memtable.c -- see memtable.h.
 *
 * The list is in ascending key order; of one key the newest write comes first.
 * An entry is complete before it can be reached, and is in the list before the
 * sparse index leads to it.  A reader that passes by may or may not see it, and
 * either is right: an entry that is being written is newer than any reader's
 * snapshot.
 */
#include "store/memtable/memtable.h"

#include "base/hash.h"
#include "store/memtable/sparse_index.h"

enum {
    CHAINS_LEAST = 1 << 6,
    CHAINS_MOST = 1 << 18,
    CHAIN_BYTES = 512, /* of entries: two chains for a row of 1 KB */
    RUNS = 64,
    RUN_SLOTS = 32, /* one slot for so many entries of a run */
    CACHE_LINE = 64,
    FETCHED = 3 * CACHE_LINE, /* an entry and its key */
    VALUE_APART = 256,        /* longer values lie apart from their entry */
};

/* The end of a run of ascending keys: feeds grow at their end. */
struct run {
    struct rn_memtable_entry *last; /* NULL: no run */
    unsigned since_slot;            /* entries since the last slot */
};

/* A chain of the hash table, with a small Bloom filter over other bits of the
 * hashes: most lookups are for new keys, and the filter says so without reading
 * an entry. */
struct chain {
    struct rn_memtable_entry *newest; /* atomic */
    uint64_t marks; /* the filter; atomic; set before the entry is visible */
};

/* The memory that a recycled memtable keeps. */
struct memory {
    struct rn_block_arena blocks;
    struct chain *chains; /* by hash */
    size_t chain_count;   /* a power of two */
};

struct rn_memtable {
    unsigned refs; /* atomic */
    struct memory memory;
    struct rn_room entries; /* adjacent, with keys and short values */
    struct rn_room values;  /* long ones */
    struct rn_sparse_index index;
    struct rn_memtable_entry *group; /* the last entry of the open group */
    struct rn_memtable_link first;
    struct run runs[RUNS]; /* by the first bytes of their keys */
};

/* ---- allocation and references ------------------------------------------- */

static void begin(struct rn_memtable *r, struct memory m)
{
    *r = (struct rn_memtable){ .refs = 1, .memory = m };
    r->first.start = UINT64_MAX;
}

struct rn_memtable *rn_memtable_new(uint64_t limit)
{
    struct rn_memtable *r = rn_new(sizeof(*r));
    struct memory m;
    uint64_t chains = CHAINS_LEAST;

    if (!r)
        return NULL;
    rn_block_arena_init(&m.blocks, limit);
    while (chains < CHAINS_MOST && chains < limit / CHAIN_BYTES)
        chains *= 2;
    m.chain_count = (size_t)chains;
    m.chains = rn_new(m.chain_count * sizeof(struct chain));
    if (!m.chains) {
        rn_free(r);
        return NULL;
    }
    begin(r, m);
    return r;
}

struct rn_memtable *rn_memtable_keep(struct rn_memtable *r)
{
    if (r)
        __atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
    return r;
}

/* True if that was the last reference. */
static bool let_go(struct rn_memtable *r)
{
    return r && !__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL);
}

void rn_memtable_trim(struct rn_memtable *r)
{
    rn_block_arena_trim(&r->memory.blocks);
}

void rn_memtable_drop(struct rn_memtable *r)
{
    if (!let_go(r))
        return;
    rn_block_arena_release(&r->memory.blocks);
    rn_free(r->memory.chains);
    rn_free(r);
}

bool rn_memtable_is_short(const struct rn_memtable *r)
{
    return rn_block_arena_is_short(&r->memory.blocks);
}

void rn_memtable_stock(struct rn_memtable *r)
{
    rn_block_arena_stock(&r->memory.blocks);
}

struct rn_memtable *rn_memtable_recycle(struct rn_memtable *r)
{
    struct memory m;

    if (!let_go(r))
        return NULL;
    m = r->memory;
    rn_block_arena_empty(&m.blocks);
    memset(m.chains, 0, m.chain_count * sizeof(struct chain));
    begin(r, m);
    return r;
}

uint64_t rn_memtable_bytes(const struct rn_memtable *r)
{
    return rn_block_arena_bytes(&r->memory.blocks);
}

static void *take(struct rn_memtable *r, struct rn_room *room, size_t bytes)
{
    return rn_block_arena_take(&r->memory.blocks, room, bytes);
}

/* ---- lookup -------------------------------------------------------------- */

static struct rn_memtable_entry *follow(struct rn_memtable_entry *const *link)
{
    return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

/* The entry that a link leads to, if its key is below `key`; else NULL.  During
 * an insertion a reader may see the start of one entry and the pointer to
 * another.  It need not see the new entry, and it compares the old entry by the
 * entry's own start. */
static struct rn_memtable_entry *below(const struct rn_memtable_link *link,
                                       const struct rn_sought *key)
{
    struct rn_memtable_entry *e;

    if (__atomic_load_n(&link->start, __ATOMIC_RELAXED) > key->start[0])
        return NULL;
    e = follow(&link->to);
    return e && rn_sought_is_after(key, e) ? e : NULL;
}

/* The link that leads to the first entry whose key is not below `key`; sets the
 * key's spot in the sparse index. */
static struct rn_memtable_link *seek(const struct rn_memtable *r,
                                     const struct rn_sought *key,
                                     struct rn_sparse_index_spot *spot)
{
    struct rn_memtable_entry *e = rn_sparse_index_find(&r->index, key, spot);
    const struct rn_memtable_link *link = e ? &e->next : &r->first;

    while ((e = below(link, key)))
        link = &e->next;
    return (struct rn_memtable_link *)link;
}

/* The entry that contains a link, or NULL if it is the memtable's first link.
 */
static const struct rn_memtable_entry *
owner_of(const struct rn_memtable *r, const struct rn_memtable_link *link)
{
    const char *owner = (const char *)link;

    owner -= offsetof(struct rn_memtable_entry, next);
    return link == &r->first ? NULL : (const void *)owner;
}

static const struct rn_memtable_entry *last_of(const struct rn_memtable *r)
{
    const struct rn_memtable_entry *last = rn_sparse_index_find_last(&r->index),
                                   *e;

    for (e = last ? last : follow(&r->first.to); e; e = follow(&e->next.to))
        last = e;
    return last;
}

/* The last entry whose key is below `key`, or the last of all if `key` is
 * empty. */
static const struct rn_memtable_entry *seek_below(const struct rn_memtable *r,
                                                  struct rn_view key)
{
    struct rn_sought sought = rn_sought_of(key);
    struct rn_sparse_index_spot spot;

    return key.len ? owner_of(r, seek(r, &sought, &spot)) : last_of(r);
}

static bool is_seen(const struct rn_memtable_entry *e, uint64_t seq)
{
    return __atomic_load_n(&e->seq, __ATOMIC_RELAXED) <= seq;
}

static uint32_t hash_of(struct rn_view key)
{
    return (uint32_t)rn_hash64(key, 0);
}

static struct chain *chain_of(const struct rn_memtable *r, uint32_t hash)
{
    return &r->memory.chains[hash & (r->memory.chain_count - 1)];
}

/* Uses bits of the hash that do not select the chain. */
static uint64_t mark_of(uint32_t hash)
{
    return UINT64_C(1) << (hash >> 26);
}

static const struct rn_memtable_entry *find(const struct rn_memtable *r,
                                            uint64_t seq, struct rn_view key,
                                            uint32_t hash)
{
    const struct chain *chain = chain_of(r, hash);
    const struct rn_memtable_entry *e;

    if (!(__atomic_load_n(&chain->marks, __ATOMIC_RELAXED) & mark_of(hash)))
        return NULL;
    e = follow(&chain->newest);
    while (e &&
           !(e->hash == hash && is_seen(e, seq) && rn_view_eq(e->key, key)))
        e = e->chained;
    return e;
}

void rn_memtable_prefetch(const struct rn_memtable *r, struct rn_view key)
{
    struct rn_sought sought = rn_sought_of(key);

    __builtin_prefetch(chain_of(r, hash_of(key)));
    rn_sparse_index_prefetch(&r->index, &sought);
}

const struct rn_memtable_entry *
rn_memtable_find(const struct rn_memtable *r, uint64_t seq, struct rn_view key)
{
    return find(r, seq, key, hash_of(key));
}

static const struct rn_memtable_entry *first_from(const struct rn_memtable *r,
                                                  struct rn_view key)
{
    struct rn_sought from = rn_sought_of(key);
    struct rn_sparse_index_spot spot;

    return follow(&seek(r, &from, &spot)->to);
}

/* Entries are visited in key order but lie in the order of writing.  Prefetches
 * the next entry and its key while the caller uses this one. */
static void fetch(const struct rn_memtable_entry *e)
{
    for (int i = 0; e && i < FETCHED; i += CACHE_LINE)
        __builtin_prefetch((const char *)e + i);
}

static const struct rn_memtable_entry *
next_forward(const struct rn_memtable *r, uint64_t seq,
             const struct rn_key_interval *range,
             const struct rn_memtable_entry *last)
{
    const struct rn_memtable_entry *e =
        last ? follow(&last->next.to) : first_from(r, range->from);

    while (e && (!is_seen(e, seq) || (last && rn_view_eq(e->key, last->key))))
        e = follow(&e->next.to);
    if (e && range->before.len && rn_view_compare(e->key, range->before) >= 0)
        return NULL;
    if (e)
        fetch(follow(&e->next.to));
    return e;
}

/* The list is singly linked: each step backward searches from the index. */
static const struct rn_memtable_entry *
next_backward(const struct rn_memtable *r, uint64_t seq,
              const struct rn_key_interval *range,
              const struct rn_memtable_entry *last)
{
    struct rn_view below = last ? last->key : range->before;

    for (;;) {
        const struct rn_memtable_entry *e = seek_below(r, below), *seen;
        if (!e || rn_view_compare(e->key, range->from) < 0)
            return NULL;
        seen = rn_memtable_find(r, seq, e->key);
        if (seen)
            return seen;
        below = e->key;
    }
}

const struct rn_memtable_entry *
rn_memtable_next(const struct rn_memtable *r, uint64_t seq,
                 const struct rn_key_interval *range,
                 const struct rn_memtable_entry *last)
{
    return range->backward ? next_backward(r, seq, range, last)
                           : next_forward(r, seq, range, last);
}

/* ---- writing ------------------------------------------------------------- */

static struct rn_view copy_to(char *at, struct rn_view from)
{
    if (from.len)
        memcpy(at, from.at, from.len);
    return rn_view_of(at, from.len);
}

/* Keys of a run share their first nine bytes: a container, a kind of row, and a
 * range (engine/key.h). */
static bool same_run(const struct rn_memtable_entry *e,
                     const struct rn_sought *key)
{
    return e->start[0] == key->start[0] &&
           e->start[1] >> 56 == key->start[1] >> 56;
}

static struct run *run_of(struct rn_memtable *r, const struct rn_sought *key)
{
    uint64_t start = key->start[0] + (key->start[1] >> 56);

    return &r->runs[start * 0x9e3779b97f4a7c15u >> 58];
}

/* True if the key is new and comes right after the last of the run.  A key may
 * have any number of writes.  If they had no slot, a search for a later key
 * would have to pass them all. */
static bool continues(const struct run *run, const struct rn_sought *key)
{
    const struct rn_memtable_entry *e = run->last;

    if (!e || !same_run(e, key) || !rn_sought_is_after(key, e))
        return false;
    if (e->next.start > key->start[0] || !e->next.to)
        return true;
    return rn_view_compare(e->next.to->key, key->key) > 0;
}

/* Finds the link that leads past the key's position.  True if the entry should
 * have a slot, and then sets its spot.  In a run few entries have slots: the
 * next entry of the run needs none, and a search within the run finds one
 * nearby. */
static bool find_link(struct rn_memtable *r, const struct rn_sought *key,
                      bool goes_on, struct rn_memtable_link **link,
                      struct rn_sparse_index_spot *spot)
{
    struct run *run = run_of(r, key);

    if (!goes_on) {
        *link = seek(r, key, spot);
        return true;
    }
    *link = &run->last->next;
    if (++run->since_slot < RUN_SLOTS)
        return false;
    run->since_slot = 0;
    (void)rn_sparse_index_find(&r->index, key, spot);
    return true;
}

/* Publishes an entry, whose members have been written before. */
static void link_in(struct rn_memtable *r, struct rn_memtable_entry *e,
                    const struct rn_sought *key, bool goes_on)
{
    struct chain *chain = chain_of(r, e->hash);
    const struct rn_memtable_entry *before;
    struct rn_memtable_link *link;
    struct rn_sparse_index_memory memory = { &r->memory.blocks, &r->entries };
    struct rn_sparse_index_spot spot;
    bool wants_slot = find_link(r, key, goes_on, &link, &spot);

    memcpy(e->start, key->start, sizeof(e->start));
    e->next = *link;
    e->chained = chain->newest;
    __atomic_store_n(&link->start, e->start[0], __ATOMIC_RELAXED);
    __atomic_store_n(&link->to, e, __ATOMIC_RELEASE);
    __atomic_store_n(&chain->marks, chain->marks | mark_of(e->hash),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&chain->newest, e, __ATOMIC_RELEASE);
    before = owner_of(r, link);
    if (goes_on)
        run_of(r, key)->last = e;
    else if (before && same_run(before, key)) /* a run begins */
        *run_of(r, key) = (struct run){ .last = e };
    if (wants_slot)
        rn_sparse_index_add(&r->index, &spot, e, memory);
}

/* An entry of the open group, which no reader has seen, can be overwritten in
 * place: the row of a range is, once for each document. */
static bool write_over(struct rn_memtable *r, uint64_t seq, struct rn_view key,
                       uint32_t hash, struct rn_view value, bool gone)
{
    struct rn_memtable_entry *e =
        (struct rn_memtable_entry *)find(r, seq, key, hash);

    if (!e || e->seq != seq || value.len > e->value.len)
        return false;
    e->value = copy_to((char *)e->value.at, value);
    e->gone = gone;
    return true;
}

static enum rn_code add(struct rn_memtable *r, uint64_t seq, struct rn_view key,
                        struct rn_view value, bool gone)
{
    uint32_t hash = hash_of(key);
    size_t head = sizeof(struct rn_memtable_entry);
    bool apart = value.len >= VALUE_APART;
    struct rn_sought sought = rn_sought_of(key);
    bool goes_on = continues(run_of(r, &sought), &sought);
    struct rn_memtable_entry *e;
    char *at;

    __builtin_prefetch(chain_of(r, hash), 1); /* loads while we copy */
    /* A key that continues a run is new.  Looking for it would miss the cache.
     */
    if (!goes_on && write_over(r, seq, key, hash, value, gone))
        return RN_OK;
    e = take(r, &r->entries, head + key.len + (apart ? 0 : value.len));
    if (!e)
        return RN_NOMEM;
    at = apart ? take(r, &r->values, value.len) : (char *)e + head + key.len;
    if (!at)
        return RN_NOMEM;
    e->key = copy_to((char *)e + head, key);
    e->value = copy_to(at, value);
    e->gone = gone;
    e->seq = seq;
    e->hash = hash;
    e->before = r->group;
    r->group = e;
    link_in(r, e, &sought, goes_on);
    return RN_OK;
}

enum rn_code rn_memtable_put(struct rn_memtable *r, uint64_t seq,
                             struct rn_view key, struct rn_view value)
{
    return add(r, seq, key, value, false);
}

enum rn_code rn_memtable_delete(struct rn_memtable *r, uint64_t seq,
                                struct rn_view key)
{
    return add(r, seq, key, (struct rn_view){ 0 }, true);
}

void rn_memtable_end(struct rn_memtable *r, bool stays)
{
    for (struct rn_memtable_entry *e = r->group; e && !stays; e = e->before)
        __atomic_store_n(&e->seq, UINT64_MAX, __ATOMIC_RELAXED);
    r->group = NULL;
}
