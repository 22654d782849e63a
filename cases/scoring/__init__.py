r"""Fair scoring under audit: the census income data, and limits on what a score says of groups.

A linear score :math:`a^\top x` of a person is learned by logistic loss, one person per round, and
every model that is learned is also served. An auditor holds the covariance of the score with sex,
and with race, over an audit batch of people to a limit: :math:`|c_i^\top x| \le \tau`, two affine
rows each. The auditor tells value and slope of each row for the model that is served, and not the
batch. Sex and race are not among the features, but are known from others (husband, wife).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cases.files import load
from surefoot.core import checks
from surefoot.core.types import Array
from surefoot.problems.constraints import Affine, QuadraticForm, max_of
from surefoot.problems.costs import Logistic
from surefoot.problems.problem import Problem
from surefoot.problems.ready import Draws
from surefoot.sets import Ball

__all__ = ["People", "census_people", "fair_scoring"]

AUDITED = 5_000
"""People of the audit batch; the others are those who are scored."""


class People(NamedTuple):
    """Features of people, scaled to norm 1, and what they say.

    Attributes:
        features: ``(n, d)``; the last is constant.
        classes: 1 for an income above 50,000 dollars, else -1.
        groups: 1 or 0 for men and for whites, ``(n, 2)``.
    """

    features: Array
    classes: Array
    groups: Array

    def covariances(self) -> Array:
        """Return the rows c whose product with x is the covariance of score and group."""
        return (self.groups - self.groups.mean(axis=0)).T @ self.features / len(self.features)


def census_people() -> tuple[People, People]:
    """Return the audit batch and the people who are scored.

    Example:
        >>> audit, scored = census_people()
        >>> audit.features.shape, scored.features.shape, audit.groups.mean(axis=0).round(2)
        ((5000, 40), (15000, 40), array([0.68, 0.86]))
    """
    data = load("adult")
    columns = [np.ones(len(data["age"]))]
    for name, scale in (
        ("age", 40.0),
        ("education_num", 10.0),
        ("hours_per_week", 40.0),
        ("capital_gain", 10_000.0),
        ("capital_loss", 2_000.0),
    ):
        columns.append(data[name] / scale)
    for kind in ("workclass", "marital_status", "occupation", "relationship"):
        columns += list(np.eye(len(data[f"{kind}_names"]))[data[kind]].T)
    features = np.stack(columns[1:] + columns[:1], axis=1)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    classes = np.where(data["rich"] == 1, 1.0, -1.0)
    groups = [
        data[kind] == data[f"{kind}_names"].tolist().index(name)
        for kind, name in (("sex", "Male"), ("race", "White"))
    ]
    both = np.stack(groups, axis=1).astype(np.float64)
    audit = People(features[:AUDITED], classes[:AUDITED], both[:AUDITED])
    return audit, People(features[AUDITED:], classes[AUDITED:], both[AUDITED:])


def fair_scoring(
    tolerance: float = 0.01,
    *,
    horizon: int,
    trials: int | None = None,
    streams: int | None = None,
    radius: float = 20.0,
) -> Problem:
    r"""Return scoring under audit: :math:`|c_i^\top x| \le \tau`, :math:`\|x\| \le R`.

    Args:
        tolerance: :math:`\tau`, the largest covariance of the score with a group.
        horizon: people, drawn from those who are scored.
        trials: runs, with people of their own.
        streams: seed of the draws.
        radius: R.

    Example:
        >>> p = fair_scoring(horizon=50)
        >>> p.costs.dimension, p.constraint.rows, float(p.constraint.value(p.start))
        (40, 5, -0.01)
    """
    checks.positive(tolerance=tolerance, radius=radius)
    audit, scored = census_people()

    def draw(source: Any, lead: tuple[int, ...]) -> Any:
        return source.integers(len(scored.classes), size=lead)

    who = Draws(horizon, trials, streams).draw(draw).astype(np.int64)
    rows = audit.covariances()
    d = rows.shape[1]
    limits = np.full(4, float(tolerance))
    return Problem.of(
        Logistic(scored.features[who], scored.classes[who]),
        max_of(
            Affine(np.concatenate([rows, -rows]), limits),
            QuadraticForm(np.eye(d) / radius, np.zeros(d), 0.5 * radius),
        ),
        Ball(radius),
        np.zeros(d),
        G_f=1.0,
        name="fair scoring",
    )
