/* writers.c -- see writers.h. */
#include "tools/import/writers.h"

#include "base/env.h"
#include "base/hash.h"
#include "tools/common/report.h"
#include "tools/transfer/document.h"

enum {
    BATCH_DOCUMENTS = 400,
    BATCH_BYTES = 4 << 20,
    ID_SLOTS = 1024, /* a power of two, twice the documents */
    WAIT_MS = 100,
};

/* A document in a batch: its text and its record, by place in `bytes`. */
struct document {
    size_t json, json_len, text, text_len;
    uint64_t line;
};

struct batch {
    struct rn_buf bytes;
    struct document documents[BATCH_DOCUMENTS];
    size_t count;
    uint64_t ids[ID_SLOTS]; /* hashes; 0: free */
    bool is_full;           /* the writer's; else the reader's */
};

struct rn_writer {
    struct rn_writers *all;
    struct batch batches[2];
    size_t filling; /* the reader's batch */
    /* of the batch that is written */
    struct batch *writing;
    uint64_t rejected;
    int status;
};

/* ---- batches ------------------------------------------------------------- */

/* False if the batch has an id of this hash. */
static bool add_id(struct batch *b, uint64_t hash)
{
    size_t at = hash & (ID_SLOTS - 1);

    hash = hash ? hash : 1;
    for (; b->ids[at]; at = (at + 1) & (ID_SLOTS - 1)) {
        if (b->ids[at] == hash)
            return false;
    }
    b->ids[at] = hash;
    return true;
}

static void clear(struct batch *b)
{
    rn_buf_clear(&b->bytes);
    b->count = 0;
    memset(b->ids, 0, sizeof(b->ids));
}

static enum rn_code append(struct batch *b, const struct rn_record *record)
{
    struct document *d = &b->documents[b->count];
    enum rn_code rc;

    *d = (struct document){ .json = b->bytes.len,
                            .json_len = record->json.len,
                            .text = b->bytes.len,
                            .text_len = record->text.len,
                            .line = record->line };
    rc = rn_buf_add(&b->bytes, record->json);
    if (!rc && record->json.at != record->text.at) {
        d->text = b->bytes.len;
        rc = rn_buf_add(&b->bytes, record->text);
    }
    b->count += !rc;
    return rc;
}

/* ---- reader -------------------------------------------------------------- */

/* Waits for a change of what the lock guards. */
static void wait_changed(struct rn_writers *w)
{
    int64_t until_ms = rn_wall_ms(rn_env_real()) + WAIT_MS;
    struct timespec until = { .tv_sec = until_ms / 1000,
                              .tv_nsec = until_ms % 1000 * 1000000 };

    pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

/* Hands the filled batch to the writer and takes the other one. */
static int hand_over(struct rn_writers *w, struct rn_writer *writer)
{
    struct batch *next = &writer->batches[!writer->filling];

    pthread_mutex_lock(&w->lock);
    writer->batches[writer->filling].is_full = true;
    pthread_cond_broadcast(&w->changed);
    while (next->is_full && !rn_lanes_stopped())
        wait_changed(w);
    pthread_mutex_unlock(&w->lock);
    if (rn_lanes_stopped())
        return RN_LANE_STOPPED;
    writer->filling = !writer->filling;
    clear(next);
    return RN_EXIT_OK;
}

int rn_writers_add(struct rn_writers *w, const struct rn_record *record,
                   struct rn_view id)
{
    uint64_t hash = rn_hash64(id, 0);
    struct rn_writer *writer = &w->writers[(hash >> 32) % w->count];
    struct batch *b = &writer->batches[writer->filling];
    int status = RN_EXIT_OK;

    if (b->count == BATCH_DOCUMENTS ||
        (b->count && b->bytes.len + record->json.len > BATCH_BYTES) ||
        !add_id(b, hash)) {
        status = hand_over(w, writer);
        b = &writer->batches[writer->filling];
        if (!status)
            (void)add_id(b, hash);
    }
    if (!status && append(b, record))
        status = rn_report(RN_EXIT_FAILED, "out of memory");
    return status;
}

static bool is_idle(const struct rn_writers *w)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct rn_writer *writer = &w->writers[i];
        if (writer->batches[0].is_full || writer->batches[1].is_full)
            return false;
    }
    return true;
}

int rn_writers_drain(struct rn_writers *w)
{
    int status = RN_EXIT_OK;

    for (size_t i = 0; !status && i < w->count; i++) {
        struct rn_writer *writer = &w->writers[i];
        if (writer->batches[writer->filling].count)
            status = hand_over(w, writer);
    }
    pthread_mutex_lock(&w->lock);
    while (!is_idle(w) && !rn_lanes_stopped())
        wait_changed(w);
    pthread_mutex_unlock(&w->lock);
    return rn_lanes_stopped() ? RN_LANE_STOPPED : status;
}

void rn_writers_end(struct rn_writers *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_over = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* ---- writer -------------------------------------------------------------- */

static void take_refused(void *context, size_t i, const runnel_error *error)
{
    struct rn_writer *writer = context;
    const struct batch *b = writer->writing;
    const struct document *d = &b->documents[i];
    char why[sizeof(error->message)];
    int status;

    snprintf(why, sizeof(why), "%.*s", RN_FMT(rn_report_sentence(error)));
    status =
        rn_rejects_add(writer->all->rejects, d->line,
                       rn_view_of(b->bytes.at + d->text, d->text_len), why);
    writer->rejected++;
    writer->status = writer->status ? writer->status : status;
}

static int write_batch(struct rn_writer *writer, struct batch *b)
{
    struct rn_writers *w = writer->all;
    const struct rn_bulk bulk = { .container = w->container,
                                  .schema = w->schema,
                                  .may_exist = w->may_exist,
                                  .refused = take_refused,
                                  .context = writer };
    runnel_operation operations[BATCH_DOCUMENTS];
    runnel_error error;

    writer->writing = b;
    writer->rejected = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct document *d = &b->documents[i];
        operations[i] = (runnel_operation){
            .kind = w->kind, .json = { b->bytes.at + d->json, d->json_len }
        };
    }
    if (rn_bulk_write(&bulk, operations, b->count, &error) && rn_lanes_stop()) {
        writer->status = rn_report_error_at(
            &error, "stopped near %s:%llu", w->rejects->input,
            (unsigned long long)b->documents[0].line);
    }
    return rn_lanes_stopped() && !writer->status ? RN_LANE_STOPPED
                                                 : writer->status;
}

int rn_writers_run(struct rn_writers *w, size_t i)
{
    struct rn_writer *writer = &w->writers[i];
    int status = RN_EXIT_OK;

    for (size_t turn = 0; !status; turn = !turn) {
        struct batch *b = &writer->batches[turn];
        bool is_full;

        pthread_mutex_lock(&w->lock);
        while (!b->is_full && !w->is_over && !rn_lanes_stopped())
            wait_changed(w);
        is_full = b->is_full;
        pthread_mutex_unlock(&w->lock);
        if (!is_full || rn_lanes_stopped())
            break;
        status = write_batch(writer, b);
        pthread_mutex_lock(&w->lock);
        if (!status) {
            w->written += b->count - writer->rejected;
            b->is_full = false;
        }
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
    }
    return status;
}

/* ---- all ----------------------------------------------------------------- */

enum rn_code rn_writers_init(struct rn_writers *w)
{
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->writers = rn_new(w->count * sizeof(*w->writers));
    if (!w->writers)
        return RN_NOMEM;
    for (size_t i = 0; i < w->count; i++) {
        w->writers[i].all = w;
        for (size_t k = 0; k < 2; k++)
            w->writers[i].batches[k].bytes =
                RN_BUF_INIT(BATCH_BYTES + (size_t)10 * RN_DOCUMENT_MAX);
    }
    return RN_OK;
}

void rn_writers_release(struct rn_writers *w)
{
    for (size_t i = 0; w->writers && i < w->count; i++) {
        rn_buf_release(&w->writers[i].batches[0].bytes);
        rn_buf_release(&w->writers[i].batches[1].bytes);
    }
    rn_free(w->writers);
    w->writers = NULL;
}

uint64_t rn_writers_written(struct rn_writers *w)
{
    uint64_t written;

    pthread_mutex_lock(&w->lock);
    written = w->written;
    pthread_mutex_unlock(&w->lock);
    return written;
}
