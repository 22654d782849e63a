r"""PyTorch: an optimiser around an optimiser, after whose steps a constraint certainly holds.

Three lines of a training loop::

    opt = KeepFeasible(torch.optim.Adam(model.parameters()), SafetyFilter.default(known), weights)
    loss.backward()
    opt.step(constraint=lambda w: torch.linalg.matrix_norm(w, 2) - 1.0)

The constraint must be the same function of the parameters in every step. **An estimate from a
mini-batch is not g**: evaluate it on a fixed set of data, or give the filter a bound on its error
(``value_error``).

The certified point is the nearest to the step in the metric of the optimiser that took it, or the
run would come to rest at a wrong point (Theorem Metric of docs/hosts.md). The step of Adam is
:math:`-\eta\hat m/(\sqrt{\hat v} + \epsilon)`, so that D is
:math:`(\sqrt{\hat v} + \epsilon)/\eta`, with :math:`\eta` the rate of the parameter's group. It is
read from the state of Adam, AdamW, NAdam, RAdam, Adamax, SparseAdam, RMSprop and Adagrad after
their step (:mod:`surefoot.adapters._torch_scales`); SGD scales by its rates alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from surefoot.adapters._keeper import (
    Alarm,
    Keeper,
    OnContradiction,
    all_or_nothing,
    check_precision,
)
from surefoot.adapters._torch_scales import Metric, find_scale, join_scales
from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.optional import need
from surefoot.core.types import Array, ArrayLike, Certificate

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter
    from torch.optim import Optimizer

_torch = need("torch", "torch", "surefoot.adapters.torch")

__all__ = ["KeepFeasible", "Limit", "Metric"]

Limit: TypeAlias = "Tensor | Callable[..., Tensor] | tuple[ArrayLike, ArrayLike]"
"""A tensor with a graph, a function of the float64 parameters that returns one, or a pair of value
and gradient; one number, or one per row with rows of gradients."""

_TYPES = {_torch.float32: np.float32, _torch.float64: np.float64}


class KeepFeasible(_torch.optim.Optimizer):  # type: ignore[misc, name-defined]
    """Takes the step of another optimiser, then moves what is limited to a certified point.

    ``param_groups`` and ``state`` are those of the other optimiser, so schedulers of the learning
    rate work as they do without. Parameters that are not limited stay as they are. Certificates are
    computed in float64 from the parameters as they are, with a margin for rounding to float32
    (:mod:`surefoot.adapters._keeper`).

    A step that the constraint cuts is taken to the certified point that is nearest in the metric
    of the base: a run then comes to rest only where no certified direction decreases what the base
    minimises. For AdamW that is not the loss alone: its decay acts as a gradient of
    ``weight_decay * (sqrt(v) + eps) * w``, so that it moves that point, also without a limit.

    Args:
        base: the optimiser that proposes the steps.
        filter: that takes proposals, as :class:`surefoot.rules.SafetyFilter`; or one
            per constraint, if each limits other parameters.
        params: the parameters that the constraint depends on; one sequence per filter if there
            are several filters. All parameters of the base unless given.
        on_contradiction: what to do when a step is impossible if the constants are right: "warn"
            of the first one, or "raise" :class:`surefoot.guarantees.PremiseError` and reject each.
            The logger "surefoot" gets each.
        metric: a :data:`Metric`, for a base whose state is unknown here. Without it such a base
            has Euclid's, with a warning; ``metric=torch.ones_like`` chooses that for any.

    Example:
        >>> import torch
        >>> from surefoot import Constants
        >>> from surefoot.rules import SafetyFilter
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

    param_groups: Any
    state: Any
    defaults: Any

    def __init__(
        self,
        base: Optimizer,
        filter: Certified | Sequence[Certified],  # noqa: A002
        params: Iterable[Parameter] | Iterable[Iterable[Parameter]] | None = None,
        *,
        on_contradiction: OnContradiction = "warn",
        metric: Metric | None = None,
    ) -> None:
        if not isinstance(base, _torch.optim.Optimizer):
            raise InvalidTypeError(f"base must be a torch optimiser, got {base!r}")
        filters = list(filter) if isinstance(filter, Sequence) else [filter]
        everything = [p for group in base.param_groups for p in group["params"]]
        parameters = everything if params is None else list(params)
        separately = isinstance(filter, Sequence) and params is not None
        limited = [list(p) for p in parameters] if separately else [parameters]
        _check_params(len(filters), limited, everything)
        alarm = Alarm(on_contradiction)
        self._scale = find_scale(base, metric)
        super().__init__(base.param_groups, base.defaults)
        self.base = base
        self._share()
        self._blocks = [
            _Block(one, alarm, params) for one, params in zip(filters, limited, strict=True)
        ]
        if metric is None and self._scale is not None and not isinstance(base, _torch.optim.SGD):
            for block in self._blocks:
                block.check_convex()

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

        The constraint is evaluated at the parameters before the step. If the call raises, the
        limited parameters are unchanged. If the filter allows for drift and g went on changing
        meanwhile, call :meth:`restart`: a rejected step is no round for the filter.

        Args:
            closure: for the base, as in every optimiser.
            constraint: one :data:`Limit`, or a sequence with one per filter. A function gets
                float64 copies of the parameters; a tensor has the rounding of the model's own
                type, which the filter's ``evaluation_error`` must cover.
            value_error: a bound on the error of the value, if it is an estimate; one per filter if
                there are several.
        """
        limits = self._each(constraint, "constraint")
        errors = self._each(value_error, "value_error")
        readings = [block.evaluate(one) for block, one in zip(self._blocks, limits, strict=True)]
        try:
            loss = self.base.step(closure) if closure is not None else self.base.step()
            with all_or_nothing(*self._blocks):
                for block, (g, s), error in zip(self._blocks, readings, errors, strict=True):
                    block.offer(_values(block.params), g, s, error, self._find_metric(block))
        finally:
            # If one filter rejected the step, none has moved: the parameters are restored.
            for block in self._blocks:
                block.write()
        return loss

    def _find_metric(self, block: _Block) -> Array | None:
        """Return the diagonal of the base's metric at a block's parameters; None for Euclid's."""
        scale = self._scale
        if scale is None:
            return None
        groups = {id(p): group for group in self.param_groups for p in group["params"]}
        parts = [scale(p, self.state.get(p, {}), groups[id(p)]) for p in block.params]
        return join_scales(parts, block.params)

    def _each(self, values: Array, name: str) -> list[Array]:
        """Return the values per filter."""
        count = len(self._blocks)
        if count == 1 or values is None:
            return [values] * count
        if not isinstance(values, (list, tuple)) or len(values) != count:
            raise checks.invalid(name, f"a sequence of {count}, one per filter", values)
        return list(values)

    def restart(self) -> None:
        """Start again from the present parameters, which must be strictly feasible."""
        self._blocks = [_Block(block.filter, block.alarm, block.params) for block in self._blocks]

    @property
    def certificates(self) -> tuple[Certificate | None, ...]:
        """Why each constraint holds at the parameters, one per filter; None before a step."""
        return tuple(block.certificate for block in self._blocks)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What contradicts the constants in the last step."""
        infos = (block.info for block in self._blocks)
        return tuple(word for info in infos if info for word in info.contradictions)

    @property
    def guarantee(self) -> str:
        """What is promised, in words; that of the first filter."""
        return self._blocks[0].guarantee

    # --- what an optimiser stores ----------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, object]) -> None:
        """Add parameters to the base; they are not limited."""
        if "base" not in self.__dict__:  # called by the constructor of the class
            super().add_param_group(param_group)
            return
        self.base.add_param_group(param_group)

    def state_dict(self) -> dict[str, object]:
        """Return the base's state and, under "surefoot", a float64 tensor per filter."""
        stored = [_torch.from_numpy(block.vector()) for block in self._blocks]
        return {**self.base.state_dict(), "surefoot": stored}

    def load_state_dict(self, state_dict: dict[str, Array]) -> None:
        """Continue from a stored state; load the model's parameters as well."""
        rest = dict(state_dict)
        stored = rest.pop("surefoot", None)
        if stored is None or len(stored) != len(self._blocks):
            raise InvalidValueError(
                f"state_dict must have 'surefoot' with {len(self._blocks)} tensors, one per filter"
            )
        with all_or_nothing(*self._blocks):
            for block, vector in zip(self._blocks, stored, strict=True):
                block.load(vector.cpu().numpy())
            self.base.load_state_dict(rest)
        self._share()

    def __getstate__(self) -> dict[str, object]:
        return dict(self.__dict__)  # the class keeps only three of them


class _Block(Keeper):
    """Parameters that one filter limits."""

    def __init__(self, safe: Certified, alarm: Alarm, params: list[Parameter]) -> None:
        super().__init__(safe, _values(params), _TYPES[params[0].dtype], alarm=alarm)
        self.params = params

    def write(self) -> None:
        """Set the parameters to what is to be played, in place."""
        with _torch.no_grad():
            parts = _torch.from_numpy(self.action()).split([p.numel() for p in self.params])
            for p, part in zip(self.params, parts, strict=True):
                p.copy_(part.reshape(p.shape))

    def evaluate(self, limit: Limit) -> tuple[Array, Array]:
        """Return value and gradient of a limit, as float64 numbers; by row if it has rows.

        Numbers of less than 64 bits are rejected, unless the filter has an evaluation error.
        """
        if not np.array_equal(_values(self.params), self.played):
            raise InvalidValueError(
                "the limited parameters must be as the last step left them: call restart() after "
                "setting them, got others"
            )
        at, errors = self.params, self.filter.errors
        with _torch.enable_grad():
            if callable(limit):
                at = [p.detach().clone().to(_torch.float64).requires_grad_() for p in at]
                limit = limit(*at)
            if isinstance(limit, tuple):
                value, gradient = limit
                if isinstance(gradient, (list, tuple)):
                    gradient = _torch.cat([_torch.as_tensor(part).reshape(-1) for part in gradient])
                check_precision(errors, constraint_value=value, constraint_subgradient=gradient)
                return _plain(value), _plain(gradient)
            if isinstance(limit, (float, int, np.number)) and at is not self.params:
                raise InvalidValueError(
                    f"constraint must return a tensor with a graph, got the {type(limit).__name__} "
                    f"{float(limit):.6g}: leave out .item() and float()"
                )
            if not isinstance(limit, _torch.Tensor) or limit.ndim > 1:
                rule = "given in every step: a tensor, one number or one per row, a function that "
                rule += "returns one, or a pair of value and gradient"
                raise checks.invalid("constraint", rule, limit)
            if not limit.requires_grad:
                raise InvalidValueError(
                    "constraint must depend on the limited parameters, got a constant"
                )
            check_precision(errors, constraint=limit)
            rows = [_gradient(one, at) for one in (limit if limit.ndim else [limit])]
        return _plain(limit), np.stack(rows) if limit.ndim else rows[0]


def _check_params(
    filters: int, limited: list[list[Parameter]], everything: list[Parameter]
) -> None:
    if filters != len(limited):
        raise InvalidValueError(
            f"params must have {filters} sequences, one per filter, got {len(limited)}"
        )
    ids = [id(p) for block in limited for p in block]
    if len(set(ids)) != len(ids):
        raise InvalidValueError(
            "params must be limited by one filter each: constraints on the same parameters are "
            "rows of one filter"
        )
    if set(ids) - {id(p) for p in everything}:
        raise InvalidValueError("params must be parameters of the base")
    for types in ({p.dtype for p in block} for block in limited):
        if len(types) != 1 or not types <= set(_TYPES):
            raise InvalidValueError(
                f"params of a filter must all be float32 or all float64, got {types or 'none'}"
            )


def _values(block: list[Tensor]) -> Array:
    """Return parameters as one float64 vector that shares nothing with them."""
    joined = _torch.cat([p.detach().cpu().reshape(-1) for p in block])  # a copy, also of one
    vector: Array = joined.to(_torch.float64).numpy()
    return vector


def _gradient(value: Tensor, at: list[Tensor]) -> Array:
    options = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
    return _values(_torch.autograd.grad(value, at, **options))


def _plain(value: ArrayLike) -> Array:
    if isinstance(value, _torch.Tensor):
        value = value.detach().cpu().to(_torch.float64).numpy()
    return np.array(value, dtype=np.float64)
