"""The text itself: one result by every compiler, and nothing undefined whatever it is given."""

import shutil
import subprocess

import numpy as np
import pytest

from surefoot import kernel
from tests._scripts import ROOT, script

exported = script("benchmarks/exported.py")
C = ROOT / "src" / "surefoot" / "kernel" / "c"
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


@needs_gcc
@pytest.mark.slow
def test_anything_is_answered_with_a_status_under_the_sanitizers(tmp_path):
    source = ROOT / "tests" / "kernel" / "_fuzz.c"
    flags = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    command = ("gcc", *flags, "-std=c99", "-ffp-contract=off", f"-I{C}", source, "-o", "fuzz")
    subprocess.run([*command, "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run(
        [tmp_path / "fuzz", "200000"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_gcc
@pytest.mark.slow
@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
@pytest.mark.parametrize("d", [2, 19])
@pytest.mark.parametrize("way", exported.WAYS, ids=" ".join)
def test_every_compiler_gives_the_bits_of_the_extension(tmp_path, way, d):
    if shutil.which(way[0]) is None:
        pytest.skip(f"{way[0]} is not installed")
    for name in ("LeaderFollower", "CertifiedPFS", "CertifiedDualAveraging", "CertifiedOGD, rows"):
        folder = tmp_path / name.replace(", ", "-")
        folder.mkdir()
        player = exported.PLAYERS[name]
        rows, ends = exported.play(player, d, 1_000)
        port = exported.Port(player, d, folder, way)
        assert port.start(np.full(d, 0.01)) == 0
        assert port.many(rows).tobytes() == ends.tobytes()


def test_the_text_calls_no_function_of_a_library_but_the_root():
    import re

    text = "\n".join(path.read_text() for path in sorted(C.glob("*.h")) if path.stem != "games")
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    called = set(re.findall(r"\b([a-z]\w*)\(", code)) - {"if", "for", "while", "defined", "sizeof"}
    own = {name for name in called if name.startswith("sf_")}
    assert called - own <= {"sqrt", "fabs", "memset", "target_clones", "__attribute__"}


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
    seen = set()
    for _ in range(3_000):
        out = np.empty(rule.out)
        told = [odd[i] for i in rng.integers(len(odd), size=8)]
        seen.add(_step.step(rule.handle, block, *told, out))
        with pytest.raises(TypeError):
            _step.step(rule.handle, *told)
        for handle in (None, 1, "rule"):
            with pytest.raises((TypeError, ValueError)):
                _step.step(handle, block, *told, out)
    assert seen <= set(range(6))
    for fields in ({}, {"d": 2}, {"d": 0}, {"d": 2, "rows": 1, "domain": 2}):
        assert _step.make(fields) is None
    for fields in ({"d": -1}, {"d": "two"}, {"d": 2**40}, {"d": 2, "centre": np.zeros(3)}, 7):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            _step.make(fields)
