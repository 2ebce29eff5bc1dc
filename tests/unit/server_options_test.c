/* server_options_test.c -- every option, from every source.
 *
 * One table repeats what options.h promises: each option's default, a good
 * value as each source spells it, and bad ones.  An option that is missing here
 * is noticed by the help, which must list exactly these.
 */
#include "server/options.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define AT(member) offsetof(struct rn_options, member)
#define TEXT_DEFAULT(t) .is_text = true, .text = (t)
#define FLAG .is_flag = true

static const struct known {
    const char *name;
    const char *variable;
    size_t offset;
    bool is_text, is_flag;
    const char *text; /* default */
    uint64_t number;  /* default */
    const char *good; /* another value */
    uint64_t good_number;
    const char *least, *most, *below, *above; /* of a number */
} known[] = {
    { "config", "CONFIG", AT(config), TEXT_DEFAULT(NULL) },
    { "listen", "LISTEN", AT(listen), TEXT_DEFAULT("localhost:8081"),
      .good = "[::1]:99" },
    { "data", "DATA", AT(data), TEXT_DEFAULT("runnel-data"), .good = "/d" },
    { "store", "STORE", AT(store), TEXT_DEFAULT("local"), .good = "mem" },
    { "seed", "SEED", AT(seed), TEXT_DEFAULT(NULL), .good = "/s" },
    { "advertise", "ADVERTISE", AT(advertise), TEXT_DEFAULT(NULL),
      .good = "https://h:1/" },
    { "consistency", "CONSISTENCY", AT(consistency), TEXT_DEFAULT("Session"),
      .good = "Strong" },
    { "ranges", "RANGES", AT(ranges), .number = 0, .good = "7",
      .good_number = 7, .least = "0", .most = "1024", .above = "1025" },
    { "tls-cert", "TLS_CERT", AT(tls_cert), TEXT_DEFAULT(NULL), .good = "c" },
    { "tls-key", "TLS_KEY", AT(tls_key), TEXT_DEFAULT(NULL), .good = "k" },
    { "metrics-token-file", "METRICS_TOKEN_FILE", AT(metrics_token_file),
      TEXT_DEFAULT(NULL), .good = "t" },
    { "admin", "ADMIN", AT(admin), FLAG },
    { "any-order", "ANY_ORDER", AT(any_order), FLAG },
    { "no-auto-tls", "NO_AUTO_TLS", AT(no_auto_tls), FLAG },
    { "strict", "STRICT", AT(strict), FLAG },
    { "latency-ms", "LATENCY_MS", AT(latency_ms), .number = 0, .good = "20",
      .good_number = 20, .least = "0", .most = "60000", .above = "60001" },
    { "test-mode", "TEST_MODE", AT(test_mode), FLAG },
    { "enforce-throughput", "ENFORCE_THROUGHPUT", AT(enforce_throughput),
      FLAG },
    { "allow-well-known-key-on-network", "ALLOW_WELL_KNOWN_KEY_ON_NETWORK",
      AT(allow_well_known_key), FLAG },
    { "allow-plain-http-on-network", "ALLOW_PLAIN_HTTP_ON_NETWORK",
      AT(allow_plain_http), FLAG },
    { "user", "USER", AT(user), TEXT_DEFAULT(NULL), .good = "nobody" },
    { "allow-root", "ALLOW_ROOT", AT(allow_root), FLAG },
    { "log-format", "LOG_FORMAT", AT(log_format), TEXT_DEFAULT("auto"),
      .good = "text" },
    { "log-level", "LOG_LEVEL", AT(log_level), TEXT_DEFAULT("info"),
      .good = "debug" },
    { "log-requests", "LOG_REQUESTS", AT(log_requests), FLAG },
    { "slow-ms", "SLOW_MS", AT(slow_ms), .number = 100, .good = "5",
      .good_number = 5, .least = "0", .most = "3600000", .above = "3600001" },
    { "loops", "LOOPS", AT(loops), .number = 0, .good = "3", .good_number = 3,
      .least = "0", .most = "64", .above = "65" },
    { "workers", "WORKERS", AT(workers), .number = 2, .good = "9",
      .good_number = 9, .least = "1", .most = "64", .below = "0",
      .above = "65" },
    { "queries-max", "QUERIES_MAX", AT(queries_max), .number = 16, .good = "20",
      .good_number = 20, .least = "1", .most = "256", .below = "0",
      .above = "257" },
    { "queries-waiting-max", "QUERIES_WAITING_MAX", AT(queries_waiting_max),
      .number = 1000, .good = "5", .good_number = 5, .least = "1",
      .most = "1000000", .below = "0", .above = "1000001" },
    { "query-ms", "QUERY_MS", AT(query_ms), .number = 30000, .good = "500",
      .good_number = 500, .least = "100", .most = "3600000", .below = "99",
      .above = "3600001" },
    { "connections-max", "CONNECTIONS_MAX", AT(connections_max),
      .number = 10000, .good = "17", .good_number = 17, .least = "1",
      .most = "1000000", .below = "0", .above = "1000001" },
    { "connections-per-address", "CONNECTIONS_PER_ADDRESS",
      AT(connections_per_address), .number = 0, .good = "16", .good_number = 16,
      .least = "0", .most = "1000000", .above = "1000001" },
    { "auth-delay-ms", "AUTH_DELAY_MS", AT(auth_delay_ms), .number = 0,
      .good = "19", .good_number = 19, .least = "0", .most = "3600000",
      .above = "3600001" },
    { "requests-max", "REQUESTS_MAX", AT(requests_max), .number = 10000,
      .good = "18", .good_number = 18, .least = "1", .most = "4000000000",
      .below = "0", .above = "4000000001" },
    { "body-bytes-max", "BODY_BYTES_MAX", AT(body_bytes_max), .number = 4 << 20,
      .good = "2M", .good_number = 2 << 20, .least = "1K", .most = "64M",
      .below = "1023", .above = "65M" },
    { "bodies-bytes-max", "BODIES_BYTES_MAX", AT(bodies_bytes_max),
      .number = 256 << 20, .good = "2M", .good_number = 2 << 20, .least = "1M",
      .most = "1024G", .below = "1023K", .above = "1025G" },
    { "head-ms", "HEAD_MS", AT(head_ms), .number = 10000, .good = "200",
      .good_number = 200, .least = "100", .most = "3600000", .below = "99",
      .above = "3600001" },
    { "idle-ms", "IDLE_MS", AT(idle_ms), .number = 120000, .good = "201",
      .good_number = 201, .least = "100", .most = "86400000", .below = "99",
      .above = "86400001" },
    { "stall-ms", "STALL_MS", AT(stall_ms), .number = 30000, .good = "202",
      .good_number = 202, .least = "100", .most = "3600000", .below = "99",
      .above = "3600001" },
    { "drain-ms", "DRAIN_MS", AT(drain_ms), .number = 5000, .good = "203",
      .good_number = 203, .least = "0", .most = "3600000", .above = "3600001" },
    { "reserve-bytes", "RESERVE_BYTES", AT(reserve_bytes), .number = 64 << 20,
      .good = "3g", .good_number = UINT64_C(3) << 30, .least = "1M",
      .most = "18446744073709551615", .below = "1048575",
      .above = "18446744073709551616" },
    { "wal-bytes", "WAL_BYTES", AT(wal_bytes), .number = 0, .good = "1G",
      .good_number = 1 << 30, .least = "96M", .most = "17179869183G",
      .below = "95M", .above = "17179869184G" },
    { "checkpoint-ms", "CHECKPOINT_MS", AT(checkpoint_ms), .number = 5000,
      .good = "204", .good_number = 204, .least = "100", .most = "3600000",
      .below = "99", .above = "3600001" },
};
enum { KNOWN = sizeof(known) / sizeof(known[0]), ARENA = 4 << 20 };

/* ---- reading ------------------------------------------------------------- */

static struct rn_arena arena;
static struct rn_options options;
static struct rn_err err;

static int clear(void **state)
{
    (void)state;
    rn_arena_release(&arena);
    return 0;
}

/* From texts, each NULL for none: an argument, a variable, a file. */
static enum rn_code read_from(const char *argument, const char *variable,
                              const char *file)
{
    char *argv[] = { (char *)"serve", NULL, NULL, NULL };
    char *environment[] = { (char *)"PATH=/bin", NULL, NULL };
    char config[300];
    int argc = 1;

    rn_arena_release(&arena);
    arena = RN_ARENA_INIT(ARENA);
    err = (struct rn_err){ 0 };
    snprintf(config, sizeof(config), "--config=%s", file ? file : "");
    if (file)
        argv[argc++] = rn_arena_alloc(&arena, sizeof(config));
    if (file)
        memcpy(argv[argc - 1], config, sizeof(config));
    if (argument)
        argv[argc++] = (char *)argument;
    if (variable)
        environment[1] = (char *)variable;
    return rn_options_read(argc, argv, environment, &arena, &options, &err);
}

static const char *write_file(const char *text)
{
    static char path[] = "/tmp/options_test_XXXXXX";
    int fd;

    memset(strchr(path, '\0') - 6, 'X', 6);
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static enum rn_code read_file(const char *argument, const char *variable,
                              const char *text)
{
    const char *path = write_file(text);
    enum rn_code rc = read_from(argument, variable, path);

    unlink(path);
    return rc;
}

static const void *member(const struct known *k)
{
    return (const char *)&options + k->offset;
}

static void assert_text(const struct known *k, const char *text)
{
    const char *got;

    memcpy(&got, member(k), sizeof(got));
    if (text)
        assert_string_equal(got, text);
    else
        assert_null(got);
}

static void assert_is(const struct known *k, const char *text, uint64_t number)
{
    if (k->is_text)
        assert_text(k, text);
    else if (k->is_flag)
        assert_int_equal(*(const bool *)member(k), number);
    else
        assert_int_equal(*(const uint64_t *)member(k), number);
}

static void assert_good(const struct known *k)
{
    assert_is(k, k->good, k->is_flag ? 1 : k->good_number);
}

static void assert_refused(enum rn_code rc, const char *name)
{
    assert_int_equal(rc, RN_BAD_REQUEST);
    if (!strstr(err.text, name))
        fail_msg("'%s' does not name %s", err.text, name);
}

/* ---- each source --------------------------------------------------------- */

static void every_option_has_its_default(void **state)
{
    (void)state;
    assert_int_equal(read_from(NULL, NULL, NULL), RN_OK);
    for (size_t i = 0; i < KNOWN; i++)
        assert_is(&known[i], known[i].text, known[i].number);
}

static void every_option_is_read_from_the_command_line(void **state)
{
    char text[200];

    (void)state;
    for (size_t i = 1; i < KNOWN; i++) {
        const struct known *k = &known[i];

        snprintf(text, sizeof(text), "--%s=%s", k->name,
                 k->is_flag ? "true" : k->good);
        assert_int_equal(read_from(text, NULL, NULL), RN_OK);
        assert_good(k);
    }
}

static void a_value_may_be_an_argument_of_its_own(void **state)
{
    char *argv[] = { (char *)"serve",        (char *)"--admin",
                     (char *)"--head-ms",    (char *)"300",
                     (char *)"--data",       (char *)"--odd",
                     (char *)"--admin=false" };
    char *environment[] = { NULL };

    (void)state;
    arena = RN_ARENA_INIT(ARENA);
    assert_int_equal(
        rn_options_read(7, argv, environment, &arena, &options, &err), RN_OK);
    assert_int_equal(options.head_ms, 300);
    assert_string_equal(options.data, "--odd");
    assert_false(options.admin); /* the last one holds */
}

static void every_option_is_read_from_the_environment(void **state)
{
    char text[200];

    (void)state;
    for (size_t i = 1; i < KNOWN; i++) {
        const struct known *k = &known[i];

        snprintf(text, sizeof(text), "RUNNEL_%s=%s", k->variable,
                 k->is_flag ? "1" : k->good);
        assert_int_equal(read_from(NULL, text, NULL), RN_OK);
        assert_good(k);
    }
}

static void an_old_name_is_accepted_everywhere_and_not_in_the_help(void **state)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);

    (void)state;
    assert_int_equal(read_from("--log-bytes=128M", NULL, NULL), RN_OK);
    assert_int_equal(options.wal_bytes, 128 << 20);
    assert_int_equal(read_from(NULL, "RUNNEL_LOG_BYTES=129M", NULL), RN_OK);
    assert_int_equal(options.wal_bytes, 129 << 20);
    assert_false(rn_options_is_stray("RUNNEL_LOG_BYTES=129M"));
    assert_int_equal(read_file(NULL, NULL, "{\"log-bytes\": \"130M\"}"), RN_OK);
    assert_int_equal(options.wal_bytes, 130 << 20);
    assert_refused(read_from("--log-bytes=1M", NULL, NULL), "wal-bytes");
    assert_non_null(to);
    rn_options_print_help(to);
    fclose(to);
    assert_null(strstr(text, "log-bytes"));
    free(text);
}

static void other_variables_are_nobodys_business(void **state)
{
    static const char *const others[] = {
        "RUNNEL_",           "RUNNEL",          "RUNNEL_DEV=1",
        "RUNNEL_LISTENER=x", "RUNNEL_listen=x", "LISTEN=x"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(read_from(NULL, others[i], NULL), RN_OK);
        assert_string_equal(options.listen, "localhost:8081");
    }
}

static void a_variable_that_sets_nothing_is_a_stray(void **state)
{
    static const char *const strays[] = { "RUNNEL_LISTENER=x",
                                          "RUNNEL_listen=x", "RUNNEL_LISTEN",
                                          "RUNNEL_=", "RUNNEL_PORTS=1" };
    static const char *const others[] = {
        "RUNNEL_LISTEN=x",
        "RUNNEL_LOG_FORMAT=",
        "RUNNEL=x",
        "PATH=/bin",
        "MY_RUNNEL_DATA=x",
        "RUNNEL_PORT=tcp://10.0.0.1:8081",
        "RUNNEL_PORT_8081_TCP_ADDR=10.0.0.1",
        "RUNNEL_SERVICE_HOST=10.0.0.1",
        "RUNNEL_ACCOUNT=http://localhost:8081/",
        "RUNNEL_KEY=x",
        "RUNNEL_DB=x",
        "RUNNEL_CONTAINER=x",
        "RUNNEL_CA_FILE=x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(strays) / sizeof(strays[0]); i++)
        assert_true(rn_options_is_stray(strays[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(rn_options_is_stray(others[i]));
}

static void every_option_is_read_from_the_file(void **state)
{
    char text[200];

    (void)state;
    for (size_t i = 1; i < KNOWN; i++) {
        const struct known *k = &known[i];

        snprintf(text, sizeof(text),
                 k->is_flag ? "{\"%s\":%s}" : "{\"%s\":\"%s\"}", k->name,
                 k->is_flag ? "true" : k->good);
        assert_int_equal(read_file(NULL, NULL, text), RN_OK);
        assert_good(k);
        if (k->is_text || k->is_flag)
            continue;
        snprintf(text, sizeof(text), "{\"%s\":%" PRIu64 "}", k->name,
                 k->good_number);
        assert_int_equal(read_file(NULL, NULL, text), RN_OK);
        assert_good(k);
    }
}

static void the_command_line_beats_the_environment_beats_the_file(void **state)
{
    (void)state;
    assert_int_equal(read_file("--data=a", "RUNNEL_DATA=b", "{\"data\":\"c\"}"),
                     RN_OK);
    assert_string_equal(options.data, "a");
    assert_int_equal(read_file(NULL, "RUNNEL_DATA=b", "{\"data\":\"c\"}"),
                     RN_OK);
    assert_string_equal(options.data, "b");
    assert_int_equal(read_file(NULL, NULL, "{\"data\":\"c\"}"), RN_OK);
    assert_string_equal(options.data, "c");
    assert_int_equal(read_file("--admin=false", NULL, "{\"admin\":true}"),
                     RN_OK);
    assert_false(options.admin);
}

static void the_environment_may_name_the_file(void **state)
{
    const char *path = write_file("{\"head-ms\":321}");
    char text[200];

    (void)state;
    snprintf(text, sizeof(text), "RUNNEL_CONFIG=%s", path);
    assert_int_equal(read_from(NULL, text, NULL), RN_OK);
    unlink(path);
    assert_int_equal(options.head_ms, 321);
}

/* ---- refusals ------------------------------------------------------------ */

static void limits_hold_at_both_ends(void **state)
{
    char text[200];

    (void)state;
    for (size_t i = 0; i < KNOWN; i++) {
        const struct known *k = &known[i];
        const char *const values[] = { k->least, k->most, k->below, k->above };

        for (int v = 0; v < 4; v++) {
            enum rn_code rc;
            if (!values[v])
                continue;
            snprintf(text, sizeof(text), "--%s=%s", k->name, values[v]);
            rc = read_from(text, NULL, NULL);
            if (v < 2)
                assert_int_equal(rc, RN_OK);
            else
                assert_refused(rc, k->name);
        }
    }
}

static void what_is_no_number_is_refused_by_name(void **state)
{
    static const char *const bad[] = { "",
                                       " 200",
                                       "200 ",
                                       "-200",
                                       "+200",
                                       "0x9",
                                       "2e2",
                                       "200T",
                                       "2MM",
                                       "2.0",
                                       "99999999999999999999999" };
    char text[200];

    (void)state;
    for (size_t i = 0; i < KNOWN; i++) {
        const struct known *k = &known[i];

        for (size_t n = 0; !k->is_text && n < sizeof(bad) / sizeof(bad[0]);
             n++) {
            snprintf(text, sizeof(text), "--%s=%s", k->name, bad[n]);
            assert_refused(read_from(text, NULL, NULL), k->name);
            snprintf(text, sizeof(text), "RUNNEL_%s=%s", k->variable, bad[n]);
            assert_refused(read_from(NULL, text, NULL), k->name);
            snprintf(text, sizeof(text), "{\"%s\":\"%s\"}", k->name, bad[n]);
            assert_refused(read_file(NULL, NULL, text), k->name);
        }
    }
}

static void a_size_has_a_suffix_and_a_time_has_none(void **state)
{
    (void)state;
    assert_int_equal(read_from("--body-bytes-max=2k", NULL, NULL), RN_OK);
    assert_int_equal(options.body_bytes_max, 2048);
    assert_refused(read_from("--head-ms=1K", NULL, NULL), "head-ms");
}

static void a_value_of_the_wrong_kind_in_the_file_is_refused(void **state)
{
    static const char *const kinds[] = { "null", "{}", "[]", "[1]",
                                         "{\"a\":1}" };
    char text[200];

    (void)state;
    for (size_t i = 0; i < KNOWN; i++) {
        const struct known *k = &known[i];

        for (size_t n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
            snprintf(text, sizeof(text), "{\"%s\":%s}", k->name, kinds[n]);
            assert_refused(read_file(NULL, NULL, text), k->name);
        }
        snprintf(text, sizeof(text), "{\"%s\":%s}", k->name,
                 k->is_flag ? "17" : "true");
        assert_refused(read_file(NULL, NULL, text), k->name);
    }
    assert_refused(read_file(NULL, NULL, "{\"data\":\"a\\u0000b\"}"), "data");
}

static void what_is_no_option_is_refused_by_name(void **state)
{
    static const char *const arguments[] = { "--nothing",  "--nothing=1",
                                             "--",         "-v",
                                             "serve",      "--=1",
                                             "--Listen=x", "--log_format=x" };

    (void)state;
    for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
        const char *equals = strchr(arguments[i], '=');
        char name[40];

        snprintf(name, sizeof(name), "%.*s",
                 equals ? (int)(equals - arguments[i])
                        : (int)strlen(arguments[i]),
                 arguments[i]);
        assert_refused(read_from(arguments[i], NULL, NULL), name);
    }
    assert_refused(read_file(NULL, NULL, "{\"nothing\":1}"), "nothing");
    assert_refused(read_file(NULL, NULL, "{\"config\":\"/dev/null\"}"),
                   "config");
}

static void an_option_without_its_value_is_refused(void **state)
{
    (void)state;
    assert_refused(read_from("--listen", NULL, NULL), "--listen");
    assert_refused(read_from("--head-ms", NULL, NULL), "--head-ms");
}

/* Whether what is beyond is an option or a blank. */
static void a_file_is_read_in_whole_or_refused(void **state)
{
    static char text[(1 << 20) + 2];
    static const char first[] = "{\"store\":\"mem\"}";

    (void)state;
    memset(text, ' ', sizeof(text) - 1);
    memcpy(text, first, sizeof(first) - 1);
    assert_refused(read_file(NULL, NULL, text), "larger than 1 MiB");
    text[1 << 20] = '\0';
    assert_int_equal(read_file(NULL, NULL, text), RN_OK);
    assert_string_equal(options.store, "mem");
}

static void a_bad_file_is_refused_by_its_name(void **state)
{
    static const char *const texts[] = { "",        "{",     "[]",
                                         "7",       "{} {}", "{\"data\":\"x\"",
                                         "data = x" };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refused(read_file(NULL, NULL, texts[i]), "options_test_");
    assert_int_equal(read_from(NULL, NULL, "/nonexistent/file"), RN_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nonexistent/file"));
}

static void the_help_lists_exactly_these(void **state)
{
    char *text = NULL;
    size_t len = 0, count = 0;
    FILE *to = open_memstream(&text, &len);

    (void)state;
    assert_non_null(to);
    rn_options_print_help(to);
    fclose(to);
    for (const char *at = text; (at = strstr(at, "\n  --")); at++)
        count++;
    assert_int_equal(count + 1, KNOWN); /* the first follows no line */
    for (size_t i = 0; i < KNOWN; i++) {
        char name[80];
        snprintf(name, sizeof(name), "  --%s%s", known[i].name,
                 known[i].is_flag ? "\n" : " ");
        assert_non_null(strstr(text, name));
    }
    free(text);
}

#define TEST(f) cmocka_unit_test_teardown(f, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_option_has_its_default),
        TEST(every_option_is_read_from_the_command_line),
        TEST(a_value_may_be_an_argument_of_its_own),
        TEST(every_option_is_read_from_the_environment),
        TEST(an_old_name_is_accepted_everywhere_and_not_in_the_help),
        TEST(a_variable_that_sets_nothing_is_a_stray),
        TEST(other_variables_are_nobodys_business),
        TEST(every_option_is_read_from_the_file),
        TEST(the_command_line_beats_the_environment_beats_the_file),
        TEST(the_environment_may_name_the_file),
        TEST(limits_hold_at_both_ends),
        TEST(what_is_no_number_is_refused_by_name),
        TEST(a_size_has_a_suffix_and_a_time_has_none),
        TEST(a_value_of_the_wrong_kind_in_the_file_is_refused),
        TEST(what_is_no_option_is_refused_by_name),
        TEST(an_option_without_its_value_is_refused),
        TEST(a_file_is_read_in_whole_or_refused),
        TEST(a_bad_file_is_refused_by_its_name),
        TEST(the_help_lists_exactly_these),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
