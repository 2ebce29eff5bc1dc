/* coprocess.c -- long-lived processes: a line in, a line out. */
#include "tools/trigger/coprocess.h"

#include "tools/trigger/ack.h"
#include "json/print.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { ACK_MAX = 1 << 20, END_MS = 2000 };

struct coprocess {
    struct rn_child child;
    uint64_t number; /* of the batch, from 1 */
    struct rn_buf line;
};

struct coprocesses {
    struct rn_handler handler;
    const char *command;
    const struct rn_guard *guard;
    struct rn_slots *slots;
    uint32_t count;
    struct coprocess all[];
};

/* Reads what there is.  False: the output has ended, or is too long. */
static bool read_output(struct coprocess *p)
{
    for (;;) {
        ssize_t n;
        if (rn_buf_reserve(&p->line, 4096))
            return false;
        n = read(p->child.out, p->line.at + p->line.len, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno == EAGAIN;
        p->line.len += (size_t)n;
    }
}

/* The line in the buffer without its end; false: it is not there yet. */
static bool find_line(const struct coprocess *p, struct rn_view *out)
{
    const char *end =
        p->line.len ? memchr(p->line.at, '\n', p->line.len) : NULL;

    if (end)
        *out = rn_view_of(p->line.at, (size_t)(end - p->line.at));
    return end != NULL;
}

/* A process that has ended or has said something unasked is replaced. */
static int prepare(struct coprocesses *all, struct coprocess *p)
{
    rn_buf_clear(&p->line);
    if (p->child.pid > 0 && (!read_output(p) || p->line.len > 0))
        rn_child_end(&p->child, all->guard);
    rn_buf_clear(&p->line);
    if (p->child.pid > 0)
        return 0;
    return rn_child_start(&p->child, all->guard, all->command,
                          RN_CHILD_INPUT_AND_OUTPUT, NULL);
}

/* Sends the line and reads the one that answers it; returns NULL, or what went
 * wrong. */
static const char *exchange(struct coprocess *p,
                            const struct rn_handler_call *call,
                            struct rn_view rest, struct rn_view *line,
                            struct rn_handler_answer *answer)
{
    int slice;

    while ((slice = rn_handler_slice_ms(call)) > 0) {
        struct pollfd fds[] = { { .fd = p->child.out, .events = POLLIN },
                                { .fd = rest.len ? p->child.in : -1,
                                  .events = POLLOUT } };
        if (rn_handler_is_cancelled(call))
            return "the handler was stopped";
        if (poll(fds, 2, slice) <= 0)
            continue;
        if ((fds[1].revents && !rn_child_write(&p->child, &rest)) ||
            (fds[0].revents && !read_output(p))) {
            rn_child_await(&p->child, END_MS); /* so that it has a status */
            return "the handler ended without an acknowledgement";
        }
        if (find_line(p, line))
            return rest.len ? "the handler answered before it had the batch"
                            : NULL;
    }
    answer->is_timeout = true;
    return "the handler took too long and was killed";
}

static enum rn_code print_line(const struct coprocess *p,
                               const struct rn_handler_call *call,
                               struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    enum rn_code rc;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("batch"));
    rn_json_out_uint(&o, p->number);
    for (size_t i = 0; i < call->fact_count; i++) {
        const struct rn_fact *fact = &call->facts[i];
        rn_json_out_key(&o, rn_view_text(fact->member));
        if (fact->is_number)
            rn_json_out_raw(&o, rn_view_text(fact->value));
        else
            rn_json_out_string(&o, rn_view_text(fact->value));
    }
    rn_json_out_key(&o, RN_LIT("changes"));
    rn_json_out_raw(&o, call->body);
    rn_json_out_object_end(&o);
    rc = rn_json_out_finish(&o);
    return rc ? rc : rn_buf_add(out, RN_LIT("\n"));
}

static void run(struct coprocesses *all, struct coprocess *p,
                const struct rn_handler_call *call,
                struct rn_handler_answer *answer)
{
    struct rn_buf out = RN_BUF_INIT(RN_BODY_MAX);
    struct rn_view line = { 0 };
    const char *fault = NULL;
    int error = prepare(all, p);

    p->number++;
    if (error)
        fault = strerror(error);
    else if (print_line(p, call, &out))
        fault = "the batch is too large";
    else
        fault = exchange(p, call, rn_buf_view(&out), &line, answer);
    if (!fault && line.len + 1 != p->line.len)
        fault = "the handler printed more than one line";
    if (!fault && !rn_ack_parse(line, p->number, call, answer))
        fault = "the handler's line is no acknowledgement of the batch";
    if (fault) {
        rn_child_judge(rn_child_end(&p->child, all->guard), answer);
        if (answer->kind != RN_ANSWER_BROKEN)
            rn_handler_answer_set(answer, RN_ANSWER_RETRY, "%s", fault);
    }
    rn_buf_release(&out);
}

static void call_coprocess(struct rn_handler *handler,
                           const struct rn_handler_call *call,
                           struct rn_handler_answer *answer)
{
    struct coprocesses *all = (struct coprocesses *)handler;
    uint32_t slot = rn_slots_take(all->slots);

    run(all, &all->all[slot], call, answer);
    rn_slots_give(all->slots, slot);
}

/* They end when their input does; one that does not is killed. */
static void close_coprocess(struct rn_handler *handler)
{
    struct coprocesses *all = (struct coprocesses *)handler;

    for (uint32_t i = 0; i < all->count; i++)
        rn_child_close_input(&all->all[i].child);
    for (uint32_t i = 0; i < all->count; i++) {
        rn_child_await(&all->all[i].child, END_MS);
        rn_child_end(&all->all[i].child, all->guard);
        rn_buf_release(&all->all[i].line);
    }
    rn_slots_free(all->slots);
    rn_free(all);
}

struct rn_handler *rn_coprocess_new(const char *command, uint32_t count,
                                    const struct rn_guard *guard)
{
    struct coprocesses *all =
        rn_new(sizeof(*all) + count * sizeof(struct coprocess));

    if (!all)
        return NULL;
    all->handler =
        (struct rn_handler){ .call = call_coprocess, .close = close_coprocess };
    all->command = command;
    all->guard = guard;
    all->count = count;
    for (uint32_t i = 0; i < count; i++) {
        all->all[i].child.in = -1;
        all->all[i].line = RN_BUF_INIT(ACK_MAX);
    }
    all->slots = rn_slots_new(count);
    if (all->slots)
        return &all->handler;
    rn_free(all);
    return NULL;
}
