"""The C header: the kernel's text with constants, the kernel's bits, and the same refusals."""

import re
import shutil
import subprocess
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from tests._scripts import script
from tests.kernel.players import players

from surefoot import Ball, kernel
from surefoot.certified import Certified
from surefoot.controller.export import c_header, c_vectors
from surefoot.core.errors import SurefootError
from surefoot.core.plain import build
from surefoot.knowledge import Curvature, CurvatureRows, Errors, LipschitzHull
from surefoot.proposers import Descent, Leader
from surefoot.rules import OGD, CertifiedOGD, CertifiedPFS, LeaderFollower, RegionFilter
from surefoot.sets import Simplex

exported = script("benchmarks/exported.py")
BALL = Ball(1.5)
built = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
with_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


# --- with a compiler ------------------------------------------------------------------------------


def compile_program(folder, header, vectors, *flags):
    """Return what a program that tests the vectors says."""
    (folder / "port.h").write_text(header)
    (folder / "vectors.h").write_text(vectors)
    (folder / "main.c").write_text(
        '#include "port.h"\n#include "vectors.h"\nint main(void) {\n'
        "    if (port_state_size(&port_player) != PORT_STATE) { return 201; }\n"
        "    if (port_scratch_size(&port_player) != PORT_SCRATCH) { return 202; }\n"
        "    return port_test_vectors();\n}\n"
    )
    command = ["gcc", *exported.STRICT, *flags, "main.c", "-o", "main", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr
    return subprocess.run([folder / "main"], check=False).returncode


PLAIN = ("gcc", "-O0")  # tests/kernel/test_text.py has the other ways
# The optimiser takes seconds for what the sanitizers add, and finds nothing that they do not.
SANE = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
PARTS = re.compile(r"#define PORT_H\n(.*?)\n\n(.*?)(/\* The player. \*/.*)#endif", re.DOTALL)
CHECK = """
static int port_check(void)
{
    if (port_state_size(&port_player) != PORT_STATE) { return 201; }
    if (port_scratch_size(&port_player) != PORT_SCRATCH) { return 202; }
    return port_test_vectors();
}
"""


def write_programs(d):
    """Yield the players of a program, and its text: the kernel's once, and what each header adds.

    Headers differ in their players and, where these remember as many cuts, in nothing that the
    kernel's text reads: a compiler needs to read it once for all of them.
    """
    programs = {}
    for name, player in players(d).items():
        sizes, text, rule = PARTS.search(c_header(player, d, name="port")).groups()
        part = rule + c_vectors(player, d, name="port") + CHECK
        own = re.findall(r"^static .*?\b(port_\w+)(?= =|\[|\()", part, re.MULTILINE)
        sizes, state = sizes.split("#define PORT_STATE")
        told = programs.setdefault((sizes, text), {})
        again = "".join(f"#undef PORT_{word}\n" for word in ("STATE", "SCRATCH", "VECTOR_KIND"))
        part = re.sub(rf"\b({'|'.join(own)})\b", rf"\1_{len(told)}", part)
        told[name] = f"{again}#define PORT_STATE{state}\n{part}"
    for (sizes, text), told in programs.items():
        calls = ", ".join(f"port_check_{i}" for i in range(len(told)))
        main = f"""
            int main(void) {{
                int (*const checks[])(void) = {{{calls}}};
                for (int i = 0; i < {len(told)}; i++) {{ printf("%d\\n", checks[i]()); }}
                return 0;
            }}"""
        yield list(told), "\n".join(["#include <stdio.h>", sizes, text, *told.values(), main])


@built
@with_compiler
@pytest.mark.slow
def test_the_vectors_of_all_players_have_the_kernel_s_bits(tmp_path):
    for names, text in write_programs(3):
        (tmp_path / "main.c").write_text(text)
        command = ["gcc", *exported.STRICT, *SANE, "main.c", "-o", "main", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
        assert dict(zip(names, said.stdout.split(), strict=True)) == dict.fromkeys(names, "0")


@built
@with_compiler
@pytest.mark.slow
def test_vectors_find_a_bit_that_differs_and_fast_math_is_refused(tmp_path):
    player = LeaderFollower(G_g=1.2, domain=BALL)
    header, vectors = (write(player, 2, name="port") for write in (c_header, c_vectors))
    assert compile_program(tmp_path, header, vectors) == 0
    wrong = header.replace(".G_g = 0x1.3333333333333p+0", ".G_g = 0x1.3333333333334p+0")
    assert 1 <= compile_program(tmp_path, wrong, vectors) <= 100
    assert "without -ffast-math" in compile_program(tmp_path, header, vectors, "-ffast-math")


@built
@with_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", exported.PLAYERS)
def test_the_header_is_the_extension_bit_for_bit(tmp_path, name):
    player = exported.PLAYERS[name]
    rows, ends = exported.play(player, 2, 500)
    port = exported.Port(player, 2, tmp_path, PLAIN)
    assert port.start(np.full(2, 0.01)) == 0
    assert port.many(rows).tobytes() == ends.tobytes()


HOSTILE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-320, 1e-200, 1.0, -0.5, 1e160, -1e200, 1.7e308]


@with_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["LeaderFollower", "CertifiedPFS", "CertifiedOGD"])
def test_what_python_refuses_is_refused_and_changes_nothing(tmp_path, name):
    player, rng = exported.PLAYERS[name], np.random.default_rng(3)
    port = exported.Port(player, 2, tmp_path, PLAIN)
    assert port.start(np.full(2, 0.01)) == 0
    state, refused = player.init(np.full(2, 0.01)), 0
    for _ in range(300):
        before = port.state
        told, s = rng.normal(size=2), rng.normal(size=2) / 3
        with np.errstate(all="ignore"):  # where a slack of 1e200 was told, so were far actions
            g = float(exported.observe(player, state.x)[0])
        if rng.random() < 0.7:
            told = np.where(rng.random(2) < 0.2, rng.choice(HOSTILE, 2), told)
            s = np.where(rng.random(2) < 0.2, rng.choice(HOSTILE, 2), s)
            g = float(rng.choice(HOSTILE)) if rng.random() < 0.2 else g
        status, _ = port.step(told, g, s, state.x)
        finite = np.isfinite([*told, g, *s]).all()
        seen = exported.Feedback(told, g, s)
        try:
            with np.errstate(all="ignore"), kernel.engine("python"):
                after = player.step(state, seen)[0]
        except (SurefootError, OverflowError):
            after = None
        assert (status == 0) == (after is not None and bool(finite))
        assert (status == 1) == (not finite)
        if status:
            assert port.state.tobytes() == before.tobytes()
            refused += 1
        else:
            state = after
    assert 50 < refused < 270


@with_compiler
@pytest.mark.slow
def test_a_start_outside_or_not_strictly_feasible_is_refused(tmp_path):
    port = exported.Port(exported.PLAYERS["CertifiedPFS"], 2, tmp_path, PLAIN)
    assert [port.start(x) for x in ([np.nan, 0.0], [1.5, 0.1], [0.0, 0.0])] == [1, 2, 0]
    before = port.state
    assert port.step(np.ones(2), 0.0, np.ones(2))[0] == 2
    assert port.step(np.ones(2), -1e-16, np.ones(2))[0] == 2
    assert port.state.tobytes() == before.tobytes()


@with_compiler
@pytest.mark.slow
def test_steps_below_rounding_do_not_add_up(tmp_path):
    # The limit is x[0] <= 1: tests/attack/test_aimed.py has the same attack on the library.
    nu, s = 0.25, np.array([1.0, 0.0])
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(value=nu)))
    port = exported.Port(player, 2, tmp_path, PLAIN)
    assert port.start(np.zeros(2)) == 0
    for t in range(2_000):
        x = port.state[:2]
        read = -1.0 - nu if t == 0 else x[0] - 1.0 + 0.9 * nu
        step = 0.99 * 2.0**-54 if t < 1_999 else 10.0
        assert port.step(np.array([x[0] + step, x[1]]), read, s)[0] == 0
    assert 1 - 1e-6 < port.state[0] <= 1.0


@with_compiler
@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 3])
def test_a_visit_under_drift_goes_to_the_anchor_itself(tmp_path, d):
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=0.02)))
    port, s = exported.Port(player, d, tmp_path, PLAIN), np.eye(d)[0]
    assert port.start(np.zeros(d)) == 0
    there = []
    for t in range(40):
        x = port.state[:d]
        assert port.step(np.full(d, 0.3), x[0] - 0.6 + 0.002 * t, s)[0] == 0
        there.append(port.state[:d])
    visits = [x for x in there if (np.abs(x) < 1e-200).all()]
    assert visits
    assert all((x == 0).all() for x in visits)


# --- without one ----------------------------------------------------------------------------------


def test_every_name_in_a_header_has_its_prefix():
    text = c_header(LeaderFollower(G_g=1.0, domain=BALL), 2, name="limiter", start=[0.0, 0.5])
    assert "sf_" not in text
    assert "SF_" not in text
    assert "#include <math.h>" in text
    assert '#include "' not in text
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    functions = re.findall(r"^static inline [\w ]+?\*?(\w+)\(", code, re.MULTILINE)
    assert all(name.startswith("limiter_") for name in functions)
    assert "limiter_step" in functions
    assert "#define LIMITER_START_ACTION {0x0.0p+0, 0x1.0000000000000p-1} /* for init */" in text


def test_the_constants_are_written_so_that_no_compiler_rounds_them():
    text = c_header(CertifiedPFS(G_g=0.1, domain=Ball(1.0), rho=0.3), 2)
    assert ".G_g = 0x1.999999999999ap-4, /* 0.1 */" in text
    assert ".knowledge = SUREFOOT_LENGTH," in text
    values = LeaderFollower(G_g=1.0, domain=BALL, slope_error=np.inf)
    assert ".slope_error = HUGE_VAL, /* inf */" in c_header(values, 2)


def test_the_comment_says_player_promise_flags_and_how_exact():
    for player in (exported.PLAYERS["CertifiedPFS"], exported.PLAYERS["CertifiedOGD"]):
        text = c_header(player, 2)
        assert text.startswith("/*\n * Certified steps in C99")
        words = " ".join(text[: text.index("*/")].replace(" * ", " ").split())
        assert repr(player) in words
        assert "-ffp-contract=off" in words
        assert "g of every action is at most 0" in words
        assert "The bits are those of surefoot's compiled kernel" in words
    assert "g need not be convex" in words


HULL = LipschitzHull(G_g=1.0, reach=1.5)


@pytest.mark.parametrize(
    "player",
    [
        Certified(proposer=Leader(domain=BALL), knowledge=HULL),
        LeaderFollower(G_g=1.0, domain=Simplex(2)),
        LeaderFollower(G_g=1.0, domain=BALL, leader=OGD(eta=0.1, domain=BALL)),
        CertifiedOGD(knowledge=CurvatureRows(beta=1.0, rows=2, domain=Simplex(2)), radius=1.0),
        RegionFilter(knowledge=Curvature(beta=1.0, reach=1.0, errors=Errors(slope=0.1))),
        CertifiedPFS(G_g=np.ones((3, 1)), domain=BALL, rho=0.1),
        CertifiedPFS(G_g=1.0, domain=Ball(1.5, [0.1, 0.1, 0.1]), rho=0.1),
        "LeaderFollower",
        OGD(eta=0.1, domain=BALL),
    ],
    ids=lambda player: repr(player)[:60],
)
def test_what_has_no_c_text_is_refused_in_one_sentence(player):
    with pytest.raises(SurefootError, match=r"player must be .*the kernel has .*C text") as error:
        c_header(player, 2)
    assert "\n" not in str(error.value)


def test_a_pair_of_one_s_own_is_written_where_the_kernel_has_it():
    player = Certified(proposer=Descent(radius=1.0), knowledge=HULL)
    assert ".proposer = SUREFOOT_DESCENT," in c_header(player, 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"dimension": 0}, "dimension"),
        ({"dimension": 2, "name": "two words"}, "name must be a C identifier, got 'two words'"),
        ({"dimension": 2, "name": "1st"}, "C identifier"),
        ({"dimension": 2, "start": [9.0, 0.0]}, "x1 must be in the domain"),
        ({"dimension": 3, "start": [0.0, 0.0]}, "start"),
    ],
)
def test_dimension_name_and_start_are_checked(words, said):
    player = exported.PLAYERS["CertifiedPFS"]
    assert "SUREFOOT_D 3 " in c_header(player, 3)
    with pytest.raises(SurefootError, match=said):
        c_header(player, **words)


def test_an_export_needs_the_kernel():
    with kernel.engine("python"), pytest.raises(SurefootError, match="needs the compiled kernel"):
        c_vectors(exported.PLAYERS["CertifiedPFS"], 2)


# --- descriptions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", exported.PLAYERS)
def test_a_player_is_described_by_its_class_and_its_fields(name):
    def table(value):
        if is_dataclass(value):
            parts = {f.name: table(getattr(value, f.name)) for f in fields(value)}
            kept = {n: part for n, part in parts.items() if part is not None}
            return {"class": type(value).__name__, **kept}
        return value.tolist() if isinstance(value, np.ndarray) else value

    assert build(table(exported.PLAYERS[name])) == exported.PLAYERS[name]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "player.class must be one of"),
        ({"class": "os.system"}, "got 'os.system'"),
        ({"class": ["Ball"]}, "player.class must be one of"),
        ({"class": "Ball", "radius": 1.0, "rho": 2.0}, "got 'rho'"),
        ({"class": "Ball"}, "player must have radius, which Ball needs"),
        ({"class": "Ball", "radius": -1.0}, "radius must be a finite number > 0"),
        (
            {"class": "CertifiedPFS", "G_g": 1.0, "rho": 1.0, "domain": {"class": "Sphere"}},
            "player.domain.class",
        ),
    ],
)
def test_a_wrong_description_is_refused_in_one_sentence(table, said):
    with pytest.raises(SurefootError, match=said) as error:
        build(table, "player")
    assert "\n" not in str(error.value)
