"""Plants: from a plant file in a journal to the constants that a player may count on.

A header, a new member and an amendment say what the plant file says, in engineering units, and a
factor on every constant that is not proved. From that the constants follow in exact rationals. Let
limit j keep h_j <= b_j (or >=), with the margin m_j at the start, the meter error e_j, and a change
of h_j by at most L_ij per unit of actuator i, R_jk per unit of context k, and v_j per minute. With
s_j the largest power of two up to m_j, a_i a power of two for the actuator (any would do; here it
is that of the file's domain), and T minutes a round,

==============  ==================================  ==============================================
of the player   must be                             where
==============  ==================================  ==============================================
G_g             sqrt(sum_i (L_ij/(s_j a_i))^2)      steepness; the largest of several limits that
                or more                             the player takes as one
beta            sum_i C_ij/(s_j a_i^2) or more      curvature
start_bound     -m_j/s_j or more
value           e_j/s_j or more                     errors
evaluation      2^-43 (|b_j| + m_j)/s_j or more     errors
drift           v_j T/s_j or more                   errors
context         columns that rise by R_jk/s_j or    joint must be false
                more, and change by T times the
                file's or more
ramp            a_i T times the file's or less
domain, start   those of the file times a_i
==============  ==================================  ==============================================

Whatever certifies less is all the same right. What was read is compared with what is told of it:
g_j = (h_j - b_j)/s_j, as float64 computes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from operator import mul, truediv
from typing import Any

from .context import read_column
from .described import FAR, Actuator, Constant, Description, Limit, find_differences, read_count
from .exact import Point, WrongError, norm, number, numbers, vector
from .keys import need_keys, need_only
from .together import read_rows

__all__ = ["Plant"]

_FLOOR = 0.01
_TINY = Fraction(1, 2**38)
"""What rounding may make of a ramp, or of the length of an action."""


class Plant:
    """A plant file in the numbers of a player.

    Args:
        table: of a header, a new member or an amendment.

    Attributes:
        described: what the file says.
        factor: on every constant that is not proved.
        left: how many recoveries are left.
        scales: what one unit of each actuator is in the numbers of the player.
    """

    def __init__(self, table: Any) -> None:
        need_only(table, "description factor left", "a plant", "name")
        self.described: Description = Description(table["description"])
        self.factor: Fraction = number(table["factor"], "factor", 1)
        self.left: int = read_count(table["left"], "left")
        self.scales: list[float] = self._find_scales()

    @property
    def is_first(self) -> bool:
        """Whether it has never recovered."""
        return self.factor == 1 and self.left == self.described.recoveries

    def _find_scales(self) -> list[float]:
        """Return what one unit of each actuator is, a: powers of two, as float64 finds them."""
        ranges = [each.high - each.low for each in self.described.actuators]
        effects = self._find_effects([each.start_margin.value for each in self.described.limits])
        widest = max(map(mul, effects, ranges)) or 1.0
        effects = [max(a, _FLOOR * widest / b) for a, b in zip(effects, ranges, strict=True)]
        products = list(map(mul, effects, ranges))
        most = (1.0 - 2.0**-30) * max(products)
        first = next(effect for effect, each in zip(effects, products, strict=True) if each >= most)
        shape = [math.ldexp(1.0, round(math.log2(effect / first))) for effect in effects]
        scaled = self._find_effects([each.scale for each in self.described.limits])
        least = max(map(truediv, scaled, shape)) or first
        return [part * _power_above(least) for part in shape]

    def _find_effects(self, units: list[float]) -> list[float]:
        """Return how much each actuator moves the limits at most, in given units of them."""
        effects = [0.0] * len(self.described.actuators)
        for limit, unit in zip(self.described.limits, units, strict=True):
            for i, constant in enumerate(limit.steepness or ()):
                effects[i] = max(effects[i], constant.value / unit)
            for i, constant in enumerate(limit.curvature or ()):
                effects[i] = max(effects[i], math.sqrt(constant.value / unit))
        return effects

    # --- what a player may count on --------------------------------------------------------------

    def refuse_more(self, line: dict[str, Any]) -> None:
        """Raise where a player certifies more than the plant allows, or is told other policies.

        Args:
            line: which has the player, its start and its policies.
        """
        for name, wanted in self.described.policies.items():
            if line.get(name) != wanted:
                raise WrongError(f"{name} is {line.get(name)!r}, and its plant says {wanted!r}")
        start = vector(line["start"], len(self.described.actuators), "start")
        pairs = zip(self.described.actuators, self.scales, strict=True)
        if start != [Fraction(_snap(each.start, each.step)) * Fraction(a) for each, a in pairs]:
            raise WrongError("the start of a player is not that of its plant")
        player = line["player"]
        need_keys(player, "knowledge ramp", "a player of a plant")
        need_keys(player["knowledge"], "class errors convex domain", "the knowledge of a player")
        if self.described.is_unknown:
            return  # no constant is known that could be compared
        self._compare_ramp(player["ramp"])
        self._compare_domain(player["knowledge"])
        for table, limits in self._pair_rows(player["knowledge"]):
            self._compare_reach(table)
            for limit in limits:
                self._compare(table, limit)

    def _pair_rows(self, known: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[Limit]]]:
        """Yield what is known of g with its limits: of a row one, of one g all of them."""
        if known["class"] != "Together":
            yield known, self.described.limits
            return
        rows = read_rows(known)
        if len(rows) != len(self.described.limits):
            raise WrongError("a player has another number of rows than its plant has limits")
        for row, limit in zip(rows, self.described.limits, strict=True):
            need_keys(row, "class errors convex domain", "the knowledge of a row")
            yield row, [limit]

    def _compare(self, table: dict[str, Any], limit: Limit) -> None:
        """Raise where what is known of g is more than what is known of a limit."""
        kind = "Curvature" if limit.curvature else "LipschitzHull"
        kind = "ContextHull" if self.described.contexts and not limit.curvature else kind
        if table["class"] != kind:
            raise WrongError(f"{limit.name} must be known by a {kind}, got {table['class']!r}")
        if table["convex"] is not False and not limit.is_convex:
            raise WrongError(f"{limit.name} is not convex, and its player says that it is")
        scale, errors = Fraction(limit.scale), table["errors"]
        if limit.curvature is not None:
            self._need(limit, "beta", table["beta"], self._smoothness(limit))
        else:
            self._compare_slope(table, limit)
        margin, size = limit.start_margin.value, abs(limit.bound) + limit.start_margin.value
        if table.get("start_bound") is not None:
            self._need(limit, "start_bound", table["start_bound"], -Fraction(margin) / scale)
        error = Fraction(limit.meter_error.value) / scale
        self._need(limit, "the value error", errors["value"], error)
        rounding = Fraction(FAR * size) / 2**53 / scale
        self._need(limit, "the evaluation error", errors["evaluation"], rounding)
        changes = Fraction(0) if limit.changes is None else self._enlarge(limit.changes)
        drift = changes * Fraction(self.described.minutes) / scale
        self._need(limit, "the drift", errors["drift"], drift)
        if self.described.contexts:
            self._compare_columns(table["context"], limit)

    def _need(self, limit: Limit, what: str, claimed: Any, needed: Fraction) -> None:
        """Raise unless a constant of a player is as large as its plant makes it."""
        got = number(claimed, what)
        if got < needed:
            raise WrongError(
                f"{what} of {limit.name} is {float(got)!r} in the player, and its plant makes it "
                f"{float(needed)!r} or more"
            )

    def _enlarge(self, constant: Constant) -> Fraction:
        """Return a constant with the factor of recoveries, which leaves proved ones alone."""
        return Fraction(constant.value) * (1 if constant.origin == "proved" else self.factor)

    def _compare_slope(self, table: dict[str, Any], limit: Limit) -> None:
        """Raise unless G_g is as large as the steepness makes it."""
        square = Fraction(0)
        for constant, a in zip(limit.steepness or (), self.scales, strict=True):
            square += (self._enlarge(constant) / (Fraction(limit.scale) * Fraction(a))) ** 2
        G_g = number(table["G_g"], "G_g", 0)
        if G_g**2 < square:
            raise WrongError(
                f"G_g of {limit.name} is {float(G_g)!r} in the player, and its plant makes it "
                f"{math.sqrt(square)!r} or more"
            )

    def _smoothness(self, limit: Limit) -> Fraction:
        """Return the sum of the curvatures, of which none is larger."""
        each = zip(limit.curvature or (), self.scales, strict=True)
        scale = Fraction(limit.scale)
        return sum((self._enlarge(c) / (scale * Fraction(a) ** 2) for c, a in each), Fraction(0))

    def _compare_columns(self, told: Any, limit: Limit) -> None:
        """Raise unless every column of a context rises as much as it may, and as fast."""
        need_keys(told, "class columns joint", "the context of a player")
        columns = [read_column(each) for each in numbers(told["columns"], "columns")]
        if told["class"] != "Columns" or told["joint"] is not False:
            raise WrongError("the context of a plant must be of columns that are not joint")
        if len(columns) != len(self.described.contexts):
            raise WrongError("a player has another number of columns than its plant has contexts")
        scale = Fraction(limit.scale)
        for column, context, rise in zip(columns, self.described.contexts, limit.rise, strict=True):
            if rise.adds is not None:
                up = Fraction(rise.adds) / scale * (1 if limit.is_most else -1)
                down = -up
            else:
                assert rise.per is not None
                steepest, zero = self._enlarge(rise.per) / scale, Fraction(0)
                up = zero if rise.worse == "down" else steepest
                down = zero if rise.worse == "up" else steepest
            if column.up < up or column.down < down:
                raise WrongError(
                    f"the rise of {limit.name} with {context.name} is less in the player than in "
                    "its plant"
                )
            if column.changes is None:
                continue
            if context.changes is None or column.changes < Fraction(context.changes) * Fraction(
                self.described.minutes
            ):
                raise WrongError(f"{context.name} changes less in the player than in its plant")

    def _compare_domain(self, known: dict[str, Any]) -> None:
        """Raise unless the domain of a player has no more than the ranges of its plant."""
        low, high, step = (
            [_snap(getattr(each, end), each.step) * a for each, a in self._scaled]
            for end in ("low", "high", "step")
        )
        off = [each.can_be_off for each in self.described.actuators]
        wanted: dict[str, Any] = {"class": "Box", "lower": low, "upper": high}
        if any(step) or any(off):
            choices = {"step": step, "off": {"tuple": off}}
            wanted = {"class": "Choices", "least": low, "most": high, **choices}
        if known["domain"] != wanted:
            raise WrongError("the domain of a player is not that of its plant")

    def _compare_reach(self, table: dict[str, Any]) -> None:
        """Raise where an action of the plant is longer than the constants of a row say."""
        if "reach" not in table:
            return
        ends = [max(abs(each.low), abs(each.high)) * a for each, a in self._scaled]
        if number(table["reach"], "reach", 0) * (1 + _TINY) < norm([Fraction(end) for end in ends]):
            raise WrongError("the reach of a player is less than its domain has")

    @property
    def _scaled(self) -> list[tuple[Actuator, float]]:
        return list(zip(self.described.actuators, self.scales, strict=True))

    def _compare_ramp(self, ramp: Any) -> None:
        """Raise where an entry of an action may move further than the ramp of its actuator."""
        steps = [each.largest_step(self.described.minutes) for each in self.described.actuators]
        if all(step is None for step in steps):
            return
        if ramp is None:
            raise WrongError("a player has no ramp, and its plant has one")
        each = vector(numbers(ramp, "ramp"), len(steps), "ramp")
        for most, step, (actuator, a) in zip(each, steps, self._scaled, strict=True):
            if step is not None and most > Fraction(step) * Fraction(a) * (1 + _TINY):
                raise WrongError(
                    f"{actuator.name} has a larger ramp in the player than in its plant"
                )

    # --- what was read ---------------------------------------------------------------------------

    def confirm_readings(self, line: dict[str, Any]) -> None:
        """Raise unless the value of g, or of each row, is that of the readings of a round."""
        if "value_error" in line or "slope_error" in line:
            raise WrongError("the readings of a plant err by as much as its file says")
        if line.get("readings") is None:
            raise WrongError("a round of a plant has a value of g, and no readings")
        readings = self.read_readings(line)
        if None in readings:
            raise WrongError("a round of a plant has a value of g, and lacks a reading")
        pairs = zip(self.described.limits, readings, strict=True)
        each = [limit.excess(reading) for limit, reading in pairs if reading is not None]
        told = line["constraint_value"]
        if told != (each if isinstance(told, list) else max(each)):
            raise WrongError("the value of g is not that of the readings")

    def read_readings(self, line: dict[str, Any]) -> list[float | None]:
        """Return the readings of a line, one per limit; None where there is none."""
        told = line["readings"]
        if isinstance(told, dict) and set(told) == {"array", "type", "shape"}:
            told = told["array"]  # as a journal has numbers of which some are not finite
        told = numbers(told, "readings")
        if len(told) != len(self.described.limits):
            raise WrongError("readings must be one for each limit")
        nothing = {"number": "nan"}
        return [None if each == nothing else float(number(each, "a reading")) for each in told]

    def distrusts_start(self, line: dict[str, Any]) -> bool:
        """Return whether a reading at the start is beyond what its margin allows."""
        if line.get("readings") is None:
            return False
        for limit, reading in zip(self.described.limits, self.read_readings(line), strict=True):
            if reading is None:
                continue
            least = Fraction(limit.excess(reading)) * Fraction(limit.scale)
            least -= Fraction(limit.meter_error.value)
            if least > -Fraction(limit.start_margin.value) * (1 - Fraction(1, 2**40)):
                return True
        return False

    def refuse_context(self, place: Point) -> None:
        """Raise where a context is beyond its range: nothing is known of the limits there."""
        if len(place) != len(self.described.contexts):
            raise WrongError("a context has another length than its plant has contexts")
        for part, context in zip(place, self.described.contexts, strict=True):
            if not context.low <= part <= context.high:
                raise WrongError(f"{context.name} is beyond the range that its plant gives it")

    # --- what changes ----------------------------------------------------------------------------

    def refuse_jump(self, action: Point, after: Plant) -> None:
        """Raise where the start of another plant is further from an action than its ramp."""
        minutes = after.described.minutes
        for each, part, a in zip(after.described.actuators, action, self.scales, strict=True):
            step, way = each.largest_step(minutes), abs(part / Fraction(a) - Fraction(each.start))
            if step is not None and way > Fraction(step) * (1 + _TINY):
                raise WrongError(f"{each.name} is further from the start than its ramp")

    def changes_to(self, after: Plant) -> list[list[Any]]:
        """Return what an amendment to another plant changes: paths, old and new values."""
        found = find_differences(self.described, after.described)
        if self.factor != after.factor:
            found.append(["factor", float(self.factor), float(after.factor)])
        return found

    @property
    def words(self) -> list[str]:
        """The constants in engineering units, and what they are multiplied by."""
        *said, last = self.described.words
        if self.factor != 1:
            last += f"; all that are not proved are multiplied by {float(self.factor)!r}"
        return [*said, last]


def _snap(value: float, step: float) -> float:
    """Return the whole multiple of a step that a value is but for rounding; else the value."""
    if not step or not abs(value) < 2.0**50 * step:
        return value
    multiple = round(value / step) * step
    return multiple if abs(multiple - value) <= 2.0**-50 * abs(value) else value


def _power_above(value: float) -> float:
    """Return the least power of two that is at least a number."""
    fraction, exponent = math.frexp(value)
    return math.ldexp(1.0, exponent - 1 if fraction == 0.5 else exponent)
