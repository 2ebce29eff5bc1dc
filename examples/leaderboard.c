/* leaderboard.c -- the best scores of a game, from its feed.
 *
 * Each player's document has the best score so far, so the latest version is
 * all that is needed.  The board lives in memory and the leases with it: after
 * a restart both are built again from the beginning.
 */
#define _POSIX_C_SOURCE 200809L

#include "example.h"

#include <pthread.h>
#include <string.h>

enum { PLAYERS_MAX = 1000, SHOWN = 3 };

struct score {
    char player[32];
    long points;
};

struct board {
    pthread_mutex_t lock; /* leases run on several threads */
    struct score scores[PLAYERS_MAX];
    size_t count;
};

static void put(struct board *b, const char *player, long points)
{
    size_t i = 0;

    while (i < b->count && strcmp(b->scores[i].player, player) != 0)
        i++;
    if (i == PLAYERS_MAX)
        return;
    if (i == b->count)
        snprintf(b->scores[b->count++].player, 32, "%s", player);
    b->scores[i].points = points;
}

static int by_points(const void *a, const void *b)
{
    long left = ((const struct score *)a)->points;
    long right = ((const struct score *)b)->points;

    return (left < right) - (left > right);
}

static runnel_verdict update(void *context, const char *lease,
                             const runnel_batch *batch)
{
    struct board *b = context;
    char player[32], points[32];

    (void)lease;
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        runnel_bytes json = runnel_batch_at(batch, i)->json;
        put(b, member(json, "player", player, 32),
            strtol(member(json, "points", points, 32), NULL, 10));
    }
    qsort(b->scores, b->count, sizeof(b->scores[0]), by_points);
    for (size_t i = 0; i < b->count && i < SHOWN; i++)
        printf("%s%s %ld", i ? ", " : "", b->scores[i].player,
               b->scores[i].points);
    printf("\n");
    fflush(stdout);
    pthread_mutex_unlock(&b->lock);
    return RUNNEL_DONE;
}

int main(void)
{
    static struct board board = { .lock = PTHREAD_MUTEX_INITIALIZER };
    runnel_container *scores = open_container("game", "scores");
    runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                 .start = RUNNEL_START_BEGINNING };
    runnel_observer observer = { .context = &board, .changes = update };
    runnel_lease_store *store = NULL;
    runnel_processor_options work = { RUNNEL_PROCESSOR_INIT,
                                      .name = "leaderboard", .feed = &feed };
    runnel_error error;
    int status = 1;

    if (runnel_lease_store_memory(NULL, &store, &error)) {
        fprintf(stderr, "leaderboard: %s\n", error.message);
    } else {
        work.lease_store = store;
        status = run_until_eof(scores, &work, &observer);
    }
    runnel_lease_store_close(store);
    runnel_container_close(scores);
    return status;
}
