/* call.h -- one request from its arrival to its answer.
 *
 * The server's loop makes a call for each request and asks rn_rest_serve
 * (serve.h) to answer it.  The answer may come at once or later:
 *
 *   RN_REST_DONE      call->res is complete
 *   RN_REST_PENDING   the call waits, for example for a commit.  Another thread
 *                     calls call->wake, once; the loop then calls
 *                     rn_rest_resume, which returns the next step
 *   RN_REST_WORK      this would take too long in a loop (queries, long lists):
 *                     a worker thread calls rn_rest_resume and hands the call
 *                     back to the loop
 *
 * A call outlives its connection: if the client disconnects, the operation is
 * finished and its answer dropped.
 *
 * Threads: one at a time; the last step says which thread owns the call.
 */
#ifndef RN_REST_CALL_H
#define RN_REST_CALL_H

#include "http/request.h"
#include "http/response.h"
#include "http/target.h"

enum rn_rest_step { RN_REST_DONE, RN_REST_PENDING, RN_REST_WORK };

enum { RN_CALL_ARENA_MAX = 64 << 20, RN_CALL_BODY_MAX = 48 << 20 };

struct rn_rest;

/* Statistics of a query: documents read, rows sent, access path. */
struct rn_query_note {
    uint64_t examined, returned;
    bool has_way;
    unsigned way; /* enum rn_access_kind */
};

/* What the request log and the metrics record of a call. */
struct rn_call_note {
    char activity[40];
    struct rn_view resource; /* "docs"; empty if there is none */
    enum rn_code code;       /* the result, and the service's substatus */
    int sub;
    const char *err; /* lives as long as the call */
    double charge;
    uint32_t range; /* the range read or written, if lsn is not 0 */
    uint64_t lsn;
    const char *key;        /* the name of the key that signed it */
    const char *waited_for; /* "commit", "worker", "change", "delay" */
    int64_t idle_ns;        /* time parked because the client asked to wait */
    int64_t ns; /* from the last byte to the answer, without idle_ns */
    struct rn_query_note query;
    int64_t jump_ms; /* by how much the wall clock was found to have jumped */
};

struct rn_call {
    /* Set by the server. */
    const struct rn_http_request *req; /* valid until the call is released */
    bool is_tls, is_loopback;
    const char *peer;
    const char *own; /* the local address; NULL: unknown, Host decides */
    int64_t begun_ns;
    int64_t queued_ns; /* the part of that time spent in the worker queue */
    void (*wake)(struct rn_call *call); /* any thread, only after PENDING */
    /* Yields to queued calls if this one has used up its time slice.
     * Long-running work calls it often.  True if the call must discard its work
     * and return RN_REST_WORK, to start over later.  Thread: worker.  NULL is
     * allowed. */
    bool (*pause)(struct rn_call *call);

    /* The answer: status, headers, and `body`, which res.body views. */
    struct rn_http_response res;
    struct rn_buf body;
    bool is_lost; /* injected fault: close without answering */
    /* The server sends the answer no sooner than this, unless it is shutting
     * down; 0: at once. */
    int64_t held_until_ns;
    struct rn_call_note note;

    /* For the handler: memory that is freed with the call, and the function
     * that rn_rest_resume calls. */
    struct rn_arena arena;
    uint64_t principal; /* key number, or hash of the permission */
    /* Instead of RN_REST_WORK the server may do rn_rest_shed: nothing has been
     * done that must be finished or released. */
    bool may_shed;
    struct rn_rest *rest;
    enum rn_rest_step (*next)(struct rn_call *call);
    void *state;                        /* in the arena */
    void (*undo)(struct rn_call *call); /* releases what `state` holds */
    /* Both are set before the first step has ended.  Thread: loop.  The client
     * disconnected while the call is pending, so it need not wait longer. */
    void (*on_disconnect)(struct rn_call *call);
    /* The client has shut down its sending side and may have disconnected, so
     * long work can be abandoned. */
    void (*on_half_close)(struct rn_call *call);
};

void rn_call_init(struct rn_call *call, struct rn_rest *rest,
                  const struct rn_http_request *req);
/* Makes it ready for another request; keeps the memory. */
void rn_call_clear(struct rn_call *call);
void rn_call_release(struct rn_call *call);

#endif
