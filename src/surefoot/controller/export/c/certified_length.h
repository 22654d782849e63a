#include "ball.h"

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

/* The tightening of round t. */
static inline double sf_tightening(double t, double start_slack)
{
    return sf_min(0.5 * start_slack, SF_DECREASING ? SF_RHO / sqrt(t) : SF_RHO);
}

/* What is known before a move. */
typedef struct {
    double start_slack;
    double rho;      /* the tightening of the round */
    double distance; /* A, a bound on the distance to the tightened set */
    double left;     /* B, what is left of it after the half-space; a negative number is a depth */
    double max_step; /* r, the longest certified step; 0 or less if there is none */
    double squared;  /* of the slope */
} sf_length;

/* How long the next step may be so that it certainly leads to a feasible action. */
static inline int sf_certified_length(sf_length *out, const double *x, const double *start,
                                      double rounds, double start_slack, double distance, double g,
                                      const double *s)
{
    const double upper_g = g + SF_NOISE;
    if (rounds == 0) {
        start_slack = -upper_g;
    }
    if (!(start_slack > 0)) {
        return SF_START;
    }
    const double rho = sf_tightening(rounds + 1.0, start_slack);
    const double excess = upper_g + rho;
    const double squared = sf_dot(s, s);
    double left;
    if (upper_g <= -rho) {
        left = excess / SF_G_G;
    } else {
        double away[SF_D];
        sf_minus(away, x, start);
        const double rise = upper_g + start_slack;
        double fresh = excess / (rise > 0 ? rise : 1.0) * sf_norm(away);
#ifdef SF_SIGMA
        fresh = sf_min(fresh, excess / SF_SIGMA);
#endif
        if (fresh < distance) {
            distance = fresh;
        }
        double cut = g + rho - 2 * SF_NOISE;
        cut = cut > 0 && squared > 0 ? cut / sqrt(squared) : 0.0;
        const double shorter = cut < distance ? (distance - cut) * (distance + cut) : 0.0;
        left = sqrt(shorter + SF_KAPPA * distance * distance);
    }
    out->start_slack = start_slack;
    out->rho = rho;
    out->distance = distance;
    out->left = left;
    out->max_step = rho / SF_G_G - left - SF_ERROR;
    out->squared = squared;
    return SF_OK;
}

/* From the step y to the next action: the half-space of the round, then the ball; or stay at x. */
static inline int sf_cut_and_project(double *next, const double *y, double excess, const double *s,
                                     const sf_length *length, const double *x)
{
    double p[SF_D];
    sf_copy(p, y);
    if (!(excess > -HUGE_VAL && excess <= 0.0)) {
        const double step = excess / length->squared;
        if (!(excess > 0.0 && excess < HUGE_VAL && length->squared < HUGE_VAL)) {
            return SF_RANGE;
        }
        if (!(length->squared > 0.0)) {
            return SF_EMPTY;
        }
        if (!(step < HUGE_VAL)) {
            return SF_RANGE;
        }
        sf_along(p, y, -step, s);
    }
    const int status = sf_project_ball(p);
    if (status != SF_OK) {
        return status;
    }
    sf_copy(next, length->max_step <= 0 ? x : p);
    return SF_OK;
}

/* A of the next round, after a step of a length. */
static inline double sf_next_distance(const sf_length *length, double rounds, double taken)
{
    double reached = length->left + taken + SF_ERROR;
    if (SF_DECREASING) {
        const double nearer = length->rho - sf_tightening(rounds + 2.0, length->start_slack);
        reached = reached - nearer / SF_G_G;
    }
    return sf_max(length->max_step > 0 ? reached : length->distance, 0.0);
}

/* The certificate: g of the next action is at most G_g (B + taken + e) - rho. */
static inline double sf_bound(const sf_length *length, double g, double size, double inverse)
{
    if (!(length->max_step > 0)) {
        return g;
    }
    const double taken = inverse > 0 ? sf_min(size / inverse, length->max_step) : 0.0;
    const double reached = length->left + taken + SF_ERROR;
    return sf_min(SF_G_G * reached - length->rho, 0.0);
}

/* What contradicts G_g, the start or convexity. */
static inline unsigned sf_alarms_of(const sf_length *length, double known_distance, double g,
                                    const double *s)
{
    const double steep = sf_norm_of(s, length->squared);
    const double limit = SF_G_G * known_distance - length->rho + 2 * SF_NOISE;
    const double cut = steep > 0 ? sf_max(g + length->rho - SF_NOISE, 0.0) / steep : 0.0;
    const int near_the_limit = g + SF_NOISE > -length->rho;
    unsigned alarms = 0;
    if (steep > SF_G_G * (1 + 1e-12)) {
        alarms |= SF_STEEP;
    }
    if (near_the_limit && g > limit) {
        alarms |= SF_ABOVE;
    }
    if (near_the_limit && cut > length->distance * (1 + 1e-7) + SF_ERROR) {
        alarms |= SF_ANOTHER;
    }
    return alarms;
}
