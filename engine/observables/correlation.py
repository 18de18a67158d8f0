# SPDX-License-Identifier: GPL-3.0-or-later
"""How rods at a distance are arranged and move: g(r) and the velocity correlation."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from engine.observables import checked
from engine.observables.checked import ObservableError, numbers, places, same_number
from engine.observables.pairs import near_centres

# Cells a side of the finest grid that velocities are laid on.
_MOST_CELLS = 2048


class Rings(NamedTuple):
    """A function of distance: `value` of pairs whose centres are between two of the `edges` (l)."""

    edges: Float64[np.ndarray, "edges"]
    value: Float64[np.ndarray, "rings"]

    @property
    def r(self) -> Float64[np.ndarray, "rings"]:
        """The middle of each ring, l."""
        return (self.edges[1:] + self.edges[:-1]) / 2


def pair_correlation(pos: np.ndarray, space_size: float, reach: float, rings: int) -> Rings:
    """g(r) up to r = `reach`, l: the density of other centres at r over that of the whole box.

    g = L²/N² Σ_{i≠j} 1(r_ij in the ring)/area of the ring, 1 for independent places but for 1/N.
    Allen & Tildesley, Computer Simulation of Liquids (2017), equation (2.94). Raises
    `ObservableError` where there is no rod, and where `reach` is more than L/2.
    """
    at = places(pos, space_size)
    far = checked.reach("reach", reach, space_size)
    if not len(at):
        raise ObservableError("A pair correlation needs a rod at least.")
    edges = np.linspace(0, far, rings + 1)
    found = np.zeros(rings)
    for pairs in near_centres(at, float(space_size), far):
        distance = np.hypot(pairs.r[:, 0], pairs.r[:, 1])
        found += np.histogram(distance, edges)[0]
    area = math.pi * (edges[1:] ** 2 - edges[:-1] ** 2)
    return Rings(edges, 2 * found / len(at) ** 2 * (float(space_size) ** 2 / area))


def velocity_correlation(
    pos: np.ndarray, velocity: np.ndarray, space_size: float, width: float
) -> Rings:
    """C(r) = ⟨v_i·v_j⟩/⟨v²⟩ over pairs at a distance r, in rings as wide as `width` (l), up to L/2.

    1 where rods move alike, 0 where independently; NaN in a ring that holds no pair, and everywhere
    where nothing moves. Vicsek & Zafeiris, Phys. Rep. 517, 71 (2012). All pairs at once by FFT, in
    time N + n log n of a grid of n cells (Wiener-Khinchin): places are rounded to cells of half a
    ring, or of 1/2048 of the box where that is more.
    """
    same_number(pos=pos, velocity=velocity)
    side, v = float(space_size), numbers("velocity", velocity)
    at = places(pos, side)
    cells, wide, edges = _grid(side, width)
    column, row = np.minimum((at / (side / cells)).astype(np.int64), cells - 1).T
    place = row * cells + column
    alike = _with_itself(place, v[:, 0], cells) + _with_itself(place, v[:, 1], cells)
    pairs = np.rint(_with_itself(place, None, cells))
    # Each rod is at distance 0 from itself, which is no pair.
    alike[0, 0] -= (v * v).sum()
    pairs[0, 0] -= len(at)
    steps = np.fft.fftfreq(cells, 1 / cells) * (side / cells)
    distance = np.hypot(steps[:, None], steps[None, :])
    inside = distance < edges[-1]
    ring = (distance[inside] / wide).astype(np.int64)
    ring = np.minimum(ring, len(edges) - 2)
    count = np.bincount(ring, pairs[inside], len(edges) - 1)
    summed = np.bincount(ring, alike[inside], len(edges) - 1)
    square = float((v * v).sum()) / max(len(v), 1)
    known = (count > 0) & (square > 0)
    value = np.full(len(count), math.nan)
    value[known] = summed[known] / count[known] / square
    return Rings(edges, value)


def ring_middles(space_size: float, width: float) -> Float64[np.ndarray, "rings"]:
    """The middles of the rings of `velocity_correlation`, l."""
    edges = _grid(float(space_size), width)[2]
    return (edges[1:] + edges[:-1]) / 2


def correlation_length(found: Rings) -> float:
    """Where C(r) first falls below 1/e, l, by straight lines between rings; NaN where it does not.

    Ours: the length of an exponential decay. C(0) is 1.
    """
    good = np.isfinite(found.value)
    r = np.concatenate([[0.0], found.r[good]])
    value = np.concatenate([[1.0], found.value[good]])
    below = np.flatnonzero(value < math.exp(-1))
    if not len(below):
        return math.nan
    k = below[0]
    share = (value[k - 1] - math.exp(-1)) / (value[k - 1] - value[k])
    return float(r[k - 1] + share * (r[k] - r[k - 1]))


def _grid(side: float, width: float) -> tuple[int, float, np.ndarray]:
    """Cells a side, the width of a ring, which is two of them at least, and the edges of rings."""
    wide = max(checked.reach("width", width, side), 2 * side / _MOST_CELLS)
    cells = min(math.ceil(2 * side / wide), _MOST_CELLS)
    return cells, wide, np.arange(0, math.floor(side / 2 / wide + 1e-9) + 1) * wide


def _with_itself(place: np.ndarray, weight: np.ndarray | None, cells: int) -> np.ndarray:
    """Σ over all pairs of cells (x, x + s) of the product of what is in them, for each s."""
    inside = np.bincount(place, weight, cells * cells).reshape(cells, cells).astype(np.float64)
    waves = np.fft.rfft2(inside)
    return np.fft.irfft2((waves * waves.conj()).real, (cells, cells))
