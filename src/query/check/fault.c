/* fault.c -- the error list of a query; see fault.h. */
#include "query/check/fault.h"

#include "json/print.h"

#include <stdarg.h>
#include <stdio.h>

/* The number of UTF-16 code units before byte `at`. */
static uint32_t units_before(struct rn_view text, size_t at)
{
    uint32_t units = 0;

    for (size_t i = 0; i < at && i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        units += (c & 0xC0) != 0x80; /* not a continuation byte */
        units += c >= 0xF0 && c < 0xF8;
    }
    return units;
}

enum rn_code rn_faults_add(struct rn_faults *f, const char *code, size_t start,
                           size_t end, const char *fmt, ...)
{
    struct rn_fault *fault = &f->list[f->count];
    va_list args;

    if (f->count == RN_FAULTS_MAX)
        return RN_BAD_REQUEST;
    f->count++;
    fault->code = code;
    fault->start = units_before(f->text, start);
    fault->end = units_before(f->text, end);
    va_start(args, fmt);
    vsnprintf(fault->message, sizeof(fault->message), fmt, args);
    va_end(args);
    return RN_BAD_REQUEST;
}

static void print_located(const struct rn_fault *fault, struct rn_json_out *o)
{
    bool is_number = fault->code[0] != 'S';

    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("severity"));
    rn_json_out_string(o, RN_LIT("Error"));
    if (!is_number) {
        rn_json_out_key(o, RN_LIT("location"));
        rn_json_out_object_begin(o);
        rn_json_out_key(o, RN_LIT("start"));
        rn_json_out_uint(o, fault->start);
        rn_json_out_key(o, RN_LIT("end"));
        rn_json_out_uint(o, fault->end);
        rn_json_out_object_end(o);
    }
    rn_json_out_key(o, RN_LIT("code"));
    if (is_number)
        rn_json_out_raw(o, rn_view_text(fault->code));
    else
        rn_json_out_string(o, rn_view_text(fault->code));
    rn_json_out_key(o, RN_LIT("message"));
    rn_json_out_string(o, rn_view_text(fault->message));
    rn_json_out_object_end(o);
}

enum rn_code rn_faults_print(const struct rn_faults *f, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    bool is_plain = f->count > 0 && !f->list[0].code;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, is_plain ? RN_LIT("Errors") : RN_LIT("errors"));
    rn_json_out_array_begin(&o);
    for (uint32_t i = 0; i < f->count; i++) {
        if (is_plain)
            rn_json_out_string(&o, rn_view_text(f->list[i].message));
        else if (f->list[i].code)
            print_located(&f->list[i], &o);
    }
    rn_json_out_array_end(&o);
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o);
}
