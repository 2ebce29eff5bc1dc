/* seeds.c -- see seeds.h. */
#include "seeds.h"

#include "../store/bugs.h"

#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MAX = 64, SEED_S_MAX = 60 };

/* Enough for all seeds on two cores that others use too.  Under sanitizers it
 * is not the count that matters. */
#ifdef __SANITIZE_ADDRESS__
enum { SECONDS = 60 };
#else
enum { SECONDS = 150 };
#endif

struct common {
    atomic_ullong seeds, failures;
    atomic_ullong now[WORKERS_MAX]; /* the seed a worker is at */
};

struct options {
    uint64_t first, seeds, seconds, failures_max;
    unsigned workers;
    bool trace;
    bool is_told; /* where to begin */
    int64_t deadline_ns;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static uint64_t seed_at(const struct options *o, const struct seeds_plan *plan,
                        uint64_t i)
{
    size_t kept = o->is_told ? 0 : plan->kept_count;

    return i < kept ? plan->kept[i] : o->first + i - kept;
}

static void work(const struct options *o, const struct seeds_plan *plan,
                 struct common *c, void *shared, unsigned index)
{
    for (uint64_t i = index; i < o->seeds && now_ns() < o->deadline_ns;
         i += o->workers) {
        uint64_t seed = seed_at(o, plan, i);

        if (atomic_load(&c->failures) >= o->failures_max)
            break;
        atomic_store(&c->now[index], seed);
        alarm(SEED_S_MAX);
        if (!plan->run(seed, shared, o->trace))
            atomic_fetch_add(&c->failures, 1);
        alarm(0);
        atomic_fetch_add(&c->seeds, 1);
    }
}

static void run_all(const struct options *o, const struct seeds_plan *plan,
                    struct common *c, void *shared)
{
    pid_t pid[WORKERS_MAX];
    int status;

    for (unsigned i = 0; i < o->workers; i++) {
        pid[i] = fork();
        if (pid[i] < 0)
            perror("fork");
        if (pid[i] == 0) {
            work(o, plan, c, shared, i);
            exit(0);
        }
    }
    for (unsigned i = 0; i < o->workers; i++) {
        if (waitpid(pid[i], &status, 0) == pid[i] && status == 0)
            continue;
        fprintf(stderr, "seed %llu: the program dies, status %#x\n",
                (unsigned long long)atomic_load(&c->now[i]), status);
        atomic_fetch_add(&c->failures, 1);
    }
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static bool take_options(struct options *o, int argc, char **argv)
{
    static const struct option names[] = {
        { "seeds", required_argument, NULL, 'n' },
        { "seconds", required_argument, NULL, 't' },
        { "first", required_argument, NULL, 'f' },
        { "seed", required_argument, NULL, 's' },
        { "workers", required_argument, NULL, 'w' },
        { "bug", required_argument, NULL, 'b' },
        { "trace", no_argument, NULL, 'v' },
        { 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        uint64_t n = optarg ? strtoull(optarg, NULL, 10) : 0;
        if (option == 'n')
            o->seeds = n;
        else if (option == 't')
            o->seconds = n;
        else if (option == 'f' || option == 's')
            o->first = n;
        else if (option == 'w')
            o->workers = (unsigned)n;
        else if (option == 'v')
            o->trace = true;
        else if (option != 'b' || !bug_switch_on(optarg))
            return false;
        if (option == 's')
            o->seeds = o->workers = 1;
        o->is_told |= option == 'f' || option == 's';
        if (option == 'b')
            o->failures_max = 1; /* that it is found is all we ask */
    }
    return optind == argc && o->workers >= 1 && o->workers <= WORKERS_MAX;
}

int seeds_run(int argc, char **argv, const struct seeds_plan *plan)
{
    bool prove = from_env("RUNNEL_PROVE", 0), is_enough;
    int64_t begun = now_ns();
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct options o = {
        .first = from_env("RUNNEL_SIM_SEED", 1),
        .seeds = from_env("RUNNEL_SIM_SEEDS",
                          prove ? plan->seeds_prove : plan->seeds),
        .seconds = from_env("RUNNEL_SIM_SECONDS", prove ? 6 * 3600 : SECONDS),
        .failures_max = 10,
        .is_told = getenv("RUNNEL_SIM_SEED") != NULL,
        .workers =
            processors > WORKERS_MAX ? WORKERS_MAX : (unsigned)processors,
    };
    struct common *c =
        mmap(NULL, sizeof(*c) + plan->shared_bytes, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (c == MAP_FAILED || !take_options(&o, argc, argv)) {
        fprintf(stderr,
                "usage: %s [--seeds N] [--seconds S] [--first X] "
                "[--workers N] [--bug NAME] [--seed X [--trace]]\n",
                argv[0]);
        return 2;
    }
    o.deadline_ns = begun + (int64_t)o.seconds * INT64_C(1000000000);
    run_all(&o, plan, c, c + 1);
    printf("%llu seeds, %llu failures, %.0f s\n", (unsigned long long)c->seeds,
           (unsigned long long)c->failures, (double)(now_ns() - begun) / 1e9);
    is_enough = plan->report(c + 1);
    return c->failures || !is_enough ? 1 : 0;
}
