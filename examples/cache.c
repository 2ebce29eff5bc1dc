/* cache.c -- keeps a Redis cache of orders fresh.
 *
 *   cache PORT         a Redis server on 127.0.0.1
 *
 * With all versions and deletes, so that a deleted order leaves the cache too.
 * The container needs a changeFeedPolicy (versions_min of its definition).
 */
#define _POSIX_C_SOURCE 200809L

#include "example.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_redis(const char *port)
{
    struct sockaddr_in to = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    to.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    perror("redis");
    exit(1);
}

/* One command of words in Redis' protocol; true if it was not refused. */
static bool command(int fd, const runnel_bytes *words, int count)
{
    char head[32], answer[64];
    ssize_t got;

    dprintf(fd, "*%d\r\n", count);
    for (int i = 0; i < count; i++) {
        snprintf(head, sizeof(head), "$%zu\r\n", words[i].len);
        if (write(fd, head, strlen(head)) < 0 ||
            write(fd, words[i].at, words[i].len) < 0 ||
            write(fd, "\r\n", 2) < 0)
            return false;
    }
    got = read(fd, answer, sizeof(answer));
    return got > 0 && answer[0] != '-';
}

static runnel_verdict refresh(void *context, const char *lease,
                              const runnel_batch *batch)
{
    int redis = *(int *)context;

    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        const runnel_change *c = runnel_batch_at(batch, i);
        bool is_gone = c->kind == RUNNEL_DELETED || c->kind == RUNNEL_EXPIRED;
        runnel_bytes set[] = { runnel_text("SET"), c->id, c->json };
        runnel_bytes del[] = { runnel_text("DEL"), c->id };

        if (!command(redis, is_gone ? del : set, is_gone ? 2 : 3))
            return RUNNEL_AGAIN;
    }
    return RUNNEL_DONE;
}

int main(int argc, char **argv)
{
    int redis = open_redis(argc > 1 ? argv[1] : "6379");
    runnel_container *orders = open_container("shop", "versions");
    runnel_container *leases = open_container("shop", "leases");
    runnel_feed_options feed = { RUNNEL_FEED_INIT, .mode = RUNNEL_FEED_ALL };
    runnel_processor_options work = {
        RUNNEL_PROCESSOR_INIT, .name = "cache", .leases = leases,
        .create_leases = true, .feed = &feed,   .threads = 1
    };
    runnel_observer observer = { .context = &redis, .changes = refresh };
    int status = run_until_eof(orders, &work, &observer);

    runnel_container_close(leases);
    runnel_container_close(orders);
    close(redis);
    return status;
}
