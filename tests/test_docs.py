"""Every Python block of the documentation is run; a text block after it is what it must print.

A TOML block that begins with the name of a file, as a comment, is saved under that name before.

The tables of what constraints and costs know about themselves, and of what algorithms promise, are
computed here from the code and must be on their pages line by line.
"""

import contextlib
import inspect
import io
import itertools
import math
import re
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from surefoot import Ball, problems
from surefoot.core.lazy import public_names
from surefoot.problems import constraints, costs
from surefoot.problems.constraints import Constraint
from surefoot.problems.costs import ArrayCosts
from surefoot.problems.hindsight import has_closed_form
from surefoot.rules import catalogue
from surefoot.sets import Box

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# The code of a page takes seconds; that of these needs more than the library besides.
NEEDS = {"hosts.md": pytest.mark.hosts}
# These are followed step by step, in tests/test_contributing.py and tests/test_operations.py.
FOLLOWED = ("CONTRIBUTING.md", "operations.md")
RUN = [
    pytest.param(page, id=page.name, marks=NEEDS.get(page.name, pytest.mark.slow))
    for page in PAGES
    if page.name not in FOLLOWED
]
FILE = re.compile(r"# ([\w-]+\.toml)\n")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """The fenced blocks of a page: line, language, text."""
    text = page.read_text(encoding="utf-8")
    return [(text[: m.start(2)].count("\n"), m[1], m[2]) for m in FENCE.finditer(text)]


@pytest.mark.parametrize("page", RUN)
def test_code_of_the_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example saves is no part of the checkout
    found = blocks(page)
    # A module of its own, so that classes of an example can be pickled.
    module = types.ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    after = [*found, (0, "", "")]
    for _, language, text in found:
        if language == "toml" and (name := FILE.match(text)) is not None:
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
    for (line, language, code), (_, next_language, expected) in itertools.pairwise(after):
        if language != "python":
            continue
        printed = io.StringIO()
        # Blank lines in front, so that a traceback names the line of the page.
        source = compile("\n" * line + code, page.name, "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            exec(source, module.__dict__)
        if next_language == "text":
            assert printed.getvalue() == expected, f"{page.name}, line {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_sections_lead_to_a_heading(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    lost = []
    for file, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
        target = (page.parent / file) if file else page
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
        if anchor not in slugs:
            lost.append(f"{file}#{anchor}")
    assert lost == []


# --- what a constraint knows about itself ---------------------------------------------------------

D, BALL, X = 3, Ball(2.0, [0.25, 0.0, -0.5]), np.array([0.7, -0.4, 0.9])
C = np.array([0.1, -0.3, 0.2])
LOCAL = "(*)"
NOTHING = "none"
_rng = np.random.default_rng(11)
ROWS = _rng.normal(size=(4, D))
TURN = np.linalg.qr(_rng.normal(size=(D, D)))[0]
P = TURN @ np.diag([0.5, 1.5, 4.0]) @ TURN.T
LOSSES = _rng.normal(size=(40, D))
CONE = 0.5 * np.eye(D)[1:]


class Says(NamedTuple):
    """What a cell of a table says, and the value that this means for the example."""

    text: str
    value: Any


class Known(NamedTuple):
    """A line of the table: an example of the constraint, and what is said of it."""

    label: str
    example: Constraint
    g: Says
    G_g: Says
    sigma: Says | None
    depth: Says | None
    interior: Says | None
    rows: Says
    region: str = ""  # of a constraint around another one


def longest(A):
    return float(np.linalg.norm(A, axis=1).max())


def affine(A, b):
    return Says(r"$\max_i (a_i^\top x - b_i)$", (A @ X - b).max())


def depth_of(A, b):
    """Minus the smallest value of the largest row, by a linear program."""
    rows = np.column_stack([A, -np.ones(len(A))])
    free = [(None, None)] * (A.shape[1] + 1)
    return -linprog(np.append(np.zeros(A.shape[1]), 1.0), rows, b, bounds=free).fun


def cvar_bound(losses, level):
    k = (1 - level) * len(losses)
    norms = -np.sort(-np.linalg.norm(losses, axis=1))
    weights = np.clip(k - np.arange(len(losses)), 0, 1) / k
    return min(weights @ norms, np.linalg.norm(losses, 2) / math.sqrt(k))


ONE, YOURS = Says("1", 1), r"yours"
LONGEST = r"$\max_i \lVert a_i\rVert$"
LIMITS = np.array([1.0, 0.5, 2.0, 1.5])
BOX_A, BOX_B = np.vstack([np.diag([1.0, 2.0, 0.5]), -np.eye(D)]), [2.0, 3.0, 1.0, -0.5, 0.2, 0.4]
FLAT = np.diag([2.0, 1.0, 0.0])
SLOPE = np.array([0.3, -0.2, 0.0])
BOTTOM = -np.linalg.solve(P, SLOPE)
CONE_C = np.array([1.0, 0.9, 0.0])
RAVELLED = np.append(X, [-0.2, 1.1, 0.3])  # a matrix row by row; its first row is X
SMALLER = r"\min(\text{rows}, \text{columns})"
LINF = constraints.LinfNorm(0.75, D, C)
OWN = constraints.FunctionConstraint(lambda x: float(x @ x) - 1, lambda x: 2 * x, bound=4.0)
PARTS = (constraints.L1Norm(2.0, D), constraints.Affine(ROWS, LIMITS))

ANY_ROWS = (
    affine(ROWS, LIMITS),
    Says(LONGEST, longest(ROWS)),
    None,
    None,
    Says("0 if all $b_i > 0$", np.zeros(D)),
    Says("m", 4),
)


def quadratic(Q, highest):
    """The value and the Lipschitz constant of a form of that highest eigenvalue."""
    return (
        Says(r"$\frac12 x^\top Qx + q^\top x - r$", 0.5 * X @ Q @ X + SLOPE @ X - 2.0),
        Says(
            r"$\lVert Qz + q\rVert + \lambda_{\max}R$",
            np.linalg.norm(Q @ BALL.centre + SLOPE) + highest * 2.0,
        ),
    )


KNOWN = [
    Known(
        "`Affine`, one row",
        constraints.Affine(ROWS[:1], [-0.7]),
        Says(r"$a^\top x - b$", ROWS[0] @ X + 0.7),
        Says(r"$\lVert a\rVert$", longest(ROWS[:1])),
        Says(r"$\lVert a\rVert$", longest(ROWS[:1])),
        Says(r"$\infty$", math.inf),
        Says("0, or a unit inside", -(0.7 / longest(ROWS[:1]) + 1) * ROWS[0] / longest(ROWS[:1])),
        ONE,
    ),
    Known(
        "`Affine`, a box",
        constraints.Affine(BOX_A, BOX_B),
        affine(BOX_A, BOX_B),
        Says(LONGEST, 2.0),
        Says(r"$(\sum_j n_j^{-2})^{-1/2}$", (1 + 1 + 4) ** -0.5),
        Says("the narrowest side's", depth_of(BOX_A, BOX_B)),
        Says("0, or the middle", [1.25, 0.65, 0.8]),
        Says("m", 6),
    ),
    Known(
        "`Affine`, other rows",
        constraints.Affine(ROWS, LIMITS),
        *ANY_ROWS,
    ),
    Known("`Affine`, sparse rows", constraints.Affine(csr_array(ROWS), LIMITS), *ANY_ROWS),
    Known(
        "`SimplexRows`",
        constraints.SimplexRows(D, 1.5),
        Says(r"$\max(\max_i -x_i, \sum_i x_i - s)$", max((-X).max(), X.sum() - 1.5)),
        Says(r"$\sqrt d$", math.sqrt(D)),
        None,
        None,
        Says("equal shares of s/2", np.full(D, 0.75 / D)),
        Says("d + 1", D + 1),
    ),
    Known(
        "`L1Norm`",
        constraints.L1Norm(1.5, D, C),
        Says(r"$\sum_i \lvert x_i - c_i\rvert - r$", abs(X - C).sum() - 1.5),
        Says(r"$\sqrt d$", math.sqrt(D)),
        ONE,
        Says("r", 1.5),
        Says("c", C),
        ONE,
    ),
    Known(
        "`L2Norm`",
        constraints.L2Norm(1.5, C),
        Says(r"$\lVert x - c\rVert - r$", np.linalg.norm(X - C) - 1.5),
        ONE,
        ONE,
        Says("r", 1.5),
        Says("c, if given", C),
        ONE,
    ),
    Known(
        "`LinfNorm`",
        LINF,
        Says(r"$\max_i \lvert x_i - c_i\rvert - r$", abs(X - C).max() - 0.75),
        ONE,
        Says(r"$1/\sqrt d$", D**-0.5),
        Says("r", 0.75),
        Says("c", C),
        Says("2d", 2 * D),
    ),
    Known(
        "`EllipsoidNorm`",
        constraints.EllipsoidNorm(P, C),
        Says(r"$\sqrt{(x - c)^\top P(x - c)} - 1$", math.sqrt((X - C) @ P @ (X - C)) - 1),
        Says(r"$\sqrt{\lambda_{\max}}$", 2.0),
        Says(r"$\sqrt{\lambda_{\min}}$", math.sqrt(0.5)),
        ONE,
        Says("c", C),
        ONE,
    ),
    Known(
        "`QuadraticForm`, Q definite",
        constraints.QuadraticForm(P, SLOPE, 2.0),
        *quadratic(P, 4.0),
        Says(
            r"$\sqrt{2\lambda_{\min}(\Delta - \epsilon)}$",
            math.sqrt(2 * 0.5 * 0.5 * (2.0 - 0.5 * SLOPE @ BOTTOM)),
        ),
        Says(r"$\Delta = r + \frac12 q^\top Q^{-1}q$", 2.0 - 0.5 * SLOPE @ BOTTOM),
        Says("the minimum", BOTTOM),
        ONE,
    ),
    Known(
        "`QuadraticForm`, Q singular",
        constraints.QuadraticForm(FLAT, SLOPE, 2.0),
        *quadratic(FLAT, 2.0),
        None,
        None,
        Says("a minimum, or 0", [-0.15, 0.2, 0.0]),
        ONE,
    ),
    Known(
        "`SecondOrderCone`, opening",
        constraints.SecondOrderCone(CONE, c=CONE_C, d=0.5),
        Says(r"$\lVert Ax + b\rVert - c^\top x - d$", np.linalg.norm(CONE @ X) - CONE_C @ X - 0.5),
        Says(r"$\lVert A\rVert_2 + \lVert c\rVert$", 0.5 + np.linalg.norm(CONE_C)),
        # The vectors A'u are a disc of radius 1/2 across the first axis; c is 0.4 beside it.
        Says(r"$c^\top w - \lVert Aw\rVert$", math.hypot(1.0, 0.4)),
        Says(r"$\infty$", math.inf),
        Says("0, the apex, or down the cone", np.zeros(D)),
        ONE,
    ),
    Known(
        "`SecondOrderCone`, closing",
        constraints.SecondOrderCone(np.eye(D), -C, 0.5 * C, 1.0),
        Says(r"$\lVert Ax + b\rVert - c^\top x - d$", np.linalg.norm(X - C) - 0.5 * C @ X - 1.0),
        Says(r"$\lVert A\rVert_2 + \lVert c\rVert$", 1.0 + 0.5 * np.linalg.norm(C)),
        None,
        None,
        Says("0, the apex, or down the cone", np.zeros(D)),
        ONE,
    ),
    Known(
        "`SpectralNorm`",
        constraints.SpectralNorm((2, 3), 1.25),
        Says(r"$\lVert X\rVert_2 - r$", np.linalg.norm(RAVELLED.reshape(2, 3), 2) - 1.25),
        ONE,
        Says(rf"$1/\sqrt{{{SMALLER}}}$", 2**-0.5),
        Says("r", 1.25),
        Says("0", np.zeros(6)),
        ONE,
    ),
    Known(
        "`NuclearNorm`",
        constraints.NuclearNorm((2, 3), 1.25),
        Says(r"$\lVert X\rVert_* - r$", np.linalg.norm(RAVELLED.reshape(2, 3), "nuc") - 1.25),
        Says(rf"$\sqrt{{{SMALLER}}}$", math.sqrt(2)),
        ONE,
        Says("r", 1.25),
        Says("0", np.zeros(6)),
        ONE,
    ),
    Known(
        "`CVaR`",
        constraints.CVaR(LOSSES, 0.9, 0.5),
        Says(r"$\mathrm{CVaR}_\beta(Lx) - \text{limit}$", -np.sort(-LOSSES @ X)[:4].mean() - 0.5),
        Says(r"$\min(\sum_j w_j\ell_{(j)}, \lVert L\rVert_2/\sqrt k)$", cvar_bound(LOSSES, 0.9)),
        None,
        None,
        Says("0 if limit > 0", np.zeros(D)),
        ONE,
    ),
    Known(
        "`MaxOf`: `max_of(g, ...)`",
        constraints.max_of(*PARTS),
        Says(r"$\max_j g_j(x)$", max(part.value(X) for part in PARTS)),
        Says("the largest", max(part.subgradient_bound(BALL) for part in PARTS)),
        None,
        None,
        Says("one of theirs", np.zeros(D)),
        Says("theirs", 5),
    ),
    Known(
        "`Shifted`: `shift(g, rho)`",
        constraints.shift(LINF, 0.25),
        Says(r"$g(x) + \rho$", LINF.value(X) + 0.25),
        Says("that of g", 1.0),
        Says("that of g", D**-0.5),
        Says(r"that of g, less $\rho$", 0.5),
        Says("that of g", C),
        Says("those of g", 2 * D),
        region="that of g, moved",
    ),
    Known(
        "`PlayedOnly`",
        constraints.PlayedOnly(LINF),
        Says(r"$g(x)$, where played", LINF.value(X)),
        Says("that of g", 1.0),
        Says("that of g", D**-0.5),
        Says("that of g", 0.75),
        Says("that of g", C),
        Says("those of g", 2 * D),
        region="that of g",
    ),
    Known(
        "`FunctionConstraint`",
        OWN,
        Says(YOURS, X @ X - 1),
        Says("`bound`", 4.0),
        None,
        None,
        None,
        ONE,
    ),
    Known(
        "`JaxConstraint`",
        constraints.JaxConstraint(lambda x: jnp.max(x) - 1.0, bound=1.5),
        Says(YOURS, X.max() - 1),
        Says("`bound`", 1.5),
        None,
        None,
        None,
        ONE,
    ),
]


def close(value):
    """A number or vector up to the rounding that bounds are widened by."""
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def line_of(known):
    """The line of the table, from what the code says; fails where a formula is not what it is."""
    g = known.example
    x = RAVELLED[: getattr(g, "dimension", None) or D]
    if isinstance(g, constraints.PlayedOnly):
        g.allow(x)
    assert g.value(x) == close(known.g.value)
    assert g.subgradient_bound(BALL) == close(known.G_g.value)
    exact, interior, region = g.exact_sigma(None), g.interior, g.region
    sigma, depth, inside = LOCAL, "", NOTHING
    if exact is not None:
        assert exact == close((known.sigma.value, level(known.depth.value)))
        sigma, depth = known.sigma.text, known.depth.text
    if interior is not None:
        assert np.asarray(interior) == close(known.interior.value)
        inside = known.interior.text
    assert g.rows == known.rows.value == len(g.query_all(x)[0])
    shape = NOTHING if region is None else f"`{type(region).__name__}`"
    if known.region:
        assert type(region) is type(LINF.region)
        shape = known.region
    cells = (known.label, known.g.text, known.G_g.text, sigma, depth, shape)
    return row(*cells, inside, known.rows.text)


def level(depth):
    return 1.0 if depth == math.inf else 0.5 * depth


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def table(page, first):
    """The lines of the table of a page whose first column has this head."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    (head,) = [i for i, line in enumerate(lines) if line.startswith(f"| {first} |")]
    end = next(i for i in range(head, len(lines)) if not lines[i].startswith("|"))
    return lines[head + 2 : end]


def compare(found, wanted):
    """The lines of a page with those that it should have; the message is what to put there."""
    missing = [line for line in wanted if line not in found]
    assert found == wanted, "the table should have, in this order:\n" + "\n".join(missing or wanted)


def test_the_page_says_of_each_constraint_what_it_knows_about_itself():
    compare(table("problems.md", "constraint"), [line_of(known) for known in KNOWN])


def test_every_constraint_is_on_the_page():
    kinds = {k for k in public_names(constraints).values() if inspect.isclass(k)}
    mine = {k for k in kinds if issubclass(k, Constraint) and k is not Constraint}
    assert {type(known.example) for known in KNOWN} == mine


# --- what costs know about themselves -------------------------------------------------------------


class KnownCosts(NamedTuple):
    """A line of the table of costs."""

    label: str
    example: Any
    f: Says
    G_f: Says
    modulus: Says


Z, R = BALL.centre, BALL.radius
A = _rng.normal(size=(5, D))
Y = np.array([1.0, -1.0, -1.0, 1.0, 1.0])
NONE = Says("0", 0.0)
LENGTHS = np.linalg.norm(A, axis=1)
MARGIN = Y * (A @ Z) - R * LENGTHS
GROWTH = 1.0 + 0.1 * (A @ Z) - R * 0.1 * LENGTHS
OWN_COSTS = costs.FromFunctions(
    value_of=lambda t, x: float(x @ x),
    gradient_of=lambda t, x: 2 * x,
    horizon=5,
    dimension=D,
    bound=6.0,
    strong_convexity=2.0,
)

COSTS = [
    KnownCosts(
        "`Linear`",
        costs.Linear(A),
        Says(r"$c_t^\top x$", A[2] @ X),
        Says(r"$\max_t \lVert c_t\rVert$", LENGTHS.max()),
        NONE,
    ),
    KnownCosts(
        "`Quadratic`",
        costs.Quadratic(A, 3.0),
        Says(r"$\frac h2\lVert x - v_t\rVert^2$", 1.5 * (X - A[2]) @ (X - A[2])),
        Says(
            r"$h(\max_t \lVert v_t - z\rVert + R)$",
            3.0 * (np.linalg.norm(A - Z, axis=1).max() + R),
        ),
        Says("h", 3.0),
    ),
    KnownCosts(
        "`Absolute`",
        costs.Absolute(A, 2 * Y),
        Says(r"$\lvert a_t^\top x - y_t\rvert$", abs(A[2] @ X + 2.0)),
        Says(r"$\max_t \lVert a_t\rVert$", LENGTHS.max()),
        NONE,
    ),
    KnownCosts(
        "`Quantile`",
        costs.Quantile(A, 2 * Y, 0.9),
        Says(
            r"$\max(\tau(y_t - a_t^\top x), (1 - \tau)(a_t^\top x - y_t))$",
            max(0.9 * (-2.0 - A[2] @ X), 0.1 * (A[2] @ X + 2.0)),
        ),
        Says(r"$\max(\tau, 1 - \tau)\max_t \lVert a_t\rVert$", 0.9 * LENGTHS.max()),
        NONE,
    ),
    KnownCosts(
        "`Hinge`",
        costs.Hinge(A, Y),
        Says(r"$[1 - y_ta_t^\top x]_+$", max(1 + A[2] @ X, 0.0)),
        Says(r"$\max_t \lVert a_t\rVert$", LENGTHS.max()),
        NONE,
    ),
    KnownCosts(
        "`Logistic`",
        costs.Logistic(A, Y),
        Says(r"$\log(1 + e^{-y_ta_t^\top x})$", math.log1p(math.exp(A[2] @ X))),
        Says(
            r"$\max_t \lVert a_t\rVert/(1 + e^{y_ta_t^\top z - R\lVert a_t\rVert})$",
            (LENGTHS / (1 + np.exp(MARGIN))).max(),
        ),
        NONE,
    ),
    KnownCosts(
        "`LogPortfolio`",
        costs.LogPortfolio(0.1 * A, cash=1.0),
        Says(r"$-\log(c + r_t^\top x)$", -math.log(1.0 + 0.1 * A[2] @ X)),
        Says(
            r"$\max_t \lVert r_t\rVert/(c + r_t^\top z - R\lVert r_t\rVert)$",
            (0.1 * LENGTHS / GROWTH).max(),
        ),
        NONE,
    ),
    KnownCosts(
        "`FromFunctions`",
        OWN_COSTS,
        Says(YOURS, X @ X),
        Says("`bound`", 6.0),
        Says("`strong_convexity`", 2.0),
    ),
    KnownCosts(
        "`from_jax(f, data)`",
        costs.from_jax(lambda x, a: jnp.abs(a @ x), A, dimension=D, bound=2.5),
        Says(YOURS, abs(A[2] @ X)),
        Says("`bound`", 2.5),
        NONE,
    ),
    KnownCosts(
        "`FromChunks`",
        costs.FromChunks(lambda a, b: costs.Linear(A[a:b]), horizon=5, dimension=D, bound=3.5),
        Says("a few rounds at a time", A[2] @ X),
        Says("`bound`", 3.5),
        NONE,
    ),
    KnownCosts(
        "`Adversarial`",
        costs.Adversarial(lambda t, x: -x, horizon=5, dimension=D, bound=2.0),
        Says(r"$r(t, x_t)^\top x$", -X @ X),
        Says("`bound`", 2.0),
        NONE,
    ),
]


def line_of_costs(known):
    stream = known.example
    assert float(stream.value(2, X)) == close(known.f.value)
    assert stream.gradient_bound(BALL) == close(known.G_f.value)
    assert getattr(stream, "strong_convexity", 0.0) == known.modulus.value
    if isinstance(stream, costs.Adversarial):
        best = "as `Linear`, if every action is kept"
    else:
        closed = has_closed_form(stream, Box([-1.0] * D, [1.0] * D))
        best = "closed form" if closed else "bundle"
    return row(known.label, known.f.text, known.G_f.text, known.modulus.text, best)


def test_the_page_says_of_costs_what_they_know_about_themselves():
    compare(table("problems.md", "costs"), [line_of_costs(known) for known in COSTS])


def test_all_costs_are_on_the_page():
    kinds = {k for k in public_names(costs).values() if inspect.isclass(k)}
    concrete = {k for k in kinds if not inspect.isabstract(k)} - {ArrayCosts}
    assert {type(known.example) for known in COSTS} == concrete


# --- what algorithms promise ----------------------------------------------------------------------


def line_of_entry(entry):
    name = f"`{entry.name}`"
    if entry.tuned is None:
        return row(name, "", f"does not apply: {entry.note}", *[""] * 5)
    guarantee = entry.tuned.guarantee
    changing = "yes" if guarantee.changing else "no"
    parts = (entry.feasibility, entry.observed, entry.in_advance)
    return row(name, entry.feedback, *parts, entry.work, guarantee.name, changing)


def test_the_page_has_the_catalogue_of_the_algorithms():
    toy = problems.paper_toy(1, 1)
    entries = catalogue(toy.constants, 1_000_000, toy.domain, toy.benchmark.region)
    compare(table("algorithms.md", "algorithm"), [line_of_entry(e) for e in entries])
