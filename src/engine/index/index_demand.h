/* index_demand.h -- counts what scans cost that a secondary index would have
 * saved, and creates that index when it is worth it. */
#ifndef RN_ENGINE_INDEX_INDEX_DEMAND_H
#define RN_ENGINE_INDEX_INDEX_DEMAND_H

#include "engine/index/index.h"

/* Notes that a scan read `documents` which this index would have saved, of a
 * container that has about `of`.  When that has cost more than building the
 * index, it is created. */
void rn_index_note_missed(struct rn_engine *e, const struct rn_object *o,
                          const struct rn_index_key *keys, uint32_t count,
                          uint64_t documents, uint64_t of);

#endif
