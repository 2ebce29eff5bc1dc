/* pk.c -- see pk.h. */
#include "cosmos/pk.h"

#include "base/hex.h"
#include "json/number.h"
#include "json/utf8.h"

#include <assert.h>
#include <math.h>

/* ---- the header's text --------------------------------------------------- */

/* The remaining input, and the arena of unescaped strings. */
struct reader {
    struct rn_view in;
    struct rn_arena *arena;
};

static enum rn_code refuse(struct rn_err *err, const char *why)
{
    return rn_fail(err, RN_BAD_REQUEST,
                   "The partition key header is not valid: %s", why);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct reader *r)
{
    while (r->in.len > 0 && is_blank(r->in.at[0]))
        r->in = rn_view_of(r->in.at + 1, r->in.len - 1);
}

static bool take(struct reader *r, struct rn_view word)
{
    if (!rn_view_starts(r->in, word))
        return false;
    r->in = rn_view_of(r->in.at + word.len, r->in.len - word.len);
    return true;
}

static bool take_hex(struct rn_view *in, size_t digits, uint32_t *out)
{
    uint32_t value = 0;

    if (in->len < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int digit = rn_hex_digit(in->at[i]);
        if (digit < 0)
            return false;
        value = value << 4 | (uint32_t)digit;
    }
    *in = rn_view_of(in->at + digits, in->len - digits);
    *out = value;
    return true;
}

/* \uXXXX; two of them may form a surrogate pair. */
static bool take_utf16(struct rn_view *in, uint32_t *point)
{
    uint32_t low;

    if (!take_hex(in, 4, point))
        return false;
    if (*point < 0xd800 || *point > 0xdfff)
        return true;
    if (*point > 0xdbff || !rn_view_starts(*in, RN_LIT("\\u")))
        return false;
    *in = rn_view_of(in->at + 2, in->len - 2);
    if (!take_hex(in, 4, &low) || low < 0xdc00 || low > 0xdfff)
        return false;
    *point = 0x10000 + ((*point - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* The character after a backslash.  Go quotes a byte that is not UTF-8 as \xHH,
 * and control characters too; the former is not a valid key, since no document
 * can contain it. */
static bool take_escape(struct rn_view *in, uint32_t *point)
{
    static const char from[] = "\"\\/bfnrtav", to[] = "\"\\/\b\f\n\r\t\a\v";
    const char *known;
    char c;

    if (in->len == 0)
        return false;
    c = in->at[0];
    *in = rn_view_of(in->at + 1, in->len - 1);
    switch (c) {
    case 'u':
        return take_utf16(in, point);
    case 'U':
        return take_hex(in, 8, point) && *point <= 0x10ffff &&
               (*point < 0xd800 || *point > 0xdfff);
    case 'x':
        return take_hex(in, 2, point) && *point < 0x80;
    default:
        known = c ? strchr(from, c) : NULL;
        if (known)
            *point = (unsigned char)to[known - from];
        return known != NULL;
    }
}

/* Finds the closing quote and rejects invalid bytes before it. */
static bool measure_string(struct rn_view in, size_t *len, bool *escaped)
{
    size_t i = 0;

    *escaped = false;
    while (i < in.len && in.at[i] != '"') {
        bool is_escape = in.at[i] == '\\';
        size_t len_here = rn_utf8_len(in.at + i, in.at + in.len);
        if ((unsigned char)in.at[i] < 0x20 || len_here == 0)
            return false;
        *escaped = *escaped || is_escape;
        i += is_escape ? 2 : len_here;
    }
    *len = i;
    return i < in.len;
}

/* Unescaping never makes a string longer. */
static bool unescape(struct rn_view raw, char *out, size_t *len)
{
    size_t n = 0;

    while (raw.len > 0) {
        uint32_t point;
        char c = raw.at[0];
        raw = rn_view_of(raw.at + 1, raw.len - 1);
        if (c != '\\') {
            out[n++] = c;
            continue;
        }
        if (!take_escape(&raw, &point))
            return false;
        n += rn_utf8_encode(point, out + n);
    }
    *len = n;
    return true;
}

/* The opening quote has been consumed. */
static enum rn_code read_string(struct reader *r, struct rn_view *out,
                                struct rn_err *err)
{
    struct rn_view raw;
    bool escaped;
    size_t len;
    char *copy;

    if (!measure_string(r->in, &len, &escaped))
        return refuse(err, "a string does not end, or is not UTF-8");
    raw = rn_view_of(r->in.at, len);
    r->in = rn_view_of(r->in.at + len + 1, r->in.len - len - 1);
    *out = raw;
    if (!escaped)
        return RN_OK;
    if (raw.len > (size_t)6 * RN_PK_TEXT_MAX) /* \u0041 is one byte */
        return refuse(err, "a string is too long");
    copy = rn_arena_alloc(r->arena, raw.len);
    if (!copy)
        return rn_fail(err, RN_NOMEM, "no memory for a partition key");
    if (!unescape(raw, copy, &len))
        return refuse(err, "a string has an escape that means nothing");
    *out = rn_view_of(copy, len);
    return RN_OK;
}

static size_t count_digits(struct rn_view in, size_t from)
{
    size_t i = from;

    while (i < in.len && in.at[i] >= '0' && in.at[i] <= '9')
        i++;
    return i - from;
}

/* The length of a JSON number; 0 if there is none. */
static size_t measure_number(struct rn_view in)
{
    size_t i = in.len > 0 && in.at[0] == '-', digits = count_digits(in, i);

    if (digits == 0 || (digits > 1 && in.at[i] == '0'))
        return 0;
    i += digits;
    if (i < in.len && in.at[i] == '.') {
        digits = count_digits(in, i + 1);
        if (digits == 0)
            return 0;
        i += 1 + digits;
    }
    if (i < in.len && (in.at[i] == 'e' || in.at[i] == 'E')) {
        i++;
        if (i < in.len && (in.at[i] == '+' || in.at[i] == '-'))
            i++;
        digits = count_digits(in, i);
        if (digits == 0)
            return 0;
        i += digits;
    }
    return i;
}

static enum rn_code read_number(struct reader *r, struct rn_pk_value *out,
                                struct rn_err *err)
{
    size_t len = measure_number(r->in);

    if (len == 0)
        return refuse(err, "a component is not a value");
    out->number = rn_number_double(rn_view_of(r->in.at, len));
    if (!isfinite(out->number))
        return refuse(err, "a number is too large");
    r->in = rn_view_of(r->in.at + len, r->in.len - len);
    out->type = RN_PK_NUMBER;
    return RN_OK;
}

static enum rn_code read_value(struct reader *r, struct rn_pk_value *out,
                               struct rn_err *err)
{
    *out = (struct rn_pk_value){ .type = RN_PK_UNDEFINED };
    if (take(r, RN_LIT("\""))) {
        out->type = RN_PK_STRING;
        return read_string(r, &out->text, err);
    }
    if (take(r, RN_LIT("{"))) {
        skip_blanks(r);
        return take(r, RN_LIT("}"))
                   ? RN_OK
                   : refuse(err, "a component is an object that is not empty");
    }
    if (take(r, RN_LIT("null")))
        out->type = RN_PK_NULL;
    else if (take(r, RN_LIT("false")))
        out->type = RN_PK_FALSE;
    else if (take(r, RN_LIT("true")))
        out->type = RN_PK_TRUE;
    else
        return read_number(r, out, err);
    return RN_OK;
}

static enum rn_code read_values(struct reader *r, struct rn_pk *out,
                                struct rn_err *err)
{
    enum rn_code rc;

    skip_blanks(r);
    if (take(r, RN_LIT("]")))
        return RN_OK;
    for (;;) {
        if (out->count == RN_PK_MAX)
            return refuse(err, "it has more components than a key may have");
        skip_blanks(r);
        rc = read_value(r, &out->values[out->count++], err);
        if (rc)
            return rc;
        skip_blanks(r);
        if (take(r, RN_LIT("]")))
            return RN_OK;
        if (!take(r, RN_LIT(",")))
            return refuse(err, "a component is followed by something else");
    }
}

enum rn_code rn_pk_parse(struct rn_view text, struct rn_arena *arena,
                         struct rn_pk *out, struct rn_err *err)
{
    struct reader r = { .in = text, .arena = arena };
    struct rn_pk pk = { .count = 0 };
    enum rn_code rc;

    skip_blanks(&r);
    if (!take(&r, RN_LIT("[")))
        return refuse(err, "it is not an array");
    rc = read_values(&r, &pk, err);
    if (rc)
        return rc;
    skip_blanks(&r);
    if (r.in.len > 0)
        return refuse(err, "something follows the array");
    rc = rn_pk_check_size(&pk, err);
    if (rc)
        return rc;
    *out = pk;
    return RN_OK;
}

/* Decodes one code point of valid UTF-8 and advances past it. */
static uint32_t next_point(struct rn_view *text)
{
    size_t len = rn_utf8_len(text->at, text->at + text->len);
    unsigned char lead = (unsigned char)text->at[0];
    uint32_t point;

    assert(len > 0);
    point = len == 1 ? lead : lead & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)text->at[i] & 0x3fu);
    *text = rn_view_of(text->at + len, text->len - len);
    return point;
}

static enum rn_code print_escape(uint32_t point, struct rn_buf *out)
{
    if (point == '"' || point == '\\')
        return rn_buf_printf(out, "\\%c", (char)point);
    if (point < 0x10000)
        return rn_buf_printf(out, "\\u%04x", point);
    return rn_buf_printf(out, "\\u%04x\\u%04x",
                         0xd800 + ((point - 0x10000) >> 10),
                         0xdc00 + ((point - 0x10000) & 0x3ff));
}

/* The bytes at the beginning that stand for themselves. */
static size_t plain_length(struct rn_view text)
{
    size_t n = 0;

    while (n < text.len && text.at[n] >= 0x20 && text.at[n] < 0x7f &&
           text.at[n] != '"' && text.at[n] != '\\')
        n++;
    return n;
}

static enum rn_code print_string(struct rn_view text, struct rn_buf *out)
{
    enum rn_code rc = rn_buf_add(out, RN_LIT("\""));

    while (!rc && text.len > 0) {
        size_t plain = plain_length(text);

        rc = rn_buf_add(out, rn_view_of(text.at, plain));
        text = rn_view_of(text.at + plain, text.len - plain);
        if (!rc && text.len > 0)
            rc = print_escape(next_point(&text), out);
    }
    return rc ? rc : rn_buf_add(out, RN_LIT("\""));
}

static enum rn_code print_value(const struct rn_pk_value *v, struct rn_buf *out)
{
    char number[RN_NUMBER_TEXT_MAX];

    switch (v->type) {
    case RN_PK_UNDEFINED:
        return rn_buf_add(out, RN_LIT("{}"));
    case RN_PK_NULL:
        return rn_buf_add(out, RN_LIT("null"));
    case RN_PK_FALSE:
        return rn_buf_add(out, RN_LIT("false"));
    case RN_PK_TRUE:
        return rn_buf_add(out, RN_LIT("true"));
    case RN_PK_NUMBER:
        if (v->number == 0 && signbit(v->number))
            return rn_buf_add(out, RN_LIT("-0.0"));
        return rn_buf_add(
            out, rn_view_of(number, rn_number_print(v->number, number)));
    case RN_PK_STRING:
        break;
    }
    return print_string(v->text, out);
}

enum rn_code rn_pk_print(const struct rn_pk *pk, struct rn_buf *out)
{
    size_t before = out->len;
    enum rn_code rc = rn_buf_add(out, RN_LIT("["));

    for (size_t i = 0; !rc && i < pk->count; i++) {
        if (i > 0)
            rc = rn_buf_add(out, RN_LIT(","));
        if (!rc)
            rc = print_value(&pk->values[i], out);
    }
    if (!rc)
        rc = rn_buf_add(out, RN_LIT("]"));
    if (rc)
        out->len = before;
    return rc;
}

/* ---- values -------------------------------------------------------------- */

static size_t text_len(const struct rn_pk *pk)
{
    size_t len = 0;

    for (size_t i = 0; i < pk->count; i++) {
        if (pk->values[i].type == RN_PK_STRING)
            len += pk->values[i].text.len;
    }
    return len;
}

enum rn_code rn_pk_check_size(const struct rn_pk *pk, struct rn_err *err)
{
    size_t len = text_len(pk);

    if (len <= RN_PK_TEXT_MAX)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The partition key is %zu bytes long; %d are allowed.", len,
                   RN_PK_TEXT_MAX);
}

static uint64_t bits_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

static bool value_eq(const struct rn_pk_value *a, const struct rn_pk_value *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == RN_PK_NUMBER)
        return bits_of(a->number) == bits_of(b->number);
    return a->type != RN_PK_STRING || rn_view_eq(a->text, b->text);
}

bool rn_pk_eq(const struct rn_pk *a, const struct rn_pk *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (!value_eq(&a->values[i], &b->values[i]))
            return false;
    }
    return true;
}

/* ---- bytes --------------------------------------------------------------- */

static size_t put_big_endian(char *out, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (char)(number >> (bytes - 1 - i) * 8);
    return bytes;
}

static bool take_big_endian(struct rn_view *in, size_t bytes, uint64_t *out)
{
    uint64_t number = 0;

    if (in->len < bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | (unsigned char)in->at[i];
    *in = rn_view_of(in->at + bytes, in->len - bytes);
    *out = number;
    return true;
}

size_t rn_pk_encode(const struct rn_pk *pk, char out[RN_PK_BYTES_MAX])
{
    size_t n = 0;

    assert(pk->count <= RN_PK_MAX && !rn_pk_check_size(pk, NULL));
    out[n++] = (char)pk->count;
    for (size_t i = 0; i < pk->count; i++) {
        const struct rn_pk_value *v = &pk->values[i];
        out[n++] = (char)v->type;
        if (v->type == RN_PK_NUMBER)
            n += put_big_endian(out + n, bits_of(v->number), 8);
        if (v->type != RN_PK_STRING)
            continue;
        n += put_big_endian(out + n, v->text.len, 2);
        if (v->text.len > 0)
            memcpy(out + n, v->text.at, v->text.len);
        n += v->text.len;
    }
    return n;
}

static bool decode_value(struct rn_view *in, struct rn_pk_value *out)
{
    uint64_t type, number;

    if (!take_big_endian(in, 1, &type))
        return false;
    *out = (struct rn_pk_value){ .type = (enum rn_pk_type)type };
    if (type == RN_PK_NUMBER) {
        if (!take_big_endian(in, 8, &number))
            return false;
        memcpy(&out->number, &number, sizeof(number));
        return isfinite(out->number);
    }
    if (type == RN_PK_STRING) {
        if (!take_big_endian(in, 2, &number) || in->len < number)
            return false;
        out->text = rn_view_of(in->at, number);
        *in = rn_view_of(in->at + number, in->len - number);
        return true;
    }
    return type <= RN_PK_TRUE;
}

bool rn_pk_decode(struct rn_view bytes, struct rn_pk *out)
{
    struct rn_pk pk = { .count = 0 };
    uint64_t count;

    if (!take_big_endian(&bytes, 1, &count) || count > RN_PK_MAX)
        return false;
    while (pk.count < count) {
        if (!decode_value(&bytes, &pk.values[pk.count++]))
            return false;
    }
    if (bytes.len > 0 || rn_pk_check_size(&pk, NULL))
        return false;
    *out = pk;
    return true;
}
