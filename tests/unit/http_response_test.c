/* http_response_test.c -- an answer is exactly the bytes that were meant.
 *
 * Answers are compared whole, as text; a value that could begin a header of its
 * own must make the answer fail, wherever in the value the byte stands.
 */
#include "http/response.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void assert_text(const struct rn_buf *out, const char *text)
{
    assert_int_equal(out->len, strlen(text));
    assert_memory_equal(out->at, text, out->len);
}

static void answers_are_framed_by_request_and_status(void **state)
{
    static const struct {
        enum rn_http_method method;
        bool is_1_0, keep_alive;
        int status;
        const char *body, *text;
    } cases[] = {
        { RN_HTTP_GET, false, true, 200, "hello",
          "HTTP/1.1 200 OK\r\na: b\r\nlsn: 42\r\ncontent-length: 5\r\n\r\n"
          "hello" },
        { RN_HTTP_POST, false, true, 201, "",
          "HTTP/1.1 201 Created\r\na: b\r\nlsn: 42\r\n"
          "content-length: 0\r\n\r\n" },
        { RN_HTTP_HEAD, false, true, 200, "hello",
          "HTTP/1.1 200 OK\r\na: b\r\nlsn: 42\r\ncontent-length: 5\r\n\r\n" },
        { RN_HTTP_DELETE, false, true, 204, "",
          "HTTP/1.1 204 No Content\r\na: b\r\nlsn: 42\r\n\r\n" },
        { RN_HTTP_GET, false, true, 304, "never sent",
          "HTTP/1.1 304 Not Modified\r\na: b\r\nlsn: 42\r\n\r\n" },
        { RN_HTTP_GET, false, false, 400, "x",
          "HTTP/1.1 400 Bad Request\r\na: b\r\nlsn: 42\r\n"
          "content-length: 1\r\nconnection: close\r\n\r\nx" },
        { RN_HTTP_GET, true, true, 449, "x",
          "HTTP/1.1 449 Retry With\r\na: b\r\nlsn: 42\r\n"
          "content-length: 1\r\nconnection: keep-alive\r\n\r\nx" },
        { RN_HTTP_GET, true, false, 599, "x",
          "HTTP/1.1 599 \r\na: b\r\nlsn: 42\r\n"
          "content-length: 1\r\nconnection: close\r\n\r\nx" },
    };

    struct rn_http_response res = { 0 }; /* one for all of them */

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_http_request req = { .method = cases[i].method,
                                       .is_1_0 = cases[i].is_1_0,
                                       .keep_alive = cases[i].keep_alive };
        struct rn_buf out = RN_BUF_INIT(1000), again = RN_BUF_INIT(1000);
        struct rn_view head, body;

        rn_http_response_init(&res, &req);
        res.status = cases[i].status;
        res.body = rn_view_text(cases[i].body);
        rn_http_response_add(&res, RN_LIT("a"), RN_LIT("b"));
        rn_http_response_add_number(&res, RN_LIT("lsn"), 42);
        assert_int_equal(rn_http_response_print(&res, &out), RN_OK);
        assert_text(&out, cases[i].text);
        assert_int_equal(rn_http_response_parts(&res, &head, &body), RN_OK);
        assert_int_equal(rn_buf_add(&again, head), RN_OK);
        assert_int_equal(rn_buf_add(&again, body), RN_OK);
        assert_text(&again, cases[i].text);
        rn_buf_release(&out);
        rn_buf_release(&again);
    }
    rn_http_response_release(&res);
}

static void without_a_request_the_answer_closes(void **state)
{
    struct rn_buf out = RN_BUF_INIT(1000);
    struct rn_http_response res = { 0 };

    (void)state;
    rn_http_response_init(&res, NULL);
    res.status = 431;
    assert_int_equal(rn_http_response_print(&res, &out), RN_OK);
    assert_text(&out, "HTTP/1.1 431 Request Header Fields Too Large\r\n"
                      "content-length: 0\r\nconnection: close\r\n\r\n");
    rn_buf_release(&out);
    rn_http_response_release(&res);
}

static void a_value_cannot_begin_another_header(void **state)
{
    struct rn_http_request req = { .keep_alive = true };
    struct rn_http_response res = { 0 };
    struct rn_buf out = RN_BUF_INIT(1000);

    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        bool is_bad = (byte < 32 && byte != '\t') || byte == 127;
        for (size_t place = 0; place < 20; place++) {
            char value[20];
            enum rn_code rc;

            memset(value, 'v', sizeof(value));
            value[place] = (char)byte;
            rn_buf_clear(&out);
            assert_int_equal(rn_buf_add(&out, RN_LIT("before")), RN_OK);
            rn_http_response_init(&res, &req);
            rn_http_response_add(&res, RN_LIT("x"),
                                 rn_view_of(value, sizeof(value)));
            rn_http_response_add(&res, RN_LIT("y"), RN_LIT("fine"));
            rc = rn_http_response_print(&res, &out);
            assert_int_equal(rc, is_bad ? RN_BAD_REQUEST : RN_OK);
            if (is_bad)
                assert_text(&out, "before");
            rn_http_response_release(&res);
        }
    }
    rn_buf_release(&out);
}

static void ceilings_hold(void **state)
{
    static char big[RN_HTTP_RESPONSE_FIELDS_MAX];
    struct rn_http_request req = { .keep_alive = true };
    struct rn_http_response res = { 0 };
    struct rn_buf out = RN_BUF_INIT(100);

    (void)state;
    memset(big, 'b', sizeof(big));
    rn_http_response_init(&res, &req);
    res.body = rn_view_of(big, 62); /* and 39 before it */
    assert_int_equal(rn_http_response_print(&res, &out), RN_TOO_LARGE);
    assert_int_equal(out.len, 0);
    rn_http_response_add(&res, RN_LIT("big"), rn_view_of(big, sizeof(big)));
    out.ceiling = 1 << 20;
    assert_int_equal(rn_http_response_print(&res, &out), RN_TOO_LARGE);
    rn_http_response_release(&res);
    rn_http_response_init(&res, &req);
    assert_int_equal(rn_http_response_print(&res, &out), RN_OK);
    rn_buf_release(&out);
    rn_http_response_release(&res);
}

static void a_small_body_lies_behind_its_head(void **state)
{
    static char big[8192];
    struct rn_http_response res = { 0 };
    struct rn_view head, body;
    size_t small = 0;

    (void)state;
    for (size_t len = 0; len < sizeof(big); len++) {
        struct rn_buf out = RN_BUF_INIT(1 << 20);
        rn_http_response_init(&res, NULL);
        res.body = rn_view_of(big, len);
        assert_int_equal(rn_http_response_parts(&res, &head, &body), RN_OK);
        assert_true(body.len == 0 || (body.len == len && body.at == big));
        small += body.len == 0;
        assert_int_equal(rn_http_response_print(&res, &out), RN_OK);
        assert_int_equal(out.len, head.len + body.len);
        assert_memory_equal(out.at, head.at, head.len);
        rn_buf_release(&out);
    }
    assert_in_range(small, 2048, 4096);
    rn_http_response_release(&res);
}

static void numbers_are_printed_whole(void **state)
{
    struct rn_buf out = RN_BUF_INIT(1000);
    struct rn_http_response res = { 0 };

    (void)state;
    rn_http_response_init(&res, NULL);
    rn_http_response_add_number(&res, RN_LIT("a"), 0);
    rn_http_response_add_number(&res, RN_LIT("b"), UINT64_MAX);
    rn_http_response_add(&res, RN_LIT("c"), (struct rn_view){ 0 });
    assert_int_equal(rn_http_response_print(&res, &out), RN_OK);
    assert_text(&out, "HTTP/1.1 200 OK\r\na: 0\r\n"
                      "b: 18446744073709551615\r\nc: \r\n"
                      "content-length: 0\r\nconnection: close\r\n\r\n");
    rn_buf_release(&out);
    rn_http_response_release(&res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_framed_by_request_and_status),
        cmocka_unit_test(without_a_request_the_answer_closes),
        cmocka_unit_test(a_value_cannot_begin_another_header),
        cmocka_unit_test(ceilings_hold),
        cmocka_unit_test(a_small_body_lies_behind_its_head),
        cmocka_unit_test(numbers_are_printed_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
