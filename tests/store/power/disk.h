/* disk.h -- a disk that was given writes and may have lost some.
 *
 * It is fed with recorded events and knows, at each, what is durable and what
 * is only on its way.  A cut then decides by dice, as any honest disk and file
 * system may:
 *
 *   contents  each write since the file's last sync is kept, lost or torn, in
 *             4 KiB parts, a torn part in 512-byte sectors: a beginning, an
 *             end, or any of them; a block being written may hold garbage,
 *             also where the write did not touch it
 *   lengths   changes since the last sync happened or not; a file may be longer
 *             than what was kept of it, with zeros
 *   names     of create, rename and remove since the directory's last sync a
 *             prefix happened, or any set in which operations on one name kept
 *             their order; the directory itself likewise in its parent
 *
 * A kill, on the other hand, loses nothing: everything stays visible, and what
 * was not synced stays so.
 */
#ifndef POWER_DISK_H
#define POWER_DISK_H

#include "dice.h"
#include "record.h"

enum {
    DISK_GROUPS_MAX = 1024,
    DISK_PENDING_NAMES_MAX = 256,
};

struct disk_file {
    char *bytes; /* what is durable */
    uint64_t len, room;
    const struct event **pending; /* since its last sync */
    size_t pending_len, pending_room;
    bool is_map;
};

struct disk {
    struct names durable, now;
    const struct event *names[DISK_PENDING_NAMES_MAX];
    size_t names_len;
    struct disk_file file[RECORD_FILES_MAX];
    int files_len;

    /* What the store may and must have: low <= recovered group <= high. */
    uint64_t low, high;
    uint16_t generation[DISK_GROUPS_MAX]; /* of each group's contents */
    uint16_t generations;
};

/* How cruel a cut is. */
struct disk_style {
    unsigned torn_percent;    /* of parts, beside what the dice say */
    unsigned garbage_percent; /* of torn parts' sectors */
};

struct disk *disk_new(void);
void disk_free(struct disk *d);
void disk_clear(struct disk *d); /* as before the directory was made */

void disk_apply(struct disk *d, const struct event *e);

/* As if everything had been synced. */
void disk_settle(struct disk *d);

/* What reading the file would give. */
void disk_file_now(const struct disk_file *from, struct disk_file *to);

/* Fills `to`, whatever it held, with what is left of `from`. */
void disk_cut(const struct disk *from, const struct disk_style *style,
              struct dice *dice, struct disk *to);
void disk_kill(const struct disk *from, struct disk *to);
/* True if nothing is on its way. */
bool disk_is_settled(const struct disk *d);

/* lay.c */

/* Makes the real directory look like it, with the lock file that `dice` pick:
 * none, or noise that an older program left; informs the recorder. */
void disk_lay(const struct disk *d, const char *dir, struct dice *dice);

/* Removes the real directory and the files in it, if it is there. */
void disk_remove(const char *dir);

/* NULL if the real directory is, byte for byte, what the events say; else the
 * name of a file that is not.  Proves the recorder complete. */
const char *disk_compare(const struct disk *d, const char *dir);

#endif
