"""The examples are short, and do what they say."""

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
FIGURES = {"certified_balls.py", "certified_regions.py"}  # scripts that draw the docs' pictures
WHOLE = {"opcua.py": 100}  # a program that runs a plant, with what may fail


def test_an_example_is_read_on_one_screen():
    scripts = [path for path in EXAMPLES.glob("*.py") if path.name not in FIGURES]
    assert scripts
    lengths = {path.name: len(path.read_text().splitlines()) for path in scripts}
    assert {name: n for name, n in lengths.items() if n > WHOLE.get(name, 60)} == {}


@pytest.mark.slow
def test_a_loop_that_is_killed_goes_on_bit_for_bit():
    script = str(EXAMPLES / "live_loop.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "the first process ended with SIGKILL",
        "same last action as a run that nobody killed: True",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("notebook", "which"), [("first_steps", 0), ("comparison", 1)])
def test_a_notebook_is_a_program_of_the_readme_and_prints_what_it_shows(notebook, which):
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    cells = json.loads((EXAMPLES / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    (cell,) = [cell for cell in cells if cell["cell_type"] == "code"]
    code = "".join(cell["source"])
    assert code == programs[which].rstrip("\n")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, notebook, "exec"), {})
    assert printed.getvalue() == "".join(cell["outputs"][0]["text"])
