/* seed.c -- writes the data that --seed names into the engine; see seed.h. */
#include "server/seed.h"

#include "base/file.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/catalog_change.h"
#include "engine/catalog/object.h"
#include "engine/document/batch.h"
#include "server/seed_files.h"
#include "json/json.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { PATH_BYTES = 4096, BATCH_BYTES = 2 << 20 };

static const char marker[] = "seeding";

/* The completion of a write that is waited for. */
struct ending {
    struct rn_done done;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over;
    enum rn_code rc;
    struct rn_err *err;
};

struct rn_seeding {
    struct rn_engine *engine;
    struct rn_seed_counts *counts;
    struct rn_err *err;
    struct rn_object *database, *container; /* the ones being filled */
    /* Documents not written yet; their text points into the file. */
    struct rn_batch_operation operations[RN_BATCH_MAX];
    unsigned long lines[RN_BATCH_MAX];
    size_t count, bytes;
};

/* ---- writes -------------------------------------------------------------- */

static void end(struct rn_done *done, enum rn_code rc, const struct rn_err *err)
{
    struct ending *e = (struct ending *)done;

    pthread_mutex_lock(&e->lock);
    e->rc = rc;
    if (rc && e->err)
        *e->err = *err;
    e->is_over = true;
    pthread_cond_signal(&e->over);
    pthread_mutex_unlock(&e->lock);
}

static struct ending ending_new(struct rn_err *err)
{
    return (struct ending){ .done.call = end,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .over = PTHREAD_COND_INITIALIZER,
                            .err = err };
}

static enum rn_code ending_wait(struct ending *e)
{
    pthread_mutex_lock(&e->lock);
    while (!e->is_over)
        pthread_cond_wait(&e->over, &e->lock);
    pthread_mutex_unlock(&e->lock);
    pthread_cond_destroy(&e->over);
    pthread_mutex_destroy(&e->lock);
    return e->rc;
}

/* `done` gets the write, which is the first member, and finds `ending` behind
 * it. */
struct change {
    struct rn_catalog_change c;
    struct ending *ending;
};

static void change_done(struct rn_done *done, enum rn_code rc,
                        const struct rn_err *err)
{
    struct ending *e = ((struct change *)(void *)done)->ending;

    e->done.call(&e->done, rc, err);
}

/* `out`, unless NULL, is the caller's to release. */
static enum rn_code change(struct rn_engine *engine,
                           struct rn_catalog_change like,
                           struct rn_object **out, struct rn_err *err)
{
    struct ending ending = ending_new(err);
    struct change change = { .c = like, .ending = &ending };
    enum rn_code rc;

    change.c.done.call = change_done;
    rc = rn_catalog_change_start(engine, &change.c, err);
    if (rc)
        return rc;
    rc = ending_wait(&ending);
    if (!rc && out)
        *out = rn_object_share(change.c.object);
    rn_catalog_change_release(&change.c);
    return rc;
}

static void batch_done(struct rn_done *done, enum rn_code rc,
                       const struct rn_err *err)
{
    struct rn_batch *b = (struct rn_batch *)(void *)done;
    struct ending *e = b->owner;

    e->done.call(&e->done, rc, err);
}

/* Writes the collected documents as one batch. */
static enum rn_code flush(struct rn_seeding *s, unsigned long *line)
{
    struct ending ending = ending_new(s->err);
    struct rn_batch batch = { .done.call = batch_done,
                              .owner = &ending,
                              .mode = RN_BATCH_EACH,
                              .operations = s->operations,
                              .count = s->count };
    enum rn_code rc;

    if (!s->count)
        return RN_OK;
    batch.container = s->container->container;
    *line = s->lines[0];
    rc = rn_batch_start(s->engine, &batch, s->err);
    if (!rc)
        rc = ending_wait(&ending);
    for (size_t i = 0; !rc && i < s->count; i++) {
        rc = s->operations[i].code;
        *line = s->lines[i];
        if (rc)
            *s->err = s->operations[i].err;
    }
    rn_batch_release(&batch);
    s->counts->documents += s->count;
    s->count = s->bytes = 0;
    return rc;
}

/* ---- what the files say -------------------------------------------------- */

enum rn_code rn_seeding_database(struct rn_seeding *s, struct rn_view id)
{
    struct rn_buf body = RN_BUF_INIT(4096);
    enum rn_code rc = rn_seed_print_id(id, RN_LIT("{}"), &body);

    rn_object_release(s->container);
    rn_object_release(s->database);
    s->database = s->container = NULL;
    if (!rc) {
        rc = change(s->engine,
                    (struct rn_catalog_change){ .verb = RN_CATALOG_CREATE,
                                                .kind = RN_KIND_DATABASE,
                                                .body = rn_buf_view(&body) },
                    &s->database, s->err);
    }
    s->counts->databases += !rc;
    rn_buf_release(&body);
    return rc;
}

enum rn_code rn_seeding_container(struct rn_seeding *s, struct rn_view json)
{
    enum rn_code rc;

    if (!s->database)
        return rn_fail(s->err, RN_BAD_REQUEST,
                       "a container before any database");
    rn_object_release(s->container);
    s->container = NULL;
    rc = change(s->engine,
                (struct rn_catalog_change){ .verb = RN_CATALOG_CREATE,
                                            .kind = RN_KIND_CONTAINER,
                                            .owner = s->database->rid,
                                            .body = json },
                &s->container, s->err);
    s->counts->containers += !rc;
    return rc;
}

enum rn_code rn_seeding_document(struct rn_seeding *s, struct rn_view json,
                                 unsigned long *line)
{
    if (!s->container)
        return rn_fail(s->err, RN_BAD_REQUEST,
                       "a document before any container");
    s->operations[s->count] =
        (struct rn_batch_operation){ .verb = RN_DOCUMENT_CREATE, .body = json };
    s->lines[s->count++] = *line;
    s->bytes += json.len;
    return s->count == RN_BATCH_MAX || s->bytes > BATCH_BYTES ? flush(s, line)
                                                              : RN_OK;
}

enum rn_code rn_seeding_flush(struct rn_seeding *s, unsigned long *line)
{
    return flush(s, line);
}

struct rn_err *rn_seeding_err(struct rn_seeding *s)
{
    return s->err;
}

/* ---- beginning and ending ------------------------------------------------ */

static bool has_databases(struct rn_engine *e)
{
    struct rn_object *first;

    if (!rn_catalog_list(e, RN_KIND_DATABASE, (struct rn_rid){ 0 }, NULL,
                         &first, 1))
        return false;
    rn_object_release(first);
    return true;
}

static enum rn_code delete_databases(struct rn_engine *e, struct rn_err *err)
{
    struct rn_object *first;
    enum rn_code rc = RN_OK;

    while (!rc && rn_catalog_list(e, RN_KIND_DATABASE, (struct rn_rid){ 0 },
                                  NULL, &first, 1)) {
        rc = change(e,
                    (struct rn_catalog_change){ .verb = RN_CATALOG_DELETE,
                                                .kind = RN_KIND_DATABASE,
                                                .rid = first->rid },
                    NULL, err);
        rn_object_release(first);
    }
    return rc;
}

static enum rn_code fill(const struct rn_seed_opts *o,
                         struct rn_seed_counts *counts, struct rn_err *err)
{
    struct rn_seeding *s = rn_new(sizeof(*s));
    enum rn_code rc;

    if (!s)
        return rn_fail(err, RN_NOMEM, "out of memory");
    s->engine = o->engine;
    s->counts = counts;
    s->err = err;
    rc = rn_seed_read(s, o->from);
    rn_object_release(s->container);
    rn_object_release(s->database);
    rn_free(s);
    if (rc)
        (void)!delete_databases(o->engine, NULL);
    return rc;
}

/* Is there the marker file of an unfinished seeding? */
static enum rn_code find_marker(const char *dir, char path[PATH_BYTES],
                                bool *is_there, struct rn_err *err)
{
    struct rn_file *file = NULL;
    int error;

    *is_there = false;
    if (!dir)
        return RN_OK;
    if (snprintf(path, PATH_BYTES, "%s/%s", dir, marker) >= PATH_BYTES)
        return rn_fail(err, RN_BAD_REQUEST, "%s: too long", dir);
    error = rn_file_open(rn_env_real(), path, RN_OPEN_FOLLOW, &file);
    rn_file_close(file);
    *is_there = !error;
    return error && error != ENOENT ? rn_fail_errno(err, error, "%s", path)
                                    : RN_OK;
}

static enum rn_code remove_marker(const char *dir, const char *path,
                                  struct rn_err *err)
{
    struct rn_env *env = rn_env_real();
    int error = dir ? env->ops->remove(env, path) : 0;

    if (dir && !error)
        error = env->ops->sync_dir(env, dir);
    return error ? rn_fail_errno(err, error, "%s", path) : RN_OK;
}

enum rn_code rn_seed(const struct rn_seed_opts *o, struct rn_seed_counts *out,
                     struct rn_err *err)
{
    char path[PATH_BYTES] = "";
    bool is_interrupted;
    enum rn_code rc = find_marker(o->data_dir, path, &is_interrupted, err);

    *out = (struct rn_seed_counts){ 0 };
    if (rc || (!o->from && !is_interrupted))
        return rc;
    if (!o->from) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "%s: the seeding of this directory was interrupted: "
                       "start with --seed again, or remove the directory",
                       path);
    }
    out->is_skipped = !is_interrupted && has_databases(o->engine);
    if (out->is_skipped)
        return RN_OK;
    if (o->data_dir && !is_interrupted)
        rc = rn_file_replace(rn_env_real(), o->data_dir, marker, RN_LIT(""),
                             err);
    if (!rc && is_interrupted)
        rc = delete_databases(o->engine, err);
    if (rc)
        return rc;
    rc = fill(o, out, err);
    if (!rc)
        return remove_marker(o->data_dir, path, err);
    if (!has_databases(o->engine)) /* else the next start cleans up */
        (void)!remove_marker(o->data_dir, path, NULL);
    return rc;
}
