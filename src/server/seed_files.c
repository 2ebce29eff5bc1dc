/* seed_files.c -- reads the files of a seed; see seed_files.h. */
#include "server/seed_files.h"

#include "base/env.h"
#include "base/file.h"
#include "server/seed.h"
#include "json/json.h"
#include "json/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PATH_BYTES = 4096,
    NAMES_MAX = 100000,
    FILE_MAX = 1 << 30,
    ID_MAX = 4096
};

/* ---- files --------------------------------------------------------------- */

/* The sorted names in a directory. */
struct names {
    char **of;
    size_t count;
    bool failed;
};

static void add_name(void *context, const char *name)
{
    struct names *n = context;

    if (name[0] == '.' || n->failed)
        return;
    n->failed = n->count == NAMES_MAX || !(n->of[n->count] = rn_new_text(name));
    n->count += !n->failed;
}

static int order_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_release(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        rn_free(n->of[i]);
    rn_free(n->of);
}

static enum rn_code names_read(const char *path, struct names *out,
                               struct rn_err *err)
{
    struct rn_env *env = rn_env_real();
    int error;

    *out = (struct names){ .of = rn_new(NAMES_MAX * sizeof(*out->of)) };
    if (!out->of)
        return rn_fail(err, RN_NOMEM, "out of memory");
    error = env->ops->list(env, path, add_name, out);
    if (error)
        return rn_fail_errno(err, error, "%s", path);
    if (out->failed)
        return rn_fail(err, RN_TOO_LARGE, "%s: more than %d names", path,
                       NAMES_MAX);
    qsort(out->of, out->count, sizeof(*out->of), order_names);
    return RN_OK;
}

static bool is_directory(const char *path)
{
    struct rn_env *env = rn_env_real();
    struct names none = { .failed = true };

    return env->ops->list(env, path, add_name, &none) == 0;
}

static enum rn_code join(char out[PATH_BYTES], const char *dir,
                         const char *name, struct rn_err *err)
{
    return snprintf(out, PATH_BYTES, "%s/%s", dir, name) < PATH_BYTES
               ? RN_OK
               : rn_fail(err, RN_BAD_REQUEST, "%s/%s: too long", dir, name);
}

/* ---- lines --------------------------------------------------------------- */

typedef enum rn_code line_fn(struct rn_seeding *s, struct rn_json *j,
                             struct rn_view line, unsigned long *number);

static struct rn_view trim(struct rn_view v)
{
    while (v.len && strchr(" \t\r", v.at[v.len - 1]))
        v.len--;
    while (v.len && strchr(" \t", v.at[0]))
        v = rn_view_of(v.at + 1, v.len - 1);
    return v;
}

static enum rn_code each_line(struct rn_seeding *s, const char *path,
                              line_fn *each)
{
    struct rn_buf text = RN_BUF_INIT(FILE_MAX);
    struct rn_err *err = rn_seeding_err(s);
    unsigned long number = 0, failed;
    struct rn_view rest;
    struct rn_json j;
    enum rn_code rc =
        rn_file_read_all(rn_env_real(), path, RN_OPEN_FOLLOW, &text, err);

    if (rc) {
        rn_buf_release(&text);
        return rc;
    }
    rn_json_init(&j, NULL);
    for (rest = rn_buf_view(&text); !rc && rest.len;) {
        const char *end = memchr(rest.at, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.at) : rest.len;
        struct rn_view line = trim(rn_view_of(rest.at, len));

        failed = ++number;
        if (line.len)
            rc = each(s, &j, line, &failed);
        len += end ? 1 : 0;
        rest = rn_view_of(rest.at + len, rest.len - len);
    }
    if (!rc)
        rc = rn_seeding_flush(s, &failed);
    if (rc)
        rn_err_during(err, "%s:%lu", path, failed);
    rn_json_release(&j);
    rn_buf_release(&text);
    return rc;
}

static enum rn_code document_line(struct rn_seeding *s, struct rn_json *j,
                                  struct rn_view line, unsigned long *number)
{
    enum rn_code rc = rn_json_parse(j, line, rn_seeding_err(s));

    return rc ? rc : rn_seeding_document(s, line, number);
}

static enum rn_code named_database(struct rn_seeding *s,
                                   const struct rn_json *j, uint32_t value)
{
    struct rn_arena arena = RN_ARENA_INIT(ID_MAX);
    struct rn_view id;
    enum rn_code rc = rn_json_string_copy(j, value, &arena, &id);

    rc = rc ? rn_fail(rn_seeding_err(s), rc, "the id is too long")
            : rn_seeding_database(s, id);
    rn_arena_release(&arena);
    return rc;
}

/* {"database": ...}, {"container": ...} or {"document": ...} */
static enum rn_code tagged_line(struct rn_seeding *s, struct rn_json *j,
                                struct rn_view line, unsigned long *number)
{
    struct rn_err *err = rn_seeding_err(s);
    enum rn_code rc = rn_json_parse(j, line, err);
    uint32_t database, container, document;

    if (rc)
        return rc;
    database = rn_json_find(j, 0, RN_LIT("database"));
    container = rn_json_find(j, 0, RN_LIT("container"));
    document = rn_json_find(j, 0, RN_LIT("document"));
    if (rn_json_kind(j, 0) == RN_JSON_OBJECT && rn_json_count(j, 0) == 1) {
        if (rn_json_kind(j, document) == RN_JSON_OBJECT)
            return rn_seeding_document(s, rn_json_text(j, document), number);
        if (rn_json_kind(j, container) == RN_JSON_OBJECT) {
            rc = rn_seeding_flush(s, number);
            return rc ? rc
                      : rn_seeding_container(s, rn_json_text(j, container));
        }
        if (rn_json_kind(j, database) == RN_JSON_STRING) {
            rc = rn_seeding_flush(s, number);
            return rc ? rc : named_database(s, j, database);
        }
    }
    return rn_fail(err, RN_BAD_REQUEST,
                   "a line is {\"database\": \"ID\"}, {\"container\": {...}} "
                   "or {\"document\": {...}}");
}

/* ---- a directory --------------------------------------------------------- */

enum rn_code rn_seed_print_id(struct rn_view id, struct rn_view object,
                              struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_view rest = trim(rn_view_of(object.at + 1, object.len - 1));
    enum rn_code rc;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, id);
    rn_json_out_object_end(&o);
    rc = rn_json_out_finish(&o);
    if (rc || rn_view_eq(rest, RN_LIT("}")))
        return rc;
    out->at[out->len - 1] = ',';
    return rn_buf_add(out, rest);
}

static enum rn_code read_definition(struct rn_seeding *s, const char *path,
                                    struct rn_view name)
{
    struct rn_buf text = RN_BUF_INIT(FILE_MAX), body = RN_BUF_INIT(FILE_MAX);
    struct rn_err *err = rn_seeding_err(s);
    struct rn_view json;
    struct rn_json j;
    uint32_t id;
    bool is_json;
    enum rn_code rc =
        rn_file_read_all(rn_env_real(), path, RN_OPEN_FOLLOW, &text, err);

    if (rc)
        goto out;
    rn_json_init(&j, NULL);
    json = rn_buf_view(&text);
    rc = rn_json_parse(&j, json, err);
    if (rc) /* the error has the line */
        rn_err_during(err, "%s", path);
    is_json = !rc;
    id = rn_json_find(&j, 0, RN_LIT("id"));
    if (!rc && rn_json_kind(&j, 0) != RN_JSON_OBJECT)
        rc = rn_fail(err, RN_BAD_REQUEST, "the definition is not an object");
    if (!rc && rn_json_kind(&j, id) == RN_JSON_UNDEFINED) {
        rc = rn_seed_print_id(name, rn_json_text(&j, 0), &body);
        json = rn_buf_view(&body);
    } else if (!rc && !rn_json_string_is(&j, id, name)) {
        rc = rn_fail(err, RN_BAD_REQUEST, "its id is not the file's name");
    }
    rn_json_release(&j);
    if (!rc)
        rc = rn_seeding_container(s, json);
    if (rc && is_json)
        rn_err_during(err, "%s:1", path);
out:
    rn_buf_release(&text);
    rn_buf_release(&body);
    return rc;
}

/* A container: its definition, and its documents if there are any. */
static enum rn_code read_container(struct rn_seeding *s, const char *dir,
                                   const char *file, size_t stem)
{
    struct rn_err *err = rn_seeding_err(s);
    char path[PATH_BYTES], name[PATH_BYTES];
    struct rn_file *documents = NULL;
    enum rn_code rc = join(path, dir, file, err);

    if (!rc)
        rc = read_definition(s, path, rn_view_of(file, stem));
    snprintf(name, sizeof(name), "%.*s.ndjson", (int)stem, file);
    if (!rc)
        rc = join(path, dir, name, err);
    if (rc || rn_file_open(rn_env_real(), path, RN_OPEN_FOLLOW, &documents))
        return rc;
    rn_file_close(documents);
    return each_line(s, path, document_line);
}

static bool ends(const char *name, const char *with, size_t *stem)
{
    size_t len = strlen(name), tail = strlen(with);

    *stem = len > tail ? len - tail : 0;
    return *stem && strcmp(name + *stem, with) == 0;
}

static bool has_definition(const struct names *n, const char *file, size_t stem)
{
    for (size_t i = 0; i < n->count; i++) {
        if (strncmp(n->of[i], file, stem) == 0 &&
            strcmp(n->of[i] + stem, ".json") == 0)
            return true;
    }
    return false;
}

static enum rn_code read_database(struct rn_seeding *s, const char *dir,
                                  const char *name)
{
    struct rn_err *err = rn_seeding_err(s);
    struct names files = { 0 };
    char path[PATH_BYTES];
    size_t stem;
    enum rn_code rc = join(path, dir, name, err);

    if (!rc)
        rc = names_read(path, &files, err);
    if (!rc && (rc = rn_seeding_database(s, rn_view_text(name))))
        rn_err_during(err, "%s", path);
    for (size_t i = 0; !rc && i < files.count; i++) {
        const char *file = files.of[i];

        if (ends(file, ".json", &stem))
            rc = read_container(s, path, file, stem);
        else if (!ends(file, ".ndjson", &stem)) {
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "%s/%s: neither CONTAINER.json nor CONTAINER.ndjson",
                         path, file);
        } else if (!has_definition(&files, file, stem)) {
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "%s/%s: there is no %.*s.json with the definition",
                         path, file, (int)stem, file);
        }
    }
    names_release(&files);
    return rc;
}

enum rn_code rn_seed_read(struct rn_seeding *s, const char *from)
{
    struct names databases = { 0 };
    enum rn_code rc;

    if (!is_directory(from))
        return each_line(s, from, tagged_line);
    rc = names_read(from, &databases, rn_seeding_err(s));
    for (size_t i = 0; !rc && i < databases.count; i++)
        rc = read_database(s, from, databases.of[i]);
    names_release(&databases);
    return rc;
}
