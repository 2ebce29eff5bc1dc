/* restore_bump.h -- raises LSNs, ids and etags after a restore above all that
 * the store ever gave out. */
#ifndef RN_ENGINE_RANGE_RESTORE_BUMP_H
#define RN_ENGINE_RANGE_RESTORE_BUMP_H

#include "engine/engine.h"

/* Raises the numbers of a restored store.  The catalog is loaded, and there is
 * no committer yet. */
enum rn_code rn_restore_bump_raise(struct rn_engine *e,
                                   struct rn_err *err) RN_CHECK;

#endif
