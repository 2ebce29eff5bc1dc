/* recent.c -- see recent.h.
 *
 * In the list keys rise, and of one key the newest write comes first.  An entry
 * is complete before it can be reached, and is linked from the bottom up, so a
 * reader that goes by does or does not see it, and either is right: whatever is
 * being written is newer than what anybody reads.
 */
#include "store/recent.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "store/blocks.h"

enum {
    HEIGHT_MAX = 18, /* two to the power of it: as many as there could be */
    CHAINS_LEAST = 1 << 6,
    CHAINS_MOST = 1 << 16,
    CHAIN_BYTES = 512, /* of entries: two chains for a row of 1 KB */
    RUNS = 64,
    CACHE_LINE = 64,
    FETCHED = 3 * CACHE_LINE, /* an entry of two levels and a key */
    VALUE_APART = 256,        /* so long, and it lies apart from its entry */
};

/* Where a run of rising keys has come to: feeds grow at their end.  The links
 * lead, on each level, past `last`. */
struct run {
    struct rn_recent_entry *last; /* NULL: there is none */
    struct rn_recent_link *links[HEIGHT_MAX];
};

/* What is left of a table when it is emptied. */
struct memory {
    struct rn_blocks blocks;
    struct rn_recent_entry **chains; /* by hash, the newest first; atomic */
    size_t chain_count;              /* a power of two */
};

struct rn_recent {
    unsigned refs; /* atomic */
    struct memory memory;
    struct rn_room entries; /* close together, keys and short values too */
    struct rn_room values;  /* long ones */
    uint64_t chance;
    unsigned height;               /* atomic */
    struct rn_recent_entry *group; /* the last written of the open one */
    struct rn_recent_link first[HEIGHT_MAX];
    struct run runs[RUNS]; /* by the start of their keys */
};

/* A key, ready to be looked for. */
struct sought {
    uint64_t start[2];
    struct rn_view key;
};

/* ---- the table ----------------------------------------------------------- */

static void begin(struct rn_recent *r, struct memory m)
{
    *r = (struct rn_recent){ .refs = 1, .height = 1, .memory = m };
    for (unsigned i = 0; i < HEIGHT_MAX; i++)
        r->first[i].start = UINT64_MAX;
}

struct rn_recent *rn_recent_new(uint64_t limit)
{
    struct rn_recent *r = rn_new(sizeof(*r));
    struct memory m;
    uint64_t chains = CHAINS_LEAST;

    if (!r)
        return NULL;
    rn_blocks_init(&m.blocks, limit);
    while (chains < CHAINS_MOST && chains < limit / CHAIN_BYTES)
        chains *= 2;
    m.chain_count = (size_t)chains;
    m.chains = rn_new(m.chain_count * sizeof(struct rn_recent_entry *));
    if (!m.chains) {
        rn_free(r);
        return NULL;
    }
    begin(r, m);
    return r;
}

struct rn_recent *rn_recent_keep(struct rn_recent *r)
{
    if (r)
        __atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
    return r;
}

/* True if nobody has it any more. */
static bool let_go(struct rn_recent *r)
{
    return r && !__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL);
}

void rn_recent_trim(struct rn_recent *r)
{
    rn_blocks_trim(&r->memory.blocks);
}

void rn_recent_drop(struct rn_recent *r)
{
    if (!let_go(r))
        return;
    rn_blocks_release(&r->memory.blocks);
    rn_free(r->memory.chains);
    rn_free(r);
}

bool rn_recent_is_short(const struct rn_recent *r)
{
    return rn_blocks_is_short(&r->memory.blocks);
}

void rn_recent_stock(struct rn_recent *r)
{
    rn_blocks_stock(&r->memory.blocks);
}

struct rn_recent *rn_recent_recycle(struct rn_recent *r)
{
    struct memory m;

    if (!let_go(r))
        return NULL;
    m = r->memory;
    rn_blocks_empty(&m.blocks);
    memset(m.chains, 0, m.chain_count * sizeof(struct rn_recent_entry *));
    begin(r, m);
    return r;
}

uint64_t rn_recent_bytes(const struct rn_recent *r)
{
    return rn_blocks_bytes(&r->memory.blocks);
}

static void *take(struct rn_recent *r, struct rn_room *room, size_t bytes)
{
    return rn_blocks_take(&r->memory.blocks, room, bytes);
}

/* ---- looking ------------------------------------------------------------- */

static struct rn_recent_entry *follow(struct rn_recent_entry *const *link)
{
    return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

static struct sought sought_of(struct rn_view key)
{
    char bytes[16] = { 0 };
    const char *at = key.at;
    struct sought s = { .key = key };

    if (key.len < sizeof(bytes)) {
        if (key.len)
            memcpy(bytes, key.at, key.len);
        at = bytes;
    }
    s.start[0] = rn_get_u64_be(at);
    s.start[1] = rn_get_u64_be(at + 8);
    return s;
}

static bool is_below(const struct rn_recent_entry *e, const struct sought *s)
{
    for (int i = 0; i < 2; i++) {
        if (e->start[i] != s->start[i])
            return e->start[i] < s->start[i];
    }
    return rn_view_compare(e->key, s->key) < 0;
}

/* The entry that a link leads to, if its key is below; else NULL.  A reader may
 * find the start of one entry and the way to another, if that is being put in
 * between: the new one need not be seen, of the old one its own start says. */
static struct rn_recent_entry *below(const struct rn_recent_link *link,
                                     const struct sought *key)
{
    struct rn_recent_entry *e;

    if (__atomic_load_n(&link->start, __ATOMIC_RELAXED) > key->start[0])
        return NULL;
    e = follow(&link->to);
    return e && is_below(e, key) ? e : NULL;
}

/* The links that lead, on each level, to the first entry whose key is not below
 * the sought one; the entry itself. */
static struct rn_recent_entry *seek(const struct rn_recent *r,
                                    const struct sought *key,
                                    struct rn_recent_link *links[HEIGHT_MAX])
{
    unsigned level = __atomic_load_n(&r->height, __ATOMIC_RELAXED);
    const struct rn_recent_link *row = r->first;
    struct rn_recent_entry *e;

    while (level-- > 0) {
        while ((e = below(&row[level], key)))
            row = e->next;
        if (links)
            links[level] = (struct rn_recent_link *)&row[level];
    }
    return follow(&row[0].to);
}

/* The last entry whose key is below `key`, or of all if that is empty. */
static const struct rn_recent_entry *seek_below(const struct rn_recent *r,
                                                struct rn_view key)
{
    unsigned level = __atomic_load_n(&r->height, __ATOMIC_RELAXED);
    const struct rn_recent_link *row = r->first;
    const struct rn_recent_entry *last = NULL, *e;
    struct sought sought = sought_of(key);

    while (level-- > 0) {
        while ((e = key.len ? below(&row[level], &sought)
                            : follow(&row[level].to))) {
            last = e;
            row = e->next;
        }
    }
    return last;
}

static bool is_seen(const struct rn_recent_entry *e, uint64_t seq)
{
    return __atomic_load_n(&e->seq, __ATOMIC_RELAXED) <= seq;
}

static uint32_t hash_of(struct rn_view key)
{
    return (uint32_t)rn_hash64(key, 0);
}

static struct rn_recent_entry **chain_of(const struct rn_recent *r,
                                         uint32_t hash)
{
    return &r->memory.chains[hash & (r->memory.chain_count - 1)];
}

static const struct rn_recent_entry *
find(const struct rn_recent *r, uint64_t seq, struct rn_view key, uint32_t hash)
{
    const struct rn_recent_entry *e = follow(chain_of(r, hash));

    while (e &&
           !(e->hash == hash && is_seen(e, seq) && rn_view_eq(e->key, key)))
        e = e->chained;
    return e;
}

const struct rn_recent_entry *rn_recent_find(const struct rn_recent *r,
                                             uint64_t seq, struct rn_view key)
{
    return find(r, seq, key, hash_of(key));
}

static const struct rn_recent_entry *first_from(const struct rn_recent *r,
                                                struct rn_view key)
{
    struct sought from = sought_of(key);

    return seek(r, &from, NULL);
}

/* Entries are met in the order of keys, and lie where they were written: the
 * next one, its key with it, comes from memory while this one is made use of.
 */
static void fetch(const struct rn_recent_entry *e)
{
    for (int i = 0; e && i < FETCHED; i += CACHE_LINE)
        __builtin_prefetch((const char *)e + i);
}

static const struct rn_recent_entry *
next_forward(const struct rn_recent *r, uint64_t seq,
             const struct rn_range *range, const struct rn_recent_entry *last)
{
    const struct rn_recent_entry *e =
        last ? follow(&last->next[0].to) : first_from(r, range->from);

    while (e && (!is_seen(e, seq) || (last && rn_view_eq(e->key, last->key))))
        e = follow(&e->next[0].to);
    if (e && range->before.len && rn_view_compare(e->key, range->before) >= 0)
        return NULL;
    if (e)
        fetch(follow(&e->next[0].to));
    return e;
}

/* A list leads forward only; each step back looks from the top. */
static const struct rn_recent_entry *
next_backward(const struct rn_recent *r, uint64_t seq,
              const struct rn_range *range, const struct rn_recent_entry *last)
{
    struct rn_view below = last ? last->key : range->before;

    for (;;) {
        const struct rn_recent_entry *e = seek_below(r, below), *seen;
        if (!e || rn_view_compare(e->key, range->from) < 0)
            return NULL;
        seen = rn_recent_find(r, seq, e->key);
        if (seen)
            return seen;
        below = e->key;
    }
}

const struct rn_recent_entry *rn_recent_next(const struct rn_recent *r,
                                             uint64_t seq,
                                             const struct rn_range *range,
                                             const struct rn_recent_entry *last)
{
    return range->backward ? next_backward(r, seq, range, last)
                           : next_forward(r, seq, range, last);
}

/* ---- writing ------------------------------------------------------------- */

/* One in two reaches the next level: more links than usual, but it is entries
 * that a search comes to, and not links, that it has to wait for. */
static unsigned draw_height(struct rn_recent *r)
{
    uint64_t x;

    r->chance += 0x9e3779b97f4a7c15u;
    x = (r->chance ^ (r->chance >> 30)) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    return 1 + (unsigned)__builtin_ctzll(x | UINT64_C(1) << (HEIGHT_MAX - 1));
}

static struct rn_view copy_to(char *at, struct rn_view from)
{
    if (from.len)
        memcpy(at, from.at, from.len);
    return rn_view_of(at, from.len);
}

/* Keys of a run have their first nine bytes in common: a container, what it is,
 * and a range (engine/key.h). */
static bool same_run(const struct rn_recent_entry *e, const struct sought *key)
{
    return e->start[0] == key->start[0] &&
           e->start[1] >> 56 == key->start[1] >> 56;
}

static struct run *run_of(struct rn_recent *r, const struct sought *key)
{
    uint64_t start = key->start[0] + (key->start[1] >> 56);

    return &r->runs[start * 0x9e3779b97f4a7c15u >> 58];
}

/* Does the key come right behind the last of the run? */
static bool continues(const struct run *run, const struct sought *key)
{
    const struct rn_recent_entry *e = run->last;

    if (!e || !same_run(e, key) || !is_below(e, key))
        return false;
    return !below(&e->next[0], key);
}

/* Does a new run begin: is the entry before the key's place one of it? */
static bool begins(const struct rn_recent *r, const struct rn_recent_link *link,
                   const struct sought *key)
{
    const char *before = (const char *)link;

    before -= offsetof(struct rn_recent_entry, next);
    return link != &r->first[0] && same_run((const void *)before, key);
}

/* Finds the links that lead past the key's place, up to `height`: in the run,
 * or in `other` if it is none. */
static struct run *find_links(struct rn_recent *r, const struct sought *key,
                              unsigned height, struct run *other)
{
    struct run *run = run_of(r, key);
    struct rn_recent_entry *e;

    if (continues(run, key)) {
        for (unsigned i = 1; i < height; i++) {
            while ((e = below(run->links[i], key)))
                run->links[i] = &e->next[i];
        }
        return run;
    }
    for (unsigned i = 0; i < HEIGHT_MAX; i++)
        other->links[i] = &r->first[i];
    (void)seek(r, key, other->links);
    if (!begins(r, other->links[0], key))
        return other;
    *run = *other;
    return run;
}

/* Makes an entry reachable; whatever it says was written before. */
static void link_in(struct rn_recent *r, struct rn_recent_entry *e,
                    const struct sought *key, unsigned height)
{
    struct rn_recent_entry **chain = chain_of(r, e->hash);
    struct run other, *run;

    memcpy(e->start, key->start, sizeof(e->start));
    if (height > r->height) /* a reader may come by: the row is empty yet */
        __atomic_store_n(&r->height, height, __ATOMIC_RELAXED);
    run = find_links(r, key, height, &other);
    for (unsigned i = 0; i < height; i++)
        e->next[i] = *run->links[i];
    e->chained = *chain;
    for (unsigned i = 0; i < height; i++) {
        __atomic_store_n(&run->links[i]->start, e->start[0], __ATOMIC_RELAXED);
        __atomic_store_n(&run->links[i]->to, e, __ATOMIC_RELEASE);
        run->links[i] = &e->next[i];
    }
    __atomic_store_n(chain, e, __ATOMIC_RELEASE);
    run->last = e;
}

/* What the open group wrote under a key before, which nobody else has seen, can
 * be written over: a range's row is, once for each document. */
static bool write_over(struct rn_recent *r, uint64_t seq, struct rn_view key,
                       uint32_t hash, struct rn_view value, bool gone)
{
    struct rn_recent_entry *e =
        (struct rn_recent_entry *)find(r, seq, key, hash);

    if (!e || e->seq != seq || value.len > e->value.len)
        return false;
    e->value = copy_to((char *)e->value.at, value);
    e->gone = gone;
    return true;
}

static enum rn_code add(struct rn_recent *r, uint64_t seq, struct rn_view key,
                        struct rn_view value, bool gone)
{
    uint32_t hash = hash_of(key);
    unsigned height = draw_height(r);
    size_t head =
        sizeof(struct rn_recent_entry) + height * sizeof(struct rn_recent_link);
    bool apart = value.len >= VALUE_APART;
    struct sought sought = sought_of(key);
    struct rn_recent_entry *e;
    char *at;

    /* What continues a run is mostly new, and to look for it is to wait for
     * memory; where it is not, it comes before what it replaces. */
    if (!continues(run_of(r, &sought), &sought) &&
        write_over(r, seq, key, hash, value, gone))
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
    link_in(r, e, &sought, height);
    return RN_OK;
}

enum rn_code rn_recent_put(struct rn_recent *r, uint64_t seq,
                           struct rn_view key, struct rn_view value)
{
    return add(r, seq, key, value, false);
}

enum rn_code rn_recent_mark(struct rn_recent *r, uint64_t seq,
                            struct rn_view key)
{
    return add(r, seq, key, (struct rn_view){ 0 }, true);
}

void rn_recent_end(struct rn_recent *r, bool stays)
{
    for (struct rn_recent_entry *e = r->group; e && !stays; e = e->before)
        __atomic_store_n(&e->seq, UINT64_MAX, __ATOMIC_RELAXED);
    r->group = NULL;
}
