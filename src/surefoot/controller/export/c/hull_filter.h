#include "hull.h"

/* What the next round needs. x is the action to play; the rest is not for writing. */
typedef struct {
    double x[SF_D];
    sf_memory seen;
    double limit; /* g of x is certified to be at most this */
} sf_state;

#include "start.h"

#include "moved_hull.h"

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
    if (!sf_all_finite(proposal) || !sf_all_finite(s)) {
        return SF_NOT_FINITE;
    }
    sf_memory seen;
    int status = sf_see(&seen, &state->seen, state->limit, state->x, g);
    if (status != SF_OK) {
        return status;
    }
    const sf_region region = sf_region_of(&seen);
    double next[SF_D];
    status = sf_nearest(&region, next, proposal);
    if (status != SF_OK) {
        return status;
    }
    double limit;
    const double bound = sf_bound(&seen, &region, next, &limit);
    if (info) {
        info->bound = bound;
        info->cut = sf_differ(next, proposal);
        info->alarms = sf_alarms_of(&state->seen, state->limit, state->x, g, s, sf_norm(s));
    }
    state->limit = limit;
    state->seen = seen;
    sf_copy(state->x, next);
    return SF_OK;
}
