/*
 * Whole games: costs, constraints, and rules that need few numbers from round to round.
 *
 * sf_play_rounds plays consecutive rounds of one run. Runs know nothing of each other, so that
 * they may be played in any order and in any number of threads, with the same bits. The formulas
 * of the rules are explained in the Python text, in surefoot.rules, under the same names; a
 * state has the fields of the Python state, one after the other.
 */
#ifndef SF_GAMES_H
#define SF_GAMES_H

#include <stdint.h>

#include "surefoot.h"

/* h/2 |x - v|^2, or v.x, with v the vector of the round. */
#define SF_COSTS(CODE) CODE(SF_QUADRATIC_COST, 0) CODE(SF_LINEAR_COST, 1)
enum { SF_COSTS(SF_VALUE) SF_COST_KINDS };

/* max(Ax - b), |x - c| - r, max |x - c| - r, ((x - c)P(x - c))^(1/2) - 1, xQx/2 + qx - r. */
#define SF_CONSTRAINTS(CODE)                                                                       \
    CODE(SF_AFFINE, 0) CODE(SF_NORM, 1) CODE(SF_CUBE, 2) CODE(SF_ELLIPSOID, 3) CODE(SF_FORM, 4)
enum { SF_CONSTRAINTS(SF_VALUE) SF_CONSTRAINT_KINDS };

/* The rules, and their parameters, which are attributes of the Python rule, in their order. From DPP
 * on each constraint is told by itself. */
#define SF_RULES(RULE)                                                                             \
    RULE(SF_CERTIFIED, "")                                                                         \
    RULE(SF_PFS, "eta rho")                                                                        \
    RULE(SF_SCHEDULED_PFS, "rho step_size power offset running adagrad")                           \
    RULE(SF_DOUBLING_PFS, "eta rho")                                                               \
    RULE(SF_OGD, "eta")                                                                            \
    RULE(SF_DECAYING_OGD, "eta fast")                                                              \
    RULE(SF_ADAGRAD_OGD, "eta")                                                                    \
    RULE(SF_DUAL_AVERAGING, "eta")                                                                 \
    RULE(SF_SCALAR_DPP, "V alpha")                                                                 \
    RULE(SF_JENATTON, "eta theta beta decay")                                                      \
    RULE(SF_SINHA_VAZE, "scale rate diameter")                                                     \
    RULE(SF_STRONG_SINHA_VAZE, "V strong_convexity")                                               \
    RULE(SF_FRANK_WOLFE, "eta step_size")                                                          \
    RULE(SF_GAUGE_DESCENT, "eta strong_convexity gauge.inner_radius")                              \
    RULE(SF_ADAPTIVE_GAUGE, "slope horizon gauge.inner_radius")                                    \
    RULE(SF_DPP, "V alpha")                                                                        \
    RULE(SF_MAHDAVI, "eta delta gamma")                                                            \
    RULE(SF_MAHDAVI_LINEAR, "eta")                                                                 \
    RULE(SF_YU_NEELY, "gamma alpha")                                                               \
    RULE(SF_YUAN, "eta theta decay")                                                               \
    RULE(SF_PRIMAL_DUAL, "primal_step dual_step cap")                                              \
    RULE(SF_LBSGD, "weight beta cost_curvature")
enum { SF_RULES(SF_INDEX) SF_RULE_KINDS };

#define SF_NUMBERS 6 /* parameters of a rule, at most */

typedef struct {
    int d, m; /* entries of an action, rows of the constraint */
    int cost, constraint, rule;
    double curvature;     /* h of the costs */
    const double *matrix; /* A, P or Q */
    const double *vector; /* b, c or q */
    double radius;        /* r */
    const double *gauge;  /* rows a of a set a.x <= 1 that is known by its gauge */
    int faces;            /* how many */
} sf_game;

/* What differs from player to player. */
typedef struct {
    sf_rule rule; /* the certified rule; of the others, the domain alone */
    sf_step_of *step; /* that of the certified rule */
    double tightening; /* added to g before it is told */
    double numbers[SF_NUMBERS];
} sf_player;

/* Where the rounds of a run are written; NULL for what is not wanted. */
typedef struct {
    double *cost, *g, *gradient, *slope; /* one number a round */
    double *rows;                        /* the sum of each constraint */
    double *actions;                     /* those of the kept rounds */
    const int64_t *kept;
    int64_t keeps;
} sf_record;

static inline size_t sf_play_scratch(const sf_game *game, const sf_rule *certified)
{
    return 5 * (size_t)game->d + 3 * (size_t)game->m + (certified ? sf_scratch_size(certified) : 0);
}

/* sf_dot; what there is of it for few entries is put in place. */
SF_INLINE double sf_inner(const double *a, const double *b, int n)
{
    if (n != 2) {
        return sf_dot(a, b, n);
    }
    const double first = 0.0 + a[0] * b[0];
    return first + a[1] * b[1];
}

/* sf_project_domain; what is inside a ball stays where it is. */
SF_INLINE int sf_put_in_domain(const sf_rule *rule, double *p, int d)
{
    if (rule->domain == SF_BALL && !rule->centre
        && sf_inner(p, p, d) <= rule->radius * rule->radius) {
        return 1;
    }
    return sf_project_domain(rule, p) == SF_OK;
}

/* The values of all rows; the index of the largest, of equals the first. */
static inline int sf_query_rows(const sf_game *game, const double *x, double *values, int d)
{
    int largest = 0;
    if (d != 2) {
        sf_multiply(values, game->matrix, game->m, x, d);
    }
    for (int i = 0; i < game->m; i++) {
        const double product = d == 2 ? sf_inner(game->matrix + 2 * i, x, 2) : values[i];
        values[i] = product - game->vector[i];
        largest = values[i] > values[largest] ? i : largest;
    }
    return largest;
}

/* g and a subgradient, which may be a row of the matrix. */
SF_INLINE double sf_query(const sf_game *game, const double *x, double *values, double *s,
                              const double **slope, int d)
{
    const double *c = game->vector;
    double *z = s + d;
    *slope = s;
    if (game->constraint == SF_AFFINE) {
        const int largest = sf_query_rows(game, x, values, d);
        *slope = game->matrix + (size_t)largest * d;
        return values[largest];
    }
    if (game->constraint == SF_CUBE) {
        int largest = 0;
        for (int i = 0; i < d; i++) {
            z[i] = c ? x[i] - c[i] : x[i];
            s[i] = 0.0;
            largest += (fabs(z[i]) > fabs(z[largest])) * (i - largest); /* no branch */
        }
        s[largest] = 1.0 - 2.0 * (z[largest] < 0.0);
        return fabs(z[largest]) - game->radius;
    }
    if (game->constraint == SF_FORM) {
        sf_multiply(z, game->matrix, d, x, d);
        for (int i = 0; i < d; i++) {
            s[i] = z[i] + c[i];
        }
        return (0.5 * sf_inner(x, z, d) + sf_inner(x, c, d)) - game->radius;
    }
    for (int i = 0; i < d; i++) {
        z[i] = c ? x[i] - c[i] : x[i];
    }
    if (game->constraint == SF_ELLIPSOID) {
        sf_multiply(s, game->matrix, d, z, d);
    } else {
        sf_copy(s, z, d);
    }
    const double length = sqrt(sf_max(sf_inner(z, s, d), 0.0));
    for (int i = 0; i < d; i++) {
        s[i] = length > 0.0 ? s[i] / length : 0.0;
    }
    return length - game->radius;
}

static inline double sf_positive(double a)
{
    return a > 0.0 || a != a ? a : 0.0; /* a NaN stays */
}

/* A Polyak feasibility step; 0 where there is none. */
SF_INLINE int sf_polyak(const sf_rule *rule, double *x, double eta, double rho,
                            const double *grad, double g, const double *s, double *y, double *way,
                            int d)
{
    sf_along(y, x, -eta, grad, d);
    sf_minus(way, y, x, d);
    const double excess = (g + sf_inner(s, way, d)) + rho;
    if (!(excess > -HUGE_VAL && excess <= 0.0)) { /* sf_project_halfspace */
        const double squared = sf_inner(s, s, d), step = excess / squared;
        if (!(squared > 0.0 && squared < HUGE_VAL && excess > 0.0 && step < HUGE_VAL)) {
            return 0;
        }
        sf_along(y, y, -step, s, d);
    }
    if (!sf_put_in_domain(rule, y, d)) {
        return 0;
    }
    sf_copy(x, y, d);
    return 1;
}

/* x = the point of the domain nearest to x - eta grad. */
SF_INLINE int sf_descend(const sf_rule *rule, double *x, double eta, const double *grad, int d)
{
    sf_along(x, x, -eta, grad, d);
    return sf_put_in_domain(rule, x, d);
}

/* The point of a ball or box where the product with c is smallest. */
static inline void sf_point_against(const sf_rule *rule, const double *c, double *out, int d)
{
    const double size = rule->domain == SF_BALL ? sf_norm(c, d) : 1.0;
    for (int i = 0; i < d; i++) {
        if (rule->domain == SF_BALL) {
            const double way = -rule->inner * c[i] / (size > 0.0 ? size : 1.0);
            out[i] = rule->centre ? rule->centre[i] + way : way;
        } else {
            out[i] = c[i] < 0.0 ? rule->upper[i] : rule->lower[i];
        }
    }
}

/* How many experts there are: one for each power of 2 up to a horizon. */
static inline int sf_experts(double horizon)
{
    int count = 0;
    for (double length = 1.0; length <= horizon && count < 64; length *= 2.0) {
        count++;
    }
    return count;
}

/* Play w, or what it is shrunk to by the gauge: the state begins with x, w, the gauge of w and its
 * subgradient there. */
static inline int sf_shrink(const sf_game *game, const sf_rule *rule, double *state,
                            double inner_radius, int d)
{
    double *x = state, *w = state + d, *gamma = state + 2 * d, *s = gamma + 1, most = -HUGE_VAL;
    int face = 0;
    for (int i = 0; i < game->faces; i++) {
        const double product = sf_dot(game->gauge + (size_t)i * d, w, d);
        face = product > most ? i : face;
        most = sf_max(most, product);
    }
    const double kappa = rule->radius / inner_radius;
    const double inner = 1.0 - SF_SHRINK_ROUNDINGS * (d + SF_TERMS) * SF_UNIT * kappa;
    *gamma = sf_max(most, 0.0);
    const double share = sf_min(inner / (*gamma > 0.0 ? *gamma : 1.0), 1.0);
    for (int i = 0; i < d; i++) {
        s[i] = *gamma > 0.0 ? game->gauge[(size_t)face * d + i] : 0.0;
        x[i] = share < 1.0 ? share * w[i] : w[i];
    }
    return sf_all_finite(w, d);
}

/* The gradient less what would lead further out of the set that the gauge is of. */
static inline void sf_surrogate(double *y, const double *state, const double *grad, int d)
{
    const double *x = state, *w = state + d, gamma = state[2 * d], *s = state + 2 * d + 1;
    const int outwards = gamma > 1.0 && sf_dot(grad, w, d) < 0.0;
    sf_along(y, grad, outwards ? -sf_dot(grad, x, d) : 0.0, s, d);
}

/* The mean of the experts' points, by their weights and rates. */
static inline void sf_mean(double *mean, const double *points, const double *weights, int experts,
                           double horizon, int d)
{
    double total = 0.0, length = 1.0;
    sf_fill(mean, 0.0, d);
    for (int j = 0; j < experts; j++, length *= 2.0) {
        const double share = sf_min(0.5, sqrt(log(2.0 * horizon) / length)) * weights[j];
        sf_along(mean, mean, share, points + (size_t)j * d, d);
        total += share;
    }
    for (int i = 0; i < d; i++) {
        mean[i] = mean[i] / total;
    }
}

/* A round of the experts: slope, horizon, inner radius; points, weights, t. */
static inline int sf_adapt(const sf_game *game, const sf_player *player, double *state,
                           const double *y, double *mean, int d)
{
    const double slope = player->numbers[0], horizon = player->numbers[1], R = player->rule.radius;
    const int experts = sf_experts(horizon);
    double *w = state + d, *points = state + 3 * d + 1, *weights = points + experts * d;
    double *t = weights + experts, length = 1.0;
    for (int j = 0; j < experts; j++, length *= 2.0) {
        double *point = points + (size_t)j * d;
        const double rate = sf_min(0.5, sqrt(log(2.0 * horizon) / length));
        sf_minus(mean, w, point, d);
        weights[j] *= 1.0 + rate * sf_dot(mean, y, d) / (2.0 * R * slope);
        sf_along(point, point, -(2.0 * R / (slope * sqrt(length))), y, d);
        const double share = R / sf_max(sqrt(sf_dot(point, point, d)), R);
        sf_scale(point, share, point, d);
    }
    sf_mean(mean, points, weights, experts, horizon, d);
    *t += 1.0;
    length = 1.0;
    for (int j = 0; j < experts; j++, length *= 2.0) {
        if (fmod(*t, length) == 0.0) { /* an interval begins */
            sf_copy(points + (size_t)j * d, mean, d);
            weights[j] = 1.0;
        }
    }
    sf_mean(w, points, weights, experts, horizon, d);
    return sf_shrink(game, &player->rule, state, player->numbers[2], d);
}

/* How many doubles the state of a player has that is not certified. */
static inline size_t sf_player_state(const sf_game *game, const sf_player *player)
{
    static const unsigned char SIZES[][3] = { /* times d, times m, and numbers beside them */
        [SF_PFS] = {1, 0, 0},           [SF_SCHEDULED_PFS] = {1, 0, 3},
        [SF_DOUBLING_PFS] = {2, 0, 2},  [SF_OGD] = {1, 0, 0},
        [SF_DECAYING_OGD] = {1, 0, 1},  [SF_ADAGRAD_OGD] = {1, 0, 1},
        [SF_DUAL_AVERAGING] = {3, 0, 0}, [SF_SCALAR_DPP] = {1, 0, 1},
        [SF_JENATTON] = {1, 0, 2},      [SF_SINHA_VAZE] = {1, 0, 2},
        [SF_STRONG_SINHA_VAZE] = {1, 0, 2}, [SF_FRANK_WOLFE] = {3, 0, 1},
        [SF_GAUGE_DESCENT] = {3, 0, 2}, [SF_ADAPTIVE_GAUGE] = {3, 0, 2},
        [SF_DPP] = {1, 1, 0},           [SF_MAHDAVI] = {1, 1, 0},
        [SF_MAHDAVI_LINEAR] = {2, 1, 0}, [SF_YU_NEELY] = {1, 1, 1},
        [SF_YUAN] = {1, 0, 1},          [SF_PRIMAL_DUAL] = {1, 1, 0},
        [SF_LBSGD] = {1, 0, 0},
    };
    const size_t d = (size_t)game->d, m = (size_t)game->m;
    const unsigned char *size = SIZES[game->rule];
    const int adapts = game->rule == SF_ADAPTIVE_GAUGE;
    const size_t experts = adapts ? (size_t)sf_experts(player->numbers[1]) * (d + 1) : 0;
    return size[0] * d + size[1] * m + size[2] + experts;
}

/* A round of a rule that is told g; 0 where it has no next action. */
SF_INLINE int sf_one_constraint(const sf_game *game, const sf_player *player, double *state,
                                    const double *grad, double g, const double *s, double *work,
                                    int d)
{
    const sf_rule *rule = &player->rule;
    const double *p = player->numbers;
    double *x = state, *own = state + d, *y = work, *way = work + d;
    switch (game->rule) {
    case SF_PFS:
        return sf_polyak(rule, x, p[0], p[1], grad, g, s, y, way, d);
    case SF_SCHEDULED_PFS: { /* rho, step_size, power, offset, running, adagrad */
        const double t = own[0] + 1.0, squared = sf_inner(grad, grad, d);
        const double rho = p[0] / pow(t + p[3], p[2]);
        own[0] = t;
        own[1] = sf_max(sf_norm(grad, d), own[1]);
        own[2] += squared;
        double eta = p[1] * rho;
        if (p[4] != 0.0) {
            eta = eta / (own[1] > 0.0 ? own[1] : 1.0);
        }
        if (p[5] != 0.0) {
            eta = sf_min(eta, p[5] / sqrt(own[2] > 0.0 ? own[2] : 1.0));
        }
        return sf_polyak(rule, x, eta, rho, grad, g, s, y, way, d);
    }
    case SF_DOUBLING_PFS: { /* eta, rho; start, length, played */
        double *length = own + d, *played = own + d + 1;
        const double root = sqrt(*length);
        if (!sf_polyak(rule, x, p[0] / root, p[1] / root, grad, g, s, y, way, d)) {
            return 0;
        }
        *played += 1.0;
        if (*played >= *length) {
            sf_copy(x, own, d);
            *length *= 2.0;
            *played = 0.0;
        }
        return 1;
    }
    case SF_OGD:
        return sf_descend(rule, x, p[0], grad, d);
    case SF_DECAYING_OGD: /* eta, fast */
        own[0] += 1.0;
        return sf_descend(rule, x, p[0] / (p[1] != 0.0 ? own[0] : sqrt(own[0])), grad, d);
    case SF_ADAGRAD_OGD:
        own[0] += sf_inner(grad, grad, d);
        return sf_descend(rule, x, p[0] / sqrt(own[0] > 0.0 ? own[0] : 1.0), grad, d);
    case SF_DUAL_AVERAGING: /* start, gradients */
        sf_along(own + d, own + d, 1.0, grad, d);
        sf_along(x, own, -p[0], own + d, d);
        return sf_put_in_domain(rule, x, d);
    case SF_SCALAR_DPP: { /* V, alpha; queue */
        for (int i = 0; i < d; i++) {
            const double step = p[0] * grad[i] + own[0] * s[i];
            y[i] = x[i] - step / (2.0 * p[1]);
        }
        if (!sf_put_in_domain(rule, y, d)) {
            return 0;
        }
        sf_minus(way, y, x, d);
        own[0] = sf_positive((own[0] + g) + sf_inner(s, way, d));
        sf_copy(x, y, d);
        return own[0] == own[0];
    }
    case SF_JENATTON: { /* eta, theta, beta, decay; multiplier, t */
        const double t = own[1], eta = p[0] / pow(t, p[3]), theta = p[1] / pow(t, p[2]);
        const double ascent = (g - theta * own[0]) / (theta * (t + 1.0));
        sf_along(y, grad, own[0], s, d);
        own[0] = sf_positive(own[0] + ascent);
        own[1] = t + 1.0;
        return sf_descend(rule, x, eta, y, d) && own[0] == own[0];
    }
    case SF_SINHA_VAZE: { /* scale, rate, diameter; queue, squares */
        own[0] = sf_positive(own[0] + p[0] * sf_max(g, 0.0));
        const double penalty = p[1] * exp(sf_min(p[1] * own[0], SF_LARGEST_EXPONENT));
        for (int i = 0; i < d; i++) {
            y[i] = p[0] * (grad[i] + (g > 0.0 ? penalty : 0.0) * s[i]);
        }
        own[1] += sf_inner(y, y, d);
        const double step = own[1] > 0.0 ? p[2] / sqrt(2.0 * own[1]) : 0.0;
        return sf_descend(rule, x, step, y, d) && own[0] == own[0];
    }
    case SF_FRANK_WOLFE: { /* eta, step_size; start, gradients, rounds */
        const double *start = own, pull = p[1] != 0.0 ? 1.0 : 2.0;
        double *gradients = own + d, *t = own + 2 * d;
        *t += 1.0;
        for (int i = 0; i < d; i++) {
            gradients[i] += grad[i];
            y[i] = p[0] * gradients[i] + pull * (x[i] - start[i]);
        }
        if (!sf_all_finite(y, d)) {
            return 0;
        }
        sf_point_against(rule, y, way, d);
        const double step = p[1] != 0.0 ? p[1] : sf_min(1.0, 2.0 / sqrt(*t));
        for (int i = 0; i < d; i++) {
            x[i] = step < 1.0 ? x[i] + step * (way[i] - x[i]) : way[i];
        }
        return sf_put_in_domain(rule, x, d);
    }
    case SF_GAUGE_DESCENT: { /* eta, strong_convexity, inner radius; w, gamma, s, t */
        double *w = own, *t = own + 2 * d + 1;
        const double eta = p[1] > 0.0 ? p[0] / *t : p[0];
        sf_surrogate(y, state, grad, d);
        sf_minus(way, w, x, d);
        sf_along(y, y, p[1], way, d);
        *t += 1.0;
        return sf_descend(rule, w, eta, y, d) && sf_shrink(game, rule, state, p[2], d);
    }
    case SF_ADAPTIVE_GAUGE:
        sf_surrogate(y, state, grad, d);
        return sf_adapt(game, player, state, y, way, d);
    default: { /* SF_STRONG_SINHA_VAZE: V, strong_convexity; queue, rounds */
        own[0] = sf_positive(own[0] + sf_max(g, 0.0));
        own[1] += 1.0;
        const double weight = g > 0.0 ? 2.0 * own[0] / p[0] : 0.0, over = p[1] * own[1];
        for (int i = 0; i < d; i++) {
            x[i] = x[i] - (grad[i] + weight * s[i]) / over;
        }
        return sf_put_in_domain(rule, x, d) && own[0] == own[0];
    }
    }
}

/* A round of a rule that is told each constraint; 0 where it has no next action. */
static inline int sf_each_constraint(const sf_game *game, const sf_player *player, double *state,
                                     const double *grad, const double *g, const double *s,
                                     double *work)
{
    const sf_rule *rule = &player->rule;
    const double *p = player->numbers;
    const int d = game->d, m = game->m;
    double *x = state, *own = state + d, *y = work, *way = work + d, *w = work + 2 * d;
    double bad = 0.0;
    switch (game->rule) {
    case SF_DPP: /* V, alpha; queues */
        sf_add_up(y, s, NULL, own, m, d);
        for (int i = 0; i < d; i++) {
            y[i] = x[i] - (p[0] * grad[i] + y[i]) / (2.0 * p[1]);
        }
        if (sf_project_domain(rule, y) != SF_OK) {
            return 0;
        }
        sf_minus(way, y, x, d);
        sf_copy(x, y, d);
        for (int j = 0; j < m; j++) {
            const double moved = sf_dot(s + (size_t)j * d, way, d);
            own[j] = sf_positive((own[j] + g[j]) + moved);
            bad += 0.0 * own[j];
        }
        return bad == 0.0;
    case SF_MAHDAVI: /* eta, delta, gamma; multipliers */
        sf_add_up(y, s, NULL, own, m, d);
        sf_along(y, grad, 1.0, y, d);
        for (int j = 0; j < m; j++) {
            const double ascent = (g[j] + p[2]) - p[1] * p[0] * own[j];
            own[j] = sf_positive(own[j] + p[0] * ascent);
            bad += 0.0 * own[j];
        }
        return sf_descend(rule, x, p[0], y, d) && bad == 0.0;
    case SF_MAHDAVI_LINEAR: { /* eta; z, mu */
        double *z = own, *mu = own + d;
        sf_minus(way, z, x, d);
        for (int j = 0; j < m; j++) {
            const double moved = sf_dot(s + (size_t)j * d, way, d);
            w[j] = sf_positive(mu[j] + p[0] * (g[j] + moved));
            mu[j] = sf_positive(mu[j] + p[0] * g[j]);
            bad += 0.0 * mu[j];
        }
        sf_add_up(y, s, NULL, w, m, d);
        sf_along(y, grad, 1.0, y, d);
        if (!sf_descend(rule, z, p[0], y, d)) {
            return 0;
        }
        sf_add_up(y, s, NULL, mu, m, d);
        sf_copy(x, z, d);
        return sf_descend(rule, x, p[0], y, d) && bad == 0.0;
    }
    case SF_YU_NEELY: { /* gamma, alpha; queues, t */
        for (int j = 0; j < m; j++) {
            const double later = sf_max(-p[0] * g[j], own[j] + p[0] * g[j]);
            own[j] = own[m] == 1.0 ? sf_max(-p[0] * g[j], 0.0) : later;
            w[j] = own[j] + p[0] * g[j];
        }
        own[m] += 1.0;
        sf_add_up(y, s, NULL, w, m, d);
        for (int i = 0; i < d; i++) {
            x[i] = x[i] - (grad[i] + p[0] * y[i]) / (2.0 * p[1]);
        }
        return sf_project_domain(rule, x) == SF_OK;
    }
    case SF_YUAN: { /* eta, theta, decay; t */
        const double fade = pow(own[0], p[2]), theta = p[1] / fade;
        own[0] += 1.0;
        for (int j = 0; j < m; j++) {
            w[j] = sf_max(g[j], 0.0) / theta;
        }
        sf_add_up(y, s, NULL, w, m, d);
        sf_along(y, grad, 1.0, y, d);
        return sf_descend(rule, x, p[0] / fade, y, d);
    }
    case SF_LBSGD: { /* weight, beta, cost_curvature */
        double room = HUGE_VAL, total = 0.0;
        for (int j = 0; j < m; j++) {
            if (!(g[j] < 0.0)) {
                return 0;
            }
            w[j] = 1.0 / -g[j];
        }
        sf_add_up(y, s, NULL, w, m, d);
        sf_along(y, grad, p[0], y, d);
        const double size = sf_norm(y, d), over = size > 0.0 ? size : 1.0;
        for (int j = 0; j < m; j++) {
            const double steep = fabs(sf_dot(s + (size_t)j * d, y, d)) / over, ratio = steep / -g[j];
            room = sf_min(room, -g[j] / (2.0 * steep + sqrt(-g[j] * p[1])));
            total += p[1] * w[j] + 2.0 * (ratio * ratio);
        }
        const double curved = p[2] + 2.0 * p[0] * total;
        const double step = sf_min(room / over, 1.0 / (curved > 0.0 ? curved : SF_TINY));
        sf_along(x, x, size > 0.0 ? -step : 0.0, y, d);
        return sf_all_finite(x, d);
    }
    default: { /* SF_PRIMAL_DUAL: primal_step, dual_step, cap; multipliers */
        sf_add_up(y, s, NULL, own, m, d);
        sf_along(y, grad, 1.0, y, d);
        for (int j = 0; j < m; j++) {
            own[j] = sf_max(own[j] + p[1] * g[j], 0.0);
        }
        const double size = sf_norm(own, m), share = p[2] / sf_max(size, p[2]);
        for (int j = 0; j < m; j++) {
            own[j] *= share;
        }
        return sf_descend(rule, x, p[0], y, d);
    }
    }
}

/* The rounds of a run, for a d that may be known when this is compiled. */
SF_INLINE void sf_rounds(const sf_game *game, const sf_player *player, double *state,
                             const double *vectors, size_t stride, int64_t rounds,
                             const sf_record *out, double *work, int d)
{
    const int is_apart = game->rule >= SF_DPP || player->rule.rows > 1, m = game->m;
    const int is_affine = game->constraint == SF_AFFINE;
    double *gradient = work, *s = work + d, *values = work + 3 * d, *told = values + m;
    double steepest = 0.0;
    double *restrict cost = out->cost, *restrict level = out->g; /* nothing else is there */
    int64_t next = 0;
    work = told + m;
    const double *rows = is_affine ? game->matrix : s;
    for (int j = 0; is_affine && is_apart && out->slope && j < m; j++) {
        steepest = sf_max(steepest, sf_norm(rows + (size_t)j * d, d));
    }
    for (int64_t k = 0; k < rounds; k++, vectors += stride) {
        const double *grad = vectors, *slope = s;
        if (game->cost == SF_QUADRATIC_COST) {
            sf_minus(gradient, state, vectors, d);
            cost[k] = 0.5 * game->curvature * sf_inner(gradient, gradient, d);
            sf_scale(gradient, game->curvature, gradient, d);
            grad = gradient;
        } else {
            cost[k] = sf_inner(state, vectors, d);
        }
        const double g = sf_query(game, state, values, s, &slope, d);
        level[k] = g;
        if (!is_affine) {
            values[0] = g;
        }
        if (out->actions && next < out->keeps && out->kept[next] == k) {
            sf_copy(out->actions + (size_t)next * d, state, d);
            next++;
        }
        if (out->gradient) {
            out->gradient[k] = sf_norm(grad, d);
            out->slope[k] = is_apart && is_affine ? steepest : sf_norm(slope, d);
        }
        for (int j = 0; out->rows && j < m; j++) {
            out->rows[j] += values[j];
        }
        int plays;
        if (game->rule == SF_CERTIFIED) {
            sf_feedback seen;
            memset(&seen, 0, sizeof seen);
            seen.gradient = grad;
            const double told_g = g; /* g itself stays in a register */
            seen.g = is_apart ? values : &told_g;
            seen.s = is_apart ? rows : slope;
            if (player->rule.proposer == SF_PROBING) {
                seen.s = NULL; /* it finds slopes itself */
            }
            plays = player->step(&player->rule, state, &seen, work, NULL) == SF_OK;
        } else if (is_apart) {
            for (int j = 0; j < m; j++) {
                told[j] = values[j] + player->tightening;
            }
            plays = sf_each_constraint(game, player, state, grad, told, rows, work);
        } else {
            const double tight = g + player->tightening;
            plays = sf_one_constraint(game, player, state, grad, tight, slope, work, d);
        }
        if (!plays) {
            sf_fill(state, NAN, d); /* lost: every later number says so */
        }
    }
}

typedef void sf_play_of(const sf_game *, const sf_player *, double *, const double *, size_t,
                        int64_t, const sf_record *, double *);

/* Play consecutive rounds of one run, whose costs have a vector every stride doubles. */
static inline void sf_play_rounds(const sf_game *game, const sf_player *player, double *state,
                                  const double *vectors, size_t stride, int64_t rounds,
                                  const sf_record *out, double *work)
{
    if (game->d == 2) { /* most of the work of few entries is to count them */
        sf_rounds(game, player, state, vectors, stride, rounds, out, work, 2);
    } else {
        sf_rounds(game, player, state, vectors, stride, rounds, out, work, game->d);
    }
}

#endif
