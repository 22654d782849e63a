"""Journals of several limits: every row is judged, and no field of a row's part may be another."""

import copy
import json

import numpy as np
import pytest

from surefoot.controller import Controller, StoreError, replay
from surefoot.controller.check import check
from surefoot.knowledge import Column, ContextHull, Curvature, Errors, LipschitzHull, Together
from surefoot.rules import RegionFilter
from surefoot.sets import Box

from ._lines import forge, records

BOX = Box([-3.0, -3.0], [3.0, 3.0])
# 3 x + y <= 1 in one unit, x - 2 y <= 2 in another, and 0.01 |x|^2 / 2 <= 0.02 in a third.
SLOPES = np.array([[3.0, 1.0], [0.5, -1.0]])
MOST = np.array([1.0, 1.0])


def read(x, shift=0.0):
    """Return the values and the slopes of three limits."""
    values = [*(SLOPES @ x - MOST + shift * np.array([1.0, 0.5])), 0.005 * float(x @ x) - 0.02]
    return values, np.vstack([SLOPES, 0.01 * x])


def mixed(drift=0.0):
    errors = [Errors(value=size, drift=drift * size) for size in (0.02, 0.01, 0.001)]
    hulls = (
        LipschitzHull(G_g=3.2, reach=5.0, errors=errors[0]),
        LipschitzHull(G_g=1.2, reach=5.0, errors=errors[1]),
    )
    return Together(rows=(*hulls, Curvature(beta=0.01, reach=5.0, errors=errors[2])), domain=BOX)


def in_contexts(drift=0.0):
    rows = [
        ContextHull(
            G_g=G_g,
            reach=5.0,
            context=Column(adds=adds),
            start_bound=bound,
            errors=Errors(drift=drift * adds),
        )
        for G_g, adds, bound in ((3.2, 1.0, -0.6), (1.2, 0.5, -0.7))
    ]
    return Together(rows=tuple(rows), domain=BOX)


def played(path, knowledge, rounds=14, gap=9):
    """The journal of a filter that is asked for points beyond the limits."""
    shifts = 0.2 * np.sin(np.arange(rounds + 1))
    told = {"context": shifts[0]} if knowledge.in_contexts else {}
    player = RegionFilter(knowledge=knowledge)
    with Controller(player, [0.0, 0.0], journal=path, **told) as controller:
        for t in range(rounds):
            x, far = controller.ask(), 2.0 * np.array([np.cos(0.9 * t), np.sin(0.9 * t)])
            values, slopes = read(x, shifts[t] if told else 0.0)
            if told:
                values, slopes, told = values[:2], slopes[:2], {"context": shifts[t + 1]}
            more = {"missing": True} if t == gap else {"constraint_value": values}
            if t != gap:
                more |= {"constraint_subgradient": slopes, "proposal": far}
            controller.tell(**more, **told)
    return path


JOURNALS = {
    "fixed": mixed,
    "drift": lambda: mixed(0.01),
    "contexts": in_contexts,
    "contexts and drift": lambda: in_contexts(0.01),
}


@pytest.fixture(scope="module")
def journals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    # Under drift a round without a measurement leads back, between points of a curved row.
    return {
        name: played(folder / f"run{i}", make(), gap=None if name == "drift" else 9)
        for i, (name, make) in enumerate(JOURNALS.items())
    }


@pytest.mark.parametrize("name", JOURNALS)
def test_every_row_of_every_round_is_certified_and_replays(name, journals):
    path = journals[name]
    report = check(str(path))
    assert report.said == ["certified: 13 of 14 rounds; the first is the start"]
    assert replay(path).is_same
    parts = [r["certificate"]["rows"]["tuple"] for r in records(path) if has_rows(r)]
    assert len(parts) >= 12
    tightest = {int(np.argmax([part["bound"] for part in each])) for each in parts}
    assert len(tightest) >= 2  # another row is near in another round


def has_rows(record):
    return (record.get("certificate") or {}).get("class") == "TogetherCertificate"


def test_a_journal_of_rows_is_as_long_as_its_parts(journals):
    whole = sum(
        len(json.dumps(r["certificate"])) for r in records(journals["fixed"]) if has_rows(r)
    )
    parts = sum(
        len(json.dumps(part))
        for r in records(journals["fixed"])
        if has_rows(r)
        for part in r["certificate"]["rows"]["tuple"]
    )
    assert whole < 1.15 * parts


def forged(journals, name, tmp_path, edit):
    path = tmp_path / "forged"
    path.write_bytes(journals[name].read_bytes())
    forge(path, edit)
    return check(str(path))


def at(found, t):
    (record,) = (r for r in found if r["kind"] == "round" and r["round"] == t)
    return record


def part(found, row, t=6):
    return at(found, t)["certificate"]["rows"]["tuple"][row]


CHANGES = {
    "HullCertificate": {
        "anchor_round": 40,
        "anchor_value": 9.0,
        "value": 9.0,
        "share": 0.01,
        "bound": -0.01,
        "G_g": 0.1,
    },
    "CurvatureCertificate": {
        "value": 0.1,
        "slope": 0.01,
        "length": 0.01,
        "beta": 0.001,
        "bound": -0.0005,
    },
    "ContextCertificate": {"level": 9.0, "bound": -0.01, "G_g": 0.1},
}
"""By how much each number is changed from which a row is computed again."""


@pytest.mark.parametrize("name", JOURNALS)
def test_every_number_of_every_row_is_that_of_the_row(name, journals, tmp_path):
    found = 0
    for row, own in enumerate(part(records(journals[name]), i) for i in range(3 - ("c" in name))):
        for field, by in CHANGES[own["class"]].items():
            if own["class"] == "HullCertificate" and field == "share" and _is_flat(own):
                continue

            def edit(lines, row=row, field=field, by=by):
                part(lines, row)[field] += by

            report = forged(journals, name, tmp_path, edit)
            assert not report.is_right, (row, field)
            assert report.said[0].startswith("NOT CERTIFIED: round 7: "), (row, field)
            found += 1
        for error in ("value", "slope", "drift"):

            def edit(lines, row=row, error=error):
                part(lines, row)["errors"][error] = 0.5

            report = forged(journals, name, tmp_path, edit)
            assert "other errors than the player or its round" in report.said[0], (row, error)
            assert f"row {row}" in report.said[0]
    assert found >= 6


def _is_flat(own):
    """Whether the last action is the anchor: then every share is the same ball."""
    return own["anchor_value"] == own["value"]


def drop(found):
    at(found, 6)["certificate"]["rows"]["tuple"].pop()


def swap(found):
    rows = at(found, 6)["certificate"]["rows"]["tuple"]
    rows[0], rows[1] = rows[1], rows[0]


def twice(found):
    at(found, 6)["certificate"]["rows"]["tuple"].append(copy.deepcopy(part(found, 0)))


def of_player(row, **changes):
    def edit(found):
        known = found[0]["player"]["knowledge"]["rows"]["tuple"][row]
        for name, value in changes.items():
            where = known["errors"] if name in known["errors"] else known
            where[name] = value

    return edit


def column(found):
    rows = found[0]["player"]["knowledge"]["rows"]["tuple"]
    rows[1]["context"]["columns"]["tuple"][0]["adds"] = 0.1


def reading(row, value):
    def edit(found):
        at(found, 6)["constraint_value"][row] = value

    return edit


FORGERIES = {
    "a bound that is not the largest": (
        "fixed",
        lambda found: at(found, 6)["certificate"].update(bound=-9.0),
        "the bound of its certificate is not the largest of its rows",
    ),
    "a row too few": ("fixed", drop, "its certificate must have 3 rows, got 2"),
    "a row too many": ("fixed", twice, "its certificate must have 3 rows, got 4"),
    "rows in another order": ("fixed", swap, "row 0: "),
    "rows that are no tables": (
        "fixed",
        lambda found: at(found, 6)["certificate"].update(rows=[1, 2, 3]),
        "the rows of its certificate must be tables",
    ),
    "another key": (
        "fixed",
        lambda found: at(found, 6)["certificate"].update(margin=1.0),
        "its certificate must have rows and a bound, and nothing else",
    ),
    "a smaller G_g": ("fixed", of_player(1, G_g=1.0), "row 1: "),
    "a smaller beta": ("fixed", of_player(2, beta=0.001), "row 2: "),
    "a smaller error": ("fixed", of_player(1, value=0.001), ""),
    "a smaller drift": ("drift", of_player(0, drift=0.0), ""),
    "another column": ("contexts", column, ""),
    "a worse reading of the first": ("fixed", reading(0, 0.05), ""),
    "a worse reading of the last": ("fixed", reading(2, 0.005), ""),
    "values of two rows": (
        "fixed",
        lambda found: at(found, 6)["constraint_value"].pop(),
        "constraint_value must have an entry per row",
    ),
    "a player without rows": (
        "fixed",
        lambda found: found[0]["player"]["knowledge"]["rows"]["tuple"].clear(),
        "must be from 1 to 1000, got 0",
    ),
    "a row of two constraints": (
        "fixed",
        lambda found: found[0]["player"]["knowledge"]["rows"]["tuple"][2].update(
            {"class": "CurvatureRows", "rows": 2}
        ),
        "the rows of a player must be one constraint each",
    ),
    "a step further out": (
        "fixed",
        lambda found: at(found, 6).update(next=[v * 1.001 for v in at(found, 6)["next"]]),
        "",
    ),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_every_forgery_of_rows_is_found(what, journals, tmp_path):
    name, edit, sentence = FORGERIES[what]
    report = forged(journals, name, tmp_path, edit)
    assert not report.is_right, report.said
    assert sentence in report.said[0], report.said[0]


def test_a_row_of_a_kind_that_is_not_known_leaves_all_unchecked(journals, tmp_path):
    def edit(found):
        found[0]["player"]["knowledge"]["rows"]["tuple"][1]["class"] = "Mine"

    report = forged(journals, "fixed", tmp_path, edit)
    assert report.code == 3
    assert report.said[0].startswith("certified: 0 of 14")


def test_a_part_that_is_not_known_leaves_its_round_unchecked(journals, tmp_path):
    def edit(found):
        part(found, 0)["class"] = "PointCertificate"

    report = forged(journals, "fixed", tmp_path, edit)
    assert report.said[1] == "not checked: round 7: row 0: the PointCertificate is not judged"


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda memory: memory["rows"]["tuple"].pop(), "memory.rows"),
        (lambda memory: memory["rows"]["tuple"].reverse(), "memory.rows"),
        (lambda memory: memory.update(start=[0.0]), "memory.start"),
        (lambda memory: memory.update(start=None), "memory.start"),
        (lambda memory: memory["rows"]["tuple"][0]["last"].update(value="low"), "last.value"),
    ],
)
def test_a_forged_state_of_rows_is_not_gone_on_with(tmp_path, edit, sentence):
    path = played(tmp_path / "run", mixed())
    forge(path, lambda found: edit(found[0]["loop"]["state"]["memory"]))
    with pytest.raises(StoreError, match=sentence):
        Controller.open(path)


def test_a_resume_of_rows_goes_on_and_is_certified(tmp_path):
    path = played(tmp_path / "run", mixed(), 6)
    with Controller.open(path) as controller:
        controller.hold("a look")
        x = controller.ask()
        values, slopes = read(x)
        controller.tell(constraint_value=values, constraint_subgradient=slopes, proposal=x)
        controller.resume()
        values, slopes = read(controller.ask())
        controller.tell(constraint_value=values, constraint_subgradient=slopes, proposal=x + 1.0)
        words = str(controller.explain())
    assert "(this is limit " in words
    assert "the other 2 will be at most" in words
    assert check(str(path)).said[0] == "certified: 7 of 8 rounds; the first is the start"
