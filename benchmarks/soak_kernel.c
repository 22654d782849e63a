/* A long attack on the kernel: not one action may violate its constraint, compared exactly.
 *
 * The constraint is the largest of some rows beta |x|^2 / 2 + a'x - b: random polytopes with rows of
 * length 1 (G_g = 1), bowls of known smoothness, or several bowls and half-spaces that are read
 * separately. Gradients and proposals push out of the feasible set, by any length, along a face, or
 * anywhere. Readings are exact, or err by as much as the rule was given; rows drift by as much as it
 * was given, or not at all; some rules have a box as their domain. The rule with the fewest rounds
 * has the next turn, so that all rules have the same share.
 *
 * Prints progress every ten seconds, then one line per rule: rounds, share, violations, nearest g.
 * The status is 1 after a violation, a false alarm, an action without a certificate or a rejected
 * round. The first argument is the number of rounds. The second is the negative control: rules are
 * given this share of G_g, of the smoothness constants and of the drift. Then the status is 1 if
 * some rule did not violate.
 *
 *     cc -O2 -std=c99 -ffp-contract=off -Isrc/surefoot/kernel/c benchmarks/soak_kernel.c -lm */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "surefoot.h"

#define MOST_DIMENSIONS 8
#define MOST_ROWS 40
#define ROUNDS_OF_ONE_LIMIT 300
#define SIZE 12.0 /* no term of a row is larger at a feasible point */

static const struct {
    const char *name;
    int proposer, knowledge;
} RULES[] = {
    {"LeaderFollower", SF_LEADER, SF_HULL},
    {"CertifiedPFS", SF_DESCENT, SF_LENGTH},
    {"SafetyFilter", SF_PROPOSALS, SF_LENGTH},
    {"RegionFilter, LipschitzHull", SF_PROPOSALS, SF_HULL},
    {"RegionFilter, Curvature", SF_PROPOSALS, SF_CURVATURE},
    {"RegionFilter, CurvatureRows", SF_PROPOSALS, SF_ROWS},
    {"Certified, Descent and LipschitzHull", SF_DESCENT, SF_HULL},
    {"CertifiedOGD, Curvature", SF_DESCENT, SF_CURVATURE},
    {"CertifiedOGD, CurvatureRows", SF_DESCENT, SF_ROWS},
    {"CertifiedDualAveraging, Curvature", SF_AVERAGING, SF_CURVATURE},
    {"CertifiedDualAveraging, CurvatureRows", SF_AVERAGING, SF_ROWS},
};
#define COUNT ((int)(sizeof RULES / sizeof *RULES))

/* What came of the attacks on one rule. */
typedef struct {
    double rounds, violations, nearest, failures, ended;
} tally;

/* A constraint: the largest row, and what drift has added to all of them. */
typedef struct {
    int d, m;
    double a[MOST_ROWS][MOST_DIMENSIONS], b[MOST_ROWS], beta[MOST_ROWS];
    double depth, drift, shift;
    int rises;
} limit;

static unsigned long long seed = 88172645463325252ull;
static double share = 1.0; /* of the constants that rules are given */

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

/* Draw a limit that is negative at 0, all of whose feasible points are within 3 of it. */
static void draw_limit(limit *g, int knowledge)
{
    const int flat = knowledge == SF_HULL || knowledge == SF_LENGTH;
    memset(g, 0, sizeof *g);
    g->d = 1 + (int)(MOST_DIMENSIONS * uniform());
    g->m = flat ? g->d + 1 + (int)(3 * g->d * uniform()) : 1;
    g->m = knowledge == SF_ROWS ? 1 + (int)(6 * uniform()) : g->m;
    g->depth = HUGE_VAL;
    for (int i = 0; i < g->m; i++) {
        g->b[i] = uniform() < 0.2 ? 1e-6 : 0.05 + uniform();
        g->depth = sf_min(g->depth, g->b[i]);
        g->beta[i] = flat || (i > 0 && uniform() < 0.5) ? 0.0 : 0.5 + uniform();
        if (flat || i > 0) { /* the first of several rows is a bowl around 0 */
            direction(g->a[i], g->d);
        }
    }
    g->drift = uniform() < 0.3 ? g->depth * pow(10.0, -1.5 - 3.0 * uniform()) : 0.0;
    g->rises = 1;
}

/* Compute a row and its slope. */
static double evaluate_row(const limit *g, int i, const double *x, double *s)
{
    for (int j = 0; j < g->d; j++) {
        s[j] = g->a[i][j] + g->beta[i] * x[j];
    }
    const double bowl = 0.5 * g->beta[i] * sf_dot(x, x, g->d);
    return bowl + sf_dot(g->a[i], x, g->d) - g->b[i] + g->shift;
}

/* Compute all rows and their slopes, and return which is largest; a polytope has a cone, too. */
static int evaluate(const limit *g, int cone, const double *x, double *values, double *slopes)
{
    const int d = g->d;
    int largest = 0;
    for (int i = 0; i < g->m; i++) {
        values[i] = evaluate_row(g, i, x, slopes + i * d);
        largest = values[i] > values[largest] ? i : largest;
    }
    const double far = sf_norm(x, d), outer = far - 2.5 + g->shift;
    if (cone && outer > values[largest]) {
        values[largest] = outer;
        for (int j = 0; j < d; j++) {
            slopes[largest * d + j] = x[j] / far;
        }
    }
    return largest;
}

/* Let all rows rise or fall by the drift; half of the slack at 0 always stays. */
static void drift(limit *g)
{
    g->rises = uniform() < 0.05 ? !g->rises : g->rises;
    const double way = (g->rises ? 1.0 : -1.0) * g->drift * (1.0 - 0x1p-50);
    g->shift = sf_min(sf_max(g->shift + way, 0.0), 0.5 * g->depth);
}

/* The numbers that a rule points to. */
typedef struct {
    double lower[MOST_DIMENSIONS], upper[MOST_DIMENSIONS], beta[MOST_ROWS];
} numbers;

/* Draw the parameters of a rule for a limit. */
static sf_rule draw_rule(const limit *g, int which, numbers *kept)
{
    double *lower = kept->lower, *upper = kept->upper;
    for (int i = 0; i < g->m; i++) {
        kept->beta[i] = share * g->beta[i];
    }
    sf_rule rule;
    memset(&rule, 0, sizeof rule);
    rule.proposer = RULES[which].proposer, rule.knowledge = RULES[which].knowledge;
    const int d = g->d, bowls = rule.knowledge == SF_CURVATURE, rows = rule.knowledge == SF_ROWS;
    rule.d = d, rule.rows = rows ? g->m : 1, rule.beta = kept->beta;
    rule.cuts = 2 + (int)(20 * uniform()), rule.G_g = share * (1.0 + 0x1p-50);
    rule.domain = bowls || rows ? SF_ANYWHERE : SF_BALL;
    rule.reach = rule.radius = rule.around = 3.0, rule.diameter = 6.0;
    rule.inner = 3.0 * (1.0 - (d + 8) * 0x1p-53);
    if (!bowls && uniform() < 0.3) {
        rule.domain = SF_BOX, rule.lower = lower, rule.upper = upper;
        double most[MOST_DIMENSIONS], side[MOST_DIMENSIONS];
        for (int j = 0; j < d; j++) {
            lower[j] = -0.05 - uniform(), upper[j] = 0.05 + uniform();
            most[j] = sf_max(-lower[j], upper[j]), side[j] = upper[j] - lower[j];
        }
        rule.around = sf_norm(most, d) * (1 + 0x1p-48);
        rule.diameter = sf_norm(side, d) * (1 + 0x1p-48);
    }
    rule.rho = pow(10.0, -6.0 * uniform()), rule.decreasing = uniform() < 0.5;
    rule.scale = 4.0, rule.eta = uniform() < 0.5 ? 1e6 : 0.0, rule.as_steps = uniform() < 0.5;
    rule.points = uniform() < 0.5 ? 1 : SF_LEADERS, rule.far = rule.points > 1 ? 0.9 : 0.0;
    rule.value_error = uniform() < 0.3 ? 0.1 * g->depth * uniform() : 0.0;
    rule.slope_error = !bowls && uniform() < 0.2 ? pow(10.0, -2.0 - 3.0 * uniform()) : 0.0;
    rule.drift = share * g->drift, rule.evaluation_error = (d + 8) * 0x1p-53 * SIZE;
    return rule;
}

/* Add errors, as large as the rule was given: mostly the value is too small. */
static void read_with_errors(const sf_rule *rule, int m, double *values, double *slopes)
{
    double away[MOST_DIMENSIONS];
    for (int i = 0; i < m; i++) {
        const double sign = uniform() < 0.7 ? -1.0 : 2.0 * uniform() - 1.0;
        values[i] += rule->value_error * (1.0 - 0x1p-50) * sign;
        if (rule->slope_error > 0) {
            direction(away, rule->d);
            sf_along(slopes + i * rule->d, slopes + i * rule->d,
                     rule->slope_error * (1.0 - 0x1p-48), away, rule->d);
        }
    }
}

/* Where the adversary pushes to: out along the slope, along a face, or anywhere, by any length. */
static void push(double *way, const double *s, int d)
{
    const double some = uniform(), length = pow(10.0, 8.0 * uniform() - 4.0);
    direction(way, d);
    for (int j = 0; j < d; j++) {
        const double part = some < 0.5 ? s[j] : some < 0.8 ? way[j] : s[j] + 0.1 * way[j];
        way[j] = length * part;
    }
}

/* Tell the rule of one round; 0 where the attack ends. */
static int step(const sf_rule *rule, const limit *g, double *state, double *values, double *slopes,
                int largest, double *work, tally *sums)
{
    const int d = g->d, all = rule->knowledge == SF_ROWS, filters = rule->proposer == SF_PROPOSALS;
    double way[MOST_DIMENSIONS], wanted[MOST_DIMENSIONS];
    push(way, slopes + largest * d, d);
    for (int j = 0; j < d; j++) {
        wanted[j] = filters ? state[j] + way[j] : -way[j];
    }
    const int first = all ? 0 : largest;
    read_with_errors(rule, all ? g->m : 1, values + first, slopes + first * d);
    sf_feedback seen = {0};
    sf_info info = {0};
    seen.g = values + first, seen.s = slopes + first * d;
    seen.gradient = filters ? NULL : wanted, seen.proposal = filters ? wanted : NULL;
    const int status = sf_step(rule, state, &seen, work, &info);
    const int inexact = rule->drift > 0 || rule->value_error > 0 || rule->slope_error > 0;
    if (status == SF_START || (status == SF_EMPTY && (inexact || share < 1.0))) {
        sums->ended += 1;
        return 0;
    }
    if (status != SF_OK || (info.alarms && share == 1.0) || !(info.bound <= 0.0)) {
        printf("FAILED: status %d, alarms %u, bound %g: proposer %d, knowledge %d, d = %d\n",
               status, info.alarms, info.bound, rule->proposer, rule->knowledge, d);
        sums->failures += 1;
        return 0;
    }
    return 1;
}

/* Play one limit with one rule. */
static void attack(int which, tally *sums)
{
    limit g;
    numbers kept;
    double start[MOST_DIMENSIONS] = {0.0};
    double values[MOST_ROWS], slopes[MOST_ROWS * MOST_DIMENSIONS];
    draw_limit(&g, RULES[which].knowledge);
    const sf_rule rule = draw_rule(&g, which, &kept);
    const int cone = rule.knowledge == SF_HULL || rule.knowledge == SF_LENGTH;
    double *state = calloc(sf_state_size(&rule), sizeof(double));
    double *work = malloc(sf_scratch_size(&rule) * sizeof(double));
    if (!state || !work || sf_init(&rule, state, start) != SF_OK) {
        printf("FAILED: a rule did not begin: %s\n", RULES[which].name);
        sums->failures += 1;
    }
    for (int t = 0; t < ROUNDS_OF_ONE_LIMIT && sums->failures == 0; t++) {
        const int largest = evaluate(&g, cone, state, values, slopes);
        const double most = values[largest];
        sums->rounds += 1;
        sums->nearest = sf_max(sums->nearest, most);
        if (!(most <= 0.0) || !sf_in_domain(&rule, state)) {
            if (share == 1.0) {
                printf("VIOLATED: g = %g in round %d of %s, d = %d\n", most, t + 1,
                       RULES[which].name, g.d);
            }
            sums->violations += 1;
            break;
        }
        if (!step(&rule, &g, state, values, slopes, largest, work, sums)) {
            break;
        }
        drift(&g);
    }
    free(state), free(work);
}

int main(int count, char **words)
{
    const double wanted = count > 1 ? atof(words[1]) : 1e7;
    const time_t began = time(NULL);
    time_t said = began;
    tally sums[COUNT];
    double rounds = 0.0, violations = 0.0, failures = 0.0, nearest = -HUGE_VAL;
    share = count > 2 ? atof(words[2]) : 1.0;
    if (!(wanted >= 1.0 && wanted < 0x1p53) || !(share > 0.0 && share <= 1.0)) {
        fprintf(stderr, "rounds must be at least 1, and the share in (0, 1]\n");
        return 2;
    }
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < COUNT; i++) {
        sums[i].nearest = -HUGE_VAL;
    }
    while (rounds < wanted && failures == 0) {
        int which = 0;
        for (int i = 1; i < COUNT; i++) {
            which = sums[i].rounds < sums[which].rounds ? i : which;
        }
        const double before = sums[which].rounds, lost = sums[which].violations;
        attack(which, &sums[which]);
        rounds += sums[which].rounds - before;
        violations += sums[which].violations - lost;
        failures += sums[which].failures;
        nearest = sf_max(nearest, sums[which].nearest);
        if (time(NULL) >= said + 10) {
            said = time(NULL);
            fprintf(stderr, "%.0f of %.0f rounds in %.0f s, %.0f violations, nearest g = %.3g\n",
                    rounds, wanted, difftime(said, began), violations, nearest);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        printf("%s: %.0f rounds (%.1f %%), %.0f violations, nearest g = %.3g\n", RULES[i].name,
               sums[i].rounds, 100.0 * sums[i].rounds / rounds, sums[i].violations,
               sums[i].nearest);
    }
    double ended = 0.0;
    int found = 0;
    for (int i = 0; i < COUNT; i++) {
        ended += sums[i].ended;
        found += sums[i].violations > 0;
    }
    printf("%.0f rounds in %.0f s, %.0f violations; %.0f limits ended early: start rejected, or "
           "nothing certified under errors\n",
           rounds, difftime(time(NULL), began), violations, ended);
    return share < 1.0 ? found < COUNT : violations > 0 || failures > 0;
}
