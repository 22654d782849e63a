"""A beam line in cheetah: two cells of correctors, quadrupoles and monitors, then a target.

Quadrupoles are misaligned and their gradients are off by up to 1 %, which nobody knows. Correctors
bend by some milliradians; a monitor reads where the beam is, with an error of up to 0.02 mm. Optics
are linear, so that orbits are affine in the bends.
"""

from dataclasses import dataclass, field
from typing import Any

import cheetah
import numpy as np
import torch

from surefoot.core.types import Array

__all__ = ["APERTURE", "BENDS", "MONITORS", "READING_ERROR", "Line", "response_error"]

APERTURE = 2.0
"""How far the beam may be from the axis at a monitor, in mm."""
BEND = 2.0
"""The largest bend of a corrector, in mrad."""
READING_ERROR = 0.02
"""Of a monitor, at most, in mm."""
RESPONSE_ERROR = (0.2, 0.04)
"""Bounds on errors of the response matrix, in mm per mrad: of the first and the second cell."""
BENDS = ("h0", "v0", "h1", "v1")
MONITORS = tuple(f"{sign}{way}{i}" for sign in ("", "minus_") for i in range(4) for way in "xy")
"""What monitors read, and its negative: Xopt has no limit on both sides."""
_GRADIENT, _OFF, _SHIFT = 8.0, 0.01, 2e-4


def response_error(monitor: str) -> dict[str, float]:
    """Return how far the model's response of a monitor may be off, for each corrector.

    Args:
        monitor: its name; optics do not couple x and y.
    """
    own = "h" if "x" in monitor else "v"
    return {bend: RESPONSE_ERROR[int(bend[1])] * (bend[0] == own) for bend in BENDS}


def _number(value: Any) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


@dataclass(slots=True)
class Line:
    """A line with errors drawn from a seed; without a seed, the model that is in the books.

    Args:
        seed: of misalignments, gradients and errors of readings.
    """

    seed: int | None = None
    segment: Any = field(init=False, repr=False)
    beam: Any = field(init=False, repr=False)
    draws: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        self.draws = np.random.default_rng(self.seed)
        known = float(self.seed is not None)
        shifts = known * self.draws.uniform(-_SHIFT, _SHIFT, (4, 2))
        gains = 1 + known * self.draws.uniform(-_OFF, _OFF, 4)
        parts: list[Any] = []
        for i in range(4):
            if i % 2 == 0:
                parts.append(cheetah.HorizontalCorrector(_number(0.1), name=f"h{i // 2}"))
                parts.append(cheetah.VerticalCorrector(_number(0.1), name=f"v{i // 2}"))
            strength = _number((-1) ** i * _GRADIENT * gains[i])
            parts += [
                cheetah.Drift(_number(0.5)),
                cheetah.Quadrupole(
                    _number(0.2), k1=strength, misalignment=_number(shifts[i]), name=f"q{i}"
                ),
                cheetah.Drift(_number(0.3)),
                cheetah.BPM(is_active=True, name=f"monitor{i}"),
            ]
        parts += [cheetah.Drift(_number(1.0)), cheetah.BPM(is_active=True, name="target")]
        self.segment = cheetah.Segment(parts).to(torch.float64)
        small = {name: _number(1e-4) for name in ("sigma_x", "sigma_y")}
        self.beam = cheetah.ParameterBeam.from_parameters(
            **small, energy=_number(1e8), dtype=torch.float64
        )

    def orbit(self, bends: Array) -> Array:
        """Return where the beam is at the four monitors and at the target, x and y, in mm.

        Args:
            bends: of the correctors, in mrad.
        """
        parts = {part.name: part for part in self.segment.elements}
        for name, bend in zip(BENDS, bends, strict=True):
            parts[name].angle = _number(1e-3 * float(bend))
        self.segment.track(self.beam)
        monitors = [part for part in parts.values() if isinstance(part, cheetah.BPM)]
        return np.concatenate([1e3 * monitor.reading.numpy() for monitor in monitors])

    def response(self) -> Array:
        """Return by how much monitors and target move per mrad, x and y, one row for each."""
        at_rest = self.orbit(np.zeros(4))
        return np.stack([self.orbit(way) - at_rest for way in np.eye(4)], axis=1)

    def evaluate(self, bends: dict[str, float], target: tuple[float, float]) -> dict[str, float]:
        """Return what an evaluation shows: the squared miss of the target, and the readings.

        Args:
            bends: by name.
            target: where the beam should be, in mm.
        """
        orbit = self.orbit(np.array([bends[name] for name in BENDS]))
        read = orbit[:8] + READING_ERROR * self.draws.uniform(-1, 1, 8)
        miss = float(((orbit[8:] - target) ** 2).sum())
        return {"miss": miss, **dict(zip(MONITORS, [*read, *-read], strict=True))}
