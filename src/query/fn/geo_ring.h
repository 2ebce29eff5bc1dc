/* geo_ring.h -- computational geometry of segments and rings, on a sphere and
 * on a plane: intersection, distance, point in polygon; internal to geo.c. */
#ifndef RN_QUERY_FN_GEO_RING_H
#define RN_QUERY_FN_GEO_RING_H

#include "query/fn/geo.h"

enum rn_geo_side { RN_GEO_OUT, RN_GEO_ON, RN_GEO_IN };

/* True if the two segments meet; `*is_crossing` if each passes from one side of
 * the other to the opposite one. */
bool rn_geo_segments_meet(const struct rn_geo_point a[2],
                          const struct rn_geo_point b[2], bool is_planar,
                          bool *is_crossing);
/* The distance from a point to a segment.  Beyond `most` the result may be
 * infinity instead. */
double rn_geo_segment_distance(struct rn_geo_point p,
                               const struct rn_geo_point s[2], bool is_planar,
                               double most);
enum rn_geo_side rn_geo_side_of(const struct rn_geo_part *polygon,
                                struct rn_geo_point p, bool is_planar);

#endif
