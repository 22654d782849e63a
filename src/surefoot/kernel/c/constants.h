/* The constants that C and Python share; constants.toml says what each is, and
 * `make constants` writes this file from there. */

/* rounding */
#define SF_UNIT 1.1102230246251565e-16
#define SF_TINY 1e-300
#define SF_TERMS 8
#define SF_VALUE_TERMS 4
#define SF_VALUE_ROUNDINGS 16.0
#define SF_SUM_ROUNDINGS 8.0
#define SF_POINT_ROUNDINGS 4.0
#define SF_LEAST_SQUARE 1e-290
#define SF_MOST_SQUARE 1e308
#define SF_EXCESS 1e-12
#define SF_ALARM_NOISES 4.0

/* hull */
#define SF_HULL_NOISES 2.0
#define SF_HULL_ROUNDINGS 4.0
#define SF_POINT 1e-300
#define SF_CLOSE 1e-7
#define SF_RUNGS 15
#define SF_SLACK_LEFT 0.5
#define SF_SWEEPS 60
#define SF_SWEEP_SHARE 0.5
#define SF_SWEEP_STEP 1.2
#define SF_SWEEP_END 1e-15

/* way */
#define SF_NEAR_END 44
#define SF_NEAR_START 29
#define SF_HALVINGS 40
#define SF_HALVING_END 1e-15

/* length */
#define SF_LENGTH_ROUNDINGS 32.0
#define SF_ROOT_ROUNDINGS 4.0
#define SF_LENGTH_NOISES 2.0
#define SF_TIGHTEST 0.5
#define SF_CRAMPED 0.2
#define SF_STALE 0.5
#define SF_CUT_ROUNDING 1e-7

/* curvature */
#define SF_CURVATURE_ROUNDINGS 32.0
#define SF_EVALUATIONS 4.0
#define SF_CHECK_SHARE 0.5
#define SF_SEEN_MARGINS 2.0
#define SF_TRIES 3

/* rows */
#define SF_REFINED 4
#define SF_REFINED_FREE 2
#define SF_LONGER 1.02
#define SF_NEAR 0.001
#define SF_INWARDS {0.0, 1e-13, 1e-10, 1e-7, 0.0001}
#define SF_BOUND_SHARE 0.25
#define SF_NEWTON_STEPS 40
#define SF_NEWTON_ROUNDINGS 16.0
#define SF_FAR_ROUNDINGS 8.0
#define SF_LINE_TRIES 12
#define SF_LINE_RISE 0.0001
#define SF_LINE_NOISE 1e-13
#define SF_DEPENDENT 1e-7
#define SF_ACTIVE_TURNS 20
#define SF_ACTIVE_SHARE 0.25

/* leader */
#define SF_MULTIPLES {0.0, 0.25, 1.0, 4.0}
#define SF_INITIAL_WEIGHTS {0.925, 0.025, 0.025, 0.025}
#define SF_INITIAL_LOGS {0.07796154146971176, 3.6888794541139363, 3.6888794541139363, 3.6888794541139363}
#define SF_EQUAL 9.094947017729282e-13
#define SF_LEAST_SAVING 1e-150
#define SF_MOST_SAVING 1e150
#define SF_SHALLOW 50.0
#define SF_GROWN 1.1
#define SF_GROWING 5
#define SF_GROWTH 0.5
#define SF_LEAP 3.0
#define SF_EXACT 0.01
#define SF_TIMES 2
#define SF_DIRECTIONS 4
#define SF_FLAT 1e-14
#define SF_OUTREACH 2.0
#define SF_FURTHEST 1e100
#define SF_ROOM_SHARE 0.5
#define SF_LAG_SHARE 0.5
#define SF_WAY_SHARE 0.5
#define SF_KEEP 0.97
#define SF_ARRIVED 0.25
#define SF_LENGTHS 11
#define SF_DEPTH_SHARE 0.5
#define SF_AGAIN 0.5
#define SF_CLEARLY 1e-9

/* averaging */
#define SF_AVERAGING_STEPS {1.0, 0.25, 1.0, 4.0}

/* probing */
#define SF_NEGLIGIBLE 1e-7
#define SF_PROBE_MISS 0.5
#define SF_PROBE_ERRORS 8.0
#define SF_PROBE_MOST 0.9
#define SF_PROBE_VARIANCE 3.0
#define SF_PROBE_NOISE 1.0

/* games */
#define SF_LARGEST_EXPONENT 300.0
#define SF_SHRINK_ROUNDINGS 16.0
