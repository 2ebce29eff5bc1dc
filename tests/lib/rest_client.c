/* rest_client.c -- see rest_client.h. */
#include "lib/rest_client.h"
#include "rest/serve.h"

#include "base/base64.h"
#include "base/clock.h"
#include "cosmos/account.h"
#include "cosmos/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { KEY_MAX = 128, TEXT_MAX = 4096 };

void rest_client_open(struct rest_client *a, struct rn_env *env,
                      struct rn_engine *engine)
{
    struct rn_rest_opts opts = { .env = env,
                                 .engine = engine,
                                 .consistency = "Session",
                                 .well_known_key = true,
                                 .loopback_only = true };
    struct rn_err err = { 0 };
    unsigned char key[KEY_MAX];
    size_t len;

    memset(a, 0, sizeof(*a));
    a->env = env;
    assert_int_equal(rn_rest_open(&opts, &a->rest, &err), RN_OK);
    assert_int_equal(rn_base64_decode(RN_LIT(RN_ACCOUNT_EMULATOR_KEY),
                                      RN_BASE64_STANDARD, key, sizeof(key),
                                      &len),
                     RN_OK);
    assert_int_equal(rn_signer_new(rn_view_of(key, len), &a->signer), RN_OK);
}

void rest_client_close(struct rest_client *a)
{
    rn_rest_close(a->rest);
    rn_signer_free(a->signer);
}

static size_t print(struct rest_client *a, const struct rest_request *what,
                    char *out)
{
    char date[RN_DATE_TEXT_MAX], auth[RN_AUTH_TEXT_MAX], link[256];
    unsigned char signature[RN_SIGNATURE_LEN];
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX);
    struct rn_sign_parts parts = {
        .verb = rn_view_text(what->verb),
        .word = RN_LIT("docs"),
        .x_date = rn_date_print(rn_wall_ms(a->env) / 1000, date),
    };
    const char *body = what->body ? what->body : "";
    int len;

    snprintf(link, sizeof(link), "%s%s%s", what->link, what->id ? "/docs/" : "",
             what->id ? what->id : "");
    parts.link = rn_view_text(link);
    assert_int_equal(rn_sign_print(&parts, &text), RN_OK);
    assert_int_equal(rn_signer_sign(a->signer, rn_buf_view(&text), signature),
                     RN_OK);
    rn_buf_release(&text);
    len = snprintf(out, TEXT_MAX,
                   "%s /%s%s HTTP/1.1\r\nHost: localhost\r\n"
                   "x-ms-version: 2018-12-31\r\nx-ms-date: %.*s\r\n"
                   "Authorization: %.*s\r\nContent-Length: %zu\r\n%s\r\n%s",
                   what->verb, link, what->id ? "" : "/docs",
                   RN_FMT(parts.x_date), RN_FMT(rn_auth_print(signature, auth)),
                   strlen(body), what->more ? what->more : "", body);
    assert_true(len > 0 && len < TEXT_MAX);
    return (size_t)len;
}

enum rn_rest_step rest_client_begin(struct rest_client *a,
                                    const struct rest_request *what)
{
    char text[TEXT_MAX], *at;
    size_t len = print(a, what, text), room;

    rn_http_reader_init(&a->reader, &rn_http_limits_default);
    assert_int_equal(rn_http_reader_buffer(&a->reader, &at, &room), RN_OK);
    assert_true(room >= len);
    memcpy(at, text, len);
    assert_int_equal(rn_http_reader_received(&a->reader, len), RN_HTTP_DONE);
    rn_call_init(&a->call, a->rest, &a->reader.request);
    a->call.is_loopback = true;
    a->call.begun_ns = rn_mono_ns(a->env);
    rn_http_response_init(&a->call.res, a->call.req);
    return rn_rest_serve(&a->call);
}

void rest_client_header(struct rest_client *a, const char *name, char *out,
                        size_t room)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    char line[64];
    const char *at;

    assert_int_equal(rn_http_response_print(&a->call.res, &text), RN_OK);
    assert_int_equal(rn_buf_add(&text, rn_view_of("", 1)), RN_OK);
    snprintf(line, sizeof(line), "\r\n%s: ", name);
    at = strstr(text.at, line);
    *out = 0;
    if (at) {
        at += strlen(line);
        snprintf(out, room, "%.*s", (int)strcspn(at, "\r"), at);
    }
    rn_buf_release(&text);
}

void rest_client_end(struct rest_client *a)
{
    rn_call_release(&a->call);
    rn_http_reader_release(&a->reader);
}
