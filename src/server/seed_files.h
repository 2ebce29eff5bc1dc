/* seed_files.h -- reads the files of a seed (seed.h) and hands what they say to
 * the seeding. */
#ifndef RN_SERVER_SEED_FILES_H
#define RN_SERVER_SEED_FILES_H

#include "base/mem.h"

struct rn_seeding;

/* Reads all of it.  Failures are told with file and line. */
enum rn_code rn_seed_read(struct rn_seeding *s, const char *from) RN_CHECK;

/* Appends an object with its id put first. */
enum rn_code rn_seed_print_id(struct rn_view id, struct rn_view object,
                              struct rn_buf *out) RN_CHECK;

/* seed.c: what is read.  A document may be written later: its text must last
 * until the flush, and `line` is that of the document that failed. */
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
