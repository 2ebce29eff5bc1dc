/* state.h -- a state file: how far a command came, for the next run.
 *
 * The file holds one JSON object.  Its member "run" names the command and the
 * containers, so that a state file of another run is refused; the other members
 * belong to the command.  The file is replaced as a whole and synced, so that a
 * killed command leaves the old state or the new one.
 *
 * One thread.  A zeroed one may be released.
 */
#ifndef RN_TOOLS_TRANSFER_STATE_H
#define RN_TOOLS_TRANSFER_STATE_H

#include "tools/common/option.h"
#include "json/print.h"

/* The row of --state, for the tables of commands. */
#define RN_OPTION_STATE                                                        \
    {                                                                          \
        "state", RN_OPTION_FILE, NULL, NULL, NULL,                             \
            "Keep the position in this file every second.  The same command "  \
            "goes on from there after it was interrupted or killed, without "  \
            "loss."                                                            \
    }

struct rn_state {
    const char *path;    /* NULL: no state is kept */
    const char *run;     /* "export of shop/orders (kLkZAA==) to x.ndjson" */
    bool is_resumed;     /* the file was there; `json` is its content */
    struct rn_json json; /* root 0 */

    /* private */
    struct rn_buf text, next;
    int64_t saved_ns;
    bool has_failed; /* a failure to write is reported once */
};

/* Reads the file, if `path` is not NULL and the file exists.  Both texts are
 * borrowed.  Returns an enum rn_exit after the line on standard error. */
int rn_state_open(struct rn_state *state, const char *path,
                  const char *run) RN_CHECK;
void rn_state_release(struct rn_state *state);

/* A number that is not negative; 0 if the object has none of that name. */
uint64_t rn_state_number(const struct rn_state *state, uint32_t object,
                         const char *name);
/* A string with its NUL, in the arena; NULL if the object has none of that
 * name. */
enum rn_code rn_state_text(const struct rn_state *state, uint32_t object,
                           const char *name, struct rn_arena *arena,
                           const char **out) RN_CHECK;
/* A continuation: the string with its NUL replaces `out`, which becomes empty
 * if the object has none. */
enum rn_code rn_state_token(const struct rn_state *state, uint32_t object,
                            const char *name, struct rn_buf *out) RN_CHECK;
/* Adds the token to the object, unless it is empty. */
void rn_state_print_token(struct rn_json_out *out, const char *name,
                          const struct rn_buf *token);

/* Is it time to write a new state: is one kept, and a second over since the
 * last was written? */
bool rn_state_is_due(const struct rn_state *state);
/* Writes a new state: begin, add members to the object, end.  A command does so
 * before its work, too: a file that cannot be written is noticed then. */
struct rn_json_out rn_state_begin(struct rn_state *state);
int rn_state_end(struct rn_state *state, struct rn_json_out *out) RN_CHECK;

#endif
