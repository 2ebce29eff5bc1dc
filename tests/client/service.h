/* service.h -- a Cosmos account in memory, driven by a virtual clock.
 *
 * The server side of the client library's tests: several containers in one
 * object, no thread, no socket, no disk.  A request goes in as method, path,
 * headers and body, an answer comes out, and the time is whatever the env says:
 * Date, _ts, TTL and retention follow it.
 *
 * Supported:
 *
 *   account      GET /
 *   databases    GET, by name
 *   containers   POST, GET, DELETE; by name and by rid
 *   documents    POST (create, upsert), GET, PUT, DELETE with If-Match
 *   read feed    GET docs, paged
 *   queries      POST docs: SELECT * FROM c, optionally with
 *                WHERE STARTSWITH(c.id, "x" | 'x' | @p); and its query plan
 *   pkranges     GET, incremental with A-IM and If-None-Match
 *   change feed  GET docs with A-IM, both modes, all scopes, Prefer: wait
 *   splits       service_split, service_merge: 410/1007, then 410/1002
 *
 * Every committed version stays in `entries`, so that a checker can compare
 * what a reader saw with what was written.
 *
 * It aborts without memory.  Threads: one at a time.
 */
#ifndef RN_TESTS_CLIENT_SERVICE_H
#define RN_TESTS_CLIENT_SERVICE_H

#include "base/env.h"
#include "cosmos/epk.h"
#include "cosmos/rid.h"

enum {
    SERVICE_PARENTS_MAX = 64,
    SERVICE_HEADERS_MAX = 24,
    SERVICE_BODY_MAX = 64 << 20,
};

enum service_op {
    SERVICE_CREATE,
    SERVICE_REPLACE,
    SERVICE_DELETE,
    SERVICE_EXPIRE,
};

/* One committed version of a document; never changes but for `is_live`. */
struct service_entry {
    enum service_op op;
    bool is_live;    /* the newest version of a document that exists */
    uint64_t lsn;    /* of its range */
    uint64_t commit; /* of the container: 1, 2, ... in the order of commits */
    uint64_t number; /* of the document's rid */
    int64_t ts;      /* seconds */
    int64_t ttl;     /* seconds; -1: never expires */
    char *id;
    char *pk;      /* ["x"], as a header has it */
    char *json;    /* the document with its system members; of a delete,
                    * the version that was deleted */
    char etag[40]; /* with quotes */
    struct rn_epk epk;
    const struct service_entry *previous; /* the version before, or NULL */
};

struct service_range {
    uint32_t id;
    struct rn_epk_range keys;
    uint64_t lsn;       /* of the last commit */
    uint64_t born;      /* topology version at which it appeared */
    uint64_t gone;      /* at which it disappeared; 0: it is there */
    int64_t closing_ms; /* until then a gone range answers 410/1007 */
    uint32_t parents[SERVICE_PARENTS_MAX];
    size_t parent_count;
};

struct service_box {
    struct service *service;
    char *db, *name;
    struct rn_rid rid;
    char rid_text[RN_RID_TEXT_MAX + 1];
    char *key_json; /* partitionKey */
    struct rn_arena arena;
    struct rn_pkdef key;
    int64_t default_ttl;   /* 0: off; -1: documents say */
    int64_t retention_min; /* 0: no all-versions mode */
    bool has_previous;     /* previous images in all-versions mode */
    bool is_deleted;
    uint64_t topology, commits, documents;
    struct service_range *ranges;
    size_t range_count, range_room;
    struct service_entry **entries; /* in the order of commits */
    size_t entry_count, entry_room;
};

struct service {
    struct rn_env *env;
    struct service_box **boxes;
    size_t box_count;
    uint32_t rids;
    /* Rises with everything that a held change feed request may wait for. */
    uint64_t version;
    bool cannot_wait; /* ignores Prefer: wait, as the real service does */
    uint64_t requests, feed_reads;
    /* Called after every commit; may be NULL. */
    void (*committed)(void *context, const struct service_box *box,
                      const struct service_entry *entry);
    void *context;
};

struct service_definition {
    const char *db, *name;
    const char *key; /* "/pk"; "/a,/b" hierarchical */
    unsigned ranges; /* 0: one */
    int64_t default_ttl, retention_min;
    bool has_previous;
};

void service_init(struct service *s, struct rn_env *env);
void service_release(struct service *s);

struct service_box *service_add(struct service *s,
                                const struct service_definition *d);
struct service_box *service_find(struct service *s, const char *db,
                                 const char *name);

/* Direct writes, for workloads.  NULL if there is nothing to delete. */
const struct service_entry *service_upsert(struct service_box *box,
                                           const char *json);
const struct service_entry *service_delete(struct service_box *box,
                                           const char *id, const char *pk);
/* Upserts that share one LSN, as a transactional batch: one partition key. */
void service_batch(struct service_box *box, const char *const *json,
                   size_t count);
const struct service_entry *service_live(const struct service_box *box,
                                         const char *id, const char *pk);

/* Topology.  Return false if the range is gone or cannot be cut, or the two are
 * not neighbours.  `closing_ms`: how long the old ids answer 410/1007. */
bool service_split(struct service_box *box, uint32_t id, int64_t closing_ms);
bool service_merge(struct service_box *box, uint32_t left, uint32_t right,
                   int64_t closing_ms);
/* The range that holds an EPK now. */
struct service_range *service_range_of(const struct service_box *box,
                                       struct rn_view epk);

/* ---- requests ------------------------------------------------------------ */

struct service_header {
    struct rn_view name, value;
};

struct service_request {
    struct rn_view method, path; /* percent-encoded, begins with '/' */
    const struct service_header *headers;
    size_t header_count;
    struct rn_view body;
};

struct service_answer {
    int status;      /* 0: held; ask again when service.version has moved */
    int64_t held_ms; /* how long at most */
    size_t header_count;
    struct {
        const char *name;
        char value[160];
    } headers[SERVICE_HEADERS_MAX];
    struct rn_buf body;
};

#define SERVICE_ANSWER_INIT                                                    \
    (struct service_answer)                                                    \
    {                                                                          \
        .body = RN_BUF_INIT(SERVICE_BODY_MAX)                                  \
    }

/* `may_hold`: the caller can hold a request back that asks to wait. */
void service_handle(struct service *s, const struct service_request *q,
                    bool may_hold, struct service_answer *a);
void service_answer_release(struct service_answer *a);

/* The value of a header, or a view with a NULL `at`. */
struct rn_view service_header(const struct service_request *q,
                              const char *name);

/* ---- between the files of the service ------------------------------------ */

void service_say(struct service_answer *a, const char *name, const char *fmt,
                 ...) RN_PRINTF(3, 4);
void service_refuse(struct service_answer *a, int status, int sub,
                    const char *message);
void service_sweep(struct service_box *box); /* expires documents */
/* The range a request is routed to, and the keys it asks for.  NULL: the answer
 * is the refusal. */
struct service_range *service_route(struct service_box *box,
                                    const struct service_request *q,
                                    struct rn_epk_range *keys,
                                    struct service_answer *a);
void service_pkranges(struct service_box *box, const struct service_request *q,
                      struct service_answer *a);
void service_feed(struct service_box *box, const struct service_request *q,
                  bool may_hold, struct service_answer *a);
void service_list(struct service_box *box, const struct service_request *q,
                  struct rn_view id_prefix, struct service_answer *a);

#endif
