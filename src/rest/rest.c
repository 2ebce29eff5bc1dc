/* rest.c -- an instance of the REST API: opening and closing it, and its files.
 */
#include "rest/rest.h"

#include "access/result_cache.h"
#include "rest/auth.h"
#include "rest/context.h"
#include "rest/keys.h"
#include "waiters/waiters.h"

enum { AUTHORITY_MAX = 16 << 10 };

void rn_rest_reload_authority(struct rn_rest *r)
{
    const struct rn_buf *given = r->opts.authority;
    struct rn_buf text = RN_BUF_INIT(AUTHORITY_MAX), old;
    struct rn_file *file = NULL;

    if (given && given->len)
        (void)!rn_buf_add(&text, rn_buf_view(given));
    else if (r->opts.authority_file &&
             !rn_file_open(r->opts.env, r->opts.authority_file, RN_OPEN_READ,
                           &file) &&
             !rn_buf_reserve(&text, AUTHORITY_MAX))
        (void)!rn_file_read(file, text.at, AUTHORITY_MAX, 0, &text.len);
    rn_file_close(file);
    pthread_mutex_lock(&r->lock);
    old = r->authority;
    r->authority = text;
    pthread_mutex_unlock(&r->lock);
    rn_buf_release(&old);
}

static enum rn_code open_keys(const struct rn_rest_opts *opts,
                              struct rn_keys **out, struct rn_err *err)
{
    struct rn_keys *keys = rn_secret_new(sizeof(*keys));
    enum rn_code rc = keys ? rn_keys_load(opts, keys, err)
                           : rn_fail(err, RN_NOMEM, "out of memory");

    if (!rc)
        rc = rn_keys_load_token(opts, keys, err);
    if (rc)
        rn_secret_free(keys, sizeof(*keys));
    else
        *out = keys;
    return rc;
}

enum rn_code rn_rest_open(const struct rn_rest_opts *opts, struct rn_rest **out,
                          struct rn_err *err)
{
    static atomic_ullong lives;
    struct rn_rest *r = rn_new(sizeof(*r));
    enum rn_code rc;

    if (!r)
        return rn_fail(err, RN_NOMEM, "out of memory");
    r->life = atomic_fetch_add(&lives, 1) + 1;
    r->opts = *opts;
    r->engine = opts->engine;
    r->started_s = rn_wall_ms(opts->env) / 1000;
    r->counters = rn_rest_counters_new();
    pthread_mutex_init(&r->lock, NULL);
    rc = r->counters ? RN_OK : rn_fail(err, RN_NOMEM, "out of memory");
    if (!rc)
        rc = rn_consistency_parse(rn_view_text(opts->consistency),
                                  &r->consistency, err);
    if (!rc)
        rc = open_keys(opts, &r->keys, err);
    rn_rest_reload_authority(r);
    r->result_cache = rn_result_cache_new();
    if (!rc && !r->result_cache)
        rc = rn_fail(err, RN_NOMEM, "out of memory");
    if (rc) {
        rn_rest_close(r);
        return rc;
    }
    *out = r;
    return RN_OK;
}

/* Replaces the current keys, and frees the memory of the old ones. */
static void replace_keys(struct rn_rest *r, struct rn_keys *keys)
{
    struct rn_signers *stale;
    struct rn_keys *old;

    pthread_mutex_lock(&r->lock);
    old = r->keys;
    r->keys = keys;
    r->keys_version++;
    stale = r->idle;
    r->idle = NULL;
    pthread_mutex_unlock(&r->lock);
    rn_secret_free(old, sizeof(*old));
    rn_signers_free_all(stale);
}

enum rn_code rn_rest_reload_keys(struct rn_rest *r, struct rn_err *err)
{
    struct rn_keys *keys = rn_secret_new(sizeof(*keys));
    enum rn_code rc = keys ? rn_keys_load(&r->opts, keys, err)
                           : rn_fail(err, RN_NOMEM, "out of memory");

    if (rc || !keys) {
        rn_secret_free(keys, sizeof(*keys));
        return rc;
    }
    memcpy(keys->metrics_token, r->keys->metrics_token,
           sizeof(keys->metrics_token));
    replace_keys(r, keys);
    return RN_OK;
}

enum rn_code rn_rest_reload_token(struct rn_rest *r, struct rn_err *err)
{
    struct rn_keys *keys = rn_secret_new(sizeof(*keys));
    enum rn_code rc;

    if (!keys)
        return rn_fail(err, RN_NOMEM, "out of memory");
    memcpy(keys, r->keys, sizeof(*keys));
    rc = rn_keys_load_token(&r->opts, keys, err);
    if (rc)
        rn_secret_free(keys, sizeof(*keys));
    else
        replace_keys(r, keys);
    return rc;
}

void rn_rest_close(struct rn_rest *r)
{
    if (!r)
        return;
    rn_signers_free_all(r->idle);
    rn_secret_free(r->keys, sizeof(*r->keys));
    rn_buf_release(&r->authority);
    rn_rest_counters_free(r->counters);
    rn_result_cache_free(r->result_cache);
    pthread_mutex_destroy(&r->lock);
    rn_free(r);
}

void rn_rest_reject(struct rn_rest *r, enum rn_reject why)
{
    rn_rest_counters_reject(r->counters, why);
}

uint32_t rn_rest_calls(struct rn_rest *r)
{
    return atomic_load(&r->calls);
}

void rn_rest_quiesce(struct rn_rest *r)
{
    atomic_store(&r->stopping, true);
    rn_waiters_close(rn_engine_waiters(r->engine));
}
