/* Gradient descent with steps that the region certifies: surefoot.proposers.descent. */

#define SF_NUMBERS_OF_DESCENT(NUMBER)                                                              \
    NUMBER(SF_SQUARES, "squares")         /* the sum of the squared norms of the gradients */      \
    NUMBER(SF_INVERSE_ETA, "inverse_eta") /* 1/eta of the last step */
enum { SF_NUMBERS_OF_DESCENT(SF_INDEX) SF_DESCENT_NUMBERS };

/* Of info.note. */
#define SF_NOTE_OF_DESCENT(NUMBER)                                                                 \
    NUMBER(SF_DESCENT_SIZE, "size")           /* of the cost gradient */                           \
    NUMBER(SF_DESCENT_INVERSE, "inverse_eta") /* of the step */                                    \
    NUMBER(SF_DESCENT_MOVES, "moves")         /* 1 if the region leaves room for a step */
enum { SF_NOTE_OF_DESCENT(SF_INDEX) SF_DESCENT_NOTES };

/* Where a step to w is cut off. */
static inline int sf_cut(const sf_region *region, sf_found *found, const double *w, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    if (rule->knowledge >= SF_CURVATURE) {
        return sf_find(region, found, w, 1, work);
    }
    const int status = rule->knowledge == SF_HULL ? sf_nearest_hull(region, found->point, w, work)
                                                  : sf_cut_length(region, found->point, w, work);
    found->drawn = sf_distance(found->point, w, d);
    return status;
}

static inline int sf_propose_descent(const sf_region *region, double *learner, const double *x,
                                     const sf_feedback *seen, sf_found *found, double *wanted,
                                     sf_info *info, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), moves = region->longest > 0;
    const double *grad = seen->gradient;
    const double squared = sf_dot(grad, grad, d), size = sf_norm(grad, d);
    const double squares = learner[SF_SQUARES] + squared;
    if (!(squares < HUGE_VAL)) {
        return SF_RANGE;
    }
    double inverse = sqrt(squares) / rule->scale;
    if (rule->eta > 0) {
        inverse = squares > 0 ? 1 / rule->eta : 0.0;
    }
    inverse = sf_max(inverse, moves ? size / region->longest : 0.0);
    inverse = rule->ratchet ? sf_max(inverse, learner[SF_INVERSE_ETA]) : inverse;
    const double eta = 1.0 / (moves && inverse > SF_TINY ? inverse : HUGE_VAL);
    sf_along(wanted, x, -eta, grad, d);
    learner[SF_SQUARES] = squares;
    learner[SF_INVERSE_ETA] = inverse;
    info->note[SF_DESCENT_SIZE] = size;
    info->note[SF_DESCENT_INVERSE] = inverse;
    info->note[SF_DESCENT_MOVES] = moves;
    return sf_cut(region, found, wanted, work);
}

/* Dual averaging: surefoot.proposers.averaging.
 *
 * Learner: the numbers, of which two are those of a descent; the first action; of each far point the sum of the
 * gradients, less what was pruned, and its certified point; how far each is trusted. */

#define SF_NUMBERS_OF_AVERAGING(NUMBER)                                                            \
    NUMBER(SF_AVERAGING_SQUARES, "squares")                                                        \
    NUMBER(SF_AVERAGING_ETA, "inverse_eta")                                                        \
    NUMBER(SF_LARGEST_SAVING, "trust.largest") /* of a far point */
enum { SF_NUMBERS_OF_AVERAGING(SF_INDEX) SF_AVERAGING_NUMBERS };

#define SF_ARRAYS_OF_AVERAGING(ARRAY)                                                              \
    ARRAY(start, "start", 1, 1, d)                                                                 \
    ARRAY(gradients, "gradients", 2, n, d)                                                         \
    ARRAY(points, "points", 2, n, d)                                                               \
    SF_ARRAYS_OF_TRUST(ARRAY)

/* Of info.note. */
#define SF_NOTE_OF_AVERAGING(NUMBER)                                                               \
    NUMBER(SF_AVERAGING_BEFORE, "before")       /* 1/eta of the step before */                     \
    NUMBER(SF_AVERAGING_INVERSE, "inverse_eta") /* of the step */                                  \
    NUMBER(SF_AVERAGING_SHARE, "share")         /* of the way to the first far point, pruned */
enum { SF_NOTE_OF_AVERAGING(SF_INDEX) SF_AVERAGING_NOTES };

typedef struct {
    double *numbers, *start, *gradients, *points;
    sf_trust trust;
    int n;
} sf_averaging;

static inline size_t sf_averaging_learner(const sf_rule *rule)
{
    const size_t d = SF_DIM(rule), n = rule->points;
    return SF_AVERAGING_NUMBERS SF_ARRAYS_OF_AVERAGING(SF_SIZE);
}

static inline sf_averaging sf_averaging_at(const sf_rule *rule, double *block)
{
    const int d = SF_DIM(rule), n = rule->points;
    sf_averaging far, *parts = &far;
    double *next = block + SF_AVERAGING_NUMBERS;
    SF_ARRAYS_OF_AVERAGING(SF_PLACE)
    far.numbers = block;
    far.trust.n = n;
    far.trust.largest = block + SF_LARGEST_SAVING;
    far.n = n;
    return far;
}

static inline void sf_init_averaging(const sf_rule *rule, double *block, const double *x1)
{
    const int d = SF_DIM(rule);
    sf_fill(block, 0.0, (int)sf_averaging_learner(rule));
    const sf_averaging far = sf_averaging_at(rule, block);
    sf_copy(far.start, x1, d);
    for (int k = 0; k < far.n; k++) {
        sf_copy(far.points + (size_t)k * d, x1, d);
    }
    sf_init_trust(&far.trust);
}

/* The certified point nearest to a far point, which is pruned beyond a limit; the share of it. */
static inline int sf_find_far(const sf_region *region, sf_found *found, const double *wanted,
                              double *gradients, double inverse, double limit, double *share,
                              sf_work work)
{
    const int d = SF_DIM(region->rule), status = sf_find(region, found, wanted, 0, work);
    double *way = sf_take(&work, d);
    *share = 0.0;
    if (status == SF_OK && limit > 0) {
        sf_minus(way, wanted, found->point, d);
        const double length = sf_norm(way, d);
        *share = 1.0 - sf_min(limit / (length > 0 ? length : 1.0), 1.0);
        sf_along(gradients, gradients, *share * inverse, way, d);
    }
    return status;
}

static inline int sf_propose_averaging(const sf_region *region, double *learner,
                                       const sf_feedback *seen, double *wish, double *wanted,
                                       sf_found *first, sf_info *info, sf_work *work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), m = rule->rows;
    const sf_averaging far = sf_averaging_at(rule, learner);
    const double steps[SF_LEADERS] = SF_AVERAGING_STEPS, last = learner[SF_AVERAGING_ETA];
    double *kept = sf_take(work, d), *y = sf_take(work, d), *weights = sf_take(work, m);
    double losses[SF_LEADERS];
    const double *grad = seen->gradient;
    const double squared = grad ? sf_dot(grad, grad, d) : 0.0;
    if (!(learner[SF_AVERAGING_SQUARES] + squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    for (int i = 0; i < d; i++) {
        kept[i] = far.start[i] - far.gradients[i] / (last > 0 ? last : HUGE_VAL) - far.points[i];
    }
    for (int k = 0; k < far.n && grad; k++) {
        double *gradients = far.gradients + (size_t)k * d;
        losses[k] = sf_dot(far.points + (size_t)k * d, grad, d);
        sf_along(gradients, gradients, 1.0, grad, d);
    }
    if (far.n > 1 && grad) {
        sf_reweigh(&far.trust, losses, region->round);
    }
    learner[SF_AVERAGING_SQUARES] += squared;
    double inverse = sqrt(learner[SF_AVERAGING_SQUARES]) / rule->scale;
    if (rule->eta > 0) {
        inverse = learner[SF_AVERAGING_SQUARES] > 0 ? 1 / rule->eta : 0.0;
    }
    learner[SF_AVERAGING_ETA] = inverse;
    sf_fill(wish, 0.0, d);
    sf_fill(wanted, 0.0, d);
    for (int k = 0; k < far.n; k++) {
        double *gradients = far.gradients + (size_t)k * d, *point = far.points + (size_t)k * d;
        sf_found found = {point, k ? weights : first->weights, 0.0};
        double share;
        for (int i = 0; i < d; i++) {
            y[i] = far.start[i] - gradients[i] * steps[k] / (inverse > 0 ? inverse : HUGE_VAL);
        }
        /* Of several the first is never pruned. */
        const double limit = k > 0 || far.n == 1 ? rule->far : 0.0;
        const int status = sf_find_far(region, &found, y, gradients, inverse / steps[k], limit,
                                       &share, *work);
        if (status != SF_OK) {
            return status;
        }
        if (k == 0) {
            first->drawn = found.drawn;
            info->note[SF_AVERAGING_SHARE] = share;
        }
        sf_along(wanted, wanted, far.trust.weights[k], y, d);
        sf_along(wish, wish, far.trust.weights[k], point, d);
    }
    info->kept = kept;
    info->found = far.points;
    info->note[SF_AVERAGING_BEFORE] = last;
    info->note[SF_AVERAGING_INVERSE] = inverse;
    return SF_OK;
}
