/* conformance.h -- what the chapters of the conformance suite share.
 *
 * The suite gets a store's name and where to open it, and knows nothing else
 * of it.  Helpers named must_* fail the test unless the store says RN_OK; like
 * all of cmocka they may be used by the main thread only.
 */
#ifndef RN_TESTS_STORE_CONFORMANCE_H
#define RN_TESTS_STORE_CONFORMANCE_H

#include "lib/clock.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern struct test_clock suite_clock;

/* True unless closing the store is meant to lose everything. */
bool suite_persists(void);

/* Opens an empty store; `opts` may be NULL, and need no env and no place. */
struct rn_store *suite_open(const struct rn_store_opts *opts);
/* Opens the place that suite_open used last, as it is. */
struct rn_store *suite_reopen(const struct rn_store_opts *opts);

struct rn_txn *must_begin(struct rn_store *s, enum rn_txn_mode mode);
void must_commit(struct rn_txn *t);
void must_put(struct rn_txn *t, struct rn_view key, struct rn_view value);
void must_del(struct rn_txn *t, struct rn_view key);
struct rn_cursor *must_scan(struct rn_txn *t, struct rn_key_interval range);

/* Puts in a transaction of its own. */
void must_store(struct rn_store *s, struct rn_view key, struct rn_view value);

void assert_code(enum rn_code got, enum rn_code wanted);
void assert_view(struct rn_view got, struct rn_view wanted);
void assert_value(struct rn_txn *t, struct rn_view key, struct rn_view wanted);
void assert_absent(struct rn_txn *t, struct rn_view key);

/* The chapters, each a file. */
struct chapter {
    const struct CMUnitTest *tests;
    size_t count;
};
extern const struct chapter chapter_order, chapter_txn, chapter_limits,
    chapter_model, chapter_concurrent;

#define CHAPTER(name, list)                                                    \
    const struct chapter name = { list, sizeof(list) / sizeof((list)[0]) }

#endif
