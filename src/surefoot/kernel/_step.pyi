"""The compiled step; ``_step.c`` says what each argument is."""

from typing import Any

def make(fields: dict[str, Any], /) -> tuple[Any, int, int, int] | None: ...
def step(
    rule: Any,
    block: Any,
    gradient: Any,
    g: Any,
    s: Any,
    proposal: Any,
    action: Any,
    value_error: float | None,
    slope_error: float | None,
    age: float | None,
    out: Any,
    /,
) -> int: ...
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
