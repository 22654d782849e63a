/* Leaders that learn on all half-spaces seen and are never played: surefoot.proposers.leader.
 *
 * Learner: the numbers, then the arrays. All points are relative to the start. K: of the cuts. */

#define SF_NUMBERS_OF_LEADER(NUMBER, COUNT)                                                        \
    NUMBER(SF_REACH, "reach")             /* D, the largest distance from the start in the domain */ \
    NUMBER(SF_START_VALUE, "start_value") /* g at the start at most */                             \
    NUMBER(SF_DEEP, "depth")              /* the deepest radius when it last grew by a tenth */    \
    NUMBER(SF_DEEPENED, "deepened")       /* the round of that */                                  \
    COUNT(SF_COUNT, "cuts.count", K)                                                               \
    NUMBER(SF_SQUARES_SUM, "squares")     /* of the gradients */                                   \
    NUMBER(SF_LAG, "lag")                 /* what actions have cost more than the first leader */  \
    NUMBER(SF_WORST_LAG, "worst_lag")                                                              \
    NUMBER(SF_ETA_INVERSE, "inverse_eta") /* 1/eta, which never falls */                           \
    NUMBER(SF_LARGEST, "trust.largest")   /* the largest saving of a leader so far */
enum { SF_NUMBERS_OF_LEADER(SF_INDEX, SF_INDEX) SF_LEADER_NUMBERS };

/* All but the normals, of which a step writes two rows at most. */
#define SF_ARRAYS_OF_LEADER(ARRAY)                                                                 \
    ARRAY(start, "start", 1, 1, d)                                                                 \
    ARRAY(gradients, "gradients", 1, 1, d)                                                         \
    ARRAY(Z, "Z", 1, 1, d)                                                                         \
    ARRAY(points, "points", 2, n, d)                                                               \
    ARRAY(outside, "outside", 1, 1, n)                                                             \
    SF_ARRAYS_OF_TRUST(ARRAY)                                                                      \
    ARRAY(offsets, "cuts.offsets", 1, 1, K)                                                        \
    ARRAY(inverses, "cuts.inverses", 1, 1, K)                                                      \
    ARRAY(pulls, "cuts.pulls", 2, n, K)
#define SF_NORMALS_OF_LEADER(ARRAY) ARRAY(normals, "cuts.normals", 2, K, d)

/* Of info.note. */
#define SF_NOTE_OF_LEADER(NUMBER)                                                                  \
    NUMBER(SF_LEADER_SIZE, "size")     /* of the cost gradient */                                  \
    NUMBER(SF_LEADER_BEHIND, "behind") /* from the first leader to the action */                   \
    NUMBER(SF_LEADER_PAID, "paid")     /* the product of the gradient with the action */           \
    NUMBER(SF_LEADER_BEFORE, "before") /* 1/eta of the round before */                             \
    NUMBER(SF_LEADER_SCALE, "scale")   /* 1/eta of the round */                                    \
    NUMBER(SF_LEADER_REACH, "reach")   /* D */
enum { SF_NOTE_OF_LEADER(SF_INDEX) SF_LEADER_NOTES };

#define SF_SOME 32 /* cuts that are looked at before the others */

#ifdef SF_K
#define SF_CUTS(rule) ((void)(rule), SF_K)
#else
#define SF_CUTS(rule) ((rule)->cuts)
#endif

/* Where costs are strongly convex one leader descends; else one adds up and three descend. */
static inline int sf_leaders(const sf_rule *rule)
{
    return rule->strong_convexity > 0 ? 1 : SF_LEADERS;
}

static inline double sf_multiple(const sf_rule *rule, int k)
{
    const double multiples[SF_LEADERS] = SF_MULTIPLES;
    return rule->strong_convexity > 0 ? 1.0 : multiples[k];
}

static inline size_t sf_leader_head(const sf_rule *rule)
{
    const size_t d = SF_DIM(rule), K = SF_CUTS(rule), n = sf_leaders(rule);
    return SF_LEADER_NUMBERS SF_ARRAYS_OF_LEADER(SF_SIZE);
}

static inline size_t sf_leader_normals(const sf_rule *rule)
{
    const size_t d = SF_DIM(rule), K = SF_CUTS(rule);
    return 0 SF_NORMALS_OF_LEADER(SF_SIZE);
}

/* Whether the counts in a block fit. */
static inline int sf_leader_fits(const sf_rule *rule, const double *block)
{
    const int K = SF_CUTS(rule);
    return 1 SF_NUMBERS_OF_LEADER(SF_FITS_NUMBER, SF_FITS_COUNT);
}

/* A learner, by its parts. */
typedef struct {
    double *numbers, *start, *gradients, *Z, *points;
    double *outside; /* by how much each leader exceeds the cuts */
    sf_trust trust;
    double *offsets, *inverses; /* 1/|s| of the slope that a cut came from */
    double *pulls;              /* a row of K for each leader */
    double *normals;
    int count, leaders, K;
} sf_leader;

static inline sf_leader sf_leader_at(const sf_rule *rule, const double *block)
{
    const int d = SF_DIM(rule), K = SF_CUTS(rule), n = sf_leaders(rule);
    sf_leader leader, *parts = &leader;
    double *next = (double *)block + SF_LEADER_NUMBERS;
    SF_ARRAYS_OF_LEADER(SF_PLACE)
    SF_NORMALS_OF_LEADER(SF_PLACE)
    leader.numbers = (double *)block;
    leader.trust.n = n;
    leader.trust.largest = leader.numbers + SF_LARGEST;
    leader.count = (int)leader.numbers[SF_COUNT];
    leader.leaders = n;
    leader.K = K;
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
    sf_fill(block, 0.0, (int)sf_leader_head(rule));
    sf_leader leader = sf_leader_at(rule, block);
    sf_start_leader(rule, &leader, x1);
    sf_init_trust(&leader.trust);
}

/* Keep a leader where the points of the domain are: within a length of the start, or in the box;
 * return whether it was elsewhere. */
static inline int sf_limit(const sf_rule *rule, const sf_leader *leader, double *z, double length)
{
    const int d = SF_DIM(rule);
    const double squared = sf_dot(z, z, d);
    const int is_ball = rule->domain == SF_BALL;
    const double most = is_ball ? length : SF_FURTHEST;
    const double share = squared <= most * most ? 1.0 : most / sqrt(squared);
    int moved = share != 1.0;
    if (moved) {
        sf_scale(z, share, z, d);
    }
    for (int i = 0; i < d && !is_ball; i++) {
        const double point = leader->start[i] + z[i];
        if (!(point >= rule->lower[i] && point <= rule->upper[i])) {
            z[i] = sf_min(sf_max(point, rule->lower[i]), rule->upper[i]) - leader->start[i];
            moved = 1;
        }
    }
    return moved;
}

/* The products of the normals of the cuts with a vector. */
static inline void sf_rows_dot(double *out, const sf_leader *leader, const double *x, int d)
{
    sf_multiply(out, leader->normals, leader->count, x, d);
}

/* Trust the leaders by what each would have cost; outside of the cuts it pays for the way back. */
static inline void sf_trust_leaders(sf_leader *leader, const double *grad, double size, double t,
                                    int d)
{
    double losses[SF_LEADERS];
    for (int k = 0; k < leader->leaders; k++) {
        const double cost = sf_dot(leader->points + (size_t)k * d, grad, d);
        const double back = size * leader->outside[k];
        losses[k] = cost + back;
    }
    sf_reweigh(&leader->trust, losses, t);
}

/* The sum of the normals of the cuts by weights. */
static inline void sf_combine(double *out, const sf_leader *leader, const double *weights, int d,
                              sf_work work)
{
    int *held = (int *)sf_take(&work, leader->count);
    double *some = sf_take(&work, leader->count);
    const int m = sf_hold(held, some, weights, leader->count);
    sf_add_up(out, leader->normals, held, some, m, d);
}

static inline void sf_move_pulls(sf_leader *leader, int to, int from)
{
    for (int j = 0; j < leader->leaders; j++) {
        leader->pulls[j * leader->K + to] = leader->pulls[j * leader->K + from];
    }
}

/* Make room for one more cut: an idle one goes, or two become their sum; return the place. */
static inline int sf_forget(sf_leader *leader, int d, sf_undo *undo, sf_work work)
{
    double *const mu = leader->pulls, most = -HUGE_VAL; /* of the first leader */
    double *at_Z = sf_take(&work, leader->count);
    int drop = -1, into = 0;
    sf_rows_dot(at_Z, leader, leader->Z, d);
    for (int k = 0; k < leader->count; k++) {
        if (mu[k] == 0.0) { /* the cut that does nothing, and is furthest from doing something */
            const double room = leader->offsets[k] - at_Z[k];
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
    SF_EACH(d, SF_IN(one) = a * SF_IN(one) + b * SF_IN(other));
    const double size = sqrt(sf_dot(one, one, d));
    if (size == 0.0) { /* opposed, and they cancel: without them the dual is higher */
        const int low = into < drop ? into : drop, high = into + drop - low;
        const int last = --leader->count;
        if (high != last) {
            sf_copy(leader->normals + (size_t)high * d, leader->normals + (size_t)last * d, d);
            leader->offsets[high] = leader->offsets[last];
            leader->inverses[high] = leader->inverses[last];
            sf_move_pulls(leader, high, last);
        }
        return low;
    }
    SF_EACH(d, SF_IN(one) = SF_IN(one) / size);
    const double o = a * leader->offsets[into], p = b * leader->offsets[drop];
    const double v = a * leader->inverses[into], w = b * leader->inverses[drop];
    leader->offsets[into] = (o + p) / size;
    leader->inverses[into] = (v + w) / size;
    for (int j = 0; j < leader->leaders; j++) {
        leader->pulls[j * leader->K + into] += leader->pulls[j * leader->K + drop];
    }
    mu[into] = size;
    return drop;
}

/* The cut that has a normal, of length 1, up to rounding; -1 for none. */
static inline int sf_find_normal(const sf_leader *leader, const double *u, int d)
{
    const double close = (d + SF_VALUE_TERMS) * SF_UNIT;
    int i = 0; /* an entry that is not small, where most rows differ */
    while (i < d - 1 && !(2.0 * d * u[i] * u[i] > 1.0)) {
        i++;
    }
    for (int k = 0; k < leader->count; k++) {
        const double *row = leader->normals + (size_t)k * d;
        int same = fabs(row[i] - u[i]) <= close;
        for (int j = 0; same && j < d; j++) {
            same = fabs(row[j] - u[j]) <= close;
        }
        if (same) {
            return k;
        }
    }
    return -1;
}

/* Add the half-space of a round; return its place, or -1 where a slope of 0 has none. */
static inline int sf_add_cut(sf_leader *leader, const double *X, double g, const double *s,
                             double noise, int most, int d, sf_undo *undo, sf_work work)
{
    const double steep = sf_norm(s, d);
    if (steep == 0.0) {
        return -1;
    }
    const double inverse = 1.0 / steep;
    double *u = sf_take(&work, d);
    sf_scale(u, inverse, s, d);
    const double offset = sf_dot(u, X, d) - (g - noise) * inverse;
    const int seen = sf_find_normal(leader, u, d);
    if (seen >= 0) { /* of two with one normal the tighter is kept */
        if (offset < leader->offsets[seen]) {
            leader->offsets[seen] = offset;
            leader->inverses[seen] = inverse;
        }
        return seen;
    }
    int at = leader->count;
    if (at < most) {
        sf_keep_row(undo, leader, at, d);
        leader->count += 1;
    } else {
        at = sf_forget(leader, d, undo, work);
    }
    sf_copy(leader->normals + (size_t)at * d, u, d);
    leader->offsets[at] = offset;
    leader->inverses[at] = inverse;
    for (int j = 0; j < leader->leaders; j++) {
        leader->pulls[j * leader->K + at] = 0.0;
    }
    return at;
}

/* Conjugate gradients of the positive multipliers together, until one would be negative.
 * z goes with them. */
static inline void sf_ascend_together(const sf_leader *leader, double *z, double *mu,
                                      const double *offsets, double enough, int d, sf_work work)
{
    int *held = (int *)sf_take(&work, leader->count);
    double *own = sf_take(&work, leader->count), *push = sf_take(&work, d);
    const int m = sf_hold(held, own, mu, leader->count);
    double *v = sf_take(&work, m), *way = sf_take(&work, m), *moved = sf_take(&work, m);
    if (m < 2) {
        return;
    }
    sf_multiply_held(v, leader->normals, held, m, z, d);
    for (int j = 0; j < m; j++) {
        v[j] -= offsets[held[j]];
    }
    sf_copy(way, v, m);
    double squared = sf_dot(v, v, m);
    for (int turn = 0, last = (m < SF_DIRECTIONS ? m : SF_DIRECTIONS) - 1; turn <= last; turn++) {
        sf_add_up(push, leader->normals, held, way, m, d);
        const double bend = sf_dot(push, push, d);
        if (!(bend > SF_FLAT * (turn > 0 ? sf_dot(way, way, m) : squared))) {
            break; /* the normals cancel: nothing to gain */
        }
        for (int j = 0; j < m; j++) { /* how far to where each is 0, negative */
            moved[j] = way[j] < 0.0 ? own[j] / way[j] : -HUGE_VAL;
        }
        const double most = -sf_largest(moved, m, -HUGE_VAL), best = squared / bend;
        const double share = most <= best ? most : best;
        int ends = most <= best ? m - 1 : -1;
        while (ends >= 0 && moved[ends] != -most) {
            ends--;
        }
        for (int j = 0; j < m; j++) {
            const double step = share * way[j];
            own[j] = sf_max(own[j] + step, 0.0);
        }
        if (ends >= 0) {
            own[ends] = 0.0;
        }
        sf_along(z, z, -share, push, d);
        if (ends >= 0 || turn == last) {
            break;
        }
        sf_multiply_held(moved, leader->normals, held, m, push, d);
        sf_along(v, v, -share, moved, m);
        const double after = sf_dot(v, v, m);
        if (after <= enough * enough) {
            break;
        }
        sf_along(way, v, after / squared, way, m);
        squared = after;
    }
    for (int j = 0; j < m; j++) {
        mu[held[j]] = own[j];
    }
}

/* Multipliers mu that become better, and the leader z that they lead to from where it would be
 * without cuts. */
typedef struct {
    double *z, *mu, *at; /* at: the products of z with the normals */
    const double *free;
    int limited; /* whether z does not go with the multipliers alone */
    int known;   /* whether at is known, at least to rounding: nothing is left to do */
} sf_ascent;

/* Serve the newest cut first, exactly; -1 for none. */
static inline void sf_begin_ascent(const sf_rule *rule, const sf_leader *leader, sf_ascent *ascent,
                                   const double *offsets, int newest)
{
    const int d = SF_DIM(rule);
    double *z = ascent->z;
    ascent->limited = sf_limit(rule, leader, z, SF_OUTREACH * leader->numbers[SF_REACH]);
    ascent->known = 0;
    if (newest >= 0) {
        const double *row = leader->normals + (size_t)newest * d;
        const double over = sf_dot(row, z, d) - offsets[newest];
        if (over > 0.0) {
            ascent->mu[newest] += over;
            sf_along(z, z, -over, row, d);
        }
    }
}

/* Go one step up, where one is left, from a z whose products are known. */
static inline void sf_go_on(const sf_leader *leader, sf_ascent *ascent, const double *offsets,
                            double enough, int d, sf_work work)
{
    const int n = leader->count;
    double *v = sf_take(&work, n), *step = sf_take(&work, n), *push = sf_take(&work, d);
    double *size = sf_take(&work, n), *mu = ascent->mu;
    for (int k = 0; k < n; k++) {
        v[k] = ascent->at[k] - offsets[k];
        step[k] = sf_max(v[k], -mu[k]);
        size[k] = fabs(step[k]);
    }
    ascent->known = sf_largest(size, n, 0.0) <= enough;
    if (ascent->known) {
        return;
    }
    sf_combine(push, leader, step, d, work);
    const double bend = sf_dot(push, push, d);
    ascent->known = !(bend > 0.0);
    if (ascent->known) {
        return;
    }
    const double share = sf_min(sf_dot(step, v, n) / bend, 1.0);
    for (int k = 0; k < n; k++) {
        const double more = share * step[k];
        mu[k] = sf_max(mu[k] + more, 0.0);
    }
    sf_along(ascent->z, ascent->z, -share, push, d);
    sf_ascend_together(leader, ascent->z, mu, offsets, enough, d, work);
}

/* The products with the normals of each leader whose are not known. */
static inline void sf_find_products(const sf_leader *leader, const sf_ascent *ascents, int count,
                                    int d)
{
    const double *z[SF_LEADERS] = {0};
    double *at[SF_LEADERS] = {0};
    int some = 0;
    for (int j = 0; j < count; j++) {
        if (!ascents[j].known) {
            z[some] = ascents[j].z;
            at[some++] = ascents[j].at;
        }
    }
    sf_multiply_each(at, leader->normals, leader->count, z, some, d);
}

/* Ascents of several leaders, abreast: the normals are read once for all of them. */
static inline void sf_ascend(const sf_rule *rule, const sf_leader *leader, sf_ascent *ascents,
                             int count, const double *offsets, int newest, double enough,
                             sf_work work)
{
    const int d = SF_DIM(rule);
    double *push = sf_take(&work, d);
    for (int j = 0; j < count; j++) {
        sf_begin_ascent(rule, leader, &ascents[j], offsets, newest);
    }
    for (int time = 0; time < SF_TIMES; time++) {
        sf_find_products(leader, ascents, count, d);
        for (int j = 0; j < count; j++) {
            if (!ascents[j].known) {
                sf_go_on(leader, &ascents[j], offsets, enough, d, work);
            }
        }
    }
    for (int j = 0; j < count; j++) {
        sf_ascent *ascent = &ascents[j];
        if (ascent->limited) {
            sf_combine(push, leader, ascent->mu, d, work);
            sf_minus(ascent->z, ascent->free, push, d);
        }
        const double most = SF_OUTREACH * leader->numbers[SF_REACH];
        const int moved = sf_limit(rule, leader, ascent->z, most);
        ascent->known = ascent->known && !moved && !ascent->limited;
    }
    sf_find_products(leader, ascents, count, d);
}

/* Move w, whose products with the normals are known, towards all the cuts, tightened by rho, that
 * it exceeds; in place. */
static inline void sf_push_from_cuts(double *w, const double *products, const sf_leader *leader,
                                     const double *offsets, double rho, int d, sf_work work)
{
    double *over = sf_take(&work, leader->count), *back = sf_take(&work, d);
    int some = 0;
    for (int k = 0; k < leader->count; k++) {
        const double tighter = rho * leader->inverses[k];
        over[k] = sf_max(products[k] - offsets[k] + tighter, 0.0);
        some |= over[k] > 0.0;
    }
    if (some) {
        sf_combine(back, leader, over, d, work);
        const double squared = sf_dot(back, back, d);
        if (squared > 0.0) {
            sf_along(w, w, -(sf_dot(over, over, leader->count) / squared), back, d);
        }
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

/* h: half of what X is behind Z, in the leader's objective, spent on the margin.
 * at_X, at_Z: their products with the normals; pulls: what the cuts hold Z back by. */
static inline double sf_margin(const sf_leader *leader, const double *offsets, const double *pulls,
                               const double *X, const double *Z, const double *at_X,
                               const double *at_Z, double room, double steep, int d, sf_work work)
{
    double *pushed = sf_take(&work, d), behind = 0.0, price = 0.0;
    sf_copy(pushed, Z, d);
    sf_push_from_cuts(pushed, at_Z, leader, offsets, steep * room, d, work);
    const double L = sf_distance(pushed, X, d), least = steep * room;
    for (int k = 0; k < leader->count; k++) {
        const double slack = sf_min(offsets[k] - at_X[k], at_Z[k] - at_X[k]);
        const double deeper = least * leader->inverses[k];
        behind += pulls[k] * sf_max(slack - deeper, 0.0);
        price += pulls[k] * leader->inverses[k];
    }
    behind += 0.5 * L * L;
    price = steep * price;
    const double h = SF_ROOM_SHARE * room + (price > 0.0 ? SF_LAG_SHARE * behind / price : 0.0);
    return sf_min(h, SF_WAY_SHARE * sf_max(L, room));
}

static inline int sf_nearest(const sf_region *region, double *out, const double *w, sf_work work);

/* The wish of the follower: towards the leader, off the cuts.
 * at_X, at_Z: the products of both with the normals. */
static inline int sf_follow(const sf_region *region, sf_leader *leader, double *wish,
                            const double *X, double *at_X, double *at_Z, const double *s,
                            sf_work work)
{
    const sf_rule *rule = region->rule;
    const int d = SF_DIM(rule), n = leader->count;
    const sf_errors errors = region->errors;
    const double D = leader->numbers[SF_REACH], t = region->round, deepest = region->depth;
    const double *offsets = leader->offsets, *start = leader->start;
    double *Z = sf_take(&work, d), *way = sf_take(&work, d), *W = sf_take(&work, d);
    double *far = sf_take(&work, d), *point = sf_take(&work, d), *pulls = sf_take(&work, n);
    double *at_W = sf_take(&work, n);
    const double room = sf_max(region->radius, 0.0), steep = region->steepness;
    int status = SF_OK;
    if (t == 1 || deepest > SF_GROWN * leader->numbers[SF_DEEP]) {
        leader->numbers[SF_DEEP] = deepest;
        leader->numbers[SF_DEEPENED] = t;
    }
    const double since = t - leader->numbers[SF_DEEPENED];
    const int is_growing = SF_SHALLOW * deepest < D && since < SF_GROWING;
    sf_copy(Z, leader->Z, d);
    sf_minus(way, Z, X, d);
    double gap = sf_norm(way, d);
    sf_fill(pulls, 0.0, n);
    for (int j = 0; j < leader->leaders; j++) {
        sf_along(pulls, pulls, leader->trust.weights[j], leader->pulls + j * leader->K, n);
    }
    for (int k = 0; leader->leaders > 1 && gap > 0.0 && k < n; k++) {
        /* The mean may have left a cut that holds one of them. */
        pulls[k] *= sf_min(sf_max(1.0 - (offsets[k] - at_Z[k]) / gap, 0.0), 1.0);
    }
    if (!errors.exact) {
        /* Only the leader needs cuts that hold for all points within D of the start. */
        double *none = sf_take(&work, n), *nearer = sf_take(&work, n);
        sf_fill(none, 0.0, n);
        if (errors.slope < HUGE_VAL) {
            sf_along(nearer, offsets, -errors.slope * D, leader->inverses, n);
            /* The inner end of what was read; no face is nearer to X than its certified depth. */
            for (int k = 0; k < n; k++) {
                const double inverse = leader->inverses[k], deep = steep * room * inverse;
                const double least = sf_min(at_X[k] + deep, nearer[k]), both = 2 * errors.value;
                const double wide = both * inverse;
                nearer[k] = sf_max(nearer[k] - wide, least);
            }
            offsets = nearer;
        }
        sf_ascent ascent = {Z, none, at_Z, leader->Z, 0, 0};
        sf_ascend(rule, leader, &ascent, 1, offsets, -1, SF_EXACT * gap, work);
        status = sf_apply_reading(Z, X, region->upper, s, 0.0, d, work);
        if (status != SF_OK) {
            return status;
        }
        sf_rows_dot(at_Z, leader, Z, d);
        sf_minus(way, Z, X, d);
        gap = sf_norm(way, d);
    }
    double h = sf_margin(leader, offsets, pulls, X, Z, at_X, at_Z, room, steep, d, work);
    h = sf_min(h, SF_KEEP * sf_max(deepest, 0.0));
    if (is_growing) {
        h = sf_max(h, sf_min(SF_GROWTH * gap / SF_SHALLOW, SF_LEAP * deepest));
    } else {
        sf_along(W, start, 1.0, Z, d);
        status = sf_nearest(region, wish, W, work);
        sf_minus(point, wish, start, d);
        if (status != SF_OK || sf_distance(point, Z, d) <= SF_ARRIVED * gap) {
            return status;
        }
    }
    sf_combine(far, leader, pulls, d, work);
    sf_along(far, Z, 1.0, far, d);
    const double there = sf_squared_distance(X, far, d), rest = sf_squared_distance(Z, far, d);
    const double clearly = SF_CLEARLY * there; /* cuts that are guesses do not tell a depth: */
    const double behind = errors.slope < HUGE_VAL ? sf_max(there - rest, 0.0) : 0.0;
    for (int again = 0; again < 2; again++, h = SF_AGAIN * h) {
        const double worth = h > 0.0 ? SF_DEPTH_SHARE * behind / h : 0.0;
        double least = HUGE_VAL, share = gap > 0.0 ? sf_min(room / gap, 1.0) : 1.0;
        share = is_growing ? share : sf_max(share, 1.0 / (1 << (SF_LENGTHS - 1)));
        sf_along(wish, start, 1.0, X, d);
        for (int ends = 0; !ends; share = sf_min(2.0 * share, 1.0)) {
            ends = is_growing || share >= 1.0;
            sf_along(W, X, share, way, d);
            SF_EACH(n, SF_IN(at_W) = SF_IN(at_X) + share * (SF_IN(at_Z) - SF_IN(at_X)));
            sf_push_from_cuts(W, at_W, leader, offsets, steep * h, d, work);
            if (!errors.exact) {
                status = sf_apply_reading(W, X, region->upper, s, steep * h, d, work);
            }
            sf_along(W, start, 1.0, W, d);
            status = status == SF_OK ? sf_nearest(region, point, W, work) : status;
            if (status != SF_OK) {
                return status;
            }
            sf_minus(W, point, start, d);
            const double off = sf_squared_distance(W, far, d);
            if (!(off - worth * h < least - clearly)) {
                continue; /* it is worse, however deep it is */
            }
            double found = off - worth * h, slack = HUGE_VAL; /* what -g can be there at most */
            for (int k = 0; k < n && found < least - clearly; k += SF_SOME) {
                const int some = n - k < SF_SOME ? n - k : SF_SOME;
                sf_multiply(at_W + k, leader->normals + (size_t)k * d, some, W, d);
                for (int i = k; i < k + some; i++) {
                    at_W[i] = (at_W[i] - offsets[i]) / leader->inverses[i];
                }
                slack = sf_min(slack, -sf_largest(at_W + k, some, -HUGE_VAL));
                found = off - worth * sf_min(slack / steep, h);
            }
            if (found < least - clearly) { /* shares that lead to one point differ by less */
                least = found;
                sf_copy(wish, point, d);
            }
        }
        const double here = there - worth * sf_min(room, h);
        if (least < here - clearly || room < SF_AGAIN * h || is_growing) {
            break;
        }
    }
    return SF_OK;
}

/* The leaders after a round; at_Z: the products of their mean with the normals. */
static inline void sf_lead(const sf_rule *rule, sf_leader *leader, const double *X,
                           const double *grad, int newest, double before, double scale,
                           double *at_Z, sf_work work)
{
    const int d = SF_DIM(rule), n = leader->count;
    const double D = leader->numbers[SF_REACH], eta = scale > 0 ? 1.0 / scale : 0.0;
    const double enough = SF_EXACT * sf_distance(X, leader->Z, d);
    sf_ascent ascents[SF_LEADERS];
    for (int j = 0; j < leader->leaders; j++) {
        double *point = leader->points + (size_t)j * d, *pulls = leader->pulls + j * leader->K;
        double *free = sf_take(&work, d), *mu = pulls;
        const double multiple = sf_multiple(rule, j);
        if (multiple == 0.0) {
            sf_scale(free, -eta, leader->gradients, d);
            sf_scale(pulls, scale > 0 ? before / scale : 1.0, pulls, n);
            sf_combine(point, leader, pulls, d, work);
            sf_minus(point, free, point, d);
        } else {
            sf_copy(free, point, d);
            if (grad) {
                sf_along(free, point, -(multiple * eta), grad, d);
            }
            sf_limit(rule, leader, free, D);
            sf_copy(point, free, d);
            mu = sf_take(&work, n);
            sf_fill(mu, 0.0, n);
        }
        const sf_ascent ascent = {point, mu, sf_take(&work, n), free, 0, 0};
        ascents[j] = ascent;
    }
    sf_ascend(rule, leader, ascents, leader->leaders, leader->offsets, newest, enough, work);
    double *over = sf_take(&work, n);
    sf_fill(leader->Z, 0.0, d);
    sf_fill(at_Z, 0.0, n);
    for (int j = 0; j < leader->leaders; j++) {
        const double *mu = ascents[j].mu, *at = ascents[j].at, weight = leader->trust.weights[j];
        double *pulls = leader->pulls + j * leader->K, sum = 0.0;
        for (int k = 0; mu != pulls && k < n; k++) {
            sum += mu[k];
        }
        const double fade = sf_max(1.0 - sum / D, 0.0);
        if (mu != pulls) {
            sf_along(pulls, mu, fade, pulls, n);
        }
        sf_minus(over, at, leader->offsets, n);
        leader->outside[j] = sf_largest(over, n, 0.0);
        sf_along(leader->Z, leader->Z, weight, ascents[j].z, d);
        sf_along(at_Z, at_Z, weight, at, n);
    }
}

/* A round of the leaders, and the wish of their follower. */
static inline int sf_propose_leader(const sf_region *region, double *block, const double *x,
                                    const sf_feedback *seen, double *wish, double *wanted,
                                    sf_undo *undo, sf_info *info, sf_work work)
{
    const sf_rule *rule = region->rule;
    const sf_errors errors = region->errors;
    const int d = SF_DIM(rule), K = SF_CUTS(rule);
    const double t = region->round, *grad = seen->gradient;
    sf_leader leader = sf_leader_at(rule, block);
    double *numbers = leader.numbers;
    if (t == 1) {
        sf_start_leader(rule, &leader, x); /* the first action that was played */
        numbers[SF_START_VALUE] = region->upper;
    }
    const double D = numbers[SF_REACH], before = numbers[SF_ETA_INVERSE];
    double *X = sf_take(&work, d), *at_X = sf_take(&work, K), *at_Z = sf_take(&work, K);
    sf_minus(X, x, leader.start, d);
    const double squared = grad ? sf_dot(grad, grad, d) : 0.0, size = grad ? sf_norm(grad, d) : 0.0;
    if (!(numbers[SF_SQUARES_SUM] + squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    info->note[SF_LEADER_SIZE] = size;
    info->note[SF_LEADER_BEHIND] = sf_distance(X, leader.points, d);
    info->note[SF_LEADER_PAID] = grad ? sf_dot(grad, X, d) : 0.0;
    info->note[SF_LEADER_BEFORE] = before;
    for (int j = 0; j < leader.leaders; j++) {
        sf_minus(wish, X, leader.points + (size_t)j * d, d);
        info->lags[j] = grad ? sf_dot(wish, grad, d) : 0.0;
    }
    if (grad) {
        sf_along(leader.gradients, leader.gradients, 1.0, grad, d);
        numbers[SF_SQUARES_SUM] += squared;
        numbers[SF_LAG] += info->lags[0];
        numbers[SF_WORST_LAG] = sf_max(numbers[SF_WORST_LAG], numbers[SF_LAG]);
        if (size > 0.0 && leader.leaders > 1) {
            sf_trust_leaders(&leader, grad, size, t, d);
        }
    }
    /* The half-space of the round. Where g may rise, a point that was outside may come in; where
     * slopes are guesses, a cut that says more of g than was read was wrong, and moves. */
    if (errors.drift != 0.0) {
        sf_along(leader.offsets, leader.offsets, errors.drift, leader.inverses, leader.count);
    }
    if (!(errors.slope < HUGE_VAL)) {
        const double late = errors.drift * seen->age + errors.value + region->noise;
        const double upper = seen->g ? sf_min(*seen->g + late, 0.0) : 0.0;
        sf_rows_dot(at_X, &leader, X, d);
        for (int k = 0; k < leader.count; k++) {
            const double reached = at_X[k] - upper * leader.inverses[k];
            leader.offsets[k] = sf_max(leader.offsets[k], reached);
        }
    }
    int newest = -1;
    if (seen->g && seen->s) {
        const double slope = errors.slope < HUGE_VAL ? errors.slope : 0.0;
        double noise = region->noise + errors.value + slope * (D + sf_norm(X, d));
        noise += errors.drift * seen->age;
        newest = sf_add_cut(&leader, X, *seen->g, seen->s, noise, K, d, undo, work);
        numbers[SF_COUNT] = leader.count;
    }
    const double worst = numbers[SF_WORST_LAG];
    const double energy = numbers[SF_SQUARES_SUM] + worst * worst / (2 * (D * D));
    const double scale = rule->strong_convexity > 0 ? 0.5 * rule->strong_convexity * t
                                                    : sqrt(2 * energy) / D;
    if (!(scale < HUGE_VAL)) {
        return SF_RANGE;
    }
    numbers[SF_ETA_INVERSE] = scale;
    info->note[SF_LEADER_SCALE] = scale;
    info->note[SF_LEADER_REACH] = D;
    sf_lead(rule, &leader, X, grad, newest, before, scale, at_Z, work);
    sf_rows_dot(at_X, &leader, X, d);
    const int status = sf_follow(region, &leader, wish, X, at_X, at_Z, seen->s, work);
    sf_along(wanted, leader.start, 1.0, leader.Z, d);
    return status;
}
