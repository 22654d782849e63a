"""One C99 header with the certified step of a player, its constants written into it."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from surefoot.algorithms import (
    CertifiedOGD,
    CertifiedPFS,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
)
from surefoot.controller.export._rounding import fusing_here
from surefoot.core import checks
from surefoot.core.convert import shown
from surefoot.core.errors import InvalidValueError
from surefoot.core.player import known_in
from surefoot.regions import ERRORS, Curvature, LipschitzHull
from surefoot.sets import Ball
from surefoot.theory import Tuned

__all__ = ["c_header"]

_UNIT = 2.0**-53
_ROOT_2 = math.sqrt(2)
_SENSOR = "bound on the error of a reading"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

_Defines = list[tuple[str, Any, str]]  # name, number or text, why


class _Port(NamedTuple):
    """How one kind of player is written in C.

    Attributes:
        text: the file of its text, which includes others.
        constants: from the player and the dimension, what they are compiled with.
        promise: what the header says that it promises.
        call: the name of the function of a round.
    """

    text: str
    constants: Callable[[Any, int], _Defines]
    promise: str
    call: str


def c_header(
    player: Any, dimension: int, *, name: str = "surefoot", start: Any | None = None
) -> str:
    """Return a C99 header with the certified step of a player: fixed d, nothing allocated.

    The header needs the C library's mathematics and nothing else. Compiled without contraction of
    floating-point expressions (``-ffp-contract=off``), at d = 2 it gives bit for bit what the
    player gives in Python on the machine that wrote it; beyond, sums are added in another order
    than NumPy's, and a step differs by rounding that the certificate has room for.

    Args:
        player: a :class:`~surefoot.algorithms.CertifiedPFS`, a
            :class:`~surefoot.algorithms.LeaderFollower` with ``cuts=2``, a
            :class:`~surefoot.algorithms.CertifiedOGD` that knows one curvature, a
            :class:`~surefoot.algorithms.SafetyFilter`, or a
            :class:`~surefoot.algorithms.RegionFilter` on a hull or one curvature; or one of these
            with its guarantee (``Tuned``).
        dimension: d, the length of an action.
        name: what every name in the header begins with; several headers fit in one program.
        start: the first action, written into the header as an initialiser where it is known.

    Example:
        >>> from surefoot import Ball, CertifiedPFS
        >>> text = c_header(CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5), 2, name="limiter")
        >>> "int limiter_step(limiter_state *state" in text
        True
    """
    algorithm = player.algorithm if isinstance(player, Tuned) else player
    d = checks.whole(dimension, "dimension")
    if not _NAME.fullmatch(str(name)):
        raise InvalidValueError(f"name must be a C identifier, got {shown(name)}")
    port = _port_of(algorithm)
    _plain_fields(algorithm, type(algorithm).__name__)
    defines: _Defines = [("D", d, "the length of an action"), *_fusing(d)]
    defines += port.constants(algorithm, d)
    if start is not None:
        x1 = checks.vector(start, "start", length=d)
        algorithm.init(x1)
        defines.append(("START_ACTION", _list(x1), "for init"))
    text = "\n".join(
        [
            _preface(algorithm, port, d, start is not None),
            "#ifndef SF_H\n#define SF_H\n",
            *(_define(*define) for define in defines),
            "",
            _included(port.text, set()),
            "#endif /* SF_H */\n",
        ]
    )
    return re.sub(r"\bSF_", f"{name.upper()}_", re.sub(r"\bsf_", f"{name}_", text))


def _port_of(algorithm: Any) -> _Port:
    """Return how a player is written in C, or refuse it in one sentence."""
    known = known_in(algorithm)
    port = _PORTS.get((type(algorithm), None if known is algorithm else type(known)))
    if port is None:
        raise InvalidValueError(
            "player must be a CertifiedPFS, LeaderFollower, SafetyFilter, CertifiedOGD with known "
            "= Curvature(...), or RegionFilter with known = Curvature(...) or LipschitzHull(...) "
            f"to be exported, got {shown(algorithm)}"
        )
    return port


def _plain_fields(value: Any, where: str) -> None:
    """Refuse numbers that are no floats of one run, and errors that C does not know yet."""
    for field in fields(value):
        part = getattr(value, field.name)
        at = f"{where}.{field.name}"
        if field.name in ERRORS and part is not None and field.name not in _allowed(value):
            raise InvalidValueError(f"{at} must be None to be exported, got {part!r}")
        if is_dataclass(part):
            _plain_fields(part, at)
        elif not isinstance(part, (float, int, tuple, str, type(None), np.ndarray)) or (
            isinstance(part, np.ndarray) and part.ndim != 1
        ):
            raise InvalidValueError(f"{at} must be a number of one run, got {shown(part)}")


def _allowed(value: Any) -> tuple[str, ...]:
    """Return which errors the C text allows for."""
    if isinstance(value, (LipschitzHull, LeaderFollower)):
        return ERRORS
    return ERRORS[:1] if isinstance(value, Curvature) else ()


# --- what is compiled in --------------------------------------------------------------------------


def _fusing(d: int) -> _Defines:
    """Return how sums of two products are rounded; beyond d = 2 NumPy adds in its own order."""
    here = fusing_here()
    said = (
        "0: plain; 1: the second product fused, 2: the first, as NumPy did where this was written"
    )
    return [
        (f"{what}_FUSED", kind or 0, said if i == 0 else "the same, of two rows or columns")
        for i, (what, kind) in enumerate(zip(("DOT", "ROWS", "COLUMNS"), here, strict=True))
    ]


def _ball(ball: Any, d: int) -> _Defines:
    if type(ball) is not Ball:
        raise InvalidValueError(f"domain must be a Ball to be exported, got {shown(ball)}")
    found: _Defines = [("RADIUS", ball.radius, "of the ball around the feasible set")]
    if ball.centre is not None:
        centre = checks.vector(ball.centre, "domain.centre", length=d)
        found.append(("CENTRE", _list(centre), "of that ball"))
    return found


def _lengths(player: Any, d: int) -> _Defines:
    """Return the constants of a certified length, as the player itself computes them."""
    noise, error, kappa = player.rounding(d)
    found: _Defines = [
        ("G_G", player.G_g, "no subgradient of g is longer: what safety rests on"),
        *_ball(player.domain, d),
        ("INNER", player.domain._inner(np.zeros(d)), "its radius less rounding"),
        ("RHO", player.rho, "the tightening"),
        ("DECREASING", int(player.decreasing), "whether it is divided by the root of t"),
        ("NOISE", noise, "bound on the error of an observed g"),
        ("ERROR", error, "bound on the rounding of a step"),
        ("KAPPA", kappa, "relative rounding of a squared distance"),
    ]
    if player.sigma is not None:
        found.append(("SIGMA", player.sigma, "lower bound on the subgradients near the boundary"))
    return found


def _pfs(player: CertifiedPFS, d: int) -> _Defines:
    return [*_lengths(player, d), *_step_size(player, player.domain.radius)]


def _ogd(player: CertifiedOGD, d: int) -> _Defines:
    return [*_curvature(player.known, d), *_step_size(player, player.radius)]


def _step_size(player: Any, radius: Any) -> _Defines:
    found: _Defines = [("RATCHET", int(player.ratchet), "whether the step size never rises")]
    if player.eta is not None:
        return [*found, ("INVERSE_ETA", 1 / player.eta, "1/eta, a limit on the step size")]
    return [*found, ("ROOT_2_RADIUS", _ROOT_2 * radius, "the root of 2 times the radius")]


def _curvature(known: Any, d: int) -> _Defines:
    found: _Defines = [
        ("BETA", known.beta, "bound on the curvature of g: what safety rests on"),
        ("REACH", known.reach, "the largest norm of a feasible point"),
        ("MARGIN_UNIT", 32 * (d + 8) * _UNIT, "rounding of a bound, relative to its terms"),
    ]
    if known.evaluation_error is not None:
        found.append(
            ("FOUR_ERRORS", 4 * known.evaluation_error, "bound on the error of g, times 4")
        )
    if known.value_error is not None:
        found.append(("VALUE_ERROR", known.value_error, _SENSOR))
    return found


def _hull(known: LipschitzHull, d: int) -> _Defines:
    found: _Defines = [
        ("G_G", known.G_g, "no subgradient of g is longer: what safety rests on"),
        ("NOISE", known.noise(d), "bound on the rounding of an observed g"),
        ("LOST", known.lost(d), "what rounding takes from a certified radius"),
    ]
    if any(getattr(known, name) is not None for name in ERRORS):
        found += [
            ("VALUE_ERROR", known.value_error or 0.0, _SENSOR),
            ("SLOPE_ERROR", known.slope_error or 0.0, "bound on the error of a slope"),
        ]
    if known.drift is not None:
        found.append(("DRIFT", known.drift, "bound on the change of g from round to round"))
    return found


def _leader(player: LeaderFollower, d: int) -> _Defines:
    if player.leader is not None or player.cuts != 2:
        raise InvalidValueError(
            "a LeaderFollower must have cuts = 2 and no leader of its own to be exported, got "
            f"cuts = {player.cuts!r}, leader = {shown(player.leader)}"
        )
    found: _Defines = [
        *_hull(player._known(), d),
        *_ball(player.domain, d),
        ("CUTS", 2, "how many half-spaces are remembered"),
        ("SAME_ROW", (d + 4) * _UNIT, "entries of one row's normal differ by at most this"),
        ("KEEP", player.keep, "how far the follower keeps off known faces"),
        ("LAZY", int(player.lazy and player.strong_convexity is None), "or it descends"),
        ("SWEEPS", player.sweeps, "how often the leader is improved per round"),
        ("EXPECTED", player.expected, "what the energy starts from"),
    ]
    if player.strong_convexity is not None:
        found.append(("STRONG_CONVEXITY", player.strong_convexity, "of every cost"))
    if player.gradient_bound is not None:
        found.append(("GRADIENT_BOUND", player.gradient_bound, "where the careful mode begins"))
    return found


# --- text -----------------------------------------------------------------------------------------


def _number(value: float | int) -> str:
    return value.hex() if isinstance(value, float) else str(value)


def _list(values: Iterable[float]) -> str:
    return "{" + ", ".join(_number(float(v)) for v in values) + "}"


def _define(name: str, value: float | int | str, why: str) -> str:
    """Return a constant: hexadecimal, which no compiler rounds, and in decimals beside it."""
    if isinstance(value, str):
        return f"#define SF_{name} {value} /* {why} */"
    shown_too = f"{value!r}: " if isinstance(value, float) else ""
    return f"#define SF_{name} {_number(value)} /* {shown_too}{why} */"


def _included(name: str, done: set[str]) -> str:
    """Return the text of a file with what it includes, each file once."""
    if name in done:
        return ""
    done.add(name)
    text = (
        files("surefoot.controller.export").joinpath("c", f"{name}.h").read_text(encoding="utf-8")
    )
    return re.sub(r'#include "(\w+)\.h"\n', lambda found: _included(found[1], done), text)


_BY_SLOPE = (
    "g of every action is at most 0, exactly and in double precision, if g is convex, if no "
    "subgradient of g on the feasible set is longer than G_g, and if the start is strictly feasible"
)
_BY_CURVATURE = (
    "g of every action is at most 0, exactly and in double precision, if g curves upwards by at "
    "most beta on the feasible set, if s is its gradient, and if the start is strictly feasible; "
    "g need not be convex"
)


# By the class of the player and of what it knows, where that is an object of its own.
_PORTS: dict[tuple[type[Any], type[Any] | None], _Port] = {
    (CertifiedPFS, None): _Port("certified_pfs", _pfs, _BY_SLOPE, "step"),
    (LeaderFollower, None): _Port("leader_follower", _leader, _BY_SLOPE, "step"),
    (SafetyFilter, None): _Port("safety_filter", _lengths, _BY_SLOPE, "admit"),
    (CertifiedOGD, Curvature): _Port("certified_ogd", _ogd, _BY_CURVATURE, "step"),
    (RegionFilter, Curvature): _Port(
        "curvature_filter", lambda player, d: _curvature(player.known, d), _BY_CURVATURE, "admit"
    ),
    (RegionFilter, LipschitzHull): _Port(
        "hull_filter", lambda player, d: _hull(player.known, d), _BY_SLOPE, "admit"
    ),
}


def _preface(algorithm: Any, port: _Port, d: int, has_start: bool) -> str:
    """Return the comment at the top: what it is, what it promises, how to compile and call it."""
    told = "cost_gradient" if port.call == "step" else "proposal"
    exact = "Its numbers are bit for bit those of Python on the machine that wrote it."
    if d > 2:
        exact = "It adds up in another order than NumPy: a step differs from Python's by rounding."
    elif None in fusing_here():
        exact = "How NumPy rounds here is not known: a step differs from Python's by rounding."
    paragraphs = [
        "Certified steps in C99, written by `surefoot export-c`. Do not edit: export again.",
        f"Player: {algorithm!r}",
        f"Promise: {port.promise}. The {told.replace('_', ' ')} may be anything. A bound on the "
        "next g is known before the action is played. A call that does not return SF_OK changed "
        "nothing.",
        "Compile with -std=c99 -ffp-contract=off, link with -lm; never with -ffast-math. " + exact,
    ]
    usage = [
        "sf_state state;",
        "sf_info info;",
        f"const double x1[SF_D] = {'SF_START_ACTION' if has_start else '{...}'};",
        "sf_init(&state, x1);",
        "for (;;) { /* play state.x, observe there, and: */",
        f"    if (sf_{port.call}(&state, {told}, g, s, &info) != SF_OK) ...; /* state.x stands */",
        "    /* g(state.x) <= info.bound <= 0 */",
        "}",
    ]
    lines = []
    for paragraph in paragraphs:
        lines += [*textwrap.wrap(paragraph, 94, break_long_words=False), ""]
    inner = [*lines, *(f"    {line}".replace("/*", "//").replace(" */", "") for line in usage)]
    return "/*\n" + "\n".join(f" * {line}".rstrip() for line in inner) + "\n */"
