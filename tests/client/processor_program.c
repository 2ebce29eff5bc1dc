/* processor_program.c -- hosts, a writer and tools of a change feed processor,
 * by the public headers alone.  tests/suites/processor.sh runs it.
 *
 *   prepare URL                 database, source, lease container
 *   write URL FROM TO ROUNDS    new versions of documents, round by round
 *   split|merge URL BODY        POST /_runnel/split, /_runnel/merge
 *   host URL NAME LEDGER        a host, until its input has a byte or ends
 *   early URL NAME LEDGER       a faulty host: it checkpoints a batch before
 *                               it handles it
 *   style URL NAME LEDGER       a host by runnel/host.h
 *   leases URL                  "TOKEN OWNER POSITION" of each
 *   lag URL                     the total
 *
 * A host appends each batch to LEDGER in one write, a line for each change:
 * "KEY ID VERSION LSN NAME LEASE EPOCH".
 *
 * From the environment:
 *   PROGRAM_KEY         account key
 *   PROGRAM_NAME        processor name
 *   PROGRAM_SOURCE      DATABASE/CONTAINER that is monitored; shop/orders
 *   PROGRAM_LEASES      DATABASE/CONTAINER of the leases; shop/leases
 *   PROGRAM_LEASES_URL  their account, if it is another
 *   PROGRAM_HANDLE_MS   how long a handler takes until it writes
 *   PROGRAM_RETURN_MS   and from there until it returns
 *   PROGRAM_PER_RANGE   leases of a range; 1
 *   PROGRAM_EXPIRE_MS   after which a lease expires; 3000
 *   PROGRAM_START_MS    how long a start may take; a minute
 */
#include <runnel/runnel.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEYS = 20, LINES_MAX = 1 << 20 };

static runnel_error error;

static runnel_client *open_client(const char *url)
{
    runnel_client_options options = { RUNNEL_CLIENT_INIT, .endpoint = url,
                                      .key = getenv("PROGRAM_KEY"),
                                      .connect_timeout_ms = 500 };
    runnel_client *client = NULL;

    if (runnel_client_open(&options, &client, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    return client;
}

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value ? value : otherwise;
}

static uint32_t number_setting(const char *name, const char *otherwise)
{
    return (uint32_t)strtoul(setting(name, otherwise), NULL, 10);
}

/* `path` is DATABASE/CONTAINER. */
static runnel_container *open_container(const char *url, const char *path)
{
    runnel_client *client = open_client(url);
    runnel_container *container = NULL;
    char *database = strdup(path);
    char *name = strchr(database, '/');

    if (!name)
        abort();
    *name++ = '\0';
    if (runnel_container_open(client, database, name, &container, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    free(database);
    runnel_client_close(client);
    return container;
}

static runnel_container *open_source(const char *url)
{
    return open_container(url, setting("PROGRAM_SOURCE", "shop/orders"));
}

static runnel_container *open_leases(const char *url)
{
    return open_container(setting("PROGRAM_LEASES_URL", url),
                          setting("PROGRAM_LEASES", "shop/leases"));
}

static int report(runnel_code rc)
{
    if (rc)
        fprintf(stderr, "%s: %s\n", runnel_code_name(rc), error.message);
    return rc ? 1 : 0;
}

static int prepare(const char *url)
{
    runnel_client *client = open_client(url);
    runnel_database_definition shop = { RUNNEL_DATABASE_INIT, .id = "shop" };
    runnel_container_definition orders = { RUNNEL_CONTAINER_INIT,
                                           .id = "orders",
                                           .partition_key = "/customer" };
    runnel_container_definition leases = { RUNNEL_CONTAINER_INIT,
                                           .id = "leases",
                                           .partition_key = "/id",
                                           .ttl_s = -1 };
    runnel_code rc = runnel_database_create(client, &shop, NULL, &error);

    if (!rc)
        rc = runnel_container_create(client, "shop", &orders, NULL, &error);
    if (!rc)
        rc = runnel_container_create(client, "shop", &leases, NULL, &error);
    runnel_client_close(client);
    return report(rc);
}

static int write_documents(const char *url, int from, int to, int rounds)
{
    runnel_container *orders = open_source(url);
    runnel_code rc = RUNNEL_OK;
    char json[128];

    for (int round = 0; !rc && round < rounds; round++)
        for (int i = from; !rc && i < to; i++) {
            snprintf(json, sizeof(json),
                     "{\"id\":\"%d\",\"customer\":\"c%d\",\"v\":%d}", i,
                     i % KEYS, round);
            rc = runnel_item_upsert(orders, runnel_text(json), NULL, NULL,
                                    &error);
        }
    runnel_container_close(orders);
    return report(rc);
}

static int control(const char *url, const char *verb, const char *body)
{
    runnel_client *client = open_client(url);
    char path[64];
    runnel_request request = { .method = "POST",
                               .path = path,
                               .body = runnel_text(body) };
    runnel_code rc;

    snprintf(path, sizeof(path), "/_runnel/%s", verb);
    rc = runnel_client_send(client, &request, NULL, &error);
    runnel_client_close(client);
    return report(rc);
}

/* ---- a host -------------------------------------------------------------- */

struct ledger {
    int fd;
    const char *name;
    uint32_t handle_ms, return_ms;
    bool is_early; /* the fault: checkpoint, then handle */
};

static int number_of(const runnel_change *c, const char *member)
{
    const char *at = memmem(c->json.at, c->json.len, member, strlen(member));

    return at ? (int)strtol(at + strlen(member), NULL, 10) : -1;
}

static runnel_verdict note(void *context, const char *lease,
                           const runnel_batch *batch)
{
    struct ledger *l = context;
    char *lines = malloc(LINES_MAX);
    size_t len = 0;
    ssize_t done;

    if (l->is_early && runnel_batch_checkpoint(batch, NULL, NULL)) {
        free(lines);
        return RUNNEL_AGAIN;
    }
    usleep(l->handle_ms * 1000);
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        const runnel_change *c = runnel_batch_at(batch, i);
        int n = snprintf(
            lines + len, LINES_MAX - len, "%.*s %.*s %d %llu %s %s %llu\n",
            (int)c->partition_key.len, c->partition_key.at, (int)c->id.len,
            c->id.at, number_of(c, "\"v\":"), (unsigned long long)c->lsn,
            l->name, lease, (unsigned long long)runnel_batch_epoch(batch));
        if (n < 0 || (size_t)n >= LINES_MAX - len)
            abort();
        len += (size_t)n;
    }
    done = write(l->fd, lines, len); /* one write: whole lines, in order */
    free(lines);
    usleep(l->return_ms * 1000);
    return done == (ssize_t)len ? RUNNEL_DONE : RUNNEL_AGAIN;
}

static const runnel_feed_options beginning = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 50 };

static runnel_processor_options quick(void)
{
    return (runnel_processor_options){
        RUNNEL_PROCESSOR_INIT,
        .name = setting("PROGRAM_NAME", "ledger"),
        .create_leases = true,
        .feed = &beginning,
        .leases_per_range = number_setting("PROGRAM_PER_RANGE", "1"),
        .lease_acquire_ms = 1000,
        .lease_renew_ms = 1000,
        .lease_expire_ms = number_setting("PROGRAM_EXPIRE_MS", "3000"),
        .start_ms = number_setting("PROGRAM_START_MS", "60000")
    };
}

static void wait_for_end(void)
{
    char byte;

    printf("ready\n");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) < 0)
        ;
}

static struct ledger open_ledger(const char *name, const char *path)
{
    return (struct ledger){
        .fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600),
        .name = name,
        .handle_ms = number_setting("PROGRAM_HANDLE_MS", "0"),
        .return_ms = number_setting("PROGRAM_RETURN_MS", "0"),
    };
}

static int run_host(const char *url, const char *name, const char *path,
                    bool is_early)
{
    struct ledger l = open_ledger(name, path);
    runnel_observer observer = { .context = &l, .changes = note };
    runnel_container *orders = open_source(url);
    runnel_processor_options o = quick();
    runnel_processor *p = NULL;
    runnel_code rc;

    l.is_early = o.manual_checkpoint = is_early;
    o.host = name;
    o.leases = open_leases(url);
    rc = runnel_processor_start(orders, &o, &observer, &p, &error);
    if (!rc)
        wait_for_end();
    runnel_processor_stop(p);
    runnel_container_close(o.leases);
    runnel_container_close(orders);
    close(l.fd);
    return report(rc);
}

static int run_style(const char *url, const char *name, const char *path)
{
    struct ledger l = open_ledger(name, path);
    runnel_observer observer = { .context = &l, .changes = note };
    runnel_processor_options o = quick();
    runnel_host_options options = {
        RUNNEL_HOST_INIT,
        .name = name,
        .monitored = { .uri = url, .database = "shop", .collection = "orders" },
        .leases = { .uri = url, .database = "shop", .collection = "leases" },
        .feed = &beginning,
        .processor = &o,
    };
    runnel_host *host = NULL;
    int64_t left = -1;
    runnel_code rc;

    o.name = "style";
    rc = runnel_host_open(&options, &host, &error);
    if (!rc)
        rc = runnel_host_register(host, &observer, &error);
    if (!rc && runnel_host_register(host, &observer, &error) != RUNNEL_CONFLICT)
        rc = RUNNEL_BUSY;
    if (!rc)
        wait_for_end();
    if (!rc)
        rc = runnel_host_remaining_work(host, &left, &error);
    if (!rc)
        rc = runnel_host_unregister(host, &error);
    if (!rc && runnel_host_unregister(host, &error) != RUNNEL_BAD_REQUEST)
        rc = RUNNEL_BUSY;
    printf("left %lld\n", (long long)left);
    runnel_host_close(host);
    close(l.fd);
    return report(rc);
}

/* ---- tools --------------------------------------------------------------- */

static bool print_lease(void *context, const runnel_lease *lease)
{
    (void)context;
    printf("%s %s %s\n", lease->lease, lease->host ? lease->host : "-",
           lease->position ? lease->position : "-");
    return true;
}

static bool print_total(void *context, const runnel_lag *lag)
{
    (void)context;
    if (!lag->lease)
        printf("%lld %u\n", (long long)lag->behind, lag->leases);
    return true;
}

static int run_tool(const char *url, bool is_lag)
{
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT };
    runnel_code rc;

    set.name = setting("PROGRAM_NAME", "ledger");
    set.source = open_source(url);
    set.leases = open_leases(url);
    rc = is_lag ? runnel_lag_each(&set, print_total, NULL, &error)
                : runnel_leases_each(&set, print_lease, NULL, &error);
    runnel_container_close(set.source);
    runnel_container_close(set.leases);
    return report(rc);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";

    if (strcmp(what, "prepare") == 0)
        return prepare(argv[2]);
    if (strcmp(what, "write") == 0 && argc == 6)
        return write_documents(argv[2], (int)strtol(argv[3], NULL, 10),
                               (int)strtol(argv[4], NULL, 10),
                               (int)strtol(argv[5], NULL, 10));
    if ((strcmp(what, "split") == 0 || strcmp(what, "merge") == 0) && argc == 4)
        return control(argv[2], what, argv[3]);
    if ((strcmp(what, "host") == 0 || strcmp(what, "early") == 0) && argc == 5)
        return run_host(argv[2], argv[3], argv[4], what[0] == 'e');
    if (strcmp(what, "style") == 0 && argc == 5)
        return run_style(argv[2], argv[3], argv[4]);
    if (strcmp(what, "leases") == 0)
        return run_tool(argv[2], false);
    if (strcmp(what, "lag") == 0)
        return run_tool(argv[2], true);
    fprintf(stderr, "see the top of processor_program.c\n");
    return 2;
}
