/* curl.c -- the libcurl transport; see curl.h.
 *
 * A transport is a multi handle.  Each exchange in progress has an easy handle,
 * which is kept for the next exchange.
 */
#include "client/http/curl.h"

#include "cosmos/header.h"

#include <assert.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    MAX_CONNECTIONS = 256, /* kept open, idle or waiting, by one transport */
    RECEIVE_BYTES = 64 << 10,
    RESERVE_MAX = 8 << 20, /* for an answer that only says its length */
    NS_PER_MS = 1000 * 1000,
};

struct curl_network {
    struct rn_network base;
    char *ca_file, *proxy;
    bool insecure_tls;
    long connect_timeout_ms;
};

/* One easy handle and what it carries. */
struct carrier {
    CURL *easy;
    struct curl_slist *headers;
    struct rn_exchange *x; /* NULL: idle */
    struct curl_transport *transport;
    struct carrier *next, *previous; /* idle ones are linked by `next` alone */
    enum rn_code receive_rc;         /* why the answer could not be stored */
    unsigned sends;                  /* how often libcurl started to send */
    char words[CURL_ERROR_SIZE];
};

struct curl_transport {
    struct rn_transport base;
    struct curl_network *network;
    CURLM *multi;
    struct carrier *busy, *idle;
    struct rn_exchange *failed; /* could not be started; done at next step */
};

static struct curl_transport *of(struct rn_transport *t)
{
    return (struct curl_transport *)(void *)t;
}

/* ---- what libcurl calls -------------------------------------------------- */

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct carrier *c = context;
    struct rn_buf *answer = &c->x->answer;
    curl_off_t length = 0;

    /* Room for all at once, unless the server only says that it is much. */
    if (answer->len == 0 &&
        curl_easy_getinfo(c->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
                          &length) == CURLE_OK &&
        length > 0 && length <= RESERVE_MAX)
        (void)!rn_buf_reserve(answer, (size_t)length);
    c->receive_rc = rn_buf_add(answer, rn_view_of(bytes, size * count));
    return c->receive_rc ? 0 : size * count;
}

/* Takes a line of the head, or of the head of an interim answer before it. */
static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
    struct carrier *c = context;
    struct rn_view line = rn_view_of(bytes, size * count);
    const char *colon = memchr(line.at, ':', line.len);
    char name[128];
    size_t at;
    runnel_code rc;

    if (rn_view_starts(line, RN_LIT("HTTP/"))) {
        rn_headers_clear(&c->x->answer_headers);
        return line.len;
    }
    while (line.len > 0 && (unsigned char)line.at[line.len - 1] <= ' ')
        line.len--;
    if (!colon || (size_t)(colon - line.at) >= sizeof(name))
        return size * count;
    snprintf(name, sizeof(name), "%.*s", (int)(colon - line.at), line.at);
    at = (size_t)(colon - line.at) + 1;
    while (at < line.len && (line.at[at] == ' ' || line.at[at] == '\t'))
        at++;
    rc = rn_headers_add(&c->x->answer_headers, name,
                        rn_view_of(line.at + at, line.len - at), NULL);
    /* A line that is not a header is skipped. */
    if (rc == RUNNEL_OK || rc == RUNNEL_BAD_REQUEST)
        return size * count;
    c->receive_rc = rc == RUNNEL_NO_MEMORY ? RN_NOMEM : RN_TOO_LARGE;
    return 0;
}

/* Called when a connection is established and the request is about to be
 * sent. */
static int before_sending(void *context, char *peer, char *own, int peer_port,
                          int own_port)
{
    struct carrier *c = context;

    (void)peer;
    (void)own;
    (void)peer_port;
    (void)own_port;
    c->sends++;
    return c->sends > 1 && c->x->effect != RN_EFFECT_READ
               ? CURL_PREREQFUNC_ABORT
               : CURL_PREREQFUNC_OK;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC,
                  address->protocol);
}

/* ---- an exchange begins -------------------------------------------------- */

static enum rn_code add_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);

    if (!longer)
        return RN_NOMEM;
    *list = longer;
    return RN_OK;
}

/* An empty value must be written as "name;" for libcurl to send it. */
static enum rn_code list_headers(struct carrier *c)
{
    struct rn_view rest = rn_buf_view(&c->x->headers.lines);
    enum rn_code rc = add_line(&c->headers, "Expect:");
    const char *line;

    while (!rc && (line = rn_headers_next(&rest)) != NULL) {
        const char *colon = strchr(line, ':');
        char empty[160];
        if (colon[2] == '\0') {
            snprintf(empty, sizeof(empty), "%.*s;", (int)(colon - line), line);
            line = empty;
        }
        rc = add_line(&c->headers, line);
    }
    return rc;
}

/* Setting a string option may fail if memory is short. */
static CURLcode set_method(CURL *easy, const struct rn_exchange *x)
{
    bool has_body = x->body.len > 0 || strcmp(x->method, "POST") == 0 ||
                    strcmp(x->method, "PUT") == 0 ||
                    strcmp(x->method, "PATCH") == 0;
    CURLcode rc = CURLE_OK;

    if (has_body) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)x->body.len);
        rc = curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                              x->body.at ? x->body.at : "");
    } else if (strcmp(x->method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    }
    return rc ? rc : curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, x->method);
}

static CURLcode set_security(CURL *easy, const struct curl_network *n)
{
    CURLcode rc =
        curl_easy_setopt(easy, CURLOPT_PROXY, n->proxy ? n->proxy : "");

    if (!rc)
        rc = curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    if (!rc && n->ca_file) {
        rc = curl_easy_setopt(easy, CURLOPT_CAINFO, n->ca_file);
        if (!rc)
            rc = curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (n->insecure_tls) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    return rc;
}

static void set_callbacks(CURL *easy, struct carrier *c)
{
    curl_easy_setopt(easy, CURLOPT_PRIVATE, c);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, c->words);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, c);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, c);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
}

static CURLcode set_up(struct carrier *c, const struct curl_network *n)
{
    CURL *easy = c->easy;
    CURLcode rc;

    c->receive_rc = RN_OK;
    c->sends = 0;
    c->words[0] = '\0';
    curl_easy_reset(easy);
    if (list_headers(c) != RN_OK)
        return CURLE_OUT_OF_MEMORY;
    set_callbacks(easy, c);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BYTES);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)c->x->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, n->connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, c->headers);
    /* An item may be called "..", which is no step up. */
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    rc = curl_easy_setopt(easy, CURLOPT_URL, c->x->url.at);
    if (!rc)
        rc = set_method(easy, c->x);
    return rc ? rc : set_security(easy, n);
}

static void retire(struct curl_transport *t, struct carrier *c)
{
    curl_slist_free_all(c->headers);
    c->headers = NULL;
    c->x = NULL;
    c->previous = NULL;
    c->next = t->idle;
    t->idle = c;
}

static struct carrier *take_idle(struct curl_transport *t)
{
    struct carrier *c = t->idle;

    if (c) {
        t->idle = c->next;
        return c;
    }
    c = rn_new(sizeof(*c));
    if (!c)
        return NULL;
    c->transport = t;
    c->easy = curl_easy_init();
    if (c->easy)
        return c;
    rn_free(c);
    return NULL;
}

static void fail_start(struct curl_transport *t, struct rn_exchange *x,
                       runnel_code code, const char *why)
{
    x->code = code;
    snprintf(x->why, sizeof(x->why), "%s", why);
    x->running = t;
    x->next = t->failed;
    t->failed = x;
}

static void start(struct rn_transport *base, struct rn_exchange *x)
{
    struct curl_transport *t = of(base);
    struct carrier *c = take_idle(t);
    CURLcode rc = CURLE_OUT_OF_MEMORY;

    rn_exchange_reset(x);
    if (c) {
        c->x = x;
        rc = set_up(c, t->network);
        if (!rc && curl_multi_add_handle(t->multi, c->easy) != CURLM_OK)
            rc = CURLE_OUT_OF_MEMORY;
    }
    if (rc) {
        if (c)
            retire(t, c);
        fail_start(t, x,
                   rc == CURLE_OUT_OF_MEMORY ? RUNNEL_NO_MEMORY
                                             : RUNNEL_BAD_REQUEST,
                   curl_easy_strerror(rc));
        return;
    }
    x->running = c;
    c->previous = NULL;
    c->next = t->busy;
    if (t->busy)
        t->busy->previous = c;
    t->busy = c;
}

/* ---- an exchange ends ---------------------------------------------------- */

static void detach(struct curl_transport *t, struct carrier *c)
{
    struct rn_exchange *x = c->x;

    assert(x);
    curl_multi_remove_handle(t->multi, c->easy);
    x->was_sent = c->sends > 0;
    x->running = NULL;
    if (c->previous)
        c->previous->next = c->next;
    else
        t->busy = c->next;
    if (c->next)
        c->next->previous = c->previous;
    retire(t, c);
}

static runnel_code code_of(CURLcode rc, const struct carrier *c)
{
    bool was_sent = c->sends > 0;

    switch (rc) {
    case CURLE_OK:
        return RUNNEL_OK;
    case CURLE_OUT_OF_MEMORY:
        return RUNNEL_NO_MEMORY;
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CACERT_BADFILE:
        return RUNNEL_BAD_REQUEST;
    case CURLE_OPERATION_TIMEDOUT:
        return was_sent ? RUNNEL_TIMEOUT : RUNNEL_UNREACHABLE;
    case CURLE_WRITE_ERROR:
        return c->receive_rc == RN_NOMEM ? RUNNEL_NO_MEMORY : RUNNEL_TOO_LARGE;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return RUNNEL_PROTOCOL;
    default:
        return was_sent ? RUNNEL_BUSY : RUNNEL_UNREACHABLE;
    }
}

static int parse_sub_status(const struct rn_exchange *x)
{
    struct rn_view text =
        rn_headers_find(&x->answer_headers, RN_HEADER_SUB_STATUS);
    int sub = 0;

    for (size_t i = 0; i < text.len && i < 6; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return 0;
        sub = sub * 10 + (text.at[i] - '0');
    }
    return sub;
}

static void finish(struct curl_transport *t, struct carrier *c, CURLcode rc)
{
    struct rn_exchange *x = c->x;
    long status = 0;

    x->code = code_of(rc, c);
    if (x->code == RUNNEL_OK) {
        curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
        x->status = (int)status;
        x->sub_status = parse_sub_status(x);
    } else if (x->code == RUNNEL_TOO_LARGE) {
        snprintf(x->why, sizeof(x->why),
                 "the answer exceeds %zu MiB; ask for less at once, with a "
                 "lower page_limit or a projection",
                 x->answer.ceiling >> 20);
    } else {
        snprintf(x->why, sizeof(x->why), "%s",
                 c->words[0] ? c->words : curl_easy_strerror(rc));
    }
    detach(t, c);
    x->done(x);
}

static bool finish_failed(struct curl_transport *t)
{
    bool some = false;

    while (t->failed) {
        struct rn_exchange *x = t->failed;
        t->failed = x->next;
        x->running = NULL;
        x->done(x);
        some = true;
    }
    return some;
}

/* True if an exchange has ended. */
static bool perform(struct curl_transport *t)
{
    bool some = finish_failed(t);
    int running, left;
    CURLMsg *m;

    curl_multi_perform(t->multi, &running);
    while ((m = curl_multi_info_read(t->multi, &left)) != NULL) {
        char *c = NULL;
        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
        finish(t, (struct carrier *)(void *)c, m->data.result);
        some = true;
    }
    return some;
}

static void cancel(struct rn_transport *base, struct rn_exchange *x)
{
    struct curl_transport *t = of(base);
    struct rn_exchange **at = &t->failed;

    while (*at && *at != x)
        at = &(*at)->next;
    if (*at) {
        *at = x->next;
        x->running = NULL;
    } else {
        detach(t, x->running);
    }
}

/* ---- steps --------------------------------------------------------------- */

/* OpenSSL may write to a socket that the peer has closed, and a program that
 * uses a library need not expect SIGPIPE. */
struct pipe_guard {
    sigset_t pipe, old;
    bool was_pending;
};

static void guard_begin(struct pipe_guard *g)
{
    sigset_t pending;

    sigemptyset(&g->pipe);
    sigaddset(&g->pipe, SIGPIPE);
    sigpending(&pending);
    g->was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &g->pipe, &g->old);
}

static void guard_end(struct pipe_guard *g)
{
    static const struct timespec at_once = { 0 };

    if (!g->was_pending && sigismember(&g->old, SIGPIPE) == 0) {
        while (sigtimedwait(&g->pipe, NULL, &at_once) == SIGPIPE)
            continue;
    }
    pthread_sigmask(SIG_SETMASK, &g->old, NULL);
}

static int64_t step(struct rn_transport *base, int64_t wait_ns)
{
    struct curl_transport *t = of(base);
    int64_t ms = wait_ns / NS_PER_MS + (wait_ns % NS_PER_MS != 0);
    struct pipe_guard guard;
    int ready;

    guard_begin(&guard);
    if (!perform(t) && wait_ns > 0) {
        curl_multi_poll(t->multi, NULL, 0, ms > INT_MAX ? INT_MAX : (int)ms,
                        &ready);
        perform(t);
    }
    guard_end(&guard);
    return 0;
}

static void wait_for(struct rn_transport *base, int64_t wait_ns)
{
    step(base, wait_ns);
}

static void wake(struct rn_transport *base)
{
    curl_multi_wakeup(of(base)->multi);
}

static void close_transport(struct rn_transport *base)
{
    struct curl_transport *t = of(base);
    struct pipe_guard guard;

    guard_begin(&guard);
    while (t->failed)
        cancel(base, t->failed);
    while (t->busy)
        detach(t, t->busy);
    while (t->idle) {
        struct carrier *c = t->idle;
        t->idle = c->next;
        curl_easy_cleanup(c->easy);
        rn_free(c);
    }
    curl_multi_cleanup(t->multi);
    rn_free(t);
    guard_end(&guard);
}

static const struct rn_transport_ops transport_ops = {
    .name = "curl",
    .start = start,
    .cancel = cancel,
    .step = step,
    .wait = wait_for,
    .wake = wake,
    .close = close_transport,
};

/* ---- the network --------------------------------------------------------- */

static runnel_code open_transport(struct rn_network *base,
                                  struct rn_transport **out,
                                  runnel_error *error)
{
    struct curl_transport *t = rn_new(sizeof(*t));

    if (t) {
        t->base.ops = &transport_ops;
        t->network = (struct curl_network *)(void *)base;
        t->multi = curl_multi_init();
    }
    if (!t || !t->multi) {
        rn_free(t);
        return rn_error_no_memory(error);
    }
    curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS, (long)MAX_CONNECTIONS);
    *out = &t->base;
    return RUNNEL_OK;
}

static void close_network(struct rn_network *base)
{
    struct curl_network *n = (struct curl_network *)(void *)base;

    rn_free(n->ca_file);
    rn_free(n->proxy);
    rn_free(n);
}

static const struct rn_network_ops network_ops = {
    .open = open_transport,
    .close = close_network,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode global_rc;

static void init_curl(void)
{
    global_rc = curl_global_init(CURL_GLOBAL_DEFAULT);
}

runnel_code rn_curl_network_open(const struct rn_curl_options *options,
                                 struct rn_env *env, struct rn_network **out,
                                 runnel_error *error)
{
    struct curl_network *n;

    pthread_once(&once, init_curl);
    if (global_rc) {
        return rn_error_set(error, RUNNEL_UNSUPPORTED,
                            "libcurl does not work: %s",
                            curl_easy_strerror(global_rc));
    }
    n = rn_new(sizeof(*n));
    if (!n)
        return rn_error_no_memory(error);
    n->base.ops = &network_ops;
    n->base.env = env;
    n->insecure_tls = options->insecure_tls;
    n->connect_timeout_ms = (long)options->connect_timeout_ms;
    if (options->ca_file)
        n->ca_file = rn_new_text(options->ca_file);
    if (options->proxy)
        n->proxy = rn_new_text(options->proxy);
    if ((options->ca_file && !n->ca_file) || (options->proxy && !n->proxy)) {
        close_network(&n->base);
        return rn_error_no_memory(error);
    }
    *out = &n->base;
    return RUNNEL_OK;
}
