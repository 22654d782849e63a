#include "length_state.h"

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
    double y[SF_D];
    sf_along(y, x, -eta, cost_gradient);
    status = sf_end_at(state, y, eta * size, size, inverse, &length, g, s, info);
    if (status == SF_OK) {
        state->inverse_eta = inverse;
        state->squares = squares;
    }
    return status;
}
