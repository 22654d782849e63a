r"""How PyTorch's optimisers scale their steps: the diagonal D of a step :math:`-D^{-1}m`.

Read after the step, from the state of the optimiser. The rate :math:`\eta` of the group of a
parameter is a part of D, because groups may have different ones: m is then an estimate of the
gradient of all of them in the same unit, which Theorem Metric is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidTypeError, warn_caller
from surefoot.core.types import Array

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter
    from torch.optim import Optimizer

Metric: TypeAlias = "Callable[[Parameter], Tensor]"
"""A function of a parameter, called after the base's step, that returns a tensor like it: D, where
the base's step is an estimate of the gradient divided by -D, entry by entry."""

Scale: TypeAlias = "Callable[[Parameter, Mapping[str, Any], Mapping[str, Any]], Tensor | None]"
"""D of a parameter, given its state and its group; None where it does not move by itself."""


def _adam(p: Parameter, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    second = state["max_exp_avg_sq" if group.get("amsgrad") else "exp_avg_sq"]
    bias = 1.0 - float(group["betas"][1]) ** float(state["step"])
    return (second.double() / bias).sqrt() + group["eps"]


def _sparse_adam(p: Parameter, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    bias = 1.0 - float(group["betas"][1]) ** float(state["step"])
    return (state["exp_avg_sq"].double().sqrt() + group["eps"]) / math.sqrt(bias)


def _radam(p: Parameter, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    decay, t = float(group["betas"][1]), float(state["step"])
    longest = 2.0 / (1.0 - decay) - 1.0
    length = longest - 2.0 * t * decay**t / (1.0 - decay**t)
    if not length > 5.0:  # too few gradients: its first steps are those of momentum
        return _ones(p)
    share = (length - 4.0) * (length - 2.0) * longest
    share /= (longest - 4.0) * (longest - 2.0) * length
    return _sparse_adam(p, state, group) / math.sqrt(share)


def _adamax(p: Parameter, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    largest: Tensor = state["exp_inf"].double()
    return largest


def _rmsprop(p: Parameter, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    second = state["square_avg"].double()
    if group["centered"]:
        second = second - state["grad_avg"].double() ** 2
    root: Tensor = second.clamp(min=0.0).sqrt() + group["eps"]
    return root


def _adagrad(p: Parameter, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    fall = 1.0 + (float(state["step"]) - 1.0) * group["lr_decay"]
    return fall * (state["sum"].double().sqrt() + group["eps"])


def _sgd(p: Parameter, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    return _ones(p)


def _ones(p: Parameter) -> Tensor:
    return p.detach().new_ones(p.shape).double()


_SCALES: dict[str, Callable[..., Any]] = {
    "Adam": _adam,  # and AdamW, which derives from it
    "NAdam": _adam,
    "RAdam": _radam,
    "Adamax": _adamax,
    "SparseAdam": _sparse_adam,
    "RMSprop": _rmsprop,
    "Adagrad": _adagrad,
    "SGD": _sgd,
}
"""By the name of a class of PyTorch, which is not imported here."""


def _names_of(base: Optimizer) -> list[str]:
    """Return the names of the classes of PyTorch that an optimiser derives from, nearest first."""
    kinds = type(base).__mro__
    return [kind.__name__ for kind in kinds if kind.__module__.startswith("torch.optim.")]


def find_scale(base: Optimizer, metric: Metric | None) -> Scale | None:
    """Return how an optimiser scales its steps; None for Euclid's metric, with a warning.

    Args:
        base: the optimiser.
        metric: what the user says of it.
    """
    if metric is not None:
        if not callable(metric):
            raise InvalidTypeError(f"metric must be a function of a parameter, got {metric!r}")
        return lambda p, state, group: metric(p)
    name = type(base).__name__
    if "Adadelta" in _names_of(base):
        raise checks.invalid(
            "base",
            "an optimiser whose scale can be read after its step, which Adadelta overwrites: take "
            "RMSprop, or metric=torch.ones_like and perhaps a wrong point to rest at",
            name,
        )
    known = next((_SCALES[kind] for kind in _names_of(base) if kind in _SCALES), None)
    if known is None:
        warn_caller(
            f"the steps of {name} may be scaled by coordinate: pass metric=, or they may come to "
            "rest at a wrong point",
            UserWarning,
        )
        return None
    return partial(_scale, known)


def _scale(
    known: Scale, p: Parameter, state: Mapping[str, Any], group: Mapping[str, Any]
) -> Tensor | None:
    """Return D with the rate in it; None for a rate of 0, and before the first gradient."""
    rate = float(group["lr"])
    divisor = known(p, state, group) if state or known is _sgd else None
    return divisor / rate if divisor is not None and rate > 0 else None


def join_scales(parts: Sequence[Tensor | None], params: Sequence[Parameter]) -> Array | None:
    """Return D of several parameters as one vector; None where nothing is known of any.

    A parameter that does not move by itself gives way to the limit as little as any other. So does
    an entry whose D has overflown.

    Args:
        parts: D of each; None where nothing is known of it.
        params: the parameters.
    """
    columns = []
    for part, p in zip(parts, params, strict=True):
        if part is not None and part.shape != p.shape:
            rule = f"of shape {tuple(p.shape)}, as its parameter is"
            raise checks.invalid("metric", rule, tuple(part.shape))
        column = p.detach().new_full(p.shape, math.inf) if part is None else part
        columns.append(column.detach().cpu().double().reshape(-1).numpy())
    D: Array = np.concatenate(columns)
    known = np.isfinite(D)
    return np.where(known, D, D[known].max()) if known.any() else None
