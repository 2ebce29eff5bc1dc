/* net_turn_test.c -- what a turn of the loop may move.
 *
 * A crowd of connections asks for large answers that nobody reads, all in one
 * turn, and another client speaks while they are served.  What is counted is
 * how many of the crowd come before it: with a budget of bytes for each turn it
 * is one or two, and without all of them.
 */
#include "lib/clock.h"
#include "net/conn.h"

#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { CROWD = 40, LIGHT = CROWD, ALL, BIG = 1 << 20, WAIT_S = 60 };

struct user {
    struct rn_conn *conn;
    struct rn_post post; /* sends a large answer */
    int number, peer, own;
    size_t answer; /* bytes */
    int served_as; /* in the order of all; -1: not yet */
    int sent;
    char space[16];
};

static struct test_clock test_clock;
static struct rn_loop *loop;
static struct user users[ALL];
static char *big;
static int served;      /* how many were.  Thread: loop */
static int light_after; /* the light one speaks when so many were */
static sem_t done;      /* one was served */

/* ---- in the loop's thread ------------------------------------------------ */

static void serve(struct user *u)
{
    u->served_as = served++;
    (void)!rn_conn_send(u->conn, RN_LIT("head"), rn_view_of(big, u->answer));
    if (served == light_after)
        (void)!send(users[LIGHT].peer, "x", 1, MSG_NOSIGNAL);
    sem_post(&done);
}

static enum rn_code on_buffer(void *context, char **at, size_t *len)
{
    struct user *u = context;

    *at = u->space;
    *len = sizeof(u->space);
    return RN_OK;
}

static enum rn_conn_next on_received(void *context, size_t len)
{
    (void)len;
    serve(context);
    return RN_CONN_MORE;
}

static enum rn_conn_next on_flushed(void *context)
{
    struct user *u = context;

    u->sent++;
    return RN_CONN_MORE;
}

static bool on_peer_ended(void *context)
{
    (void)context;
    return false;
}

static void on_timed_out(void *context)
{
    (void)context;
}

static void on_closed(void *context)
{
    ((struct user *)context)->conn = NULL;
}

static const struct rn_conn_user ops = { on_buffer,    on_received,
                                         on_flushed,   on_peer_ended,
                                         on_timed_out, on_closed };

static void serve_post(struct rn_post *post)
{
    serve(RN_CONTAINER_OF(post, struct user, post));
}

struct call {
    struct rn_post post;
    void (*run)(void);
    sem_t begun, may_go, ended;
};

static void run_call(struct rn_post *post)
{
    struct call *c = (struct call *)post;

    sem_post(&c->begun);
    sem_wait(&c->may_go);
    c->run();
    sem_post(&c->ended);
}

/* Runs `inside` in the loop, while the loop waits for `meanwhile` to end. */
static void in_loop(void (*inside)(void), void (*meanwhile)(void))
{
    struct call c = { .post.run = run_call, .run = inside };

    sem_init(&c.begun, 0, 0);
    sem_init(&c.may_go, 0, 0);
    sem_init(&c.ended, 0, 0);
    rn_loop_post(loop, &c.post);
    sem_wait(&c.begun);
    meanwhile();
    sem_post(&c.may_go);
    sem_wait(&c.ended);
    sem_destroy(&c.begun);
    sem_destroy(&c.may_go);
    sem_destroy(&c.ended);
}

static void nothing(void)
{
}

static void make_conns(void)
{
    for (int i = 0; i < ALL; i++) {
        struct rn_conn_opts opts = { .loop = loop,
                                     .fd = users[i].own,
                                     .ops = &ops,
                                     .user = &users[i],
                                     .write_stall_ms = 60000,
                                     .address = "here" };

        (void)!rn_conn_new(&opts, &users[i].conn);
    }
}

/* ---- the peers ----------------------------------------------------------- */

static void speak(int number)
{
    assert_int_equal(send(users[number].peer, "x", 1, MSG_NOSIGNAL), 1);
}

static void merged_speaks(void)
{
    for (int i = 0; i < CROWD; i++)
        speak(i);
}

static void merged_is_posted(void)
{
    for (int i = 0; i < CROWD; i++) {
        users[i].post.run = serve_post;
        rn_loop_post(loop, &users[i].post);
    }
}

static void wait_served(int count)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    for (int i = 0; i < count; i++)
        assert_int_equal(sem_timedwait(&done, &until), 0);
}

static int setup(void **state)
{
    struct rn_err err;

    (void)state;
    test_clock_init(&test_clock);
    sem_init(&done, 0, 0);
    big = calloc(1, BIG);
    assert_non_null(big);
    served = light_after = 0;
    assert_int_equal(rn_loop_new(&test_clock.env, "test", &loop, &err), RN_OK);
    assert_int_equal(rn_loop_start(loop, &err), RN_OK);
    for (int i = 0; i < ALL; i++) {
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
        users[i] = (struct user){ .number = i,
                                  .peer = ends[0],
                                  .own = ends[1],
                                  .served_as = -1,
                                  .answer = i == LIGHT ? 2 : BIG };
    }
    in_loop(make_conns, nothing);
    /* It has been here before, and asks for little. */
    speak(LIGHT);
    wait_served(1);
    in_loop(nothing, nothing);
    served = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rn_loop_free(loop);
    for (int i = 0; i < ALL; i++)
        close(users[i].peer);
    sem_destroy(&done);
    free(big);
    return 0;
}

/* ---- cases --------------------------------------------------------------- */

static void a_light_client_comes_before_a_crowd_of_heavy_ones(void **state)
{
    (void)state;
    light_after = 3;
    in_loop(nothing, merged_speaks);
    wait_served(ALL);
    assert_true(users[LIGHT].served_as >= 3);
    assert_true(users[LIGHT].served_as <= 5);
}

static void and_before_what_was_posted_for_them(void **state)
{
    (void)state;
    light_after = 3;
    in_loop(nothing, merged_is_posted);
    wait_served(ALL);
    assert_true(users[LIGHT].served_as >= 3);
    assert_true(users[LIGHT].served_as <= 5);
    for (int i = 0, at = 0; i < CROWD; i++, at++) { /* in their order */
        at += at == users[LIGHT].served_as;
        assert_int_equal(users[i].served_as, at);
    }
}

static bool was_sending, was_queued;

static void answer_once(void)
{
    struct user *u = &users[0];
    size_t unsent = rn_conn_unsent_bytes();

    (void)!rn_conn_send(u->conn, RN_LIT("head"), rn_view_of(big, u->answer));
    was_queued = rn_conn_unsent_bytes() > unsent;
    was_sending = rn_conn_is_sending(u->conn);
}

/* The kernel took all of it, and yet the next answer waits for another turn. */
static void a_large_answer_is_the_last_of_its_turn(void **state)
{
    int size = BIG;

    (void)state;
    assert_int_equal(
        setsockopt(users[0].own, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)),
        0);
    users[0].answer = 1000;
    in_loop(answer_once, nothing);
    assert_false(was_sending);
    users[0].answer = (128 << 10) + 1000;
    in_loop(answer_once, nothing);
    assert_false(was_queued);
    assert_true(was_sending);
    in_loop(nothing, nothing);
    in_loop(nothing, nothing);
    assert_int_equal(users[0].sent, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_light_client_comes_before_a_crowd_of_heavy_ones),
        TEST(and_before_what_was_posted_for_them),
        TEST(a_large_answer_is_the_last_of_its_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
