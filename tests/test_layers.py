"""The import contracts of pyproject.toml, kept; and the page that draws them, in step with them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def layers():
    """The modules of each layer that exist, from the top."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    (stack,) = [c["layers"] for c in contracts if c["type"] == "layers"]
    names = [re.findall(r"\w+", layer) for layer in stack]
    package = ROOT / "src" / "surefoot"
    here = {path.stem for path in package.iterdir()}
    return [[n for n in layer if n in here] for layer in names if here & set(layer)]


def test_lower_never_imports_upper_and_an_algorithm_cannot_know_the_problem():
    # Without the installed script's path: the module is there wherever the package is.
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"[1-9]\d* kept, 0 broken", done.stdout)


def test_the_page_on_the_architecture_draws_the_layers_of_the_contract():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page[page.index("## Layers") : page.index("## One rule")]
    drawn = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| (`[^|]*)\|", section, re.M)]
    assert [sorted(row) for row in drawn] == [sorted(layer) for layer in layers()]
