/* geo.c -- reads GeoJSON shapes, and computes their relations and measures. */
#include "query/fn/geo.h"

#include "query/fn/geo_earth.h"
#include "query/fn/geo_ring.h"

#include <math.h>

enum { POSITIONS_MAX = 4096 }; /* validating a ring takes quadratic time */

/* ---- reading ------------------------------------------------------------- */

struct reader {
    struct rn_arena *arena;
    struct rn_geo *to;
    enum rn_code rc;
};

static bool wrong(struct reader *r, const char *reason)
{
    if (!r->to->reason)
        r->to->reason = reason;
    return false;
}

static void *room_for(struct reader *r, uint32_t count, size_t size)
{
    void *at = rn_arena_alloc(r->arena, (count + 1) * size);

    if (!at)
        r->rc = RN_TOO_LARGE;
    return at;
}

static bool read_point(struct reader *r, const struct rn_value *v,
                       struct rn_geo_point *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, r->arena);
    double at[2] = { 0 };
    uint32_t n = 0;

    if (v->kind != RN_VALUE_ARRAY || v->count < 2 || v->count > 3)
        return wrong(r, "A position must be an array of two or three numbers.");
    while (rn_value_walk_next(&w)) {
        if (w.value.kind != RN_VALUE_NUMBER)
            return wrong(r, "A coordinate must be a number.");
        if (n < 2)
            at[n++] = rn_value_real(&w.value);
    }
    *out = (struct rn_geo_point){ at[0], at[1] };
    if (!isfinite(at[0]) || !isfinite(at[1]))
        return wrong(r, "A coordinate must be a finite number.");
    if (!r->to->is_planar && fabs(at[1]) > 90)
        return wrong(r, "Latitude values must be between -90 and 90 degrees.");
    if (!r->to->is_planar && fabs(at[0]) > 180)
        return wrong(r,
                     "Longitude values must be between -180 and 180 degrees.");
    r->to->points++;
    return true;
}

static bool read_line(struct reader *r, const struct rn_value *v,
                      uint32_t fewest, struct rn_geo_ring *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, r->arena);

    if (v->kind != RN_VALUE_ARRAY)
        return wrong(r, "The coordinates must be an array of positions.");
    if (v->count < fewest) {
        return wrong(r, fewest == 4
                            ? "A ring of a polygon must have at least four "
                              "positions."
                            : "A line must have at least two positions.");
    }
    if (v->count > POSITIONS_MAX)
        return wrong(r, "A line or ring may have at most 4096 positions.");
    out->at = room_for(r, v->count, sizeof(*out->at));
    out->count = 0;
    while (!r->rc && rn_value_walk_next(&w)) {
        if (!read_point(r, &w.value, &out->at[out->count++]))
            return false;
    }
    return !r->rc;
}

static bool is_closed(const struct rn_geo_ring *ring)
{
    struct rn_geo_point a = ring->at[0], b = ring->at[ring->count - 1];

    return a.x == b.x && a.y == b.y;
}

/* Edges of one ring may meet only at the end of one and the start of the
 * next. */
static bool is_simple(const struct rn_geo_ring *ring, bool is_planar)
{
    uint32_t edges = ring->count - 1;
    bool is_crossing;

    for (uint32_t i = 0; i < edges; i++) {
        for (uint32_t k = i + 2; k < edges; k++) {
            if (i == 0 && k == edges - 1)
                continue;
            if (rn_geo_segments_meet(&ring->at[i], &ring->at[k], is_planar,
                                     &is_crossing))
                return false;
        }
    }
    return true;
}

static bool read_polygon(struct reader *r, const struct rn_value *v,
                         struct rn_geo_part *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, r->arena);

    out->kind = RN_GEO_POLYGON;
    out->ring_count = 0;
    if (v->kind != RN_VALUE_ARRAY || v->count == 0)
        return wrong(r, "A polygon must have at least one ring.");
    out->rings = room_for(r, v->count, sizeof(*out->rings));
    while (!r->rc && rn_value_walk_next(&w)) {
        struct rn_geo_ring *ring = &out->rings[out->ring_count++];
        if (!read_line(r, &w.value, 4, ring))
            return false;
        if (!is_closed(ring)) {
            return wrong(r, "The start and end points of a ring of the polygon "
                            "are not the same. Each ring of a polygon must "
                            "have the same start and end points.");
        }
        if (!is_simple(ring, r->to->is_planar))
            return wrong(r, "A ring of the polygon crosses itself.");
    }
    return !r->rc;
}

static bool read_one(struct reader *r, enum rn_geo_kind kind,
                     const struct rn_value *v)
{
    struct rn_geo_part *part = &r->to->parts[r->to->part_count++];

    if (kind == RN_GEO_POLYGON)
        return read_polygon(r, v, part);
    part->kind = kind;
    part->ring_count = 1;
    part->rings = room_for(r, 1, sizeof(*part->rings));
    if (r->rc || kind == RN_GEO_LINE)
        return !r->rc && read_line(r, v, 2, part->rings);
    part->rings->count = 1;
    part->rings->at = room_for(r, 1, sizeof(*part->rings->at));
    return !r->rc && read_point(r, v, part->rings->at);
}

static bool read_parts(struct reader *r, struct rn_view type,
                       const struct rn_value *v)
{
    struct rn_value_walk w = rn_value_walk_begin(v, r->arena);
    bool is_many = rn_view_eq(type, RN_LIT("MultiPolygon"));

    r->to->parts = room_for(r, is_many ? v->count : 1, sizeof(*r->to->parts));
    if (r->rc)
        return false;
    if (rn_view_eq(type, RN_LIT("Point")))
        return read_one(r, RN_GEO_POINT, v);
    if (rn_view_eq(type, RN_LIT("LineString")))
        return read_one(r, RN_GEO_LINE, v);
    if (rn_view_eq(type, RN_LIT("Polygon")))
        return read_one(r, RN_GEO_POLYGON, v);
    if (!is_many)
        return wrong(r, "The type must be Point, LineString, Polygon or "
                        "MultiPolygon.");
    if (v->kind != RN_VALUE_ARRAY || v->count == 0)
        return wrong(r, "A MultiPolygon must have at least one polygon.");
    while (rn_value_walk_next(&w)) {
        if (!read_one(r, RN_GEO_POLYGON, &w.value))
            return false;
    }
    return true;
}

enum rn_code rn_geo_read(const struct rn_value *v, bool is_planar,
                         struct rn_arena *a, struct rn_geo *out)
{
    struct reader r = { a, out, RN_OK };
    struct rn_value type, coordinates;
    enum rn_code rc;

    *out = (struct rn_geo){ .is_planar = is_planar };
    rc = rn_value_member(v, RN_LIT("type"), a, &type);
    if (!rc)
        rc = rn_value_member(v, RN_LIT("coordinates"), a, &coordinates);
    if (rc)
        return rc;
    if (type.kind != RN_VALUE_STRING)
        wrong(&r, "The value is not a GeoJSON object: it has no type.");
    else if (!read_parts(&r, type.text, &coordinates))
        wrong(&r, "The coordinates are not valid.");
    return r.rc;
}

/* ---- relations ----------------------------------------------------------- */

/* Calls `each` with every pair of segments; a point is a segment of length
 * zero.  Stops when it returns true. */
typedef bool pair_fn(const struct rn_geo_point a[2],
                     const struct rn_geo_point b[2], void *context);

static uint32_t segments_of(const struct rn_geo_ring *ring)
{
    return ring->count > 1 ? ring->count - 1 : 1;
}

static void segment_at(const struct rn_geo_ring *ring, uint32_t i,
                       struct rn_geo_point out[2])
{
    out[0] = ring->at[i];
    out[1] = ring->at[i + 1 < ring->count ? i + 1 : i];
}

static bool pair_rings(const struct rn_geo_ring *x, const struct rn_geo_ring *y,
                       pair_fn *each, void *context)
{
    struct rn_geo_point s[2], t[2];

    for (uint32_t i = 0; i < segments_of(x); i++) {
        segment_at(x, i, s);
        for (uint32_t k = 0; k < segments_of(y); k++) {
            segment_at(y, k, t);
            if (each(s, t, context))
                return true;
        }
    }
    return false;
}

static bool pair_parts(const struct rn_geo_part *a, const struct rn_geo_part *b,
                       pair_fn *each, void *context)
{
    for (uint32_t i = 0; i < a->ring_count; i++) {
        for (uint32_t k = 0; k < b->ring_count; k++) {
            if (pair_rings(&a->rings[i], &b->rings[k], each, context))
                return true;
        }
    }
    return false;
}

struct pairing {
    bool is_planar;
    double nearest;
};

static bool meets(const struct rn_geo_point a[2],
                  const struct rn_geo_point b[2], void *context)
{
    const struct pairing *p = context;
    bool is_crossing;

    return rn_geo_segments_meet(a, b, p->is_planar, &is_crossing);
}

static bool crosses(const struct rn_geo_point a[2],
                    const struct rn_geo_point b[2], void *context)
{
    const struct pairing *p = context;
    bool is_crossing;

    return rn_geo_segments_meet(a, b, p->is_planar, &is_crossing) &&
           is_crossing;
}

static bool holds(const struct rn_geo_part *polygon, struct rn_geo_point p,
                  bool is_planar)
{
    return polygon->kind == RN_GEO_POLYGON &&
           rn_geo_side_of(polygon, p, is_planar) != RN_GEO_OUT;
}

static bool parts_meet(const struct rn_geo_part *a, const struct rn_geo_part *b,
                       bool is_planar)
{
    struct pairing p = { is_planar, 0 };

    return pair_parts(a, b, meets, &p) ||
           holds(a, b->rings[0].at[0], is_planar) ||
           holds(b, a->rings[0].at[0], is_planar);
}

bool rn_geo_intersects(const struct rn_geo *a, const struct rn_geo *b)
{
    for (uint32_t i = 0; i < a->part_count; i++) {
        for (uint32_t k = 0; k < b->part_count; k++) {
            if (parts_meet(&a->parts[i], &b->parts[k], a->is_planar))
                return true;
        }
    }
    return false;
}

/* No edge crosses the boundary, no vertex is outside, and no hole is within. */
static bool part_is_within(const struct rn_geo_part *a,
                           const struct rn_geo_part *b, bool is_planar)
{
    struct pairing p = { is_planar, 0 };

    for (uint32_t i = 0; i < a->ring_count; i++) {
        for (uint32_t k = 0; k < a->rings[i].count; k++) {
            if (!holds(b, a->rings[i].at[k], is_planar))
                return false;
        }
    }
    if (pair_parts(a, b, crosses, &p))
        return false;
    for (uint32_t i = 0; i < b->ring_count && a->kind == RN_GEO_POLYGON; i++) {
        for (uint32_t k = 0; k < b->rings[i].count; k++) {
            if (rn_geo_side_of(a, b->rings[i].at[k], is_planar) == RN_GEO_IN)
                return false;
        }
    }
    return true;
}

static bool is_same_point(const struct rn_geo_part *a,
                          const struct rn_geo_part *b)
{
    struct rn_geo_point p = a->rings->at[0], q = b->rings->at[0];

    return a->kind == RN_GEO_POINT && b->kind == RN_GEO_POINT && p.x == q.x &&
           p.y == q.y;
}

bool rn_geo_within(const struct rn_geo *a, const struct rn_geo *b)
{
    for (uint32_t i = 0; i < a->part_count; i++) {
        bool is_within = false;
        for (uint32_t k = 0; k < b->part_count && !is_within; k++) {
            is_within =
                is_same_point(&a->parts[i], &b->parts[k]) ||
                part_is_within(&a->parts[i], &b->parts[k], a->is_planar);
        }
        if (!is_within)
            return false;
    }
    return true;
}

/* ---- measures ------------------------------------------------------------ */

static bool measure(const struct rn_geo_point a[2],
                    const struct rn_geo_point b[2], void *context)
{
    struct pairing *p = context;

    for (int i = 0; i < 2; i++) {
        p->nearest =
            fmin(p->nearest,
                 rn_geo_segment_distance(a[i], b, p->is_planar, p->nearest));
        p->nearest =
            fmin(p->nearest,
                 rn_geo_segment_distance(b[i], a, p->is_planar, p->nearest));
    }
    return p->nearest == 0;
}

double rn_geo_distance(const struct rn_geo *a, const struct rn_geo *b)
{
    struct pairing p = { a->is_planar, INFINITY };

    if (rn_geo_intersects(a, b))
        return 0;
    for (uint32_t i = 0; i < a->part_count; i++) {
        for (uint32_t k = 0; k < b->part_count; k++)
            (void)pair_parts(&a->parts[i], &b->parts[k], measure, &p);
    }
    return p.nearest;
}

static double plane_area(const struct rn_geo_ring *ring)
{
    double twice = 0;

    for (uint32_t i = 0; i + 1 < ring->count; i++)
        twice += ring->at[i].x * ring->at[i + 1].y -
                 ring->at[i + 1].x * ring->at[i].y;
    return fabs(twice) / 2;
}

/* The area of a hole is that of its smaller side. */
static double hole_area(const struct rn_geo_ring *ring, bool is_planar)
{
    double area = is_planar ? plane_area(ring) : rn_earth_area(ring);

    return is_planar ? area : fmin(area, RN_EARTH_WHOLE - area);
}

double rn_geo_area(const struct rn_geo *g)
{
    double area = 0;

    for (uint32_t i = 0; i < g->part_count; i++) {
        const struct rn_geo_part *part = &g->parts[i];
        if (part->kind != RN_GEO_POLYGON)
            continue;
        area +=
            g->is_planar ? plane_area(part->rings) : rn_earth_area(part->rings);
        for (uint32_t k = 1; k < part->ring_count; k++)
            area -= hole_area(&part->rings[k], g->is_planar);
    }
    return area;
}
