/* net_conn_test.c -- a loop and its connections, over socket pairs.
 *
 * The loop runs in its thread; the test is the peer.  Whatever must happen
 * there is posted and waited for, and the clock is pushed, so nothing sleeps.
 */
#include "lib/clock.h"
#include "net/conn.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { BIG = 4 << 20, WAIT_MS = 20000, STALL_MS = 5000 };

/* What the user of the connection does with bytes. */
enum manner { COUNT, ANSWER, ANSWER_AND_CLOSE, DROP, HOLD, HOLD_UNTIL_END };

static struct test_clock test_clock;
static struct rn_loop *loop;
static atomic_uint turns; /* of the loop: it asks for the time in each */

static struct user {
    struct rn_conn *conn;
    enum manner manner;
    char space[4096], *big;
    atomic_int bytes, closed, late;
    sem_t event; /* posted at received, timed_out, closed */
} user;
static int peer = -1;

static void wait_event(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    assert_int_equal(sem_timedwait(&user.event, &until), 0);
}

/* ---- in the loop's thread ------------------------------------------------ */

struct call {
    struct rn_post post;
    void (*run)(void);
    sem_t done;
};

static void run_call(struct rn_post *post)
{
    struct call *c = (struct call *)post;

    c->run();
    sem_post(&c->done);
}

/* Runs it there, and waits. */
static void in_loop(void (*run)(void))
{
    struct call c = { .post.run = run_call, .run = run };

    sem_init(&c.done, 0, 0);
    rn_loop_post(loop, &c.post);
    sem_wait(&c.done);
    sem_destroy(&c.done);
}

static void nothing(void)
{
}

/* Deadlines are looked at behind the posts of a turn: two turns. */
static void push_clock(int64_t ms)
{
    test_clock_push_ms(&test_clock, ms);
    in_loop(nothing);
    in_loop(nothing);
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
    struct user *u = context;
    enum rn_conn_next next = RN_CONN_MORE;

    atomic_fetch_add(&u->bytes, (int)len);
    if (u->manner == ANSWER || u->manner == ANSWER_AND_CLOSE)
        (void)!rn_conn_send(u->conn, RN_LIT("head"), rn_view_of(u->big, BIG));
    if (u->manner == ANSWER_AND_CLOSE)
        next = RN_CONN_CLOSE;
    if (u->manner == HOLD || u->manner == HOLD_UNTIL_END)
        next = RN_CONN_WAIT;
    if (u->manner == DROP)
        rn_conn_drop(u->conn);
    sem_post(&u->event);
    return next;
}

static enum rn_conn_next on_flushed(void *context)
{
    struct user *u = context;

    return u->manner == HOLD ? RN_CONN_WAIT : RN_CONN_MORE;
}

static bool on_peer_ended(void *context)
{
    struct user *u = context;

    return u->manner == HOLD_UNTIL_END;
}

static void on_timed_out(void *context)
{
    struct user *u = context;

    atomic_fetch_add(&u->late, 1);
    rn_conn_drop(u->conn);
}

static void on_closed(void *context)
{
    struct user *u = context;

    atomic_fetch_add(&u->closed, 1);
    u->conn = NULL;
    sem_post(&u->event);
}

static const struct rn_conn_user ops = { on_buffer,    on_received,
                                         on_flushed,   on_peer_ended,
                                         on_timed_out, on_closed };
static int given; /* the server's end */

static void make_conn(void)
{
    struct rn_conn_opts opts = { .loop = loop,
                                 .fd = given,
                                 .ops = &ops,
                                 .user = &user,
                                 .write_stall_ms = STALL_MS,
                                 .address = "here" };

    (void)!rn_conn_new(&opts, &user.conn);
}

static void set_deadline(void)
{
    rn_conn_deadline(user.conn, 5000);
}

static void resume(void)
{
    user.manner = COUNT;
    rn_conn_resume(user.conn, RN_CONN_MORE);
}

/* The answer that was held, and the end. */
static void answer(void)
{
    user.manner = COUNT;
    (void)!rn_conn_send(user.conn, RN_LIT("head"), rn_view_of(user.big, BIG));
    rn_conn_resume(user.conn, RN_CONN_CLOSE);
}

/* ---- the peer ------------------------------------------------------------ */

static void say(const char *text)
{
    assert_int_equal(send(peer, text, strlen(text), MSG_NOSIGNAL),
                     strlen(text));
}

/* How many bytes come until the end. */
static size_t read_to_end(void)
{
    static char bytes[64 << 10];
    size_t total = 0;
    ssize_t n = 1;

    while (n > 0) {
        struct pollfd p = { .fd = peer, .events = POLLIN };
        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
        n = recv(peer, bytes, sizeof(bytes), 0);
        total += n > 0 ? (size_t)n : 0;
    }
    return total;
}

static int64_t count_turn(struct rn_env *env)
{
    atomic_fetch_add(&turns, 1);
    return test_clock_mono_ns(env);
}

static int setup(void **state)
{
    struct rn_err err;
    int ends[2];

    (void)state;
    test_clock_init(&test_clock);
    test_clock.ops.mono_ns = count_turn;
    user = (struct user){ .big = calloc(1, BIG) };
    sem_init(&user.event, 0, 0);
    assert_non_null(user.big);
    assert_int_equal(rn_loop_new(&test_clock.env, "test", &loop, &err), RN_OK);
    assert_int_equal(rn_loop_start(loop, &err), RN_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    peer = ends[0];
    given = ends[1];
    assert_int_equal(fcntl(given, F_SETFL, O_NONBLOCK), 0);
    in_loop(make_conn);
    assert_non_null(user.conn);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rn_loop_free(loop);
    close(peer);
    assert_int_equal(user.closed, 1); /* once, by whatever */
    sem_destroy(&user.event);
    free(user.big);
    return 0;
}

/* ---- posts --------------------------------------------------------------- */

enum { POSTERS = 4, POSTS = 2000 };

struct numbered {
    struct rn_post post;
    int number, *last;
    atomic_int *left;
};
static struct numbered posts[POSTERS][POSTS];

static void run_numbered(struct rn_post *post)
{
    struct numbered *n = (struct numbered *)post;

    if (*n->last == n->number - 1)
        *n->last = n->number;
    atomic_fetch_sub(n->left, 1);
}

static void *post_all(void *context)
{
    struct numbered *mine = context;

    for (int i = 0; i < POSTS; i++)
        rn_loop_post(loop, &mine[i].post);
    return NULL;
}

static void *post_and_wait(void *context)
{
    (void)context;
    for (int i = 0; i < POSTS; i++)
        in_loop(nothing);
    return NULL;
}

/* The loop is about to sleep each time, and nothing else would wake it. */
static void no_post_is_slept_through(void **state)
{
    pthread_t threads[POSTERS];

    (void)state;
    for (int t = 0; t < POSTERS; t++)
        pthread_create(&threads[t], NULL, post_and_wait, NULL);
    for (int t = 0; t < POSTERS; t++)
        pthread_join(threads[t], NULL);
}

static void every_post_runs_in_the_order_of_its_thread(void **state)
{
    pthread_t threads[POSTERS];
    int last[POSTERS] = { 0 };
    atomic_int left = POSTERS * POSTS;

    (void)state;
    for (int t = 0; t < POSTERS; t++) {
        for (int i = 0; i < POSTS; i++)
            posts[t][i] = (struct numbered){ .post.run = run_numbered,
                                             .number = i + 1,
                                             .last = &last[t],
                                             .left = &left };
        pthread_create(&threads[t], NULL, post_all, posts[t]);
    }
    for (int t = 0; t < POSTERS; t++)
        pthread_join(threads[t], NULL);
    in_loop(nothing); /* behind all of them */
    assert_int_equal(left, 0);
    for (int t = 0; t < POSTERS; t++)
        assert_int_equal(last[t], POSTS);
}

/* ---- connections --------------------------------------------------------- */

static void a_deadline_passes_when_its_time_has_come(void **state)
{
    (void)state;
    in_loop(set_deadline);
    push_clock(3000);
    assert_int_equal(user.late, 0);
    push_clock(3000);
    wait_event();
    assert_int_equal(user.late, 1);
    assert_int_equal(user.closed, 1); /* dropped from within */
    assert_int_equal(read_to_end(), 0);
}

static void a_user_may_drop_its_connection_while_it_is_fed(void **state)
{
    (void)state;
    user.manner = DROP;
    say("bytes");
    wait_event();
    assert_int_equal(read_to_end(), 0);
    wait_event();
    assert_int_equal(user.closed, 1);
}

static void an_answer_is_sent_whole_before_the_end(void **state)
{
    (void)state;
    user.manner = ANSWER_AND_CLOSE;
    say("bytes");
    assert_int_equal(read_to_end(), BIG + 4);
}

static void a_peer_that_is_done_speaking_still_gets_its_answer(void **state)
{
    (void)state;
    user.manner = ANSWER;
    say("bytes");
    shutdown(peer, SHUT_WR);
    wait_event();
    in_loop(nothing); /* its end has been noticed */
    assert_int_equal(read_to_end(), BIG + 4);
}

static void a_peer_that_ends_before_its_answer_still_gets_it(void **state)
{
    unsigned before;

    (void)state;
    user.manner = HOLD;
    say("bytes");
    wait_event();
    say("more");
    shutdown(peer, SHUT_WR);
    in_loop(nothing);
    in_loop(nothing);
    assert_int_equal(user.closed, 0);
    before = turns;
    poll(NULL, 0, 50); /* the time that is measured */
    assert_true(turns - before < 10);
    in_loop(answer);
    assert_int_equal(read_to_end(), BIG + 4);
    assert_int_equal(user.bytes, 5);
}

static void a_peer_that_ends_is_dropped_if_the_user_wants_it_so(void **state)
{
    (void)state;
    user.manner = HOLD_UNTIL_END;
    say("bytes");
    wait_event();
    shutdown(peer, SHUT_WR);
    wait_event();
    assert_int_equal(user.closed, 1);
    assert_int_equal(read_to_end(), 0);
}

static void a_loop_does_not_spin_for_a_peer_that_does_not_read(void **state)
{
    unsigned before;

    (void)state;
    user.manner = ANSWER_AND_CLOSE;
    say("bytes");
    shutdown(peer, SHUT_WR);
    wait_event();
    in_loop(nothing);
    before = turns;
    poll(NULL, 0, 50); /* the time that is measured */
    assert_true(turns - before < 10);
    push_clock(STALL_MS + 1500);
    wait_event();
    assert_int_equal(user.closed, 1);
}

static void a_peer_that_reads_nothing_is_cut_off(void **state)
{
    (void)state;
    user.manner = ANSWER;
    say("bytes");
    wait_event();
    push_clock(STALL_MS - 2000);
    assert_int_equal(user.closed, 0);
    push_clock(4000);
    wait_event();
    assert_int_equal(user.closed, 1);
    assert_true(read_to_end() < BIG);
}

static void nothing_is_read_while_an_answer_is_awaited(void **state)
{
    (void)state;
    user.manner = HOLD;
    say("one");
    wait_event();
    say("three");
    in_loop(nothing);
    in_loop(nothing);
    assert_int_equal(user.bytes, 3);
    in_loop(resume);
    wait_event();
    assert_int_equal(user.bytes, 8);
}

static void be_slow(void)
{
    test_clock_push_ms(&test_clock, 2000);
}

static void a_turn_that_takes_long_is_counted_as_long(void **state)
{
    size_t slow = rn_scale_bucket(&rn_scale_times, 2000000000);
    struct rn_histogram before = { 0 }, after = { 0 };

    (void)state;
    in_loop(nothing);
    in_loop(nothing);
    rn_loop_add_turns(loop, &before);
    in_loop(be_slow);
    in_loop(nothing); /* in another turn, so that the first is over */
    rn_loop_add_turns(loop, &after);
    assert_int_equal(after.counts[slow] - before.counts[slow], 1);
    assert_true(after.sum - before.sum >= 2000000000);
}

static void the_end_of_the_loop_is_the_end_of_its_connections(void **state)
{
    (void)state;
    say("bytes");
    wait_event();
    assert_int_equal(user.closed, 0); /* teardown sees the rest */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* ---- timers -------------------------------------------------------------- */

enum { HOUR_MS = 3600000, TIMERS = 5 };

static struct rn_timer timers[TIMERS];
static atomic_int ran[TIMERS], ran_count; /* which was the first, and so on */

static void note_timer(struct rn_timer *timer)
{
    atomic_store(&ran[atomic_fetch_add(&ran_count, 1)], (int)(timer - timers));
}

static void set_timers(void)
{
    static const int hours[TIMERS] = { 3, 1, 2, 1, 2 };

    for (int i = 0; i < TIMERS; i++) {
        timers[i].at_ns =
            rn_mono_ns(&test_clock.env) + hours[i] * (int64_t)HOUR_MS * 1000000;
        timers[i].run = note_timer;
        rn_loop_add_timer(loop, &timers[i]);
    }
    rn_loop_remove_timer(loop, &timers[2]);
}

static void take_timer_back(void)
{
    rn_loop_remove_timer(loop, &timers[0]);
}

static void timers_run_by_their_time_and_not_before(void **state)
{
    static const int due[] = { 0, 2, 3 }; /* after so many hours and a half */
    static const int order[] = { 1, 3, 4 };

    (void)state;
    atomic_store(&ran_count, 0);
    in_loop(set_timers);
    push_clock(HOUR_MS / 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(atomic_load(&ran_count), due[i]);
        if (i < 2)
            push_clock(HOUR_MS);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&ran[i]), order[i]);
    in_loop(take_timer_back);
    push_clock(HOUR_MS);
    assert_int_equal(atomic_load(&ran_count), 3);
}

static void set_some_that_may_hurry(void)
{
    set_timers();
    timers[0].may_hurry = timers[3].may_hurry = true;
    rn_loop_hurry(loop);
    timers[0].may_hurry = timers[3].may_hurry = false;
}

static void timers_that_may_hurry_run_before_their_time(void **state)
{
    (void)state;
    atomic_store(&ran_count, 0);
    in_loop(set_some_that_may_hurry);
    assert_int_equal(atomic_load(&ran_count), 2);
    assert_int_equal(atomic_load(&ran[0]), 3);
    assert_int_equal(atomic_load(&ran[1]), 0);
    push_clock(4 * HOUR_MS);
    assert_int_equal(atomic_load(&ran_count), 4);
}

/* Sets one that is due soon, and nothing else happens. */
static void set_soon(void)
{
    timers[0].at_ns = rn_mono_ns(&test_clock.env) + 30 * INT64_C(1000000);
    timers[0].run = note_timer;
    rn_loop_add_timer(loop, &timers[0]);
}

static void a_loop_with_nothing_else_to_do_wakes_for_a_timer(void **state)
{
    (void)state;
    atomic_store(&ran_count, 0);
    in_loop(set_soon);
    for (int i = 0; i < WAIT_MS && !atomic_load(&ran_count); i++)
        poll(NULL, 0, 1);
    assert_int_equal(atomic_load(&ran_count), 1);
    assert_true(rn_mono_ns(&test_clock.env) >= timers[0].at_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_post_is_slept_through),
        TEST(every_post_runs_in_the_order_of_its_thread),
        TEST(a_deadline_passes_when_its_time_has_come),
        TEST(a_user_may_drop_its_connection_while_it_is_fed),
        TEST(an_answer_is_sent_whole_before_the_end),
        TEST(a_peer_that_is_done_speaking_still_gets_its_answer),
        TEST(a_peer_that_ends_before_its_answer_still_gets_it),
        TEST(a_peer_that_ends_is_dropped_if_the_user_wants_it_so),
        TEST(a_loop_does_not_spin_for_a_peer_that_does_not_read),
        TEST(a_peer_that_reads_nothing_is_cut_off),
        TEST(nothing_is_read_while_an_answer_is_awaited),
        TEST(timers_run_by_their_time_and_not_before),
        TEST(timers_that_may_hurry_run_before_their_time),
        TEST(a_loop_with_nothing_else_to_do_wakes_for_a_timer),
        TEST(a_turn_that_takes_long_is_counted_as_long),
        TEST(the_end_of_the_loop_is_the_end_of_its_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
