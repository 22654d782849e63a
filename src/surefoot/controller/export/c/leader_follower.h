#include "ball.h"
#include "hull.h"

/* Remembered half-spaces u'Z <= o, relative to the start, with multipliers. */
typedef struct {
    double normals[SF_CUTS][SF_D];
    double offsets[SF_CUTS];
    double inverses[SF_CUTS]; /* 1/|s| of the slope that the cut came from */
    double products[SF_CUTS][SF_CUTS];
    double weights[SF_CUTS];
    int count;
} sf_cuts;

/* What the next round needs. x is the action to play; the rest is not for writing. */
typedef struct {
    double x[SF_D];     /* the follower */
    double start[SF_D]; /* points below are relative to it */
    double reach;       /* D, the largest distance from it to a point of the domain */
    sf_memory seen;
    double start_value;
    sf_cuts cuts;
    double leader[SF_D];
    double gradients[SF_D];
    double energy;
    double inverse_eta;
    double depth;
    double deepened;
    double careful;
    double limit; /* g of x is certified to be at most this */
} sf_state;

/* Start at x1, strictly feasible: its slack comes with the first step. */
static inline int sf_init(sf_state *state, const double x1[SF_D])
{
    const int status = sf_start(x1);
    if (status != SF_OK) {
        return status;
    }
    double offset[SF_D];
    sf_from_centre(offset, x1);
    memset(state, 0, sizeof *state);
    sf_copy(state->x, x1);
    sf_copy(state->start, x1);
    state->reach = SF_RADIUS + sf_norm(offset);
    state->cuts.offsets[0] = state->cuts.offsets[1] = 1.0;
    state->energy = 0.0 + SF_EXPECTED;
    return SF_OK;
}

#include "moved_hull.h"

static inline double sf_distance(const double *a, const double *b)
{
    double way[SF_D];
    sf_minus(way, a, b);
    return sqrt(sf_dot(way, way));
}

/* Shorten a point to a length; in place. */
static inline void sf_within(double *z, double radius)
{
    const double squared = sf_dot(z, z);
    if (squared <= radius * radius) {
        return;
    }
    const double share = radius / sqrt(squared);
    for (int i = 0; i < SF_D; i++) {
        z[i] = share * z[i];
    }
}

/* Two products added: what is fused is what NumPy fuses on the machine that wrote this file. */
static inline double sf_add_two(double a0, double b0, double a1, double b1, int fused)
{
    if (fused == 1) {
        return fma(a1, b1, a0 * b0);
    }
    if (fused == 2) {
        return fma(a0, b0, a1 * b1);
    }
    const double first = a0 * b0, second = a1 * b1;
    return first + second;
}

/* The product of each normal in use with a vector. */
static inline void sf_rows_dot(double *out, const sf_cuts *cuts, const double *x)
{
    for (int k = 0; k < cuts->count; k++) {
        const double *u = cuts->normals[k];
        if (SF_D == 2 && cuts->count == 2) {
            out[k] = sf_add_two(u[0], x[0], u[SF_D - 1], x[SF_D - 1], SF_ROWS_FUSED);
        } else {
            out[k] = sf_dot(u, x);
        }
    }
}

/* The weighted sum of the normals in use. */
static inline void sf_combine(double *out, const sf_cuts *cuts, const double *weights)
{
    for (int i = 0; i < SF_D; i++) {
        if (cuts->count == 2) {
            out[i] = sf_add_two(weights[0], cuts->normals[0][i], weights[1], cuts->normals[1][i],
                                SF_COLUMNS_FUSED);
        } else {
            out[i] = cuts->count == 1 ? weights[0] * cuts->normals[0][i] : 0.0;
        }
    }
}

/* Two cuts become their sum, which changes no term of the leader's problem. */
static inline void sf_merge(sf_cuts *cuts, int into, int other)
{
    const double a = cuts->weights[into], b = cuts->weights[other];
    double both[SF_D], line[SF_CUTS] = {0.0};
    for (int i = 0; i < SF_D; i++) {
        const double first = a * cuts->normals[into][i], second = b * cuts->normals[other][i];
        both[i] = first + second;
    }
    const double size = sqrt(sf_dot(both, both));
    for (int i = 0; i < SF_D; i++) {
        cuts->normals[into][i] = size > 0.0 ? both[i] / size : 0.0;
    }
    if (size > 0.0) {
        const double o = a * cuts->offsets[into], p = b * cuts->offsets[other];
        const double v = a * cuts->inverses[into], w = b * cuts->inverses[other];
        cuts->offsets[into] = (o + p) / size;
        cuts->inverses[into] = (v + w) / size;
        cuts->weights[into] = size;
    } else {
        cuts->offsets[into] = 1.0;
        cuts->inverses[into] = 0.0;
        cuts->weights[into] = 0.0;
    }
    sf_rows_dot(line, cuts, cuts->normals[into]);
    for (int k = 0; k < SF_CUTS; k++) {
        cuts->products[into][k] = line[k];
    }
    for (int k = 0; k < SF_CUTS; k++) {
        cuts->products[k][into] = line[k];
    }
}

/* Add a cut; return its slot. A row seen before is not stored twice. */
static inline int sf_add_cut(sf_cuts *cuts, const double *u, double offset, double inverse,
                             const double *z)
{
    double row[SF_CUTS] = {0.0}, room[SF_CUTS] = {0.0};
    int at;
    sf_rows_dot(row, cuts, u);
    if (cuts->count > 0) {
        const int i = cuts->count == 2 && row[1] > row[0] ? 1 : 0;
        double apart = 0.0;
        for (int k = 0; k < SF_D; k++) {
            apart = sf_max(apart, fabs(cuts->normals[i][k] - u[k]));
        }
        if (row[i] > 1 - 1e-9 && apart <= SF_SAME_ROW) {
            if (offset < cuts->offsets[i]) {
                cuts->offsets[i] = offset;
            }
            return i;
        }
    }
    if (cuts->count < SF_CUTS) {
        at = cuts->count;
        cuts->count += 1;
    } else if (cuts->weights[0] == 0.0 || cuts->weights[1] == 0.0) {
        /* The cut that does nothing, and is furthest from doing something. */
        sf_rows_dot(room, cuts, z);
        for (int k = 0; k < SF_CUTS; k++) {
            room[k] = cuts->weights[k] == 0.0 ? cuts->offsets[k] - room[k] : -HUGE_VAL;
        }
        at = room[1] > room[0] ? 1 : 0;
    } else {
        const int least = cuts->weights[1] < cuts->weights[0] ? 1 : 0;
        at = 1 - least;
        sf_merge(cuts, least, at);
        sf_rows_dot(row, cuts, u);
    }
    sf_copy(cuts->normals[at], u);
    cuts->offsets[at] = offset;
    cuts->inverses[at] = inverse;
    cuts->weights[at] = 0.0;
    row[at] = sf_dot(u, u);
    for (int k = 0; k < SF_CUTS; k++) {
        cuts->products[at][k] = row[k];
    }
    for (int k = 0; k < SF_CUTS; k++) {
        cuts->products[k][at] = row[k];
    }
    return at;
}

static inline double sf_larger(double a, double b) /* NaN if either is */
{
    return a >= b || isnan(a) ? a : b;
}

/* Better multipliers, and the leader that they lead to; newest is -1 where there is no new cut. */
static inline void sf_project_leader(double *z, double *mu, const sf_cuts *cuts,
                                     const double *free, int newest, double limit)
{
    const int n = cuts->count;
    double v[SF_CUTS] = {0.0}, low[SF_CUTS] = {0.0}, step[SF_CUTS] = {0.0}, down[SF_CUTS] = {0.0};
    double back[SF_D];
    sf_combine(back, cuts, mu);
    sf_minus(z, free, back);
    sf_within(z, limit);
    if (n == 0) {
        return;
    }
    sf_rows_dot(v, cuts, z);
    for (int k = 0; k < n; k++) {
        v[k] = v[k] - cuts->offsets[k];
        low[k] = -mu[k];
    }
    if (newest >= 0 && v[newest] > 0.0) {
        const double over = v[newest];
        low[newest] -= over;
        for (int k = 0; k < n; k++) {
            const double less = over * cuts->products[newest][k];
            v[k] -= less;
        }
    }
    for (int sweep = 0; sweep < SF_SWEEPS; sweep++) {
        double bend, share;
        for (int k = 0; k < n; k++) {
            step[k] = sf_larger(v[k], low[k]);
        }
        if (n == 2) {
            for (int k = 0; k < 2; k++) {
                down[k] = sf_add_two(cuts->products[k][0], step[0], cuts->products[k][1], step[1],
                                     SF_ROWS_FUSED);
            }
            bend = sf_add_two(step[0], down[0], step[1], down[1], SF_DOT_FUSED);
            share = sf_add_two(step[0], v[0], step[1], v[1], SF_DOT_FUSED);
        } else {
            down[0] = cuts->products[0][0] * step[0];
            bend = step[0] * down[0];
            share = step[0] * v[0];
        }
        if (bend <= 0.0) {
            break;
        }
        share = share / bend;
        for (int k = 0; k < n; k++) {
            if (share < 1.0) {
                step[k] = step[k] * share;
                down[k] = down[k] * share;
            }
            low[k] -= step[k];
            v[k] -= down[k];
        }
    }
    for (int k = 0; k < n; k++) {
        mu[k] = -low[k];
    }
    sf_combine(back, cuts, mu);
    sf_minus(z, free, back);
    sf_within(z, limit);
}

/* Move w towards all the cuts, tightened by rho, that it exceeds; in place. */
static inline void sf_keep_off(double *w, const sf_cuts *cuts, double rho)
{
    const int n = cuts->count;
    double over[SF_CUTS] = {0.0}, rows[SF_CUTS] = {0.0}, back[SF_D];
    sf_rows_dot(rows, cuts, w);
    for (int k = 0; k < n; k++) {
        over[k] = rho * cuts->inverses[k];
        over[k] = over[k] + rows[k];
        over[k] = sf_larger(over[k] - cuts->offsets[k], 0.0);
    }
    const double length = n == 2 ? sf_add_two(over[0], over[0], over[1], over[1], SF_DOT_FUSED)
                                 : over[0] * over[0];
    if (length == 0.0) {
        return;
    }
    sf_combine(back, cuts, over);
    const double squared = sf_dot(back, back);
    if (squared > 0.0) {
        sf_along(w, w, -(length / squared), back);
    }
}

#ifdef SF_VALUE_ERROR
/* Project w onto the half-space g + s'(w - x) + rho <= 0, if s is not 0; in place. */
static inline int sf_project_halfspace(double *w, const double *x, double g, const double *s,
                                       double rho)
{
    double way[SF_D];
    sf_minus(way, w, x);
    const double excess = g + sf_dot(s, way) + rho, squared = sf_dot(s, s);
    if (!(sf_norm_of(s, squared) > 0) || (excess > -HUGE_VAL && excess <= 0.0)) {
        return SF_OK;
    }
    const double step = excess / squared;
    if (!(excess > 0.0 && squared > 0.0 && squared < HUGE_VAL && step < HUGE_VAL)) {
        return SF_RANGE;
    }
    sf_along(w, w, -step, s);
    return SF_OK;
}
#endif

#ifdef SF_GRADIENT_BOUND
/* The careful mode: the leader ascends along the newest cut, the follower goes along a ray. */
static inline int sf_careful_step(double *z, double *mu, double *next, const sf_cuts *cuts,
                                  int newest, const sf_state *state, const sf_memory *seen,
                                  const double *theta, double scale)
{
    double rows[SF_CUTS] = {0.0}, back[SF_D];
    sf_rows_dot(rows, cuts, state->leader);
    for (int k = 0; k < cuts->count; k++) {
        const double over = sf_larger(rows[k] - cuts->offsets[k], 0.0);
        mu[k] = (cuts->weights[k] + (k == newest ? over : 0.0)) * (state->inverse_eta / scale);
    }
    sf_combine(back, cuts, mu);
    const double eta = 1.0 / scale;
    for (int i = 0; i < SF_D; i++) {
        const double free = -eta * theta[i];
        z[i] = free - back[i];
    }
    sf_within(z, state->reach);
    sf_memory from_start = *seen;
    sf_copy(from_start.anchor, state->start);
    from_start.anchor_round = 1.0;
    from_start.anchor_value = seen->rounds == 1 ? seen->last_value : state->start_value;
    const sf_region region = sf_region_of(&from_start);
    double point[SF_D], share = 0.0, half = 0.5;
    for (int i = 0; i < 52; i++) {
        sf_along(point, state->start, share + half, z);
        if (sf_holds(&region, point)) {
            share = share + half;
        }
        half = 0.5 * half;
    }
    sf_along(point, state->start, 1.0, z);
    if (!sf_holds(&region, point)) {
        sf_along(point, state->start, share, z);
    }
    return sf_nearest(&region, next, point);
}
#endif

/*
 * A round: tell what was seen at state->x, and state->x is the next action.
 *
 * cost_gradient: of the cost at the action that was played.
 * g, s:          the value and one subgradient of the constraint there.
 * info:          what the step knew; NULL if it is not wanted.
 */
static inline int sf_step(sf_state *state, const double cost_gradient[SF_D], double g,
                          const double s[SF_D], sf_info *info)
{
    if (!sf_all_finite(cost_gradient) || !sf_all_finite(s)) {
        return SF_NOT_FINITE;
    }
    const double D = state->reach;
    sf_memory seen;
    int status = sf_see(&seen, &state->seen, state->limit, state->x, g);
    if (status != SF_OK) {
        return status;
    }
    const sf_region region = sf_region_of(&seen);
    const double t = seen.rounds;
    const double start_value = t == 1 ? seen.last_value : state->start_value;
    double X[SF_D], theta[SF_D], z[SF_D], mu[SF_CUTS], W[SF_D], way[SF_D], next[SF_D];
    sf_minus(X, state->x, state->start);
    const double squared = sf_dot(cost_gradient, cost_gradient);
    if (!(squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    const double size = sqrt(squared), behind = sf_distance(X, state->leader);
    sf_along(theta, state->gradients, 1.0, cost_gradient);
    const double energy = state->energy + squared + size * behind * state->inverse_eta;
    /* The half-space of the round; a slope of 0 has none. */
    sf_cuts cuts = state->cuts;
    int newest = -1;
    const double steep = sf_norm(s);
    if (!(steep < HUGE_VAL)) {
        return SF_RANGE;
    }
    double noise = SF_NOISE;
#ifdef SF_VALUE_ERROR
    noise = noise + SF_VALUE_ERROR + SF_SLOPE_ERROR * (D + sf_norm(X));
#endif
#ifdef SF_DRIFT
    for (int k = 0; k < SF_CUTS; k++) { /* a point that was outside may come in */
        const double outwards = SF_DRIFT * cuts.inverses[k];
        cuts.offsets[k] = cuts.offsets[k] + outwards;
    }
#endif
    if (steep != 0.0) {
        const double inverse = 1.0 / steep;
        double u[SF_D];
        for (int i = 0; i < SF_D; i++) {
            u[i] = inverse * s[i];
        }
        const double above = (g - noise) * inverse;
        newest = sf_add_cut(&cuts, u, sf_dot(u, X) - above, inverse, state->leader);
    }
#ifdef SF_STRONG_CONVEXITY
    double scale = 0.5 * SF_STRONG_CONVEXITY * t;
#else
    double scale = sqrt(2 * energy) / D;
#endif
    double careful = state->careful;
#ifdef SF_GRADIENT_BOUND
    const double kappa = sf_max(D / (-start_value / SF_G_G), 1.0), L = SF_GRADIENT_BOUND;
    if (2 * energy > 81 * pow(kappa, 4) * L * L * t) {
        careful = 1.0;
    }
    if (careful > 0) {
        scale = 9 * kappa * kappa * L * sqrt(t) / D;
    }
#endif
    /* The leader. */
    const double eta = scale > 0 ? 1.0 / scale : 0.0 * scale;
    double free[SF_D];
    if (SF_LAZY) {
        const double faded = state->inverse_eta / (scale > 0 ? scale : 1.0);
        for (int k = 0; k < SF_CUTS; k++) {
            mu[k] = cuts.weights[k] * faded;
        }
        for (int i = 0; i < SF_D; i++) {
            free[i] = -eta * theta[i];
        }
    } else {
        mu[0] = mu[1] = 0.0;
        sf_along(free, state->leader, -eta, cost_gradient);
        sf_within(free, D);
    }
    sf_project_leader(z, mu, &cuts, free, newest, 2 * D);
    /* The follower: towards the leader, off the cuts, into the certified region. */
    const double r_a = sf_max(region.anchor_radius, region.radius);
    const double *ahead = z;
    sf_cuts reached = cuts;
#ifdef SF_VALUE_ERROR
    /* Only the leader needs cuts that hold for all points within D of the start. */
    double off[SF_CUTS] = {0.0}, nearer[SF_D];
    for (int k = 0; k < SF_CUTS; k++) {
        const double less = SF_SLOPE_ERROR * D * cuts.inverses[k];
        reached.offsets[k] = cuts.offsets[k] - less;
    }
    sf_project_leader(nearer, off, &reached, z, -1, 2 * D);
    status = sf_project_halfspace(nearer, X, seen.last_value, s, 0.0);
    if (status != SF_OK) {
        return status;
    }
    ahead = nearer;
#endif
    sf_minus(way, ahead, X);
    const double gap = sf_distance(ahead, X);
    const int deeper = t == 1 || r_a > 1.1 * state->depth;
    const double depth = deeper ? r_a : state->depth, deepened = deeper ? t : state->deepened;
    const int growing = 50.0 * r_a < D && t - deepened < 5;
    const double rho = SF_G_G * (growing ? sf_min(SF_KEEP * gap / 50.0, 3 * r_a)
                                         : r_a * sf_min(SF_KEEP * gap / D, 0.5));
    const double room = sf_max(region.radius, 0.0);
    sf_along(W, X, sf_min(room / (gap > 0 ? gap : 1.0), 1.0), way);
    sf_keep_off(W, &reached, rho);
#ifdef SF_VALUE_ERROR
    status = sf_project_halfspace(W, X, seen.last_value, s, rho);
    if (status != SF_OK) {
        return status;
    }
#endif
    for (int i = 0; i < SF_D; i++) {
        W[i] = state->start[i] + W[i];
    }
    status = sf_nearest(&region, next, W);
    if (status != SF_OK) {
        return status;
    }
#ifdef SF_GRADIENT_BOUND
    if (careful > 0) {
        status = sf_careful_step(z, mu, next, &cuts, newest, state, &seen, theta, scale);
        if (status != SF_OK) {
            return status;
        }
    }
#endif
    double limit;
    const double bound = sf_bound(&seen, &region, next, &limit);
    if (info) {
        double led[SF_D];
        sf_along(led, state->start, 1.0, z);
        info->bound = bound;
        info->cut = sf_differ(next, led);
        info->alarms = sf_alarms_of(&state->seen, state->limit, state->x, g, s, steep);
    }
    state->limit = limit;
    sf_copy(state->x, next);
    state->seen = seen;
    state->start_value = start_value;
    for (int k = 0; k < SF_CUTS; k++) {
        cuts.weights[k] = k < cuts.count ? mu[k] : 0.0;
    }
    state->cuts = cuts;
    sf_copy(state->leader, z);
    sf_copy(state->gradients, theta);
    state->energy = energy;
    state->inverse_eta = scale;
    state->depth = depth;
    state->deepened = deepened;
    state->careful = careful;
    return SF_OK;
}
