/* Start at x1, strictly feasible: its slack comes with the first step. */
static inline int sf_init(sf_state *state, const double x1[SF_D])
{
    if (!sf_all_finite(x1)) {
        return SF_NOT_FINITE;
    }
    if (!sf_in_ball(x1)) {
        return SF_START;
    }
    memset(state, 0, sizeof *state);
    sf_copy(state->x, x1);
    sf_copy(state->start, x1);
    return SF_OK;
}

/* Start from another action than state->x: the one that the actuator took instead. */
static inline int sf_moved(sf_state *state, const double x[SF_D])
{
    if (!sf_all_finite(x)) {
        return SF_NOT_FINITE;
    }
    if (state->rounds == 0) {
        return sf_init(state, x);
    }
    sf_copy(state->x, x);
    state->distance = HUGE_VAL; /* the next g bounds it afresh */
    return SF_OK;
}
