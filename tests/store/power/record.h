/* record.h -- every change of a data directory, in the order it was made.
 *
 * The recorder stands between the program (liblmdb included) and the kernel: it
 * defines pwrite, writev, fdatasync, rename and their like itself, so the
 * linker binds all callers to it.  What happens to files of the recorded
 * directory becomes an event; what happens elsewhere passes through.  Syncs are
 * only noted: here the disk is disk.h.
 *
 * LMDB's lock file is left out: it is mapped, and it is not data.
 *
 * Not for threads.  All of it is global, as what it replaces is.
 */
#ifndef POWER_RECORD_H
#define POWER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RECORD_NAMES_MAX = 128,
    RECORD_FILES_MAX = 1024,
    RECORD_NAME_BYTES = 32,
    RECORD_NO_FILE = -1,
};

enum event_kind {
    /* names */
    EVENT_MAKE_DIR,
    EVENT_SYNC_PARENT, /* of the directory itself */
    EVENT_CREATE,      /* name, file */
    EVENT_RENAME,      /* name, to */
    EVENT_REMOVE,      /* name */
    EVENT_SYNC_DIR,
    /* contents */
    EVENT_WRITE,    /* file, at, len, bytes */
    EVENT_TRUNCATE, /* file, at: the new length */
    EVENT_GROW,     /* file, at: the least length */
    EVENT_SYNC,     /* file */
    /* what the store promised meanwhile; `at` is a group's number */
    EVENT_BEGIN,   /* it may be there from now on; len: its generation */
    EVENT_ACKED,   /* it must be there from now on */
    EVENT_REFUSED, /* it must not */
    EVENT_SEEN,    /* a reader saw it, which is as good a promise */
    EVENT_SERVED,  /* recovery ended: exactly this is there */
};

struct event {
    enum event_kind kind;
    int file, name, to;
    uint64_t at, len;
    const char *bytes;
};

/* A directory: the number of the file behind each name, or RECORD_NO_FILE.
 * Files are numbered, as inodes are, so that renaming one does not copy it. */
struct names {
    bool there; /* the directory itself */
    int file[RECORD_NAMES_MAX];
};

/* The number of a name; made up when first asked. */
int record_name(const char *text);
int record_find_name(const char *text); /* negative if it has none */
const char *record_name_text(int name);

int record_name_of(int file); /* the last one it had */

/* From now on watches the directory `dir`, a child of `parent`; both absolute.
 */
void record_watch(const char *parent, const char *dir);
/* Says what the directory holds now, and the number of the next new file. */
void record_set(const struct names *names, int next_file);
int record_next_file(void);

/* Whether events are kept; calls are followed either way. */
void record_on(bool on);
void record_note(enum event_kind kind, uint64_t at, uint64_t generation);

/* Events form a stack: what was recorded since a mark can be dropped. */
size_t record_mark(void);
void record_rewind(size_t mark);
const struct event *record_event(size_t index);

/* Called before a sync takes effect: the moment at which a reader must not yet
 * see what it will make durable.  NULL for none. */
void record_before_sync(void (*peek)(void *context), void *context);

/* Makes the `nth` change from now of a file whose name starts with `prefix`
 * fail with `error`; all after it too if `stay`.  0: none. */
void record_fail(uint64_t nth, const char *prefix, int error, bool stay);
/* How many there have been since, and whether one failed. */
uint64_t record_changes(void);
bool record_has_failed(void);

#endif
