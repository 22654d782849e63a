"""The gallery says what the READMEs say, and is what its command writes."""

from pathlib import Path

from cases import gallery

README = """# Pond

Ducks must stay below 3.

<!-- measured -->

| rule | knows beforehand | violations | largest g |
| --- | --- | --- | --- |
| none | nothing | 1,200 of 2,000 | +1 |
| **mine** | all | 0 of 2,000 | -1 |
| full | all | 0 of 2,000 | -1 |

<!-- end of what was measured -->

| constant | origin |
|---|---|
| depth | a data sheet |
"""


def test_a_case_is_what_its_readme_says(tmp_path):
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    case = gallery.read(tmp_path)
    assert case[1:] == ("Pond", "Ducks must stay below 3.", "0 of 2,000", "0 to 1,200 of 2,000")


def test_the_pages_are_what_the_command_writes(monkeypatch):
    written = {}
    monkeypatch.setattr(gallery, "write_page", lambda page, lines: written.update({page: lines}))
    gallery.main()
    assert {page.name for page in written} == {"cases.md", "README.md"}
    for page, lines in written.items():
        assert "\n".join(lines).strip() in page.read_text(encoding="utf-8"), f"make gallery: {page}"


def test_every_certified_row_of_every_case_has_no_round_outside():
    found = gallery.find_cases()
    assert len(found) >= 4
    assert [case.name for case in found if not case.ours.startswith("0 of ")] == []
    images = Path(gallery.__file__).parents[1] / "docs" / "images"
    assert [c.name for c in found if not (images / f"case_{c.name}.png").exists()] == []
