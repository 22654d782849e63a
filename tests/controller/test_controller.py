import math
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from surefoot import OGD, PFS, Ball, Controller, Feedback, kernel, play, problems
from surefoot.controller import PremiseError, PremiseWarning
from surefoot.core.checks import PrecisionWarning
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.types import Info
from surefoot.knowledge import CertifiedLength, Curvature, Errors
from surefoot.rules import (
    DPP,
    CertifiedOGD,
    CertifiedPFS,
    FrankWolfe,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    ScalarDPP,
)
from surefoot.sets import Box, EmptyTighteningError

from ._live import (
    BALL,
    CONSTANTS,
    PLAYERS,
    START,
    drive,
    raw_loop,
    same_bits,
    same_state,
    seen_at,
)

PLAYER = PFS(eta=0.1, rho=0.05, domain=Ball(1.0))
GRADIENT = np.array([-1.0, 3.0])
SLOPE = np.array([0.5, 2.0])


def told(**changed):
    return {
        "cost_gradient": GRADIENT,
        "constraint_value": -0.25,
        "constraint_subgradient": SLOPE,
    } | changed


class Beginner:
    """Begins as `PLAYER` does; how it steps is left to the subclass."""

    init = staticmethod(PLAYER.init)


def asked(player=PLAYER, start=(0.25, -0.5), **options):
    controller = Controller(player, start, **options)
    controller.ask()
    return controller


# --- ask and tell are init and update ----------------------------------------------------------


@pytest.mark.parametrize("name", PLAYERS)
def test_asking_and_telling_is_init_and_update_bit_for_bit(name):
    player = PLAYERS[name]
    controller = Controller(player, START)
    actions = drive(controller, player, 60)
    wanted, state = raw_loop(player, 60)
    assert same_bits(actions, wanted)
    assert same_state(controller.state, state)
    assert controller.round == 61


NUMBERS = st.floats(-50, 50)
VECTORS = hnp.arrays(np.float64, 2, elements=NUMBERS)
ROUNDS = st.lists(st.tuples(VECTORS, st.floats(-2, -1e-3), VECTORS), min_size=1, max_size=6)
RULES = [
    PFS(eta=0.3, rho=0.0005, domain=Ball(1.0)),
    CertifiedPFS(G_g=80.0, domain=Ball(1.0), rho=0.4),
    ScalarDPP(V=0.5, alpha=3.0, domain=Ball(1.0)),
    OGD(eta=0.3, domain=Box([-0.5, -0.25], [0.75, 0.125])),
]


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@given(rounds=ROUNDS)
@settings(max_examples=60)
def test_whatever_is_told_the_actions_are_those_of_the_rule(rule, rounds):
    controller = Controller(rule, [0.125, -0.0625], on_contradiction="record")
    state = rule.init(np.array([0.125, -0.0625]))
    for grad, g, s in rounds:
        assert same_bits(controller.ask(), state.x)
        raised = False
        try:
            state = rule.update(state, Feedback(grad, g, s))
        except ValueError:
            raised = True
        if raised:
            with pytest.raises(ValueError):
                controller.tell(cost_gradient=grad, constraint_value=g, constraint_subgradient=s)
        else:
            controller.tell(cost_gradient=grad, constraint_value=g, constraint_subgradient=s)
    assert same_state(controller.state, state)


def test_asking_again_changes_nothing():
    controller = Controller(PLAYER, [0.25, -0.5])
    assert same_bits(controller.ask(), controller.ask())
    assert controller.round == 1
    controller.tell(**told())
    assert same_bits(controller.ask(), controller.ask())
    assert controller.round == 2


def test_the_action_is_a_copy_that_cannot_be_written():
    controller = asked()
    action = controller.ask()
    with pytest.raises(ValueError, match="read-only"):
        action[0] = 7.0
    action.setflags(write=True)
    action[0] = 7.0
    assert controller.ask()[0] == 0.25


def test_the_start_is_copied():
    start = np.array([0.25, -0.5])
    controller = Controller(PLAYER, start)
    start[0] = 0.75
    assert controller.ask()[0] == 0.25


def test_what_was_told_may_be_written_over():
    one, other = asked(PLAYERS["certified"], START), asked(PLAYERS["certified"], START)
    kept = seen_at(PLAYERS["certified"], 1, START)
    used = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in kept.items()}
    one.tell(**kept)
    other.tell(**used)
    used["cost_gradient"][:] = 99.0
    used["constraint_subgradient"][:] = 99.0
    assert other.explain() == one.explain()


@pytest.mark.parametrize(
    "form",
    [
        {"cost_gradient": [-1, 3]},
        {"cost_gradient": (-1.0, 3.0)},
        {"cost_gradient": np.array([-1, 3])},
        {"constraint_value": np.float64(-0.25)},
        {"constraint_value": np.array(-0.25)},
        {"constraint_subgradient": [0.5, 2.0]},
        {"cost_value": 3},
        {"cost_value": np.float64(3.0)},
        {"cost_gradient": np.array([[-1.0, 9.0], [3.0, 9.0]])[:, 0]},
    ],
    ids=repr,
)
def test_numbers_may_come_in_any_form(form):
    usual, other = asked(), asked()
    usual.tell(**told())
    other.tell(**told(**form))
    assert same_state(usual.state, other.state)


def test_float32_is_upcast_and_said(monkeypatch):
    monkeypatch.setattr("surefoot.core.checks._said_precision", False)
    usual, other = asked(), asked()
    usual.tell(**told())
    with pytest.warns(PrecisionWarning, match="cost_gradient is float32"):
        other.tell(**told(cost_gradient=GRADIENT.astype(np.float32)))
    assert same_state(usual.state, other.state)


def test_an_algorithm_that_does_not_ask_for_the_constraint_may_be_told_of_it():
    ogd = PLAYERS["OGD"]
    silent, spoken, half = asked(ogd, START), asked(ogd, START), asked(ogd, START)
    silent.tell(cost_gradient=GRADIENT)
    spoken.tell(**told())
    half.tell(cost_gradient=GRADIENT, constraint_value=-0.25)
    assert same_state(silent.state, spoken.state)
    assert (silent.explain().slack, spoken.explain().slack, half.explain().slack) == (
        None,
        0.25,
        0.25,
    )


def test_rows_that_an_algorithm_does_not_count_are_counted_by_what_is_told():
    class Rowless(Beginner):
        needs = DPP.needs

        def step(self, state, feedback):
            assert feedback.constraint_value.shape == (3,)
            return state, Info()

    controller = asked(Rowless())
    controller.tell(
        cost_gradient=GRADIENT,
        constraint_value=[-1.0, -2.0, -0.5],
        constraint_subgradient=np.ones((3, 2)),
    )
    assert controller.explain().slack == 0.5


# --- bad input -------------------------------------------------------------------------------


BAD = {
    "a wrong shape": (
        {"cost_gradient": np.ones(3)},
        "cost_gradient.shape must be (2,), that of the action, got (3,)",
    ),
    "a column": (
        {"cost_gradient": np.ones((2, 1))},
        "cost_gradient.shape must be (2,), that of the action, got (2, 1)",
    ),
    "no gradient": (
        {"cost_gradient": None},
        "cost_gradient must be an array of shape (2,), that of the action, got None",
    ),
    "words": (
        {"cost_gradient": ["a", "b"]},
        "cost_gradient must be an array of shape (2,), that of the action, got ['a', 'b']",
    ),
    "rows of different lengths": (
        {"cost_gradient": [[1.0], [1.0, 2.0]]},
        "cost_gradient must be an array of shape (2,), that of the action, got [[1.0], [1.0, 2.0]]",
    ),
    "NaN in the gradient": (
        {"cost_gradient": np.array([1.0, np.nan])},
        "cost_gradient must be finite, got nan at index 1",
    ),
    "an infinite gradient": (
        {"cost_gradient": np.array([-np.inf, 1.0])},
        "cost_gradient must be finite, got -inf at index 0",
    ),
    "an infinite gradient where the slope is 0": (
        {"cost_gradient": np.array([np.inf, 1.0]), "constraint_subgradient": np.array([0.0, 1.0])},
        "cost_gradient must be finite, got inf at index 0",
    ),
    "no g": (
        {"constraint_value": None},
        "constraint_value must be one number, got None: pass missing=True if nothing was measured",
    ),
    "NaN g": (
        {"constraint_value": math.nan},
        "constraint_value must be finite, got nan: pass missing=True if nothing was measured",
    ),
    "g = -inf": (
        {"constraint_value": -math.inf},
        "constraint_value must be finite, got -inf at index ()",
    ),
    "g = inf": (
        {"constraint_value": math.inf},
        "constraint_value must be finite, got inf at index ()",
    ),
    "two g": (
        {"constraint_value": np.array([-0.25, -1.0])},
        "constraint_value.shape must be (), that of one number, got (2,)",
    ),
    "g in words": ({"constraint_value": "low"}, "constraint_value must be one number, got 'low'"),
    "no subgradient": (
        {"constraint_subgradient": None},
        "constraint_subgradient must be an array of shape (2,), that of the action, got None",
    ),
    "a subgradient of wrong shape": (
        {"constraint_subgradient": np.ones(1)},
        "constraint_subgradient.shape must be (2,), that of the action, got (1,)",
    ),
    "NaN in the subgradient": (
        {"constraint_subgradient": np.array([np.nan, 1.0])},
        "constraint_subgradient must be finite, got nan at index 0",
    ),
    "no slope where g is positive": (
        {"constraint_value": 0.5, "constraint_subgradient": np.zeros(2)},
        "constraint_subgradient must not be 0 where constraint_value is positive, got s = 0 with "
        "g = 0.5: x is a minimum of g, so g <= 0 nowhere",
    ),
    "an infinite cost": ({"cost_value": math.inf}, "cost_value must be finite, got inf"),
    "a cost in words": ({"cost_value": "dear"}, "cost_value must be one number, got 'dear'"),
}


@pytest.mark.parametrize("changed", BAD)
@pytest.mark.parametrize("rounds", [0, 2])
def test_what_is_wrong_is_one_sentence_and_the_next_correct_call_works(changed, rounds):
    wrong, sentence = BAD[changed]
    controller, other = asked(), asked()
    for _ in range(rounds):
        for one in (controller, other):
            one.tell(**told())
            one.ask()
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        controller.tell(**told(**wrong))
    assert same_state(controller.state, other.state)
    assert controller.explain() == other.explain()
    controller.tell(**told())  # no new ask is needed: the round is still open
    other.tell(**told())
    assert same_state(controller.state, other.state)


def test_telling_before_asking_is_refused():
    controller = Controller(PLAYER, [0.25, -0.5])
    with pytest.raises(
        ValueError, match=r"^tell must come after ask, got tell before the first ask$"
    ):
        controller.tell(**told())
    controller.ask()
    controller.tell(**told())


def test_telling_twice_is_refused():
    controller = asked()
    controller.tell(**told())
    state = controller.state
    sentence = (
        "^tell must come once after each ask, got a second tell for round 1: "
        "ask for the action of round 2 first$"
    )
    with pytest.raises(ValueError, match=sentence):
        controller.tell(**told())
    assert controller.state is state
    controller.ask()
    controller.tell(**told())
    assert controller.round == 3


def test_a_tightened_set_that_is_empty_leaves_the_round_open():
    controller = asked()
    with pytest.raises(EmptyTighteningError):
        controller.tell(**told(constraint_value=-0.01, constraint_subgradient=np.zeros(2)))
    assert controller.round == 1
    controller.tell(**told())


@pytest.mark.parametrize("slack", [0.0, -0.125])
def test_a_certified_rule_refuses_a_start_that_is_not_strictly_feasible(slack):
    controller = asked(PLAYERS["certified, fixed"], START)
    with pytest.raises(ValueError, match=r"^the start must be strictly feasible"):
        controller.tell(
            **told(constraint_value=-slack, constraint_subgradient=np.array([0.5, 0.1]))
        )
    assert controller.round == 1
    controller.tell(**seen_at(PLAYERS["certified, fixed"], 1, START))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            {"constraint_value": -0.1},
            "constraint_value.shape must be (2,), one for each constraint, got ()",
        ),
        (
            {"constraint_value": np.ones(3)},
            "constraint_value.shape must be (2,), one for each constraint, got (3,)",
        ),
        (
            {"constraint_subgradient": np.ones(2)},
            "constraint_subgradient.shape must be (2, 2), one row for each constraint, got (2,)",
        ),
        (
            {"constraint_value": np.array([-1.0, np.nan])},
            "constraint_value must be finite, got nan: pass missing=True if nothing was measured",
        ),
        (
            {
                "constraint_value": np.array([-1.0, 0.25]),
                "constraint_subgradient": np.array([[1.0, 0.0], [0.0, 0.0]]),
            },
            "constraint_subgradient must not be 0 where constraint_value is positive, got s = 0 "
            "with g = 0.25: x is a minimum of g, so g <= 0 nowhere",
        ),
    ],
)
def test_constraints_kept_apart_are_checked_each(wrong, sentence):
    controller = asked(PLAYERS["DPP"], START)
    right = seen_at(PLAYERS["DPP"], 1, START)
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        controller.tell(**right | wrong)
    controller.tell(**right)
    assert controller.round == 2


def test_a_subgradient_needs_a_value():
    controller = asked(PLAYERS["OGD"], START)
    with pytest.raises(ValueError, match="constraint_subgradient must come with constraint_value"):
        controller.tell(cost_gradient=GRADIENT, constraint_subgradient=SLOPE)


def test_an_action_that_would_not_be_finite_is_not_taken():
    class StepsToNaN(Beginner):
        needs = OGD.needs

        def step(self, state, feedback):
            return type(state)(state.x * np.nan), Info()

    controller = asked(StepsToNaN())
    with pytest.raises(ValueError, match=r"^the next action must be finite, got nan at index 0$"):
        controller.tell(cost_gradient=GRADIENT)
    assert same_bits(controller.ask(), np.array([0.25, -0.5]))


def test_gradients_whose_square_overflows_are_taken():
    ogd = PLAYERS["OGD"]
    controller = asked(ogd, START)
    controller.tell(cost_gradient=np.array([1e200, -1e200]))
    assert same_bits(controller.ask(), np.array([-0.4, 0.45]))


@pytest.mark.parametrize("size", [1e153, 1e154, 1e200, 1e307])
@pytest.mark.parametrize("which", ["cost_gradient", "constraint_subgradient"])
@pytest.mark.parametrize("name", PLAYERS)
def test_numbers_whose_square_overflows_are_taken_or_refused_without_a_warning(name, which, size):
    player = PLAYERS[name]
    controller = Controller(player, START, on_contradiction="record")
    for t in range(1, 4):
        seen = seen_at(player, t, controller.ask())
        huge = seen | {which: size * seen[which]} if t == 2 and which in seen else seen
        try:
            controller.tell(**huge)  # a warning of NumPy's is an error here
        except SurefootError:
            controller.ask()
            controller.tell(**seen)
    assert np.isfinite(controller.ask()).all()


@pytest.mark.parametrize(
    ("player", "start", "options", "sentence"),
    [
        (PFS, [0.0, 0.0], {}, "player must be an algorithm with init and step, or a Tuned"),
        (3, [0.0, 0.0], {}, "player must be an algorithm with init and step, or a Tuned"),
        (PLAYER, [[0.0, 0.0]], {}, "start.shape must be that of a vector that is not empty"),
        (PLAYER, [0.0, np.nan], {}, "start must be finite, got nan at index 1"),
        (PLAYER, [3.0, 0.0], {}, "start must be in the domain"),
        (PLAYER, [0.0, 0.0], {"on_contradiction": "off"}, "on_contradiction must be one of"),
    ],
)
def test_a_controller_that_cannot_be_is_refused_when_it_is_made(player, start, options, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        Controller(player, start, **options)


# --- contradictions ----------------------------------------------------------------------------


STEEP = {"constraint_subgradient": np.array([3.0, 4.0])}  # |s| = 5, far above G_g
CONTRADICTIONS = {
    "certified": "round 1: |s| = 5 exceeds G_g = 1.14018",
    "PFS tuned": "round 1: |s| = 5 exceeds G_g = 1.14018: the feasibility guarantee no longer "
    "applies",
}


def steep(name):
    return seen_at(PLAYERS[name], 1, START) | STEEP


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradicted_G_g_is_refused_and_the_next_correct_call_works(name):
    controller, other = asked(PLAYERS[name], START), asked(PLAYERS[name], START)
    with pytest.raises(PremiseError, match=f"^{re.escape(CONTRADICTIONS[name])}"):
        controller.tell(**steep(name))
    assert same_state(controller.state, other.state)
    controller.tell(**seen_at(PLAYERS[name], 1, START))
    other.tell(**seen_at(PLAYERS[name], 1, START))
    assert same_state(controller.state, other.state)
    assert controller.explain().is_proven


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_may_be_taken_with_a_warning_once(name):
    controller = asked(PLAYERS[name], START, on_contradiction="warn")
    with pytest.warns(PremiseWarning) as caught:
        controller.tell(**steep(name))
    assert str(caught[0].message) == CONTRADICTIONS[name]
    assert caught[0].filename == __file__
    controller.ask()
    controller.tell(**seen_at(PLAYERS[name], 2, controller.ask()) | STEEP)  # known: not said again
    explained = controller.explain()
    assert [(b.round, str(b)) for b in explained.broken] == [(1, CONTRADICTIONS[name])]
    assert explained.bound is None
    assert not explained.is_proven


def test_a_warning_that_is_an_error_leaves_the_round_open():
    controller = asked(PLAYERS["certified"], START, on_contradiction="warn")
    with pytest.raises(PremiseWarning):
        controller.tell(**steep("certified"))
    assert controller.round == 1
    assert controller.explain().broken == ()


def test_a_contradiction_may_be_recorded_in_silence():
    controller = asked(PLAYERS["PFS tuned"], START, on_contradiction="record")
    controller.tell(**steep("PFS tuned"))
    assert [b.affects for b in controller.explain().broken] == ["feasibility"]


def test_the_policy_may_change_between_rounds():
    controller = asked(PLAYERS["certified"], START)
    with pytest.raises(PremiseError):
        controller.tell(**steep("certified"))
    controller.resume(on_contradiction="record")
    controller.tell(**steep("certified"))
    assert controller.on_contradiction == "record"
    assert controller.round == 2
    with pytest.raises(ValueError, match="on_contradiction must be one of"):
        controller.resume(on_contradiction="never")


def test_what_only_the_regret_bound_rests_on_is_warned_of_but_not_refused():
    controller = asked(CertifiedPFS.known_horizon(CONSTANTS, 1), START)
    player = controller.algorithm
    long = seen_at(player, 1, START) | {"cost_gradient": np.array([0.0, 4.0])}
    with pytest.warns(PremiseWarning, match="G_f = 3: the regret bound no longer applies"):
        controller.tell(**long)
    with pytest.warns(PremiseWarning, match="the round = 2 exceeds the horizon = 1"):
        controller.tell(**seen_at(player, 2, controller.ask()))
    explained = controller.explain()
    assert [b.affects for b in explained.broken] == ["regret", "regret"]
    assert explained.is_proven
    assert explained.regret_bound > 0  # of what was observed: G_f has no part in it


@pytest.mark.parametrize(
    ("name", "t", "changed", "sentence"),
    [
        ("PFS tuned", 1, {"constraint_value": -0.01}, "round 1: the slack -g(x_1) = 0.01 is below"),
        (
            "PFS tuned",
            2,
            {"constraint_value": -0.05, "constraint_subgradient": np.array([0.0, 0.125])},
            "round 2: |s| = 0.125 where g >= -0.1 is below sigma = 0.2",
        ),
        ("PFS tuned", 2, {"cost_gradient": np.array([0.0, 4.0])}, "round 2: |grad f| = 4 exceeds"),
        ("PFS tuned", 2, {"constraint_value": 0.125}, "round 2: g = 0.125 is above the bound 0 of"),
        ("certified", 2, {"constraint_value": 0.125}, "round 2: g = 0.125 is above its certified"),
    ],
)
def test_each_premise_of_feasibility_is_watched(name, t, changed, sentence):
    player = PLAYERS[name]
    controller = asked(player, START)
    for k in range(1, t):
        controller.tell(**seen_at(player, k, controller.ask()))
    right = seen_at(player, t, controller.ask())
    with pytest.raises(PremiseError, match=f"^{re.escape(sentence)}"):
        controller.tell(**right | changed)
    controller.tell(**right)
    assert controller.explain().is_proven


def test_a_violation_that_the_guarantee_allows_contradicts_nothing():
    player = PFS.nearly(CONSTANTS, 5_000)
    controller = asked(player, START)
    controller.tell(**seen_at(player, 1, START))
    controller.ask()
    bound = float(player.guarantee.bounds(2)["round"])
    right = seen_at(player, 2, controller.ask())
    controller.tell(**right | {"constraint_value": 0.75 * bound})
    assert controller.explain().broken == ()
    right = seen_at(player, 3, controller.ask())
    with pytest.raises(PremiseError, match=r"is above the bound .* of Corollary 3: a constant"):
        controller.tell(**right | {"constraint_value": 1.25 * bound})


def test_norms_at_their_limits_contradict_nothing():
    player = PLAYERS["PFS tuned"]
    controller = asked(player, START)
    for t in range(1, 4):
        x = controller.ask()
        right = seen_at(player, t, x)
        slope = right["constraint_subgradient"]
        limit = slope / np.linalg.norm(slope) * CONSTANTS.G_g
        controller.tell(
            cost_gradient=np.array([1.8, 2.4]),  # |grad f| = 3 = G_f
            constraint_value=-1.0,
            constraint_subgradient=limit,
        )
    assert controller.explain().broken == ()


@pytest.mark.parametrize("journal", [None, "journal.jsonl"])
@pytest.mark.parametrize(("engine", "regions"), [("python", 7), ("kernel", 0)])
def test_a_tell_is_at_most_one_region_and_explaining_none(
    engine, regions, journal, tmp_path, monkeypatch
):
    if engine not in kernel.engines():
        pytest.skip("the kernel was not built")
    player, calls = PLAYERS["certified"], []
    real = CertifiedLength.region

    def counted(self, *args):
        calls.append(1)
        return real(self, *args)

    path = journal and tmp_path / journal
    with kernel.engine(engine), Controller(player, START, journal=path) as controller:
        monkeypatch.setattr(CertifiedLength, "region", counted)
        drive(controller, player, 7)
        controller.explain()
    assert len(calls) == regions


def test_a_filter_is_refused_as_a_player_of_a_game_in_one_sentence():
    safe = SafetyFilter(G_g=1.0, domain=BALL, rho=0.1)
    with pytest.raises(ValueError, match=r"^player must learn from costs, got the filter "):
        play(safe, problems.paper_toy(horizon=5, trials=1))


def test_a_number_named_step_is_no_step():
    player = FrankWolfe(eta=0.2, domain=Ball(0.7, [0.1, -0.2]), step_size=0.25)
    controller = Controller(player, START)
    drive(controller, player, 3)
    assert controller.explain().feasibility_step is None


def test_a_rule_that_has_its_formulas_in_update_alone_is_refused():
    sentence = "^a rule must have its formulas in step, got Slower with only an update$"
    with pytest.raises(ValueError, match=sentence):

        class Slower(PFS):
            def update(self, state, feedback):
                return super().update(state, feedback._replace(cost_gradient=feedback[0] / 2))


def test_a_value_of_minus_infinity_is_refused():
    controller = Controller(PLAYER, [0.0, 0.25])
    controller.ask()
    with pytest.raises(ValueError, match="constraint_value must be finite, got -inf"):
        controller.tell(**told(constraint_value=-math.inf))


def test_far_from_the_boundary_a_flat_constraint_breaks_no_premise():
    controller = Controller(PLAYERS["PFS tuned"], START, on_contradiction="record")
    controller.ask()
    controller.tell(
        cost_gradient=np.array([0.1, 0.1]),
        constraint_value=-0.5,  # below -epsilon = -0.1
        constraint_subgradient=np.array([0.0, 0.01]),  # below sigma = 0.2
    )
    assert controller.explain().broken == ()


def test_a_value_just_above_the_bound_of_the_guarantee_is_a_breach():
    controller = Controller(PLAYERS["PFS tuned"], START, on_contradiction="record")
    drive(controller, PLAYERS["PFS tuned"], 1)
    right = seen_at(PLAYERS["PFS tuned"], 2, controller.ask())
    controller.tell(**right | {"constraint_value": 1e-6})
    (breach,) = controller.explain().broken
    assert breach.constant == "the bound on g"


# The number behind the mask would be told as measured.
HIDDEN = {
    "cost_gradient": np.ma.array(GRADIENT, mask=[False, True]),
    "constraint_subgradient": np.ma.array(SLOPE, mask=[True, False]),
    "constraint_value": np.ma.array(-0.25, mask=True),
    "cost_value": np.ma.masked,
    "value_error": np.ma.array(0.1, mask=True),
    "action": np.ma.array([0.0, 0.2], mask=[False, True]),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_masked_number_is_refused(name):
    controller = asked(LeaderFollower(G_g=3.0, domain=Ball(1.0)), [0.0, 0.25])
    with pytest.raises(ValueError, match=f"^{name} must be "):
        controller.tell(**told() | {name: HIDDEN[name]})
    controller.tell(**told())
    assert controller.round == 2


def test_masked_values_and_rows_of_several_constraints_are_refused():
    controller = asked(PLAYERS["DPP"], START)
    right = seen_at(PLAYERS["DPP"], 1, START)
    for name in ("constraint_value", "constraint_subgradient"):
        hidden = np.ma.array(right[name], mask=np.eye(2)[: np.ndim(right[name])].squeeze())
        with pytest.raises(ValueError, match=f"^{name} must be .*, none of them masked"):
            controller.tell(**right | {name: hidden})
    bare = {name: np.ma.array(value) for name, value in right.items()}  # nothing is hidden
    controller.tell(**bare)
    assert controller.round == 2


@pytest.mark.parametrize("action", [[True, False], np.array([False, True]), [0.5, True]])
def test_truth_values_are_no_action(action):
    controller = asked(LeaderFollower(G_g=3.0, domain=Ball(1.0)), [0.0, 0.25])
    with pytest.raises(ValueError, match=r"^action must be a vector of numbers, got"):
        controller.tell(**told(action=action))
    assert controller.round == 1


def test_where_g_is_not_convex_it_may_be_flat_above_0():
    known = Curvature(beta=2.0, reach=3.0, convex=False)
    controller = Controller(RegionFilter(knowledge=known), [0.0, 0.0], on_contradiction="record")
    for action, g, s in (([0.0, 0.0], -0.5, [1.0, 0.0]), ([0.9, 0.9], 0.2, [0.0, 0.0])):
        controller.ask()
        told = {"constraint_value": g, "constraint_subgradient": s, "action": action}
        controller.tell(**told, proposal=[1.0, 0.0])
    assert controller.ask().tolist() == [0.0, 0.0]  # back to what was read


CURVED = Curvature(beta=1.0, reach=1.0, domain=Ball(1.0), errors=Errors(value=0.1))
NOISY = {
    "hull": LeaderFollower(G_g=1.0, domain=Ball(1.0), value_error=0.1),
    "length": CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.02, value_error=0.1),
    "curvature": CertifiedOGD(radius=1.0, knowledge=CURVED),
}


@pytest.mark.parametrize("name", NOISY)
def test_a_slope_of_0_is_fine_where_the_error_covers_the_value(name):
    # g = -0.04 everywhere, read as -0.13 and as 0.05: both are off by 0.09.
    live = Controller(NOISY[name], [0.0, 0.0])
    for reading in (-0.13, 0.05, -0.04):
        live.ask()
        live.tell(
            cost_gradient=[-1.0, -0.5], constraint_value=reading, constraint_subgradient=[0.0, 0.0]
        )
    assert live.round == 4


def test_a_slope_of_0_that_may_err_is_no_minimum():
    live = Controller(LeaderFollower(G_g=1.0, domain=Ball(1.0)), [0.0, 0.0])
    usual = {"cost_gradient": [-1.0, 0.0], "constraint_subgradient": [0.0, 0.0]}
    live.ask()
    live.tell(**usual, constraint_value=-0.2, value_error=0.15)
    live.ask()
    with pytest.raises(InvalidValueError, match="x is a minimum of g, so g <= 0 nowhere"):
        live.tell(**usual, constraint_value=0.1, value_error=0.05)
    live.tell(**usual, constraint_value=0.1, value_error=0.2)
    assert live.round == 3
