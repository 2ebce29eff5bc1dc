/* search.c -- see search.h. */
#include "history/search.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FLIGHT_MAX = 64, STATES_MAX = 1 << 14, TABLE = STATES_MAX * 4 };

struct request {
    const struct history_entry *e;
    uint64_t end;     /* answered; or when it has happened, if ever */
    uint64_t version; /* of what it wrote, if an answer has it */
    size_t slot;
};

/* A request begins or ends. */
struct event {
    uint64_t time;
    struct request *request;
    bool ends;
};

struct state {
    uint64_t token, version; /* of what is there; token 0: nothing is */
    uint64_t done;           /* those in flight that have happened, by slot */
    uint32_t count;
};

struct states {
    size_t count;
    struct state at[STATES_MAX];
    uint32_t place[STATES_MAX]; /* in the table */
    uint32_t table[TABLE];      /* number of a state, and one; by its hash */
};

struct work {
    struct request *requests;
    struct event *events;
    struct request *flight[FLIGHT_MAX];
    struct states *now, *next;
    bool is_full;
    const uint64_t *starts; /* of the server */
    size_t start_count;
};

/* ---- states -------------------------------------------------------------- */

static void clear(struct states *s)
{
    while (s->count)
        s->table[s->place[--s->count]] = 0;
}

static size_t hash(const struct state *s)
{
    uint64_t h = (s->token + 1) * 0x9e3779b97f4a7c15u;

    h = (h ^ s->done) * 0xc2b2ae3d27d4eb4fu;
    h = (h ^ s->count ^ h >> 29) * 0x165667b19e3779f9u;
    return (size_t)(h >> 32) % TABLE;
}

/* False if there is no room. */
static bool add(struct states *s, struct state new)
{
    size_t at = hash(&new);

    for (; s->table[at]; at = (at + 1) % TABLE) {
        const struct state *old = &s->at[s->table[at] - 1];
        if (old->token == new.token && old->done == new.done &&
            old->count == new.count)
            return true;
    }
    if (s->count == STATES_MAX)
        return false;
    s->at[s->count] = new;
    s->place[s->count++] = (uint32_t)at;
    s->table[at] = (uint32_t)s->count;
    return true;
}

/* ---- what a request does ------------------------------------------------- */

/* Could it have happened so in this state?  Then `s` is what it left. */
static bool apply(const struct request *r, struct state *s)
{
    const struct history_entry *e = r->e;
    bool there = s->token != 0;
    bool matches = there && s->version == e->condition;

    if (e->op == HISTORY_READ || e->op == HISTORY_QUERY)
        return s->token == e->token && (!there || s->count == e->count);
    if (e->status == 404)
        return !there;
    if (e->status == 409)
        return there;
    if (e->status == 412)
        return there && !matches;
    if (e->status >= 300)
        return true;
    if ((e->op == HISTORY_CREATE && there) ||
        (e->op > HISTORY_UPSERT && !there) ||
        (e->op > HISTORY_UPSERT && e->condition && !matches))
        return false;
    s->count = e->op == HISTORY_PATCH ? s->count + 1 : 0;
    if (e->op == HISTORY_PATCH && e->status && s->count != e->count)
        return false;
    s->token = e->token;
    s->version = r->version;
    return true;
}

/* All that may be true when the one in a slot has happened. */
static void happen(struct work *w, size_t slot)
{
    clear(w->next);
    for (size_t i = 0; i < w->now->count && !w->is_full; i++) {
        struct state s = w->now->at[i]; /* more come while we look */

        if (s.done >> slot & 1) {
            s.done &= ~(UINT64_C(1) << slot);
            w->is_full = !add(w->next, s);
            continue;
        }
        for (size_t k = 0; k < FLIGHT_MAX && !w->is_full; k++) {
            struct state then = s;

            if (!w->flight[k] || s.done >> k & 1 || !apply(w->flight[k], &then))
                continue;
            then.done |= UINT64_C(1) << k;
            w->is_full = !add(w->now, then);
        }
    }
}

static void turn(struct work *w)
{
    struct states *old = w->now;

    w->now = w->next;
    w->next = old;
}

/* Unanswered: it has happened, or never will. */
static void give_up(struct work *w, size_t slot)
{
    size_t count = w->now->count;

    happen(w, slot);
    for (size_t i = 0; i < count && !w->is_full; i++)
        if (!(w->now->at[i].done >> slot & 1))
            w->is_full = !add(w->next, w->now->at[i]);
    turn(w);
}

/* ---- a document ---------------------------------------------------------- */

/* NULL, or the first request that nothing explains. */
static const struct request *explain(struct work *w, size_t events)
{
    clear(w->now);
    (void)!add(w->now, (struct state){ 0 });
    memset(w->flight, 0, sizeof(w->flight));
    w->is_full = false;
    for (size_t i = 0; i < events && !w->is_full; i++) {
        struct request *r = w->events[i].request;

        if (!w->events[i].ends) {
            r->slot = 0;
            while (r->slot < FLIGHT_MAX && w->flight[r->slot])
                r->slot++;
            w->is_full = r->slot == FLIGHT_MAX;
            if (!w->is_full)
                w->flight[r->slot] = r;
            continue;
        }
        if (r->e->status) {
            happen(w, r->slot);
            turn(w);
        } else {
            give_up(w, r->slot);
        }
        w->flight[r->slot] = NULL;
        if (!w->now->count && !w->is_full)
            return r;
    }
    return NULL;
}

static int by_time(const void *x, const void *y)
{
    const struct event *a = x, *b = y;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->ends - b->ends; /* at one time: both are in flight */
}

static uint64_t next_start(const struct work *w, uint64_t time)
{
    uint64_t next = HISTORY_NEVER;

    for (size_t i = 0; i < w->start_count; i++)
        if (w->starts[i] > time && w->starts[i] < next)
            next = w->starts[i];
    return next;
}

/* Any answer that shows what was written has its etag. */
static uint64_t find_version(const struct history_entry *const *of, size_t n,
                             const struct history_entry *w)
{
    for (size_t i = 0; w->token && i < n; i++)
        if (of[i]->token == w->token && of[i]->version)
            return of[i]->version;
    return 0;
}

static size_t prepare(struct work *w, const struct history_entry *const *of,
                      size_t n)
{
    size_t events = 0;

    for (size_t i = 0; i < n; i++) {
        const struct history_entry *e = of[i];
        struct request *r = &w->requests[i];

        *r = (struct request){ .e = e, .end = e->t1, .version = e->version };
        if (!e->status) {
            uint64_t start = next_start(w, e->t0);
            r->end = start < e->t1 ? start : e->t1;
            r->version = find_version(of, n, e);
        }
        w->events[events++] = (struct event){ .time = e->t0, .request = r };
        w->events[events++] =
            (struct event){ .time = r->end, .request = r, .ends = true };
    }
    qsort(w->events, events, sizeof(w->events[0]), by_time);
    return events;
}

/* ---- all of them --------------------------------------------------------- */

/* What counts, document by document. */
static bool is_wanted(const struct history_entry *e, const struct search *what)
{
    bool writes = e->op >= HISTORY_CREATE && e->op <= HISTORY_DELETE;

    return e->op <= HISTORY_DELETE && (e->status || writes) &&
           !(e->flags & HISTORY_BEHIND) && e->document >= what->from &&
           (e->document - what->from) % what->one_in == 0;
}

static int by_document(const void *x, const void *y)
{
    const struct history_entry *a = *(const struct history_entry *const *)x;
    const struct history_entry *b = *(const struct history_entry *const *)y;

    return (a->document > b->document) - (a->document < b->document);
}

static void report(const struct search *what, const struct request *r)
{
    if (what->out)
        fprintf(what->out,
                "search: nothing explains client %u op %u document %u status "
                "%u token %" PRIx64 " sent %" PRIu64 " answered %" PRIu64 "\n",
                r->e->client, r->e->op, r->e->document, r->e->status,
                r->e->token, r->e->t0, r->e->t1);
}

static void look(struct work *w, const struct history_entry *const *of,
                 size_t n, const struct search *what, struct search_verdict *v)
{
    const struct request *wrong = NULL;

    if (n <= what->most)
        wrong = explain(w, prepare(w, of, n));
    if (n > what->most || w->is_full) {
        v->left_out++;
        return;
    }
    v->documents++;
    v->requests += n;
    v->wrong += wrong != NULL;
    if (wrong)
        report(what, wrong);
}

static struct work *work_new(size_t most)
{
    struct work *w = calloc(1, sizeof(*w));

    if (w) {
        w->requests = malloc((most + 1) * sizeof(*w->requests));
        w->events = malloc((2 * most + 1) * sizeof(*w->events));
        w->now = calloc(1, sizeof(*w->now));
        w->next = calloc(1, sizeof(*w->next));
    }
    return w;
}

static void work_free(struct work *w)
{
    if (w) {
        free(w->requests);
        free(w->events);
        free(w->now);
        free(w->next);
    }
    free(w);
}

int history_search(const struct history_entry *e, size_t count,
                   const struct search *what, struct search_verdict *v)
{
    const struct history_entry **of = malloc((count + 1) * sizeof(*of));
    uint64_t *starts = malloc((count + 1) * sizeof(*starts));
    struct work *w = work_new(what->most);
    bool is_whole =
        of && starts && w && w->requests && w->events && w->now && w->next;
    size_t n = 0;

    *v = (struct search_verdict){ 0 };
    for (size_t i = 0; is_whole && i < count; i++) {
        if (is_wanted(&e[i], what))
            of[n++] = &e[i];
        if (e[i].op == HISTORY_START)
            starts[w->start_count++] = e[i].t0;
    }
    if (n)
        qsort(of, n, sizeof(*of), by_document);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && of[end]->document == of[i]->document;)
            end++;
        w->starts = starts;
        look(w, of + i, end - i, what, v);
    }
    work_free(w);
    free(of);
    free(starts);
    return is_whole ? 0 : -1;
}
