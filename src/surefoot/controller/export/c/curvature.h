/* The last round that was read. */
typedef struct {
    double rounds;
    double x[SF_D];
    double upper; /* g there was at most this */
    double low;   /* and at least this */
    double s[SF_D];
} sf_memory;

/* The ball, or half-space, in which g + s'(p - x) + beta/2 |p - x|^2 is at most 0. */
typedef struct {
    const sf_memory *seen;
    double squared; /* the inner product of s with itself */
    double margin;  /* e, what the bound is kept below 0 by, for rounding */
    double up;      /* the bound at x with the margin */
    double longest; /* the longest step that a cut can certify */
} sf_region;

static inline void sf_first_memory(sf_memory *memory, const double *x1)
{
    sf_copy(memory->x, x1);
}

/* Whether the constants hold at an action. */
static inline int sf_holds(const double *x)
{
    (void)x;
    return 1;
}

static inline sf_region sf_region_of(const sf_memory *seen)
{
    sf_region region;
    region.seen = seen;
    region.squared = sf_dot(seen->s, seen->s);
    const double scale = fabs(seen->upper) + sqrt(region.squared) * SF_REACH
                         + SF_BETA * SF_REACH * SF_REACH;
    region.margin = SF_MARGIN_UNIT * scale + SF_FOUR_ERRORS;
    region.up = seen->upper + region.margin;
    region.longest = HUGE_VAL;
    if (SF_BETA > 0) {
        const double nu = sqrt(sf_max(region.squared - 2 * SF_BETA * region.up, 0.0));
        region.longest = 0.5 * nu / SF_BETA;
    }
    return region;
}

/* The certificate: the bound on g at a point, with half of the margin. */
static inline double sf_quadratic_at(const sf_region *region, const double *point)
{
    double v[SF_D];
    sf_minus(v, point, region->seen->x);
    const double level = region->seen->upper + 0.5 * region->margin + sf_dot(region->seen->s, v);
    return level + 0.5 * SF_BETA * sf_dot(v, v);
}

/* The memory with a round added, or why the round is refused. */
static inline int sf_observe(sf_memory *after, const sf_memory *before, const double *x, double g,
                             const double *s)
{
    double upper = g + SF_VALUE_ERROR;
    if (!SF_EXACT && before->rounds > 0) {
        /* What was certified bounds g there as well as the reading does. */
        const sf_region old = sf_region_of(before);
        const int stayed = !sf_differ(x, before->x);
        const double certified = stayed ? before->upper : sf_quadratic_at(&old, x);
        upper = stayed || certified <= 0 ? sf_min(upper, certified) : upper;
    }
    after->rounds = before->rounds + 1.0;
    sf_copy(after->x, x);
    after->upper = upper;
    after->low = g - SF_VALUE_ERROR;
    sf_copy(after->s, s);
    const sf_region region = sf_region_of(after);
    if (!(region.squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    return before->rounds == 0 && !(region.up < 0.0) ? SF_START : SF_OK;
}

/* Whether the way to a point has a finite square. */
static inline int sf_is_reachable(const sf_region *region, const double *w)
{
    double v[SF_D];
    sf_minus(v, w, region->seen->x);
    return sf_dot(v, v) < HUGE_VAL;
}

#ifdef SF_RADIUS
static inline int sf_contains(const sf_region *region, const double *w)
{
    const int stays = !sf_differ(w, region->seen->x) && region->seen->upper <= 0;
    return sf_in_ball(w) && (sf_quadratic_at(region, w) <= 0 || stays);
}
#endif

/* A certified point becomes one of the ball: its projection, or one on the way there; in place. */
static inline int sf_draw(const sf_region *region, double *point)
{
#ifdef SF_RADIUS
    if (sf_in_ball(point)) {
        return SF_OK;
    }
    const double *x = region->seen->x;
    double way[SF_D], between[SF_D];
    const int status = sf_project_ball(point);
    if (status != SF_OK || sf_contains(region, point)) {
        return status;
    }
    sf_minus(way, point, x);
    double share = 0.0, half = 0.5;
    for (int i = 0; i < 40; i++) {
        sf_along(between, x, share + half, way);
        if (sf_contains(region, between)) {
            share = share + half;
        }
        half = 0.5 * half;
    }
    sf_along(point, x, share, way);
    return sf_contains(region, point) ? SF_OK : SF_EMPTY;
#else
    (void)region;
    (void)point;
    return SF_OK;
#endif
}

/* Where a step to w ends that is drawn back along the slope until it is certified. */
static inline int sf_cut(const sf_region *region, double *next, const double *w)
{
    const double *x = region->seen->x, *s = region->seen->s;
    if (!sf_is_reachable(region, w)) {
        return SF_RANGE;
    }
    if (sf_quadratic_at(region, w) <= 0) {
        sf_copy(next, w);
        return sf_draw(region, next);
    }
    const double size = sqrt(region->squared), below = size > 0 ? size : 1.0;
    double v[SF_D], unit[SF_D];
    sf_minus(v, w, x);
    for (int i = 0; i < SF_D; i++) {
        unit[i] = s[i] / below;
    }
    const double a = sf_dot(unit, v);
    const double c = region->up + 0.5 * SF_BETA * sf_max(sf_dot(v, v) - a * a, 0.0);
    const double root = size + sqrt(sf_max(size * size - 2 * SF_BETA * c, 0.0));
    const double z = -2 * c / (root > 0 ? root : HUGE_VAL), off = sf_max(a - z, 0.0);
    sf_along(v, v, -off, unit);
    sf_along(next, x, 1.0, v);
    if (!(sf_quadratic_at(region, next) <= 0)) {
        sf_copy(next, x);
    }
    return sf_draw(region, next);
}

/* The certified point nearest to w; w itself where it is one. */
static inline int sf_nearest(const sf_region *region, double *next, const double *w)
{
    const double *x = region->seen->x, *s = region->seen->s, up = region->up;
    if (!sf_is_reachable(region, w)) {
        return SF_RANGE;
    }
    sf_copy(next, w);
    int good = sf_quadratic_at(region, w) <= 0;
    if (good || (region->seen->upper <= 0 && !sf_differ(w, x))) {
        return sf_draw(region, next);
    }
    /* A far point loses digits in the first projection; the second starts where they are not. */
    double v[SF_D], bent[SF_D];
    sf_minus(v, w, x);
    for (int tries = 0; tries < 3 && !good; tries++) {
        const double over = up + sf_dot(s, v) + 0.5 * SF_BETA * sf_dot(v, v);
        const double nu = sqrt(sf_max(region->squared - 2 * SF_BETA * up, 0.0));
        sf_along(bent, s, SF_BETA, v);
        const double below = nu * (nu + sf_norm(bent));
        const double weight = 2 * sf_max(over, 0.0) / (below > 0 ? below : HUGE_VAL);
        for (int i = 0; i < SF_D; i++) {
            const double off = weight * s[i];
            v[i] = (v[i] - off) / (1 + SF_BETA * weight);
        }
        sf_along(next, x, 1.0, v);
        good = sf_quadratic_at(region, next) <= 0;
        sf_minus(v, next, x);
    }
    if (!good) {
        sf_copy(next, x); /* for a fixed g what was played stays certified */
    }
    return sf_draw(region, next);
}

static inline double sf_bound_at(const sf_region *region, const double *point)
{
    const int moved = sf_differ(point, region->seen->x);
    const double bound = moved ? sf_quadratic_at(region, point) : region->seen->upper;
    return moved || !SF_EXACT ? sf_min(bound, 0.0) : bound;
}

/* Whether one of two rounds is above the quadratic bound of the other. */
static inline unsigned sf_alarms_of(const sf_memory *before, const double *x, double g,
                                    const double *s)
{
    sf_memory after;
    if (sf_observe(&after, before, x, g, s) != SF_OK) {
        return 0;
    }
    const sf_region new_ = sf_region_of(&after), old = sf_region_of(before);
    const unsigned alarms = sf_far(x, g + SF_VALUE_ERROR + new_.margin);
    if (before->rounds == 0) {
        return alarms;
    }
    double v[SF_D];
    sf_minus(v, x, before->x);
    const double length = sf_norm(v), squared = length * length;
    const double rise = after.low - before->upper - sf_dot(before->s, v);
    const double fall = before->low - after.upper + sf_dot(s, v);
    const double most = 0.5 * SF_BETA * squared + (old.margin + new_.margin);
    return squared > 0 && sf_max(rise, fall) > most ? alarms | SF_ABOVE : alarms;
}
