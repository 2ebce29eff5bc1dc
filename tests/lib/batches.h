/* batches.h -- a batch put together and run: over one_container.h. */
#ifndef RN_TESTS_LIB_BATCHES_H
#define RN_TESTS_LIB_BATCHES_H

#include "lib/one_container.h"

extern struct rn_batch_operation ops[RN_BATCH_MAX];
extern struct rn_batch batch; /* of the above */
extern struct rn_err err;     /* why a batch did not run */

#define INCR "[{\"op\":\"incr\",\"path\":\"/n\",\"value\":1}]"
#define DOC(id, rest) "{\"id\":\"" id "\",\"pk\":1" rest "}"

/* As one_container_open and one_container_close. */
int batches_open(uint32_t ranges);
int batches_open_real(void);
int batches_close(void **state);

/* Out of its JSON; gone when the batches are closed. */
struct rn_pk *key_of(const char *text);
/* A batch for a key, or for none (NULL). */
void batch_begin(enum rn_batch_mode mode, const char *pk);
struct rn_batch_operation *batch_add_keyed(enum rn_document_verb verb,
                                           const char *pk, const char *id,
                                           const char *body);
/* Of the batch's own key. */
struct rn_batch_operation *batch_add(enum rn_document_verb verb, const char *id,
                                     const char *body);
/* The test releases the batch. */
enum rn_code batch_run(void);
void assert_codes(const enum rn_code *codes);
#define CODES(...) assert_codes((enum rn_code[]){ __VA_ARGS__ })

/* A document too large to be patched in the committer. */
const char *large(const char *rest);
/* A batch of one patch, to its end. */
enum rn_code patch(const char *id, const char *body);

/* The range's LSN; what is under a key of 1. */
uint64_t lsn_now(void);
void assert_stored(const char *id, const char *part);
void assert_absent(const char *id);

#endif
