/* keys.c -- the account's keys; see keys.h. */

#include "rest/keys.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/hash.h"
#include "rest/context.h"
#include "json/json.h"
#include "json/print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum {
    FILE_MAX = 64 << 10,
    TEXT_BYTES = RN_KEYS * RN_KEY_TEXT_MAX * 2, /* of all keys, with names */
    PATH_BYTES = 4096,
    TOKEN_MIN = 16,
    CHECKSUM_TEXT = 17, /* digits of a u64, and a NUL */
};

static const char *const names[RN_KEYS] = {
    "primary",
    "secondary",
    "primaryReadOnly",
    "secondaryReadOnly",
};

const char *rn_keys_name(size_t which)
{
    return which < RN_KEYS ? names[which] : NULL;
}

static enum rn_code set_key(struct rn_keys *keys, size_t i, struct rn_view text,
                            struct rn_err *err)
{
    size_t len = 0;
    enum rn_code rc = text.len < RN_KEY_TEXT_MAX ? RN_OK : RN_TOO_LARGE;

    if (!rc)
        rc = rn_base64_decode(text, RN_BASE64_STANDARD, keys->bytes[i],
                              RN_KEY_TEXT_MAX, &len);
    if (rc || len == 0)
        return rn_fail(err, RN_BAD_REQUEST, "the key %s is not base64",
                       names[i] ? names[i] : "");
    memcpy(keys->text[i], text.at, text.len);
    keys->text[i][text.len] = '\0';
    keys->len[i] = len;
    return RN_OK;
}

/* Some JSON writers escape a slash or a plus. */
static enum rn_code read_key(const struct rn_json *j, size_t i,
                             struct rn_keys *out, struct rn_err *err)
{
    struct rn_arena arena = RN_ARENA_INIT((size_t)2 * FILE_MAX);
    uint32_t value = rn_json_find(j, 0, rn_view_text(names[i]));
    struct rn_view text = { 0 };
    enum rn_code rc;

    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return rn_fail(err, RN_BAD_REQUEST, "the key %s is missing", names[i]);
    rc = rn_json_string_copy(j, value, &arena, &text);
    rc = rc ? rn_fail(err, rc, "out of memory") : set_key(out, i, text, err);
    rn_wipe_secret((void *)text.at, text.len);
    rn_arena_release(&arena);
    return rc;
}

/* The checksum of all four keys in order, in hexadecimal.  They are hashed one
 * by one, each seeded by the hash of those before it: concatenating them would
 * leave a copy in memory. */
static void print_checksum(const struct rn_keys *keys, char out[CHECKSUM_TEXT])
{
    uint64_t checksum = 0;

    for (size_t i = 0; i < RN_KEY_WELL_KNOWN; i++)
        checksum = rn_hash64(rn_view_text(keys->text[i]), checksum);
    snprintf(out, CHECKSUM_TEXT, "%016" PRIx64, checksum);
}

/* Without a checksum, a key with a flipped bit would pass for a valid one.
 * Files written by hand or by earlier versions have no checksum. */
static enum rn_code verify_checksum(const struct rn_json *j,
                                    const struct rn_keys *keys,
                                    struct rn_err *err)
{
    uint32_t value = rn_json_find(j, 0, RN_LIT("sum"));
    char want[CHECKSUM_TEXT];

    if (value == RN_JSON_NONE)
        return RN_OK;
    print_checksum(keys, want);
    if (rn_json_string_is(j, value, rn_view_text(want)))
        return RN_OK;
    return rn_fail(err, RN_CORRUPT,
                   "checksum mismatch; if the keys were changed by hand, "
                   "remove the member sum");
}

static enum rn_code parse(struct rn_view text, struct rn_keys *out,
                          struct rn_err *err)
{
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, text, err);
    for (size_t i = 0; !rc && i < RN_KEY_WELL_KNOWN; i++)
        rc = read_key(&j, i, out, err);
    if (!rc)
        rc = verify_checksum(&j, out, err);
    rn_json_release(&j);
    return rc;
}

static enum rn_code draw(struct rn_env *env, size_t which, struct rn_keys *out,
                         struct rn_err *err)
{
    char bytes[RN_KEY_BYTES], text[RN_BASE64_LEN(RN_KEY_BYTES)];
    enum rn_code rc;

    rn_random(env, bytes, sizeof(bytes));
    rc = set_key(out, which,
                 rn_base64_encode(rn_view_of(bytes, sizeof(bytes)),
                                  RN_BASE64_STANDARD, text),
                 err);
    rn_wipe_secret(bytes, sizeof(bytes));
    rn_wipe_secret(text, sizeof(text));
    return rc;
}

static enum rn_code print(const struct rn_keys *keys, struct rn_buf *text,
                          struct rn_err *err)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(text);
    enum rn_code rc = rn_buf_reserve(text, TEXT_BYTES);
    char checksum[CHECKSUM_TEXT];

    if (rc) /* growing the buffer would leave a copy of the keys */
        return rn_fail(err, rc, "out of memory");
    rn_json_out_object_begin(&o);
    for (size_t i = 0; i < RN_KEY_WELL_KNOWN; i++) {
        rn_json_out_key(&o, rn_view_text(names[i]));
        rn_json_out_string(&o, rn_view_text(keys->text[i]));
    }
    print_checksum(keys, checksum);
    rn_json_out_key(&o, RN_LIT("sum"));
    rn_json_out_string(&o, rn_view_text(checksum));
    rn_json_out_object_end(&o);
    rc = rn_json_out_finish(&o);
    return rc ? rn_fail(err, rc, "out of memory") : RN_OK;
}

static enum rn_code write_file(struct rn_env *env, const char *data_dir,
                               const struct rn_keys *keys, struct rn_err *err)
{
    struct rn_buf text = RN_BUF_INIT(FILE_MAX);
    enum rn_code rc = print(keys, &text, err);

    if (!rc)
        rc = rn_file_replace(env, data_dir, "keys", rn_buf_view(&text), err);
    rn_wipe_secret(text.at, text.len);
    rn_buf_release(&text);
    return rc;
}

enum rn_code rn_keys_make(struct rn_env *env, const char *data_dir,
                          struct rn_keys *out, struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < RN_KEY_WELL_KNOWN; i++)
        rc = draw(env, i, out, err);
    return rc || !data_dir ? rc : write_file(env, data_dir, out, err);
}

enum rn_code rn_keys_draw(struct rn_env *env, struct rn_buf *text,
                          struct rn_err *err)
{
    struct rn_keys keys = { 0 };
    enum rn_code rc = rn_keys_make(env, NULL, &keys, err);

    if (!rc)
        rc = print(&keys, text, err);
    rn_wipe_secret(&keys, sizeof(keys));
    return rc;
}

enum rn_code rn_keys_read(struct rn_env *env, const char *data_dir,
                          struct rn_keys *out, struct rn_err *err)
{
    char path[PATH_BYTES], *text = rn_secret_new(FILE_MAX);
    struct rn_file *file = NULL;
    size_t got = 0;
    enum rn_code rc;
    int error;

    snprintf(path, sizeof(path), "%s/keys", data_dir);
    rc = rn_secret_open(env, path, RN_OPEN_READ, &file, err);
    if (rc) {
        rn_secret_free(text, FILE_MAX);
        return rc;
    }
    error = text ? rn_file_read(file, text, FILE_MAX, 0, &got) : ENOMEM;
    rn_file_close(file);
    if (error) {
        rc = rn_fail_errno(err, error, "%s", path);
    } else {
        rc = parse(rn_view_of(text, got), out, err);
        if (rc)
            rn_err_during(err, "%s", path);
    }
    rn_secret_free(text, FILE_MAX);
    return rc;
}

enum rn_code rn_keys_rotate(struct rn_env *env, const char *data_dir,
                            size_t which, struct rn_err *err)
{
    struct rn_keys keys = { 0 };
    int locked = -1;
    enum rn_code rc = rn_directory_hold(data_dir, &locked, err);

    if (!rc)
        rc = rn_keys_read(env, data_dir, &keys, err);
    if (!rc)
        rc = draw(env, which, &keys, err);
    if (!rc)
        rc = write_file(env, data_dir, &keys, err);
    if (locked >= 0)
        close(locked);
    rn_wipe_secret(&keys, sizeof(keys));
    return rc;
}

/* On a network the key is the only protection of the data. */
static enum rn_code check_strength(const struct rn_keys *keys,
                                   bool well_known_key, struct rn_err *err)
{
    const char *public = RN_ACCOUNT_EMULATOR_KEY;

    for (size_t i = 0; i < RN_KEY_WELL_KNOWN; i++) {
        if (!well_known_key && strcmp(keys->text[i], public) == 0) {
            return rn_fail(err, RN_FORBIDDEN,
                           "the key %s is the emulators', which everybody "
                           "knows; see 'runnel keys rotate', or give "
                           "--allow-well-known-key-on-network",
                           names[i]);
        }
        if (keys->len[i] < RN_KEY_BYTES) {
            return rn_fail(err, RN_FORBIDDEN,
                           "the key %s has less than %d bytes, which will not "
                           "do off loopback; see 'runnel keys rotate'",
                           names[i], RN_KEY_BYTES);
        }
    }
    return RN_OK;
}

/* Characters that are valid in a header, up to the end of the line. */
static enum rn_code read_token(struct rn_env *env, const char *path,
                               char token[RN_KEY_TEXT_MAX], struct rn_err *err)
{
    struct rn_file *file = NULL;
    enum rn_code rc = rn_secret_open(env, path, RN_OPEN_FOLLOW, &file, err);
    size_t got = 0, len = 0;
    int error;

    if (rc)
        return rc;
    error = rn_file_read(file, token, RN_KEY_TEXT_MAX - 1, 0, &got);
    rn_file_close(file);
    if (error)
        return rn_fail_errno(err, error, "%s", path);
    while (len < got && token[len] > ' ' && token[len] < 0x7f)
        len++;
    if (len < TOKEN_MIN || len > RN_KEY_TEXT_MAX - 2 || got - len > 1 ||
        (len < got && token[len] != '\n')) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "%s: a token is one line of %d to %d letters", path,
                       TOKEN_MIN, RN_KEY_TEXT_MAX - 2);
    }
    token[len] = '\0';
    return RN_OK;
}

enum rn_code rn_keys_load_token(const struct rn_rest_opts *opts,
                                struct rn_keys *out, struct rn_err *err)
{
    char token[RN_KEY_TEXT_MAX];
    enum rn_code rc;

    if (!opts->metrics_token_file)
        return RN_OK;
    rc = read_token(opts->env, opts->metrics_token_file, token, err);
    if (!rc)
        memcpy(out->metrics_token, token, sizeof(token));
    rn_wipe_secret(token, sizeof(token));
    return rc;
}

enum rn_code rn_keys_load(const struct rn_rest_opts *opts, struct rn_keys *out,
                          struct rn_err *err)
{
    enum rn_code rc = RN_NOT_FOUND;

    if (opts->data_dir)
        rc = rn_keys_read(opts->env, opts->data_dir, out, err);
    if (rc == RN_NOT_FOUND)
        rc = rn_keys_make(opts->env, opts->data_dir, out, err);
    if (!rc && !opts->loopback_only)
        rc = check_strength(out, opts->well_known_key, err);
    if (!rc && opts->well_known_key)
        rc = set_key(out, RN_KEY_WELL_KNOWN, RN_LIT(RN_ACCOUNT_EMULATOR_KEY),
                     err);
    return rc;
}
