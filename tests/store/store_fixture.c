/* store_fixture.c -- see store_fixture.h. */
#include "store_fixture.h"

#include "base/bytes.h"
#include "store/integrity/page_checksums.h"
#include "store/lmdb/image.h"
#include "store/local/local.h"
#include "store/local/maintenance.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

enum { LOG_MARK = 24 };

struct rn_store_opts fixture_opts(const char *dir, bool manual)
{
    return (struct rn_store_opts){
        .where = dir,
        .map_bytes = 1 << 30,
        .segment_bytes = 256 << 10,
        .wal_bytes = 1 << 20,
        .ahead_bytes = 256 << 10,
        .reserve_bytes = 1 << 20,
        .readers_max = 16,
        .manual = manual,
    };
}

static struct rn_store *open_or_die(const char *dir, bool manual)
{
    struct rn_store_opts opts = fixture_opts(dir, manual);
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    if (rn_store_open("local", &opts, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static void checkpoint_or_die(struct rn_store *s)
{
    struct rn_err err = { 0 };

    if (rn_local_checkpoint((struct rn_local *)s, &err))
        fail_msg("%s", err.text);
}

static void write_groups(struct rn_store *s, struct tracked_mind *m,
                         struct tracked_dice *d, unsigned groups)
{
    struct tracked_report r = { 0 };
    struct rn_err err = { 0 };

    for (unsigned i = 0; i < groups; i++) {
        struct tracked_group g;
        enum rn_code rc;
        tracked_group_draw(d, m, TRACKED_KEYS, &g);
        rc = tracked_commit(s, RN_TXN_WRITE, &g, m, &r, &err);
        if (rc || r.lied)
            fail_msg("%s %s", err.text, r.lie);
    }
}

/* One more group, of which it is noted where in the WAL it went. */
static void write_last(struct store_fixture *fixture, struct rn_store *s,
                       struct tracked_mind *m, struct tracked_dice *d)
{
    struct rn_wal *wal = ((struct rn_local *)s)->wal;
    struct rn_wal_place before = rn_wal_end(wal), after = before;

    while (after.seq == before.seq) {
        fixture->before_last = m->states[0];
        write_groups(s, m, d, 1);
        after = rn_wal_end(wal);
    }
    snprintf(fixture->last_file, TRACKED_NAME, "log-%010" PRIu64,
             after.segment);
    fixture->last_from = after.segment == before.segment ? before.offset : 0;
    fixture->last_to = after.offset;
}

static void mark_used(struct store_fixture *s, const char *name, uint64_t from,
                      uint64_t to)
{
    struct tracked_file *f = tracked_tree_find(&s->now, name);

    assert_non_null(f);
    assert_true(s->uses < FIXTURE_EXTENTS);
    s->used[s->uses++] = (struct extent){ .file = f,
                                          .from = from,
                                          .to = to < f->len ? to : f->len };
}

struct marker {
    struct store_fixture *fixture;
    const struct tracked_file *map;
};

static const char *marker_read(void *context, unsigned buffer, uint64_t number,
                               uint64_t count)
{
    struct marker *m = context;

    (void)buffer;
    assert_true((number + count) * FIXTURE_PAGE <= m->map->len);
    return m->map->at + number * FIXTURE_PAGE;
}

static bool marker_reach(void *context, uint64_t number, uint64_t count)
{
    struct marker *m = context;

    mark_used(m->fixture, m->map->name, number * FIXTURE_PAGE,
              (number + count) * FIXTURE_PAGE);
    return true;
}

static void marker_bad(void *context, uint64_t number, const char *what)
{
    (void)context;
    fail_msg("page %" PRIu64 " of a healthy map: %s", number, what);
}

static void mark_map(struct store_fixture *s, const struct rn_image *image)
{
    struct marker m = { .fixture = s,
                        .map = tracked_tree_find(&s->now, "map-1") };
    struct rn_page_walk walk = {
        .context = &m,
        .page_bytes = FIXTURE_PAGE,
        .last = image->meta.last,
        .read = marker_read,
        .reach = marker_reach,
        .bad = marker_bad,
    };
    struct tracked_file *checksums = tracked_tree_find(&s->now, "map-1-sums");
    uint64_t blocks = rn_get_u64(image->slots.at);

    rn_page_walk(&walk, &image->meta);
    assert_non_null(checksums);
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t slot = image->slots.at[8 + b / 8] >> b % 8 & 1;
        mark_used(s, checksums->name, (2 * b + slot) * FIXTURE_PAGE,
                  (2 * b + slot + 1) * FIXTURE_PAGE);
    }
}

static bool is_last(const struct store_fixture *s, const struct tracked_file *f,
                    uint64_t offset)
{
    return strcmp(s->last_file, f->name) == 0 && s->last_from == offset;
}

/* True if segment `n`, which is `f`, says that the next one is there. */
static bool announces(const struct tracked_file *f, uint64_t n)
{
    const char *mark = f->at + f->len - RN_WAL_FOOTERS;

    return memcmp(mark + 8, "RNLN", 4) == 0 && rn_get_u64(mark + 16) == n;
}

/* The records after the checkpoint, all but the last, and the marks. */
static void mark_log(struct store_fixture *s, struct rn_wal_place from,
                     struct rn_wal_place end)
{
    const struct tracked_file *f = NULL;
    uint64_t seq = from.seq;

    for (uint64_t n = from.segment;
         n <= end.segment || (f && announces(f, n - 1)); n++) {
        uint64_t at = n == from.segment ? from.offset : 0;
        char name[TRACKED_NAME];

        snprintf(name, sizeof(name), "log-%010" PRIu64, n);
        f = tracked_tree_find(&s->now, name);
        assert_non_null(f);
        mark_used(s, name, f->len - FIXTURE_PAGE,
                  f->len - FIXTURE_PAGE + LOG_MARK);
        while (at + RN_WAL_HEADER + RN_WAL_FOOTERS <= f->len &&
               rn_get_u64(f->at + at + 16) == seq + 1) {
            uint64_t len = RN_WAL_HEADER + rn_get_u32(f->at + at + 12);
            if (!is_last(s, f, at))
                mark_used(s, name, at, at + len);
            at += (len + FIXTURE_PAGE - 1) / FIXTURE_PAGE * FIXTURE_PAGE;
            seq++;
        }
    }
    assert_int_equal(seq, end.seq);
}

static void mark_all(struct store_fixture *s, struct rn_local *l)
{
    struct rn_image image;

    assert_true(rn_image_decode(rn_buf_view(&l->checkpoint.image), &image));
    mark_map(s, &image);
    mark_log(s, l->durable, rn_wal_end(l->wal));
    mark_used(s, "checkpoint", 0, UINT64_MAX);
    mark_used(s, "format", 0, UINT64_MAX);
}

void fixture_build(struct store_fixture *fixture,
                   const struct fixture_plan *plan, const char *dir,
                   uint64_t seed)
{
    struct tracked_dice d = { .state = seed };
    static struct tracked_mind m;
    struct rn_store *s;

    m = (struct tracked_mind){ .count = 1 };
    fixture->name = plan->name;
    fixture->dir = dir;
    tracked_dir_remove(fixture->dir);
    s = open_or_die(fixture->dir, true);
    for (unsigned i = 0; i < plan->rounds; i++) {
        write_groups(s, &m, &d, plan->groups);
        checkpoint_or_die(s);
        if (i + FIXTURE_OLD_MAX >= plan->rounds)
            tracked_tree_load(&fixture->old[fixture->olds++], fixture->dir);
    }
    write_groups(s, &m, &d, plan->tail);
    if (plan->tail)
        write_last(fixture, s, &m, &d);
    if (plan->closed) {
        rn_store_close(s);
        s = open_or_die(fixture->dir, true);
    }
    tracked_tree_load(&fixture->now, fixture->dir);
    fixture->final = m.states[0];
    fixture->last_version = m.last_version;
    mark_all(fixture, (struct rn_local *)s);
    rn_store_close(s);
}

void fixture_release(struct store_fixture *s)
{
    tracked_tree_release(&s->now);
    for (unsigned k = 0; k < s->olds; k++)
        tracked_tree_release(&s->old[k]);
}
