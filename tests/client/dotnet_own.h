/* dotnet_own.h -- between the files of the .NET host. */
#ifndef RN_TESTS_CLIENT_DOTNET_OWN_H
#define RN_TESTS_CLIENT_DOTNET_OWN_H

#include "client/dotnet_peer.h"

enum {
    DOTNET_BODY_MAX = 16 << 20,
    DOTNET_RANGES_MAX = 128,
    DOTNET_LEASES_MAX = 128,
    DOTNET_CHILDREN_MAX = 16,
    DOTNET_CHANGES_MAX = 512,
    DOTNET_PATH_MAX = 512,
};

/* ---- a request (dotnet_call.c) ------------------------------------------- */

enum dotnet_call_state { CALL_IDLE, CALL_SENT, CALL_PAUSED, CALL_OVER };

struct dotnet_call {
    struct dotnet_peer *peer;
    enum dotnet_call_state state;
    struct rn_exchange x;
    struct rn_buf body;
    bool is_feed; /* 410 is an outcome */
    bool is_read;
    bool has_answer;
    unsigned tries;
    int64_t due_ns; /* PAUSED */
};

void dotnet_call_init(struct dotnet_call *c, struct dotnet_peer *peer);
void dotnet_call_release(struct dotnet_call *c);
/* Empties it, and names what is asked for. */
void dotnet_call_begin(struct dotnet_call *c, const char *method,
                       const char *path);
void dotnet_call_header(struct dotnet_call *c, const char *name,
                        const char *value);
void dotnet_call_send(struct dotnet_call *c);
/* Gives up waiting; the request may arrive all the same. */
void dotnet_call_cancel(struct dotnet_call *c);
/* True once the answer, or that there is none, is known: then `status` and
 * the answer in `x` are valid, and the call is idle. */
bool dotnet_call_take(struct dotnet_call *c, int *status);
/* The etag of the answer, or "". */
const char *dotnet_call_etag(const struct dotnet_call *c);

/* Where leases are listed and created; version 2 names it by its rid. */
void dotnet_leases_path(const struct dotnet_peer *p, char *out);
/* A request for one document of the lease container. */
void dotnet_call_lease(struct dotnet_call *c, const char *method,
                       const char *id, const char *key);
/* A create in the lease container. */
void dotnet_call_create(struct dotnet_call *c, const char *key,
                        bool is_minimal);

/* ---- ranges of a container (dotnet_map.c) -------------------------------- */

struct dotnet_map {
    struct dotnet_call call;
    char path[DOTNET_PATH_MAX]; /* of pkranges; "": not known yet */
    char etag[40];
    struct dotnet_range ranges[DOTNET_RANGES_MAX];
    size_t count;
    struct dotnet_range fresh[DOTNET_RANGES_MAX]; /* of a refresh under way */
    size_t fresh_count;
    bool is_loaded, is_busy, has_failed;
    uint64_t rounds; /* refreshes that have ended */
};

void dotnet_map_init(struct dotnet_map *m, struct dotnet_peer *peer,
                     const struct dotnet_known *known);
/* Starts a refresh, or joins the one under way; the map is fresh, or
 * `has_failed`, when `rounds` exceeds what this returns. */
uint64_t dotnet_map_refresh(struct dotnet_map *m);
bool dotnet_map_step(struct dotnet_map *m);
const struct dotnet_range *dotnet_map_find(const struct dotnet_map *m,
                                           const char *id);
/* Did the range come of that one? */
bool dotnet_map_is_parent(const struct dotnet_range *range, const char *id);
/* The ranges that overlap an interval: the first, and how many follow each
 * other. */
size_t dotnet_map_overlap(const struct dotnet_map *m, const char *min,
                          const char *max, const struct dotnet_range **first);

/* ---- compare and swap (dotnet_update.c) ---------------------------------- */

enum dotnet_update_kind {
    UPDATE_ACQUIRE,
    UPDATE_RENEW,
    UPDATE_CHECKPOINT,
    UPDATE_PROPERTIES,
    UPDATE_RELEASE,
};

enum dotnet_update_state {
    UPDATE_IDLE,
    UPDATE_READING,
    UPDATE_WRITING,
    UPDATE_DONE,
    UPDATE_LOST,
    UPDATE_FAILED,
};

struct dotnet_update {
    enum dotnet_update_kind kind;
    enum dotnet_update_state state;
    struct dotnet_call call;
    struct dotnet_lease lease; /* as it was sent last */
    char owner[DOTNET_NAME_MAX];
    char continuation[DOTNET_TEXT_MAX];
    char properties[DOTNET_PROPERTIES_MAX];
    unsigned tries;
    bool is_expired; /* the owner seems to be dead */
};

/* `lease` is the copy in memory; `continuation` of a checkpoint. */
void dotnet_update_begin(struct dotnet_update *u, enum dotnet_update_kind kind,
                         const struct dotnet_lease *lease,
                         const char *continuation);
/* True if it moved. */
bool dotnet_update_step(struct dotnet_update *u);
bool dotnet_update_is_over(const struct dotnet_update *u);
void dotnet_update_cancel(struct dotnet_update *u);

/* ---- the work on a lease (dotnet_worker.c, dotnet_split.c) --------------- */

enum dotnet_worker_state {
    WORKER_RANGE,      /* its FeedRange is looked up */
    WORKER_ACQUIRING,  /* PUT with the new owner */
    WORKER_ROUTING,    /* where its interval lies is looked up */
    WORKER_CONTAINER,  /* its range is not in the map: the container is read */
    WORKER_READING,    /* the feed */
    WORKER_SLEEPING,   /* drained */
    WORKER_HANDLING,   /* in the delegate */
    WORKER_STORING,    /* checkpoint */
    WORKER_GONE,       /* 410: the map is refreshed */
    WORKER_CREATING,   /* leases of the ranges that replace its own */
    WORKER_DELETING,   /* its lease, for those */
    WORKER_REDIRECTED, /* an EPK lease in another range */
    WORKER_RELEASING,
    WORKER_ENDED,
};

struct dotnet_worker {
    struct dotnet_worker *next;
    struct dotnet_peer *peer;
    enum dotnet_worker_state state;
    bool is_cancelled;
    struct dotnet_lease lease;    /* in memory: as it was written last */
    struct dotnet_lease acquired; /* the same as it was when acquired */
    struct dotnet_call call;
    struct dotnet_update update, renewal;
    int64_t renew_ns;                /* when it is due */
    int64_t due_ns;                  /* SLEEPING, HANDLING */
    uint64_t round;                  /* of the map, waited for */
    char position[DOTNET_TEXT_MAX];  /* of the last read */
    char page_etag[DOTNET_TEXT_MAX]; /* of the page in the delegate */
    struct dotnet_lease children[DOTNET_CHILDREN_MAX];
    bool is_mine[DOTNET_CHILDREN_MAX]; /* it was created by this host */
    size_t child_count, child_at;
    struct dotnet_change changes[DOTNET_CHANGES_MAX];
    size_t change_count;
};

/* Begins to acquire a lease; the one that runs already if there is one. */
struct dotnet_worker *dotnet_worker_add(struct dotnet_peer *p,
                                        const struct dotnet_lease *lease);
/* Goes on with a lease that it has. */
void dotnet_worker_resume(struct dotnet_peer *p,
                          const struct dotnet_lease *lease);
bool dotnet_worker_step(struct dotnet_worker *w);
/* When it wants to run, of the env's monotonic clock; INT64_MAX: not. */
int64_t dotnet_worker_due(const struct dotnet_worker *w);
void dotnet_worker_cancel(struct dotnet_worker *w);
void dotnet_worker_free(struct dotnet_worker *w);
/* Its feed is over: the lease is released. */
void dotnet_worker_end(struct dotnet_worker *w);
/* GONE and what follows it. */
bool dotnet_split_step(struct dotnet_worker *w);

/* ---- the host (dotnet_peer.c) -------------------------------------------- */

enum dotnet_main_state {
    MAIN_SOURCE,
    MAIN_LEASES,
    MAIN_MODE,
    MAIN_MARKER,
    MAIN_LOCK,
    MAIN_LOCK_HELD,
    MAIN_RANGES,
    MAIN_MISSING,
    MAIN_CREATE,
    MAIN_MARK,
    MAIN_UNLOCK,
    MAIN_OWN,
    MAIN_ADOPT,
    MAIN_LIST,
    MAIN_TAKE,
    MAIN_SLEEP,
    MAIN_OVER,
    MAIN_DATABASE, /* version 2 begins here */
    MAIN_CACHE,    /* ... and reads the lease container twice */
};

enum dotnet_listing_state { LIST_IDLE, LIST_PLAN, LIST_RANGES, LIST_QUERY };

struct dotnet_peer {
    struct dotnet_options o;
    struct rn_env *env;
    struct rn_transport *transport;
    struct rn_task task;
    enum dotnet_state state;
    char db_rid[32], source_rid[32], leases_rid[32];
    char base[DOTNET_ID_MAX]; /* of ids */
    bool has_key_member;      /* the lease container is keyed so */
    struct dotnet_map source_map, lease_map;
    struct dotnet_worker *workers;

    /* What it does itself: start, then pass by pass. */
    enum dotnet_main_state at;
    struct dotnet_call call;
    int64_t due_ns;
    uint64_t round;
    char lock_etag[DOTNET_NAME_MAX];
    bool has_lock, has_failed;
    enum dotnet_listing_state listing;
    size_t list_at; /* range of the lease container */
    struct dotnet_lease leases[DOTNET_LEASES_MAX]; /* of the last listing */
    size_t lease_count;
    size_t picks[DOTNET_LEASES_MAX];
    size_t pick_count, pick_at;
    char taking[DOTNET_TOKEN_MAX]; /* the lease that is being acquired */
    struct dotnet_update touch;    /* of a lease that it works on already */
};

static inline bool dotnet_is_v2(const struct dotnet_peer *p)
{
    return p->o.version == 2;
}

/* Prints a lease in the form of the host's version. */
void dotnet_print(const struct dotnet_peer *p, const struct dotnet_lease *lease,
                  struct rn_buf *out);
/* Names what is derived from the rids of the containers. */
void dotnet_boot_names(struct dotnet_peer *p);
/* start, until it runs; then pass by pass.  True if it moved. */
bool dotnet_boot_step(struct dotnet_peer *p);
bool dotnet_pass_step(struct dotnet_peer *p);
/* Lists the leases: true when it is over, with `ok`. */
bool dotnet_list_step(struct dotnet_peer *p, bool *ok);

#endif
