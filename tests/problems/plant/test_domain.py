"""The set of all actions of a plant: ranges, steps, and what can be off, to the last bit."""

import numpy as np
import pytest

from surefoot import Controller
from surefoot.knowledge import Choices
from surefoot.problems.plant.description import (
    ActuatorDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
)
from surefoot.problems.plant.player import domain_of, player_of
from surefoot.problems.plant.scaling import Scaling
from surefoot.sets import Box

TAP = ActuatorDescription("tap", "", 0.9, 1.1, 0.95, step=0.0125)
CHARGER = ActuatorDescription("charger", "A", 6.0, 32.0, 0.0, can_be_off=True)
VALVE = ActuatorDescription("valve", "%", 0.0, 100.0, 0.0)
FAN = ActuatorDescription("fan", "%", 30.0, 100.0, 0.0, step=10.0, can_be_off=True)


def plant(*actuators, **more):
    """Return a plant with one limit, that every actuator moves by a hundredth of its range."""
    steep = {each.name: PlantConstant(0.01 / (each.high - each.low)) for each in actuators}
    limit = LimitDescription(
        "heat", "degC", 27.0, "at_most", PlantConstant(0.0), PlantConstant(0.01), steepness=steep
    )
    return PlantDescription("hall", 1.0, actuators, (limit,), **more)


def test_a_range_is_a_box_and_anything_else_is_choices():
    assert isinstance(domain_of(plant(VALVE), Scaling(plant(VALVE))), Box)
    mixed = plant(TAP, CHARGER, VALVE, FAN)
    scaling = Scaling(mixed)
    domain = domain_of(mixed, scaling)
    assert isinstance(domain, Choices)
    for set_points, is_choice in (
        ([0.95, 0.0, 33.3, 0.0], True),
        ([0.9, 6.0, 0.0, 30.0], True),
        ([1.1, 31.7, 100.0, 100.0], True),
        ([0.955, 0.0, 0.0, 0.0], False),
        ([0.95, 5.0, 0.0, 0.0], False),
        ([0.95, 0.0, 101.0, 0.0], False),
        ([0.95, 0.0, 0.0, 20.0], False),
        ([0.95, 0.0, 0.0, 35.0], False),
    ):
        assert domain.contains(scaling.to_action(set_points)) is is_choice, set_points


@pytest.mark.parametrize("step", [0.1, 0.0125, 1.0 / 3.0, 0.7])
def test_whole_multiples_in_engineering_units_stay_so_to_the_last_bit(step):
    actuator = ActuatorDescription("tap", "", 3 * step, 200 * step, 7 * step, step=step)
    scaling = Scaling(plant(actuator))
    domain = domain_of(plant(actuator), scaling)
    for k in range(3, 201):
        action = scaling.to_action([k * step])
        assert domain.contains(action)
        assert scaling.to_set_points(action) == [k * step]


def test_a_set_point_that_is_a_multiple_but_for_rounding_is_that_multiple():
    # 3 times 0.1 is 0.30000000000000004 in float64: 0.3 is no choice, and nobody writes more.
    actuator = ActuatorDescription("tap", "", 0.3, 0.7, 0.3, step=0.1)
    scaling = Scaling(plant(actuator))
    domain = domain_of(plant(actuator), scaling)
    assert 0.3 != 3 * 0.1
    assert 0.7 != 7 * 0.1
    for written in (0.3, 0.4, 0.6, 0.7):
        assert domain.contains(scaling.to_action([written])), written
    assert not domain.contains(scaling.to_action([0.3000001]))
    assert domain.contains(scaling.start)


@pytest.mark.parametrize("options", [{}, {"role": "learner"}, {"role": "learner", "has_slopes": 1}])
def test_a_plant_of_mixed_actuators_is_played_on_its_choices(options):
    mixed = plant(TAP, CHARGER, VALVE, FAN, **options)
    scaling = Scaling(mixed)
    domain, moved = domain_of(mixed, scaling), np.zeros(4, dtype=bool)
    live = Controller(player_of(mixed, scaling), scaling.start)
    slopes = np.array([0.005, 0.0001, 0.00005, 0.00003])
    for _ in range(40):
        action = live.ask()
        points = scaling.to_set_points(action)
        assert domain.contains(action)
        assert points[1] == 0.0 or 6.0 <= points[1] <= 32.0
        assert points[3] in (0.0, *range(30, 101, 10))
        moved |= points != [0.95, 0.0, 0.0, 0.0]
        excess = scaling.to_excess([27.0 - 0.01 + float(slopes @ (points - [0.95, 0.0, 0.0, 0.0]))])
        assert excess[0] <= 0
        told = {"constraint_value": float(excess[0])}
        if "role" not in options:
            told["proposal"] = scaling.to_action([1.1, 20.0, 77.7, 80.0])
        else:
            told["cost_gradient"] = -np.ones(4)
        if "has_slopes" in options:
            told["constraint_subgradient"] = scaling.to_slopes(0, slopes)
        live.tell(**told)
    assert moved.sum() >= 3
