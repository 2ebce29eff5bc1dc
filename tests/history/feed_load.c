/* feed_load.c -- readers of every kind follow a feed through all that may
 * happen to it, and whether what they were given can be true.
 *
 *   history_feed PROGRAM DIR CHANGES KILLS SHAPES SEED
 *
 * Starts PROGRAM on DIR/0.  8 writers, each with partition keys of its own,
 * make CHANGES changes of 20,480 documents: transactions of 100, bulks of 100
 * and single deletions.  12 readers (reader.h) follow from the beginning or
 * from now, with pages of one and of hundreds, polling and waiting; they stop,
 * and go on from an old place.  Meanwhile ranges are split and merged SHAPES
 * times, and brought home; the server is killed KILLS times, and every other
 * time its directory is compacted; once it goes on from a backup, so that all
 * that came after it is undone.  At the end everything is read once more,
 * quietly, and the history checked (check.h).
 *
 * Exit status 0: nothing wrong; 1: violations, printed on stdout; 2: it could
 * not be done.
 */
#include "history/merged.h"
#include "history/reader.h"
#include "history/writer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WRITERS = 8,
    READERS = 12,
    ALL =
        WRITERS + READERS + 2, /* one splits and merges, one begins and ends */
    KEYS = 256,
    SLOTS = 80, /* documents of a key */
    GROUP = 100,
    PAGE_MAX = 1000,
    BACK_UP_AT = 30, /* percent of the way */
    RESTORE_AT = 55,
};

static const uint64_t lsn_step = UINT64_C(1) << 32; /* of a restore */

static struct {
    unsigned long changes;
    atomic_bool over;
    unsigned long kills, shapes;
    unsigned compactions;
    uint64_t begun, ended; /* of the backup */
    uint64_t seed;
    char dir[2][256], copy[256];
} load;

static void *run_writer(void *arg)
{
    struct client *c = arg;
    struct rn_buf text;

    writer_init(&text);
    while (!c->broken && atomic_load(&writers.done) < load.changes)
        writer_step(c, &text);
    rn_buf_release(&text);
    return NULL;
}

/* ---- reading ------------------------------------------------------------- */

static unsigned draw_max(struct client *c)
{
    if (rn_prng_percent(&c->prng, 40))
        return 1;
    return 1 + (unsigned)rn_prng_below(&c->prng, PAGE_MAX);
}

static void *run_reader(void *arg)
{
    struct client *c = arg;
    uint32_t which = c->number - WRITERS;
    enum reader_kind kind = (enum reader_kind)(which % 4);
    uint32_t key = (uint32_t)rn_prng_below(&c->prng, KEYS / 2);
    struct reader r;

    if (kind != READER_KEY && kind != READER_EPKS)
        key = 0;
    reader_init(&r, c, kind, key,
                kind == READER_KEY    ? 1
                : kind == READER_EPKS ? KEYS / 2
                                      : KEYS,
                which >= 8);
    while (!c->broken && !atomic_load(&load.over)) {
        unsigned wait_s = rn_prng_percent(&c->prng, 30);
        uint64_t dice = rn_prng_below(&c->prng, 1000);

        if (!reader_step(&r, draw_max(c), wait_s))
            usleep(2000);
        if (dice < 20)
            reader_save(&r);
        if (dice > 990) { /* it stops, and another goes on */
            client_hang_up(c);
            usleep(20000);
            reader_go_back(&r);
        }
    }
    while (!c->broken && reader_step(&r, PAGE_MAX, 0))
        ;
    return NULL;
}

/* ---- what happens to the server ------------------------------------------ */

static void *run_shaper(void *arg)
{
    struct client *c = arg;

    for (unsigned long i = 1; i <= load.shapes && !c->broken; i++) {
        unsigned long at = i * load.changes / (load.shapes + 1);
        while (atomic_load(&writers.done) < at && !atomic_load(&load.over))
            usleep(1000);
        shape_change(c);
    }
    return NULL;
}

static bool start(struct client *c)
{
    int port = server_process_start();

    client_note_start(c);
    server_process_announce(port);
    return port != 0;
}

/* A restored range is where its backup was, and a step further. */
static void note_restore(struct client *c, const struct shape *s)
{
    struct history_entry e = { .client = c->number,
                               .op = HISTORY_RESTORE,
                               .t0 = load.begun,
                               .t1 = load.ended,
                               .key = s->key,
                               .keys = s->keys };
    char more[160];
    struct request ask = { .verb = "GET",
                           .word = "docs",
                           .link = "dbs/h/colls/c",
                           .path = "/dbs/h/colls/c/docs",
                           .more = more };
    struct answer a;

    snprintf(more, sizeof(more),
             "A-IM: Incremental feed\r\nIf-None-Match: *\r\n"
             "x-ms-documentdb-partitionkeyrangeid: %u\r\n",
             s->id);
    if (!client_ask(c, &ask, &a) || a.status != 304 || a.lsn < lsn_step) {
        c->broken = "a restored range is not above what it was";
        return;
    }
    e.to = a.lsn;
    e.from = a.lsn - lsn_step;
    client_note(c, &e);
}

/* The other clients learn of the server after its positions were noted. */
static bool restore(struct client *c)
{
    struct shape ranges[SHAPE_RANGES_MAX];
    uint32_t last = 0;
    size_t n;

    server_process_kill(SIGKILL);
    if (!server_process_command("restore", load.copy, load.dir[1]))
        return false;
    server_process.dir = load.dir[1];
    client_hang_up(c);
    c->port = server_process_start();
    if (!c->port)
        return false;
    n = shape_read(c, ranges);
    for (size_t i = 0; i < n; i++) {
        note_restore(c, &ranges[i]);
        last = ranges[i].id > last ? ranges[i].id : last;
    }
    shape_lose(last + 1, last + 1025);
    client_note_start(c);
    server_process_announce(c->port);
    client_hang_up(c);
    c->port = 0;
    return n > 0;
}

static bool back_up(void)
{
    bool is_done;

    load.begun = server_process_now_ns();
    is_done = server_process_command("backup", server_process.dir, load.copy);
    load.ended = server_process_now_ns();
    return is_done;
}

static bool kill_and_start(struct client *c, unsigned long number)
{
    server_process_kill(SIGKILL);
    if (number % 2) {
        if (!server_process_command("compact", server_process.dir, NULL))
            return false;
        load.compactions++;
    }
    return start(c);
}

/* Everything in its order, each when so much has been written. */
static bool run_world(struct client *c)
{
    unsigned long kills = 0;
    bool is_backed_up = false, is_restored = false, is_good = true;

    while (is_good && atomic_load(&writers.done) < load.changes) {
        unsigned long percent = atomic_load(&writers.done) * 100 / load.changes;

        if (!is_backed_up && percent >= BACK_UP_AT)
            is_good = is_backed_up = back_up();
        else if (is_backed_up && !is_restored && percent >= RESTORE_AT)
            is_good = is_restored = restore(c);
        else if (percent * (load.kills + 1) >= 100 * (kills + 1))
            is_good = kill_and_start(c, ++kills);
        else
            usleep(1000);
    }
    return is_good && is_restored;
}

/* ---- all together -------------------------------------------------------- */

/* Everything once more, when nobody writes. */
static void read_all(struct client *c)
{
    static struct reader r;

    for (uint32_t i = 0; i < 4 + KEYS && !c->broken; i++) {
        enum reader_kind kind = i < 4 ? (enum reader_kind)i : READER_KEY;
        uint32_t key = i < 4 ? 0 : i - 4;

        reader_init(&r, c, kind, key, kind == READER_KEY ? 1 : KEYS, false);
        while (reader_step(&r, PAGE_MAX, 0) && !c->broken)
            ;
    }
}

static int judge(struct client *clients, size_t count)
{
    struct history_verdict v;
    struct shape_count shapes = shape_count();

    if (!merged_check(clients, count, &v, NULL, NULL))
        return 2;
    printf("%zu changes, %zu of them undone by the restore, %zu unknown; %zu "
           "pages with %zu changes, %zu with 304, %zu of one with equal LSNs "
           "of several ranges; %zu reads\n",
           v.writes, v.undone, v.unknown, v.pages, v.items, v.unmoved, v.tied,
           v.reads);
    printf("%lu kills, %u compactions, %u splits, %u merges, %u generations\n",
           load.kills + 1, load.compactions, shapes.splits, shapes.merges,
           shapes.generations);
    printf("%zu violations (order %zu, content %zu, unique %zu, phantom %zu, "
           "feed %zu, restore %zu)\n",
           history_violations(&v), v.order, v.content, v.unique, v.phantom,
           v.feed, v.restore);
    if (!v.undone || !v.tied || !v.unmoved || shapes.generations < 5 ||
        v.writes < load.changes) {
        printf("not all that was to happen has happened\n");
        return 2;
    }
    return history_violations(&v) ? 1 : 0;
}

static int run(struct client *clients)
{
    struct client *last = &clients[ALL - 1];
    bool is_good;

    if (!start(last) || !shape_make(last)) {
        printf("the server does not start\n");
        return 2;
    }
    for (uint32_t i = 0; i < ALL - 1; i++)
        pthread_create(&clients[i].thread, NULL,
                       i < WRITERS             ? run_writer
                       : i < WRITERS + READERS ? run_reader
                                               : run_shaper,
                       &clients[i]);
    is_good = run_world(last);
    if (!is_good) {
        printf("the server, its backup or its restore fails\n");
        server_process_kill(SIGKILL);
        return 2;
    }
    for (uint32_t i = 0; i < WRITERS; i++)
        pthread_join(clients[i].thread, NULL);
    atomic_store(&load.over, true);
    for (uint32_t i = WRITERS; i < ALL - 1; i++)
        pthread_join(clients[i].thread, NULL);
    read_all(last);
    server_process_kill(SIGTERM);
    return judge(clients, ALL);
}

int main(int argc, char **argv)
{
    static struct client clients[ALL];
    int rc;

    if (argc != 7)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    server_process.program = argv[1];
    server_process.loops = "3"; /* whatever the machine has: they are to get in
                        each other's way */
    server_process.keys = KEYS;
    writers.count = WRITERS;
    writers.slots = SLOTS;
    writers.group = GROUP;
    snprintf(server_process.ranges, sizeof(server_process.ranges), "1");
    snprintf(load.dir[0], sizeof(load.dir[0]), "%s/0", argv[2]);
    snprintf(load.dir[1], sizeof(load.dir[1]), "%s/1", argv[2]);
    snprintf(load.copy, sizeof(load.copy), "%s/copy", argv[2]);
    server_process.dir = load.dir[0];
    load.changes = strtoul(argv[3], NULL, 10);
    load.kills = strtoul(argv[4], NULL, 10);
    load.shapes = strtoul(argv[5], NULL, 10);
    load.seed = strtoull(argv[6], NULL, 10);
    shape_init();
    for (uint32_t i = 0; i < ALL; i++)
        client_init(&clients[i], i, load.seed);
    rc = run(clients);
    if (rc == 2) { /* threads may be left */
        merged_report(clients, ALL);
        return rc;
    }
    return merged_release(clients, ALL) ? rc : 1;
}
