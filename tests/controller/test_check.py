"""The checker: what the library certifies it certifies, and every forgery is found."""

import ast
import math
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from surefoot import Ball, Controller
from surefoot.controller.check import check
from surefoot.controller.check.exact import WrongError
from surefoot.controller.check.hull import Hull
from surefoot.controller.check.kind import Unknown
from surefoot.controller.check.players import Player
from surefoot.core.plain import encode
from surefoot.knowledge import (
    AverageLimit,
    Choices,
    CurvatureRows,
    Errors,
    HullOfLog,
    LipschitzHull,
    RelativeCurvature,
)
from surefoot.rules import (
    Averaged,
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    Delayed,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
)
from surefoot.sets import Box

from . import test_slope_error
from ._lines import change, forge, records
from ._live import (
    BALL,
    FILTERS,
    G_G,
    LIMITS,
    MOVABLE,
    PLAYERS,
    ROWS as SEEN_ROWS,
    START,
    drive,
    seen_at,
)

SOURCE = Path(sys.modules["surefoot.controller.check"].__file__).parent
NOISY = Errors(value=0.01, slope=0.01)
MOVING = Errors(value=0.01, drift=2e-4)
ROWS = CurvatureRows(beta=0.1, rows=2, reach=1.5, errors=NOISY)
JUDGED = {
    "certified": PLAYERS["certified"],
    "certified, fixed": CertifiedPFS(G_g=G_G, domain=BALL, rho=0.05, decreasing=False, eta=0.2),
    "in a box": CertifiedPFS(G_g=G_G, domain=Box([-1.0, -1.0], [1.0, 1.0]), rho=0.05),
    **{n: MOVABLE[n] for n in ("leader and follower", "descent", "averaging", "values alone")},
    **{n: MOVABLE[n] for n in ("two rounds late", "ahead")},
    **{n: FILTERS[n] for n in ("safety filter", "hull filter", "rows in a box", "hulls together")},
    "hull in a ball": RegionFilter(knowledge=LipschitzHull(G_g=G_G, domain=BALL)),
    "ball of the other centre": RegionFilter(
        knowledge=LipschitzHull(G_g=G_G, domain=Ball(1.2, [0.2, 0.1]))
    ),
}
BOX = Box([-1.0, -1.0], [1.0, 1.0])
RNG = np.random.default_rng(8)
LOGGED = RNG.uniform(-0.6, 0.6, size=(30, 2))
LOG = HullOfLog(
    points=np.vstack([START, LOGGED]),
    values=(np.vstack([START, LOGGED]) @ SEEN_ROWS.T - LIMITS).max(axis=1),
    G_g=100.0,
    domain=BOX,
)
NEW = {
    "on a grid": RegionFilter(
        knowledge=LipschitzHull(G_g=G_G, domain=Choices(-1.0, [1.0, 1.0], step=(0.05, 0.1)))
    ),
    "on any grid": RegionFilter(
        knowledge=LipschitzHull(G_g=G_G, reach=2.0, domain=Choices(step=0.05))
    ),
    "off or": RegionFilter(
        knowledge=LipschitzHull(G_g=G_G, domain=Choices((0.05, 0.1), 1.0, step=0.05, off=True))
    ),
    "any off or": RegionFilter(
        knowledge=LipschitzHull(G_g=G_G, reach=2.0, domain=Choices(0.05, 1.0, off=True))
    ),
    "a leader on choices": LeaderFollower(G_g=G_G, domain=Choices((0.05, 0.1), 1.0, off=True)),
    "relative": RegionFilter(knowledge=RelativeCurvature(L_0=0.0, L_1=1.1, reach=2.0)),
    "a log": RegionFilter(knowledge=LOG),
    "an average": RegionFilter(knowledge=AverageLimit(G_g=G_G, domain=BOX, most=0.3)),
    "a credit": RegionFilter(knowledge=AverageLimit(G_g=G_G, domain=BOX, most=0.3, credit=0.5)),
    "a ramp": LeaderFollower(G_g=G_G, domain=BALL, ramp=0.02),
    "ramps": RegionFilter(knowledge=LipschitzHull(G_g=G_G, reach=1.5), ramp=(0.01, 0.03)),
}
JUDGED |= NEW
WITH_ERRORS = {
    "relative": RegionFilter(
        knowledge=RelativeCurvature(L_0=0.0, L_1=1.1, reach=2.0, errors=NOISY)
    ),
    "an average": RegionFilter(knowledge=AverageLimit(G_g=G_G, domain=BOX, errors=NOISY, most=0.3)),
    "a ramp, moving": RegionFilter(
        knowledge=LipschitzHull(G_g=G_G, reach=1.5, start_bound=-0.1, errors=MOVING), ramp=0.02
    ),
    "a ramp, moving, no bound": RegionFilter(
        knowledge=LipschitzHull(G_g=G_G, reach=1.5, errors=MOVING), ramp=0.02
    ),
    "leader": LeaderFollower(G_g=G_G, domain=BALL, value_error=0.01),
    "steps": CertifiedPFS(G_g=G_G, domain=BALL, rho=0.05, value_error=0.01, slope_error=0.01),
    "safety": SafetyFilter(G_g=G_G, domain=BALL, rho=0.05, value_error=0.01),
    "hull": RegionFilter(knowledge=LipschitzHull(G_g=G_G, reach=1.5, errors=NOISY)),
    "rows": CertifiedOGD(knowledge=ROWS, radius=1.5),
    "averaging": CertifiedDualAveraging(knowledge=ROWS, radius=1.5),
    "leader, moving": LeaderFollower(G_g=G_G, domain=BALL, value_error=0.01, drift=2e-4),
    "hull, moving": RegionFilter(knowledge=LipschitzHull(G_g=G_G, reach=1.5, errors=MOVING)),
    "leader, start known": LeaderFollower(
        G_g=G_G, domain=BALL, value_error=0.01, drift=2e-3, start_bound=-0.1
    ),
    "late": Delayed(base=LeaderFollower(G_g=G_G, domain=BALL, value_error=0.01), delay=2),
    "ahead, moving": Delayed(
        base=LeaderFollower(G_g=G_G, domain=BALL, value_error=0.01, drift=2e-4),
        delay=2,
        copies=False,
    ),
}


def swell(x):
    """What a round reads of a limit that curves the more the steeper it is."""
    way = np.array([0.6, 0.9])
    rise = math.exp(float(way @ x))
    return {"constraint_value": rise - 2.0, "constraint_subgradient": rise * way}


def played(path, player, rounds=120, noise=0.0, missing=None, **options):
    """The journal of a loop against two rows, read with errors."""
    rng = np.random.default_rng(3)
    with (
        warnings.catch_warnings(),
        Controller(player, START, journal=path, durable_every=1000, **options) as controller,
    ):
        warnings.simplefilter("ignore")
        for t in range(1, rounds + 1):
            x = controller.ask()
            if missing and t % missing == 0:
                controller.tell(missing=True)
                continue
            told = seen_at(player, t, x)
            if "RelativeCurvature" in repr(player):
                told |= swell(x)
            told["constraint_value"] = told["constraint_value"] + rng.uniform(-noise, noise)
            controller.tell(**told)
    return path


def test_the_folder_imports_the_standard_library_alone():
    own = {path.stem for path in SOURCE.glob("*.py")}
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {a.name.split(".")[0] for a in node.names} <= sys.stdlib_module_names
            elif isinstance(node, ast.ImportFrom) and node.level:
                assert (node.level, node.module in own) == (1, True), path
            elif isinstance(node, ast.ImportFrom):
                assert node.module.split(".")[0] in sys.stdlib_module_names, path


def test_the_folder_runs_by_itself(tmp_path):
    alone = tmp_path / "alone"
    alone.mkdir()
    for path in SOURCE.glob("*.py"):
        (alone / path.name).write_bytes(path.read_bytes())
    path = played(tmp_path / "run.jsonl", JUDGED["hull filter"], 20)
    command = [sys.executable, "-I", "-S", alone]
    done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said, constants, trusted = done.stdout.splitlines()
    assert said == "certified: 19 of 20 rounds; the first is the start"
    assert constants.startswith("constants: from round 1: RegionFilter(knowledge=LipschitzHull(")
    assert f"G_g={G_G!r}" in constants
    assert trusted.startswith("taken on trust: what was read ")
    done = subprocess.run(
        [*command, SOURCE / "hull.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "is not a journal that this checker knows" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
def test_every_round_of_every_certified_rule_is_certified(name, tmp_path):
    path = played(tmp_path / "run.jsonl", JUDGED[name])
    report = check(str(path))
    assert report.is_right
    assert report.said == ["certified: 119 of 120 rounds; the first is the start"]


@pytest.mark.slow
@pytest.mark.parametrize("missing", [None, 7])
@pytest.mark.parametrize("name", WITH_ERRORS)
def test_rounds_with_errors_drift_delay_and_gaps_are_certified(name, missing, tmp_path):
    player = WITH_ERRORS[name]
    path = played(tmp_path / "run.jsonl", player, noise=0.009, missing=missing)
    report = check(str(path))
    assert report.is_right
    assert report.said == ["certified: 119 of 120 rounds; the first is the start"]


def test_what_cannot_be_judged_is_named_with_its_rounds_and_never_called_certified(tmp_path):
    drifting = CertifiedPFS(G_g=G_G, domain=BALL, rho=0.05, drift=1e-4)
    late = Delayed(base=CertifiedPFS(G_g=G_G, domain=BALL, rho=0.05), delay=2)
    averaged = Averaged(base=LeaderFollower(G_g=G_G, domain=BALL), sigma=1e-3)
    for name, player in {
        "no certificates": PLAYERS["PFS"],
        "averages": averaged,
        "drift": drifting,
        "late": late,
    }.items():
        report = check(str(played(tmp_path / name, player, 30)))
        assert report.is_right
        said = report.said
        stays = 2 if name == "late" else 0  # until its first reading it stays, which is judged
        assert said[0].startswith(f"certified: {stays} of 30")
        assert said[-1].startswith("not checked: round 31: ")


def test_a_whole_life_with_orders_resumes_and_several_files_is_certified(tmp_path):
    path, player = tmp_path / "run.jsonl", JUDGED["hull filter"]
    options = {"rotate": 9, "on_contradiction": "record"}
    with Controller(player, START, journal=path, **options) as controller:
        drive(controller, player, 10)
        controller.hold("lunch")
        drive(controller, player, 3, first=11)
        controller.resume()
        drive(controller, player, 5, first=14)
        controller.retreat("storm", speed=0.02)
        drive(controller, player, 6, first=19)
        controller.resume(JUDGED["hull in a ball"], reason="a new sensor")
        drive(controller, JUDGED["hull in a ball"], 12, first=25)
        x = controller.ask() * 0.999
        controller.tell(action=x, **seen_at(player, 37, x))
        controller.ask()
        controller.tell(missing=True)
        drive(controller, player, 5, first=39)
    report = check(str(path))
    assert report.is_right
    assert report.said == [
        "certified: 41 of 43 rounds; the first is the start",
        "not checked: round 37: another action was played than the one asked for",
    ]


# --- forgeries -----------------------------------------------------------------------------------


def tight(path):
    """The rounds after which an action on the edge of what is certified was played."""
    found = [r for r in records(path) if r["kind"] == "round" and r["certificate"]]
    return [r["round"] for r in found if r["certificate"]["bound"] > -1e-10]


@pytest.fixture(scope="module")
def hull(tmp_path_factory):
    return played(tmp_path_factory.mktemp("hull") / "run.jsonl", JUDGED["hull filter"], 200)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return played(tmp_path_factory.mktemp("rows") / "run.jsonl", FILTERS["rows in a box"], 200)


def forged(whole, tmp_path, edit):
    path = tmp_path / "forged.jsonl"
    path.write_bytes(whole.read_bytes())
    forge(path, edit)
    report = check(str(path))
    return report.is_right, report.said


def at(found, t):
    (record,) = (r for r in found if r["kind"] == "round" and r["round"] == t)
    return record


def outwards(t, by):
    """Move an action outwards along the slope of the next round, where it was read."""

    def edit(found):
        s = np.array(at(found, t + 1)["constraint_subgradient"])
        record = at(found, t)
        record["next"] = (np.array(record["next"]) + by * s / np.linalg.norm(s)).tolist()

    return edit


def test_an_action_a_little_further_out_is_found_with_its_round(hull, tmp_path):
    rounds = tight(hull)
    assert len(rounds) >= 10
    for t in random.Random(1).sample(rounds[:-1], min(12, len(rounds) - 1)):
        is_right, said = forged(hull, tmp_path, outwards(t, 1e-9))
        assert not is_right
        assert said[0].startswith(f"NOT CERTIFIED: round {t + 1}: its action is not certified")


def known(found):
    """What the player of a journal knows: the one source of constants."""
    return found[0]["player"]["knowledge"]


def ulp(found):
    """An action on the edge of a ball of the checker's own making, one unit further."""
    t = 1
    record = at(found, t)
    g, G, d = at(found, t)["constraint_value"], known(found)["G_g"], 2
    noise = 16 * (d + 4) * 2.0**-53 * known(found)["reach"] * G
    room = (-g - noise) / G
    x = np.array(found[0]["start"])
    record["next"] = (x + np.array([math.nextafter(room, 9.0) + 2e-16, 0.0])).tolist()
    record["certificate"] |= {"share": 1.0, "anchor_round": 1}


def leave_out(found):
    del found[3:11]


FORGERIES = {
    "G_g is smaller": lambda found: known(found).update(G_g=known(found)["G_g"] / 1.001),
    "a reading is worse": lambda found: at(found, 5).update(constraint_value=0.5),
    "rounds are left out": leave_out,
    "a share of 1.5": lambda found: at(found, 5)["certificate"].update(share=1.5),
    "a share below 0": lambda found: at(found, 5)["certificate"].update(share=-1e-300),
    "a share in words": lambda found: at(found, 5)["certificate"].update(share="half"),
    "no share": lambda found: at(found, 5)["certificate"].pop("share"),
    "an anchor of the future": lambda found: at(found, 5)["certificate"].update(anchor_round=99),
    "no anchor": lambda found: at(found, 5)["certificate"].pop("anchor_round"),
    "a misspelt key": lambda found: at(found, 5).update(valueerror=0.0),
    "a misspelt error": lambda found: known(found)["errors"].update(valu=0.0),
    "a misspelt constant": lambda found: known(found).update(noize=0.0),
    "no constant": lambda found: known(found).pop("G_g"),
    "no errors": lambda found: known(found).pop("errors"),
    "no drift": lambda found: known(found)["errors"].pop("drift"),
    "a negative error": lambda found: known(found)["errors"].update(value=-0.1),
    "two values": lambda found: at(found, 5).update(constraint_value=[-0.1, -0.1]),
    "an action too short": lambda found: at(found, 5).update(next=[0.2]),
    "an action in words": lambda found: at(found, 5).update(next="up"),
    "a truth value": lambda found: at(found, 5).update(next=[True, False]),
    "no action": lambda found: at(found, 5).pop("next"),
    "a start outside": lambda found: at(found, 1).update(constraint_value=0.1),
    "a unit in the last place": ulp,
    "a bound in words": lambda found: known(found).update(start_bound="low"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_every_forgery_is_found(what, hull, tmp_path):
    is_right, said = forged(hull, tmp_path, FORGERIES[what])
    assert not is_right
    assert said[0].startswith("NOT CERTIFIED: ")
    assert len(said) == 1


ROW_FORGERIES = {
    "beta is larger": lambda found: known(found).update(beta=[0.1001, 0.1001]),
    "fewer rows": lambda found: known(found).update(rows=1),
    "no beta": lambda found: known(found).pop("beta"),
    "fewer curvatures than rows": lambda found: known(found).update(beta=[0.1]),
    "a box of another dimension": lambda found: known(found)["domain"].update(lower=[-1.0]),
    "a smaller box": lambda found: known(found)["domain"].update(upper=[0.25, 0.4]),
    "fewer slopes than rows": lambda found: at(found, 5)["constraint_subgradient"].pop(),
    "a slope too short": lambda found: at(found, 5)["constraint_subgradient"][0].pop(),
}


@pytest.mark.parametrize("what", ROW_FORGERIES)
def test_every_forgery_of_rows_is_found(what, rows, tmp_path):
    assert check(str(rows)).is_right
    is_right, said = forged(rows, tmp_path, ROW_FORGERIES[what])
    assert not is_right, said


def edited(what, **changes):
    """Change the player, or what it knows."""
    return lambda found: (known(found) if what == "knowledge" else found[0][what]).update(changes)


def nudge(by, first=2):
    """Move every action of the later rounds."""

    def edit(found):
        for record in (r for r in found if r["kind"] == "round" and r["round"] > first):
            record["next"] = (np.array(record["next"]) + by).tolist()

    return edit


def claim(name, to):
    """Change what a certificate claims in round 5."""
    return lambda found: at(found, 5)["certificate"].update({name: to})


def dearer(found):
    """Let a log be worse than it was."""
    known(found)["values"] = [value + 1e-3 for value in known(found)["values"]]


def overspend(found, name="constraint_value"):
    """Make a reading worse that nothing else is proved of, before an action that takes all."""
    rounds = {r["round"]: r for r in found if r["kind"] == "round"}
    for t in sorted(rounds)[5:]:
        c, before = rounds[t]["certificate"], rounds[t - 1]["certificate"]
        is_tight = c["bound"] > c["budget"] - 1e-10 and c["budget"] < 0.3
        if is_tight and before["bound"] > rounds[t]["constraint_value"] + 1e-3:
            rounds[t][name] = rounds[t].get(name, 0.0) + 1e-6
            return
    raise AssertionError("no such round")


NEW_FORGERIES = {
    "on a grid": {
        "off the grid by a bit": nudge(2.0**-52),
        "another step": lambda found: known(found)["domain"].update(step=[0.07, 0.1]),
        "no step": lambda found: known(found)["domain"].pop("step"),
        "a smaller box": lambda found: known(found)["domain"].update(most=[0.2, 0.2]),
    },
    "on any grid": {"off the grid": nudge(1e-9)},
    "relative": {
        "L_0 is larger": edited("knowledge", L_0=0.3),
        "L_1 is larger": edited("knowledge", L_1=1.3),
        "no L_1": lambda found: known(found).pop("L_1"),
        "further out": lambda found: outwards(tight_round(found), 1e-6)(found),
    },
    "a log": {
        "the log was worse": dearer,
        "fewer points": lambda found: known(found)["points"].pop(),
        "a weight below 0": claim("weights", {"tuple": [-0.5, 1.5]}),
        "more weights": claim("weights", {"tuple": [1.0, 0.0, 0.0, 0.0]}),
        "no weights": claim("weights", {"tuple": []}),
        "a point that there is not": claim("points", {"tuple": [999]}),
        "further out": nudge(1e-6),
    },
    "an average": {
        "less is left": overspend,
        "a reading errs": lambda found: overspend(found, "value_error"),
        "most is less": edited("knowledge", most=0.05),
        "most below 0": edited("knowledge", most=-1.0),
        "no most": lambda found: known(found).pop("most"),
        "further out": lambda found: outwards(tight_round(found), 1e-6)(found),
    },
    "a ramp": {
        "a shorter ramp": edited("player", ramp=0.0199),
        "no ramp": edited("player", ramp="none"),
    },
    "ramps": {
        "a shorter ramp": edited("player", ramp=[0.01, 0.0299]),
        "fewer ramps": edited("player", ramp=[0.01]),
    },
}


def tight_round(found):
    """Return a round after which the action is on the edge of what is certified."""
    rounds = [r for r in found if r["kind"] == "round" and r["certificate"]]
    return max(
        (r for r in rounds[5:-1] if r["certificate"].get("cut")),
        key=lambda r: r["certificate"]["bound"] - r["certificate"].get("budget", 0.0),
    )["round"]


@pytest.fixture(scope="module")
def journals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("new")
    return {name: played(folder / name.replace(" ", "_"), NEW[name], 60) for name in NEW}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "what"),
    [(name, what) for name, forgeries in NEW_FORGERIES.items() for what in forgeries],
)
def test_every_forgery_of_what_else_is_known_is_found(name, what, journals, tmp_path):
    is_right, said = forged(journals[name], tmp_path, NEW_FORGERIES[name][what])
    assert not is_right, said
    assert len(said) == 1


@pytest.mark.parametrize("name", ["one row", "rows"])
def test_the_error_of_a_rounds_slope_is_the_one_that_was_told_with_it(name, tmp_path):
    path = tmp_path / "run.jsonl"
    with Controller(test_slope_error.PLAYERS[name], [0.0, 0.0], journal=path) as controller:
        test_slope_error.play(controller, name)
    assert check(str(path)).said == ["certified: 24 of 25 rounds; the first is the start"]
    for error in (0.0, 0.1, 0.3, None):

        def edit(found, error=error):
            for record in (r for r in found if "slope_error" in r):
                record["slope_error"] = error

        assert not forged(path, tmp_path, edit)[0]


def test_a_log_without_a_bound_on_slopes_is_not_judged(tmp_path):
    known = HullOfLog(points=LOG.points, values=LOG.values)
    report = check(str(played(tmp_path / "run", RegionFilter(knowledge=known), 20)))
    assert report.is_right
    assert report.said[-1].endswith("without G_g a log certifies up to rounding only")


def test_a_length_further_out_than_its_bound_allows_is_found(tmp_path):
    whole = played(tmp_path / "run.jsonl", JUDGED["certified, fixed"], 120)
    t = 60
    assert forged(whole, tmp_path, outwards(t, 0.0))[0]
    is_right, said = forged(whole, tmp_path, outwards(t, 0.5))
    assert not is_right
    assert f"round {t + 1}: its action is not certified" in said[0]


@pytest.mark.parametrize("delay", [0, -1])
def test_no_reading_is_of_a_round_that_was_not_played_yet(delay, hull, tmp_path):
    """With g = x[0] - 0.1, every reading would count as one of the start, and certify g = 0.05."""

    def edit(found):
        del found[3:]
        found[0]["start"] = found[0]["loop"]["state"]["x"] = [0.0, 0.0]
        known(found)["G_g"] = 1.0
        wrapper = {"class": "Delayed", "delay": delay, "copies": False, "late": True}
        found[0]["player"] = wrapper | {"base": found[0]["player"]}
        at(found, 1).update(constraint_value=-0.1, next=[-0.09, 0.0])
        at(found, 2).update(constraint_value=-0.19, next=[0.15, 0.0])
        for t in (1, 2):
            at(found, t)["certificate"] |= {"anchor_round": t - delay, "share": 1.0}

    is_right, said = forged(hull, tmp_path, edit)
    assert not is_right
    assert "delay must be a number from 1" in said[0]


def test_a_line_that_was_changed_is_found(hull, tmp_path):
    path = tmp_path / "changed.jsonl"
    path.write_bytes(hull.read_bytes())
    change(path, '"round":7,', '"round":8,')
    report = check(str(path))
    said = report.said
    assert not report.is_right
    assert "is not what was written" in said[0]


@pytest.mark.parametrize("contents", [b"", b"hello", b'{"kind":"round"}\n', b"\xff" * 100])
def test_what_is_no_journal_is_one_sentence(contents, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(contents)
    report = check(str(path))
    said = report.said
    assert not report.is_right
    assert len(said) == 1
    assert "\n" not in said[0]


def test_a_constant_that_was_wrong_is_found_by_what_was_read(tmp_path):
    player = RegionFilter(knowledge=LipschitzHull(G_g=0.5 * G_G, reach=1.5))
    path = played(tmp_path / "run.jsonl", player, 40, on_contradiction="record")
    report = check(str(path))
    said = report.said
    assert not report.is_right
    assert "what was read contradicts what was certified" in said[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["leader and follower", "descent", "certified"])
def test_thousands_of_rounds_are_certified(name, tmp_path):
    path = played(tmp_path / "run.jsonl", JUDGED[name], 3_000)
    report = check(str(path))
    assert report.is_right
    assert report.said == ["certified: 2999 of 3000 rounds; the first is the start"]


def test_what_somebody_else_played_outside_of_the_domain_certifies_nothing_and_is_no_forgery(
    tmp_path,
):
    path = tmp_path / "run.jsonl"
    hull = LipschitzHull(G_g=1.0, domain=Box([0.0, 0.0], [1.0, 1.0]))
    player = RegionFilter(knowledge=hull)
    controller = Controller(player, [0.1, 0.1], journal=path, on_contradiction="record")
    slope = np.array([0.6, 0.8])
    for t in range(12):
        x = controller.ask()
        played = np.array([-0.2, 0.1]) if t in (4, 5, 6, 8) else x
        told = {"constraint_value": float(slope @ played) - 0.7, "constraint_subgradient": slope}
        controller.tell(**told, proposal=[1.0, 1.0], action=played)
    controller.close()
    report = check(str(path))
    assert report.is_right, report.said
    assert report.said[0] == "certified: 7 of 12 rounds; the first is the start"


@pytest.mark.parametrize("kind", ["hull", "average"])
def test_readings_of_a_player_that_was_halted_first_are_counted_from_its_own(tmp_path, kind):
    path, box = tmp_path / "run.jsonl", Box([0.0, 0.0], [1.0, 1.0])
    hull = LipschitzHull(G_g=1.0, domain=box)
    known = {"hull": hull, "average": AverageLimit(G_g=1.0, domain=box, most=0.2)}[kind]
    controller = Controller(RegionFilter(knowledge=known), [0.1, 0.1], journal=path)
    controller.hold("not yet")
    slope = np.array([0.6, 0.8])
    for t in range(12):
        if t == 3:
            controller.resume()
        x = controller.ask()
        told = {"constraint_value": float(slope @ x) - 0.7, "constraint_subgradient": slope}
        # A set that is announced to a player which is halted is not heard.
        far = {"within": Box([0.5, 0.5], [1.0, 1.0])} if t == 1 else {}
        controller.tell(**told, proposal=[1.0, t % 3 / 3], **far)
    controller.close()
    report = check(str(path))
    assert report.is_right, report.said
    assert report.said[0] == "certified: 11 of 12 rounds; the first is the start"


def test_a_proposer_and_knowledge_are_judged_whatever_the_name_of_the_rule_is():
    known = LipschitzHull(G_g=1.0, reach=1.0)
    pair = encode(RegionFilter(knowledge=known)) | {"class": "Mine"}
    line = {"player": pair, "guarantee": None, "start": [0.0, 0.0]}
    assert isinstance(Player(line).kind, Hull)
    del line["player"]["proposer"]
    assert isinstance(Player(line).kind, Unknown)
    with pytest.raises(WrongError, match="the Mine of the journal has an unknown 'more'"):
        Player(line | {"player": pair | {"proposer": {}, "more": 1}})


def test_what_another_round_says_of_the_start_counts_after_an_order(tmp_path):
    errors = Errors(value=0.01, slope=0.01)
    rows = CurvatureRows(beta=0.1, rows=2, reach=2.0, errors=errors)
    path, slopes = tmp_path / "run.jsonl", np.array([[0.6, 0.9], [-1.1, 0.3]])
    with Controller(RegionFilter(knowledge=rows), start=[0.2, 0.2], journal=path) as loop:
        for wrong in (0.01, -0.01, 0.01, 0.01):  # low where it is away, high at the start
            g = slopes @ loop.ask() - [0.5, 0.7] + wrong
            told = {"constraint_value": g, "constraint_subgradient": slopes}
            loop.tell(proposal=loop.ask() + np.array([-0.1, 0.05]), **told)
            if loop.round == 3:
                loop.retreat("a storm")
                loop.resume()
    report = check(str(path))
    assert report.is_right, report.said
    assert report.said[0] == "certified: 3 of 4 rounds; the first is the start"
