import math

import numpy as np
import pytest

from surefoot import Ball, play, problems
from surefoot.knowledge import CertifiedLength
from surefoot.problems import Problem
from surefoot.problems.calibration import Calibration, calibrate
from surefoot.problems.constraints import (
    Affine,
    AffineStream,
    EllipsoidNorm,
    FunctionConstraint,
    L2Norm,
    LinfNorm,
    PlayedOnly,
    QuadraticForm,
    max_of,
    shift,
)
from surefoot.problems.costs import Linear
from surefoot.rules import ALGORITHMS
from surefoot.sets import Box

START = np.array([0.25, -0.1])
DOMAIN = Ball(2.0)


class Live:
    """A system that answers at an action and remembers whether one was not feasible."""

    def __init__(self, constraint=None):
        self.constraint = (
            Affine([[1.0, 0.5], [-2.0, 1.0]], [1.0, 3.0]) if constraint is None else constraint
        )
        self.asked = []

    def __call__(self, x):
        g, s = self.constraint.query(x)
        self.asked.append((x, g))
        return g, s


def by_name(found):
    return {offer.name: offer for offer in found.offers}


# --- constants and their origins -----------------------------------------------------------------


def test_a_problem_brings_its_constants():
    toy = problems.paper_toy(1_000, trials=2)
    found = calibrate(toy)
    assert found.constants == toy.constants
    assert found.horizon == 1_000
    assert calibrate(toy, horizon=50).horizon == 50


def test_a_constraint_brings_what_its_structure_says():
    found = calibrate(LinfNorm(0.5, 2), START, Ball(1.0), horizon=100)
    c = found.constants
    assert (c.G_g, c.sigma, c.start_slack, c.rows) == (1.0, 1 / math.sqrt(2), 0.25, 4.0)
    assert c.origins["sigma"] == "derived"
    assert c.G_f is None


def test_a_function_brings_the_slack_of_its_start():
    found = calibrate(Live(), START, DOMAIN, horizon=100, G_g=2.5)
    c = found.constants
    assert (c.R, c.G_g) == (2.0, 2.5)
    slack = 0.8  # 1 - 0.25 + 0.05
    assert c.start_slack == pytest.approx(slack, rel=1e-15)
    reach = 2 + math.hypot(0.25, 0.1)
    assert c.start_reach == pytest.approx(reach, rel=1e-14)
    assert (c.epsilon, c.sigma) == pytest.approx((slack / 2, slack / 2 / reach), rel=1e-14)
    assert c.D_g == pytest.approx(slack + 2.5 * reach, rel=1e-14)
    assert c.origins == {
        "R": "given",
        "G_g": "given",
        "sigma": "local",
        "epsilon": "local",
        "start_slack": "derived",
        "start_reach": "derived",
        "D_g": "derived",
        "rows": "derived",
    }


def test_what_is_given_goes_before_what_is_derived():
    toy = problems.paper_toy(1_000, trials=1)
    found = calibrate(toy, G_f=12.73)
    assert (found.constants.G_f, found.constants.origins["G_f"]) == (12.73, "given")
    assert found.constants.F == 2 * 12.73
    assert found.constants.G_g == toy.constants.G_g


def test_another_start_of_a_problem_is_measured_anew():
    toy = problems.paper_toy(1_000, trials=1)
    found = calibrate(toy, start=[0.25, 0.125])
    assert found.constants.start_slack == 0.25
    assert found.probes[0].point.tolist() == [0.25, 0.125]


# --- probes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_every_probe_is_feasible_and_reaches_as_far_as_is_certain(seed):
    live = Live()
    found = calibrate(live, START, DOMAIN, horizon=100, G_g=math.sqrt(5), probes=40, seed=seed)
    assert len(live.asked) == 41
    assert all(g <= 0 for _, g in live.asked)
    radius = 0.8 / math.sqrt(5)
    assert found.radius == pytest.approx(radius, rel=1e-12)
    assert found.radius < radius
    distances = [np.linalg.norm(x - START) for x, _ in live.asked]
    assert distances == pytest.approx([0.0] + [radius] * 40, rel=1e-12)
    assert [probe.value for probe in found.probes] == [g for _, g in live.asked]


def test_along_the_steepest_way_a_probe_touches_the_boundary_and_no_more():
    constraint = Affine([[3.0]], [1.0])
    live = Live(constraint)
    calibrate(live, [0.1], Ball(1.0), horizon=10, G_g=3.0, probes=2)
    worst = max(g for _, g in live.asked)
    assert -1e-12 < worst <= 0


def test_without_G_g_nothing_but_the_start_is_asked():
    live = Live()
    found = calibrate(live, START, DOMAIN, horizon=100)
    assert len(live.asked) == 1
    assert found.radius == 0.0
    assert "G_g is unknown, so no probe is safe" in found.notes[0]


@pytest.mark.parametrize("start", [[1.0, 0.0], [1.5, 0.0], [1.0 - 1e-16, 0.0]])
def test_from_a_start_that_is_not_strictly_feasible_nothing_else_is_asked(start):
    live = Live()
    found = calibrate(live, start, DOMAIN, horizon=100, G_g=3.0)
    assert len(live.asked) == 1
    assert found.radius == 0.0
    assert all(offer.kind != "every round" for offer in found.proved)
    assert "not strictly feasible" in found.notes[0] or "below the rounding" in found.notes[0]


def test_a_deeper_start_is_pointed_out():
    found = calibrate(Live(), START, DOMAIN, horizon=100, G_g=3.0)
    deepest = min(found.probes, key=lambda probe: probe.value)
    note = found.notes[0]
    assert note.startswith(f"a start at {deepest.point} would have slack {-deepest.value:.3g}")
    assert calibrate(LinfNorm(0.5, 2), [0.0, 0.0], DOMAIN, horizon=9).notes == ()


@pytest.mark.parametrize(
    ("query", "given", "sentence"),
    [
        (Live(), {"G_g": 1.0}, r"\|s\| = 1.11803 at \[ 0.25 -0.1 \] exceeds G_g = 1"),
        (
            Live(),
            {"start_slack": 0.9, "G_g": 3.0},
            "g = -0.8 at the start leaves no start_slack = 0.9",
        ),
        (
            lambda x: (1 - float(x @ x), -2 * x),
            {"G_g": 4.0},
            "g is not convex, it has changed, s is no subgradient of it",
        ),
        (lambda x: (float(x[0]) - 1, np.array([-1.0, 0.0])), {"G_g": 2.0}, "no subgradient of it"),
    ],
)
def test_answers_that_contradict_what_is_given_are_an_error(query, given, sentence):
    start = [1.5, -0.1] if given == {"G_g": 4.0} else START
    with pytest.raises(ValueError, match="the answers contradict what is given: .*" + sentence):
        calibrate(query, start, DOMAIN, horizon=100, **given)


def test_curved_constraints_are_not_called_contradicted():
    for constraint in (L2Norm(0.7), problems.ellipsoid(2, 1e4, horizon=2).constraint):
        calibrate(constraint, [0.003, -0.001], Ball(1.5), horizon=10, probes=20)


# --- what can be had -----------------------------------------------------------------------------


def test_there_is_one_offer_for_each_theorem_of_the_catalogue():
    found = calibrate(problems.paper_toy(1_000, trials=1))
    names = [f"{kind.__name__}.{tuning}" for kind in ALGORITHMS for tuning in kind.tunings]
    assert [offer.name for offer in found.offers] == names
    assert len(found.proved) + len(found.only_if) + len(found.missing) == len(names)


def test_with_every_constant_known_nothing_rests_on_an_estimate():
    found = calibrate(problems.paper_toy(1_000, trials=1))
    assert found.only_if == ()
    for offer in found.proved:
        assert offer.assumes == ()
        guarantee = offer.tuned.guarantee
        promised = guarantee.promises.in_advance is not None
        assert offer.regret == (float(guarantee.regret_bound(1_000)) if promised else math.inf)
        assert not promised or guarantee.regret_exponent is not None
    for offer in found.missing:
        assert offer.tuned is None
        assert (offer.kind, offer.regret) == ("none", math.inf)
        assert offer.missing


def test_the_best_is_certified_by_what_is_known_and_then_of_least_regret():
    found = calibrate(problems.paper_toy(1_000, trials=1))
    every = [offer for offer in found.proved if offer.kind == "every round"]
    assert found.best is found.proved[0]
    assert [offer.name for offer in every[:3]] == [
        "CertifiedDualAveraging.default",
        "CertifiedOGD.default",
        "LeaderFollower.default",
    ]
    regrets = [offer.regret for offer in every[3:]]
    assert regrets == sorted(regrets)
    kinds = [offer.kind for offer in found.proved]
    assert kinds.index("cumulative") > kinds.index("bounded") > kinds.index("every round")


def test_what_is_offered_can_be_played_and_holds():
    problem = problems.rotated_box(3, horizon=300)
    offer = by_name(calibrate(problem))["CertifiedPFS.known_horizon"]
    trace = play(offer.tuned, problem)
    assert trace.final_regret() <= offer.regret
    assert trace.violations.largest <= 0


def test_from_G_g_and_the_start_alone_certified_steps_are_proved():
    found = calibrate(Live(), START, DOMAIN, horizon=100, G_g=2.5)
    offer = by_name(found)["CertifiedPFS.default"]
    assert (offer.standing, offer.kind) == ("proved", "every round")
    assert (offer.regret, offer.regret_if, offer.assumes) == (math.inf, math.inf, ())
    assert isinstance(offer.tuned.algorithm.knowledge, CertifiedLength)
    assert found.only_if == ()
    corollary = by_name(found)["PFS.anytime"]
    assert corollary.standing == "none"
    assert corollary.missing == "Corollary 1 needs G_f, which is unknown: give it"


def test_the_numbers_of_weaker_promises_are_those_of_the_theorem():
    offers = by_name(calibrate(problems.paper_toy(20_000, trials=1)))
    nearly = offers["PFS.nearly"]
    bound = float(nearly.tuned.guarantee.bounds(20_000)["round"])
    assert nearly.constraint == f"g <= {bound:.3g} in round 20000"
    soft = float(offers["ScalarDPP.tuned"].tuned.guarantee.bounds(20_000)["positive_sum"])
    assert offers["ScalarDPP.tuned"].constraint == f"sum g <= {soft:.3g}"
    rows = float(offers["DPP.tuned"].tuned.guarantee.bounds(20_000)["rows"])
    assert offers["DPP.tuned"].constraint == f"sum g_i <= {rows:.3g} for each i"
    squared = float(offers["Yuan.trade_off"].tuned.guarantee.bounds(20_000)["sum_squared"])
    assert offers["Yuan.trade_off"].constraint == f"sum [g]+^2 <= {squared:.3g}"
    assert offers["PFS.tuned"].constraint == "g <= 0 in every round"


def test_a_start_outside_gets_its_first_feasible_round():
    found = calibrate(LinfNorm(0.5, 2), [0.6, 0.1], Ball(1.0), horizon=10_000, G_f=3.0)
    offers = by_name(found)
    first = offers["PFS.eventually"].tuned.guarantee.first_feasible
    assert offers["PFS.eventually"].constraint == f"g <= 0 from round {first}"
    assert offers["PFS.eventually"].kind == "after t0"
    assert offers["CertifiedPFS.default"].standing == "none"
    assert "strictly feasible start" in offers["CertifiedPFS.default"].missing
    assert "the start is not strictly feasible, g = 0.1" in found.notes[0]
    late = by_name(calibrate(LinfNorm(0.5, 2), [0.6, 0.1], Ball(1.0), horizon=5, G_f=3.0))
    assert late["PFS.eventually"].constraint.endswith(", after the last")


def test_linear_methods_are_for_constraints_known_to_be_linear():
    cube, ball = LinfNorm(0.5, 2), L2Norm(0.5)
    for constraint, linear in (
        (cube, True),
        (shift(cube, 0.1), True),
        (max_of(cube, Affine([[1.0, 0.0]], [1.0])), True),
        (ball, False),
        (max_of(cube, ball), False),
        (Live(cube), False),
    ):
        given = {"G_g": 1.0} if isinstance(constraint, Live) else {}
        offers = by_name(calibrate(constraint, [0.1, 0.2], DOMAIN, horizon=99, G_f=2.0, **given))
        assert (offers["MahdaviLinear.balanced"].standing == "proved") == linear
        assert offers["Mahdavi.balanced"].standing == "proved"
    assert "needs linear constraints" in offers["MahdaviLinear.balanced"].missing


def test_a_constraint_that_changes_has_only_the_guarantees_that_allow_it():
    rng = np.random.default_rng(0)
    A = np.broadcast_to(np.vstack([np.eye(2), -np.eye(2)]), (40, 4, 2)).copy()
    stream = AffineStream(A, rng.uniform(0.5, 1.0, (40, 4)))
    problem = Problem.of(Linear(rng.normal(size=(40, 2))), stream, Ball(1.5), [0.0, 0.0])
    offers = by_name(calibrate(problem))
    for offer in offers.values():
        if offer.standing != "none":
            assert offer.tuned.guarantee.changing
    assert "does not change" in offers["CertifiedPFS.default"].missing
    assert offers["ScalarDPP.tuned"].standing == "proved"
    separately = by_name(calibrate(stream, [0.0, 0.0], Ball(1.5), horizon=40, G_f=4.0))
    # Without costs no bound on their values is known, which bandits need.
    bandits = {"BanditFrankWolfe.known_horizon", "BlockBandit.known_horizon"}
    proved = {n for n, o in offers.items() if o.standing == "proved"}
    assert {n for n, o in separately.items() if o.standing == "proved"} == proved - bandits


def test_a_constraint_that_answers_where_it_was_played_can_be_calibrated():
    guarded = PlayedOnly(LinfNorm(0.5, 2))
    found = calibrate(guarded, [0.1, 0.0], Ball(1.0), horizon=10)
    assert found.constants.G_g == 1.0
    assert len(found.probes) == 9


# --- estimates -----------------------------------------------------------------------------------


def test_an_estimate_is_called_so_and_proves_nothing():
    found = calibrate(
        Live(), START, DOMAIN, horizon=100, G_g=2.5, cost_gradient=lambda x: 3 * x + 1, factor=1.5
    )
    longest = max(np.linalg.norm(3 * probe.point + 1) for probe in found.probes)
    assert found.constants.G_f == pytest.approx(1.5 * longest, rel=1e-14)
    assert math.isclose(found.constants.F, 2 * 2.0 * found.constants.G_f)
    assert {n for n, o in found.constants.origins.items() if o == "estimated"} == {"G_f", "F"}
    corollary = by_name(found)["PFS.anytime"]
    assert (corollary.standing, corollary.assumes) == ("estimated", ("G_f",))
    assert corollary.regret == math.inf
    assert corollary.regret_if == float(corollary.tuned.guarantee.regret_bound(100)) < math.inf
    certified = by_name(found)["CertifiedPFS.default"]
    assert (certified.standing, certified.regret, certified.assumes) == (
        "proved",
        math.inf,
        ("G_f",),
    )
    assert certified.regret_if < math.inf
    # What is proved was made without the estimates.
    assert certified.tuned.guarantee.constants.G_f is None
    assert all(offer.tuned.guarantee.constants.G_f is None for offer in found.proved)


def test_an_estimated_G_g_leaves_no_guarantee_at_all():
    found = calibrate(Live(), START, DOMAIN, horizon=100, cost_gradient=lambda x: 3 * x + 1)
    steep = math.hypot(1.0, 0.5)
    assert found.constants.G_g == pytest.approx(2 * steep, rel=1e-14)
    assert found.constants.origins["G_g"] == "estimated"
    assert found.constants.origins["D_g"] == "estimated"
    assert found.proved == ()
    assert found.best is None
    assert by_name(found)["CertifiedPFS.default"].assumes == ("G_g",)
    assert by_name(found)["PFS.anytime"].assumes == ("G_f", "G_g")
    assert "no guarantee applies" in str(found)


def toy_with(origin, trials, **constants):
    """The paper's toy with some constants replaced, and nothing else that is known of it."""
    toy = problems.paper_toy(1_000, trials=trials)
    return Problem(
        costs=toy.costs,
        constraint=toy.constraint,
        domain=toy.domain,
        start=toy.start,
        constants=toy.constants.with_origin(origin, **constants),
    )


def test_the_gradients_of_a_stream_without_a_bound_are_looked_at():
    found = calibrate(toy_with("given", 2, G_f=None, F=None))
    assert found.constants.origins["G_f"] == "estimated"
    # 6 |x - v| with x within 0.5 of 0 and v in [-1, 0]^2, twice.
    assert 2 * 3 < found.constants.G_f <= 2 * 6 * (0.5 + math.sqrt(2))
    assert by_name(found)["PFS.anytime"].standing == "estimated"


def test_an_estimate_that_a_problem_brings_stays_one():
    found = calibrate(toy_with("estimated", 1, G_g=1.0))
    assert found.radius == 0.0
    assert all("G_g" in offer.assumes for offer in found.only_if)
    assert by_name(found)["CertifiedPFS.default"].standing == "estimated"
    # Those that project need no G_g.
    assert by_name(found)["OGD.fixed"].standing == "proved"


# --- the table, and bad input --------------------------------------------------------------------


def test_the_table_says_what_can_be_had_what_cannot_and_why():
    text = str(
        calibrate(Live(), START, DOMAIN, horizon=100, G_g=2.5, cost_gradient=lambda x: 3 * x + 1)
    )
    lines = text.splitlines()
    assert lines[0] == "for T = 100; g queried at 9 points within 0.32 of the start, all feasible"
    assert any(line.split() == ["G_g", "2.5", "given"] for line in lines)
    assert any(line.split()[::2] == ["G_f", "estimated"] for line in lines)
    can, only, cannot = (
        lines.index(head)
        for head in (
            "guarantees that apply",
            "only if the estimates hold (G_f, F): no guarantee",
            "guarantees that do not apply",
        )
    )
    assert can < only < cannot
    place = {line.split()[0]: i for i, line in enumerate(lines) if "." in line[:30]}
    assert can < place["CertifiedPFS.default"] < only < place["PFS.anytime"] < cannot
    assert place["StrongSinhaVaze.strongly_convex"] > cannot
    assert "if G_f holds" in lines[place["CertifiedPFS.default"]]
    assert all(line == line.rstrip() for line in lines)


def test_it_is_a_record_that_cannot_be_changed():
    found = calibrate(problems.paper_toy(10, trials=1))
    assert isinstance(found, Calibration)
    with pytest.raises(AttributeError):
        found.horizon = 5


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((Live(),), {"horizon": 9}, "start and domain must be given without a Problem"),
        ((Live(), START), {"horizon": 9}, "got array"),
        ((Live(), START, DOMAIN), {}, "horizon must be given without a cost stream"),
        ((Live(), START, DOMAIN), {"horizon": 0}, "horizon must be a whole number of rounds >= 1"),
        ((Live(), START, DOMAIN), {"horizon": 9, "probes": 0}, "probes must be a whole number"),
        (
            (Live(), START, DOMAIN),
            {"horizon": 9, "factor": 1.0},
            "factor must be a finite number > 1",
        ),
        ((Live(), START, DOMAIN), {"horizon": 9, "G": 1.0}, "other than R, got G"),
        ((Live(), START, DOMAIN), {"horizon": 9, "R": 1.0}, "other than R, got R"),
        ((Live(), START, DOMAIN), {"horizon": 9, "G_g": -1.0}, "G_g must be a finite number > 0"),
        ((Live(), [], DOMAIN), {"horizon": 9}, "start.shape must be"),
        ((7, START, DOMAIN), {"horizon": 9}, "problem must be a function, got 7"),
        ((lambda x: 3.0, START, DOMAIN), {"horizon": 9}, "must answer with g and one subgradient"),
        (
            (lambda x: (math.nan, x), START, DOMAIN),
            {"horizon": 9},
            "g must be finite, got nan",
        ),
        (
            (lambda x: (-1.0, x[:1]), START, DOMAIN),
            {"horizon": 9},
            "subgradient.shape must be (2,)",
        ),
        (
            (Live(), START, DOMAIN),
            {"horizon": 9, "cost_gradient": 3},
            "cost_gradient must be a func",
        ),
    ],
)
def test_bad_input_is_named(arguments, options, sentence):
    with pytest.raises(ValueError) as raised:
        calibrate(*arguments, **options)
    assert sentence in str(raised.value)


def test_a_calibration_is_shown_in_a_few_lines_and_printed_as_a_table():
    found = calibrate(problems.paper_toy(200, trials=1))
    shown = repr(found)
    assert len(shown) < 300
    assert "\n" not in shown
    assert shown.startswith(f"<Calibration for T = 200: {len(found.proved)} guarantees proved, ")
    assert "print it for the table" in shown
    assert "guarantees that apply" in str(found)


def test_without_a_bound_on_the_curvature_the_first_is_leader_and_follower():
    found = calibrate(Live(), START, DOMAIN, horizon=100, G_g=2.5)
    assert found.best.name == "LeaderFollower.default"
    found = calibrate(Live(), START, DOMAIN, horizon=100, G_g=2.5, beta=0.0)
    assert found.best.name == "CertifiedDualAveraging.default"


# --- sensors that err ----------------------------------------------------------------------------


class Sensor(Live):
    """A system whose answers err by at most so much, always as badly as they may."""

    def __init__(self, value_error=0.0, slope_error=0.0):
        super().__init__()
        self.value_error, self.slope_error = value_error, slope_error

    def __call__(self, x):
        g, s = super().__call__(x)
        sign = 1 if len(self.asked) % 2 else -1
        return g - sign * self.value_error, s * (1 + sign * self.slope_error / np.linalg.norm(s))


def test_an_error_of_the_sensor_is_no_contradiction_and_shrinks_the_slack():
    sensor = Sensor(0.05, 0.2)
    found = calibrate(
        sensor, START, DOMAIN, horizon=100, G_g=2.5, value_error=0.05, slope_error=0.2, probes=40
    )
    assert all(g <= 0 for _, g in sensor.asked)  # the true ones
    observed = 0.8 + 0.05
    assert found.constants.start_slack == pytest.approx(observed - 0.05, rel=1e-12)
    assert found.radius <= 0.8 / 2.5
    with pytest.raises(ValueError, match="contradict"):
        calibrate(Sensor(0.05, 0.2), START, DOMAIN, horizon=100, G_g=2.5, probes=40)


def test_an_error_larger_than_the_slack_leaves_no_slack_and_no_probe():
    sensor = Sensor(0.0)
    found = calibrate(sensor, START, DOMAIN, horizon=100, G_g=2.5, value_error=0.9)
    assert len(sensor.asked) == 1
    assert found.radius == 0
    assert found.constants.start_slack < 0 or found.constants.start_slack == 0


def test_theorems_for_exact_values_are_not_offered_where_values_err():
    found = calibrate(Sensor(0.01), START, DOMAIN, horizon=100, G_g=2.5, G_f=3.0, value_error=0.01)
    assert "PFS.anytime" not in {offer.name for offer in found.proved}
    reasons = {offer.name: offer.missing for offer in found.missing}
    assert "does not allow for value_error = 0.01" in reasons["PFS.anytime"]


def test_means_of_readings_with_noise_are_allowed_for_by_their_error():
    rng, exact, repeats = np.random.default_rng(3), Live(), 25

    def mean(x):
        g, s = exact(x)
        return g + 0.1 * float(rng.normal(size=repeats).mean()), s

    width = 0.1 * math.sqrt(2 * math.log(2 * 9 / 0.01) / repeats)
    found = calibrate(mean, START, DOMAIN, horizon=100, G_g=2.5, value_error=width)
    assert 0.8 - 2 * width <= found.constants.start_slack <= 0.8
    assert all(g <= 0 for _, g in exact.asked)


def test_no_probe_leaves_the_known_box():
    box = Box([0.2, -0.15], [0.3, 5.0])
    live = Live()
    found = calibrate(live, START, DOMAIN, horizon=100, G_g=2.5, within=box, probes=30)
    assert len(live.asked) == 31
    assert all(box.contains(x) for x, _ in live.asked)
    assert all(np.linalg.norm(x - START) <= found.radius * (1 + 1e-12) for x, _ in live.asked)
    assert max(x[1] for x, _ in live.asked) > 0.05
    with pytest.raises(ValueError, match="within must be a set that holds the start"):
        calibrate(live, START, DOMAIN, horizon=100, within=Box([1.0, 1.0], [2.0, 2.0]))


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        (Affine([[1.0, 0.5]], [1.0]), "Affine"),
        (QuadraticForm([[2.0, 0.3], [0.3, 1.0]], [0.1, 0.0], 1.0), "QuadraticForm"),
        (EllipsoidNorm([[2.0, 0.3], [0.3, 1.0]]), "EllipsoidNorm"),
        (FunctionConstraint(lambda x: np.exp(x[0]) - 2.0, lambda x: np.exp(x) * [1, 0]), None),
    ],
)
def test_a_function_of_a_known_shape_gets_a_hint(shape, name):
    found = calibrate(Live(shape), START, DOMAIN, horizon=100, G_g=9.0)
    hints = [note for note in found.notes if "where it was probed, g is a" in note]
    assert [f"constraints.{name}" in hint for hint in hints] == ([] if name is None else [True])
