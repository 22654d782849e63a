"""Scales worked by hand; powers of two, exact both ways; and the same plant in other units."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.problems.plant._plants import HALL, PARK, PUMP, plants

from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import Column
from surefoot.problems.plant import PlantConstant, RiseDescription, Scaling, parse_plant
from surefoot.problems.plant.scaling import largest_of

# --- by hand --------------------------------------------------------------------------------------


def test_the_pumps_are_scaled_as_by_hand():
    scaling = Scaling(parse_plant(PUMP))
    (limit,) = scaling.limits
    assert scaling.limit_units.tolist() == [0.5]
    assert scaling.per_unit.tolist() == [0.25]  # 0.12/0.5 = 0.24
    assert limit.G_g == pytest.approx(0.96, rel=1e-14)
    assert limit.G_g >= 0.96
    assert (limit.start_bound, limit.value_error) == (-1.0, 0.04)
    assert limit.drift == pytest.approx(0.002, rel=1e-14)
    assert scaling.first_steps == pytest.approx([0.5 / 0.12])
    assert scaling.to_excess([2.5]).tolist() == [0.0]
    assert scaling.to_excess([3.0]).tolist() == [-1.0]  # the start, by its margin


def test_the_chargers_are_scaled_as_by_hand():
    scaling = Scaling(parse_plant(PARK))
    (limit,) = scaling.limits
    assert scaling.limit_units.tolist() == [64.0]
    assert scaling.per_unit.tolist() == [1 / 64, 1 / 64]
    assert limit.G_g == pytest.approx(math.sqrt(2), rel=1e-14)
    assert (limit.start_bound, limit.value_error) == (-1.25, 0.03125)
    assert scaling.to_action([6.0, 32.0]).tolist() == [0.09375, 0.5]
    (column,) = limit.columns
    assert column == Column(adds=1 / 64)
    assert 10 * column.adds == 0.15625  # 10 A more of base load


def test_two_limits_have_their_own_units_and_one_is_the_largest():
    text = PUMP.replace("start_margin = 0.5", "start_margin = 3").replace("changes = 0.001\n", "")
    text += """\
[limit.flow]
unit = "l/s"
at_most = 9
meter_error = 0.01
start_margin = 0.4
steepness = { speed = 0.3 }
"""
    scaling = Scaling(parse_plant(text))
    assert scaling.limit_units.tolist() == [2.0, 0.25]
    assert [limit.start_bound for limit in scaling.limits] == [-1.5, -1.6]
    assert scaling.per_unit.tolist() == [2.0]  # 0.3/0.25 = 1.2 is the steepest
    first, second = scaling.limits
    assert (first.G_g, second.G_g) == pytest.approx((0.03, 0.6))
    whole = largest_of(scaling.limits)
    assert (whole.start_bound, whole.G_g) == (-1.5, second.G_g)
    assert whole.value_error == max(0.02 / 2, 0.01 / 0.25)
    assert scaling.first_steps == pytest.approx([1.6 / 0.6 / 2])


def test_the_hall_is_scaled_as_by_hand():
    scaling = Scaling(parse_plant(HALL))
    (limit,) = scaling.limits
    assert scaling.limit_units.tolist() == [2.0]
    assert scaling.per_unit.tolist() == [2.0**-6, 2.0**-4]  # .0114 and .0325
    assert limit.G_g == pytest.approx(math.hypot(0.7296, 0.52), rel=1e-13)
    assert limit.start_bound == -1.45
    assert limit.columns == (Column(G_c=0.12), Column(G_c=8.05, worse="up"))
    assert scaling.first_steps == pytest.approx([103.578, 25.8945], rel=1e-4)
    assert scaling.ramp is None  # 75 % a round of a range of 70 %


def test_a_ramp_is_one_where_it_ends_within_the_range():
    text = HALL.replace("15 min", "10 min").replace("step = 1 ", "# ")
    text = text.replace("[-20, 40]", "[-20, 40]\nchanges = 0.1")
    scaling = Scaling(parse_plant(text.replace("[0.4, 1.3]", "[0.4, 1.3]\nchanges = 0.01")))
    assert scaling.ramp == (50 / 64, 70 / 16)
    assert scaling.limits[0].columns[0].changes == pytest.approx(1.0)
    charger = replace(parse_plant(PARK).actuators[0], ramp=191.9)
    assert charger.largest_step(1 / 6) == 191.9 / 6  # from 0 to 32, and not from 6
    assert replace(charger, ramp=192.0).largest_step(1 / 6) is None


def test_what_adds_under_a_least_value_takes_away():
    text = PUMP + "[context.level]\nunit = 'm'\nrange = [0, 5]\n"
    scaling = Scaling(
        parse_plant(text.replace("convex", "rise = { level = { adds = 0.1 } }\nconvex"))
    )
    assert scaling.limits[0].columns == (Column(adds=-0.2),)


def test_a_reading_that_no_meter_shows_is_rejected():
    scaling = Scaling(parse_plant(PUMP))
    assert scaling.to_excess([2.5 - 1024 * 3.0])[0] == 1024 * 6.0
    for reading in (2.5 - 1025 * 3.0, math.nan, math.inf):
        with pytest.raises(InvalidValueError, match=r"readings.pressure must be a number within"):
            scaling.to_excess([reading])


# --- exactly, and in any units --------------------------------------------------------------------


def is_power_of_two(number):
    return math.frexp(number)[0] == 0.5


def set_points(actuator):
    """Set points of an actuator, as its steps allow."""
    if actuator.step is None:
        return st.floats(actuator.low, actuator.high)
    ends = (round(end / actuator.step) for end in (actuator.low, actuator.high))
    return st.integers(*ends).map(lambda count: count * actuator.step)


@settings(max_examples=60)
@given(plants(members=0), st.data())
def test_set_points_and_actions_determine_each_other_exactly(plant, data):
    scaling = Scaling(plant)
    units = [*scaling.per_unit.tolist(), *scaling.limit_units.tolist()]
    assert all(map(is_power_of_two, units))
    points = [data.draw(set_points(each)) for each in plant.actuators]
    action = scaling.to_action(points)
    for point, entry, scale in zip(points, action.tolist(), scaling.per_unit.tolist(), strict=True):
        assert Fraction(entry) == Fraction(point) * Fraction(scale)
    assert scaling.to_set_points(action).tolist() == points


@settings(max_examples=60)
@given(plants(members=0))
def test_a_limit_is_as_steep_as_its_constants_in_rationals(plant):
    scaling = Scaling(plant)
    for limit, known, unit in zip(
        plant.limits, scaling.limits, scaling.limit_units.tolist(), strict=True
    ):
        ratio = -Fraction(known.start_bound)
        assert ratio == Fraction(limit.start_margin.value) / Fraction(unit)
        assert 1 <= ratio < 2
        slopes = [
            Fraction(limit.steepness[each.name].value) / (Fraction(unit) * Fraction(scale))
            for each, scale in zip(plant.actuators, scaling.per_unit.tolist(), strict=True)
        ]
        assert all(slope <= 1 for slope in slopes)
        assert Fraction(known.G_g) ** 2 >= sum(slope**2 for slope in slopes)


def in_units(plant, per_unit, per_limit):
    """The same plant, its actuators and limits in units that are so many times smaller."""
    factors = {each.name: factor for each, factor in zip(plant.actuators, per_unit, strict=False)}
    actuators = tuple(
        replace(
            each,
            low=each.low * factors[each.name],
            high=each.high * factors[each.name],
            start=each.start * factors[each.name],
            step=None if each.step is None else each.step * factors[each.name],
            ramp=None if each.ramp is None else each.ramp * factors[each.name],
        )
        for each in plant.actuators
    )
    limits = tuple(
        limit_in(limit, factor, factors)
        for limit, factor in zip(plant.limits, per_limit, strict=False)
    )
    return replace(plant, actuators=actuators, limits=limits)


def limit_in(limit, factor, factors):
    def times(constant, by):
        return replace(constant, value=constant.value * by)

    rises = {
        name: replace(rise, adds=rise.adds * factor)
        if rise.per is None
        else RiseDescription(times(rise.per, factor), worse=rise.worse)
        for name, rise in limit.rise.items()
    }
    steepness = {n: times(c, factor / factors[n]) for n, c in limit.steepness.items()}
    return replace(
        limit,
        bound=limit.bound * factor,
        meter_error=times(limit.meter_error, factor),
        start_margin=times(limit.start_margin, factor),
        steepness=steepness,
        rise=rises,
        changes=None if limit.changes is None else times(limit.changes, factor),
    )


@settings(max_examples=60)
@given(plants(members=0), st.lists(st.integers(-8, 8), min_size=4, max_size=4))
def test_units_that_differ_by_powers_of_two_have_the_same_numbers_exactly(plant, powers):
    factors = [2.0**power for power in powers]
    other = Scaling(in_units(plant, factors[:2], factors[2:]))
    scaling = Scaling(plant)
    assert other.limits == scaling.limits
    assert other.start.tolist() == scaling.start.tolist()
    ratios = scaling.per_unit / other.per_unit
    assert ratios.tolist() == factors[: len(plant.actuators)]
    sizes = other.limit_units / scaling.limit_units
    assert sizes.tolist() == factors[2 : 2 + len(plant.limits)]


def test_a_constant_that_is_proved_is_not_enlarged():
    text = PUMP.replace("0.12 }", '{ value = 0.12, origin = "proved" } }')
    told = Scaling(parse_plant(text), factor=4.0)
    assert told.limits[0].G_g == Scaling(parse_plant(PUMP)).limits[0].G_g
    assert told.limits[0].drift == 4 * Scaling(parse_plant(PUMP)).limits[0].drift
    given_plant = Scaling(parse_plant(PUMP), factor=4.0)
    assert given_plant.limits[0].G_g == pytest.approx(4 * 0.96)
    assert given_plant.limits[0].value_error == 0.04
    assert np.array_equal(given_plant.per_unit, told.per_unit)


def test_an_actuator_without_effect_has_a_finite_range():
    text = PUMP.replace("{ speed = 0.12 }", "{ speed = 0.12, lamp = 0 }")
    text += "[actuator.lamp]\nunit = '%'\nrange = [0, 100]\nstart = 0\n"
    scaling = Scaling(parse_plant(text))
    assert scaling.per_unit.tolist() == [0.25, 2.0**-11]  # 0.01 x 6 / 100
    assert scaling.limits[0].G_g == pytest.approx(0.96)
    # With another floor its range is another part of 25 Hz / 4.
    wide = Scaling(parse_plant(text), floor=1.0)
    assert wide.per_unit.tolist() == [0.25, 2.0**-4]  # 6 / 100 = 2^-4.06
    assert wide.limits[0].G_g == scaling.limits[0].G_g


def test_no_actuator_may_move_a_limit():
    plant = parse_plant(PUMP.replace("0.12", "0"))
    assert Scaling(plant).limits[0].G_g > 0
    assert np.isfinite(Scaling(plant).per_unit).all()
    assert PlantConstant(0.0) == plant.limits[0].steepness["speed"]
