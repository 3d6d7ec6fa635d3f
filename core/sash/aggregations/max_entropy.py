"""The density of maximum entropy on an interval with known moments, from which a moments sketch is lowered.

With the data scaled to u in [-1, 1] and Tᵢ the Chebyshev polynomials, the density is exp(Σ θᵢTᵢ(u)), where θ is the
minimum of the convex ∫exp(Σ θᵢTᵢ) - Σ θᵢ·E[Tᵢ]. It is found by Newton's method on a grid of cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

__all__ = ["Fit", "Floats", "chebyshev_moments", "maximum_entropy", "scale"]

Floats = NDArray[np.float64]

_CELLS = 256
_TOLERANCE = 1e-8
_MOST_STEPS = 40
_SHORTEST_STEP = 0.01


class _Grid(NamedTuple):
    """[-1, 1] in cells that are finest at the ends, where heavy tails put most of the data."""

    edges: Floats
    weights: Floats  # Fejér's quadrature, one node a cell
    basis: Floats  # Tᵢ at the nodes, one row each


@cache
def _grid(k: int) -> _Grid:
    angles = (np.arange(_CELLS) + 0.5) * np.pi / _CELLS
    orders = np.arange(1, _CELLS // 2 + 1)
    ripple = np.cos(2.0 * np.outer(angles, orders)) / (4.0 * orders**2 - 1.0)
    weights = 2.0 / _CELLS * (1.0 - 2.0 * ripple.sum(axis=1))
    edges = -np.cos(np.arange(_CELLS + 1) * np.pi / _CELLS)
    basis = np.cos(np.outer(np.arange(k + 1), np.pi - angles))
    return _Grid(edges, weights, basis)


@cache
def _chebyshev_coefficients(n: int) -> Floats:
    """Of T₀ … Tₙ₋₁, one row each, constant term first."""
    rows = np.zeros((n, n))
    for i in range(n):
        rows[i, : i + 1] = chebyshev.cheb2poly([0] * i + [1])
    return rows


def scale(low: float, high: float) -> tuple[float, float]:
    """Centre and half the range, by halves so that neither overflows."""
    return high / 2 + low / 2, high / 2 - low / 2


def chebyshev_moments(count: float, low: float, high: float, sums: Sequence[float]) -> Floats:
    """E[Tᵢ(u)] for i = 0 … len(sums), where u is the data scaled from [low, high] to [-1, 1].

    They are rounded: the last bits depend on how a window was merged, and must not decide whether Newton's method
    converges.
    """
    centre, half = scale(low, high)
    scaled = [1.0, *(total / count / half**i for i, total in enumerate(sums, 1))]
    shift = -centre / half
    powers = [
        math.fsum(math.comb(i, j) * scaled[j] * shift ** (i - j) for j in range(i + 1)) for i in range(len(scaled))
    ]
    rounded: Floats = np.round(_chebyshev_coefficients(len(powers)) @ np.array(powers), 7)
    return rounded


def _masses(theta: Floats, grid: _Grid) -> Floats:
    masses: Floats = grid.weights * np.exp(theta @ grid.basis)
    return masses


def _newton(moments: Floats, start: Floats) -> Floats | None:
    """θ of the density of maximum entropy; None where the method does not converge."""
    grid = _grid(len(moments) - 1)
    theta, masses = start, _masses(start, grid)
    for _ in range(_MOST_STEPS):
        gradient = grid.basis @ masses - moments
        if np.abs(gradient).max() < _TOLERANCE:
            return theta
        try:
            step = np.linalg.solve((grid.basis * masses) @ grid.basis.T, gradient)
        except np.linalg.LinAlgError:
            return None
        if (shorter := _line_search(theta, step, moments, float(gradient @ step), masses)) is None:
            return None
        theta, masses = shorter
    return None


def _line_search(
    theta: Floats, step: Floats, moments: Floats, slope: float, masses: Floats
) -> tuple[Floats, Floats] | None:
    """The first of the step, its half, its quarter … that leads down far enough (Armijo's rule)."""
    potential = masses.sum() - theta @ moments
    length = 1.0
    while length > _SHORTEST_STEP:
        new = theta - length * step
        masses = _masses(new, _grid(len(moments) - 1))
        if masses.sum() - new @ moments <= potential - 1e-4 * length * slope:
            return new, masses
        length /= 2
    return None


class Fit(NamedTuple):
    """A density on [low, high] that has the moments, and how badly it fits the data."""

    low: float
    high: float
    theta: Floats
    cross_entropy: float

    def quantiles(self, shares: Floats) -> Floats:
        grid = _grid(len(self.theta) - 1)
        below = np.concatenate([[0.0], np.cumsum(_masses(self.theta, grid))])
        centre, half = scale(self.low, self.high)
        return centre + half * np.interp(shares * below[-1], below, grid.edges)


def maximum_entropy(moments: Floats) -> Floats:
    """θ for as many of the first moments as Newton's method converges for, found by binary search."""
    best = np.array([-math.log(2.0)])
    tried, failed = len(moments), len(moments) + 1
    while tried > len(best):
        with np.errstate(over="ignore", invalid="ignore"):  # steps to infinity are not taken
            theta = _newton(moments[:tried], np.pad(best, (0, tried - len(best))))
        if theta is None:
            failed = tried
        else:
            best = theta
        tried = (len(best) + failed) // 2
    return best
