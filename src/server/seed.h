/* seed.h -- initial databases, containers and documents of a new store
 * (--seed).
 *
 * From a directory:
 *
 *   DIR/DATABASE/CONTAINER.json      the container's definition, as it is sent
 *                                    to create it; "id" may be left out
 *   DIR/DATABASE/CONTAINER.ndjson    its documents, one a line; may be absent
 *
 * From one file, a JSON object a line:
 *
 *   {"database": "shop"}             the following lines belong to it
 *   {"container": {"id": "orders", "partitionKey": {"paths": ["/customer"]}}}
 *   {"document": {"id": "1", "customer": "x"}}
 *
 * Empty lines are skipped.  An error is reported as FILE:LINE: reason, and then
 * nothing of the seed stays in the store.
 *
 * A store that has a database is not seeded.  While a data directory is being
 * seeded it has the file `seeding`; a start that finds this file removes what
 * the interrupted seeding left and seeds again, or is refused without --seed.
 */
#ifndef RN_SERVER_SEED_H
#define RN_SERVER_SEED_H

#include "engine/engine.h"

struct rn_seed_opts {
    struct rn_engine *engine;
    const char *from;     /* --seed; NULL: none */
    const char *data_dir; /* NULL: the store is in memory */
};

struct rn_seed_counts {
    uint64_t databases, containers, documents;
    bool is_skipped; /* the store had a database */
};

/* Before the server accepts requests.  Blocks. */
enum rn_code rn_seed(const struct rn_seed_opts *opts,
                     struct rn_seed_counts *out, struct rn_err *err) RN_CHECK;

/* ---- for seed_files.c ---------------------------------------------------- */

struct rn_seeding;

/* A document may be written later: its text must stay
 * valid until the flush, and `line` is the line of the document that failed. */
enum rn_code rn_seeding_database(struct rn_seeding *s,
                                 struct rn_view id) RN_CHECK;
enum rn_code rn_seeding_container(struct rn_seeding *s,
                                  struct rn_view json) RN_CHECK;
enum rn_code rn_seeding_document(struct rn_seeding *s, struct rn_view json,
                                 unsigned long *line) RN_CHECK;
enum rn_code rn_seeding_flush(struct rn_seeding *s,
                              unsigned long *line) RN_CHECK;
struct rn_err *rn_seeding_err(struct rn_seeding *s);

#endif
