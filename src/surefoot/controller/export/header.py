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

from surefoot.algorithms import Certified, Descent, Leader, Proposals, Tuned
from surefoot.controller.export._rounding import fusing_here
from surefoot.core import checks
from surefoot.core.checks import repr_line
from surefoot.core.errors import InvalidValueError
from surefoot.regions import CertifiedLength, Curvature, LipschitzHull
from surefoot.sets import Ball

__all__ = ["c_header"]

_UNIT = 2.0**-53
_ROOT_2 = math.sqrt(2)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

_Defines = list[tuple[str, Any, str]]  # name, number or text, why


class _Part(NamedTuple):
    """How a proposer or knowledge is written in C.

    Attributes:
        text: the file of its text.
        constants: from the part and the dimension, what it is compiled with.
        errors: those of readings that the text allows for.
    """

    text: str
    constants: Callable[[Any, int], _Defines]
    errors: tuple[str, ...] = ()


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
    d = checks.positive_int(dimension, "dimension")
    if not _NAME.fullmatch(str(name)):
        raise InvalidValueError(f"name must be a C identifier, got {repr_line(name)}")
    proposer, knowledge = _parts_of(algorithm)
    if isinstance(algorithm.proposer, Leader):
        _check_leader(algorithm)
    _plain_fields(algorithm.proposer, "proposer")
    _plain_fields(algorithm.knowledge, "knowledge", knowledge.errors)
    defines: _Defines = [("D", d, "the length of an action"), *_fusing(d)]
    defines += knowledge.constants(algorithm.knowledge, d)
    defines += proposer.constants(algorithm.proposer, d)
    if start is not None:
        x1 = checks.to_vector(start, "start", length=d)
        algorithm.init(x1)
        defines.append(("START_ACTION", _list(x1), "for init"))
    text = "\n".join(
        [
            _preface(algorithm, d, start is not None),
            "#ifndef SF_H\n#define SF_H\n",
            *(_define(*define) for define in defines),
            "",
            *(_read(part) for part in ("common", knowledge.text, proposer.text, "certified")),
            "#endif /* SF_H */\n",
        ]
    )
    return re.sub(r"\bSF_", f"{name.upper()}_", re.sub(r"\bsf_", f"{name}_", text))


def _parts_of(algorithm: Any) -> tuple[_Part, _Part]:
    """Return how the two parts of a player are written in C, or refuse it in one sentence."""
    if isinstance(algorithm, Certified):
        kinds = type(algorithm.proposer), type(algorithm.knowledge)
        if kinds in _PAIRS:
            return _PROPOSERS[kinds[0]], _KNOWLEDGE[kinds[1]]
    raise InvalidValueError(
        "player must be a CertifiedPFS, LeaderFollower, SafetyFilter, CertifiedOGD with knowledge "
        "= Curvature(...), or RegionFilter with knowledge = Curvature(...) or LipschitzHull(...) "
        f"to be exported, got {repr_line(algorithm)}"
    )


def _plain_fields(value: Any, where: str, allowed: tuple[str, ...] = ()) -> None:
    """Refuse numbers that are no floats of one run, and errors that C does not know yet."""
    for field in fields(value):
        part = getattr(value, field.name)
        at = f"{where}.{field.name}"
        if field.name == "errors":
            for kind in ("value", "slope", "drift"):
                bound = getattr(part, kind)
                least = "finite" if kind in allowed else "0"
                if not (isinstance(bound, float) and bound <= (kind in allowed) * 1.7e308):
                    raise InvalidValueError(
                        f"{at}.{kind} must be {least} to be exported, got {bound!r}"
                    )
        elif is_dataclass(part):
            _plain_fields(part, at)
        elif not isinstance(part, (float, int, tuple, str, type(None), np.ndarray)) or (
            isinstance(part, np.ndarray) and part.ndim != 1
        ):
            raise InvalidValueError(f"{at} must be a number of one run, got {repr_line(part)}")


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
    """Return the ball that holds every action; nothing where there is none."""
    if ball is None:
        return []
    if type(ball) is not Ball:
        raise InvalidValueError(f"domain must be a Ball to be exported, got {repr_line(ball)}")
    found: _Defines = [("RADIUS", ball.radius, "of the ball that holds every action")]
    if ball.centre is not None:
        centre = checks.to_vector(ball.centre, "domain.centre", length=d)
        found.append(("CENTRE", _list(centre), "of that ball"))
    return [*found, ("INNER", float(ball._inner(np.zeros(d))), "its radius less rounding")]


def _errors(known: Any) -> _Defines:
    errors = known.errors
    return [
        ("REACH", float(known.reach), "the largest norm of a feasible point"),
        ("EXACT", int(errors.is_exact), "whether readings are, and g is fixed"),
        ("VALUE_ERROR", errors.value, "bound on the error of a reading"),
        ("SLOPE_ERROR", errors.slope, "bound on the error of a slope"),
        ("DRIFT", errors.drift, "bound on the change of g from round to round"),
    ]


def _length(known: CertifiedLength, d: int) -> _Defines:
    noise, error, kappa = known.margins(d)
    found: _Defines = [
        ("G_G", known.G_g, "no subgradient of g is longer: what safety rests on"),
        *_ball(known.domain, d),
        ("REACH", float(known.reach), "the largest norm of a feasible point"),
        ("RHO", known.rho, "the tightening"),
        ("DECREASING", int(known.decreasing), "whether it is divided by the root of t"),
        ("NOISE", noise, "bound on the error of an observed g"),
        ("ERROR", error, "bound on the rounding of a step"),
        ("KAPPA", kappa, "relative rounding of a squared distance"),
        ("TOLERANCE", 4 * (d + 8) * _UNIT * known.reach, "what a certified point may be off by"),
    ]
    if known.sigma is not None:
        found.append(("SIGMA", known.sigma, "lower bound on the subgradients near the boundary"))
    return found


def _curvature(known: Curvature, d: int) -> _Defines:
    return [
        ("BETA", known.beta, "bound on the curvature of g: what safety rests on"),
        *_ball(known.domain, d),
        *_errors(known),
        ("MARGIN_UNIT", 32 * (d + 8) * _UNIT, "rounding of a bound, relative to its terms"),
        ("FOUR_ERRORS", 4 * known.errors.evaluation, "bound on the error of g, times 4"),
    ]


def _hull(known: LipschitzHull, d: int) -> _Defines:
    return [
        ("G_G", known.G_g, "no subgradient of g is longer: what safety rests on"),
        *_ball(known.domain, d),
        *_errors(known),
        ("NOISE", known.noise(d), "bound on the rounding of an observed g"),
        ("LOST", known._lost(d), "what rounding takes from a certified radius"),
        ("ROUNDING", known._rounding(d), "what a certified point may be off by"),
    ]


def _descent(proposer: Descent, d: int) -> _Defines:
    found: _Defines = [("RATCHET", int(proposer.ratchet), "whether the step size never rises")]
    if proposer.eta is not None:
        return [*found, ("INVERSE_ETA", 1 / proposer.eta, "1/eta, a limit on the step size")]
    scale = _ROOT_2 * proposer.radius
    return [*found, ("ROOT_2_RADIUS", scale, "the root of 2 times the radius")]


def _proposals(proposer: Proposals, d: int) -> _Defines:
    return [("AS_STEPS", int(proposer.as_steps), "whether a proposal is the end of a step")]


def _check_leader(algorithm: Any) -> None:
    """Refuse a leader whose knowledge is not what LeaderFollower(...) gives it."""
    leader, known = algorithm.proposer, algorithm.knowledge
    careful = leader.gradient_bound is not None
    if leader.domain != known.domain or known.keep_start != careful:
        raise InvalidValueError(
            "knowledge must have the domain of its leader, and keep_start with a gradient_bound "
            f"alone, to be exported, got {repr_line(known)}"
        )


def _leader(proposer: Leader, d: int) -> _Defines:
    if proposer.leader is not None or proposer.cuts != 2:
        raise InvalidValueError(
            "a LeaderFollower must have cuts = 2 and no leader of its own to be exported, got "
            f"cuts = {proposer.cuts!r}, leader = {repr_line(proposer.leader)}"
        )
    lazy = proposer.lazy and proposer.strong_convexity is None
    found: _Defines = [
        ("CUTS", 2, "how many half-spaces are remembered"),
        ("SAME_ROW", (d + 4) * _UNIT, "entries of one row's normal differ by at most this"),
        ("KEEP", proposer.keep, "how far the follower keeps off known faces"),
        ("LAZY", int(lazy), "or it descends"),
        ("SWEEPS", proposer.sweeps, "how often the leader is improved per round"),
        ("EXPECTED", proposer.expected, "what the energy starts from"),
    ]
    if proposer.strong_convexity is not None:
        found.append(("STRONG_CONVEXITY", proposer.strong_convexity, "of every cost"))
    if proposer.gradient_bound is not None:
        found.append(("GRADIENT_BOUND", proposer.gradient_bound, "where the careful mode begins"))
    return found


_PROPOSERS = {
    Descent: _Part("descent", _descent),
    Leader: _Part("leader", _leader),
    Proposals: _Part("proposals", _proposals),
}
_KNOWLEDGE = {
    CertifiedLength: _Part("certified_length", _length),
    Curvature: _Part("curvature", _curvature, ("value",)),
    LipschitzHull: _Part("hull", _hull, ("value", "slope", "drift")),
}
_PAIRS: set[tuple[type[Any], type[Any]]] = {
    (Descent, CertifiedLength),
    (Proposals, CertifiedLength),
    (Leader, LipschitzHull),
    (Proposals, LipschitzHull),
    (Descent, Curvature),
    (Proposals, Curvature),
}


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


def _read(name: str) -> str:
    """Return the text of a file of C."""
    found = files("surefoot.controller.export").joinpath("c", f"{name}.h")
    return found.read_text(encoding="utf-8")


_BY_SLOPE = (
    "g of every action is at most 0, exactly and in double precision, if g is convex, if no "
    "subgradient of g on the feasible set is longer than G_g, and if the start is strictly feasible"
)
_BY_CURVATURE = (
    "g of every action is at most 0, exactly and in double precision, if g curves upwards by at "
    "most beta on the feasible set, if s is its gradient, and if the start is strictly feasible; "
    "g need not be convex"
)


def _preface(algorithm: Any, d: int, has_start: bool) -> str:
    """Return the comment at the top: what it is, what it promises, how to compile and call it."""
    told = "cost_gradient" if algorithm.proposer.cost_gradients else "proposal"
    promise = _BY_CURVATURE if isinstance(algorithm.knowledge, Curvature) else _BY_SLOPE
    exact = "Its numbers are bit for bit those of Python on the machine that wrote it."
    if d > 2:
        exact = "It adds up in another order than NumPy: a step differs from Python's by rounding."
    elif None in fusing_here():
        exact = "How NumPy rounds here is not known: a step differs from Python's by rounding."
    paragraphs = [
        "Certified steps in C99, written by `surefoot export-c`. Do not edit: export again.",
        f"Player: {algorithm!r}",
        f"Promise: {promise}. The {told.replace('_', ' ')} may be anything. A bound on the "
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
        f"    if (sf_step(&state, {told}, g, s, &info) != SF_OK) ...; /* state.x stands */",
        "    /* g(state.x) <= info.bound <= 0 */",
        "}",
    ]
    lines = []
    for paragraph in paragraphs:
        lines += [*textwrap.wrap(paragraph, 94, break_long_words=False), ""]
    inner = [*lines, *(f"    {line}".replace("/*", "//").replace(" */", "") for line in usage)]
    return "/*\n" + "\n".join(f" * {line}".rstrip() for line in inner) + "\n */"
