/* What was read, and the bound on the next distance. */
typedef struct {
    double rounds;
    double anchor[SF_D]; /* the first action */
    double slack;        /* at most -g there */
    double x[SF_D];      /* the action that was read last */
    double upper;        /* g there was at most this */
    double level;        /* the value that the half-space is made of */
    double s[SF_D];
    double rho;         /* the tightening of that round */
    double drawn[SF_D]; /* q, where it is drawn back to */
    double left;        /* B, what q has left of the distance; a negative number is a depth */
    double distance;    /* A, a bound on the distance of x to the tightened set */
    double stay_level;  /* g at x is at most this; infinite where it may be above 0 */
} sf_memory;

/* The ball around q; where nothing is certified beyond it, one point. */
typedef struct {
    const sf_memory *seen;
    double longest;      /* its radius, and the longest certified step; 0 or less if there is none */
    const double *point; /* what is certified then: the action itself, or the first one */
    double point_level;
    int has_point;
} sf_region;

static inline void sf_first_memory(sf_memory *memory, const double *x1)
{
    sf_copy(memory->anchor, x1);
    sf_copy(memory->x, x1);
    sf_copy(memory->drawn, x1);
}

/* Whether the constants hold at an action; what is read elsewhere is not used. */
static inline int sf_holds(const double *x)
{
    return sf_in_ball(x);
}

/* The tightening of round t. */
static inline double sf_tightening(double t, double slack)
{
    return sf_min(0.5 * slack, SF_DECREASING ? SF_RHO / sqrt(t) : SF_RHO + 0.0 * t);
}

/* A of an action: its distance to q, B and rounding, less what a smaller rho saves. */
static inline double sf_distance(const sf_memory *memory, const double *x, double rho)
{
    double way[SF_D];
    sf_minus(way, x, memory->drawn);
    const double reached = sf_norm(way) + memory->left + SF_ERROR;
    const double nearer = (memory->rho - rho) / SF_G_G;
    return nearer >= 0 ? sf_max(reached - nearer, 0.0) : HUGE_VAL;
}

/* The memory with a round added, or why the round is refused. */
static inline int sf_observe(sf_memory *after, const sf_memory *before, const double *x, double g,
                             const double *s)
{
    const double t = before->rounds + 1.0, upper = g + SF_NOISE;
    const int first = before->rounds == 0;
    const double slack = first ? -upper : before->slack;
    if (!(slack > 0)) {
        return SF_START;
    }
    const double rho = sf_tightening(t, slack);
    const double known = first ? 0.0 : sf_distance(before, x, rho);
    const double limit = first ? HUGE_VAL : SF_G_G * known - rho + SF_NOISE;
    const int may_stay = g <= 0 || limit <= 2 * SF_NOISE;
    double away[SF_D];
    sf_minus(away, x, first ? x : before->anchor);
    const double excess = upper + rho, rise = upper + slack;
    double near = sf_max(excess, 0.0) / (rise > 0 ? rise : 1.0) * sf_norm(away);
#ifdef SF_SIGMA
    near = sf_min(near, sf_max(excess, 0.0) / SF_SIGMA);
#endif
    const double A = sf_min(near, known), squared = sf_dot(s, s);
    double cut = sf_max(g + rho - 2 * SF_NOISE, 0.0);
    cut = cut / (squared > 0 ? sqrt(squared) : HUGE_VAL);
    const double root = sqrt(sf_max(A - cut, 0.0) * (A + cut) + SF_KAPPA * A * A);
    double drawn[SF_D];
    sf_copy(drawn, x);
    int status = sf_project_halfspace(drawn, g + rho - SF_NOISE, s);
    if (status == SF_OK) {
        status = sf_project_ball(drawn);
    }
    if (status != SF_OK) {
        return status;
    }
    after->rounds = t;
    sf_copy(after->anchor, first ? x : before->anchor);
    after->slack = slack;
    sf_copy(after->x, x);
    after->upper = upper;
    after->level = g;
    sf_copy(after->s, s);
    after->rho = rho;
    sf_copy(after->drawn, drawn);
    after->left = upper <= -rho ? excess / SF_G_G : root;
    after->distance = A;
    after->stay_level = may_stay ? upper : HUGE_VAL;
    return SF_OK;
}

static inline sf_region sf_region_of(const sf_memory *seen)
{
    sf_region region;
    region.seen = seen;
    region.longest = seen->rho / SF_G_G - seen->left - SF_ERROR;
    region.has_point = !isnan(region.longest);
    const int lost = seen->stay_level == HUGE_VAL;
    region.point = lost ? seen->anchor : seen->x;
    region.point_level = lost ? -seen->slack : seen->stay_level;
    return region;
}

/* Where a step to w ends: no longer than certified, then half-space and ball. */
static inline int sf_cut(const sf_region *region, double *out, const double *w)
{
    const sf_memory *seen = region->seen;
    double way[SF_D], y[SF_D];
    sf_minus(way, w, seen->x);
    const double size = sf_norm(way);
    if (!(size < HUGE_VAL)) {
        return SF_RANGE;
    }
    const double room = sf_max(region->longest, 0.0);
    sf_along(y, seen->x, sf_min(room / (size > 0 ? size : 1.0), 1.0), way);
    if (size <= room) {
        sf_copy(y, w);
    }
    sf_minus(way, y, seen->x);
    const double excess = seen->level + sf_dot(seen->s, way) + seen->rho - SF_NOISE;
    int status = sf_project_halfspace(y, excess, seen->s);
    if (status == SF_OK) {
        status = sf_project_ball(y);
    }
    if (status == SF_OK) {
        sf_copy(out, region->longest > 0 ? y : region->point);
    }
    return status;
}

/* The certified point that w leads to: w itself where it is one. */
static inline int sf_nearest(const sf_region *region, double *next, const double *w)
{
    const double *q = region->seen->drawn;
    double way[SF_D], found[SF_D], there[SF_D];
    sf_minus(way, w, q);
    const int inside = region->longest > 0 && sf_norm(way) <= region->longest + SF_TOLERANCE;
    if ((inside && sf_in_ball(w)) || (region->has_point && !sf_differ(w, region->point))) {
        sf_copy(next, w);
        return SF_OK;
    }
    if (!(region->longest > 0) && !region->has_point) {
        return SF_RANGE;
    }
    int status = sf_cut(region, found, w);
    if (status != SF_OK) {
        return status;
    }
    sf_minus(way, found, q);
    const double far = sf_norm(way), room = sf_max(region->longest, 0.0);
    sf_along(there, q, sf_min(room / (far > 0 ? far : 1.0), 1.0), way);
    status = sf_project_ball(there);
    if (status != SF_OK) {
        return status;
    }
    sf_copy(next, !(region->longest > 0) ? region->point : far <= room ? found : there);
    return SF_OK;
}

/* The certificate: g of the next action is at most G_g (|x - q| + B + e) - rho. */
static inline double sf_bound_at(const sf_region *region, const double *next)
{
    const sf_memory *seen = region->seen;
    if (!(region->longest > 0)) {
        return sf_min(region->point_level, 0.0);
    }
    double way[SF_D];
    sf_minus(way, next, seen->drawn);
    const double reached = seen->left + sf_norm(way) + SF_ERROR;
    return sf_min(SF_G_G * reached - seen->rho, 0.0);
}

/* What contradicts G_g, the ball, the start or convexity. */
static inline unsigned sf_alarms_of(const sf_memory *before, const double *x, double g,
                                    const double *s)
{
    const double steep = sf_norm(s);
    unsigned alarms = sf_far(x, g + SF_NOISE);
    if (steep > SF_G_G * (1 + 1e-12)) {
        alarms |= SF_STEEP;
    }
    if (before->rounds == 0) {
        return alarms;
    }
    const double rho = sf_tightening(before->rounds + 1.0, before->slack);
    if (g > SF_G_G * sf_distance(before, x, rho) - rho + 2 * SF_NOISE) {
        alarms |= SF_ABOVE;
    }
    sf_memory after;
    if (sf_observe(&after, before, x, g, s) == SF_OK) {
        const double cut = steep > 0 ? sf_max(g + rho - SF_NOISE, 0.0) / steep : 0.0;
        if (cut > after.distance * (1 + 1e-7) + SF_ERROR && after.upper > -rho) {
            alarms |= SF_ANOTHER;
        }
    }
    return alarms;
}
