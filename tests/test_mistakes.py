"""The commonest mistakes of a user: told in a sentence, and most by a type checker before."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot import Ball, Constants, Controller, problems
from surefoot.problems import Problem
from surefoot.problems.calibration import from_log
from surefoot.problems.constraints import Affine, L2Norm, max_of
from surefoot.problems.costs import Linear
from surefoot.rules import OGD, PFS, LeaderFollower
from surefoot.sets import Box, Ellipsoid, Halfspace, Polytope

TOY = problems.paper_toy(50, trials=1)
BOX = Box([-1.0, -1.0], [1.0, 1.0])
HALF = lambda x: x[0] - 1.0  # noqa: E731  as a user writes it


def problem(costs=TOY.costs, constraint=TOY.constraint, domain=Ball(1.0)):  # noqa: B008
    return Problem.of(costs, constraint, domain, [0.0, 0.0])


MISTAKES = {
    "a function as constraint": (
        lambda: problem(constraint=HALF),
        "got a function: FunctionConstraint(g, subgradient) takes it",
    ),
    "a set as constraint": (lambda: problem(constraint=BOX), "got the set Box("),
    "an array as constraint": (
        lambda: problem(constraint=np.ones((3, 2))),
        "got an array of shape (3, 2): Affine(A, b) takes rows and limits",
    ),
    "an array as costs": (
        lambda: problem(costs=np.ones((50, 2))),
        "got an array of shape (50, 2): Linear(...) takes gradients, Quadratic(...) targets",
    ),
    "a function as costs": (
        lambda: problem(costs=lambda t, x: 0.0),
        "got a function: FromFunctions(...) takes functions of round and action",
    ),
    "costs and constraint swapped": (
        lambda: problem(costs=TOY.constraint, constraint=TOY.costs),
        "got the constraint LinfNorm(radius=0.5, dimension=2, centre=None): it comes after the co",
    ),
    "a number as domain": (lambda: problem(domain=1.0), "as Ball(1.0), got 1.0"),
    "a box as domain": (lambda: problem(domain=BOX), "its bounding_ball() is one"),
    "a number as a rule's domain": (
        lambda: PFS(eta=0.1, rho=0.1, domain=2.5),
        "got 2.5: Ball(2.5) is the ball of that radius",
    ),
    "a constraint as a rule's domain": (
        lambda: OGD(eta=0.1, domain=TOY.constraint),
        "its region is the set",
    ),
    "a problem as constants": (
        lambda: LeaderFollower.default(TOY),
        "constants must be a surefoot.Constants, such as problem.constants, got a Problem",
    ),
    "a class as player": (
        lambda: sf.play(LeaderFollower, TOY),
        "got the class LeaderFollower: make one, as LeaderFollower.default(constants) does",
    ),
    "a class in a controller": (
        lambda: Controller(PFS, [0.0, 0.0]),
        "got the class PFS: make one, as PFS.anytime(constants) does",
    ),
    "player and problem swapped": (
        lambda: sf.play(TOY, OGD(eta=0.1, domain=BOX)),
        "the player comes first",
    ),
    "a function among constraints": (
        lambda: max_of(TOY.constraint, HALF),
        "got a function: FunctionConstraint(g, subgradient) takes it",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_common_mistake_is_told_with_the_class_that_is_meant(name):
    attempt, words = MISTAKES[name]
    with pytest.raises((ValueError, TypeError)) as error:
        attempt()
    sentence = str(error.value)
    assert words in sentence
    assert len(sentence.splitlines()) == 1
    assert len(sentence) < 450


def test_the_ball_of_a_box_holds_its_corners():
    rng = np.random.default_rng(0)
    for d in (1, 2, 7):
        lower = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 3, d)
        box = Box(lower, lower + rng.uniform(0, 2, d))
        ball = box.bounding_ball()
        assert ball.contains(box.lower)
        assert ball.contains(box.upper)
        assert ball.radius <= box.diameter / 2 * (1 + 1e-12) + 1e-12 * np.linalg.norm(lower)


# --- tables and lists ----------------------------------------------------------------------------

A, B = [[1.0, 0.5], [-1.0, 0.2], [0.0, 1.0]], [1.0, 1.0, 1.0]


def made(frame, series):
    """What a user builds from tables: each equal to the same from lists."""
    yield Affine(frame(A), series(B)), Affine(A, B)
    yield Linear(frame(A)).slopes.tolist(), A
    yield Box(series([-1.0, 0.0]), series([1.0, 1.0])), Box([-1.0, 0.0], [1.0, 1.0])
    yield Ball(1.0, series([0.0, 0.5])), Ball(1.0, [0.0, 0.5])
    yield Polytope(frame(A), series(B)), Polytope(A, B)
    yield (
        Ellipsoid(frame([[2.0, 0.0], [0.0, 1.0]]), series([0.0, 0.0])),
        Ellipsoid([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0]),
    )
    yield Halfspace(series([1.0, 0.0]), 1.0), Halfspace([1.0, 0.0], 1.0)
    yield L2Norm(1.0, series([0.5, 0.0])), L2Norm(1.0, [0.5, 0.0])
    whole = Problem.of(Linear(frame(A)), Affine(frame(A), series(B)), Ball(3.0), series([0.0, 0.1]))
    yield whole.start.tolist(), [0.0, 0.1]
    found = from_log(frame(A), series(B))
    yield found.rows, 3
    controller = Controller(LeaderFollower(G_g=2.0, domain=Ball(3.0)), series([0.0, 0.0]))
    yield controller.ask().tolist(), [0.0, 0.0]
    controller.tell(
        cost_gradient=series([1.0, 0.0]),
        constraint_value=-0.5,
        constraint_subgradient=series([1.0, 0.0]),
    )
    yield type(controller.ask()), np.ndarray


def test_lists_and_tuples_become_arrays_at_construction():
    for left, right in made(lambda a: tuple(map(tuple, a)), tuple):
        assert left == right


@pytest.mark.hosts
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_and_series_become_arrays_at_construction(library):
    tables = pytest.importorskip(library)
    for left, right in made(lambda a: tables.DataFrame(np.array(a)), tables.Series):
        assert left == right


# --- a type checker ------------------------------------------------------------------------------

HEAD = """\
import numpy as np
import surefoot as sf
from surefoot import Ball, Constants, Controller, problems
from surefoot.rules import OGD, PFS, CertifiedPFS, LeaderFollower, SafetyFilter
from surefoot.problems.constraints import Affine, L2Norm
from surefoot.problems import Problem
from surefoot.sets import Box

toy = problems.paper_toy(100, trials=1)
known = Constants(R=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0)
ball, zero = Ball(1.0), np.zeros(2)
player = LeaderFollower.default(known)
"""
PLANTED = """\
PFS(eta="0.1", rho=0.1, domain=ball)
PFS(eta=0.1, rho=0.1, domain=1.0)
PFS(eta=0.1, rho=0.1, domain=Box([0.0], [1.0]))
CertifiedPFS.default(toy)
Problem.of(toy.constraint, toy.costs, ball, zero)
Problem.of(toy.costs, lambda x: x[0] - 1.0, ball, zero)
Problem.of(np.ones((100, 2)), toy.constraint, ball, zero)
Ball("1.0")
Box(0.0, 1.0)
Controller(player, start="0.2, 0.2")
Controller(player, [0.0, 0.0]).tell(gradient=[1.0, 0.0])
Controller(player, [0.0, 0.0], on_contradiction="stop")
SafetyFilter(G_g=None, domain=ball, rho=0.1)
sf.play(player, toy).regrets()
Affine("x + y <= 1", 1.0)
sf.calibrate(toy, horizon="100")
"""
RIGHT = """\
PFS(eta=0.1, rho=0, domain=ball)
PFS(eta=np.array([[0.1], [0.2]]), rho=np.float64(0.1), domain=ball)
Box([0, 0.5], (1.0, 1.0)), Box(zero, zero + 1), Box(np.ones(2), [1, 2])
Affine([[1.0, 0.0], [0.0, 1.0]], [1, 1]), Affine(np.eye(2), zero)
Affine([zero + 1, zero + 2], zero)
Problem.of(toy.costs, L2Norm(1.0), ball, [0.0, 0.0])
loop = Controller(player, [0.0, 0.0])
loop.ask()
loop.tell(
    cost_gradient=[1, 0], constraint_value=-0.5, constraint_subgradient=zero
)
OGD(eta=0.1, domain=Box(-np.ones(2), np.ones(2)))
sf.calibrate(toy.constraint, [0.0, 0.0], ball, horizon=10, G_g=2.0)
half = 0.5 * ball.radius
"""


def lines_with_errors(tmp_path, text):
    """The lines of a program that mypy objects to, those of the head not counted."""
    file = tmp_path / "program.py"
    file.write_text(HEAD + text)
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    words += ["--config-file", str(ROOT / "pyproject.toml"), str(file)]
    where = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(
        words, cwd=tmp_path, env=where, capture_output=True, text=True, check=False
    )
    found = re.findall(r"^(?:.*[/\\\\])?program\.py:(\d+): error", done.stdout, re.MULTILINE)
    assert found or "Success" in done.stdout, done.stdout + done.stderr
    return sorted({int(n) - HEAD.count("\n") for n in found})


ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_a_type_checker_finds_the_mistakes_of_a_user_and_nothing_else(tmp_path):
    both = lines_with_errors(tmp_path, PLANTED + RIGHT)
    planted = PLANTED.count("\n")
    assert planted == 16
    assert sum(n <= planted for n in both) >= 14
    assert [n for n in both if n > planted] == []


def test_every_planted_mistake_is_refused_when_it_runs():
    program = {}
    exec(HEAD, program)
    for line in PLANTED.splitlines():
        if "domain=Box(" in line:  # plays: any set with a projection does
            continue
        with pytest.raises((ValueError, TypeError, AttributeError)):
            exec(line, program)
    exec(RIGHT, program)
    assert isinstance(program["known"], Constants)
