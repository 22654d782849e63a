"""Names into problems and players, with the origin of every number."""

import numpy as np
import pytest

from surefoot import problems
from surefoot.core.algorithm import constructors_of
from surefoot.experiments import parse_spec
from surefoot.experiments.build import (
    ALGORITHMS_BY_NAME,
    PROBLEMS,
    amount_at,
    build_player,
    build_problem,
)
from surefoot.guarantees import Tuned
from surefoot.rules import PFS, ScalarDPP, Tighten
from surefoot.sets import Ball, Box, Intersection, Polytope

NAMES = sorted(PROBLEMS)
NOTHING_RANDOM = ("slow_start",)
NEEDED = {"adversarial_cube": {"adversary": "corners"}}


def plain(name, **arguments):
    given = PROBLEMS[name].complete(NEEDED.get(name, {}) | arguments)
    return {"name": name, "arguments": given}


@pytest.mark.parametrize("name", NAMES)
def test_fewer_rounds_and_fewer_trials_are_the_first_of_more(name):
    long = build_problem(plain(name), 90, 4, streams=11, block=0)
    short = build_problem(plain(name), 35, 3, streams=11, block=0)
    other = build_problem(plain(name), 35, 3, streams=12, block=0)
    assert short.costs.horizon == 35
    assert short.costs.runs == 3
    x = np.linspace(0.1, 0.3, 3 * short.costs.dimension).reshape(3, -1)
    gradients = {
        which: [p.costs.run(slice(0, 3)).gradient(t, x) for t in range(35)]
        for which, p in {"long": long, "short": short, "other": other}.items()
    }
    assert np.array_equal(gradients["short"], gradients["long"])
    if name in NOTHING_RANDOM:
        return
    assert not np.array_equal(gradients["short"], gradients["other"])
    # The trials differ among themselves.
    assert not np.array_equal(
        long.costs.run(0).gradient(0, x[0]), long.costs.run(1).gradient(0, x[0])
    )


@pytest.mark.parametrize("name", ["random_polytope", "rotated_box", "ellipsoid", "fair_logistic"])
def test_the_geometry_has_a_seed_of_its_own(name):
    def at(seed, streams):
        return build_problem(plain(name, seed=seed), 5, 2, streams, 0)

    x = np.linspace(-0.3, 0.7, at(0, 1).costs.dimension)
    assert at(0, 1).constraint.value(x) == at(0, 2).constraint.value(x)
    assert at(0, 1).constraint.value(x) != at(1, 1).constraint.value(x)


def test_the_published_streams_go_on_from_block_to_block():
    toy = plain("binding_toy", published=1)
    whole = problems.binding_toy(12, 33, 1).costs.targets
    first = build_problem(toy, 12, 30, streams=5, block=0)
    second = build_problem(toy, 12, 3, streams=6, block=1)
    assert np.array_equal(first.costs.targets, whole[:, :30])
    assert np.array_equal(second.costs.targets, whole[:, 30:])
    with pytest.raises(ValueError, match="for more than 20000 rounds"):
        build_problem(toy, 20_001, 1, streams=5, block=0)


def test_an_adversary_that_answers_the_actions_has_one_run():
    cube = plain("adversarial_cube", adversary="uncut")
    assert build_problem(cube, 5, 1, streams=0, block=0).costs.runs is None
    with pytest.raises(ValueError, match="trials must be 1 for the adversary 'uncut'"):
        build_problem(cube, 5, 2, streams=0, block=0)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (0.25, 0.25),
        ({"power": 0.5}, 20.0),
        ({"times": 3.0, "power": -1.0}, 0.0075),
        ({"times": 3.0, "power": 1.0, "at_most": 7.0}, 7.0),
        ({"times": -3.0, "at_least": 2.0}, 2.0),
        ({"times": -2.0, "power": 400.0}, -np.inf),
    ],
)
def test_an_amount_follows_the_horizon_and_is_cut(amount, expected):
    assert amount_at(amount, 400) == pytest.approx(expected, rel=1e-15)


TOY = problems.paper_toy(horizon=900, trials=2)


def test_parameters_of_a_file_are_used_and_told_with_their_origin():
    row = {
        "name": "CertifiedPFS",
        "parameters": {"G_g": 1.5, "rho": {"times": 6.0, "power": -0.5}, "decreasing": False},
    }
    player, parameters, constants = build_player(row, TOY, 900)
    known = player.knowledge
    assert (known.G_g, known.rho, known.decreasing) == (1.5, 0.2, False)
    assert player.proposer.ratchet is True
    assert constants == TOY.constants
    expected = {
        "knowledge": ("CertifiedLength", "default"),
        "knowledge.G_g": (1.5, "specification"),
        "knowledge.rho": (0.2, "specification"),
        "knowledge.decreasing": ("false", "specification"),
        "knowledge.domain": ("Ball", "problem"),
        "knowledge.domain.radius": (1.0, "problem"),
        "proposer": ("Descent", "default"),
        "proposer.ratchet": ("true", "default"),
    }
    assert expected.items() <= parameters.items()


def test_a_theorem_is_the_origin_of_what_it_tuned_and_the_file_of_what_it_gave():
    row = {"name": "Jenatton", "tuning": "trade_off", "options": {"beta": 0.75}}
    tuned, parameters, _ = build_player(row, TOY, 900)
    assert isinstance(tuned, Tuned)
    assert tuned.algorithm.beta == 0.75
    assert parameters["beta"] == (0.75, "specification")
    assert parameters["eta"] == (tuned.algorithm.eta, tuned.guarantee.name)
    assert parameters["domain.radius"] == (1.0, "problem")


def test_every_number_of_a_rule_can_be_given_as_a_parameter():
    row = {"eta": 0.1, "theta": 0.25, "beta": 0.75, "decay": 0.5}
    given = ", ".join(f"{name} = {value}" for name, value in row.items())
    spec = f"""
name = "x"
horizons = [50]
[[problems]]
name = "binding_toy"
[[algorithms]]
name = "Jenatton"
parameters = {{{given}}}
"""
    assert parse_spec(spec).algorithms[0].parameters == row
    player, parameters, _ = build_player({"name": "Jenatton", "parameters": row}, TOY, 900)
    assert (player.eta, player.theta, player.beta, player.decay) == tuple(row.values())
    assert parameters["beta"] == (0.75, "specification")


def test_options_may_be_amounts():
    options = {"eta": {"times": 3.0, "power": -1.0}, "rho": 0.125}
    row = {"name": "PFS", "tuning": "chosen", "options": options, "constants": {"G_f": 1.25}}
    tuned, parameters, constants = build_player(row, TOY, 900)
    assert (tuned.algorithm.eta, tuned.algorithm.rho) == (3 * (1 / 900), 0.125)
    assert parameters["eta"] == (3 * (1 / 900), "specification")
    assert constants.G_f == tuned.guarantee.constants.G_f == 1.25
    assert constants.origins["G_f"] == "given"
    assert constants.sigma == TOY.constants.sigma


def test_an_algorithm_inside_another_is_built_and_told_with_it():
    base = {"name": "ScalarDPP", "parameters": {"V": {"power": 0.5}, "alpha": 7.0}}
    row = {"name": "Tighten", "parameters": {"rho": 0.25}, "base": base}
    player, parameters, _ = build_player(row, TOY, 900)
    assert player == Tighten(base=ScalarDPP(V=30.0, alpha=7.0, domain=Ball(1.0)), rho=0.25)
    told = {n: v for n, v in parameters.items() if v[1] == "specification"}
    assert {n: v for n, (v, _) in told.items()} == {"rho": 0.25, "base.V": 30.0, "base.alpha": 7.0}
    assert parameters["base.queue"] == (0.0, "default")
    assert parameters["base.domain.radius"] == (1.0, "problem")


def test_a_tuned_base_inside_parameters_keeps_its_theorem_as_origin():
    row = {"name": "Tighten", "parameters": {"rho": 0.25}}
    row["base"] = {"name": "Jenatton", "tuning": "trade_off", "options": {"beta": 0.25}}
    player, parameters, _ = build_player(row, TOY, 900)
    assert not isinstance(player, Tuned)
    assert parameters["base.beta"] == (0.25, "specification")
    assert parameters["base.eta"][1].startswith("Jenatton")


def test_a_tuned_wrapper_takes_the_base_and_its_options():
    row = {"name": "Tighten", "tuning": "tuned", "options": {"share": 0.75}}
    row["base"] = {"name": "Jenatton", "tuning": "trade_off", "options": {"beta": 0.625}}
    toy = problems.paper_toy(horizon=1, trials=1)
    tuned, parameters, _ = build_player(row, toy, 10**13)
    assert tuned.algorithm.base.beta == 0.625
    assert parameters["share"] == (0.75, "specification")
    assert parameters["base.beta"] == (0.625, "specification")
    assert parameters["rho"] == (tuned.algorithm.rho, tuned.guarantee.name)


def test_rows_come_from_the_problem_unless_given():
    row = {"name": "DPP", "parameters": {"V": 2.0, "alpha": 3.0}}
    player, parameters, _ = build_player(row, TOY, 900)
    assert player.rows == 4
    assert parameters["rows"] == (4.0, "problem")
    row["parameters"]["rows"] = 5.0
    player, parameters, _ = build_player(row, TOY, 900)
    assert player.rows == 5
    assert type(player.rows) is int
    assert parameters["rows"] == (5.0, "specification")


def test_what_projects_gets_the_feasible_set():
    row = {"name": "OGD", "parameters": {"eta": 0.5}}
    player, parameters, _ = build_player(row, TOY, 900)
    assert isinstance(player.domain, Box)
    assert parameters["domain.upper"] == ("2 numbers from 0.5 to 0.5", "problem")
    polytope = problems.random_polytope(3, 9, horizon=4)
    player, parameters, _ = build_player({"name": "FrankWolfe", "tuning": "tuned"}, polytope, 4)
    assert isinstance(player.algorithm.domain, Polytope)
    assert parameters["domain.A"][0].startswith("9 x 3 numbers from -1 to 1")
    fair = problems.fair_logistic(3, horizon=4)
    player, _, _ = build_player(row, fair, 4)
    assert isinstance(player.domain, Intersection)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            {"name": "PFS", "tuning": "anytime", "constants": {"sigma": 9.0}},
            "sigma must be at most",
        ),
        ({"name": "Mahdavi", "tuning": "no_violation"}, "horizon"),
        ({"name": "EntropicDualAveraging", "tuning": "fixed"}, "domain must be a Simplex"),
        ({"name": "PFS", "parameters": {"eta": -1.0, "rho": 0.0}}, "eta must be a finite number"),
    ],
)
def test_a_theorem_or_constructor_that_says_no_is_a_value_error(row, sentence):
    with pytest.raises(ValueError, match=sentence):
        build_player(row, TOY, 900)


def test_only_constructors_are_tunings():
    assert constructors_of(PFS)[: len(PFS.tunings)] == PFS.tunings
    assert all(
        set(kind.tunings) <= set(constructors_of(kind)) for kind in ALGORITHMS_BY_NAME.values()
    )
    assert all(
        not name.startswith("_")
        for kind in ALGORITHMS_BY_NAME.values()
        for name in constructors_of(kind)
    )


def test_a_rule_without_constants_is_built_from_a_file():
    row = {
        "name": "LeaderFollower",
        "tuning": "unknown",
        "options": {"theta": 1.5, "violations": 2},
    }
    player, parameters, _ = build_player(row, TOY, 900)
    assert (player.algorithm.knowledge.theta, player.algorithm.knowledge.violations) == (1.5, 2)
    assert parameters["theta"] == (1.5, "specification")
