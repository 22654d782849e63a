"""Every constant, parameter and bound with its origin."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.experiments.record import Facts, Sourced
from surefoot.experiments.rows import Row
from surefoot.reports.page._format import escape, number
from surefoot.reports.page._html import joined

__all__ = ["constants_block"]


def constants_block(rows: Sequence[Row]) -> str:
    """Return every constant and parameter with its origin, folded by problem and algorithm."""
    grouped: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if row.facts.constants or row.facts.parameters:
            grouped.setdefault(row.problem, {}).setdefault(row.algorithm, []).append(row)
    if not grouped:
        return "<p>Nothing was played, so nothing was used.</p>"
    parts = []
    for problem, players in grouped.items():
        inner = "".join(
            f"<details><summary>{escape(algorithm)}</summary>{_used(own)}</details>"
            for algorithm, own in players.items()
        )
        first = next(iter(players.values()))[0].facts.problem
        size = [f"{first.dimension} dimensions"] if first is not None else []
        size += [f"{first.rows} rows of the constraint"] if first is not None and first.rows else []
        aside = f" <small>{escape(', '.join(size))}</small>" if size else ""
        parts.append(
            f'<details class="outer"><summary><strong>{escape(problem)}</strong>{aside}</summary>'
            f"{inner}</details>"
        )
    return "".join(parts)


def _used(rows: list[Row]) -> str:
    rows = sorted(rows, key=lambda row: row.horizon)
    guarantee = next((r.facts.guarantee for r in rows if r.facts.guarantee), None)
    said = "<p>Nothing is claimed.</p>"
    if guarantee:
        premises = "".join(f"<li>{escape(p)}</li>" for p in guarantee.premises)
        said = f"<p>{escape(guarantee.name)} ({escape(guarantee.kind)})"
        said += f", which rests on:</p><ul>{premises}</ul>" if premises else "</p>"
    lines = []
    for kind in ("constant", "parameter", "bound"):
        every = [_used_as(kind, row.facts) for row in rows]
        for name in dict.fromkeys(name for known in every for name in known):
            pairs = [known.get(name) for known in every]
            origins = "; ".join(dict.fromkeys(pair.origin for pair in pairs if pair is not None))
            shown = [escape(_amount(pair)) for pair in pairs]
            if len(set(shown)) == 1:
                values = f'<td class=n colspan="{len(rows)}">{shown[0]}</td>'
            else:
                values = "".join(f"<td class=n>{value}</td>" for value in shown)
            lines.append(
                f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{kind}</td>'
                f"<td>{escape(origins)}</td>{values}</tr>"
            )
    heads = "".join(f'<th scope="col" class=n>T = {row.horizon:,}</th>' for row in rows)
    label = escape(f"Constants and parameters of {rows[0].algorithm} on {rows[0].problem}")
    return (
        f'{said}<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>'
        f'<thead><tr><th scope="col">Name</th><th scope="col">Is a</th>'
        f'<th scope="col">Origin</th>{heads}</tr></thead>\n'
        f"<tbody>{joined(lines)}</tbody></table></div>"
    )


_BOUNDS = {
    "round": "g(x_t)",
    "soft": "[Σg]₊",
    "hard": "Σ[g]₊",
    "squared": "Σ[g]₊²",
    "rows": "Σgᵢ",
}


def _used_as(kind: str, facts: Facts) -> dict[str, Sourced]:
    """Return constants, parameters or bounds: values with their origins, by name."""
    if kind == "constant":
        return facts.constants
    if kind == "parameter":
        return facts.parameters
    if facts.guarantee is None:
        return {}
    named = {"regret": facts.guarantee.regret_bound}
    named |= {_BOUNDS.get(m, m): limit for m, limit in facts.guarantee.bounds.items()}
    return {n: Sourced(v, facts.guarantee.name) for n, v in named.items() if v is not None}


def _amount(pair: Sourced | None) -> str:
    return "–" if pair is None else number(pair.value, 6, none="not finite")
