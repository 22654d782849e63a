/* The known set that holds every action: a ball or a box. */

/* The squared length of a point from a centre; NULL for 0. */
static inline double sf_squared_from(const double *x, const double *centre, int d)
{
    return centre ? sf_squared_distance(x, centre, d) : sf_dot(x, x, d);
}

static inline int sf_in_domain(const sf_rule *rule, const double *x)
{
    const int d = SF_DIM(rule);
    if (rule->domain == SF_BALL) {
        return sf_squared_from(x, rule->centre, d) <= rule->radius * rule->radius;
    }
    if (rule->domain == SF_BOX) {
        for (int i = 0; i < d; i++) {
            if (!(x[i] >= rule->lower[i] && x[i] <= rule->upper[i])) {
                return 0;
            }
        }
    }
    return 1;
}

/* The nearest point, that of a ball a rounding inside of it; in place. */
static inline int sf_project_domain(const sf_rule *rule, double *p)
{
    const int d = SF_DIM(rule);
    if (rule->domain == SF_BALL) {
        const double *centre = rule->centre, squared = sf_squared_from(p, centre, d);
        if (squared <= rule->radius * rule->radius) {
            return SF_OK;
        }
        if (!(squared < HUGE_VAL)) {
            return SF_RANGE;
        }
        const double share = rule->inner / sqrt(squared);
        for (int i = 0; i < d; i++) {
            const double way = share * (centre ? p[i] - centre[i] : p[i]);
            p[i] = centre ? centre[i] + way : way;
        }
    }
    if (rule->domain == SF_BOX) {
        if (!sf_all_finite(p, d)) {
            return SF_RANGE;
        }
        for (int i = 0; i < d; i++) {
            p[i] = sf_min(sf_max(p[i], rule->lower[i]), rule->upper[i]);
        }
    }
    return SF_OK;
}

/* The largest distance from a point of the domain to another, at most. */
static inline double sf_reach_from(const sf_rule *rule, const double *x)
{
    const int d = SF_DIM(rule);
    const double far = rule->middle ? sf_distance(x, rule->middle, d) : sf_norm(x, d);
    return sf_min(rule->around + far, rule->diameter);
}
