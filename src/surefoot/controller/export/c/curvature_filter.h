#include "curvature.h"

/* What the next round needs. x is the action to play; the rest is not for writing. */
typedef struct {
    double x[SF_D];
    sf_memory seen;
} sf_state;

#include "start_curvature.h"

/* v becomes the nearest point of the ball of the quadratic bound, relative to x. */
static inline void sf_onto_ball(double *v, const sf_region *region)
{
    const double *s = region->s;
    const double up = region->g + region->margin;
    const double over = up + sf_dot(s, v) + 0.5 * SF_BETA * sf_dot(v, v);
    const double nu = sqrt(sf_max(region->squared - 2 * SF_BETA * up, 0.0));
    double bent[SF_D];
    sf_along(bent, s, SF_BETA, v);
    const double below = nu * (nu + sf_norm(bent));
    const double weight = 2 * sf_max(over, 0.0) / (below > 0 ? below : HUGE_VAL);
    for (int i = 0; i < SF_D; i++) {
        const double off = weight * s[i];
        v[i] = (v[i] - off) / (1 + SF_BETA * weight);
    }
}

/*
 * A round: tell what was seen at state->x and what is wanted next, and state->x may be played.
 *
 * proposal: the next action that somebody wants; feasibility never depends on it.
 * g, s:     the value and the gradient of the constraint at the action that was played.
 * info:     what the step knew; NULL if it is not wanted.
 */
static inline int sf_admit(sf_state *state, const double proposal[SF_D], double g,
                           const double s[SF_D], sf_info *info)
{
    if (!sf_all_finite(proposal)) {
        return SF_NOT_FINITE;
    }
    sf_region region;
    const int status = sf_see(&region, &state->seen, state->x, g, s);
    if (status != SF_OK) {
        return status;
    }
    double v[SF_D], next[SF_D];
    sf_minus(v, proposal, state->x);
    if (!(sf_dot(v, v) < HUGE_VAL)) {
        return SF_RANGE;
    }
    /* A far point loses digits in the first projection; the second starts where they are not. */
    sf_copy(next, proposal);
    int good = sf_bound_at(&region, next) <= 0;
    for (int tries = 0; tries < 3 && !good; tries++) {
        sf_onto_ball(v, &region);
        sf_along(next, state->x, 1.0, v);
        good = sf_bound_at(&region, next) <= 0;
        sf_minus(v, next, state->x);
    }
    if (!good) {
        sf_copy(next, state->x); /* staying is certain */
    }
    if (info) {
        info->bound = sf_bound(&region, next);
        info->cut = sf_differ(next, proposal);
        info->alarms = sf_alarms_of(&state->seen, &region);
    }
    sf_remember(&state->seen, &region);
    sf_copy(state->x, next);
    return SF_OK;
}
