/* store_memory.c -- leases in memory, for the processors of one process. */
#include "client/lease/store_memory.h"

#include "json/print.h"

#include <pthread.h>
#include <stdio.h>

enum { RECORDS_TEXT_MAX = 64 << 20 };

struct rn_memory_record {
    char *id;
    char *json; /* NUL-terminated */
    uint64_t version;
    int64_t written_ms;
};

/* ---- records ------------------------------------------------------------- */

static void release_record(struct rn_memory_record *record)
{
    rn_free(record->id);
    rn_free(record->json);
}

void rn_memory_records_release(struct rn_memory_records *r)
{
    for (size_t i = 0; i < r->count; i++)
        release_record(&r->all[i]);
    rn_free(r->all);
    *r = (struct rn_memory_records){ 0 };
}

/* Where the id is, or where it would be. */
static size_t find(const struct rn_memory_records *r, const char *id,
                   bool *is_there)
{
    size_t low = 0;
    size_t high = r->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(r->all[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *is_there = low < r->count && strcmp(r->all[low].id, id) == 0;
    return low;
}

static void print_etag(uint64_t version, char etag[64])
{
    snprintf(etag, 64, "\"%llu\"", (unsigned long long)version);
}

runnel_code rn_memory_records_list(const struct rn_memory_records *r,
                                   const char *prefix,
                                   runnel_lease_record_fn each,
                                   void *each_context)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct rn_memory_record *found = &r->all[i];
        char etag[64];
        runnel_lease_record record = { .id = found->id,
                                       .etag = etag,
                                       .json = runnel_text(found->json),
                                       .written_ms = found->written_ms };
        if (strncmp(found->id, prefix, strlen(prefix)) != 0)
            continue;
        print_etag(found->version, etag);
        if (!each(each_context, &record))
            break;
    }
    return RUNNEL_OK;
}

static char *copy_text(struct rn_view text)
{
    char *copy = rn_new(text.len + 1);

    if (copy && text.len)
        memcpy(copy, text.at, text.len);
    return copy;
}

static runnel_code make_room(struct rn_memory_records *r)
{
    size_t room = r->room ? 2 * r->room : 16;
    struct rn_memory_record *all;

    if (r->count < r->room)
        return RUNNEL_OK;
    all = rn_new(room * sizeof(*all));
    if (!all)
        return RUNNEL_NO_MEMORY;
    if (r->count)
        memcpy(all, r->all, r->count * sizeof(*all));
    rn_free(r->all);
    r->all = all;
    r->room = room;
    return RUNNEL_OK;
}

runnel_code rn_memory_records_create(struct rn_memory_records *r,
                                     const runnel_lease_record *record,
                                     int64_t now_ms, char etag[64])
{
    bool is_there;
    size_t at = find(r, record->id, &is_there);
    struct rn_memory_record made = { .id = NULL };
    runnel_code rc = is_there ? RUNNEL_CONFLICT : make_room(r);

    if (rc)
        return rc;
    made = (struct rn_memory_record){ .id = rn_new_text(record->id),
                                      .json = copy_text(
                                          rn_view_bytes(record->json)),
                                      .version = ++r->version,
                                      .written_ms = now_ms };
    if (!made.id || !made.json) {
        release_record(&made);
        return RUNNEL_NO_MEMORY;
    }
    memmove(&r->all[at + 1], &r->all[at], (r->count - at) * sizeof(made));
    r->all[at] = made;
    r->count++;
    print_etag(made.version, etag);
    return RUNNEL_OK;
}

/* Finds the record if the etag is its current one. */
static runnel_code match(struct rn_memory_records *r, const char *id,
                         const char *wanted, size_t *at)
{
    char etag[64];
    bool is_there;

    *at = find(r, id, &is_there);
    if (!is_there)
        return RUNNEL_NOT_FOUND;
    print_etag(r->all[*at].version, etag);
    return wanted && strcmp(wanted, etag) != 0 ? RUNNEL_PRECONDITION
                                               : RUNNEL_OK;
}

runnel_code rn_memory_records_replace(struct rn_memory_records *r,
                                      const runnel_lease_record *record,
                                      int64_t now_ms, char etag[64])
{
    char *json;
    size_t at;
    runnel_code rc = match(r, record->id, record->etag, &at);

    if (rc)
        return rc;
    json = copy_text(rn_view_bytes(record->json));
    if (!json)
        return RUNNEL_NO_MEMORY;
    rn_free(r->all[at].json);
    r->all[at].json = json;
    r->all[at].version = ++r->version;
    r->all[at].written_ms = now_ms;
    print_etag(r->version, etag);
    return RUNNEL_OK;
}

runnel_code rn_memory_records_remove(struct rn_memory_records *r,
                                     const char *id, const char *etag)
{
    size_t at;
    runnel_code rc = match(r, id, etag, &at);

    if (rc)
        return rc;
    release_record(&r->all[at]);
    r->count--;
    memmove(&r->all[at], &r->all[at + 1], (r->count - at) * sizeof(r->all[0]));
    return RUNNEL_OK;
}

/* ---- as text ------------------------------------------------------------- */

runnel_code rn_memory_records_print(const struct rn_memory_records *r,
                                    struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < r->count; i++) {
        rn_json_out_object_begin(&o);
        rn_json_out_key(&o, RN_LIT("id"));
        rn_json_out_string(&o, rn_view_text(r->all[i].id));
        rn_json_out_key(&o, RN_LIT("version"));
        rn_json_out_uint(&o, r->all[i].version);
        rn_json_out_key(&o, RN_LIT("written"));
        rn_json_out_int(&o, r->all[i].written_ms);
        rn_json_out_key(&o, RN_LIT("record"));
        rn_json_out_raw(&o, rn_view_text(r->all[i].json));
        rn_json_out_object_end(&o);
    }
    rn_json_out_array_end(&o);
    return rn_error_code(rn_json_out_finish(&o));
}

static void read_number(const struct rn_json *j, uint32_t value, int64_t *out)
{
    if (rn_json_kind(j, value) != RN_JSON_NUMBER ||
        !rn_json_int64(j, value, out))
        *out = 0;
}

/* One element: the document itself, or one that rn_memory_records_print
 * wrapped. */
static runnel_code parse_record(struct rn_memory_records *r,
                                const struct rn_json *j, uint32_t value,
                                struct rn_arena *arena, runnel_error *error)
{
    uint32_t inner = rn_json_find(j, value, RN_LIT("record"));
    uint32_t id = rn_json_find(j, value, RN_LIT("id"));
    struct rn_view json =
        rn_json_text(j, inner == RN_JSON_NONE ? value : inner);
    struct rn_view text = { 0 };
    runnel_lease_record record = { .json = rn_bytes_view(json) };
    int64_t version = 0;
    int64_t written_ms = 0;
    char etag[64];
    bool is_there;
    runnel_code rc;

    if (rn_json_kind(j, id) != RN_JSON_STRING ||
        rn_json_string_copy(j, id, arena, &text))
        return rn_error_set(error, RUNNEL_PROTOCOL,
                            "a lease in the list has no id");
    record.id = copy_text(text);
    if (!record.id)
        return RUNNEL_NO_MEMORY;
    if (inner != RN_JSON_NONE) {
        read_number(j, rn_json_find(j, value, RN_LIT("version")), &version);
        read_number(j, rn_json_find(j, value, RN_LIT("written")), &written_ms);
    }
    rc = rn_memory_records_create(r, &record, written_ms, etag);
    if (!rc && version > 0) {
        r->all[find(r, record.id, &is_there)].version = (uint64_t)version;
        if ((uint64_t)version > r->version)
            r->version = (uint64_t)version;
    }
    if (rc)
        rn_error_set(error, rc, "lease \"%s\" is in the list twice", record.id);
    rn_free((char *)record.id);
    return rc;
}

runnel_code rn_memory_records_parse(struct rn_memory_records *r,
                                    struct rn_view json, runnel_error *error)
{
    struct rn_json_limits limits = { .bytes = RECORDS_TEXT_MAX };
    struct rn_json j;
    struct rn_arena arena = RN_ARENA_INIT(RECORDS_TEXT_MAX);
    struct rn_json_walk w;
    runnel_code rc = RUNNEL_OK;

    rn_json_init(&j, &limits);
    if (rn_json_parse(&j, json, NULL) || rn_json_kind(&j, 0) != RN_JSON_ARRAY)
        rc = rn_error_set(error, RUNNEL_PROTOCOL,
                          "the leases are not a JSON array");
    w = rn_json_walk_begin(&j, 0);
    while (!rc && rn_json_walk_next(&w))
        rc = parse_record(r, &j, w.value, &arena, error);
    rn_json_release(&j);
    rn_arena_release(&arena);
    if (rc)
        rn_memory_records_release(r);
    return rc;
}

/* ---- the store ----------------------------------------------------------- */

struct memory_store {
    struct rn_own_store own; /* first */
    struct rn_env *env;
    pthread_mutex_t lock; /* guards the records */
    struct rn_memory_records records;
};

static runnel_code memory_list(void *context, const char *prefix,
                               runnel_lease_record_fn each, void *each_context,
                               int64_t *now_ms, runnel_error *error)
{
    struct memory_store *s = context;
    runnel_code rc;

    (void)error;
    *now_ms = rn_wall_ms(s->env);
    pthread_mutex_lock(&s->lock);
    rc = rn_memory_records_list(&s->records, prefix, each, each_context);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static runnel_code memory_create(void *context,
                                 const runnel_lease_record *record,
                                 char etag[64], runnel_error *error)
{
    struct memory_store *s = context;
    runnel_code rc;

    (void)error;
    pthread_mutex_lock(&s->lock);
    rc =
        rn_memory_records_create(&s->records, record, rn_wall_ms(s->env), etag);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static runnel_code memory_replace(void *context, void *transaction,
                                  const runnel_lease_record *record,
                                  char etag[64], runnel_error *error)
{
    struct memory_store *s = context;
    runnel_code rc;

    (void)transaction;
    (void)error;
    pthread_mutex_lock(&s->lock);
    rc = rn_memory_records_replace(&s->records, record, rn_wall_ms(s->env),
                                   etag);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static runnel_code memory_remove(void *context, const char *id,
                                 const char *etag, runnel_error *error)
{
    struct memory_store *s = context;
    runnel_code rc;

    (void)error;
    pthread_mutex_lock(&s->lock);
    rc = rn_memory_records_remove(&s->records, id, etag);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static void memory_close(struct rn_own_store *store)
{
    struct memory_store *s = (struct memory_store *)store;

    rn_memory_records_release(&s->records);
    pthread_mutex_destroy(&s->lock);
    rn_free(s);
}

runnel_code rn_lease_store_memory_open(struct rn_env *env, struct rn_view json,
                                       runnel_lease_store **out,
                                       runnel_error *error)
{
    struct memory_store *s = rn_new(sizeof(*s));
    runnel_code rc = RUNNEL_OK;

    if (!s)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    if (json.at)
        rc = rn_memory_records_parse(&s->records, json, error);
    if (rc) {
        rn_free(s);
        return rc;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->env = env;
    s->own.close = memory_close;
    s->own.table = (runnel_lease_store){
        RUNNEL_LEASE_STORE_INIT,   .context = s,
        .list = memory_list,       .create = memory_create,
        .replace = memory_replace, .remove = memory_remove
    };
    *out = &s->own.table;
    return RUNNEL_OK;
}
