"""Write one page per experiment: a single file that opens anywhere, offline."""

import base64
import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from surefoot.core.optional import need
from surefoot.experiments.executors import AtOnce, new_pool
from surefoot.experiments.export import write_whole
from surefoot.experiments.figures import file_names, save_figures
from surefoot.experiments.figures.paper import paper_panels, save_panels
from surefoot.experiments.page.findings import (
    SUMS,
    clean,
    find_findings,
    number,
    pairs_of,
    summarise_pairs,
)
from surefoot.experiments.page.tables import (
    claims_table,
    constants_table,
    rates_table,
    results_table,
    verdict_table,
)
from surefoot.experiments.paper import read_data
from surefoot.experiments.record import Provenance, claims_of
from surefoot.experiments.rows import Row, fit_rates, problems
from surefoot.experiments.store import Results


class Drawing(NamedTuple):
    """A figure on the page: its kind, its caption, and SVG."""

    kind: str
    caption: str
    svg: bytes


Drawings: TypeAlias = Mapping[str, Sequence[Drawing]]
"""Figures, by problem."""

FEW = 2
"""Problems up to which starting processes, each with Matplotlib, takes longer."""

DRAWN = 4
"""Problems whose figures are on the page; the folder ``figures`` has all."""

_CAPTIONS = {
    "regret": "Regret against the horizon",
    "path": "Regret against the rounds",
    "violation": "Violation, summed over the rounds",
    "instant": "Violation, round by round",
    "actions": "Actions in the plane",
}
"""What is on the page; rates and times are there as tables."""


def write_report(
    results: Results,
    folder: Path,
    rows: Sequence[Row],
    *,
    parallel: bool = False,
    pdf: bool = False,
) -> tuple[Path, list[Path]]:
    """Write figures and page of saved results.

    Args:
        results: the open file.
        folder: for ``report.html`` and the folder ``figures``.
        rows: what :func:`surefoot.experiments.gather` returned.
        parallel: whether worker processes draw if there are many problems.
        pdf: whether each figure is also written as PDF.

    Returns:
        Where the page is, and where the figures are.
    """
    claims = claims_of(results)  # nothing is drawn before
    figures, stems = folder / "figures", file_names(problems(rows))
    panels = paper_panels()
    is_paper = bool(claims) and {panels.problem, panels.violation_problem} <= stems.keys()
    formats = ("svg", "pdf") if pdf else ("svg",)
    jobs = [partial(save_panels, rows, panels, figures, formats)] if is_paper else []
    for problem, stem in stems.items():
        group = [row for row in rows if row.problem == problem]
        jobs.append(partial(save_figures, group, figures, formats, {problem: stem}))
    with new_pool(len(jobs)) if parallel and len(stems) > FEW else AtOnce() as pool:
        futures = [pool.submit(job) for job in jobs]
        paths = [path for future in futures for path in future.result()]
    files = {path.stem: path for path in paths if path.suffix == ".svg"}
    drawings = {
        problem: [
            Drawing(kind, caption, files[f"{stem}-{kind}"].read_bytes())
            for kind, caption in _CAPTIONS.items()
            if f"{stem}-{kind}" in files
        ]
        for problem, stem in stems.items()
    }
    return write_page(results, folder / "report.html", rows, drawings), paths


def write_page(results: Results, path: Path, rows: Sequence[Row], drawings: Drawings) -> Path:
    """Write the report of an experiment: one HTML file without references to other files.

    First the findings, one figure and the verdicts; then claims, figures, tables, every constant
    with its origin, and the commands to repeat the experiment. The same results give the same
    bytes.

    Args:
        results: the open file; nothing is played.
        path: of the page; its folder is created if missing. An existing page is replaced in one
            step, or kept if an error occurs.
        rows: what :func:`surefoot.experiments.gather` returned.
        drawings: the figures, as :func:`write_report` draws them.

    Returns:
        The path.
    """
    return write_template(path, "page.html", **_fill(results, rows, drawings))


def _fill(results: Results, rows: Sequence[Row], drawings: Drawings) -> dict[str, object]:
    """Return the contents of the page, by the names of the template."""
    header, claims, plan = results.header(), claims_of(results), results.places()
    pairs, labels = pairs_of(rows, plan), problems(rows)
    first, *more = find_findings(rows, claims)
    groups = [(problem, drawings[problem]) for problem in labels[:DRAWN] if drawings.get(problem)]
    front = _pick_front(groups[0][1], rows) if groups else None
    return {
        "name": header.get("name") or "experiment",
        "story": read_data("figures")["story"] if claims else None,
        "finding": first,
        "findings": more,
        "front": front,
        "summary": summarise_pairs(pairs),
        "verdicts": verdict_table(pairs),
        "sums": any(pair.row is not None and pair.row.guarantee.kind in SUMS for pair in pairs),
        "claims": claims_table(claims),
        "figures": [(p, [d for d in group if d is not front]) for p, group in groups],
        "not_drawn": max(0, len(labels) - DRAWN),
        "rows": rows,
        "results": results_table(rows),
        "rates": rates_table(fit_rates(rows), rows),
        "constants": [(p, constants_table(p, rows, i)) for i, p in enumerate(labels)],
        "call": (header.get("data") or {}).get("call"),
        "commands": _list_commands(header, reproduction=bool(claims)),
        "specification": str(header.get("specification") or "").strip("\n"),
        "header": header,
        "rounds": sum(row.horizon * row.trials for row in rows),
    }


def _pick_front(drawings: Sequence[Drawing], rows: Sequence[Row]) -> Drawing:
    """Return the drawing of the first screen: regret, along what there is more than one of."""
    several = len({row.horizon for row in rows}) > 1
    order = ("regret", "path") if several else ("path", "regret")
    by_kind = {drawing.kind: drawing for drawing in drawings}
    return next((by_kind[kind] for kind in order if kind in by_kind), drawings[0])


# --- the frame -----------------------------------------------------------------------------------


def write_template(target: Path, template: str, **values: object) -> Path:
    """Write a page from a template of this folder, whole or not at all."""
    script = _read("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    text = _environment().get_template(template).render(script=script, digest=digest, **values)
    with write_whole(target) as draft:
        draft.write_bytes(text.encode("utf-8"))
    return target


@cache
def _environment() -> Any:
    jinja2 = need("jinja2", "plot", "the report page")

    def finish(value: Any) -> Any:
        return clean(value) if isinstance(value, str) and not hasattr(value, "__html__") else value

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        finalize=finish,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    mark = need("markupsafe", "plot", "the report page").Markup
    environment.globals["style"] = mark(_read("page.css"))
    environment.filters |= {
        "svg": lambda data: mark(compact_svg(data)),
        "code": mark,
        "coded": lambda text: base64.b64encode(clean(text).encode("utf-8")).decode(),
        "number": number,
        "machine": _describe_machine,
    }
    return environment


def _read(name: str) -> str:
    return resources.files("surefoot.experiments.page").joinpath(name).read_text(encoding="utf-8")


_REMOVED = re.compile(
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>|<style .*?</style>"
    r"""|; font-family: '[^;"]*| id="[A-Za-z.]+2?d?[A-Za-z]*_\d+"|xlink:(?=href)""",
    flags=re.DOTALL,
)
_LONG = re.compile(r"-?\d+\.\d\d+")


def compact_svg(data: bytes) -> str:
    """Return Matplotlib's SVG for the inside of a page: about half as long, and no ids."""
    text = _REMOVED.sub("", data.decode("utf-8"))
    text = re.sub(r"<[^>]*>", lambda tag: _LONG.sub(_round, tag[0]), text)
    return re.sub(r">\s+<", "><", re.sub(r"\s+", " ", text)).strip()


def _round(match: re.Match[str]) -> str:
    return f"{float(match[0]):.1f}".removesuffix(".0")


# --- the parts that are not tables ---------------------------------------------------------------


def _list_commands(header: Mapping[str, Any], *, reproduction: bool) -> list[str]:
    """Return the commands that make the same numbers and this page again."""
    if reproduction:
        return ["surefoot reproduce"]
    file = f"{clean(header.get('name') or 'experiment')}.toml"
    plugins = [word for name in header.get("plugins") or () for word in ("--plugin", str(name))]
    return [shlex.join(["surefoot", "run", file, *plugins]), "surefoot report ."]


def _describe_machine(provenance: Provenance) -> str:
    """Return versions and machine."""
    versions = sorted((provenance.get("versions") or {}).items())
    installed = [f"{name} {version}" for name, version in versions if version]
    return ", ".join([*installed, str(provenance.get("platform", "–"))])
