/* geo_ring.c -- segments and rings, on a sphere and on a plane alike.
 *
 * A point on the sphere is a vector from the center; a point (x, y) of the
 * plane is the vector (x, y, 1).  In both cases the sign of a determinant says
 * on which side of a line a point lies.
 */
#include "query/fn/geo_ring.h"

#include "query/fn/geo_earth.h"

#include <math.h>

#define PI 3.14159265358979323846

/* Points closer than this, about a micrometre, are the same point. */
static const double tiny = 1e-13;

struct vector {
    double x, y, z;
};

static struct vector vector_of(struct rn_geo_point p, bool is_planar)
{
    double lon = p.x * (PI / 180), lat = p.y * (PI / 180);

    if (is_planar)
        return (struct vector){ p.x, p.y, 1 };
    return (struct vector){ cos(lat) * cos(lon), cos(lat) * sin(lon),
                            sin(lat) };
}

static struct rn_geo_point point_of(struct vector v)
{
    return (struct rn_geo_point){ atan2(v.y, v.x) * (180 / PI),
                                  atan2(v.z, hypot(v.x, v.y)) * (180 / PI) };
}

static struct vector cross(struct vector a, struct vector b)
{
    return (struct vector){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z,
                            a.x * b.y - a.y * b.x };
}

static double dot(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector scaled(struct vector a, double by)
{
    return (struct vector){ a.x * by, a.y * by, a.z * by };
}

static struct vector sum(struct vector a, struct vector b)
{
    return (struct vector){ a.x + b.x, a.y + b.y, a.z + b.z };
}

static double length(struct vector a)
{
    return sqrt(dot(a, a));
}

/* ---- segments ------------------------------------------------------------ */

struct segment {
    struct vector a, b;
    struct vector line; /* a x b */
};

static struct segment segment_of(const struct rn_geo_point s[2], bool is_planar)
{
    struct segment out = { .a = vector_of(s[0], is_planar),
                           .b = vector_of(s[1], is_planar) };

    out.line = cross(out.a, out.b);
    return out;
}

/* The point of the segment nearest to p. */
static struct vector nearest(const struct segment *s, struct vector p,
                             bool is_planar)
{
    struct vector along = sum(s->b, scaled(s->a, -1)), q;
    double t = dot(along, along);

    if (is_planar) {
        t = t > 0 ? dot(sum(p, scaled(s->a, -1)), along) / t : 0;
        return sum(s->a, scaled(along, fmax(0, fmin(1, t))));
    }
    if (length(s->line) > 0) {
        q = sum(p, scaled(s->line, -dot(p, s->line) / dot(s->line, s->line)));
        if (dot(cross(s->a, q), s->line) >= 0 &&
            dot(cross(q, s->b), s->line) >= 0 && length(q) > 0)
            return scaled(q, 1 / length(q));
    }
    return dot(p, s->a) > dot(p, s->b) ? s->a : s->b;
}

static bool is_on(const struct segment *s, struct vector p, bool is_planar)
{
    struct vector q = nearest(s, p, is_planar);
    double room = is_planar ? tiny * (1 + length(p)) : tiny;

    return length(sum(p, scaled(q, -1))) <= room;
}

/* Each segment passes from one side of the other to the opposite one. */
static bool do_cross(const struct segment *s, const struct segment *t)
{
    double a = -dot(s->line, t->a), b = dot(s->line, t->b);
    double c = -dot(t->line, s->b), d = dot(t->line, s->a);

    return a * b > 0 && a * c > 0 && a * d > 0;
}

/* An upper bound, in degrees or units, on the distance of any point of a
 * segment from its first point. */
static double reach(const struct rn_geo_point s[2], bool is_planar)
{
    double x = fabs(s[1].x - s[0].x);

    if (!is_planar && x > 180)
        x = fabs(360 - x);
    return x + fabs(s[1].y - s[0].y);
}

bool rn_geo_segments_meet(const struct rn_geo_point a[2],
                          const struct rn_geo_point b[2], bool is_planar,
                          bool *is_crossing)
{
    double most = reach(a, is_planar) + reach(b, is_planar);
    struct segment s, t;
    bool is_touching;

    /* Most pairs of segments of two long lines are far from each other. */
    *is_crossing = false;
    if (fabs(a[0].y - b[0].y) > most * 1.001 + 1e-6)
        return false;
    s = segment_of(a, is_planar);
    t = segment_of(b, is_planar);
    is_touching = is_on(&s, t.a, is_planar) || is_on(&s, t.b, is_planar) ||
                  is_on(&t, s.a, is_planar) || is_on(&t, s.b, is_planar);
    *is_crossing = !is_touching && do_cross(&s, &t);
    return is_touching || *is_crossing;
}

double rn_geo_segment_distance(struct rn_geo_point p,
                               const struct rn_geo_point s[2], bool is_planar,
                               double most)
{
    struct segment segment = segment_of(s, is_planar);
    struct vector v = vector_of(p, is_planar);
    struct vector q = nearest(&segment, v, is_planar);

    double apart = length(sum(v, scaled(q, -1)));

    if (is_planar)
        return apart;
    /* The curvature is greatest at the equator, from north to south. */
    if (2 * asin(fmin(1, apart / 2)) * 6335439.0 > most)
        return INFINITY;
    return rn_earth_distance(p, point_of(q));
}

/* ---- rings --------------------------------------------------------------- */

static bool plane_holds(const struct rn_geo_ring *ring, struct rn_geo_point p)
{
    bool is_in = false;

    for (uint32_t i = 0; i + 1 < ring->count; i++) {
        struct rn_geo_point a = ring->at[i], b = ring->at[i + 1];
        if ((a.y > p.y) != (b.y > p.y) &&
            p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x)
            is_in = !is_in;
    }
    return is_in;
}

/* A point just to the left of edge `i` is inside; each edge crossed on the way
 * from there to p toggles that. */
static bool holds_from(const struct rn_geo_ring *ring, uint32_t i,
                       struct vector p)
{
    struct segment edge = segment_of(&ring->at[i], false), way;
    double len = length(edge.line);
    bool is_in = true;

    if (len == 0)
        return false;
    /* A third along the edge, so that symmetrical rings do not meet their
     * vertices. */
    way.a = sum(sum(scaled(edge.a, 2), edge.b), scaled(edge.line, 1e-7 / len));
    way.a = scaled(way.a, 1 / length(way.a));
    way.b = p;
    way.line = cross(way.a, way.b);
    for (uint32_t k = 0; k + 1 < ring->count; k++) {
        edge = segment_of(&ring->at[k], false);
        if (do_cross(&edge, &way))
            is_in = !is_in;
    }
    return is_in;
}

/* A path through a vertex is counted wrongly, so three paths vote. */
static bool sphere_holds(const struct rn_geo_ring *ring, struct rn_geo_point p)
{
    struct vector v = vector_of(p, false);
    uint32_t edges = ring->count - 1, votes = 0;

    for (uint32_t i = 0; i < 3; i++)
        votes += holds_from(ring, edges * i / 3, v);
    return votes >= 2;
}

static bool is_on_ring(const struct rn_geo_ring *ring, struct rn_geo_point p,
                       bool is_planar)
{
    struct vector v = vector_of(p, is_planar);

    for (uint32_t i = 0; i + 1 < ring->count; i++) {
        struct segment edge = segment_of(&ring->at[i], is_planar);
        if (is_on(&edge, v, is_planar))
            return true;
    }
    return false;
}

/* A hole is the smaller side of its ring, whatever the orientation. */
enum rn_geo_side rn_geo_side_of(const struct rn_geo_part *polygon,
                                struct rn_geo_point p, bool is_planar)
{
    bool is_in = true;

    for (uint32_t i = 0; i < polygon->ring_count; i++) {
        const struct rn_geo_ring *ring = &polygon->rings[i];
        bool holds;
        if (is_on_ring(ring, p, is_planar))
            return RN_GEO_ON;
        holds = is_planar ? plane_holds(ring, p) : sphere_holds(ring, p);
        if (i > 0 && (is_planar || rn_earth_area(ring) < RN_EARTH_WHOLE / 2))
            holds = !holds;
        is_in = is_in && holds;
    }
    return is_in ? RN_GEO_IN : RN_GEO_OUT;
}
