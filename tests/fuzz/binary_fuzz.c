/* binary_fuzz.c -- any bytes as CosmosBinary.
 *
 * What is read is JSON, compact, within the ceiling and no deeper than text may
 * be; what is refused as bad is reported with its place.
 */
#include "fuzz/fuzz.h"

#include "cosmos/binary.h"
#include "json/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rn_json_limits limits = { .twice = RN_JSON_TWICE_LAST_WINS };
    struct rn_buf text = RN_BUF_INIT(1 << 18);
    struct rn_err err = { 0 };
    char *copy = malloc(size + 1);
    struct rn_json j;
    enum rn_code rc;

    if (!copy)
        return 0;
    copy[0] = (char)0x80;
    if (size)
        memcpy(copy + 1, data, size);
    rc = rn_binary_decode(rn_view_of(copy, size + 1), &text, &err);
    must(!rc || rc == RN_BAD_REQUEST || rc == RN_TOO_LARGE);
    must(rc != RN_BAD_REQUEST || strstr(err.text, ": at byte "));
    must(text.len <= 1 << 18);
    rn_json_init(&j, &limits);
    if (!rc) {
        rc = rn_json_parse(&j, rn_buf_view(&text), NULL);
        must(!rc || rc == RN_TOO_LARGE); /* too many names or values */
    }
    rn_json_release(&j);
    rn_buf_release(&text);
    free(copy);
    return 0;
}
