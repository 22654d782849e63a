"""What every case shows: a missing package is named with its file, and so is a round outside."""

from pathlib import Path

import numpy as np
import pytest

from cases import show
from cases.show import Run, find_missing, require, tabulate
from surefoot.core.optional import MissingExtraError


@pytest.fixture
def case(tmp_path):
    folder = tmp_path / "cases" / "pond"
    folder.mkdir(parents=True)
    (folder / "requirements.txt").write_text("# ducks\nno-such-duck>=1.0\nNumPy>=2\n")
    return folder


def test_a_missing_package_is_said_with_the_file_that_names_it(case):
    assert find_missing(case) == ["no-such-duck"]
    with pytest.raises(MissingExtraError) as said:
        require(case)
    assert str(said.value) == (
        "the case 'pond' needs no-such-duck: pip install -r cases/pond/requirements.txt"
    )


def test_a_certified_run_outside_fails_the_command(case, monkeypatch):
    (case / "requirements.txt").write_text("")
    monkeypatch.setattr("sys.argv", ["pond", "--small"])
    g = np.array([[-1.0, 2.0**-1074, 0.0]])
    with pytest.raises(SystemExit, match="mine was outside in 1 rounds: a defect"):
        show.main(case, lambda small: [Run("mine", "all", g, certified=True)], print)


def test_rows_of_the_table_say_how_many_rounds_were_outside():
    runs = [Run("mine", "all", np.array([-1.0, 0.0]), {"cost": "3"}, certified=True)]
    assert tabulate(runs)[2] == "| **mine** | all | 0 of 2 | +0 | 3 |"


def test_every_case_has_a_readme_with_its_command_a_picture_and_marks():
    folders = sorted(path.parent for path in Path(show.__file__).parent.glob("*/requirements.txt"))
    assert len(folders) >= 4
    for folder in folders:
        text = (folder / "README.md").read_text(encoding="utf-8")
        assert f"python -m cases.{folder.name}" in text
        assert f"docs/images/case_{folder.name}.png" in text
        assert "| --- |" in text.partition("<!-- measured -->")[2]
        assert f"pip install -r cases/{folder.name}/requirements.txt" in text
        assert "matplotlib" in (folder / "requirements.txt").read_text(encoding="utf-8")
