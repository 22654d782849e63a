"""The sources keep to the words of the glossary in docs/glossary.md."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_no_source_uses_a_word_that_the_glossary_replaces():
    page = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)[1:]
    avoided = [word for row in rows for word in row[2].split(", ") if word != "---"]
    assert len(avoided) > 10
    pattern = re.compile("|".join(rf"\b{re.escape(word)}s?\b" for word in avoided), re.IGNORECASE)
    for source in sorted((ROOT / "src").rglob("*.py")):
        found = pattern.search(source.read_text())
        assert found is None, f"{source.relative_to(ROOT)} says {found and found.group()!r}"
