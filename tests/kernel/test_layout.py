"""The C text tells its layout, and what it reads of a round: Python has no number of either."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import namedtuple
from hashlib import sha256

import numpy as np
import pytest

from surefoot import Ball, Feedback, LeaderFollower, kernel, kernel_bridge
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import FIELDS
from surefoot.core.plain import encode
from surefoot.kernel_bridge import unpack_block
from tests._scripts import ROOT

from .players import Limit, players

pytestmark = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
SEEN = Feedback(np.array([-1.0, -0.5]), -0.5, np.array([0.6, 0.8]))
PLAYER = LeaderFollower(G_g=1.1, domain=Ball(1.5))


def play(player, rounds=6):
    """A state of the kernel after some rounds."""
    limit, state = Limit(player, 2), player.init(np.full(2, 0.01))
    for t in range(rounds):
        state, _ = player.step(state, limit.told(t, state.x))
    return state


def parts_of(player):
    """Both parts of a player in the kernel, which it describes without asking C."""
    known = player.knowledge
    return known.in_kernel(2), player.proposer.in_kernel(known, 2)


WITHOUT = """
import sys
sys.modules["surefoot.kernel._step"] = sys.modules["surefoot.kernel._games"] = None
import base64, json
import numpy as np
from surefoot import kernel
from surefoot.core.plain import encode
from surefoot.kernel_bridge import unpack_block
from tests.kernel.players import players
from tests.kernel.test_layout import parts_of

assert kernel.compiled() is None
found = {}
for name, stored in json.load(sys.stdin).items():
    block = np.frombuffer(base64.b64decode(stored["block"]))
    found[name] = encode(unpack_block(*parts_of(players(2)[name]), stored["layout"], block))
print(json.dumps(found))
"""


@pytest.mark.slow
def test_a_block_is_read_with_its_layout_where_there_is_no_compiled_kernel():
    stored, expected = {}, {}
    for name, player in players(2).items():
        state = play(player)
        block = base64.b64encode(state.kernel.block.tobytes()).decode()
        stored[name] = {"layout": state.kernel.rule.layout_data, "block": block}
        expected[name] = encode(state)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        cwd=ROOT,
        input=json.dumps(stored),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


def without(data, name):
    return [[n, shape] for n, shape in data if n != name]


def changed(data, name, shape):
    return [[n, shape if n == name else other] for n, other in data]


def test_a_layout_that_is_not_that_of_the_state_is_rejected():
    state, parts = play(PLAYER), parts_of(PLAYER)
    data, block = state.kernel.rule.layout_data, state.kernel.block
    assert unpack_block(*parts, data, block).x.tolist() == state.x.tolist()
    assert json.loads(json.dumps(data)) == data
    wrong = [
        (data, block[:-1]),
        (data, np.append(block, 0.0)),
        (data, block.reshape(1, -1)),
        (without(data, "learner.reach"), block[1:]),
        (without(data, "x"), block[2:]),
        (without(data, "memory.rungs"), np.append(block[:-60], [])),
        ([*data, ["learner.other", []]], np.append(block, 0.0)),
        ([*data, ["learner.reach", []]], np.append(block, 0.0)),
        (changed(data, "x", [-2]), block),
        (changed(data, "x", [2.5, "a"]), block),
        (changed(data, "learner.cuts.count", [1, 1]), block),
        ([["x"]], block),
        ("layout", block),
        (None, block),
        (7, block),
    ]
    for layout, doubles in wrong:
        with pytest.raises(InvalidValueError, match=r"^layout must be that of a state of HullIn"):
            unpack_block(*parts, layout, doubles)


@pytest.mark.parametrize("count", [-1.0, 0.5, 17.0, np.nan, np.inf, -np.inf])
def test_a_count_out_of_range_is_rejected_in_a_block_of_a_file(count):
    state = play(PLAYER)
    block = state.kernel.block.copy()
    block[state.kernel.rule.count] = count
    with pytest.raises(InvalidValueError, match="number of cuts that is whole and from 0 to 16"):
        unpack_block(*parts_of(PLAYER), state.kernel.rule.layout_data, block)


# --- what is read of a round ----------------------------------------------------------------------


def test_a_field_that_the_kernel_does_not_know_is_python_s(monkeypatch):
    Wider = namedtuple("Wider", [*Feedback._fields, "weight"], defaults=[*Feedback(), None])
    Inner = namedtuple("Inner", ["weight", *Feedback._fields], defaults=[1, *Feedback()])
    fits, weight = play(PLAYER).kernel.rule, FIELDS[3]._replace(name="weight", kernel="python")
    for kind, usual in ((Wider, None), (Inner, 1)):
        rows = (*FIELDS, weight) if usual is None else (weight, *FIELDS)
        monkeypatch.setattr(kernel_bridge, "FIELDS", rows)
        monkeypatch.setattr(kernel_bridge, "Feedback", kind)
        player = LeaderFollower(G_g=1.1, domain=Ball(1.5))
        state = player.init(np.zeros(2))
        rule = player.compiled.rule(player, state.x)
        block, out = rule.block_of(state), np.empty(rule.out)
        told = kind(**SEEN._asdict())
        assert told.weight == usual
        for number in (2.0, np.ones(2), "much", 0.0, False):
            assert not kernel_bridge.step_in_place(rule, block, told._replace(weight=number), out)
        assert kernel_bridge.step_in_place(rule, block, told, out)
        assert out[rule.at["bound"]] <= 0
        # A rule that was made before does not know where the fields are.
        assert not kernel_bridge.step_in_place(fits, fits.block_of(state), told, out)


def test_the_kernel_reads_the_fields_that_it_is_said_to_read():
    words = {name: word for name, word, _ in kernel_bridge.feedback_fields()}
    assert words["cost_gradient"] == words["age"] == "reads"
    extension, fields = kernel.compiled(), play(PLAYER).kernel.rule.fields
    table = tuple((name, "reads", None) for name in words)
    with pytest.raises(ValueError, match="does not read 'cost_value' of a feedback"):
        extension.make(fields, table)


# --- one more number ------------------------------------------------------------------------------

# What CONTRIBUTING adds to the leaders, and the same elsewhere.
RECIPE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("kernel's state\n")[2]
LINE, ATTRIBUTE = re.findall(r"```(?:c|text)\n    (.*)\n```", RECIPE)[:2]
MORE = {
    "leader.h": ("SF_NUMBERS_OF_LEADER", LINE),
    "probing.h": ("SF_NUMBERS_OF_PROBING", 'NUMBER(SF_SPARE_OF_PROBING, "spare")'),
    "length.h": ("SF_NUMBERS_OF_LENGTH", 'NUMBER(SF_SPARE_OF_LENGTH, "spare")'),
    "curvature.h": ("SF_NUMBERS_OF_CURVED", 'NUMBER(SF_SPARE_OF_CURVED, "spare")'),
    "surefoot.h": ("SF_NUMBERS_OF_INFO", "NUMBER(int, spare)"),
}
STATES = {
    "proposers/leader.py": "LeaderState",
    "proposers/probing.py": "ProbingState",
    "knowledge/certified_length.py": "LengthMemory",
    "knowledge/curvature.py": "CurvatureMemory",
}
PLAYED = (
    "leader, default",
    "probing, default",
    "length, fixed",
    "descent, ball",
    "filter, rows, drift",
)
WITH = """
import numpy as np
from surefoot import kernel
from tests.kernel.players import Limit, players

assert kernel.name() == "kernel"
for name in %r:
    player = players(2)[name]
    limit, state = Limit(player, 2), player.init(np.zeros(2))
    for t in range(12):
        told = limit.told(t, state.x)
        theirs, info = player.step_in_python(state, told)
        state, known = player.step(state, told)
        assert state.kernel is not None
        np.testing.assert_allclose(state.x, theirs.x, rtol=0, atol=1e-12)
        assert abs(known.certificate.bound - info.certificate.bound) <= 1e-12
        assert known.kernel.numbers.spare == 0.0
    part = "learner" if name.startswith(("leader", "probing")) else "memory"
    whole = state
    whole = whole._replace(**{part: getattr(whole, part)._replace(spare=7.0)})
    again, _ = player.step(whole, limit.told(12, state.x))
    assert getattr(again, part).spare == 7.0
    print(name)
"""


def add_field(text, name):
    """Return a module with one more field of a named tuple."""
    start = text.index(f"class {name}(NamedTuple):")
    fields = re.compile(r"^    \w+: .*\n", re.MULTILINE)
    end = re.compile(r"\n(?:\n|    @|    def )").search(text, text.index('"""\n\n', start) + 5)
    *_, last = fields.finditer(text, start, end.start() + 1)
    return text[: last.end()] + f"    {ATTRIBUTE}\n" + text[last.end() :]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_number_more_needs_a_line_of_the_c_table_and_an_attribute_of_the_state(tmp_path):
    home = tmp_path / "src" / "surefoot"
    shutil.copytree(ROOT / "src" / "surefoot", home, ignore=shutil.ignore_patterns("*.so"))
    for name, (table, line) in MORE.items():
        file = home / "kernel" / "c" / name
        text = file.read_text()
        begin = re.compile(rf"#define {table}\(.*\\\n").search(text).end()
        if "INFO" not in table:  # the rounds stay the first number
            begin = text.index("\n", begin) + 1
        file.write_text(f"{text[:begin]}    {line} \\\n{text[begin:]}")
    for path, name in STATES.items():
        file = home / path
        file.write_text(add_field(file.read_text(), name))
    there = home / "kernel"
    texts = b"".join(path.read_bytes() for path in sorted(there.rglob("*.[ch]")))
    digest = sha256(texts).hexdigest()
    sources = [there / "_step.c", there / "_step_wide.c"]
    include = sysconfig.get_path("include")
    flags = ["-std=c99", "-O0", "-fPIC", "-shared", "-ffp-contract=off", f"-I{include}"]
    where = there / "_step.abi3.so"
    command = ["gcc", *flags, f'-DSUREFOOT_TEXT="{digest}"', *sources, "-o", where]
    subprocess.run(command, check=True)
    paths = os.pathsep.join([str(tmp_path / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", WITH % (PLAYED,)],
        env=os.environ | {"PYTHONPATH": paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [*PLAYED]
