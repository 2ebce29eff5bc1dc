/* request.h -- one HTTP request as its handler sees it.
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
    RN_HTTP_METHODS, /* how many there are */
};

/* More is an attack; raising it costs 12 bytes a connection each. */
enum { RN_HTTP_FIELDS_MAX = 100 };

/* A header field by its place in the head, which may move while it is read. */
struct rn_http_field {
    uint32_t at;
    uint16_t name_len, value_at, value_len; /* value_at counts from `at` */
    uint16_t key; /* rn_http_name_key: tells most names apart at a glance */
};

struct rn_http_request {
    enum rn_http_method method;
    bool is_1_0;         /* else HTTP/1.1 */
    bool keep_alive;     /* what the client wants; else close after answering */
    struct rn_view host; /* empty only in HTTP/1.0; else name[:port], sane */
    /* As on the wire: starts with '/', or is "*" (OPTIONS only). */
    struct rn_view target;
    struct rn_view body; /* whole and decoded */

    const char *head;
    unsigned field_count;
    uint64_t keys; /* rn_http_key_bit of each: most names asked for are none */
    struct rn_http_field fields[RN_HTTP_FIELDS_MAX];
};

/* Why there is no request: the status to answer with and a sentence for the
 * client.  Where the next request would begin is then unknown, so the
 * connection must be closed after the answer. */
struct rn_http_refusal {
    int status;
    const char *why; /* a constant */
    /* What is sent in place of an answer in HTTP/1.1; empty: nothing is. */
    struct rn_view raw;
};

/* Fills in the refusal and says false, so that refusing is one statement. */
static inline bool rn_http_refuse(struct rn_http_refusal *no, int status,
                                  const char *why)
{
    *no = (struct rn_http_refusal){ .status = status, .why = why };
    return false;
}

/* A constant such as "GET".  Never NULL. */
const char *rn_http_method_name(enum rn_http_method method);

/* The same for names that are the same but for the case of letters, and mostly
 * only for these.  No name is empty. */
static inline uint16_t rn_http_name_key(struct rn_view name)
{
    return (uint16_t)(name.len << 8 |
                      ((unsigned char)name.at[name.len - 1] | 0x20));
}

/* A bit of a set of keys. */
static inline uint64_t rn_http_key_bit(uint16_t key)
{
    return (uint64_t)1 << ((key + (key >> 8) * 5) & 63);
}

/* For what may be there: header's alone. */
struct rn_view rn_http_header_find(const struct rn_http_request *req,
                                   struct rn_view name);
/* The value of the first field of that name, in any case of letters, without
 * blanks around it.  `at` is NULL if there is none; an empty value has `at`. */
static inline struct rn_view rn_http_header(const struct rn_http_request *req,
                                            struct rn_view name)
{
    if (!(req->keys & rn_http_key_bit(rn_http_name_key(name))))
        return (struct rn_view){ 0 };
    return rn_http_header_find(req, name);
}

/* True if the field is there more than once: for those that must not be. */
bool rn_http_header_repeats(const struct rn_http_request *req,
                            struct rn_view name);

struct rn_view rn_http_field_name(const struct rn_http_request *req,
                                  unsigned index);
struct rn_view rn_http_field_value(const struct rn_http_request *req,
                                   unsigned index);

#endif
