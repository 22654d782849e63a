/* Arithmetic of vectors, each operation rounded once and never fused. */

#ifdef SF_D
#define SF_DIM(rule) ((void)(rule), SF_D)
#else
#define SF_DIM(rule) ((rule)->d)
#endif

#define SF_UNIT 0x1p-53

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

/* Lanes are added four or two at once where a compiler can be told so: the same bits. */
#ifdef __AVX__
#define SF_WIDTH 4
#else
#define SF_WIDTH 2
#endif
#ifdef __GNUC__
#define SF_LANE(lanes, k) ((lanes)[(k) / SF_WIDTH][(k) % SF_WIDTH])
typedef double sf_lane __attribute__((vector_size(8 * SF_WIDTH), aligned(8), may_alias));
#else
#undef SF_WIDTH
#define SF_WIDTH 1
#define SF_LANE(lanes, k) ((lanes)[k])
typedef double sf_lane;
#endif
#define SF_AT(a, i) (*(const sf_lane *)((a) + (i)))

/* The sum of eight lanes. */
static inline double sf_sum_lanes(sf_lane *lanes)
{
    for (int k = 0; k < 4 / SF_WIDTH; k++) {
        lanes[k] += lanes[4 / SF_WIDTH + k];
    }
    return (SF_LANE(lanes, 0) + SF_LANE(lanes, 2)) + (SF_LANE(lanes, 1) + SF_LANE(lanes, 3));
}

/* The inner product in eight lanes, then in four; what is left is added one by one. */
static inline double sf_dot(const double *a, const double *b, int n)
{
    sf_lane lanes[8 / SF_WIDTH];
    memset(lanes, 0, sizeof lanes);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; k += SF_WIDTH) {
            lanes[k / SF_WIDTH] += SF_AT(a, i + k) * SF_AT(b, i + k);
        }
    }
    if (i + 4 <= n) {
        for (int k = 0; k < 4; k += SF_WIDTH) {
            lanes[k / SF_WIDTH] += SF_AT(a, i + k) * SF_AT(b, i + k);
        }
    }
    double sum = n >= 4 ? sf_sum_lanes(lanes) : 0.0;
    for (i = n - n % 4; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* The squared distance of two points, added as sf_dot adds. */
static inline double sf_squared_distance(const double *a, const double *b, int n)
{
    sf_lane lanes[8 / SF_WIDTH];
    memset(lanes, 0, sizeof lanes);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; k += SF_WIDTH) {
            const sf_lane way = SF_AT(a, i + k) - SF_AT(b, i + k);
            lanes[k / SF_WIDTH] += way * way;
        }
    }
    if (i + 4 <= n) {
        for (int k = 0; k < 4; k += SF_WIDTH) {
            const sf_lane way = SF_AT(a, i + k) - SF_AT(b, i + k);
            lanes[k / SF_WIDTH] += way * way;
        }
    }
    double sum = n >= 4 ? sf_sum_lanes(lanes) : 0.0;
    for (i = n - n % 4; i < n; i++) {
        const double way = a[i] - b[i];
        sum += way * way;
    }
    return sum;
}

/* The product of each of n rows with a vector. */
static inline void sf_multiply(double *restrict out, const double *rows, int n, const double *x,
                               int d)
{
    for (int k = 0; k < n; k++) {
        out[k] = sf_dot(rows + (size_t)k * d, x, d);
    }
}

static inline void sf_fill(double *to, double value, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] = value;
    }
}

/* The weighted sum of n rows, of those that have a weight, four at once. */
static inline void sf_add_up(double *restrict out, const double *rows, int n,
                             const double *weights, int d)
{
    sf_fill(out, 0.0, d);
    for (int first = 0; first < n; first += 64) {
        const double *held[64 + 4];
        double some[64 + 4];
        int m = 0;
        for (int k = first; k < n && k < first + 64; k++) {
            held[m] = rows + (size_t)k * d;
            some[m] = weights[k];
            m += weights[k] != 0.0;
        }
        for (int j = m; j < m + 3; j++) { /* added 0 times */
            held[j] = rows;
            some[j] = 0.0;
        }
        for (int j = 0; j < m; j += 4) {
            const double A = some[j], B = some[j + 1], C = some[j + 2], D = some[j + 3];
            const double *a = held[j], *b = held[j + 1], *c = held[j + 2], *e = held[j + 3];
            int i = 0;
            for (; i + SF_WIDTH <= d; i += SF_WIDTH) {
                const sf_lane two = (SF_AT(out, i) + A * SF_AT(a, i)) + B * SF_AT(b, i);
                *(sf_lane *)(out + i) = (two + C * SF_AT(c, i)) + D * SF_AT(e, i);
            }
            for (; i < d; i++) {
                out[i] = (((out[i] + A * a[i]) + B * b[i]) + C * c[i]) + D * e[i];
            }
        }
    }
}

static inline int sf_all_finite(const double *a, int n)
{
    double lane[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, none = 0.0;
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; k++) {
            lane[k] += 0.0 * a[i + k]; /* NaN if an entry is not finite */
        }
    }
    for (; i < n; i++) {
        none += 0.0 * a[i];
    }
    for (int k = 0; k < 8; k++) {
        none += lane[k];
    }
    return none == 0.0;
}

static inline void sf_copy(double *to, const double *from, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

static inline void sf_minus(double *out, const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        out[i] = a[i] - b[i];
    }
}

/* a + share b, each entry rounded twice. */
static inline void sf_along(double *out, const double *a, double share, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        const double step = share * b[i];
        out[i] = a[i] + step;
    }
}

static inline double sf_max(double a, double b)
{
    return b > a ? b : a;
}

static inline double sf_min(double a, double b)
{
    return b < a ? b : a;
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
    return squared > 1e-290 && squared < 1e308 ? sqrt(squared) : sf_scaled_norm(a, NULL, n);
}

static inline double sf_distance(const double *a, const double *b, int n)
{
    const double squared = sf_squared_distance(a, b, n);
    return squared > 1e-290 && squared < 1e308 ? sqrt(squared) : sf_scaled_norm(a, b, n);
}

/* At least what a sum, difference or product was before it was rounded to a. */
static inline double sf_raised(double a)
{
    return a + 0x1p-52 * fabs(a);
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
