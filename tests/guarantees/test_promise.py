"""What is promised in three parts, by hand; and of certified rules that no theorem tunes."""

import math

import numpy as np
import pytest

from surefoot import PFS, Ball, Constants, LeaderFollower, Tuned, play, problems
from surefoot.certified import Certified
from surefoot.cli.list_ import _theorems
from surefoot.games.verdict import judge
from surefoot.guarantees import NoClaim, Promise, Promises, TheoremN, promises_of, safety_of
from surefoot.knowledge import (
    AverageLimit,
    Column,
    ContextHull,
    Curvature,
    Errors,
    EstimatedHull,
    HullOfLog,
    LipschitzHull,
    Together,
)
from surefoot.proposers.proposals import Proposals
from surefoot.rules import (
    ALGORITHMS,
    OGD,
    Averaged,
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    InTurns,
    RegionFilter,
    SafetyFilter,
    ScalarDPP,
    TheoremC,
    TheoremD,
    ValuesOnly,
    try_tuning,
)

KNOWN = Constants(R=2.0, G_f=3.0, G_g=1.5, start_slack=0.5, start_reach=2.0, beta=0.7)
FULL = Constants(
    R=2.0,
    G_f=3.0,
    G_g=1.5,
    sigma=1.0,
    epsilon=0.4,
    start_slack=0.5,
    start_reach=2.0,
    F=6.0,
    D_g=1.0,
)
WITHOUT = KNOWN.with_origin("given", G_f=None)
HULL = LipschitzHull(G_g=2.0, reach=1.0)


# --- theorems, by hand ----------------------------------------------------------------------------


def test_theorem_1_of_pfs_promises_feasibility_and_regret_in_advance():
    theorem = PFS.tuned(FULL, 10_000).guarantee
    feasibility, observed, in_advance = theorem.promises
    assert feasibility.theorem == in_advance.theorem == "Theorem 1"
    assert observed is None
    assert feasibility.needs[:2] == ("g is convex", "no cost gradient is longer than G_f = 3")
    assert "no subgradient of g is longer than G_g = 1.5" in feasibility.needs
    assert in_advance.needs[0] == "every cost is convex"
    assert set(feasibility.needs) < set(in_advance.needs)
    assert "no more rounds are played than the horizon = 10000" not in feasibility.needs
    assert "no more rounds are played than the horizon = 10000" in in_advance.needs
    assert feasibility.not_covered == (
        "readings of g that err",
        "a g that changes from round to round",
    )
    assert feasibility.bound(7) == {"round": 0.0}
    assert in_advance.bound(7) == theorem.regret_bound(7)


def test_theorem_d_names_the_part_of_each_statement():
    theorem = TheoremD(KNOWN, 0.1)
    assert theorem.promises.theorems() == {
        "feasibility": "Theorem D (1)",
        "observed": "Theorem D (3)",
        "in advance": "Theorem D (4)",
    }
    # Feasibility does not rest on G_f; the bound in advance does.
    words = "no cost gradient is longer than G_f = 3"
    assert words not in theorem.feasibility.needs
    assert words in theorem.in_advance.needs
    assert theorem.observed.bound is None
    assert theorem.regret_exponent == 0.5


def test_without_G_f_theorem_d_promises_nothing_in_advance():
    theorem = TheoremD(WITHOUT, 0.1)
    assert (theorem.in_advance, theorem.regret_exponent) == (None, None)
    assert theorem.observed.theorem == "Theorem D (3)"
    assert theorem.regret_bound(10) == math.inf
    assert theorem.describe_worth(10) == "none in advance"


def test_theorem_c_rests_on_the_curvature_and_for_one_row_bounds_regret_in_advance():
    assert "no curvature of g exceeds beta = 0.7" in TheoremC(KNOWN).feasibility.needs
    assert TheoremC(KNOWN).in_advance.theorem == "Theorem C (3)"
    rows = TheoremC(KNOWN.with_origin("given", rows=2))
    assert (rows.in_advance, rows.regret_exponent) == (None, None)
    assert rows.regret_bound([1, 5]).tolist() == [12.0, 60.0]  # 2 R G_f t


@pytest.mark.parametrize(
    "theorem", [ValuesOnly(KNOWN), TheoremN(KNOWN), InTurns(KNOWN, TheoremN(KNOWN), 2)]
)
def test_where_nothing_is_promised_in_advance_the_bound_is_that_of_every_rule(theorem):
    assert (theorem.in_advance, theorem.regret_exponent) == (None, None)
    assert theorem.regret_bound(7) == 2 * 2.0 * 3.0 * 7


def test_errors_that_are_given_are_needed_and_larger_ones_are_not_covered():
    noisy = KNOWN.with_origin("given", value_error=0.05, drift=0.001)
    feasibility = TheoremN(noisy).feasibility
    assert "values err by at most 0.05" in feasibility.needs
    assert "g drifts per round by at most 0.001" in feasibility.needs
    assert feasibility.not_covered == ("errors and drift above those given",)


def test_no_claim_has_no_part_at_all():
    promise = NoClaim(KNOWN, 100)
    assert promise.promises == Promises(None, None, None)
    assert (promise.feasibility, promise.observed, promise.in_advance) == (None, None, None)
    assert promise.regret_bound(3) == math.inf


def test_a_sum_says_that_single_rounds_may_be_infeasible():
    theorem = ScalarDPP.tuned(FULL, 10_000).guarantee
    assert "single rounds, which may be infeasible" in theorem.feasibility.not_covered
    assert set(theorem.feasibility.bound(100)) == set(theorem.bounds(100))
    assert theorem.in_advance.bound(100) == theorem.regret_bound(100)


def test_strongly_convex_costs_are_a_need_of_the_bound_in_advance_alone():
    known = FULL.with_origin("given", strong_convexity=0.25)
    entry = try_tuning(*_rule("ScheduledPFS"), "strongly_convex", known, 100, Ball(2.0))
    theorem = entry.tuned.guarantee
    assert theorem.in_advance.needs[0] == "every cost is strongly convex with modulus 0.25"
    assert not any("cost is" in words for words in theorem.feasibility.needs)


def _rule(name):
    return [kind for kind in ALGORITHMS if kind.__name__ == name]


def test_a_rule_that_moves_with_the_comparators_covers_them():
    assert "comparators that move" in PFS.tuned(FULL, 10_000).guarantee.in_advance.not_covered
    moving = OGD.fixed(KNOWN, 100, Ball(2.0)).guarantee.in_advance
    assert "comparators that move" not in moving.not_covered


def test_a_promise_does_not_compare_its_bound():
    assert Promise("a", ("b",), (), np.sqrt) == Promise("a", ("b",))
    assert str(Promise("a")) == "a"


# --- every theorem of the catalogue ---------------------------------------------------------------


def test_every_part_of_every_theorem_agrees_with_the_rest_of_it():
    entries = [entry for entry in _theorems() if entry.tuned is not None]
    assert len(entries) > 60
    for entry in entries:
        theorem, found = entry.tuned.guarantee, entry.promises
        T = theorem.horizon or 10**6
        assert (found.feasibility is None) == (theorem.kind == "none"), entry.name
        if found.in_advance is None:
            assert theorem.describe_worth(T) == "none in advance"
        else:
            assert float(theorem.regret_bound(T)) < math.inf
            assert theorem.regret_exponent is not None, entry.name
        if entry.algorithm not in ("LeaderFollower",):
            assert found.in_advance is not None or theorem.regret_exponent is None, entry.name
            assert theorem.observed == found.observed, entry.name  # as the rule itself adds up
        for part in filter(None, found):
            assert part.theorem
            assert all(
                words and not words.endswith(".") for words in (*part.needs, *part.not_covered)
            )


# --- rules that no theorem tunes ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("knowledge", "kind", "words"),
    [
        (HULL, "every round", ["g is convex", "no subgradient of g is longer than G_g = 2",
                               "the start is strictly feasible", "values err by at most 0",
                               "g drifts by at most 0 per round"]),
        (LipschitzHull(G_g=2.0, reach=1.0, start_bound=-0.25, errors=Errors(drift=0.1)),
         "every round", ["g at the start is at most -0.25 in every round",
                         "g drifts by at most 0.1 per round"]),
        (Curvature(beta=0.5, reach=1.0, convex=False), "every round",
         ["no curvature of g exceeds beta = 0.5", "slopes err by at most 0"]),
        (ContextHull(G_g=2.0, reach=1.0, context=Column(G_c=0.3, worse="up")),
         "every round",
         ["g changes by at most G_c = 0.3 per unit of the context, and more of it is never "
          "better"]),
        (Together(rows=(HULL, Curvature(beta=0.0, reach=1.0))), "every round",
         ["g is convex", "no subgradient of g is longer than G_g = 2 (constraint 0)",
          "no curvature of g exceeds beta = 0 (constraint 1)"]),
        (HullOfLog(points=[[0.0], [1.0]], values=[-1.0, -0.5]), "every round",
         ["the points and values of the log are those of g"]),
        (AverageLimit(G_g=2.0, reach=1.0, most=0.5), "cumulative", ["g is convex"]),
        (EstimatedHull(domain=Ball(1.0), largest_G_g=9.0), "few violations",
         ["no subgradient of g is longer than largest_G_g = 9"]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)  # fmt: skip
def test_knowledge_promises_by_its_own_premises(knowledge, kind, words):
    found = safety_of(RegionFilter(knowledge=knowledge))
    assert found.name == f"certified by {type(knowledge).__name__}"
    assert str(found) == f"{found.name} for any number of rounds ({kind})"
    assert set(words) <= set(found.feasibility.needs)
    assert ("g is convex" in found.feasibility.needs) == knowledge.convex
    assert (found.observed, found.in_advance) == (None, None)
    assert bool(found.feasibility.not_covered) == (kind != "every round")


def test_a_hull_needs_no_exact_slopes():
    needs = safety_of(RegionFilter(knowledge=HULL)).feasibility.needs
    assert not any(words.startswith("slopes") for words in needs)


def test_a_rule_that_certifies_nothing_has_no_safety():
    assert safety_of(PFS(eta=0.1, rho=0.1, domain=Ball(1.0))) is None
    assert promises_of(PFS(eta=0.1, rho=0.1, domain=Ball(1.0))) == Promises()


def test_a_probability_is_told_of_a_wrapper():
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    found = safety_of(Averaged(base=base, sigma=0.1, failure=0.05))
    assert found.name == "certified by LipschitzHull in Averaged, with probability 0.95"
    assert found.feasibility.not_covered == ("the runs that the probability leaves",)


@pytest.mark.parametrize(
    ("player", "theorem"),
    [
        (LeaderFollower(G_g=1.0, domain=Ball(1.0), ramp=0.1), "Theorem F"),
        (CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.1), "Theorem D (3)"),
        (CertifiedOGD(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0), "Theorem C (1)"),
        (CertifiedDualAveraging(knowledge=Curvature(beta=1.0, reach=1.0), radius=1.0),
         "Theorem K, observed"),
        (Certified(proposer=Proposals(), knowledge=HULL), None),
    ],
)  # fmt: skip
def test_the_observed_part_is_that_of_the_rule(player, theorem):
    found = safety_of(player).observed
    assert (found and found.theorem) == theorem


def test_a_theorem_keeps_its_observed_part_only_where_the_rule_adds_it_up():
    theorem = TheoremD(KNOWN, 0.1)
    tuned = promises_of(CertifiedPFS(G_g=1.5, domain=Ball(2.0), rho=0.1), theorem)
    assert tuned == theorem.promises
    clipped = CertifiedPFS(G_g=1.5, domain=Ball(2.0), rho=0.1, ratchet=False)
    assert promises_of(clipped, theorem).observed is None


# --- verdicts -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy():
    return problems.binding_toy(200, trials=2)


def test_a_trivial_bound_is_called_so_and_not_held(toy):
    trace = play(CertifiedPFS.default(toy.constants, domain=toy.domain), toy)
    bound, worth = float(trace.guarantee.regret_bound(200)), trace.guarantee.describe_worth(200)
    assert worth.startswith("trivial up to about T = ")
    words = f"the regret bound {bound:.6g} is {worth}; "
    assert trace.verdict().endswith(f"{words}Theorem D (3) bounds the regret by what was played")
    told = judge(trace, np.array([1.5, 1.0])).sentence
    assert f"regret 1.5; the regret bound {bound:.6g} is {worth}" in told
    # A bound that is exceeded is not called trivial alone.
    assert judge(trace, np.array([1.5, 2 * bound])).word == "failed"


def test_where_nothing_was_promised_of_the_regret_the_verdict_says_so(toy):
    known = toy.constants.with_origin("given", G_f=None)
    trace = play(CertifiedPFS.default(known, domain=toy.domain), toy)
    words = "nothing was promised of the regret in advance"
    assert judge(trace).word == "held"
    assert f"largest g = {float(trace.violations.largest.max()):.3g}; {words}" in trace.verdict()
    assert f"regret 7; {words}" in judge(trace, np.array([7.0, 3.0])).sentence


def test_certified_actions_without_a_theorem_are_judged_by_their_certificates(toy):
    player = LeaderFollower(G_g=toy.constants.G_g, domain=toy.domain)
    trace = play(player, toy)
    assert (trace.guarantee, trace.promises.in_advance) == (None, None)
    assert judge(trace).word == "held"
    assert trace.verdict().startswith(
        "certified by LipschitzHull for any number of rounds (every round) held: 0 violations in "
    )
    wrong = play(LeaderFollower(G_g=0.05 * toy.constants.G_g, domain=toy.domain), toy)
    assert int(np.sum(wrong.violations.count)) > 0
    assert judge(wrong).word == "premise broken"


def test_a_regret_bound_without_a_promise_on_the_constraint_is_compared(toy):
    class Free(NoClaim):
        """A bound on the regret alone."""

        def regret_bound(self, t):
            return 1.5 * np.sqrt(t)

    player = Tuned(OGD(eta=0.02, domain=toy.domain), Free(toy.constants))
    trace = play(player, toy)
    assert judge(trace, np.array([1.0, 2.0])).word == "not claimed"
    assert "claims nothing of the constraint" in judge(trace, np.array([1.0, 2.0])).sentence
    assert judge(trace, np.array([1.0, 50.0])).word == "failed"


@pytest.mark.parametrize("make", [SafetyFilter.default, RegionFilter.default])
def test_filters_have_a_promise(make):
    assert safety_of(make(KNOWN)).kind == "every round"
