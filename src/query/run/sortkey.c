/* sortkey.c -- encodes and measures sort keys; see sortkey.h. */
#include "query/run/sortkey.h"

#include "base/bytes.h"

enum {
    NUMBER_LEN = 1 + 8 + 2,
    ZERO = 0xff,
    WHOLE = 1,
    CUT = 2,
    REST_BIAS = 0x8000,
};

/* ---- numbers ------------------------------------------------------------- */

/* The difference between an integer and its nearest double. */
static int64_t rest_of(int64_t i, double nearest)
{
    if (nearest >= 9223372036854775808.0) /* beyond int64 */
        return i - INT64_MAX - 1;
    return i - (int64_t)nearest;
}

static void put_number(const struct rn_value *v, char *out)
{
    double d = rn_value_real(v);
    int64_t rest = v->is_integer ? rest_of(v->integer, d) : 0;
    uint64_t bits;

    if (d == 0)
        d = 0; /* -0.0 equals 0.0 */
    memcpy(&bits, &d, sizeof(bits));
    bits = bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
    rn_put_u64_be(out, bits);
    rest += REST_BIAS;
    out[8] = (char)(rest >> 8);
    out[9] = (char)rest;
}

/* ---- strings ------------------------------------------------------------- */

/* False if the text did not fit. */
static bool put_text(struct rn_view text, size_t max, char *out, size_t *len)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        size_t takes = c == 0 ? 2 : 1;

        if (*len - 1 + takes > max)
            return false;
        out[(*len)++] = (char)(c == 0xee || c == 0xef ? c + 0x10 : c);
        if (c == 0)
            out[(*len)++] = (char)ZERO;
    }
    return true;
}

size_t rn_sortkey_encode_prefix(struct rn_view text, size_t text_max,
                                char out[RN_SORTKEY_MAX])
{
    size_t len = 1;

    out[0] = RN_SORTKEY_STRING;
    (void)put_text(text, text_max, out, &len);
    return len;
}

/* ---- values -------------------------------------------------------------- */

static size_t put(const struct rn_value *v, size_t text_max, char *out,
                  bool *is_cut)
{
    size_t len = 1;

    *is_cut = false;
    switch ((enum rn_value_kind)v->kind) {
    case RN_VALUE_UNDEFINED:
        out[0] = RN_SORTKEY_UNDEFINED;
        break;
    case RN_VALUE_NULL:
        out[0] = RN_SORTKEY_NULL;
        break;
    case RN_VALUE_BOOL:
        out[0] = v->truth ? RN_SORTKEY_TRUE : RN_SORTKEY_FALSE;
        break;
    case RN_VALUE_NUMBER:
        out[0] = RN_SORTKEY_NUMBER;
        put_number(v, out + 1);
        len = NUMBER_LEN;
        break;
    case RN_VALUE_STRING:
        out[0] = RN_SORTKEY_STRING;
        *is_cut = !put_text(v->text, text_max, out, &len);
        out[len++] = 0;
        out[len++] = *is_cut ? CUT : WHOLE;
        break;
    case RN_VALUE_ARRAY:
    case RN_VALUE_OBJECT:
        out[0] =
            v->kind == RN_VALUE_ARRAY ? RN_SORTKEY_ARRAY : RN_SORTKEY_OBJECT;
        *is_cut = true;
        break;
    }
    return len;
}

size_t rn_sortkey_encode(const struct rn_value *v,
                         const struct rn_sortkey_form *form,
                         char out[RN_SORTKEY_MAX], bool *is_cut)
{
    size_t len = put(v, form->text_max, out, is_cut);

    for (size_t i = 0; form->is_descending && i < len; i++)
        out[i] = (char)~out[i];
    return len;
}

/* The length of a string's key; it ends at the first unescaped 00. */
static size_t text_length(struct rn_view bytes, unsigned char turn,
                          bool *is_cut)
{
    for (size_t i = 1; i + 1 < bytes.len; i++) {
        unsigned char next = (unsigned char)bytes.at[i + 1] ^ turn;

        if (((unsigned char)bytes.at[i] ^ turn) != 0)
            continue;
        if (next == WHOLE || next == CUT) {
            *is_cut = next == CUT;
            return i + 2;
        }
        i++;
    }
    return 0;
}

size_t rn_sortkey_length(struct rn_view bytes, bool is_descending, bool *is_cut)
{
    unsigned char turn = is_descending ? 0xff : 0;

    *is_cut = false;
    if (!bytes.len)
        return 0;
    switch ((enum rn_sortkey_tag)((unsigned char)bytes.at[0] ^ turn)) {
    case RN_SORTKEY_UNDEFINED:
    case RN_SORTKEY_NULL:
    case RN_SORTKEY_FALSE:
    case RN_SORTKEY_TRUE:
        return 1;
    case RN_SORTKEY_NUMBER:
        return bytes.len < NUMBER_LEN ? 0 : NUMBER_LEN;
    case RN_SORTKEY_STRING:
        return text_length(bytes, turn, is_cut);
    case RN_SORTKEY_ARRAY:
    case RN_SORTKEY_OBJECT:
        *is_cut = true;
        return 1;
    case RN_SORTKEY_END:
        break;
    }
    return 0;
}
