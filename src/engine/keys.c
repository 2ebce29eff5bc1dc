/* keys.c -- see keys.h. */
#include "engine/keys.h"

enum rn_code rn_keys_take(struct rn_txn *txn, const struct rn_key *from,
                          const struct rn_key *before, struct rn_key *out,
                          size_t most, size_t *count)
{
    struct rn_key_interval range = { .from = rn_key_view(from),
                                     .before = rn_key_view(before) };
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    enum rn_code rc = rn_txn_scan(txn, &range, &c);

    *count = 0;
    while (!rc && *count < most) {
        rc = rn_cursor_next(c, &key, &value);
        if (rc)
            break;
        memcpy(out[*count].bytes, key.at, key.len);
        out[(*count)++].len = key.len;
    }
    rn_cursor_end(c);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}
