import json
import math
import re
import warnings

import numpy as np
import pytest
from tests.rules._observed import observed_regret_bound

from surefoot import OGD, PFS, Ball, Controller, Feedback, problems
from surefoot.controller.service import ControllerService
from surefoot.guarantees import PremiseError, PremiseWarning, safety_of
from surefoot.knowledge import EmptyRegionError, Errors, LipschitzHull
from surefoot.rules import CertifiedPFS, LeaderFollower, RegionFilter
from surefoot.sets import Box

from ._live import BALL, CONSTANTS, G_G, PLAYERS, START, drive, seen_at


def after(name, rounds, **options):
    controller = Controller(PLAYERS[name], START, **options)
    drive(controller, PLAYERS[name], rounds)
    return controller


def test_the_certificate_is_that_of_the_algorithm():
    player = PLAYERS["certified"]
    controller = after("certified", 4)
    before = controller.state
    seen = seen_at(player, 5, controller.ask())
    controller.tell(**seen)
    _, info = controller.algorithm.step(before, Feedback(**seen))
    wanted = info.certificate
    explained = controller.explain()
    assert explained.certificate == wanted
    assert (explained.round, wanted.round) == (6, 5)
    assert explained.slack == -seen["constraint_value"] == pytest.approx(wanted.slack)
    assert (explained.feasibility_step, explained.bound) == (wanted.cut, wanted.bound)


def test_the_bound_holds_in_the_round_that_follows():
    player = PLAYERS["certified"]
    controller = Controller(player, START)
    shortened = cut = 0
    for t in range(1, 200):
        x = controller.ask()
        seen = seen_at(player, t, x)
        explained = controller.explain()
        assert seen["constraint_value"] <= explained.bound <= 0
        assert explained.is_proven
        why = explained.certificate
        shortened += why is not None and why.taken >= 0.999 * why.length
        cut += bool(explained.feasibility_step)
        controller.tell(**seen)
    assert shortened > 0
    assert cut > 0


def test_an_explanation_has_a_line_for_each_fact():
    controller = after("certified", 3)
    head, why, margin, promise, observed, ahead, data = str(controller.explain()).split("\n")
    assert head == f"round 4: proved, g is at most {controller.explain().bound:.3g}"
    assert why == f"  why          {controller.explain().certificate}"
    assert margin == "  margin       allows for rounding alone"
    assert promise == (
        "  feasibility  Theorem D (certified steps) for any number of rounds (every round)"
    )
    words = r"  observed     regret so far at most \d+\.?\d*: Theorem D \(3\)"
    assert re.fullmatch(words, observed)
    theorem = PLAYERS["certified"].guarantee
    bound, worth = float(theorem.regret_bound(3)), theorem.describe_worth(3)
    words = f"regret at most {bound:.4g} in 3 rounds ({worth}): Theorem D (4)"
    assert ahead == f"  in advance   {words}"
    assert data == "  data         the data contradict nothing"


def test_a_hull_is_explained_by_what_was_measured_allowed_and_used():
    controller = Controller(LeaderFollower(G_g=1.0, domain=Ball(1.0)), [0.0])
    controller.ask()
    controller.tell(cost_gradient=[-1.0], constraint_value=-0.5, constraint_subgradient=[1.0])
    lines = str(controller.explain()).split("\n")
    assert lines[1:4] == [
        "  measured     g = -0.5 in round 1",
        "  allowed      0.5, because g rises by at most G_g = 1 per unit",
        "  used         0.492",
    ]


@pytest.mark.parametrize("reopen", [False, True])
def test_a_filter_has_the_promise_of_its_knowledge(tmp_path, reopen):
    path = tmp_path / "run.jsonl"
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    controller = Controller(player, [0.0], journal=path)
    controller.ask()
    controller.tell(proposal=[0.2], constraint_value=-0.5, constraint_subgradient=[1.0])
    if reopen:
        controller.close()
        controller = Controller.open(path)
    assert controller.guarantee is None  # no theorem
    explained = controller.explain()
    assert explained.guarantee == safety_of(player)
    assert explained.promises == controller.promises == explained.guarantee.promises
    assert "no subgradient of g is longer than G_g = 1" in controller.promises.feasibility.needs
    assert str(explained).split("\n")[-3:] == [
        "  feasibility  Theorem E (certified by LipschitzHull) for any number of rounds (every "
        "round)",
        "  in advance   nothing is promised of the regret",
        "  data         the data contradict nothing",
    ]
    controller.close()


def test_a_bound_in_advance_that_ended_is_not_told_any_more():
    controller = Controller(PLAYERS["PFS tuned"], START, on_contradiction="record")
    controller.ask()
    steep = 2 * controller.guarantee.constants.G_f
    seen = seen_at(PLAYERS["PFS tuned"], 1, START) | {"cost_gradient": np.array([steep, 0.0])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        controller.tell(**seen)
    explained = controller.explain()
    assert explained.regret_bound is None
    assert "  in advance   no longer applies: Theorem 1\n" in str(explained)


def test_before_the_first_round_there_is_the_guarantee_alone():
    bound = float(PLAYERS["PFS tuned"].guarantee.regret_bound(5_000))
    assert str(Controller(PLAYERS["PFS tuned"], START).explain()) == (
        "round 1: proved, g is at most 0\n"
        "  measured     nothing yet: this is the start\n"
        "  feasibility  Theorem 1 for T = 5000 (every round)\n"
        f"  in advance   regret at most {bound:.4g} in 5,000 rounds: Theorem 1\n"
        "  data         the data contradict nothing"
    )
    explained = Controller(PLAYERS["PFS"], START).explain()
    assert str(explained) == (
        "round 1: not proved\n"
        "  measured     nothing yet: this is the start\n"
        "  feasibility  nothing is promised: PFS certifies no action, and no theorem chose its "
        "parameters, as that of PFS.anytime does"
    )
    assert explained.bound is None
    assert not explained.is_proven


@pytest.mark.parametrize(
    ("g", "taken"), [(-0.3, "no feasibility step needed"), (-0.1, "feasibility step taken")]
)
def test_a_feasibility_step_of_pfs_is_told(g, taken):
    # y - x = -0.1 * (-1, -3), so that s'(y - x) = 0.3 * 0.5: g + 0.15 + 0.05 > 0 is a step.
    controller = Controller(PFS(eta=0.1, rho=0.05, domain=Ball(1.0)), [0.0, 0.25])
    controller.ask()
    controller.tell(
        cost_gradient=np.array([-1.0, -3.0]),
        constraint_value=g,
        constraint_subgradient=np.array([0.0, 0.5]),
    )
    explained = controller.explain()
    assert explained.feasibility_step is (g == -0.1)
    assert str(explained).split("\n")[1] == f"  measured     slack {-g:g}, {taken}"


def test_slack_is_that_of_the_largest_constraint():
    controller = after("DPP", 1)
    values = seen_at(PLAYERS["DPP"], 1, START)["constraint_value"]
    assert controller.explain().slack == -values.max()


def test_without_constraint_and_guarantee_little_is_said():
    controller = Controller(OGD(eta=0.1, domain=Box([-1.0, -1.0], [1.0, 0.5])), [0.5, 0.25])
    controller.ask()
    controller.tell(cost_gradient=[1.0, 2.0])
    explained = controller.explain()
    assert str(explained).split("\n")[1] == "  measured     the constraint was not reported"
    assert (explained.slack, explained.certificate, explained.regret_bound) == (None, None, None)


def test_the_regret_bound_is_the_guarantees_at_the_rounds_told():
    controller = after("PFS tuned", 7)
    guarantee = controller.guarantee
    assert controller.explain().regret_bound == guarantee.regret_bound(7)


def test_a_bound_that_is_infinite_is_none():
    controller = Controller(CertifiedPFS.default(CONSTANTS.with_origin("given", G_f=None)), START)
    assert controller.guarantee.regret_bound(3) == math.inf
    assert controller.explain().regret_bound is None


def observed(player, rounds):
    """The arguments of observed_regret_bound, from states and certificates alone."""
    algorithm = player.algorithm
    controller = Controller(player, START)
    sizes, etas, rhos, moves = [], [], [], []
    for t in range(1, rounds + 1):
        x = controller.ask()
        seen = seen_at(algorithm, t, x)
        controller.tell(**seen)
        certificate = controller.explain().certificate
        grad, new = seen["cost_gradient"], controller.ask()
        eta = 1 / controller.state.learner.inverse_eta
        y = x - eta * grad
        s = seen["constraint_subgradient"]
        excess = seen["constraint_value"] + s @ (y - x) + certificate.rho
        p = y - max(excess, 0.0) / (s @ s) * s
        sizes.append(np.linalg.norm(grad))
        etas.append(eta)
        rhos.append(certificate.rho)
        moves.append((y - p) @ (y - p) + (p - new) @ (p - new))
    return controller, (sizes, etas, rhos, moves)


@pytest.mark.parametrize("tuning", ["default", "known_horizon"])
def test_the_regret_bound_of_certified_steps_is_theorem_d_of_what_was_observed(tuning):
    player = getattr(CertifiedPFS, tuning)(CONSTANTS, 300)
    controller, seen = observed(player, 300)
    slack, reach = controller.state.memory.slack, BALL.reach(START)
    wanted = observed_regret_bound(*seen, R=1.5, slack=slack, reach=reach)
    assert controller.explain().regret_bound == pytest.approx(wanted, rel=1e-9)


def test_the_observed_regret_bound_is_not_exceeded():
    toy = problems.paper_toy(horizon=400, trials=1)
    player = CertifiedPFS.default(toy.constants)
    controller, costs = Controller(player, toy.start), toy.costs.run(0)
    total = 0.0
    for t in range(400):
        x = controller.ask()
        total += float(costs.value(t, x))
        g, s = toy.constraint.query(x)
        controller.tell(
            cost_gradient=costs.gradient(t, x), constraint_value=g, constraint_subgradient=s
        )
        if t % 80 == 79:
            targets = np.asarray(costs.targets)[: t + 1].reshape(-1, 2)
            centre = np.clip(targets.mean(axis=0), -0.5, 0.5)
            best = sum(float(costs.value(k, centre)) for k in range(t + 1))
            assert total - best <= controller.explain().regret_bound


def test_rounds_before_the_first_gradient_cost_nothing():
    player = PLAYERS["certified"]
    controller = Controller(player, START)
    for _ in range(3):
        right = seen_at(player, 1, controller.ask())
        controller.tell(**right | {"cost_gradient": np.zeros(2)})
        assert controller.explain().regret_bound == 0.0
    controller.tell(**seen_at(player, 4, controller.ask()))
    assert controller.explain().regret_bound > 0


def test_a_round_without_room_costs_no_more_than_its_gradient_across_the_ball():
    # The error of g that is declared is more than half of the slack: nothing can move.
    player = CertifiedPFS(G_g=G_G, domain=BALL, rho=1e-3, evaluation_error=0.11)
    controller = Controller(player, START)
    bound = 0.0
    for t in range(1, 30):
        push = np.array([-1.0, -2.0 - 0.25 * t])  # outwards
        controller.tell(**seen_at(player, t, controller.ask()) | {"cost_gradient": push})
        explained = controller.explain()
        assert explained.certificate.rule == "stayed"
        across = 2 * 1.5 * np.linalg.norm(push)
        assert explained.regret_bound == pytest.approx(bound + across)
        bound = explained.regret_bound


def test_no_regret_bound_is_claimed_without_the_ratchet():
    explained = after("certified, clipped", 5).explain()
    assert explained.certificate is not None
    assert explained.regret_bound is None


def test_what_the_data_contradict_is_in_the_line():
    controller = Controller(PLAYERS["PFS tuned"], START, on_contradiction="record")
    drive(controller, PLAYERS["PFS tuned"], 3)
    right = seen_at(PLAYERS["PFS tuned"], 4, controller.ask())
    controller.tell(**right | {"cost_gradient": np.array([0.0, 4.0])})
    explained = controller.explain()
    assert (explained.bound, explained.regret_bound) == (None, None)
    assert str(explained).endswith(
        "round 4: |grad f| = 4 exceeds G_f = 3: the regret bound and the feasibility guarantee no "
        "longer apply"
    )


def test_explaining_changes_nothing():
    quiet, explained = (Controller(PLAYERS["certified"], START) for _ in range(2))
    for t in range(1, 10):
        for one in (quiet, explained):
            one.tell(**seen_at(PLAYERS["certified"], t, one.ask()))
        explained.explain()
    assert quiet.explain() == explained.explain()


# --- after a contradiction was raised ------------------------------------------------------------

# g(x) = 4 x - 0.6 and G_g = 1: the second action is outside by 1.78.
STEEP = LeaderFollower(G_g=1.0, domain=Ball(2.0))


def steep(x):
    return {
        "cost_gradient": [-1.0],
        "constraint_value": 4 * float(x[0]) - 0.6,
        "constraint_subgradient": [1.0],  # which says nothing of it
    }


def refused(**options):
    """A controller whose second action was seen outside, which it refused."""
    controller = Controller(STEEP, [0.0], **options)
    controller.tell(**steep(controller.ask()))
    assert controller.explain().is_proven
    x = controller.ask()
    assert steep(x)["constraint_value"] > 1.4
    with pytest.raises(PremiseError, match="is above its certified bound -0"):
        controller.tell(**steep(x))
    return controller, x


def test_nothing_is_proved_after_a_contradiction_was_raised():
    controller, x = refused()
    found = controller.explain()
    assert (found.is_proven, found.bound, found.round) == (False, None, 2)
    assert (found.certificate, found.regret_bound, found.errors) == (None, None, None)
    assert "round 2: g = 1.77536 is above its certified bound" in str(found)
    assert "at most -" not in str(found)
    with pytest.warns(PremiseWarning, match=r"above its certified .* rejected, .* no longer"):
        again = controller.ask()
    assert again.tolist() == x.tolist()


def test_a_round_told_in_place_of_a_refused_one_ends_the_doubt():
    controller, x = refused()
    fixed = steep(x) | {"constraint_value": -0.1}
    controller.tell(**fixed)
    assert controller.explain().is_proven
    assert controller.explain().broken == ()
    usual = Controller(STEEP, [0.0])
    usual.tell(**steep(usual.ask()))
    usual.ask()
    usual.tell(**fixed)
    assert controller.explain() == usual.explain()
    assert controller.ask().tolist() == usual.ask().tolist()


@pytest.mark.filterwarnings("ignore::surefoot.guarantees.PremiseWarning")
def test_orders_after_a_refused_round_do_not_rest_on_what_it_contradicted():
    controller, x = refused()
    controller.resume()  # with the same player, from the same action
    assert not controller.explain().is_proven
    controller.hold("look at it")
    assert not controller.explain().is_proven
    assert controller.ask().tolist() == x.tolist()
    controller.tell(missing=True)
    assert not controller.explain().is_proven
    controller, x = refused()
    controller.retreat("home", speed=0.1)
    assert not controller.explain().is_proven
    controller.retreat("home")
    assert controller.ask().tolist() == [0.0]
    assert controller.explain().is_proven  # measured, and g is convex and the same
    controller, x = refused()
    controller.resume(LeaderFollower(G_g=4.0, domain=Ball(2.0)), reason="wider")
    controller.tell(**steep(controller.ask()))
    assert controller.explain().is_proven


def test_serve_says_so_too():
    controller, x = refused()
    service = ControllerService(controller)
    assert json.loads(service.answer(b'{"do": "status"}'))["is_proven"] is False
    answer = json.loads(service.answer(b'{"do": "ask"}'))
    assert answer["action"] == x.tolist()
    assert "no longer proved" in answer["warnings"][0]


def test_a_journal_remembers_that_a_round_was_refused(tmp_path):
    controller, _ = refused(journal=tmp_path / "run.jsonl")
    controller.close()
    with Controller.open(tmp_path / "run.jsonl") as again:
        assert not again.explain().is_proven


def test_where_drift_leaves_nothing_certified_the_action_is_not_called_proved():
    known = LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(drift=0.02))
    loop = Controller(RegionFilter(knowledge=known), [0.0, 0.0])

    def seen(wall):
        g = float(loop.ask()[0]) - wall
        return {
            "proposal": [2.0, 0.0],
            "constraint_value": g,
            "constraint_subgradient": [1.0, 0.0],
        }

    def close_in():
        for t in range(60):
            loop.tell(**seen(0.5 - 0.02 * t))

    with pytest.raises(EmptyRegionError):  # the wall comes in until it is at the start
        close_in()
    explained = loop.explain()
    assert not explained.is_proven
    assert explained.bound is None
    assert "no next action is certified" in str(explained)
    with pytest.warns(PremiseWarning, match="which is no longer proved"):
        loop.ask()
    # Nothing has changed: the same round may be told again, and then the next action is proved.
    round_ = loop.round
    with pytest.warns(PremiseWarning):
        told = seen(1.0)
    loop.tell(**told)
    assert loop.round == round_ + 1
    assert loop.explain().is_proven
