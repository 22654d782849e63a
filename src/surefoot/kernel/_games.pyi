"""Compiled games; ``_games.c`` says what each argument is."""

from typing import Any

def make(
    codes: Any,
    numbers: Any,
    matrix: Any,
    vector: Any,
    centre: Any,
    lower: Any,
    upper: Any,
    gauge: Any,
    players: Any,
    rules: tuple[Any, ...],
    /,
) -> Any: ...
def play(
    game: Any,
    low: int,
    high: int,
    state: Any,
    costs: Any,
    streams: Any,
    kept: Any,
    cost: Any,
    g: Any,
    actions: Any,
    gradient: Any,
    slope: Any,
    rows: Any,
    /,
) -> None: ...
