"""Every named rule on a domain of choices: it plays choices alone, or refuses in one sentence."""

import inspect
from typing import Any

import numpy as np
import pytest

import surefoot.rules
from surefoot import Constants, Controller
from surefoot.core.algorithm import Algorithm
from surefoot.core.errors import SurefootError
from surefoot.core.parameters import parameters_of
from surefoot.core.types import needs_of
from surefoot.knowledge import (
    Choices,
    Curvature,
    CurvatureRows,
    EstimatedHull,
    HullOfLog,
    LipschitzHull,
    RelativeCurvature,
    Together,
)
from surefoot.knowledge.base import find_knowledge
from surefoot.rules import LeaderFollower
from surefoot.sets import Box
from surefoot.sets.oracles import gauge_of, prox_of

BOX = Box([-1.0, -1.0], [1.0, 1.0])
DOMAINS = {
    "grid": Choices(-1.0, [1.0, 1.0], step=0.125),
    "off or": Choices([0.125, 0.125], 1.0, step=0.0625, off=True),
}
PLAYED = (
    "LeaderFollower",
    "LeaderFollower.default",
    "LeaderFollower.unknown",
    "ValuesFollower",
    "ValuesFollower.default",
    "ValuesFollower.unknown",
    "RegionFilter.unknown",
    "RegionFilter.default",
    "RegionFilter 0",
    "CertifiedOGD 2",
    "CertifiedDualAveraging 2",
    "MovingBalls 2",
)
SLOPE = np.array([0.6, 0.8])
BASE = LeaderFollower(G_g=1.0, domain=BOX)
ROWS = (LipschitzHull(G_g=1.0, reach=1.5),)
KNOWN = [
    lambda d: LipschitzHull(G_g=1.0, domain=d),
    lambda d: EstimatedHull(domain=d),
    lambda d: Curvature(beta=0.0, domain=d),
    lambda d: CurvatureRows(beta=0.0, rows=1, domain=d),
    lambda d: RelativeCurvature(L_0=0.0, L_1=1.0, domain=d),
    lambda d: HullOfLog(points=[[0.0, 0.0], [0.25, 0.25]], values=[-0.5, -0.15], domain=d),
    lambda d: Together(rows=ROWS, domain=d),
]
"""Kinds of knowledge for rules that take one."""
VALUES: dict[str, Any] = {
    "base": BASE,
    "constants": Constants(
        R=2.0,
        F=6.0,
        G_f=3.0,
        G_g=1.0,
        D_g=3.0,
        sigma=0.5,
        epsilon=0.5,
        start_slack=0.5,
        beta=1.0,
        rows=1,
        strong_convexity=1.0,
        cost_bound=3.0,
    ),
    "horizon": 1000,
    "gauge": gauge_of(BOX),
    "prox": prox_of(BOX),
    "mixing": [[1.0]],
    "separation": None,
    "smooth": None,
    "experts": None,
    "change": 1.0,
    "drift": 0.01,
    "G_g": 1.0,
}
"""The values of parameters that their form does not give; None where no rule gets that far."""
FORMS = {"number": 0.25, "whole": 2, "word": None, "switch": False}


def rules():
    """Return every rule that is public, by its name."""
    every = ((name, getattr(surefoot.rules, name)) for name in dir(surefoot.rules))
    return {n: k for n, k in every if isinstance(k, type) and issubclass(k, Algorithm)}


def makers():
    """Yield a name and a function of a domain, for every constructor that takes one."""
    for name, kind in rules().items():
        declared = parameters_of(kind)
        if "knowledge" in declared:
            for i, known in enumerate(KNOWN):
                yield f"{name} {i}", lambda d, k=kind, known=known: make(k, k, knowledge=known(d))
        if "domain" in declared:
            yield name, lambda d, k=kind: make(k, k, domain=d)
        for tuning in kind.constructors:
            constructor = getattr(kind, tuning)
            if "domain" in inspect.signature(constructor).parameters:
                yield f"{name}.{tuning}", lambda d, k=kind, c=constructor: make(k, c, domain=d)


def make(kind, constructor, **given):
    """Return a rule with a value for every parameter that is required."""
    declared = parameters_of(kind) | parameters_of(constructor)
    for name, one in inspect.signature(constructor).parameters.items():
        is_missing = one.default is one.empty and one.kind is not one.VAR_KEYWORD
        if is_missing and name not in given:
            is_listed = name in VALUES
            given[name] = VALUES[name] if is_listed else FORMS[declared[name].form]
    built = constructor(**given)
    return getattr(built, "algorithm", built)


def play(rule, domain, rounds=12):
    """Play against the limit 0.6 x + 0.8 y <= 0.5, wanting all of it; return the last action."""
    live, needs = Controller(rule, np.zeros(2), on_contradiction="record"), needs_of(rule)
    known, outside = find_knowledge(rule), 0
    for _ in range(rounds):
        x = live.ask()
        assert domain.contains(x)
        outside += float(SLOPE @ x) - 0.5 > 0
        told: dict[str, Any] = {"constraint_value": float(SLOPE @ x) - 0.5}
        slope = SLOPE
        if needs.separately:
            told["constraint_value"], slope = np.array([float(SLOPE @ x) - 0.5]), SLOPE[None]
        if needs.constraint_subgradients:
            told["constraint_subgradient"] = slope
        told |= {"cost_gradient": [-1.0, -1.0]} if needs.cost_gradients else {}
        told |= {"proposal": [2.0, 2.0]} if needs.proposals else {}
        live.tell(**told)
    # Only a constant that is learnt costs violations, which are counted.
    is_learnt = known.kind == "few violations"
    assert outside == (known.estimate(live.state.memory).outside if is_learnt else 0)
    return live.ask()


MAKERS = dict(makers())


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", MAKERS)
def test_every_rule_plays_choices_or_refuses_them_in_a_sentence(name, domain):
    choices, sentence, rule = DOMAINS[domain], "", None
    try:
        rule = MAKERS[name](choices)
    except SurefootError as error:
        sentence = str(error)
    if rule is None:
        assert name not in PLAYED
        assert "\n" not in sentence
        assert "must be" in sentence or " needs " in sentence
    else:
        assert isinstance(rule.domain, Choices)
        assert play(rule, choices).sum() > 0.2


def test_what_is_listed_is_made():
    assert set(PLAYED) <= MAKERS.keys()
    assert {"CertifiedPFS", "SafetyFilter", "OGD", "FrankWolfe"} <= MAKERS.keys()
