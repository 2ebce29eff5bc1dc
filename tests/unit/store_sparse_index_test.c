/* store_sparse_index_test.c -- where in a list a search begins.
 *
 * Goal: the index leads to the last entry with a slot before a key, whatever
 * the keys look like and in whatever order they came, and a lack of memory
 * costs slots and nothing else.
 *
 * Method: entries of our own, numbered in the order of their keys, get slots in
 * several orders; then each key, and one beyond all, is looked for and compared
 * with what a row of flags says.  There are enough of them for the directory to
 * grow twice.
 */
#include "store/memtable/sparse_index.h"

#include "lib/oom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    ROWS = 9973, /* prime: any step leads through all of them */
    SOME = 499,
    STEP = 6151,
    KEY_BYTES = 40,
};

/* What the keys have in common: nothing, the first number of their start, the
 * second one too. */
static const char *const heads[] = { "", "container", "container/partition" };

static const struct {
    const char *name;
    unsigned first, step;
} orders[] = {
    { "rising", 0, 1 },
    { "falling", ROWS - 1, ROWS - 1 },
    { "mixed", 5, STEP },
    { "mixed, from the middle", ROWS / 2, STEP },
};

struct row {
    struct rn_memtable_entry entry;
    char key[KEY_BYTES];
    bool has_slot;
};

struct list {
    struct row rows[ROWS + 1]; /* the last one is beyond all and has no slot */
    struct rn_sparse_index index;
    struct rn_block_arena blocks;
    struct rn_room room;
};

static struct list list;

static void fill_row(struct row *row, const char *head, unsigned i)
{
    int len = snprintf(row->key, KEY_BYTES, "%s%08u", head, i);
    struct rn_sought s = rn_sought_of(rn_view_of(row->key, (size_t)len));

    row->entry = (struct rn_memtable_entry){ .key = s.key };
    memcpy(row->entry.start, s.start, sizeof(s.start));
    row->has_slot = false;
}

static void begin(const char *head)
{
    for (unsigned i = 0; i <= ROWS; i++)
        fill_row(&list.rows[i], head, i);
    list.index = (struct rn_sparse_index){ 0 };
    list.room = (struct rn_room){ 0 };
    rn_block_arena_init(&list.blocks, 0);
}

static void add(struct rn_memtable_entry *e)
{
    struct rn_sought s = rn_sought_of(e->key);
    struct rn_sparse_index_spot spot;

    (void)rn_sparse_index_find(&list.index, &s, &spot);
    rn_sparse_index_add(
        &list.index, &spot, e,
        (struct rn_sparse_index_memory){ &list.blocks, &list.room });
}

static void expect_slots(void)
{
    struct rn_memtable_entry *last = NULL;
    struct rn_sparse_index_spot spot;

    for (unsigned i = 0; i <= ROWS; i++) {
        struct rn_sought s = rn_sought_of(list.rows[i].entry.key);
        assert_ptr_equal(rn_sparse_index_find(&list.index, &s, &spot), last);
        if (list.rows[i].has_slot)
            last = &list.rows[i].entry;
    }
    assert_ptr_equal(rn_sparse_index_find_last(&list.index), last);
}

static void it_leads_to_the_last_slot_before_a_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        for (size_t j = 0; j < sizeof(orders) / sizeof(orders[0]); j++) {
            print_message("%s, head '%s'\n", orders[j].name, heads[i]);
            begin(heads[i]);
            expect_slots();
            for (unsigned n = 0, at = orders[j].first; n < ROWS; n++) {
                add(&list.rows[at].entry);
                list.rows[at].has_slot = true;
                at = (at + orders[j].step) % ROWS;
                if (n < 3 || n == ROWS / 2)
                    expect_slots();
            }
            expect_slots();
            rn_block_arena_release(&list.blocks);
        }
    }
}

static void a_key_has_one_slot(void **state)
{
    static struct row again[ROWS];
    uint64_t bytes;

    (void)state;
    begin(heads[1]);
    for (unsigned i = 0; i < ROWS; i += 2) {
        add(&list.rows[i].entry);
        list.rows[i].has_slot = true;
    }
    bytes = rn_block_arena_bytes(&list.blocks);
    for (unsigned i = 0; i < ROWS; i += 2) {
        fill_row(&again[i], heads[1], i);
        add(&again[i].entry);
    }
    expect_slots();
    assert_int_equal(rn_block_arena_bytes(&list.blocks), bytes);
    rn_block_arena_release(&list.blocks);
}

/* A node needs one allocation here: it is too large for a block of others. */
static void lack_of_memory_costs_a_slot(void **state)
{
    bool failed = true;

    (void)state;
    for (unsigned fail = 1; failed; fail++) {
        begin(heads[0]);
        oom_in = fail;
        failed = false;
        for (unsigned n = 0, at = ROWS / 2; n < SOME; n++) {
            bool could_fail = oom_in > 0;
            add(&list.rows[at].entry);
            list.rows[at].has_slot = !could_fail || oom_in > 0;
            failed = failed || !list.rows[at].has_slot;
            at = (at + STEP) % ROWS;
        }
        oom_in = 0;
        expect_slots();
        rn_block_arena_release(&list.blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_leads_to_the_last_slot_before_a_key),
        cmocka_unit_test(a_key_has_one_slot),
        cmocka_unit_test(lack_of_memory_costs_a_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
