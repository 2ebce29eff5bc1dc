/* http_evil_test.c -- the framing half of the bad-input corpus, on the reader.
 *
 * Every case of tests/evil/framing must have the outcome its title says, and
 * must have it however its bytes are cut: whole, byte by byte, in two at every
 * place, and at random; also from memory that ends with each piece.
 */
#include "lib/evil.h"
#include "lib/http_feed.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum {
    CASES_MIN = 330,
    SMALL = 1200,   /* bytes of a case that is cut everywhere */
    LARGE = 200000, /* and of one that is cut in a few ways only */
    RANDOM_CUTS = 20,
    PLACES = 6, /* where a longer one is cut in two */
};

struct run {
    size_t cases, wrong, cuts;
    struct feed_result whole, other;
};

static bool answer_fits(const struct evil_answer *a,
                        const struct feed_event *got)
{
    if (a->high == 0)
        return got->status == 0 &&
               (a->body_bytes < 0 || a->body_bytes == (int64_t)got->body_bytes);
    return got->status >= a->low && got->status <= a->high;
}

static bool outcome_fits(const struct evil_case *c,
                         const struct feed_result *got)
{
    const struct feed_event *event =
        (const struct feed_event *)(const void *)got->events.at;
    size_t left = got->events.len / sizeof(*event);

    for (size_t i = 0; i < c->answer_count; i++) {
        for (size_t n = 0; n < c->answers[i].times; n++) {
            if (left == 0 || !answer_fits(&c->answers[i], event))
                return false;
            event++;
            left--;
        }
    }
    return left == 0 && (int)c->end == (int)got->end;
}

static void complain(struct run *run, const struct evil_case *c,
                     const char *what, const struct feed_result *got)
{
    struct rn_view text = rn_buf_view(&got->text);

    if (text.len > 800)
        text.len = 800;
    print_error("%s:%d: %s: %s\n%.*s\n", c->file, c->line, c->name, what,
                RN_FMT(text));
    run->wrong++;
}

static void try_cut(struct run *run, const struct evil_case *c,
                    struct feed_cut cut)
{
    char what[100];

    feed(c->bytes, &rn_http_limits_default, cut, &run->other);
    run->cuts++;
    if (rn_view_eq(rn_buf_view(&run->whole.text),
                   rn_buf_view(&run->other.text)))
        return;
    snprintf(what, sizeof(what), "differs when cut: %zu, %zu, %llu%s",
             cut.first, cut.every, (unsigned long long)cut.seed,
             cut.is_exact ? ", exactly" : "");
    complain(run, c, what, &run->other);
}

static void try_all_cuts(struct run *run, const struct evil_case *c)
{
    bool is_small = c->bytes.len <= SMALL, is_large = c->bytes.len > LARGE;
    size_t step = is_small ? 1 : c->bytes.len / PLACES;

    for (size_t at = 1; at < c->bytes.len; at += step)
        try_cut(run, c, (struct feed_cut){ .first = at, .is_exact = at & 1 });
    for (uint64_t seed = 1; seed <= (is_large ? 2 : RANDOM_CUTS); seed++)
        try_cut(run, c,
                (struct feed_cut){ .seed = seed * 0x9e3779b97f4a7c15,
                                   .is_exact = is_small && seed & 1 });
    if (!is_large)
        try_cut(run, c, (struct feed_cut){ .every = 1, .is_exact = is_small });
    try_cut(run, c, (struct feed_cut){ .is_exact = true });
}

static void try_case(void *context, const struct evil_case *c)
{
    struct run *run = context;
    size_t wrong = run->wrong;

    run->cases++;
    feed(c->bytes, &rn_http_limits_default, (struct feed_cut){ 0 },
         &run->whole);
    if (!outcome_fits(c, &run->whole))
        complain(run, c, "has another outcome", &run->whole);
    else
        try_all_cuts(run, c);
    if (run->wrong > wrong + 3)
        print_error("%s: ... and more cuts\n", c->name);
}

static void every_case_ends_as_its_title_says_however_cut(void **state)
{
    struct run run = { 0 };
    struct dirent *entry;
    DIR *dir = opendir(EVIL_DIR "/framing");

    (void)state;
    assert_non_null(dir);
    feed_result_init(&run.whole);
    feed_result_init(&run.other);
    while ((entry = readdir(dir))) {
        struct rn_err err = { 0 };
        char path[600];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/framing/%s", EVIL_DIR, entry->d_name);
        if (evil_each(path, try_case, &run, &err) != RN_OK)
            fail_msg("%s", err.text);
    }
    closedir(dir);
    feed_result_release(&run.whole);
    feed_result_release(&run.other);
    print_message("# %zu cases, %zu cuts\n", run.cases, run.cuts);
    assert_int_equal(run.wrong, 0);
    assert_true(run.cases >= CASES_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_ends_as_its_title_says_however_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
