/* The nearest point of several balls and half-spaces: surefoot.regions.quadratics. */

/* Rows U_i(q) = up_i + s_i'q + beta_i/2 |q|^2 <= 0 around x; flat ones are half-spaces. */
typedef struct {
    const double *s, *beta, *up, *squared, *close;
    int m, d, flat, sweeps;
} sf_balls;

static inline double sf_ball_at(const sf_balls *balls, int i, const double *q)
{
    const double value = balls->up[i] + sf_dot(balls->s + i * balls->d, q, balls->d);
    return balls->flat ? value : value + 0.5 * balls->beta[i] * sf_dot(q, q, balls->d);
}

/* q: v less the slopes times their multipliers, over c, which is returned. */
static inline double sf_without_slopes(const sf_balls *balls, double *q, const double *v,
                                       const double *weights)
{
    double c = 1.0;
    sf_copy(q, v, balls->d);
    for (int i = 0; i < balls->m; i++) {
        if (weights[i] != 0.0) {
            sf_along(q, q, -weights[i], balls->s + i * balls->d, balls->d);
            c += balls->flat ? 0.0 : weights[i] * balls->beta[i];
        }
    }
    for (int k = 0; k < balls->d; k++) {
        q[k] = q[k] / c;
    }
    return c;
}

/* q, the point nearest to v, and its multipliers, each in turn made the best for the others. */
static inline void sf_ascend(const sf_balls *balls, double *q, const double *v, double *weights,
                             sf_work work)
{
    const int m = balls->m, d = balls->d;
    double *over = sf_take(&work, m);
    for (int turn = 0; turn <= balls->sweeps * m; turn++) {
        const int i = turn > 0 ? (turn - 1) % m : 0;
        /* The turn of row i: one that holds without a multiplier needs none. */
        if (turn == 0 || weights[i] != 0.0 || over[i] > 0) {
            if (turn > 0) {
                weights[i] = 0.0;
                const double c = sf_without_slopes(balls, q, v, weights), *s = balls->s + i * d;
                const double up = balls->up[i], beta = balls->flat ? 0.0 : balls->beta[i];
                weights[i] = c * sf_project_onto_ball(q, up, s, balls->squared[i], beta, d, work);
            }
            sf_without_slopes(balls, q, v, weights);
            for (int k = 0; k < m; k++) {
                over[k] = sf_ball_at(balls, k, q);
            }
        }
        int done = turn % m == 0;
        for (int k = 0; k < m && done; k++) {
            const double close = balls->close[k];
            done = over[k] <= close && (weights[k] == 0.0 || over[k] >= -2 * close);
        }
        if (done) {
            return;
        }
    }
}

/* What passes of the way from x to x + q, or x. */
static inline void sf_draw_in_rows(const sf_region *region, sf_found *found, const double *q,
                                   sf_work work)
{
    const int d = SF_DIM(region->rule);
    const double *x = sf_curved_at(region->rule, region->memory).x;
    double *point = sf_take(&work, d), low = 0.0, high = 1.0, part = 0x1p-44;
    int good = 0;
    sf_copy(found->point, x, d);
    for (int k = 0, more = 40; k < 73 || (good && more > 0 && high - low > 1e-15); k++) {
        const double share = good ? 0.5 * (low + high) : k < 44 ? 1.0 - part : k < 72 ? part : 0.0;
        part = k < 43 ? 2.0 * part : k == 43 ? 0.25 : 0.5 * part;
        if (good && (more-- == 0 || high - low <= 1e-15)) {
            break;
        }
        sf_along(point, x, share, q, d);
        if (sf_holds_at(region, point, work)) {
            sf_copy(found->point, point, d);
            low = share;
            good = 1;
        } else {
            high = share;
        }
    }
}

/* The point that was sought, and how far it is from the one that the multipliers lead to. */
static inline int sf_take_point(const sf_region *region, sf_found *found, const double *q,
                                const double *end, sf_work work)
{
    const int d = SF_DIM(region->rule);
    const double *x = sf_curved_at(region->rule, region->memory).x;
    double *way = sf_take(&work, d);
    sf_along(found->point, x, 1.0, end, d);
    sf_minus(way, found->point, x, d);
    found->drawn = sf_distance(way, q, d);
    return sf_holds_at(region, found->point, work);
}

/* The nearest point of all rows, or where half-spaces that are moved by the length of the step cut
 * it off; x where nothing passes the check. */
static inline int sf_find_in_rows(const sf_region *region, sf_found *found, const double *w,
                                  int cut, const double *near, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), m = rule->rows;
    const sf_curved seen = sf_curved_at(rule, region->memory);
    double *v = sf_take(&work, d), *q = sf_take(&work, d), *end = sf_take(&work, d);
    double *up = sf_take(&work, m), *close = sf_take(&work, m), *kept = sf_take(&work, m);
    double *failed = sf_take(&work, d);
    sf_copy(found->point, w, d);
    sf_fill(found->weights, 0.0, m);
    found->drawn = 0.0;
    if (sf_holds_at(region, w, work)) {
        return SF_OK;
    }
    if (cut && m == 1) {
        sf_cut_of_one(region, found, w, work);
        return SF_OK;
    }
    const sf_balls balls = {seen.s, rule->beta, up, region->squared, close,
                            m, d, cut, rule->sweeps_of_rows};
    sf_minus(v, w, seen.x, d);
    int curved = 0;
    for (int i = 0; i < m; i++) {
        up[i] = region->level[i] + region->margin[i];
        close[i] = SF_CLOSE * region->margin[i];
        curved = curved || rule->beta[i] != 0.0;
    }
    if (!cut) {
        sf_copy(found->weights, near, m);
        sf_ascend(&balls, q, v, found->weights, work);
        if (sf_take_point(region, found, q, q, work)) {
            return SF_OK;
        }
        /* A far point loses digits: once more from where they are not lost, with what is over. */
        sf_copy(end, q, d);
        for (int i = 0; i < m; i++) {
            const double over = sf_max(sf_ball_at(&balls, i, q), 0.0), size = region->squared[i];
            sf_along(end, end, -(over / (size > 0 ? size : 1.0)), seen.s + i * d, d);
        }
        if (!sf_take_point(region, found, q, end, work)) {
            sf_draw_in_rows(region, found, q, work);
            sf_minus(end, found->point, seen.x, d);
            found->drawn = sf_distance(end, q, d);
        }
        return SF_OK;
    }
    double squared = sf_dot(v, v, d);
    int fails = 0, holds = 0;
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < m; i++) {
            up[i] = region->level[i] + region->margin[i] + 0.5 * rule->beta[i] * squared;
        }
        sf_fill(kept, 0.0, m);
        sf_ascend(&balls, q, v, kept, work);
        squared = sf_dot(q, q, d);
        sf_found here = {end, kept, 0.0};
        if (!sf_take_point(region, &here, q, q, work)) {
            if (!fails && !holds) { /* the step was longer than what the half-spaces were moved for */
                sf_copy(failed, q, d);
                sf_copy(found->weights, kept, m);
            }
            fails = 1;
            squared = turn > 0 ? 1.02 * squared : squared;
            continue;
        }
        holds = 1;
        sf_copy(found->point, end, d);
        sf_copy(found->weights, kept, m);
        found->drawn = here.drawn;
        if (fails || turn + 1 >= 2 || !curved) {
            break;
        }
    }
    if (!holds) {
        sf_draw_in_rows(region, found, failed, work);
        sf_minus(end, found->point, seen.x, d);
        found->drawn = sf_distance(end, failed, d);
    }
    return SF_OK;
}
