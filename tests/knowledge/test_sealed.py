"""Knowledge is sealed: what a kind forgets is refused, and what is played is checked once more."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pytest
from tests._names import NAMES

from surefoot import Ball, Controller
from surefoot.certified import Certified
from surefoot.core.feedback import Feedback
from surefoot.knowledge import (
    AnnouncedDrift,
    AverageLimit,
    CertificateError,
    CertifiedLength,
    Column,
    Columns,
    ContextCurvature,
    ContextHull,
    Curvature,
    CurvatureRows,
    Errors,
    EstimatedCurvature,
    EstimatedHull,
    HullOfLog,
    LipschitzHull,
    Reading,
    Region,
    RelativeCurvature,
    Response,
    Settling,
    Together,
)
from surefoot.knowledge.base import Knowledge
from surefoot.proposers import Descent, Leader
from surefoot.proposers.proposals import Proposals
from surefoot.sets import Box
from surefoot.testing import check_knowledge

A = np.array([[1.0, 0.2], [-0.3, 1.0], [-0.8, -0.9]])
B = np.array([0.5, 0.4, 0.6])
STEEP = float(np.linalg.norm(A, axis=1).max())


class Line(NamedTuple):
    rounds: float
    x: np.ndarray
    upper: float


class Known(NamedTuple):
    round: float
    bound: float
    cut: bool


class Half(Region):
    """The half-space 3 x[0] + 4 x[1] <= b, for a slope that is known."""

    def __init__(self, memory, nearest=None):
        self.round, self.x, self.upper = memory
        self.answer = nearest

    def bound(self, w):
        return self.upper + float(np.array([3.0, 4.0]) @ (w - self.x))

    def contains(self, w):
        return self.bound(w) <= 0

    def nearest(self, w):
        if self.answer is not None:
            return self.answer(w)
        over = max(self.bound(w), 0.0) + 1e-9
        return w - over / 25 * np.array([3.0, 4.0])

    def certificate(self, x, cut=False):
        return Known(self.round, self.bound(x), cut)


class Forgetful(Knowledge):
    """A kind that a stranger writes: it counts no error and checks nothing."""

    answer = None

    def first(self, x1):
        return Line(0.0, x1, np.inf)

    def learn(self, memory, reading):
        return Line(memory.rounds + 1, reading.x, float(reading.g))

    def certify(self, memory, errors):
        return Half(memory, self.answer)

    def contradictions(self, memory, reading):
        return ()

    def rise(self, s, length, *, ahead=False):
        return 5.0 * length


def below(x):
    """3 x[0] + 4 x[1] <= 1."""
    return float(3 * x[0] + 4 * x[1] - 1), np.array([3.0, 4.0])


def polytope(x):
    i = int((A @ x - B).argmax())
    return float(A[i] @ x - B[i]), A[i].copy()


def bowl(x):
    return float(0.5 * x @ x - 0.5), x.copy()


def step(kind, g=-1.0, start=(0.0, 0.0), **told):
    player = Certified(proposer=Proposals(), knowledge=kind)
    seen = Feedback(None, g, np.array([3.0, 4.0]), proposal=np.array([-5.0, -5.0]))
    return player.step(player.init(np.array(start)), seen._replace(**told))[0].x


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        ({"value": 0.05}, r"value_error must be 0 for Forgetful, got 0\.05"),
        ({"slope": 0.05}, r"slope_error must be 0 for Forgetful, got 0\.05"),
        ({"drift": 0.05}, r"drift must be 0 for Forgetful, got 0\.05"),
    ],
)
def test_no_error_is_allowed_that_a_kind_does_not_name(errors, sentence):
    with pytest.raises(ValueError, match=sentence):
        Forgetful(errors=Errors(**errors))


def test_nor_is_one_of_a_single_round():
    with pytest.raises(ValueError, match=r"value_error must be 0 for Forgetful, got 0\.1"):
        step(Forgetful(), value_error=0.1)
    with pytest.raises(ValueError, match="age must be 0 for Forgetful, got 2"):
        step(Forgetful(), age=2, action=np.zeros(2))


def test_a_start_that_is_not_strictly_feasible_is_refused_for_every_kind():
    with pytest.raises(ValueError, match=r"strictly feasible, .* got g\(x_1\) = 6"):
        step(Forgetful(), 6.0, (1.0, 1.0))
    with pytest.raises(ValueError, match="x1 must be in the domain"):
        step(Forgetful(domain=Box([-0.1, -0.1], [0.1, 0.1])), start=(1.0, 1.0))


def test_no_action_is_outside_of_the_domain_that_a_kind_forgets():
    x = step(Forgetful(domain=Box([-0.1, -0.1], [0.1, 0.1])))
    assert x.tolist() == [-0.1, -0.1]


def test_what_a_region_does_not_certify_is_not_played():
    class Broken(Forgetful):
        answer = staticmethod(lambda w: np.array([1.0, 1.0]))

    player = Certified(proposer=Proposals(), knowledge=Broken())
    controller = Controller(player, [0.0, 0.0])
    x = controller.ask()
    seen = {"constraint_value": -1.0, "constraint_subgradient": [3.0, 4.0]}
    with pytest.raises(CertificateError, match=r"Half returned an action that it does not certify"):
        controller.tell(proposal=[1.0, 1.0], **seen)
    assert not controller.explain().is_proven
    with pytest.warns(UserWarning, match="no longer proved"):
        assert controller.ask().tolist() == x.tolist()


@pytest.mark.parametrize("name", ["init", "observe", "region"])
def test_a_kind_cannot_write_what_the_base_checks(name):
    with pytest.raises(TypeError, match=f"Old must write .*, got {name}, which belongs to Know"):
        type("Old", (Forgetful,), {name: lambda self, *given: None})


def test_a_proposer_reads_only_what_a_kind_offers():
    with pytest.raises(ValueError, match=r"knowledge must offer region\.longest for Descent"):
        Certified(proposer=Descent(radius=1.0), knowledge=Forgetful())
    with pytest.raises(ValueError, match=r"knowledge must offer region\.depth for Leader"):
        Certified(proposer=Leader(domain=Ball(1.0)), knowledge=Forgetful())


def test_a_knowledge_around_another_hands_on_no_error_that_this_does_not_allow():
    class Outer(Forgetful):
        allows = frozenset({"drift"})
        passes = frozenset({"drift"})

        @property
        def parts(self):
            return (Forgetful(),)

    with pytest.raises(ValueError, match="Outer hands drift errors on, which Forgetful does not"):
        Outer()


def test_a_claim_that_nothing_is_behind_is_found():
    for claim in ("value", "drift"):
        liar = type("Liar", (Forgetful,), {"allows": frozenset({claim})})
        with pytest.raises(AssertionError, match=r"seed \d+, round \d+: g = .* > 0"):
            check_knowledge(liar(), below, [0.0, 0.0], far=0.0)


class Attacked(NamedTuple):
    """A kind with constants that are true of a g, and how it is told of."""

    known: Knowledge
    query: Callable
    options: Mapping = MappingProxyType({})


def rows(x):
    return A @ x - B, A


def half_and_bowl(x):
    value, slope = bowl(x)
    return np.array([A[0] @ x - B[0], value]), np.stack([A[0], slope])


def in_context(g):
    """g, and the mean of the context's entries times their root: 1 per unit of length."""

    def query(x, place):
        value, slope = g(x)
        return value + float(place.sum()) / len(place) ** 0.5, slope

    return query


def each_its_own(g):
    """g, the first entry of the context, and what the second is above 0."""

    def query(x, place):
        value, slope = g(x)
        first, second = (Fraction(part) for part in place.tolist())
        return Fraction(value) + first + max(second, Fraction(0)), slope

    return query


def rows_in_contexts(x, place):
    """One limit that rises with the first entry, and one that falls; the second raises both."""
    values, slopes = half_and_bowl(x)
    first, second = (Fraction(part) for part in place.tolist())
    both = [Fraction(value) for value in values.tolist()]
    return [both[0] + first + abs(second), both[1] - first + abs(second)], slopes


def around_zero(x, place):
    """Convex in actions and contexts together."""
    value, slope = polytope(x)
    return value + abs(float(place[0])) - 0.1, slope


def one_number(rng):
    return rng.uniform(-0.3, 0.3)


def two_numbers(rng):
    return rng.uniform(-0.2, 0.2, size=2)


def two_small(rng):
    return rng.uniform(-0.2, 0.1, size=2)


def sometimes(rng):
    return rng.choice([0.0, 0.0, 0.01])


BALL = Ball(3.0)
CONTEXTS = {
    "added": (Column(adds=1.0), None, one_number),
    "on both sides": ([Column(G_c=1.0), Column(G_c=1.0)], None, two_numbers),
    "each its own": ([Column(adds=1.0), Column(G_c=1.0, worse="up")], -0.09, two_small),
    "one-sided": (Column(G_c=1.0, worse="up"), -0.09, one_number),
    "told drift": (AnnouncedDrift(), None, sometimes),
}
KINDS = {
    "hull": Attacked(LipschitzHull(G_g=STEEP, domain=BALL), polytope),
    "settling": Attacked(
        Settling(
            knowledge=LipschitzHull(G_g=STEEP, domain=BALL),
            response=Response(time_constants=[2.0], round=1.0),
        ),
        polytope,
    ),
    "length": Attacked(CertifiedLength(G_g=STEEP, domain=BALL, rho=0.1), polytope),
    "curvature": Attacked(Curvature(beta=1.0, domain=BALL), bowl),
    "relative": Attacked(RelativeCurvature(L_0=1.0, L_1=0.1, domain=BALL), bowl),
    "unknown slope": Attacked(EstimatedHull(domain=Ball(1.0), largest_G_g=1.0, violations=0), bowl),
    "unknown curvature": Attacked(
        EstimatedCurvature(domain=BALL, largest_beta=1.0, violations=0), bowl
    ),
    "log": Attacked(
        HullOfLog(points=0.9 * np.vstack([np.eye(2), -np.eye(2)]), values=[-0.095] * 4, G_g=1.0),
        bowl,
    ),
    "affine rows": Attacked(CurvatureRows(beta=0.0, rows=3, domain=BALL), rows),
    "curved rows": Attacked(CurvatureRows(beta=(0.0, 1.0), domain=BALL), half_and_bowl),
    "together": Attacked(
        Together(
            rows=(LipschitzHull(G_g=STEEP, reach=3.0), Curvature(beta=1.0, reach=3.0)), domain=BALL
        ),
        half_and_bowl,
    ),
    "rows in contexts": Attacked(
        Together(
            rows=tuple(
                ContextHull(
                    G_g=STEEP,
                    reach=3.0,
                    start_bound=-0.02,
                    context=[Column(adds=sign), Column(G_c=1.0)],
                )
                for sign in (1.0, -1.0)
            ),
            domain=BALL,
        ),
        rows_in_contexts,
        {"contexts": two_small},
    ),
    "average": Attacked(
        AverageLimit(G_g=STEEP, domain=BALL, most=0.3), polytope, {"on_average": True}
    ),
    "convex in contexts": Attacked(
        ContextHull(G_g=STEEP, domain=BALL, context=Columns([Column(G_c=1.0)], joint=True)),
        around_zero,
        {"contexts": one_number},
    ),
    "curvature in contexts": Attacked(
        ContextCurvature(beta=1.0, domain=BALL, context=Column(adds=1.0)),
        in_context(bowl),
        {"contexts": one_number},
    ),
} | {
    f"hull in contexts, {name}": Attacked(
        ContextHull(G_g=STEEP, domain=BALL, context=context, start_bound=bound),
        each_its_own(polytope) if name == "each its own" else in_context(polytope),
        {"contexts": draw},
    )
    for name, (context, bound, draw) in CONTEXTS.items()
}
"""Every kind of the library."""

NOT_PLAYED = {
    "CappedHull": "what an unknown slope with a largest violation is made of",
    "HullOnDomain": "what an unknown slope is made of",
    "QuadraticBounds": "abstract",
    "UnknownConstant": "abstract",
}


LOADED = NAMES  # a class is found once its file is loaded


def library_kinds(kind=Knowledge):
    for below_it in kind.__subclasses__():
        yield below_it
        yield from library_kinds(below_it)


@pytest.mark.parametrize("name", KINDS)
def test_an_attack_finds_nothing(name):
    known, query, options = KINDS[name]
    assert check_knowledge(known, query, [0.0, 0.0], seeds=range(4), **options) > 200


def test_every_kind_of_the_library_is_attacked():
    own = {k.__name__ for k in library_kinds() if k.__module__.startswith("surefoot.knowledge")}
    played = {type(one.known).__name__ for one in KINDS.values()}
    assert own == played | set(NOT_PLAYED), "a kind must join KINDS"


def test_contexts_are_drawn_where_there_are_some():
    with pytest.raises(ValueError, match="contexts must be a function that draws them for Context"):
        check_knowledge(KINDS["convex in contexts"].known, around_zero, [0.0, 0.0])
    with pytest.raises(ValueError, match="contexts must be None without contexts for LipschitzHul"):
        check_knowledge(KINDS["hull"].known, polytope, [0.0, 0.0], contexts=one_number)


LIES = {
    "a slope that is too small": ("hull", {"G_g": 0.7}),
    "a length that is too long": ("length", {"G_g": 0.7}),
    "a curvature that is too small": ("curvature", {"beta": 0.7}),
    "relative curvatures that are too small": ("relative", {"L_0": 0.4, "L_1": 0.001}),
    "a log of other points": ("log", {"points": 1.2 * np.vstack([np.eye(2), -np.eye(2)])}),
    "one of two curvatures": ("curved rows", {"beta": (0.0, 0.5)}),
    "a sum whose slopes are larger": ("average", {"G_g": 0.7}),
    "contexts that add less": (
        "hull in contexts, on both sides",
        {"context": [Column(G_c=0.7), Column(G_c=0.7)]},
    ),
    "contexts that are no better": (
        "hull in contexts, one-sided",
        {"start_bound": -0.4},
    ),
    "a convexity that is none": (
        "convex in contexts",
        {"context": Columns([Column(G_c=0.5)], joint=True)},
    ),
    "a curvature in contexts": ("curvature in contexts", {"beta": 0.7}),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_constant_that_is_not_true_is_found(lie):
    name, changes = LIES[lie]
    known, query, options = KINDS[name]
    with pytest.raises(AssertionError, match=r"seed \d+, round \d+: (g|the sum of g) = .* > 0"):
        check_knowledge(replace(known, **changes), query, [0.0, 0.0], **options)


def test_one_of_several_rows_that_is_not_true_is_found():
    hulls = (LipschitzHull(G_g=STEEP, reach=3.0), Curvature(beta=0.5, reach=3.0))
    with pytest.raises(AssertionError, match=r"seed \d+, round \d+: g = .* > 0"):
        check_knowledge(Together(rows=hulls, domain=BALL), half_and_bowl, [0.0, 0.0])


def test_late_readings_that_nothing_allows_for_are_found():
    class NoAge(LipschitzHull):
        def learn(self, memory, reading):
            return super().learn(memory, reading._replace(age=0))

    known = NoAge(G_g=STEEP, domain=BALL)
    with pytest.raises(AssertionError, match=r"seed \d+, round \d+: g = .* 'late': 3"):
        check_knowledge(known, polytope, [0.0, 0.0])


def test_a_sum_knows_no_late_readings_since_rounds_played_meanwhile_spend_the_same():
    class Spendthrift(AverageLimit):
        allows = AverageLimit.allows | {"late"}

    known, query, options = KINDS["average"]
    with pytest.raises(AssertionError, match=r"seed \d+, round \d+: "):
        check_knowledge(Spendthrift(G_g=STEEP, domain=BALL, most=0.3), query, [0.0, 0.0], **options)
    player = Certified(proposer=Proposals(), knowledge=known)
    told = Feedback(None, -0.4, A[1], age=1, action=np.zeros(2), proposal=np.zeros(2))
    with pytest.raises(ValueError, match=r"age must be 0 for AverageLimit: .* the same budg"):
        player.step(player.init(np.zeros(2)), told)


class Hidden(NamedTuple):
    """A memory that does not come back as it was."""

    rounds: float
    x: np.ndarray
    upper: float

    def __reduce__(self):
        return Hidden, (self.rounds, self.x, 2 * self.upper)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"first": lambda self, x1: Hidden(0.0, x1, np.inf)}, "that was pickled has another ans"),
        ({"_check_errors": lambda self, errors, age=0: None}, "value is not in allows, and was a"),
        ({"takes_batches": property(lambda self: True)}, "batch is not in allows, and was accep"),
    ],
)
def test_what_else_a_kind_may_do_wrong_is_found(changes, sentence):
    liar = type("Liar", (Forgetful,), changes)
    if "first" in changes:
        liar.learn = lambda self, memory, reading: Hidden(
            memory.rounds + 1, reading.x, float(reading.g)
        )
    with pytest.raises(AssertionError, match=sentence):
        check_knowledge(liar(), below, [0.0, 0.0], far=0.0)


def test_where_a_visit_cannot_be_the_rest_of_the_rows_is_played():
    # In seed 29 the anchor of the one row, which is due, is nothing for the other.
    known, query, _ = KINDS["together"]
    assert check_knowledge(known, query, [0.0, 0.0], seeds=[29]) == 60


def test_rows_know_of_the_start_what_all_of_them_know():
    rows = [LipschitzHull(G_g=1.0, reach=1.0, start_bound=b) for b in (-0.25, -0.5)]
    assert Together(rows=rows).standing(np.zeros(2)).value == -0.25
    rows[1] = LipschitzHull(G_g=1.0, reach=1.0)
    assert Together(rows=rows).standing(np.zeros(2)) is None
    assert Together(rows=rows).bounds_start


def test_a_reading_has_both_ends_of_its_error():
    reading = Reading(np.zeros(1), -0.5, None, Errors(value=0.125))
    assert (Fraction(reading.lower), Fraction(reading.upper)) == (Fraction(-5, 8), Fraction(-3, 8))


def test_nothing_stands_unless_a_kind_says_so():
    kinds = [
        Forgetful(),
        Curvature(beta=1.0, reach=1.0),
        CurvatureRows(beta=[1.0, 2.0], reach=1.0),
        AverageLimit(G_g=1.0, reach=1.0, most=1.0),
        LipschitzHull(G_g=1.0, reach=1.0),
    ]
    assert all(kind.standing(np.zeros(2)) is None for kind in kinds)
