/* Gradient descent with steps that the region certifies: surefoot.algorithms.descent.
 *
 * Learner: the sum of the squared norms of the gradients, and 1/eta of the last step. */

enum { SF_SQUARES, SF_INVERSE_ETA, SF_DESCENT_NUMBERS };

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
    if (!(squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    const double squares = learner[SF_SQUARES] + squared;
    double inverse = sqrt(squares) / rule->scale;
    if (rule->eta > 0) {
        inverse = squares > 0 ? 1 / rule->eta : 0.0;
    }
    inverse = sf_max(inverse, moves ? size / region->longest : 0.0);
    inverse = rule->ratchet ? sf_max(inverse, learner[SF_INVERSE_ETA]) : inverse;
    const double eta = 1.0 / (moves && inverse > 1e-300 ? inverse : HUGE_VAL);
    sf_along(wanted, x, -eta, grad, d);
    learner[SF_SQUARES] = squares;
    learner[SF_INVERSE_ETA] = inverse;
    info->note[0] = size;
    info->note[1] = inverse;
    info->note[2] = moves;
    return sf_cut(region, found, wanted, work);
}

/* Dual averaging: surefoot.algorithms.certified_dual_averaging.
 *
 * Learner: the two numbers of a descent, the first action, the sum of the gradients less what was
 * pruned. */

static inline size_t sf_averaging_learner(int d)
{
    return SF_DESCENT_NUMBERS + 2 * (size_t)d;
}

static inline int sf_propose_averaging(const sf_region *region, double *learner, const double *x,
                                       const sf_feedback *seen, sf_found *found, double *wanted,
                                       sf_info *info, sf_work *work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const double *start = learner + SF_DESCENT_NUMBERS, last = learner[SF_INVERSE_ETA];
    double *gradients = learner + SF_DESCENT_NUMBERS + d;
    double *kept = sf_take(work, d), *way = sf_take(work, d);
    const double squared = seen->gradient ? sf_dot(seen->gradient, seen->gradient, d) : 0.0;
    if (!(squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    for (int i = 0; i < d; i++) {
        kept[i] = start[i] - gradients[i] / (last > 0 ? last : HUGE_VAL) - x[i];
    }
    info->kept = kept;
    if (seen->gradient) {
        sf_along(gradients, gradients, 1.0, seen->gradient, d);
    }
    learner[SF_SQUARES] += squared;
    double inverse = sqrt(learner[SF_SQUARES]) / rule->scale;
    if (rule->eta > 0) {
        inverse = learner[SF_SQUARES] > 0 ? 1 / rule->eta : 0.0;
    }
    for (int i = 0; i < d; i++) {
        wanted[i] = start[i] - gradients[i] / (inverse > 0 ? inverse : HUGE_VAL);
    }
    const int status = sf_find(region, found, wanted, 0, *work);
    double share = 0.0;
    if (status == SF_OK && rule->far > 0) {
        sf_minus(way, wanted, found->point, d);
        const double length = sf_norm(way, d), limit = rule->far;
        share = length > limit ? sf_max(1.0 - limit / (length > 0 ? length : 1.0), 0.0) : 0.0;
        sf_along(gradients, gradients, share * inverse, way, d);
    }
    learner[SF_INVERSE_ETA] = inverse;
    info->note[0] = last;
    info->note[1] = inverse;
    info->note[2] = share;
    return status;
}
