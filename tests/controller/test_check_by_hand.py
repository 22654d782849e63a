"""The checker against journals written by hand: what is just inside is certified, and no more.

Each journal puts one inequality of the module's table at its edge, with constants that are all
different and points away from 0. A little more, and it must be refused.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from surefoot.controller.check import check, following
from surefoot.controller.check.average import Average
from surefoot.controller.check.context import Contexts
from surefoot.controller.check.curvature import Curved
from surefoot.controller.check.exact import root_up
from surefoot.controller.check.hull import Hull
from surefoot.controller.check.length import Length
from surefoot.controller.check.log import Log
from surefoot.controller.check.together import Together
from surefoot.controller.journal import seal

V, NU, NOISE, TAU = 2.0**-8, 2.0**-6, 2.0**-10, 2.0**-5
UP = NU + NOISE  # what a reading is at most too low by
LITTLE = 2.0**-30
X1 = [1.0, -0.5]


CLASSES = {
    "hull": ("LipschitzHull", {"G_g": 2.0, "reach": 4.0, "start_bound": None}),
    "length": ("CertifiedLength", {"G_g": 2.0, "rho": 0.25, "decreasing": True, "sigma": None}),
    "rows": ("CurvatureRows", {"reach": 4.0}),
    "relative": ("RelativeCurvature", {"reach": 4.0}),
    "log": ("HullOfLog", {"G_g": 2.0}),
}
HULL = CLASSES["hull"][1]
CLASSES |= {"average": ("AverageLimit", HULL | {"credit": 0.0}), "context": ("ContextHull", HULL)}
CLASSES |= {"other": ("Certainty", {}), "together": ("Together", {})}


@pytest.fixture(autouse=True)
def of_no_numbers(monkeypatch):
    """Certificates here have hints alone; the numbers that they state are another test's."""
    for kind in (Average, Contexts, Curved, Hull, Length, Log, Together):
        monkeypatch.setattr(kind, "confirm", lambda *_: None)
    monkeypatch.setattr(following, "confirm_way", lambda *_: None)
    monkeypatch.setattr(following.Follower, "_confirm_errors", lambda *_: None)


def head(kind, start=X1, nu=NU, tau=0.0, v=0.0, noise=NOISE, ramp=None, place=None, **facts):
    errors = {"class": "Errors", "value": nu, "slope": tau, "drift": v, "evaluation": noise}
    name, fields = CLASSES[kind]
    known = {"class": name, "errors": errors, "convex": True, "domain": None} | fields | facts
    player = {"class": "Certified", "proposer": None, "knowledge": known, "ramp": ramp}
    context = None if place is None else {"place": place}
    state = {"x": start, "memory": {"context": context}}
    loop = {"round": 1, "state": state, "halt": None}
    more = {"player": player, "guarantee": None, "start": start, "loop": loop}
    return {"kind": "journal", "format": 2} | more


def played(t, g, then, why=None, s=None, **more):
    record = {"kind": "round", "round": t, "constraint_value": g, "constraint_subgradient": s}
    return record | {"next": then, "certificate": why} | more


def hull(anchor, share):
    return {"class": "HullCertificate", "anchor_round": anchor, "share": share}


def right(by):
    """X1, so much further to the right."""
    return [X1[0] + by, X1[1]]


def ball(by):
    return [
        head("hull", tau={"number": "inf"}, v=V),
        played(1, by - 2 * 0.25 - UP - V, right(0.25), hull(1, 1.0)),
    ]


def two_balls(by):
    # In the middle between an anchor of two rounds ago and the last, 1/8 beside it.
    first, there = -0.28125, right(0.125)
    second = by - 2 * (2 * 0.125 + UP) - 3 * V - first
    p = [X1[0] + 0.0625, X1[1] + 0.125]
    return [
        head("hull", v=V),
        played(1, first, there, hull(1, 1.0)),
        played(2, second, p, hull(1, 0.5)),
    ]


def last_ball(by):
    # More is known of the start for ever, and nothing of what is elsewhere.
    there, then = right(0.125), right(0.375)
    return [
        head("hull", v=V, start_bound=-0.703125),
        played(1, -0.75, there, hull(1, 1.0)),
        played(2, by - 2 * 0.25 - UP - V, then, hull(1, 1.0)),
    ]


def start_for_ever(by):
    away = right(0.0625)
    return [
        head("hull", v=0.25, start_bound=by - 2 * 0.25),
        played(1, -0.75, away, hull(1, 1.0)),
        played(2, None, right(0.03125), hull(1, 0.0)),
        played(3, None, right(0.25), hull(1, 0.0)),
    ]


def stay(by):
    return [
        head("hull", v=V),
        played(1, by - UP - 2 * V, X1),
        played(2, None, X1),
    ]


def stay_of_rows(by):
    known = head("rows", v=V, beta=[0.5, 0.25], rows=2)
    s = [[1.0, 0.0], [0.0, 1.0]]
    return [known, played(1, [-1.0, by - UP - V], X1, s=s)]


def average(by):
    # The first round leaves what it was below 0 as it was read, for the next g.
    known = head("average", nu=0.0, most=2.0)
    why = {"class": "AverageCertificate", "hull": hull(1, 1.0)}
    return [known, played(1, 0.5 * (by - 2 * 0.25 - NOISE), right(0.25), why, [1.0, 0.0])]


def average_unread(by):
    # A round that nobody read counts as what was proved of it.
    known = head("average", nu=0.0, most=2.0)
    why, g = {"class": "AverageCertificate", "hull": hull(1, 1.0)}, -1.0
    proved = g + NOISE + 2 * 0.125
    left = -(g + proved)
    return [
        known,
        played(1, g, right(0.125), why, [1.0, 0.0]),
        played(2, None, right((left - g - NOISE + by) / 2), why),
    ]


def curved(row):
    def edge(by):
        known = head("rows", tau=TAU, v=V, beta=[0.5, 0.25], rows=2)
        step, s = 0.25, [[0.5, 7.0], [1.5, -3.0]]
        rise = [0.5 * step + 0.25 * step**2, 1.5 * step + 0.125 * step**2]
        g = [-rise[i] - TAU * step - UP - V - (1.0 if i != row else -by) for i in (0, 1)]
        return [known, played(1, g, right(step), {"class": "CurvatureCertificate"}, s)]

    return edge


def knowledge(kind, **facts):
    """What a row knows, as a journal has it."""
    return head(kind, **facts)["player"]["knowledge"]


def parts(*each):
    """The certificate of several rows."""
    return {"class": "TogetherCertificate", "round": 1, "bound": 0.0, "cut": False} | {
        "rows": {"tuple": list(each)}
    }


def together(row):
    # A hull and a curvature, each with its own errors and drift; one of them is at its edge.
    def edge(by):
        hull_row = knowledge("hull", v=V)
        curved_row = knowledge("rows", nu=2 * NU, tau=TAU, v=3 * V, noise=0.0)
        curved_row = curved_row | {"class": "Curvature", "beta": 0.5}
        known = head("together", nu=9.0, v=9.0, rows={"tuple": [hull_row, curved_row]})
        step, s = 0.25, [[7.0, 7.0], [0.5, 7.0]]
        low = [1.0 if i != row else -by for i in (0, 1)]
        g = [
            -2 * step - UP - V - low[0],
            -0.5 * step - TAU * step - 0.25 * step**2 - 2 * NU - 3 * V - low[1],
        ]
        why = parts(hull(1, 1.0), {"class": "CurvatureCertificate"})
        return [known, played(1, g, right(step), why, s)]

    return edge


def together_in_contexts(by):
    # Of three rows with columns of their own the second is at its edge, from the start for ever.
    each = [(None, 1.0), (by - 2 * 0.25, -2.0), (-1.0, 0.5)]
    rows = [
        knowledge("context", context=columns(column(adds)), start_bound=bound)
        for bound, adds in each
    ]
    known = head("together", place=[0.5], rows={"tuple": rows})
    first = {"class": "ContextCertificate", "rounds": {"tuple": [1]}, "weights": {"tuple": [1.0]}}
    always = first | {"rounds": {"tuple": [0]}}
    then, g = {"context": {"place": [0.375]}}, [-1.0, -2.0, -2.0]
    return [known, played(1, g, right(0.25), parts(first, always, always), **then)]


def relative(by):
    known = head("relative", tau=TAU, L_0=0.5, L_1=0.75)
    step, s = 0.25, [3.0, 4.0]
    beta = 2 * (math.e - 2) * (0.5 + 0.75 * (5.0 + TAU))
    g = by - UP - 3.0 * step - TAU * step - beta / 2 * step**2
    return [known, played(1, g, right(step), {"class": "CurvatureCertificate"}, s)]


def log(by):
    points, values = [[0.0, 0.0], [2.0, 0.0], [9.0, 9.0]], [-1.0, 0.25, 5.0]
    values[1] = by - 3 * (2 * 0.125 + UP) + 2.0
    more = {"points": points, "values": values}
    weights = {"tuple": [2.0, 1.0]}
    why = {"class": "LogCertificate", "points": {"tuple": [0, 1]}, "weights": weights}
    p = [2 / 3, 0.125]
    return [head("log", [0.0, 0.0], **more), played(1, 0.0, p, why)]


def column(adds=None, G_c=None, worse=None):
    return {"class": "Column", "adds": adds, "G_c": G_c, "worse": worse, "changes": None}


def columns(*each, joint=False):
    return {"class": "Columns", "columns": {"tuple": list(each)}, "joint": joint}


CONTEXTS = {
    "adds": columns(column(1.0)),
    "AnnouncedDrift": {"class": "AnnouncedDrift"},
    "up": columns(column(G_c=0.5, worse="up"), column(G_c=0.25, worse="up")),
    "down": columns(column(G_c=0.5, worse="down"), column(G_c=0.25, worse="down")),
    "both ways": columns(column(G_c=0.5), column(G_c=0.25)),
    "each its own": columns(column(-2.0), column(G_c=0.25, worse="up")),
    "joint": columns(column(G_c=0.5), joint=True),
}


def context(kind, before, now, rise):
    def edge(by):
        facts = {"context": CONTEXTS[kind], "place": before}
        why = {"class": "ContextCertificate", "rounds": {"tuple": [1]}, "weights": {"tuple": [3.0]}}
        g, then = by - UP - rise - 2 * 0.25, {"context": {"place": now}}
        return [head("context", **facts), played(1, g, right(0.25), why, **then)]

    return edge


def every_context(by):
    # Round 0 is what is known of the start, whatever the context.
    facts = {"context": CONTEXTS["adds"], "place": [0.5], "start_bound": by - 2 * 0.25}
    why = {"class": "ContextCertificate", "rounds": {"tuple": [0]}, "weights": {"tuple": [1.0]}}
    return [
        head("context", **facts),
        played(1, -0.75, right(0.25), why, context={"place": [5.0]}),
    ]


def joint(by):
    # Between two contexts and two actions, beside both.
    facts = {"context": CONTEXTS["joint"], "place": [1.0], "nu": 0.0}
    both = {"class": "ContextCertificate", "weights": {"tuple": [1.0, 1.0]}}
    one = {"class": "ContextCertificate", "weights": {"tuple": [1.0]}, "rounds": {"tuple": [1]}}
    g = -0.625
    second = by - g - 2 * (NOISE + 2 * 0.25 + 0.5 * 0.125)
    return [
        head("context", **facts),
        played(1, g, right(0.125), one, context={"place": [1.5]}),
        played(
            2,
            second,
            [X1[0] + 0.0625, X1[1] + 0.25],
            both | {"rounds": {"tuple": [1, 2]}},
            context={"place": [1.375]},
        ),
    ]


def return_path(by):
    # A quarter of the way from the action at hand, of which the last step proved a bound.
    there = right(0.125)
    proved = by  # the bound there in round 2, at most 0 before something was added to it
    g = proved - 2 * 0.125 - UP - V
    quarter = right(0.09375)
    why = {"class": "ReturnPath", "anchor_round": 1, "share": 0.25}
    here, anchor = g + UP + V + 2 * 0.125, g + UP + V
    beside = (0.75 * here + 0.25 * anchor) / -2  # what is left for the distance to the way
    return [
        head("hull", v=V),
        played(1, g - LITTLE, there, hull(1, 1.0)),
        {
            "kind": "retreat",
            "next": [quarter[0], quarter[1] + beside + by + LITTLE / 2],
            "certificate": why,
        },
    ]


def length(*steps, tau=0.0, error=0.0, noise=0.0):
    """Steps after the first of a certified length, by A, d, q and B of docs/lengths.md.

    Args:
        steps: the action, None for q of the step before; what is read there, its slope; the margin.
        tau: the error of the slopes.
        error: that of the values.
        noise: what they are computed with.
    """

    def edge(by):
        G, rho, up1 = 2.0, 0.25, -1.0 + error + noise
        domain = {"class": "Ball", "radius": 3.0, "centre": [0.25, 0.0]}
        told = {"domain": domain, "nu": error, "noise": noise, "tau": tau}
        found = [head("length", [0.0, 0.0], **told)]
        why = {"class": "StepCertificate", "rule": "contraction", "slack": 9.0}
        q, B, x, g, s = 0.0, (up1 + rho) / G, 0.0, -1.0, 1.0
        for step in steps:
            there = q if step[0] is None else step[0]
            found.append(played(len(found), g, [there, 0.0], why | {"rho": rho}, [s, 0.0]))
            before, (_, g, s, rho), x = rho, step, there
            up, low = g + error + noise, g - error - noise
            near = (up + rho) / (up - up1) * x
            A = min(near, max(abs(x - q) + B - (before - rho) / G, 0.0))
            over = low + rho - tau * A
            q, B = x - over / s, math.sqrt(A**2 - (over / s) ** 2)
        p = q + rho / G - B + by
        return [*found, played(len(found), g, [p, 0.0], why | {"rho": rho}, [s, 0.0])]

    return edge


def first_length(by):
    known = head("length", [0.5, 0.0], domain={"class": "Box", "lower": [-1, -1], "upper": [2, 2]})
    why = {"class": "StepCertificate", "rule": "slack", "rho": 0.125, "slack": 9.0}
    return [known, played(1, by - 2 * 0.25 - UP, [0.75, 0.0], why, [1.0, 0.0])]


def ramp(by):
    return [
        head("hull", ramp=0.25),
        played(1, -1.0, [X1[0] - 0.25 - by, X1[1]], hull(1, 1.0)),
    ]


def ramps(by):
    return [
        head("hull", ramp=[0.25, 0.125]),
        played(1, -1.0, [X1[0], X1[1] - 0.125 - by], hull(1, 1.0)),
    ]


def in_ball(by):
    domain = {"class": "Ball", "radius": 0.25, "centre": [1.0, -0.5]}
    return [head("hull", domain=domain), played(1, -1.0, right(-0.25 - by), hull(1, 1.0))]


EDGES = {
    "a ball": ball,
    "two balls": two_balls,
    "the last ball": last_ball,
    "a start that is known for ever": start_for_ever,
    "staying": stay,
    "staying, rows": stay_of_rows,
    "an average": average,
    "an average, not read": average_unread,
    "curved, the first row": curved(0),
    "curved, the second row": curved(1),
    "relative": relative,
    "a log": log,
    "additive": context("adds", [0.5], [0.75], 0.25),
    "additive, milder": context("adds", [0.5], [0.25], -0.25),
    "told drift": context("AnnouncedDrift", [0.5], [0.625], 0.125),
    "told drift, a sum that falls": context("AnnouncedDrift", [0.5], [0.375], 0.125),
    "the start in every context": every_context,
    "upwards": context("up", [1.0, 5.0], [4.0, 2.0], 0.5 * 3.0),
    "downwards": context("down", [1.0, 5.0], [4.0, 2.0], 0.25 * 3.0),
    "both ways": context("both ways", [1.0, 5.0], [4.0, 1.0], 0.5 * 3.0 + 0.25 * 4.0),
    "each its own": context("each its own", [1.0, 5.0], [0.5, 7.0], 2.0 * 0.5 + 0.25 * 2.0),
    "joint": joint,
    "together, the first": together(0),
    "together, the second": together(1),
    "together, in contexts": together_in_contexts,
    "the way back": return_path,
    "a first length": first_length,
    "a length": length((0.49, -0.125, 2.0, 0.25)),
    "two lengths": length((0.49, -0.125, 2.0, 0.25), (None, -0.1872, 4.0, 0.25)),
    "two lengths, less margin": length((0.49, -0.125, 2.0, 0.25), (None, -0.1872, 4.0, 0.2)),
    "a length, errors": length((0.48, -0.07, 4.0, 0.25), tau=0.5, error=0.01, noise=0.005),
    "a ramp": ramp,
    "ramps": ramps,
    "a known ball": in_ball,
}


def judge(path, found):
    digest, data = "", b""
    for record in found:
        line, digest = seal(digest, record)
        data += line
    path.write_bytes(data)
    return check(str(path))[:2]


@pytest.mark.parametrize("name", EDGES)
def test_just_inside_is_certified_and_a_little_more_is_not(name, tmp_path):
    rounds = len([r for r in EDGES[name](0.0) if r["kind"] == "round"])
    said = judge(tmp_path / "inside", EDGES[name](-LITTLE))
    assert said == (True, [f"certified: {rounds - 1} of {rounds} rounds; the first is the start"])
    is_right, said = judge(tmp_path / "outside", EDGES[name](LITTLE))
    if "staying" in name:  # without a certificate, of which none is wrong
        assert said[1].endswith("nothing is proved of it, and it has no certificate")
    else:
        assert not is_right, said


def test_an_action_that_was_refused_is_certified_no_more(tmp_path):
    *before, last = two_balls(-LITTLE)
    is_right, said = judge(tmp_path / "run", [*before, {"kind": "refused"}, last])
    assert (is_right, said[0]) == (True, "certified: 0 of 2 rounds; the first is the start")


def test_nothing_is_certified_of_a_player_that_is_not_known(tmp_path):
    found = judge(tmp_path / "run", [head("other"), played(1, -1.0, X1)])
    said = "not checked: round 2: the choice of this player is not judged"
    assert found == (True, ["certified: 0 of 1 rounds; the first is the start", said])


@pytest.mark.parametrize(("g", "then", "fine"), [(0.0, 9.0, 0), (0.0, 0.5, 1), (-LITTLE, 9.0, 1)])
def test_from_the_limit_itself_a_slope_of_0_certifies_no_step(tmp_path, g, then, fine):
    # A concave limit with a plateau at 0: value, slope and curvature are 0 where somebody played.
    why, s = {"class": "CurvatureCertificate"}, [[1.0, 0.0]]
    rounds = [
        head("rows", nu=0.0, noise=0.0, beta=[0.0], rows=1),
        played(1, -1.0, right(0.25), why, s),
        played(2, g, right(then), why, [[0.0, 0.0]], played=right(0.5)),
    ]
    assert judge(tmp_path / "run", rounds)[0] == bool(fine)


def test_a_step_too_long_for_a_relative_curvature_is_refused(tmp_path):
    first, second = relative(-LITTLE)
    first["player"]["knowledge"]["L_1"] = 4.0 + LITTLE
    second["constraint_value"] = -99.0
    assert "further than 1/L_1 from the last" in judge(tmp_path / "run", [first, second])[1][0]


@pytest.mark.parametrize("second", [("anchor", 2, 0.0), ("last", 1, 1.0)], ids=lambda p: p[0])
@pytest.mark.parametrize("g", [-LITTLE, LITTLE])
def test_where_a_row_may_be_above_0_the_constants_of_the_others_certify_nothing(
    tmp_path, g, second
):
    # Row 1 was read far below 0 where row 0 was above it: G_g of row 1 is that of feasible points.
    rows = [knowledge("hull", nu=0.0, noise=0.0) for _ in range(2)]
    why = parts(hull(1, 0.0), hull(*second[1:]))
    rounds = [
        head("together", nu=0.0, noise=0.0, rows={"tuple": rows}),
        played(1, [-9.0, -0.75], right(0.25), parts(hull(1, 1.0), hull(1, 1.0))),
        played(2, [g, -9.0], right(0.75), why, played=right(1.0)),
    ]
    is_right, said = judge(tmp_path / "run", rounds)
    if g < 0:
        assert said[-1] == "not checked: round 2: another action was played than the one asked for"
        assert is_right
    else:
        assert not is_right
        words = "row 1: its anchor is round 2, which was not read"
        words = words if second[0] == "anchor" else "its action is not certified"
        assert said[0].startswith(f"NOT CERTIFIED: round 3: {words}")


def test_another_format_is_not_read_as_this_one(tmp_path):
    first, *rest = ball(-LITTLE)
    first["format"] = 3
    is_right, (said,) = judge(tmp_path / "run", [first, *rest])
    assert not is_right
    assert "is not a journal that this checker knows" in said


def test_a_root_is_rounded_up_and_not_by_much():
    rng = np.random.default_rng(0)
    for _ in range(200):
        square = Fraction(float(10.0 ** rng.uniform(-200, 200))) / int(rng.integers(1, 99))
        root = root_up(square)
        assert 0 <= root**2 - square <= square / 2**100
    assert root_up(Fraction(0)) == 0
