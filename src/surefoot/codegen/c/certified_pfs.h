#include "certified_length.h"

/* What the next round needs. x is the action to play; the rest is not for writing. */
typedef struct {
    double x[SF_D];
    double start[SF_D];
    double rounds;
    double start_slack;
    double distance;
    double inverse_eta;
    double squares;
} sf_state;

#include "start_length.h"

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
    if (!sf_all_finite(cost_gradient) || !isfinite(g) || !sf_all_finite(s)) {
        return SF_NOT_FINITE;
    }
    const double *x = state->x;
    sf_length length;
    int status = sf_certified_length(&length, x, state->start, state->rounds, state->start_slack,
                                     state->distance, g, s);
    if (status != SF_OK) {
        return status;
    }
    /* The step size: 1/eta is at least what the regret wants, and what the length allows. */
    const double squared = sf_dot(cost_gradient, cost_gradient);
    const double size = sf_norm_of(cost_gradient, squared);
    const double squares = state->squares + squared;
#ifdef SF_INVERSE_ETA
    double wanted = SF_INVERSE_ETA;
#else
    double wanted = sqrt(squares) / SF_ROOT_2_RADIUS;
#endif
    if (SF_RATCHET) {
        wanted = sf_max(wanted, state->inverse_eta);
    }
    const int moves = length.max_step > 0;
    const double inverse = sf_max(wanted, size / (moves ? length.max_step : HUGE_VAL));
    const double eta = 1.0 / (moves && inverse > 1e-300 ? inverse : HUGE_VAL);
    /* The step, cut by the half-space that the slope gives. */
    double y[SF_D], way[SF_D], next[SF_D];
    sf_along(y, x, -eta, cost_gradient);
    sf_minus(way, y, x);
    const double excess = g + sf_dot(s, way) + length.rho - SF_NOISE;
    status = sf_cut_and_project(next, y, excess, s, &length, x);
    if (status != SF_OK) {
        return status;
    }
    const double distance = sf_next_distance(&length, state->rounds, eta * size);
    if (isnan(distance)) {
        return SF_RANGE;
    }
    if (info) {
        info->bound = sf_bound(&length, g, size, inverse);
        info->cut = moves && excess > 0;
        info->alarms = sf_alarms_of(&length, state->distance, g, s);
    }
    sf_copy(state->x, next);
    state->rounds += 1.0;
    state->start_slack = length.start_slack;
    state->distance = distance;
    state->inverse_eta = inverse;
    state->squares = squares;
    return SF_OK;
}
