/* block_arena.c -- see block_arena.h. */
#include "store/memtable/block_arena.h"

#include <stdalign.h>
#include <sys/mman.h>

enum {
    BLOCK_LEAST = 4 << 10,
    BLOCK_MOST = 256 << 10,
    BLOCK_HUGE = 2 << 20, /* a huge page */
    PAGE_LEAST = 4 << 10,
    STOCK = 2,      /* huge blocks: each of two rooms may need one */
    LARGE_PART = 4, /* of a block: larger pieces get a block of their own */
    ALIGN = alignof(uint64_t),
};

struct rn_block {
    struct rn_block *next;
    size_t mapped; /* bytes of the block's own mapping; 0: from rn_new */
    char bytes[];
};

static size_t clamp(uint64_t n, size_t least, size_t most)
{
    return n < least ? least : n > most ? most : (size_t)n;
}

void rn_block_arena_init(struct rn_block_arena *b, uint64_t limit)
{
    *b = (struct rn_block_arena){ .block_bytes =
                                      clamp(limit, BLOCK_LEAST, BLOCK_MOST) };
}

/* Searches jump all over a large memtable.  With small pages, almost every
 * access would miss the TLB. */
static struct rn_block *map_block(size_t bytes)
{
    struct rn_block *b = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (b == MAP_FAILED)
        return NULL;
    (void)madvise(b, bytes, MADV_HUGEPAGE);
    b->mapped = bytes;
    return b;
}

static void free_block(struct rn_block *b)
{
    if (b->mapped)
        (void)munmap(b, b->mapped);
    else
        rn_free(b);
}

static struct rn_block *pop(struct rn_block **list)
{
    struct rn_block *b = *list;

    if (b)
        *list = b->next;
    return b;
}

static void push(struct rn_block **list, struct rn_block *b)
{
    b->next = *list;
    *list = b;
}

static void free_list(struct rn_block **list)
{
    struct rn_block *b;

    while ((b = pop(list)))
        free_block(b);
}

/* Gives the stocked blocks to the writer. */
static void take_stock(struct rn_block_arena *b)
{
    if (!b->spare)
        b->spare = __atomic_exchange_n(&b->ahead, NULL, __ATOMIC_ACQUIRE);
}

void rn_block_arena_trim(struct rn_block_arena *b)
{
    free_list(&b->spare);
    take_stock(b);
    free_list(&b->spare);
}

void rn_block_arena_release(struct rn_block_arena *b)
{
    rn_block_arena_trim(b);
    free_list(&b->used);
}

void rn_block_arena_empty(struct rn_block_arena *b)
{
    struct rn_block *block;

    free_list(&b->spare);
    take_stock(b);
    while ((block = pop(&b->used))) {
        if (block->mapped == BLOCK_HUGE)
            push(&b->spare, block);
        else
            free_block(block);
    }
    b->bytes = 0;
    b->is_short = false;
}

bool rn_block_arena_is_short(const struct rn_block_arena *b)
{
    return __atomic_load_n(&b->is_short, __ATOMIC_RELAXED);
}

/* Touches every page, because the kernel backs a page at its first touch. */
static void touch(struct rn_block *b)
{
    for (size_t at = PAGE_LEAST; at < b->mapped; at += PAGE_LEAST)
        *((volatile char *)b + at) = 0;
}

void rn_block_arena_stock(struct rn_block_arena *b)
{
    __atomic_store_n(&b->is_short, false, __ATOMIC_RELAXED);
    for (int i = 0; i < STOCK; i++) {
        struct rn_block *more = map_block(BLOCK_HUGE);
        if (!more)
            return; /* the writer will find out */
        touch(more);
        more->next = __atomic_load_n(&b->ahead, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&b->ahead, &more->next, more, true,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
    }
}

uint64_t rn_block_arena_bytes(const struct rn_block_arena *b)
{
    return __atomic_load_n(&b->bytes, __ATOMIC_RELAXED);
}

/* Begins at half a huge block, so that one is ready when the first is needed.
 */
static void note_shortage(struct rn_block_arena *b)
{
    if (b->bytes >= BLOCK_HUGE / 2 && (!b->spare || !b->spare->next) &&
        !__atomic_load_n(&b->ahead, __ATOMIC_RELAXED))
        __atomic_store_n(&b->is_short, true, __ATOMIC_RELAXED);
}

static struct rn_block *get_block(struct rn_block_arena *b, size_t bytes)
{
    if (bytes < BLOCK_HUGE)
        return rn_new(bytes);
    if (bytes > BLOCK_HUGE)
        return map_block(bytes);
    take_stock(b);
    return b->spare ? pop(&b->spare) : map_block(bytes);
}

static struct rn_block *add_block(struct rn_block_arena *b, size_t bytes)
{
    struct rn_block *block = get_block(b, bytes + sizeof(*block));

    if (block)
        push(&b->used, block);
    note_shortage(b);
    return block;
}

void *rn_block_arena_take(struct rn_block_arena *b, struct rn_room *room,
                          size_t bytes)
{
    size_t large = b->block_bytes / LARGE_PART;
    char *at = room->at;

    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes > room->left && b->bytes >= BLOCK_HUGE)
        b->block_bytes = BLOCK_HUGE - sizeof(struct rn_block);
    if (bytes > room->left) {
        struct rn_block *block =
            add_block(b, bytes > large ? bytes : b->block_bytes);
        if (!block)
            return NULL;
        at = block->bytes;
    }
    if (bytes <= room->left || bytes <= large) {
        room->left =
            (bytes <= room->left ? room->left : b->block_bytes) - bytes;
        room->at = at + bytes;
    }
    __atomic_add_fetch(&b->bytes, bytes, __ATOMIC_RELAXED);
    return at;
}
