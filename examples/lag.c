/* lag.c -- how far behind the processor "printer" is: now, or with an argument
 * every so many seconds. */
#include "example.h"

static bool print_lag(void *context, const runnel_lag *lag)
{
    (void)context;
    printf("%-12s %-16s %8lld changes %8.1f s\n",
           lag->lease ? lag->lease : "total",
           lag->host    ? lag->host
           : lag->lease ? "(nobody)"
                        : "",
           (long long)lag->behind, (double)lag->behind_ms / 1000);
    return true;
}

int main(int argc, char **argv)
{
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT, .name = "printer",
                             .source = open_container("shop", "orders"),
                             .leases = open_container("shop", "leases") };
    uint32_t period_ms =
        argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) * 1000 : 0;
    runnel_estimator *estimator = NULL;
    runnel_error error;
    runnel_code rc;

    if (period_ms == 0)
        rc = runnel_lag_each(&set, print_lag, NULL, &error);
    else
        rc = runnel_estimator_start(&set, period_ms, print_lag, NULL,
                                    &estimator, &error);
    if (rc)
        fprintf(stderr, "lag: %s\n", error.message);
    else if (estimator)
        getchar();

    runnel_estimator_stop(estimator);
    runnel_container_close(set.source);
    runnel_container_close(set.leases);
    return rc ? 1 : 0;
}
