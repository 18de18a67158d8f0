# SPDX-License-Identifier: GPL-3.0-or-later
"""Rounded rectangles in the picture: obstacles, and what a tool points at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from vispy import gloo

from bacsim_gui.quads import Instances, Quad
from bacsim_gui.scene import Scene
from bacsim_gui.view import Camera, View

# How much ink there is in what fills an obstacle and in its outline, the rest being ground: the one
# is seen beside rods of any colour, the other stands out from both.
_FILL, _EDGE = 0.26, 0.72


class Shape(NamedTuple):
    """All that is nearer than `radius` to a rectangle around (x, y), turned by `theta`.

    `outline` is true for a mark, of which no more than that is drawn.
    """

    x: float
    y: float
    half_width: float = 0.0
    half_height: float = 0.0
    radius: float = 0.0
    theta: float = 0.0
    outline: bool = False


def obstacle_shapes(scene: Scene) -> tuple[Shape, ...]:
    """The obstacles of a scene, with their copies across the edges of a periodic box."""
    return tuple(
        shape
        for x, y, width, height, radius in scene.obstacles
        for shape in with_copies(
            Shape(x, y, width / 2, height / 2, radius), scene.space_size, periodic=scene.periodic
        )
    )


def with_copies(shape: Shape, box: float, *, periodic: bool) -> Iterator[Shape]:
    """The shape, not turned, and its copies across the edges of a periodic box."""
    if not periodic:
        yield shape
        return
    (half_width, xs), (half_height, ys) = (
        _along(at, half, shape.radius, box)
        for at, half in ((shape.x, shape.half_width), (shape.y, shape.half_height))
    )
    for x in xs:
        for y in ys:
            yield shape._replace(x=x, y=y, half_width=half_width, half_height=half_height)


def _along(at: float, half: float, radius: float, box: float) -> tuple[float, list[float]]:
    """Half of a side as it is drawn, and the places of its copies that are in sight."""
    if 2 * half >= box:  # it goes on without end
        return 2 * box, [at]
    reach = half + radius
    return half, [at + by for by in (-box, 0.0, box) if -reach < at + by < box + reach]


def _mixed(
    ground: tuple[int, int, int], ink: tuple[int, int, int], share: float
) -> tuple[int, int, int]:
    red, green, blue = (round(g + share * (i - g)) for g, i in zip(ground, ink, strict=True))
    return red, green, blue


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
        fill, edge = (_mixed(colors.inside, colors.ink, share) for share in (_FILL, _EDGE))
        self.set_box(scene)
        self.set(pixel=1 / at.scale, line=line)
        if shapes[0].outline:
            edge = colors.ink
        self.set(fill=np.divide(fill, 255), edge=np.divide(edge, 255))
        self.set(ground=np.divide(colors.inside, 255))
        self.place(size, at)

    def draw(self) -> None:
        """Draw; no shapes draw nothing."""
        if self._shown:
            super().draw()

    def _upload(self, shapes: tuple[Shape, ...]) -> None:
        if not shapes:
            return
        places = [(s.x, s.y, math.cos(s.theta), math.sin(s.theta)) for s in shapes]
        sizes = [(s.half_width, s.half_height, s.radius, float(s.outline)) for s in shapes]
        for name, buffer, rows in (
            ("a_place", self._places, places), ("a_size", self._sizes, sizes),
        ):  # fmt: skip
            buffer.set_data(np.array(rows, np.float32))
            self.shared_program[name] = Instances(buffer, slice(0, len(rows)))
