"""The C header: the same bits as Python at d = 2, within rounding beyond, the same refusals."""

import shutil
import struct
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from tests._scripts import ROOT, script

from surefoot import Ball, Controller
from surefoot.algorithms import (
    OGD,
    Certified,
    CertifiedOGD,
    CertifiedPFS,
    Descent,
    Leader,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
)
from surefoot.algorithms.cuts import Cuts
from surefoot.controller.configuring import object_from
from surefoot.controller.export import c_header
from surefoot.controller.export._rounding import fusing_here
from surefoot.core.errors import SurefootError
from surefoot.regions import Curvature, CurvatureMemory, CurvatureRows, Errors, LipschitzHull
from surefoot.sets import Box

exported = script("benchmarks/exported.py")
BALL = Ball(1.5)
HULL = LipschitzHull(G_g=1.0, reach=1.5)
OFF_CENTRE = Ball(1.5, [0.1, -0.2])
SMALL = Ball(0.4, [0.1, 0.0])
PLAYERS = exported.PLAYERS | {
    "CertifiedPFS, fixed": CertifiedPFS(
        G_g=1.2,
        domain=OFF_CENTRE,
        rho=0.05,
        decreasing=False,
        eta=0.2,
        ratchet=False,
        sigma=0.3,
        evaluation_error=1e-9,
    ),
    "CertifiedOGD, fixed": CertifiedOGD(
        knowledge=Curvature(beta=1.0, reach=1.5, errors=Errors(evaluation=1e-9)),
        radius=1.5,
        eta=0.1,
    ),
    "LeaderFollower, strong": LeaderFollower(
        G_g=1.2, domain=OFF_CENTRE, cuts=2, strong_convexity=1.0, sweeps=3, expected=2.0
    ),
    "LeaderFollower, errors": LeaderFollower(
        G_g=1.2, domain=BALL, cuts=2, value_error=0.02, slope_error=0.01
    ),
    "LeaderFollower, drift": LeaderFollower(
        G_g=1.2, domain=BALL, cuts=2, value_error=0.01, drift=1e-3
    ),
    "RegionFilter, drift": RegionFilter(
        knowledge=LipschitzHull(G_g=1.2, reach=1.5, errors=Errors(drift=2e-3))
    ),
    "CertifiedOGD, errors": CertifiedOGD(
        knowledge=Curvature(beta=1.0, reach=1.5, errors=Errors(value=0.02)), radius=1.5
    ),
    "RegionFilter, errors": RegionFilter(
        knowledge=Curvature(beta=1.0, reach=1.5, errors=Errors(value=0.02))
    ),
    "SafetyFilter, decreasing": SafetyFilter(G_g=1.2, domain=BALL, rho=0.5, decreasing=True),
    # Balls that cut the feasible set.
    "CertifiedPFS, in a ball": CertifiedPFS(G_g=1.2, domain=SMALL, rho=0.3),
    "CertifiedOGD, in a ball": CertifiedOGD(
        knowledge=Curvature(beta=1.0, domain=SMALL), radius=0.4
    ),
    "curvature, in a ball": RegionFilter(knowledge=Curvature(beta=1.0, domain=SMALL)),
}
# What projections in turn find is sought in another way where they end outside.
HULLS_IN_A_BALL = {
    "LeaderFollower": LeaderFollower(G_g=1.2, domain=SMALL, cuts=2),
    "RegionFilter": RegionFilter(knowledge=LipschitzHull(G_g=1.2, domain=SMALL)),
}
COMPILED = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(exported.COMPILER) is None, reason="gcc is not installed"),
]


def with_compiler(test):
    for mark in COMPILED:
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Each player compiled once per dimension, started anew for each test."""
    ports = {}

    def build(player, d=2):
        key = repr(player), d
        if key not in ports:
            folder = tmp_path_factory.mktemp("port")
            ports[key] = exported.Compiled(c_header(player, d, name="port"), d, folder)
        assert ports[key].start(np.full(d, 0.01)) == 0
        return ports[key]

    return build


LEFT_OUT = {
    "LengthMemory": ("since", "read", "target", "is_pulled"),
    "CurvatureMemory": ("slope_error", "anchor", "depth", "curvature_seen"),
}


def packed(value):
    """A state as the bytes of the struct: the same fields in the same order."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, Cuts):  # of two at most
        rows = [
            np.concatenate([part, np.zeros_like(part, shape=(2, *part.shape[1:]))])[:2]
            for part in value
        ]
        return b"".join(map(packed, [*rows, len(value.offsets)]))
    if isinstance(value, CurvatureMemory):
        value = value._replace(last=tuple(value.last)[:2])
    if isinstance(value, tuple):  # one without fields is empty
        left_out = LEFT_OUT.get(type(value).__name__, ())
        names = getattr(value, "_fields", range(len(value)))
        parts = zip(names, value, strict=True)
        return b"".join(packed(part) for name, part in parts if name not in left_out)
    return struct.pack("d", value)


# --- with a compiler ------------------------------------------------------------------------------


@with_compiler
@pytest.mark.parametrize("name", PLAYERS)
def test_at_two_dimensions_every_action_and_bound_is_python_s_bit_for_bit(built, name):
    if None in fusing_here():
        pytest.skip("how NumPy rounds on this machine is not known")
    player = PLAYERS[name]
    game = exported.played(player, 2, 200 if "careful" in name else 1_000, keep=True)
    port = built(player)
    actions, bounds = port.many(game.rows)
    assert actions.tobytes() == game.actions.tobytes()
    some = range(0, len(bounds), 7)
    assert [bounds[t] for t in some] == [game.infos[t].certificate.bound for t in some]
    state = packed(game.state)
    assert (np.frombuffer(port.state.raw[: len(state)]) == np.frombuffer(state)).all()


@with_compiler
@pytest.mark.parametrize("name", PLAYERS)
def test_an_action_that_the_actuator_took_instead_is_started_from(built, name):
    if None in fusing_here():
        pytest.skip("how NumPy rounds on this machine is not known")
    player, port, rng = PLAYERS[name], built(PLAYERS[name]), np.random.default_rng(6)
    state = player.init(np.full(2, 0.01))
    for t in range(60):
        if t % 7 == 0:
            x = 0.9 * state.x + 0.001 * rng.normal(size=2)
            assert port.move(x) == 0
            state = state._replace(x=x)
        told = rng.normal(size=2)
        g, s = exported.observed(player, state.x)
        status, info = port.step(told, g, s)
        state, expected = stepped(player, state, told, g, s)
        assert (status, port.x.tobytes()) == (0, state.x.tobytes())
        assert info.bound == expected.certificate.bound
        assert bool(info.alarms) == bool(expected.contradictions)
    before = port.state.raw
    assert port.move([np.nan, 0.0]) == 1
    assert port.state.raw == before


@with_compiler
@pytest.mark.parametrize("name", exported.PLAYERS)
def test_beyond_two_each_step_from_the_same_state_is_within_the_rounding_margin(built, name):
    player, d = PLAYERS[name], 7
    game = exported.played(player, d, 40 if "careful" in name else 150, keep=True)
    port = built(player, d)
    for state, row, action, info in zip(
        game.states, game.rows, game.actions, game.infos, strict=True
    ):
        told, g, s = row[:d], row[d], row[d + 1 :]
        port.state[: len(packed(state))] = packed(state)
        status, found = port.step(told, g, s)
        assert status == 0
        assert np.abs(port.x - action).max() <= margin(player, info, d)
        assert abs(found.bound - info.certificate.bound) <= 1e-13
        assert exported.observed(player, port.x)[0] <= 0


@with_compiler
@pytest.mark.parametrize("name", HULLS_IN_A_BALL)
def test_a_ball_that_cuts_a_hull_is_kept(built, name):
    player = HULLS_IN_A_BALL[name]
    game = exported.played(player, 2, 300, keep=True)
    port, cut = built(player), 0
    for state, row, action in zip(game.states, game.rows, game.actions, strict=True):
        port.state[: len(packed(state))] = packed(state)
        assert port.step(row[:2], row[2], row[3:])[0] == 0
        assert np.abs(port.x - action).max() <= 1e-12
        assert SMALL.contains(port.x)
        assert exported.observed(player, port.x)[0] <= 0
        cut += np.linalg.norm(port.x - SMALL.centre) > 0.4 - 1e-12
    assert cut > 20


def margin(player, info, d):
    """By how much the certificate lets an action be off, as a length."""
    known, region = player.knowledge, info.region
    if isinstance(known, Curvature):
        return region.noise / (4 * max(region.steepness, 0.1))
    return known._lost(d) if isinstance(known, LipschitzHull) else region.error


HOSTILE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-320, 1e-200, 1.0, -0.5, 1e160, -1e200, 1.7e308]


@with_compiler
@pytest.mark.parametrize("name", PLAYERS)
def test_what_python_refuses_is_refused_and_changes_nothing(built, name):
    player, rng = PLAYERS[name], np.random.default_rng(3)
    port = built(player)
    state = player.init(np.full(2, 0.01))
    refused = 0
    for _ in range(300):
        before = port.state.raw
        told, s = rng.normal(size=2), rng.normal(size=2) / 3
        with np.errstate(all="ignore"):  # where a slack of 1e200 was told, so were far actions
            g = exported.observed(player, state.x)[0]
        if rng.random() < 0.7:
            told, s, g = (
                np.where(rng.random(2) < 0.2, rng.choice(HOSTILE, 2), told),
                np.where(rng.random(2) < 0.2, rng.choice(HOSTILE, 2), s),
                float(rng.choice(HOSTILE)) if rng.random() < 0.2 else g,
            )
        status, _ = port.step(told, g, s)
        finite = np.isfinite([*told, g, *s]).all()
        try:
            with np.errstate(all="ignore"):
                after = stepped(player, state, told, g, s)[0]
        except (SurefootError, OverflowError):
            after = None
        if after is None or not finite:
            assert status != 0
            assert (status == 1) == (not finite)
            assert port.state.raw == before
            refused += 1
        else:
            assert status == 0
            state = after
            assert port.x.tobytes() == state.x.tobytes()
    assert 50 < refused < 270


def stepped(player, state, told, g, s):
    return player.step(state, exported.feedback(player, told, g, s))


@with_compiler
@pytest.mark.parametrize("name", ["CertifiedPFS", "CertifiedOGD", "LeaderFollower"])
def test_a_wrong_constant_raises_the_alarm_in_the_round_in_which_python_sees_it(built, name):
    lies = {
        "CertifiedPFS": CertifiedPFS(G_g=0.7, domain=BALL, rho=0.3),
        "CertifiedOGD": CertifiedOGD(knowledge=Curvature(beta=0.2, reach=1.5), radius=1.5),
        "LeaderFollower": LeaderFollower(G_g=0.7, domain=BALL, cuts=2),
    }
    player = lies[name]
    game = exported.played(player, 2, 200, keep=True)
    port = built(player)
    alarms = [bool(port.step(row[:2], row[2], row[3:])[1].alarms) for row in game.rows]
    assert alarms == [bool(info.contradictions) for info in game.infos]
    assert any(alarms)


@with_compiler
def test_the_header_of_a_journal_replays_the_journal(tmp_path):
    from surefoot.cli.export_c import export_c
    from surefoot.controller import read_journal

    player = LeaderFollower(G_g=1.2, domain=BALL, cuts=2)
    path, rng = tmp_path / "plant.journal", np.random.default_rng(5)
    with Controller(player, [0.01, 0.01], journal=path) as controller:
        for _ in range(100):
            g, s = exported.observed(player, controller.ask())
            controller.tell(
                cost_gradient=rng.normal(size=2) - 1, constraint_value=g, constraint_subgradient=s
            )
    export_c(path, tmp_path / "port.h", "port")
    header = (tmp_path / "port.h").read_text()
    assert "PORT_START_ACTION {0x1.47ae147ae147bp-7, 0x1.47ae147ae147bp-7}" in header
    record = read_journal(path)
    port = exported.Compiled(header, 2, tmp_path)
    assert port.start(record.start) == 0
    for told, following in zip(record.rounds, [*record.rounds[1:], None], strict=True):
        assert port.x.tobytes() == told.action.tobytes()
        status, info = port.step(told.cost_gradient, told.g, told.constraint_subgradient)
        assert (status, info.alarms) == (0, 0)
        if following is not None:
            assert info.bound == following.bound
    assert port.x.tobytes() == record.action.tobytes()


@with_compiler
def test_a_start_outside_or_not_strictly_feasible_is_refused(built):
    port = built(PLAYERS["CertifiedPFS"])
    before = port.state.raw
    assert [port.start(x) for x in ([np.nan, 0.0], [1.5, 0.1])] == [1, 2]
    assert port.state.raw == before
    assert port.step(np.ones(2), 0.0, np.ones(2))[0] == 2
    assert port.step(np.ones(2), -1e-16, np.ones(2))[0] == 2
    assert port.state.raw == before


@with_compiler
def test_steps_below_rounding_do_not_add_up(built):
    # The limit is x[0] <= 1: tests/attack/test_aimed.py has the same attack on Python.
    nu, s = 0.25, np.array([1.0, 0.0])
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(value=nu)))
    port = built(player)
    assert port.start(np.zeros(2)) == 0
    for t in range(2_000):
        x = port.x.copy()
        read = -1.0 - nu if t == 0 else x[0] - 1.0 + 0.9 * nu
        step = 0.99 * 2.0**-54 if t < 1_999 else 10.0
        assert port.step(np.array([x[0] + step, x[1]]), read, s)[0] == 0
    assert 1 - 1e-6 < port.x[0] <= 1.0


@with_compiler
@pytest.mark.parametrize("d", [2, 3])
def test_a_visit_under_drift_goes_to_the_anchor_itself(built, d):
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=0.02)))
    port, s = built(player, d), np.eye(d)[0]
    assert port.start(np.zeros(d)) == 0
    there = []
    for t in range(40):
        x = port.x.copy()
        assert port.step(np.full(d, 0.3), x[0] - 0.6 + 0.002 * t, s)[0] == 0
        there.append(port.x.copy())
    visits = [x for x in there if (np.abs(x) < 1e-200).all()]
    assert visits
    assert all((x == 0).all() for x in visits)


# --- without one ----------------------------------------------------------------------------------


def test_every_name_in_a_header_has_its_prefix_and_every_part_is_used():
    import re

    used = ""
    for player in PLAYERS.values():
        text = c_header(player, 2, name="limiter")
        assert "sf_" not in text
        assert "SF_" not in text
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        functions = re.findall(r"^static inline [\w ]+?\*?(\w+)\(", code, re.MULTILINE)
        assert functions
        assert all(name.startswith("limiter_") for name in functions)
        used += text
    folder = ROOT / "src" / "surefoot" / "controller" / "export" / "c"
    for part in folder.glob("*.h"):
        text = part.read_text()[-150:]  # what is included comes before
        assert text.replace("sf_", "limiter_").replace("SF_", "LIMITER_") in used, part.name


def test_the_constants_are_written_so_that_no_compiler_rounds_them():
    player = CertifiedPFS(G_g=0.1, domain=Ball(1.0), rho=0.3)
    text = c_header(player, 2)
    assert "#define SUREFOOT_G_G 0x1.999999999999ap-4 /* 0.1: " in text
    noise = float.fromhex(text.split("SUREFOOT_NOISE ")[1].split()[0])
    assert noise == 16 * 6 * 2.0**-53 * 0.1


@pytest.mark.parametrize("radius", [1e22, 1e100])
def test_a_player_of_a_very_large_ball_is_written_too(radius):
    for player in (
        CertifiedPFS(G_g=0.1, domain=Ball(radius), rho=0.3),
        SafetyFilter(G_g=0.1, domain=Ball(radius), rho=0.3),
    ):
        assert "SUREFOOT_NOISE" in c_header(player, 2)


def test_the_comment_says_player_promise_flags_and_how_exact():
    two, three = (c_header(PLAYERS["CertifiedPFS"], d) for d in (2, 3))
    for text in (two, three):
        assert text.startswith("/*\n * Certified steps in C99")
        words = " ".join(text[: text.index("*/")].replace(" * ", " ").split())
        assert repr(PLAYERS["CertifiedPFS"]) in words
        assert "-ffp-contract=off" in words
        assert "g of every action is at most 0" in words
    assert "by rounding" in three
    assert ("bit for bit" in two) == (None not in fusing_here())


@pytest.mark.parametrize(
    ("player", "said"),
    [
        (LeaderFollower(G_g=1.0, domain=BALL), "cuts = 2"),
        (LeaderFollower(G_g=1.0, domain=BALL, cuts=3), "got cuts = 3"),
        (
            CertifiedOGD(knowledge=CurvatureRows(beta=1.0, rows=2, reach=1.0), radius=1.0),
            "to be exported",
        ),
        (Certified(proposer=Descent(radius=1.0), knowledge=HULL), "to be exported"),
        (Certified(proposer=Leader(domain=BALL, cuts=2), knowledge=HULL), "domain of its leader"),
        (
            RegionFilter(knowledge=LipschitzHull(G_g=1.0, domain=Box([-1.0] * 2, [1.0] * 2))),
            "domain must be a Ball to be exported, got Box",
        ),
        (
            LeaderFollower(G_g=1.0, domain=BALL, cuts=2, slope_error=np.inf),
            "knowledge.errors.slope must be finite to be exported, got inf",
        ),
        (RegionFilter(knowledge=CurvatureRows(beta=1.0, rows=2, reach=1.0)), "to be exported"),
        (
            CertifiedOGD(
                knowledge=Curvature(beta=1.0, reach=1.0, errors=Errors(drift=0.1)), radius=1.0
            ),
            "knowledge.errors.drift must be 0 to be exported, got 0.1",
        ),
        (CertifiedPFS(G_g=np.ones((3, 1)), domain=BALL, rho=0.1), "knowledge.G_g must be"),
        ("LeaderFollower", "player must be a CertifiedPFS"),
        (OGD(eta=0.1, domain=BALL), "player must be a CertifiedPFS"),
    ],
)
def test_what_has_no_c_text_is_refused_in_one_sentence(player, said):
    with pytest.raises(SurefootError, match=said) as error:
        c_header(player, 2)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"dimension": 0}, "dimension"),
        ({"dimension": 2, "name": "two words"}, "name must be a C identifier, got 'two words'"),
        ({"dimension": 2, "name": "1st"}, "C identifier"),
        ({"dimension": 2, "start": [9.0, 0.0]}, "x1 must be in the domain"),
        ({"dimension": 3, "start": [0.0, 0.0]}, "start"),
        ({"dimension": 3}, None),
    ],
)
def test_dimension_name_and_start_are_checked(words, said):
    player = PLAYERS["CertifiedPFS"]
    if said is None:
        assert "SUREFOOT_D 3 " in c_header(player, **words)
        return
    with pytest.raises(SurefootError, match=said):
        c_header(player, **words)


def test_a_centre_of_another_dimension_is_refused():
    player = CertifiedPFS(G_g=1.0, domain=OFF_CENTRE, rho=0.1)
    with pytest.raises(SurefootError, match="centre"):
        c_header(player, 3)


# --- descriptions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLAYERS)
def test_a_player_is_described_by_its_class_and_its_fields(name):
    def table(value):
        if is_dataclass(value):
            parts = {f.name: table(getattr(value, f.name)) for f in fields(value)}
            kept = {n: part for n, part in parts.items() if part is not None}
            return {"class": type(value).__name__, **kept}
        return value.tolist() if isinstance(value, np.ndarray) else value

    assert object_from(table(PLAYERS[name])) == PLAYERS[name]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "player.class must be one of"),
        ({"class": "os.system"}, "got 'os.system'"),
        ({"class": ["Ball"]}, "player.class must be one of"),
        ({"class": "Ball", "radius": 1.0, "rho": 2.0}, "got 'rho'"),
        ({"class": "Ball"}, "player must fit Ball: missing 1 required"),
        ({"class": "Ball", "radius": -1.0}, "radius must be a finite number > 0"),
        (
            {"class": "CertifiedPFS", "G_g": 1.0, "rho": 1.0, "domain": {"class": "Sphere"}},
            "player.domain.class",
        ),
    ],
)
def test_a_wrong_description_is_refused_in_one_sentence(table, said):
    with pytest.raises(SurefootError, match=said) as error:
        object_from(table, "player")
    assert "\n" not in str(error.value)
