/* base_log_test.c -- a line is one line, whole, and says what was meant.
 *
 * Lines go into a memory file and are compared as text; the clock is a
 * simulated one.  Hostile values are drawn at random and the line is read by a
 * small strict reader: it must be valid JSON of valid UTF-8 without a control
 * character.  write(2) is wrapped, to count the calls and to misbehave.
 */
#include "base/log.h"

#include "base/prng.h"
#include "base/sim.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- write(2) ------------------------------------------------------------ */

static _Atomic int writes;
static int interrupts, error;
static size_t bytes_max;

ssize_t __real_write(int fd, const void *at, size_t len);
ssize_t __wrap_write(int fd, const void *at, size_t len);

ssize_t __wrap_write(int fd, const void *at, size_t len)
{
    atomic_fetch_add(&writes, 1);
    if (interrupts > 0 || error) {
        errno = interrupts-- > 0 ? EINTR : error;
        return -1;
    }
    return __real_write(fd, at, bytes_max && len > bytes_max ? bytes_max : len);
}

/* ---- a log in memory ----------------------------------------------------- */

static struct rn_sim *sim;
static int fd;
static char text[2 << 20];

static int set_up(void **state)
{
    (void)state;
    sim = rn_sim_new(1);
    fd = memfd_create("log", MFD_CLOEXEC);
    atomic_store(&writes, 0);
    interrupts = 0;
    error = 0;
    bytes_max = 0;
    return fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    rn_sim_free(sim);
    return close(fd);
}

static struct rn_log *new_log(enum rn_log_form form, enum rn_log_level level)
{
    struct rn_log *log = rn_log_new(rn_sim_env(sim), fd, form, level);

    assert_non_null(log);
    return log;
}

/* What was written since the last call. */
static const char *written(void)
{
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    assert_true(n >= 0);
    text[n] = '\0';
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return text;
}

#define TS "2023-11-14T22:13:20.000000Z" /* when a simulation begins */

/* ---- form ---------------------------------------------------------------- */

static void a_json_line_has_time_level_message_and_fields(void **state)
{
    struct rn_log *log = new_log(RN_LOG_JSON, RN_LOG_INFO);

    (void)state;
    rn_log_info(log, "store opened", RN_STR("dir", RN_LIT("/data")),
                RN_U64("records", UINT64_MAX), RN_I64("drift", INT64_MIN),
                RN_F64("ms", 0.1), RN_BOOL("clean", true),
                RN_TEXT("engine", "local"), RN_BOOL("tls", false));
    assert_string_equal(
        written(),
        "{\"ts\":\"" TS "\",\"level\":\"info\",\"msg\":\"store opened\","
        "\"dir\":\"/data\",\"records\":18446744073709551615,"
        "\"drift\":-9223372036854775808,\"ms\":0.1,\"clean\":true,"
        "\"engine\":\"local\",\"tls\":false}\n");
    rn_log_free(log);
}

static void a_text_line_quotes_only_what_needs_it(void **state)
{
    struct rn_log *log = new_log(RN_LOG_TEXT, RN_LOG_INFO);

    (void)state;
    rn_log_warn(log, "disk is \"slow\"", RN_TEXT("plain", "/a-b.c:1"),
                RN_TEXT("blank", "a b"), RN_TEXT("empty", ""),
                RN_TEXT("equals", "a=b"), RN_TEXT("quote", "a\"b\\"),
                RN_TEXT("umlaut", "\xc3\xa4"), RN_U64("n", 3));
    assert_string_equal(written(),
                        TS " warn  disk is \\\"slow\\\" plain=/a-b.c:1 "
                           "blank=\"a b\" empty=\"\" equals=\"a=b\" "
                           "quote=\"a\\\"b\\\\\" umlaut=\"\xc3\xa4\" n=3\n");
    rn_log_error(log, "bare");
    assert_string_equal(written(), TS " error bare\n");
    rn_log_free(log);
}

static void numbers_read_back_the_same(void **state)
{
    static const struct {
        double n;
        const char *json, *plain;
    } cases[] = {
        { 0.1, "0.1", "0.1" },
        { 1e21, "1e+21", "1e+21" },
        { 1.0 / 3, "0.3333333333333333", "0.3333333333333333" },
        { 5e-324, "4.94065645841247e-324", "4.94065645841247e-324" },
        { -0.0, "-0", "-0" },
        { INFINITY, "null", "inf" },
        { -INFINITY, "null", "-inf" },
        { NAN, "null", "nan" },
    };
    struct rn_log *json = new_log(RN_LOG_JSON, RN_LOG_INFO);
    struct rn_log *plain = new_log(RN_LOG_TEXT, RN_LOG_INFO);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char want[200];
        rn_log_info(json, "m", RN_F64("n", cases[i].n));
        snprintf(want, sizeof(want), "\"msg\":\"m\",\"n\":%s}\n",
                 cases[i].json);
        assert_non_null(strstr(written(), want));
        rn_log_info(plain, "m", RN_F64("n", cases[i].n));
        snprintf(want, sizeof(want), " m n=%s\n", cases[i].plain);
        assert_non_null(strstr(written(), want));
    }
    rn_log_free(json);
    rn_log_free(plain);
}

static void levels_beyond_the_wanted_are_silent(void **state)
{
    struct rn_log *log = new_log(RN_LOG_TEXT, RN_LOG_WARN);

    (void)state;
    rn_log_error(log, "e");
    rn_log_warn(log, "w");
    rn_log_info(log, "i");
    rn_log_debug(log, "d");
    assert_string_equal(written(), TS " error e\n" TS " warn  w\n");
    rn_log_free(log);
    log = new_log(RN_LOG_TEXT, RN_LOG_DEBUG);
    rn_log_debug(log, "d");
    assert_string_equal(written(), TS " debug d\n");
    rn_log_free(log);
}

static void no_logger_is_silence(void **state)
{
    static struct rn_log_limit limit = RN_LOG_LIMIT_INIT(1000);

    (void)state;
    rn_log_error(NULL, "unheard", RN_U64("n", 1));
    rn_log_seldom(NULL, &limit, RN_LOG_ERROR, "unheard");
    rn_log_free(NULL);
    assert_int_equal(atomic_load(&writes), 0);
}

/* ---- strangers' bytes ---------------------------------------------------- */

static void nothing_in_a_value_can_end_or_forge_a_line(void **state)
{
    static const struct {
        const char *value, *json, *plain;
    } cases[] = {
        { "a\nb", "a\\nb", "\"a\\nb\"" },
        { "a\r\n\t", "a\\r\\n\\t", "\"a\\r\\n\\t\"" },
        { "\x1b[31m", "\\u001b[31m", "\"\\u001b[31m\"" },
        { "\x7f", "\\u007f", "\"\\u007f\"" },
        { "\xc2\x9b", "\\u009b", "\"\\u009b\"" }, /* CSI in one */
        { "\xff", "\\\\xff", "\"\\xff\"" },
        { "\xc3", "\\\\xc3", "\"\\xc3\"" },                 /* cut off */
        { "\xc0\xaf", "\\\\xc0\\\\xaf", "\"\\xc0\\xaf\"" }, /* overlong */
        { "\xed\xa0\x80", "\\\\xed\\\\xa0\\\\x80",
          "\"\\xed\\xa0\\x80\"" }, /* surrogate */
        { "\xf4\x90\x80\x80", "\\\\xf4\\\\x90\\\\x80\\\\x80",
          "\"\\xf4\\x90\\x80\\x80\"" }, /* beyond Unicode */
        { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
        { "\",\"level\":\"x", "\\\",\\\"level\\\":\\\"x",
          "\"\\\",\\\"level\\\":\\\"x\"" },
    };
    struct rn_log *json = new_log(RN_LOG_JSON, RN_LOG_INFO);
    struct rn_log *plain = new_log(RN_LOG_TEXT, RN_LOG_INFO);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char want[200];
        rn_log_info(json, "m", RN_TEXT("v", cases[i].value));
        snprintf(want, sizeof(want), "\"v\":\"%s\"}\n", cases[i].json);
        assert_non_null(strstr(written(), want));
        rn_log_info(plain, "m", RN_TEXT("v", cases[i].value));
        snprintf(want, sizeof(want), "m v=%s\n", cases[i].plain);
        assert_non_null(strstr(written(), want));
    }
    rn_log_info(json, "m", RN_STR("v", RN_LIT("a\0b")));
    assert_non_null(strstr(written(), "\"v\":\"a\\u0000b\"}\n"));
    rn_log_free(json);
    rn_log_free(plain);
}

/* Reads a JSON string; the place behind it. */
static const char *read_string(const char *at)
{
    assert_int_equal(*at++, '"');
    while (*at != '"') {
        unsigned char c = (unsigned char)*at;
        assert_true(c >= 0x20 && c != 0x7f);
        if (c == '\\') {
            assert_non_null(memchr("\"\\nrtu", at[1], 6));
            at += at[1] == 'u' ? 6 : 2;
        } else {
            at++;
        }
    }
    return at + 1;
}

static const char *read_word(const char *at)
{
    size_t len = strspn(at, "0123456789.eE+-truefalsn");

    assert_true(len > 0);
    return at + len;
}

/* One flat object of strings, numbers and words, then the line's end. */
static void assert_is_json_line(const char *line, size_t len)
{
    const char *at = line;

    assert_true(len <= RN_LOG_LINE_MAX);
    assert_int_equal(*at, '{');
    while (*at != '}') {
        at = read_string(at + 1);
        assert_int_equal(*at++, ':');
        if (*at == '"')
            at = read_string(at);
        else
            at = read_word(at);
        assert_true(*at == ',' || *at == '}');
    }
    assert_int_equal(at[1], '\n');
    assert_int_equal((size_t)(at + 2 - line), len);
}

static void any_bytes_make_a_whole_line(void **state)
{
    static char value[12000];
    struct rn_log *log = new_log(RN_LOG_JSON, RN_LOG_INFO);
    struct rn_prng *prng = rn_sim_prng(sim);

    (void)state;
    for (int i = 0; i < 300; i++) {
        size_t len = (size_t)rn_prng_below(prng, sizeof(value));
        struct rn_view v = rn_view_of(value, len);
        const char *line;
        rn_prng_fill(prng, value, len);
        if (i % 3 == 1)
            memset(value, i % 2 ? '\x01' : 'a', len);
        rn_log_info(log, "m", RN_STR("v", v), RN_U64("n", 7),
                    RN_STR("again", v), RN_BOOL("end", true));
        line = written();
        assert_is_json_line(line, strlen(line));
        assert_int_equal(atomic_exchange(&writes, 0), 1);
    }
    rn_log_free(log);
}

/* The line fills up after each possible byte of what follows the value. */
static void a_line_may_fill_up_anywhere(void **state)
{
    static char value[8200];
    struct rn_log *log = new_log(RN_LOG_JSON, RN_LOG_INFO);
    int whole = 0;

    (void)state;
    memset(value, 'a', sizeof(value));
    for (size_t len = 7900; len < sizeof(value); len++) {
        const char *line;
        rn_log_info(log, "m", RN_STR("v", rn_view_of(value, len)),
                    RN_U64("number", 12345), RN_TEXT("word", "\x01\x01"));
        line = written();
        assert_is_json_line(line, strlen(line));
        whole += strstr(line, "truncated") == NULL;
    }
    assert_in_range(whole, 50, 250);
    rn_log_free(log);
}

static void what_does_not_fit_is_cut_and_marked(void **state)
{
    static char value[9000];
    struct rn_log *json = new_log(RN_LOG_JSON, RN_LOG_INFO);
    struct rn_log *plain = new_log(RN_LOG_TEXT, RN_LOG_INFO);
    const char *line;

    (void)state;
    memset(value, 'v', sizeof(value) - 1);
    rn_log_info(json, "m", RN_TEXT("v", value), RN_U64("lost", 1));
    line = written();
    assert_is_json_line(line, strlen(line));
    assert_true(strlen(line) > RN_LOG_LINE_MAX - 100);
    assert_non_null(strstr(line, "vvv\",\"truncated\":true}\n"));
    assert_null(strstr(line, "lost"));

    rn_log_info(plain, "m", RN_TEXT("v", value), RN_U64("lost", 1));
    line = written();
    assert_true(strlen(line) <= RN_LOG_LINE_MAX);
    assert_non_null(strstr(line, "vvv truncated=true\n"));
    assert_null(strstr(line, "lost"));

    rn_log_info(json, value); /* even the message */
    line = written();
    assert_is_json_line(line, strlen(line));
    rn_log_free(json);
    rn_log_free(plain);
}

/* ---- writing ------------------------------------------------------------- */

static void a_line_is_one_write_but_goes_on_if_it_must(void **state)
{
    struct rn_log *log = new_log(RN_LOG_TEXT, RN_LOG_INFO);

    (void)state;
    rn_log_info(log, "one");
    assert_int_equal(atomic_load(&writes), 1);
    written();
    interrupts = 2;
    bytes_max = 10;
    rn_log_info(log, "many");
    assert_string_equal(written(), TS " info  many\n");
    bytes_max = 0;
    error = EPIPE;
    rn_log_info(log, "lost"); /* and nothing to be done about it */
    error = 0;
    rn_log_info(log, "found");
    assert_string_equal(written(),
                        TS " warn  lines of the log were lost lines=1\n" TS
                           " info  found\n");
    rn_log_free(log);
}

enum { THREADS = 4, LINES = 300 };

static void *log_lines(void *context)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";

    for (int i = 0; i < LINES; i++) {
        rn_log_info(context, "line", RN_TEXT("letters", letters),
                    RN_I64("number", i));
    }
    return NULL;
}

static void lines_of_many_threads_do_not_mix(void **state)
{
    struct rn_log *log =
        rn_log_new(rn_env_real(), fd, RN_LOG_JSON, RN_LOG_INFO);
    pthread_t threads[THREADS];
    int numbers[LINES] = { 0 };
    const char *at;

    (void)state;
    assert_non_null(log);
    bytes_max = 50; /* so that a line takes several writes */
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, log_lines, log), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    at = written();
    while (*at) {
        const char *next = strchr(at, '\n') + 1;
        const char *number = strstr(at, "\"number\":");
        assert_is_json_line(at, (size_t)(next - at));
        assert_true(number && number < next);
        numbers[strtol(number + 9, NULL, 10)]++;
        at = next;
    }
    for (int i = 0; i < LINES; i++)
        assert_int_equal(numbers[i], THREADS);
    rn_log_free(log);
}

/* ---- repeats ------------------------------------------------------------- */

static void repeats_are_counted_not_logged(void **state)
{
    struct rn_log_limit limit = RN_LOG_LIMIT_INIT(1000);
    struct rn_log *json = new_log(RN_LOG_JSON, RN_LOG_INFO);
    struct rn_log *plain = new_log(RN_LOG_TEXT, RN_LOG_INFO);
    struct rn_env *env = rn_sim_env(sim);

    (void)state;
    for (int i = 0; i < 413; i++) {
        rn_log_seldom(json, &limit, RN_LOG_WARN, "full", RN_I64("i", i));
        env->ops->sleep(env, 1000000);
    }
    assert_non_null(strstr(written(), "\"msg\":\"full\",\"i\":0}\n"));
    assert_int_equal(atomic_load(&writes), 1);
    env->ops->sleep(env, 1000000000);
    rn_log_seldom(json, &limit, RN_LOG_WARN, "full", RN_I64("i", 413));
    assert_non_null(strstr(written(), "\"i\":413,\"more\":412}\n"));
    rn_log_seldom(plain, &limit, RN_LOG_WARN, "full");
    env->ops->sleep(env, 1000000000);
    rn_log_seldom(plain, &limit, RN_LOG_WARN, "full");
    assert_non_null(strstr(written(), " warn  full ...and 1 more\n"));
    env->ops->sleep(env, 1000000000);
    rn_log_seldom(plain, &limit, RN_LOG_WARN, "full");
    assert_non_null(strstr(written(), " warn  full\n"));
    /* a level nobody wants does not count */
    rn_log_seldom(plain, &limit, RN_LOG_DEBUG, "full");
    assert_int_equal(limit.held, 0);
    rn_log_free(json);
    rn_log_free(plain);
}

static struct rn_log_limit shared = RN_LOG_LIMIT_INIT(3600000);

static void *repeat(void *context)
{
    for (int i = 0; i < 10000; i++)
        rn_log_seldom(context, &shared, RN_LOG_WARN, "again");
    return NULL;
}

static void of_many_threads_one_gets_through(void **state)
{
    struct rn_log *log =
        rn_log_new(rn_env_real(), fd, RN_LOG_JSON, RN_LOG_INFO);
    pthread_t threads[THREADS];
    uint64_t logged = 0;
    const char *more;

    (void)state;
    assert_non_null(log);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, repeat, log), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&writes), 1);
    /* those that came while the one was on its way are in its own line */
    more = strstr(written(), "\"more\":");
    if (more)
        logged = strtoull(more + strlen("\"more\":"), NULL, 10);
    assert_int_equal(atomic_load(&shared.held) + logged, THREADS * 10000 - 1);
    rn_log_free(log);
}

/* ---- a reader that does not read ----------------------------------------- */

/* Reads what is in the pipe and goes on coming, up to a line with `last`. */
static size_t read_pipe(int from, const char *last)
{
    size_t len = 0;

    do {
        ssize_t n = read(from, text + len, sizeof(text) - 1 - len);
        assert_true(n > 0);
        len += (size_t)n;
        text[len] = '\0';
    } while (!strstr(text, last) || text[len - 1] != '\n');
    return len;
}

static void nobody_waits_for_a_reader_that_does_not_read(void **state)
{
    char long_value[3000];

    (void)state;
    memset(long_value, 'x', sizeof(long_value));
    for (int is_socket = 0; is_socket < 2; is_socket++) {
        enum { MANY = 1000 };
        char count[64];
        struct rn_log *log;
        uint64_t lost;
        long expected = 0;
        int ends[2];

        assert_int_equal(is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends)
                                   : pipe(ends),
                         0);
        log = rn_log_new(rn_env_real(), ends[1], RN_LOG_JSON, RN_LOG_INFO);
        assert_non_null(log);
        for (int i = 0; i < MANY; i++) {
            rn_log_info(
                log, "line", RN_I64("number", i),
                RN_STR("filler", rn_view_of(long_value, sizeof(long_value))));
        }
        lost = rn_log_lost(log);
        assert_true(lost > 0 && lost < MANY);
        snprintf(count, sizeof(count), "were lost\",\"lines\":%u}",
                 (unsigned)lost);
        /* the task brings the rest without another line being logged */
        (void)read_pipe(ends[0], count);
        for (const char *at = text;
             !strstr(at, "were lost") || strstr(at, "number");) {
            const char *next = strchr(at, '\n') + 1;
            const char *number = strstr(at, "\"number\":");
            assert_is_json_line(at, (size_t)(next - at));
            assert_true(number && number < next);
            assert_int_equal(strtol(number + 9, NULL, 10), expected++);
            at = next;
        }
        assert_int_equal(expected, MANY - (long)lost);
        rn_log_info(log, "after");
        (void)read_pipe(ends[0], "\"after\"}");
        assert_null(strstr(text, "lost"));
        rn_log_free(log);
        close(ends[0]);
        close(ends[1]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_json_line_has_time_level_message_and_fields),
        TEST(a_text_line_quotes_only_what_needs_it),
        TEST(numbers_read_back_the_same),
        TEST(levels_beyond_the_wanted_are_silent),
        TEST(no_logger_is_silence),
        TEST(nothing_in_a_value_can_end_or_forge_a_line),
        TEST(any_bytes_make_a_whole_line),
        TEST(a_line_may_fill_up_anywhere),
        TEST(what_does_not_fit_is_cut_and_marked),
        TEST(a_line_is_one_write_but_goes_on_if_it_must),
        TEST(lines_of_many_threads_do_not_mix),
        TEST(repeats_are_counted_not_logged),
        TEST(of_many_threads_one_gets_through),
        TEST(nobody_waits_for_a_reader_that_does_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
