# SPDX-License-Identifier: GPL-3.0-or-later
"""How many rods there are at a place, and how that number varies."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from engine.observables import checked
from engine.observables.checked import ObservableError, above_zero, places
from engine.observables.pairs import near_cores


def local_density(pos: np.ndarray, space_size: float, reach: float) -> Float64[np.ndarray, "rods"]:
    """How many other centres are nearer than `reach` (l) to that of each rod, over π reach², 1/l².

    As freud.density.LocalDensity of points without a diameter. Times the area of a rod it is a
    packing fraction.
    """
    from scipy.spatial import KDTree

    at = places(pos, space_size)
    far = checked.reach("reach", reach, space_size)
    tree = KDTree(at, boxsize=float(space_size))
    # scipy counts a centre that is just `reach` away, and freud does not.
    count = tree.query_ball_point(at, np.nextafter(far, 0), return_length=True)
    return (np.asarray(count, np.float64) - 1) / (math.pi * far**2)


def sensed(
    pos: np.ndarray, theta: np.ndarray, space_size: float, length: float, sensing_range: float
) -> Int64[np.ndarray, "rods"]:
    """How many others each rod senses: their core lines are nearer than `sensing_range`, l.

    Equation (5) of docs/model.md with w_d = 1 and w_a = 0, with the exact core distance.
    """
    count = np.zeros(len(pos), np.int64)
    if sensing_range <= 0:
        return count
    for pairs, _ in near_cores(pos, theta, space_size, length, sensing_range):
        count += np.bincount(pairs.i, minlength=len(count))
        count += np.bincount(pairs.j, minlength=len(count))
    return count


class Counts(NamedTuple):
    """Rods in square parts of the box: of each division of a side, mean and mean square.

    `cells` are the parts a side; `mean` = N/cells² and `square` the mean of the squared number.
    """

    cells: Int64[np.ndarray, "divisions"]
    mean: Float64[np.ndarray, "divisions"]
    square: Float64[np.ndarray, "divisions"]


def divisions(space_size: float, least: float) -> Int64[np.ndarray, "divisions"]:
    """Into how many parts to divide a side so that none is smaller than `least`, l.

    From 2 on, in steps of about √2. Boxes of half the side are the largest: the number of rods in
    the whole box does not vary.
    """
    most = math.floor(above_zero("space_size", space_size) / above_zero("least", least))
    steps = max(0, math.floor(2 * math.log2(max(most, 1))) - 1)
    found = np.unique(np.rint(2 ** (1 + np.arange(steps) / 2)).astype(np.int64))
    return found[found <= most]


def counts(pos: np.ndarray, space_size: float, cells: Int64[np.ndarray, "divisions"]) -> Counts:
    """How many rods are in each square part, for each division of the side into `cells` parts."""
    at = places(pos, space_size)
    mean, square = np.zeros(len(cells)), np.zeros(len(cells))
    for k, parts in enumerate(cells):
        column, row = np.minimum((at / (space_size / parts)).astype(np.int64), parts - 1).T
        # Only parts that hold a rod: in a vast box most are empty, and too many to list.
        _, inside = np.unique(row * parts + column, return_counts=True)
        area = float(parts) ** 2
        mean[k], square[k] = len(at) / area, float(inside @ inside) / area
    return Counts(np.asarray(cells, np.int64), mean, square)


def fluctuation(found: Counts) -> Float64[np.ndarray, "divisions"]:
    """σ_N = √(⟨N²⟩ − ⟨N⟩²) of the rods in a part of the box; `found` may be a mean over frames."""
    return np.sqrt(np.maximum(found.square - found.mean**2, 0))


class PowerLaw(NamedTuple):
    """y = `factor` x^`exponent`, and the standard error of the exponent from the scatter."""

    exponent: float
    factor: float
    error: float


def power_law(x: Float64[np.ndarray, "points"], y: Float64[np.ndarray, "points"]) -> PowerLaw:
    """A straight line through log y against log x, by least squares.

    For σ_N against N̄ the exponent is ½ where rods are independent and larger in a swarm (giant
    number fluctuations: Zhang et al., PNAS 107, 13626 (2010)). Points with x or y = 0 count for
    nothing; raises `ObservableError` where fewer than 3 are left.
    """
    good = (x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)
    if good.sum() < 3:
        raise ObservableError(f"A power law needs 3 points above 0, and {good.sum()} are there.")
    a, b = np.log(x[good]), np.log(y[good])
    away = a - a.mean()
    spread = float(away @ away)
    if not spread:
        raise ObservableError("A power law needs points at more than one place.")
    exponent = float(away @ b) / spread
    rest = b - b.mean() - exponent * away
    error = math.sqrt(float(rest @ rest) / max(len(a) - 2, 1) / spread)
    return PowerLaw(exponent, math.exp(b.mean() - exponent * a.mean()), error)
