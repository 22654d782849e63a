/* What the region is built from. */
typedef struct {
    double rounds;
    double anchor[SF_D]; /* the deepest action before the last one */
    double anchor_value; /* g there */
    double last[SF_D];   /* the last action seen */
    double last_value;   /* g there */
} sf_memory;

/* The convex hull of the certified balls of the anchor and of the last action. */
typedef struct {
    const double *anchor;
    double anchor_value;
    double anchor_radius;
    const double *x;
    double value;
    double radius; /* negative where the slack is below the margin */
} sf_region;

static inline sf_region sf_region_of(const sf_memory *memory)
{
    sf_region region;
    region.anchor = memory->anchor;
    region.anchor_value = memory->anchor_value;
    region.anchor_radius = -memory->anchor_value / SF_G_G - SF_LOST;
    region.x = memory->last;
    region.value = memory->last_value;
    region.radius = -memory->last_value / SF_G_G - SF_LOST;
    return region;
}

/* The memory with a round added, or why the round is refused. */
static inline int sf_see(sf_memory *after, const sf_memory *before, const double *x, double g)
{
    if (!isfinite(g)) {
        return SF_NOT_FINITE;
    }
    if (before->rounds == 0 && !(g + SF_LOST * SF_G_G < 0.0)) {
        return SF_START;
    }
    *after = *before;
    if (before->rounds == 0) {
        sf_copy(after->anchor, x);
        after->anchor_value = g;
    } else if (before->last_value < before->anchor_value) {
        sf_copy(after->anchor, before->last);
        after->anchor_value = before->last_value;
    }
    sf_copy(after->last, x);
    after->last_value = g;
    after->rounds = before->rounds + 1.0;
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
    if (near.far <= near.room) {
        sf_copy(next, w);
        return SF_OK;
    }
    if (!(near.far < HUGE_VAL)) {
        return SF_RANGE;
    }
    sf_along(next, near.centre, near.room / near.far, near.offset);
    return SF_OK;
}

/*
 * The certificate: g at a point is at most (1 - share) g(a) + share g(x) + G_g far.
 * limit: that number before rounding is added; a larger g contradicts a constant.
 */
static inline double sf_bound(const sf_region *region, const double *point, double *limit)
{
    const sf_near near = sf_nearest_ball(region, point);
    const double level = (1.0 - near.share) * region->anchor_value + near.share * region->value;
    const double most = level + SF_G_G * near.far;
    *limit = sf_max(most, near.far == 0 ? region->value : -HUGE_VAL);
    return sf_min(most + SF_NOISE, 0.0);
}

/* What contradicts G_g or convexity: the round against what was known before it. */
static inline unsigned sf_alarms_of(const sf_memory *before, double limit, const double *x,
                                    double g, const double *s, double steep)
{
    unsigned alarms = 0;
    if (steep > SF_G_G * (1 + 1e-12)) {
        alarms |= SF_STEEP;
    }
    if (before->rounds == 0) {
        return alarms;
    }
    if (g > limit + 4 * SF_NOISE) {
        alarms |= SF_ABOVE;
    }
    double back[SF_D];
    sf_minus(back, before->anchor, x);
    if (g + sf_dot(s, back) - before->anchor_value > 4 * SF_NOISE) {
        alarms |= SF_ANOTHER;
    }
    return alarms;
}
