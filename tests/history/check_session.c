/* check_session.c -- the checker's part for session tokens.
 *
 * A client that keeps its tokens has a chain of them: each answer names a range
 * and an LSN, and the next request demands all that answers before have named.
 * So nothing here is argued from time.  LSNs rise along the ranges that a key
 * has been in, so the chain is folded by keys; what was demanded of the range
 * that answered is in the request.
 */
#include "history/check_own.h"

#include <stdlib.h>
#include <string.h>

static const char *judge(const entry *e, uint64_t folded)
{
    bool writes = check_is_write(e) && check_succeeded(e);

    if (e->flags & HISTORY_AHEAD)
        return e->flags & HISTORY_BEHIND
                   ? NULL
                   : "a token of what is to come was accepted";
    if (e->flags & HISTORY_BEHIND)
        return "a token that was given is refused";
    if (e->demand < folded)
        return "its token forgets what was answered";
    if (!e->point)
        return NULL; /* it was not answered */
    if (e->point < e->demand)
        return "from before its token";
    if (writes && e->point == e->demand)
        return "written before its token";
    return NULL;
}

static bool is_in_session(const entry *e)
{
    return e->flags & HISTORY_SESSION && e->op <= HISTORY_DELETE &&
           !(e->flags & HISTORY_LOST);
}

/* Requests of one client, each sent when the one before had been answered; of
 * one request there may be several entries, at one time. */
static void check_client(struct check *c, const entry *first, size_t count,
                         uint64_t *folded)
{
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && first[end].t0 == first[i].t0; end++) {
            const entry *e = &first[end];
            const char *why;

            if (!is_in_session(e))
                continue;
            c->verdict->sessions++;
            c->verdict->ahead += (e->flags & HISTORY_AHEAD) != 0;
            why = judge(e, folded[e->key]);
            if (why)
                check_report(c, &c->verdict->session, "session", why, e);
        }
        for (size_t k = i; k < end; k++)
            if (is_in_session(&first[k]) &&
                first[k].point > folded[first[k].key])
                folded[first[k].key] = first[k].point;
    }
}

int check_session(struct check *c)
{
    uint64_t *folded;
    size_t keys = 0;

    for (size_t i = 0; i < c->count; i++)
        keys = c->all[i].key >= keys ? c->all[i].key + 1 : keys;
    folded = malloc((keys + 1) * sizeof(*folded));
    if (!folded)
        return -1;
    for (size_t i = 0, end; i < c->count; i = end) {
        end = i + 1;
        while (end < c->count && c->all[end].client == c->all[i].client)
            end++;
        memset(folded, 0, keys * sizeof(*folded));
        check_client(c, &c->all[i], end - i, folded);
    }
    free(folded);
    return 0;
}
