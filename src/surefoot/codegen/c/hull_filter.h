/* What the next round needs. x is the action to play; the rest is not for writing. */
typedef struct {
    double x[SF_D];
    sf_memory seen;
    double limit; /* g of x is certified to be at most this */
} sf_state;

/* Start at x1, strictly feasible: its slack comes with the first step. */
static inline int sf_init(sf_state *state, const double x1[SF_D])
{
    if (!sf_all_finite(x1)) {
        return SF_NOT_FINITE;
    }
    const sf_state zero = {{0}, {0, {0}, 0, 0, {0}, 0}, 0};
    *state = zero;
    sf_copy(state->x, x1);
    return SF_OK;
}

/* Start from another action than state->x: the one that the actuator took instead. */
static inline int sf_moved(sf_state *state, const double x[SF_D])
{
    if (!sf_all_finite(x)) {
        return SF_NOT_FINITE;
    }
    if (state->seen.rounds == 0) {
        return sf_init(state, x);
    }
    const sf_region region = sf_region_of(&state->seen);
    sf_bound(&state->seen, &region, x, &state->limit);
    sf_copy(state->x, x);
    return SF_OK;
}

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
