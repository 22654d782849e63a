#include "common.h"

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

/* Whether an action may be the first: SF_OK, or what is wrong with it. */
static inline int sf_start(const double *x1)
{
    if (!sf_all_finite(x1)) {
        return SF_NOT_FINITE;
    }
    return sf_in_ball(x1) ? SF_OK : SF_START;
}
