/* window_own.h -- deliveries of a window, shared by its two files. */
#ifndef RN_CLIENT_PROCESSOR_WINDOW_OWN_H
#define RN_CLIENT_PROCESSOR_WINDOW_OWN_H

#include "client/processor/window.h"

bool rn_window_same_key(const runnel_change *a, const runnel_change *b);

/* A delivery of some changes of a slot's page; in no lane yet.  NULL without
 * memory. */
struct rn_delivery *rn_window_make(struct rn_slot *slot, const uint32_t *picks,
                                   size_t count);
/* Behind `before`, or with NULL at the end of the lane. */
void rn_window_insert(struct rn_window *w, struct rn_delivery *d, uint32_t lane,
                      struct rn_delivery *before);

#endif
