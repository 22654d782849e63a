"""Each kind answers for itself to the kernel: a subclass inherits no answer."""

import ast
import inspect
from dataclasses import fields

import numpy as np
import pytest

from surefoot import Ball, Feedback, kernel, kernel_bridge, knowledge, proposers
from surefoot.certified import Certified
from surefoot.controller.export import c_header
from surefoot.knowledge import CertifiedLength, Curvature, CurvatureRows, LipschitzHull
from surefoot.proposers import Averaging, Descent, Leader, Probing, Proposals
from surefoot.sets import Box

from .players import Limit, names_in_kernel

pytestmark = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")

BALL = Ball(1.0)
HULL = LipschitzHull(G_g=1.0, domain=BALL)
CURVED = Curvature(beta=1.0, domain=BALL)
KNOWN = {
    LipschitzHull: HULL,
    CertifiedLength: CertifiedLength(G_g=1.0, domain=BALL, rho=0.1),
    Curvature: CURVED,
    CurvatureRows: CurvatureRows(beta=1.0, rows=2, domain=BALL),
}
PROPOSER = {
    Proposals: Proposals(),
    Leader: Leader(domain=BALL),
    Descent: Descent(radius=1.0),
    Averaging: Averaging(radius=1.0),
    Probing: Probing(leader=Leader(domain=BALL)),
}
CODES = {
    LipschitzHull: "SF_HULL",
    CertifiedLength: "SF_LENGTH",
    Curvature: "SF_CURVATURE",
    CurvatureRows: "SF_ROWS",
    Proposals: "SF_PROPOSALS",
    Leader: "SF_LEADER",
    Descent: "SF_DESCENT",
    Averaging: "SF_AVERAGING",
    Probing: "SF_PROBING",
}


def remade(cls, part):
    """Return an object of a class with the fields of a part."""
    names = [field.name for field in fields(part)]
    return cls(**{name: getattr(part, name) for name in names})


def subclasses(kind):
    """Yield a subclass that changes nothing, and one for each method that it may change."""
    yield type(kind.__name__, (kind,), {})
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        sealed = getattr(method, "__final__", False)
        if not name.startswith("__") and not sealed and name != "describe_to_kernel":
            yield type(kind.__name__, (kind,), {name: method})


def partner(kind):
    """Return the other part of a pair that the kernel has."""
    if kind in PROPOSER:
        return CURVED if kind is Averaging else HULL
    return PROPOSER[Proposals]


def pair(part, other):
    """Return a pair, whichever of the two is the proposer."""
    proposer, known = (part, other) if isinstance(part, proposers.Proposer) else (other, part)
    return Certified(proposer=proposer, knowledge=known)


def test_these_are_the_kinds_that_the_kernel_has():
    assert names_in_kernel(knowledge) == sorted(kind.__name__ for kind in KNOWN)
    assert names_in_kernel(proposers) == sorted(kind.__name__ for kind in PROPOSER)


@pytest.mark.parametrize("kind", [*KNOWN, *PROPOSER], ids=lambda kind: kind.__name__)
def test_a_subclass_is_python_s_whatever_it_changes(kind):
    part, other = (KNOWN | PROPOSER)[kind], partner(kind)
    assert pair(part, other).engine == "kernel"
    own = [*subclasses(kind)]
    assert len(own) > 3
    for cls in own:
        assert pair(remade(cls, part), other).engine == "python"


@pytest.mark.parametrize("kind", [Ball, Box])
def test_a_subclass_of_a_set_is_python_s(kind):
    usual = BALL if kind is Ball else Box.cube(1.0, 2)
    own = remade(type("Own", (kind,), {}), usual)
    for domain, engine in ((usual, "kernel"), (own, "python")):
        player = Certified(proposer=Proposals(), knowledge=LipschitzHull(G_g=1.0, domain=domain))
        assert player.engine == engine


class Doubled(LipschitzHull):
    """A kind whose constant is twice what is given, and which says so to the kernel, too."""

    def radius(self, level, lost):
        return super().radius(level, lost) / 2

    def describe_to_kernel(self, d):
        there = LipschitzHull.describe_to_kernel(self, d)
        there.fields["G_g"] *= 2
        return there


def test_a_kind_of_somebody_s_own_is_the_kernel_s_if_it_answers_itself():
    player = Certified(proposer=Proposals(), knowledge=Doubled(G_g=0.5, domain=BALL))
    usual = Certified(proposer=Proposals(), knowledge=HULL)
    told = Feedback(None, -0.5, np.array([0.0, 1.0]), proposal=np.array([0.0, 9.0]))
    ends = [rule.step(rule.init(np.zeros(2)), told)[0].x for rule in (player, usual)]
    assert player.engine == "kernel"
    assert ends[0].tobytes() == ends[1].tobytes()


def test_a_kind_may_not_write_what_the_base_owns():
    with pytest.raises(TypeError, match="must write describe_to_kernel, got in_kernel"):
        type("Own", (LipschitzHull,), {"in_kernel": lambda self, d: None})


def test_the_bridge_and_the_export_import_no_kind():
    from surefoot.controller.export import header

    kinds = {*names_in_kernel(knowledge), *names_in_kernel(proposers)}
    for module in (kernel_bridge, header):
        tree = ast.parse(inspect.getsource(module))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.alias)}
        assert not {name for name in names if name in kinds}


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
def test_an_export_has_the_name_of_the_code(kind):
    player = pair((KNOWN | PROPOSER)[kind], partner(kind))
    text = c_header(player, 2, name="sf")
    assert f" = {CODES[kind]}," in text


@pytest.mark.parametrize("kind", PROPOSER, ids=lambda kind: kind.__name__)
def test_shapes_are_those_of_the_parts_after_some_rounds(kind):
    player = pair(PROPOSER[kind], partner(kind))
    limit, state = Limit(player, 2), player.init(np.full(2, 0.01))
    for t in range(12):
        state, _ = player.step(state, limit.told(t, state.x))
    rule = state.kernel.rule
    for part, memory, layout in (
        (rule.knowledge, state.memory, rule.layout.memory),
        (rule.proposer, state.learner, rule.layout.learner),
    ):
        parts = part.take_apart(memory, layout.names)
        assert {name: np.shape(value) for name, value in parts.items()} == dict(layout.parts)
