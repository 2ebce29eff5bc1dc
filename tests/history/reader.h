/* reader.h -- a reader of a change feed that notes every page it is given.
 *
 * It keeps its places as clients do: a place belongs to an interval of keys,
 * and is used in whatever ranges hold these keys by then.
 *
 *   ranges  by range id.  When one is gone it reads the ranges again and goes
 *           on in each that has taken over, from the earliest place
 *   epks    intervals of EPKs of its own; one that was divided it divides too
 *   key     by partition key
 *   all     without a scope, by the token of the whole container
 */
#ifndef RN_TEST_READER_H
#define RN_TEST_READER_H

#include "history/shape.h"

enum reader_kind { READER_RANGES, READER_EPKS, READER_KEY, READER_ALL };
enum { READER_LEASES_MAX = 512 };

struct lease {
    uint32_t range, key, keys;
    uint64_t place;
    bool starts, again; /* of the next page; history.h */
    bool is_drained;    /* the last page was 304 */
};

struct places {
    size_t count;
    struct lease at[READER_LEASES_MAX];
};

struct reader {
    struct client *c;
    enum reader_kind kind;
    bool from_now;
    struct places now, saved;
    struct places before; /* while others are found; large */
};

/* From the beginning, or from now.  `key`: of a reader of one, or the first of
 * an interval of `keys`. */
void reader_init(struct reader *r, struct client *c, enum reader_kind kind,
                 uint32_t key, uint32_t keys, bool from_now);
/* Reads a page; false if there was nothing new, wherever it reads. */
bool reader_step(struct reader *r, unsigned max, unsigned wait_s);

/* It stops, and goes on some time later from what it had saved. */
void reader_save(struct reader *r);
void reader_go_back(struct reader *r);

#endif
