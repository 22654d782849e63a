"""Write one page per experiment: a single file that opens anywhere, offline."""

from __future__ import annotations

import base64
import gzip
import hashlib
import shlex
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from surefoot.core.errors import InvalidValueError
from surefoot.core.files import replacing
from surefoot.core.optional import need
from surefoot.experiments.notes import Claim, claims_of, story_of
from surefoot.experiments.rows import Row, algorithms, gather, problems
from surefoot.experiments.store import Results
from surefoot.reports.page._charts import SHOWN, chart_data
from surefoot.reports.page._claims import claims_table
from surefoot.reports.page._constants import constants_block
from surefoot.reports.page._findings import findings_list, settings_legend, story_block
from surefoot.reports.page._format import escape, number, plain, script_json
from surefoot.reports.page._tables import effort_table, rates_table, results_table, verdict_table
from surefoot.reports.page._verdicts import pairs_of, summary
from surefoot.reports.rates import fit_rates

__all__ = ["piece", "replace_file", "write_page"]


def write_page(results: Results, path: str | Path, rows: Sequence[Row] | None = None) -> Path:
    """Write the report of an experiment: one HTML file without a reference to anything outside.

    The verdict comes first, then the claims, interactive figures, tables, every constant with its
    origin, and the commands to repeat the experiment. The same results give the same bytes.

    Args:
        results: the open file; nothing is played.
        path: of the page; its folder is created if missing. An existing page is replaced in one
            step, or kept as it is if anything goes wrong.
        rows: what :func:`surefoot.experiments.gather` returned, if the file has been read already.

    Returns:
        The path.
    """
    target = Path(path)
    replace_file(target, _page(results, gather(results) if rows is None else rows).encode("utf-8"))
    return target


def _page(results: Results, rows: Sequence[Row]) -> str:
    plotly = need("plotly.offline", "plot", "the report page")
    header, claims, story = results.header(), claims_of(results), story_of(results)
    plan = results.places()
    pairs = pairs_of(rows, plan)
    name = plain(header.get("name") or "experiment")
    library, script = plotly.get_plotlyjs(), _in_script(piece("page.js"))
    parts = {
        "policy": _policy(library, script),
        "title": escape(f"{name}: Surefoot report"),
        "name": escape(name),
        "story": story_block(story, rows),
        "findings": findings_list(rows, claims),
        "settings": settings_legend(story),
        "verdict": escape(summary(pairs)),
        "facts": _facts(header, rows, len(plan), len({p.address for p in plan})),
        "style": piece("page.css"),
        "verdicts": verdict_table(pairs),
        "claims": _claims(claims),
        "claims_link": '<li><a href="#claims-section">Claims</a></li>' if claims else "",
        "figures": _figures(rows),
        "results": results_table(rows),
        "comparator": escape(_comparator(rows)),
        "rates": rates_table(fit_rates(rows), rows),
        "effort": effort_table(rows),
        "constants": constants_block(rows),
        "redo": _redo(name, header, bool(claims)),
        "provenance": _provenance(header, rows),
        "library": _packed(library),
        "data": _packed(script_json(chart_data(rows))),
        "script": script,
    }
    return Template(piece("page.html")).substitute(parts)


# --- the frame -----------------------------------------------------------------------------------


def piece(name: str) -> str:
    """Return the text of a file that belongs to the pages."""
    return files("surefoot.reports.page").joinpath(name).read_text(encoding="utf-8")


def _packed(text: str) -> str:
    """Return text compressed, in letters: the page's script unpacks it.

    The library is three fifths of a page. As text that the page's own script inserts it still runs
    by its hash alone.
    """
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode()


def _in_script(code: str) -> str:
    """Return code as a browser reads it from a script element, so that the hashes agree."""
    lower = code.lower()
    # Between "<!--" and "<script" a parser counts script elements: the end would not be the end.
    if "</script" in lower or ("<!--" in lower and "<script" in lower):
        raise InvalidValueError("this script cannot be put into a page: it contains the end of one")
    return "\n" + code.replace("\r\n", "\n").replace("\r", "\n").strip("\n") + "\n"


def _policy(*scripts: str) -> str:
    """Return the content security policy: the page's own scripts, by their hashes, nothing else.

    Plotly sets styles from its code, so inline styles are allowed. Images are those that Plotly
    makes itself, for saving a figure.
    """
    hashes = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def replace_file(target: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as draft:
        draft.write_bytes(content)


# --- the parts that are not tables ---------------------------------------------------------------


def _facts(header: dict[str, Any], rows: Sequence[Row], cells: int, distinct: int) -> str:
    """Return the numbers under the title."""
    rounds = sum(row.horizon * row.trials for row in rows)
    facts = [
        ("problems", f"{len(problems(rows)):,}"),
        ("algorithms", f"{len(algorithms(rows)):,}"),
        ("cells planned", f"{cells:,}" + (f" ({distinct:,} different)" * (distinct != cells))),
        ("rounds played", f"{rounds:,}"),
        ("seed", str(header.get("seed", "–"))),
    ]
    return "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts)


def _claims(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    return (
        '<section id="claims-section" aria-labelledby="claims-title">'
        '<h2 id="claims-title">What was published, and what was measured</h2>'
        f"{claims_table(claims)}</section>"
    )


def _figures(rows: Sequence[Row]) -> str:
    options = "".join(
        f'<option value="{i}">{escape(name)}</option>' for i, name in enumerate(problems(rows))
    )
    hidden = max(0, len(algorithms(rows)) - SHOWN)
    note = (
        f"<p>At first {SHOWN} algorithms are drawn; switch the others on in the list.</p>"
        if hidden
        else ""
    )
    return (
        f'{note}<div class="board"><div class="side"><p class="choice">'
        f'<label for="problem">Problem</label><select id="problem">{options}</select></p>'
        '<details id="legend-box" open><summary>Algorithms</summary>'
        '<p class="choice" id="legend-all"></p>'
        '<ul id="legend" aria-label="Algorithms shown"></ul></details></div>'
        '<div id="figures" aria-live="off"></div></div>'
        "<noscript><p>The figures need JavaScript; the tables below have all their numbers."
        "</p></noscript>"
    )


def _comparator(rows: Sequence[Row]) -> str:
    """Return what regret is measured against, and how exactly that is known."""
    known = [row.facts.comparator for row in rows if row.facts.comparator is not None]
    said = "Regret is the cost beyond that of the best fixed feasible action in hindsight"
    if not known:
        return f"{said}."
    if all(c.exact for c in known):
        return f"{said}, which is known exactly here: its gap is 0."
    gaps = [float(c.gap) for c in known if not c.exact and c.gap is not None]
    exact = sum(bool(c.exact) for c in known)
    largest = number(max(gaps), 3) if gaps else "not known"
    return (
        f"{said}. It is known exactly for {exact:,} of {len(known):,} rows; for the others its "
        f"cost is within a certified gap of the best, at most {largest}, and regret is given at "
        "the upper end of what that leaves open."
    )


def _redo(name: str, header: dict[str, Any], reproduction: bool) -> str:
    """Return the commands that make the same numbers and this page again."""
    call = (header.get("data") or {}).get("call")
    if isinstance(call, str):
        return (
            "<p>Played from Python. The same call with the same folder plays only what is missing; "
            "<code>surefoot report .</code> makes this page anew from the results beside it:</p>"
            f'<pre tabindex="0" role="region" aria-label="Call"><code>{escape(call)}</code></pre>'
        )
    text = _specification(header)
    file = shlex.quote(f"{name}.toml")
    commands = (
        ["surefoot reproduce"] if reproduction else [f"surefoot run {file}", "surefoot report ."]
    )
    said = (
        "<p>The same experiment, and this page, from the beginning; what is there is not played "
        "again:</p>"
        if reproduction
        else "<p>The specification below, saved as a file, and then; what is there is not played "
        "again. The second command makes this page anew from the results beside it:</p>"
    )
    listed = escape("\n".join(commands))
    shown = ""
    if text:
        coded = base64.b64encode(text.encode("utf-8")).decode()
        shown = (
            "<h3>The specification, as given</h3>"
            f'<p><a download="{escape(name)}.toml" href="data:application/toml;base64,{coded}">'
            f"Save it as {escape(name)}.toml</a></p>"
            '<pre tabindex="0" role="region" aria-label="The specification">'
            f"<code>{escape(text)}</code></pre>"
        )
    return (
        f'{said}<pre tabindex="0" role="region" aria-label="Commands"><code>{listed}</code></pre>'
        f"{shown}"
    )


def _specification(header: dict[str, Any]) -> str:
    text = header.get("specification")
    return plain(text) if isinstance(text, str) and text.strip() else ""


def _provenance(header: dict[str, Any], rows: Sequence[Row]) -> str:
    """Return versions, machine and times."""
    made = Counter(
        (*_versions(row.provenance), str(row.provenance.get("platform", "–")))
        for row in rows
        if row.provenance
    )
    items = [("Seed", str(header.get("seed", "–")))]
    for which, count in made.most_common():
        title = f"{count:,} of {sum(made.values()):,} rows" if len(made) > 1 else "Played with"
        items.append((title, ", ".join(filter(None, which))))
    finished = sorted(str(r.provenance["finished"]) for r in rows if r.provenance.get("finished"))
    if finished:
        items.append(("Finished", f"{finished[0]} to {finished[-1]}"))
    for key, value in sorted(header.items()):
        if key not in ("name", "seed", "specification") and not isinstance(value, dict | list):
            items.append((key.replace("_", " ").capitalize(), str(value)))
    return "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in items)


def _versions(provenance: dict[str, Any]) -> tuple[str, ...]:
    versions = provenance.get("versions") or {}
    return tuple(f"{name} {version}" for name, version in sorted(versions.items()) if version)
