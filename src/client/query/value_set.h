/* value_set.h -- a hash set of JSON values, by their canonical text.
 *
 * Zero-initialised is empty.  Its contents are in the caller's arena.  One
 * thread.
 */
#ifndef RN_CLIENT_QUERY_VALUE_SET_H
#define RN_CLIENT_QUERY_VALUE_SET_H

#include "client/query/value.h"

struct rn_value_set_entry {
    uint64_t hash;
    struct rn_view text;
    size_t place; /* counted in the order of adding */
};

struct rn_value_set {
    struct rn_value_set_entry *slots;
    size_t room, count;
};

void rn_value_set_release(struct rn_value_set *s);

/* Adds the text; `*place` is its number, `*is_new` whether it was not there.
 * RN_NOMEM or, at the arena's ceiling, RN_TOO_LARGE. */
enum rn_code rn_value_set_add_text(struct rn_value_set *s, struct rn_view text,
                                   struct rn_arena *arena, size_t *place,
                                   bool *is_new) RN_CHECK;
/* The same of a value. */
enum rn_code rn_value_set_add(struct rn_value_set *s, struct rn_merge_item v,
                              struct rn_arena *arena, bool *is_new) RN_CHECK;

/* Why the arena had no `size` bytes: RN_TOO_LARGE at its ceiling, else
 * RN_NOMEM. */
static inline enum rn_code rn_arena_lack(const struct rn_arena *a, size_t size)
{
    return size > a->ceiling || a->used > a->ceiling - size ? RN_TOO_LARGE
                                                            : RN_NOMEM;
}

/* The value as it was sent, in the arena; `at` is NULL if there is no room. */
struct rn_view rn_merge_item_keep(struct rn_merge_item v,
                                  struct rn_arena *arena);
/* The same, appended. */
enum rn_code rn_merge_item_print(struct rn_merge_item v,
                                 struct rn_buf *out) RN_CHECK;

#endif
