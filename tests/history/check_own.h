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
    entry **lost; /* unanswered ones that nobody saw, by document */
    size_t lost_count;
    entry **tokens; /* all that wrote something, by what */
    size_t token_count;
    entry *missing; /* versions that were not in a page, `token` 0 */
    size_t missing_count, missing_room;
    entry **restores;
    size_t restore_count;
};

#define CHECK_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static inline bool check_is_read(const entry *e)
{
    return e->op == HISTORY_READ || e->op == HISTORY_QUERY;
}

static inline bool check_is_write(const entry *e)
{
    return e->op >= HISTORY_CREATE && e->op <= HISTORY_DELETE;
}

static inline bool check_succeeded(const entry *e)
{
    return e->status >= 200 && e->status < 300;
}

/* Is a key in the interval of a page or a restore? */
static inline bool check_has_key(const entry *interval, uint32_t key)
{
    return key >= interval->key && key - interval->key < interval->keys;
}

void check_report(const struct check *c, size_t *counter, const char *kind,
                  const char *why, const entry *e);
void check_sort(entry **list, size_t count,
                int (*compare)(const void *, const void *));
entry *check_find_token(const struct check *c, uint64_t token);
/* The latest known write of the document that counts at an LSN, or NULL. */
entry *check_latest(const struct check *c, uint32_t document, uint64_t lsn);
/* What a write found. */
entry *check_found_by(const struct check *c, const entry *e);

/* check_lost.c, in this order; -1 without memory.  Ends each unanswered write
 * at the next start; completes transactions of which something was seen; says
 * where those lie that nobody saw. */
int check_close(struct check *c);
void check_complete(struct check *c);
int check_bounds(struct check *c);
/* Where those of a document begin in `lost`. */
size_t check_find_lost(const struct check *c, uint32_t document);
/* May one of them have come between a known write and a page, for all that is
 * known of these? */
bool check_hidden(const struct check *c, const entry *w, const entry *page);

/* Each in its file: -1 without memory.  Restores go first, and the feed before
 * the content: it leaves there what a lost write may explain. */
int check_restores(struct check *c);
int check_feed(struct check *c);
int check_content(struct check *c);
int check_session(struct check *c);

#endif
