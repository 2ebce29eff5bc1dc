/* format.c -- see format.h. */
#include "store/local/format.h"

#include "base/file.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    FORMAT_FILE_MAX = 4096,
    ID_BYTES = 11, /* a process id, as a line */
};

static const char first_line[] = "runnel data directory\n";

struct listing {
    bool format, other;
};

static void note_name(void *context, const char *name)
{
    struct listing *l = context;

    if (strcmp(name, "format") == 0) {
        l->format = true;
    } else if (strcmp(name, "format.tmp") != 0 && strcmp(name, "lock") != 0 &&
               strcmp(name, "backup") != 0 && strcmp(name, "lost+found") != 0 &&
               strcmp(name, "tls") != 0) {
        /* Not the leftovers of a crash during creation, the mount point of an
         * empty file system, or certificates made before the start. */
        l->other = true;
    }
}

/* ---- the lock ------------------------------------------------------------ */

/* The id has a fixed width, so that it overwrites a longer one.  It is there
 * for people: a disk that refuses the write is no reason to stop. */
static void leave_id(struct rn_file *lock)
{
    char line[ID_BYTES + 1];

    snprintf(line, sizeof(line), "%-*d\n", ID_BYTES - 1, (int)getpid());
    (void)rn_file_write(lock, rn_view_of(line, ID_BYTES), 0);
}

/* The process id in the file is the last exclusive holder's.  If the lock is
 * held shared, that id is stale, so it is not printed. */
static enum rn_code refuse_lock(struct rn_env *env, struct rn_file *lock,
                                const char *path, struct rn_err *err)
{
    char line[ID_BYTES + 1] = { 0 };
    size_t got = 0;
    long id = 0;

    if (env->ops->lock(lock, RN_LOCK_SHARED) == EAGAIN &&
        !rn_file_read(lock, line, ID_BYTES, 0, &got))
        id = strtol(line, NULL, 10);
    if (id <= 0)
        return rn_fail(err, RN_BUSY, "%s: in use by another process", path);
    return rn_fail(err, RN_BUSY, "%s: in use, held by process %ld", path, id);
}

enum rn_code rn_directory_lock(struct rn_env *env, const char *dir,
                               enum rn_file_lock how, struct rn_file **out,
                               struct rn_err *err)
{
    bool alone = how == RN_LOCK_EXCLUSIVE;
    char path[RN_PATH_MAX];
    struct rn_file *file = NULL;
    enum rn_code rc;
    int error;

    snprintf(path, sizeof(path), "%s/lock", dir);
    error =
        rn_file_open(env, path, alone ? RN_OPEN_CREATE : RN_OPEN_READ, &file);
    if (!error)
        error = env->ops->lock(file, how);
    if (!error) {
        if (alone)
            leave_id(file);
        *out = file;
        return RN_OK;
    }
    rc = error == EAGAIN ? refuse_lock(env, file, path, err)
                         : rn_fail_errno(err, error, "%s", path);
    rn_file_close(file);
    return rc;
}

/* ---- lines -------------------------------------------------------------- */

/* Reads "<word> <value>\n" at *at; returns the value, ends it with a NUL. */
static char *take_line(char **at, const char *word)
{
    size_t len = strlen(word);
    char *value, *end;

    if (strncmp(*at, word, len) != 0 || (*at)[len] != ' ')
        return NULL;
    value = *at + len + 1;
    end = strchr(value, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return value;
}

/* Modifies the text while parsing; the caller computed the checksum before. */
static bool format_parse(char *text, uint64_t checksum_before,
                         uint64_t *version, struct rn_format *out)
{
    char *at = text + strlen(first_line);
    char *number, *id, *restored, *checksum;

    if (strncmp(text, first_line, strlen(first_line)) != 0)
        return false;
    number = take_line(&at, "format");
    if (!number)
        return false;
    *version = strtoull(number, NULL, 10);
    if (*version > RN_FORMAT_VERSION)
        return true; /* only the format number must stay readable */
    id = take_line(&at, "store");
    restored = id ? take_line(&at, "restored") : NULL;
    checksum = restored ? take_line(&at, "sum") : NULL;
    if (!checksum || strlen(id) != RN_STORE_ID_BYTES - 1 || *at != '\0' ||
        strtoull(checksum, NULL, 16) != checksum_before)
        return false;
    out->version = (uint32_t)*version;
    memcpy(out->store_id, id, RN_STORE_ID_BYTES);
    out->restored = strtoull(restored, NULL, 10);
    return true;
}

static uint64_t checksum_of_lines(const char *text)
{
    const char *checksum = strstr(text, "\nsum ");
    size_t len = checksum ? (size_t)(checksum + 1 - text) : 0;

    return rn_hash64(rn_view_of(text, len), 0);
}

static enum rn_code format_load(struct rn_env *env, const char *dir,
                                struct rn_format *out, struct rn_err *err)
{
    struct rn_buf text = RN_BUF_INIT(FORMAT_FILE_MAX);
    char path[RN_PATH_MAX];
    uint64_t version = 0;
    enum rn_code rc;

    snprintf(path, sizeof(path), "%s/format", dir);
    rc = rn_file_read_all(env, path, RN_OPEN_READ, &text, err);
    if (rc == RN_TOO_LARGE)
        rc = rn_fail(err, RN_CORRUPT, "%s: damaged", path);
    if (rc)
        goto out;
    text.at[text.len] = '\0';
    if (!format_parse(text.at, checksum_of_lines(text.at), &version, out)) {
        rc = rn_fail(err, RN_CORRUPT, "%s: damaged", path);
    } else if (version > RN_FORMAT_VERSION) {
        rc = rn_fail(err, RN_FORBIDDEN,
                     "%s: written by a later Runnel (format %" PRIu64
                     ", this program knows %d)",
                     path, version, RN_FORMAT_VERSION);
    }
out:
    rn_buf_release(&text);
    return rc;
}

enum rn_code rn_format_read(struct rn_env *env, const char *dir,
                            struct rn_format *out, struct rn_err *err)
{
    struct listing listing = { 0 };
    int error = env->ops->list(env, dir, note_name, &listing);

    if (error)
        return rn_fail_errno(err, error, "%s", dir);
    if (listing.format)
        return format_load(env, dir, out, err);
    if (listing.other)
        return rn_fail(err, RN_BAD_REQUEST,
                       "%s: not a Runnel data directory, and not empty", dir);
    return rn_fail(err, RN_NOT_FOUND, "%s: empty", dir);
}

enum rn_code rn_format_write(struct rn_env *env, const char *dir,
                             const struct rn_format *format, struct rn_err *err)
{
    char text[FORMAT_FILE_MAX];
    int len = snprintf(text, sizeof(text),
                       "%sformat %" PRIu32 "\nstore %s\nrestored %" PRIu64 "\n",
                       first_line, format->version, format->store_id,
                       format->restored);
    uint64_t checksum = rn_hash64(rn_view_of(text, (size_t)len), 0);

    len += snprintf(text + len, sizeof(text) - (size_t)len,
                    "sum %016" PRIx64 "\n", checksum);
    return rn_file_replace(env, dir, "format", rn_view_of(text, (size_t)len),
                           err);
}

void rn_format_draw_id(struct rn_env *env, struct rn_format *format)
{
    unsigned char bytes[(RN_STORE_ID_BYTES - 1) / 2];

    rn_random(env, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(format->store_id + 2 * i, 3, "%02x", bytes[i]);
}
