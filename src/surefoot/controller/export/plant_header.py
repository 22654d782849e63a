"""A plant as one C99 header: its step in C, with set points and readings in their units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surefoot.controller.export.header import append_to_header, c_header, c_vectors
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import FloatArray
from surefoot.problems.plant import PlantDescription, Scaling
from surefoot.problems.plant.player import player_of
from surefoot.problems.plant.scaling import FAR

__all__ = ["plant_header", "plant_vectors"]


def plant_header(plant: PlantDescription, *, name: str = "surefoot", factor: float = 1.0) -> str:
    """Return a C99 header with the certified step of a plant, in engineering units.

    ``NAME_plant_init`` begins at the start, ``NAME_plant_step`` takes readings and what is wanted,
    or what costs, and gives the next set points. Scales are powers of two, so no set point is
    rounded. Several limits count as the largest of them.

    Args:
        plant: the description: without contexts, ramps, steps and what may be off.
        name: what every name in the header begins with.
        factor: of the recoveries so far, on constants that are not proved.

    Example:
        >>> from surefoot.problems.plant import (
        ...     ActuatorDescription, LimitDescription, PlantConstant
        ... )
        >>> speed = ActuatorDescription("speed", "Hz", 25.0, 50.0, start=50.0)
        >>> pressure = LimitDescription(
        ...     "pressure", "bar", 2.5, "at_least", PlantConstant(0.02), PlantConstant(0.5),
        ...     steepness={"speed": PlantConstant(0.12)},
        ... )
        >>> text = plant_header(PlantDescription("pumps", 1.0, (speed,), (pressure,)), name="pump")
        >>> "static inline int pump_plant_step(" in text
        True
    """
    player, scaling = _player_of(plant, factor)
    text = c_header(player, len(plant.actuators), name=name, start=scaling.start)
    return append_to_header(text, _plant_part(plant, scaling), name)


def plant_vectors(plant: PlantDescription, *, name: str = "surefoot", factor: float = 1.0) -> str:
    """Return rounds to test a compiler with, in the numbers of the rule; see :func:`c_vectors`."""
    player, scaling = _player_of(plant, factor)
    return c_vectors(player, len(plant.actuators), name=name, start=scaling.start)


def _player_of(plant: PlantDescription, factor: float) -> tuple[Any, Scaling]:
    """Return the rule of a plant as the kernel plays it, and its scaling."""
    if plant.members:
        raise InvalidValueError("plant must be that of one machine: name one of its members")
    scaling = Scaling(plant, factor)
    return player_of(plant, scaling, one_limit=True, start_stands=False), scaling


def _plant_part(plant: PlantDescription, scaling: Scaling) -> str:
    """Return the part in engineering units."""
    limits, units = plant.limits, scaling.limit_units.tolist()
    signs = [1.0 if limit.sense == "at_most" else -1.0 for limit in limits]
    far = [FAR * (abs(limit.bound) + limit.start_margin.value) for limit in limits]
    arrays = [
        _array("per_unit", scaling.per_unit),
        _array("limit_bound", [limit.bound for limit in limits]),
        _array("limit_unit", [s * unit for s, unit in zip(signs, units, strict=True)]),
        _array("limit_far", far),
    ]
    is_filter = plant.role == "filter"
    slopes = ", const double *slopes" if plant.has_slopes else ""
    words = {
        "ARRAYS": "\n".join(arrays),
        "SET_POINTS": _describe([(each.name, each.unit) for each in plant.actuators]),
        "READINGS": _describe([(each.name, each.unit) for each in limits]),
        "COUNT": str(len(limits)),
        "PROPOSAL": "wanted" if is_filter else "cost_slopes",
        "OF_PROPOSAL": "the set points that are wanted next"
        if is_filter
        else "what one unit more of each actuator costs",
        "FIELD": "proposal" if is_filter else "gradient",
        "SCALE": "*" if is_filter else "/",
        "SLOPES": slopes,
        "SLOPE": ", slope[SF_D]" if plant.has_slopes else "",
        "TAKE_SLOPES": _TAKE_SLOPES if plant.has_slopes else "",
    }
    text = _TEXT
    for word, part in words.items():
        text = text.replace(f"@{word}@", part)
    return text


def _array(name: str, values: Sequence[float] | FloatArray) -> str:
    numbers = ", ".join(float(value).hex() for value in values)
    return f"static const double sf_{name}[] = {{{numbers}}};"


def _describe(names: Sequence[tuple[str, str]]) -> str:
    """Return names with units for a comment of C, in their order."""
    each = [f"{name} [{unit}]" for name, unit in names]
    return (
        ", ".join(each)
        .replace("*/", "* /")
        .replace("/*", "/ *")
        .encode("ascii", "replace")
        .decode()
    )


_TAKE_SLOPES = """        for (int i = 0; i < SF_D; i++) {
            slope[i] = slopes[near * SF_D + i] / sf_per_unit[i] / sf_limit_unit[near];
        }
        seen.s = slope;
"""

_TEXT = """/*
 * The plant, in its units. Set points: @SET_POINTS@.
 * Readings: @READINGS@.
 *
 *     static double state[SF_STATE], work[SF_SCRATCH];
 *     double set_points[SF_D];
 *     sf_info info;
 *     sf_plant_init(state, set_points);
 *     for (;;) { // use set_points, read there, and:
 *         sf_plant_step(state, readings, @PROPOSAL@, NULL, work, &info, set_points);
 *     }
 *
 * Whatever a call returns, set_points are the ones to use next. After another status than SF_OK
 * they are those of before: repeat the call with what was meant, or tell a round without readings.
 */
#define SF_LIMITS @COUNT@
@ARRAYS@

/* Write the set points to use now; scales are powers of two, so that nothing is rounded. */
static inline void sf_plant_set_points(const double *state, double *set_points)
{
    for (int i = 0; i < SF_D; i++) {
        set_points[i] = state[i] / sf_per_unit[i];
    }
}

/* Begin at the start. */
static inline int sf_plant_init(double *state, double *set_points)
{
    const double x1[SF_D] = SF_START_ACTION;
    int status = sf_init(&sf_player, state, x1);
    sf_plant_set_points(state, set_points);
    return status;
}

/*
 * A round. readings: of every limit, NULL if nothing was measured. @PROPOSAL@:
 * @OF_PROPOSAL@. played: the set points that were really used, NULL if they
 * are those that were asked for.
 */
static inline int sf_plant_step(double *state, const double *readings,
                                const double *@PROPOSAL@@SLOPES@, const double *played,
                                double *work, sf_info *info, double *set_points)
{
    sf_feedback seen = {0};
    double target[SF_D], action[SF_D]@SLOPE@, g = -HUGE_VAL;
    int status = SF_OK, near = 0;
    for (int i = 0; i < SF_D; i++) {
        target[i] = @PROPOSAL@[i] @SCALE@ sf_per_unit[i];
        action[i] = played != NULL ? played[i] * sf_per_unit[i] : state[i];
    }
    seen.@FIELD@ = target;
    if (played != NULL) {
        seen.action = action;
    }
    for (int j = 0; readings != NULL && j < SF_LIMITS; j++) {
        double over = readings[j] - sf_limit_bound[j];
        if (!(fabs(over) <= sf_limit_far[j])) {
            status = SF_RANGE; /* no meter shows that, or it shows nothing */
        }
        if (over / sf_limit_unit[j] > g) {
            g = over / sf_limit_unit[j];
            near = j;
        }
    }
    (void)near;
    if (readings != NULL) {
        seen.g = &g;
@TAKE_SLOPES@    }
    if (status == SF_OK) {
        status = sf_step(&sf_player, state, &seen, work, info);
    }
    sf_plant_set_points(state, set_points);
    return status;
}
"""
