/* Gradient descent with steps that the region certifies: surefoot.algorithms.descent.
 *
 * Learner: the sum of the squared norms of the gradients, and 1/eta of the last step. */

enum { SF_SQUARES, SF_INVERSE_ETA, SF_DESCENT_NUMBERS };

static inline int sf_cut(const sf_region *region, double *out, const double *w, sf_info *info,
                         sf_work work);

static inline int sf_propose_descent(const sf_region *region, double *learner, const double *x,
                                     const sf_feedback *seen, double *wish, double *wanted,
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
    return sf_cut(region, wish, wanted, info, work);
}
