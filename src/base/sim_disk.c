/* sim_disk.c -- the contents of simulated files, and what survives a crash. */
#include "base/sim_disk.h"

#include "base/sim_names.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void *rn_disk_grow(void *array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return array;
    *room = *room ? *room * 2 : 8;
    array = realloc(array, *room * size);
    if (!array)
        abort();
    return array;
}

/* Half the crashes in the proofs that found most were at the extremes, where
 * all or nothing is kept; a uniform distribution would seldom get there. */
unsigned rn_disk_keep_percent(struct rn_disk *disk)
{
    static const unsigned percents[] = { 0, 5, 30, 50, 70, 95, 100 };
    size_t n = sizeof(percents) / sizeof(percents[0]);

    return percents[rn_prng_below(disk->prng, n)];
}

/* ---- nodes --------------------------------------------------------------- */

struct rn_node *rn_node_new(struct rn_disk *disk, bool is_dir)
{
    struct rn_node *node = rn_new(sizeof(*node));
    struct rn_node **end = &disk->nodes;

    if (!node)
        abort();
    node->is_dir = is_dir;
    node->now = RN_BUF_INIT(RN_DISK_FILE_MAX);
    node->synced = RN_BUF_INIT(RN_DISK_FILE_MAX);
    while (*end)
        end = &(*end)->next;
    *end = node;
    return node;
}

static void forget_changes(struct rn_node *node)
{
    for (size_t i = 0; i < node->change_count; i++)
        rn_free(node->changes[i].bytes);
    node->change_count = 0;
}

static void node_free(struct rn_node *node)
{
    forget_changes(node);
    rn_free(node->changes);
    rn_buf_release(&node->now);
    rn_buf_release(&node->synced);
    rn_free(node);
}

void rn_disk_init(struct rn_disk *disk, struct rn_prng *prng)
{
    *disk = (struct rn_disk){ .prng = prng, .limit = UINT64_MAX };
    disk->root = rn_node_new(disk, true);
    disk->root->names = 1;
}

void rn_disk_release(struct rn_disk *disk)
{
    while (disk->files) {
        struct rn_disk_file *next = disk->files->next;
        rn_free(disk->files);
        disk->files = next;
    }
    while (disk->nodes) {
        struct rn_node *next = disk->nodes->next;
        node_free(disk->nodes);
        disk->nodes = next;
    }
    rn_names_release(disk);
}

/* ---- space --------------------------------------------------------------- */

static uint64_t whole_blocks(uint64_t len)
{
    return (len + RN_DISK_BLOCK - 1) / RN_DISK_BLOCK * RN_DISK_BLOCK;
}

/* Holes count as filled: the simulated disk is no better than required. */
static uint64_t allocated(const struct rn_node *node)
{
    uint64_t filled = whole_blocks(node->now.len);

    return filled > node->reserved ? filled : node->reserved;
}

uint64_t rn_disk_free_bytes(const struct rn_disk *disk)
{
    uint64_t used = 0;

    for (const struct rn_node *n = disk->nodes; n; n = n->next) {
        if (n->names || n->opens)
            used += allocated(n);
    }
    return disk->limit > used ? disk->limit - used : 0;
}

static bool has_room(const struct rn_disk *disk, const struct rn_node *node,
                     uint64_t end)
{
    uint64_t have = allocated(node), want = whole_blocks(end);

    return want <= have || want - have <= rn_disk_free_bytes(disk);
}

/* ---- contents ------------------------------------------------------------ */

static void set_len(struct rn_buf *b, uint64_t len)
{
    if (len > b->len) {
        if (rn_buf_reserve(b, (size_t)len - b->len))
            abort();
        memset(b->at + b->len, 0, (size_t)len - b->len);
    }
    b->len = (size_t)len;
}

static void put_bytes(struct rn_buf *b, const char *bytes, uint64_t len,
                      uint64_t offset)
{
    if (offset + len > b->len)
        set_len(b, offset + len);
    memcpy(b->at + offset, bytes, (size_t)len);
}

static void add_change(struct rn_node *node, struct rn_disk_change change)
{
    node->changes = rn_disk_grow(node->changes, &node->change_room,
                                 node->change_count, sizeof(change));
    node->changes[node->change_count++] = change;
}

static void change_len(struct rn_node *node, uint64_t len)
{
    if (len == node->now.len)
        return;
    set_len(&node->now, len);
    add_change(node, (struct rn_disk_change){ .len = len });
}

static void write_all(struct rn_node *node, struct rn_view bytes,
                      uint64_t offset)
{
    char *copy;
    uint64_t end = offset + bytes.len, before = node->now.len;

    if (bytes.len == 0)
        return;
    copy = malloc(bytes.len);
    if (!copy)
        abort();
    memcpy(copy, bytes.at, bytes.len);
    put_bytes(&node->now, copy, bytes.len, offset);
    add_change(node, (struct rn_disk_change){ copy, offset, bytes.len });
    if (end > before)
        add_change(node, (struct rn_disk_change){ .len = end });
}

/* A full disk takes the bytes that fit before the write fails. */
int rn_disk_write(struct rn_disk *disk, struct rn_node *node,
                  struct rn_view bytes, uint64_t offset)
{
    uint64_t fits;

    if (offset > RN_DISK_FILE_MAX || bytes.len > RN_DISK_FILE_MAX - offset)
        return EFBIG;
    if (has_room(disk, node, offset + bytes.len)) {
        write_all(node, bytes, offset);
        return 0;
    }
    fits = allocated(node) +
           rn_disk_free_bytes(disk) / RN_DISK_BLOCK * RN_DISK_BLOCK;
    if (fits > offset) {
        uint64_t len = rn_prng_below(disk->prng, fits - offset + 1);
        write_all(node, rn_view_of(bytes.at, (size_t)len), offset);
    }
    return ENOSPC;
}

int rn_disk_reserve(struct rn_disk *disk, struct rn_node *node, uint64_t end,
                    enum rn_reserve how)
{
    if (end > RN_DISK_FILE_MAX)
        return EFBIG;
    if (!has_room(disk, node, end))
        return ENOSPC;
    if (whole_blocks(end) > node->reserved)
        node->reserved = whole_blocks(end);
    if (how == RN_RESERVE_GROW && end > node->now.len)
        change_len(node, end);
    return 0;
}

int rn_disk_truncate(struct rn_disk *disk, struct rn_node *node, uint64_t len)
{
    if (len > RN_DISK_FILE_MAX)
        return EFBIG;
    if (len > node->now.len && !has_room(disk, node, len))
        return ENOSPC;
    node->reserved = 0; /* blocks allocated beyond the end are freed */
    change_len(node, len);
    return 0;
}

/* ---- sync ---------------------------------------------------------------- */

void rn_disk_sync(struct rn_node *node)
{
    for (size_t i = 0; i < node->change_count; i++) {
        const struct rn_disk_change *c = &node->changes[i];
        if (c->bytes)
            put_bytes(&node->synced, c->bytes, c->len, c->offset);
        else
            set_len(&node->synced, c->len);
    }
    set_len(&node->synced, node->now.len);
    node->reserved_synced = node->reserved;
    forget_changes(node);
}

/* ---- crash --------------------------------------------------------------- */

/* A part of one write, within one block. */
struct part {
    const char *bytes;
    uint64_t from, to; /* in the file */
};

static uint64_t next_multiple(uint64_t offset, uint64_t unit)
{
    return offset / unit * unit + unit;
}

/* Corrupts any sector of the block, whether this write touched it or not. */
static void spoil_block(struct rn_disk *disk, struct rn_buf *b, uint64_t at)
{
    uint64_t start = at / RN_DISK_BLOCK * RN_DISK_BLOCK;

    for (uint64_t s = start; s < start + RN_DISK_BLOCK && s < b->len;
         s += RN_DISK_SECTOR) {
        uint64_t end =
            s + RN_DISK_SECTOR < b->len ? s + RN_DISK_SECTOR : b->len;
        if (rn_prng_percent(disk->prng, 50))
            rn_prng_fill(disk->prng, b->at + s, (size_t)(end - s));
    }
}

/* Keeps the first sectors, the last ones, or any. */
static void tear(struct rn_disk *disk, struct rn_buf *b, struct part p)
{
    const uint64_t sectors = RN_DISK_BLOCK / RN_DISK_SECTOR;
    uint64_t shape = rn_prng_below(disk->prng, 3);
    uint64_t border = rn_prng_below(disk->prng, sectors + 1);

    if (rn_prng_percent(disk->prng, disk->spoil_percent))
        spoil_block(disk, b, p.from);
    while (p.from < p.to) {
        uint64_t sector = p.from % RN_DISK_BLOCK / RN_DISK_SECTOR;
        uint64_t end = next_multiple(p.from, RN_DISK_SECTOR);
        bool keep = shape == 0   ? sector < border
                    : shape == 1 ? sector >= border
                                 : rn_prng_percent(disk->prng, 50);
        if (end > p.to)
            end = p.to;
        if (keep)
            put_bytes(b, p.bytes, end - p.from, p.from);
        p.bytes += end - p.from;
        p.from = end;
    }
}

/* Applies to `b` the part of one write that reached the disk. */
static void keep_some(struct rn_disk *disk, struct rn_buf *b,
                      const struct rn_disk_change *c, unsigned keep_percent)
{
    uint64_t at = c->offset, stop = c->offset + c->len;

    while (at < stop) {
        uint64_t end = next_multiple(at, RN_DISK_BLOCK);
        struct part p = { c->bytes + (at - c->offset), at, end };
        if (p.to > stop)
            p.to = stop;
        if (rn_prng_percent(disk->prng, keep_percent))
            put_bytes(b, p.bytes, p.to - p.from, p.from);
        else if (rn_prng_percent(disk->prng, 50))
            tear(disk, b, p);
        at = p.to;
    }
}

void rn_disk_sync_lose(struct rn_disk *disk, struct rn_node *node)
{
    size_t kept = 0;

    for (size_t i = 0; i < node->change_count; i++) {
        struct rn_disk_change *c = &node->changes[i];
        if (!c->bytes) {
            node->changes[kept++] = *c; /* lengths may still be saved */
            continue;
        }
        keep_some(disk, &node->synced, c, 33);
        rn_free(c->bytes);
    }
    node->change_count = kept;
}

/* Lengths are kept in order: all up to one that is drawn, none after it. */
static size_t draw_lengths(struct rn_disk *disk, const struct rn_node *node,
                           unsigned keep_percent)
{
    size_t lengths = 0;

    for (size_t i = 0; i < node->change_count; i++)
        lengths += !node->changes[i].bytes;
    if (rn_prng_percent(disk->prng, keep_percent))
        return lengths;
    return (size_t)rn_prng_below(disk->prng, lengths + 1);
}

/* A write after a truncation goes to new blocks, so it survives only if the
 * truncation does.  A write before an extension may survive without it. */
void rn_node_crash(struct rn_disk *disk, struct rn_node *node)
{
    unsigned keep_percent = rn_disk_keep_percent(disk);
    size_t lengths = draw_lengths(disk, node, keep_percent);
    uint64_t len = node->synced.len, last_len = len;

    for (size_t i = 0; i < node->change_count; i++) {
        const struct rn_disk_change *c = &node->changes[i];
        bool shorter = !c->bytes && c->len < last_len;
        if (c->bytes) {
            keep_some(disk, &node->synced, c, keep_percent);
            continue;
        }
        if (lengths == 0 && shorter)
            break;
        last_len = c->len;
        if (lengths == 0)
            continue;
        lengths--;
        len = c->len;
        if (shorter)
            set_len(&node->synced, len);
    }
    forget_changes(node);
    set_len(&node->synced, len);
    node->reserved = node->reserved_synced;
    set_len(&node->now, 0);
    if (len > 0)
        put_bytes(&node->now, node->synced.at, len, 0);
}

/* ---- the whole disk ------------------------------------------------------ */

static void mark_entry(const struct rn_entry *entry)
{
    if (!entry->dir)
        return;
    entry->dir->marked = true;
    entry->node->marked = true;
}

static void mark_nodes(struct rn_disk *disk)
{
    for (struct rn_node *n = disk->nodes; n; n = n->next)
        n->marked = n == disk->root || n->names || n->opens;
    for (size_t i = 0; i < disk->synced.count; i++)
        mark_entry(&disk->synced.entries[i]);
    for (size_t i = 0; i < disk->naming_count; i++) {
        mark_entry(&disk->namings[i].from);
        mark_entry(&disk->namings[i].to);
    }
}

void rn_disk_sweep(struct rn_disk *disk)
{
    struct rn_node **at = &disk->nodes;

    mark_nodes(disk);
    while (*at) {
        struct rn_node *node = *at;
        if (node->marked) {
            at = &node->next;
            continue;
        }
        *at = node->next;
        node_free(node);
    }
}

void rn_disk_crash(struct rn_disk *disk)
{
    for (struct rn_disk_file *f = disk->files; f; f = f->next) {
        if (f->node)
            f->node->opens--;
        f->node = NULL;
    }
    rn_names_crash(disk);
    for (struct rn_node *n = disk->nodes; n; n = n->next)
        rn_node_crash(disk, n);
}
