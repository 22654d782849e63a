/* Arithmetic of vectors, each operation rounded once and never fused. */

#ifdef SF_D
#define SF_DIM(rule) ((void)(rule), SF_D)
#else
#define SF_DIM(rule) ((rule)->d)
#endif

#define SF_UNIT 0x1p-53

/* Where it can be asked, the processor chooses how many lanes are added at once: the same bits. */
#if !defined(SF_D) && defined(__GNUC__) && defined(__x86_64__) && defined(__GLIBC__)
#define SF_WIDE static __attribute__((target_clones("avx2", "default")))
#else
#define SF_WIDE static inline
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

/* The sum of eight lanes, and of the products from the i-th on, one by one. */
static inline double sf_end_dot(const double *lane, const double *a, const double *b, int i, int n)
{
    double sum = 0.0; /* which the lanes are, where n is below 8 */
    if (i > 0) {
        sum = ((lane[0] + lane[4]) + (lane[2] + lane[6]))
              + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    }
    for (; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* The inner product, in eight lanes; what is left of n after eights is added one by one. */
static inline double sf_dot(const double *a, const double *b, int n)
{
    double lane[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; k++) {
            lane[k] += a[i + k] * b[i + k];
        }
    }
    return sf_end_dot(lane, a, b, i, n);
}

/* The product of each of n rows with a vector. */
SF_WIDE void sf_multiply(double *out, const double *rows, int n, const double *x, int d)
{
    for (int k = 0; k < n; k++) {
        out[k] = sf_dot(rows + (size_t)k * d, x, d);
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

static inline void sf_fill(double *to, double value, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] = value;
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

/* The squared distance of two points, added as sf_dot adds. */
static inline double sf_squared_distance(const double *a, const double *b, int n)
{
    double lane[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; k++) {
            const double way = a[i + k] - b[i + k];
            lane[k] += way * way;
        }
    }
    double sum = i > 0 ? sf_end_dot(lane, a, b, n, n) : 0.0;
    for (; i < n; i++) {
        const double way = a[i] - b[i];
        sum += way * way;
    }
    return sum;
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
