/* What the next round needs. x is the action to play; the rest is not for writing. */
typedef struct {
    double x[SF_D];
    sf_memory memory;
#ifdef SF_LEARNS
    sf_learner learner;
#endif
} sf_state;

/* Start at x1, strictly feasible: its slack comes with the first step. */
static inline int sf_init(sf_state *state, const double x1[SF_D])
{
    if (!sf_all_finite(x1)) {
        return SF_NOT_FINITE;
    }
#ifdef SF_RADIUS
    if (!sf_in_ball(x1)) {
        return SF_START;
    }
#endif
    memset(state, 0, sizeof *state);
    sf_copy(state->x, x1);
    sf_first_memory(&state->memory, x1);
#ifdef SF_LEARNS
    sf_first_learner(&state->learner, x1);
#endif
    return SF_OK;
}

/* Say that the actuator took another action than state->x; the next step starts from there. */
static inline int sf_move(sf_state *state, const double x[SF_D])
{
    if (!sf_all_finite(x)) {
        return SF_NOT_FINITE;
    }
    sf_copy(state->x, x);
    return SF_OK;
}

/*
 * A round: tell what was seen at state->x, and state->x is the next action.
 *
 * told: the cost gradient there; of a filter, the next action that somebody wants.
 * g, s: the value and one subgradient of the constraint there.
 * info: what the step knew; NULL if it is not wanted.
 */
static inline int sf_step(sf_state *state, const double told[SF_D], double g,
                          const double s[SF_D], sf_info *info)
{
    if (!sf_all_finite(told) || !isfinite(g) || !sf_all_finite(s)) {
        return SF_NOT_FINITE;
    }
    const double *x = state->x;
    sf_memory memory = state->memory;
    int status = SF_OK;
    if (sf_holds(x)) {
        status = sf_observe(&memory, &state->memory, x, g, s);
    } else if (memory.rounds == 0) {
        status = SF_START;
    } else {
        memory.rounds += 1.0; /* what was read outside of the ball is not used */
    }
    if (status != SF_OK) {
        return status;
    }
    const sf_region region = sf_region_of(&memory);
    double wish[SF_D], wanted[SF_D], next[SF_D];
#ifdef SF_LEARNS
    sf_learner learner = state->learner;
    status = sf_propose(&learner, &region, wish, wanted, x, told, g, s);
#else
    status = sf_propose(&region, wish, wanted, told);
#endif
    if (status == SF_OK) {
        status = sf_nearest(&region, next, wish); /* safety is this line */
    }
    if (status != SF_OK) {
        return status;
    }
    if (info) {
        info->bound = sf_bound_at(&region, next);
        info->cut = sf_differ(next, wanted);
        info->alarms = sf_alarms_of(&state->memory, x, g, s);
    }
    sf_copy(state->x, next);
    state->memory = memory;
#ifdef SF_LEARNS
    state->learner = learner;
#endif
    return SF_OK;
}
