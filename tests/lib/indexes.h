/* indexes.h -- indexes made and dropped, and held against the documents: over
 * one_container.h.
 *
 * Each document is read, its values are encoded anew, and what that gives must
 * be just what lies in the store; of an index that is being built, nothing that
 * should not be there.
 */
#ifndef RN_TESTS_LIB_INDEXES_H
#define RN_TESTS_LIB_INDEXES_H

#include "lib/one_container.h"

/* As one_container_open and one_container_close. */
int indexes_open(const char *definition);
int indexes_close(void **state);

/* Slices wait until nobody has written for a while. */
void indexes_settle(void);

/* A write of {"id":ID,"pk":PK,"u":ID MORE}. */
enum rn_code put_indexed(enum rn_document_verb verb, const char *id, int pk,
                         const char *more);
/* Paths apart by blanks; one that begins with - descends. */
uint32_t read_keys(const char *paths, struct rn_index_key *out);
enum rn_code change_index(const char *paths, bool is_drop);

/* Holds every index against the documents; their numbers and states as one
 * text. */
const char *look(void);
/* The rows of all indexes. */
size_t rows_now(void);

#endif
