/* sim_disk.h -- the simulated disk: in memory, with unsynced changes kept
 * apart.
 *
 * For the simulation only.  A node is a file or directory, without its names,
 * and holds its contents twice: as read now, and as last synced; the difference
 * is a list of changes.  Names likewise: a current table, a synced table and a
 * list of operations.  A crash takes the synced side and draws from the list;
 * sync applies the list to it.  sim_disk.c has the contents, sim_names.c the
 * names.
 *
 * Calls return errno values as env.h says.  Running out of memory aborts: in a
 * simulation that is the fault of the test.
 */
#ifndef RN_BASE_SIM_DISK_H
#define RN_BASE_SIM_DISK_H

#include "base/env.h"
#include "base/prng.h"

enum {
    RN_DISK_SECTOR = 512,
    RN_DISK_BLOCK = 4096,
    RN_DISK_NAME_MAX = 255,
    RN_DISK_FILE_MAX = 1 << 30, /* contents are kept in one piece, twice */
};

struct rn_node {
    struct rn_node *next;
    bool is_dir;
    unsigned names, opens; /* both zero: its space is free */
    bool marked;           /* used by the sweep */
    struct rn_buf now, synced;
    uint64_t reserved, reserved_synced; /* bytes allocated from the start */
    struct rn_disk_change *changes;
    size_t change_count, change_room;
};

/* A write, or (bytes NULL) a new length. */
struct rn_disk_change {
    char *bytes;
    uint64_t offset, len;
};

/* A name in a directory. */
struct rn_entry {
    struct rn_node *dir, *node;
    char name[RN_DISK_NAME_MAX + 1];
};

struct rn_names {
    struct rn_entry *entries;
    size_t count, room;
};

/* An operation on names: `from` lost its node, `to` got it; a side without a
 * directory did not take part. */
struct rn_naming {
    struct rn_entry from, to;
};

struct rn_disk_file {
    struct rn_file base;
    struct rn_disk_file *next;
    struct rn_node *node; /* NULL: from before a crash */
    bool writes;
    enum rn_file_lock lock;
    char path[RN_DISK_NAME_MAX + 1]; /* its end, for the trace */
};

struct rn_disk {
    struct rn_prng *prng;
    struct rn_node *nodes, *root;
    struct rn_disk_file *files;
    struct rn_names now, synced;
    struct rn_naming *namings; /* since the directories' last syncs */
    size_t naming_count, naming_room;
    uint64_t limit;
    unsigned spoil_percent;
};

void rn_disk_init(struct rn_disk *disk, struct rn_prng *prng);
void rn_disk_release(struct rn_disk *disk);
void rn_disk_crash(struct rn_disk *disk);
uint64_t rn_disk_free_bytes(const struct rn_disk *disk);

struct rn_node *rn_node_new(struct rn_disk *disk, bool is_dir);
int rn_disk_write(struct rn_disk *disk, struct rn_node *node,
                  struct rn_view bytes, uint64_t offset);
int rn_disk_reserve(struct rn_disk *disk, struct rn_node *node, uint64_t end,
                    enum rn_reserve how);
int rn_disk_truncate(struct rn_disk *disk, struct rn_node *node, uint64_t len);
void rn_disk_sync(struct rn_node *node);
/* The sync failed: each unsynced write is on disk, torn or lost. */
void rn_disk_sync_lose(struct rn_disk *disk, struct rn_node *node);
void rn_node_crash(struct rn_disk *disk, struct rn_node *node);
/* Frees the nodes that nothing refers to any more. */
void rn_disk_sweep(struct rn_disk *disk);

/* Room for one more element of `size` bytes; never NULL. */
void *rn_disk_grow(void *array, size_t *room, size_t count, size_t size);
/* The probability that this crash keeps a change. */
unsigned rn_disk_keep_percent(struct rn_disk *disk);

#endif
