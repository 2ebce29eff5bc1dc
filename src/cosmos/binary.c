/* binary.c -- see binary.h.
 *
 * One pass with a stack of open containers.
 */
#include "cosmos/binary.h"

#include "cosmos/binary_text.h"
#include "json/print.h"

#include <math.h>

struct frame {
    size_t end;     /* of the container, in the body */
    uint32_t count; /* as declared, if the container declares it */
    uint32_t items; /* begun so far: members or elements */
    bool is_object, is_counted, is_single;
};

struct decoder {
    struct rn_binary in;
    struct rn_json_out out;
    unsigned depth;
    struct frame frames[RN_BINARY_DEPTH_MAX];
};

/* ---- numbers ------------------------------------------------------------- */

/* The width in bytes of a number with this marker; 0 if it is not a number. */
static unsigned number_width(unsigned marker)
{
    switch (marker) {
    case RN_BIN_NUMBER_U8:
    case RN_BIN_UINT8:
    case RN_BIN_INT8:
        return 1;
    case RN_BIN_NUMBER_I16:
    case RN_BIN_INT16:
        return 2;
    case RN_BIN_NUMBER_I32:
    case RN_BIN_INT32:
    case RN_BIN_UINT32:
    case RN_BIN_FLOAT32:
        return 4;
    case RN_BIN_NUMBER_U64:
    case RN_BIN_NUMBER_I64:
    case RN_BIN_NUMBER_DOUBLE:
    case RN_BIN_FLOAT64:
    case RN_BIN_INT64:
        return 8;
    default:
        return 0;
    }
}

static enum rn_code put_double(struct decoder *d, double value, size_t at)
{
    if (!isfinite(value))
        return rn_binary_refuse(&d->in, at, "a number is not finite");
    rn_json_out_double(&d->out, value);
    return RN_OK;
}

static enum rn_code put_number(struct decoder *d, unsigned marker,
                               const unsigned char *from)
{
    size_t at = (size_t)(from - d->in.bytes);
    uint64_t bits = 0;
    uint32_t half;
    double real;
    float less;

    for (unsigned i = 0; i < number_width(marker); i++)
        bits |= (uint64_t)from[i] << 8 * i;
    switch (marker) {
    case RN_BIN_INT8:
        rn_json_out_int(&d->out, (int8_t)bits);
        return RN_OK;
    case RN_BIN_NUMBER_I16:
    case RN_BIN_INT16:
        rn_json_out_int(&d->out, (int16_t)bits);
        return RN_OK;
    case RN_BIN_NUMBER_I32:
    case RN_BIN_INT32:
        rn_json_out_int(&d->out, (int32_t)bits);
        return RN_OK;
    case RN_BIN_NUMBER_I64:
    case RN_BIN_INT64:
        rn_json_out_int(&d->out, (int64_t)bits);
        return RN_OK;
    case RN_BIN_FLOAT32:
        half = (uint32_t)bits;
        memcpy(&less, &half, sizeof(less));
        return put_double(d, (double)less, at);
    case RN_BIN_NUMBER_DOUBLE:
    case RN_BIN_FLOAT64:
        memcpy(&real, &bits, sizeof(real));
        return put_double(d, real, at);
    default:
        rn_json_out_uint(&d->out, bits);
        return RN_OK;
    }
}

static enum rn_code read_number(struct decoder *d, unsigned marker)
{
    const unsigned char *from = rn_binary_take(&d->in, number_width(marker));

    return from ? put_number(d, marker, from) : rn_binary_refuse_short(&d->in);
}

/* ---- arrays of numbers --------------------------------------------------- */

static enum rn_code put_numbers(struct decoder *d, unsigned marker,
                                uint32_t count, const unsigned char *from)
{
    enum rn_code rc = RN_OK;

    rn_json_out_array_begin(&d->out);
    for (uint32_t i = 0; !rc && i < count; i++)
        rc = put_number(d, marker, from + (size_t)i * number_width(marker));
    if (!rc)
        rn_json_out_array_end(&d->out);
    return rc ? rc : d->out.rc;
}

/* Only markers from 0xcd on may be shared by the elements of an array. */
static bool is_shared(unsigned marker)
{
    return marker == RN_BIN_FLOAT32 || marker == RN_BIN_FLOAT64 ||
           (marker >= RN_BIN_UINT8 && marker <= RN_BIN_UINT32);
}

/* Reads an array of numbers, or an array of such arrays. */
static enum rn_code read_numbers(struct decoder *d, unsigned marker)
{
    bool is_nested = marker >= RN_BIN_ARRAYS_1;
    unsigned width =
        marker == RN_BIN_NUMBERS_1 || marker == RN_BIN_ARRAYS_1 ? 1 : 2;
    uint32_t inner, item, count, arrays = 1;
    const unsigned char *from;
    enum rn_code rc = RN_OK;
    uint64_t bytes;

    if (d->depth + 1 + is_nested > RN_BINARY_DEPTH_MAX)
        return rn_binary_refuse(&d->in, d->in.at - 1,
                                "it is nested too deeply");
    if (is_nested) {
        if (!rn_binary_take_uint(&d->in, 1, &inner))
            return rn_binary_refuse_short(&d->in);
        if (inner + 2 != marker)
            return rn_binary_refuse(&d->in, d->in.at - 1,
                                    "there is no array of such arrays");
    }
    if (!rn_binary_take_uint(&d->in, 1, &item))
        return rn_binary_refuse_short(&d->in);
    if (!is_shared(item))
        return rn_binary_refuse(&d->in, d->in.at - 1,
                                "there is no array of such numbers");
    if (!rn_binary_take_uint(&d->in, width, &count) ||
        (is_nested && !rn_binary_take_uint(&d->in, width, &arrays)))
        return rn_binary_refuse_short(&d->in);
    bytes = (uint64_t)count * number_width(item);
    from = rn_binary_take(&d->in, bytes * arrays);
    if (!from)
        return rn_binary_refuse_short(&d->in);
    if (is_nested)
        rn_json_out_array_begin(&d->out);
    for (uint32_t i = 0; !rc && i < arrays; i++)
        rc = put_numbers(d, item, count, from + i * bytes);
    if (is_nested && !rc)
        rn_json_out_array_end(&d->out);
    return rc;
}

/* ---- containers ---------------------------------------------------------- */

static enum rn_code open_container(struct decoder *d, unsigned marker)
{
    bool is_object = marker >= RN_BIN_OBJECT_0;
    unsigned form = marker - (is_object ? RN_BIN_OBJECT_0 : RN_BIN_ARRAY_0);
    bool is_counted = form >= RN_BIN_ARRAY_LC1 - RN_BIN_ARRAY_0;
    struct frame *f = &d->frames[d->depth];
    uint32_t len, count = 0;

    if (d->depth == RN_BINARY_DEPTH_MAX)
        return rn_binary_refuse(&d->in, d->in.at - 1,
                                "it is nested too deeply");
    *f = (struct frame){ .end = form ? d->in.end : d->in.at,
                         .is_object = is_object,
                         .is_counted = is_counted,
                         .is_single = form == RN_BIN_ARRAY_1 - RN_BIN_ARRAY_0 };
    if (form >= RN_BIN_ARRAY_L1 - RN_BIN_ARRAY_0) {
        unsigned width = 1u << (form - RN_BIN_ARRAY_L1 + RN_BIN_ARRAY_0) % 3;
        if (!rn_binary_take_uint(&d->in, width, &len) ||
            (is_counted && !rn_binary_take_uint(&d->in, width, &count)))
            return rn_binary_refuse_short(&d->in);
        if (len > d->in.end - d->in.at)
            return rn_binary_refuse_short(&d->in);
        f->count = count;
        f->end = d->in.at + len;
    }
    d->in.end = f->end;
    d->depth++;
    if (is_object)
        rn_json_out_object_begin(&d->out);
    else
        rn_json_out_array_begin(&d->out);
    return RN_OK;
}

/* Closes the containers that end here, innermost first. */
static enum rn_code close_ended(struct decoder *d)
{
    while (d->depth) {
        const struct frame *f = &d->frames[d->depth - 1];
        if (f->is_single ? !f->items : d->in.at < f->end)
            return RN_OK;
        if (f->is_counted && f->count != f->items)
            return rn_binary_refuse(&d->in, d->in.at,
                                    "a container has not as many as it says");
        if (f->is_object)
            rn_json_out_object_end(&d->out);
        else
            rn_json_out_array_end(&d->out);
        d->depth--;
        d->in.end = d->depth ? d->frames[d->depth - 1].end : d->in.len;
    }
    return RN_OK;
}

static enum rn_code read_name(struct decoder *d)
{
    struct rn_view name;
    uint32_t marker;
    enum rn_code rc;

    if (!rn_binary_take_uint(&d->in, 1, &marker))
        return rn_binary_refuse_short(&d->in);
    if (!rn_binary_is_string(marker))
        return rn_binary_refuse(&d->in, d->in.at - 1,
                                "a member's name is not a string");
    rc = rn_binary_read_text(&d->in, marker, &name);
    if (!rc)
        rn_json_out_key(&d->out, name);
    return rc;
}

/* ---- values -------------------------------------------------------------- */

static enum rn_code read_text(struct decoder *d, unsigned marker)
{
    struct rn_view text;
    enum rn_code rc = rn_binary_read_text(&d->in, marker, &text);

    if (!rc)
        rn_json_out_string(&d->out, text);
    return rc;
}

static enum rn_code read_value(struct decoder *d)
{
    uint32_t marker;

    if (!rn_binary_take_uint(&d->in, 1, &marker))
        return rn_binary_refuse_short(&d->in);
    if (marker < RN_BIN_WORD) {
        rn_json_out_int(&d->out, (int64_t)marker);
        return RN_OK;
    }
    if (rn_binary_is_string(marker) || marker == RN_BIN_GUID ||
        (marker >= RN_BIN_BYTES_1 && marker <= RN_BIN_BYTES_4))
        return read_text(d, marker);
    if (number_width(marker))
        return read_number(d, marker);
    if (marker >= RN_BIN_ARRAY_0 && marker < RN_BIN_NUMBERS_1)
        return open_container(d, marker);
    if (marker >= RN_BIN_NUMBERS_1 && marker <= RN_BIN_ARRAYS_2)
        return read_numbers(d, marker);
    if (marker == RN_BIN_LITERAL_NULL)
        rn_json_out_null(&d->out);
    else if (marker == RN_BIN_LITERAL_FALSE || marker == RN_BIN_LITERAL_TRUE)
        rn_json_out_bool(&d->out, marker == RN_BIN_LITERAL_TRUE);
    else
        return rn_binary_refuse(&d->in, d->in.at - 1,
                                "there is no such marker");
    return RN_OK;
}

/* Reads one value after the other, until no container is open. */
static enum rn_code read_all(struct decoder *d)
{
    enum rn_code rc;

    do {
        rc = RN_OK;
        if (d->depth) {
            struct frame *f = &d->frames[d->depth - 1];
            f->items++;
            if (f->is_object)
                rc = read_name(d);
        }
        if (!rc)
            rc = read_value(d);
        if (!rc)
            rc = close_ended(d);
        if (!rc)
            rc = d->out.rc;
    } while (!rc && d->depth);
    if (!rc && d->in.at < d->in.len)
        rc = rn_binary_refuse(&d->in, d->in.at, "something follows the value");
    return rc;
}

enum rn_code rn_binary_decode(struct rn_view body, struct rn_buf *out,
                              struct rn_err *err)
{
    struct decoder d;
    enum rn_code rc;

    /* The frames are written before they are read. */
    d.in.bytes = (const unsigned char *)body.at;
    d.in.at = 1;
    d.in.end = d.in.len = body.len;
    d.out = RN_JSON_OUT_INIT(out);
    d.in.text = RN_BUF_INIT(2 * body.len + 64);
    d.in.err = err;
    d.depth = 0;
    if (!rn_binary_is(body))
        return rn_binary_refuse(&d.in, 0, "it does not begin with 80");
    rc = read_all(&d);
    if (!rc)
        rc = rn_json_out_finish(&d.out);
    rn_buf_release(&d.in.text);
    return rc;
}
