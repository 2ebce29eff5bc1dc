/* call.h -- one request on its way to its answer.
 *
 * The server's loop makes a call for each request and asks rn_rest_serve to
 * answer it.  The answer may come at once, or later:
 *
 *   RN_REST_DONE      call->res is complete
 *   RN_REST_PENDING   a write is on its way to disk.  Somebody calls call->wake
 *                     from any thread, once; the loop then calls
 *                     rn_rest_resume, which says how it goes on
 *   RN_REST_WORK      this would take too long in a loop (queries, long lists):
 *                     a worker thread calls rn_rest_resume and hands the call
 *                     back to the loop
 *
 * A call outlives its connection: if the client is gone, whatever was begun is
 * finished and the answer dropped.
 *
 * Threads: one at a time; who may touch it is told by the last step.
 */
#ifndef RN_REST_CALL_H
#define RN_REST_CALL_H

#include "http/request.h"
#include "http/response.h"
#include "http/target.h"

enum rn_rest_step { RN_REST_DONE, RN_REST_PENDING, RN_REST_WORK };

enum { RN_CALL_ARENA_MAX = 64 << 20, RN_CALL_BODY_MAX = 48 << 20 };

struct rn_rest;

/* Of a query: documents read and rows sent, and the way to them. */
struct rn_query_note {
    uint64_t examined, returned;
    bool has_way;
    unsigned way; /* enum rn_access_kind */
};

/* What there is to say of a call besides its answer. */
struct rn_call_note {
    char activity[40];
    struct rn_view resource; /* "docs"; empty: none */
    enum rn_code code;       /* how it ended, and the service's finer number */
    int sub;
    const char *err; /* lives as long as the call */
    double charge;
    uint32_t range; /* where it read or wrote, if lsn is not 0 */
    uint64_t lsn;
    const char *key;        /* the name of the key that signed it */
    const char *waited_for; /* "commit", "worker", "change", "delay" */
    int64_t idle_ns;        /* it waited because its client wants it to */
    int64_t ns;             /* from its last byte to its answer, without that */
    struct rn_query_note query;
    int64_t jump_ms; /* it found that the wall clock had jumped */
};

struct rn_call {
    /* Set by the server. */
    const struct rn_http_request *req; /* valid until the call is released */
    bool is_tls, is_loopback;
    const char *peer;
    const char *own; /* the address it came to; NULL: Host tells, or nobody */
    int64_t begun_ns;
    int64_t
        queued_ns; /* of the time since, how long it waited to be worked on */
    void (*wake)(struct rn_call *call); /* any thread, after PENDING only */
    /* Lets others work who wait, if it has had its time.  Called often by what
     * works for long.  True if it must give up what it has done and answer
     * RN_REST_WORK, to begin again later.  Thread: worker.  NULL is fine. */
    bool (*pause)(struct rn_call *call);

    /* The answer: status, headers, and `body`, which res.body views. */
    struct rn_http_response res;
    struct rn_buf body;
    bool is_lost; /* a test wants it so: close without answering */
    /* The server sends it no sooner than this, unless it stops; 0: at once. */
    int64_t held_until_ns;
    struct rn_call_note note;

    /* For whoever answers: memory that dies with the call, and what to do when
     * it is resumed. */
    struct rn_arena arena;
    uint64_t principal; /* whose work it is: a key's, or a permission's */
    struct rn_rest *rest;
    enum rn_rest_step (*next)(struct rn_call *call);
    void *state;                        /* in the arena */
    void (*undo)(struct rn_call *call); /* gives back what `state` holds */
    /* Both are set before the first step has ended.  Thread: loop.
     * The client is gone while the call is pending: whoever waits for its sake
     * need not. */
    void (*gone)(struct rn_call *call);
    /* It has said its last word, and may be gone: whoever works for its sake
     * need not do so for long. */
    void (*quiet)(struct rn_call *call);
};

void rn_call_init(struct rn_call *call, struct rn_rest *rest,
                  const struct rn_http_request *req);
/* Ready for another request, memory kept. */
void rn_call_clear(struct rn_call *call);
void rn_call_release(struct rn_call *call);

/* rest/serve.c: what every request shares, around its handler. */
enum rn_rest_step rn_rest_serve(struct rn_call *call);
enum rn_rest_step rn_rest_resume(struct rn_call *call);
/* Answers 429 instead of working: too many calls of the same principal wait. */
enum rn_rest_step rn_rest_shed(struct rn_call *call);
/* An answer to what was no request; closes. */
void rn_rest_refuse(struct rn_call *call, int status, const char *why);

#endif
