# SPDX-License-Identifier: GPL-3.0-or-later
"""What all visuals share: a quad with shaders of our own, placed by a camera."""

from __future__ import annotations

import numpy as np
from vispy import gloo
from vispy.gloo import gl
from vispy.gloo.buffer import DataBufferView
from vispy.visuals import Visual
from vispy.visuals.transforms import STTransform

from bacsim_gui.resources import asset_text
from bacsim_gui.scene import Scene
from bacsim_gui.view import Camera

# Instanced drawing is not in VisPy's default subset of OpenGL.
gl.use_gl("gl+")

CORNERS = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], dtype=np.float32)


class Target:
    """What a TransformSystem asks of a canvas: the size, in pixels."""

    dpi = 96.0

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = self.physical_size = size


class Quad(Visual):
    """A visual made of one quad, placed in the picture by a camera."""

    def __init__(self, shader: str) -> None:
        Visual.__init__(
            self, asset_text("shaders", f"{shader}.vert"), asset_text("shaders", f"{shader}.frag")
        )
        self._draw_mode = "triangle_strip"
        self.set_gl_state(
            depth_test=False,
            cull_face=False,
            blend=True,
            blend_func=("one", "one_minus_src_alpha"),
        )
        self.shared_program["a_corner"] = gloo.VertexBuffer(CORNERS)
        self.transform = STTransform()

    def _prepare_transforms(self, view: Visual) -> None:
        view.view_program.vert["transform"] = view.get_transform()

    def place(self, size: tuple[int, int], at: Camera | None = None) -> None:
        """Draw in a picture of this size; coordinates are the model's, or pixels without `at`."""
        system = self.transforms
        assert system is not None, "every visual has a TransformSystem"
        system.configure(canvas=Target(size), fbo_size=size)
        if at is None:
            self.transform.scale, self.transform.translate = (1, 1), (0, 0)
        else:
            self.transform.scale = (at.scale, -at.scale)
            self.transform.translate = (at.left, at.bottom)

    def set_box(self, scene: Scene) -> None:
        """Set where what is drawn ends: at the sides of the box, or at the circle within it."""
        self.set(space_size=scene.space_size, round=float(scene.round))

    def set(self, **uniforms: object) -> None:
        """Set uniforms of the shaders, named without their u_."""
        for name, value in uniforms.items():
            self.shared_program[f"u_{name}"] = value


class Instances(DataBufferView):
    """The used part of a buffer, which tells the program how many instances there are."""

    divisor = 1  # VisPy gives its buffer views none
