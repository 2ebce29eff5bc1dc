/* database.h -- an engine over `mem`, and writes that have ended when they
 * return.
 *
 * Simulated, it has a clock that the test turns and runs in the test's thread;
 * or else it has the machine's clock and threads, and any thread may call.
 */
#ifndef RN_TESTS_LIB_DATABASE_H
#define RN_TESTS_LIB_DATABASE_H

#include "base/sim.h"
#include "engine/catalog/catalog_change.h"
#include "engine/cleanup/delete_partition.h"
#include "engine/document/batch.h"
#include "engine/document/document.h"
#include "engine/document/snapshot.h"
#include "engine/index/index_change.h"
#include "engine/key.h"
#include "engine/range/split_merge.h"
#include "engine/row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct database {
    struct rn_sim *sim; /* NULL: real */
    struct rn_env *env;
    struct rn_store *store; /* simulated: of faulty.h */
    struct rn_engine *engine;
    uint32_t ranges;
};

void database_open(struct database *d, bool is_simulated, uint32_t ranges);
/* The engine again, upon the same store. */
void database_reopen(struct database *d);
void database_close(struct database *d);
/* Lets background work end; simulated only. */
void database_settle(struct database *d);

/* ---- the catalog --------------------------------------------------------- */

/* `out` may be NULL; else it is released by the caller. */
enum rn_code change(struct database *d, enum rn_catalog_verb verb,
                    struct rn_rid owner, const char *id, const char *body,
                    struct rn_object **out);
/* The same of any kind; what is set of `like` beside the verb is asked. */
enum rn_code change_like(struct database *d,
                         const struct rn_catalog_change *like,
                         struct rn_object **out);
/* A new database's rid. */
struct rn_rid make_database(struct database *d, const char *id);
/* A new container of a definition like {"id":"c",...}. */
struct rn_object *make_container(struct database *d, struct rn_rid owner,
                                 const char *body);

/* ---- documents ----------------------------------------------------------- */

/* The answer to a read or a write; `body` is freed by document_clear. */
struct document {
    enum rn_code rc;
    struct rn_err err;
    bool created;
    struct rn_document_place place;
    char etag[RN_ETAG_LEN + 1];
    char *body;
    int64_t ts;
    uint64_t rid; /* its number */
};
void document_clear(struct document *doc);

/* What else a write may have. */
struct asked {
    const char *pk; /* JSON, as in the header */
    const char *id, *if_match, *if_none_match;
};

/* Replaces what was in `out`. */
enum rn_code write_document(struct database *d, const struct rn_object *c,
                            enum rn_document_verb verb, const char *body,
                            const struct asked *asked, struct document *out);
/* Runs a batch to its end, however often it must be resumed.  The caller
 * releases it. */
enum rn_code run_batch(struct database *d, struct rn_batch *b,
                       struct rn_err *err);
enum rn_code read_document(struct database *d, const struct rn_object *c,
                           const char *pk, const char *id,
                           struct document *out);
enum rn_code read_document_rid(struct database *d, const struct rn_object *c,
                               uint64_t rid, struct document *out);

/* ---- keys, ranges and indexes -------------------------------------------- */

/* To the end of each, or to why it was not begun.  What is set of `like` is
 * asked; its container is the one given. */
enum rn_code run_delete_partition(struct database *d, const struct rn_object *c,
                                  const struct rn_pk *pk);
enum rn_code run_split_merge(struct database *d, const struct rn_object *c,
                             const struct rn_split_merge *like);
enum rn_code run_index_change(struct database *d, const struct rn_object *c,
                              const struct rn_index_change *like);

/* ---- rows ---------------------------------------------------------------- */

/* How many rows lie from one key to before another; how many of a tag
 * (engine/key.h) a container has. */
size_t count_between(struct database *d, const struct rn_key *from,
                     const struct rn_key *before);
size_t count_rows(struct database *d, const struct rn_object *c, char tag);
/* What is kept of a range, dead ones included; the LSN it has come to. */
struct rn_row_range range_of(struct database *d, const struct rn_object *c,
                             uint32_t range);
uint64_t lsn_of(struct database *d, const struct rn_object *c, uint32_t range);

#endif
