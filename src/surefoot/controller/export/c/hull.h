#define SF_POINT 1e-300 /* the radius of a ball that is its centre, and not empty */

/* A point where g was measured. */
typedef struct {
    double x[SF_D];
    double value; /* g there was at most this */
    double round; /* when */
} sf_spot;

/* What the region is built from. */
typedef struct {
    double rounds;
    sf_spot last;   /* the last action that was read */
    sf_spot anchor; /* the deepest one before it */
    sf_spot start;  /* the first */
} sf_memory;

/* The convex hull of the certified balls of the anchor and of the last action. */
typedef struct {
    const double *anchor;
    double anchor_level; /* g there is at most this */
    double anchor_radius;
    const double *x;
    double level;
    double radius; /* negative where the slack is below the margin */
} sf_hull;

typedef struct {
    sf_hull hull;
    double round;
    double upper; /* g at the last action was at most this */
    double depth; /* the radius of the larger ball */
#ifdef SF_GRADIENT_BOUND
    sf_hull from_start; /* the hull of the start's ball and that of the last action */
    int has_start;
#endif
} sf_region;

static inline void sf_first_memory(sf_memory *memory, const double *x1)
{
    sf_copy(memory->last.x, x1);
    memory->last.value = HUGE_VAL;
    memory->anchor = memory->start = memory->last;
}

/* Whether the constants hold at an action; what is read elsewhere is not used. */
static inline int sf_holds(const double *x)
{
#ifdef SF_RADIUS
    return sf_in_ball(x);
#else
    return sf_norm(x) <= SF_REACH * (1 + 1e-12);
#endif
}

/* The bound on g at a point in round t, rounded up. */
static inline double sf_level_of(const sf_spot *spot, double t)
{
    const double age = fabs(t - spot->round);
    if (SF_DRIFT == 0.0 || age == 0.0) {
        return spot->value;
    }
    return sf_raised(spot->value + sf_raised(SF_DRIFT * age));
}

/* The hull of the balls of two points, as they are in round t. */
static inline sf_hull sf_hull_of(const sf_spot *anchor, const sf_spot *last, double t)
{
    sf_hull hull;
    hull.anchor = anchor->x;
    hull.anchor_level = sf_level_of(anchor, t);
    hull.x = last->x;
    hull.level = sf_level_of(last, t);
    hull.anchor_radius = -hull.anchor_level / SF_G_G - SF_LOST;
    hull.radius = -hull.level / SF_G_G - SF_LOST;
    return hull;
}

/* The ball of the hull that is nearest to a point. */
typedef struct {
    double share; /* of the last action in the centre */
    double centre[SF_D];
    double offset[SF_D]; /* from the centre to the point */
    double far;          /* how long that is */
    double room;         /* how long it may be */
} sf_near;

static inline sf_near sf_nearest_ball(const sf_hull *hull, const double *w)
{
    const double *a = hull->anchor;
    const double r_a = hull->anchor_radius, r_b = hull->radius;
    double way[SF_D], off[SF_D];
    sf_near near;
    sf_minus(way, hull->x, a);
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
    near.far = sf_norm(near.offset);
    near.room = sf_max(r_a + near.share * (r_b - r_a), 0.0);
    return near;
}

/* The certificate: g at a point is at most (1 - share) g(a) + share g(x) + G_g far. */
static inline double sf_most(const sf_hull *hull, const double *point)
{
    const sf_near near = sf_nearest_ball(hull, point);
    const double level = (1.0 - near.share) * hull->anchor_level + near.share * hull->level;
    return level + SF_G_G * near.far;
}

/* Whether a point is in the hull, or no further beyond its edge than a length. */
static inline int sf_is_inside(const sf_hull *hull, const double *w, double beyond)
{
    double way[SF_D];
    sf_minus(way, w, hull->x);
    if (sf_norm(way) <= hull->radius) {
        return 1;
    }
    const sf_near near = sf_nearest_ball(hull, w);
    return hull->anchor_radius > 0.0 && near.far <= near.room + beyond;
}

/* The memory with a round added, or why the round is refused. */
static inline int sf_observe(sf_memory *after, const sf_memory *before, const double *x, double g,
                             const double *s)
{
    (void)s;
    const double t = before->rounds + 1.0;
    double upper = g + SF_VALUE_ERROR;
    sf_spot here;
    sf_copy(here.x, x);
    here.round = t;
    after->rounds = t;
    if (before->start.value == HUGE_VAL) {
        if (!(upper + SF_LOST * SF_G_G < 0.0)) {
            return SF_START;
        }
        here.value = upper;
        after->last = after->anchor = after->start = here;
        return SF_OK;
    }
    if (!SF_EXACT) { /* what was certified bounds g as well as the reading does, but for rounding */
        const sf_hull hull = sf_hull_of(&before->anchor, &before->last, t);
        if (!sf_differ(x, before->last.x)) {
            upper = sf_min(upper, hull.level);
        } else {
            const double bound = sf_most(&hull, x);
            upper = bound <= 0.0 ? sf_min(upper, bound + SF_NOISE) : upper;
        }
    }
    const double aged = sf_level_of(&before->anchor, before->last.round);
    after->anchor = before->anchor;
    if (before->last.value < aged) {
        after->anchor = before->last;
    } else if (SF_DRIFT != 0.0 && !sf_differ(before->last.x, before->anchor.x)) {
        after->anchor.value = aged; /* measured anew */
        after->anchor.round = before->last.round;
    }
    here.value = upper;
    after->last = here;
    after->start = before->start;
    return SF_OK;
}

/* The region of the next round: the hull; under drift, at times the anchor alone, to visit it. */
static inline sf_region sf_region_of(const sf_memory *memory)
{
    const double t = memory->rounds + 1.0;
    sf_region region;
    region.hull = sf_hull_of(&memory->anchor, &memory->last, t);
    region.round = memory->rounds;
    region.upper = memory->last.value;
    region.depth = sf_max(region.hull.anchor_radius, region.hull.radius);
#ifdef SF_GRADIENT_BOUND
    region.from_start = sf_hull_of(&memory->start, &memory->last, t);
    region.has_start = 1;
#endif
    if (SF_DRIFT != 0.0) {
        sf_hull *hull = &region.hull;
        const double r_a = hull->anchor_radius, r = hull->radius;
        if (r_a <= 0 && r >= r_a) { /* without a ball of its own the anchor is no help */
            hull->anchor = hull->x;
            hull->anchor_radius = r;
            hull->anchor_level = hull->level;
        } else if (hull->anchor_level >= 0.5 * memory->anchor.value && r_a > sf_max(r, 0.0)) {
            hull->x = hull->anchor;
            hull->level = hull->anchor_level;
            hull->radius = hull->anchor_radius = SF_POINT;
#ifdef SF_GRADIENT_BOUND
            region.has_start = 0;
#endif
        }
    }
    return region;
}

static inline int sf_from_start_holds(const sf_region *region, const double *w)
{
#ifdef SF_GRADIENT_BOUND
    return region->has_start && sf_is_inside(&region->from_start, w, SF_ROUNDING);
#else
    (void)region;
    (void)w;
    return 0;
#endif
}

/* The point of a hull nearest to w. */
static inline int sf_nearest_of(const sf_hull *hull, double *next, const double *w)
{
    const sf_near near = sf_nearest_ball(hull, w);
    if (!(hull->anchor_radius > 0.0)) {
        return SF_EMPTY; /* drift may have used all the slack that was ever seen */
    }
    if (near.far <= near.room + SF_ROUNDING) {
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

/* The certified point nearest to w, wherever the ball around the feasible set is. */
static inline int sf_nearest_in_hull(const sf_region *region, double *next, const double *w)
{
    double way[SF_D];
    sf_minus(way, w, region->hull.x);
    if (sf_norm(way) <= region->hull.radius) { /* the usual case, and a certificate by itself */
        sf_copy(next, w);
        return SF_OK;
    }
    if (region->hull.anchor_radius > 0.0 && sf_from_start_holds(region, w)) {
        sf_copy(next, w);
        return SF_OK;
    }
    return sf_nearest_of(&region->hull, next, w);
}

#ifdef SF_RADIUS
/* Whether a point is certified, and in the ball. */
static inline int sf_contains(const sf_region *region, const double *w)
{
    return sf_in_ball(w)
           && (sf_is_inside(&region->hull, w, SF_ROUNDING) || sf_from_start_holds(region, w));
}

/* Nearly the nearest certified point of the ball, by projections onto both in turn. */
static inline int sf_sweep(const sf_region *region, double *point, const double *w, double size)
{
    double way[SF_D], z[SF_D], mixed[SF_D], near[SF_D];
    sf_minus(way, w, region->hull.x);
    const double share = sf_min(size / sf_max(sf_norm(way), 1e-300), 1.0);
    sf_copy(z, region->hull.x);
    for (int sweep = 0; sweep < 60; sweep++) {
        for (int i = 0; i < SF_D; i++) {
            const double part = share * w[i];
            point[i] = (z[i] + part) / (1.0 + share);
        }
        int status = sf_project_ball(point);
        if (status != SF_OK) {
            return status;
        }
        for (int i = 0; i < SF_D; i++) {
            mixed[i] = 2.0 * point[i] - z[i];
        }
        status = sf_nearest_in_hull(region, near, mixed);
        if (status != SF_OK) {
            return status;
        }
        sf_minus(way, near, point);
        sf_along(z, z, 1.0, way);
        if (sf_norm(way) <= 1e-15 * (1.0 + sf_norm(point))) {
            break;
        }
    }
    return sf_project_ball(point);
}
#endif

/* The certified point nearest to w; of the ball, where that cuts. */
static inline int sf_nearest(const sf_region *region, double *next, const double *w)
{
    int status = sf_nearest_in_hull(region, next, w);
#ifdef SF_RADIUS
    if (status != SF_OK || sf_in_ball(next)) {
        return status;
    }
    double way[SF_D], inside[SF_D], point[SF_D];
    sf_minus(way, next, region->hull.x);
    const double size = sf_norm(way) + sf_max(region->depth, 0.0);
    status = sf_nearest_in_hull(region, inside, region->hull.x);
    if (status == SF_OK && !sf_in_ball(inside)) {
        sf_copy(inside, region->hull.anchor);
        status = sf_contains(region, inside) ? SF_OK : SF_EMPTY;
    }
    if (status == SF_OK) {
        status = sf_sweep(region, point, w, size);
    }
    if (status != SF_OK) {
        return status;
    }
    if (sf_contains(region, point)) {
        sf_copy(next, point);
        return SF_OK;
    }
    /* Drawn towards a point that is in both until both say so. */
    sf_minus(way, point, inside);
    sf_copy(next, inside);
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 52; i++) {
        const double share = 0.5 * (low + high);
        sf_along(point, inside, share, way);
        if (sf_project_ball(point) == SF_OK && sf_contains(region, point)) {
            sf_copy(next, point);
            low = share;
        } else {
            high = share;
        }
    }
#endif
    return status;
}

/* Where a step to w is cut off: the nearest point. */
static inline int sf_cut(const sf_region *region, double *next, const double *w)
{
    return sf_nearest(region, next, w);
}

/* The bound on the next g at a point that was certified. */
static inline double sf_bound_at(const sf_region *region, const double *point)
{
    const sf_hull *hull = &region->hull;
#ifdef SF_GRADIENT_BOUND
    const sf_near near = sf_nearest_ball(hull, point);
    if (near.far > near.room + SF_ROUNDING && region->has_start) {
        hull = &region->from_start;
    }
#endif
    return sf_min(sf_most(hull, point) + SF_NOISE, 0.0);
}

/* What contradicts the constants or convexity: the round against what was known before it. */
static inline unsigned sf_alarms_of(const sf_memory *before, const double *x, double g,
                                    const double *s)
{
    const double least = g - SF_VALUE_ERROR, t = before->rounds + 1.0;
    unsigned alarms = sf_far(x, g + SF_VALUE_ERROR + SF_NOISE);
    if (sf_norm(s) > SF_G_G * (1 + 1e-12) + SF_SLOPE_ERROR) {
        alarms |= SF_STEEP;
    }
    if (before->start.value == HUGE_VAL) {
        return alarms;
    }
    const sf_hull hull = sf_hull_of(&before->anchor, &before->last, t);
    if (least > sf_most(&hull, x) + 4 * SF_NOISE) {
        alarms |= SF_ABOVE;
    }
    double back[SF_D];
    sf_minus(back, before->anchor.x, x);
    const double below = least + sf_dot(s, back) - SF_SLOPE_ERROR * sf_norm(back);
    if (below - sf_level_of(&before->anchor, t) > 4 * SF_NOISE) {
        alarms |= SF_ANOTHER;
    }
    return alarms;
}
