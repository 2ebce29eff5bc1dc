/* fleet_healed.c -- the fleet after the world has healed: what was acquired is
 * opened, every lease gets an owner in time, every change is acknowledged; see
 * fleet.h. */
#include "client/fleet_own.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    /* I8: two passes, and half a second for the requests; less than the expiry,
     * after which any lease is taken. */
    OPENED_MS = 2 * FLEET_ACQUIRE_MS * 12 / 10 + 500,
    /* I9: the expiry, which is judged in whole seconds and a second late; two
     * passes, with their jitter of 20 % and a drift of 10 %; the requests. */
    OWNED_MS = FLEET_EXPIRE_MS + 2000 + 2 * FLEET_ACQUIRE_MS * 135 / 100 + 500,
    STORED_MS = 500,                  /* R4: the flights of two writes */
    SHARED_MS = 8 * FLEET_ACQUIRE_MS, /* after that hosts have equal shares */
    DONE_MS = 120000, /* after that everything is acknowledged */
};

/* Faults end; one host at least is up. */
static void heal(struct fleet *f)
{
    bool is_up = false;

    scripted_heal(&f->w.wire);
    f->is_healed = true;
    fleet_peers_heal(f);
    fleet_repair(f);
    for (int i = 0; i < FLEET_HOSTS; i++) {
        struct host *h = &f->hosts[i];

        if (!h->engine)
            continue;
        skewed_pause(&h->env, false);
        scripted_cut(h->network, false);
        is_up |= fleet_host_state(h) == RUNNEL_RUNNING;
    }
    for (int i = 0; i < FLEET_HOSTS && !is_up; i++) {
        if (!f->hosts[i].engine) {
            fleet_host_start(f, &f->hosts[i], "healer");
            is_up = true;
        }
    }
}

static bool number_is_live(void *context, int number)
{
    struct fleet *f = context;

    for (int i = 0; i < FLEET_HOSTS; i++) {
        if (f->hosts[i].number == number)
            return f->hosts[i].engine && f->hosts[i].was_up;
    }
    return false;
}

/* What a host acquired just before the world healed it must have found out. */
static void check_opened(struct fleet *f)
{
    for (int i = 0; i < FLEET_HOSTS; i++)
        f->hosts[i].was_up = f->hosts[i].engine &&
                             fleet_host_state(&f->hosts[i]) == RUNNEL_RUNNING;
    fleet_run_for(f, OPENED_MS);
    /* One that is being acquired now is not an orphan: it is open soon. */
    for (int i = 0; i < 10 && !f->checker.failure[0]; i++) {
        if (checker_orphans(&f->checker, number_is_live, f) == 0)
            return;
        fleet_run_for(f, 100);
    }
    if (!f->checker.failure[0])
        snprintf(f->checker.failure, sizeof(f->checker.failure),
                 "I8: a host has not opened a lease that it acquired");
}

/* A free place for a host; NULL: there is none. */
static struct host *free_place(struct fleet *f)
{
    for (int i = 0; i < FLEET_HOSTS; i++) {
        if (!f->hosts[i].engine)
            return &f->hosts[i];
    }
    return NULL;
}

/* At any moment of its work; what it has acknowledged it has stored by then. */
static void kill_one(struct fleet *f, struct host *h)
{
    if (!h->engine)
        return;
    fleet_write_some(f);
    fleet_run_for(f, (int64_t)below(f, 4) * 50);
    if (!f->has_options) /* others may store nothing behind an open call */
        checker_stored(&f->checker, h->number, STORED_MS);
    fleet_host_kill(h);
}

/* One of two hosts dies.  Others join, one after the other: each wants leases,
 * marks those of the dead one, too, and all but the last die soon. */
static void replace_one(struct fleet *f)
{
    struct host *place = free_place(f), *victim = NULL;
    uint64_t deaths = below(f, 5);

    for (int i = 0; i < FLEET_HOSTS; i++) {
        if (f->hosts[i].engine && f->hosts[i].was_up)
            victim = &f->hosts[i];
    }
    if (!victim || !place)
        return;
    fleet_host_start(f, place, "second");
    fleet_run_for(f, SHARED_MS);
    place->was_up = true;
    if (!victim->engine)
        return;
    kill_one(f, victim);
    for (uint64_t i = 0; i <= deaths; i++) {
        char name[16];

        snprintf(name, sizeof(name), "newcomer%d", (int)i);
        kill_one(f, victim);
        fleet_host_start(f, victim, name);
        if (i < deaths)
            fleet_run_for(f, 1500 + (int64_t)below(f, 2000));
    }
}

void fleet_check_owned(struct fleet *f)
{
    bool is_up = false;
    int64_t longest;

    for (int i = 0; i < FLEET_HOSTS; i++)
        is_up |= f->hosts[i].was_up && f->hosts[i].engine &&
                 fleet_host_state(&f->hosts[i]) == RUNNEL_RUNNING;
    if (!f->is_healed || !is_up) {
        checker_unowned_forget(&f->checker);
        return;
    }
    longest = checker_unowned(&f->checker, now_of(f), fleet_host_is_live, f) /
              1000000;
    if (longest > OWNED_MS && !f->checker.failure[0])
        snprintf(f->checker.failure, sizeof(f->checker.failure),
                 "I9: a lease has had no live owner for %lld ms",
                 (long long)longest);
}

void fleet_run_healed(struct fleet *f)
{
    int64_t end;

    heal(f);
    check_opened(f);
    if (roll(f, 50))
        replace_one(f);
    fleet_run_for(f, OWNED_MS + 500);
    if (f->has_options)
        fleet_options_crash(f);
    /* Hosts of one name may have made each other stop. */
    heal(f);
    end = now_of(f) + DONE_MS * INT64_C(1000000);
    while (!f->checker.failure[0] && now_of(f) < end &&
           (checker_missing(&f->checker) ||
            !checker_is_owned(&f->checker, fleet_host_is_live, f)))
        fleet_run_for(f, 500);
    if (f->checker.failure[0])
        return;
    if (checker_missing(&f->checker))
        snprintf(f->checker.failure, sizeof(f->checker.failure),
                 "P1: %zu changes were never acknowledged",
                 checker_missing(&f->checker));
    else if (!checker_is_owned(&f->checker, fleet_host_is_live, f))
        snprintf(f->checker.failure, sizeof(f->checker.failure),
                 "I9: a lease has no live owner");
}
