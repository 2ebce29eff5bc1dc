/* print.h -- JSON out: into a buffer, compact, value by value.
 *
 *   struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
 *   rn_json_out_object_begin(&o);
 *   rn_json_out_key(&o, RN_LIT("id"));
 *   rn_json_out_string(&o, id);
 *   rn_json_out_object_end(&o);
 *   rc = rn_json_out_finish(&o);
 *
 * Commas are put where they belong.  The first failure (RN_TOO_LARGE or
 * RN_NOMEM, as of the buffer) is kept and all that follows does nothing, so
 * that one look at the end is enough.  What was written until then stays in the
 * buffer.
 *
 * The caller sees to it that keys stand in objects, differ, and have one value
 * each, and that what is begun is ended.
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

/* Escape what must be escaped and nothing else.  What is not UTF-8 comes out as
 * U+FFFD, byte by byte: these also print names and errors made of bytes that
 * nobody has checked, and an answer must always be JSON. */
void rn_json_out_key(struct rn_json_out *o, struct rn_view name);
void rn_json_out_string(struct rn_json_out *o, struct rn_view text);

void rn_json_out_null(struct rn_json_out *o);
void rn_json_out_bool(struct rn_json_out *o, bool value);
void rn_json_out_int(struct rn_json_out *o, int64_t value);
void rn_json_out_uint(struct rn_json_out *o, uint64_t value);
/* As JavaScript prints it; null if it is not finite, as JavaScript does. */
void rn_json_out_double(struct rn_json_out *o, double value);

/* A value that is already JSON: a number's text, a stored document. */
void rn_json_out_raw(struct rn_json_out *o, struct rn_view json);
/* The same of a text that has been parsed, with no more escapes than it needs:
 * strings that are equal come out byte for byte alike.  Never longer. */
void rn_json_out_plain(struct rn_json_out *o, struct rn_view json);
/* A parsed value without white space; strings and numbers byte for byte as
 * they were sent.  An undefined value is a bug of the caller. */
void rn_json_out_value(struct rn_json_out *o, const struct rn_json *j,
                       uint32_t value);

/* A parsed object's member, its name and value as they were sent. */
void rn_json_out_member(struct rn_json_out *o, const struct rn_json *j,
                        uint32_t name, uint32_t value);

/* The first failure, if any.  Everything begun must have been ended. */
enum rn_code rn_json_out_finish(const struct rn_json_out *o) RN_CHECK;

#endif
