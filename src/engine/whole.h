/* whole.h -- all documents of a container, in the order in which they lie.
 *
 * Bodies lie in the feed, in the order of their last changes; whoever goes by
 * keys looks each up.  Who wants all of them in one reading, in any order, goes
 * through the feed and looks up nothing.  The order changes with every update:
 * it is of no use for pages.
 *
 * Belongs to a reading, and so to one thread.
 */
#ifndef RN_ENGINE_WHOLE_H
#define RN_ENGINE_WHOLE_H

#include "engine/document.h"

struct rn_whole {
    struct rn_reading *reading;
    struct rn_cursor *cursor;
};

enum rn_code rn_whole_open(struct rn_whole *w, struct rn_reading *r) RN_CHECK;
/* The next that has not expired, valid until the reading ends; RN_NOT_FOUND
 * after the last. */
enum rn_code rn_whole_next(struct rn_whole *w, struct rn_view *body) RN_CHECK;
void rn_whole_close(struct rn_whole *w); /* zeroed is fine */

#endif
