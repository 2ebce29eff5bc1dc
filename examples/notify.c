/* notify.c -- calls a web API for each order that changes.
 *
 *   notify URL         POSTs the order to URL; any answer but 2xx is a failure
 *
 * It calls libcurl itself: pkg-config --cflags --libs runnel libcurl.
 *
 * A call that fails is repeated in place, with a growing pause; the changes
 * behind it wait.  The API sees an order again after a crash, so it must take
 * the same order twice: the header says which change it is.
 */
#include "example.h"

#include <curl/curl.h>
#include <string.h>

static bool post(const char *url, const runnel_change *change)
{
    char key[64];
    struct curl_slist *headers =
        curl_slist_append(NULL, "Content-Type: application/json");
    CURL *curl = curl_easy_init();
    long status = 0;

    snprintf(key, sizeof(key), "Idempotency-Key: %.*s-%llu",
             (int)change->id.len, change->id.at,
             (unsigned long long)change->lsn);
    headers = curl_slist_append(headers, key);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, change->json.at);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)change->json.len);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 5000L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    return status / 100 == 2;
}

static runnel_verdict call_api(void *context, const char *lease,
                               const runnel_batch *batch)
{
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        if (!post(context, runnel_batch_at(batch, i))) {
            runnel_batch_explain(batch, "the API did not take the order");
            return RUNNEL_AGAIN;
        }
    }
    return RUNNEL_DONE;
}

int main(int argc, char **argv)
{
    runnel_container *orders = open_container("shop", "orders");
    runnel_container *leases = open_container("shop", "leases");
    runnel_processor_options work = {
        RUNNEL_PROCESSOR_INIT, .name = "notify", .leases = leases,
        .create_leases = true, .batch_limit = 1, .retry_attempts = RUNNEL_OFF,
        .retry_delay_ms = 100
    };
    runnel_observer observer = { .changes = call_api };
    int status = 2;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (argc == 2) {
        observer.context = argv[1];
        status = run_until_eof(orders, &work, &observer);
    } else {
        fprintf(stderr, "usage: notify URL\n");
    }
    runnel_container_close(leases);
    runnel_container_close(orders);
    return status;
}
