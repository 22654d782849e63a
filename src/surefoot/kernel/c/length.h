/* What a margin certifies: surefoot.knowledge.certified_length.
 *
 * Memory: the numbers, then the vectors. */

#define SF_NUMBERS_OF_LENGTH(NUMBER)                                                               \
    NUMBER(SF_ROUNDS, "rounds")                                                                    \
    NUMBER(SF_DEPTH, "slack")    /* at most -g at the anchor, when it was read */                  \
    NUMBER(SF_SINCE, "since")    /* the round of that */                                           \
    NUMBER(SF_READ, "read")      /* the round of the last reading */                               \
    NUMBER(SF_UPPER, "upper")    /* g there was at most this */                                    \
    NUMBER(SF_LEVEL, "level")    /* what the half-space is made of, with its errors taken off */   \
    NUMBER(SF_RHO, "rho")        /* the tightening of that round */                                \
    NUMBER(SF_LEFT, "left")      /* B */                                                           \
    NUMBER(SF_AWAY, "distance")  /* A */                                                           \
    NUMBER(SF_TARGET_LEVEL, "target_level") /* g at the target was at most this, when it was read */ \
    NUMBER(SF_IS_PULLED, "is_pulled")
#define SF_VECTORS_OF_LENGTH(VECTOR)                                                               \
    VECTOR(SF_LENGTH_ANCHOR, "anchor")                                                             \
    VECTOR(SF_LENGTH_X, "x")                                                                       \
    VECTOR(SF_LENGTH_S, "s")                                                                       \
    VECTOR(SF_LENGTH_DRAWN, "drawn")                                                               \
    VECTOR(SF_LENGTH_TARGET, "target")
enum { SF_NUMBERS_OF_LENGTH(SF_INDEX) SF_LENGTH_NUMBERS };
enum { SF_VECTORS_OF_LENGTH(SF_INDEX) SF_LENGTH_VECTORS };

static inline size_t sf_length_memory(int d)
{
    return SF_LENGTH_NUMBERS + SF_LENGTH_VECTORS * (size_t)d;
}

static inline double *sf_part(const double *memory, int which, int d)
{
    return (double *)memory + SF_LENGTH_NUMBERS + which * d;
}

static inline void sf_init_length(const sf_rule *rule, double *memory, const double *x1)
{
    const int d = SF_DIM(rule);
    sf_fill(memory, 0.0, SF_LENGTH_NUMBERS);
    for (int which = 0; which < SF_LENGTH_VECTORS; which++) {
        sf_copy(sf_part(memory, which, d), x1, d);
    }
    sf_fill(sf_part(memory, SF_LENGTH_S, d), 0.0, d);
}

static inline double sf_length_noise(const sf_rule *rule)
{
    const double unit = SF_UNIT * rule->reach, told = rule->evaluation_error;
    const double noise = SF_VALUE_ROUNDINGS * (SF_DIM(rule) + SF_VALUE_TERMS) * unit * rule->G_g;
    return told == 0.0 ? noise : sf_max(noise, told + SF_SUM_ROUNDINGS * unit * rule->G_g);
}

/* e, what the projections that lead to q and the distance to it may be off by. */
static inline double sf_length_error(const sf_rule *rule)
{
    const double unit = SF_UNIT * rule->reach;
    return SF_LENGTH_ROUNDINGS * (SF_DIM(rule) + SF_TERMS) * unit + sf_length_noise(rule) / rule->G_g;
}

/* The tightening of round t. */
static inline double sf_tightening(const sf_rule *rule, double t, double slack)
{
    return sf_min(SF_TIGHTEST * slack, rule->decreasing ? rule->rho / sqrt(t) : rule->rho);
}

/* The slack of the anchor in round t, rounded down. */
static inline double sf_slack(const sf_rule *rule, const double *memory, double t)
{
    if (rule->drift == 0.0) {
        return memory[SF_DEPTH];
    }
    return -sf_raised(sf_raised(rule->drift * fabs(t - memory[SF_SINCE])) - memory[SF_DEPTH]);
}

/* A of an action in round t: its distance to q, B and rounding, less what a smaller rho saves. */
static inline double sf_reached(const sf_rule *rule, const double *memory, const double *x,
                                double t, double rho)
{
    const int d = SF_DIM(rule);
    const double far = sf_distance(x, sf_part(memory, SF_LENGTH_DRAWN, d), d);
    const double nearer = (memory[SF_RHO] - rho) / rule->G_g;
    double reached = far + memory[SF_LEFT] + sf_length_error(rule);
    if (rule->drift != 0.0) {
        reached = sf_max(reached, 0.0);
        const double rise = rule->drift * fabs(t - memory[SF_READ]);
        const double deep = sf_slack(rule, memory, memory[SF_READ]) - memory[SF_RHO];
        const double way = sf_distance(x, sf_part(memory, SF_LENGTH_ANCHOR, d), d) + reached;
        double rate = way / (deep > 0 ? deep : HUGE_VAL);
        rate = rule->sigma > 0 ? sf_min(rate, 1.0 / rule->sigma) : rate;
        reached = rise <= deep ? reached + rise * rate : HUGE_VAL;
    }
    return nearer >= 0 ? sf_max(reached - nearer, 0.0) : HUGE_VAL;
}

/* The pull towards the anchor, where a step is of no use. */
static inline int sf_pull_length(const sf_rule *rule, double *memory, double slack)
{
    const int d = SF_DIM(rule);
    const double *x = sf_part(memory, SF_LENGTH_X, d), *anchor = sf_part(memory, SF_LENGTH_ANCHOR, d);
    const double upper = memory[SF_UPPER], rho = memory[SF_RHO], next = memory[SF_ROUNDS] + 1.0;
    const double v = rule->drift * (next - memory[SF_READ]), rise = upper + slack;
    const double error = sf_length_error(rule), margin = rule->G_g * error;
    const double room = (rho - v) / rule->G_g - memory[SF_LEFT] - error, level = sf_max(rho, v);
    const double share = (upper + level + margin) / (rise > 0 ? rise : 1.0);
    int cramped = room < SF_CRAMPED * rho / rule->G_g && upper > -rho, stale = room != room;
    if (rule->drift != 0.0) {
        const int old = rule->drift * (next - memory[SF_SINCE]) >= SF_STALE * memory[SF_DEPTH];
        cramped = cramped || room <= 0;
        stale = old && slack > v + margin && -upper < slack;
    }
    if (!((cramped && share >= 0 && level + margin <= slack) || stale)) {
        return SF_OK;
    }
    double *target = sf_part(memory, SF_LENGTH_TARGET, d);
    for (int i = 0; i < d; i++) {
        const double way = share * (anchor[i] - x[i]);
        target[i] = stale ? anchor[i] : x[i] + way;
    }
    const int status = sf_project_domain(rule, target);
    /* A pulled action is in the tightened set: there is nothing left of the distance. */
    sf_copy(sf_part(memory, SF_LENGTH_DRAWN, d), target, d);
    memory[SF_LEFT] = 0.0;
    memory[SF_TARGET_LEVEL] = stale ? -slack : -level;
    memory[SF_IS_PULLED] = 1.0;
    return status;
}

/* The memory with a round in which something was read. */
static inline int sf_observe_length(const sf_rule *rule, double *memory, const double *x, double g,
                                    const double *s, sf_errors errors, double age)
{
    const int d = SF_DIM(rule), first = memory[SF_ROUNDS] == 0.0, drifts = rule->drift != 0.0;
    const double t = memory[SF_ROUNDS] + 1.0, when = t - age, noise = sf_length_noise(rule);
    double *anchor = sf_part(memory, SF_LENGTH_ANCHOR, d), *drawn = sf_part(memory, SF_LENGTH_DRAWN, d);
    double upper = g + (errors.value + noise);
    double slack = first ? -upper : sf_slack(rule, memory, when);
    const double before = sf_tightening(rule, t, slack);
    const double distance = first ? 0.0 : sf_reached(rule, memory, x, when, before);
    const double limit = first ? HUGE_VAL : rule->G_g * distance - before + noise;
    int may_stay = g + errors.value <= 0 || limit <= SF_LENGTH_NOISES * noise, fresh = first;
    if (!errors.exact) {
        /* G_g holds on the way to an action that was certified, not to one that may be outside. */
        upper = limit <= SF_LENGTH_NOISES * noise ? sf_min(upper, limit) : upper;
    }
    if (drifts) {
        may_stay = upper == upper;
        fresh = first || !sf_differ(x, anchor, d) || -upper > slack;
        slack = fresh ? sf_max(slack, -upper) : slack;
    }
    if (!(slack > 0)) {
        return first ? SF_START : SF_EMPTY;
    }
    if (fresh) {
        sf_copy(anchor, x, d);
        memory[SF_DEPTH] = slack;
        memory[SF_SINCE] = when;
    }
    const double rho = sf_tightening(rule, t, slack);
    const double known = drifts && rho > before ? HUGE_VAL : distance;
    const double excess = upper + rho, rise = upper + slack;
    double near = sf_max(excess, 0.0) / (rise > 0 ? rise : 1.0) * sf_distance(x, anchor, d);
    near = rule->sigma > 0 ? sf_min(near, sf_max(excess, 0.0) / rule->sigma) : near;
    const double A = sf_min(near, known), squared = sf_dot(s, s, d);
    const int inside = upper <= -rho;
    const double level = g - errors.value - (inside ? 0.0 : errors.slope * A);
    const double over = sf_max(level + rho - SF_LENGTH_NOISES * noise, 0.0);
    const double cut = over / (squared > 0 ? sqrt(squared) : HUGE_VAL);
    const double kappa = SF_ROOT_ROUNDINGS * (d + SF_TERMS) * SF_UNIT;
    const double root = sqrt(sf_max(A - cut, 0.0) * (A + cut) + kappa * A * A);
    memory[SF_ROUNDS] = t;
    sf_copy(sf_part(memory, SF_LENGTH_X, d), x, d);
    memory[SF_READ] = when;
    memory[SF_UPPER] = upper;
    memory[SF_LEVEL] = level;
    sf_copy(sf_part(memory, SF_LENGTH_S, d), s, d);
    memory[SF_RHO] = rho;
    sf_copy(drawn, x, d);
    memory[SF_LEFT] = inside ? excess / rule->G_g : root;
    memory[SF_AWAY] = A;
    sf_copy(sf_part(memory, SF_LENGTH_TARGET, d), x, d);
    memory[SF_TARGET_LEVEL] = may_stay ? upper : HUGE_VAL;
    memory[SF_IS_PULLED] = 0.0;
    int status = sf_project_halfspace(drawn, level + rho - noise, s, d);
    status = status == SF_OK ? sf_project_domain(rule, drawn) : status;
    return status != SF_OK || errors.exact ? status : sf_pull_length(rule, memory, slack);
}

/* The ball around q; where nothing is certified beyond it, one point. */
static inline int sf_find_length(sf_region *region, sf_work *work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const double *seen = region->memory, *anchor = sf_part(seen, SF_LENGTH_ANCHOR, d);
    const double *target = sf_part(seen, SF_LENGTH_TARGET, d);
    region->upper = seen[SF_UPPER];
    region->noise = sf_length_noise(rule);
    region->error = sf_length_error(rule);
    region->steepness = rule->G_g;
    region->rise = rule->drift * (seen[SF_ROUNDS] + 1.0 - seen[SF_READ]);
    const double room = (seen[SF_RHO] - region->rise) / rule->G_g - seen[SF_LEFT] - region->error;
    region->longest = seen[SF_IS_PULLED] != 0.0 ? 0.0 * room : room;
    region->radius = region->depth = -(region->upper + region->rise) / rule->G_g;
    region->has_point = region->longest == region->longest;
    region->point = target;
    region->point_level = seen[SF_TARGET_LEVEL];
    if (rule->drift == 0.0) {
        if (region->point_level == HUGE_VAL) {
            region->point = anchor;
            region->point_level = -seen[SF_DEPTH];
        }
        return SF_OK;
    }
    if (!(region->point_level + region->rise > 0)) {
        return SF_OK;
    }
    /* Rounds that nobody measures take it further on the way to the anchor. */
    const double margin = rule->G_g * region->error, slack = sf_slack(rule, seen, seen[SF_READ]);
    const int deep = slack >= region->rise + margin;
    const double over = region->point_level + region->rise + margin;
    const double share = over / (deep ? region->point_level + slack : HUGE_VAL);
    double *onwards = sf_take(work, d);
    SF_EACH(d, SF_IN(onwards) = SF_IN(target) + share * (SF_IN(anchor) - SF_IN(target)));
    region->point = onwards;
    region->point_level = -region->rise;
    region->has_point = region->has_point && deep;
    return sf_project_domain(rule, onwards);
}

/* Where a step to w ends: no longer than certified, then half-space and domain. */
static inline int sf_cut_length(const sf_region *region, double *out, const double *w, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const double *seen = region->memory, *x = sf_part(seen, SF_LENGTH_X, d);
    const double *s = sf_part(seen, SF_LENGTH_S, d);
    double *way = sf_take(&work, d), *y = sf_take(&work, d);
    sf_minus(way, w, x, d);
    const double size = sf_norm(way, d), room = sf_max(region->longest, 0.0);
    if (!(size < HUGE_VAL)) {
        return SF_RANGE;
    }
    sf_along(y, x, sf_min(room / (size > 0 ? size : 1.0), 1.0), way, d);
    if (size <= room) {
        sf_copy(y, w, d);
    }
    sf_minus(way, y, x, d);
    const double excess = seen[SF_LEVEL] + sf_dot(s, way, d) + seen[SF_RHO] - region->noise;
    int status = sf_project_halfspace(y, excess, s, d);
    status = status == SF_OK ? sf_project_domain(rule, y) : status;
    if (status == SF_OK) {
        sf_copy(out, region->longest > 0 ? y : region->point, d);
    }
    return status;
}

/* The certified point that w leads to: w itself where it is one. */
static inline int sf_nearest_length(const sf_region *region, double *next, const double *w,
                                    sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const double *q = sf_part(region->memory, SF_LENGTH_DRAWN, d), longest = region->longest;
    const double tolerance = SF_POINT_ROUNDINGS * (d + SF_TERMS) * SF_UNIT * rule->reach;
    const int inside = longest > 0 && sf_distance(w, q, d) <= longest + tolerance;
    if ((inside && sf_in_domain(rule, w)) || (region->has_point && !sf_differ(w, region->point, d))) {
        sf_copy(next, w, d);
        return SF_OK;
    }
    if (!(longest > 0 || region->has_point) || !(region->memory[SF_DEPTH] > 0)) {
        return SF_EMPTY;
    }
    double *found = sf_take(&work, d);
    const int status = sf_cut_length(region, found, w, work);
    if (status != SF_OK || longest != longest) {
        return status != SF_OK ? status : SF_RANGE;
    }
    const double far = sf_distance(found, q, d), room = sf_max(longest, 0.0);
    if (!(longest > 0) || far <= room) {
        sf_copy(next, longest > 0 ? found : region->point, d);
        return SF_OK;
    }
    sf_minus(found, found, q, d);
    sf_along(next, q, sf_min(room / (far > 0 ? far : 1.0), 1.0), found, d);
    return sf_project_domain(rule, next);
}

/* How far a step to w was moved: the squares of the way to the half-space and of that to next. */
static inline double sf_moved_length(const sf_region *region, const double *w, const double *next)
{
    const int d = SF_DIM(region->rule);
    const double *seen = region->memory, *x = sf_part(seen, SF_LENGTH_X, d);
    const double *s = sf_part(seen, SF_LENGTH_S, d), squared = sf_dot(s, s, d);
    double excess = seen[SF_LEVEL] + seen[SF_RHO] - region->noise, moved = 0.0;
    for (int i = 0; i < d; i++) {
        excess += s[i] * (w[i] - x[i]);
    }
    const double off = squared > 0 ? sf_max(excess, 0.0) / squared : 0.0;
    for (int i = 0; i < d; i++) {
        const double way = w[i] - off * s[i] - next[i];
        moved += way * way;
    }
    return moved + off * off * squared;
}

/* The certificate: g of the next action is at most G_g (|x - q| + B + e) - rho. */
static inline void sf_certify_length(const sf_region *region, const double *next, sf_info *info)
{
    const int d = SF_DIM(region->rule);
    const double *seen = region->memory;
    info->kind = seen[SF_UPPER] <= -seen[SF_RHO] ? SF_SLACK : SF_CONTRACTION;
    info->bound = sf_min(region->point_level + region->rise, 0.0);
    info->value = seen[SF_UPPER];
    info->rho = seen[SF_RHO];
    info->room = region->longest;
    info->anchor_value = -seen[SF_DEPTH];
    info->anchor_round = seen[SF_SINCE];
    if (seen[SF_IS_PULLED] != 0.0
        || !(region->longest > 0 || !sf_differ(next, sf_part(seen, SF_LENGTH_X, d), d))) {
        info->kind = SF_PULLED;
    } else if (region->longest > 0) {
        info->distance = sf_distance(next, sf_part(seen, SF_LENGTH_DRAWN, d), d);
        const double reached = seen[SF_LEFT] + info->distance + region->error;
        info->bound = sf_min(region->rule->G_g * reached - seen[SF_RHO] + region->rise, 0.0);
    } else {
        info->kind = SF_STAYED;
    }
}

/* What contradicts G_g, the ball, the start or convexity. */
static inline unsigned sf_length_alarms(const sf_rule *rule, const double *before,
                                        const double *after, const double *x, double g,
                                        const double *s, sf_errors errors, double age)
{
    const int d = SF_DIM(rule);
    const double noise = sf_length_noise(rule), steep = sf_norm(s, d);
    const double t = before[SF_ROUNDS] + 1.0;
    const double upper = g + errors.value + noise;
    if (before[SF_ROUNDS] == 0.0) {
        return sf_alarms_alone(rule, x, upper, s, errors.slope);
    }
    const double rho = sf_tightening(rule, t, sf_slack(rule, before, t - age));
    const double limit = rule->G_g * sf_reached(rule, before, x, t - age, rho) - rho + SF_LENGTH_NOISES * noise;
    /* An action that was not certified may be outside of where G_g holds. */
    const int certified = limit <= SF_ALARM_NOISES * noise;
    unsigned alarms =
        sf_alarms_alone(rule, x, upper, certified || upper <= 0 ? s : NULL, errors.slope);
    if (certified && g - errors.value > limit) {
        alarms |= SF_ABOVE;
    }
    const double cut = steep > 0 ? sf_max(after[SF_LEVEL] + after[SF_RHO] - noise, 0.0) / steep : 0.0;
    if (cut > after[SF_AWAY] * (1 + SF_CUT_ROUNDING) + sf_length_error(rule)
        && after[SF_UPPER] > -after[SF_RHO]) {
        alarms |= SF_ANOTHER;
    }
    return alarms;
}
