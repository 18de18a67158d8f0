# SPDX-License-Identifier: GPL-3.0-or-later
"""Rounded rectangles in the picture: obstacles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from vispy import gloo

from bacsim_gui.quads import Instances, Quad
from bacsim_gui.scene import Scene
from bacsim_gui.view import Camera, View


class Shape(NamedTuple):
    """All that is nearer than `radius` to a rectangle around (x, y), in model units."""

    x: float
    y: float
    half_width: float
    half_height: float
    radius: float


def obstacle_shapes(scene: Scene) -> tuple[Shape, ...]:
    """The obstacles of a scene, with their copies across the edges of the periodic box."""
    return tuple(_with_copies(scene))


def _with_copies(scene: Scene) -> Iterator[Shape]:
    box = scene.space_size
    for x, y, width, height, radius in scene.obstacles:
        (half_width, xs), (half_height, ys) = (
            _along(at, side / 2, radius, box) for at, side in ((x, width), (y, height))
        )
        for at_x in xs:
            for at_y in ys:
                yield Shape(at_x, at_y, half_width, half_height, radius)


def _along(at: float, half: float, radius: float, box: float) -> tuple[float, list[float]]:
    """Half of a side as it is drawn, and the places of its copies that are in sight."""
    if 2 * half >= box:  # it goes on without end
        return 2 * box, [at]
    reach = half + radius
    return half, [at + by for by in (-box, 0.0, box) if -reach < at + by < box + reach]


class ShapeVisual(Quad):
    """Some shapes, one instance each."""

    def __init__(self) -> None:
        super().__init__("shape")
        self._shown: tuple[Shape, ...] | None = None
        self._places, self._sizes = gloo.VertexBuffer(divisor=1), gloo.VertexBuffer(divisor=1)

    def show(
        self, shapes: tuple[Shape, ...], scene: Scene, view: View, size: tuple[int, int],
        at: Camera, line: float,
    ) -> None:  # fmt: skip
        """Upload the shapes if they are others than the last, and place them."""
        if shapes != self._shown:
            self._shown = shapes
            self._upload(shapes)
        if not shapes:
            return
        colors = view.colors
        fill = 0.72 * np.array(colors.inside) + 0.28 * np.array(colors.edge)
        self.set(space_size=scene.space_size, pixel=1 / at.scale, line=line)
        self.set(fill=fill / 255, edge=np.divide(colors.edge, 255))
        self.place(size, at)

    def draw(self) -> None:
        """Draw; no shapes draw nothing."""
        if self._shown:
            super().draw()

    def _upload(self, shapes: tuple[Shape, ...]) -> None:
        if not shapes:
            return
        rows = np.array(shapes, np.float32)
        for name, buffer, columns in (
            ("a_place", self._places, rows[:, :2]), ("a_size", self._sizes, rows[:, 2:]),
        ):  # fmt: skip
            buffer.set_data(np.ascontiguousarray(columns))
            self.shared_program[name] = Instances(buffer, slice(0, len(rows)))
