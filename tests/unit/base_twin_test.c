/* base_twin_test.c -- the simulated env answers as the machine does.
 *
 * What is proven in the simulation holds outside only if the two agree.  So the
 * same calls, drawn from a seed, go to both: a few names, a few open files,
 * every call of the disk.  Each must return the same error, read the same
 * bytes, list the same names.  Faults and crashes are the simulation's own and
 * are left out.
 *
 * 20 seeds of 600 calls (1 to 3 s, mostly the disk's); 1,000 as a proof
 * (RUNNEL_PROVE, 1 to 2 minutes).
 */
#include "base/prng.h"
#include "base/sim.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CALLS = 600, FILES = 4, MAX = 3000 };

static uint64_t seeds = 20;

static const char *const names[] = { "a",   "b",   "c",     "d",
                                     "d/a", "d/e", "d/e/a", "no/a" };
enum { NAMES = sizeof(names) / sizeof(names[0]) };

struct side {
    struct rn_env *env;
    char root[200];
    struct rn_file *files[FILES];
    char path[2][300];
};

/* A call and its arguments, the same for both. */
struct call {
    int kind, file, how;
    const char *name, *other;
    uint64_t offset;
    size_t len;
    char bytes[MAX];
};

struct answer {
    int error;
    uint64_t number;
    size_t len;
    char bytes[MAX];
};

static const char *at(struct side *s, int which, const char *name)
{
    snprintf(s->path[which], sizeof(s->path[which]), "%s/%s", s->root, name);
    return s->path[which];
}

/* Lists arrive in any order: each name sets its bit. */
static void note_name(void *context, const char *name)
{
    uint64_t *seen = context;

    for (int i = 0; i < 26; i++) {
        if (name[0] == 'a' + i && name[1] == '\0')
            *seen |= UINT64_C(1) << i;
    }
    *seen += UINT64_C(1) << 32;
}

static void call_on_file(struct rn_file *f, const struct call *c,
                         struct answer *a)
{
    const struct rn_env_ops *ops = f->env->ops;

    switch (c->kind) {
    case 0:
    case 1:
        a->error = ops->pread(f, a->bytes, c->len, c->offset, &a->len);
        break;
    case 2:
    case 3:
        a->error = ops->pwrite(f, rn_view_of(c->bytes, c->len), c->offset);
        break;
    case 4:
        a->error = ops->truncate(f, c->offset);
        break;
    case 5:
        a->error = ops->size(f, &a->number);
        break;
    case 6:
        a->error = ops->reserve(f, c->offset, c->len,
                                c->how % 2 ? RN_RESERVE_GROW : RN_RESERVE_KEEP);
        break;
    case 7:
        a->error = ops->lock(f, (enum rn_file_lock)(c->how % 3));
        break;
    case 8:
        a->error = ops->sync(f);
        break;
    default:
        a->error = ops->write_back(f, c->offset, c->len);
        break;
    }
}

static void call_on_name(struct side *s, const struct call *c, struct answer *a)
{
    const struct rn_env_ops *ops = s->env->ops;
    const char *path = at(s, 0, c->name);

    switch (c->kind) {
    case 10:
        a->error = ops->rename(s->env, path, at(s, 1, c->other));
        break;
    case 11:
        a->error = ops->remove(s->env, path);
        break;
    case 12:
        a->error = ops->make_dir(s->env, path);
        break;
    case 13:
        a->error = ops->sync_dir(s->env, path);
        break;
    case 14:
        a->error = ops->list(s->env, path, note_name, &a->number);
        break;
    case 15:
        if (s->files[c->file])
            a->number = ops->is_at(s->files[c->file], path);
        break;
    default:
        rn_file_close(s->files[c->file]);
        s->files[c->file] = NULL;
        a->error = ops->open(s->env, path, (enum rn_open)(c->how % 4),
                             &s->files[c->file]);
        break;
    }
}

static void perform(struct side *s, const struct call *c, struct answer *a)
{
    *a = (struct answer){ 0 };
    if (c->kind >= 10)
        call_on_name(s, c, a);
    else if (s->files[c->file])
        call_on_file(s->files[c->file], c, a);
}

static void draw_call(struct rn_prng *prng, struct call *c)
{
    c->kind = (int)rn_prng_below(prng, 19);
    c->file = (int)rn_prng_below(prng, FILES);
    c->how = (int)rn_prng_below(prng, 12);
    c->name = names[rn_prng_below(prng, NAMES)];
    c->other = names[rn_prng_below(prng, NAMES)];
    c->offset = rn_prng_below(prng, 9000);
    c->len = (size_t)rn_prng_below(prng, MAX);
    rn_prng_fill(prng, c->bytes, c->len);
}

static void compare(uint64_t seed, int i, const struct call *c,
                    const struct answer answers[2])
{
    if (answers[0].error != answers[1].error)
        print_message("seed %d call %d kind %d %s %s: machine says %d, "
                      "simulation %d\n",
                      (int)seed, i, c->kind, c->name, c->other,
                      answers[0].error, answers[1].error);
    assert_int_equal(answers[0].error, answers[1].error);
    assert_int_equal(answers[0].number, answers[1].number);
    assert_int_equal(answers[0].len, answers[1].len);
    assert_memory_equal(answers[0].bytes, answers[1].bytes, answers[0].len);
}

static void remove_tree(void *context, const char *name)
{
    struct rn_env *env = rn_env_real();
    char path[400];

    snprintf(path, sizeof(path), "%s%s%s", (const char *)context,
             name[0] ? "/" : "", name);
    if (env->ops->remove(env, path) == ENOTEMPTY) {
        env->ops->list(env, path, remove_tree, path);
        assert_int_equal(env->ops->remove(env, path), 0);
    }
}

static void run_both(uint64_t seed, struct side sides[2])
{
    static struct call call;
    static struct answer answers[2];
    struct rn_prng prng;

    rn_prng_init(&prng, seed);
    for (int i = 0; i < CALLS; i++) {
        draw_call(&prng, &call);
        perform(&sides[0], &call, &answers[0]);
        perform(&sides[1], &call, &answers[1]);
        compare(seed, i, &call, answers);
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < FILES; i++)
            rn_file_close(sides[k].files[i]);
    }
}

static void both_envs_give_the_same_answers(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct rn_sim *sim = rn_sim_new(seed);
        struct side sides[2] = { { .env = rn_env_real() },
                                 { .env = rn_sim_env(sim), .root = "/s" } };
        snprintf(sides[0].root, sizeof(sides[0].root), "%s/rn_twin_XXXXXX",
                 tmp ? tmp : "/tmp");
        assert_non_null(mkdtemp(sides[0].root));
        assert_int_equal(sides[1].env->ops->make_dir(sides[1].env, "/s"), 0);
        run_both(seed, sides);
        assert_int_equal(rn_sim_open_files(sim), 0);
        rn_sim_free(sim);
        remove_tree(sides[0].root, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_envs_give_the_same_answers),
    };

    int64_t start_ns = rn_mono_ns(rn_env_real());
    int failed;

    if (getenv("RUNNEL_PROVE"))
        seeds *= 50;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("%d seeds, %.1f s\n", (int)seeds,
           (double)(rn_mono_ns(rn_env_real()) - start_ns) / 1e9);
    return failed;
}
