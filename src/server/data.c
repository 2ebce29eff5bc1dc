/* data.c -- the data of a server: the directory, the store, and what a new
 * store begins with. */
#include "server/data.h"

#include "base/machine.h"
#include "base/secret.h"
#include "rest/keys.h"
#include "server/seed.h"
#include "server/server_state.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEYS_BYTES = 4096,
    WAL_SHARE = 64, /* limit of the WAL: this fraction of the memory */
    WAL_LEAST = 96 << 20,
    WAL_MOST = 320 << 20,
};

bool rn_data_is_in_memory(const struct rn_options *o)
{
    return strcmp(o->store, "mem") == 0;
}

/* A user who can write there can replace the keys. */
enum rn_code rn_data_check_directory(const struct rn_options *o,
                                     struct rn_err *err)
{
    struct stat st;

    if (rn_data_is_in_memory(o) || stat(o->data, &st))
        return RN_OK; /* it will be created */
    if (st.st_uid != geteuid()) {
        return rn_fail(err, RN_FORBIDDEN,
                       "%s: belongs to user %u; start the server as that user",
                       o->data, (unsigned)st.st_uid);
    }
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        return rn_fail(
            err, RN_FORBIDDEN,
            "%s: has mode %04o; only its owner may have write access", o->data,
            (unsigned)(st.st_mode & 07777));
    }
    return RN_OK;
}

static void tell_checkpoints(void *of, const char *why)
{
    struct rn_server *s = of;

    if (why) {
        rn_log_warn(s->log,
                    "cannot write a checkpoint; the server tries again every "
                    "second",
                    RN_TEXT("err", why));
    } else {
        rn_log_info(s->log, "checkpoints are written again");
    }
}

/* The WAL has everything, and a restart takes less than a second: better than
 * answering every request with 500. */
static void tell_lost(void *of, const char *why)
{
    struct rn_server *s = of;

    rn_log_error(s->log,
                 "the data can be neither written nor read; the server stops, "
                 "and recovers the data when it is started again",
                 RN_TEXT("err", why));
    atomic_store(&s->lost, true);
    (void)kill(getpid(), SIGTERM);
}

/* The larger the WAL and the memtable, the fewer pages of the map are written
 * under load: up to some point, and up to 1/42 of the memory. */
static uint64_t wal_wanted(struct rn_server *s)
{
    uint64_t bytes;

    if (s->options->wal_bytes)
        return s->options->wal_bytes;
    bytes = rn_machine_memory(s->env) / WAL_SHARE;
    if (bytes < WAL_LEAST)
        return WAL_LEAST;
    return bytes < WAL_MOST ? bytes : WAL_MOST;
}

/* A new directory gets its keys together with its other files: writing them
 * later would cost the syncs of one more file. */
static enum rn_code open_store(struct rn_server *s, struct rn_err *err)
{
    const struct rn_options *o = s->options;
    struct rn_buf keys = RN_BUF_INIT(KEYS_BYTES);
    struct rn_store_opts opts = {
        .env = s->env,
        .where = o->data,
        .reserve_bytes = o->reserve_bytes,
        .wal_bytes = wal_wanted(s),
        .checkpoint_ms = (uint32_t)o->checkpoint_ms,
        .seed_name = "keys",
        .tell_checkpoints = tell_checkpoints,
        .tell_lost = tell_lost,
        .tell_of = s,
    };
    enum rn_code rc = rn_keys_draw(s->env, &keys, err);

    opts.seed = rn_buf_view(&keys);
    if (!rc)
        rc = rn_store_open(o->store, &opts, &s->store, err);
    rn_wipe_secret(keys.at, keys.len);
    rn_buf_release(&keys);
    return rc;
}

enum rn_code rn_data_open(struct rn_server *s, struct rn_err *err)
{
    const struct rn_options *o = s->options;
    struct rn_engine_opts engine = { .env =
                                         o->test_mode ? &s->turned.env : s->env,
                                     .ranges_default = (uint32_t)o->ranges,
                                     .is_strict = o->strict };
    enum rn_code rc = open_store(s, err);

    if (rc)
        return rc;
    engine.store = s->store;
    return rn_engine_open(&engine, &s->engine, err);
}

enum rn_code rn_data_seed(struct rn_server *s, struct rn_err *err)
{
    const struct rn_options *o = s->options;
    struct rn_seed_opts opts = { .engine = s->engine,
                                 .from = o->seed,
                                 .data_dir =
                                     rn_data_is_in_memory(o) ? NULL : o->data };
    struct rn_seed_counts counts;
    enum rn_code rc = rn_seed(&opts, &counts, err);

    if (rc || !o->seed)
        return rc;
    if (counts.is_skipped) {
        rn_log_info(s->log,
                    "the store has databases already: nothing is seeded");
    } else {
        rn_log_info(s->log, "seeded", RN_U64("databases", counts.databases),
                    RN_U64("containers", counts.containers),
                    RN_U64("documents", counts.documents));
    }
    return RN_OK;
}
