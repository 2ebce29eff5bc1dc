/* file_watch.h -- have files changed since they were read?
 *
 * By inode, length and time of change, so that a file that was replaced counts
 * as well as one that was written to.  The kernel tells when to look (inotify):
 * of a new, replaced or written file, of a symbolic link on the way to it that
 * was turned, of a directory on the way that was put in place.  What is written
 * elsewhere, to a file system of a network, it does not know.
 *
 * Threads: one at a time.
 */
#ifndef RN_SERVER_FILE_WATCH_H
#define RN_SERVER_FILE_WATCH_H

#include "base/mem.h"

#include <sys/stat.h>

enum { RN_FILE_WATCH_MAX = 4 };

struct rn_file_watch {
    int fd;        /* readable: look; -1: nobody tells */
    bool is_blind; /* not everything could be watched: look now and then */
    struct rn_stamp {
        ino_t inode; /* 0: no such file */
        off_t length;
        struct timespec changed;
    } read[RN_FILE_WATCH_MAX], seen[RN_FILE_WATCH_MAX];
};

enum rn_file_watch_state {
    RN_FILE_WATCH_SAME,    /* as they were noted, or gone */
    RN_FILE_WATCH_MOVING,  /* not as at the last look: look again in a moment */
    RN_FILE_WATCH_CHANGED, /* one is another, and all rest */
};

void rn_file_watch_init(struct rn_file_watch *w);
void rn_file_watch_close(struct rn_file_watch *w);

/* The files from the `first` on are about to be read.  A NULL among the paths
 * is no file. */
void rn_file_watch_note(struct rn_file_watch *w, const char *const *paths,
                        size_t first, size_t len);

/* What comes in several files is not to be read before the last of them is
 * there, hence the rest.  What happens after the look makes `fd` readable,
 * which is another one than before. */
enum rn_file_watch_state rn_file_watch_look(struct rn_file_watch *w,
                                            const char *const *paths,
                                            size_t len);

#endif
