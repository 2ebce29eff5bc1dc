/* bug.h -- mutation testing: seeded bugs of the store that the proofs must
 * find.
 *
 * A suite that has never failed proves little.  In the build of the proofs
 * (RN_BUGS defined) each bug can be switched on by number, and the suite must
 * find it; tests/store/bugs_test.sh checks that.  Everywhere else RN_BUG is the
 * constant false and the compiler removes the variant.
 */
#ifndef RN_STORE_BUG_H
#define RN_STORE_BUG_H

enum rn_bug {
    RN_BUG_NONE,
    RN_BUG_ANSWER_BEFORE_SYNC,
    RN_BUG_VISIBLE_BEFORE_SYNC,
    RN_BUG_NO_PIN,
    RN_BUG_NO_PIN_AFTER_OPEN,
    RN_BUG_PIN_RELEASED_EARLY,
    RN_BUG_CHECKPOINT_BEFORE_DATA_SYNC,
    RN_BUG_NO_DIR_SYNC,
    RN_BUG_NO_DIR_SYNC_AT_OPEN,
    RN_BUG_NO_LOG_SYNC_AT_OPEN,
    RN_BUG_CACHE_TRUSTED_AT_OPEN,
    RN_BUG_SEQ_REUSED_AFTER_RECOVERY,
    RN_BUG_STALE_RECORD_ACCEPTED,
    RN_BUG_STOP_AT_ROT,
    RN_BUG_FAILED_MAP_COMMIT_IGNORED,
    RN_BUG_NEIGHBOURS_LOST,
    /* Bugs of the change feed; see engine/bug.h. */
    RN_BUG_WAKE_FORGOTTEN,
    RN_BUG_WAIT_SKIPS,
    RN_BUG_ANCESTOR_FORGOTTEN,
    RN_BUG_LSN_DIVIDED,
    RN_BUG_HOME_OVERWRITES,
    RN_BUG_MERGE_REUSES_LSNS,
    RN_BUGS_END,
};

#ifdef RN_BUGS
extern int rn_bug_on;
#define RN_BUG(name) (rn_bug_on == RN_BUG_##name)
#else
#define RN_BUG(name) 0
#endif

#endif
