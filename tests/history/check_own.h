/* check_own.h -- the checker from within. */
#ifndef RN_TEST_CHECK_OWN_H
#define RN_TEST_CHECK_OWN_H

#include "history/check.h"

#include <stdbool.h>

typedef struct history_entry entry;

struct check {
    FILE *out;
    struct history_verdict *verdict;
    entry *all;
    size_t count;
    entry **writes; /* known ones, by document and LSN */
    size_t write_count;
    entry **lost; /* unknown ones that nobody saw, by document */
    size_t lost_count;
    entry **tokens; /* all that wrote something, by what */
    size_t token_count;
    entry **restores;
    size_t restore_count;
};

#define CHECK_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

bool check_succeeded(const entry *e);
void check_tell(const struct check *c, size_t *counter, const char *kind,
                const char *why, const entry *e);
void check_sort(entry **list, size_t count,
                int (*compare)(const void *, const void *));
entry *check_find_token(const struct check *c, uint64_t token);
/* The latest known write of the document that counts at an LSN, or NULL. */
entry *check_latest(const struct check *c, uint32_t document, uint64_t lsn);
/* May a write that nobody saw have changed the document before this one was
 * answered? */
bool check_excused(const struct check *c, const entry *e);

/* check_feed.c: -1 without memory.  The restores go first. */
int check_restores(struct check *c);
int check_feed(struct check *c);

#endif
