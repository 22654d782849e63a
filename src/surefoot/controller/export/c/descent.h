#define SF_LEARNS

/* What the next step needs. */
typedef struct {
    double squares;     /* the sum of the squared norms of the gradients */
    double inverse_eta; /* 1/eta of the last step */
} sf_learner;

static inline void sf_first_learner(sf_learner *learner, const double *x1)
{
    (void)learner;
    (void)x1;
}

/* Gradient descent with steps that the region certifies, cut where it says; told: the gradient. */
static inline int sf_propose(sf_learner *learner, const sf_region *region, double *wish,
                             double *wanted, const double *x, const double *told, double g,
                             const double *s)
{
    (void)g;
    (void)s;
    const double squared = sf_dot(told, told), size = sf_norm(told);
    if (!(squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    const double squares = learner->squares + squared;
#ifdef SF_INVERSE_ETA
    double inverse = squares > 0 ? SF_INVERSE_ETA : 0.0;
#else
    double inverse = sqrt(squares) / SF_ROOT_2_RADIUS;
#endif
    const int moves = region->longest > 0;
    inverse = sf_max(inverse, moves ? size / region->longest : 0.0);
    if (SF_RATCHET) {
        inverse = sf_max(inverse, learner->inverse_eta);
    }
    const double eta = 1.0 / (moves && inverse > 1e-300 ? inverse : HUGE_VAL);
    for (int i = 0; i < SF_D; i++) {
        const double step = eta * told[i];
        wanted[i] = x[i] - step;
    }
    learner->squares = squares;
    learner->inverse_eta = inverse;
    return sf_cut(region, wish, wanted);
}
