/* chain.c -- see chain.h. */
#include "history/chain.h"

#include "cosmos/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "x-ms-session-token: ";

void chain_init(struct chain *c)
{
    memset(c, 0, sizeof(*c));
    pthread_mutex_init(&c->lock, NULL);
}

/* Answers never name a dead range again, so the oldest id may be dropped when
 * there is no more room. */
static void fold(struct chain *c, uint32_t range, uint64_t lsn)
{
    struct chain_part *part = NULL;

    for (size_t i = 0; i < c->count && !part; i++)
        if (c->parts[i].range == range)
            part = &c->parts[i];
    if (!part && c->count < CHAIN_PARTS_MAX) {
        part = &c->parts[c->count++];
    } else if (!part) {
        part = c->parts;
        for (size_t i = 1; i < c->count; i++)
            if (c->parts[i].range < part->range)
                part = &c->parts[i];
    }
    if (part->range != range)
        *part = (struct chain_part){ .range = range };
    part->lsn = lsn > part->lsn ? lsn : part->lsn;
}

void chain_note(struct chain *c, uint32_t key, struct rn_view token)
{
    struct rn_view rest = token;
    struct rn_session part;

    pthread_mutex_lock(&c->lock);
    while (rest.len && !rn_session_next(&rest, &part, NULL)) {
        fold(c, part.range, part.lsn);
        if (part.lsn > c->keys[key])
            c->keys[key] = part.lsn;
    }
    pthread_mutex_unlock(&c->lock);
}

uint64_t chain_print(struct chain *c, uint32_t key, uint64_t ahead,
                     char out[CHAIN_TEXT_MAX])
{
    size_t n = 0;
    uint64_t demand;

    pthread_mutex_lock(&c->lock);
    demand = c->keys[key];
    out[0] = 0;
    for (size_t i = 0; i < c->count; i++)
        n += (size_t)snprintf(out + n, CHAIN_TEXT_MAX - n, "%s%u:-1#%llu",
                              i ? "," : name, c->parts[i].range,
                              (unsigned long long)(c->parts[i].lsn + ahead));
    if (n)
        n += (size_t)snprintf(out + n, CHAIN_TEXT_MAX - n, "\r\n");
    pthread_mutex_unlock(&c->lock);
    if (n >= CHAIN_TEXT_MAX)
        abort();
    return demand;
}

uint64_t chain_demand(const char *header, uint32_t range)
{
    struct rn_session_line line = { .range = range };
    uint64_t lsn = 0;
    size_t len = strlen(header);

    if (len && rn_session_find(rn_view_of(header + sizeof(name) - 1,
                                          len - sizeof(name) + 1 - 2),
                               &line, &lsn, NULL))
        abort();
    return lsn;
}
