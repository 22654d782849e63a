#include <math.h>
#include <string.h>

/* What init and step return. Any other than SF_OK: nothing was changed, and the last action stands. */
enum {
    SF_OK = 0,
    SF_NOT_FINITE = 1, /* an entry is NaN or infinite */
    SF_START = 2,      /* the start is outside of the domain, or not strictly feasible */
    SF_EMPTY = 3,      /* nothing is certified: s = 0 above the tightened limit, or too much drift */
    SF_RANGE = 4       /* a number, or its square, leaves the range of a double */
};

/* Bits of sf_info.alarms: what was seen is impossible if the constants are right. */
enum {
    SF_STEEP = 1,   /* the slope is longer than the bound on it */
    SF_ABOVE = 2,   /* g is above what was certified: a constant is too small, or g is another */
    SF_ANOTHER = 4, /* what was seen does not fit what was seen before: not convex, or another g */
    SF_FAR = 8      /* the action is feasible, and longer than any feasible point can be */
};

/* What a step knew. */
typedef struct {
    double bound;    /* g of the next action is at most this, and this is at most 0 */
    int cut;         /* 1 if the certificate changed the action that was wanted */
    unsigned alarms; /* 0, or bits from above: the promise no longer holds */
} sf_info;

/* The inner product, in the order in which NumPy adds on the machine that wrote this file. */
static inline double sf_dot(const double *a, const double *b)
{
#if SF_D == 2 && SF_DOT_FUSED == 1
    return fma(a[1], b[1], a[0] * b[0]);
#elif SF_D == 2 && SF_DOT_FUSED == 2
    return fma(a[0], b[0], a[1] * b[1]);
#else
    double sum = 0.0;
    for (int i = 0; i < SF_D; i++) {
        sum += a[i] * b[i];
    }
    return sum;
#endif
}

static inline int sf_all_finite(const double *a)
{
    for (int i = 0; i < SF_D; i++) {
        if (!isfinite(a[i])) {
            return 0;
        }
    }
    return 1;
}

static inline void sf_copy(double *to, const double *from)
{
    memcpy(to, from, SF_D * sizeof(double));
}

static inline void sf_minus(double *out, const double *a, const double *b)
{
    for (int i = 0; i < SF_D; i++) {
        out[i] = a[i] - b[i];
    }
}

/* a + share b, each entry rounded twice: never fused. */
static inline void sf_along(double *out, const double *a, double share, const double *b)
{
    for (int i = 0; i < SF_D; i++) {
        const double step = share * b[i];
        out[i] = a[i] + step;
    }
}

/* The norm, right also where the square leaves the range of a double. */
static inline double sf_norm_of(const double *a, double squared)
{
    if (squared > 1e-290 && squared < 1e308) {
        return sqrt(squared);
    }
    double largest = 0.0;
    for (int i = 0; i < SF_D; i++) {
        const double size = fabs(a[i]);
        if (!(size <= largest)) {
            largest = size;
        }
    }
    if (!(largest > 0.0 && largest < HUGE_VAL)) {
        return largest;
    }
    double scaled[SF_D];
    for (int i = 0; i < SF_D; i++) {
        scaled[i] = a[i] / largest;
    }
    return largest * sqrt(sf_dot(scaled, scaled));
}

static inline double sf_norm(const double *a)
{
    return sf_norm_of(a, sf_dot(a, a));
}

static inline double sf_max(double a, double b)
{
    return b > a ? b : a;
}

static inline double sf_min(double a, double b)
{
    return b < a ? b : a;
}

/* At least what a sum, difference or product was before it was rounded to a. */
static inline double sf_raised(double a)
{
    return a + 0x1p-52 * fabs(a);
}

static inline int sf_differ(const double *a, const double *b)
{
    for (int i = 0; i < SF_D; i++) {
        if (a[i] != b[i]) {
            return 1;
        }
    }
    return 0;
}

/* Project p onto the half-space that it exceeds by so much along s; in place. */
static inline int sf_project_halfspace(double *p, double excess, const double *s)
{
    if (excess > -HUGE_VAL && excess <= 0.0) {
        return SF_OK;
    }
    const double squared = sf_dot(s, s);
    if (squared == 0.0 && excess > 0.0 && excess < HUGE_VAL) {
        return SF_EMPTY;
    }
    const double step = excess / squared;
    if (!(squared > 0.0 && squared < HUGE_VAL && excess > 0.0 && excess < HUGE_VAL
          && step < HUGE_VAL)) {
        return SF_RANGE;
    }
    for (int i = 0; i < SF_D; i++) {
        const double off = step * s[i];
        p[i] = p[i] - off;
    }
    return SF_OK;
}

/* Whether an action is feasible, and longer than any feasible point is said to be. */
static inline unsigned sf_far(const double *x, double upper)
{
    return upper <= 0 && sf_norm(x) > SF_REACH * (1 + 1e-12) ? SF_FAR : 0;
}

#ifdef SF_RADIUS
/* The way from the centre of the ball that holds every action. */
static inline void sf_from_centre(double *z, const double *x)
{
#ifdef SF_CENTRE
    static const double centre[SF_D] = SF_CENTRE;
    sf_minus(z, x, centre);
#else
    sf_copy(z, x);
#endif
}

/* Whether a point is in that ball. */
static inline int sf_in_ball(const double *x)
{
    double z[SF_D];
    sf_from_centre(z, x);
    return sf_dot(z, z) <= SF_RADIUS * SF_RADIUS;
}

/* The ball's nearest point, a rounding inside of it; in place. */
static inline int sf_project_ball(double *p)
{
    double z[SF_D];
    sf_from_centre(z, p);
    const double squared = sf_dot(z, z);
    if (squared <= SF_RADIUS * SF_RADIUS) {
        return SF_OK;
    }
    if (!(squared < HUGE_VAL)) {
        return SF_RANGE;
    }
    const double share = SF_INNER / sqrt(squared);
    for (int i = 0; i < SF_D; i++) {
        p[i] = share * z[i];
    }
#ifdef SF_CENTRE
    static const double centre[SF_D] = SF_CENTRE;
    for (int i = 0; i < SF_D; i++) {
        p[i] = centre[i] + p[i];
    }
#endif
    return SF_OK;
}
#endif
