#include "start.h"

/* Start from another action than state->x: the one that the actuator took instead. */
static inline int sf_moved(sf_state *state, const double x[SF_D])
{
    if (!sf_all_finite(x)) {
        return SF_NOT_FINITE;
    }
    if (state->seen.rounds == 0) {
        return sf_init(state, x);
    }
    sf_copy(state->x, x);
    return SF_OK;
}
