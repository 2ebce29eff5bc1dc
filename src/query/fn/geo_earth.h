/* geo_earth.h -- geodesic distance and area on the ellipsoid of WGS 84;
 * internal to geo.c. */
#ifndef RN_QUERY_FN_GEO_EARTH_H
#define RN_QUERY_FN_GEO_EARTH_H

#include "query/fn/geo.h"

#define RN_EARTH_WHOLE 510065621724089.0 /* square metres */

double rn_earth_distance(struct rn_geo_point a, struct rn_geo_point b);
/* The area to the left of the ring. */
double rn_earth_area(const struct rn_geo_ring *ring);

#endif
