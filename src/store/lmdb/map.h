/* map.h -- the interface of the map: an ordered map under the local store that
 * can be reopened at a captured state.
 *
 * The WAL makes commits durable; the map keeps them in order and serves reads.
 * A map need not be durable by itself.  It must be able to capture a state T,
 * keep the pages of T untouched while T is pinned, and be opened again at T
 * after any crash, whatever was written since.
 *
 *   rn_map_lmdb   LMDB without syncs (lmdb_map.c)
 *   rn_map_tree   a tree in memory over an env's files, for the simulation
 *                 (tests/sim)
 *
 * Internal to store/.  Threads: one writer at a time, which the store ensures;
 * capture is called with no writer; flush, release and readers beside anything.
 */
#ifndef RN_STORE_LMDB_MAP_H
#define RN_STORE_LMDB_MAP_H

#include "store/store.h"

enum { RN_MAP_IMAGE_MAX = 1 << 20 };

struct rn_map {
    const struct rn_map_ops *ops;
};
struct rn_map_txn; /* defined by the implementation */
struct rn_map_cursor;
struct rn_map_pin;

struct rn_map_opts {
    struct rn_env *env;
    const char *path; /* of the map's file */
    uint64_t map_bytes, ahead_bytes;
    uint64_t reserve_bytes; /* of disk that growth must leave free */
    uint32_t readers_max;
    /* The result of capture for the state to open; empty: a new, empty map. */
    struct rn_view image;
    /* Called often during long background work; may be NULL. */
    void (*pause)(void *context);
    void *context;
};

struct rn_map_stat {
    uint64_t file_bytes; /* length of the file */
    uint64_t live_bytes; /* of it, holding the current state */
    uint64_t written;    /* bytes dirtied since open; never decreases */
    uint64_t page_bytes;
    bool is_lost;           /* only reopening helps */
    bool is_nearly_flushed; /* the flush is in its second pass */
    /* Where damage was last found: in the map's file, or in the file with the
     * suffix. 0 and no suffix: nowhere yet, or in a record itself. */
    uint64_t damaged_at;
    const char *damaged_suffix; /* "" or NULL: none */
};

/* A leaf page, as defragmentation sees it. */
struct rn_map_leaf {
    struct rn_view first; /* key; borrowed until the transaction ends */
    uint64_t rows;
    uint64_t room;  /* for rows, in the page */
    uint64_t used;  /* of it */
    uint64_t large; /* bytes of these rows in overflow pages */
};

struct rn_map_ops {
    /* Opens at `image` and pins that state before anything can be written; the
     * caller releases the pin when a later state is durable.  Leaves the disk
     * alone if the image does not fit the file. */
    enum rn_code (*open)(const struct rn_map_opts *opts, struct rn_map **out,
                         struct rn_map_pin **pin, struct rn_err *err);
    void (*close)(struct rn_map *m);
    void (*stat)(struct rn_map *m, struct rn_map_stat *out);

    /* Pins the current state and describes it in `image`, which must stay in
     * place until the state is flushed: flush may append to it. */
    enum rn_code (*capture)(struct rn_map *m, struct rn_buf *image,
                            struct rn_map_pin **pin, struct rn_err *err);
    /* Writes the captured state's bytes to disk, a slice a call; sets `*done`
     * after the sync that makes them durable.  RN_FULL or RN_NOMEM: the state
     * can be dropped and another captured later.  Any other failure may have
     * lost pages that look clean. */
    enum rn_code (*flush)(struct rn_map *m, bool *done, struct rn_err *err);
    /* The captured state is durable, and so is its image.  Called before the
     * pin of the previous state is released; a release alone does not imply it.
     */
    void (*adopt)(struct rn_map *m);
    /* NULL is fine.  The pin of a state that is not adopted yet: drops that
     * state. */
    void (*release)(struct rn_map *m, struct rn_map_pin *pin);

    /* False if a file of the map was replaced or has become shorter.  May be
     * NULL: always true.  Not concurrent with flush. */
    bool (*is_whole)(struct rn_map *m);

    /* RN_FULL if the space that a transaction may need, and `more`, is not
     * available.  Any thread. */
    enum rn_code (*reserve)(struct rn_map *m, enum rn_txn_mode mode,
                            uint64_t more);
    /* True if deletes have freed that space within the file.  May be NULL:
     * never. */
    bool (*has_room)(struct rn_map *m);
    enum rn_code (*begin)(struct rn_map *m, enum rn_txn_mode mode,
                          struct rn_map_txn **out, struct rn_err *err);
    /* Makes the writes visible and stores `seq` beside them. */
    enum rn_code (*commit)(struct rn_map_txn *t, struct rn_err *err);
    void (*abort)(struct rn_map_txn *t);
    /* The number of the last group in this state. */
    enum rn_code (*seq)(struct rn_map_txn *t, uint64_t *out);
    enum rn_code (*set_seq)(struct rn_map_txn *t, uint64_t seq);

    enum rn_code (*get)(struct rn_map_txn *t, struct rn_view key,
                        struct rn_view *out);
    enum rn_code (*put)(struct rn_map_txn *t, struct rn_view key,
                        struct rn_view value);
    enum rn_code (*del)(struct rn_map_txn *t, struct rn_view key);
    /* A put behind every other key; packs pages densely. */
    enum rn_code (*append)(struct rn_map_txn *t, struct rn_view key,
                           struct rn_view value);

    enum rn_code (*scan)(struct rn_map_txn *t,
                         const struct rn_key_interval *range,
                         struct rn_map_cursor **out);
    enum rn_code (*next)(struct rn_map_cursor *c, struct rn_view *key,
                         struct rn_view *value);
    /* In a read transaction, instead of next: describes the cursor's page and
     * moves on to the next one.  RN_NOT_FOUND at the end, or at once if the map
     * has no pages to defragment. */
    enum rn_code (*leaf)(struct rn_map_cursor *c, struct rn_map_leaf *out);
    void (*end)(struct rn_map_cursor *c);
};

extern const struct rn_map_ops rn_map_lmdb;

#endif
