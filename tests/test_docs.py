"""Every Python block of the documentation is run; a text block after it is what it must print."""

import contextlib
import io
import re
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """The fenced blocks of a page: line, language, text."""
    text = page.read_text(encoding="utf-8")
    return [(text[: m.start(2)].count("\n"), m[1], m[2]) for m in FENCE.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_of_the_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example saves is no part of the checkout
    found = blocks(page)
    followers = [*found[1:], (0, "", "")]
    # A module of its own, so that classes of an example can be pickled.
    module = types.ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for (line, language, code), (_, next_language, expected) in zip(found, followers, strict=True):
        if language != "python":
            continue
        printed = io.StringIO()
        # Blank lines in front, so that a traceback names the line of the page.
        source = compile("\n" * line + code, page.name, "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            exec(source, module.__dict__)
        if next_language == "text":
            assert printed.getvalue() == expected, f"{page.name}, line {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [t for t in targets if not (page.parent / t).exists()] == []
