"""The journal of a pump, written by hand: each number follows from its file on paper.

The pressure is at least 2.5 bar, 0.5 bar more at the start of 50 Hz, and 0.12 bar less per Hz at
most; the meter errs by 0.02 bar. So s = 0.5, a = 1/4 (0.24 is below it), G = 0.12/(0.5 x 0.25) =
0.96, e = 0.04 and g = -1 at the start, z = 12.5. A pressure of 3.1 bar is g = -1.2, and 1.16/0.96
further down is certified, which is 4.83 Hz.
"""

import copy
from fractions import Fraction

import pytest

from surefoot.controller.check import check
from surefoot.controller.journal import seal

LITTLE = 2.0**-30
G, E, EVALUATION = 0.12 / 0.125, 0.04, 2.0**-43 * 3.0 / 0.5
START = 12.5
DESCRIPTION = {
    "actuator": [{"name": "speed", "range": [25.0, 50.0], "start": 50.0, "unit": "Hz"}],
    "limit": [
        {
            "at_least": 2.5,
            "meter_error": {"origin": "given", "value": 0.02},
            "name": "pressure",
            "start_margin": {"origin": "given", "value": 0.5},
            "steepness": {"speed": {"origin": "estimated", "value": 0.12}},
            "unit": "bar",
        }
    ],
    "policy": {"on_contradiction": "recover", "on_missing": "hold", "recoveries": 3},
    "role": "filter",
    "round": 1.0,
    "slopes": False,
    "surefoot": 1,
}


def played(factor=1.0, left=3):
    """Return what is played: the player, its start, its policies and its plant."""
    errors = {"class": "Errors", "value": E, "slope": 0.0, "drift": 0.0, "evaluation": EVALUATION}
    known = {
        "class": "LipschitzHull",
        "errors": errors,
        "convex": True,
        "domain": {"class": "Box", "lower": [6.25], "upper": [12.5]},
        "G_g": factor * G,
        "reach": 12.5,
        "start_bound": -1.0,
    }
    return {
        "player": {"class": "Certified", "proposer": None, "knowledge": known, "ramp": None},
        "guarantee": None,
        "start": [START],
        "on_contradiction": "retreat",
        "on_missing": "hold",
        "plant": {"description": copy.deepcopy(DESCRIPTION), "factor": factor, "left": left},
    }


def state(t):
    return {"round": t, "state": {"x": [START], "memory": {"context": None}}, "halt": None}


def excess(pressure):
    """Return g of a pressure."""
    return (2.5 - pressure) / 0.5


def level(pressure, factor=1.0):
    """Return what g is at most, by the reading of a pressure."""
    unit = Fraction(12.5) * Fraction(factor * G) / 2**53
    noise = max(80 * unit, Fraction(EVALUATION) + 8 * unit)
    return Fraction(excess(pressure)) + Fraction(E) + noise


def room(pressure, factor=1.0):
    """Return how far the next action may be."""
    return -level(pressure, factor) / Fraction(factor * G)


def step(t, pressure, p, factor=1.0):
    """Return a round in which a ball around the start certifies the next action."""
    far = START - p
    hull = {
        "class": "HullCertificate",
        "round": t,
        "anchor_round": 1,  # of its own piece
        "anchor_value": float(level(pressure, factor)),
        "value": float(level(pressure, factor)),
        "share": 1.0,
        "distance": far,
        "room": far,
        "bound": min(float(level(pressure, factor)) + factor * G * far, 0.0),
        "G_g": factor * G,
        "cut": True,
        "errors": played()["player"]["knowledge"]["errors"],
    }
    return {
        "kind": "round",
        "round": t,
        "time": "",
        "constraint_value": excess(pressure),
        "proposal": [0.0],
        "readings": [pressure],
        "next": [p],
        "certificate": hull,
    }


def to_start(t, pressure):
    """Return a round whose reading contradicts its certificate, and which goes to the start."""
    breach = {"class": "Breach", "round": t, "constant": "constants", "sentence": "no"}
    return {
        "kind": "round",
        "round": t,
        "time": "",
        "constraint_value": excess(pressure),
        "proposal": [0.0],
        "readings": [pressure],
        "how": "retreated",
        "why": {"causes": [], "policy": "retreat"},
        "breaches": [breach | {"affects": "both"}],
        "next": [START],
        "certificate": way(t),
    }


def way(t):
    return {
        "class": "ReturnPath",
        "round": t,
        "how": "retreated",
        "reason": "no",
        "share": 1.0,
        "anchor_round": 0,
        "slack": 1.0,
        "drift": 0.0,
        "bound": -1.0,
        "cut": False,
    }


def recovery(t, factor=2.0):
    return {
        "kind": "amend",
        "round": t,
        "time": "",
        "by": "recovery 1 of 3",
        "reason": "no",
        "changes": [["factor", 1.0, factor]],
        "fresh": True,
        **played(factor, 2),
        "loop": state(t),
        "next": [START],
        "certificate": way(t - 1),
    }


def judge(path, lines):
    head = {"kind": "journal", "format": 2, **played(), "loop": state(1)}
    digest, data = "", b""
    for line in (head, *lines):
        text, digest = seal(digest, line)
        data += text
    path.write_bytes(data)
    return check(str(path))


def inside(pressure, factor=1.0, by=0.0):
    """Return the lowest action that is certified, moved by a little."""
    least = float(START - room(pressure, factor))
    while START - Fraction(least) > room(pressure, factor):  # rounded the other way
        least += 2.0**-50
    return least + by


def test_the_first_step_is_as_far_as_the_margin_over_the_steepness(tmp_path):
    p = inside(3.1)
    assert (START - p) / 0.25 == pytest.approx(0.58 / 0.12, rel=1e-9)  # in Hz
    report = judge(tmp_path / "run", [step(1, 3.1, p)])
    assert report.said == ["certified given 1 estimate: 0 of 1 rounds; the first is the start"]
    report = judge(tmp_path / "run", [step(1, 3.1, inside(3.1, by=-LITTLE))])
    assert report.said[0].startswith("NOT CERTIFIED: round 2: its action is not certified")


def test_a_recovery_halves_the_step(tmp_path):
    lines = [step(1, 3.1, inside(3.1)), to_start(2, 2.4), recovery(3)]
    p = inside(3.1, factor=2.0)
    assert (START - p) / 0.25 == pytest.approx(0.58 / 0.24, rel=1e-9)
    report = judge(tmp_path / "run", [*lines, step(3, 3.1, p, factor=2.0)])
    assert report.code == 0, report.said
    words = "certified given the constants of each piece, with 1 estimate: 2 of 3 rounds"
    assert report.said[0].startswith(words)
    assert report.events == (
        "order: round 2: halted by a contradiction",
        "order: round 3: amended by recovery 1 of 3, reason: no: factor 1.0 -> 2.0; 1 certified "
        "before, 1 since",
        "refuted: round 2 refuted the constants in use from round 1 on",
    )
    further = inside(3.1, factor=2.0, by=-LITTLE)
    report = judge(tmp_path / "run", [*lines, step(3, 3.1, further, factor=2.0)])
    assert report.said[0].startswith("NOT CERTIFIED: round 4: its action is not certified")


def test_a_pressure_that_rounding_or_the_meter_explains_refutes_nothing(tmp_path):
    first = step(1, 3.1, inside(3.1))
    # 2.48 bar is as much below the limit as the meter errs; 2.47 bar is more.
    for pressure, is_said in ((2.48, False), (2.47, True)):
        hidden = to_start(2, pressure) | {"breaches": []}
        hidden["why"] = {"policy": "retreat", "causes": ["noise"]}
        report = judge(tmp_path / "run", [first, hidden])
        assert report.is_right is not is_said, report.said
        report = judge(tmp_path / "run", [first, to_start(2, pressure)])
        assert report.is_right
        assert any(words.startswith("refuted") for words in report.events) is is_said


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda line: line["changes"][0].__setitem__(2, 4.0), "says other changes than"),
        (lambda line: line["plant"].update(factor=1.9), "says other changes than"),
        (lambda line: line.update(recovery(3, factor=1.5)), "at least double the factor"),
        (lambda line: line["player"]["knowledge"].update(G_g=G), "G_g of pressure is 0.96"),
        (lambda line: line["player"]["knowledge"].update(start_bound=-1.01), "start_bound of pre"),
        (lambda line: line.update(start=[12.0]), "the start of a player is not that of its plant"),
        (lambda line: line.update(next=[12.0]), "must begin at the start of its plant"),
        (lambda line: line.update(by="recovery 2 of 3"), "has another number than it is"),
        (lambda line: line["plant"].update(left=3), "must use one of those that are left"),
    ],
)
def test_a_recovery_that_is_none_is_found(edit, words, tmp_path):
    line = recovery(3)
    edit(line)
    lines = [step(1, 3.1, inside(3.1)), to_start(2, 2.4), line]
    assert words in judge(tmp_path / "run", lines).said[0]


def test_a_recovery_comes_after_a_contradiction(tmp_path):
    hold = {"kind": "hold", "round": 2, "time": "", "reason": "no"}
    stay = step(1, 3.1, START)
    held = hold | {"next": [START], "certificate": way(1)}
    report = judge(tmp_path / "run", [stay, held, recovery(2)])
    assert "a recovery is not due: nothing was contradicted" in report.said[0]
    first = step(1, 3.1, inside(3.1))
    ordered = hold | {"round": 3, "next": [START], "certificate": way(2)}
    report = judge(tmp_path / "run", [first, to_start(2, 2.4), ordered, recovery(3)])
    assert "a recovery is not due: an operator's order stands" in report.said[0]
