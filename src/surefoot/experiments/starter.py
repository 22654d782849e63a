"""The specification that `surefoot new` writes: commented, complete, quick to play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.core.algorithm import constructors_of
from surefoot.experiments.players import ALGORITHMS_BY_NAME, plain_parameters_of
from surefoot.experiments.plugins import Plugin
from surefoot.experiments.problems import PROBLEMS

__all__ = ["STARTER", "with_plugins"]

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
name = "ellipsoid"           # (rotated_box and polytopes need the extra surefoot[solve])
label = "ellipsoid, d = 4"
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
name = "LeaderFollower"      # feasible in every round without the costs' or sigma's bounds
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


_FILL_IN = {"number": "0.1", "any": "0.1", "whole": "1", "switch": "false", "word": '""'}


def with_plugins(name: str, plugins: Sequence[Plugin]) -> str:
    """Return a specification of the problems and algorithms of plugins, and two of the library.

    What has no default is put in as a number to be changed, with a comment that says so.
    """
    given = " ".join(f"--plugin {plugin.name}" for plugin in plugins)
    lines = [
        f"# Play it with      surefoot run FILE {given}",
        "",
        f'name = "{name}"',
        "trials = 10",
        "horizons = [250, 500, 1000]",
        "",
        "[recording]",
        "every = 10",
    ]
    problems = [p for plugin in plugins for p in plugin.problems] or ["paper_toy"]
    for title in problems:
        lines += ["", "[[problems]]", f'name = "{title}"']
        lines += _filled({n: d for n, (d, _) in PROBLEMS[title].arguments().items()})
    for title in (a for plugin in plugins for a in plugin.algorithms):
        rule = ALGORITHMS_BY_NAME[title]
        lines += ["", "[[algorithms]]", f'name = "{title}"']
        if tunings := constructors_of(rule):
            lines.append(f'tuning = "{tunings[0]}"')
        else:
            wanted = {n: w for n, w in plain_parameters_of(rule).items() if w.is_required}
            values = ", ".join(f"{n} = {_FILL_IN[w.form]}" for n, w in wanted.items())
            lines.append(f"parameters = {{ {values} }}" + "  # your values" * bool(wanted))
    for title, tuning in (("LeaderFollower", "default"), ("PFS", "tuned")):
        lines += ["", "[[algorithms]]", f'name = "{title}"', f'tuning = "{tuning}"']
    return "\n".join([*lines, ""])


def _filled(defaults: Mapping[str, Any]) -> list[str]:
    """Return a line for each argument; those that have a default as comments."""
    return [
        f"{name} = 1  # your value" if default is ... else f"# {name} = {_toml(default)}"
        for name, default in defaults.items()
        if default is not None
    ]


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')
