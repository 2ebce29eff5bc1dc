/* one_container.h -- one container, and what most tests of the engine do with
 * it.
 *
 * A test's setup is one_container_setup, or calls one_container_open; its
 * teardown is one_container_close. In between everything is done to
 * `one_container`, and `doc` has the last answer.
 */
#ifndef RN_TESTS_LIB_ONE_CONTAINER_H
#define RN_TESTS_LIB_ONE_CONTAINER_H

#include "lib/database.h"

extern struct database db;              /* simulated, or real */
extern struct rn_rid owner;             /* the database of one_container */
extern struct rn_object *one_container; /* as it was when last looked up */
extern struct document doc;             /* what the last read or write gave */

/* Definitions.  Hash version 1 looks at the first hundred characters of a key
 * only. */
#define CONTAINER_HASHED(id, version, more)                                    \
    "{\"id\":\"" id "\",\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":"       \
    "\"Hash\",\"version\":" version "}" more "}"
#define CONTAINER(more) CONTAINER_HASHED("c", "2", more)
#define CONTAINER_V1(more) CONTAINER_HASHED("v1", "1", more)

/* All are 0, as cmocka wants it of a setup and a teardown.  one_container_setup
 * has one range, and documents in it may expire. */
int one_container_setup(void **state);
int one_container_open(const char *definition, uint32_t ranges);
int one_container_open_real(const char *definition);
int one_container_close(void **state);

/* The container as it is now, after a split or a reopening. */
void one_container_refresh(void);
/* The engine again, upon the same store. */
void one_container_reopen(void);
/* Another container in its place; the same with another definition. */
void one_container_use(const char *definition);
void one_container_redefine(const char *definition);
/* A split or a merge, after which one_container is refreshed. */
enum rn_code one_container_split_merge(const struct rn_split_merge *like);

/* A write; what is not asked is NULL. */
enum rn_code one_container_write(enum rn_document_verb verb, const char *pk,
                                 const char *id, const char *body);
/* The same, which must succeed. */
void one_container_put(const char *body);
void one_container_del(const char *pk, const char *id);
/* Takes a document's body out of the store, behind the engine's back: it is
 * damaged from then on. */
void one_container_damage(const char *pk, const char *id);

/* An upsert that is queued and not yet run, prepared with the container as
 * it is now; it must succeed, and have been run when it is ended. */
struct queued {
    struct rn_document_write write;
    enum rn_code rc;
    bool is_done;
};
void queue_write(struct queued *q, const char *body);
void end_write(struct queued *q);
void end_write_as(struct queued *q, enum rn_code rc); /* must end so */

/* Everything that is due until then happens. */
void turn_clock(int64_t seconds);

#endif
