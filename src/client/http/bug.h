/* bug.h -- seeded wrong variants of the processor, which prove that its
 * simulation detects them.
 *
 * As in store/bug.h: in the build of the proofs (RN_BUGS defined) each can be
 * switched on by number, and tests/client/fleet must find it
 * (tests/client/fleet_bugs_test.sh).  Everywhere else RN_BUG is the constant
 * false and the compiler removes the variant.
 */
#ifndef RN_CLIENT_HTTP_BUG_H
#define RN_CLIENT_HTTP_BUG_H

enum rn_client_bug {
    RN_BUG_NONE,
    RN_BUG_CHECKPOINT_AT_DELIVERY,
    RN_BUG_CHILDREN_AT_READ_POSITION,
    RN_BUG_NOTHING_STORED_WHILE_OPEN,
    RN_BUG_FIRST_PAGE_SKIPPED,
    RN_BUG_PARENT_DELETED_FIRST,
    RN_BUG_CLOSE_DOES_NOT_WAIT,
    RN_BUG_SESSION_NOT_COMPARED,
    RN_BUG_RENEWAL_HAS_A_COPY,
    RN_BUG_SUCCESSORS_OF_MARK_DONE,
    RN_BUG_FAILED_DEAD_LETTER_COUNTS,
    RN_BUG_UNCERTAIN_IS_REFUSED,
    RN_BUG_MARK_IS_A_SIGN_OF_LIFE,
    RN_BUG_CHILDREN_UNDONE,
    RN_BUG_REDUNDANT_WITHOUT_ORDER,
    RN_BUG_POSITION_IGNORED,
    RN_BUG_CHILDREN_REMEMBERED,
    RN_BUG_CHILDREN_BEGIN_AGAIN,
    RN_BUG_VALIDITY_IGNORED,
    RN_BUG_CHECKPOINT_AT_RENEWAL,
    RN_BUG_TAKEOVER_IGNORED,
    RN_BUG_FOREIGN_CLOCK_BELIEVED,
    RN_BUG_ANCESTORS_UNKNOWN,
    RN_BUG_PART_IS_PAGE,
    RN_BUG_LATER_CHANGES_STAY,
    RN_BUGS_END,
};

#ifdef RN_BUGS
extern int rn_bug_on;
#define RN_BUG(name) (rn_bug_on == RN_BUG_##name)
#else
#define RN_BUG(name) 0
#endif

#endif
