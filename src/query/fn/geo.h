/* geo.h -- GeoJSON geometry, on the ellipsoid or on a plane; internal to the
 * module.
 *
 * A shape is a list of parts: a point, a line, or a polygon of rings.  On the
 * earth, x is the longitude and y the latitude, in degrees; edges are arcs of
 * great circles; the interior is to the left of a polygon's outer ring, so that
 * a clockwise ring contains the rest of the world.  On a plane, edges are
 * straight and the orientation does not matter.
 *
 * Lengths on the earth are those of WGS 84.
 */
#ifndef RN_QUERY_FN_GEO_H
#define RN_QUERY_FN_GEO_H

#include "query/run/value.h"

struct rn_geo_point {
    double x, y;
};

struct rn_geo_ring {
    struct rn_geo_point *at;
    uint32_t count; /* of a polygon: the last point repeats the first */
};

enum rn_geo_kind { RN_GEO_POINT, RN_GEO_LINE, RN_GEO_POLYGON };

struct rn_geo_part {
    enum rn_geo_kind kind;
    struct rn_geo_ring *rings; /* of a point or a line: one */
    uint32_t ring_count;
};

struct rn_geo {
    bool is_planar;
    struct rn_geo_part *parts;
    uint32_t part_count;
    uint32_t points;    /* in all */
    const char *reason; /* why it is invalid; NULL: it is valid */
};

/* Reads a value; if it is not valid GeoJSON, sets the reason. */
enum rn_code rn_geo_read(const struct rn_value *v, bool is_planar,
                         struct rn_arena *a, struct rn_geo *out) RN_CHECK;

/* Metres on the earth, units on a plane. */
double rn_geo_distance(const struct rn_geo *a, const struct rn_geo *b);
double rn_geo_area(const struct rn_geo *g);
bool rn_geo_intersects(const struct rn_geo *a, const struct rn_geo *b);
/* True if no point of `a` lies outside `b`. */
bool rn_geo_within(const struct rn_geo *a, const struct rn_geo *b);

#endif
