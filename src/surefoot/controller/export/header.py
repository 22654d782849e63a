"""The certified step of a player as one C99 header: the kernel's text, with its constants."""

import math
import re
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np

from surefoot import kernel
from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.plain import PlainTable
from surefoot.core.points import dimension_of
from surefoot.guarantees import Tuned
from surefoot.kernel_bridge import Rule
from surefoot.knowledge.base import Knowledge

__all__ = ["c_header", "c_vectors"]

ROUNDS = 100
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def c_header(
    player: Any, dimension: int, *, name: str = "surefoot", start: Any | None = None
) -> str:
    """Return a C99 header with the certified step of a player: fixed d, nothing allocated.

    It is the text of the compiled kernel, with the sizes as constants and a rule filled in. It
    gives exactly what the kernel gives if it is compiled without contraction of floating-point
    expressions (``-ffp-contract=off``). Any compiler and any optimisation but ``-ffast-math`` will
    do. The header needs only the C library's ``sqrt``; the compiled kernel is needed to write it.

    Args:
        player: a certified pair that the kernel has (``player.engine`` is "kernel"), or one with
            its guarantee (``Tuned``).
        dimension: d, the length of an action.
        name: what every name in the header begins with; several headers fit in one program.
        start: the first action, written into the header if given.

    Example:
        >>> from surefoot import Ball, LeaderFollower
        >>> text = c_header(LeaderFollower(G_g=1.0, domain=Ball(1.0)), 2, name="limiter")
        >>> "static const limiter_rule limiter_player = {" in text
        True
    """
    rule = _read(player, dimension)
    algorithm, fields = rule.player, rule.fields
    if not _NAME.fullmatch(str(name)):
        raise InvalidValueError(f"name must be a C identifier, got {checks.repr_line(name)}")
    d, cuts = fields["d"], fields.get("cuts", 0)
    defines = [("D", d, "the length of an action"), ("K", cuts, "how many cuts are remembered")]
    defines += [("STATE", rule.size, "doubles of a state")]
    defines += [("SCRATCH", rule.scratch, "and of the scratch")]
    lines = [f"#define SF_{word} {number} /* {why} */" for word, number, why in defines]
    if start is not None:
        x1 = checks.to_vector(start, "start", length=d)
        algorithm.init(x1)
        lines.append(f"#define SF_START_ACTION {_list(x1)} /* for init */")
    text = "\n".join(
        [
            _preface(algorithm, fields, start is not None),
            "#ifndef SF_H\n#define SF_H\n",
            *lines,
            "",
            _text_of("surefoot.h"),
            _rule(fields),
            "#endif /* SF_H */\n",
        ]
    )
    return _named(text, name)


def append_to_header(text: str, part: str, name: str) -> str:
    """Return a header of :func:`c_header` with a further part before its end.

    Args:
        text: the header.
        part: C99 whose names begin with ``sf_`` and ``SF_``.
        name: what every name in the header begins with.
    """
    end = _named("#endif /* SF_H */\n", name)
    return f"{text.removesuffix(end)}\n{_named(part, name)}\n{end}"


def c_vectors(
    player: Any, dimension: int, *, name: str = "surefoot", start: Any | None = None
) -> str:
    """Return a C99 header with rounds and the bits that the step of :func:`c_header` gives there.

    A program includes it after the other. ``NAME_test_vectors()`` plays the rounds. It returns 0,
    or the first round whose action or bound has other bits.

    Args:
        player: that of the other header.
        dimension: d.
        name: what every name begins with.
        start: the first action; the middle of the domain, or 0, unless given.
    """
    rule = _read(player, dimension)
    algorithm: Any = rule.player
    fields = rule.fields
    d, m, middle = fields["d"], fields["rows"], fields.get("middle")
    x1 = np.zeros(d) if middle is None else middle
    x1 = x1 if start is None else checks.to_vector(start, "start", length=d)
    state, limit = algorithm.init(x1), _Limit(fields, x1)
    rounds, ends = [], []
    for _ in range(ROUNDS):
        vector, g, s = limit.at(state.x)
        value, slope = (g, s) if m > 1 else (float(g[0]), s[0])
        if not algorithm.needs.constraint_subgradients:
            slope = None
        feedback = Feedback(None, value, slope, proposal=vector)
        if algorithm.proposer.cost_gradients:
            feedback = feedback._replace(cost_gradient=vector, proposal=None)
        state, info = algorithm.step(state, feedback)
        rounds.append([*vector, *g, *s.ravel()])
        ends.append([*state.x, info.kernel.bound])
    tables: dict[str, list[Any]] = {"first": [x1], "told": rounds, "ends": ends}
    kind = "gradient" if algorithm.proposer.cost_gradients else "proposal"
    lines = ["/* Rounds and the bits that follow, written by `surefoot export-c`. */"]
    lines.append(f"#define SF_VECTOR_KIND {kind}")
    for word, rows in tables.items():
        numbers = ",\n    ".join(map(_list, rows))
        size = f"[{len(rows)}][{len(rows[0])}]"
        lines.append(f"static const double sf_vector_{word}{size} = {{\n    {numbers}}};")
    return _named("\n".join([*lines, _text_of("rounds.h")]), name)


class _Limit:
    """Limits that agree with the constants of a rule, each a ball or a half-space, and costs."""

    def __init__(self, fields: PlainTable, x1: Any) -> None:
        self.x1, self.rng = x1, np.random.default_rng(0)
        self.m, self.beta = fields["rows"], fields.get("beta")
        self.slope_norm, self.size = fields.get("G_g", 1.0), 0.25 * fields["reach"]
        ways = self.rng.normal(size=(self.m, len(x1)))
        self.ways = ways / np.linalg.norm(ways, axis=1)[:, None]

    def at(self, x: Any) -> tuple[Any, Any, Any]:
        """Return a cost gradient, or a proposal; the values and the slopes at an action."""
        way = x - self.x1
        noise = 0.1 * self.size * self.rng.normal(size=len(x))
        vector = way - 2.0 * self.size * self.ways[0] + noise
        if self.beta is not None:
            g = self.ways @ way + 0.45 * self.beta * float(way @ way) - self.size
            return vector, g, self.ways + 0.9 * self.beta[:, None] * way
        far = math.sqrt(float(way @ way))
        s = 0.9 * self.slope_norm * (way / far if far > 0 else self.ways[0])
        return vector, np.array([0.9 * self.slope_norm * (far - self.size)]), s[None]


def _read(player: Any, dimension: int) -> Rule:
    """Return the rule of a player, or reject the player in one sentence."""
    if kernel.compiled() is None:
        raise InvalidValueError("an export needs the compiled kernel: " + kernel.sentence())
    algorithm = player.algorithm if isinstance(player, Tuned) else player
    d = checks.positive_int(dimension, "dimension")
    is_pair = isinstance(algorithm, Certified)
    rule: Rule | None = algorithm.compiled.rule(algorithm, np.zeros(d)) if is_pair else None
    if rule is None:
        raise InvalidValueError(
            f"player must be {_name_obstacle(algorithm)}: let `surefoot serve` play it for a "
            f"program in any language, got {checks.repr_line(algorithm)} in dimension {d}"
        )
    return rule


def _name_obstacle(player: Any) -> str:
    """Return what a player must be that the kernel has C text for, in words."""
    if isinstance(player, Algorithm) and player.inner is not None:
        return f"without {type(player).__name__}, for which the kernel has no C text"
    if not isinstance(player, Certified):
        return "a certified rule, because the kernel has C text for no other"
    knowledge, domain = player.knowledge, player.domain
    kind = type(knowledge).__name__
    is_unknown = knowledge.in_kernel(dimension_of(domain) or 1) is None
    parts = {
        "a ramp": player.ramp is not None,
        "contexts": knowledge.in_contexts,
        f"{type(domain).__name__} as the domain": not getattr(domain, "is_convex", True),
        "start_bound": knowledge.bounds_start,
        "an unknown constant": knowledge.kind == "few violations",
        "a limit on the average": knowledge.kind == "cumulative",
        "several limits, but those of CurvatureRows": knowledge.row_count > 1 and is_unknown,
        kind: is_unknown,
    }
    pair = f"the pair of {type(player.proposer).__name__} and {kind}"
    found = next((name for name, has_it in parts.items() if has_it), pair)
    return f"without {found}, for which the kernel has no C text"


# --- text -----------------------------------------------------------------------------------------


def _text_of(name: str) -> str:
    """Return a file of the kernel, with the files that it includes in their places."""
    return re.sub(r'^#include "(.*)"$', lambda match: _text_of(match[1]), _file(name), flags=re.M)


def _file(name: str) -> str:
    """Return a file of the kernel as it is."""
    return files("surefoot.kernel").joinpath("c", name).read_text(encoding="utf-8")


def _rule(fields: PlainTable) -> str:
    """Return the rule as a constant: numbers hexadecimal, which no compiler rounds."""
    arrays, lines = [], []
    order = _order_of_fields()  # C++ takes designated initialisers in the order of the struct alone
    for name, value in sorted(fields.items(), key=lambda field: order.index(field[0])):
        if isinstance(value, np.ndarray):
            arrays.append(f"static const double sf_{name}[{len(value)}] = {_list(value)};")
            lines.append(f"    .{name} = sf_{name},")
        elif isinstance(value, float):
            lines.append(f"    .{name} = {_number(value)}, /* {value!r} */")
        elif value is not None:  # a whole number, or the name of a code
            lines.append(f"    .{name} = {value},")
    rule = "\n".join(["static const sf_rule sf_player = {", *lines, "};"])
    return "\n".join(["/* The player. */", *arrays, rule, ""])


def _order_of_fields() -> list[str]:
    """Return the fields of a rule in the kernel's order."""
    struct = _file("surefoot.h").partition("} sf_rule;")[0].rpartition("typedef struct {")[2]
    declarations = re.sub(r"/\*.*?\*/", "", struct, flags=re.S).split(";")
    return [name for each in declarations for name in re.findall(r"(\w+)\s*(?:,|$)", each.strip())]


def _number(value: float) -> str:
    return "HUGE_VAL" if value == math.inf else float(value).hex()


def _list(values: Iterable[float]) -> str:
    return "{" + ", ".join(_number(float(value)) for value in values) + "}"


def _named(text: str, name: str) -> str:
    return re.sub(r"\bSF_", f"{name.upper()}_", re.sub(r"\bsf_", f"{name}_", text))


def _promise(knowledge: Knowledge) -> str:
    """Return what is true of every action, and the premises of that."""
    # Without drift nothing is pulled towards an anchor, which is all that may need convexity.
    any_form = "nonconvex" in knowledge.allows and not knowledge.errors.drift
    claims = replace(knowledge, convex=False) if any_form else knowledge
    *others, last = claims.premises
    premises = f"{', '.join(others)}, and {last}"
    promise = f"g of every action is at most 0, exactly and in double precision, if {premises}"
    return promise + ("; g need not be convex" if any_form else "")


def _preface(algorithm: Any, fields: PlainTable, has_start: bool) -> str:
    """Return the comment at the top: what it is, what it promises, how to compile and call it."""
    first = "gradient" if algorithm.proposer.cost_gradients else "proposal"
    promise = _promise(algorithm.knowledge)
    paragraphs = [
        "Certified steps in C99, written by `surefoot export-c`. Do not edit: export again.",
        f"Player: {algorithm!r}",
        f"Promise: {promise}. The {first} may be anything. A bound on the next g is known before "
        "the action is played. A call that does not return SF_OK changed nothing.",
        "Compile with -std=c99 -ffp-contract=off, link with -lm; -ffast-math is rejected. The bits "
        "are those of surefoot's compiled kernel, whatever the compiler; surefoot's Python text "
        "gives other last digits.",
    ]
    rows = "g" if fields["rows"] > 1 else "&g"
    slope = ", seen.s = s" if algorithm.needs.constraint_subgradients else ""
    usage = [
        "static double state[SF_STATE], work[SF_SCRATCH];",
        f"const double x1[SF_D] = {'SF_START_ACTION' if has_start else '{...}'};",
        "sf_info info;",
        "sf_init(&sf_player, state, x1);",
        "for (;;) { // play state[0..SF_D), observe there, and:",
        "    sf_feedback seen = {0};",
        f"    seen.{first} = {first}, seen.g = {rows}{slope};",
        "    if (sf_step(&sf_player, state, &seen, work, &info) != SF_OK) ...; // state stands",
        "    // g(state[0..SF_D)) <= info.bound <= 0",
        "}",
    ]
    lines = []
    for paragraph in paragraphs:
        lines += [*textwrap.wrap(paragraph, 94, break_long_words=False), ""]
    inner = [*lines, *(f"    {line}" for line in usage)]
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in inner), " */"])
