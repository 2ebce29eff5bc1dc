/* exchange.h -- one HTTP request and its answer.
 *
 * account/request.h fills the upper half, a transport (transport.h) the lower.
 * The exchange must not move while a transport has it.
 *
 * `code` says whether there is an answer: RUNNEL_OK for a complete one,
 * whatever its status; else RUNNEL_UNREACHABLE (no connection), RUNNEL_TIMEOUT,
 * RUNNEL_BUSY (the connection broke), RUNNEL_TOO_LARGE (the answer exceeds its
 * limit), RUNNEL_PROTOCOL (it is not HTTP), RUNNEL_NO_MEMORY.  `was_sent` then
 * says whether the server may have received the request.
 *
 * One thread at a time.
 */
#ifndef RN_CLIENT_HTTP_EXCHANGE_H
#define RN_CLIENT_HTTP_EXCHANGE_H

#include "client/http/error.h"

/* Header lines, in order: "name: value" and a NUL each. */
struct rn_headers {
    struct rn_buf lines;
};

enum { RN_HEADERS_MAX = 256 << 10 }; /* bytes of all lines */
#define RN_HEADERS_INIT                                                        \
    ((struct rn_headers){ .lines = { .ceiling = RN_HEADERS_MAX } })

/* RUNNEL_BAD_REQUEST if name or value cannot be in one line. */
runnel_code rn_headers_add(struct rn_headers *h, const char *name,
                           struct rn_view value, runnel_error *error);
/* The value, which is NUL-terminated; `at` is NULL if the header is absent.
 * The name is case-insensitive.  The first of several. */
struct rn_view rn_headers_find(const struct rn_headers *h, const char *name);
/* The request charge of an answer; 0 if it has none. */
double rn_headers_charge(const struct rn_headers *h);
/* Removes the next line from `rest`, which begins as the view of h->lines; NULL
 * at the end. */
const char *rn_headers_next(struct rn_view *rest);
void rn_headers_clear(struct rn_headers *h);
void rn_headers_release(struct rn_headers *h);

/* The effect that a request may have had if its answer is lost. */
enum rn_effect {
    RN_EFFECT_READ,
    RN_EFFECT_WRITE,
    /* A replace or delete with If-Match: if repeated, the second fails. */
    RN_EFFECT_GUARDED,
};

struct rn_exchange {
    /* ---- the request ---- */
    const char *method; /* a literal, upper case */
    struct rn_buf url;  /* absolute; its last byte is a NUL */
    struct rn_headers headers;
    struct rn_view body; /* borrowed while a transport has the exchange */
    enum rn_effect effect;
    /* It names a partition key range: RUNNEL_GONE is then an outcome, and the
     * caller asks other ranges. */
    bool is_ranged;
    uint32_t timeout_ms; /* of the whole exchange */

    /* Called once, by the transport's step or wait, never by start. */
    void (*done)(struct rn_exchange *x);
    void *context; /* the caller's */

    /* ---- the answer ---- */
    runnel_code code;
    int status; /* 0: none arrived */
    int sub_status;
    struct rn_headers answer_headers;
    struct rn_buf answer; /* the caller sets its limit */
    bool was_sent;        /* a byte of the request left this machine */
    char why[160];        /* the transport's message of a failure */

    /* The transport's own; `running` is NULL while no transport has it. */
    void *running;
    struct rn_exchange *next;
};

enum { RN_ANSWER_MAX = 64 << 20 }; /* the usual limit of an answer */

void rn_exchange_init(struct rn_exchange *x, size_t answer_max);
/* Empties the answer, for another attempt; keeps memory. */
void rn_exchange_reset(struct rn_exchange *x);
/* To be called when no transport has it. */
void rn_exchange_release(struct rn_exchange *x);

/* Is the body that of a refusal by the service, which says why?  Another server
 * answers 404, too. */
bool rn_exchange_is_explained(const struct rn_exchange *x);

/* Fills `error` from a failed exchange or an answer that is an error, and
 * returns its code; RUNNEL_OK if there is no error (304 included).  A failure
 * that leaves the outcome of a write unknown is RUNNEL_UNCERTAIN. */
runnel_code rn_exchange_error(const struct rn_exchange *x, runnel_error *error);

#endif
