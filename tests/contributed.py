"""Attacks on what CONTRIBUTING adds: tests/test_contributing.py runs them in a copy that has it.

Where an attack holds, a part that is made wrong on purpose is attacked in the same way, and fails:
an attack without teeth finds nothing.
"""

import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from surefoot import Ball, Constants, Controller, problems
from surefoot.certified import Certified
from surefoot.cli.app import app
from surefoot.controller.check import check, players
from surefoot.core.feedback import Feedback
from surefoot.core.plain import decode, encode
from surefoot.guarantees import safety_of
from surefoot.knowledge import Curvature, EmptyRegionError, Errors, LipschitzBall, LipschitzHull
from surefoot.problems.constraints import Between
from surefoot.proposers import Adam
from surefoot.rules import (
    ALGORITHMS,
    CertifiedSteps,
    Delayed,
    FollowLeader,
    Held,
    LeaderBound,
    LeaderFollower,
    StepsInHulls,
    catalogue,
)
from surefoot.sets import Box
from surefoot.testing import check_constraint, check_knowledge
from tests.composition import parts
from tests.composition.cases import Case, is_supported
from tests.composition.live import play as play_case
from tests.controller._lines import forge

# --- what follows from a file and a line ----------------------------------------------------------


def test_the_catalogue_has_the_rules():
    toy = problems.binding_toy(1_000, trials=1)
    box = Box([-0.5, -0.5], [0.5, 0.5])
    tuned = {entry.algorithm: entry for entry in catalogue(toy.constants, 1_000, toy.domain, box)}
    assert {FollowLeader, CertifiedSteps} <= set(ALGORITHMS)
    leader, steps = tuned["FollowLeader"], tuned["CertifiedSteps"]
    assert (leader.name, leader.in_advance) == ("FollowLeader.strongly_convex", "regret log T")
    assert isinstance(leader.tuned.guarantee, LeaderBound)
    assert (steps.feasibility, steps.in_advance) == ("every round", "none")
    assert isinstance(steps.tuned.guarantee, StepsInHulls)


@pytest.mark.parametrize("name", ["FollowLeader", "CertifiedSteps", "Held"])
def test_the_command_line_describes_them(name):
    done = CliRunner().invoke(app, ["list", name])
    assert (done.exit_code, done.output.split(":")[0]) == (0, name)


def test_the_composition_test_finds_every_part_and_has_a_value_for_its_parameters():
    found = (parts.find_knowledge, parts.find_proposers, parts.find_wrappers)
    names = {kind.__name__ for find in found for kind in find()}
    assert {"LipschitzBall", "Adam", "Held"} <= names
    assert parts.check_tables() == []


HULL = LipschitzHull(G_g=1.25, domain=Ball(2.0), errors=Errors(value=0.01, drift=0.001))
BALL = LipschitzBall(G_g=1.25, domain=Ball(2.0), errors=Errors(value=0.01, drift=0.001))
PLAYERS = {
    "a certified rule": CertifiedSteps(knowledge=HULL, eta=0.1, ramp=0.5),
    "a proposer": Certified(proposer=Adam(eta=0.1), knowledge=HULL),
    "a knowledge": Certified(proposer=Adam(eta=0.1), knowledge=BALL),
    "a wrapper": Held(base=CertifiedSteps(knowledge=HULL, eta=0.1), length=3),
    "a rule": FollowLeader(eta=0.5, domain=Box([-0.5, -0.5], [0.3, 0.2])),
}


@pytest.mark.parametrize("name", PLAYERS)
def test_it_is_plain_data_and_back(name):
    plain = json.loads(json.dumps(encode(PLAYERS[name])))
    assert repr(decode(plain)) == repr(PLAYERS[name])


def run_live(player, path, rounds=30):
    """Play with a journal, which is opened anew, some rounds without a measurement."""
    slope = np.array([0.6, 0.8])
    controller = Controller(player, [0.0, 0.0], journal=path)
    for t in range(rounds):
        if t == rounds // 2:
            x = controller.ask()
            controller.close()
            controller = Controller.open(path)
            assert np.array_equal(controller.ask(), x)
        x = controller.ask()
        if t % 7 == 6:
            controller.tell(missing=True)
            continue
        g = float(slope @ x) - 0.5
        controller.tell(
            cost_gradient=[-1.0, 0.1 * (t % 5) - 0.3],
            constraint_value=g,
            constraint_subgradient=slope,
        )
    controller.close()
    return check(str(path))


@pytest.mark.parametrize("name", ["a certified rule", "a proposer", "a knowledge"])
def test_every_round_of_its_journal_is_certified(name, tmp_path):
    report = run_live(PLAYERS[name], tmp_path / "run.jsonl")
    assert report.said == ["certified: 29 of 30 rounds; the first is the start"]


def test_a_journal_of_a_wrapper_is_not_checked(tmp_path):
    report = run_live(PLAYERS["a wrapper"], tmp_path / "run.jsonl")
    assert (report.code, report.said[0][:19]) == (3, "certified: 0 of 30 ")
    assert [line[:18] for line in report.said[1:]] == ["not checked: round"] * 30


def test_a_journal_of_a_kind_that_the_checker_lacks_is_not_checked(tmp_path, monkeypatch):
    monkeypatch.delitem(players._KINDS, "LipschitzBall")
    report = run_live(PLAYERS["a knowledge"], tmp_path / "run.jsonl")
    assert (report.code, report.said[0][:19]) == (3, "certified: 0 of 30 ")
    assert [line[:18] for line in report.said[1:]] == ["not checked: round"] * 30
    assert report.said[1].endswith("the HullCertificate of this player is not judged")


def test_the_checker_s_kind_finds_what_is_forged(tmp_path):
    def further(records):
        line = next(r for r in records if r["kind"] == "round" and r["round"] == 4)
        line["next"] = [0.5, 0.5]

    def deeper(records):
        line = next(r for r in records if r["kind"] == "round" and r["round"] == 4)
        line["certificate"]["anchor_value"] -= 0.01

    def unread(records):
        line = next(r for r in records if r["kind"] == "round" and r["round"] == 4)
        line["certificate"]["anchor_round"] = 40

    def lower(records):
        line = next(r for r in records if r["kind"] == "round" and r["round"] == 4)
        line["certificate"]["bound"] -= 0.01

    for edit, said in {
        further: "round 5: its action is not certified",
        deeper: "round 5: the value of its certificate is not what was read",
        unread: "round 5: its ball is around round 40, which was not read",
        lower: "round 5: the bound of its certificate is not that of its ball",
    }.items():
        path = tmp_path / f"{edit.__name__}.jsonl"
        run_live(PLAYERS["a knowledge"], path)
        forge(path, edit)
        report = check(str(path))
        assert not report.is_right
        assert said in report.said[0]


# --- a rule: the bound of its theorem -------------------------------------------------------------


def unit(v):
    """Return a vector of length 1."""
    size = np.linalg.norm(v)
    return v / size if size > 0 else np.eye(len(v))[0]


def streams(rng):
    """Return targets of quadratic costs, in the ball of radius 1, by the round and the action."""
    return {
        "constant": lambda t, x: np.array([0.6, 0.8]),
        "alternating": lambda t, x: np.array([1.0, 0.0]) * (-1) ** t,
        "random": lambda t, x: unit(rng.normal(size=2)) * rng.uniform(),
        "stochastic": lambda t, x: Ball(1.0).project([0.5, 0.3] + 0.3 * rng.normal(size=2)),
        "adversarial": lambda t, x: -unit(x),
    }


def share_of_bound(name, eta_factor, domain, H=3.0, rounds=200):
    """Return the largest share of its bound that the regret has, over all rounds."""
    guarantee = LeaderBound(Constants(R=1.0, G_f=2 * H, strong_convexity=H))
    player = FollowLeader(eta=eta_factor * guarantee.eta, domain=domain)
    draw, state = streams(np.random.default_rng(0))[name], player.init(np.zeros(2))
    targets, cost, worst = [], 0.0, 0.0
    for t in range(1, rounds + 1):
        assert domain.contains(state.x)
        targets.append(draw(t, state.x))
        away = state.x - targets[-1]
        cost += H / 2 * float(away @ away)
        best = domain.project(np.mean(targets, axis=0)) - np.array(targets)
        worst = max(worst, (cost - H / 2 * (best**2).sum()) / float(guarantee.regret_bound(t)))
        state = player.update(state, Feedback(H * away))
    return worst


@pytest.mark.parametrize("name", streams(None))
@pytest.mark.parametrize("domain", [Ball(1.0), Box([-0.5, -0.1], [0.3, 0.6])], ids=["ball", "box"])
def test_the_regret_of_the_rule_is_within_its_bound_in_every_round(name, domain):
    assert share_of_bound(name, 1.0, domain) <= 1.0


def test_with_steps_of_another_size_the_bound_is_exceeded():
    assert share_of_bound("adversarial", 4.0, Ball(1.0)) > 1.0


# --- a certified rule and a proposer: exact g in every round --------------------------------------

FACES = (
    (Fraction(1), Fraction(1, 4)),
    (Fraction(-3, 8), Fraction(1)),
    (Fraction(-3, 4), Fraction(-7, 8)),
)
ROOM = Fraction(1, 2)
STEEP = 1.16
"""Above the length of every face."""


def exact_g(x, shift):
    """Return the largest of the faces at a float64 point, exactly, and which one it is."""
    values = [sum(a * Fraction(float(e)) for a, e in zip(face, x, strict=True)) for face in FACES]
    i = max(range(len(FACES)), key=values.__getitem__)
    return values[i] - ROOM + shift, np.array([float(a) for a in FACES[i]])


def largest_g(player, seed, *, value=0.0, drift=0.0, rounds=150):
    """Return the largest g of a game whose costs push at the limit and whose readings err."""
    rng, shift, worst = np.random.default_rng(seed), Fraction(0), Fraction(-1)
    state = player.init(np.array([0.05, -0.03]))
    for t in range(rounds):
        g, slope = exact_g(state.x, shift)
        worst = max(worst, g)
        way = -slope if rng.random() < 0.7 else rng.normal(size=2)
        grad = way * 10.0 ** rng.choice([-150, -3, 0, 3, 150], p=[0.05, 0.1, 0.7, 0.1, 0.05])
        low = Fraction(value) * Fraction(float(rng.choice([-1.0, -1.0, 1.0]))) * Fraction(1 - 1e-9)
        seen = Feedback(None if t % 11 == 10 else grad, float(g + low), slope)
        if t % 9 == 8:  # nobody measured
            seen = Feedback(seen.cost_gradient)
        try:
            state = player.step_in_python(state, seen)[0]
        except EmptyRegionError:
            return worst
        shift += Fraction(drift) * Fraction(1 - 1e-9)
    return worst


def tuned_steps(G_g, value, drift):
    """Return the certified rule as its theorem tunes it."""
    errors = {"value_error": value, "drift": drift}
    known = Constants(R=2.0, G_f=1.0, G_g=G_g, start_slack=0.4, **errors)
    return CertifiedSteps.default(known, 50).algorithm


def adam_in_hulls(G_g, value, drift):
    """Return the proposer with knowledge of the library."""
    errors = Errors(value=value, drift=drift)
    known = LipschitzHull(G_g=G_g, domain=Ball(2.0), errors=errors)
    return Certified(proposer=Adam(eta=0.2), knowledge=known)


def adam_in_balls(G_g, value, drift):
    """Return the proposer with the knowledge that is added."""
    errors = Errors(value=value, drift=drift)
    known = LipschitzBall(G_g=G_g, domain=Ball(2.0), errors=errors)
    return Certified(proposer=Adam(eta=0.2), knowledge=known)


PAIRS = pytest.mark.parametrize("make", [tuned_steps, adam_in_hulls, adam_in_balls])


@PAIRS
@pytest.mark.parametrize("errors", [{}, {"value": 0.02}, {"value": 0.01, "drift": 0.001}], ids=str)
def test_no_round_of_an_adversarial_game_violates(make, errors):
    player = make(STEEP, errors.get("value", 0.0), errors.get("drift", 0.0))
    assert all(largest_g(player, seed, **errors) <= 0 for seed in range(6))


@PAIRS
def test_with_a_constant_that_is_too_small_the_same_game_violates(make):
    player = make(STEEP / 4, 0.0, 0.0)
    assert any(largest_g(player, seed) > 0 for seed in range(6))


def test_with_an_error_that_was_not_given_the_same_game_violates():
    assert any(largest_g(tuned_steps(STEEP, 0.0, 0.0), s, value=0.05) > 0 for s in range(6))


# --- a knowledge ----------------------------------------------------------------------------------


def well(x):
    """A g that is not convex: two basins in each coordinate, exactly."""
    point = [Fraction(float(e)) for e in x]
    g = sum(2 * e**4 - e * e for e in point) - Fraction(1, 2)
    return g, np.array([float(8 * e**3 - 2 * e) for e in point])


def bowl(x):
    """A convex g, exactly."""
    g = sum(Fraction(float(e)) ** 2 for e in x) - Fraction(1, 2)
    return g, 2 * np.asarray(x)


def test_the_knowledge_withstands_every_error_that_it_allows_and_rejects_the_others():
    assert check_knowledge(LipschitzBall(G_g=9.0, reach=1.5, convex=False), well, [0.1, 0.0]) > 900
    assert check_knowledge(LipschitzBall(G_g=1.5, domain=Ball(0.8)), bowl, [0.1, 0.2, -0.1]) > 900


def test_the_attack_finds_a_lipschitz_constant_that_is_too_small():
    with pytest.raises(AssertionError, match=r"round \d+: g = .* > 0"):
        check_knowledge(LipschitzBall(G_g=0.5, domain=Ball(0.8)), bowl, [0.1, 0.2, -0.1])


def test_the_attack_finds_a_drift_that_is_allowed_and_not_counted(monkeypatch):
    region = type(BALL.certify(BALL.first(np.zeros(2)), BALL.errors))
    make = region.__init__

    def forget(self, knowledge, memory, t, errors):
        make(self, knowledge, memory, memory.centre.round, errors)

    monkeypatch.setattr(region, "__init__", forget)
    with pytest.raises(AssertionError, match=r"round \d+: g = .* > 0"):
        check_knowledge(LipschitzBall(G_g=1.5, domain=Ball(0.8)), bowl, [0.1, 0.2, -0.1])


def test_a_reading_above_its_bound_is_a_contradiction():
    player = Certified(proposer=Adam(eta=0.2), knowledge=LipschitzBall(G_g=1.0, reach=2.0))
    state = player.init(np.zeros(1))
    state, _ = player.step(state, Feedback(np.array([-1.0]), -1.0))
    _, info = player.step(state, Feedback(np.array([-1.0]), 0.5))
    assert info.contradictions[0].startswith("round 2: g = 0.5 is above its bound -0.8: G_g = 1 ")


# --- a wrapper, and every part in combination -----------------------------------------------------


def draw_cases(count, seed, **wanted):
    """Return combinations that have a part, and can be built: knowledge, proposer or wrapper."""
    drawn, found = random.Random(seed), []
    proposers, wrappings = parts.find_proposers(), parts.wrappings()
    while len(found) < count:
        kind = LipschitzBall if "kind" in wanted else drawn.choice((LipschitzHull, Curvature))
        setting = drawn.choice(list(parts.settings_of(kind)))
        if wanted.get("error", "") not in ("", *setting.errors):
            continue
        proposer = wanted.get("proposer") or drawn.choice(proposers).__name__
        outer = [w for w in wrappings if w.kind == "Held"] if "wrapper" in wanted else wrappings
        chosen = (drawn.choice(outer),) if "wrapper" in wanted or drawn.random() < 0.3 else ()
        ramp = "" if chosen else drawn.choice(("", "", "one"))
        case = Case(setting, proposer, "", ramp, chosen, "python", False, len(found))
        if is_supported(case):
            found.append(case)
    return found


@pytest.mark.parametrize(
    "part", [{"kind": "LipschitzBall"}, {"proposer": "Adam"}, {"wrapper": "Held"}], ids=str
)
def test_combinations_with_it_are_safe_under_orders_missing_rounds_and_errors(part, tmp_path):
    outcomes = [play_case(case, tmp_path) for case in draw_cases(25, 7, **part)]
    assert [str(finding) for outcome in outcomes for finding in outcome.findings] == []
    orders = {order for outcome in outcomes for order in outcome.orders}
    assert {"hold", "retreat", "resume", "reopen"} <= orders
    played = [outcome for outcome in outcomes if not outcome.unsupported]
    assert sum(o.proved for o in played) > 0.4 * sum(o.rounds for o in played) > 250


def test_a_wrapper_that_forgets_the_drift_of_a_block_violates(tmp_path, monkeypatch):
    monkeypatch.setattr(Held, "_each", property(lambda held: held.base))
    cases = draw_cases(25, 7, wrapper="Held", error="drift")
    kinds = {f.kind for case in cases for f in play_case(case, tmp_path).findings}
    assert "violation" in kinds


def step_held(held, rounds, orders):
    """Return the actions of a wrapper, with orders by round: a point to move to, or to rest at."""
    state, actions = held.init(np.array([0.0, 0.0])), []
    for t in range(1, rounds + 1):
        if t in orders and orders[t][0] == "move":
            state = held.move_to(state, np.array(orders[t][1]))
        actions.append(state.x.tolist())
        if t in orders and orders[t][0] == "rest":
            state = held.rest(state, np.array(orders[t][1]))
            continue
        g, slope = exact_g(state.x, Fraction(0))
        state, info = held.step(state, Feedback(np.array([-1.0, -0.5]), float(g), slope))
        assert info.certificate is None or info.certificate.bound <= 0
    return actions


def test_a_wrapper_moves_at_the_end_of_a_block_and_obeys_orders_within_it():
    held = Held(base=adam_in_hulls(STEEP, 0.0, 0.0), length=3)
    free = step_held(held, 12, {})
    assert all(free[i] == free[i - i % 3] for i in range(12))
    assert len({tuple(x) for x in free}) == 4
    there = [0.1, 0.1]
    moved = step_held(held, 12, {5: ("move", there)})
    assert moved[3] == free[3]
    assert moved[4] == moved[5] == there
    assert moved[6] != free[6]
    rested = step_held(held, 12, {4: ("rest", there), 9: ("rest", there)})
    assert rested[4] == rested[5] == there
    assert rested[9:] == [there] * 3
    for actions in (free, moved, rested):
        assert all(exact_g(x, Fraction(0))[0] <= 0 for x in actions)


def test_the_base_steps_with_the_mean_gradient_of_a_block():
    held = Held(base=FollowLeader(eta=1.0, domain=Ball(9.0)), length=2)
    state = held.init(np.zeros(2))
    for grad in ([1.0, 0.0], [3.0, -2.0]):
        state, _ = held.step(state, Feedback(np.array(grad)))
    assert state.x.tolist() == [-2.0, 1.0]


def test_a_wrapper_says_what_is_proved_of_it():
    held = Held(base=LeaderFollower(G_g=1.0, domain=Ball(1.0)), length=3)
    expected = "Theorem E (certified by LipschitzHull), in blocks of 3 rounds"
    assert safety_of(held).name == expected
    ball = LipschitzBall(G_g=1.0, reach=1.0)
    found = safety_of(Certified(proposer=Adam(eta=0.1), knowledge=ball)).name
    assert found == "the Lipschitz constant alone (certified by LipschitzBall)"


def test_a_wrapper_rejects_what_it_would_not_keep():
    base = LeaderFollower(G_g=1.0, domain=Ball(1.0))
    assert Held.steps_base == "some rounds"
    with pytest.raises(ValueError, match="Held must have a base that counts no rounds"):
        Held(base=Delayed(base=base, delay=1))
    with pytest.raises(ValueError, match="Held must have a base without a ramp"):
        Held(base=CertifiedSteps(knowledge=HULL, eta=0.1, ramp=0.5))
    known = LipschitzHull(G_g=1.0, reach=1.0, start_bound=-0.1)
    with pytest.raises(ValueError, match="start_bound must be None for a rule that is held"):
        Held(base=Certified(proposer=Adam(eta=0.1), knowledge=known))
    held = Held(base=base)
    with pytest.raises(ValueError, match="age is not used by Held: leave it out"):
        held.step(held.init(np.zeros(2)), Feedback(None, -0.5, np.ones(2), age=1))


def test_the_guarantee_of_a_wrapper_is_that_of_the_mean_costs():
    base = FollowLeader.strongly_convex(
        Constants(R=1.0, G_f=2.0, strong_convexity=0.5), domain=Ball(1.0)
    )
    held = Held.of(base, length=4)
    assert held.guarantee.name == "follow the leader, strongly convex, in blocks of 4 rounds"
    bound = held.guarantee.regret_bound(9)
    assert bound == pytest.approx(4 * 4.0 * (1 + math.log(3)))


# --- a constraint ---------------------------------------------------------------------------------


def test_the_constraint_declares_what_sampling_finds():
    rng = np.random.default_rng(3)
    for _ in range(20):
        g = Between(rng.normal(size=3), b=float(rng.normal()), w=float(rng.uniform(0.1, 2.0)))
        points = rng.normal(size=(60, 3))
        check_constraint(g, points)
        sigma, epsilon = g.exact_sigma(None)
        near = [s for x in points for v, s in [g.query(x)] if v >= -epsilon]
        slopes = [float(np.linalg.norm(s)) for s in near]
        assert sigma <= min(slopes)
        assert max(slopes) <= g.subgradient_bound(Ball(9.0))


# --- a command ------------------------------------------------------------------------------------


def ask(*words):
    """Return the exit code and the two streams of a command."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.stdout, done.stderr


def test_the_command_shows_the_rounds_with_the_least_slack(tmp_path):
    path = tmp_path / "run.jsonl"
    run_live(PLAYERS["a certified rule"], path)
    code, out, err = ask("slack", path, "--most", "3", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    least = [row["slack"] for row in found["rounds"]]
    assert (found["measured"], len(least)) == (26, 3)
    assert least == sorted(least)
    lines = ask("slack", path, "--most", "3")[1].splitlines()
    assert [line.split()[0] for line in lines] == [
        "round",
        *(str(r["round"]) for r in found["rounds"]),
    ]


def test_bad_input_of_the_command_is_a_sentence_and_an_exit_code(tmp_path):
    path = tmp_path / "none.jsonl"
    sentence = f"surefoot: '{path}' is not a file: give the journal of a controller\n"
    assert ask("slack", path) == (2, "", sentence)
    path.write_bytes(b"\x00\xff not a journal\n")
    code, out, err = ask("slack", path)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("surefoot: ")
    code, out, err = ask("slack", path, "--most", "0")
    assert (code, out) == (2, "")
    assert "--most" in err.splitlines()[-1]
    assert "Usage: surefoot slack" in "".join(ask("slack")[1:])


def test_the_help_lists_the_command():
    assert "  slack " in ask("--help")[1]
