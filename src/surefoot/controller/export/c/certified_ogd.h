#include "curvature.h"

/* What the next round needs. x is the action to play; the rest is not for writing. */
typedef struct {
    double x[SF_D];
    sf_memory seen;
    double inverse_eta;
    double squares;
} sf_state;

#include "start_curvature.h"

/* Where a step to w ends that is drawn back along the slope until it is certified. */
static inline int sf_cut(const sf_region *region, double *next, const double *w)
{
    const double *x = region->x, *s = region->s;
    const double g = region->g, e = region->margin, squared = region->squared, half = 0.5 * SF_BETA;
    double v[SF_D], q[SF_D], point[SF_D];
    sf_minus(v, w, x);
    const double along = sf_dot(s, v), square = sf_dot(v, v);
    if (!(square < HUGE_VAL)) {
        return SF_RANGE;
    }
    if (g + 0.5 * e + along + half * square <= 0) {
        sf_copy(next, w);
        return SF_OK;
    }
    sf_copy(next, x); /* staying is certain, whatever comes out below */
    if (!(squared > 0)) {
        return SF_OK;
    }
    const double size = sqrt(squared), a = along / size;
    const double c = g + e + half * sf_max(square - a * a, 0.0);
    const double z = -2 * c / (size + sqrt(sf_max(squared - 4 * half * c, 0.0)));
    const double weight = sf_max(a - z, 0.0) / size;
    sf_along(q, v, -weight, s);
    sf_along(point, x, 1.0, q);
    if (sf_bound_at(region, point) <= 0) {
        sf_copy(next, point);
    }
    return SF_OK;
}

/*
 * A round: tell what was seen at state->x, and state->x is the next action.
 *
 * cost_gradient: of the cost at the action that was played.
 * g, s:          the value and the gradient of the constraint there.
 * info:          what the step knew; NULL if it is not wanted.
 */
static inline int sf_step(sf_state *state, const double cost_gradient[SF_D], double g,
                          const double s[SF_D], sf_info *info)
{
    if (!sf_all_finite(cost_gradient)) {
        return SF_NOT_FINITE;
    }
    const double *x = state->x;
    sf_region region;
    int status = sf_see(&region, &state->seen, x, g, s);
    if (status != SF_OK) {
        return status;
    }
    const double squared = sf_dot(cost_gradient, cost_gradient);
    if (!(squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    const double squares = state->squares + squared, size = sqrt(squared);
#ifdef SF_INVERSE_ETA
    double inverse = squares > 0 ? SF_INVERSE_ETA : 0.0;
#else
    double inverse = sqrt(squares) / SF_ROOT_2_RADIUS;
#endif
    double longest = HUGE_VAL;
    if (SF_BETA > 0) {
        const double bent = region.squared - 2 * SF_BETA * (region.g + region.margin);
        longest = 0.5 * sqrt(sf_max(bent, 0.0)) / SF_BETA;
    }
    const int moves = longest > 0;
    inverse = sf_max(inverse, moves ? size / longest : 0.0);
    if (SF_RATCHET) {
        inverse = sf_max(inverse, state->inverse_eta);
    }
    const int going = moves && inverse > 0;
    double wanted[SF_D], next[SF_D];
    sf_along(wanted, x, -(1.0 / (going ? inverse : HUGE_VAL)), cost_gradient);
    status = sf_cut(&region, next, wanted);
    if (status != SF_OK) {
        return status;
    }
    if (info) {
        info->bound = sf_bound(&region, next);
        info->cut = sf_differ(next, wanted);
        info->alarms = sf_alarms_of(&state->seen, &region);
    }
    sf_remember(&state->seen, &region);
    sf_copy(state->x, next);
    state->inverse_eta = inverse;
    state->squares = squares;
    return SF_OK;
}
