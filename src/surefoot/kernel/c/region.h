/* What a round may be wrong by, and the certified next actions. */

typedef struct {
    double value, slope, drift;
    int exact; /* whether readings that count are, up to rounding, and g is fixed */
} sf_errors;

static inline sf_errors sf_errors_of(const sf_rule *rule, const sf_feedback *seen)
{
    sf_errors errors;
    errors.value = seen->value_error ? *seen->value_error : rule->value_error;
    errors.slope = seen->slope_error ? *seen->slope_error : rule->slope_error;
    errors.drift = rule->drift;
    errors.exact = errors.value == 0.0 && errors.drift == 0.0
                   && (errors.slope == 0.0 || errors.slope == HUGE_VAL);
    return errors;
}

/* A point where g was measured, in a block of d + 2 numbers. */
typedef struct {
    const double *x;
    double value; /* g there was at most this */
    double round; /* when */
} sf_spot;

static inline sf_spot sf_spot_at(const double *block, int d)
{
    const sf_spot spot = {block, block[d], block[d + 1]};
    return spot;
}

static inline void sf_put_spot(double *block, const double *x, double value, double round, int d)
{
    sf_copy(block, x, d);
    block[d] = value;
    block[d + 1] = round;
}

/* The bound on g in round t where it was at most a value in another, rounded up. */
static inline double sf_aged(double value, double age, double drift)
{
    const double rise = drift == 0.0 ? 0.0 : sf_raised(drift * fabs(age));
    return rise > 0.0 ? sf_raised(value + rise) : value;
}

#define SF_MOST_BALLS (SF_RUNGS + 1) /* those of the ladder, and the deepest */

/* Balls beside the last action's, with what a search for the hull nearest to a point asks of each:
 * the anchor's and those of the ladder. */
typedef struct {
    int count;
    const double *spot[SF_MOST_BALLS];
    double level[SF_MOST_BALLS], radius[SF_MOST_BALLS];
    double *ways;                /* in the scratch: from the last action to each centre */
    double apart[SF_MOST_BALLS]; /* the squared length of that */
    double widest;               /* the largest of these */
    double inverse[SF_MOST_BALLS], less[SF_MOST_BALLS], slope[SF_MOST_BALLS];
    double low[SF_MOST_BALLS], top[SF_MOST_BALLS];
} sf_balls;

/* The convex hulls of the last action's ball with the anchor's, or with one of several. */
typedef struct {
    const double *anchor, *x;
    double anchor_level, anchor_radius, anchor_round;
    double level, radius;  /* the radius is negative where the slack is below the margin */
    double rounding;       /* what a point that was moved to the edge may be beyond it */
    const sf_balls *balls; /* NULL for the anchor's alone */
} sf_hull;

/* The certified next actions; which fields count is a matter of what is known. */
typedef struct {
    const sf_rule *rule;
    const double *memory; /* of the state */
    sf_errors errors;
    double round;
    double upper; /* g at the last action was at most this */
    double radius, depth, longest, steepness, noise;
    /* hull */
    sf_hull hull;
    double rounding;
    /* length */
    double error, rise, point_level;
    int has_point;
    const double *point;
    /* curvature, one per row */
    const double *level, *margin, *squared;
} sf_region;

/* What is impossible by itself: a feasible action longer than all feasible points, or a slope;
   none is given where the action may be infeasible. */
static inline unsigned sf_alarms_alone(const sf_rule *rule, const double *x, double upper,
                                       const double *s, double slope_error)
{
    const int d = SF_DIM(rule), far = upper <= 0 && sf_norm(x, d) > rule->reach * (1 + SF_EXCESS);
    const int steep = s && sf_norm(s, d) > rule->G_g * (1 + SF_EXCESS) + slope_error;
    return (far ? SF_FAR : 0) | (steep ? SF_STEEP : 0);
}

/* Whether a point, from x so far on a way, is certified once it was moved into the domain. */
typedef int sf_settle_of(const sf_region *, double *point, const double *x, double share,
                         const double *way, sf_work);

/* The last point that is certified on the way from one that is; 0 where none is found. */
static inline int sf_shorten(const sf_region *region, sf_settle_of *settle, double *best,
                             const double *inside, const double *way, sf_work work)
{
    const int d = SF_DIM(region->rule);
    double *point = sf_take(&work, d), low = 1.0, high = 1.0, part = 1.0;
    int good = 0;
    /* Most often only a rounding is missing: from the far end, closest together at both. */
    for (int k = 0; k < SF_NEAR_END; k++) {
        part = 0.5 * part;
    }
    for (int k = 1; k <= SF_NEAR_END + SF_NEAR_START && !good; k++) {
        high = low;
        low = k <= SF_NEAR_END ? 1.0 - part : k < SF_NEAR_END + SF_NEAR_START ? part : 0.0;
        part = k < SF_NEAR_END ? 2.0 * part : k == SF_NEAR_END ? 0.25 : 0.5 * part;
        good = (*settle)(region, best, inside, low, way, work);
    }
    for (int k = 0; k < SF_HALVINGS && good && high - low > SF_HALVING_END; k++) {
        const double share = 0.5 * (low + high);
        if ((*settle)(region, point, inside, share, way, work)) {
            sf_copy(best, point, d);
            low = share;
        } else {
            high = share;
        }
    }
    return good;
}
