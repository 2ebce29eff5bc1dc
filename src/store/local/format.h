/* format.h -- the identity and format version of a data directory, and its
 * lock.
 *
 * The file `format` is the first thing written into a new directory and the
 * first thing read from an old one, so that nothing else is ever opened in a
 * directory that is not Runnel's or is newer than this program:
 *
 *     runnel data directory
 *     format 1
 *     store 5f1c...        32 hexadecimal digits, drawn at creation and restore
 *     restored 0           how many restores this copy has been through
 *     sum 9d0f...          checksum: xxh3 of the lines above
 *
 * The names in a data directory:
 *
 *     format  lock  backup  checkpoint  log-NNNNNNNNNN
 *     map-N  map-N-lock  map-N-sums
 */
#ifndef RN_STORE_LOCAL_FORMAT_H
#define RN_STORE_LOCAL_FORMAT_H

#include "base/file.h"

enum {
    RN_FORMAT_VERSION = 1,
    RN_STORE_ID_BYTES = 33, /* with the NUL */
    RN_PATH_MAX = 4096,
};

struct rn_format {
    uint32_t version;
    char store_id[RN_STORE_ID_BYTES];
    uint64_t restored;
};

/* RN_NOT_FOUND in an empty or absent directory; RN_BAD_REQUEST in a directory
 * of something else; RN_CORRUPT if the file is damaged; RN_FORBIDDEN if its
 * format is newer.  Changes nothing. */
enum rn_code rn_format_read(struct rn_env *env, const char *dir,
                            struct rn_format *out, struct rn_err *err) RN_CHECK;

/* Writes the file and makes it durable. */
enum rn_code rn_format_write(struct rn_env *env, const char *dir,
                             const struct rn_format *format,
                             struct rn_err *err) RN_CHECK;

/* Draws a new identity for a new or restored directory. */
void rn_format_draw_id(struct rn_env *env, struct rn_format *format);

/* Locks the file `lock` for the life of `*out`, exclusively or shared.  An
 * exclusive holder leaves its process id in the file.  RN_BUSY, with that id,
 * if another process holds the lock. */
enum rn_code rn_directory_lock(struct rn_env *env, const char *dir,
                               enum rn_file_lock how, struct rn_file **out,
                               struct rn_err *err) RN_CHECK;

#endif
