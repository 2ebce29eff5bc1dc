/* reload.c -- reads certificates, keys and the metrics token, again when they
 * have changed. */
#include "server/reload.h"

#include "server/data.h"
#include "server/server_state.h"

#include <stdio.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096,
    LOOK_MS = 5000, /* between two looks at files without inotify */
};

struct file_names {
    struct rn_certificate_files tls;
    char keys[PATH_BYTES];
    const char *paths[RN_RELOAD_FILES];
};

/* The paths of all files that a reload reads. */
static const char *const *name_files(const struct rn_options *o,
                                     struct file_names *names)
{
    rn_certificate_name(o, &names->tls);
    snprintf(names->keys, PATH_BYTES, "%s/keys", o->data);
    names->paths[0] = names->tls.cert;
    names->paths[1] = names->tls.key;
    names->paths[2] = o->metrics_token_file;
    names->paths[3] = rn_data_is_in_memory(o) ? NULL : names->keys;
    return names->paths;
}

void rn_reload_note_files(struct rn_server *s, size_t first)
{
    struct file_names names;

    rn_file_watch_note(&s->watched, name_files(s->options, &names), first,
                       RN_RELOAD_FILES);
}

int rn_server_look(struct rn_server *s, bool *is_outdated)
{
    struct file_names names;
    enum rn_file_watch_state state = rn_file_watch_look(
        &s->watched, name_files(s->options, &names), RN_RELOAD_FILES);

    *is_outdated = state == RN_FILE_WATCH_CHANGED;
    if (rn_certificate_is_due(&s->certificate, s->env))
        *is_outdated = true;
    if (state == RN_FILE_WATCH_MOVING)
        return RN_SERVER_QUIET_MS;
    return s->watched.is_blind ? LOOK_MS : -1;
}

int rn_server_watch_fd(const struct rn_server *s)
{
    return s->watched.fd;
}

enum rn_code rn_reload_certificate(struct rn_server *s, struct rn_err *err)
{
    return rn_certificate_load(&s->certificate, s->options, s->env, s->log,
                               err);
}

void rn_reload_ensure_certificate(struct rn_server *s)
{
    if (rn_listener_is_loopback(s->listeners[0]))
        rn_certificate_ensure(&s->certificate, s->options, s->env, s->log);
}

/* Logs where the keys are, not the keys: more people read the server log than
 * that file. */
void rn_reload_log_keys(struct rn_server *s, bool were_there)
{
    struct file_names names;

    (void)name_files(s->options, &names);
    if (!were_there && !rn_data_is_in_memory(s->options))
        rn_log_info(s->log, "new keys of the account",
                    RN_TEXT("file", names.keys));
}

bool rn_reload_has_keys(const struct rn_options *o)
{
    struct file_names names;

    (void)name_files(o, &names);
    return access(names.keys, F_OK) == 0;
}

static bool tell_reload(struct rn_server *s, const char *what, enum rn_code rc,
                        const struct rn_err *err)
{
    if (!rc)
        return true;
    rn_log_warn(s->log, "reload failed", RN_TEXT("what", what),
                RN_TEXT("err", err->text));
    return false;
}

void rn_server_reload(struct rn_server *s)
{
    bool had_keys = rn_reload_has_keys(s->options), keys, token, certificate;
    struct rn_err err = { 0 };

    /* A revoked key must not stay valid because another file fails to load. */
    rn_reload_note_files(s, 0);
    keys = tell_reload(s, "keys", rn_rest_reload_keys(s->rest, &err), &err);
    if (keys)
        rn_reload_log_keys(s, had_keys);
    token = tell_reload(s, "metrics token", rn_rest_reload_token(s->rest, &err),
                        &err);
    err = (struct rn_err){ 0 };
    certificate =
        tell_reload(s, "certificate", rn_reload_certificate(s, &err), &err);
    rn_reload_ensure_certificate(s);
    rn_rest_reload_authority(s->rest);
    if (keys && token && certificate) {
        rn_log_info(s->log, "certificates and keys reloaded");
    } else {
        rn_log_info(s->log, "reloaded in part", RN_BOOL("keys", keys),
                    RN_BOOL("metrics_token", token),
                    RN_BOOL("certificate", certificate));
    }
}
