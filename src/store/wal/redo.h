/* redo.h -- the payload of a WAL record: the redo of one group commit.
 *
 * The writes follow each other in the order in which they were made, little
 * endian:
 *
 *      0  kind    u8    1 put, 2 delete
 *      1  zero    u8
 *      2  key     u16   its length
 *      4  value   u32   its length; 0 in a delete
 *      8  the key, then the value
 */
#ifndef RN_STORE_WAL_REDO_H
#define RN_STORE_WAL_REDO_H

#include "base/mem.h"

enum rn_redo_kind { RN_REDO_PUT = 1, RN_REDO_DEL = 2 };

enum { RN_REDO_HEADER = 8 };

struct rn_redo {
    enum rn_redo_kind kind;
    struct rn_view key, value;
};

enum rn_code rn_redo_add(struct rn_buf *payload,
                         const struct rn_redo *write) RN_CHECK;

/* Removes the first write from `*payload`; `out` points into the payload.
 * RN_NOT_FOUND at the end, RN_CORRUPT if the payload is malformed. */
enum rn_code rn_redo_next(struct rn_view *payload,
                          struct rn_redo *out) RN_CHECK;

#endif
