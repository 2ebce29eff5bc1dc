/* crash.h -- a simulated disk, files on it, and many seeds of the power cut
 * that may take them.
 */
#ifndef RN_TESTS_LIB_CRASH_H
#define RN_TESTS_LIB_CRASH_H

#include "base/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { BIG = 12288 }; /* the longest file */

extern uint64_t seeds; /* of each case; a hundred times as many as a proof */
extern struct rn_sim *sim;
extern struct rn_env *env;

/* A new disk; and away with it, when all files are closed. */
void crash_begin(uint64_t seed);
void crash_end(void);
/* Both around what is done for each of so many seeds; there is no way out of
 * the middle. */
#define EACH_SEED(seed, count)                                                 \
    for (uint64_t seed = 0; seed < (count) && (crash_begin(seed), true);       \
         crash_end(), seed++)

struct rn_file *crash_open(const char *path, enum rn_open how);
void write_fill(struct rn_file *f, char with, size_t len, uint64_t offset);
/* A file of `len` times `with`, contents and name synced. */
struct rn_file *synced_file(const char *path, char with, size_t len);
/* Reads it whole; the length, or -1 if there is no such file. */
int read_whole(const char *path, char *out, size_t room);
bool is_all(const char *at, char with, size_t len);

/* Runs them all, and prints seeds and seconds; the exit status. */
int crash_run(const struct CMUnitTest *tests, size_t count);

#endif
