# SPDX-License-Identifier: GPL-3.0-or-later
"""From the rods of a state to a field on a grid, to be drawn under them. No Qt, no OpenGL.

The mean over a neighbourhood is one by a Gaussian whose standard deviation is two cells, a body
length where the box allows that. Where the box is periodic so is all of this; within walls a mean
is one over that part of the neighbourhood which is within them.
"""

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from bacsim_gui.fields import FIELDS, field_range, rod_area
from bacsim_gui.scene import Scene
from bacsim_gui.view import View

# Cells in a body length; the standard deviation of the Gaussian, in cells.
_CELLS, _WIDTH = 2, 2.0
_FEWEST, _MOST, _STEP = 16, 256, 8


def cells_a_side(scene: Scene) -> int:
    """Into how many cells each side of the box is divided; of a kind that a FFT is fast with."""
    wanted = _CELLS * scene.space_size / (scene.length + 2 * scene.radius)
    return min(max(_STEP * round(wanted / _STEP), _FEWEST), _MOST)


def field_on_grid(scene: Scene, name: str) -> np.ndarray | None:
    """The field of that name at the middles of the cells, (n, n) float64; the first row is y = 0.

    None where it is not known, since it follows from what was not measured.
    """
    if not all(measure in scene.measures for measure in FIELDS[name].measures):
        return None
    count = cells_a_side(scene)
    side = scene.space_size / count
    measured = [scene.measures[measure] for measure in FIELDS[name].measures]
    shared = _shared_out(scene, count, (None, *measured))
    rods, *moved = _smooth(shared, count) if scene.periodic else _smooth_within(shared, count)
    if name == "density":
        density = rods * (rod_area(scene.length, scene.radius) / side**2)
        return density if scene.periodic else density / _within(count, round_=scene.round)
    # Far from all rods the quotient is that of two very small numbers: nothing follows from it.
    x, y = (part / np.maximum(rods, 1e-9) for part in moved)
    curl = (_difference(y, 1, scene.periodic) - _difference(x, 0, scene.periodic)) / (2 * side)
    # Where less than one rod is near, the field fades, to none at a half: between two lonely rods
    # nothing turns.
    near = 2 * math.pi * _WIDTH**2 * rods
    return curl * np.clip(2 * near - 1, 0, 1)


def places(scene: Scene, view: View) -> np.ndarray | None:
    """The view's field as places on its colour map, as `field_on_grid` but twice as fine, uint8.

    So fine that a card may go straight from one to the next and no edge is seen.
    """
    field = field_on_grid(scene, view.field)
    if field is None:
        return None
    field = _doubled(_doubled(field, 0, scene.periodic), 1, scene.periodic)
    low, high = field_range(view.field, scene.values)
    return np.rint(np.clip((field - low) / (high - low), 0, 1) * 255).astype(np.uint8)


def _shared_out(scene: Scene, count: int, weights: Iterable[np.ndarray | None]) -> list[np.ndarray]:
    """Sums of each weight (None: 1) over the rods in each cell, (count, count) float64.

    A rod is shared out to the four cells whose middles are around it, to the nearest most, so that
    what is drawn moves as it moves and does not jump. Its place is taken to half a cell, which
    makes that one sum on a finer grid.
    """
    fine = 2 * count
    at = (scene.rods[:, :2] * np.float32(fine / scene.space_size)).astype(np.int32)
    column, row = np.minimum(at, fine - 1).T
    cell = row * fine + column
    sums = (np.bincount(cell, weight, fine * fine).reshape(fine, fine) for weight in weights)
    periodic = scene.periodic
    return [_halved(_halved(fully, 0, periodic), 1, periodic) for fully in sums]


def _halved(fine: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    """Half as many cells along an axis: the outer quarters of two neighbours overlap.

    What would pass a wall stays in the cell at it.
    """
    halves = np.moveaxis(fine, axis, 0)
    first, second = halves[0::2], halves[1::2]
    before, after = np.roll(second, 1, 0), np.roll(first, -1, 0)
    if not periodic:
        before[0], after[-1] = first[0], second[-1]
    return np.moveaxis(0.75 * (first + second) + 0.25 * (before + after), 0, axis)


def _doubled(cells: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    """Twice as many along an axis, each a mean of two, as a spline is subdivided."""
    one = np.moveaxis(cells, axis, 0)
    beside = [_next(one, by, periodic) for by in (1, -1)]
    two = np.stack([0.75 * one + 0.25 * other for other in beside], axis=1)
    return np.moveaxis(two.reshape(-1, one.shape[1]), 0, axis)


def _next(values: np.ndarray, by: int, periodic: bool) -> np.ndarray:
    """What is `by` cells, 1 or -1, before along the first axis; at a wall the last cell again."""
    found = np.roll(values, by, 0)
    if not periodic:
        edge = 0 if by > 0 else -1
        found[edge] = values[edge]
    return found


@lru_cache(maxsize=4)
def _gaussian(count: int) -> np.ndarray:
    """What the Gaussian leaves of each wave of a real FFT of (count, count)."""
    waves = np.fft.fftfreq(count)[:, None] ** 2 + np.fft.rfftfreq(count) ** 2
    return np.exp(-2 * (math.pi * _WIDTH) ** 2 * waves)


def _smooth(sums: list[np.ndarray], count: int) -> np.ndarray:
    """Each of them as a mean by the Gaussian; their sums over the box stay."""
    waves = np.fft.rfft2(np.stack(sums)) * _gaussian(count)
    return np.fft.irfft2(waves, (count, count))


# Beyond that many standard deviations a Gaussian is nothing.
_MARGIN = math.ceil(4 * _WIDTH)


def _smooth_within(sums: list[np.ndarray], count: int) -> np.ndarray:
    """The same with nothing beyond the sides of the box."""
    size = count + _MARGIN
    padded = [np.pad(one, (0, _MARGIN)) for one in sums]
    return _smooth(padded, size)[:, :count, :count]


@lru_cache(maxsize=4)
def _within(count: int, *, round_: bool) -> np.ndarray:
    """The share of the Gaussian around each cell that is within walls; of cells outside, 1."""
    middles = np.arange(count) + 0.5 - count / 2
    out = np.hypot(middles[:, None], middles)
    inside = np.clip(count / 2 - out + 0.5, 0, 1) if round_ else np.ones((count, count))
    share = _smooth_within([inside], count)[0]
    return np.where(share > 0.2, share, 1.0)


def _difference(values: np.ndarray, axis: int, periodic: bool) -> np.ndarray:
    """The next value less the one before."""
    along = np.moveaxis(values, axis, 0)
    found = _next(along, -1, periodic) - _next(along, 1, periodic)
    return np.moveaxis(found, 0, axis)
