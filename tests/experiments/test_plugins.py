"""A module's problems and algorithms, named in a specification."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from _plugin import CODE, SPEC, forgetful  # noqa: F401  a fixture

from surefoot.experiments import Results, SpecError, build, gather, parse_spec, run
from surefoot.experiments.build import PluginError, load_plugin
from surefoot.experiments.cells import cells_of

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
    assert (outcome.done, outcome.failed, outcome.rejected) == (8, 0, 0)
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
    assert library["engine"] == "auto"
    own = cells["depot", "Careful", 20].spec
    mark = f"mine {plugin.digest[:16]}"
    assert own["problem"]["plugin"] == own["algorithm"]["plugin"] == mark
    assert own["engine"] == "auto"
    assert cells["paper_toy", "Careful", 20].spec["algorithm"]["plugin"] == mark
    text = SPEC.replace('\n[[problems]]\nname = "depot"\n', "").split("[[algorithms]]")
    alone = addresses(parse_spec(text[0] + "[[algorithms]]" + text[2]))
    same = ("paper_toy", "PFS.anytime", 20)
    assert alone[same].address == cells[same].address


def hash_of(folder, name="mine"):
    for known in [m for m in sys.modules if m.split(".")[0] in (name, "helper", "far", "pack")]:
        del sys.modules[known]
    build._LOADED.clear()
    return load_plugin(name, folder).digest


def test_the_hash_covers_the_file_and_those_beside_it_that_it_imports(mine):
    (mine.parent / "helper.py").write_text("import far\nSIZE = 1\n")
    (mine.parent / "far.py").write_text("x = 1\n")
    (mine.parent / "stranger.py").write_text("y = 1\n")
    mine.write_text(CODE + "\ndef late():\n    from helper import SIZE\n    return SIZE\n")
    first = hash_of(mine.parent)
    (mine.parent / "stranger.py").write_text("y = 2\n")
    assert hash_of(mine.parent) == first
    (mine.parent / "far.py").write_text("x = 2\n")
    second = hash_of(mine.parent)
    assert second != first
    mine.write_text(mine.read_text().replace("near: float = 0.1", "near: float = 0.2"))
    assert hash_of(mine.parent) != second


def test_a_package_is_hashed_with_its_parts(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("from .parts import *\n")
    (package / "parts.py").write_text('__all__ = ["Careful"]\n' + CODE)
    (package / "__init__.py").write_text('from .parts import Careful\n__all__ = ["Careful"]\n')
    first = hash_of(tmp_path, "pack")
    (package / "parts.py").write_text('__all__ = ["Careful"]\n' + CODE + "\nx = 2\n")
    assert hash_of(tmp_path, "pack") != first


def test_a_name_may_come_with_its_module_and_must_where_it_is_taken(mine):
    mine.write_text(CODE.replace("depot(", "paper_toy(").replace("Careful", "PFS"))
    plugin = load_plugin("mine", mine.parent)
    assert (plugin.problems, plugin.algorithms) == (("paper_toy",), ("PFS",))
    text = SPEC.replace("depot", "mine:paper_toy").replace("Careful", "mine:PFS")
    cells = addresses(parse_spec(text))
    both = {
        cells[p, "PFS.anytime", 20].spec["problem"]["name"] for p in ("paper_toy", "mine:paper_toy")
    }
    assert both == {"paper_toy", "mine:paper_toy"}


def test_a_short_name_and_a_full_one_are_the_same_cell(mine):
    load_plugin("mine", mine.parent)
    short, full = (
        {cell.address for cell in addresses(parse_spec(text)).values()}
        for text in (
            SPEC,
            SPEC.replace('"depot"', '"mine:depot"').replace('"Careful"', '"mine:Careful"'),
        )
    )
    assert short == full


def test_a_file_cannot_import_anything(mine):
    with pytest.raises(SpecError, match=r"unknown problem 'mine:depot'.*--plugin MODULE"):
        parse_spec(SPEC.replace('"depot"', '"mine:depot"').replace('"Careful"', '"PFS"'))
    assert "mine" not in sys.modules


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("x = 1\n", "must have a problem .* or an algorithm .*, got neither"),
        (CODE.replace("streams: int, ", ""), r"mine.depot must have the argument 'streams'"),
        (CODE.replace("limit", "label"), "must be keywords other than name and label"),
        (
            "import nowhere_to_be_found\n",
            "cannot be imported: ModuleNotFoundError: No module named 'nowhere_to",
        ),
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
        ("json", "must have another name: 'json' is a module that is in use"),
    ],
)
def test_a_name_that_is_no_plugin_s_is_refused(tmp_path, name, sentence):
    (tmp_path / "json.py").write_text(CODE)
    with pytest.raises(PluginError, match=sentence):
        load_plugin(name, tmp_path)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("(horizon, trials, 2)", "(5, trials, 2)", "costs of 40 rounds, got 5"),
        (
            "    return Problem.of",
            "    return str or Problem.of",
            "a Problem, got type",
        ),
    ],
)
def test_a_function_that_returns_something_else_is_told(mine, tmp_path, before, after, sentence):
    mine.write_text(CODE.replace(before, after))
    load_plugin("mine", mine.parent)
    with pytest.raises(SpecError, match=rf"problems\[0\]: .*mine:depot must return .*{sentence}"):
        parse_spec(SPEC)


def test_a_function_with_another_number_of_runs_is_refused_where_it_is_played(mine, tmp_path):
    mine.write_text(CODE.replace("(horizon, trials, 2)", "(horizon, 1, 2)"))
    load_plugin("mine", mine.parent)
    run(parse_spec(SPEC), tmp_path / "out", workers=0)
    with Results.open(tmp_path / "out" / "results.sqlite") as results:
        row = next(r for r in gather(results) if (r.problem, r.horizon) == ("depot", 20))
    assert row.status == "rejected"
    assert "must return costs of 3 runs" in row.note
