/* client_follow_test.c -- readers follow a container through everything at
 * once, and miss nothing.
 *
 * For each seed: a container with one to four ranges is written, split and
 * merged at random, while a reader with random options reads it over a network
 * that loses, repeats, delays, truncates and refuses; now and then the reader
 * is thrown away and another one resumes with its token.  In the end:
 *
 *   latest    of every live document in scope the last version was returned,
 *             after all others of its key
 *   all       of every document in scope each version was returned, once, in
 *             order
 *   both      nothing out of scope, nothing from before the start, nothing
 *             twice, no version before an older one of its key
 *
 * A failure names the seed.  RUNNEL_PROVE: more seeds. */
#include "client/feed/cursor.h"
#include "client/feed/scope.h"
#include "client/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    SEEDS = 400,
    SEEDS_PROVE = 100000,
    ROUNDS = 60,
    IDS = 24,
    KEYS = 8,
};

struct run {
    struct world w;
    struct rn_prng *dice;
    uint64_t seed;
    runnel_feed_options options;
    struct rn_feed_cursor *cursor;
    char *token;
    struct rn_epk_range scope;
    uint64_t from_commit; /* commits after it are to be read */
    bool is_full;
    uint64_t seen[4096]; /* by commit: how often it was returned */
    uint64_t last[KEYS]; /* by key: the commit that was returned last */
};

static void check(const struct run *r, bool ok, const char *what)
{
    if (!ok)
        fail_msg("seed %lu: %s", (unsigned long)r->seed, what);
}

/* ---- the world ----------------------------------------------------------- */

static void write_some(struct run *r)
{
    uint64_t n = rn_prng_below(r->dice, 6);

    for (uint64_t i = 0; i < n; i++) {
        unsigned id = (unsigned)rn_prng_below(r->dice, IDS);
        char json[64], name[16], pk[16];

        snprintf(name, sizeof(name), "%u", id);
        snprintf(pk, sizeof(pk), "[\"%u\"]", id % KEYS);
        snprintf(json, sizeof(json), "{\"id\":\"%u\",\"pk\":\"%u\"}", id,
                 id % KEYS);
        if (rn_prng_percent(r->dice, 20))
            (void)service_delete(r->w.box, name, pk);
        else
            (void)service_upsert(r->w.box, json);
    }
}

static void split_or_merge(struct run *r)
{
    struct service_box *box = r->w.box;
    uint32_t id = (uint32_t)rn_prng_below(r->dice, box->range_count);
    int64_t closing = (int64_t)rn_prng_below(r->dice, 200);

    if (rn_prng_percent(r->dice, 10))
        (void)service_split(box, id, closing);
    for (uint32_t i = 0; i < box->range_count; i++) {
        if (rn_prng_percent(r->dice, 2))
            (void)service_merge(box, id, i, closing);
    }
}

/* ---- the reader ---------------------------------------------------------- */

static void options_draw(struct run *r)
{
    static const char *const ranges[] = { NULL, "-FF", "-18", "10-30" };
    runnel_feed_options *o = &r->options;

    *o = (runnel_feed_options){ RUNNEL_FEED_INIT };
    r->is_full = rn_prng_percent(r->dice, 40);
    o->mode = r->is_full ? RUNNEL_FEED_ALL : RUNNEL_FEED_LATEST;
    if (r->is_full || rn_prng_percent(r->dice, 30))
        o->start = RUNNEL_START_NOW;
    o->page_limit = (uint32_t)rn_prng_below(r->dice, 8);
    o->parallel = (uint32_t)rn_prng_below(r->dice, 4);
    o->range = ranges[rn_prng_below(r->dice, 4)];
    if (!o->range && rn_prng_percent(r->dice, 30))
        o->partition_key = "\"3\"";
}

static void scope_find(struct run *r)
{
    struct rn_scope scope = RN_SCOPE_INIT;
    struct rn_definition *d = NULL;

    check(r, !rn_client_container_define(r->w.container, NULL, &d, NULL),
          "define");
    check(r,
          !rn_scope_resolve(r->options.range, r->options.partition_key, d, NULL,
                            &scope, NULL),
          "scope");
    r->scope = scope.keys;
    rn_scope_release(&scope);
    rn_definition_unref(d);
}

/* Which commit a change is. */
static const struct service_entry *entry_of(const struct run *r,
                                            const runnel_change *change)
{
    const struct service_box *box = r->w.box;
    struct rn_view id = rn_view_bytes(change->id);

    for (size_t i = 0; i < box->entry_count; i++) {
        const struct service_entry *e = box->entries[i];

        if (e->lsn == change->lsn && rn_view_eq(rn_view_text(e->id), id) &&
            (r->is_full || e->op < SERVICE_DELETE))
            return e;
    }
    return NULL;
}

static void batch_judge(struct run *r, const runnel_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct service_entry *e = entry_of(r, &batch->page->changes[i]);
        unsigned key;

        check(r, e != NULL, "a change that was never written");
        if (!e)
            return;
        key = (unsigned)strtoul(e->id, NULL, 10) % KEYS;
        check(r, rn_epk_range_has(&r->scope, rn_epk_view(&e->epk)),
              "a change out of scope");
        check(r, e->commit > r->from_commit, "a change before the start");
        check(r, r->seen[e->commit]++ == 0, "a change came twice");
        check(r, e->commit > r->last[key], "a change after a younger one");
        r->last[key] = e->commit;
    }
}

/* Reads a batch; what fails is tried again later.  Returns whether it was
 * empty: nothing was left. */
static bool read_one(struct run *r, uint32_t wait_ms)
{
    runnel_batch *batch = NULL;
    runnel_error error;
    runnel_code code;
    bool is_empty;

    if (!r->cursor) {
        r->options.token = r->token;
        check(r,
              !rn_feed_cursor_open(r->w.container, &r->options, &r->cursor,
                                   &error),
              "open");
    }
    code = rn_feed_cursor_next(r->cursor, wait_ms, &batch, &error);
    if (code) {
        check(r, runnel_code_is_transient(code) || code == RUNNEL_GONE,
              error.message);
        return false;
    }
    batch_judge(r, batch);
    check(r, strcmp(batch->token, rn_feed_cursor_token(r->cursor)) == 0,
          "token");
    is_empty = batch->count == 0;
    rn_batch_unref(batch);
    free(r->token);
    r->token = strdup(rn_feed_cursor_token(r->cursor));
    return is_empty;
}

static void reader_drop(struct run *r)
{
    rn_feed_cursor_close(r->cursor);
    r->cursor = NULL;
}

/* ---- a run --------------------------------------------------------------- */

/* Everything that must have been returned was. */
static void judge_all(const struct run *r)
{
    const struct service_box *box = r->w.box;

    for (size_t i = 0; i < box->entry_count; i++) {
        const struct service_entry *e = box->entries[i];
        bool is_due = e->commit > r->from_commit &&
                      (r->is_full || e->is_live) &&
                      rn_epk_range_has(&r->scope, rn_epk_view(&e->epk));

        if (is_due)
            check(r, r->seen[e->commit] > 0, "a change was not returned");
    }
}

static void run_rounds(struct run *r)
{
    const struct scripted_faults faults = { 20, 20, 20, 30, 20, 40, 3000 };

    /* Now is fixed by the first next that succeeds. */
    while (r->options.start == RUNNEL_START_NOW && !read_one(r, 0))
        ;
    r->from_commit =
        r->options.start == RUNNEL_START_NOW ? r->w.box->commits : 0;
    r->w.wire.faults = faults;
    for (int i = 0; i < ROUNDS; i++) {
        write_some(r);
        split_or_merge(r);
        for (uint64_t n = rn_prng_below(r->dice, 4); n > 0; n--)
            (void)read_one(r, (uint32_t)rn_prng_below(r->dice, 3000));
        if (rn_prng_percent(r->dice, 10))
            reader_drop(r);
    }
    r->w.wire.faults = (struct scripted_faults){ 0 };
    while (!read_one(r, 0))
        ;
    judge_all(r);
}

static void run(uint64_t seed)
{
    struct service_definition d = {
        .db = "d", .name = "c", .key = "/pk", .retention_min = 1000000
    };
    struct run *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    r->seed = seed;
    d.ranges = 1 + (unsigned)(seed % 4);
    world_open(&r->w, seed, &d);
    r->dice = rn_sim_prng(r->w.sim);
    r->w.service.cannot_wait = rn_prng_percent(r->dice, 30);
    write_some(r);
    options_draw(r);
    scope_find(r);
    run_rounds(r);
    reader_drop(r);
    free(r->token);
    world_close(&r->w);
    free(r);
}

static void readers_miss_nothing_and_keep_the_order(void **state)
{
    const char *one = getenv("RUNNEL_SEED");
    uint64_t count = getenv("RUNNEL_PROVE") ? SEEDS_PROVE : SEEDS;

    (void)state;
    if (one) {
        run(strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= count; seed++)
        run(seed);
    print_message("%lu seeds\n", (unsigned long)count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_miss_nothing_and_keep_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
