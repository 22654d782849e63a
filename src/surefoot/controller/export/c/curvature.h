#include "common.h"

/* The last round seen, against which a wrong curvature is noticed. */
typedef struct {
    double rounds;
    double x[SF_D];
    double g; /* or the upper bound on it */
    double s[SF_D];
    double low; /* the lower bound on g */
} sf_memory;

/* The ball, or half-space, in which g + s'(p - x) + beta/2 |p - x|^2 is at most 0. */
typedef struct {
    const double *x;
    double g;
    const double *s;
    double low;
    double squared; /* the inner product of s with itself */
    double margin;  /* e, what the bound is kept below 0 by, for rounding */
} sf_region;

static inline sf_region sf_region_of(const double *x, double g, const double *s, double low)
{
    sf_region region = {x, g, s, low, sf_dot(s, s), 0.0};
    const double scale = fabs(g) + sqrt(region.squared) * SF_REACH + SF_BETA * SF_REACH * SF_REACH;
    region.margin = SF_MARGIN_UNIT * scale;
#ifdef SF_FOUR_ERRORS
    region.margin = region.margin + SF_FOUR_ERRORS;
#endif
    return region;
}

/* The certificate: the bound on g at a point, with half of the margin. */
static inline double sf_bound_at(const sf_region *region, const double *point)
{
    double v[SF_D];
    sf_minus(v, point, region->x);
    const double level = region->g + 0.5 * region->margin + sf_dot(region->s, v);
    return level + 0.5 * SF_BETA * sf_dot(v, v);
}

/* What a round shows, or why it is refused. */
static inline int sf_see(sf_region *region, const sf_memory *before, const double *x, double g,
                         const double *s)
{
    if (!isfinite(g) || !sf_all_finite(s)) {
        return SF_NOT_FINITE;
    }
    double upper = g, low = g;
#ifdef SF_VALUE_ERROR
    upper = g + SF_VALUE_ERROR;
    low = g - SF_VALUE_ERROR;
    if (before->rounds > 0) { /* what was certified bounds g there as well as the reading does */
        const sf_region old = sf_region_of(before->x, before->g, before->s, before->low);
        const double certified = sf_bound_at(&old, x);
        upper = certified <= 0 ? sf_min(upper, certified) : upper;
    }
#endif
    *region = sf_region_of(x, upper, s, low);
    if (!(region->squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    if (before->rounds == 0 && !(upper + region->margin < 0.0)) {
        return SF_START;
    }
    return SF_OK;
}

static inline double sf_bound(const sf_region *region, const double *point)
{
    double v[SF_D];
    sf_minus(v, point, region->x);
    const double bound = sf_norm(v) == 0 ? region->g : sf_min(sf_bound_at(region, point), 0.0);
#ifdef SF_VALUE_ERROR
    return sf_min(bound, 0.0); /* what was certified before stays so */
#else
    return bound;
#endif
}

/* Whether one of two rounds is above the quadratic bound of the other. */
static inline unsigned sf_alarms_of(const sf_memory *before, const sf_region *region)
{
    if (before->rounds == 0) {
        return 0;
    }
    const sf_region old = sf_region_of(before->x, before->g, before->s, before->low);
    double v[SF_D];
    sf_minus(v, region->x, old.x);
    const double squared = sf_dot(v, v), noise = region->margin + old.margin;
    if (!(squared > 0)) {
        return 0;
    }
    const double rise = region->low - old.g - sf_dot(old.s, v);
    const double fall = old.low - region->g + sf_dot(region->s, v);
    return sf_max(rise, fall) > 0.5 * SF_BETA * squared + noise ? SF_ABOVE : 0;
}

static inline void sf_remember(sf_memory *memory, const sf_region *region)
{
    memory->rounds += 1.0;
    sf_copy(memory->x, region->x);
    memory->g = region->g;
    sf_copy(memory->s, region->s);
    memory->low = region->low;
}
