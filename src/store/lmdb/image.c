/* image.c -- see image.h. */
#include "store/lmdb/image.h"

#include "base/bytes.h"

enum { VERSION = 2, PAGE_BYTES_MIN = 512, PAGE_BYTES_MAX = 32768 };

void rn_image_encode(const struct rn_image *image, char *out)
{
    rn_put_u32(out, VERSION);
    rn_put_u32(out + 4, image->page_bytes);
    rn_put_u64(out + 8, image->txnid);
    rn_put_u64(out + 16, image->length);
}

bool rn_image_decode(struct rn_view bytes, struct rn_image *out)
{
    size_t metas;

    if (bytes.len < RN_IMAGE_HEADER || rn_get_u32(bytes.at) != VERSION)
        return false;
    *out = (struct rn_image){
        .page_bytes = rn_get_u32(bytes.at + 4),
        .txnid = rn_get_u64(bytes.at + 8),
        .length = rn_get_u64(bytes.at + 16),
    };
    if (out->page_bytes < PAGE_BYTES_MIN || out->page_bytes > PAGE_BYTES_MAX)
        return false;
    metas = RN_PAGE_METAS * (size_t)out->page_bytes;
    if (bytes.len - RN_IMAGE_HEADER < metas)
        return false;
    out->metas = rn_view_of(bytes.at + RN_IMAGE_HEADER, metas);
    out->slots = rn_view_of(bytes.at + RN_IMAGE_HEADER + metas,
                            bytes.len - RN_IMAGE_HEADER - metas);
    return rn_page_meta_pick(out->metas, &out->meta) &&
           out->meta.txnid == out->txnid;
}
