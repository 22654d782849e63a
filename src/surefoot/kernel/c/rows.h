/* The nearest point of several rows and of a known set: surefoot.knowledge.rows and .quadratics, and
 * surefoot.sets._active_set. Whatever is found is checked before it is taken. */

/* Bounds up + s'q + tau |q| + beta/2 |q|^2 <= 0 on the way q from the last action: the rows of g,
 * then a ball, then those faces of a box that were met. */
typedef struct {
    int count, d;
    double *s, *up, *beta, *tau, *close; /* close: how far from 0 a bound may end */
    double *met;                         /* of each face of a box whether it is among them */
} sf_bounds;

/* How many bounds there are at most. */
static inline int sf_most_bounds(const sf_rule *rule)
{
    const int d = SF_DIM(rule);
    return rule->rows + (rule->domain == SF_BALL ? 1 : rule->domain == SF_BOX ? 2 * d : 0);
}

/* How many rows can be active together, and one more. */
static inline int sf_most_active(int count, int d)
{
    return (count < d ? count : d) + 1;
}

static inline size_t sf_rows_scratch(const sf_rule *rule)
{
    const size_t d = (size_t)SF_DIM(rule), n = (size_t)sf_most_bounds(rule);
    const size_t k = (size_t)sf_most_active((int)n, (int)d);
    return n * (3 * d + 16) + k * (d + k + 6) + 18 * d + 4 * (size_t)rule->rows;
}

/* --- half-spaces, by active sets ------------------------------------------------------------- */

/* The active rows, N' = Q'R: an orthonormal basis, and the inverse of R, which is triangular. */
typedef struct {
    int k, most, d;
    double *Q, *inverse, *across, *along, *r;
} sf_active;

/* Split a row into its multiples r of the active ones and what is across, whose square returns. */
static inline double sf_split(const sf_active *active, const double *u)
{
    const int d = active->d, k = active->k;
    sf_copy(active->across, u, d);
    sf_fill(active->along, 0.0, k);
    for (int turn = 0; turn < 2; turn++) { /* again for what rounding left */
        for (int i = 0; i < k; i++) {
            active->r[i] = sf_dot(active->Q + i * d, active->across, d);
        }
        for (int i = 0; i < k; i++) {
            sf_along(active->across, active->across, -active->r[i], active->Q + i * d, d);
            active->along[i] += active->r[i];
        }
    }
    for (int i = 0; i < k; i++) {
        active->r[i] = sf_dot(active->inverse + i * active->most + i, active->along + i, k - i);
    }
    return sf_dot(active->across, active->across, d);
}

/* Make the row that was split an active one. */
static inline void sf_join(sf_active *active, double squared)
{
    const int d = active->d, k = active->k++, most = active->most;
    const double root = sqrt(squared);
    for (int i = 0; i < d; i++) {
        active->Q[k * d + i] = active->across[i] / root;
    }
    for (int i = 0; i < k; i++) {
        active->inverse[i * most + k] = -active->r[i] / root;
    }
    active->inverse[k * most + k] = 1.0 / root;
}

/* z, with which K z = v for the products K of the active rows. */
static inline void sf_solve_active(const sf_active *active, double *z, const double *v)
{
    const int k = active->k, most = active->most;
    for (int j = 0; j < k; j++) {
        active->along[j] = 0.0;
        for (int i = 0; i <= j; i++) {
            active->along[j] += active->inverse[i * most + j] * v[i];
        }
    }
    for (int i = 0; i < k; i++) {
        z[i] = sf_dot(active->inverse + i * most + i, active->along + i, k - i);
    }
}

/* Find the rows, of length 1, that are active where v + unit q <= 0 first holds; which: their
 * places. 0 where they are not found. */
static inline int sf_find_active(sf_active *active, double *which, const double *unit,
                                 const double *v, int n, double tolerance, sf_work work)
{
    const int d = active->d;
    double *q = sf_take(&work, d), *z = sf_take(&work, active->most), *over = sf_take(&work, n);
    sf_fill(q, 0.0, d);
    for (int turn = 0; turn < SF_ACTIVE_TURNS * (n + 1); turn++) {
        int worst = 0;
        for (int i = 0; i < n; i++) {
            over[i] = v[i] + sf_dot(unit + i * d, q, d);
        }
        for (int i = 0; i < active->k; i++) {
            over[(int)which[i]] = -HUGE_VAL;
        }
        for (int i = 1; i < n; i++) {
            worst = over[i] > over[worst] ? i : worst;
        }
        if (over[worst] <= tolerance) {
            return 1;
        }
        double weight = 0.0, left = over[worst];
        for (;;) {
            const double squared = sf_split(active, unit + worst * d);
            const double full = squared > SF_DEPENDENT * SF_DEPENDENT ? left / squared : HUGE_VAL;
            double step = full;
            int block = -1, k = active->k;
            for (int i = 0; i < k; i++) {
                if (active->r[i] > 0 && z[i] / active->r[i] < step) {
                    step = z[i] / active->r[i];
                    block = i;
                }
            }
            if (!(step < HUGE_VAL) || (block < 0 && k == active->most)) {
                return 0; /* no point satisfies the rows together */
            }
            if (full < HUGE_VAL) {
                sf_along(q, q, -step, active->across, d);
                left -= step * squared;
            }
            sf_along(z, z, -step, active->r, k);
            weight += step;
            if (block < 0) {
                sf_join(active, squared);
                which[k] = worst;
                z[k] = weight;
                break;
            }
            active->k = 0;
            for (int i = 0; i < k; i++) {
                if (i != block) {
                    z[active->k] = z[i];
                    which[active->k] = which[i];
                    sf_join(active, sf_split(active, unit + (int)which[i] * d));
                }
            }
        }
    }
    return 0;
}

/* The multipliers z of the shortest q = -sum z_i rows_i with excess + rows q <= 0, which is checked;
 * 0 where no answer passes. */
static inline int sf_project_halfspaces(double *z, const double *excess, const double *rows, int n,
                                        int d, double tolerance, sf_work work)
{
    double *unit = sf_take(&work, n * d), *v = sf_take(&work, n), *scale = sf_take(&work, n);
    double *q = sf_take(&work, d), largest = 0.0;
    const int most = sf_most_active(n, d);
    sf_active active = {0, most, d, sf_take(&work, most * d), sf_take(&work, most * most),
                        sf_take(&work, d), sf_take(&work, most), sf_take(&work, most)};
    double *which = sf_take(&work, most), *some = sf_take(&work, most);
    double *held = sf_take(&work, most);
    int inside = 1;
    sf_fill(z, 0.0, n);
    for (int i = 0; i < n; i++) {
        const double norm = sf_norm(rows + i * d, d);
        inside = inside && excess[i] <= 0;
        if (!(norm < HUGE_VAL && fabs(excess[i]) < HUGE_VAL) || (norm == 0.0 && excess[i] > 0)) {
            return 0;
        }
        scale[i] = norm > 0 ? norm : 1.0;
        v[i] = (norm > 0 ? excess[i] : -1.0) / scale[i];
        for (int k = 0; k < d; k++) {
            unit[i * d + k] = rows[i * d + k] / scale[i];
        }
        largest = sf_max(largest, scale[i]);
    }
    if (inside) {
        return 1;
    }
    if (!sf_find_active(&active, which, unit, v, n, SF_ACTIVE_SHARE * tolerance / largest, work)) {
        return 0;
    }
    sf_fill(q, 0.0, d);
    sf_fill(held, 0.0, active.k);
    for (int turn = 0; turn < 2; turn++) { /* once more with what the first solution leaves */
        for (int i = 0; i < active.k; i++) {
            const int row = (int)which[i];
            some[i] = v[row] + sf_dot(unit + row * d, q, d);
        }
        sf_solve_active(&active, some, some);
        sf_fill(q, 0.0, d);
        for (int i = 0; i < active.k; i++) {
            held[i] += some[i];
            held[i] = turn == 0 ? held[i] : sf_max(held[i], 0.0);
            sf_along(q, q, -held[i], unit + (int)which[i] * d, d);
        }
    }
    for (int i = 0; i < active.k; i++) {
        const int row = (int)which[i];
        z[row] = held[i] / scale[row];
    }
    for (int i = 0; i < n; i++) {
        const double after = excess[i] + sf_dot(rows + i * d, q, d);
        if (!(after <= tolerance) || (z[i] > 0 && after < -tolerance)) {
            return 0;
        }
    }
    return 1;
}

/* --- bounds, by Newton's method -------------------------------------------------------------- */

static inline double sf_bound_at(const sf_bounds *bounds, int i, const double *q, double length)
{
    const double flat = bounds->up[i] + sf_dot(bounds->s + i * bounds->d, q, bounds->d);
    return flat + bounds->tau[i] * length + 0.5 * bounds->beta[i] * (length * length);
}

/* q of multipliers; returns the dual function. */
static inline double sf_minimise(const sf_bounds *bounds, double *q, const double *v,
                                 const double *lam, sf_work work)
{
    const int d = bounds->d, n = bounds->count;
    double *way = sf_take(&work, d), total = 0.0;
    sf_copy(q, v, d);
    for (int i = 0; i < n; i++) {
        if (lam[i] != 0.0) {
            sf_along(q, q, -lam[i], bounds->s + i * d, d);
        }
    }
    const double size = sf_norm(q, d), c = 1.0 + sf_dot(lam, bounds->beta, n);
    const double left = sf_max(size - sf_dot(lam, bounds->tau, n), 0.0);
    const double share = size > 0 ? left / (c * size) : 1.0;
    for (int k = 0; k < d; k++) {
        q[k] = share * q[k];
    }
    sf_minus(way, q, v, d);
    const double length = sf_norm(q, d);
    for (int i = 0; i < n; i++) {
        total += lam[i] != 0.0 ? lam[i] * sf_bound_at(bounds, i, q, length) : 0.0;
    }
    return 0.5 * sf_dot(way, way, d) + total;
}

/* The multipliers that Newton's method wants; 0 where no point holds. */
static inline int sf_newton(const sf_bounds *bounds, double *wanted, const double *lam,
                            const double *q, const double *over, sf_work work)
{
    const int d = bounds->d, n = bounds->count;
    double *N = sf_take(&work, n * d), *excess = sf_take(&work, n), *unit = sf_take(&work, d);
    double *sum = sf_take(&work, d), largest = 0.0, close = HUGE_VAL;
    const double length = sf_norm(q, d), c = 1.0 + sf_dot(lam, bounds->beta, n);
    const double tilt = length > 0 ? sf_dot(lam, bounds->tau, n) / length : 0.0;
    for (int k = 0; k < d; k++) {
        unit[k] = length > 0 ? q[k] / length : q[k];
    }
    sf_fill(sum, 0.0, d);
    for (int i = 0; i < n; i++) {
        double *row = N + i * d;
        sf_along(row, bounds->s + i * d, bounds->beta[i] * length + bounds->tau[i], unit, d);
        const double along = sf_dot(row, unit, d), up = sqrt(c + tilt), on = sqrt(c);
        for (int k = 0; k < d; k++) {
            row[k] = (row[k] - along * unit[k]) / up + along * unit[k] / on;
        }
        sf_along(sum, sum, lam[i], row, d);
    }
    for (int i = 0; i < n; i++) {
        excess[i] = over[i] + sf_dot(N + i * d, sum, d);
        largest = sf_max(largest, fabs(excess[i]));
        close = sf_min(close, bounds->close[i]);
    }
    const double rounding = SF_NEWTON_ROUNDINGS * (d + SF_TERMS) * SF_UNIT * largest;
    return sf_project_halfspaces(wanted, excess, N, n, d, sf_max(close, rounding), work);
}

/* Add the faces of the box that a point is outside of. */
static inline void sf_meet_faces(const sf_region *region, sf_bounds *bounds, const double *q,
                                 double inwards, double *lam)
{
    const sf_rule *rule = region->rule;
    const int d = bounds->d;
    const double *x = sf_curved_at(rule, region->memory).x;
    const double close = (d + SF_TERMS) * SF_UNIT * (rule->reach + sf_norm(q, d));
    for (int face = 0; face < 2 * d; face++) {
        const int i = face / 2, above = face % 2, n = bounds->count;
        const double limit = (above ? rule->upper[i] : rule->lower[i]) - x[i];
        if (bounds->met[face] != 0.0 || !((above ? q[i] - limit : limit - q[i]) > close)) {
            continue;
        }
        sf_fill(bounds->s + n * d, 0.0, d);
        bounds->s[n * d + i] = above ? 1.0 : -1.0;
        bounds->up[n] = inwards + (above ? -limit : limit);
        bounds->beta[n] = bounds->tau[n] = lam[n] = 0.0;
        bounds->close[n] = close;
        bounds->met[face] = 1.0;
        bounds->count++;
    }
}

/* Nearly the point q of bounds, and of a box, that is nearest to v, and its multipliers. */
static inline void sf_project_onto_bounds(const sf_region *region, sf_bounds *bounds, double *q,
                                          double *lam, const double *v, double inwards,
                                          sf_work work)
{
    const int d = bounds->d, most = sf_most_bounds(region->rule);
    double *trial = sf_take(&work, most), *wanted = sf_take(&work, most);
    double *over = sf_take(&work, most), *tried = sf_take(&work, d);
    /* By the rounding of a far point. */
    const double lost = SF_FAR_ROUNDINGS * (d + SF_TERMS) * SF_UNIT * sf_norm(v, d);
    sf_fill(lam, 0.0, bounds->count);
    double dual = sf_minimise(bounds, q, v, lam, work);
    for (int turn = 0; turn < SF_NEWTON_STEPS; turn++) {
        if (region->rule->domain == SF_BOX) {
            sf_meet_faces(region, bounds, q, inwards, lam);
        }
        const int n = bounds->count;
        const double length = sf_norm(q, d);
        double rise = 0.0, after = dual, share = 1.0;
        int done = 1, moved = 0;
        for (int i = 0; i < n; i++) {
            over[i] = sf_bound_at(bounds, i, q, length);
            const double off = lam[i] > 0 ? fabs(over[i]) : over[i];
            const double *s = bounds->s + i * d;
            done = done && off <= bounds->close[i] + lost * sqrt(sf_dot(s, s, d));
        }
        if (done || !sf_newton(bounds, wanted, lam, q, over, work)) {
            return;
        }
        for (int i = 0; i < n; i++) {
            wanted[i] = wanted[i] - lam[i];
            rise += over[i] * wanted[i];
        }
        for (int tries = 0; tries < SF_LINE_TRIES; tries++) {
            sf_along(trial, lam, share, wanted, n);
            after = sf_minimise(bounds, tried, v, trial, work);
            /* Near the solution the gain is below the rounding of the dual function. */
            if (after >= dual + SF_LINE_RISE * share * rise - SF_LINE_NOISE * fabs(dual)) {
                break;
            }
            share *= 0.5;
        }
        moved = sf_differ(trial, lam, n);
        sf_copy(lam, trial, n);
        if (!moved) {
            return;
        }
        sf_copy(q, tried, d);
        dual = after;
    }
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The point nearest to v, relative to the last action, where rows of values up hold, flat ones
 * without their curvature, and the domain, all so far inwards. */
static inline void sf_search_rows(const sf_region *region, double *q, double *weights,
                                  const double *v, const double *up, int flat, double inwards,
                                  sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), m = rule->rows, n = sf_most_bounds(rule);
    const sf_curved seen = sf_curved_at(rule, region->memory);
    sf_bounds bounds = {m, d, sf_take(&work, n * d), sf_take(&work, n), sf_take(&work, n),
                        sf_take(&work, n), sf_take(&work, n),
                        sf_take(&work, rule->domain == SF_BOX ? 2 * d : 0)};
    double *lam = sf_take(&work, n);
    sf_copy(bounds.s, seen.s, m * d);
    for (int i = 0; i < m; i++) {
        bounds.up[i] = up[i] + inwards * sqrt(region->squared[i]);
        bounds.beta[i] = flat ? 0.0 : rule->beta[i];
        bounds.tau[i] = flat ? 0.0 : seen.numbers[SF_CURVED_TAU];
        bounds.close[i] = SF_BOUND_SHARE * region->margin[i];
    }
    if (rule->domain == SF_BALL) {
        double *s = bounds.s + m * d;
        for (int i = 0; i < d; i++) {
            s[i] = (rule->centre ? seen.x[i] - rule->centre[i] : seen.x[i]) / rule->radius;
        }
        bounds.up[m] = 0.5 * rule->radius * (sf_dot(s, s, d) - 1.0) + inwards;
        bounds.beta[m] = 1.0 / rule->radius;
        bounds.tau[m] = 0.0;
        bounds.close[m] = (d + SF_TERMS) * SF_UNIT * (1.0 + sf_norm(seen.x, d));
        bounds.count++;
    } else if (rule->domain == SF_BOX) {
        sf_fill(bounds.met, 0.0, 2 * d);
    }
    sf_project_onto_bounds(region, &bounds, q, lam, v, inwards, work);
    sf_copy(weights, lam, m);
}

/* x + share q, moved back into the domain where rounding put it outside, a ball so far that whoever
 * adds in another order finds it there; whether that is certified. */
static inline int sf_settle(const sf_region *region, double *point, const double *x, double share,
                            const double *q, sf_work work)
{
    sf_rule known = *region->rule;
    known.radius = known.inner;
    sf_along(point, x, share, q, SF_DIM(region->rule));
    return sf_project_domain(&known, point) == SF_OK && sf_curved_contains(region, point, work);
}

/* A step cut by half-spaces that are moved by the length of what they lead to. */
static inline void sf_cut_by_halfspaces(const sf_region *region, double *q, double *weights,
                                        const double *v, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), m = rule->rows, known = rule->domain != SF_ANYWHERE;
    const int most = known ? SF_REFINED : SF_REFINED_FREE;
    const sf_curved seen = sf_curved_at(rule, region->memory);
    const double tau = seen.numbers[SF_CURVED_TAU];
    double *up = sf_take(&work, m), *point = sf_take(&work, d);
    double *found = sf_take(&work, d), *held = sf_take(&work, m);
    double squared = sf_dot(v, v, d);
    int holds = 0, failed = 0, straight = tau == 0.0;
    sf_copy(q, v, d);
    sf_fill(weights, 0.0, m);
    for (int i = 0; i < m; i++) {
        straight = straight && rule->beta[i] == 0.0;
    }
    for (int turn = 0; turn <= most; turn++) {
        for (int i = 0; i < m; i++) {
            const double rise = tau * sqrt(squared) + 0.5 * rule->beta[i] * squared;
            up[i] = region->level[i] + region->margin[i] + rise;
        }
        sf_search_rows(region, found, held, v, up, 1, 0.0, work);
        const double before = squared;
        squared = sf_dot(found, found, d);
        const int finite = squared < HUGE_VAL;
        const int good = finite && sf_settle(region, point, seen.x, 1.0, found, work);
        if (good || (finite && !failed && !holds)) {
            sf_copy(q, found, d);
            sf_copy(weights, held, m);
        }
        if (!good) { /* the step was longer than what the half-spaces were moved for */
            failed = 1;
            squared = turn > 0 || known ? SF_LONGER * squared : squared;
            continue;
        }
        holds = 1;
        const int near = known && fabs(before - squared) <= SF_NEAR * before;
        if (failed || near || turn + 1 >= most || straight) {
            return;
        }
    }
}

/* A certified point of the domain near the last action, or on the way to the anchor. */
static inline int sf_find_inside(const sf_region *region, double *point, const double *up,
                                 sf_work work)
{
    static const double inwards[] = SF_INWARDS;
    const int most = (int)(sizeof inwards / sizeof *inwards);
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const sf_curved seen = sf_curved_at(rule, region->memory);
    double *zero = sf_take(&work, d), *q = sf_take(&work, d), *end = sf_take(&work, d);
    double *weights = sf_take(&work, rule->rows);
    sf_fill(zero, 0.0, d);
    sf_copy(point, seen.x, d);
    if (sf_curved_contains(region, point, work)) {
        return 1;
    }
    for (int k = 0; k < most; k++) {
        sf_search_rows(region, q, weights, zero, up, 0, inwards[k] * rule->reach, work);
        if (sf_settle(region, point, seen.x, 1.0, q, work)) {
            return 1;
        }
    }
    if (rule->drift == 0.0 || sf_pull_point(region, end) > 1) {
        return 0;
    }
    sf_copy(point, end, d);
    if (sf_curved_contains(region, end, work)) {
        return 1;
    }
    sf_minus(end, end, seen.anchor, d);
    return sf_curved_contains(region, seen.anchor, work)
           && sf_shorten(region, sf_settle, point, seen.anchor, end, work);
}

/* The nearest point of rows and domain, or where a step is cut off, with multipliers. */
static inline int sf_find_in_rows(const sf_region *region, sf_found *found, const double *w,
                                  int cut, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), m = rule->rows;
    const double *x = sf_curved_at(rule, region->memory).x;
    double *v = sf_take(&work, d), *q = sf_take(&work, d), *again = sf_take(&work, d);
    double *up = sf_take(&work, m), *none = sf_take(&work, m);
    sf_copy(found->point, w, d);
    sf_fill(found->weights, 0.0, m);
    found->drawn = 0.0;
    if (sf_curved_contains(region, w, work)) {
        return SF_OK;
    }
    sf_minus(v, w, x, d);
    for (int i = 0; i < m; i++) {
        up[i] = region->level[i] + region->margin[i];
    }
    if (cut) {
        sf_cut_by_halfspaces(region, q, found->weights, v, work);
    } else {
        sf_search_rows(region, q, found->weights, v, up, 0, 0.0, work);
    }
    int good = sf_settle(region, found->point, x, 1.0, q, work);
    if (!good) { /* a far wish loses digits: once more from where they are not lost */
        sf_minus(v, found->point, x, d);
        sf_search_rows(region, again, none, v, up, 0, 0.0, work);
        good = sf_settle(region, found->point, x, 1.0, again, work);
    }
    if (!good) {
        double *inside = sf_take(&work, d);
        if (!sf_find_inside(region, inside, up, work)) {
            return SF_EMPTY;
        }
        sf_minus(v, found->point, inside, d);
        if (!sf_shorten(region, sf_settle, found->point, inside, v, work)) {
            sf_copy(found->point, inside, d);
        }
    }
    sf_minus(v, found->point, x, d);
    found->drawn = sf_distance(v, q, d);
    return SF_OK;
}
