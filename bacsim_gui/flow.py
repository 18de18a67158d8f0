# SPDX-License-Identifier: GPL-3.0-or-later
"""The mean motion of rods, cell by cell, as arrows to be drawn. No Qt, no OpenGL."""

import numpy as np

from bacsim_gui.fields import VELOCITIES
from bacsim_gui.quantities import free_speed
from bacsim_gui.scene import Scene

# The side of a cell in body lengths, and how many cells a side there may be.
_CELL, _FEWEST, _MOST = 2.5, 4, 40
# Arrows that are shorter than this share of their cell are left out.
_SHORTEST = 0.08


def cells_a_side(scene: Scene) -> int:
    """Into how many cells each side of the box is divided."""
    wanted = scene.space_size / (_CELL * (scene.length + 2 * scene.radius))
    return min(max(round(wanted), _FEWEST), _MOST)


def arrows(scene: Scene) -> np.ndarray:
    """(M, 4) float32: x, y, angle and length of an arrow in the middle of each cell.

    An arrow as long as its cell stands for the speed of a free active rod; none is longer than
    twice that. A cell without rods, or whose rods' motions cancel, has none; nor has a scene of
    which the velocities are not known.
    """
    if not all(name in scene.measures for name in VELOCITIES) or not len(scene.rods):
        return np.empty((0, 4), np.float32)
    count = cells_a_side(scene)
    side = scene.space_size / count
    column, row = np.minimum((scene.rods[:, :2] / np.float32(side)).astype(int), count - 1).T
    cell = row * count + column
    rods = np.bincount(cell, minlength=count * count)
    x, y = (
        np.bincount(cell, scene.measures[name], count * count) / np.maximum(rods, 1)
        for name in VELOCITIES
    )
    long = np.minimum(np.hypot(x, y) / free_speed(scene.values), 2.0)
    shown = np.flatnonzero(long >= _SHORTEST)
    places = (np.stack([shown % count, shown // count]) + 0.5) * side
    angle = np.arctan2(y[shown], x[shown])
    return np.column_stack([*places, angle, side * long[shown]]).astype(np.float32)


def shaft_width(scene: Scene) -> float:
    """How wide the shaft of an arrow is, in model units."""
    return 0.12 * scene.space_size / cells_a_side(scene)
