# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be drawn under the rods: a field, and the ways that they came."""

import numpy as np
from vispy import gloo

from bacsim_gui.coarse import places
from bacsim_gui.colors import COLOR_COUNT, field_colors
from bacsim_gui.quads import Quad
from bacsim_gui.scene import Scene
from bacsim_gui.view import Camera, View

# How opaque rods are over a field, which is to be seen through them.
OVER_FIELD = 0.4
# How wide a trail is, in radii of a rod.
_TRAIL_WIDTH = 0.6


class FieldVisual(Quad):
    """A field that fills the box, or the circle."""

    def __init__(self) -> None:
        super().__init__("field")
        self._shown: tuple[Scene, str] | None = None
        self._known = False
        self._colors: np.ndarray | None = None
        self._places = gloo.Texture2D(
            np.zeros((1, 1), np.uint8), format="luminance", interpolation="linear",
            wrapping="repeat", resizable=True,
        )  # fmt: skip
        self.set(places=self._places, color_count=float(COLOR_COUNT))

    def show(self, scene: Scene, view: View, size: tuple[int, int], at: Camera) -> None:
        """Compute and upload the field if it is another than the last one, and place it."""
        if self._shown is None or scene is not self._shown[0] or view.field != self._shown[1]:
            self._shown, found = (scene, view.field), places(scene, view)
            self._known = found is not None
            if found is not None:
                self._places.wrapping = "repeat" if scene.periodic else "clamp_to_edge"
                self._places.set_data(found)
        table = field_colors(view)
        if table is not self._colors:
            self.set(colors=gloo.Texture1D(table, interpolation="linear"))
            self._colors = table
        self.set_box(scene)
        self.set(pixel=1 / at.scale)
        self.place(size, at)

    def draw(self) -> None:
        """Draw; a field that is not known draws nothing."""
        if self._known:
            super().draw()


class TrailVisual(Quad):
    """The trails that a scene has, one instance a line."""

    def __init__(self) -> None:
        super().__init__("trail")
        self._shown: Scene | None = None
        self._count = 0

    def show(self, scene: Scene, view: View, size: tuple[int, int], at: Camera) -> None:
        """Upload the trails of the scene if it is another than the last one, and place them."""
        if scene is not self._shown:
            lines = scene.trails
            self._count, self._shown = 0 if lines is None else len(lines), scene
            if lines is not None and self._count:
                for name, columns in (("a_line", lines[:, :4]), ("a_left", lines[:, 4:])):
                    buffer = gloo.VertexBuffer(np.ascontiguousarray(columns), divisor=1)
                    self.shared_program[name] = buffer
        self.set_box(scene)
        self.set(ink=np.divide(view.colors.ink, 255))
        self.set(width=_TRAIL_WIDTH * scene.radius, pixel=1 / at.scale)
        self.place(size, at)

    def draw(self) -> None:
        """Draw; a scene without trails draws nothing."""
        if self._count:
            super().draw()
