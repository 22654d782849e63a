/* Slopes from values at played actions, for a leader: surefoot.proposers.probing.
 *
 * Learner: the numbers and arrays below, then those of the leader. */

#define SF_NUMBERS_OF_PROBING(NUMBER, COUNT)                                                       \
    COUNT(SF_PROBES, "probes", d)       /* from the origin, the last to be played next */          \
    NUMBER(SF_ORIGIN_VALUE, "value")    /* g at the origin */                                      \
    NUMBER(SF_PROBE_LENGTH, "length")   /* how far a probe goes */
enum { SF_NUMBERS_OF_PROBING(SF_INDEX, SF_INDEX) SF_PROBING_NUMBERS };

#define SF_ARRAYS_OF_PROBING(ARRAY)                                                                \
    ARRAY(origin, "origin", 1, 1, d) /* what the probes differ from */                             \
    ARRAY(slopes, "slopes", 1, 1, d) /* the differences so far */

/* The part of a learner before the leader; 0 for a rule without probes. */
static inline size_t sf_probing_head(const sf_rule *rule)
{
    const size_t d = SF_DIM(rule);
    return rule->proposer == SF_PROBING ? SF_PROBING_NUMBERS SF_ARRAYS_OF_PROBING(SF_SIZE) : 0;
}

/* Whether a rule has leaders: with probes or without. */
static inline int sf_leads(const sf_rule *rule)
{
    return rule->proposer == SF_LEADER || rule->proposer == SF_PROBING;
}

/* Whether the counts in a block fit. */
static inline int sf_probing_fits(const sf_rule *rule, const double *block)
{
    const int d = SF_DIM(rule);
    return 1 SF_NUMBERS_OF_PROBING(SF_FITS_NUMBER, SF_FITS_COUNT);
}

typedef struct {
    double *numbers, *origin, *slopes;
} sf_probing;

static inline sf_probing sf_probing_at(const sf_rule *rule, const double *block)
{
    const int d = SF_DIM(rule);
    sf_probing probing, *parts = &probing;
    double *next = (double *)block + SF_PROBING_NUMBERS;
    SF_ARRAYS_OF_PROBING(SF_PLACE)
    probing.numbers = (double *)block;
    return probing;
}

static inline void sf_init_probing(const sf_rule *rule, double *block, const double *x1)
{
    sf_fill(block, 0.0, (int)sf_probing_head(rule));
    sf_copy(sf_probing_at(rule, block).origin, x1, SF_DIM(rule));
}

/* How far a probe goes: further where values err, but never far. */
static inline double sf_probe_length(const sf_region *region)
{
    const double r = sf_max(region->radius, 0.0);
    const double noisy = SF_PROBE_ERRORS * region->errors.value / region->steepness;
    return sf_max(region->rule->probe * r, sf_min(noisy, SF_PROBE_MOST * r));
}

/* The variance of a difference by errors of values, over that by slopes. */
static inline double sf_noise_share(const sf_region *region, double length)
{
    const double share = region->errors.value / (length * region->steepness);
    return SF_DIM(region->rule) * (share * share) / SF_PROBE_VARIANCE;
}

/* Whether the leader is out of reach for a reason that no cut, but a probe tells. */
static inline int sf_doubts(const sf_region *region, const double *block, const double *x, double g,
                            sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const sf_leader leader = sf_leader_at(rule, block);
    double *X = sf_take(&work, d), *over = sf_take(&work, leader.count), r = region->radius;
    sf_minus(X, x, leader.start, d);
    if (!(r > 0.0 && r < rule->near * region->depth && sf_distance(leader.Z, X, d) > r)) {
        return 0;
    }
    if (sf_noise_share(region, sf_probe_length(region)) > SF_PROBE_NOISE) {
        return 0;
    }
    sf_rows_dot(over, &leader, X, d);
    for (int k = 0; k < leader.count; k++) {
        over[k] = (over[k] - leader.offsets[k]) / leader.inverses[k];
    }
    const double explained = sf_largest(over, leader.count, -HUGE_VAL);
    const double start = SF_NEGLIGIBLE * -leader.numbers[SF_START_VALUE];
    const double both = 2 * region->errors.value, negligible = start + both;
    const double slack = rule->doubt * -g;
    return g - explained > slack + negligible;
}

/* A round of the leader with the slope that probes have found, and its wish or the next probe. */
static inline int sf_propose_probing(const sf_region *region, double *block, const double *x,
                                     const sf_feedback *seen, double *wish, double *wanted,
                                     sf_undo *undo, sf_info *info, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const sf_probing probing = sf_probing_at(rule, block);
    double *numbers = probing.numbers, *slopes = probing.slopes, *leader = block + sf_probing_head(rule);
    double *s = sf_take(&work, d);
    const int k = seen->g ? (int)numbers[SF_PROBES] : 0;
    const double length = numbers[SF_PROBE_LENGTH], steep = region->steepness;
    sf_feedback estimate = *seen;
    estimate.s = NULL;
    numbers[SF_PROBES] = 0.0;
    if (k > 0) { /* the probe that was just played, if it was not moved */
        sf_minus(s, x, probing.origin, d);
        const double way = s[k - 1];
        s[k - 1] = way - length;
        if (sf_norm(s, d) < SF_PROBE_MISS * length) {
            const double difference = (*seen->g - numbers[SF_ORIGIN_VALUE]) / way;
            slopes[k - 1] = fabs(difference) < HUGE_VAL ? difference : slopes[k - 1];
        }
        if (k == d) { /* the best linear estimate from differences with errors */
            const double rho = sf_noise_share(region, length);
            const double every = (1.0 + rho) + d * rho;
            double sum = 0.0;
            for (int i = 0; i < d; i++) {
                sum += slopes[i];
            }
            const double common = rho / every * sum;
            for (int i = 0; i < d; i++) {
                s[i] = (slopes[i] - common) / (1.0 + rho);
            }
            const double size = sf_norm(s, d);
            if (size > 0.0 && size < HUGE_VAL) {
                sf_scale(s, sf_min(steep / size, 1.0), s, d);
                estimate.s = s;
            }
        }
    }
    const int status = sf_propose_leader(region, leader, x, &estimate, wish, wanted, undo, info, work);
    if (status != SF_OK || !seen->g) {
        return status;
    }
    if (k == 0 && sf_doubts(region, leader, x, *seen->g, work)) {
        sf_copy(probing.origin, x, d);
        numbers[SF_ORIGIN_VALUE] = *seen->g;
        numbers[SF_PROBE_LENGTH] = sf_probe_length(region);
        numbers[SF_PROBES] = 1.0;
    } else if (k > 0 && k < d) {
        numbers[SF_PROBES] = k + 1.0;
    }
    if (numbers[SF_PROBES] > 0.0) {
        sf_copy(wish, probing.origin, d);
        wish[k] += numbers[SF_PROBE_LENGTH];
    }
    return SF_OK;
}
