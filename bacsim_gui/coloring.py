# SPDX-License-Identifier: GPL-3.0-or-later
"""From a state and a view to one value a rod, its place on the colour map. No Qt, no OpenGL."""

import math

import numpy as np

from bacsim_gui.quantities import automatic_range
from bacsim_gui.scene import Scene
from bacsim_gui.view import View


def color_range(scene: Scene, view: View) -> tuple[float, float]:
    """The values at the two ends of the map: those that were chosen, or the quantity's own."""
    if view.color_range is None or not view.quantity.has_range:
        return automatic_range(view.color_by, scene.values)
    low, high = view.color_range
    # Nothing that colours go by the factors of is below 1.
    return (max(low, 1.0), max(high, 1.0 + 1e-6)) if view.quantity.log else (low, high)


def is_known(scene: Scene, view: View) -> bool:
    """Whether the scene knows of its rods what their colour is to tell."""
    return not view.quantity.measure or view.quantity.measure in scene.measures


def colored_rods(scene: Scene, view: View) -> np.ndarray:
    """The rods (N, 4) float32 with their place on the map, 0 to 1, as the last column.

    What is not known of them leaves them at 0.
    """
    if view.color_by == "activity" and view.color_range is None:
        return scene.rods
    rods = scene.rods.copy()
    rods[:, 3] = _places(scene, view)
    return rods


def _places(scene: Scene, view: View) -> np.ndarray | float:
    quantity = view.quantity
    if quantity.cyclic:
        return np.mod(scene.rods[:, 2] * np.float32(1 / (2 * math.pi)), 1)
    if not (quantity.has_range and is_known(scene, view)):
        return 0.0
    values = scene.measures[quantity.measure] if quantity.measure else scene.rods[:, 3]
    low, high = color_range(scene, view)
    if quantity.log:
        values = np.log(np.maximum(values, np.float32(1)))
        low, high = math.log(low), math.log(high)
    return np.clip((values - np.float32(low)) / np.float32(high - low), 0, 1)
