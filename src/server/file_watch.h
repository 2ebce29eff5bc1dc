/* file_watch.h -- detects changes of files since they were read, with inotify.
 *
 * Files are compared by inode, length and time of change, so that a replaced
 * file counts as well as a written one.  inotify says when to compare: when a
 * file was created, replaced or written, when a symbolic link on the path was
 * changed, or a directory on the path was moved into place.  It does not report
 * writes of other machines to a network file system.
 *
 * Threads: one at a time.
 */
#ifndef RN_SERVER_FILE_WATCH_H
#define RN_SERVER_FILE_WATCH_H

#include "base/mem.h"

#include <sys/stat.h>

enum { RN_FILE_WATCH_MAX = 4 };

struct rn_file_watch {
    int fd;        /* readable: compare; -1: no inotify */
    bool is_blind; /* not everything could be watched: poll */
    struct rn_stamp {
        ino_t inode; /* 0: no such file */
        off_t length;
        struct timespec changed;
    } read[RN_FILE_WATCH_MAX], seen[RN_FILE_WATCH_MAX];
};

enum rn_file_watch_state {
    RN_FILE_WATCH_SAME,    /* unchanged since they were noted, or gone */
    RN_FILE_WATCH_MOVING,  /* changed since the last look: look again soon */
    RN_FILE_WATCH_CHANGED, /* at least one has changed, and all are stable */
};

void rn_file_watch_init(struct rn_file_watch *w);
void rn_file_watch_close(struct rn_file_watch *w);

/* Notes that the files from `first` on are about to be read.  A NULL path is
 * skipped. */
void rn_file_watch_note(struct rn_file_watch *w, const char *const *paths,
                        size_t first, size_t len);

/* A change may span several files, which must not be read before the last of
 * them is written; hence all must be stable.  Changes after this call make
 * `fd`, which is a new descriptor, readable. */
enum rn_file_watch_state rn_file_watch_look(struct rn_file_watch *w,
                                            const char *const *paths,
                                            size_t len);

#endif
