/* What values and a bound on the subgradients certify: surefoot.knowledge.hull.
 *
 * Memory: the numbers; the last action that was read, the deepest one before it, the first, and a
 * ladder: actions before the last, the most recent of each octave of depth. */

#define SF_NUMBERS_OF_HULL(NUMBER) NUMBER(SF_HULL_ROUNDS, "rounds")
enum { SF_NUMBERS_OF_HULL(SF_INDEX) SF_HULL_NUMBERS };

/* Each a point, the bound on g there, and its round. */
#define SF_SPOTS_OF_HULL(SPOT) SPOT(SF_LAST, "last") SPOT(SF_ANCHOR, "anchor") SPOT(SF_FIRST, "start")
#define SF_ARRAYS_OF_HULL(ARRAY) ARRAY(rungs, "rungs", 2, SF_RUNGS, d + 2)
enum { SF_SPOTS_OF_HULL(SF_INDEX) SF_RUNG };

static inline size_t sf_hull_memory(int d)
{
    return SF_HULL_NUMBERS + SF_RUNG * ((size_t)d + 2) SF_ARRAYS_OF_HULL(SF_SIZE);
}

static inline double *sf_kept(const double *memory, int which, int d)
{
    return (double *)memory + SF_HULL_NUMBERS + which * (d + 2);
}

static inline void sf_init_hull(const sf_rule *rule, double *memory, const double *x1)
{
    const int d = SF_DIM(rule);
    sf_fill(memory, 0.0, SF_HULL_NUMBERS);
    sf_put_spot(sf_kept(memory, SF_LAST, d), x1, HUGE_VAL, 0.0, d);
    sf_put_spot(sf_kept(memory, SF_ANCHOR, d), x1, HUGE_VAL, 0.0, d);
    sf_put_spot(sf_kept(memory, SF_FIRST, d), x1, HUGE_VAL, 0.0, d);
    for (int j = 0; j < SF_RUNGS; j++) {
        sf_fill(sf_kept(memory, SF_RUNG + j, d), 0.0, d + 2);
        sf_kept(memory, SF_RUNG + j, d)[d] = HUGE_VAL;
    }
}

/* delta, a bound on the error of an observed g, with room for one sum. */
static inline double sf_hull_noise(const sf_rule *rule)
{
    const double unit = SF_UNIT * rule->reach * rule->G_g;
    return sf_max(SF_VALUE_ROUNDINGS * (SF_DIM(rule) + SF_VALUE_TERMS) * unit,
                  rule->evaluation_error + SF_SUM_ROUNDINGS * unit);
}

/* What a point that was moved to the edge may be beyond it. */
static inline double sf_rounding(const sf_rule *rule)
{
    return SF_POINT_ROUNDINGS * (SF_DIM(rule) + SF_TERMS) * SF_UNIT * rule->reach;
}

/* What the margin takes from a radius. */
static inline double sf_lost(const sf_rule *rule)
{
    return SF_HULL_NOISES * sf_hull_noise(rule) / rule->G_g
           + SF_HULL_ROUNDINGS * sf_rounding(rule);
}

/* The hull of the last action's ball and the anchor's, as they are in round t. */
static inline sf_hull sf_hull_of(const sf_rule *rule, const double *memory, double t)
{
    const int d = SF_DIM(rule);
    const sf_spot a = sf_spot_at(sf_kept(memory, SF_ANCHOR, d), d);
    const sf_spot b = sf_spot_at(sf_kept(memory, SF_LAST, d), d);
    const double lost = sf_lost(rule);
    sf_hull hull;
    hull.anchor = a.x;
    hull.anchor_round = a.round;
    hull.anchor_level = sf_aged(a.value, t - a.round, rule->drift);
    hull.x = b.x;
    hull.level = sf_aged(b.value, t - b.round, rule->drift);
    hull.anchor_radius = -hull.anchor_level / rule->G_g - lost;
    hull.radius = -hull.level / rule->G_g - lost;
    hull.rounding = sf_rounding(rule);
    hull.balls = NULL;
    return hull;
}

/* Add a ball to those beside the last action's. */
static inline void sf_add_ball(sf_balls *balls, const sf_hull *hull, const double *spot,
                               double level, double radius, int d)
{
    const int j = balls->count++;
    double *way = balls->ways + (size_t)j * d;
    sf_minus(way, spot, hull->x, d);
    balls->spot[j] = spot;
    balls->level[j] = level;
    balls->radius[j] = radius;
    balls->apart[j] = sf_dot(way, way, d);
}

/* What depends on the balls alone, once for all points that are asked for. */
static inline void sf_measure_balls(sf_balls *balls, double last)
{
    for (int j = 0; j < balls->count; j++) {
        const double less = last - balls->radius[j], apart = balls->apart[j];
        const double free = apart - less * less, most = last >= 0.0 ? 1.0 : balls->radius[j] / -less;
        const double one = less > 0.0 ? 1.0 : 0.0; /* where one ball holds the other */
        balls->less[j] = less;
        balls->inverse[j] = apart > 0.0 ? 1.0 / apart : 0.0;
        balls->slope[j] = free > 0.0 ? less * sqrt(apart / free) / apart : 0.0;
        balls->low[j] = free > 0.0 ? 0.0 : one;
        balls->top[j] = free > 0.0 ? most : one;
    }
}

/* The hulls of the last action's ball with the anchor's and those of the ladder, in round t. */
static inline sf_hull sf_hulls_of(const sf_rule *rule, const double *memory, double t,
                                  sf_balls *balls, sf_work *work)
{
    const int d = SF_DIM(rule);
    const double lost = sf_lost(rule);
    sf_hull hull = sf_hull_of(rule, memory, t);
    balls->count = 0;
    balls->ways = sf_take(work, SF_MOST_BALLS * d);
    sf_add_ball(balls, &hull, hull.anchor, hull.anchor_level, hull.anchor_radius, d);
    for (int j = 0; j < SF_RUNGS; j++) {
        const double *rung = sf_kept(memory, SF_RUNG + j, d);
        const double level = sf_aged(rung[d], t - rung[d + 1], rule->drift);
        const double radius = -level / rule->G_g - lost;
        if (radius > 0.0) {
            sf_add_ball(balls, &hull, rung, level, radius, d);
        }
    }
    balls->widest = sf_largest(balls->apart, balls->count, 0.0);
    sf_measure_balls(balls, hull.radius);
    hull.balls = balls;
    return hull;
}

/* The ball of the hull that is nearest to a point; its centre and the way from it to the point. */
typedef struct {
    double share; /* of the last action in the centre */
    double far;   /* how long the way is */
    double room;  /* how long it may be */
    double *centre, *offset;
    double anchor_level, anchor_round; /* of the ball that is beside the last one */
    int ball;                          /* which of the balls that is; -1 for the anchor alone */
} sf_near;

/* About how far a point is from the hull of each ball and the last one.
 * products: of the ways to the balls with that to the point, whose squared length is there. */
static inline void sf_find_gaps(double *gaps, const sf_balls *balls, const double *products,
                                double there)
{
    for (int j = 0; j < balls->count; j++) {
        const double apart = balls->apart[j], along = products[j] * balls->inverse[j];
        const double off = sf_max(there - products[j] * along, 0.0); /* squared, from the line */
        const double foot = 1.0 - along;
        const double best = foot + balls->slope[j] * sqrt(off);
        const double share = sf_min(sf_max(best, balls->low[j]), balls->top[j]);
        const double further = share - foot;
        const double far = sqrt(off + apart * (further * further));
        gaps[j] = far - sf_max(balls->radius[j] + share * balls->less[j], 0.0);
    }
}

/* The hull with one of the balls for the anchor, and no other. */
static inline sf_hull sf_take_ball(const sf_hull *hull, int j, int d)
{
    sf_hull one = *hull;
    one.balls = NULL;
    if (j >= 0) {
        one.anchor = hull->balls->spot[j];
        one.anchor_level = hull->balls->level[j];
        one.anchor_radius = hull->balls->radius[j];
        one.anchor_round = one.anchor[d + 1];
    }
    return one;
}

/* The share of the last action in the centre of the ball nearest to w; off: room for two vectors. */
static inline double sf_share_of_two_balls(const sf_hull *hull, const double *w, double *off,
                                           int d)
{
    const double *a = hull->anchor, *b = hull->x;
    const double less = hull->radius - hull->anchor_radius;
    sf_minus(off, b, a, d);
    sf_minus(off + d, w, a, d);
    const double squared = sf_dot(off, off, d), apart = squared - less * less;
    if (apart <= 0.0) {
        return less > 0.0 ? 1.0 : 0.0; /* one ball holds the other */
    }
    const double q = sf_dot(off + d, off, d), part = q / squared;
    if (!(part > -HUGE_VAL && part < HUGE_VAL)) {
        return (double)NAN; /* so far away that no share can be told */
    }
    sf_along(off, off + d, -part, off, d);
    const double root = sqrt(sf_dot(off, off, d) * squared / apart);
    const double share = (q + less * root) / squared;
    const double top = hull->radius >= 0.0 ? 1.0 : hull->anchor_radius / -less;
    return share < 0.0 ? 0.0 : share > top ? top : share;
}

/* The ball nearest to a point, of the hull with one of the balls. */
static inline sf_near sf_nearest_of(const sf_hull *hulls, const double *w, int ball, int d,
                                    double *centre, double *offset)
{
    const sf_hull one = sf_take_ball(hulls, ball, d), *hull = &one;
    const double *a = hull->anchor, *b = hull->x;
    sf_near near;
    near.ball = ball;
    near.anchor_level = hull->anchor_level;
    near.anchor_round = hull->anchor_round;
    near.centre = centre;
    near.offset = offset;
    near.share = sf_share_of_two_balls(hull, w, centre, d); /* both are free until now */
    SF_EACH(d, const sf_entry point = SF_IN(a) + near.share * (SF_IN(b) - SF_IN(a));
            SF_IN(centre) = point;
            SF_IN(offset) = SF_IN(w) - point);
    near.far = sf_norm(offset, d);
    near.room = sf_max(hull->anchor_radius + near.share * (hull->radius - hull->anchor_radius), 0.0);
    return near;
}

/* The nearest ball of all hulls. Where several are as near, the first that holds the point to
 * rounding, or the first: a last bit must not decide. */
static inline sf_near sf_nearest_ball(const sf_hull *hulls, const double *w, int d, sf_work *work)
{
    double *centre = sf_take(work, d), *offset = sf_take(work, d); /* beside each other */
    const sf_balls *balls = hulls->balls;
    if (!balls) {
        return sf_nearest_of(hulls, w, -1, d, centre, offset);
    }
    const int count = balls->count;
    double products[SF_MOST_BALLS], gaps[SF_MOST_BALLS];
    sf_minus(offset, w, hulls->x, d);
    const double there = sf_dot(offset, offset, d);
    sf_multiply(products, balls->ways, count, offset, d);
    sf_find_gaps(gaps, balls, products, there);
    double least = gaps[0];
    for (int j = 1; j < count; j++) {
        least = gaps[j] < least ? gaps[j] : least;
    }
    const double close = SF_CLOSE * sqrt(sf_max(there, balls->widest)), rounding = hulls->rounding;
    int first = 0;
    while (first < count - 1 && !(gaps[first] <= least + close)) {
        first++;
    }
    sf_near near = sf_nearest_of(hulls, w, first, d, centre, offset);
    for (int j = first + 1; least <= close && near.far > near.room + rounding && j < count; j++) {
        if (gaps[j] <= least + close) {
            near = sf_nearest_of(hulls, w, j, d, centre, offset);
        }
    }
    if (near.ball != first && near.far > near.room + rounding) {
        near = sf_nearest_of(hulls, w, first, d, centre, offset);
    }
    return near;
}

/* The certificate: g at a point is at most (1 - share) g(a) + share g(x) + G_g far. */
static inline double sf_hull_bound(const sf_rule *rule, const sf_hull *hull, const sf_near *near)
{
    const double level = (1.0 - near->share) * near->anchor_level + near->share * hull->level;
    return level + rule->G_g * near->far;
}

/* Put the last action on its rung. */
static inline void sf_climb(const sf_rule *rule, double *memory)
{
    const int d = SF_DIM(rule);
    const double *last = sf_kept(memory, SF_LAST, d), *anchor = sf_kept(memory, SF_ANCHOR, d);
    const double lost = sf_lost(rule);
    const double level = sf_aged(anchor[d], last[d + 1] - anchor[d + 1], rule->drift);
    const double radius = -last[d] / rule->G_g - lost;
    double most = -level / rule->G_g - lost;
    int rung = 0;
    if (!(radius > 0.0) || most >= (1 << SF_RUNGS) * radius) {
        return;
    }
    for (most = most / radius; most >= 2.0 && rung < SF_RUNGS - 1; rung++) {
        most = 0.5 * most;
    }
    sf_copy(sf_kept(memory, SF_RUNG + rung, d), last, d + 2);
}

/* The memory with a round in which something was read. */
static inline int sf_observe_hull(const sf_rule *rule, double *memory, const double *x, double g,
                                  sf_errors errors, double age, sf_work work)
{
    const int d = SF_DIM(rule);
    const double t = memory[0] + 1.0;
    double *last = sf_kept(memory, SF_LAST, d), *anchor = sf_kept(memory, SF_ANCHOR, d);
    double upper = g + errors.value;
    memory[0] = t;
    if (sf_kept(memory, SF_FIRST, d)[d] == HUGE_VAL) {
        sf_put_spot(last, x, upper, t - age, d);
        sf_put_spot(anchor, x, upper, t - age, d);
        sf_put_spot(sf_kept(memory, SF_FIRST, d), x, upper, t - age, d);
        return upper + sf_lost(rule) * rule->G_g < 0.0 ? SF_OK : SF_START;
    }
    if (!errors.exact) { /* what was certified bounds g as well as the reading does */
        sf_balls balls;
        const sf_hull hull = sf_hulls_of(rule, memory, t - age, &balls, &work);
        if (!sf_differ(x, last, d)) {
            upper = sf_min(upper, hull.level);
        } else if (age == 0.0 && (last[d + 1] == t - 1.0 || rule->drift == 0.0)) {
            const sf_near near = sf_nearest_ball(&hull, x, d, &work);
            const double bound = sf_hull_bound(rule, &hull, &near);
            upper = bound <= 0.0 ? sf_min(upper, bound + sf_hull_noise(rule)) : upper;
        }
    }
    const double aged = sf_aged(anchor[d], last[d + 1] - anchor[d + 1], rule->drift);
    if (last[d] < aged) {
        sf_copy(anchor, last, d + 2);
    } else if (rule->drift != 0.0 && !sf_differ(last, anchor, d)) { /* measured anew */
        anchor[d] = aged;
        anchor[d + 1] = last[d + 1];
    }
    sf_climb(rule, memory);
    sf_put_spot(last, x, upper, t - age, d);
    return SF_OK;
}

/* The region of the next round: the hull; under drift, at times the anchor alone, to visit it. */
static inline void sf_find_hull(sf_region *region, sf_balls *balls, sf_work *work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const double *memory = region->memory, *anchor = sf_kept(memory, SF_ANCHOR, d);
    const double t = memory[0] + 1.0;
    sf_hull *hull = &region->hull;
    *hull = sf_hulls_of(rule, memory, t, balls, work);
    region->upper = sf_kept(memory, SF_LAST, d)[d];
    region->depth = sf_max(hull->anchor_radius, hull->radius);
    region->longest = sf_max(hull->radius, 0.0);
    region->steepness = rule->G_g;
    region->noise = sf_hull_noise(rule);
    region->rounding = sf_rounding(rule);
    if (rule->drift != 0.0) {
        const double r_a = hull->anchor_radius, r = hull->radius;
        if (r_a <= 0 && r >= r_a) { /* without a ball of its own the anchor is no help */
            hull->anchor = hull->x;
            hull->anchor_radius = r;
            hull->anchor_level = hull->level;
            hull->anchor_round = sf_kept(memory, SF_LAST, d)[d + 1];
            hull->balls = NULL;
        } else if (hull->anchor_level >= SF_SLACK_LEFT * anchor[d] && r_a > sf_max(r, 0.0)) {
            hull->x = hull->anchor;
            hull->level = hull->anchor_level;
            hull->radius = hull->anchor_radius = SF_POINT;
            hull->balls = NULL;
        }
    }
    region->radius = hull->radius;
}

/* Whether a point is in a hull, or no further beyond its edge than a length. */
static inline int sf_in_hull(const sf_hull *hull, const double *w, double beyond, int d,
                             sf_work work)
{
    if (sf_distance(w, hull->x, d) <= hull->radius) {
        return 1;
    }
    const sf_near near = sf_nearest_ball(hull, w, d, &work);
    return hull->anchor_radius > 0.0 && near.far <= near.room + beyond;
}

/* The point of the hulls nearest to w; w itself where it is in one. */
static inline int sf_nearest_in_hull(const sf_region *region, double *next, const double *w,
                                     sf_work work)
{
    const sf_hull *hull = &region->hull;
    const int d = SF_DIM(region->rule);
    if (sf_distance(w, hull->x, d) <= hull->radius) { /* a certificate by itself */
        sf_copy(next, w, d);
        return SF_OK;
    }
    const sf_near near = sf_nearest_ball(hull, w, d, &work);
    if (!(hull->anchor_radius > 0.0)) {
        return SF_EMPTY; /* drift may have used all the slack that was ever seen */
    }
    if (near.far <= near.room + region->rounding) {
        sf_copy(next, w, d);
        return SF_OK;
    }
    if (!(near.far < HUGE_VAL)) {
        return SF_RANGE;
    }
    if (near.room > SF_POINT) {
        sf_along(next, near.centre, near.room / near.far, near.offset, d);
    } else { /* a visit goes to the anchor itself */
        sf_copy(next, near.centre, d);
    }
    return SF_OK;
}

/* Whether a point is in the hull and in the domain, half as far beyond the edge as rounding may
 * put one: then whoever asks again, and adds in another order, gets the same answer. */
static inline int sf_in_both(const sf_region *region, const double *w, sf_work work)
{
    const int d = SF_DIM(region->rule);
    const double beyond = 0.5 * region->rounding;
    return sf_in_domain(region->rule, w) && sf_in_hull(&region->hull, w, beyond, d, work);
}

/* Nearly the nearest point of both, by the method of Douglas and Rachford; one of the domain. */
static inline int sf_project_onto_both(const sf_region *region, double *point, const double *w,
                                       double size, sf_work work)
{
    const int d = SF_DIM(region->rule);
    double *z = sf_take(&work, d), *mixed = sf_take(&work, d), *near = sf_take(&work, d);
    const double *x = region->hull.x;
    sf_work some = work;
    sf_region part = *region; /* which is convex */
    part.hull = sf_take_ball(&region->hull, sf_nearest_ball(&region->hull, w, d, &some).ball, d);
    const double far = sf_max(sf_distance(w, x, d), SF_TINY);
    const double share = SF_SWEEP_SHARE * sf_min(size / far, 1.0);
    sf_copy(z, x, d);
    for (int sweep = 0; sweep < SF_SWEEPS; sweep++) {
        SF_EACH(d, SF_IN(point) = (SF_IN(z) + share * SF_IN(w)) / (1.0 + share));
        int status = sf_project_domain(region->rule, point);
        SF_EACH(d, SF_IN(mixed) = 2.0 * SF_IN(point) - SF_IN(z));
        status = status == SF_OK ? sf_nearest_in_hull(&part, near, mixed, work) : status;
        if (status != SF_OK) {
            return status;
        }
        sf_minus(near, near, point, d);
        sf_along(z, z, SF_SWEEP_STEP, near, d);
        if (sf_norm(near, d) <= SF_SWEEP_END * (1.0 + sf_norm(point, d))) {
            break;
        }
    }
    return sf_project_domain(region->rule, point);
}

/* A point on a way, moved into the domain; whether it is in both. */
static inline int sf_settle_in_both(const sf_region *region, double *point, const double *x,
                                    double share, const double *way, sf_work work)
{
    sf_along(point, x, share, way, SF_DIM(region->rule));
    return sf_project_domain(region->rule, point) == SF_OK && sf_in_both(region, point, work);
}

/* The certified point nearest to w; of the domain, where that cuts. */
static inline int sf_nearest_hull(const sf_region *region, double *next, const double *w,
                                  sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    int status = sf_nearest_in_hull(region, next, w, work);
    if (status != SF_OK || sf_in_domain(rule, next)) {
        return status;
    }
    double *inside = sf_take(&work, d), *point = sf_take(&work, d);
    sf_copy(point, w, d); /* where the domain alone binds, its nearest point is that of both */
    if (sf_project_domain(rule, point) == SF_OK && sf_in_both(region, point, work)) {
        sf_copy(next, point, d);
        return SF_OK;
    }
    const double *x = region->hull.x;
    const double size = sf_distance(next, x, d) + sf_max(region->depth, 0.0);
    status = sf_nearest_in_hull(region, inside, x, work);
    if (status == SF_OK && !sf_in_domain(rule, inside)) {
        sf_copy(inside, region->hull.anchor, d);
        status = sf_in_both(region, inside, work) ? SF_OK : SF_EMPTY;
    }
    status = status == SF_OK ? sf_project_onto_both(region, point, w, size, work) : status;
    if (status != SF_OK) {
        return status;
    }
    if (sf_in_both(region, point, work)) {
        sf_copy(next, point, d);
        return SF_OK;
    }
    sf_minus(point, point, inside, d);
    if (!sf_shorten(region, sf_settle_in_both, next, inside, point, work)) {
        sf_copy(next, inside, d);
    }
    return SF_OK;
}

/* The bound on the next g at a point that was certified, and where it comes from. */
static inline void sf_certify_hull(const sf_region *region, const double *next, sf_info *info,
                                   sf_work work)
{
    const int d = SF_DIM(region->rule);
    const sf_hull *hull = &region->hull;
    const sf_near near = sf_nearest_ball(hull, next, d, &work);
    info->kind = SF_BALLS;
    info->bound = sf_min(sf_hull_bound(region->rule, hull, &near) + region->noise, 0.0);
    info->anchor_value = near.anchor_level;
    info->anchor_round = near.anchor_round;
    info->value = hull->level;
    info->share = near.share;
    info->distance = near.far;
    info->room = near.room;
}

/* What contradicts the constants or convexity: the round against what was known before it. */
static inline unsigned sf_hull_alarms(const sf_rule *rule, const double *before, const double *x,
                                      double g, const double *s, sf_errors errors, double age,
                                      sf_work work)
{
    const int d = SF_DIM(rule);
    const double noise = sf_hull_noise(rule), least = g - errors.value;
    const double t = before[0] + 1.0 - age, *anchor = sf_kept(before, SF_ANCHOR, d);
    const double upper = g + errors.value + noise;
    if (sf_kept(before, SF_FIRST, d)[d] == HUGE_VAL) {
        return sf_alarms_alone(rule, x, upper, s, errors.slope);
    }
    sf_balls balls;
    const sf_hull hull = sf_hulls_of(rule, before, t, &balls, &work);
    const sf_near near = sf_nearest_ball(&hull, x, d, &work);
    const double limit = sf_hull_bound(rule, &hull, &near);
    /* An action that was not certified may be outside of where G_g holds. */
    const int certified = limit <= SF_ALARM_NOISES * noise;
    unsigned alarms =
        sf_alarms_alone(rule, x, upper, certified || upper <= 0 ? s : NULL, errors.slope);
    if (certified && least > limit + SF_ALARM_NOISES * noise) {
        alarms |= SF_ABOVE;
    }
    if (s && errors.slope < HUGE_VAL) {
        double *back = sf_take(&work, d);
        sf_minus(back, anchor, x, d);
        const double below = least + sf_dot(s, back, d) - errors.slope * sf_norm(back, d);
        if (below - sf_aged(anchor[d], t - anchor[d + 1], rule->drift) > SF_ALARM_NOISES * noise) {
            alarms |= SF_ANOTHER;
        }
    }
    return alarms;
}
