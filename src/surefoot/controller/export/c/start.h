/* Start at x1, strictly feasible: its slack comes with the first step. */
static inline int sf_init(sf_state *state, const double x1[SF_D])
{
    if (!sf_all_finite(x1)) {
        return SF_NOT_FINITE;
    }
    memset(state, 0, sizeof *state);
    sf_copy(state->x, x1);
    return SF_OK;
}
