"""Any algorithm as a proposer: it learns where it was played, and the region decides."""

import math

import numpy as np
import pytest

import surefoot
from surefoot import Ball, Controller, Feedback
from surefoot.certified import Certified
from surefoot.core.errors import InvalidValueError
from surefoot.core.lazy import public_names
from surefoot.core.plain import build, decode, digest, encode
from surefoot.knowledge import CertifiedLength, Curvature, CurvatureRows, Errors, LipschitzHull
from surefoot.problems import adversarial_cube
from surefoot.problems.constraints import Affine
from surefoot.proposers import Descent, Leader
from surefoot.proposers.learner import Learner
from surefoot.rules import OGD, PFS, AdaGradOGD, SafetyFilter
from tests._names import NAMES

UP = np.array([0.0, 1.0])
WIDE = Ball(50.0)
LEARNERS = {
    "OGD": OGD(eta=0.5, domain=WIDE),
    "AdaGradOGD": AdaGradOGD(eta=1.0, domain=WIDE),
    "PFS": PFS(eta=0.5, rho=0.01, domain=WIDE),
}
ERRORS = {
    "exact": Errors(),
    "value": Errors(value=0.01),
    "all": Errors(value=0.005, slope=0.05, drift=1e-4),
}
HULL = LipschitzHull(G_g=1.0, reach=3.0)


def faces(rng, d):
    """The largest of a few affine rows of unit slope, and its slope."""
    A = np.vstack([rng.normal(size=(d, d)), np.eye(d), -np.eye(d)])
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    b = rng.uniform(0.1, 0.5, 3 * d)

    def query(x):
        i = int((A @ x - b).argmax())
        return float(A[i] @ x - b[i]), A[i]

    return query


def ellipsoid(rng, d):
    """A quadratic whose curvature is at most 1, and its gradient."""
    w = rng.uniform(0.2, 1.0, d)
    return lambda x: (float(0.5 * (w * x * x).sum()) - 0.1, w * x)


LIMITS = {
    "hull": (faces, lambda errors: LipschitzHull(G_g=1.0, reach=3.0, errors=errors)),
    "curvature": (ellipsoid, lambda errors: Curvature(beta=1.0, reach=3.0, errors=errors)),
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ERRORS)
@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("name", LEARNERS)
def test_no_action_of_any_algorithm_is_outside_under_attack(name, kind, mode):
    make, know = LIMITS[kind]
    errors, wishes_outside = ERRORS[mode], 0
    for d in (1, 2, 7):
        rng = np.random.default_rng(d)
        query = make(rng, d)
        pair = Certified(proposer=LEARNERS[name], knowledge=know(errors))
        state, shift = pair.init(np.zeros(d)), 0.0
        for t in range(120):
            g, s = query(state.x)
            assert g + shift <= 0
            wrong = rng.normal(size=d)
            read = s + errors.slope * wrong / np.linalg.norm(wrong)
            pull = -s if rng.random() < 0.6 else rng.normal(size=d)
            told = Feedback(pull * 10.0 ** rng.uniform(-2, 2), g + shift - errors.value, read)
            state, info = pair.step(state, told)
            assert info.certificate.bound <= 0
            assert info.contradictions == ()
            wishes_outside += query(info.proposal)[0] + shift > 0
            shift += errors.drift if (t // 40) % 2 == 0 else -errors.drift
    assert wishes_outside > 20  # or it would show nothing


def test_by_hand_it_learns_at_the_action_that_was_played():
    # The wish (0, 1) is cut at (0, 0.5); the next gradient was seen there, or where it was told.
    pair = Certified(proposer=OGD(eta=1.0, domain=WIDE), knowledge=HULL)
    state, info = pair.step(pair.init(np.zeros(2)), Feedback(-UP, -0.5, UP))
    assert info.proposal.tolist() == [0.0, 1.0]
    assert state.x == pytest.approx([0.0, 0.5], abs=1e-9)
    right = np.array([-0.25, 0.0])
    _, info = pair.step(state, Feedback(right, float(state.x[1]) - 0.5, UP))
    assert info.proposal.tolist() == (state.x - right).tolist()
    played = np.array([0.1, 0.2])
    _, info = pair.step(state, Feedback(right, -0.3, UP, action=played))
    assert info.proposal.tolist() == (played - right).tolist()


def test_what_it_has_learnt_besides_is_kept():
    pair = Certified(proposer=AdaGradOGD(eta=1.0, domain=WIDE), knowledge=HULL)
    state = pair.init(np.zeros(2))
    for t in range(3):
        state = pair.update(state, Feedback(2.0 * UP, float(state.x[1]) - 0.5, UP))
        assert state.learner.squares == 4.0 * (t + 1)


@pytest.mark.parametrize("seen", [Feedback(None, -0.5, UP), Feedback()])
def test_a_round_without_a_gradient_leaves_it_as_it_is(seen):
    pair = Certified(proposer=AdaGradOGD(eta=1.0, domain=WIDE), knowledge=HULL)
    state = pair.update(pair.init(np.zeros(2)), Feedback(UP, -0.5, UP))
    after, info = pair.step(state, seen)
    assert after.learner is state.learner
    assert info.proposal.tolist() == state.x.tolist()


def test_one_that_learns_from_g_waits_for_a_measurement():
    pair = Certified(proposer=PFS(eta=0.1, rho=0.1, domain=WIDE), knowledge=HULL)
    state = pair.update(pair.init(np.zeros(2)), Feedback(-UP, -0.5, UP))
    assert pair.step(state, Feedback(-UP))[0].learner is state.learner
    blind = Certified(proposer=OGD(eta=0.1, domain=WIDE), knowledge=HULL)
    moved = blind.update(state._replace(learner=blind.init(state.x).learner), Feedback(-UP))
    assert moved.x[1] > state.x[1]


# --- wrong answers -------------------------------------------------------------------------------


class Says:
    """An algorithm whose answer is anything."""

    def __init__(self, says):
        self.says = says

    def init(self, x1):
        return OGD(eta=0.1, domain=WIDE).init(x1)

    def step(self, state, feedback):
        return self.says(state), None


def fail(state):
    raise KeyError("x")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_point_that_is_not_finite_is_named_and_the_action_is_the_wish(bad):
    proposer = Says(lambda state: state._replace(x=np.full(2, bad)))
    pair = Certified(proposer=proposer, knowledge=HULL)
    state = pair.init(np.array([0.1, 0.2]))
    after, info = pair.step(state, Feedback(UP, -0.3, UP))
    assert after.x.tolist() == state.x.tolist()
    assert info.contradictions == (
        f"round 1: the proposer Says must return a finite point, got {np.float64(bad)!r}: "
        "its last one is followed",
    )


@pytest.mark.parametrize(
    ("says", "got"),
    [
        (lambda state: state._replace(x=np.zeros(3)), "got array([0., 0., 0.])"),
        (lambda state: state._replace(x=[0.1, 0.2]), "got [0.1, 0.2]"),
        (lambda state: None, "got None"),
        (fail, "got KeyError: 'x'"),
    ],
)
def test_a_wrong_answer_is_refused_in_one_sentence(says, got):
    pair = Certified(proposer=Says(says), knowledge=HULL)
    with pytest.raises(InvalidValueError, match="the proposer Says must return a ") as error:
        pair.step(pair.init(np.zeros(2)), Feedback(UP, -0.3, UP))
    assert got in str(error.value)
    assert "\n" not in str(error.value)


def test_a_gradient_that_is_not_finite_is_the_callers_mistake():
    pair = Certified(proposer=LEARNERS["OGD"], knowledge=HULL)
    with pytest.raises(InvalidValueError, match="cost_gradient must be finite, got nan"):
        pair.step(pair.init(np.zeros(2)), Feedback(np.array([math.nan, 0.0]), -0.3, UP))


@pytest.mark.parametrize("size", [1e30, 1e140])
def test_a_huge_gradient_moves_nothing_outside(size):
    for learner in LEARNERS.values():
        pair = Certified(proposer=learner, knowledge=HULL)
        state, _ = pair.step(pair.init(np.zeros(2)), Feedback(-size * UP, -0.3, UP))
        assert state.x[1] <= 0.3


@pytest.mark.parametrize("what", [OGD, 3, SafetyFilter(G_g=1.0, domain=WIDE, rho=0.1)])
def test_what_cannot_propose_is_refused(what):
    with pytest.raises(InvalidValueError, match="proposer must ") as error:
        Certified(proposer=what, knowledge=HULL)
    assert "\n" not in str(error.value)


# --- as others are -------------------------------------------------------------------------------


@pytest.mark.parametrize("knowledge", [HULL, CertifiedLength(G_g=1.0, domain=Ball(3.0), rho=0.1)])
def test_it_is_descent_where_the_formula_is_the_same(knowledge):
    # Short steps of a fixed length: neither is limited by what is certified.
    rng, limit = np.random.default_rng(3), Affine([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.9])
    one = Certified(proposer=OGD(eta=0.125, domain=WIDE), knowledge=knowledge)
    two = Certified(proposer=Descent(radius=3.0, eta=0.125, ratchet=False), knowledge=knowledge)
    a, b = one.init(np.zeros(2)), two.init(np.zeros(2))
    for _ in range(40):
        pull = 0.1 * rng.normal(size=2)
        a, b = (p.update(q, Feedback(pull, *limit.query(q.x))) for p, q in ((one, a), (two, b)))
        assert a.x.tolist() == b.x.tolist()
    assert np.linalg.norm(a.x) > 0.01


def test_it_is_descent_by_the_adagrad_norm_in_a_half_space():
    rng, limit = np.random.default_rng(5), Affine([[0.6, 0.8]], [0.3])
    knowledge = Curvature(beta=0.0, reach=5.0)
    one = Certified(proposer=AdaGradOGD(eta=math.sqrt(2.0), domain=WIDE), knowledge=knowledge)
    two = Certified(proposer=Descent(radius=1.0), knowledge=knowledge)
    a, b = one.init(np.zeros(2)), two.init(np.zeros(2))
    for _ in range(60):
        pull = rng.normal(size=2) - 0.5
        a, b = (p.update(q, Feedback(pull, *limit.query(q.x))) for p, q in ((one, a), (two, b)))
        np.testing.assert_allclose(a.x, b.x, rtol=0, atol=1e-12)


def test_a_batch_is_played_run_by_run():
    for proposer in (LEARNERS["OGD"], Leader(domain=WIDE)):
        length = CertifiedLength(G_g=1.0, domain=Ball(3.0), rho=0.1)
        assert Certified(proposer=proposer, knowledge=length).needs.one_run
    length = CertifiedLength(G_g=1.0, domain=Ball(1.0), rho=0.1)
    player = Certified(proposer=LEARNERS["OGD"], knowledge=length)
    problem = adversarial_cube("random", horizon=20, dimension=2, trials=3)
    assert (surefoot.play(player, problem).constraint <= 0).all()


def test_rows_are_seen_apart():
    limit, rng = Affine(np.eye(2), [0.3, 0.2]), np.random.default_rng(0)
    rows = CurvatureRows(beta=0.0, rows=2, reach=1.0)
    pair = Certified(proposer=LEARNERS["OGD"], knowledge=rows)
    state = pair.init(np.zeros(2))
    for _ in range(30):
        state = pair.update(state, Feedback(rng.normal(size=2) - 1.0, *limit.query_all(state.x)))
        assert (limit.query_all(state.x)[0] <= 0).all()
    assert state.x == pytest.approx([0.3, 0.2], abs=0.2)


# --- as plain data -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_it_can_be_typed_stored_and_specified(name):
    player = Certified(proposer=LEARNERS[name], knowledge=HULL)
    assert player.proposer == Learner(algorithm=LEARNERS[name])
    words = public_names(surefoot) | NAMES
    assert eval(repr(player), words) == player
    again = decode(encode(player))
    assert again == player
    assert digest(again) == digest(player)
    table = encode(player) | {"proposer": encode(LEARNERS[name])}
    assert build(table) == player


def test_a_journal_goes_on_where_it_was(tmp_path):
    player = Certified(proposer=LEARNERS["AdaGradOGD"], knowledge=HULL)
    at, rng, played = tmp_path / "run.journal", np.random.default_rng(1), []
    for rounds in (4, 3):
        with Controller.open_or_create(at, player, np.zeros(2)) as loop:
            for _ in range(rounds):
                x = loop.ask()
                played.append(x)
                loop.tell(
                    cost_gradient=rng.normal(size=2),
                    constraint_value=float(x[1]) - 0.5,
                    constraint_subgradient=UP,
                )
    state, rng = player.init(np.zeros(2)), np.random.default_rng(1)
    for x in played:
        assert x.tolist() == state.x.tolist()
        state = player.update(state, Feedback(rng.normal(size=2), float(x[1]) - 0.5, UP))
