/* loop.h -- a small file system of a test's own, on a loop device or in memory.
 *
 * It is mounted in a mount namespace of the calling process, which loses it
 * when it ends.  Without the right to mount there is none.
 */
#ifndef RN_TESTS_STORE_LOOP_H
#define RN_TESTS_STORE_LOOP_H

#include <stdbool.h>

enum loop_fs { LOOP_TMPFS, LOOP_EXT4, LOOP_XFS, LOOP_BTRFS };

/* Mounts an empty one with about `mib` MiB of free space at the directory
 * `at`.  The image is written to `image`; the caller removes it. */
bool loop_mount(enum loop_fs fs, const char *image, const char *at,
                unsigned mib);

#endif
