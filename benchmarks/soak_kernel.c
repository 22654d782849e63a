/* A long attack on the kernel: not one action may violate its constraint, compared exactly.
 *
 * Random polytopes with rows of length 1 (G_g = 1), and bowls with a known curvature; gradients and
 * wishes that want out, by any length, along a face, or anywhere. Readings are exact, or err by as
 * much as was told. Prints the rounds and the worst g; status 1 on a violation, or a refused round.
 *
 *     cc -O2 -std=c99 -ffp-contract=off -Isrc/surefoot/kernel/c benchmarks/soak_kernel.c -lm */
#include <stdio.h>
#include <stdlib.h>

#include "surefoot.h"

#define MOST 12

static unsigned long long seed = 88172645463325252ull;

static double uniform(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (double)(seed >> 11) * 0x1p-53;
}

static double normal(void)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        sum += uniform();
    }
    return sum;
}

static void direction(double *out, int d)
{
    for (int i = 0; i < d; i++) {
        out[i] = normal();
    }
    const double size = sf_norm(out, d);
    for (int i = 0; i < d; i++) {
        out[i] = size > 0 ? out[i] / size : i == 0;
    }
}

int main(int count, char **words)
{
    const double wanted = count > 1 ? atof(words[1]) : 1e7;
    double played = 0.0, worst = -HUGE_VAL, refused = 0.0;
    while (played < wanted) {
        const int d = 1 + (int)(8 * uniform()), m = d + 1 + (int)(3 * d * uniform());
        double A[4 * MOST][MOST], b[4 * MOST], x1[MOST] = {0.0}, beta = 0.5 + uniform();
        for (int i = 0; i < m; i++) {
            direction(A[i], d);
            b[i] = uniform() < 0.2 ? 1e-6 : 0.05 + uniform();
        }
        sf_rule rule;
        memset(&rule, 0, sizeof rule);
        rule.d = d, rule.rows = 1, rule.cuts = 2 + (int)(20 * uniform()), rule.G_g = 1.0;
        rule.proposer = (int)(4 * uniform());
        rule.knowledge = rule.proposer == SF_LEADER      ? SF_HULL
                         : rule.proposer == SF_AVERAGING ? SF_CURVATURE
                                                         : (int)(3 * uniform());
        const int curved = rule.knowledge == SF_CURVATURE;
        rule.domain = curved ? SF_ANYWHERE : SF_BALL;
        rule.reach = rule.radius = rule.around = 3.0, rule.diameter = 6.0;
        rule.inner = 3.0 * (1.0 - (d + 8) * 0x1p-53);
        rule.gradient_bound = uniform() < 0.2 ? 1e-3 : 0.0, rule.keep_start = 1;
        rule.rho = pow(10.0, -6.0 * uniform()), rule.decreasing = uniform() < 0.5;
        rule.scale = 4.0, rule.eta = uniform() < 0.5 ? 1e6 : 0.0, rule.as_steps = uniform() < 0.5;
        rule.beta = &beta, rule.points = uniform() < 0.5 ? 1 : SF_LEADERS;
        rule.far = rule.points > 1 ? 0.9 : 0.0;
        rule.value_error = uniform() < 0.3 ? 0.01 * uniform() : 0.0;
        double *state = calloc(sf_state_size(&rule), 8), *work = malloc(8 * sf_scratch_size(&rule));
        if (sf_init(&rule, state, x1) != SF_OK) {
            return 2;
        }
        for (int t = 0; t < 300; t++) {
            double g = curved ? 0.5 * beta * sf_dot(state, state, d) - b[0] : sf_norm(state, d) - 2.5;
            double s[MOST], told[MOST];
            sf_copy(s, state, d);
            for (int i = 0; i < d; i++) {
                s[i] = curved ? beta * s[i] : s[i] / sf_max(sf_norm(state, d), 1e-300);
            }
            for (int i = 0; i < m && !curved; i++) {
                const double row = sf_dot(A[i], state, d) - b[i];
                if (row > g) {
                    g = row;
                    sf_copy(s, A[i], d);
                }
            }
            worst = sf_max(worst, g);
            if (g > 0.0) {
                printf("outside: g = %g in round %d, proposer %d, knowledge %d, d = %d\n", g, t,
                       rule.proposer, rule.knowledge, d);
                return 1;
            }
            direction(told, d);
            const double part = uniform(), length = pow(10.0, 8.0 * uniform() - 4.0);
            const int filters = rule.proposer == SF_PROPOSALS;
            for (int i = 0; i < d; i++) {
                const double way = (part < 0.5 ? s[i] : part < 0.8 ? told[i] : s[i] + 0.1 * told[i]);
                told[i] = filters ? state[i] + length * way : -length * way;
            }
            const double read = g + rule.value_error * (2.0 * uniform() - 1.0);
            sf_feedback seen = {0};
            sf_info info;
            seen.g = t == 0 ? &g : &read, seen.s = s;
            seen.gradient = filters ? NULL : told, seen.proposal = filters ? told : NULL;
            const int status = sf_step(&rule, state, &seen, work, &info);
            if (status == SF_START) {
                break;
            }
            if (status != SF_OK || info.alarms || !(info.bound <= 0.0)) {
                printf("status %d, alarms %u, bound %g: proposer %d, knowledge %d\n", status,
                       info.alarms, info.bound, rule.proposer, rule.knowledge);
                refused += 1;
                if (status == SF_OK) {
                    return 1;
                }
            }
            played += 1;
        }
        free(state), free(work);
    }
    printf("%.0f rounds, %.0f refused, none outside; the worst g is %.3g\n", played, refused, worst);
    return 0;
}
