/* base_histogram_test.c -- histograms.
 *
 * Goal: a value falls into the first bucket whose bound it does not exceed, and
 * buckets are printed as Prometheus wants them: each with all below it. Method:
 * values beside the bounds of both scales, and the text in whole.
 */
#include "base/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_value_falls_below_the_first_bound_that_is_not_less(void **state)
{
    static const struct {
        const struct rn_scale *scale;
        uint64_t value;
        size_t bucket;
    } rows[] = {
        { &rn_scale_times, 0, 0 },
        { &rn_scale_times, 500000, 0 },
        { &rn_scale_times, 500001, 1 },
        { &rn_scale_times, UINT64_C(10000000000), 13 },
        { &rn_scale_times, UINT64_C(10000000001), 14 },
        { &rn_scale_times, UINT64_MAX, 14 },
        { &rn_scale_sizes, 1, 0 },
        { &rn_scale_sizes, 3, 2 },
        { &rn_scale_sizes, 1024, 10 },
        { &rn_scale_sizes, 1025, 11 },
        { &rn_scale_sizes, UINT64_MAX, 11 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(rn_scale_bucket(rows[i].scale, rows[i].value),
                         rows[i].bucket);
}

static void the_text_has_each_bucket_with_all_below_it(void **state)
{
    static const char want[] = "n_bucket{le=\"1\"} 1\n"
                               "n_bucket{le=\"2\"} 1\n"
                               "n_bucket{le=\"4\"} 3\n"
                               "n_bucket{le=\"8\"} 3\n"
                               "n_bucket{le=\"16\"} 3\n"
                               "n_bucket{le=\"32\"} 3\n"
                               "n_bucket{le=\"64\"} 3\n"
                               "n_bucket{le=\"128\"} 3\n"
                               "n_bucket{le=\"256\"} 3\n"
                               "n_bucket{le=\"512\"} 3\n"
                               "n_bucket{le=\"1024\"} 3\n"
                               "n_bucket{le=\"+Inf\"} 4\n"
                               "n_sum 2008\n"
                               "n_count 4\n";
    static const uint64_t values[] = { 1, 3, 4, 2000 };
    struct rn_buf text = RN_BUF_INIT(1 << 16);
    struct rn_histogram h = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        rn_histogram_add(&h, &rn_scale_sizes, values[i]);
    assert_int_equal(rn_histogram_print(&h, &rn_scale_sizes, "n", "", &text),
                     RN_OK);
    assert_int_equal(text.len, sizeof(want) - 1);
    assert_memory_equal(text.at, want, text.len);
    rn_buf_release(&text);
}

static void times_are_printed_in_seconds_beside_a_label(void **state)
{
    static const char *const want[] = {
        "n_bucket{op=\"GET\",le=\"0.0005\"} 0\n",
        "n_bucket{op=\"GET\",le=\"0.0025\"} 1\n",
        "n_bucket{op=\"GET\",le=\"10\"} 1\n",
        "n_bucket{op=\"GET\",le=\"+Inf\"} 2\n",
        "n_sum{op=\"GET\"} 11.001500000\n",
        "n_count{op=\"GET\"} 2\n",
    };
    struct rn_buf text = RN_BUF_INIT(1 << 16);
    struct rn_histogram h = { 0 };

    (void)state;
    rn_histogram_add(&h, &rn_scale_times, 1500000);
    rn_histogram_add(&h, &rn_scale_times, UINT64_C(11000000000));
    assert_int_equal(
        rn_histogram_print(&h, &rn_scale_times, "n", "op=\"GET\"", &text),
        RN_OK);
    assert_int_equal(rn_buf_add(&text, rn_view_of("", 1)), RN_OK);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_non_null(strstr(text.at, want[i]));
    rn_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_falls_below_the_first_bound_that_is_not_less),
        cmocka_unit_test(the_text_has_each_bucket_with_all_below_it),
        cmocka_unit_test(times_are_printed_in_seconds_beside_a_label),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
