/* image.h -- the part of a checkpoint that the map needs to open at its state.
 *
 * Little endian, within the file `checkpoint` and covered by its checksum:
 *
 *      0  version     u32
 *      4  page bytes  u32
 *      8  txnid       u64  the state's transaction in LMDB
 *     16  length      u64  of the map's file when it was captured
 *     24  metas            LMDB's two meta pages
 *      -  slots            the current slots of the page checksums
 * (page_checksums.h)
 */
#ifndef RN_STORE_LMDB_IMAGE_H
#define RN_STORE_LMDB_IMAGE_H

#include "store/lmdb/page.h"

enum { RN_IMAGE_HEADER = 24 };

struct rn_image {
    uint32_t page_bytes;
    uint64_t txnid, length;
    struct rn_view metas, slots;
    struct rn_page_meta meta; /* the newer of the two */
};

/* False if these bytes are not an image of this version. */
bool rn_image_decode(struct rn_view bytes, struct rn_image *out);

/* Writes RN_IMAGE_HEADER bytes; the rest follows as it is. */
void rn_image_encode(const struct rn_image *image, char *out);

#endif
