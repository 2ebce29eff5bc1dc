/* replay.h -- answers requests from recorded traces, and shows whether they are
 * the recorded ones.
 *
 * A request gets the answer of the first recorded request that is equal to it
 * and was not asked yet: method, path, headers and body, in which only the time
 * of `timestamp` may differ, and so may If-Modified-Since.  Requests of
 * different leases were under way at once when the trace was recorded, so that
 * an entry may be asked for a few places before its turn, not more.  A poll
 * that was answered 304 may be repeated.
 *
 * A request that was not recorded is held: the host may do later what the trace
 * does not reach.  But if that is a write before the end, `strange` names it.
 *
 * Threads: one.
 */
#ifndef RN_TESTS_CLIENT_REPLAY_H
#define RN_TESTS_CLIENT_REPLAY_H

#include "client/scripted.h"
#include "json/json.h"

enum { REPLAY_FILES_MAX = 6, REPLAY_ENTRIES_MAX = 512 };

struct replay_entry {
    const struct rn_json *json;
    uint32_t at;
    bool was_asked;
    int64_t repeated; /* how often a 304 may come again */
};

struct replay {
    struct scripted *wire;
    struct rn_buf texts[REPLAY_FILES_MAX];
    struct rn_json jsons[REPLAY_FILES_MAX];
    size_t file_count;
    struct replay_entry entries[REPLAY_ENTRIES_MAX];
    size_t count, first; /* the first that was not asked */
    char strange[400];   /* "": no such write */
};

/* Reads a file of tests/client/golden, or aborts.  `phases`: of its
 * entries, "bootstrap checkpoint"; NULL: all. */
void replay_add(struct replay *r, const char *path, const char *phases);
/* Takes the wire's place of the service. */
void replay_begin(struct replay *r, struct scripted *wire);
bool replay_is_over(const struct replay *r);
/* "METHOD PATH" of the first that was not asked. */
void replay_next(const struct replay *r, char *out, size_t room);
void replay_release(struct replay *r);

#endif
