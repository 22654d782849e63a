#include "certified_length.h"

/* What the next round needs. x is the action to play; the rest is not for writing. */
typedef struct {
    double x[SF_D];
    double start[SF_D];
    double rounds;
    double start_slack;
    double distance;
#ifdef SF_RATCHET /* a rule with steps of its own */
    double inverse_eta;
    double squares;
#endif
} sf_state;

/* Start at x1, strictly feasible: its slack comes with the first step. */
static inline int sf_init(sf_state *state, const double x1[SF_D])
{
    const int status = sf_start(x1);
    if (status != SF_OK) {
        return status;
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

/* End a round at y, which is taken away from x, cut by the half-space that the slope gives. */
static inline int sf_end_at(sf_state *state, const double *y, double taken, double size,
                            double inverse, const sf_length *length, double g, const double *s,
                            sf_info *info)
{
    double way[SF_D], next[SF_D];
    sf_minus(way, y, state->x);
    const double excess = g + sf_dot(s, way) + length->rho - SF_NOISE;
    const int status = sf_cut_and_project(next, y, excess, s, length, state->x);
    if (status != SF_OK) {
        return status;
    }
    const double distance = sf_next_distance(length, state->rounds, taken);
    if (isnan(distance)) {
        return SF_RANGE;
    }
    if (info) {
        info->bound = sf_bound(length, g, size, inverse);
        info->cut = length->max_step > 0 && excess > 0;
        info->alarms = sf_alarms_of(length, state->distance, g, s);
    }
    sf_copy(state->x, next);
    state->rounds += 1.0;
    state->start_slack = length->start_slack;
    state->distance = distance;
    return SF_OK;
}
