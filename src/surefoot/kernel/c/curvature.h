/* What bounds on the curvature certify, of one constraint or of several that are seen apart:
 * surefoot.knowledge.curvature and .rows.
 *
 * Memory: the numbers; the last action, its upper and lower values and slopes, one per row; the
 * anchor and its values. Of one constraint these are numbers and a vector, of rows columns. */

#define SF_NUMBERS_OF_CURVED(NUMBER)                                                               \
    NUMBER(SF_CURVED_ROUNDS, "rounds")                                                             \
    NUMBER(SF_CURVED_READ, "last.round")    /* the round of the last reading */                    \
    NUMBER(SF_CURVED_SINCE, "anchor.round") /* that of the anchor */                               \
    NUMBER(SF_CURVED_DEPTH, "depth")        /* the largest certified radius so far */              \
    NUMBER(SF_CURVATURE_SEEN, "curvature_seen")                                                    \
    NUMBER(SF_CURVED_TAU, "slope_error")    /* the error of the slopes that were read last */
enum { SF_NUMBERS_OF_CURVED(SF_INDEX) SF_CURVED_NUMBERS };

#define SF_ARRAYS_OF_CURVED(ARRAY)                                                                 \
    ARRAY(x, "last.x", 1, 1, d)                                                                    \
    ARRAY(upper, "last.value", separately ? 2 : 0, m, 1)                                           \
    ARRAY(low, "low", separately ? 2 : 0, m, 1)                                                    \
    ARRAY(anchor, "anchor.x", 1, 1, d)                                                             \
    ARRAY(anchor_value, "anchor.value", separately ? 2 : 0, m, 1)                                  \
    ARRAY(s, "s", separately ? 2 : 1, m, d)

static inline size_t sf_curved_memory(int d, int m)
{
    return SF_CURVED_NUMBERS SF_ARRAYS_OF_CURVED(SF_SIZE);
}

/* A memory, by its parts. */
typedef struct {
    double *numbers, *x, *upper, *low, *s, *anchor, *anchor_value;
} sf_curved;

static inline sf_curved sf_curved_at(const sf_rule *rule, const double *block)
{
    const int d = SF_DIM(rule), m = rule->rows;
    sf_curved memory, *parts = &memory;
    double *next = (double *)block + SF_CURVED_NUMBERS;
    SF_ARRAYS_OF_CURVED(SF_PLACE)
    memory.numbers = (double *)block;
    return memory;
}

static inline void sf_init_curved(const sf_rule *rule, double *block, const double *x1)
{
    const int d = SF_DIM(rule);
    const sf_curved memory = sf_curved_at(rule, block);
    sf_fill(block, 0.0, (int)sf_curved_memory(d, rule->rows));
    sf_copy(memory.x, x1, d);
    sf_copy(memory.anchor, x1, d);
}

/* The region of round t: numbers one per row, in the scratch. */
static inline void sf_find_curved(sf_region *region, double t, sf_work *work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), m = rule->rows;
    const sf_curved seen = sf_curved_at(rule, region->memory);
    const double reach = rule->reach;
    double *level = sf_take(work, m), *margin = sf_take(work, m), *squared = sf_take(work, m);
    region->longest = region->radius = HUGE_VAL;
    region->upper = region->steepness = region->noise = -HUGE_VAL;
    for (int i = 0; i < m; i++) {
        const double beta = rule->beta[i], size = sf_dot(seen.s + i * d, seen.s + i * d, d);
        const double steep = sqrt(size), upper = seen.upper[i];
        level[i] = sf_aged(upper, t - seen.numbers[SF_CURVED_READ], rule->drift);
        const double scale = fabs(upper) + steep * reach + beta * reach * reach;
        margin[i] = SF_CURVATURE_ROUNDINGS * (d + SF_TERMS) * SF_UNIT * scale
                    + SF_EVALUATIONS * rule->evaluation_error + SF_TINY;
        squared[i] = size;
        const double up = level[i] + margin[i];
        const double nu = sqrt(sf_max(size - 2 * beta * up, 0.0));
        const double least = steep + seen.numbers[SF_CURVED_TAU];
        const double root = least + sqrt(sf_max(least * least - 2 * beta * up, 0.0));
        region->longest = sf_min(region->longest, beta > 0 ? 0.5 * nu / beta : HUGE_VAL);
        region->radius = sf_min(region->radius, -2 * up / (root > 0 ? root : HUGE_VAL));
        region->upper = sf_max(region->upper, upper);
        region->steepness = sf_max(region->steepness, steep);
        region->noise = sf_max(region->noise, margin[i]);
    }
    region->depth = sf_max(seen.numbers[SF_CURVED_DEPTH], region->radius);
    region->level = level;
    region->margin = margin;
    region->squared = squared;
}

static inline sf_region sf_curved_region(const sf_rule *rule, const double *memory,
                                         sf_errors errors, double t, sf_work *work)
{
    sf_region region;
    memset(&region, 0, sizeof region);
    region.rule = rule;
    region.memory = memory;
    region.errors = errors;
    region.round = memory[0];
    sf_find_curved(&region, t, work);
    return region;
}

/* The certified bound on a row at a point: the quadratic, with a part of the margin. */
static inline double sf_row_at(const sf_region *region, int i, const double *v, double part)
{
    const int d = SF_DIM(region->rule);
    const sf_curved seen = sf_curved_at(region->rule, region->memory);
    const double tau = seen.numbers[SF_CURVED_TAU], flat = sf_dot(seen.s + i * d, v, d);
    const double bent = 0.5 * region->rule->beta[i] * sf_dot(v, v, d);
    const double bound = region->level[i] + part * region->margin[i] + flat + bent;
    return tau > 0 ? bound + tau * sf_norm(v, d) : bound;
}

/* The largest bound of a row at a point, with a part of the margin; and which row has it. */
static inline double sf_curved_bound(const sf_region *region, const double *point, double part,
                                     int *row, sf_work work)
{
    const int d = SF_DIM(region->rule);
    double *v = sf_take(&work, d), most = -HUGE_VAL;
    sf_minus(v, point, sf_curved_at(region->rule, region->memory).x, d);
    for (int i = 0; i < region->rule->rows; i++) {
        const double bound = sf_row_at(region, i, v, part);
        if (!(bound <= most)) {
            most = bound;
            *row = i;
        }
    }
    return most;
}

/* Whether a point passes the check of every row: with a little more than half of the margin, so
 * that whoever asks again for half of it, and adds in another order, gets the same answer. */
static inline int sf_holds_at(const sf_region *region, const double *point, sf_work work)
{
    int row = 0;
    return sf_curved_bound(region, point, 0.5625, &row, work) <= 0;
}

static inline int sf_certifies(const sf_region *region, const double *w, sf_work work);

/* The memory with a round in which something was read; old: as it was before. */
static inline int sf_observe_curved(const sf_rule *rule, double *block, const double *old,
                                    const double *x, const double *g, const double *s,
                                    sf_errors errors, double age, sf_work work)
{
    const int d = SF_DIM(rule), m = rule->rows, first = block[SF_CURVED_ROUNDS] == 0.0;
    const sf_curved memory = sf_curved_at(rule, block), past = sf_curved_at(rule, old);
    const double t = block[SF_CURVED_ROUNDS] + 1.0, when = t - age;
    for (int i = 0; i < m; i++) {
        memory.upper[i] = g[i] + errors.value;
        memory.low[i] = g[i] - errors.value;
    }
    if (!errors.exact && !first) {
        /* What was certified before the round bounds g there as well as the reading does. */
        sf_work more = work;
        const sf_region region = sf_curved_region(rule, old, errors, when, &more);
        double *v = sf_take(&more, d);
        const int stayed = !sf_differ(x, past.x, d);
        sf_minus(v, x, past.x, d);
        if (stayed || sf_certifies(&region, x, more)) {
            for (int i = 0; i < m; i++) {
                const double bound = sf_min(sf_row_at(&region, i, v, SF_CHECK_SHARE), 0.0);
                const double known = stayed ? region.level[i] : bound;
                memory.upper[i] = sf_min(memory.upper[i], known);
            }
        }
    }
    memory.numbers[SF_CURVED_ROUNDS] = t;
    memory.numbers[SF_CURVED_READ] = when;
    memory.numbers[SF_CURVED_TAU] = errors.slope;
    sf_copy(memory.x, x, d);
    sf_copy(memory.s, s, m * d);
    const sf_region region = sf_curved_region(rule, block, errors, t + 1.0, &work);
    double worst = -HUGE_VAL, deep = -HUGE_VAL, seen = 0.0;
    double *v = sf_take(&work, d);
    sf_minus(v, x, past.x, d);
    const double squared = sf_dot(v, v, d);
    for (int i = 0; i < m; i++) {
        const double up = memory.upper[i] + region.margin[i];
        const double age_of = when - past.numbers[SF_CURVED_SINCE];
        worst = sf_max(worst, up);
        deep = sf_max(deep, sf_aged(past.anchor_value[i], age_of, rule->drift));
        if (!(region.squared[i] < HUGE_VAL)) {
            return SF_RANGE;
        }
        /* The least curvature that explains two readings, each with its rounding. */
        const double rise = memory.upper[i] - past.upper[i];
        const double over = sf_max(rise - sf_dot(past.s + i * d, v, d),
                                   sf_dot(memory.s + i * d, v, d) - rise) - SF_SEEN_MARGINS * region.margin[i];
        seen = first || !(squared > 0) ? 0.0 : sf_max(seen, 2 * sf_max(over, 0.0) / squared);
    }
    if (first && !(worst < 0.0)) {
        return SF_START;
    }
    if (rule->drift != 0.0 && (first || worst < deep)) {
        sf_copy(memory.anchor, x, d);
        for (int i = 0; i < m; i++) {
            memory.anchor_value[i] = memory.upper[i] + region.margin[i];
        }
        memory.numbers[SF_CURVED_SINCE] = when;
    }
    memory.numbers[SF_CURVED_DEPTH] = sf_max(memory.numbers[SF_CURVED_DEPTH], region.radius);
    memory.numbers[SF_CURVATURE_SEEN] = seen;
    return SF_OK;
}

/* Whether an action may be outside, as far as was read: the first action is inside. */
static inline int sf_may_be_outside(const sf_rule *rule, const double *block)
{
    const sf_curved memory = sf_curved_at(rule, block);
    double highest = -HUGE_VAL;
    for (int i = 0; i < rule->rows; i++) {
        highest = sf_max(highest, memory.upper[i]);
    }
    return highest > 0.0;
}

/* What was read where an action may be outside certifies nothing: keep what was known before. */
static inline void sf_keep_inside(const sf_rule *rule, double *block, const double *old)
{
    if (sf_may_be_outside(rule, block)) {
        const double rounds = block[SF_CURVED_ROUNDS], seen = block[SF_CURVATURE_SEEN];
        sf_copy(block, old, (int)sf_curved_memory(SF_DIM(rule), rule->rows));
        block[SF_CURVED_ROUNDS] = rounds;
        block[SF_CURVATURE_SEEN] = seen;
    }
}

/* A certified point, and how it was found. */
typedef struct {
    double *point;   /* d entries */
    double *weights; /* the multipliers, one per row */
    double drawn;    /* how far the point is from the one that they lead to */
} sf_found;

/* Project v onto h + s'q + beta/2 |q|^2 <= 0, in place; return the multiplier. */
static inline double sf_project_onto_ball(double *v, double up, const double *s, double squared,
                                          double beta, int d, sf_work work)
{
    double *bent = sf_take(&work, d);
    const double over = up + sf_dot(s, v, d) + 0.5 * beta * sf_dot(v, v, d);
    const double nu = sqrt(sf_max(squared - 2 * beta * up, 0.0));
    sf_along(bent, s, beta, v, d);
    const double below = nu * (nu + sf_norm(bent, d));
    const double weight = 2 * sf_max(over, 0.0) / (below > 0 ? below : HUGE_VAL);
    for (int i = 0; i < d; i++) {
        const double off = weight * s[i];
        v[i] = (v[i] - off) / (1 + beta * weight);
    }
    return weight;
}

/* Draw v back along the slope, not to the nearest point, in place; return the multiplier. */
static inline double sf_draw_along_slope(double *v, double up, const double *s, double squared,
                                         double beta, int d, sf_work work)
{
    const double size = sqrt(squared), below = size > 0 ? size : 1.0;
    double *unit = sf_take(&work, d);
    for (int i = 0; i < d; i++) {
        unit[i] = s[i] / below;
    }
    const double a = sf_dot(unit, v, d);
    const double c = up + 0.5 * beta * sf_max(sf_dot(v, v, d) - a * a, 0.0);
    const double root = size + sqrt(sf_max(size * size - 2 * beta * c, 0.0));
    const double off = sf_max(a - -2 * c / (root > 0 ? root : HUGE_VAL), 0.0);
    sf_along(v, v, -off, unit, d);
    return size > 0 ? off / below : 0.0;
}

/* The nearest point of one row, or where a step is cut off, with its multiplier; x where none passes
 * the check. */
static inline void sf_find_of_one(const sf_region *region, sf_found *found, const double *w, int cut,
                                  sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const sf_curved seen = sf_curved_at(rule, region->memory);
    double *v = sf_take(&work, d), *first = sf_take(&work, d);
    const double up = region->level[0] + region->margin[0];
    int good = sf_holds_at(region, w, work);
    sf_copy(found->point, w, d);
    found->weights[0] = found->drawn = 0.0;
    if (good) {
        return;
    }
    sf_minus(v, w, seen.x, d);
    /* A far point loses digits in the first projection; the second starts where they are not. */
    for (int tries = 0; tries < (cut ? 1 : SF_TRIES) && !good; tries++) {
        const double weight = (cut ? sf_draw_along_slope : sf_project_onto_ball)(
            v, up, seen.s, region->squared[0], rule->beta[0], d, work);
        if (tries == 0) {
            sf_copy(first, v, d);
            found->weights[0] = weight;
        }
        sf_along(found->point, seen.x, 1.0, v, d);
        good = sf_holds_at(region, found->point, work);
        sf_minus(v, found->point, seen.x, d);
    }
    if (!good) {
        sf_copy(found->point, seen.x, d);
    }
    sf_minus(v, found->point, seen.x, d);
    found->drawn = sf_distance(v, first, d);
}

/* Where convexity bounds all rows by 0 on the way to the anchor; return its share, above 1 for
 * nowhere. */
static inline double sf_pull_point(const sf_region *region, double *point)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const sf_curved seen = sf_curved_at(rule, region->memory);
    const double age = region->round + 1.0 - seen.numbers[SF_CURVED_SINCE];
    double share = 0.0;
    for (int i = 0; i < rule->rows; i++) {
        const double up = region->level[i] + region->margin[i];
        const double deep = sf_aged(seen.anchor_value[i], age, rule->drift);
        share = sf_max(share, up > 0 ? deep < 0 ? up / (up - deep) : 2.0 : 0.0);
    }
    sf_minus(point, seen.anchor, seen.x, d);
    sf_along(point, seen.x, share, point, d);
    return share;
}

/* Whether a point is on the way to the anchor, where convexity certifies it, up to rounding. */
static inline int sf_is_on_way_back(const sf_region *region, const double *w, sf_work work)
{
    const int d = SF_DIM(region->rule);
    const sf_curved seen = sf_curved_at(region->rule, region->memory);
    double *way = sf_take(&work, d), *off = sf_take(&work, d);
    const double share = sf_pull_point(region, way), rounding = SF_FAR_ROUNDINGS * (d + SF_TERMS) * SF_UNIT;
    sf_minus(way, seen.anchor, seen.x, d);
    sf_minus(off, w, seen.x, d);
    const double length = sf_norm(way, d), along = sf_dot(off, way, d) / length;
    sf_along(off, off, -(along / length), way, d);
    const double ends = sf_max(share * length - along, along - length);
    return share <= 1 && length > 0
           && sf_max(sf_norm(off, d), ends) <= rounding * region->rule->reach;
}

/* Whether a point is certified. */
static inline int sf_certifies(const sf_region *region, const double *w, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const double *x = sf_curved_at(rule, region->memory).x;
    if (sf_holds_at(region, w, work)) {
        return 1;
    }
    if (rule->drift == 0.0) { /* for a fixed g an action that was played, and feasible, stays so */
        return !sf_differ(w, x, d) && region->upper <= 0;
    }
    if (rule->knowledge == SF_ROWS) {
        return sf_is_on_way_back(region, w, work);
    }
    double *point = sf_take(&work, d);
    return sf_pull_point(region, point) <= 1 && !sf_differ(w, point, d);
}

/* Whether a point is certified, and in the domain. */
static inline int sf_curved_contains(const sf_region *region, const double *w, sf_work work)
{
    return sf_in_domain(region->rule, w) && sf_certifies(region, w, work);
}

#include "rows.h"

/* A certified point becomes one of the ball: its projection, or one on the way there. */
static inline int sf_draw_into_ball(const sf_region *region, sf_found *found, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    if (rule->domain != SF_BALL || sf_in_domain(rule, found->point)) {
        return SF_OK;
    }
    const double *x = sf_curved_at(rule, region->memory).x;
    double *there = sf_take(&work, d), *between = sf_take(&work, d), share = 0.0, half = 0.5;
    sf_copy(there, found->point, d);
    const int status = sf_project_domain(rule, there);
    if (status != SF_OK) {
        return status;
    }
    if (!sf_curved_contains(region, there, work)) {
        sf_minus(there, there, x, d);
        for (int i = 0; i < SF_HALVINGS; i++) {
            sf_along(between, x, share + half, there, d);
            share = sf_curved_contains(region, between, work) ? share + half : share;
            half = 0.5 * half;
        }
        sf_along(there, x, share, there, d);
        if (!sf_curved_contains(region, there, work)) {
            return SF_EMPTY;
        }
    }
    found->drawn += sf_distance(there, found->point, d);
    sf_copy(found->point, there, d);
    return SF_OK;
}

/* The nearest point, or where a step is cut off, with multipliers. */
static inline int sf_find(const sf_region *region, sf_found *found, const double *w, int cut,
                          sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const double *x = sf_curved_at(rule, region->memory).x;
    if (!(sf_squared_distance(w, x, d) < HUGE_VAL)) {
        return SF_RANGE;
    }
    if (rule->knowledge == SF_ROWS) {
        return sf_find_in_rows(region, found, w, cut, work);
    }
    sf_find_of_one(region, found, w, cut, work);
    if (rule->drift != 0.0 && !sf_holds_at(region, found->point, work)) {
        sf_find_of_one(region, found, x, 0, work);
        if (!sf_holds_at(region, found->point, work) && !(sf_pull_point(region, found->point) <= 1)) {
            return SF_EMPTY;
        }
        found->weights[0] = 0.0;
        found->drawn = sf_distance(found->point, w, d);
    }
    return sf_draw_into_ball(region, found, work);
}

/* The certified point nearest to w; w itself where it is one. */
static inline int sf_nearest_curved(const sf_region *region, double *next, const double *w,
                                    sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), m = rule->rows;
    sf_found found = {next, sf_take(&work, m), 0.0};
    if (!(sf_squared_distance(w, sf_curved_at(rule, region->memory).x, d) < HUGE_VAL)) {
        return SF_RANGE;
    }
    if (sf_curved_contains(region, w, work)) {
        sf_copy(next, w, d);
        return SF_OK;
    }
    return sf_find(region, &found, w, 0, work);
}

/* The certificate: the row with the largest bound, or the way to the anchor. */
static inline void sf_certify_curved(const sf_region *region, const double *next, sf_info *info,
                                     sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const sf_curved seen = sf_curved_at(rule, region->memory);
    double *v = sf_take(&work, d);
    sf_minus(v, next, seen.x, d);
    info->kind = SF_QUADRATIC;
    info->distance = sf_norm(v, d);
    info->bound = sf_curved_bound(region, next, SF_CHECK_SHARE, &info->row, work);
    info->value = region->level[info->row];
    info->slope = sf_dot(seen.s + info->row * d, v, d);
    info->anchor_round = seen.numbers[SF_CURVED_SINCE];
    if (rule->drift != 0.0 && !(info->bound <= 0)) {
        const double way = sf_distance(seen.anchor, seen.x, d);
        const double age = region->round + 1.0 - info->anchor_round;
        info->kind = SF_PULL;
        info->value = -HUGE_VAL;
        for (int i = 0; i < rule->rows; i++) {
            const double up = region->level[i] + region->margin[i];
            info->row = up > info->value ? i : info->row;
            info->value = sf_max(info->value, up);
        }
        info->anchor_value = sf_aged(seen.anchor_value[info->row], age, rule->drift);
        info->share = way > 0 ? info->distance / way : 0.0;
        info->bound = (1 - info->share) * info->value + info->share * info->anchor_value;
        info->bound = sf_min(info->bound, 0.0);
    } else if (info->distance == 0.0) {
        info->bound = info->value;
    }
}

/* Whether one of two rounds is above the quadratic bound of the other. */
static inline unsigned sf_curved_alarms(const sf_rule *rule, const double *before,
                                        const double *after, const double *x, const double *g,
                                        sf_errors errors, double age, sf_work work)
{
    const int d = SF_DIM(rule), m = rule->rows;
    const double t = before[SF_CURVED_ROUNDS] + 1.0 - age;
    const sf_region fresh = sf_curved_region(rule, after, errors, t, &work);
    const sf_region old = sf_curved_region(rule, before, errors, t, &work);
    const sf_curved now = sf_curved_at(rule, after), past = sf_curved_at(rule, before);
    double upper = -HUGE_VAL, *v = sf_take(&work, d);
    for (int i = 0; i < m; i++) {
        upper = sf_max(upper, g[i] + errors.value + fresh.margin[i]);
    }
    unsigned alarms = sf_alarms_alone(rule, x, upper, NULL, 0.0);
    if (sf_may_be_outside(rule, after) && !sf_certifies(&old, x, work)) {
        return alarms; /* outside of the feasible set the curvature may be any */
    }
    sf_minus(v, now.x, past.x, d);
    const double length = sf_norm(v, d), squared = length * length;
    for (int i = 0; i < m && before[SF_CURVED_ROUNDS] > 0 && squared > 0; i++) {
        const double risen = old.level[i] - past.upper[i];
        const double up = now.low[i] - old.level[i] - sf_dot(past.s + i * d, v, d);
        const double down = past.low[i] - risen - fresh.level[i] + sf_dot(now.s + i * d, v, d);
        const double rise = up - past.numbers[SF_CURVED_TAU] * length;
        const double fall = down - now.numbers[SF_CURVED_TAU] * length;
        const double noise = old.margin[i] + fresh.margin[i];
        if (sf_max(rise, fall) > 0.5 * rule->beta[i] * squared + noise) {
            alarms |= SF_ABOVE;
        }
    }
    return alarms;
}
