"""The specification that `surefoot new` writes: commented, complete, quick to play."""

from __future__ import annotations

__all__ = ["STARTER"]

STARTER = """\
# An experiment: every algorithm below plays every problem, for every horizon, in every trial.
# Play it with      surefoot run FILE         and again after a change: only what is new is played.
# Read it with      surefoot report FOLDER    (the run says which folder).
# What else there is to name:                 surefoot list

name = "first"               # letters, digits, - and _ : also the folder of the results, out/first
seed = 0                     # root of all random numbers; all algorithms meet the same streams
trials = 10                  # runs with streams of their own, for means and error bars
horizons = [250, 500, 1000] # numbers of rounds
# engine = "auto"            # "loop", "batch" or "scan" to insist on one

[recording]
every = 10                   # keep every 10th round of the paths; leave out for totals only
actions = 1                  # and the actions of so many trials
# horizons = [1000]          # keep paths of these lengths only

# Problems, each with its own arguments. All but the first two take a seed for their geometry.

[[problems]]
name = "paper_toy"           # quadratic costs, a square; the best action is inside
# published = 0              # the streams of the published script instead of the seed's

[[problems]]
name = "binding_toy"         # the same with the best action in a corner
label = "toy, binding"       # what tables and figures call it

[[problems]]
name = "rotated_box"
label = "box, d = 4"
dimension = 4
costs = "linear"
seed = 3

# Algorithms: a name with a tuning, which is a theorem that chooses the parameters from the
# problem's constants, or with parameters of your own.

[[algorithms]]
name = "PFS"
tuning = "tuned"             # the best that Theorem 1 allows: feasible in every round

[[algorithms]]
name = "PFS"
tuning = "anytime"
label = "PFS, Corollary 1"

[[algorithms]]
name = "CertifiedPFS"        # feasible in every round without the costs' or sigma's bounds
tuning = "default"

[[algorithms]]
name = "ScalarDPP"
label = "DPP"
# An amount is a number, or times * T^power, cut to at_most and at_least.
parameters = { V = { power = 0.5 }, alpha = { power = 1.0 } }

[[algorithms]]
name = "Tighten"             # tells the algorithm inside it a constraint that is tighter by rho
label = "DPP-T"
parameters = { rho = { times = 9.0, power = -0.5, at_most = 0.45 } }
base = { name = "ScalarDPP", parameters = { V = { power = 0.5 }, alpha = { power = 1.0 } } }

[[algorithms]]
name = "OGD"                 # projects onto the feasible set: the price of not having to
tuning = "fixed"
only = ["paper_toy", "toy, binding"]
# horizons = [250]           # its own
# trials = 5                 # its own, if fewer
# constants = { G_f = 14.5 } # replaces a constant of the problem in this row's theorem
"""
