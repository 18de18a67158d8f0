# SPDX-License-Identifier: GPL-3.0-or-later
"""From the rods of a state to a field on a grid, to be drawn under them. No Qt, no OpenGL.

The mean over a neighbourhood is one by a Gaussian whose standard deviation is two cells, a body
length where the box allows that; the box is periodic, and so is all of this.
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
    rods, *moved = _smooth(_shared_out(scene, count, (None, *measured)), count)
    if name == "density":
        return rods * (rod_area(scene.length, scene.radius) / side**2)
    # Far from all rods the quotient is that of two very small numbers: nothing follows from it.
    x, y = (part / np.maximum(rods, 1e-9) for part in moved)
    curl = (_difference(y, 1) - _difference(x, 0)) / (2 * side)
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
    field = _doubled(_doubled(field, 0), 1)
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
    return [_halved(_halved(fully, 0), 1) for fully in sums]


def _halved(fine: np.ndarray, axis: int) -> np.ndarray:
    """Half as many cells along an axis: the outer quarters of two neighbours overlap."""
    halves = np.moveaxis(fine, axis, 0)
    first, second = halves[0::2], halves[1::2]
    near, far = first + second, np.roll(second, 1, 0) + np.roll(first, -1, 0)
    return np.moveaxis(0.75 * near + 0.25 * far, 0, axis)


def _doubled(cells: np.ndarray, axis: int) -> np.ndarray:
    """Twice as many along an axis, each a mean of two, as a spline is subdivided."""
    one = np.moveaxis(cells, axis, 0)
    two = np.stack([0.75 * one + 0.25 * np.roll(one, by, 0) for by in (1, -1)], axis=1)
    return np.moveaxis(two.reshape(-1, one.shape[1]), 0, axis)


@lru_cache(maxsize=4)
def _gaussian(count: int) -> np.ndarray:
    """What the Gaussian leaves of each wave of a real FFT of (count, count)."""
    waves = np.fft.fftfreq(count)[:, None] ** 2 + np.fft.rfftfreq(count) ** 2
    return np.exp(-2 * (math.pi * _WIDTH) ** 2 * waves)


def _smooth(sums: list[np.ndarray], count: int) -> np.ndarray:
    """Each of them as a mean by the Gaussian; their sums over the box stay."""
    waves = np.fft.rfft2(np.stack(sums)) * _gaussian(count)
    return np.fft.irfft2(waves, (count, count))


def _difference(values: np.ndarray, axis: int) -> np.ndarray:
    """The next value less the one before, in a periodic box."""
    return np.roll(values, -1, axis) - np.roll(values, 1, axis)
