import pytest

from surefoot.experiments.paper import related, reproduction, table1
from surefoot.experiments.toml import read_spec


def test_the_starter_is_a_specification_with_the_name_of_its_file(desk):
    code, out, err = desk.do("new", "two words.toml")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "  surefoot run 'two words.toml'"
    path = desk.folder / "two words.toml"
    assert read_spec(path).name == "two-words"
    assert "out/two-words" in path.read_text()


@pytest.mark.parametrize(
    ("file", "name"), [("a.toml", "a"), ("_.toml", "first"), ("café 2.toml", "caf-2")]
)
def test_any_file_name_makes_a_name(desk, file, name):
    assert desk.do("new", file).code == 0
    assert read_spec(desk.folder / file).name == name


def test_a_file_that_is_there_is_kept(desk):
    before = desk.spec.read_text()
    code, out, err = desk.do("new", "limits.toml")
    assert (code, out) == (2, "")
    assert err == "surefoot: 'limits.toml' exists and is not overwritten: give another name\n"
    assert desk.spec.read_text() == before


def test_a_folder_that_is_not_there_is_made(desk):
    assert desk.do("new", "nowhere/limits.toml")[0] == 0
    assert read_spec(desk.folder / "nowhere" / "limits.toml").name == "limits"


@pytest.mark.parametrize(
    "ready", [reproduction, table1, related], ids=["reproduction", "table1", "related"]
)
def test_a_large_one_that_is_ready_can_be_written_out_to_be_changed(desk, ready):
    like = ready.__name__.rsplit(".", 1)[-1]
    assert desk.do("new", "mine.toml", "--like", like).code == 0
    found = read_spec(desk.folder / "mine.toml")
    assert found.data == {**ready.specification().data, "name": "mine"}
