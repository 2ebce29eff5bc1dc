/* format.h -- what a data directory is, and whose.
 *
 * The file `format` is the first thing written into a new directory and the
 * first thing read from an old one, so that nothing else is ever opened in a
 * directory that is not ours or is newer than this program:
 *
 *     runnel data directory
 *     format 1
 *     store 5f1c...        32 hexadecimal digits, drawn at creation and restore
 *     restored 0           how many restores lie behind this copy
 *     sum 9d0f...          xxh3 of the lines above
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

/* RN_NOT_FOUND in an empty or absent directory; RN_BAD_REQUEST in one that
 * holds something else; RN_CORRUPT if the file is damaged; RN_FORBIDDEN if it
 * is of a later format.  Changes nothing. */
enum rn_code rn_format_read(struct rn_env *env, const char *dir,
                            struct rn_format *out, struct rn_err *err) RN_CHECK;

/* Writes the file and makes it durable. */
enum rn_code rn_format_write(struct rn_env *env, const char *dir,
                             const struct rn_format *format,
                             struct rn_err *err) RN_CHECK;

/* A new identity for a new or restored directory. */
void rn_format_draw_id(struct rn_env *env, struct rn_format *format);

/* The file `lock`, for the life of `*out`: for one alone, who leaves his
 * process id there for those who come later, or shared.  RN_BUSY, with that id,
 * if someone has it. */
enum rn_code rn_directory_lock(struct rn_env *env, const char *dir,
                               enum rn_file_lock how, struct rn_file **out,
                               struct rn_err *err) RN_CHECK;

/* Reads a whole small file into `out`. */
enum rn_code rn_file_slurp(struct rn_env *env, const char *path,
                           struct rn_buf *out, struct rn_err *err) RN_CHECK;

#endif
