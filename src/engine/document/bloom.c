/* bloom.c -- see bloom.h. */
#include "engine/document/bloom.h"

#include "base/hash.h"

enum {
    BLOCK = 64, /* bytes: a cache line */
    BLOCK_BITS = 8 * BLOCK,
    BITS_A_KEY = 10,
    MARKS = 5, /* k: bits that a key sets */
    MARK_BITS = 9,
    FIRST_BLOCKS = 8,
    GROWTH = 8,
};

struct layer {
    void *memory;
    uint64_t *words; /* aligned; the first block */
    uint64_t blocks, keys;
};

struct rn_bloom {
    uint32_t container;
    unsigned count; /* of layers; 0: the filter was dropped */
    bool is_partial;
    struct layer layers[RN_BLOOM_LAYERS];
};

/* ---- one filter ---------------------------------------------------------- */

static uint64_t blocks_of(unsigned layer)
{
    uint64_t blocks = FIRST_BLOCKS;

    while (layer-- > 0)
        blocks *= GROWTH;
    return blocks;
}

static void give_up(struct rn_blooms *all, struct rn_bloom *s)
{
    for (; s->count; s->count--) {
        all->bytes -= s->layers[s->count - 1].blocks * BLOCK;
        rn_free(s->layers[s->count - 1].memory);
    }
}

static void grow(struct rn_blooms *all, struct rn_bloom *s)
{
    uint64_t blocks = blocks_of(s->count);
    char *memory = NULL;
    size_t off;

    if (s->count < RN_BLOOM_LAYERS &&
        all->bytes + blocks * BLOCK <= RN_BLOOMS_BYTES_MAX)
        memory = rn_new((size_t)((blocks + 1) * BLOCK));
    if (!memory) {
        give_up(all, s);
        return;
    }
    off = (BLOCK - (uintptr_t)memory % BLOCK) % BLOCK;
    s->layers[s->count++] =
        (struct layer){ memory, (void *)(memory + off), blocks, 0 };
    all->bytes += blocks * BLOCK;
}

static uint64_t *block_at(const struct layer *l, uint64_t hash)
{
    return l->words + (hash >> 32) * l->blocks / (UINT64_C(1) << 32) *
                          (BLOCK / sizeof(uint64_t));
}

/* The next bit of a key in its block. */
static unsigned next_mark(uint64_t *marks)
{
    unsigned mark = *marks % BLOCK_BITS;

    *marks >>= MARK_BITS;
    return mark;
}

/* The upper half of the hash selects the block, this second hash the bits. */
static uint64_t marks_of(uint64_t hash)
{
    return hash * UINT64_C(0x9e3779b97f4a7c15);
}

static bool has(const struct layer *l, uint64_t hash)
{
    const uint64_t *block = block_at(l, hash);
    uint64_t marks = marks_of(hash);

    for (int i = 0; i < MARKS; i++) {
        unsigned mark = next_mark(&marks);
        if (!(block[mark / 64] >> mark % 64 & 1))
            return false;
    }
    return true;
}

static void mark(struct layer *l, uint64_t hash)
{
    uint64_t *block = block_at(l, hash), marks = marks_of(hash);

    for (int i = 0; i < MARKS; i++) {
        unsigned mark = next_mark(&marks);
        block[mark / 64] |= UINT64_C(1) << mark % 64;
    }
    l->keys++;
}

/* The largest layer first: it has most keys. */
static bool has_any(const struct rn_bloom *s, uint64_t hash)
{
    for (unsigned i = s->count; i-- > 0;) {
        if (has(&s->layers[i], hash))
            return true;
    }
    return false;
}

/* ---- all filters --------------------------------------------------------- */

/* The index of a container's filter, or where to insert it. */
static size_t place_of(const struct rn_blooms *s, uint32_t container)
{
    size_t low = 0, high = s->len;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->all[middle]->container < container)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct rn_bloom *find(const struct rn_blooms *s, uint32_t container)
{
    size_t at = place_of(s, container);

    return at < s->len && s->all[at]->container == container ? s->all[at]
                                                             : NULL;
}

static bool make_room(struct rn_blooms *s)
{
    size_t room = s->room ? 2 * s->room : 16;
    struct rn_bloom **all;

    if (s->len < s->room)
        return true;
    all = rn_new(room * sizeof(struct rn_bloom *));
    if (!all)
        return false;
    if (s->len)
        memcpy(all, s->all, s->len * sizeof(struct rn_bloom *));
    rn_free(s->all);
    s->all = all;
    s->room = room;
    return true;
}

static struct rn_bloom *begin(struct rn_blooms *s, uint32_t container)
{
    struct rn_bloom *filter = make_room(s) ? rn_new(sizeof(*filter)) : NULL;
    size_t at;

    if (!filter)
        return NULL;
    filter->container = container;
    grow(s, filter);
    at = place_of(s, container);
    memmove(s->all + at + 1, s->all + at,
            (s->len - at) * sizeof(struct rn_bloom *));
    s->all[at] = filter;
    s->len++;
    return filter;
}

void rn_bloom_begin(struct rn_blooms *s, uint32_t container)
{
    rn_bloom_end(s, container); /* left by a creation that was undone */
    (void)begin(s, container);
}

bool rn_bloom_begin_partial(struct rn_blooms *s, uint32_t container)
{
    struct rn_bloom *filter = find(s, container) ? NULL : begin(s, container);

    if (filter)
        filter->is_partial = true;
    return filter;
}

bool rn_bloom_is_partial(const struct rn_blooms *s, uint32_t container)
{
    const struct rn_bloom *filter = find(s, container);

    return filter && filter->count && filter->is_partial;
}

void rn_bloom_complete(struct rn_blooms *s, uint32_t container)
{
    struct rn_bloom *filter = find(s, container);

    if (filter)
        filter->is_partial = false;
}

void rn_bloom_drop(struct rn_blooms *s, uint32_t container)
{
    struct rn_bloom *filter = find(s, container);

    if (filter)
        give_up(s, filter);
}

void rn_bloom_end(struct rn_blooms *s, uint32_t container)
{
    struct rn_bloom *filter = find(s, container);
    size_t at = place_of(s, container);

    if (!filter)
        return;
    give_up(s, filter);
    rn_free(filter);
    s->len--;
    memmove(s->all + at, s->all + at + 1,
            (s->len - at) * sizeof(struct rn_bloom *));
}

void rn_blooms_release(struct rn_blooms *s)
{
    while (s->len)
        rn_bloom_end(s, s->all[s->len - 1]->container);
    rn_free(s->all);
    *s = (struct rn_blooms){ 0 };
}

void rn_bloom_add(struct rn_blooms *s, uint32_t container, struct rn_view key)
{
    struct rn_bloom *filter = find(s, container);
    uint64_t hash = rn_hash64(key, 0);
    struct layer *top;

    if (!filter || !filter->count || has_any(filter, hash))
        return;
    top = &filter->layers[filter->count - 1];
    if (top->keys >= top->blocks * BLOCK_BITS / BITS_A_KEY) {
        grow(s, filter);
        if (!filter->count)
            return;
        top = &filter->layers[filter->count - 1];
    }
    mark(top, hash);
}

bool rn_bloom_lacks(const struct rn_blooms *s, uint32_t container,
                    struct rn_view key)
{
    const struct rn_bloom *filter = find(s, container);

    return filter && filter->count && !filter->is_partial &&
           !has_any(filter, rn_hash64(key, 0));
}
