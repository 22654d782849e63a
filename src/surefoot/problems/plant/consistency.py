"""What must fit together in a plant, beyond single keys: which combinations are supported."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.core.errors import SurefootError
from surefoot.core.toml import path_text
from surefoot.problems.plant.description import ActuatorDescription, PlantDescription
from surefoot.problems.plant.parts import Parts
from surefoot.problems.plant.player import player_of
from surefoot.problems.plant.scaling import Scaling
from surefoot.problems.plant.tables import Table, as_number

__all__ = ["check_parts", "check_plant", "check_same_names"]

_Tables = Mapping[str, Mapping[str, Table]]


def check_parts(
    tables: _Tables,
    actuators: Mapping[str, ActuatorDescription | None],
    minutes: float | None,
    *,
    has_slopes: bool,
) -> None:
    """Add what cannot be kept together.

    Args:
        tables: of actuators, contexts and limits, by kind and name.
        actuators: those that are valid.
        minutes: the length of a round; None if it is wrong.
        has_slopes: whether every round reports the slopes of the limits.
    """
    limits, contexts = tables["limit"], tables["context"]
    _check_nodes(tables["actuator"])
    slow = _find_ramp(actuators, minutes)
    changing = next((limit for limit in limits.values() if _changes(limit)), None)
    for limit in limits.values():
        _check_convex(limit, len(tables["actuator"]))
        if limit.has("curvature"):
            _check_curvature(limit, contexts, changing, has_slopes=has_slopes)
        if limit.has("unknown"):
            _check_unknown(limit, tables, slow)
    if slow is None:
        return
    ramp = tables["actuator"][slow]
    _check_contexts(contexts, ramp)
    if contexts or changing is not None:
        _check_return_path(tables, ramp, changing)


def _check_nodes(actuators: Mapping[str, Table]) -> None:
    """Add two actuators that one set point would move."""
    owners: dict[str, Table] = {}
    for table in actuators.values():
        node = table.values.get("node")
        if isinstance(node, str) and owners.setdefault(node, table) is not table:
            text = f"must be another node: {path_text(owners[node].path)} has it"
            table.mistakes.add((*table.path, "node"), text)


def _find_ramp(
    actuators: Mapping[str, ActuatorDescription | None], minutes: float | None
) -> str | None:
    """Return the first actuator that cannot cross its range in a round; None if all can."""
    each = actuators.items() if minutes is not None else ()
    return next((n for n, a in each if a and a.largest_step(minutes or 0.0) is not None), None)


def _changes(limit: Table) -> bool:
    """Return whether a limit moves by itself."""
    value = limit.values.get("changes", 0)
    if isinstance(value, Mapping):
        value = value.get("value", 0)
    return as_number(value) != 0


def _check_convex(limit: Table, actuator_count: int) -> None:
    if limit.values.get("convex") is not False:
        return
    path = (*limit.path, "convex")
    if not limit.has("curvature"):
        text = "may be false only with curvature: means of actions are certified by the others"
        limit.mistakes.add(path, text)
    elif actuator_count > 1:
        text = "may be false only where there is one actuator: a trace bounds no other Hessian"
        limit.mistakes.add(path, text)


def _check_curvature(
    limit: Table, contexts: Mapping[str, Table], changing: Table | None, *, has_slopes: bool
) -> None:
    path = (*limit.path, "curvature")
    if not has_slopes:
        text = "needs slopes = true: by a smoothness constant slopes certify an action"
        limit.mistakes.add(path, text)
    moving = "contexts" if contexts or limit.has("rise") else ""
    moving = "changes" if _changes(limit) else moving
    if moving:
        text = (
            f"cannot be kept with {moving}: by a smoothness constant no bound at the start stands "
            "while the limit moves; give steepness"
        )
        limit.mistakes.add(path, text)
    elif changing is not None:
        text = (
            f"cannot be kept with {path_text((*changing.path, 'changes'))}: after a contradiction "
            "nothing proves the way to the start by a smoothness constant; give steepness"
        )
        limit.mistakes.add(path, text)


def _check_unknown(limit: Table, tables: _Tables, slow: str | None) -> None:
    path = (*limit.path, "unknown")
    others = {
        "another limit": len(tables["limit"]) > 1,
        "contexts": bool(tables["context"]),
        "changes": _changes(limit),
    }
    for what, is_there in others.items():
        if is_there:
            text = (
                f"cannot be kept with {what}: Theorem U counts the violations of one limit that "
                "does not move; give steepness"
            )
            limit.mistakes.add(path, text)
    if slow is not None:
        text = (
            f"cannot be kept with actuator.{slow}.ramp: after a violation no action that is near "
            "need be feasible; give steepness"
        )
        limit.mistakes.add(path, text)


def _check_contexts(contexts: Mapping[str, Table], ramp: Table) -> None:
    for context in contexts.values():
        if not context.has("changes") and "changes" not in context.meant:
            context.say(
                f"must have changes, at most so much per minute, because {path_text(ramp.path)} "
                "has a ramp: the next limit may be further away than it reaches (Theorem R)"
            )


def _check_return_path(tables: _Tables, ramp: Table, changing: Table | None) -> None:
    """Add what leaves no way back to the start while the limits move."""
    why = "has contexts" if tables["context"] else f"has {path_text((changing or ramp).path)}"
    path = (*ramp.path, "ramp")
    for actuator in tables["actuator"].values():
        key = next((key for key in ("step", "off") if actuator.has(key)), None)
        if key is not None:
            text = (
                f"cannot be kept with {path_text((*actuator.path, key))} where the plant {why}"
                f"{'' if tables['context'] else '.changes'}: Theorem R has no return path between "
                "choices; leave one of them out"
            )
            ramp.mistakes.add(path, text)
            return


# --- what is valid by itself ----------------------------------------------------------------------


def check_same_names(table: Table, plant: Parts | None, member: Parts | None) -> None:
    """Add a member whose actuators, contexts or limits are others than those of its plant."""
    if plant is None or member is None:
        return
    ours, theirs = plant.names, member.names
    for kind, names in ours.items():
        if theirs[kind] != names:
            table.say(f"must have the {kind} of the plant, in their order and units")


def check_plant(top: Table, plant: PlantDescription, member: str = "") -> None:
    """Add what the library does not support, of a plant that is valid by itself.

    Args:
        top: the file.
        plant: the plant of the file, or of a member.
        member: its name; "" for none.
    """
    whose = f" of member.{member}" if member else ""
    if plant.policy.on_contradiction == "recover" and not plant.recoverable:
        text = (
            f'may be "recover" only where steepness, curvature, rise or changes{whose} has '
            'origin = "estimated": without an estimate there is nothing to enlarge'
        )
        top.mistakes.add(("policy", "on_contradiction"), text)
    try:
        scaling = Scaling(plant)
        player_of(plant, scaling)
    except SurefootError as error:
        path = ("member", member) if member else ()
        top.mistakes.add(path, f"is unsupported: {error}" if path else f"unsupported: {error}")
