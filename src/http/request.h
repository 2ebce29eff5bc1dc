/* request.h -- a parsed HTTP request.
 *
 * Every view points into the reader that made the request (parse.h) and is
 * valid until that reader is asked for the next one.
 */
#ifndef RN_HTTP_REQUEST_H
#define RN_HTTP_REQUEST_H

#include "base/mem.h"

enum rn_http_method {
    RN_HTTP_GET,
    RN_HTTP_HEAD,
    RN_HTTP_POST,
    RN_HTTP_PUT,
    RN_HTTP_PATCH,
    RN_HTTP_DELETE,
    RN_HTTP_OPTIONS,
    RN_HTTP_METHODS, /* number of methods */
};

/* More is an attack; each one costs 12 bytes per connection. */
enum { RN_HTTP_FIELDS_MAX = 100 };

/* A header field by its offset in the head, which may move while it is read. */
struct rn_http_field {
    uint32_t at;
    uint16_t name_len, value_at, value_len; /* value_at counts from `at` */
    uint16_t key; /* rn_http_name_key: a cheap filter before comparing names */
};

struct rn_http_request {
    enum rn_http_method method;
    bool is_1_0;         /* else HTTP/1.1 */
    bool keep_alive;     /* what the client wants; else close after answering */
    struct rn_view host; /* empty only in HTTP/1.0; else name[:port] */
    /* As on the wire: starts with '/', or is "*" (OPTIONS only). */
    struct rn_view target;
    struct rn_view body; /* complete and decoded */

    const char *head;
    unsigned field_count;
    uint64_t keys; /* rn_http_key_bit of each name: a filter for absent names */
    struct rn_http_field fields[RN_HTTP_FIELDS_MAX];
};

/* Why there is no request: the status to answer with and a message for the
 * client.  The start of the next request is then unknown, so the connection
 * must be closed after the answer. */
struct rn_http_refusal {
    int status;
    const char *why; /* a constant */
    /* Bytes to send instead of an HTTP/1.1 answer; empty: none. */
    struct rn_view raw;
};

/* Sets the refusal and returns false, so that refusing is one statement. */
static inline bool rn_http_refuse(struct rn_http_refusal *no, int status,
                                  const char *why)
{
    *no = (struct rn_http_refusal){ .status = status, .why = why };
    return false;
}

/* A constant such as "GET".  Never NULL. */
const char *rn_http_method_name(enum rn_http_method method);

/* A case-insensitive hash of a name: equal names have equal keys, and few
 * others do.  No name is empty. */
static inline uint16_t rn_http_name_key(struct rn_view name)
{
    return (uint16_t)(name.len << 8 |
                      ((unsigned char)name.at[name.len - 1] | 0x20));
}

/* A bit of a Bloom filter over keys. */
static inline uint64_t rn_http_key_bit(uint16_t key)
{
    return (uint64_t)1 << ((key + (key >> 8) * 5) & 63);
}

/* The slow path of rn_http_header; private to it. */
struct rn_view rn_http_header_find(const struct rn_http_request *req,
                                   struct rn_view name);
/* The value of the first field of that name, case-insensitively, without blanks
 * around it.  `at` is NULL if there is none; an empty value has `at`. */
static inline struct rn_view rn_http_header(const struct rn_http_request *req,
                                            struct rn_view name)
{
    if (!(req->keys & rn_http_key_bit(rn_http_name_key(name))))
        return (struct rn_view){ 0 };
    return rn_http_header_find(req, name);
}

/* True if the field occurs more than once: for fields that must not. */
bool rn_http_header_repeats(const struct rn_http_request *req,
                            struct rn_view name);

struct rn_view rn_http_field_name(const struct rn_http_request *req,
                                  unsigned index);
struct rn_view rn_http_field_value(const struct rn_http_request *req,
                                   unsigned index);

#endif
