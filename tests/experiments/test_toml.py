"""Specifications from TOML: every mistake at once, with its line; and back to TOML."""

import pickle
import re

import pytest
from hypothesis import given, settings, strategies as st

from surefoot.core.parameters import parameters_of
from surefoot.experiments import Spec, SpecError, build_spec, dump_spec, parse_spec, read_spec
from surefoot.experiments.build import ALGORITHMS_BY_NAME, PROBLEMS
from surefoot.experiments.toml import starter

STARTER = starter("first")
TOP = 'name = "x"\nhorizons = [30, 700]\n'
TOY = '[[problems]]\nname = "paper_toy"\n'
PFS = '[[algorithms]]\nname = "PFS"\ntuning = "anytime"\n'


def told(text):
    with pytest.raises(SpecError) as error:
        parse_spec(text, "x.toml")
    return str(error.value).split("\n")


def test_a_specification_with_one_mistake_of_each_kind_tells_them_all_with_their_lines():
    text = """\
# a [comment] with = and "brackets
name = "../escape"
horizons = [2000, -5, "ten"]
trials = true
seed = 1.5
engine = "scann"
[recording]
evry = 100
horizons = [7]
[[problems]]
name = "paper_toy"
label = "[[problems]] = # {"
published = 2
[[problems]]
name = "random_polytope"
dimension = 10
rows = 15
[[problems]]
name = "paper_toi"
[[problems]]
name = "ellipsoid"
condition = nan
shape.of = 3
[[algorithms]]
name = "PFS"
tunning = "anytime"
[[algorithms]]
name = "pfs"
tuning = "x"
[[algorithms]]
name = "PFS"
tuning = "anytim"
only = ["[[problem]] = # {",
        "ellipsoid"]
[[algorithms]]
name = "PFS"
label = "a"
parameters = { eta = -1, rho = true }
[[algorithms]]
name = "PFS"
label = "b"
parameters = { eta = { times = -3 }, rho = 1 }
[[algorithms]]
name = "PFS"
label = "b"
tuning = "tuned"
parameters = { rho = inf }
[[algorithms]]
name = "Jenatton"
tuning = "trade_off"
constants = { G_h = 1.0, G_f = -2 }
[algorithms.options]
betta = 1
[[algorithms]]
name = "Tighten"
parameters = { rho = { time = 9.0 } }
base.name = "OGD"
base.parameters.eta = 1
"""
    assert told(text) == [
        "x.toml:2: name: must be letters, digits, - and _, at most 64, got '../escape'",
        "x.toml:3: horizons: must be a list of whole numbers >= 1, got [2000, -5, 'ten']",
        "x.toml:4: trials: must be a whole number >= 1, got True",
        "x.toml:5: seed: must be a whole number >= 0, got 1.5",
        "x.toml:6: engine: must be one of 'auto', 'loop', 'batch', 'kernel', 'scan', got 'scann'",
        "x.toml:8: recording.evry: unknown key; did you mean 'every'?",
        "x.toml:9: recording.horizons[0]: nothing is played for 7 rounds",
        "x.toml:13: problems[0].published: must be 0 or 1, got 2",
        "x.toml:17: problems[1].rows: must be at least 2 dimension = 20, got 15",
        "x.toml:19: problems[2].name: unknown problem 'paper_toi'; did you mean 'paper_toy'? "
        "(for your own give --plugin MODULE)",
        "x.toml:22: problems[3].condition: must be a number, got nan",
        "x.toml:23: problems[3].shape: unknown key; known: name, label, trials, dimension, "
        "condition, costs, seed",
        "x.toml:26: algorithms[0].tunning: unknown key; did you mean 'tuning'?",
        "x.toml:28: algorithms[1].name: unknown algorithm 'pfs'; did you mean 'PFS'? "
        "(for your own give --plugin MODULE)",
        "x.toml:32: algorithms[2].tuning: unknown tuning of PFS 'anytim'; did you mean 'anytime'?",
        "x.toml:33: algorithms[2].only[0]: unknown problem '[[problem]] = # {'; "
        "did you mean '[[problems]] = # {'?",
        "x.toml:38: algorithms[3].parameters.eta: must be a finite number > 0, got -1",
        "x.toml:38: algorithms[3].parameters.rho: must be a finite number >= 0, got True",
        "x.toml:42: algorithms[4].parameters.eta: must be a finite number > 0, got -3.0",
        "x.toml:43: algorithms[5]: the label 'b' is taken: labels of algorithms must differ",
        "x.toml:47: algorithms[5].parameters: must not be given with a tuning: keep one of the two",
        "x.toml:51: algorithms[6].constants.G_h: unknown constant 'G_h'; did you mean 'G_g'?",
        "x.toml:51: algorithms[6].constants.G_f: must be a finite number > 0, got -2",
        "x.toml:53: algorithms[6].options.betta: unknown option of Jenatton.trade_off 'betta'; "
        "did you mean 'beta'?",
        "x.toml:56: algorithms[7].parameters.rho.time: unknown key; did you mean 'times'?",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TOP + PFS, "x.toml: problems: is missing"),
        (TOP + TOY + '[[algorithms]]\nname = "PFS"', r"x.toml:5: algorithms\[0\]: needs a tuning "),
        (
            TOP + TOY + '[[algorithms]]\nname = "PFS"\nparameters = { eta = 1 }',
            r"x.toml:7: algorithms\[0\].parameters: rho is missing",
        ),
        (
            TOP + TOY + '[[algorithms]]\nname = "PFS"\ntuning = "chosen"',
            r"x.toml:5: algorithms\[0\].options: eta and rho are missing",
        ),
        (
            TOP + TOY + '[[algorithms]]\nname = "Tighten"\nparameters = { rho = 1 }',
            r"x.toml:5: algorithms\[0\]: Tighten needs a base: an algorithm inside it",
        ),
        (
            TOP + TOY + PFS + 'base = { name = "OGD", tuning = "fixed" }',
            r"x.toml:8: algorithms\[0\].base: PFS.anytime chooses its base",
        ),
        (
            TOP
            + TOY
            + '[[algorithms]]\nname = "DPP"\nparameters = { V = 1, alpha = 1, domain = 2 }',
            r"x.toml:7: algorithms\[0\].parameters.domain: is taken from the problem",
        ),
        (
            TOP
            + TOY
            + '[[algorithms]]\nname = "DPP"\nparameters = { V = 1, alpha = 1, rows = 2.5 }',
            r"rows: must be a whole number >= 1, got 2.5",
        ),
        (
            TOP + TOY + '[[algorithms]]\nname = "Jenatton"\ntuning = "trade_off"\noptions.beta = 2',
            r"x.toml:8: algorithms\[0\].options.beta: must be strictly between 0 and 1, got 2",
        ),
        (TOP + TOY + PFS + "constants.G_f = 'x'", r"x.toml:8: .*constants.G_f: must be a finite"),
        (
            TOP + TOY + PFS + "constants = { sigma = 2.0, G_g = 1.5 }",
            r"sigma: must be at most G_g = 1.5, got 2.0",
        ),
        (
            TOP + TOY + '[[algorithms]]\nname="PFS"\nparameters={eta=1,rho=1}\nconstants={G_f=1.0}',
            r"x.toml:8: algorithms\[0\].constants: belong to a theorem, and parameters have none",
        ),
        (TOP + TOY + PFS + "trials = 31", "x.toml:8: .*: must be at most the experiment's 30"),
        (
            TOP + '[[problems]]\nname = "adversarial_cube"\nadversary = "uncut"\n' + PFS,
            "x.toml:3: .*its costs answer the actions, .* set trials = 1 in its table",
        ),
        (
            'name = "x"\nhorizons = [20001]\n' + TOY + "published = 1\n" + PFS,
            "x.toml:5: .*published: must not be given for more than 20000 rounds, .* for 20001",
        ),
        (TOP + TOY + "label = ' '\n" + PFS, "x.toml:5: .*label: must be a line of at most"),
        (
            TOP + TOY + 'label = "a\\u001bb"\n' + PFS,
            "x.toml:5: .*label: must be a line of at most",
        ),
        (TOP + "recording.actions = 2\n" + TOY + PFS, "x.toml:3: .*keeps nothing without every"),
        (
            TOP + TOY + PFS + "[[algorithms]]\nname = 3",
            r"x.toml:9: .*must be text in quotes, got 3",
        ),
        (TOP + TOY + PFS + "when = 1979-05-27", "x.toml:8: .*when: unknown key"),
        (TOP.replace("30", "1979-05-27") + TOY + PFS, "a list of whole numbers >= 1, got .*date"),
        (TOP + TOY + PFS + "os.system = 1", r"x.toml:8: algorithms\[0\].os: unknown key"),
        (TOP + "x = \n", r"x.toml:3: is not TOML: invalid value \(column 5\)"),
        (TOP + "x = [", "is not TOML: "),
        (TOP + f"seed = {'9' * 5_000}", "is not TOML: .*4300 digits"),
        (TOP + "x = " + "[" * 5_000, "is not TOML|nested too deeply"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(text, sentence):
    lines = told(text)
    assert len(lines) == 1, lines
    assert re.search(sentence, lines[0]), lines[0]


def test_a_constant_may_be_all_that_its_class_takes():
    text = TOP + TOY + PFS + "constants = { beta = 0, drift = 0.0, start_slack = -0.5 }"
    assert parse_spec(text).algorithms[0].constants == {"beta": 0, "drift": 0, "start_slack": -0.5}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "spec.toml: cannot be read: no such file or directory"),
        (b"name = 'x'\nseed = '\xff'", "spec.toml:2: is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, content, sentence):
    path = tmp_path / "spec.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecError, match=re.escape(sentence)) as error:
        read_spec(path)
    assert pickle.loads(pickle.dumps(error.value)).mistakes == error.value.mistakes


def test_a_file_may_begin_with_a_mark_and_have_windows_line_endings(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_bytes(b"\xef\xbb\xbf" + (TOP + TOY + PFS).replace("\n", "\r\n").encode())
    assert read_spec(path) == parse_spec(TOP + TOY + PFS)


ROW_KEYS = ("tuning", "parameters", "options", "base", "constants", "only")
VALUES = ("eta", "rho", "times", "power", "anytime", "chosen", "tuned", "rows", "dimension", "x")
WORDS = sorted({*ALGORITHMS_BY_NAME, *PROBLEMS, *parameters_of(Spec), *ROW_KEYS, *VALUES})
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=5),
)
PLAIN = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=6,
)
ROW = st.fixed_dictionaries(
    {"name": st.sampled_from(sorted(ALGORITHMS_BY_NAME))},
    optional=dict.fromkeys(ROW_KEYS, PLAIN),
)


@pytest.mark.slow
@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(WORDS), PLAIN, max_size=5), st.lists(ROW, max_size=2), PLAIN)
def test_plain_data_of_any_kind_is_a_specification_or_a_list_of_mistakes(top, rows, problem):
    data = {
        "name": "x",
        "horizons": [3, 50],
        **top,
        "algorithms": rows,
        "problems": [{"name": "paper_toy"}, problem],
    }
    found = []
    try:
        build_spec(data)
    except SpecError as error:
        found = error.mistakes
    assert all("\n" not in mistake.message for mistake in found)


PIECES = st.sampled_from([*"[]{}\"'=#.,\n\\", "[[", "-1", "inf", "1e400", "true", "x", "9" * 400])


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, len(STARTER)), st.integers(0, 20), PIECES), max_size=4))
def test_a_text_with_pieces_cut_out_and_put_in_raises_nothing_but_spec_errors(changes):
    text = STARTER
    for at, length, piece in changes:
        text = text[:at] + piece + text[at + length :]
    lines = []
    try:
        parse_spec(text, "x.toml")
    except SpecError as error:
        lines = [str(error).split("\n"), error.mistakes]
    assert not lines or len(lines[0]) == len(lines[1]) > 0


NUMBER = st.floats(1e-9, 1e9) | st.integers(1, 5)
AMOUNT = NUMBER | st.fixed_dictionaries(
    {}, optional={"times": NUMBER, "power": st.floats(-1, 1), "at_least": NUMBER}
)
LABEL = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=9)
PARAMETERS = st.fixed_dictionaries({"eta": AMOUNT, "rho": AMOUNT})
INNER = st.fixed_dictionaries({"name": st.just("PFS"), "parameters": PARAMETERS})


@pytest.mark.slow
@settings(max_examples=60)
@given(
    labels=st.lists(LABEL, min_size=3, max_size=3, unique=True),
    parameters=PARAMETERS,
    base=INNER,
    rho=AMOUNT,
    every=st.none() | st.integers(1, 99),
    shape=st.lists(st.integers(1, 9), min_size=2, max_size=2),
)
def test_what_is_written_is_read_back_the_same(labels, parameters, base, rho, every, shape):
    spec = build_spec(
        {
            "name": "round-trip_1",
            "horizons": [2, 90],
            "recording": {} if every is None else {"every": every, "actions": 1},
            "problems": [{"name": "spectral_ball", "shape": shape, "label": labels[0]}],
            "algorithms": [
                {"name": "PFS", "parameters": parameters, "label": labels[1], "only": labels[:1]},
                {"name": "Tighten", "parameters": {"rho": rho}, "base": base, "label": labels[2]},
                {"name": "Jenatton", "tuning": "trade_off", "options": {"beta": 0.5}},
            ],
        }
    )
    assert parse_spec(dump_spec(spec)) == spec
