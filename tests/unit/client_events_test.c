/* client_events_test.c -- events of a processor: their order, a callback that
 * does not return, and what the default one prints.
 *
 * Threads: real ones; a callback waits until the case lets it go on.
 */
#include "client/processor/events.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_blocked;
static unsigned calls;
static size_t last;
static bool is_disordered;

static void block(void *context, const runnel_event *event)
{
    (void)context;
    pthread_mutex_lock(&lock);
    is_disordered = is_disordered || event->count < last;
    last = event->count;
    calls++;
    pthread_cond_broadcast(&changed);
    while (is_blocked)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void a_callback_that_blocks_loses_events_and_delays_nobody(void **state)
{
    enum { MORE = 10 };
    struct rn_events *e = NULL;
    runnel_event event = { .kind = RUNNEL_EVENT_RETRIED, .message = "m" };

    (void)state;
    is_blocked = true;
    assert_int_equal(rn_events_new(rn_env_real(), block, NULL, &e), RUNNEL_OK);
    rn_events_put(e, &event);
    pthread_mutex_lock(&lock);
    while (calls == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    /* The callback has one, the queue is filled, and the rest is lost. */
    for (event.count = 1; event.count <= RN_EVENTS_MAX + MORE; event.count++)
        rn_events_put(e, &event);
    assert_int_equal(rn_events_lost(e), MORE);
    assert_int_equal(calls, 1);
    pthread_mutex_lock(&lock);
    is_blocked = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    rn_events_free(e); /* what is queued is given first */
    assert_int_equal(calls, 1 + RN_EVENTS_MAX);
    assert_int_equal(last, RN_EVENTS_MAX);
    assert_false(is_disordered);
}

/* What runnel_event_print writes to standard error. */
static void print(const runnel_event *event, char *out, size_t size)
{
    FILE *file = tmpfile();
    int old = dup(STDERR_FILENO);
    size_t len;

    assert_non_null(file);
    fflush(stderr);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    runnel_event_print(NULL, event);
    fflush(stderr);
    assert_true(dup2(old, STDERR_FILENO) >= 0);
    close(old);
    rewind(file);
    len = fread(out, 1, size - 1, file);
    out[len] = 0;
    fclose(file);
}

static void warnings_are_printed_by_default_and_the_rest_is_not(void **state)
{
    runnel_event event = { .size = sizeof(event),
                           .kind = RUNNEL_EVENT_BLOCKED,
                           .severity = RUNNEL_SEVERITY_CRITICAL,
                           .message = "change 7 holds up its lease" };
    char text[512];

    (void)state;
    print(&event, text, sizeof(text));
    assert_string_equal(text, "runnel: change 7 holds up its lease\n");
    event.severity = RUNNEL_SEVERITY_WARNING;
    event.lease = "05C1-0F";
    print(&event, text, sizeof(text));
    assert_string_equal(text, "runnel: 05C1-0F: change 7 holds up its lease\n");
    event.severity = RUNNEL_SEVERITY_INFO;
    print(&event, text, sizeof(text));
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_that_blocks_loses_events_and_delays_nobody),
        cmocka_unit_test(warnings_are_printed_by_default_and_the_rest_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
