/* A leader that learns on all half-spaces seen and is never played: surefoot.algorithms.leader.
 *
 * Learner: the numbers below, start, offsets and inverses of the cuts; for each expert on the same
 * cuts (one now) Z, gradients, energy, 1/eta and the multipliers of the cuts; then the normals. All
 * points are relative to the start. */

enum {
    SF_REACH,       /* D, the largest distance from the start to a point of the domain */
    SF_START_VALUE, /* g at the start at most */
    SF_DEEP,        /* the anchor's radius when it had last grown by a tenth */
    SF_DEEPENED,    /* the round of that */
    SF_IS_CAREFUL,
    SF_COUNT, /* of the cuts */
    SF_LEADER_NUMBERS
};

#ifdef SF_K
#define SF_CUTS(rule) ((void)(rule), SF_K)
#else
#define SF_CUTS(rule) ((rule)->cuts)
#endif

static inline size_t sf_leader_head(int d, int K)
{
    return SF_LEADER_NUMBERS + 3 * (size_t)d + 3 * (size_t)K + 2;
}

/* A learner, by its parts. */
typedef struct {
    double *numbers, *start, *offsets, *inverses; /* 1/|s| of the slope that a cut came from */
    double *Z, *gradients, *energy, *inverse_eta, *weights;
    double *normals;
    int count;
} sf_leader;

static inline sf_leader sf_leader_at(const sf_rule *rule, const double *block)
{
    const int d = SF_DIM(rule), K = SF_CUTS(rule);
    sf_leader leader;
    leader.numbers = (double *)block;
    leader.start = leader.numbers + SF_LEADER_NUMBERS;
    leader.offsets = leader.start + d;
    leader.inverses = leader.offsets + K;
    leader.Z = leader.inverses + K;
    leader.gradients = leader.Z + d;
    leader.energy = leader.gradients + d;
    leader.inverse_eta = leader.energy + 1;
    leader.weights = leader.inverse_eta + 1;
    leader.normals = leader.weights + K;
    leader.count = (int)leader.numbers[SF_COUNT];
    return leader;
}

/* What a refused round is undone from: the rows that were written over. */
typedef struct {
    int count, index[2];
    double *rows;
} sf_undo;

static inline void sf_keep_row(sf_undo *undo, const sf_leader *leader, int k, int d)
{
    undo->index[undo->count] = k;
    sf_copy(undo->rows + undo->count * d, leader->normals + (size_t)k * d, d);
    undo->count += 1;
}

static inline void sf_start_leader(const sf_rule *rule, sf_leader *leader, const double *x1)
{
    sf_copy(leader->start, x1, SF_DIM(rule));
    leader->numbers[SF_REACH] = sf_reach_from(rule, x1);
}

static inline void sf_init_leader(const sf_rule *rule, double *block, const double *x1)
{
    const int d = SF_DIM(rule), K = SF_CUTS(rule);
    sf_fill(block, 0.0, (int)sf_leader_head(d, K));
    sf_leader leader = sf_leader_at(rule, block);
    sf_start_leader(rule, &leader, x1);
    *leader.energy = rule->expected;
}

/* Keep a leader where the points of the domain are: within a length of the start, or in the box. */
static inline void sf_limit(const sf_rule *rule, const sf_leader *leader, double *z, double length)
{
    const int d = SF_DIM(rule);
    const double squared = sf_dot(z, z, d);
    const int is_ball = rule->domain == SF_BALL;
    const double most = is_ball ? length : 1e100;
    const double share = squared <= most * most ? 1.0 : most / sqrt(squared);
    if (share != 1.0) {
        for (int i = 0; i < d; i++) {
            z[i] = share * z[i];
        }
    }
    for (int i = 0; i < d && !is_ball; i++) {
        const double point = leader->start[i] + z[i];
        if (!(point >= rule->lower[i] && point <= rule->upper[i])) {
            z[i] = sf_min(sf_max(point, rule->lower[i]), rule->upper[i]) - leader->start[i];
        }
    }
}

/* The product of each of n rows with a vector. */
SF_WIDE void sf_multiply(double *out, const double *rows, int n, const double *x, int d)
{
    for (int k = 0; k < n; k++) {
        out[k] = sf_dot(rows + (size_t)k * d, x, d);
    }
}

/* The weighted sum of n rows, four at once; what has no weight is left out. */
SF_WIDE void sf_add_up(double *out, const double *rows, int n, const double *weights, int d)
{
    const double *row[4] = {rows, rows, rows, rows};
    double weight[4] = {0.0, 0.0, 0.0, 0.0};
    int held = 0;
    sf_fill(out, 0.0, d);
    for (int k = 0; k < n; k++) {
        if (weights[k] != 0.0) {
            row[held] = rows + (size_t)k * d;
            weight[held++] = weights[k];
        }
        if (held == 4) {
            for (int i = 0; i < d; i++) {
                const double a = weight[0] * row[0][i], b = weight[1] * row[1][i];
                const double c = weight[2] * row[2][i], e = weight[3] * row[3][i];
                out[i] = (((out[i] + a) + b) + c) + e;
            }
            held = 0;
        }
    }
    for (int j = 0; j < held; j++) {
        sf_along(out, out, weight[j], row[j], d);
    }
}

/* The same for the normals of the cuts. */
static inline void sf_rows_dot(double *out, const sf_leader *leader, const double *x, int d)
{
    sf_multiply(out, leader->normals, leader->count, x, d);
}

static inline void sf_combine(double *out, const sf_leader *leader, const double *weights, int d)
{
    sf_add_up(out, leader->normals, leader->count, weights, d);
}

/* Make room for one more cut: an idle one goes, or two become their sum; return the place.
 * products: of the normals with the new one, which are kept in step. */
static inline int sf_forget(sf_leader *leader, const double *u, double *products, int d,
                            sf_undo *undo)
{
    double *const mu = leader->weights, most = -HUGE_VAL;
    int drop = -1, into = 0;
    for (int k = 0; k < leader->count; k++) {
        if (mu[k] == 0.0) { /* the cut that does nothing, and is furthest from doing something */
            const double *row = leader->normals + (size_t)k * d;
            const double room = leader->offsets[k] - sf_dot(row, leader->Z, d);
            if (drop < 0 || room > most) {
                most = room;
                drop = k;
            }
        }
    }
    if (drop >= 0) {
        sf_keep_row(undo, leader, drop, d);
        return drop;
    }
    /* The two that do least become their sum: no term of the dual changes. */
    drop = 1;
    for (int k = 1; k < leader->count; k++) {
        if (mu[k] < mu[into]) {
            drop = into;
            into = k;
        } else if (k > 1 && mu[k] < mu[drop]) {
            drop = k;
        }
    }
    sf_keep_row(undo, leader, into, d);
    sf_keep_row(undo, leader, drop, d);
    double *one = leader->normals + (size_t)into * d;
    const double *other = leader->normals + (size_t)drop * d, a = mu[into], b = mu[drop];
    for (int i = 0; i < d; i++) {
        const double first = a * one[i], second = b * other[i];
        one[i] = first + second;
    }
    const double size = sqrt(sf_dot(one, one, d));
    if (size == 0.0) { /* opposed, and they cancel: without them the dual is higher */
        const int low = into < drop ? into : drop, high = into + drop - low;
        const int last = --leader->count;
        if (high != last) {
            sf_copy(leader->normals + (size_t)high * d, leader->normals + (size_t)last * d, d);
            leader->offsets[high] = leader->offsets[last];
            leader->inverses[high] = leader->inverses[last];
            mu[high] = mu[last];
            products[high] = products[last];
        }
        return low;
    }
    for (int i = 0; i < d; i++) {
        one[i] = one[i] / size;
    }
    const double o = a * leader->offsets[into], p = b * leader->offsets[drop];
    const double v = a * leader->inverses[into], w = b * leader->inverses[drop];
    leader->offsets[into] = (o + p) / size;
    leader->inverses[into] = (v + w) / size;
    mu[into] = size;
    products[into] = sf_dot(one, u, d);
    return drop;
}

/* Add the half-space of a round; return its place, or -1 where a slope of 0 has none. */
static inline int sf_add_cut(sf_leader *leader, const double *X, double g, const double *s,
                             double noise, int most, double *products, int d, sf_undo *undo,
                             sf_work work)
{
    const double steep = sf_norm(s, d);
    if (steep == 0.0) {
        return -1;
    }
    const double inverse = 1.0 / steep;
    double *u = sf_take(&work, d);
    for (int i = 0; i < d; i++) {
        u[i] = inverse * s[i];
    }
    const double offset = sf_dot(u, X, d) - (g - noise) * inverse;
    sf_rows_dot(products, leader, u, d);
    int same = 0;
    for (int k = 1; k < leader->count; k++) {
        same = products[k] > products[same] ? k : same;
    }
    if (leader->count > 0) { /* a row that was seen before is not stored twice */
        const double *row = leader->normals + (size_t)same * d;
        double apart = 0.0;
        for (int i = 0; i < d; i++) {
            apart = sf_max(apart, fabs(row[i] - u[i]));
        }
        if (apart <= (d + 4) * SF_UNIT) {
            leader->offsets[same] = sf_min(offset, leader->offsets[same]);
            return same;
        }
    }
    int at = leader->count;
    if (at < most) {
        sf_keep_row(undo, leader, at, d);
        leader->count += 1;
    } else {
        at = sf_forget(leader, u, products, d, undo);
    }
    sf_copy(leader->normals + (size_t)at * d, u, d);
    leader->offsets[at] = offset;
    leader->inverses[at] = inverse;
    leader->weights[at] = 0.0;
    products[at] = sf_dot(u, u, d);
    return at;
}

/* Better multipliers mu, and the leader z that they lead to from where it would be without cuts.
 * newest: the cut that is served first, exactly, -1 for none; products: of the normals with it. */
static inline void sf_project_leader(const sf_rule *rule, const sf_leader *leader, double *z,
                                     double *mu, const double *free, const double *offsets,
                                     int newest, const double *products, sf_work work)
{
    const int d = SF_DIM(rule), n = leader->count;
    const double limit = 2.0 * leader->numbers[SF_REACH];
    double *v = sf_take(&work, n), *step = sf_take(&work, n), *down = sf_take(&work, n);
    double *push = sf_take(&work, d);
    sf_combine(push, leader, mu, d);
    sf_minus(z, free, push, d);
    sf_limit(rule, leader, z, limit);
    sf_rows_dot(v, leader, z, d);
    sf_minus(v, v, offsets, n);
    if (newest >= 0 && v[newest] > 0.0) {
        mu[newest] += v[newest];
        sf_along(v, v, -v[newest], products, n);
    }
    for (int sweep = 0; sweep < rule->sweeps; sweep++) {
        for (int k = 0; k < n; k++) {
            step[k] = sf_max(v[k], -mu[k]);
        }
        sf_combine(push, leader, step, d);
        const double bend = sf_dot(push, push, d);
        if (!(bend > 0.0)) {
            break;
        }
        const double share = sf_min(sf_dot(step, v, n) / bend, 1.0);
        sf_along(mu, mu, share, step, n);
        if (sweep + 1 < rule->sweeps) {
            sf_rows_dot(down, leader, push, d);
            sf_along(v, v, -share, down, n);
        }
    }
    sf_combine(push, leader, mu, d);
    sf_minus(z, free, push, d);
    sf_limit(rule, leader, z, limit);
}

/* Move w towards all the cuts, tightened by rho, that it exceeds; in place. */
static inline void sf_push_from_cuts(double *w, const sf_leader *leader, const double *offsets,
                                     double rho, int d, sf_work work)
{
    double *over = sf_take(&work, leader->count), *back = sf_take(&work, d);
    sf_rows_dot(over, leader, w, d);
    for (int k = 0; k < leader->count; k++) {
        const double tighter = rho * leader->inverses[k];
        over[k] = sf_max(over[k] - offsets[k] + tighter, 0.0);
    }
    sf_combine(back, leader, over, d);
    const double squared = sf_dot(back, back, d);
    if (squared > 0.0) {
        sf_along(w, w, -(sf_dot(over, over, leader->count) / squared), back, d);
    }
}

/* Move w to where the newest value and slope, as they were read, make g <= -rho; in place. */
static inline int sf_apply_reading(double *w, const double *X, double upper, const double *s,
                                   double rho, int d, sf_work work)
{
    if (!s || !(sf_norm(s, d) > 0)) {
        return SF_OK;
    }
    double *way = sf_take(&work, d);
    sf_minus(way, w, X, d);
    return sf_project_halfspace(w, upper + sf_dot(s, way, d) + rho, s, d);
}

/* The wish of the follower: towards the leader, off the cuts. */
static inline int sf_follow(const sf_region *region, sf_leader *leader, double *wish,
                            const double *X, const double *s, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), n = leader->count;
    const sf_errors errors = region->errors;
    const double D = leader->numbers[SF_REACH], t = region->round, r_a = region->depth;
    const double *offsets = leader->offsets;
    double *z = leader->Z, *way = sf_take(&work, d), *W = sf_take(&work, d);
    int status = SF_OK;
    if (!errors.exact) {
        /* Only the leader needs cuts that hold for all points within D of the start. */
        double *none = sf_take(&work, n), *nearer = sf_take(&work, n);
        z = sf_take(&work, d);
        sf_fill(none, 0.0, n);
        if (errors.slope < HUGE_VAL) {
            sf_along(nearer, offsets, -errors.slope * D, leader->inverses, n);
            offsets = nearer;
        }
        sf_project_leader(rule, leader, z, none, leader->Z, offsets, -1, NULL, work);
        status = sf_apply_reading(z, X, region->upper, s, 0.0, d, work);
        if (status != SF_OK) {
            return status;
        }
    }
    sf_minus(way, z, X, d);
    const double gap = sf_norm(way, d);
    if (t == 1 || r_a > 1.1 * leader->numbers[SF_DEEP]) {
        leader->numbers[SF_DEEP] = r_a;
        leader->numbers[SF_DEEPENED] = t;
    }
    double rho = region->steepness * r_a * sf_min(rule->keep * gap / D, 0.5);
    if (50.0 * r_a < D && t - leader->numbers[SF_DEEPENED] < 5) { /* a shallow start */
        rho = region->steepness * sf_min(rule->keep * gap / 50.0, 3 * r_a);
    }
    const double room = sf_max(region->radius, 0.0);
    sf_along(W, X, gap > 0 ? sf_min(room / gap, 1.0) : 1.0, way, d);
    sf_push_from_cuts(W, leader, offsets, rho, d, work);
    if (!errors.exact) {
        status = sf_apply_reading(W, X, region->upper, s, rho, d, work);
    }
    sf_along(wish, leader->start, 1.0, W, d);
    return status;
}

/* The careful mode: one exact step of the newest cut, then the gradient; the wish is on a ray. */
static inline int sf_walk(const sf_region *region, sf_leader *leader, double *wish, int newest,
                          double scale, sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule);
    const double *start = leader->start, *z = leader->Z, eta = 1.0 / scale;
    double *mu = leader->weights, *point = sf_take(&work, d);
    if (newest >= 0) {
        const double *row = leader->normals + (size_t)newest * d;
        mu[newest] += sf_max(sf_dot(row, z, d) - leader->offsets[newest], 0.0);
    }
    for (int k = 0; k < leader->count; k++) {
        mu[k] *= *leader->inverse_eta / scale;
    }
    sf_combine(point, leader, mu, d);
    for (int i = 0; i < d; i++) {
        const double free = -eta * leader->gradients[i];
        leader->Z[i] = free - point[i];
    }
    sf_limit(rule, leader, leader->Z, leader->numbers[SF_REACH]);
    sf_along(wish, start, 1.0, z, d);
    const sf_hull *hull = &region->from_start;
    if (!region->has_start || sf_in_hull(hull, wish, 0.0, d, work)
        || !sf_in_hull(hull, start, 0.0, d, work)) {
        return SF_OK;
    }
    double share = 0.0, half = 0.5;
    for (int i = 0; i < 52; i++) { /* a segment meets a convex set in a segment */
        sf_along(point, start, share + half, z, d);
        share = sf_in_hull(hull, point, 0.0, d, work) ? share + half : share;
        half = 0.5 * half;
    }
    sf_along(point, start, share, z, d);
    return sf_nearest_in(hull, NULL, region->rounding, wish, point, d, work);
}

/* A round of the leader, and the wish of its follower. */
static inline int sf_propose_leader(const sf_region *region, double *block, const double *x,
                                    const sf_feedback *seen, double *wish, double *wanted,
                                    sf_undo *undo, sf_info *info, sf_work work)
{
    const sf_rule *rule = region->rule;
    const sf_errors errors = region->errors;
    const int d = SF_DIM(rule), K = SF_CUTS(rule);
    const double t = region->round, *grad = seen->gradient;
    sf_leader leader = sf_leader_at(rule, block);
    if (t == 1) {
        sf_start_leader(rule, &leader, x); /* the first action that was played */
        leader.numbers[SF_START_VALUE] = region->upper;
    }
    const double D = leader.numbers[SF_REACH], before = *leader.inverse_eta;
    double *X = sf_take(&work, d), *products = sf_take(&work, K), *free = sf_take(&work, d);
    sf_minus(X, x, leader.start, d);
    const double squared = grad ? sf_dot(grad, grad, d) : 0.0, size = sqrt(squared);
    if (!(squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    const double behind = sf_distance(X, leader.Z, d);
    if (grad) {
        sf_along(leader.gradients, leader.gradients, 1.0, grad, d);
    }
    *leader.energy = *leader.energy + squared + size * behind * before;
    /* The half-space of the round. Where slopes are guesses, a cut that an action has passed was
     * wrong, and moves there; where g may rise, a point that was outside may come in. */
    if (!(errors.slope < HUGE_VAL)) {
        sf_rows_dot(products, &leader, X, d);
        for (int k = 0; k < leader.count; k++) {
            leader.offsets[k] = sf_max(leader.offsets[k], products[k]);
        }
    }
    if (errors.drift != 0.0) {
        sf_along(leader.offsets, leader.offsets, errors.drift, leader.inverses, leader.count);
    }
    int newest = -1;
    if (seen->g && seen->s) {
        const double slope = errors.slope < HUGE_VAL ? errors.slope : 0.0;
        double noise = region->noise + errors.value + slope * (D + sf_norm(X, d));
        noise += errors.drift * seen->age;
        newest = sf_add_cut(&leader, X, *seen->g, seen->s, noise, K, products, d, undo, work);
        leader.numbers[SF_COUNT] = leader.count;
    }
    double scale = rule->strong_convexity > 0 ? 0.5 * rule->strong_convexity * t
                                              : sqrt(2 * *leader.energy) / D;
    if (rule->gradient_bound > 0) {
        const double slack = -leader.numbers[SF_START_VALUE], L = rule->gradient_bound;
        const double kappa = slack > 0 ? sf_max(D * region->steepness / slack, 1.0) : 1.0;
        const double kappa_2 = kappa * kappa;
        if (2 * *leader.energy > 81 * (kappa_2 * kappa_2) * L * L * t) {
            leader.numbers[SF_IS_CAREFUL] = 1.0;
        }
        if (leader.numbers[SF_IS_CAREFUL] != 0.0) {
            scale = 9 * kappa * kappa * L * sqrt(t) / D;
        }
    }
    int status;
    if (leader.numbers[SF_IS_CAREFUL] != 0.0) {
        status = sf_walk(region, &leader, wish, newest, scale, work);
    } else {
        const double eta = scale > 0 ? 1.0 / scale : 0.0;
        const int lazy = rule->lazy && !(rule->strong_convexity > 0);
        const double faded = !lazy ? 0.0 : scale > 0 ? before / scale : before;
        for (int k = 0; k < leader.count; k++) {
            leader.weights[k] = lazy ? leader.weights[k] * faded : 0.0;
        }
        if (lazy) {
            for (int i = 0; i < d; i++) {
                free[i] = -eta * leader.gradients[i];
            }
        } else {
            sf_copy(free, leader.Z, d);
            if (grad) {
                sf_along(free, free, -eta, grad, d);
                sf_limit(rule, &leader, free, D);
            }
        }
        sf_project_leader(rule, &leader, leader.Z, leader.weights, free, leader.offsets, newest,
                          products, work);
        status = sf_follow(region, &leader, wish, X, seen->s, work);
    }
    *leader.inverse_eta = scale;
    sf_along(wanted, leader.start, 1.0, leader.Z, d);
    info->note[0] = size;
    info->note[1] = behind;
    info->note[2] = grad ? sf_dot(grad, X, d) : 0.0;
    info->note[3] = before;
    info->note[4] = scale;
    info->note[5] = D;
    return status;
}
