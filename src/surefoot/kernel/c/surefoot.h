/*
 * The certified step in C99: one text for the live loop, whole games and the export.
 *
 * A rule says what decides and what is known; all of its numbers may change from round to round.
 * A state is a flat block of doubles that begins with the action to play. A step needs scratch
 * memory, allocates nothing, and calls no function of a library but sqrt:
 *
 *     double *state = calloc(sf_state_size(&rule), sizeof(double));
 *     double *work = malloc(sf_scratch_size(&rule) * sizeof(double));
 *     sf_init(&rule, state, x1);
 *     for (;;) {                         // play state[0..d), observe there, and:
 *         sf_feedback seen = {0};
 *         seen.gradient = gradient, seen.g = &g, seen.s = s;
 *         status = sf_step(&rule, state, &seen, work, &info);
 *     }                                  // g(state[0..d)) <= info.bound <= 0
 *
 * A call that does not return SF_OK changed nothing.
 *
 * Numbers. Sums of products are added in one order, in eight lanes (sf_dot), and no product is
 * fused with a sum: every compiler gives the same bits. Compile with -ffp-contract=off. With
 * n = 8q + r numbers no product goes through more than q + 3 + r <= n additions for q > 0, and r
 * for q = 0: the bounds on rounding in the Python text, which are those of n additions in any
 * order, hold here. The rules, their proofs and the margins for rounding are explained there, in
 * surefoot.knowledge, proposers and rules, under the same names.
 */
#ifndef SF_SUREFOOT_H
#define SF_SUREFOOT_H

#if defined(__FAST_MATH__) || defined(_M_FP_FAST)
#error "certificates need IEEE arithmetic: compile without -ffast-math"
#endif

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "certificates need doubles that are rounded at once: compile with -msse2 -mfpmath=sse"
#endif

#include "constants.h"
#include "layout.h"

/* Numbers that have names: Python asks for them by these. */
#define SF_VALUE(name, value) name = value,

/* What a call returns. */
#define SF_STATUSES(CODE)                                                                          \
    CODE(SF_OK, 0)                                                                                 \
    CODE(SF_NOT_FINITE, 1) /* an entry is NaN or infinite */                                       \
    CODE(SF_START, 2)      /* the start is outside of the domain, or not strictly feasible */      \
    CODE(SF_EMPTY, 3)      /* nothing is certified: s = 0 above the limit, or too much drift */    \
    CODE(SF_RANGE, 4)      /* a number, or its square, leaves the range of a double */             \
    CODE(SF_ELSEWHERE, 5)  /* the rule, or what was told, is not in this text */                   \
    CODE(SF_NO_STATE, 6)   /* the state has a count that is no whole number from 0 to its limit */
enum { SF_STATUSES(SF_VALUE) };

/* Bits of sf_info.alarms: what was seen is impossible if the constants are right. */
#define SF_ALARMS(CODE)                                                                            \
    CODE(SF_STEEP, 1)   /* the slope is longer than the bound on it */                             \
    CODE(SF_ABOVE, 2)   /* g is above what was certified: a constant is too small, or another g */ \
    CODE(SF_ANOTHER, 4) /* not what was seen before: g is not convex, or another one */            \
    CODE(SF_FAR, 8)     /* the action is feasible, and longer than any feasible point can be */
enum { SF_ALARMS(SF_VALUE) };

/* What proposes, what is known of g, and the known set that holds every action. */
#define SF_PROPOSERS(CODE)                                                                         \
    CODE(SF_PROPOSALS, 0) CODE(SF_LEADER, 1) CODE(SF_DESCENT, 2) CODE(SF_AVERAGING, 3)             \
    CODE(SF_PROBING, 4)
#define SF_KNOWLEDGE(CODE)                                                                         \
    CODE(SF_HULL, 0) CODE(SF_LENGTH, 1) CODE(SF_CURVATURE, 2) CODE(SF_ROWS, 3)
#define SF_DOMAINS(CODE) CODE(SF_ANYWHERE, 0) CODE(SF_BALL, 1) CODE(SF_BOX, 2)
enum { SF_PROPOSERS(SF_VALUE) };
enum { SF_KNOWLEDGE(SF_VALUE) };
enum { SF_DOMAINS(SF_VALUE) };

/* A rule. What a part of it does not use may be anything. */
typedef struct {
    int d;    /* the length of an action */
    int cuts; /* how many half-spaces a leader remembers */
    int rows; /* how many constraints are seen, each by itself */
    int proposer;
    int knowledge;
    int domain;
    /* what is known of g */
    int decreasing;  /* length: whether rho is divided by the root of t */
    double G_g;      /* no subgradient of g is longer */
    double reach;    /* the largest norm of a feasible point */
    double value_error, slope_error, drift, evaluation_error;
    double rho;          /* length: the tightening */
    double sigma;        /* length: a lower bound on the subgradients near the boundary; or 0 */
    const double *beta;  /* curvature: a bound on the curvature of each row */
    /* the domain */
    const double *centre; /* of the ball; NULL for 0 */
    double radius;        /* of the ball */
    double inner;         /* that, less what a projection is rounded by */
    const double *lower, *upper; /* of the box */
    const double *middle;        /* of a ball around the domain; NULL for 0 */
    double around;               /* its radius */
    double diameter;             /* of the domain */
    /* leader */
    double strong_convexity; /* of every cost; 0 where none is known */
    /* probing: a leader, whose slopes are differences of values; slope_error is HUGE_VAL */
    double probe; /* the length of a probe, relative to the radius of the certified ball */
    double doubt; /* which part of the slack may be unexplained without a probe */
    double near;  /* how close to the boundary probes begin, relative to the deepest action */
    /* descent and averaging */
    int ratchet;
    double scale; /* 1/eta is the root of the squares over this */
    double eta;   /* a fixed limit on the step size; 0 for none */
    double far;   /* averaging: how far a far point may be away; 0 for any distance */
    int points;   /* averaging: how many far points there are */
    /* proposals */
    int as_steps;
} sf_rule;

/* What is told of a round; NULL for what nobody said. */
typedef struct {
    const double *gradient;    /* of the cost */
    const double *g;           /* the value of the constraint, one per row */
    const double *s;           /* one subgradient per row; probing: NULL */
    const double *proposal;    /* an action that somebody wants to play next */
    const double *action;      /* where this was seen, if not at the action of the state */
    const double *value_error; /* of this round's g, instead of the rule's */
    const double *slope_error;
    double age; /* how many rounds ago it was seen */
} sf_feedback;

/* Which inequality certifies the next action. */
#define SF_CERTIFICATES(CODE)                                                                      \
    CODE(SF_NOTHING, 0)     /* no reading yet: the start stays */                                  \
    CODE(SF_BALLS, 1)       /* hull: share, anchor, distance, room */                              \
    CODE(SF_SLACK, 2)       /* length: the action was inside the tightened set */                  \
    CODE(SF_CONTRACTION, 3) /* length: the half-space brought it back */                           \
    CODE(SF_PULLED, 4)      /* length: to the anchor */                                            \
    CODE(SF_STAYED, 5)      /* length: no step above the rounding level was certified */           \
    CODE(SF_QUADRATIC, 6)   /* curvature: value, slope, distance */                                \
    CODE(SF_PULL, 7)        /* curvature under drift: on the way to the anchor */
enum { SF_CERTIFICATES(SF_VALUE) };

/* The numbers of an info, in the order in which Python is given them: bound, alarms and kind are
 * those that most rounds ask for. */
#define SF_NUMBERS_OF_INFO(NUMBER)                                                                 \
    NUMBER(double, bound)    /* g of the next action is at most this, and this is at most 0 */     \
    NUMBER(int, cut)         /* 1 if the certificate changed the action that was wanted */         \
    NUMBER(unsigned, alarms) /* 0, or bits from above: the promise no longer holds */              \
    NUMBER(int, kind)        /* which inequality */                                                \
    NUMBER(int, row)         /* whose bound is largest */                                          \
    NUMBER(double, round)    /* how many rounds have passed */                                     \
    NUMBER(double, value)    /* the bound on g here in the next round; length: as read */          \
    NUMBER(double, anchor_value)                                                                   \
    NUMBER(double, anchor_round) /* the bound at the anchor, and when it was read */               \
    NUMBER(double, share)    /* of the last action in the centre; of the way to the anchor */      \
    NUMBER(double, distance) /* from the centre */                                                 \
    NUMBER(double, room)     /* how far from the centre is certified */                            \
    NUMBER(double, rho)      /* length: the tightening of the round */                             \
    NUMBER(double, moved)    /* length: the squares of the ways that the region moved the action */ \
    NUMBER(double, slope)    /* curvature: the product of the slope with the step */               \
    NUMBER(double, projection_error) /* descents: from what was found to where multipliers lead */
#define SF_LEADERS 4 /* that a leader, or an average, is the mean of, at most */
#define SF_NOTES 6   /* numbers that a proposer notes, at most */

/* What a step knew. */
typedef struct {
    SF_NUMBERS_OF_INFO(SF_MEMBER)
    double note[SF_NOTES];   /* what the regret bound wants to know: the proposer has a table */
    double lags[SF_LEADERS]; /* leaders: what the action has cost more than each of them */
    const double *wanted;  /* in the scratch: what was wanted before the region was asked */
    const double *found;   /* where a descent was cut off, or the first far point */
    const double *weights; /* in the scratch: the multipliers of that, one per row */
    const double *kept;    /* in the scratch, of averaging: the way to the last far point */
} sf_info;

/* How many doubles a state and the scratch memory have; 0 for a rule that is not in this text. */
static inline size_t sf_state_size(const sf_rule *rule);
static inline size_t sf_scratch_size(const sf_rule *rule);

/* Start at x1, strictly feasible: its slack comes with the first step. */
static inline int sf_init(const sf_rule *rule, double *state, const double *x1);

/* A round: what was seen at state[0..d) is told, and state[0..d) is the next action. */
static inline int sf_step(const sf_rule *rule, double *state, const sf_feedback *seen,
                          double *scratch, sf_info *info);

typedef int sf_step_of(const sf_rule *, double *, const sf_feedback *, double *, sf_info *);

#include "vectors.h"
#include "domain.h"
#include "region.h"
#include "hull.h"
#include "length.h"
#include "curvature.h"
#include "trust.h"
#include "leader.h"
#include "probing.h"
#include "descent.h"
#include "step.h"

#endif
