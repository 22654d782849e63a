#define SF_LEARNS

/* Remembered half-spaces u'Z <= o, relative to the start, with multipliers. */
typedef struct {
    double normals[SF_CUTS][SF_D];
    double offsets[SF_CUTS];
    double inverses[SF_CUTS]; /* 1/|s| of the slope that the cut came from */
    double weights[SF_CUTS];
    double count;
} sf_cuts;

/* What the leader has learnt; points are relative to the first action. */
typedef struct {
    double start[SF_D];
    double reach; /* D, the largest distance from it to a point of the domain */
    double start_value;
    sf_cuts cuts;
    double leader[SF_D];
    double gradients[SF_D];
    double energy;
    double inverse_eta;
    double depth;
    double deepened;
    double careful;
} sf_learner;

static inline void sf_start_from(sf_learner *learner, const double *x1)
{
    double offset[SF_D];
    sf_from_centre(offset, x1);
    sf_copy(learner->start, x1);
    learner->reach = sf_min(SF_RADIUS + sf_norm(offset), 2.0 * SF_RADIUS);
}

static inline void sf_first_learner(sf_learner *learner, const double *x1)
{
    sf_start_from(learner, x1);
    learner->energy = SF_EXPECTED;
}

/* Shorten a point to a length; in place. */
static inline void sf_shorten(double *z, double radius)
{
    const double squared = sf_dot(z, z);
    if (squared <= radius * radius) {
        return;
    }
    const double share = radius / sqrt(squared);
    for (int i = 0; i < SF_D; i++) {
        z[i] = share * z[i];
    }
}

/* Two products added: what is fused is what NumPy fuses on the machine that wrote this file. */
static inline double sf_add_two(double a0, double b0, double a1, double b1, int fused)
{
    if (fused == 1) {
        return fma(a1, b1, a0 * b0);
    }
    if (fused == 2) {
        return fma(a0, b0, a1 * b1);
    }
    const double first = a0 * b0, second = a1 * b1;
    return first + second;
}

/* The product of each normal with a vector. */
static inline void sf_rows_dot(double *out, const sf_cuts *cuts, const double *x)
{
    for (int k = 0; k < (int)cuts->count; k++) {
        const double *u = cuts->normals[k];
        if (SF_D == 2 && cuts->count == 2) {
            out[k] = sf_add_two(u[0], x[0], u[SF_D - 1], x[SF_D - 1], SF_ROWS_FUSED);
        } else {
            out[k] = sf_dot(u, x);
        }
    }
}

/* The weighted sum of the normals. */
static inline void sf_combine(double *out, const sf_cuts *cuts, const double *weights)
{
    for (int i = 0; i < SF_D; i++) {
        if (cuts->count == 2) {
            out[i] = sf_add_two(weights[0], cuts->normals[0][i], weights[1], cuts->normals[1][i],
                                SF_COLUMNS_FUSED);
        } else {
            out[i] = cuts->count == 1 ? weights[0] * cuts->normals[0][i] : 0.0;
        }
    }
}

/* The inner product of numbers that there is one of for each cut. */
static inline double sf_dot_of(const sf_cuts *cuts, const double *a, const double *b)
{
    if (cuts->count == 2) {
        return sf_add_two(a[0], b[0], a[1], b[1], SF_DOT_FUSED);
    }
    return cuts->count == 1 ? a[0] * b[0] : 0.0;
}

static inline double sf_larger(double a, double b) /* NaN if either is */
{
    return a >= b || isnan(a) ? a : b;
}

/* Forget a cut; the later one takes its place. */
static inline void sf_drop(sf_cuts *cuts, int at)
{
    if (at == 0 && cuts->count == 2) {
        sf_copy(cuts->normals[0], cuts->normals[1]);
        cuts->offsets[0] = cuts->offsets[1];
        cuts->inverses[0] = cuts->inverses[1];
        cuts->weights[0] = cuts->weights[1];
    }
    cuts->count -= 1;
}

/* One cut less: an idle one, or two become their sum, which changes no term of the dual. */
static inline void sf_forget(sf_cuts *cuts, const double *z)
{
    double room[SF_CUTS] = {0.0};
    if (cuts->weights[0] == 0.0 || cuts->weights[1] == 0.0) {
        /* The cut that does nothing, and is furthest from doing something. */
        sf_rows_dot(room, cuts, z);
        for (int k = 0; k < SF_CUTS; k++) {
            room[k] = cuts->weights[k] == 0.0 ? cuts->offsets[k] - room[k] : -HUGE_VAL;
        }
        sf_drop(cuts, room[1] > room[0] ? 1 : 0);
        return;
    }
    const int into = cuts->weights[1] < cuts->weights[0] ? 1 : 0, other = 1 - into;
    const double a = cuts->weights[into], b = cuts->weights[other];
    double both[SF_D];
    for (int i = 0; i < SF_D; i++) {
        const double first = a * cuts->normals[into][i], second = b * cuts->normals[other][i];
        both[i] = first + second;
    }
    const double size = sqrt(sf_dot(both, both));
    if (size == 0.0) { /* opposed, and they cancel */
        cuts->count = 0;
        return;
    }
    const double o = a * cuts->offsets[into], p = b * cuts->offsets[other];
    const double v = a * cuts->inverses[into], w = b * cuts->inverses[other];
    for (int i = 0; i < SF_D; i++) {
        cuts->normals[into][i] = both[i] / size;
    }
    cuts->offsets[into] = (o + p) / size;
    cuts->inverses[into] = (v + w) / size;
    cuts->weights[into] = size;
    sf_drop(cuts, other);
}

/* Add the half-space of a round; return its place, or -1 where a slope of 0 has none. */
static inline int sf_add_cut(sf_cuts *cuts, const double *X, double g, const double *s,
                             double noise, const double *z)
{
    const double steep = sf_norm(s);
    if (steep == 0.0) {
        return -1;
    }
    const double inverse = 1.0 / steep;
    double u[SF_D], row[SF_CUTS] = {0.0};
    for (int i = 0; i < SF_D; i++) {
        u[i] = inverse * s[i];
    }
    const double above = (g - noise) * inverse, offset = sf_dot(u, X) - above;
    if (cuts->count > 0) { /* a row that was seen before is not stored twice */
        sf_rows_dot(row, cuts, u);
        const int i = cuts->count == 2 && (row[1] > row[0] || (isnan(row[1]) && !isnan(row[0])));
        double apart = 0.0;
        for (int k = 0; k < SF_D; k++) {
            apart = sf_larger(apart, fabs(cuts->normals[i][k] - u[k]));
        }
        if (apart <= SF_SAME_ROW) {
            cuts->offsets[i] = sf_min(offset, cuts->offsets[i]);
            return i;
        }
    }
    if (cuts->count == SF_CUTS) {
        sf_forget(cuts, z);
    }
    const int at = (int)cuts->count;
    sf_copy(cuts->normals[at], u);
    cuts->offsets[at] = offset;
    cuts->inverses[at] = inverse;
    cuts->weights[at] = 0.0;
    cuts->count += 1;
    return at;
}

/* Better multipliers, and the leader that they lead to; newest is -1 where there is no new cut. */
static inline void sf_project_leader(double *z, double *mu, const sf_cuts *cuts,
                                     const double *free, int newest, double limit)
{
    const int n = (int)cuts->count;
    double v[SF_CUTS] = {0.0}, step[SF_CUTS] = {0.0}, down[SF_CUTS] = {0.0}, push[SF_D];
    sf_combine(push, cuts, mu);
    sf_minus(z, free, push);
    sf_shorten(z, limit);
    sf_rows_dot(v, cuts, z);
    for (int k = 0; k < n; k++) {
        v[k] = v[k] - cuts->offsets[k];
    }
    if (newest >= 0 && v[newest] > 0.0) {
        const double over = v[newest];
        sf_rows_dot(down, cuts, cuts->normals[newest]);
        mu[newest] += over;
        for (int k = 0; k < n; k++) {
            const double less = over * down[k];
            v[k] = v[k] - less;
        }
    }
    for (int sweep = 0; sweep < SF_SWEEPS; sweep++) {
        for (int k = 0; k < n; k++) {
            step[k] = sf_larger(v[k], -mu[k]);
        }
        sf_combine(push, cuts, step);
        const double bend = sf_dot(push, push);
        if (bend <= 0.0) {
            break;
        }
        const double share = sf_min(sf_dot_of(cuts, step, v) / bend, 1.0);
        sf_rows_dot(down, cuts, push);
        for (int k = 0; k < n; k++) {
            const double more = share * step[k], less = share * down[k];
            mu[k] = mu[k] + more;
            v[k] = v[k] - less;
        }
    }
    sf_combine(push, cuts, mu);
    sf_minus(z, free, push);
    sf_shorten(z, limit);
}

/* Move w towards all the cuts, tightened by rho, that it exceeds; in place. */
static inline void sf_push_from_cuts(double *w, const sf_cuts *cuts, double rho)
{
    double over[SF_CUTS] = {0.0}, back[SF_D];
    sf_rows_dot(over, cuts, w);
    for (int k = 0; k < (int)cuts->count; k++) {
        const double tighter = rho * cuts->inverses[k];
        over[k] = sf_larger(over[k] - cuts->offsets[k] + tighter, 0.0);
    }
    sf_combine(back, cuts, over);
    const double squared = sf_dot(back, back);
    if (squared > 0.0) {
        const double length = sf_dot_of(cuts, over, over);
        sf_along(w, w, -(length / squared), back);
    }
}

/* Move w to where the newest value and slope, as they were read, make g <= -rho; in place. */
static inline int sf_apply_reading(double *w, const double *X, double upper, const double *s,
                                   double rho)
{
    if (!(sf_norm(s) > 0)) {
        return SF_OK;
    }
    double way[SF_D];
    sf_minus(way, w, X);
    return sf_project_halfspace(w, upper + sf_dot(s, way) + rho, s);
}

#ifdef SF_GRADIENT_BOUND
/* The careful mode: one exact step of the newest cut, then the gradient; the wish is on a ray. */
static inline int sf_walk(sf_learner *learner, const sf_region *region, double *wish, int newest,
                          double before, double scale)
{
    sf_cuts *cuts = &learner->cuts;
    double back[SF_D], *z = learner->leader;
    const double *start = learner->start;
    if (newest >= 0) {
        const double over = sf_dot(cuts->normals[newest], z) - cuts->offsets[newest];
        cuts->weights[newest] += sf_max(over, 0.0);
    }
    for (int k = 0; k < (int)cuts->count; k++) {
        cuts->weights[k] *= before / scale;
    }
    sf_combine(back, cuts, cuts->weights);
    const double eta = 1.0 / scale;
    for (int i = 0; i < SF_D; i++) {
        const double free = -eta * learner->gradients[i];
        z[i] = free - back[i];
    }
    sf_shorten(z, learner->reach);
    sf_along(wish, start, 1.0, z);
    const sf_hull *hull = &region->from_start;
    if (!region->has_start || sf_is_inside(hull, wish, 0.0) || !sf_is_inside(hull, start, 0.0)) {
        return SF_OK;
    }
    double point[SF_D], share = 0.0, half = 0.5;
    for (int i = 0; i < 52; i++) {
        sf_along(point, start, share + half, z);
        if (sf_is_inside(hull, point, 0.0)) {
            share = share + half;
        }
        half = 0.5 * half;
    }
    sf_along(point, start, share, z);
    double way[SF_D];
    sf_minus(way, point, hull->x);
    if (sf_norm(way) <= hull->radius) {
        sf_copy(wish, point);
        return SF_OK;
    }
    return sf_nearest_of(hull, wish, point);
}
#endif

/* The wish of the follower: towards the leader, off the cuts. */
static inline int sf_follow(sf_learner *learner, const sf_region *region, double *wish,
                            const double *X, const double *s)
{
    const double D = learner->reach, t = region->round, r_a = region->depth;
    sf_cuts cuts = learner->cuts;
    double z[SF_D], way[SF_D], W[SF_D];
    sf_copy(z, learner->leader);
    if (!SF_EXACT) {
        /* Only the leader needs cuts that hold for all points within D of the start. */
        double none[SF_CUTS] = {0.0};
        for (int k = 0; k < (int)cuts.count; k++) {
            const double nearer = -SF_SLOPE_ERROR * D * cuts.inverses[k];
            cuts.offsets[k] = cuts.offsets[k] + nearer;
        }
        sf_project_leader(z, none, &cuts, learner->leader, -1, 2 * D);
        const int status = sf_apply_reading(z, X, region->upper, s, 0.0);
        if (status != SF_OK) {
            return status;
        }
    }
    sf_minus(way, z, X);
    const double gap = sf_norm(way);
    if (t == 1 || r_a > 1.1 * learner->depth) {
        learner->depth = r_a;
        learner->deepened = t;
    }
    double rho = SF_G_G * r_a * sf_min(SF_KEEP * gap / D, 0.5);
    if (50.0 * r_a < D && t - learner->deepened < 5) {
        rho = SF_G_G * sf_min(SF_KEEP * gap / 50.0, 3 * r_a);
    }
    const double room = sf_max(region->hull.radius, 0.0);
    sf_along(W, X, gap > 0 ? sf_min(room / gap, 1.0) : 1.0, way);
    sf_push_from_cuts(W, &cuts, rho);
    if (!SF_EXACT) {
        const int status = sf_apply_reading(W, X, region->upper, s, rho);
        if (status != SF_OK) {
            return status;
        }
    }
    sf_along(wish, learner->start, 1.0, W);
    return SF_OK;
}

/* A leader that learns on the half-spaces seen and is never played; told: the gradient. */
static inline int sf_propose(sf_learner *learner, const sf_region *region, double *wish,
                             double *wanted, const double *x, const double *told, double g,
                             const double *s)
{
    if (region->round == 1) {
        sf_start_from(learner, x); /* the first action that was played */
    }
    const double D = learner->reach, t = region->round, before = learner->inverse_eta;
    double X[SF_D], lag[SF_D], free[SF_D];
    sf_minus(X, x, learner->start);
    const double squared = sf_dot(told, told);
    if (!(squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    sf_minus(lag, X, learner->leader);
    const double more = sqrt(squared) * sf_norm(lag) * before;
    sf_along(learner->gradients, learner->gradients, 1.0, told);
    learner->energy = learner->energy + squared + more;
    if (t == 1) {
        learner->start_value = region->upper;
    }
    /* The half-space of the round. Where g may rise, a point that was outside may come in. */
    sf_cuts *cuts = &learner->cuts;
    if (SF_DRIFT != 0.0) {
        for (int k = 0; k < (int)cuts->count; k++) {
            const double outwards = SF_DRIFT * cuts->inverses[k];
            cuts->offsets[k] = cuts->offsets[k] + outwards;
        }
    }
    const double noise = SF_NOISE + SF_VALUE_ERROR + SF_SLOPE_ERROR * (D + sf_norm(X));
    const int newest = sf_add_cut(cuts, X, g, s, noise, learner->leader);
#ifdef SF_STRONG_CONVEXITY
    double scale = 0.5 * SF_STRONG_CONVEXITY * t;
#else
    double scale = sqrt(2 * learner->energy) / D;
#endif
    int status;
#ifdef SF_GRADIENT_BOUND
    const double slack = -learner->start_value, L = SF_GRADIENT_BOUND;
    const double kappa = slack > 0 ? sf_max(D * SF_G_G / slack, 1.0) : 1.0;
    if (2 * learner->energy > 81 * pow(kappa, 4) * L * L * t) {
        learner->careful = 1.0;
    }
    if (learner->careful > 0) {
        scale = 9 * kappa * kappa * L * sqrt(t) / D;
        status = sf_walk(learner, region, wish, newest, before, scale);
    } else
#endif
    {
        const double eta = scale > 0 ? 1.0 / scale : 0.0;
        double mu[SF_CUTS] = {0.0};
        if (SF_LAZY) {
            const double faded = scale > 0 ? before / scale : before;
            for (int k = 0; k < (int)cuts->count; k++) {
                mu[k] = cuts->weights[k] * faded;
            }
            for (int i = 0; i < SF_D; i++) {
                free[i] = -eta * learner->gradients[i];
            }
        } else {
            sf_along(free, learner->leader, -eta, told);
            sf_shorten(free, D);
        }
        sf_project_leader(learner->leader, mu, cuts, free, newest, 2 * D);
        for (int k = 0; k < (int)cuts->count; k++) {
            cuts->weights[k] = mu[k];
        }
        status = sf_follow(learner, region, wish, X, s);
    }
    learner->inverse_eta = scale;
    sf_along(wanted, learner->start, 1.0, learner->leader);
    return status;
}
