#include "length_state.h"

/*
 * A round: tell what was seen at state->x and what is wanted next, and state->x may be played.
 *
 * proposal: the next action that somebody wants; feasibility never depends on it.
 * g, s:     the value and one subgradient of the constraint at the action that was played.
 * info:     what the step knew; NULL if it is not wanted.
 */
static inline int sf_admit(sf_state *state, const double proposal[SF_D], double g,
                           const double s[SF_D], sf_info *info)
{
    if (!sf_all_finite(proposal) || !isfinite(g) || !sf_all_finite(s)) {
        return SF_NOT_FINITE;
    }
    const double *x = state->x;
    double way[SF_D], y[SF_D];
    sf_minus(way, proposal, x);
    const double size = sf_norm(way);
    if (!(size < HUGE_VAL)) {
        return SF_RANGE;
    }
    sf_length length;
    int status = sf_certified_length(&length, x, state->start, state->rounds, state->start_slack,
                                     state->distance, g, s);
    if (status != SF_OK) {
        return status;
    }
    /* The way there, shortened to the certified length and cut by the half-space. */
    double share = sf_min(1.0, length.max_step / (size > 0 ? size : 1.0));
    share = length.max_step > 0 ? share : 0.0 * share;
    sf_along(y, x, share, way);
    return sf_end_at(state, y, share * size, size, 1.0, &length, g, s, info);
}
