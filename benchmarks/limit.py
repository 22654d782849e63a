"""The same in C, compiled where there is a compiler: what the machine can do at best."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.core.types import Array

FLAGS = ("-O3", "-march=native", "-fopenmp-simd", "-shared", "-fPIC")

SOURCE = r"""
#include <math.h>
#include <string.h>

static double dot(const double *restrict a, const double *restrict b, long d) {
    double sum = 0;
    #pragma omp simd reduction(+:sum)
    for (long i = 0; i < d; i++) sum += a[i] * b[i];
    return sum;
}

/* One step: x becomes the next action; y is room for d numbers. */
static void step(double *restrict x, const double *restrict grad, double g,
                 const double *restrict s, long d, double eta, double rho, double radius,
                 double *restrict y) {
    double v = g + rho - eta * dot(s, grad, d);
    #pragma omp simd
    for (long i = 0; i < d; i++) y[i] = x[i] - eta * grad[i];
    if (v > 0) {
        double n = dot(s, s, d);
        if (n > 0)
            #pragma omp simd
            for (long i = 0; i < d; i++) y[i] -= v / n * s[i];
    }
    double n = dot(y, y, d), scale = n > radius * radius ? radius / sqrt(n) : 1.0;
    #pragma omp simd
    for (long i = 0; i < d; i++) x[i] = scale * y[i];
}

/* Given rounds, one after another: their actions are replaced by the next ones in out. */
void steps(long rounds, long d, const double *x, const double *grad, const double *g,
           const double *s, double eta, double rho, double radius, double *out, double *y) {
    for (long k = 0; k < rounds; k++) {
        memcpy(out + k * d, x + k * d, d * sizeof(double));
        step(out + k * d, grad + k * d, g[k], s + k * d, d, eta, rho, radius, y);
    }
}

/* The largest row, and that row. */
double query(long m, long d, const double *A, const double *b, const double *x, double *s) {
    double worst = -INFINITY;
    long at = 0;
    for (long i = 0; i < m; i++) {
        double value = dot(A + i * d, x, d) - b[i];
        if (value > worst) { worst = value; at = i; }
    }
    memcpy(s, A + at * d, d * sizeof(double));
    return worst;
}

double sparse_query(long m, long d, const double *data, const int *columns, const int *starts,
                    const double *b, const double *x, double *s) {
    double worst = -INFINITY;
    long at = 0;
    for (long i = 0; i < m; i++) {
        double value = -b[i];
        for (int k = starts[i]; k < starts[i + 1]; k++) value += data[k] * x[columns[k]];
        if (value > worst) { worst = value; at = i; }
    }
    memset(s, 0, d * sizeof(double));
    for (int k = starts[at]; k < starts[at + 1]; k++) s[columns[k]] = data[k];
    return worst;
}

/* All rounds of all runs on a cube: total cost and largest g of each run; room for 3 d numbers. */
void cube_game(long rounds, long runs, long d, const double *targets, double curvature,
               double half, double eta, double rho, double radius, double *x, double *total,
               double *worst, double *room) {
    double *grad = room, *s = room + d, *y = room + 2 * d;
    for (long t = 0; t < rounds; t++)
        for (long r = 0; r < runs; r++) {
            const double *v = targets + (t * runs + r) * d;
            double *mine = x + r * d, cost = 0, size = -1;
            long at = 0;
            for (long i = 0; i < d; i++) {
                double away = mine[i] - v[i];
                cost += away * away;
                grad[i] = curvature * away;
                s[i] = 0;
                if (fabs(mine[i]) > size) { size = fabs(mine[i]); at = i; }
            }
            s[at] = mine[at] < 0 ? -1 : 1;
            total[r] += 0.5 * curvature * cost;
            if (size - half > worst[r]) worst[r] = size - half;
            step(mine, grad, size - half, s, d, eta, rho, radius, y);
        }
}
"""


@cache
def compiled() -> Any | None:
    """Return the functions of the source; None where there is no compiler, or it refuses."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "limit.so")
        command = [compiler, *FLAGS, "-x", "c", "-", "-o", str(library), "-lm"]
        done = subprocess.run(command, input=SOURCE, text=True, capture_output=True, check=False)
        if done.returncode:
            return None
        found = ctypes.CDLL(str(library))  # stays loaded when the file is gone
    for name in ("query", "sparse_query"):
        getattr(found, name).restype = ctypes.c_double
    return found


def _arguments(*values: Any) -> list[Any]:
    """Return whole numbers, numbers and arrays as C takes them."""
    kinds = {int: ctypes.c_long, float: ctypes.c_double}
    return [
        ctypes.c_void_p(v.ctypes.data) if isinstance(v, np.ndarray) else kinds[type(v)](v)
        for v in values
    ]


class Call:
    """A C function with its arguments, which are converted once and kept alive."""

    def __init__(self, name: str, *values: Any) -> None:
        self._values = [np.ascontiguousarray(v) if isinstance(v, np.ndarray) else v for v in values]
        self._function = getattr(compiled(), name)
        self._arguments = _arguments(*self._values)

    def __call__(self) -> float | None:
        """Call it."""
        found: float | None = self._function(*self._arguments)
        return found


class Steps(Call):
    """Given rounds of Polyak feasibility steps in C."""

    def __init__(
        self, x: Array, grad: Array, g: Array, s: Array, eta: float, rho: float, radius: float
    ) -> None:
        rounds, d = x.shape
        self.out, room = np.empty_like(x), np.empty(d)
        super().__init__("steps", rounds, d, x, grad, g, s, eta, rho, radius, self.out, room)


class CubeGame(Call):
    """A game on a cube in C."""

    def __init__(
        self, targets: Array, curvature: float, half: float, eta: float, rho: float, radius: float
    ) -> None:
        rounds, runs, d = targets.shape
        self._x, self.total, self.worst = np.empty((runs, d)), np.empty(runs), np.empty(runs)
        numbers = (curvature, half, eta, rho, radius)
        results = (self._x, self.total, self.worst, np.empty(3 * d))
        super().__init__("cube_game", rounds, runs, d, targets, *numbers, *results)

    def __call__(self) -> None:
        """Play from the start."""
        self._x[:], self.total[:], self.worst[:] = 0.0, 0.0, -np.inf
        super().__call__()
