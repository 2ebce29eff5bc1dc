/* store_file.c -- leases in a file, for the processes of one machine.
 *
 * Every call holds the directory by flock, reads the whole file, and if it
 * writes, replaces the file by rename after fsync: a crash leaves the old
 * records or the new ones.
 */
#include "client/lease/store_file.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20 };

struct file_store {
    struct rn_own_store own; /* first */
    struct rn_env *env;
    char *dir, *name, *path;
};

/* A call under way: the directory is held and the records are read. */
struct visit {
    struct file_store *s;
    struct rn_memory_records records;
    int fd;
};

static runnel_code read_records(struct visit *v, runnel_error *error)
{
    struct rn_buf text = RN_BUF_INIT(FILE_MAX);
    struct rn_file *file = NULL;
    uint64_t size = 0;
    size_t got = 0;
    runnel_code rc = RUNNEL_OK;
    int failed = rn_file_open(v->s->env, v->s->path, RN_OPEN_READ, &file);

    if (failed == ENOENT)
        return RUNNEL_OK; /* no lease yet */
    if (!failed)
        failed = rn_file_size(file, &size);
    if (!failed && size > 0) {
        rc = rn_error_code(rn_buf_reserve(&text, (size_t)size));
        if (!rc)
            failed = rn_file_read(file, text.at, (size_t)size, 0, &got);
    }
    if (failed || (!rc && got != size))
        rc = rn_error_set(error, RUNNEL_BUSY, "%s cannot be read: %s",
                          v->s->path, strerror(failed));
    if (!rc && size > 0) {
        rc = rn_memory_records_parse(&v->records, rn_view_of(text.at, got),
                                     error);
        if (rc)
            rn_error_during(error, "%s", v->s->path);
    }
    rn_file_close(file);
    rn_buf_release(&text);
    return rc;
}

static runnel_code enter(struct visit *v, struct file_store *s,
                         runnel_error *error)
{
    struct rn_err err = { 0 };
    enum rn_code held;

    *v = (struct visit){ .s = s, .fd = -1 };
    held = rn_directory_hold(s->dir, &v->fd, &err);
    if (held)
        return rn_error_take(error, held, &err);
    return read_records(v, error);
}

static runnel_code leave(struct visit *v, runnel_code rc, bool is_write,
                         runnel_error *error)
{
    struct rn_buf text = RN_BUF_INIT(FILE_MAX);
    struct rn_err err = { 0 };

    if (!rc && is_write) {
        rc = rn_memory_records_print(&v->records, &text);
        if (!rc) {
            rc = rn_error_take(error,
                               rn_file_replace(v->s->env, v->s->dir, v->s->name,
                                               rn_buf_view(&text), &err),
                               &err);
        }
    }
    if (v->fd >= 0)
        close(v->fd);
    rn_memory_records_release(&v->records);
    rn_buf_release(&text);
    return rc;
}

static runnel_code file_list(void *context, const char *prefix,
                             runnel_lease_record_fn each, void *each_context,
                             int64_t *now_ms, runnel_error *error)
{
    struct file_store *s = context;
    struct visit v;
    runnel_code rc = enter(&v, s, error);

    *now_ms = rn_wall_ms(s->env);
    if (!rc)
        rc = rn_memory_records_list(&v.records, prefix, each, each_context);
    return leave(&v, rc, false, error);
}

static runnel_code file_create(void *context, const runnel_lease_record *record,
                               char etag[64], runnel_error *error)
{
    struct file_store *s = context;
    struct visit v;
    runnel_code rc = enter(&v, s, error);

    if (!rc)
        rc = rn_memory_records_create(&v.records, record, rn_wall_ms(s->env),
                                      etag);
    return leave(&v, rc, true, error);
}

static runnel_code file_replace(void *context, void *transaction,
                                const runnel_lease_record *record,
                                char etag[64], runnel_error *error)
{
    struct file_store *s = context;
    struct visit v;
    runnel_code rc = enter(&v, s, error);

    (void)transaction;
    if (!rc)
        rc = rn_memory_records_replace(&v.records, record, rn_wall_ms(s->env),
                                       etag);
    return leave(&v, rc, true, error);
}

static runnel_code file_remove(void *context, const char *id, const char *etag,
                               runnel_error *error)
{
    struct file_store *s = context;
    struct visit v;
    runnel_code rc = enter(&v, s, error);

    if (!rc)
        rc = rn_memory_records_remove(&v.records, id, etag);
    return leave(&v, rc, true, error);
}

static void file_close(struct rn_own_store *store)
{
    struct file_store *s = (struct file_store *)store;

    rn_free(s->dir);
    rn_free(s->name);
    rn_free(s->path);
    rn_free(s);
}

/* "a/b" lies in "a", "b" in ".". */
static bool split_path(struct file_store *s, const char *path)
{
    const char *slash = strrchr(path, '/');

    s->path = rn_new_text(path);
    s->name = rn_new_text(slash ? slash + 1 : path);
    s->dir = rn_new_text(slash ? path : ".");
    if (!s->path || !s->name || !s->dir)
        return false;
    if (slash)
        s->dir[slash == path ? 1 : slash - path] = 0;
    return true;
}

runnel_code rn_lease_store_file_open(struct rn_env *env, const char *path,
                                     runnel_lease_store **out,
                                     runnel_error *error)
{
    struct file_store *s = rn_new(sizeof(*s));
    struct visit v;
    runnel_code rc;

    if (!s || !split_path(s, path)) {
        if (s)
            file_close(&s->own);
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    }
    s->env = env;
    s->own.close = file_close;
    s->own.table =
        (runnel_lease_store){ RUNNEL_LEASE_STORE_INIT, .context = s,
                              .list = file_list,       .create = file_create,
                              .replace = file_replace, .remove = file_remove };
    rc = enter(&v, s, error); /* a damaged file fails at once */
    rc = leave(&v, rc, false, error);
    if (rc)
        file_close(&s->own);
    else
        *out = &s->own.table;
    return rc;
}
