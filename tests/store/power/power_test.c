/* power_test.c -- no power cut, and no two or three in a row, harms the store.
 *
 * Goal: promises D1 to D4 for the local store with LMDB beneath it.  Method:
 * a seeded workload is recorded, call by call (record.h); from the recording
 * every kind of state is built that a power cut may leave (disk.h); each is
 * opened by the real recovery and compared, key by key, with the model
 * (work.h); and so on into recovery itself (round.h).
 *
 * States are tried in a few worker processes.  One that crashes or hangs is a
 * violation, and another goes on behind it.
 */
#include "round.h"

#include "../bugs.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS_MAX = 64 };

enum exit_code { EXIT_CLEAN, EXIT_VIOLATION, EXIT_USAGE, EXIT_HARNESS };

struct worker {
    pid_t pid;
    atomic_ullong now; /* round << 16 | state */
};

struct shared {
    struct tally tally;
    bool harness_failed; /* the parent's */
    struct worker worker[WORKERS_MAX];
};

struct options {
    struct round_opts round;
    unsigned workers;
    pid_t owner; /* names the directories */
    uint64_t seconds;
    bool replay;
    uint64_t first, replay_round, replay_state;
    char command[512]; /* what to say again when replaying */
};

/* ---- workers ------------------------------------------------------------- */

static void worker_dir(const struct options *o, unsigned index,
                       char out[ROUND_PATH_MAX])
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    snprintf(out, ROUND_PATH_MAX, "%s/runnel-power-%ld-%u", base,
             (long)o->owner, index);
}

static void worker_init(struct round *r, const struct options *o,
                        struct shared *s, unsigned index)
{
    char dir[ROUND_PATH_MAX];

    worker_dir(o, index, dir);
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        perror(dir);
        _exit(EXIT_HARNESS);
    }
    round_init(r, &o->round, &s->tally, dir);
    r->now = &s->worker[index].now;
}

static void remove_dirs(const struct options *o)
{
    for (unsigned i = 0; i < o->workers; i++) {
        char dir[ROUND_PATH_MAX], data[ROUND_PATH_MAX + 8];
        worker_dir(o, i, dir);
        snprintf(data, sizeof(data), "%s/data", dir);
        disk_remove(data);
        rmdir(dir);
    }
}

/* Goes on behind `at`, where another one died; 0: nobody has. */
static void work(const struct options *o, struct shared *s, unsigned index,
                 uint64_t at)
{
    struct round r;
    bool first = at != 0;

    worker_init(&r, o, s, index);
    while (!round_is_over(&r)) {
        uint64_t number =
            first ? at >> 16 : atomic_fetch_add(&s->tally.next_round, 1);
        round_run(&r, number, first ? (at & 0xffff) + 1 : 0, false);
        first = false;
    }
    round_release(&r);
    exit(EXIT_CLEAN);
}

static void start(const struct options *o, struct shared *s, unsigned index,
                  uint64_t at)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        work(o, s, index, at);
    if (pid < 0) {
        perror("fork");
        exit(EXIT_HARNESS);
    }
    s->worker[index].pid = pid;
}

/* What a worker's end means; true if another must take its place. */
static bool ended(const struct options *o, struct shared *s, unsigned index,
                  int status)
{
    uint64_t now = atomic_load(&s->worker[index].now);
    struct round dead;
    char what[128];

    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CLEAN)
        return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_HARNESS) {
        s->harness_failed = true;
        atomic_store(&s->tally.stop, true);
        return false;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(what, sizeof(what), "it hangs");
    else if (WIFSIGNALED(status))
        snprintf(what, sizeof(what), "signal %d", WTERMSIG(status));
    else
        snprintf(what, sizeof(what), "exit %d", WEXITSTATUS(status));
    dead = (struct round){ .opts = &o->round,
                           .tally = &s->tally,
                           .number = now >> 16,
                           .state = now & 0xffff };
    round_violation(&dead, what);
    return !atomic_load(&s->tally.stop);
}

static void run(const struct options *o, struct shared *s)
{
    unsigned running = o->workers;
    int status;

    for (unsigned i = 0; i < o->workers; i++)
        start(o, s, i, 0);
    while (running > 0) {
        pid_t pid = wait(&status);
        for (unsigned i = 0; i < o->workers; i++) {
            if (s->worker[i].pid != pid)
                continue;
            if (ended(o, s, i, status))
                start(o, s, i, atomic_load(&s->worker[i].now));
            else
                running--;
        }
    }
}

/* ---- the command line ---------------------------------------------------- */

static int usage(const char *me)
{
    fprintf(stderr,
            "usage: %s [--states N] [--seconds S] [--seed X] [--workers N]\n"
            "       [--aim all|creation|kills] [--first ROUND] [--bug NAME]\n"
            "       [--replay ROUND.STATE]\n",
            me);
    return EXIT_USAGE;
}

/* How much is enough: in a build with sanitizers, which is several times
 * slower; in the usual one; and for `make prove`. */
#ifndef POWER_STATES
#define POWER_STATES 20000
#endif
enum { SECONDS = 90, PROVE_STATES = 1000000, PROVE_SECONDS = 6 * 3600 };

static uint64_t from_env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static bool take_aim(struct options *o, const char *text)
{
    static const char *const aims[] = {
        [AIM_ALL] = "all",
        [AIM_CREATION] = "creation",
        [AIM_KILLS] = "kills",
    };

    for (int i = AIM_ALL; i <= AIM_KILLS; i++) {
        if (strcmp(text, aims[i]) != 0)
            continue;
        o->round.aim = (enum round_aim)i;
        return true;
    }
    return false;
}

static bool take_option(struct options *o, int option, const char *text)
{
    char *rest = NULL;

    if (option == 'n')
        o->round.states_max = strtoull(text, &rest, 10);
    else if (option == 't')
        o->seconds = strtoull(text, &rest, 10);
    else if (option == 'x')
        o->round.seed = strtoull(text, &rest, 10);
    else if (option == 'w')
        o->workers = (unsigned)strtoul(text, &rest, 10);
    else if (option == 'f')
        o->first = strtoull(text, &rest, 10);
    else if (option == 'a')
        return take_aim(o, text);
    else if (option == 'b') {
        o->round.violations_max = 1; /* that it is found is all we ask */
        return bug_switch_on(text);
    } else if (option == 'r') {
        o->replay = o->round.verbose = true;
        o->replay_round = strtoull(text, &rest, 10);
        if (*rest == '.')
            o->replay_state = strtoull(rest + 1, &rest, 10);
    } else
        return false;
    return !rest || *rest == '\0';
}

static bool take_options(struct options *o, int argc, char **argv)
{
    static const struct option names[] = {
        { "states", required_argument, NULL, 'n' },
        { "seconds", required_argument, NULL, 't' },
        { "seed", required_argument, NULL, 'x' },
        { "workers", required_argument, NULL, 'w' },
        { "first", required_argument, NULL, 'f' },
        { "aim", required_argument, NULL, 'a' },
        { "bug", required_argument, NULL, 'b' },
        { "replay", required_argument, NULL, 'r' },
        { 0 },
    };
    int option, index = 0;

    snprintf(o->command, sizeof(o->command), "%s", argv[0]);
    while ((option = getopt_long(argc, argv, "", names, &index)) != -1) {
        size_t len = strlen(o->command);
        if (!take_option(o, option, optarg))
            return false;
        if (option == 'a' || option == 'b')
            snprintf(o->command + len, sizeof(o->command) - len, " --%s %s",
                     names[index].name, optarg);
    }
    return optind == argc && o->workers >= 1 && o->workers <= WORKERS_MAX;
}

static void replay(const struct options *o, struct shared *s)
{
    struct round r;

    worker_init(&r, o, s, 0);
    round_run(&r, o->replay_round, o->replay_state, true);
    round_release(&r);
}

static void report(const struct options *o, const struct tally *t,
                   int64_t begun)
{
    unsigned long long n[ROUND_LEVELS], all = 0;

    for (int i = 0; i < ROUND_LEVELS; i++)
        all += n[i] = atomic_load(&t->states[i]);
    printf("%llu states, %llu violations, %.0f s, seed %llu\n"
           "  after one cut %llu, two in a row %llu, three %llu; %llu of them "
           "kills; %llu rounds, %llu WAL segments reused, %llu intervals "
           "rewritten\n",
           all, (unsigned long long)atomic_load(&t->violations),
           (double)(round_now_ns() - begun) / 1e9,
           (unsigned long long)o->round.seed, n[0], n[1], n[2],
           (unsigned long long)atomic_load(&t->kills),
           (unsigned long long)atomic_load(&t->rounds),
           (unsigned long long)atomic_load(&t->segments_reused),
           (unsigned long long)atomic_load(&t->rewritten));
}

int main(int argc, char **argv)
{
    int64_t begun = round_now_ns();
    bool prove = from_env("RUNNEL_PROVE", 0);
    struct options o = {
        .workers = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
        .owner = getpid(),
        .seconds =
            from_env("RUNNEL_POWER_SECONDS", prove ? PROVE_SECONDS : SECONDS),
        .round = { .seed = from_env("RUNNEL_POWER_SEED", 1),
                   .states_max = from_env("RUNNEL_POWER_STATES",
                                          prove ? PROVE_STATES : POWER_STATES),
                   .violations_max = 10 },
    };
    struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (o.workers > WORKERS_MAX)
        o.workers = WORKERS_MAX;
    if (s == MAP_FAILED || !take_options(&o, argc, argv))
        return usage(argv[0]);
    o.round.command = o.command;
    atomic_store(&s->tally.next_round, o.first);
    o.round.deadline_ns = begun + (int64_t)o.seconds * INT64_C(1000000000);
    if (o.replay)
        replay(&o, s);
    else
        run(&o, s);
    remove_dirs(&o);
    report(&o, &s->tally, begun);
    if (s->harness_failed)
        return EXIT_HARNESS;
    return atomic_load(&s->tally.violations) ? EXIT_VIOLATION : EXIT_CLEAN;
}
