/* load.c -- many clients at a real server that is killed again and again, and
 * whether what they saw can be true.
 *
 *   history_load PROGRAM DIR OPERATIONS KILLS RANGES SHAPES SEED
 *
 * Starts PROGRAM on DIR, lets 64 clients read, query, write, patch and
 * compare-and-swap a few hundred documents, alone and in batches, half of them
 * with session tokens (mixed_load.h), and 4 readers of every kind (reader.h)
 * follow the change feed.  Kills the server with SIGKILL every so many
 * operations and starts it again, and splits and merges ranges SHAPES times. At
 * the end everything is read once more, quietly, and the history searched
 * (search.h) and checked (check.h).
 *
 * Exit status 0: nothing wrong; 1: violations, printed on stdout; 2: it could
 * not be done.
 */
#include "history/merged.h"
#include "history/mixed_load.h"
#include "history/reader.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CLIENTS = 64,
    READERS = 4,
    ALL =
        CLIENTS + READERS + 2, /* one splits and merges, one begins and ends */
    KEYS = MIXED_LOAD_KEYS,
    PAGE_MAX = 200,
    EXCUSED_MAX = 30,           /* of 1,000 refusals, by lost writes */
    SEARCH_OPERATIONS = 400000, /* with more, not of all documents */
    SEARCH_MOST = 8000,
};

static struct {
    atomic_ulong left, done;
    atomic_bool over;
    unsigned long operations, kills, every, shapes;
    uint64_t seed;
} load;

static void *run_client(void *arg)
{
    struct client *c = arg;

    while (!c->broken && atomic_load(&load.left)) {
        if (atomic_fetch_sub(&load.left, 1) > (1ul << 62)) {
            atomic_store(&load.left, 0);
            break;
        }
        mixed_load_step(c);
        atomic_fetch_add(&load.done, 1);
    }
    return NULL;
}

/* ---- readers of the feed ------------------------------------------------- */

static void *run_reader(void *arg)
{
    static const enum reader_kind kinds[] = { READER_RANGES, READER_KEY,
                                              READER_EPKS, READER_ALL };
    struct client *c = arg;
    struct reader r;
    enum reader_kind kind = kinds[c->number % 4];

    reader_init(&r, c, kind, 0, kind == READER_KEY ? 1 : KEYS, false);
    while (!c->broken && !atomic_load(&load.over))
        if (!reader_step(&r, 1 + (unsigned)rn_prng_below(&c->prng, PAGE_MAX),
                         0))
            usleep(1000);
    return NULL;
}

/* ---- splits and merges --------------------------------------------------- */

/* Spread evenly over what the clients do. */
static void *run_shaper(void *arg)
{
    struct client *c = arg;
    unsigned long all = atomic_load(&load.left) + atomic_load(&load.done);

    for (unsigned long i = 1; i <= load.shapes && !c->broken; i++) {
        while (atomic_load(&load.done) < i * all / (load.shapes + 1) &&
               atomic_load(&load.left))
            usleep(500);
        shape_change(c);
    }
    return NULL;
}

/* ---- all together -------------------------------------------------------- */

/* Everything once more, when nobody writes. */
static void read_all(struct client *c)
{
    mixed_load_read_all(c);
    for (uint32_t i = 0; i < KEYS + 3; i++) {
        struct reader r;

        if (i < KEYS)
            reader_init(&r, c, READER_KEY, i, 1, false);
        else
            reader_init(&r, c,
                        i == KEYS       ? READER_RANGES
                        : i == KEYS + 1 ? READER_EPKS
                                        : READER_ALL,
                        0, KEYS, false);
        while (reader_step(&r, PAGE_MAX, 0) && !c->broken)
            ;
    }
}

/* Kills and starts the server each time the clients have done so much. */
static bool keep_killing(struct client *c)
{
    int port;

    for (unsigned long k = 1; k <= load.kills; k++) {
        while (atomic_load(&load.done) < k * load.every &&
               atomic_load(&load.left))
            usleep(500);
        server_process_kill(SIGKILL);
        port = server_process_start();
        if (!port)
            return false;
        client_note_start(c);
        server_process_announce(port);
    }
    return true;
}

static int judge(struct client *clients, size_t count)
{
    struct history_verdict v;
    struct search_verdict s;
    uint32_t one_in = 1 + (uint32_t)(load.operations / SEARCH_OPERATIONS);
    struct search what = { .one_in = one_in,
                           .from = (uint32_t)(load.seed % one_in),
                           .most = (size_t)one_in * SEARCH_MOST,
                           .out = stdout };

    if (!merged_check(clients, count, &v, &what, &s))
        return 2;
    printf("%zu reads, %zu writes, %zu refusals, %zu pages with %zu changes, "
           "%zu requests with session tokens, %zu of them ahead: %zu "
           "violations (order %zu, content %zu, unique %zu, phantom %zu, feed "
           "%zu, session %zu)\n",
           v.reads, v.writes, v.refused, v.pages, v.items, v.sessions, v.ahead,
           history_violations(&v), v.order, v.content, v.unique, v.phantom,
           v.feed, v.session);
    printf("%zu writes unanswered and unseen, which excuse %zu of %zu refusals "
           "and reads of nothing; searched: %zu documents with %zu requests, "
           "%zu wrong, %zu left out\n",
           v.unknown, v.excused, v.refused + v.absent, s.documents, s.requests,
           s.wrong, s.left_out);
    if (v.excused * 1000 > EXCUSED_MAX * (v.refused + v.absent) || v.blind ||
        !s.documents || !v.sessions) {
        printf("too much is excused, or not looked at (%zu)\n", v.blind);
        return 1;
    }
    return history_violations(&v) || s.wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct client clients[ALL];
    struct client *last = &clients[ALL - 1];
    struct shape_count counts;
    bool alive;
    int rc;

    if (argc != 8)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    server_process.program = argv[1];
    server_process.loops = "3"; /* whatever the machine has: they are to get in
                        each other's way */
    server_process.dir = argv[2];
    server_process.keys = KEYS;
    shape_init();
    mixed_load_init();
    load.operations = strtoul(argv[3], NULL, 10);
    atomic_store(&load.left, load.operations);
    load.kills = strtoul(argv[4], NULL, 10);
    load.every = load.operations / (load.kills + 1);
    snprintf(server_process.ranges, sizeof(server_process.ranges), "%s",
             argv[5]);
    load.shapes = strtoul(argv[6], NULL, 10);
    load.seed = strtoull(argv[7], NULL, 10);
    for (uint32_t i = 0; i < ALL; i++)
        client_init(&clients[i], i, load.seed);
    client_note_start(last);
    server_process_announce(server_process_start());
    if (!atomic_load(&server_process.port) || !shape_make(last)) {
        printf("the server does not start\n");
        return 2;
    }
    for (uint32_t i = 0; i < ALL - 1; i++)
        pthread_create(&clients[i].thread, NULL,
                       i < CLIENTS             ? run_client
                       : i < CLIENTS + READERS ? run_reader
                                               : run_shaper,
                       &clients[i]);
    alive = keep_killing(last);
    for (uint32_t i = 0; alive && i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    atomic_store(&load.over, true);
    for (uint32_t i = CLIENTS; alive && i < ALL - 1; i++)
        pthread_join(clients[i].thread, NULL);
    if (!alive) {
        printf("the server does not start again\n");
        return 2;
    }
    read_all(last);
    server_process_kill(SIGTERM);
    rc = judge(clients, ALL);
    if (!merged_release(clients, ALL) && !rc)
        rc = 1;
    counts = shape_count();
    printf("%lu kills, %u splits, %u merges\n", load.kills, counts.splits,
           counts.merges);
    return rc;
}
