/* print.h -- a JSON writer: compact, into a buffer, value by value.
 *
 *   struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
 *   rn_json_out_object_begin(&o);
 *   rn_json_out_key(&o, RN_LIT("id"));
 *   rn_json_out_string(&o, id);
 *   rn_json_out_object_end(&o);
 *   rc = rn_json_out_finish(&o);
 *
 * Commas are inserted automatically.  The first error (RN_TOO_LARGE or
 * RN_NOMEM, from the buffer) is kept and later calls do nothing, so that one
 * check at the end is enough.  Partial output stays in the buffer.
 *
 * The caller ensures that keys are in objects, differ, and have one value each,
 * and that every begin has its end.
 */
#ifndef RN_JSON_PRINT_H
#define RN_JSON_PRINT_H

#include "json/json.h"

#include <stdint.h>

struct rn_json_out {
    struct rn_buf *buf;
    enum rn_code rc;
    bool needs_comma;
    uint32_t depth;
};

#define RN_JSON_OUT_INIT(b) ((struct rn_json_out){ .buf = (b) })

void rn_json_out_object_begin(struct rn_json_out *o);
void rn_json_out_object_end(struct rn_json_out *o);
void rn_json_out_array_begin(struct rn_json_out *o);
void rn_json_out_array_end(struct rn_json_out *o);

/* Escape only what must be escaped.  Invalid UTF-8 is printed as U+FFFD, byte
 * by byte: these functions also print names and errors from unchecked bytes,
 * and an answer must always be valid JSON. */
void rn_json_out_key(struct rn_json_out *o, struct rn_view name);
void rn_json_out_string(struct rn_json_out *o, struct rn_view text);

void rn_json_out_null(struct rn_json_out *o);
void rn_json_out_bool(struct rn_json_out *o, bool value);
void rn_json_out_int(struct rn_json_out *o, int64_t value);
void rn_json_out_uint(struct rn_json_out *o, uint64_t value);
/* In JavaScript's format; null if it is not finite, as in JavaScript. */
void rn_json_out_double(struct rn_json_out *o, double value);

/* A value that is already JSON: the text of a number, a stored document. */
void rn_json_out_raw(struct rn_json_out *o, struct rn_view json);
/* The same for a parsed text, with as few escapes as possible: equal strings
 * are printed as equal bytes.  Never longer. */
void rn_json_out_plain(struct rn_json_out *o, struct rn_view json);
/* A parsed value without white space; strings and numbers byte for byte as they
 * were sent.  The value must not be undefined. */
void rn_json_out_value(struct rn_json_out *o, const struct rn_json *j,
                       uint32_t value);

/* A member of a parsed object, name and value as they were sent. */
void rn_json_out_member(struct rn_json_out *o, const struct rn_json *j,
                        uint32_t name, uint32_t value);

/* The first error, if any.  Every begin must have had its end. */
enum rn_code rn_json_out_finish(const struct rn_json_out *o) RN_CHECK;

#endif
