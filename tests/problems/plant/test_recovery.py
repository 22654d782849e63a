"""The factor after a contradiction: at least the double, and what readings prove by themselves."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.composition.plants import PlantWorld, draw_scenario
from tests.controller.plants import C, hall, pumps

from surefoot.problems.plant import Scaling
from surefoot.problems.plant.recovery import MeterReading, least_factor, next_factor

NONE = np.zeros(0)


def read_pump(t, speed, pressure, plant):
    """Return what a pump read in a round."""
    return MeterReading(t, np.array([speed]), NONE, Scaling(plant).to_excess([pressure]))


def estimated(**constants):
    """Return the pump with estimates, 0.12 bar per Hz unless said."""
    told = {"steepness": {"speed": C(0.12, "estimated")}} | constants
    return replace(pumps(), limits=(replace(pumps().limits[0], **told),))


def test_two_readings_bound_the_factor_by_hand():
    # From 50 to 46 Hz the pressure fell by 2 bar, less twice the meter's 0.02: 0.49 bar per Hz.
    plant = estimated()
    readings = [read_pump(1, 50.0, 3.1, plant), read_pump(2, 46.0, 1.1, plant)]
    assert least_factor(plant, readings) == pytest.approx(1.96 / 0.48)
    assert next_factor(plant, 1.0, readings) == pytest.approx(2 * 1.96 / 0.48)
    assert next_factor(plant, 32.0, readings) == 64.0
    # The way does not matter, nor which of the two was first.
    assert least_factor(plant, readings[::-1]) == pytest.approx(1.96 / 0.48)


def test_what_is_proved_explains_first_by_hand():
    # 0.12 bar per Hz are proved, 0.1 bar per minute is an estimate: 1.48 bar are left for a minute.
    plant = estimated(steepness={"speed": C(0.12, "proved")}, changes=C(0.1, "estimated"))
    readings = [read_pump(1, 50.0, 3.1, plant), read_pump(2, 46.0, 1.1, plant)]
    assert least_factor(plant, readings) == pytest.approx(14.8)
    later = [readings[0], read_pump(6, 46.0, 1.1, plant)]
    assert least_factor(plant, later) == pytest.approx(14.8 / 5)


def test_readings_that_are_explained_bound_nothing():
    plant = estimated()
    readings = [read_pump(1, 50.0, 3.1, plant), read_pump(2, 46.0, 2.7, plant)]
    assert least_factor(plant, readings) == 1.0
    assert least_factor(plant, readings[:1]) == 1.0
    assert next_factor(plant, 1.0, readings) == 2.0
    only = estimated(steepness={"speed": C(0.12, "proved")})
    assert least_factor(only, [read_pump(1, 50.0, 3.1, only), read_pump(2, 46.0, 1.1, only)]) == 1.0


def test_a_context_that_adds_explains_exactly_what_it_adds():
    plant = hall()
    points, excess = np.array([100.0, 100.0]), Scaling(plant).to_excess

    def read(t, outside, hot):
        return MeterReading(t, points, np.array([outside, 0.9]), excess([hot, 8.0]))

    # 5 degC more outside are 1 degC more inside at most; 3.4 were read, 0.4 is the meter's.
    assert least_factor(plant, [read(1, 20.0, 22.0), read(2, 25.0, 25.4)]) == pytest.approx(3.0)
    assert least_factor(plant, [read(1, 20.0, 22.0), read(2, 25.0, 23.3)]) == 1.0


@pytest.mark.parametrize("short", [1.0, 3.0, 20.0])
def test_no_reading_asks_for_more_than_is_true(short):
    """The bound is from below: constants that explain every round explain these two."""
    largest = 0.0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        scenario = draw_scenario(rng, short=short, recovers=True)
        world, plant = PlantWorld(scenario, rng), scenario.plant
        readings = []
        for t in range(1, 15):
            points = {a.name: float(rng.uniform(a.low, a.high)) for a in plant.actuators}
            shown = world.read(points)
            excess = Scaling(plant).to_excess([shown[limit.name] for limit in plant.limits])
            place = np.array(world.context)
            readings.append(MeterReading(t, np.array(list(points.values())), place, excess))
            world.pass_by()
        found = least_factor(plant, readings)
        assert Fraction(found) <= Fraction(short) * (1 + Fraction(1, 10**6))
        largest = max(largest, found)
    assert largest < 1 + 1e-6 if short == 1.0 else largest > 0.3 * short
