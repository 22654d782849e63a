"""The compiled step; ``_step.c`` says what each argument is."""

from typing import Any

def make(
    fields: dict[str, Any], feedback: tuple[tuple[str, str, Any], ...], /
) -> tuple[Any, int, int, int] | None: ...
def layout(rule: Any, /) -> tuple[list[Any], list[Any]]: ...
def step(rule: Any, block: Any, feedback: Any, out: Any, /) -> int: ...
def steps(
    rule: Any,
    n: int,
    blocks: Any,
    gradients: Any,
    g: Any,
    s: Any,
    proposals: Any,
    outs: Any,
    status: Any,
    /,
) -> bool: ...
