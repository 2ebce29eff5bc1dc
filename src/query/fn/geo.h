/* geo.h -- GeoJSON shapes, on the earth or on a plane; the module's own.
 *
 * A shape is a list of parts: a point, a line, or a polygon of rings.  On the
 * earth x is the longitude and y the latitude, in degrees; edges are parts of
 * great circles; what lies to the left of a polygon's outer ring is inside, so
 * that a ring written clockwise holds all the rest of the world.  On a plane
 * edges are straight and the way round does not matter.
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
    uint32_t count; /* of a polygon: the last is the first again */
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
    const char *reason; /* why it is not valid; NULL: it is */
};

/* Reads a value; what is not GeoJSON has a reason. */
enum rn_code rn_geo_read(const struct rn_value *v, bool is_planar,
                         struct rn_arena *a, struct rn_geo *out) RN_CHECK;

/* Metres on the earth, units on a plane. */
double rn_geo_distance(const struct rn_geo *a, const struct rn_geo *b);
double rn_geo_area(const struct rn_geo *g);
bool rn_geo_intersects(const struct rn_geo *a, const struct rn_geo *b);
/* True if no point of `a` lies outside `b`. */
bool rn_geo_within(const struct rn_geo *a, const struct rn_geo *b);

/* ---- the earth (geo_earth.c) --------------------------------------------- */

#define RN_EARTH_WHOLE 510065621724089.0 /* square metres */

double rn_earth_distance(struct rn_geo_point a, struct rn_geo_point b);
/* What lies to the left of the ring. */
double rn_earth_area(const struct rn_geo_ring *ring);

/* ---- lines and rings (geo_ring.c) ---------------------------------------- */

enum rn_geo_side { RN_GEO_OUT, RN_GEO_ON, RN_GEO_IN };

/* True if the two segments meet; `*is_crossing` if they cross, each passing
 * from one side of the other to the opposite one. */
bool rn_geo_segments_meet(const struct rn_geo_point a[2],
                          const struct rn_geo_point b[2], bool is_planar,
                          bool *is_crossing);
/* How far a point is from a segment; infinite if that is more than `most`, or
 * the distance all the same. */
double rn_geo_segment_distance(struct rn_geo_point p,
                               const struct rn_geo_point s[2], bool is_planar,
                               double most);
enum rn_geo_side rn_geo_side_of(const struct rn_geo_part *polygon,
                                struct rn_geo_point p, bool is_planar);

#endif
