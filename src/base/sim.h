/* sim.h -- a deterministic simulation env: virtual clock, tasks and disk.
 *
 * Time stands still unless a task runs or sleeps; tasks are stepped by the
 * caller's one thread, in an order drawn from the seed; the disk is in memory
 * and may lose power at any call.  The same seed and the same calls give the
 * same run, byte for byte (rn_sim_trace shows it).
 *
 * What a crash leaves (for the disk's side of the contract see sim_disk.h):
 *
 *   contents    every write since the file's last sync is kept, lost or torn
 *               on its own, in 512-byte sectors; larger ones 4 KiB at a time
 *   lengths     one of those the file had since its last sync
 *   names       create, rename and remove since the directory's last sync_dir
 *               each happened or not; only those of one name keep their order.
 *               Syncing a file does not save its name
 *
 * The usual shape of a test:
 *
 *   rn_sim_cut_after(sim, n);  work until rn_sim_is_cut;  close the wreck;
 *   rn_sim_crash(sim);         open again, and compare with what was promised
 *
 * Threads: one.
 */
#ifndef RN_BASE_SIM_H
#define RN_BASE_SIM_H

#include "base/env.h"

struct rn_sim;
struct rn_prng;

struct rn_sim *rn_sim_new(uint64_t seed); /* aborts without memory */
/* NULL is fine.  Like rn_sim_crash it accesses tasks that were not stopped. */
void rn_sim_free(struct rn_sim *sim);
struct rn_env *rn_sim_env(struct rn_sim *sim);
/* The simulation's own generator, for tests whose choices should be replayed
 * too. */
struct rn_prng *rn_sim_prng(struct rn_sim *sim);

/* ---- time and tasks ------------------------------------------------------ */

/* Runs one task that is due, or else advances the clock to the next due task
 * and runs that.  False if no task will be due until one is woken, or if the
 * power is cut. */
bool rn_sim_step(struct rn_sim *sim);
/* Runs the tasks that fall due within the next `ns`, and advances the clock by
 * it. */
void rn_sim_run(struct rn_sim *sim, int64_t ns);
/* Like a change by an administrator or NTP: the monotonic clock does not move.
 */
void rn_sim_wall_jump(struct rn_sim *sim, int64_t ms);

/* ---- disk ---------------------------------------------------------------- */

/* The disk calls, as rn_sim_fail and rn_sim_calls name them. */
enum rn_sim_call {
    RN_SIM_OPEN,
    RN_SIM_PREAD,
    RN_SIM_PWRITE,
    RN_SIM_SYNC,
    RN_SIM_WRITE_BACK,
    RN_SIM_RESERVE,
    RN_SIM_TRUNCATE,
    RN_SIM_SIZE,
    RN_SIM_LOCK,
    RN_SIM_RENAME,
    RN_SIM_REMOVE,
    RN_SIM_MAKE_DIR,
    RN_SIM_SYNC_DIR,
    RN_SIM_LIST,
    RN_SIM_SPACE,
    RN_SIM_CALLS,
};

enum rn_sim_times { RN_SIM_ONCE, RN_SIM_FOR_EVER };

/* Makes the `nth` call of its kind from now (1 is the next) fail with `error`,
 * and with RN_SIM_FOR_EVER all after it.  A failed write may have written its
 * beginning; a failed sync may have lost any of its data, and a later sync does
 * not bring that back; the others did nothing.  One fault per kind: the last
 * one given holds, and an `nth` of 0 means none. */
void rn_sim_fail(struct rn_sim *sim, enum rn_sim_call call, uint64_t nth,
                 int error, enum rn_sim_times times);
/* The number of calls of a kind so far. */
uint64_t rn_sim_calls(const struct rn_sim *sim, enum rn_sim_call call);

/* The size of the disk; UINT64_MAX (the default) is no limit. */
void rn_sim_disk_limit(struct rn_sim *sim, uint64_t bytes);
/* Of the blocks that a crash tears, the share that is also corrupted: any
 * sector of their 4 KiB may then hold noise, even one the write did not touch.
 * 0 by default. */
void rn_sim_spoil(struct rn_sim *sim, unsigned percent);

/* Cuts the power at the `nth` call from now that would change the disk (1 is
 * the next, 0 is at once).  That call may have reached the disk and fails with
 * EIO, as do all after it; nothing runs any more. */
void rn_sim_cut_after(struct rn_sim *sim, uint64_t nth);
bool rn_sim_is_cut(const struct rn_sim *sim);
/* Decides which bytes survive, and restores the power.  Tasks still registered
 * are dropped (their owners must not be freed yet), locks are released, and
 * files still open only fail, until they are closed. */
void rn_sim_crash(struct rn_sim *sim);

/* Files opened and not closed, those from before a crash included. */
unsigned rn_sim_open_files(const struct rn_sim *sim);

/* ---- trace --------------------------------------------------------------- */

/* Called with one line, without its end, for every step and every call that
 * touches the disk, the generator or the clock. */
typedef void rn_sim_trace_fn(void *context, const char *line);
void rn_sim_trace(struct rn_sim *sim, rn_sim_trace_fn *each, void *context);

/* Writes a line of the trace. */
void rn_sim_note(struct rn_sim *sim, const char *fmt, ...) RN_PRINTF(2, 3);

#endif
