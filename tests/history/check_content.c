/* check_content.c -- the checker's part for what requests found.
 *
 * A document is gone through in the order of LSNs.  Its state is its latest
 * known write, unless a lost one may have come after it: then there are several
 * states it may be in, and each answer leaves those in which it is right.  An
 * answer that is right in none is wrong.
 */
#include "history/check_own.h"

#include <stdlib.h>
#include <string.h>

enum state {
    KNOWN,   /* as its latest known write left it */
    ABSENT,  /* a lost write has deleted it */
    PRESENT, /* a lost write has written it */
    STATES,
};

/* What may be true. */
struct guess {
    uint64_t used; /* lost writes that have happened, by their slots */
    uint64_t lsn;  /* of the last of them, or of the answer before */
    enum state state;
};

enum { GUESSES_MAX = 512, SLOTS = 64 };

struct walk {
    struct check *c;
    struct guess guesses[GUESSES_MAX];
    size_t count;
    entry *slots[SLOTS]; /* lost writes that may happen by now */
    size_t taken;
    entry *const *lost; /* those to come, by their lowest LSN */
    size_t lost_count;
    uint64_t lsn; /* of the answer before */
    /* What was true when a backup was made, whose restore is to come. */
    const entry *restore;
    bool saved[STATES];
};

/* ---- single answers ------------------------------------------------------ */

static bool is_there(const entry *now, enum state state)
{
    return state == PRESENT ||
           (state == KNOWN && now && now->op != HISTORY_DELETE);
}

static bool is_version(const entry *now, enum state state, uint64_t version)
{
    return state == KNOWN && is_there(now, state) && now->version == version;
}

static const char *judge_write(const entry *e, const entry *now,
                               enum state state)
{
    bool there = is_there(now, state);

    if (e->condition && e->op != HISTORY_CREATE &&
        !is_version(now, state, e->condition))
        return "its condition did not hold";
    if (e->op == HISTORY_CREATE && there)
        return "created what was there";
    if (e->op > HISTORY_UPSERT && !there)
        return "changed what was not there";
    if (e->op == HISTORY_PATCH && state == KNOWN && e->count != now->count + 1)
        return "it counts otherwise";
    return NULL;
}

static const char *judge_refusal(const entry *e, const entry *now,
                                 enum state state)
{
    bool there = is_there(now, state);

    if (e->status == 412 && is_version(now, state, e->condition))
        return "its condition held";
    if (e->status == 404 && there)
        return "it was there";
    if ((e->status == 409 || e->status == 412) && !there)
        return "it was not there";
    return NULL;
}

/* Is it right, if `now` was the latest known write?  NULL, or why not. */
static const char *judge(const entry *e, const entry *now, enum state state)
{
    if (e->op == HISTORY_ITEM && !e->token)
        return is_version(now, state, e->version) ? "a change is missing"
                                                  : NULL;
    if (e->token && !check_is_write(e))
        return is_version(now, state, e->version) ? NULL : "another version";
    if (check_is_write(e) && check_succeeded(e))
        return judge_write(e, now, state);
    return judge_refusal(e, now, state);
}

/* ---- what may be true ---------------------------------------------------- */

static void add_guess(struct walk *k, struct guess new)
{
    for (size_t i = 0; i < k->count; i++) {
        const struct guess *old = &k->guesses[i];

        if (old->state == new.state && old->lsn <= new.lsn &&
            (old->used & ~new.used) == 0)
            return; /* whatever may follow, it may follow that one */
    }
    if (k->count == GUESSES_MAX)
        k->c->verdict->blind++;
    else
        k->guesses[k->count++] = new;
}

static void begin(struct walk *k, enum state state)
{
    add_guess(k, (struct guess){ .lsn = k->lsn, .state = state });
}

/* Would this lost write have succeeded? */
static bool may_happen(const entry *l, const entry *now, enum state state)
{
    if (l->op == HISTORY_UPSERT)
        return true;
    if (l->op == HISTORY_CREATE)
        return !is_there(now, state);
    return is_there(now, state) &&
           (!l->condition || is_version(now, state, l->condition));
}

static void take_slots(struct walk *k, uint64_t lsn)
{
    for (; k->lost_count && (*k->lost)->low < lsn; k->lost++, k->lost_count--) {
        size_t i = 0;

        if ((*k->lost)->high <= k->lsn)
            continue;
        while (i < SLOTS && k->slots[i])
            i++;
        if (i == SLOTS) {
            k->c->verdict->blind++;
        } else {
            k->slots[i] = *k->lost;
            k->taken++;
        }
    }
}

/* Those that can happen no more after an answer are forgotten. */
static void leave_slots(struct walk *k, const entry *e)
{
    for (size_t i = 0; i < SLOTS && k->taken; i++) {
        const entry *l = k->slots[i];

        if (!l || (l->high > k->lsn && l->t1 >= e->t0))
            continue;
        k->slots[i] = NULL;
        k->taken--;
        for (size_t n = 0; n < k->count; n++)
            k->guesses[n].used &= ~(UINT64_C(1) << i);
    }
}

/* Adds the guesses that more has happened before an answer, up to an LSN. */
static void expand(struct walk *k, const entry *e, const entry *now,
                   uint64_t lsn)
{
    for (size_t n = 0; n < k->count && k->taken; n++) {
        for (size_t i = 0; i < SLOTS; i++) {
            const struct guess old = k->guesses[n];
            const entry *l = k->slots[i];
            struct guess new = old;

            if (!l || l->t0 > e->t1 || old.used >> i & 1 ||
                !may_happen(l, now, old.state))
                continue;
            new.used |= UINT64_C(1) << i;
            new.lsn = (old.lsn > l->low ? old.lsn : l->low) + 1;
            new.state = l->op == HISTORY_DELETE ? ABSENT : PRESENT;
            if (new.lsn <= lsn &&new.lsn <= l->high)
                add_guess(k, new);
        }
    }
}

/* ---- a document ---------------------------------------------------------- */

/* Before an answer above the LSN of a backup: what may the backup have? */
static void pass_backups(struct walk *k, const entry *e)
{
    const struct check *c = k->c;

    for (size_t i = 0; i < c->restore_count; i++) {
        const entry *r = c->restores[i];

        if (!check_has_key(r, e->key) || r->from < k->lsn ||
            r->from >= e->point)
            continue;
        take_slots(k, r->from);
        expand(k, e, check_latest(c, e->document, r->from), r->from);
        k->restore = r;
        memset(k->saved, 0, sizeof(k->saved));
        for (size_t n = 0; n < k->count; n++)
            k->saved[k->guesses[n].state] = true;
    }
}

/* What came after the backup is undone. */
static void pass_restores(struct walk *k, const entry *e)
{
    const entry *r = k->restore;

    if (!r || r->to > e->point)
        return;
    k->restore = NULL;
    k->lsn = r->to;
    k->count = 0;
    for (int state = 0; state < STATES; state++)
        if (k->saved[state])
            begin(k, (enum state)state);
}

static void step(struct walk *k, const entry *e)
{
    struct history_verdict *v = k->c->verdict;
    bool writes = check_is_write(e) && check_succeeded(e);
    const entry *now = writes ? check_found_by(k->c, e)
                              : check_latest(k->c, e->document, e->point);
    const char *why = judge(e, now, KNOWN);
    size_t left = 0;

    pass_backups(k, e);
    pass_restores(k, e);
    take_slots(k, e->point);
    expand(k, e, now, writes ? e->point - 1 : e->point);
    for (size_t i = 0; i < k->count; i++)
        if (!judge(e, now, k->guesses[i].state))
            k->guesses[left++] = k->guesses[i];
    k->count = left;
    k->lsn = e->point;
    if (!left)
        check_report(k->c, e->op == HISTORY_ITEM ? &v->feed : &v->content,
                     "content", why ? why : "an earlier answer was otherwise",
                     e);
    else if (why)
        v->excused++;
    if (!left)
        begin(k, KNOWN);
    /* Together again: some may be the same by now. */
    leave_slots(k, e);
    left = k->count;
    k->count = 0;
    for (size_t i = 0; i < left; i++) {
        struct guess one = k->guesses[i];

        one.lsn = k->lsn;
        one.state = writes ? KNOWN : one.state;
        add_guess(k, one);
    }
}

static int by_low(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;

    return CHECK_COMPARE(a->low, b->low);
}

static void check_document(struct check *c, entry *const *list, size_t count)
{
    struct walk k = { .c = c };
    size_t at = check_find_lost(c, list[0]->document);

    for (k.lost_count = 0;
         at + k.lost_count < c->lost_count &&
         c->lost[at + k.lost_count]->document == list[0]->document;
         k.lost_count++)
        ;
    check_sort(c->lost + at, k.lost_count, by_low);
    k.lost = c->lost + at;
    begin(&k, KNOWN);
    for (size_t i = 0; i < count; i++)
        step(&k, list[i]);
}

/* A request that finds what a write left comes after it. */
static int by_place(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    bool a_writes = check_is_write(a) && check_succeeded(a);
    bool b_writes = check_is_write(b) && check_succeeded(b);
    int order = CHECK_COMPARE(a->document, b->document);

    if (!order)
        order = CHECK_COMPARE(a->point, b->point);
    if (!order)
        order = CHECK_COMPARE(b_writes, a_writes);
    if (!order && a_writes)
        order = CHECK_COMPARE(a->n, b->n);
    return order;
}

int check_content(struct check *c)
{
    struct history_verdict *v = c->verdict;
    entry **list = malloc((c->count + c->missing_count + 1) * sizeof(entry *));
    size_t n = 0;

    if (!list)
        return -1;
    for (size_t i = 0; i < c->missing_count; i++)
        list[n++] = &c->missing[i];
    for (size_t i = 0; i < c->count; i++) {
        entry *e = &c->all[i];

        if (!e->point || (e->op > HISTORY_DELETE && e->op != HISTORY_ITEM))
            continue;
        list[n++] = e;
        v->reads += check_is_read(e);
        v->refused += check_is_write(e) && !check_succeeded(e);
        v->absent += check_is_read(e) && !e->token;
    }
    check_sort(list, n, by_place);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && list[end]->document == list[i]->document;)
            end++;
        check_document(c, list + i, end - i);
    }
    free(list);
    return 0;
}
