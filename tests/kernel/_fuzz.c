/* Rules, starts, states and feedback of any kind: a status, never undefined behaviour; built with
 * ASan and UBSan. Some states are forged: any of their numbers is another, counts among them. Blocks are exactly as long as the text says. A refused call changes nothing. And whole games
 * of any parts, whose numbers may be any. */
#include <stdio.h>
#include <stdlib.h>

#include "games.h"

static unsigned long long seed = 88172645463325252ull;

static unsigned any(unsigned n)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (unsigned)((seed >> 11) % n);
}

static double number(int wild)
{
    static const double odd[] = {0.0, -0.0, 1e-320, 1e-200, -1e-9, 1e160, -1e200, 1.7e308,
                                 NAN, HUGE_VAL, -HUGE_VAL, 4.9e-324, 1.0, -1.0};
    return any(100) < (unsigned)wild ? odd[any(14)] : (any(200001) - 100000.0) / 100000.0;
}

static double *vector(int n, int wild)
{
    double *made = malloc((size_t)n * sizeof(double) + 1);
    for (int i = 0; i < n; i++) {
        made[i] = number(wild);
    }
    return made;
}

/* Let some numbers of a state be others, those of a leader's cuts and of its probes above all. */
static void forge(const sf_rule *rule, double *state, size_t size)
{
    const size_t learner = (size_t)rule->d + sf_memory_size(rule);
    const size_t cuts = learner + sf_probing_head(rule) + SF_COUNT, probes = learner + SF_PROBES;
    static const double odd[] = {0.5, -1.0, 2.0, 7.0, 1e9, 4294967298.0, -1e300, 1e308,
                                 NAN, HUGE_VAL, -HUGE_VAL, 0.0, 1e-320, 3.0};
    for (unsigned n = 1 + any(3); n > 0; n--) {
        const int counts = sf_leads(rule) && any(3) == 0;
        const size_t count = rule->proposer == SF_PROBING && any(2) ? probes : cuts;
        state[counts ? count : any((unsigned)size)] = odd[any(14)];
    }
}

static void play_a_game(void)
{
    enum { ROUNDS = 12 };
    sf_game game;
    sf_player player;
    sf_record out;
    int64_t kept[] = {0, 5, ROUNDS - 1};
    memset(&game, 0, sizeof game), memset(&player, 0, sizeof player), memset(&out, 0, sizeof out);
    const int d = game.d = 1 + (int)any(5), wild = any(3) ? 0 : 8;
    game.cost = (int)any(2), game.constraint = (int)any(5), game.rule = 1 + (int)any(SF_LBSGD);
    const int affine = game.constraint == SF_AFFINE, m = game.m = affine ? 1 + (int)any(5) : 1;
    game.curvature = 1.0, game.radius = 0.5, game.faces = 1 + (int)any(4);
    double *matrix = vector((affine ? m : d) * d, wild), *b = vector(affine ? m : d, wild);
    double *gauge = vector(game.faces * d, wild), *lower = vector(d, 0), *upper = vector(d, 0);
    for (int i = 0; i < d; i++) {
        lower[i] = -0.1 - fabs(lower[i]), upper[i] = 0.1 + fabs(upper[i]);
    }
    game.matrix = matrix, game.vector = b, game.gauge = gauge;
    player.rule.d = d, player.rule.lower = lower, player.rule.upper = upper;
    player.rule.domain = game.rule == SF_FRANK_WOLFE ? 1 + (int)any(2) : (int)any(3);
    player.rule.radius = 1.0, player.rule.inner = 1.0 - 1e-14;
    player.rule.centre = any(2) ? NULL : upper, player.tightening = number(wild);
    for (int i = 0; i < SF_NUMBERS; i++) {
        player.numbers[i] = i == 1 && any(2) ? any(50) : fabs(number(wild));
    }
    const size_t size = sf_player_state(&game, &player);
    double *state = vector((int)size, wild), *costs = vector(ROUNDS * d, wild);
    double *work = malloc(8 * sf_play_scratch(&game, NULL)), *rows = vector(m, 0);
    double *numbers = vector(4 * ROUNDS, 0), *actions = vector(3 * d, 0);
    out.cost = numbers, out.g = numbers + ROUNDS, out.rows = any(2) ? rows : NULL;
    out.gradient = any(2) ? numbers + 2 * ROUNDS : NULL, out.slope = numbers + 3 * ROUNDS;
    out.actions = any(2) ? actions : NULL, out.kept = kept, out.keeps = 3;
    sf_play_rounds(&game, &player, state, costs, (size_t)d, ROUNDS, &out, work);
    free(matrix), free(b), free(gauge), free(lower), free(upper), free(state), free(costs);
    free(work), free(rows), free(numbers), free(actions);
}

int main(int count, char **words)
{
    long rounds = count > 1 ? atol(words[1]) : 20000, played = 0, refused = 0, counted = 0;
    while (played + refused < rounds) {
        sf_rule rule;
        play_a_game();
        memset(&rule, 0, sizeof rule);
        const int d = rule.d = 1 + (int)any(11), wild = any(3) ? 0 : 8, forges = any(3) == 0;
        rule.cuts = 2 + (int)any(5);
        rule.proposer = (int)any(6) - (any(40) == 0);
        rule.knowledge = rule.proposer == SF_PROBING && any(9) ? SF_HULL : (int)any(5);
        const int m = rule.rows = rule.knowledge == SF_ROWS ? 1 + (int)any(6) : 1 + (any(30) == 0);
        rule.domain = (int)any(3);
        rule.decreasing = (int)any(2), rule.ratchet = (int)any(2), rule.as_steps = (int)any(2);
        rule.G_g = 0.5 + fabs(number(wild)), rule.reach = 1 + fabs(number(wild));
        rule.rho = 0.01 + fabs(number(0)), rule.sigma = any(2) ? 0.0 : fabs(number(wild));
        rule.radius = rule.around = 1.5, rule.inner = 1.5 - 1e-14, rule.diameter = 3.0;
        rule.scale = 1.0, rule.points = any(2) ? 1 : SF_LEADERS;
        rule.strong_convexity = any(3) ? 0.0 : 1.0;
        rule.eta = any(2) ? 0.0 : 0.1, rule.far = any(2) ? 0.0 : 0.3;
        rule.value_error = any(2) ? 0.0 : 0.01, rule.slope_error = any(4) ? 0.0 : 0.02;
        rule.slope_error = any(9) ? rule.slope_error : HUGE_VAL;
        const int probes = rule.proposer == SF_PROBING;
        rule.slope_error = probes && any(9) ? HUGE_VAL : rule.slope_error;
        rule.probe = 0.01 + 0.4 * fabs(number(0)), rule.doubt = fabs(number(0));
        rule.near = 0.5 + fabs(number(0));
        rule.drift = any(2) ? 0.0 : 0.001, rule.evaluation_error = any(2) ? 0.0 : 1e-9;
        double *beta = vector(m, 0), *lower = vector(d, 0), *upper = vector(d, 0);
        for (int i = 0; i < d; i++) {
            lower[i] = -0.1 - fabs(lower[i]), upper[i] = 0.1 + fabs(upper[i]);
        }
        for (int i = 0; i < m; i++) {
            beta[i] = fabs(beta[i]);
        }
        rule.beta = any(9) ? beta : NULL;
        rule.lower = any(9) ? lower : NULL, rule.upper = upper;
        rule.centre = any(2) ? NULL : upper, rule.middle = rule.centre;
        const size_t size = sf_state_size(&rule), scratch = sf_scratch_size(&rule);
        double *state = calloc(size + 1, 8), *before = malloc(size * 8 + 8);
        double *work = malloc(scratch * 8 + 1), *x1 = vector(d, wild);
        for (int i = 0; i < d; i++) {
            x1[i] = 0.05 * x1[i] + (rule.centre && rule.domain == SF_BALL ? upper[i] : 0.0);
        }
        int status = size ? sf_init(&rule, state, x1) : SF_ELSEWHERE;
        for (int t = 0; t < 60 && status == SF_OK; t++) {
            sf_feedback seen = {0};
            sf_info info;
            double *g = vector(m, wild), *s = vector(m * d, wild), *grad = vector(d, wild);
            double *wish = vector(d, wild), *at = vector(d, wild), error = fabs(number(wild));
            for (int i = 0; i < m; i++) {
                g[i] = t ? g[i] : -0.4 - fabs(g[i]);
            }
            seen.g = any(9) ? g : NULL, seen.s = any(9) && (!probes || !any(99)) ? s : NULL;
            seen.gradient = any(5) ? grad : NULL, seen.proposal = any(5) ? wish : NULL;
            seen.action = any(5) ? NULL : at, seen.age = any(9) ? 0.0 : any(5);
            seen.value_error = any(5) ? NULL : &error;
            seen.slope_error = any(probes ? 99 : 9) ? NULL : &error;
            if (forges && any(4) == 0) {
                forge(&rule, state, size);
            }
            memcpy(before, state, size * 8);
            const int found = sf_step(&rule, state, &seen, work, any(9) ? &info : NULL);
            if (found != SF_OK && memcmp(before, state, size * 8) != 0) {
                size_t i = 0;
                for (; i < size && memcmp(before + i, state + i, 8) == 0; i++) {
                }
                printf("a refused round (%d) changed the state at %zu: %d %d %d\n", found, i,
                       rule.proposer, rule.knowledge, d);
                return 1;
            }
            if (found == SF_OK && !sf_all_finite(state, d)) {
                printf("an action that is not finite\n");
                return 1;
            }
            counted += found == SF_NO_STATE, played += found == SF_OK, refused += found != SF_OK;
            free(g), free(s), free(grad), free(wish), free(at);
        }
        refused += status != SF_OK;
        free(beta), free(lower), free(upper), free(state), free(before), free(work), free(x1);
    }
    printf("%ld played, %ld refused, %ld for a count\n", played, refused, counted);
    return played < rounds / 10 || !counted;
}
