/* dead_letter.c -- prints a dead letter and hands it over. */
#include "tools/trigger/dead_letter.h"

#include "base/env.h"
#include "base/hash.h"
#include "tools/common/out.h"
#include "tools/trigger/body.h"
#include "json/print.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void print_text(struct rn_json_out *o, const char *name,
                       const char *text)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_string(o, rn_view_text(text));
}

/* The members are those of a letter in a container. */
static enum rn_code print_letter(const struct rn_dead_letters *to,
                                 const char *id, const char *lease,
                                 const runnel_failure *f, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_buf change = RN_BUF_INIT(RN_BODY_MAX);
    enum rn_code rc = rn_body_print_change(f->change, &change);

    if (!rc) {
        rn_json_out_object_begin(&o);
        print_text(&o, "id", id);
        print_text(&o, "processor", to->processor);
        print_text(&o, "lease", lease);
        rn_json_out_key(&o, RN_LIT("lsn"));
        rn_json_out_uint(&o, f->change->lsn);
        rn_json_out_key(&o, RN_LIT("attempts"));
        rn_json_out_uint(&o, f->attempts);
        print_text(&o, "why", f->why);
        rn_json_out_key(&o, RN_LIT("change"));
        rn_json_out_raw(&o, rn_buf_view(&change));
        rn_json_out_object_end(&o);
        rc = rn_json_out_finish(&o);
    }
    rn_buf_release(&change);
    return rc ? rc : rn_buf_add(out, RN_LIT("\n"));
}

/* The id becomes a header, so it has a hash of the document's. */
static void print_id(const runnel_change *c, const char *lease,
                     char out[RN_BODY_ID_MAX])
{
    uint64_t hash =
        rn_hash64_two(rn_view_of(c->partition_key.at, c->partition_key.len),
                      rn_view_of(c->id.at, c->id.len), 0);

    snprintf(out, RN_BODY_ID_MAX, "%s/%llu/%016llx", lease,
             (unsigned long long)c->lsn, (unsigned long long)hash);
}

static int write_all(int fd, struct rn_view bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.at, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        bytes = rn_view_of(bytes.at + n, bytes.len - (size_t)n);
    }
    return 0;
}

/* A line that a full disk or a crash has cut is ended first: the letter would
 * become a part of it. */
static int append(int fd, struct rn_view line)
{
    int error = rn_out_is_cut(fd) ? write_all(fd, RN_LIT("\n")) : 0;

    if (!error)
        error = write_all(fd, line);
    if (!error && fdatasync(fd) && errno != EINVAL)
        error = errno;
    return error;
}

static void store_in_file(struct rn_dead_letters *to, struct rn_view letter,
                          struct rn_handler_answer *answer)
{
    int error;

    pthread_mutex_lock(&to->lock);
    error = append(to->fd, letter);
    pthread_mutex_unlock(&to->lock);
    if (error)
        rn_handler_answer_set(answer, RN_ANSWER_RETRY,
                              "file of dead letters: %s", strerror(error));
}

bool rn_dead_letter_store(struct rn_dead_letters *to, const char *lease,
                          const runnel_failure *failure,
                          struct rn_handler_answer *answer)
{
    struct rn_buf letter = RN_BUF_INIT(RN_BODY_MAX);
    char id[RN_BODY_ID_MAX];
    struct rn_handler_call call = {
        .id = id,
        .deadline_ns =
            rn_mono_ns(rn_env_real()) + (int64_t)to->timeout_ms * 1000000,
    };

    *answer = (struct rn_handler_answer){ .kind = RN_ANSWER_DONE };
    print_id(failure->change, lease, id);
    if (print_letter(to, id, lease, failure, &letter)) {
        rn_handler_answer_set(answer, RN_ANSWER_RETRY,
                              "no memory for a dead letter");
    } else if (to->handler) {
        call.body = rn_buf_view(&letter);
        to->handler->call(to->handler, &call, answer);
    } else {
        store_in_file(to, rn_buf_view(&letter), answer);
    }
    rn_buf_release(&letter);
    return answer->kind == RN_ANSWER_DONE;
}
