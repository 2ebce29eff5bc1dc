/* binary_text.c -- decodes the strings of CosmosBinary; see binary_text.h. */
#include "cosmos/binary_text.h"

#include "base/base64.h"
#include "json/utf8.h"

static const char *const words[32] = { "$s",
                                       "$t",
                                       "$v",
                                       "_attachments",
                                       "_etag",
                                       "_rid",
                                       "_self",
                                       "_ts",
                                       "attachments/",
                                       "coordinates",
                                       "geometry",
                                       "GeometryCollection",
                                       "id",
                                       "url",
                                       "Value",
                                       "label",
                                       "LineString",
                                       "link",
                                       "MultiLineString",
                                       "MultiPoint",
                                       "MultiPolygon",
                                       "name",
                                       "Name",
                                       "Type",
                                       "Point",
                                       "Polygon",
                                       "properties",
                                       "type",
                                       "value",
                                       "Feature",
                                       "FeatureCollection",
                                       "_id" };

static const char lower_digits[] = "0123456789abcdef";
static const char upper_digits[] = "0123456789ABCDEF";
static const char date_digits[] = " 0123456789:-.TZ";

enum rn_code rn_binary_refuse(struct rn_binary *b, size_t at, const char *why)
{
    return rn_fail(b->err, RN_BAD_REQUEST,
                   "The body is not valid CosmosBinary: at byte %zu, %s", at,
                   why);
}

enum rn_code rn_binary_refuse_short(struct rn_binary *b)
{
    return rn_binary_refuse(b, b->at,
                            b->end < b->len
                                ? "a value goes beyond its container's end"
                                : "the body ends within a value");
}

/* Room for a string of `len` bytes; NULL if memory is exhausted. */
static char *make_room(struct rn_binary *b, size_t len)
{
    rn_buf_clear(&b->text);
    if (rn_buf_reserve(&b->text, len ? len : 1))
        return NULL;
    b->text.len = len;
    return b->text.at;
}

static enum rn_code made(struct rn_binary *b, struct rn_view *out)
{
    *out = rn_buf_view(&b->text);
    return RN_OK;
}

static enum rn_code read_plain(struct rn_binary *b, uint32_t len,
                               struct rn_view *out)
{
    const char *at = (const char *)rn_binary_take(b, len);
    const char *end;

    if (!at)
        return rn_binary_refuse_short(b);
    *out = rn_view_of(at, len);
    for (end = at + len; at < end;) {
        size_t n = rn_utf8_len(at, end);
        size_t place = (size_t)((const unsigned char *)at - b->bytes);
        if (!n)
            return rn_binary_refuse(b, place, "a string is not UTF-8");
        at += n;
    }
    return RN_OK;
}

/* `from` has the bytes in the order of the text. */
static char *put_guid(char *to, const unsigned char *from, const char *digits,
                      bool low_first)
{
    for (unsigned i = 0; i < 16; i++) {
        unsigned high = from[i] >> 4, low = from[i] & 15;
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = digits[low_first ? low : high];
        *to++ = digits[low_first ? high : low];
    }
    return to;
}

static enum rn_code read_guid_text(struct rn_binary *b, unsigned marker,
                                   struct rn_view *out)
{
    const unsigned char *from = rn_binary_take(b, 16);
    bool quoted = marker == RN_BIN_GUID_QUOTED;
    char *to;

    if (!from)
        return rn_binary_refuse_short(b);
    to = make_room(b, quoted ? 38 : 36);
    if (!to)
        return RN_NOMEM;
    if (quoted)
        *to++ = '"';
    to = put_guid(to, from,
                  marker == RN_BIN_GUID_UPPER ? upper_digits : lower_digits,
                  true);
    if (quoted)
        *to = '"';
    return made(b, out);
}

/* Reads an RN_BIN_GUID; its first three fields are little-endian integers. */
static enum rn_code read_guid(struct rn_binary *b, struct rn_view *out)
{
    static const unsigned char order[16] = { 3, 2, 1,  0,  5,  4,  7,  6,
                                             8, 9, 10, 11, 12, 13, 14, 15 };
    const unsigned char *from = rn_binary_take(b, 16);
    unsigned char bytes[16];
    char *to;

    if (!from)
        return rn_binary_refuse_short(b);
    to = make_room(b, 36);
    if (!to)
        return RN_NOMEM;
    for (unsigned i = 0; i < 16; i++)
        bytes[i] = from[order[i]];
    put_guid(to, bytes, lower_digits, false);
    return made(b, out);
}

static enum rn_code put_base64(struct rn_binary *b, struct rn_view bytes,
                               unsigned how, struct rn_view *out)
{
    char *to = make_room(b, RN_BASE64_LEN(bytes.len));

    if (!to)
        return RN_NOMEM;
    *out = rn_base64_encode(bytes, how, to);
    return RN_OK;
}

static enum rn_code read_base64(struct rn_binary *b, unsigned marker,
                                struct rn_view *out)
{
    bool is_url =
        marker == RN_BIN_BASE64_URL_1 || marker == RN_BIN_BASE64_URL_2;
    unsigned width =
        marker == RN_BIN_BASE64_1 || marker == RN_BIN_BASE64_URL_1 ? 1 : 2;
    unsigned how = is_url ? RN_BASE64_URL : RN_BASE64_STANDARD;
    const unsigned char *from;
    uint32_t groups, padding;
    size_t len;

    if (!rn_binary_take_uint(b, width, &groups) ||
        !rn_binary_take_uint(b, 1, &padding))
        return rn_binary_refuse_short(b);
    if (padding > 2) {
        padding ^= 0xff;
        how |= RN_BASE64_BARE;
    }
    if (padding > 2 || (padding && !groups))
        return rn_binary_refuse(b, b->at - 1,
                                "base64 cannot have that padding");
    len = (size_t)groups * 3 - padding;
    from = rn_binary_take(b, len);
    if (!from)
        return rn_binary_refuse_short(b);
    return put_base64(b, rn_view_of(from, len), how, out);
}

static enum rn_code read_bytes(struct rn_binary *b, unsigned width,
                               struct rn_view *out)
{
    const unsigned char *from;
    uint32_t len;

    if (!rn_binary_take_uint(b, width, &len))
        return rn_binary_refuse_short(b);
    from = rn_binary_take(b, len);
    if (!from)
        return rn_binary_refuse_short(b);
    return put_base64(b, rn_view_of(from, len), RN_BASE64_STANDARD, out);
}

/* Characters of `bits` bits: indexes into `table`, or offsets from `base`. */
struct packing {
    unsigned bits, width; /* of a character; bytes of their count */
    const char *table;
    bool has_base;
};

static const struct packing packings[] = {
    /* from RN_BIN_HEX_LOWER on */
    { 4, 1, lower_digits, false }, { 4, 1, upper_digits, false },
    { 4, 1, date_digits, false },  { 4, 1, NULL, true },
    { 5, 1, NULL, true },          { 6, 1, NULL, true },
    { 7, 1, NULL, false },         { 7, 2, NULL, false },
};

static enum rn_code read_packed(struct rn_binary *b, const struct packing *p,
                                struct rn_view *out)
{
    uint32_t count, base = 0, bits = 0;
    const unsigned char *from;
    unsigned held = 0;
    char *to;

    if (!rn_binary_take_uint(b, p->width, &count) ||
        (p->has_base && !rn_binary_take_uint(b, 1, &base)))
        return rn_binary_refuse_short(b);
    from = rn_binary_take(b, ((uint64_t)count * p->bits + 7) / 8);
    if (!from)
        return rn_binary_refuse_short(b);
    to = make_room(b, count);
    if (!to)
        return RN_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code;
        if (held < p->bits) {
            bits |= (uint32_t)*from++ << held;
            held += 8;
        }
        code = bits & ((1u << p->bits) - 1);
        bits >>= p->bits;
        held -= p->bits;
        if (base + code > 0x7f)
            return rn_binary_refuse(b, b->at, "a packed string is not ASCII");
        if (p->table)
            to[i] = p->table[code];
        else
            to[i] = (char)(base + code);
    }
    if (bits)
        return rn_binary_refuse(b, b->at - 1,
                                "a packed string has bits left over");
    return made(b, out);
}

static enum rn_code read_direct(struct rn_binary *b, unsigned marker, size_t at,
                                struct rn_view *out)
{
    uint32_t len;

    if (marker < RN_BIN_USER_WORD) {
        *out = rn_view_text(words[marker - RN_BIN_WORD]);
        return RN_OK;
    }
    if (marker < RN_BIN_NO_STRING)
        return rn_binary_refuse(b, at,
                                "a string is of a dictionary that is not here");
    if (marker < RN_BIN_BASE64_1)
        return rn_binary_refuse(b, at, "there is no such marker");
    if (marker <= RN_BIN_BASE64_URL_2)
        return read_base64(b, marker, out);
    if (marker <= RN_BIN_GUID_QUOTED)
        return read_guid_text(b, marker, out);
    if (marker < RN_BIN_TEXT)
        return read_packed(b, &packings[marker - RN_BIN_HEX_LOWER], out);
    if (marker < RN_BIN_TEXT_1)
        return read_plain(b, marker - RN_BIN_TEXT, out);
    if (!rn_binary_take_uint(b, 1u << (marker - RN_BIN_TEXT_1), &len))
        return rn_binary_refuse_short(b);
    return read_plain(b, len, out);
}

static enum rn_code read_string(struct rn_binary *b, unsigned marker,
                                struct rn_view *out)
{
    size_t at = b->at - 1, back, end;
    uint32_t target;
    enum rn_code rc;

    if (marker < RN_BIN_BACK_1)
        return read_direct(b, marker, at, out);
    if (!rn_binary_take_uint(b, marker - RN_BIN_BACK_1 + 1, &target))
        return rn_binary_refuse_short(b);
    if (target < 1 || target >= at || !rn_binary_is_string(b->bytes[target]) ||
        b->bytes[target] >= RN_BIN_BACK_1)
        return rn_binary_refuse(b, at, "a reference is to no string before it");
    back = b->at;
    end = b->end;
    b->at = (size_t)target + 1;
    b->end = b->len;
    rc = read_direct(b, b->bytes[target], target, out);
    b->at = back;
    b->end = end;
    return rc;
}

enum rn_code rn_binary_read_text(struct rn_binary *b, unsigned marker,
                                 struct rn_view *out)
{
    if (marker == RN_BIN_GUID)
        return read_guid(b, out);
    if (marker >= RN_BIN_BYTES_1)
        return read_bytes(b, 1u << (marker - RN_BIN_BYTES_1), out);
    return read_string(b, marker, out);
}
