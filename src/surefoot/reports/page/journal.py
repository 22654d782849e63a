"""The page of a journal: one live run drawn, in a single file without a script."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surefoot.reports.page._charts import on_dark
from surefoot.reports.page._format import escape, number
from surefoot.reports.page.write import piece, replace_file
from surefoot.reports.style import COLOURS

__all__ = ["JournalPage", "write_journal_page"]

# Bins of a curve, of which the extremes are drawn: finer than a screen resolves.
_BINS = 500
_WIDTH, _HEIGHT = 1000.0, 300.0
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class JournalPage(NamedTuple):
    """What the page of a journal shows; plain data.

    Attributes:
        title: the name of the journal.
        lead: its verdict, one sentence.
        facts: about it, by name.
        g: the largest constraint value of each round; NaN where it was not told.
        bounds: on g before the round was played; NaN without one.
        lengths: certified; NaN without one.
        contradictions: round and sentence of each.
        notes: round and text of each.
        head: the columns of the table.
        rows: of the table, the latest decisions.
    """

    title: str
    lead: str
    facts: Mapping[str, str]
    g: np.ndarray
    bounds: np.ndarray
    lengths: np.ndarray
    contradictions: Sequence[tuple[int, str]]
    notes: Sequence[tuple[int, str]]
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def write_journal_page(page: JournalPage, path: str | Path) -> Path:
    """Write the page of a journal, which refers to nothing outside and runs no script.

    Args:
        page: what it shows.
        path: where to; an existing page is replaced in one step.

    Returns:
        The path.
    """
    target = Path(path)
    replace_file(target, "\n".join(_lines(page)).encode("utf-8"))
    return target


def _lines(page: JournalPage) -> Iterator[str]:
    marks = [(t, "bad", said) for t, said in page.contradictions]
    marks += [(t, "note", said) for t, said in page.notes]
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(page.title)}: Surefoot journal</title>"
    yield f"<style>{piece('page.css')}\n{_style()}</style></head><body>"
    yield '<header><p class="maker">Surefoot journal</p>'
    yield f"<h1>{escape(page.title)}</h1>"
    yield f'<p class="lead">{escape(page.lead)}</p></header><main>'
    yield _chart(
        "constraint",
        "The constraint in every round",
        "g as it was told, and the bound on it that was known before the round was played. "
        "Above 0 is outside.",
        [("g", "g", page.g), ("bound", "bound before it was played", page.bounds)],
        marks,
        zero=True,
    )
    yield _chart(
        "length",
        "Certified length",
        "How far a step was certified in each round: near 0 the player hardly moves.",
        [("length", "certified length", page.lengths)],
        marks,
        zero=False,
    )
    yield _listed("contradictions", "Contradictions", page.contradictions)
    yield _listed("notes", "Notes by the operator", page.notes)
    yield '<section aria-labelledby="facts-title"><h2 id="facts-title">The run</h2><dl class="run">'
    yield from (f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in page.facts.items())
    yield "</dl></section>"
    yield from _table(page)
    yield "</main></body></html>\n"


def _listed(name: str, title: str, items: Sequence[tuple[int, str]]) -> str:
    body = "".join(f"<li><strong>round {t:,}</strong>: {escape(said)}</li>" for t, said in items)
    return (
        f'<section aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>'
        f"{f'<ul>{body}</ul>' if items else '<p>None.</p>'}</section>"
    )


def _table(page: JournalPage) -> Iterator[str]:
    yield '<section aria-labelledby="rounds-title"><h2 id="rounds-title">The latest rounds</h2>'
    yield '<div class="scroll" role="region" tabindex="0" aria-labelledby="rounds-title"><table>'
    heads = "".join(f'<th scope="col" class="n">{escape(h)}</th>' for h in page.head)
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for row in page.rows:
        yield "<tr>" + "".join(f'<td class="n">{escape(c)}</td>' for c in row) + "</tr>"
    yield "</tbody></table></div></section>"


# --- the charts ----------------------------------------------------------------------------------


def _chart(
    name: str,
    title: str,
    about: str,
    curves: Sequence[tuple[str, str, np.ndarray]],
    marks: Sequence[tuple[int, str, str]],
    *,
    zero: bool,
) -> str:
    """Return a figure: the picture stretches with the page, its words stay as they are."""
    rounds = len(curves[0][2])
    known = [values[np.isfinite(values)] for _, _, values in curves]
    heading = f'<section aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>'
    if not any(map(len, known)):
        return f"{heading}<p>No round has one.</p></section>"
    low = min(float(v.min()) for v in known if len(v))
    high = max(float(v.max()) for v in known if len(v))
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    span = high - low

    def y(value: float) -> float:
        return 100.0 * (high - value) / span

    shapes = "".join(_curve(kind, values, low, span) for kind, _, values in curves)
    lines = "".join(
        f'<line class="grid" x1="0" x2="{_WIDTH:g}" y1="{p:.2f}" y2="{p:.2f}"/>'
        for p in (_HEIGHT * y(t) / 100 for t in ticks)
    )
    if zero:
        p = _HEIGHT * y(0.0) / 100
        lines += f'<line class="limit" x1="0" x2="{_WIDTH:g}" y1="{p:.2f}" y2="{p:.2f}"/>'
    labels = "".join(
        f'<span class="tick" style="top:{y(t):.2f}%">{escape(number(t, 3))}</span>' for t in ticks
    )
    flags = "".join(
        f'<span class="flag {kind}" style="left:{100 * _place(t, rounds):.3f}%" '
        f'title="round {t}: {escape(said)}"></span>'
        for t, kind, said in marks[:200]
    )
    keys = "".join(f'<li class="{kind}">{escape(words)}</li>' for kind, words, _ in curves)
    keys += '<li class="limit">the limit, 0</li>' if zero else ""
    keys += "".join(
        f'<li class="{kind}">{words}</li>'
        for kind, words in (("bad", "contradiction"), ("note", "note"))
        if any(kind == k for _, k, _ in marks)
    )
    said = f"{title}: {rounds} rounds, from {number(low, 3)} to {number(high, 3)}"
    return (
        f'{heading}<p>{about}</p><ul class="keys">{keys}</ul>'
        f'<div class="chart"><div class="ticks">{labels}</div>'
        f'<div class="plot"><svg role="img" aria-label="{escape(said)}" '
        f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" preserveAspectRatio="none">{lines}{shapes}</svg>'
        f"{flags}</div></div>"
        f'<p class="axis"><span>round 1</span><span>round {rounds:,}</span></p></section>'
    )


def _curve(kind: str, values: np.ndarray, low: float, span: float) -> str:
    """Return a curve: the largest value of each bin, and the band down to its smallest."""
    n = len(values)
    starts = np.unique(np.linspace(0, n, min(n, _BINS), endpoint=False).astype(int))
    filled = np.where(np.isfinite(values), values, np.nan)
    high = np.fmax.reduceat(filled, starts)
    least = np.fmin.reduceat(filled, starts)
    ends = np.append(starts[1:], n)
    x = [_WIDTH * _place(0.5 * (a + 1 + b), n) for a, b in zip(starts, ends, strict=True)]
    top = [_HEIGHT * (1 - (v - low) / span) for v in high.tolist()]
    bottom = [_HEIGHT * (1 - (v - low) / span) for v in least.tolist()]
    shapes = []
    for run in _stretches(high):
        upper = [f"{x[i]:.2f},{top[i]:.2f}" for i in run]
        lower = [f"{x[i]:.2f},{bottom[i]:.2f}" for i in reversed(run)]
        if n > _BINS:
            shapes.append(f'<polygon class="{kind}" points="{" ".join([*upper, *lower])}"/>')
        if len(run) == 1:
            upper = [*upper, f"{x[run[0]] + 0.01:.2f},{top[run[0]]:.2f}"]
        shapes.append(f'<polyline class="{kind}" points="{" ".join(upper)}"/>')
    return "".join(shapes)


def _stretches(values: np.ndarray) -> Iterator[range]:
    """Yield where values are known, one range for each stretch without a gap."""
    begin = None
    for i, known in enumerate([*np.isfinite(values).tolist(), False]):
        if known and begin is None:
            begin = i
        elif not known and begin is not None:
            yield range(begin, i)
            begin = None


def _place(t: float, rounds: int) -> float:
    """Return where a round is, from 0 to 1."""
    return 0.5 if rounds < 2 else min(max((t - 1) / (rounds - 1), 0.0), 1.0)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers that reach from at most the lowest to at least the highest value.

    >>> _ticks(-0.43, 0.0)
    [-0.6, -0.4, -0.2, 0.0]
    """
    span = high - low or abs(high) or 1.0
    if not math.isfinite(span):
        return [low, high]
    unit = 10.0 ** math.floor(math.log10(span / 4))
    step = next(m * unit for m in (1.0, 2.0, 5.0, 10.0) if m * unit >= span / 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(k * step, 12) for k in range(first, max(last, first + 1) + 1)]


def _style() -> str:
    """Return what the charts add to the style of all pages."""
    g, bound, length = COLOURS[0], COLOURS[1], COLOURS[2]
    light = f"--g: {g}; --bound: {bound}; --length: {length};"
    dark = f"--g: {on_dark(g)}; --bound: {on_dark(bound)}; --length: {on_dark(length)};"
    return f""":root {{ {light} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
.chart {{ display: grid; grid-template-columns: 4.6rem 1fr; height: clamp(12rem, 30vw, 22rem); }}
.ticks, .plot {{ position: relative; }}
.tick {{ position: absolute; right: .5rem; transform: translateY(-50%); font-size: .8rem;
  color: var(--soft); font-variant-numeric: tabular-nums; white-space: nowrap; }}
.plot svg {{ position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }}
.plot line, .plot polyline {{ fill: none; vector-effect: non-scaling-stroke; }}
.plot polyline {{ stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round; }}
.plot .grid {{ stroke: var(--grid); }} .plot .limit {{ stroke: var(--ink); stroke-dasharray: 6 4; }}
polyline.g {{ stroke: var(--g); }} polygon.g {{ fill: var(--g); opacity: .25; }}
polyline.bound {{ stroke: var(--bound); }} polygon.bound {{ fill: var(--bound); opacity: .18; }}
polyline.length {{ stroke: var(--length); }} polygon.length {{ fill: var(--length); opacity: .2; }}
.flag {{ position: absolute; top: 0; bottom: 0; width: 0; border-left: 2px solid var(--bad); }}
.flag.note {{ border-left: 2px dotted var(--soft); }}
.keys {{ list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; padding: 0; }}
.keys li::before {{ content: ""; display: inline-block; width: 1.4rem; margin-right: .4rem;
  vertical-align: middle; border-top: 3px solid var(--ink); }}
.keys .g::before {{ border-color: var(--g); }}
.keys .bound::before {{ border-color: var(--bound); }}
.keys .length::before {{ border-color: var(--length); }}
.keys .limit::before {{ border-top-style: dashed; }}
.keys .bad::before {{ border-color: var(--bad); }}
.keys .note::before {{ border-top: 3px dotted var(--soft); }}
.axis {{ display: flex; justify-content: space-between; margin: .3rem 0 0 4.6rem;
  max-width: none; color: var(--soft); font-size: .8rem; }}
.run {{ display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .3rem 1.2rem; }}
.run dt {{ color: var(--soft); }} .run dd {{ margin: 0; min-width: 0; overflow-wrap: anywhere; }}"""
