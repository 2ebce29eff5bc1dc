/* http.c -- a POST for each call, by libcurl. */
#include "tools/trigger/http.h"

#include "base/env.h"
#include "tools/common/signals.h"
#include "tools/trigger/signature.h"

#include <curl/curl.h>
#include <stdio.h>

enum { CONNECT_MS = 10000, WAIT_MAX_S = 60 };

struct http {
    struct rn_handler handler;
    struct rn_http_options options;
    struct rn_slots *slots;
    CURL *all[]; /* one for each call at once: connections are kept */
};

void rn_http_begin(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

bool rn_http_is_url(const char *text)
{
    CURLU *url = curl_url();
    char *scheme = NULL, *host = NULL;
    bool is_url = url && !curl_url_set(url, CURLUPART_URL, text, 0) &&
                  !curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) &&
                  !curl_url_get(url, CURLUPART_HOST, &host, 0) &&
                  (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);

    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(url);
    return is_url;
}

/* ---- one request --------------------------------------------------------- */

static size_t drop(char *at, size_t size, size_t count, void *nothing)
{
    (void)at;
    (void)nothing;
    return size * count;
}

static int ask_cancelled(void *call, curl_off_t a, curl_off_t b, curl_off_t c,
                         curl_off_t d)
{
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return rn_handler_is_cancelled(call);
}

static bool add_header(struct curl_slist **list, const char *name,
                       const char *value)
{
    char line[640];
    struct curl_slist *longer;

    snprintf(line, sizeof(line), "%s: %s", name, value);
    longer = curl_slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

static bool add_headers(const struct http *h,
                        const struct rn_handler_call *call,
                        struct curl_slist **list)
{
    char signature[RN_SIGNATURE_TEXT_MAX];
    int64_t seconds = rn_wall_ms(rn_env_real()) / 1000;
    /* Without "Expect" a large body is sent at once. */
    bool is_good = add_header(list, "Content-Type", "application/json") &&
                   add_header(list, "Expect", "") &&
                   add_header(list, "Idempotency-Key", call->id);

    for (size_t i = 0; is_good && i < call->fact_count; i++) {
        if (call->facts[i].header)
            is_good =
                add_header(list, call->facts[i].header, call->facts[i].value);
    }
    if (is_good && h->options.signing_key.len) {
        is_good = !rn_signature_print(h->options.signing_key, seconds, call->id,
                                      call->body, signature) &&
                  add_header(list, "Runnel-Signature", signature);
    }
    return is_good;
}

static CURLcode post(const struct http *h, CURL *curl,
                     const struct rn_handler_call *call)
{
    struct curl_slist *headers = NULL;
    CURLcode rc = CURLE_OUT_OF_MEMORY;

    if (add_headers(h, call, &headers)) {
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body.at);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)call->body.len);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, call);
        rc = curl_easy_perform(curl);
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
    }
    curl_slist_free_all(headers);
    return rc;
}

/* ---- answers ------------------------------------------------------------- */

static bool is_distrust(CURLcode rc)
{
    return rc == CURLE_PEER_FAILED_VERIFICATION ||
           rc == CURLE_SSL_CACERT_BADFILE || rc == CURLE_SSL_ISSUER_ERROR;
}

static void judge_failure(CURLcode rc, struct rn_handler_answer *answer)
{
    if (is_distrust(rc)) {
        rn_handler_answer_set(answer, RN_ANSWER_BROKEN,
                              "the handler's certificate is not trusted: %s",
                              curl_easy_strerror(rc));
        return;
    }
    rn_handler_answer_set(answer, RN_ANSWER_RETRY,
                          "the handler does not answer: %s",
                          curl_easy_strerror(rc));
    answer->is_timeout = rc == CURLE_OPERATION_TIMEDOUT;
}

static void judge_status(long status, struct rn_handler_answer *answer)
{
    bool is_poison = status / 100 == 4 && status != 408 && status != 429;

    if (status / 100 == 2) {
        *answer = (struct rn_handler_answer){ .kind = RN_ANSWER_DONE };
    } else {
        rn_handler_answer_set(answer,
                              is_poison ? RN_ANSWER_POISON : RN_ANSWER_RETRY,
                              "the handler answered %ld", status);
    }
}

/* Waits as the handler asked for.  False: the call is given up. */
static bool wait_seconds(const struct rn_handler_call *call, curl_off_t seconds)
{
    struct rn_env *env = rn_env_real();
    int64_t until =
        rn_mono_ns(env) +
        (seconds < WAIT_MAX_S ? (int64_t)seconds : WAIT_MAX_S) * 1000000000;

    while (rn_mono_ns(env) < until) {
        if (rn_handler_is_cancelled(call) || rn_interrupted())
            return false;
        env->ops->sleep(env, (int64_t)RN_HANDLER_SLICE_MS * 1000000);
    }
    return true;
}

static void call_http(struct rn_handler *handler,
                      const struct rn_handler_call *call,
                      struct rn_handler_answer *answer)
{
    struct http *h = (struct http *)handler;
    uint32_t slot = rn_slots_take(h->slots);
    CURL *curl = h->all[slot];
    curl_off_t wait_s;
    long status;

    do {
        CURLcode rc = post(h, curl, call);
        wait_s = 0;
        if (rc) {
            judge_failure(rc, answer);
            break;
        }
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        judge_status(status, answer);
        if (status == 429 || status == 503)
            curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait_s);
    } while (wait_s > 0 && wait_seconds(call, wait_s));
    rn_slots_give(h->slots, slot);
}

static void close_http(struct rn_handler *handler)
{
    struct http *h = (struct http *)handler;

    for (uint32_t i = 0; i < h->options.count; i++)
        curl_easy_cleanup(h->all[i]);
    rn_slots_free(h->slots);
    rn_free(h);
}

static CURL *new_curl(const struct rn_http_options *o)
{
    CURL *curl = curl_easy_init();

    if (!curl)
        return NULL;
    curl_easy_setopt(curl, CURLOPT_URL, o->url);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "runnel-trigger");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)o->timeout_ms);
    curl_easy_setopt(
        curl, CURLOPT_CONNECTTIMEOUT_MS,
        (long)(o->timeout_ms < CONNECT_MS ? o->timeout_ms : CONNECT_MS));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ask_cancelled);
    if (o->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, o->ca_file);
    return curl;
}

struct rn_handler *rn_http_new(const struct rn_http_options *options)
{
    struct http *h = rn_new(sizeof(*h) + options->count * sizeof(h->all[0]));
    bool is_good;

    if (!h)
        return NULL;
    h->handler = (struct rn_handler){ .call = call_http, .close = close_http };
    h->options = *options;
    h->slots = rn_slots_new(options->count);
    is_good = h->slots != NULL;
    for (uint32_t i = 0; is_good && i < options->count; i++) {
        h->all[i] = new_curl(options);
        is_good = h->all[i] != NULL;
    }
    if (is_good)
        return &h->handler;
    close_http(&h->handler);
    return NULL;
}
