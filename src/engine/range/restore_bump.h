/* restore_bump.h -- a store that was restored is put above all it ever gave
 * out. */
#ifndef RN_ENGINE_RANGE_RESTORE_BUMP_H
#define RN_ENGINE_RANGE_RESTORE_BUMP_H

#include "engine/engine.h"

/* A restored store goes on above all it gave out before.  The
 * catalog is loaded, and there is no committer yet. */
enum rn_code rn_restore_bump_raise(struct rn_engine *e,
                                   struct rn_err *err) RN_CHECK;

#endif
