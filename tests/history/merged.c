/* merged.c -- see merged.h. */
#include "history/merged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Moves the clients' logs into one. */
static struct history_entry *gather(struct client *clients, size_t count,
                                    size_t *entries)
{
    struct history_entry *all;
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += clients[i].count;
    all = malloc((n + 1) * sizeof(*all));
    if (!all)
        return NULL;
    *entries = 0;
    for (size_t i = 0; i < count; i++) {
        struct client *c = &clients[i];

        if (c->count)
            memcpy(all + *entries, c->log, c->count * sizeof(*all));
        *entries += c->count;
        free(c->log);
        c->log = NULL;
    }
    return all;
}

bool merged_check(struct client *clients, size_t count,
                  struct history_verdict *out, const struct search *what,
                  struct search_verdict *searched)
{
    size_t entries;
    struct history_entry *all = gather(clients, count, &entries);
    bool is_checked =
        all && (!what || !history_search(all, entries, what, searched)) &&
        !history_check(all, entries, stdout, out);

    free(all);
    return is_checked;
}

bool merged_report(const struct client *clients, size_t count)
{
    bool is_whole = true;

    for (size_t i = 0; i < count; i++) {
        if (!clients[i].broken)
            continue;
        printf("client %zu: %s\n", i, clients[i].broken);
        is_whole = false;
    }
    return is_whole;
}

bool merged_release(struct client *clients, size_t count)
{
    bool is_whole = merged_report(clients, count);

    for (size_t i = 0; i < count; i++)
        client_release(&clients[i]);
    return is_whole;
}
