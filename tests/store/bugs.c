/* bugs.c -- see bugs.h. */
#include "bugs.h"

#include "store/bug.h"

#include <string.h>

#ifdef RN_BUGS
bool bug_switch_on(const char *name)
{
    static const char *const names[RN_BUGS_END] = {
        [RN_BUG_NONE] = "none",
        [RN_BUG_ANSWER_BEFORE_SYNC] = "answer-before-sync",
        [RN_BUG_VISIBLE_BEFORE_SYNC] = "visible-before-sync",
        [RN_BUG_NO_PIN] = "no-pin",
        [RN_BUG_NO_PIN_AFTER_OPEN] = "no-pin-after-open",
        [RN_BUG_PIN_RELEASED_EARLY] = "pin-released-early",
        [RN_BUG_CHECKPOINT_BEFORE_DATA_SYNC] = "checkpoint-before-data-sync",
        [RN_BUG_NO_DIR_SYNC] = "no-dir-sync",
        [RN_BUG_NO_DIR_SYNC_AT_OPEN] = "no-dir-sync-at-open",
        [RN_BUG_NO_LOG_SYNC_AT_OPEN] = "no-log-sync-at-open",
        [RN_BUG_CACHE_TRUSTED_AT_OPEN] = "cache-trusted-at-open",
        [RN_BUG_SEQ_REUSED_AFTER_RECOVERY] = "seq-reused-after-recovery",
        [RN_BUG_STALE_RECORD_ACCEPTED] = "stale-record-accepted",
        [RN_BUG_STOP_AT_ROT] = "stop-at-rot",
        [RN_BUG_FAILED_MAP_COMMIT_IGNORED] = "failed-map-commit-ignored",
        [RN_BUG_NEIGHBOURS_LOST] = "neighbours-lost",
        [RN_BUG_WAKE_FORGOTTEN] = "wake-forgotten",
        [RN_BUG_WAIT_SKIPS] = "wait-skips",
        [RN_BUG_ANCESTOR_FORGOTTEN] = "ancestor-forgotten",
        [RN_BUG_LSN_DIVIDED] = "lsn-divided",
        [RN_BUG_HOME_OVERWRITES] = "home-overwrites",
        [RN_BUG_MERGE_REUSES_LSNS] = "merge-reuses-lsns",
    };

    for (int i = RN_BUG_NONE; i < RN_BUGS_END; i++) {
        if (names[i] && strcmp(name, names[i]) == 0) {
            rn_bug_on = i;
            return true;
        }
    }
    return false;
}
#else
bool bug_switch_on(const char *name)
{
    (void)name;
    return false;
}
#endif
