/* bugs.c -- switching on a wrong variant of the client by its name; see
 * store/bugs.h. */
#include "store/bugs.h"
#include "client/http/bug.h"

#include <string.h>

int rn_bug_on;

bool bug_switch_on(const char *name)
{
    static const char *const names[RN_BUGS_END] = {
        [RN_BUG_NONE] = "none",
        [RN_BUG_CHECKPOINT_AT_DELIVERY] = "checkpoint-at-delivery",
        [RN_BUG_CHILDREN_AT_READ_POSITION] = "children-at-read-position",
        [RN_BUG_NOTHING_STORED_WHILE_OPEN] = "nothing-stored-while-open",
        [RN_BUG_FIRST_PAGE_SKIPPED] = "first-page-skipped",
        [RN_BUG_PARENT_DELETED_FIRST] = "parent-deleted-first",
        [RN_BUG_CLOSE_DOES_NOT_WAIT] = "close-does-not-wait",
        [RN_BUG_SESSION_NOT_COMPARED] = "session-not-compared",
        [RN_BUG_RENEWAL_HAS_A_COPY] = "renewal-has-a-copy",
        [RN_BUG_SUCCESSORS_OF_MARK_DONE] = "successors-of-mark-done",
        [RN_BUG_FAILED_DEAD_LETTER_COUNTS] = "failed-dead-letter-counts",
        [RN_BUG_UNCERTAIN_IS_REFUSED] = "uncertain-is-refused",
        [RN_BUG_MARK_IS_A_SIGN_OF_LIFE] = "mark-is-a-sign-of-life",
        [RN_BUG_CHILDREN_UNDONE] = "children-undone",
        [RN_BUG_REDUNDANT_WITHOUT_ORDER] = "redundant-without-order",
        [RN_BUG_POSITION_IGNORED] = "position-ignored",
        [RN_BUG_CHILDREN_REMEMBERED] = "children-remembered",
        [RN_BUG_CHILDREN_BEGIN_AGAIN] = "children-begin-again",
        [RN_BUG_VALIDITY_IGNORED] = "validity-ignored",
        [RN_BUG_CHECKPOINT_AT_RENEWAL] = "checkpoint-at-renewal",
        [RN_BUG_TAKEOVER_IGNORED] = "takeover-ignored",
        [RN_BUG_FOREIGN_CLOCK_BELIEVED] = "foreign-clock-believed",
        [RN_BUG_ANCESTORS_UNKNOWN] = "ancestors-unknown",
        [RN_BUG_PART_IS_PAGE] = "part-is-page",
        [RN_BUG_LATER_CHANGES_STAY] = "later-changes-stay",
    };

    for (int i = RN_BUG_NONE; i < RN_BUGS_END; i++) {
        if (strcmp(name, names[i]) == 0) {
            rn_bug_on = i;
            return true;
        }
    }
    return false;
}
