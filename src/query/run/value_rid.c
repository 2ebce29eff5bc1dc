/* value_rid.c -- decodes the resource id of a document; see value_rid.h. */
#include "query/run/value_rid.h"

#include "base/base64.h"

bool rn_value_rid_of(struct rn_view text, uint64_t *out)
{
    unsigned char bytes[32];
    size_t len = 0;

    if (rn_base64_decode(text, RN_BASE64_RID, bytes, sizeof(bytes), &len) ||
        len < 8)
        return false;
    *out = 0;
    for (size_t i = len; i-- > len - 8;)
        *out = *out << 8 | bytes[i];
    return true;
}

enum rn_code rn_value_rid(const struct rn_value *v, struct rn_arena *a,
                          uint64_t *out, bool *found)
{
    struct rn_value rid;
    enum rn_code rc = rn_value_member(v, RN_LIT("_rid"), a, &rid);

    *found =
        !rc && rid.kind == RN_VALUE_STRING && rn_value_rid_of(rid.text, out);
    return rc;
}
