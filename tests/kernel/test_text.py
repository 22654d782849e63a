"""The text itself: one result by every compiler, and nothing undefined whatever it is given."""

import shutil
import subprocess

import numpy as np
import pytest

from surefoot import Feedback, kernel
from surefoot.kernel_bridge import feedback_fields
from tests._scripts import ROOT, script

exported = script("benchmarks/exported.py")
C = ROOT / "src" / "surefoot" / "kernel" / "c"
BOTH = ("LeaderFollower", "CertifiedOGD, rows")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


@needs_gcc
@pytest.mark.slow
def test_anything_is_answered_with_a_status_under_the_sanitizers(tmp_path):
    source = ROOT / "tests" / "kernel" / "_fuzz.c"
    flags = ("-g", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    command = ("gcc", *flags, "-std=c99", "-ffp-contract=off", f"-I{C}", source, "-o", "fuzz")
    subprocess.run([*command, "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "fuzz", "50000"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
def test_compiled_games_answer_whatever_they_are_called_with():
    from surefoot.kernel import _games

    rng, none, d, runs, rounds = np.random.default_rng(0), np.empty(0), 2, 2, 3
    codes = np.array([d, 4, 0, 0, 8, 1, runs, d + 1])  # a quadratic cost, rows, ScalarDPP, a ball
    players = np.tile([0.0, 1.0, 1.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0], (runs, 1))
    rows = np.vstack([np.eye(d), -np.eye(d)])
    made = [codes, np.ones(2), rows, np.ones(4), none, none, none, none, players, ()]
    handle = _games.make(*made)
    played = [handle, 0, runs, np.zeros((runs, d + 1)), np.ones((rounds, runs, d)), np.arange(runs)]
    played += [np.arange(rounds), *np.zeros((2, runs, rounds)), np.zeros((runs, rounds, d))]
    played += [none, none, np.zeros((runs, 4))]
    _games.play(*played)
    odd = [None, 1, -1, 2**40, "s", b"12345678", none, np.zeros(3), np.full(8, 99), np.ones((7, 2))]
    odd += [np.full(8, -1), np.full(9, np.nan), (None,), (handle, handle), handle, object()]
    answers = set()
    for call, arguments in ((_games.make, made), (_games.play, played)):
        for _ in range(2_000):
            told = [odd[rng.integers(len(odd))] if rng.random() < 0.15 else a for a in arguments]
            try:
                answers.add(type(call(*told)))
            except (TypeError, ValueError, BufferError, OverflowError) as error:
                answers.add(type(error))
    assert {type(None), type(handle), TypeError, ValueError} <= answers
    for rule in range(1, 22):  # a state that is shorter than what a rule writes is refused
        changed = codes.copy()
        changed[4], changed[7] = rule, d
        if rule not in (1, 4, 21):  # PFS, OGD and LB-SGD have actions alone
            with pytest.raises(ValueError, match="sizes of a game"):
                _games.make(changed, *made[1:])


@needs_gcc
@pytest.mark.slow
@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
@pytest.mark.parametrize(
    ("way", "names"),
    # -O3 is that of the extension. It takes seconds a player: `python -m benchmarks.exported`
    # compiles all in every way.
    [
        (("gcc", "-O0"), ("CertifiedPFS",)),
        (("gcc", "-O2"), BOTH),
        (("gcc", "-O3", "-march=native"), BOTH[:1]),
        (("clang", "-O2"), BOTH),
    ],
    ids=str,
)
def test_every_compiler_gives_the_bits_of_the_extension(tmp_path, way, names):
    if shutil.which(way[0]) is None:
        pytest.skip(f"{way[0]} is not installed")
    d = 19
    for name in names:
        folder = tmp_path / name.replace(", ", "-")
        folder.mkdir()
        player = exported.PLAYERS[name]
        rows, ends = exported.play(player, d, 1_000)
        port = exported.Port(player, d, folder, way)
        assert port.start(np.full(d, 0.01)) == 0
        assert port.many(rows).tobytes() == ends.tobytes()


def test_the_text_calls_no_function_of_a_library_but_the_root():
    import re

    text = "\n".join(
        path.read_text()
        for path in sorted(C.glob("*.h"))
        if path.stem not in ("games", "listing", "rounds")  # which no step calls
    )
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    called = set(re.findall(r"\b([a-z]\w*)\(", code)) - {"if", "for", "while", "defined", "sizeof"}
    own = {name for name in called if name.startswith("sf_")}
    assert called - own <= {"sqrt", "fabs", "memset", "__attribute__", "vector_size", "aligned"}


@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
def test_the_extension_answers_whatever_it_is_called_with():
    from surefoot.kernel import _step

    player = exported.PLAYERS["LeaderFollower"]
    rule = player.compiled.rule(player, np.zeros(2))
    rng, block, out = np.random.default_rng(0), rule.block_of(player.init(np.zeros(2))), None
    odd = [
        None,
        1.0,
        np.nan,
        "s",
        b"12345678",
        np.zeros(2),
        np.zeros(3),
        np.zeros((1, 2)),
        object(),
    ]
    odd += [np.zeros(2, dtype=np.float32), np.zeros(4)[::2], np.zeros(2, dtype=">f8"), [0.0, 0.0]]
    odd += [memoryview(bytearray(16)), memoryview(bytearray(17))[1:], 3, True, -1.0, np.float64(1)]
    seen, told = set(), feedback_fields()
    for _ in range(3_000):
        out = np.empty(rule.out)
        feedback = tuple(odd[i] for i in rng.integers(len(odd), size=len(told)))
        usual = Feedback(np.ones(2), -0.5, np.ones(2))
        usual = usual._replace(**{told[i][0]: feedback[i] for i in rng.integers(len(told), size=2)})
        for given in (feedback, usual):
            seen.add(_step.step(rule.handle, block, given, out))
        with pytest.raises(TypeError):
            _step.step(rule.handle, *feedback[:2])
        for handle in (None, 1, "rule"):
            with pytest.raises((TypeError, ValueError)):
                _step.step(handle, block, feedback, out)
        one, other = (odd[i] for i in rng.integers(len(odd), size=2))
        assert _step.step(rule.handle, one, usual, other) == _step.SF_ELSEWHERE
        assert _step.step(rule.handle, block, one, out) == _step.SF_ELSEWHERE
    assert {_step.SF_OK, _step.SF_ELSEWHERE, _step.SF_NOT_FINITE} <= seen
    for fields in ({}, {"d": 2}, {"d": 0}, {"d": 2, "rows": 1, "domain": "SF_BOX"}):
        assert _step.make(fields, told) is None
    wrong = [{"d": -1}, {"d": "two"}, {"d": 2**40}, {"d": 2, "centre": np.zeros(3)}, 7]
    wrong += [{"proposer": 1}, {"knowledge": "SF_NOBODY"}, {"d": 2, "width": 3}]
    for fields in wrong:
        with pytest.raises((TypeError, ValueError, OverflowError)):
            _step.make(fields, told)
    for table in (None, 7, (1,), (("age",),), (("age", "reads"),), (("hint", "reads", None),)):
        with pytest.raises((TypeError, ValueError)):
            _step.make(rule.fields, table)
    with pytest.raises(TypeError):
        _step.make(rule.fields, told * 99)
    for handle in (None, 1, "rule"):
        with pytest.raises((TypeError, ValueError)):
            _step.layout(handle)
