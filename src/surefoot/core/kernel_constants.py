"""Constants that the C text shares; `make constants` writes them from its table."""

# --- rounding -------------------------------------------------------------------------------------

UNIT = 1.1102230246251565e-16
"""u = 2^-53, the unit roundoff of float64: one operation errs by at most u of its result."""
TINY = 1e-300
"""Above 0: added to a margin that may be 0, and in place of a length that may be 0 in a quotient.
"""
TERMS = 8
"""n + 8 roundings are more than any point or distance of n entries goes through."""
VALUE_TERMS = 4
"""n + 4 roundings are more than a value of g, or a unit normal, goes through."""
VALUE_ROUNDINGS = 16.0
"""A computed g errs by at most 16(n+4)uMG_g, M the largest norm of a feasible point."""
SUM_ROUNDINGS = 8.0
"""One more sum with a value of g errs by at most 8uMG_g."""
POINT_ROUNDINGS = 4.0
"""A point that was moved to an edge is at most 4(n+8)uM beyond it."""
LEAST_SQUARE = 1e-290
"""A sum of squares above this lost no digits to underflow,"""
MOST_SQUARE = 1e308
"""and one below this is finite: then its root is the norm, else the entries are scaled."""
EXCESS = 1e-12
"""A norm contradicts its bound only where it is larger by this share, which is above its rounding.
"""
ALARM_NOISES = 4.0
"""A value contradicts what is known only by more than so many errors of an evaluation."""

# --- hull -----------------------------------------------------------------------------------------

HULL_NOISES = 2.0
"""A radius is smaller by two errors of an evaluation, over G_g: that of the reading and that of
the next.
"""
HULL_ROUNDINGS = 4.0
"""And by so many roundings of a point at the edge."""
POINT = 1e-300
"""The radius of a ball that is its centre, and not empty."""
CLOSE = 1e-7
"""Hulls are as near as each other where this share of the distances is between them."""
RUNGS = 15
"""How many balls there are beside the deepest: the smallest is 2^-15 of it."""
SLACK_LEFT = 0.5
"""Under drift the anchor is visited once at most this share of its slack is left."""
SWEEPS = 60
"""How often the search for the nearest point of two sets is improved."""
SWEEP_SHARE = 0.5
"""The share of their size over the distance of the proposal that it takes as a step: half of it
needs a third of the turns.
"""
SWEEP_STEP = 1.2
"""It goes on by so much of what a turn says; with 1.2 turns were fewest."""
SWEEP_END = 1e-15
"""It ends where a point moves by this share of its size."""

# --- way ------------------------------------------------------------------------------------------

NEAR_END = 44
"""On the way to a point that is not certified, 1 - 2^-44 to 1 - 2^-1 of it are tried: mostly a
rounding is missing.
"""
NEAR_START = 29
"""Then 2^-2 to 2^-29 of it."""
HALVINGS = 40
"""How often the rest of a way is halved."""
HALVING_END = 1e-15
"""It ends where the two ends are so near, as shares of the way."""

# --- length ---------------------------------------------------------------------------------------

LENGTH_ROUNDINGS = 32.0
"""e = 32(n+8)uM + delta/G_g, what projections and a distance may be off by."""
ROOT_ROUNDINGS = 4.0
"""kappa = 4(n+8)u, by how much the square below the root may be too small."""
LENGTH_NOISES = 2.0
"""A limit, and a cut, allow for two errors of an evaluation: of the reading and of the sum."""
TIGHTEST = 0.5
"""A tightening takes at most this share of the anchor's slack, so that the tightened set is not
empty.
"""
CRAMPED = 0.2
"""A step is of no use where less than this share of rho/G_g is certified."""
STALE = 0.5
"""Under drift the anchor is visited once drift may have used this share of its slack."""
CUT_ROUNDING = 1e-7
"""Computed distances err by the root of u relative to themselves: a cut may be so much longer."""

# --- curvature ------------------------------------------------------------------------------------

CURVATURE_ROUNDINGS = 32.0
"""e = 4 delta + 32(n+8)u(|g| + |s|M + beta M^2), what a bound is kept below 0 by."""
EVALUATIONS = 4.0
"""The 4 before delta."""
CHECK_SHARE = 0.5
"""Points are sought with the whole margin and pass with this share: the rest is for the search's
rounding.
"""
SEEN_MARGINS = 2.0
"""A curvature is seen only beyond two margins, one of each reading."""
TRIES = 3
"""A far point loses digits in the first projection; the second starts where they are not lost."""

# --- rows -----------------------------------------------------------------------------------------

REFINED = 4
"""How often half-spaces are moved again by the length of the step that they led to, within sets."""
REFINED_FREE = 2
"""Likewise without sets, where nothing but the rows can shorten a step."""
LONGER = 1.02
"""By what a square grows for which half-spaces are moved again after a step was too long."""
NEAR = 0.001
"""The half-spaces stay where the square changed by at most this share."""
INWARDS = (0.0, 1e-13, 1e-10, 1e-7, 0.0001)
"""How far inside of everything a common point is sought, relative to the reach."""
BOUND_SHARE = 0.25
"""A search ends where bounds are within this share of their margin: half of what a point may pass
with.
"""
NEWTON_STEPS = 40
"""How often multipliers of bounds are improved by Newton's method."""
NEWTON_ROUNDINGS = 16.0
"""The rows of a Newton step hold up to 16(n+8)u of the largest."""
FAR_ROUNDINGS = 8.0
"""A search from a far point v errs by up to 8(n+8)u|v|, and a way back by 8(n+8)uM."""
LINE_TRIES = 12
"""How often a Newton step is halved."""
LINE_RISE = 0.0001
"""A step is taken if the dual rises by this share of what its slope says."""
LINE_NOISE = 1e-13
"""Near the solution the gain is below this share of the dual, its rounding."""
DEPENDENT = 1e-7
"""A unit row depends on the active rows if its part across them is shorter: the root of u, nearly.
"""
ACTIVE_TURNS = 20
"""Rows join the active ones at most so often, times one more than there are."""
ACTIVE_SHARE = 0.25
"""The search for active rows ends at this share of the tolerance; the rest is for the final check.
"""

# --- leader ---------------------------------------------------------------------------------------

MULTIPLES = (0.0, 0.25, 1.0, 4.0)
"""The steps of the leaders, as multiples of eta; 0 for the one that adds up all gradients."""
INITIAL_WEIGHTS = (0.925, 0.025, 0.025, 0.025)
"""The trust in each before the first round: most in the one that has the proof."""
INITIAL_LOGS = (0.07796154146971176, 3.6888794541139363, 3.6888794541139363, 3.6888794541139363)
"""ln(1/p) of these: the step calls no logarithm of a library, whose last bit is the machine's."""
EQUAL = 9.094947017729282e-13
"""2^-40: costs that differ by this share of the largest are the same: nothing is learnt from
rounding.
"""
LEAST_SAVING = 1e-150
"""Trust changes only where the square of the largest saving is a double: above this,"""
MOST_SAVING = 1e150
"""and below this."""
SHALLOW = 50.0
"""A start is shallow if the set is this many times larger than its certified ball."""
GROWN = 1.1
"""The certified depth has grown where it is larger by a tenth."""
GROWING = 5
"""A shallow start counts as growing for so many rounds after that."""
GROWTH = 0.5
"""While it grows, the margin is this share of the way, over SHALLOW,"""
LEAP = 3.0
"""but at most three depths: the ball may be four times wider after the round."""
EXACT = 0.01
"""A leader's projection ends where multipliers change by this share of the way to it."""
TIMES = 2
"""How often a leader's projection is improved in a round."""
DIRECTIONS = 4
"""How many directions of conjugate gradients are tried in a round."""
FLAT = 1e-14
"""A direction whose normals cancel to this share has nothing to gain."""
OUTREACH = 2.0
"""In a ball a leader may be up to 2D from the start: farther points hold nothing."""
FURTHEST = 1e100
"""And in any other set up to this, whose square is a double."""
ROOM_SHARE = 0.5
"""The margin h: this share of the certified radius,"""
LAG_SHARE = 0.5
"""and what this share of the lag pays for,"""
WAY_SHARE = 0.5
"""but at most this share of the way, or of the radius,"""
KEEP = 0.97
"""and of the certified depth: an action there is still deep enough to move."""
ARRIVED = 0.25
"""The certified point nearest to the leader is the proposal where it is off by at most this share
of the way.
"""
LENGTHS = 11
"""How many lengths of the way are tried: the shortest is 2^-10 of it."""
DEPTH_SHARE = 0.5
"""A depth of h is worth this share of the lag."""
AGAIN = 0.5
"""Where the margin is too large for the set, lengths are tried once more with this share of it."""
CLEARLY = 1e-9
"""By what share of the way to F a point must be better: shares that lead to one differ by less."""

# --- averaging ------------------------------------------------------------------------------------

AVERAGING_STEPS = (1.0, 0.25, 1.0, 4.0)
"""The steps of the far points, as multiples of eta; the first of them is never pruned."""

# --- probing --------------------------------------------------------------------------------------

NEGLIGIBLE = 1e-7
"""Slack below this share of the start's is not worth a probe."""
PROBE_MISS = 0.5
"""An action counts as a probe where it is off by less than this share of the probe's length."""
PROBE_ERRORS = 8.0
"""A probe is as long as values err by an eighth of what g can change over it,"""
PROBE_MOST = 0.9
"""but at most this share of the certified radius."""
PROBE_VARIANCE = 3.0
"""Errors of at most e have a variance of e^2 over this, if they are uniform."""
PROBE_NOISE = 1.0
"""No probe begins whose differences have more variance from errors than from slopes, by this
factor.
"""

# --- games ----------------------------------------------------------------------------------------

LARGEST_EXPONENT = 300.0
"""Exponential penalties stop growing at e^300: where a premise fails neither they nor their
squares are infinite.
"""
SHRINK_ROUNDINGS = 16.0
"""An action of a gauge is drawn in by 16(n+8)u of its limit, so that it is inside as computed too.
"""
