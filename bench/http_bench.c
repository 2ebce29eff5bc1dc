/* http_bench.c -- how long reading a request and printing an answer take.
 *
 *   cmake --preset bench && cmake --build build/bench
 *   build/bench/bench/http_bench [seconds each]
 *
 * The request is one that the JavaScript SDK sends to create a document; each
 * round reads it from a buffer, as if one read(2) had brought it, and looks up
 * the headers that a handler looks at.
 */
#include "http/parse.h"
#include "http/response.h"
#include "http/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char request[] =
    "POST /dbs/Db%20One/colls/Coll/docs HTTP/1.1\r\n"
    "x-ms-documentdb-responsecontinuationtokenlimitinkb: 1\r\n"
    "x-ms-documentdb-query-enablecrosspartition: true\r\n"
    "Cache-Control: no-cache\r\n"
    "x-ms-version: 2020-07-15\r\n"
    "x-ms-cosmos-sdk-supportedcapabilities: 1\r\n"
    "x-ms-cosmos-allow-tentative-writes: true\r\n"
    "x-ms-useragent: azure-cosmos-js/4.9.3 (Linux; x64; Node.js v20.19.2)\r\n"
    "User-Agent: azure-cosmos-js/4.9.3 (Linux; x64; Node.js v20.19.2)\r\n"
    "x-ms-documentdb-partitionkey: [\"p1\"]\r\n"
    "x-ms-activity-id: 5a7d2f0e-0d0e-4d0a-9d3e-2f6d4b1c0a11\r\n"
    "x-ms-consistency-level: Session\r\n"
    "x-ms-session-token: 0:-1#12345678\r\n"
    "x-ms-date: Sun, 15 Nov 2026 20:23:10 GMT\r\n"
    "Content-Type: application/json\r\n"
    "Accept: application/json\r\n"
    "authorization: type%3Dmaster%26ver%3D1.0%26sig%3DK6HAUkp%2FYPNvyqVWv8P"
    "BKV8%2F3%2Bu08%2Bt3SCtQ%2F1ukMSg%3D\r\n"
    "Content-Length: 27\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
    "Host: localhost:8081\r\n"
    "Connection: keep-alive\r\n"
    "\r\n"
    "{\"id\":\"i1\",\"pk\":\"p1\",\"v\":1}";

static const char *const wanted[] = {
    "authorization",
    "x-ms-date",
    "x-ms-version",
    "x-ms-activity-id",
    "x-ms-documentdb-partitionkey",
    "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-documentdb-is-upsert",
    "x-ms-documentdb-isquery",
    "x-ms-documentdb-query",
    "x-ms-session-token",
    "x-ms-consistency-level",
    "x-ms-cosmos-is-batch-request",
    "content-type",
    "if-match",
    "if-none-match",
    "a-im",
    "prefer",
    "x-ms-indexing-directive",
    "x-ms-documentdb-pre-trigger-include",
    "x-ms-documentdb-post-trigger-include",
};

enum { BATCHES = 10000, ROUNDS = 200 };

struct bench {
    struct rn_http_reader reader;
    struct rn_buf out;
    struct rn_arena arena;
    size_t sum; /* so that nothing is optimised away */
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void read_request(struct bench *b)
{
    enum rn_http_step step;
    size_t len;
    char *at;

    must(rn_http_reader_buffer(&b->reader, &at, &len) == RN_OK);
    memcpy(at, request, sizeof(request) - 1);
    step = rn_http_reader_received(&b->reader, sizeof(request) - 1);
    must(step == RN_HTTP_DONE);
    b->sum += b->reader.request.body.len;
}

static void end_request(struct bench *b)
{
    must(rn_http_reader_next(&b->reader) == RN_HTTP_MORE);
}

static void do_read(struct bench *b)
{
    read_request(b);
    end_request(b);
}

static void do_read_and_look(struct bench *b)
{
    read_request(b);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        b->sum +=
            rn_http_header(&b->reader.request, rn_view_text(wanted[i])).len;
    end_request(b);
}

static void do_target(struct bench *b)
{
    struct rn_http_target t;

    rn_arena_clear(&b->arena);
    must(rn_http_target_parse(RN_LIT("/dbs/Db%20One/colls/Coll/docs"),
                              RN_HTTP_QUESTION_IS_NAME, &b->arena, &t,
                              NULL) == RN_OK);
    b->sum += t.segment_count;
}

static void do_answer(struct bench *b)
{
    static const struct rn_http_request req = { .keep_alive = true };
    static const char body[1024] = { 0 };
    struct rn_http_response res = { 0 };

    rn_buf_clear(&b->out);
    rn_http_response_init(&res, &req);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        rn_http_response_add(&res, rn_view_text(wanted[i]),
                             RN_LIT("0000d826-0000-0700-0000"));
    res.body = rn_view_of(body, sizeof(body));
    must(rn_http_response_print(&res, &b->out) == RN_OK);
    b->sum += b->out.len;
    rn_http_response_release(&res);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* CPU time, the median and the best of batches: other programs disturb. */
static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(struct bench *b, const char *name,
                    void (*round)(struct bench *), double seconds)
{
    static double batches[BATCHES];
    double begin = now();
    size_t n = 0;

    while (n < BATCHES && now() - begin < seconds * 1e9) {
        double start = now();
        for (int i = 0; i < ROUNDS; i++)
            round(b);
        batches[n++] = (now() - start) / ROUNDS;
    }
    qsort(batches, n, sizeof(batches[0]), by_time);
    printf("%-28s median %7.1f ns, best %7.1f ns\n", name, batches[n / 2],
           batches[0]);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    struct bench b = { .out = RN_BUF_INIT(1 << 20),
                       .arena = RN_ARENA_INIT(1 << 20) };

    rn_http_reader_init(&b.reader, &rn_http_limits_default);
    printf("a request of %zu bytes:\n", sizeof(request) - 1);
    measure(&b, "read", do_read, seconds);
    measure(&b, "read, 20 headers looked up", do_read_and_look, seconds);
    measure(&b, "target taken apart", do_target, seconds);
    measure(&b, "answer, 20 headers, 1 KB", do_answer, seconds);
    rn_http_reader_release(&b.reader);
    rn_buf_release(&b.out);
    rn_arena_release(&b.arena);
    return b.sum == 0;
}
