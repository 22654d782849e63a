#include "common.h"

#define SF_POINT 1e-300 /* the radius of a ball that is its centre, and not empty */

/* What the region is built from. */
typedef struct {
    double rounds;
    double anchor[SF_D]; /* the deepest action before the last one */
    double anchor_value; /* g there, or the bound on it */
    double anchor_round; /* the round it was played in */
    double last[SF_D];   /* the last action seen */
    double last_value;   /* g there, or the bound on it */
} sf_memory;

/* The convex hull of the certified balls of the anchor and of the last action. */
typedef struct {
    const double *anchor;
    double anchor_level; /* the next g there is at most this */
    double anchor_radius;
    const double *x;
    double level;
    double radius; /* negative where the slack is below the margin */
} sf_region;

/* The hull of both balls, as they are in the round after the last one seen. */
static inline sf_region sf_hull_of(const sf_memory *memory)
{
    sf_region hull;
    hull.anchor = memory->anchor;
    hull.anchor_level = memory->anchor_value;
    hull.x = memory->last;
    hull.level = memory->last_value;
#ifdef SF_DRIFT
    const double aging = sf_raised(SF_DRIFT * (memory->rounds + 1.0 - memory->anchor_round));
    hull.anchor_level = sf_raised(hull.anchor_level + aging);
    hull.level = sf_raised(hull.level + SF_DRIFT);
#endif
    hull.anchor_radius = -hull.anchor_level / SF_G_G - SF_LOST;
    hull.radius = -hull.level / SF_G_G - SF_LOST;
    return hull;
}

/* The region: that hull; under drift, at times the anchor alone, which is measured again so. */
static inline sf_region sf_region_of(const sf_memory *memory)
{
    sf_region region = sf_hull_of(memory);
#ifdef SF_DRIFT
    const sf_region hull = region;
    const double r_a = hull.anchor_radius, r = hull.radius;
    if (r_a <= 0 && r >= r_a) { /* without a ball of its own the anchor is no help */
        region.anchor = hull.x;
        region.anchor_radius = r;
        region.anchor_level = hull.level;
    }
    if (hull.anchor_level >= 0.5 * memory->anchor_value && r_a > r && r_a > 0) {
        region.anchor_radius = region.radius = SF_POINT;
        region.x = hull.anchor;
        region.level = hull.anchor_level;
    }
#endif
    return region;
}

/*
 * The memory with a round added, or why the round is refused.
 * limit: what g of x was certified to be at most, before x was played.
 */
static inline int sf_see(sf_memory *after, const sf_memory *before, double limit, const double *x,
                         double g)
{
    if (!isfinite(g)) {
        return SF_NOT_FINITE;
    }
    double upper = g;
#ifdef SF_VALUE_ERROR
    upper = g + SF_VALUE_ERROR;
#endif
    if (before->rounds == 0 && !(upper + SF_LOST * SF_G_G < 0.0)) {
        return SF_START;
    }
    *after = *before;
    after->rounds = before->rounds + 1.0;
    if (before->rounds == 0) {
        sf_copy(after->anchor, x);
        after->anchor_value = upper;
        after->anchor_round = after->rounds;
    } else {
        double aged = before->anchor_value;
        int visited = 0;
#ifdef SF_DRIFT
        const double risen = sf_raised(SF_DRIFT * (before->rounds - before->anchor_round));
        aged = sf_raised(aged + risen);
        visited = !sf_differ(before->last, before->anchor);
#endif
        const int deeper = before->last_value < aged;
        if (deeper || visited) {
            after->anchor_value = sf_min(before->last_value, aged);
            after->anchor_round = before->rounds;
        }
        if (deeper) {
            sf_copy(after->anchor, before->last);
        }
#ifdef SF_VALUE_ERROR
        /* It bounds g there as well as the reading does, but for rounding. */
        if (!sf_differ(before->last, x)) {
            upper = sf_min(upper, sf_hull_of(before).level);
        } else if (limit <= 0) {
            upper = sf_min(upper, limit + SF_NOISE);
        }
#endif
    }
    (void)limit;
    sf_copy(after->last, x);
    after->last_value = upper;
    return SF_OK;
}

/* The ball of the hull that is nearest to a point. */
typedef struct {
    double share; /* of the last action in the centre */
    double centre[SF_D];
    double offset[SF_D]; /* from the centre to the point */
    double far;          /* how long that is */
    double room;         /* how long it may be */
} sf_near;

static inline sf_near sf_nearest_ball(const sf_region *region, const double *w)
{
    const double *a = region->anchor;
    const double r_a = region->anchor_radius, r_b = region->radius;
    double way[SF_D], off[SF_D];
    sf_near near;
    sf_minus(way, region->x, a);
    const double squared = sf_dot(way, way), less = r_b - r_a;
    const double apart = squared - less * less;
    if (apart <= 0.0) {
        near.share = less > 0.0 ? 1.0 : 0.0; /* one ball holds the other */
    } else {
        sf_minus(off, w, a);
        const double q = sf_dot(off, way);
        if (!(q / squared > -HUGE_VAL && q / squared < HUGE_VAL)) {
            near.share = (double)NAN; /* so far away that no share can be told */
        } else {
            sf_along(off, off, -(q / squared), way);
            const double root = sqrt(sf_dot(off, off) * squared / apart);
            const double share = (q + less * root) / squared;
            const double top = r_b >= 0.0 ? 1.0 : r_a / -less;
            near.share = share < 0.0 ? 0.0 : share > top ? top : share;
        }
    }
    sf_along(near.centre, a, near.share, way);
    sf_minus(near.offset, w, near.centre);
    const double room = r_a + near.share * (r_b - r_a);
    near.far = sf_norm(near.offset);
    near.room = sf_max(room, 0.0);
    return near;
}

static inline int sf_holds(const sf_region *region, const double *w)
{
    const sf_near near = sf_nearest_ball(region, w);
    return near.far <= near.room;
}

/* The certified point nearest to w. */
static inline int sf_nearest(const sf_region *region, double *next, const double *w)
{
    double way[SF_D];
    sf_minus(way, w, region->x);
    if (sf_norm(way) <= region->radius) { /* the usual case, and a certificate by itself */
        sf_copy(next, w);
        return SF_OK;
    }
    const sf_near near = sf_nearest_ball(region, w);
    if (!(region->anchor_radius > 0.0)) {
        return SF_EMPTY; /* drift may have used all the slack that was ever seen */
    }
    if (near.far <= near.room) {
        sf_copy(next, w);
        return SF_OK;
    }
    if (!(near.far < HUGE_VAL)) {
        return SF_RANGE;
    }
    if (near.room > SF_POINT) {
        sf_along(next, near.centre, near.room / near.far, near.offset);
    } else { /* a visit goes to the anchor itself */
        sf_copy(next, near.centre);
    }
    return SF_OK;
}

/* The certificate: g at a point is at most (1 - share) g(a) + share g(x) + G_g far. */
static inline double sf_most(const sf_region *region, const sf_near *near)
{
    const double level = (1.0 - near->share) * region->anchor_level + near->share * region->level;
    return level + SF_G_G * near->far;
}

/*
 * The bound on the next g at a point that was certified.
 * limit: that of the hull of both balls, without rounding; a larger g contradicts a constant.
 */
static inline double sf_bound(const sf_memory *memory, const sf_region *region,
                              const double *point, double *limit)
{
    sf_near near = sf_nearest_ball(region, point);
    const double most = sf_most(region, &near);
#ifdef SF_DRIFT
    const sf_region hull = sf_hull_of(memory);
    near = sf_nearest_ball(&hull, point);
    *limit = sf_most(&hull, &near);
#else
    (void)memory;
    *limit = most;
#endif
    return sf_min(most + SF_NOISE, 0.0);
}

/* What contradicts the constants or convexity: the round against what was known before it. */
static inline unsigned sf_alarms_of(const sf_memory *before, double limit, const double *x,
                                    double g, const double *s, double steep)
{
    double least = g, slope_error = 0.0, aging = 0.0;
#ifdef SF_VALUE_ERROR
    least = g - SF_VALUE_ERROR;
    slope_error = SF_SLOPE_ERROR;
#endif
#ifdef SF_DRIFT
    aging = SF_DRIFT * (before->rounds + 1.0 - before->anchor_round);
#endif
    unsigned alarms = 0;
    if (steep > SF_G_G * (1 + 1e-12) + slope_error) {
        alarms |= SF_STEEP;
    }
    if (before->rounds == 0) {
        return alarms;
    }
    if (least > limit + 4 * SF_NOISE) {
        alarms |= SF_ABOVE;
    }
    double back[SF_D];
    sf_minus(back, before->anchor, x);
    const double below = least + sf_dot(s, back) - slope_error * sf_norm(back);
    if (below - (before->anchor_value + aging) > 4 * SF_NOISE) {
        alarms |= SF_ANOTHER;
    }
    return alarms;
}
