/* Arithmetic of vectors, each operation rounded once and never fused. */

#ifdef SF_D
#define SF_DIM(rule) ((void)(rule), SF_D)
#else
#define SF_DIM(rule) ((rule)->d)
#endif

/* Scratch memory; given by value, so that what a function takes is free after it. */
typedef struct {
    double *next;
} sf_work;

static inline double *sf_take(sf_work *work, int n)
{
    double *taken = work->next;
    work->next += n;
    return taken;
}

#ifdef __GNUC__
#define SF_INLINE static inline __attribute__((always_inline))
#define SF_UNROLL _Pragma("GCC unroll 16")
#else
#define SF_INLINE static inline
#define SF_UNROLL
#endif

/* Lanes are added four or two at once where a compiler can be told so: the same bits. */
#ifdef __AVX__
#define SF_WIDTH 4
#else
#define SF_WIDTH 2
#endif
#ifdef __GNUC__
#define SF_LANE(lanes, k) ((lanes)[(k) / SF_WIDTH][(k) % SF_WIDTH])
typedef double sf_lane __attribute__((vector_size(8 * SF_WIDTH), aligned(8), may_alias));
typedef double sf_pair __attribute__((vector_size(16), aligned(8), may_alias));
#else
#undef SF_WIDTH
#define SF_WIDTH 1
#define SF_LANE(lanes, k) ((lanes)[k])
typedef double sf_lane, sf_pair;
#endif
#define SF_AT(a, i) (*(const sf_lane *)((a) + (i)))

/* Do something for n entries, as many at once as a lane has, then two, then one: SF_IN(a) are those
 * of a. */
#define SF_EACH(n, something)                                                                      \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        const size_t most = (size_t)(n), last = most & ~(size_t)(SF_WIDTH - 1);                    \
        for (; i < last; i += SF_WIDTH) {                                                          \
            typedef sf_lane sf_entry;                                                              \
            something;                                                                             \
        }                                                                                          \
        if (SF_WIDTH > 2 && (most & 2)) {                                                          \
            typedef sf_pair sf_entry;                                                              \
            something;                                                                             \
            i += 2;                                                                                \
        }                                                                                          \
        if (SF_WIDTH > 1 && (most & 1)) {                                                          \
            typedef double sf_entry;                                                               \
            something;                                                                             \
        }                                                                                          \
    } while (0)
#define SF_IN(a) (*(sf_entry *)((a) + i))
/* The sum of eight lanes. */
static inline double sf_sum_lanes(sf_lane *lanes)
{
    for (int k = 0; k < 4 / SF_WIDTH; k++) {
        lanes[k] += lanes[4 / SF_WIDTH + k];
    }
    return (SF_LANE(lanes, 0) + SF_LANE(lanes, 2)) + (SF_LANE(lanes, 1) + SF_LANE(lanes, 3));
}

#define SF_TILE 4 /* sums at once, at most */

/* Add to the lanes of a b sums so many products from entry i on: of a rows with b vectors, or the
 * squares of what a row and a vector differ by. */
SF_INLINE void sf_add_products(sf_lane lanes[][8 / SF_WIDTH], const double *const *rows, int a,
                               const double *const *x, int b, int i, int many, int apart)
{
    SF_UNROLL
    for (int k = 0; k < many; k += SF_WIDTH) {
        sf_lane other[SF_TILE];
        SF_UNROLL
        for (int j = 0; j < b; j++) {
            other[j] = SF_AT(x[j], i + k);
        }
        SF_UNROLL
        for (int j = 0; j < a * b; j++) {
            const sf_lane one = SF_AT(rows[j / b], i + k), way = one - other[j % b];
            lanes[j][k / SF_WIDTH] += apart ? way * way : one * other[j % b];
        }
    }
}

/* The sums of products of a rows with b vectors, each in eight lanes, then in four; what is left is
 * added one by one. Those of a row are beside each other. */
SF_INLINE void sf_dots(double *sums, const double *const *rows, int a, const double *const *x,
                       int b, int n, int apart)
{
    const int left = n & 3, even = n - left;
    sf_lane lanes[SF_TILE][8 / SF_WIDTH];
    SF_UNROLL
    for (int j = 0; j < a * b; j++) {
        SF_UNROLL
        for (int k = 0; k < 8; k += SF_WIDTH) {
            lanes[j][k / SF_WIDTH] = (sf_lane){0.0};
        }
    }
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        sf_add_products(lanes, rows, a, x, b, i, 8, apart);
    }
    if (i < even) {
        sf_add_products(lanes, rows, a, x, b, i, 4, apart);
    }
    SF_UNROLL
    for (int j = 0; j < a * b; j++) {
        sums[j] = n >= 4 ? sf_sum_lanes(lanes[j]) : 0.0;
        for (int k = 0; k < left; k++) {
            const double one = rows[j / b][even + k], other = x[j % b][even + k];
            const double way = one - other;
            sums[j] += apart ? way * way : one * other;
        }
    }
}

static inline double sf_dot(const double *a, const double *b, int n)
{
    double sum;
    sf_dots(&sum, &a, 1, &b, 1, n, 0);
    return sum;
}

static inline double sf_squared_distance(const double *a, const double *b, int n)
{
    double sum;
    sf_dots(&sum, &a, 1, &b, 1, n, 1);
    return sum;
}

/* The products of rows from k on, a at once, with b vectors; return the first that is left.
 * held: which rows; NULL for all. */
SF_INLINE int sf_multiply_by(double *const *out, const double *rows, const int *held, int k, int n,
                             int a, const double *const *x, int b, int d)
{
    for (; k + a <= n; k += a) {
        const double *some[SF_TILE];
        double sums[SF_TILE];
        SF_UNROLL
        for (int j = 0; j < a; j++) {
            some[j] = rows + (size_t)(held ? held[k + j] : k + j) * d;
        }
        sf_dots(sums, some, a, x, b, d, 0);
        SF_UNROLL
        for (int j = 0; j < a * b; j++) {
            out[j % b][k + j / b] = sums[j];
        }
    }
    return k;
}

/* The products of each of n rows with up to four vectors. Several are taken at once, so that no sum
 * waits for another, and a row is read once for all vectors. */
static inline void sf_multiply_each(double *const *out, const double *rows, int n,
                                    const double *const *x, int count, int d)
{
    if (count == 4) {
        sf_multiply_by(out, rows, NULL, 0, n, 1, x, 4, d);
    } else if (count == 3) {
        sf_multiply_by(out, rows, NULL, 0, n, 1, x, 3, d);
    } else if (count == 2) {
        sf_multiply_by(out, rows, NULL, 0, n, 1, x, 2, d);
    } else if (count == 1) {
        const int k = sf_multiply_by(out, rows, NULL, 0, n, 4, x, 1, d);
        sf_multiply_by(out, rows, NULL, k, n, 1, x, 1, d);
    }
}

static inline void sf_multiply(double *out, const double *rows, int n, const double *x, int d)
{
    sf_multiply_each(&out, rows, n, &x, 1, d);
}

/* The products of some rows with a vector. */
static inline void sf_multiply_held(double *out, const double *rows, const int *held, int n,
                                    const double *x, int d)
{
    const int k = sf_multiply_by(&out, rows, held, 0, n, 4, &x, 1, d);
    sf_multiply_by(&out, rows, held, k, n, 1, &x, 1, d);
}

static inline void sf_fill(double *to, double value, int n)
{
    SF_EACH(n, SF_IN(to) = (sf_entry){0.0} + value);
}

/* The places of those of n weights that are not 0, and these weights; return how many. */
static inline int sf_hold(int *held, double *some, const double *weights, int n)
{
    int m = 0;
    for (int k = 0; k < n; k++) { /* without a branch that nobody can foresee */
        held[m] = k;
        some[m] = weights[k];
        m += fabs(weights[k]) > 0.0;
    }
    return m;
}

/* Add four rows by their weights, to 0 where they are the first. */
SF_INLINE void sf_add_four(double *out, const double *const *rows, const double *weights, int d,
                           int is_first)
{
    const double A = weights[0], B = weights[1], C = weights[2], D = weights[3];
    const double *a = rows[0], *b = rows[1], *c = rows[2], *e = rows[3];
    SF_EACH(d, const sf_entry sum = is_first ? (sf_entry){0.0} : SF_IN(out);
            const sf_entry two = (sum + A * SF_IN(a)) + B * SF_IN(b);
            SF_IN(out) = (two + C * SF_IN(c)) + D * SF_IN(e));
}

/* The weighted sum of those m rows that are held, one after the other, four at once; held: NULL for
 * the first m. */
static inline void sf_add_up(double *out, const double *rows, const int *held,
                             const double *weights, int m, int d)
{
    if (m == 0) {
        sf_fill(out, 0.0, d);
    }
    for (int j = 0; j < m; j += 4) {
        const double *four[4];
        double some[4];
        for (int k = 0; k < 4; k++) { /* beyond the last, that is added 0 times */
            const int at = j + k < m ? j + k : m - 1;
            four[k] = rows + (size_t)(held ? held[at] : at) * d;
            some[k] = j + k < m ? weights[at] : 0.0;
        }
        if (j == 0) {
            sf_add_four(out, four, some, d, 1);
        } else {
            sf_add_four(out, four, some, d, 0);
        }
    }
}

static inline int sf_all_finite(const double *a, int n)
{
    int finite = 1;
    for (int i = 0; i < n; i++) {
        finite &= fabs(a[i]) <= DBL_MAX;
    }
    return finite;
}

static inline void sf_copy(double *to, const double *from, int n)
{
    SF_EACH(n, SF_IN(to) = SF_IN(from));
}

static inline void sf_minus(double *out, const double *a, const double *b, int n)
{
    SF_EACH(n, SF_IN(out) = SF_IN(a) - SF_IN(b));
}

static inline void sf_scale(double *out, double share, const double *a, int n)
{
    SF_EACH(n, SF_IN(out) = share * SF_IN(a));
}

/* a + share b, each entry rounded twice. */
static inline void sf_along(double *out, const double *a, double share, const double *b, int n)
{
    SF_EACH(n, SF_IN(out) = SF_IN(a) + share * SF_IN(b));
}

static inline double sf_max(double a, double b)
{
    return b > a ? b : a;
}

static inline double sf_min(double a, double b)
{
    return b < a ? b : a;
}

/* The largest entry of a vector, and of a number; of four chains, so that none waits long. */
static inline double sf_largest(const double *a, int n, double most)
{
    double lane[4] = {most, most, most, most};
    for (int i = 0; i + 4 <= n; i += 4) {
        for (int k = 0; k < 4; k++) {
            lane[k] = sf_max(lane[k], a[i + k]);
        }
    }
    for (int i = n - (n & 3); i < n; i++) {
        most = sf_max(most, a[i]);
    }
    return sf_max(most, sf_max(sf_max(lane[0], lane[1]), sf_max(lane[2], lane[3])));
}

/* The norm of a vector times share, right also where the square leaves the range of a double. */
static inline double sf_scaled_norm(const double *a, const double *b, int n)
{
    double largest = 0.0, sum = 0.0;
    for (int i = 0; i < n; i++) {
        const double size = fabs(b ? a[i] - b[i] : a[i]);
        largest = size <= largest ? largest : size;
    }
    if (!(largest > 0.0 && largest < HUGE_VAL)) {
        return largest;
    }
    for (int i = 0; i < n; i++) {
        const double scaled = (b ? a[i] - b[i] : a[i]) / largest;
        sum += scaled * scaled;
    }
    return largest * sqrt(sum);
}

static inline double sf_norm(const double *a, int n)
{
    const double squared = sf_dot(a, a, n);
    const int plain = squared > SF_LEAST_SQUARE && squared < SF_MOST_SQUARE;
    return plain ? sqrt(squared) : sf_scaled_norm(a, NULL, n);
}

static inline double sf_distance(const double *a, const double *b, int n)
{
    const double squared = sf_squared_distance(a, b, n);
    const int plain = squared > SF_LEAST_SQUARE && squared < SF_MOST_SQUARE;
    return plain ? sqrt(squared) : sf_scaled_norm(a, b, n);
}

/* At least what a sum, difference or product was before it was rounded to a. */
static inline double sf_raised(double a)
{
    return a + 2.0 * SF_UNIT * fabs(a);
}

static inline int sf_differ(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            return 1;
        }
    }
    return 0;
}

/* Project p onto the half-space that it exceeds by so much along s; in place. */
static inline int sf_project_halfspace(double *p, double excess, const double *s, int n)
{
    if (excess > -HUGE_VAL && excess <= 0.0) {
        return SF_OK;
    }
    const double squared = sf_dot(s, s, n), step = excess / squared;
    if (!(squared > 0.0 && squared < HUGE_VAL && excess > 0.0 && step < HUGE_VAL)) {
        return squared == 0.0 && excess > 0.0 && excess < HUGE_VAL ? SF_EMPTY : SF_RANGE;
    }
    sf_along(p, p, -step, s, n);
    return SF_OK;
}
