"""A module's problems and algorithms, named in a specification."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from _plugin import CODE, SPEC, forgetful  # noqa: F401  a fixture

from surefoot.experiments import Results, gather, parse_spec, run
from surefoot.experiments.grid import cells_of
from surefoot.experiments.plugins import PluginError, load_plugin
from surefoot.experiments.sources import code_hash
from surefoot.experiments.starter import with_plugins

pytestmark = pytest.mark.usefixtures("forgetful")


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(CODE)
    return file


def addresses(spec):
    return {(p.problem, p.algorithm, p.horizon): cell for p, cell in cells_of(spec)}


def test_a_specification_names_what_the_plugin_has(mine, tmp_path):
    plugin = load_plugin("mine", mine.parent)
    assert (plugin.problems, plugin.algorithms) == (("depot",), ("Careful",))
    outcome = run(parse_spec(SPEC), tmp_path / "out", workers=0)
    assert (outcome.done, outcome.failed, outcome.refused) == (8, 0, 0)
    with Results.open(tmp_path / "out" / "results.sqlite") as results:
        rows = {(r.problem, r.algorithm, r.horizon): r for r in gather(results)}
    own = rows["depot", "Careful", 40]
    assert own.facts.engine == "loop"  # it has an if
    assert own.facts.parameters["eta"].value == 0.05
    assert rows["depot", "PFS.anytime", 40].verdict == "held"
    # The streams are those of the problem, whoever plays; a shorter game is the beginning.
    best = [rows["depot", who, 40].arrays["best"] for who in ("Careful", "PFS.anytime")]
    np.testing.assert_array_equal(*best)
    again = run(parse_spec(SPEC), tmp_path / "out", workers=0)
    assert (again.done, again.skipped) == (0, 8)


def test_only_cells_that_use_the_plugin_have_its_source_in_their_address(mine):
    plugin = load_plugin(str(mine))
    cells = addresses(parse_spec(SPEC))
    library = cells["paper_toy", "PFS.anytime", 20].spec
    assert "plugin" not in {**library["problem"], **library["algorithm"]}
    assert library["engine"] == "batch"
    own = cells["depot", "Careful", 20].spec
    assert own["problem"]["plugin"] == own["algorithm"]["plugin"] == plugin.mark
    assert own["engine"] == "auto"
    assert cells["paper_toy", "Careful", 20].spec["algorithm"]["plugin"] == plugin.mark
    text = SPEC.replace('\n[[problems]]\nname = "depot"\n', "").split("[[algorithms]]")
    alone = addresses(parse_spec(text[0] + "[[algorithms]]" + text[2]))
    same = ("paper_toy", "PFS.anytime", 20)
    assert alone[same].address == cells[same].address


def hash_of(folder, code, name="mine"):
    file = folder / f"{name}.py"
    file.write_text(code)
    return code_hash(name, file)


def test_the_hash_is_of_the_code_without_comments_docstrings_and_layout(tmp_path):
    first = hash_of(tmp_path, CODE)
    said = CODE.replace("  # on purpose", "").replace("Wishes of two docks", "Docks")
    assert hash_of(tmp_path, said.replace("def depot", "\n\n\ndef depot")) == first
    assert hash_of(tmp_path, CODE.replace("near: float = 0.1", "near: float = 0.2")) != first
    assert hash_of(tmp_path, CODE + '\nWORDS = """three\nlines"""\n') != first


def test_the_hash_covers_the_modules_beside_it_that_it_imports(tmp_path):
    (tmp_path / "helper.py").write_text("import far\nSIZE = 1\n")
    (tmp_path / "far.py").write_text("x = 1\n")
    (tmp_path / "stranger.py").write_text("y = 1\n")
    code = CODE + "\ndef late():\n    from helper import SIZE\n    return SIZE\n"
    first = hash_of(tmp_path, code)
    (tmp_path / "stranger.py").write_text("y = 2\n")
    assert hash_of(tmp_path, code) == first
    (tmp_path / "far.py").write_text("x = 2\n")
    assert hash_of(tmp_path, code) != first


def test_a_package_is_hashed_whole(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("from .parts import x\n")
    (package / "parts.py").write_text("x = 1\n")
    first = code_hash("pack", package / "__init__.py")
    (package / "parts.py").write_text("x = 2\n")
    assert code_hash("pack", package / "__init__.py") != first


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("x = 1\n", "must have a problem .* or an algorithm .*, got neither"),
        (CODE.replace("depot(", "paper_toy("), "its problems otherwise .*, got 'paper_toy'"),
        (CODE.replace("Careful", "PFS"), "its algorithms otherwise .*, got 'PFS'"),
        (CODE.replace("streams: int, ", ""), r"mine.depot must have the argument 'streams'"),
        (CODE.replace("limit: float", "limit: list"), "limit of problem mine.depot must be annot"),
        (CODE.replace("limit", "label"), "must be keywords other than name and label"),
        ("import nowhere_to_be_found\n", "cannot be imported: No module named 'nowhere_to"),
        ("1 / 0\n", "cannot be imported: ZeroDivisionError: division by zero"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_refused_in_a_sentence(mine, code, sentence):
    mine.write_text(code)
    with pytest.raises(PluginError, match=sentence):
        load_plugin("mine", mine.parent)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere", "there is no module 'nowhere' in"),
        ("../mine", "must be the name of a module or a file of it"),
        ("json", "must be called otherwise: 'json' is a module that is in use"),
    ],
)
def test_a_name_that_is_no_plugin_s_is_refused(tmp_path, name, sentence):
    (tmp_path / "json.py").write_text(CODE)
    with pytest.raises(PluginError, match=sentence):
        load_plugin(name, tmp_path)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("(horizon, trials, 2)", "(horizon, 1, 2)", "costs of 3 runs, .* got 1"),
        ("(horizon, trials, 2)", "(5, trials, 2)", "costs of 20 rounds, got 5"),
        (
            "    return Problem.of",
            "    return str or Problem.of",
            "must return a Problem, got type",
        ),
    ],
)
def test_a_function_that_returns_something_else_is_told(mine, tmp_path, before, after, sentence):
    mine.write_text(CODE.replace(before, after))
    load_plugin("mine", mine.parent)
    run(parse_spec(SPEC), tmp_path / "out", workers=0)
    with Results.open(tmp_path / "out" / "results.sqlite") as results:
        row = next(r for r in gather(results) if (r.problem, r.horizon) == ("depot", 20))
    assert row.status == "refused"
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(row.note)


def test_the_starter_of_a_plugin_can_be_played(mine, tmp_path):
    plugin = load_plugin("mine", mine.parent)
    spec = parse_spec(with_plugins("own", [plugin]))
    assert [p.name for p in spec.problems] == ["depot"]
    assert [a.name for a in spec.algorithms] == ["Careful", "LeaderFollower", "PFS"]
