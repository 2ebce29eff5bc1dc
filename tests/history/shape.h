/* shape.h -- partition keys in the order of their EPKs, and the ranges that
 * hold them.
 *
 * Ids of ranges are never given twice, so what is learnt of one stays true.
 * The thread that splits and merges reads the ranges before each change: no
 * range comes and goes unseen.
 *
 * Any thread.
 */
#ifndef RN_TEST_SHAPE_H
#define RN_TEST_SHAPE_H

#include "history/server_process.h"

#include "cosmos/epk.h"

enum { SHAPE_RANGES_MAX = 32, SHAPE_TEXT_MAX = 80 };

struct shape {
    uint32_t id;
    uint32_t key, keys; /* those that it holds */
    uint32_t generation;
    struct rn_epk_range epks;
};

/* Numbers `server_process.keys` keys; the container has one path, a hash of
 * version 2. */
void shape_init(void);
/* Makes dbs/h/colls/c; false if the server does not. */
bool shape_make(struct client *c);
/* The partition key of a number, and its EPK in hexadecimal. */
unsigned shape_name(uint32_t key);
const char *shape_epk(uint32_t key);

/* The ranges there are, in the order of their intervals; 0 if the server does
 * not say. */
size_t shape_read(struct client *c, struct shape out[SHAPE_RANGES_MAX]);
/* What is known of a range, dead or alive; false if nothing is. */
bool shape_find(uint32_t id, struct shape *out);

/* Ids that a restore passed over: nobody knows any more what they held. */
void shape_lose(uint32_t first, uint32_t end);
bool shape_is_lost(uint32_t id);

/* Splits a range or merges two, at random. */
void shape_change(struct client *c);
struct shape_count {
    unsigned splits, merges, generations;
} shape_count(void);

#endif
