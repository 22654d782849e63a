/* Leader and follower of the playground: the kernel's own step, for WebAssembly.
 *
 * `make playground` compiles it into ../leader.js. One player at a time, in the plane.
 */
#define SF_D 2
#define SF_K 16
#include "surefoot.h"

static sf_rule rule;
static double state[1024], scratch[2048];

__attribute__((export_name("action"))) const double *action(void)
{
    return state;
}

/* Whether the player is ready: a ball around 0 that holds the feasible set, and a start in it. */
__attribute__((export_name("start"))) int start(double G_g, double radius, double value_error,
                                                double x, double y)
{
    const double x1[2] = {x, y};
    rule = (sf_rule){.d = SF_D, .cuts = SF_K, .rows = 1, .proposer = SF_LEADER,
                     .knowledge = SF_HULL, .domain = SF_BALL, .G_g = G_g, .reach = radius,
                     .value_error = value_error, .radius = radius, .around = radius,
                     .inner = radius * (1.0 - (SF_D + 8) * 0x1p-53), .diameter = 2 * radius};
    if (sf_state_size(&rule) > sizeof state / sizeof *state
        || sf_scratch_size(&rule) > sizeof scratch / sizeof *scratch) {
        return SF_RANGE;
    }
    return sf_init(&rule, state, x1);
}

/* The status of a round: the gradient of the cost, g and its slope at the action. */
__attribute__((export_name("step"))) int step(double across, double up, double g, double sx,
                                              double sy)
{
    const double gradient[2] = {across, up}, s[2] = {sx, sy};
    sf_feedback seen = {.gradient = gradient, .g = &g, .s = s};
    sf_info info;
    return sf_step(&rule, state, &seen, scratch, &info);
}
