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
