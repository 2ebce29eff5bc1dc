/* geo_earth.c -- lengths and areas on the ellipsoid of WGS 84.
 *
 * Lengths use Vincenty's inverse formula (Survey Review, 1975).  It does not
 * converge for nearly antipodal points; the path between those passes through
 * some point a quarter of the circumference away, and the shortest such path is
 * searched for.
 *
 * Areas are computed on the authalic sphere, on which latitudes are moved so
 * that every zone keeps its area.  Edges are then great circles of that sphere,
 * which differ from the ellipsoid's geodesics by less than the sample values
 * can show.
 */
#include "query/fn/geo_earth.h"

#include <math.h>

#define PI 3.14159265358979323846

static const double equator = 6378137.0; /* metres */
static const double flattening = 1 / 298.257223563;

static double radians(double degrees)
{
    return degrees * (PI / 180);
}

/* ---- lengths ------------------------------------------------------------- */

struct way {
    double sin_sigma, cos_sigma, sigma, cos_sq_alpha, cos_mid;
};

static double span(const struct way *w)
{
    double polar = equator * (1 - flattening);
    double u =
        w->cos_sq_alpha * (equator * equator - polar * polar) / (polar * polar);
    double a = 1 + u / 16384 * (4096 + u * (-768 + u * (320 - 175 * u)));
    double b = u / 1024 * (256 + u * (-128 + u * (74 - 47 * u)));
    double m = w->cos_mid;
    double delta =
        b * w->sin_sigma *
        (m + b / 4 *
                 (w->cos_sigma * (-1 + 2 * m * m) -
                  b / 6 * m * (-3 + 4 * w->sin_sigma * w->sin_sigma) *
                      (-3 + 4 * m * m)));

    return polar * a * (w->sigma - delta);
}

/* False if the formula does not converge. */
static bool vincenty(struct rn_geo_point p, struct rn_geo_point q, double *out)
{
    double u1 = atan((1 - flattening) * tan(radians(p.y)));
    double u2 = atan((1 - flattening) * tan(radians(q.y)));
    double l = radians(remainder(q.x - p.x, 360)), lambda = l, before;
    double s1 = sin(u1), c1 = cos(u1), s2 = sin(u2), c2 = cos(u2);
    struct way w = { 0 };

    for (int i = 0; i < 100; i++) {
        double sl = sin(lambda), cl = cos(lambda), alpha, c;
        w.sin_sigma = hypot(c2 * sl, c1 * s2 - s1 * c2 * cl);
        if (w.sin_sigma == 0 && cl > 0) {
            *out = 0;
            return true;
        }
        w.cos_sigma = s1 * s2 + c1 * c2 * cl;
        w.sigma = atan2(w.sin_sigma, w.cos_sigma);
        alpha = w.sin_sigma == 0 ? 0 : c1 * c2 * sl / w.sin_sigma;
        w.cos_sq_alpha = 1 - alpha * alpha;
        w.cos_mid = w.cos_sq_alpha <= 0
                        ? 0
                        : w.cos_sigma - 2 * s1 * s2 / w.cos_sq_alpha;
        c = flattening / 16 * w.cos_sq_alpha *
            (4 + flattening * (4 - 3 * w.cos_sq_alpha));
        before = lambda;
        lambda = l + (1 - c) * flattening * alpha *
                         (w.sigma + c * w.sin_sigma *
                                        (w.cos_mid +
                                         c * w.cos_sigma *
                                             (-1 + 2 * w.cos_mid * w.cos_mid)));
        if (fabs(lambda) > PI)
            return false;
        if (fabs(lambda - before) < 1e-12) {
            *out = span(&w);
            return true;
        }
    }
    return false;
}

/* The length of the path from p to q through the point a quarter away from
 * p. */
static double by_way_of(struct rn_geo_point p, struct rn_geo_point q,
                        double azimuth)
{
    double lat = radians(p.y), first = 0, second = 0;
    double to_lat = asin(fmax(-1, fmin(1, cos(lat) * cos(azimuth))));
    double to_lon = atan2(sin(azimuth) * cos(lat), -sin(lat) * sin(to_lat));
    struct rn_geo_point middle = { p.x + to_lon * (180 / PI),
                                   to_lat * (180 / PI) };

    if (!vincenty(p, middle, &first) || !vincenty(middle, q, &second))
        return INFINITY;
    return first + second;
}

static double around(struct rn_geo_point p, struct rn_geo_point q)
{
    enum { DIRECTIONS = 72, STEPS = 60 };
    const double golden = 0.6180339887498949;
    double best = INFINITY, at = 0, low, high;

    for (int i = 0; i < DIRECTIONS; i++) {
        double azimuth = i * (2 * PI / DIRECTIONS);
        double length = by_way_of(p, q, azimuth);
        if (length < best) {
            best = length;
            at = azimuth;
        }
    }
    low = at - 2 * PI / DIRECTIONS;
    high = at + 2 * PI / DIRECTIONS;
    for (int i = 0; i < STEPS; i++) {
        double a = high - golden * (high - low);
        double b = low + golden * (high - low);
        if (by_way_of(p, q, a) < by_way_of(p, q, b))
            high = b;
        else
            low = a;
    }
    return fmin(best, by_way_of(p, q, (low + high) / 2));
}

double rn_earth_distance(struct rn_geo_point a, struct rn_geo_point b)
{
    double out;

    return vincenty(a, b, &out) ? out : around(a, b);
}

/* ---- areas --------------------------------------------------------------- */

/* Increases with the area between the equator and a latitude. */
static double zone(double sine)
{
    double e = sqrt(flattening * (2 - flattening));

    return (1 - e * e) *
           (sine / (1 - e * e * sine * sine) + atanh(e * sine) / e);
}

double rn_earth_area(const struct rn_geo_ring *ring)
{
    double turn = 0, sum = 0, whole = zone(1), left;
    double square = equator * equator * whole / 2; /* of the radius */

    for (uint32_t i = 0; i + 1 < ring->count; i++) {
        struct rn_geo_point p = ring->at[i], q = ring->at[i + 1];
        double apart = radians(remainder(q.x - p.x, 360));
        double a = tan(asin(zone(sin(radians(p.y))) / whole) / 2);
        double b = tan(asin(zone(sin(radians(q.y))) / whole) / 2);
        turn += apart;
        sum += 2 * atan2(tan(apart / 2) * (a + b), 1 + a * b);
    }
    left = remainder(turn - sum, 4 * PI);
    return (left < 0 ? left + 4 * PI : left) * square;
}
