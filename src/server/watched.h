/* watched.h -- have files changed since they were read?
 *
 * By inode, length and time of change, so that a file that was replaced counts
 * as well as one that was written to.  Threads: one at a time.
 */
#ifndef RN_SERVER_WATCHED_H
#define RN_SERVER_WATCHED_H

#include "base/mem.h"

#include <sys/stat.h>

enum { RN_WATCHED_MAX = 4 };

struct rn_watched {
    struct rn_stamp {
        ino_t inode; /* 0: no such file */
        off_t length;
        struct timespec changed;
    } read[RN_WATCHED_MAX], seen[RN_WATCHED_MAX];
};

/* The files from the `first` on are about to be read.  A NULL among the paths
 * is no file. */
void rn_watched_note(struct rn_watched *w, const char *const *paths,
                     size_t first, size_t len);

/* True if one of them is another than was noted, and all are as at the last
 * look: what comes in several files is not to be read before the last of them
 * is there.  One that has gone is no change. */
bool rn_watched_look(struct rn_watched *w, const char *const *paths,
                     size_t len);

#endif
