"""The same plant in other units plays the same actions: what holds exactly, and what to rounding.

The plant of these tests is a box with two convex limits; its actuators are told in parts of one, in
percent, and so on, and a limit in degrees or in thousandths of them.
"""

import numpy as np
import pytest

from surefoot import Controller
from surefoot.problems.plant import Scaling, parse_plant
from surefoot.problems.plant.player import has_rows, player_of

ROUNDS = 60
STEEP = np.array([[6.0, 2.5, 1.1], [0.3, 0.0, 0.7]])
"""Of two limits, per actuator in parts of one."""
LOW, HIGH, START = np.array([0.2, 0.0, 0.1]), np.array([1.0, 1.0, 0.9]), np.array([1.0, 1.0, 0.1])


def text(units, limit_units, *, role="filter", top="", actuator="", limits=1, context=""):
    """A plant file; ``units`` are how many of the told unit are one."""
    lines = ["surefoot = 1", 'round = "1 min"', f'role = "{role}"', top]
    for i, unit in enumerate(units):
        low, high, start = (float(end[i] * unit) for end in (LOW, HIGH, START))
        lines += [f"[actuator.u{i}]", "unit = 'x'", f"range = [{low}, {high}]", f"start = {start}"]
        lines.append(actuator.format(unit=float(unit)))
    if context:
        lines += ["[context.outside]", "unit = 'K'", "range = [-1, 1]", context]
    for j in range(limits):
        unit = limit_units[j]
        lines += [f"[limit.v{j}]", "unit = 'y'", f"at_most = {(1.0 - j) * unit}"]
        lines += [f"meter_error = {0.01 * unit}", f"start_margin = {(1.3 - 0.9 * j) * unit}"]
        if context:
            lines.append(f"rise = {{ outside = {0.2 * unit} }}")
        steep = (STEEP[j] * unit / np.array(units)).tolist()
        pairs = ", ".join(f"u{i} = {number}" for i, number in enumerate(steep))
        lines.append(f"steepness = {{ {pairs} }}")
    return "\n".join(lines)


def values(x, moves):
    """The two limits at an action in parts of one: the first convex, the second affine."""
    first = -0.36 + 2.5 * (1.0 - x[0]) ** 2 + 1.2 * (1.0 - x[1]) + 0.5 * (x[2] - 0.1)
    return np.array([first + moves, -0.42 + 0.3 * (1.0 - x[0]) + 0.7 * (x[2] - 0.1)])


def slopes(x):
    return np.array([[-5.0 * (1.0 - x[0]), -1.2, 0.5], [-0.3, 0.0, 0.7]])


def play(units, limit_units=(1.0, 1.0), *, role="filter", has_context=False, **more):
    """The set points of every round in parts of one, and the most of any limit."""
    if has_context:
        more["context"] = "changes = 0.06"
    plant = parse_plant(text(units, limit_units, role=role, **more))
    scaling = Scaling(plant)
    known = {"context": [0.0]} if has_context else {}
    loop = Controller(player_of(plant, scaling), start=scaling.start, **known)
    units, rng = np.array(units), np.random.default_rng(5)
    played, count = [], len(plant.limits)
    for t in range(ROUNDS):
        x = scaling.to_set_points(loop.ask()) / units
        played.append(x)
        outside = 0.5 * np.sin(t / 9.0) if has_context else 0.0
        true = values(x, 0.1 * outside)[:count]
        assert (true <= [1.0, 0.0][:count]).all()
        read = true + rng.uniform(-0.01, 0.01, count)
        excess = scaling.to_excess((read * np.array(limit_units)[:count]).tolist())
        told = {"constraint_value": excess if has_rows(plant) else excess.max()}
        if plant.has_slopes:
            each = [
                scaling.to_slopes(j, (slopes(x)[j] * limit_units[j] / units).tolist())
                for j in range(count)
            ]
            told["constraint_subgradient"] = np.array(each) if has_rows(plant) else each[0]
        wanted = np.array([0.3, 0.2, 0.8]) + 0.1 * np.sin(t / 5.0)
        if role == "filter":
            told["proposal"] = scaling.to_action((wanted * units).tolist())
        else:
            told["cost_gradient"] = scaling.to_gradient((2 * (x - wanted) / units).tolist())
        if has_context:
            told["context"] = [0.5 * np.sin((t + 1) / 9.0)]
        loop.tell(**told)
    assert np.ptp(np.array(played), axis=0).max() > 0.05
    return np.array(played)


KINDS = {
    "filter": {},
    "filter of two limits": {"limits": 2},
    "filter in a context": {"has_context": True},
    "filter with ramps": {"actuator": "ramp = {unit}e-2"},
    "filter with steps": {"actuator": "step = {unit}e-1"},
    "filter with ramps in a context": {"actuator": "ramp = {unit}e-2", "has_context": True},
    "learner from values": {"role": "learner"},
    "learner from values of two limits": {"role": "learner", "limits": 2},
    "learner with slopes": {"role": "learner", "top": "slopes = true"},
    "learner with slopes of two limits": {"role": "learner", "top": "slopes = true", "limits": 2},
    "learner in a context": {"role": "learner", "has_context": True},
}
ONE = (1.0, 1.0, 1.0)


# Where a search ends depends on rounding, and what it finds does so in the fifth place.
SEARCHED = "learner from values of two limits"


@pytest.mark.parametrize("kind", KINDS)
def test_percent_and_parts_of_one_play_the_same_actions(kind):
    error = 1e-4 if kind == SEARCHED else 1e-9
    for factor in (100.0, 60.0):
        actions = play((factor,) * 3, **KINDS[kind])
        assert actions == pytest.approx(play(ONE, **KINDS[kind]), abs=error), factor


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_powers_of_two_play_the_same_actions_exactly(kind):
    if "steps" not in str(kind):
        actions = play((8.0, 0.25, 1024.0), (0.5, 4.0), **kind)
        assert (actions == play(ONE, **kind)).all()


@pytest.mark.parametrize("kind", ["filter", "filter of two limits", "learner with slopes"])
def test_degrees_and_thousandths_of_them_play_the_same_actions(kind):
    actions = play(ONE, (1000.0, 60.0), **KINDS[kind])
    assert actions == pytest.approx(play(ONE, **KINDS[kind]), abs=1e-9)


def test_a_part_of_the_actuators_in_other_units_plays_nearly_the_same():
    mixed, whole = play((100.0, 1.0, 1.0)), play(ONE)
    assert 1e-6 < abs(mixed - whole).max() < 0.05
