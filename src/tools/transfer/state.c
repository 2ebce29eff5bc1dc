/* state.c -- reads and replaces a state file. */
#include "tools/transfer/state.h"

#include "base/env.h"
#include "base/file.h"
#include "tools/common/report.h"

#include <errno.h>
#include <stdio.h>

enum { STATE_MAX = 16 << 20, DIR_MAX = 4096 };

#define SAVE_NS INT64_C(1000000000)

static int read_file(struct rn_state *s)
{
    FILE *file = fopen(s->path, "re");
    size_t got = 1;

    if (!file && errno == ENOENT)
        return RN_EXIT_OK;
    if (!file)
        return rn_report(RN_EXIT_FAILED, "state file %s: %s", s->path,
                         strerror(errno));
    while (got && !rn_buf_reserve(&s->text, 64 << 10)) {
        got = fread(s->text.at + s->text.len, 1, 64 << 10, file);
        s->text.len += got;
    }
    s->is_resumed = true;
    got = (size_t)ferror(file);
    fclose(file);
    return got ? rn_report(RN_EXIT_FAILED, "state file %s cannot be read",
                           s->path)
               : RN_EXIT_OK;
}

/* Refuses a file that is not a state file, or is one of another run. */
static int check(struct rn_state *s)
{
    uint32_t run = RN_JSON_NONE;

    if (!rn_json_parse(&s->json, rn_buf_view(&s->text), NULL))
        run = rn_json_find(&s->json, 0, RN_LIT("run"));
    if (rn_json_kind(&s->json, run) != RN_JSON_STRING)
        return rn_report(RN_EXIT_USAGE, "%s is not a state file", s->path);
    if (!rn_json_string_is(&s->json, run, rn_view_text(s->run))) {
        return rn_report(RN_EXIT_USAGE,
                         "state file %s is of another run: %.*s; this is %s",
                         s->path, RN_FMT(rn_json_text(&s->json, run)), s->run);
    }
    return RN_EXIT_OK;
}

int rn_state_open(struct rn_state *s, const char *path, const char *run)
{
    int status = RN_EXIT_OK;

    *s = (struct rn_state){ .path = path,
                            .run = run,
                            .text = RN_BUF_INIT(STATE_MAX),
                            .next = RN_BUF_INIT(STATE_MAX) };
    rn_json_init(&s->json, NULL);
    if (path)
        status = read_file(s);
    if (!status && s->is_resumed)
        status = check(s);
    return status;
}

void rn_state_release(struct rn_state *s)
{
    rn_json_release(&s->json);
    rn_buf_release(&s->text);
    rn_buf_release(&s->next);
    *s = (struct rn_state){ 0 };
}

uint64_t rn_state_number(const struct rn_state *s, uint32_t object,
                         const char *name)
{
    uint32_t value = rn_json_find(&s->json, object, rn_view_text(name));
    int64_t number;

    if (rn_json_kind(&s->json, value) != RN_JSON_NUMBER ||
        !rn_json_int64(&s->json, value, &number) || number < 0)
        return 0;
    return (uint64_t)number;
}

enum rn_code rn_state_text(const struct rn_state *s, uint32_t object,
                           const char *name, struct rn_arena *arena,
                           const char **out)
{
    uint32_t value = rn_json_find(&s->json, object, rn_view_text(name));
    struct rn_view raw = rn_json_text(&s->json, value);
    char *text;

    *out = NULL;
    if (rn_json_kind(&s->json, value) != RN_JSON_STRING)
        return RN_OK;
    text = rn_arena_alloc(arena, raw.len + 1);
    if (!text)
        return RN_NOMEM;
    text[rn_json_unescape(raw, text)] = 0;
    *out = text;
    return RN_OK;
}

enum rn_code rn_state_token(const struct rn_state *s, uint32_t object,
                            const char *name, struct rn_buf *out)
{
    uint32_t value = rn_json_find(&s->json, object, rn_view_text(name));
    struct rn_view raw = rn_json_text(&s->json, value);
    enum rn_code rc;

    rn_buf_clear(out);
    if (rn_json_kind(&s->json, value) != RN_JSON_STRING)
        return RN_OK;
    rc = rn_buf_reserve(out, raw.len + 1);
    if (rc)
        return rc;
    out->len = rn_json_unescape(raw, out->at);
    return rn_buf_add(out, rn_view_of("", 1));
}

void rn_state_print_token(struct rn_json_out *o, const char *name,
                          const struct rn_buf *token)
{
    if (!token->len)
        return;
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_string(o, rn_view_text(token->at));
}

bool rn_state_is_due(const struct rn_state *s)
{
    return s->path && rn_mono_ns(rn_env_real()) - s->saved_ns >= SAVE_NS;
}

struct rn_json_out rn_state_begin(struct rn_state *s)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&s->next);

    rn_buf_clear(&s->next);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("run"));
    rn_json_out_string(&o, rn_view_text(s->run));
    return o;
}

/* Replaces the file. */
static enum rn_code replace(struct rn_state *s, struct rn_err *err)
{
    const char *slash = strrchr(s->path, '/');
    char dir[DIR_MAX] = ".";

    if (slash)
        snprintf(dir, sizeof(dir), "%.*s",
                 slash == s->path ? 1 : (int)(slash - s->path), s->path);
    return rn_file_replace(rn_env_real(), dir, slash ? slash + 1 : s->path,
                           rn_buf_view(&s->next), err);
}

int rn_state_end(struct rn_state *s, struct rn_json_out *out)
{
    struct rn_err err = { 0 };

    rn_json_out_object_end(out);
    if (s->has_failed)
        return RN_EXIT_FAILED;
    s->has_failed = true;
    if (rn_json_out_finish(out))
        return rn_report(RN_EXIT_FAILED, "state file %s: out of memory",
                         s->path);
    if (replace(s, &err))
        return rn_report(RN_EXIT_FAILED, "state file %s: %s", s->path,
                         err.text);
    s->has_failed = false;
    s->saved_ns = rn_mono_ns(rn_env_real());
    return RN_EXIT_OK;
}
