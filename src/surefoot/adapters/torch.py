"""PyTorch: an optimiser around an optimiser, after whose steps a constraint certainly holds.

Three lines of a training loop::

    opt = KeepFeasible(torch.optim.Adam(model.parameters()), SafetyFilter.default(known), weights)
    loss.backward()
    opt.step(constraint=lambda w: torch.linalg.matrix_norm(w, 2) - 1.0)

The constraint must be the same function of the parameters in every step. **An estimate from a
mini-batch is not g**: evaluate it on a fixed set of data, or tell the filter how far the estimate
can be off (``value_error``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from surefoot.adapters._keeper import (
    Alarm,
    Keeper,
    OnContradiction,
    all_or_nothing,
    check_precision,
)
from surefoot.algorithms import Certified
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array, ArrayLike, Certificate, Info

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter
    from torch.optim import Optimizer

_torch = need("torch", "torch", "surefoot.adapters.torch")

__all__ = ["KeepFeasible", "Limit"]

Limit: TypeAlias = "Tensor | Callable[..., Tensor] | tuple[ArrayLike, ArrayLike]"
"""A tensor with a graph, a function of the float64 parameters that returns one, or a pair of value
and gradient; one number, or one per row with rows of gradients."""

_TYPES = {_torch.float32: np.float32, _torch.float64: np.float64}


class KeepFeasible(_torch.optim.Optimizer):  # type: ignore[misc, name-defined]
    """Takes the step of another optimiser, then moves what is limited to a certified point.

    ``param_groups`` and ``state`` are those of the other optimiser, so schedulers of the learning
    rate work as they do without. Parameters that are not limited are left alone. Certificates are
    computed in float64 from the parameters as they are, with a margin for rounding to float32
    (:mod:`surefoot.adapters._keeper`).

    Args:
        base: the optimiser whose steps are wanted.
        filter: that takes proposals, as :class:`surefoot.algorithms.SafetyFilter`; or one
            per constraint, where each limits parameters of its own.
        params: the parameters that the constraint depends on; one sequence per filter if there
            are several filters. All parameters of the base unless given.
        on_contradiction: what to do when a step is impossible if the constants are right: "warn"
            of the first one, or "raise" :class:`surefoot.algorithms.PremiseError` for each, which
            is refused then. Each is logged by the logger "surefoot".

    Example:
        >>> import torch
        >>> from surefoot import Constants
        >>> from surefoot.algorithms import SafetyFilter
        >>> w = torch.nn.Parameter(torch.zeros(2))
        >>> limits = SafetyFilter.default(Constants(R=1.0, G_g=1.0, start_slack=1.0))
        >>> opt = KeepFeasible(torch.optim.Adam([w], lr=0.1), limits)
        >>> for _ in range(100):
        ...     opt.zero_grad()
        ...     ((w - 3.0) ** 2).sum().backward()
        ...     opt.step(constraint=lambda w: w.norm() - 1.0)
        >>> 0.9 < w.norm() <= 1.0
        tensor(True)
        >>> print(opt.certificates[0])
        round 100: ... the next g is at most ...
    """

    def __init__(
        self,
        base: Optimizer,
        filter: Certified | Sequence[Certified],  # noqa: A002
        params: Iterable[Parameter] | Iterable[Iterable[Parameter]] | None = None,
        *,
        on_contradiction: OnContradiction = "warn",
    ) -> None:
        if not isinstance(base, _torch.optim.Optimizer):
            raise InvalidTypeError(f"base must be a torch optimiser, got {base!r}")
        filters = list(filter) if isinstance(filter, Sequence) else [filter]
        everything = [p for group in base.param_groups for p in group["params"]]
        chosen = everything if params is None else list(params)
        blocks = (
            [list(block) for block in chosen]
            if isinstance(filter, Sequence) and params is not None
            else [chosen]
        )
        _check_blocks(filters, blocks, everything)
        alarm = Alarm(on_contradiction)
        super().__init__(base.param_groups, base.defaults)
        self.base, self._blocks = base, blocks
        self._share()
        self._keepers = [
            Keeper(one, _values(block), _TYPES[block[0].dtype], alarm=alarm)
            for one, block in zip(filters, blocks, strict=True)
        ]
        self._steps: list[Info | None] = [None] * len(filters)

    def _share(self) -> None:
        self.param_groups, self.state = self.base.param_groups, self.base.state
        self.defaults = self.base.defaults

    def step(
        self,
        closure: Callable[[], Tensor] | None = None,
        *,
        constraint: Limit | Sequence[Limit] | None = None,
        value_error: float | Sequence[float | None] | None = None,
    ) -> Tensor | None:
        """Take a step of the base and keep what is limited feasible; return the closure's loss.

        The constraint is evaluated at the parameters as they are before the step. If anything is
        refused, the limited parameters are what they were. Where the filter allows for drift and g
        went on changing meanwhile, call :meth:`restart`: a refused step is no round to the filter.

        Args:
            closure: for the base, as in every optimiser.
            constraint: one :data:`Limit`, or a sequence with one per filter. A function gets
                float64 copies of the parameters; a tensor has the rounding of the model's own
                type, which the filter's ``evaluation_error`` must cover.
            value_error: a bound on the error of the value, where it is an estimate; one per filter
                if there are several.
        """
        limits, errors = (
            self._each(constraint, "constraint"),
            self._each(value_error, "value_error"),
        )
        if any(limit is None for limit in limits):
            raise InvalidValueError(
                "constraint must be given in every step: a tensor, a function or a pair of value "
                "and gradient, got None"
            )
        self._check_untouched()
        with _torch.enable_grad():
            seen = [
                _evaluated(limit, block, keeper.filter)
                for limit, block, keeper in zip(limits, self._blocks, self._keepers, strict=True)
            ]
        steps = zip(self._keepers, self._blocks, seen, errors, strict=True)
        try:
            loss = self.base.step(closure) if closure is not None else self.base.step()
            found: list[Info | None] = []
            with all_or_nothing(*self._keepers):
                for keeper, block, (g, s), error in steps:
                    found.append(keeper.offer(_values(block), g, s, error))
            self._steps = found
        finally:
            # Where one filter refused none has moved: the parameters go back to where they were.
            for keeper, block in zip(self._keepers, self._blocks, strict=True):
                _write(block, keeper.action())
        return loss

    def _each(self, given: Array, name: str) -> list[Array]:
        """Return what was given per filter."""
        if len(self._keepers) == 1:
            return [given]
        if given is None:
            return [None] * len(self._keepers)
        if not isinstance(given, (list, tuple)) or len(given) != len(self._keepers):
            raise InvalidValueError(
                f"{name} must be a sequence of {len(self._keepers)}, one per filter, got {given!r}"
            )
        return list(given)

    def _check_untouched(self) -> None:
        for keeper, block in zip(self._keepers, self._blocks, strict=True):
            if not np.array_equal(_values(block), keeper.played):
                raise InvalidValueError(
                    "the limited parameters must be as the last step left them: call restart() "
                    "after setting them, got others"
                )

    def restart(self) -> None:
        """Begin anew from the parameters as they are, which must be strictly feasible."""
        self._keepers = [
            Keeper(keeper.filter, _values(block), keeper.dtype, alarm=keeper.alarm)
            for keeper, block in zip(self._keepers, self._blocks, strict=True)
        ]
        self._steps = [None] * len(self._keepers)

    @property
    def certificates(self) -> tuple[Certificate | None, ...]:
        """Why each constraint holds at the parameters, one per filter; None before a step."""
        return tuple(None if step is None else step.certificate for step in self._steps)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What the last step saw that is impossible if the constants are right."""
        return tuple(word for step in self._steps if step for word in step.contradictions)

    @property
    def guarantee(self) -> str:
        """What is promised, in words; that of the first filter."""
        return self._keepers[0].guarantee

    # --- what an optimiser stores ----------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, object]) -> None:
        """Add parameters to the base; they are not limited."""
        if "base" not in self.__dict__:  # called by the constructor of the class
            super().add_param_group(param_group)
            return
        self.base.add_param_group(param_group)

    def state_dict(self) -> dict[str, object]:
        """Return the base's state and, under "surefoot", a float64 tensor per filter."""
        stored = [_torch.from_numpy(keeper.vector()) for keeper in self._keepers]
        return {**self.base.state_dict(), "surefoot": stored}

    def load_state_dict(self, state_dict: dict[str, Array]) -> None:
        """Continue from a stored state; load the model's parameters as well."""
        stored = state_dict.get("surefoot")
        if stored is None or len(stored) != len(self._keepers):
            raise InvalidValueError(
                f"state_dict must have 'surefoot' with {len(self._keepers)} tensors, one per filter"
            )
        rest = {name: value for name, value in state_dict.items() if name != "surefoot"}
        with all_or_nothing(*self._keepers):
            for keeper, vector in zip(self._keepers, stored, strict=True):
                keeper.load(vector.cpu().numpy())
            self.base.load_state_dict(rest)
        self._share()
        self._steps = [None] * len(self._keepers)

    def __getstate__(self) -> dict[str, object]:
        return dict(self.__dict__)  # the class keeps but three of them


def _check_blocks(
    filters: list[Certified], blocks: list[list[Parameter]], everything: list[Parameter]
) -> None:
    if len(filters) != len(blocks):
        raise InvalidValueError(
            f"params must have {len(filters)} sequences, one per filter, got {len(blocks)}"
        )
    chosen = [p for block in blocks for p in block]
    if len({id(p) for p in chosen}) != len(chosen):
        raise InvalidValueError(
            "params must be limited by one filter each: constraints on the same parameters are "
            "rows of one filter"
        )
    if {id(p) for p in chosen} - {id(p) for p in everything}:
        raise InvalidValueError("params must be parameters of the base")
    for block in blocks:
        types = {p.dtype for p in block}
        if len(types) != 1 or not types <= set(_TYPES):
            raise InvalidValueError(
                f"params of a filter must all be float32 or all float64, got {types or 'none'}"
            )


def _values(block: list[Tensor]) -> Array:
    """Return parameters as one float64 vector that shares nothing with them."""
    parts = [p.detach().cpu().to(_torch.float64).reshape(-1) for p in block]
    return np.array(_torch.cat(parts).numpy())


def _write(block: list[Parameter], values: Array) -> None:
    """Set the parameters to a vector's numbers, in place."""
    with _torch.no_grad():
        rest = _torch.from_numpy(values)
        for p, part in zip(block, rest.split([p.numel() for p in block]), strict=True):
            p.copy_(part.reshape(p.shape))


def _evaluated(limit: Limit, block: list[Parameter], safe: Certified) -> tuple[Array, Array]:
    """Return value and gradient of a limit, as float64 numbers; rows apart where it has rows.

    Those of less than 64 bits are refused, unless the filter says how far they are rounded.
    """
    at = block
    if callable(limit):
        at = [p.detach().clone().to(_torch.float64).requires_grad_() for p in block]
        limit = limit(*at)
    if isinstance(limit, tuple):
        value, gradient = limit
        if isinstance(gradient, (list, tuple)):
            gradient = _torch.cat([_torch.as_tensor(part).reshape(-1) for part in gradient])
        check_precision(safe.errors, constraint_value=value, constraint_subgradient=gradient)
        return _plain(value), _plain(gradient)
    if not isinstance(limit, _torch.Tensor) or limit.ndim > 1:
        raise InvalidValueError(
            "constraint must be one number or one per row, as a tensor, or a pair of value and "
            f"gradient, got {limit!r}"
        )
    if not limit.requires_grad:
        raise InvalidValueError("constraint must depend on the limited parameters, got a constant")
    check_precision(safe.errors, constraint=limit)
    rows = [_gradient(one, at) for one in (limit if limit.ndim else [limit])]
    return _plain(limit), np.stack(rows) if limit.ndim else rows[0]


def _gradient(value: Tensor, at: list[Tensor]) -> Array:
    parts = _torch.autograd.grad(value, at, retain_graph=True, allow_unused=True)
    filled = [_torch.zeros_like(p) if d is None else d for p, d in zip(at, parts, strict=True)]
    return _values(filled)


def _plain(value: ArrayLike) -> Array:
    if isinstance(value, _torch.Tensor):
        value = value.detach().cpu().to(_torch.float64).numpy()
    return np.array(value, dtype=np.float64)
