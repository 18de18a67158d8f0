# SPDX-License-Identifier: GPL-3.0-or-later
"""The painter: one function of (scene, view, size) for window, screenshot, movie and tests.

A rod is one instance of a quad on which the fragment shader measures the distance to the rod's
core, so that round ends are exact and edges are smooth at any zoom. The visuals are drawn with a
TransformSystem of their own, never through a SceneCanvas.
"""

from __future__ import annotations

import ctypes
import logging
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Literal

import numpy as np
from OpenGL.error import Error as OpenGLError
from OpenGL.GL import GL_MAX_TEXTURE_SIZE, GL_RENDERER, glGetIntegerv, glGetString
from vispy import gloo

from bacsim_gui.coloring import colored_rods, is_known
from bacsim_gui.colors import COLOR_COUNT, view_colors
from bacsim_gui.fields import NO_FIELD
from bacsim_gui.flow import arrows, shaft_width
from bacsim_gui.layers import OVER_FIELD, FieldVisual, TrailVisual
from bacsim_gui.legend import Panel, legend
from bacsim_gui.quads import CORNERS, Instances, Quad
from bacsim_gui.quantities import FIXED
from bacsim_gui.scene import EdgeCopies, Scene, rods_in_sight
from bacsim_gui.shapes import Shape, ShapeVisual, obstacle_shapes
from bacsim_gui.view import Camera, View, camera, images

logger = logging.getLogger(__name__)

_SURFACELESS = 0x31DD  # EGL_PLATFORM_SURFACELESS_MESA, which PyOpenGL does not name
# Widths of outlines, in shorter sides of the picture.
BOX_LINE, OBSTACLE_LINE = 0.0018, 0.0028


# Corners of the ring that a circle is drawn on: so many that their sides are nowhere a pixel inside
# of it.
_ROUND_CORNERS = 512


class BoxVisual(Quad):
    """The outline of the box or of the circle, a ring around it."""

    def __init__(self) -> None:
        super().__init__("box")
        self._round: bool | None = None

    def show(
        self, scene: Scene, view: View, size: tuple[int, int], at: Camera, line: float
    ) -> None:
        """Place the outline, `line` pixels wide."""
        if scene.round != self._round:
            self._round = scene.round
            turn = np.linspace(0, 2 * np.pi, _ROUND_CORNERS + 1)
            circle = np.stack([np.cos(turn), np.sin(turn)], axis=1).astype(np.float32)
            around = circle if scene.round else CORNERS[[0, 1, 3, 2, 0]]
            self.shared_program["a_corner"] = gloo.VertexBuffer(np.repeat(around, 2, axis=0))
            outer = np.tile(np.array([0, 1], np.float32), len(around))
            self.shared_program["a_outer"] = gloo.VertexBuffer(outer)
        self.set_box(scene)
        self.set(pixel=1 / at.scale, line=line, edge=np.divide(view.colors.edge, 255))
        self.place(size, at)


class GroundVisual(Quad):
    """The inside of a circle."""

    def __init__(self) -> None:
        super().__init__("ground")

    def show(self, scene: Scene, view: View, size: tuple[int, int], at: Camera) -> None:
        """Place it."""
        self.set(space_size=scene.space_size, pixel=1 / at.scale)
        self.set(fill=np.divide(view.colors.inside, 255))
        self.place(size, at)


class PanelVisual(Quad):
    """One part of the legend, shown pixel for pixel."""

    def __init__(self) -> None:
        super().__init__("panel")
        self._shown: Panel | None = None
        self._texture = gloo.Texture2D((1, 1, 4), interpolation="nearest", resizable=True)
        self.set(image=self._texture)

    def show(self, panel: Panel, size: tuple[int, int], corner: tuple[int, int]) -> None:
        """Upload the panel if it is another than the last one, and place it.

        `corner` is the pixel of the picture at which what is drawn begins.
        """
        if panel is not self._shown:
            self._texture.set_data(panel.image)
            self._shown = panel
        height, width = panel.image.shape[:2]
        self.set(place=np.subtract((panel.left, panel.top), corner), size=(width, height))
        self.place(size)


class FrameVisual(Quad):
    """What another framebuffer holds, fitted to this one; halved, each pixel is a mean of four."""

    def __init__(self, frame: gloo.Texture2D) -> None:
        super().__init__("panel")
        self.set(image=frame)

    def show(self, size: tuple[int, int]) -> None:
        """Place it; the rows of a framebuffer begin at the bottom."""
        self.set(place=(0, size[1]), size=(size[0], -size[1]))
        self.place(size)


class RodVisual(Quad):
    """All rods of a scene, one instance each, with copies where a rod crosses the box's edge."""

    def __init__(self) -> None:
        super().__init__("rod")
        self._capacity = 0
        self._count = 0
        self._buffer = gloo.VertexBuffer(divisor=1)
        self._copies = EdgeCopies()
        self._colored: tuple[Scene, tuple, np.ndarray] | None = None
        self._seen: tuple | None = None
        self._colors: np.ndarray | None = None
        self.set(color_count=float(COLOR_COUNT))

    @property
    def count(self) -> int:
        """Instances drawn: the rods and the copies at the box's edges."""
        return self._count

    @property
    def capacity(self) -> int:
        """Instances for which the buffer has room; grows by half when it is outgrown."""
        return self._capacity

    def show(
        self, scene: Scene, view: View, size: tuple[int, int], at: Camera, enlarged: int
    ) -> None:
        """Upload what is in sight if it is not that of the last time, and place it."""
        self._upload(scene, view, size, at)
        table = view_colors(view if is_known(scene, view) else replace(view, color_by=FIXED))
        if not view.colors_rods:
            table = np.full_like(table, view.colors.ink)
        if self._colors is None or not np.array_equal(table, self._colors):
            self.set(colors=gloo.Texture1D(table, interpolation="linear"))
            self._colors = table
        self.set(half_length=scene.length / 2, radius=scene.radius, pixel=1 / at.scale)
        self.set_box(scene)
        self.set(enlarged=float(enlarged))
        ground, ink = view.colors.inside, view.colors.ink
        self.set(heads=float(view.show_heads), ink=np.divide(ink, 255))
        self.set(ground=np.divide(ground, 255), opacity=1.0 if view.colors_rods else OVER_FIELD)
        self.place(size, at)

    def draw(self) -> None:
        """Draw; a scene without rods draws nothing."""
        if self._count:
            super().draw()

    def _upload(self, scene: Scene, view: View, size: tuple[int, int], at: Camera) -> None:
        told = view.color_by, view.color_range
        anew = self._colored is None or self._colored[0] is not scene or self._colored[1] != told
        if self._colored is None or anew:
            self._colored = scene, told, colored_rods(scene, view)
        rods = self._colored[2]
        # A pixel more, for what is smoothed at the edge of the picture.
        (left, top), (right, bottom) = at.to_model(-1, -1), at.to_model(size[0] + 1, size[1] + 1)
        chosen = rods_in_sight(scene, (left, bottom), (right, top))
        seen = None if chosen is None else (left, bottom, right, top)
        if anew or seen != self._seen:
            self._seen = seen
            self._fill(scene, rods if chosen is None else rods[chosen])

    def _fill(self, scene: Scene, rods: np.ndarray) -> None:
        copies = self._copies.of(scene, rods)
        count = len(rods) + len(copies)
        if count > self._capacity:
            self._capacity = max(1024, count + count // 2)
            self._buffer.set_data(np.zeros((self._capacity, 4), np.float32))
        if len(rods):
            self._buffer.set_subdata(rods, 0)
        if len(copies):
            self._buffer.set_subdata(copies, len(rods))
        self._count = count
        self.shared_program["a_rod"] = Instances(self._buffer, slice(0, count))


class FlowVisual(Quad):
    """The arrows of the mean velocity, one instance each."""

    def __init__(self) -> None:
        super().__init__("arrow")
        self._shown: Scene | None = None
        self._count = 0

    def show(self, scene: Scene, view: View, size: tuple[int, int], at: Camera) -> None:
        """Upload the arrows of the scene if it is another than the last one, and place them."""
        if scene is not self._shown:
            found = arrows(scene)
            self._count, self._shown = len(found), scene
            if self._count:
                self.shared_program["a_arrow"] = gloo.VertexBuffer(found, divisor=1)
        ink, ground = view.colors.ink, view.colors.inside
        self.set(ink=np.divide(ink, 255), ground=np.divide(ground, 255))
        self.set_box(scene)
        self.set(width=shaft_width(scene), pixel=1 / at.scale)
        self.place(size, at)

    def draw(self) -> None:
        """Draw; a scene without arrows draws nothing."""
        if self._count:
            super().draw()


@dataclass(frozen=True)
class Tile:
    """A part of a picture, in its pixels from the top left."""

    left: int
    top: int
    width: int
    height: int


def tiles(size: tuple[int, int], largest: int) -> list[Tile]:
    """Tiles of one size, of sides up to `largest`, that cover a picture; the last may overlap."""
    starts, sides = [], []
    for whole in size:
        count = -(-whole // largest)
        side = -(-whole // count)
        starts.append([min(number * side, whole - side) for number in range(count)])
        sides.append(side)
    return [Tile(left, top, *sides) for top in starts[1] for left in starts[0]]


class Painter:
    """Draws scenes into the framebuffer that is bound in the current OpenGL context."""

    def __init__(self) -> None:
        self._box, self._ground = BoxVisual(), GroundVisual()
        self._field = FieldVisual()
        self._trails = TrailVisual()
        self._rods = RodVisual()
        self._obstacles, self._marks = ShapeVisual(), ShapeVisual()
        self._flow = FlowVisual()
        self._panels: list[PanelVisual] = []

    def clear(self, view: View, size: tuple[int, int]) -> None:
        """Draw the plain background, as before the first state."""
        gloo.set_viewport(0, 0, *size)
        gloo.set_state(scissor_test=False)
        gloo.clear(color=(*np.divide(view.colors.outside, 255), 1.0))

    def paint(self, scene: Scene, view: View, size: tuple[int, int]) -> None:
        """Draw the whole picture, `size` being width and height in pixels.

        Raises:
            ViewError: the view names an unknown colour map.
        """
        whole = Tile(0, 0, *size)
        self.paint_state(scene, view, size, whole)
        self.paint_legend(scene, view, size, whole)

    def paint_state(
        self, scene: Scene, view: View, size: tuple[int, int], tile: Tile, enlarged: int = 1
    ) -> None:
        """Draw box and rods of one tile of a picture of that size, so many times as large."""
        seen = camera(view, scene.space_size, size)
        at = Camera(
            seen.scale * enlarged,
            (seen.left - tile.left) * enlarged,
            (seen.bottom - tile.top) * enlarged,
        )
        target = tile.width * enlarged, tile.height * enlarged
        self.clear(view, target)
        layers = self._layers(scene, view, target, at, size, enlarged)
        for across, up in images(view, scene.space_size, size, scene.periodic):
            moved = at.moved(across * scene.space_size, up * scene.space_size)
            if _in_sight(moved, scene.space_size, target):
                self._fill(scene, view, target, moved)
                for layer in layers:
                    layer.place(target, moved)
                    layer.draw()
        if view.show_box:
            self._box.show(scene, view, target, at, line=BOX_LINE * min(size) * enlarged)
            self._box.draw()

    def _layers(
        self, scene: Scene, view: View, target: tuple[int, int], at: Camera,
        size: tuple[int, int], enlarged: int,
    ) -> list[Quad]:  # fmt: skip
        """What the box holds, from the bottom up, ready to be drawn."""
        layers: list[Quad] = []
        if view.field != NO_FIELD:
            self._field.show(scene, view, target, at)
            layers.append(self._field)
        line = OBSTACLE_LINE * min(size) * enlarged
        self._obstacles.show(obstacle_shapes(scene), scene, view, target, at, line)
        layers.append(self._obstacles)
        if view.show_trails:
            self._trails.show(scene, view, target, at)
            layers.append(self._trails)
        if view.show_rods:
            self._rods.show(scene, view, target, at, enlarged)
            layers.append(self._rods)
        if view.show_flow:
            self._flow.show(scene, view, target, at)
            layers.append(self._flow)
        return layers

    def paint_legend(self, scene: Scene, view: View, size: tuple[int, int], tile: Tile) -> None:
        """Draw the legend over one tile of a picture of that size."""
        panels, target = legend(scene, view, size), (tile.width, tile.height)
        self._panels += [PanelVisual() for _ in panels[len(self._panels) :]]
        for visual, panel in zip(self._panels, panels, strict=False):
            visual.show(panel, target, (tile.left, tile.top))
            visual.draw()

    def paint_marks(
        self, marks: Sequence[Shape], scene: Scene, view: View, size: tuple[int, int]
    ) -> None:
        """Outline what a tool points at, over the whole picture, in the window alone."""
        at = camera(view, scene.space_size, size)
        self._marks.show(tuple(marks), scene, view, size, at, line=max(1.5, 0.002 * min(size)))
        for across, up in images(view, scene.space_size, size, scene.periodic):
            self._marks.place(size, at.moved(across * scene.space_size, up * scene.space_size))
            self._marks.draw()

    def _fill(self, scene: Scene, view: View, size: tuple[int, int], at: Camera) -> None:
        """Fill the box; a clear costs a software OpenGL next to nothing, a drawn square a lot."""
        if scene.round:
            self._ground.show(scene, view, size, at)
            self._ground.draw()
            return
        left, top = at.to_picture(0.0, scene.space_size)
        right, bottom = at.to_picture(scene.space_size, 0.0)
        # Half up, so that an edge is the same in every tile.
        x = [min(max(math.floor(edge + 0.5), 0), size[0]) for edge in (left, right)]
        y = [min(max(size[1] - math.floor(edge + 0.5), 0), size[1]) for edge in (bottom, top)]
        gloo.set_scissor(x[0], y[0], x[1] - x[0], y[1] - y[0])
        gloo.set_state(scissor_test=True)
        gloo.clear(color=(*np.divide(view.colors.inside, 255), 1.0))
        gloo.set_state(scissor_test=False)


def _in_sight(at: Camera, box: float, size: tuple[int, int]) -> bool:
    """Whether any of the box is in a picture, where its edge is smoothed at the least."""
    left, bottom = at.to_picture(0.0, 0.0)
    right, top = at.to_picture(box, box)
    return left < size[0] + 1 and right > -1 and top < size[1] + 1 and bottom > -1


# Pixels a side: of a picture, and of what is drawn at once, which takes 64 MiB.
LARGEST_SIDE = 32768
LARGEST_TILE = 4096


class PictureError(RuntimeError):
    """No picture can be drawn here; the message says why and what to do."""


class Surface:
    """A framebuffer of its own in an OpenGL context, painted and read back.

    Args:
        make_current: makes the context current; called before each picture, since a window of
            the same process may have made its own context current in between.
    """

    def __init__(self, make_current: Callable[[], None]) -> None:
        self._make_current = make_current
        make_current()
        self._fake = gloo.context.FakeCanvas()
        self._painter = Painter()
        self._drawn, self._halved = _Frame(), _Frame()
        self._halve = FrameVisual(self._drawn.color)
        self.largest = int(glGetIntegerv(GL_MAX_TEXTURE_SIZE))
        self.renderer = (glGetString(GL_RENDERER) or b"unknown").decode(errors="replace")

    def render(
        self,
        scene: Scene,
        view: View,
        size: tuple[int, int],
        supersample: Literal[1, 2] = 1,
        largest: int = LARGEST_TILE,
    ) -> np.ndarray:
        """The picture as (height, width, 4) uint8: red, green, blue, 255; the top row first.

        With `supersample` 2 box and rods are drawn twice as large and halved; the legend, which is
        sharp as it is, is laid over that. What is larger than `largest` pixels a side, or than this
        OpenGL can draw, is drawn in tiles.

        Raises:
            PictureError: the picture is larger than any that is of use.
            ViewError: the view names an unknown colour map.
        """
        width, height = size
        if max(size) > LARGEST_SIDE:
            raise PictureError(
                f"A picture of {width}x{height} is too large: use at most {LARGEST_SIDE} pixels a "
                "side."
            )
        self._make_current()
        gloo.context.set_current_canvas(self._fake)
        parts = tiles(size, min(largest, self.largest) // supersample)
        if len(parts) == 1:
            return self._render(scene, view, size, parts[0], supersample)
        picture = np.empty((height, width, 4), np.uint8)
        for tile in parts:
            rows = slice(tile.top, tile.top + tile.height)
            columns = slice(tile.left, tile.left + tile.width)
            picture[rows, columns] = self._render(scene, view, size, tile, supersample)
        return picture

    def _render(
        self, scene: Scene, view: View, size: tuple[int, int], tile: Tile, supersample: int
    ) -> np.ndarray:
        """The pixels of one tile."""
        with self._drawn.of(tile.width * supersample, tile.height * supersample):
            self._painter.paint_state(scene, view, size, tile, supersample)
            if supersample == 1:
                return self._finished(scene, view, size, tile)
        with self._halved.of(tile.width, tile.height):
            gloo.set_viewport(0, 0, tile.width, tile.height)
            self._halve.show((tile.width, tile.height))
            self._halve.draw()
            return self._finished(scene, view, size, tile)

    def _finished(self, scene: Scene, view: View, size: tuple[int, int], tile: Tile) -> np.ndarray:
        """Draw the legend into the bound framebuffer, and read it."""
        self._painter.paint_legend(scene, view, size, tile)
        # Four channels, as the framebuffer has them: three would be converted by the driver.
        return gloo.read_pixels((0, 0, tile.width, tile.height), alpha=True)


class _Frame:
    """A framebuffer that takes the size that is asked for."""

    def __init__(self) -> None:
        self.color = gloo.Texture2D((1, 1, 4), resizable=True, interpolation="linear")
        self._frame = gloo.FrameBuffer(color=self.color)

    def of(self, width: int, height: int) -> gloo.FrameBuffer:
        if self._frame.shape != (height, width):
            self.color.resize((height, width, 4))
        return self._frame


class EglContext:
    """An OpenGL context without a display server (Linux)."""

    def __init__(self) -> None:
        from OpenGL import EGL

        self._egl = EGL
        problems = []
        for name, display in _egl_displays(EGL):
            try:
                self._open(display)
            except OpenGLError as problem:
                problems.append(f"{name}: {problem}")
            else:
                return
        logger.info("No EGL display could be opened: %s", "; ".join(problems))
        raise PictureError(
            "No OpenGL for drawing without a window was found. Install Mesa "
            "(Debian, Ubuntu: sudo apt-get install -y libegl1 libgl1-mesa-dri)."
        )

    def _open(self, display: object) -> None:
        egl = self._egl
        egl.eglInitialize(display, None, None)
        egl.eglBindAPI(egl.EGL_OPENGL_API)
        wanted = [
            *(egl.EGL_SURFACE_TYPE, egl.EGL_PBUFFER_BIT),
            *(egl.EGL_RENDERABLE_TYPE, egl.EGL_OPENGL_BIT),
            *(egl.EGL_RED_SIZE, 8, egl.EGL_GREEN_SIZE, 8, egl.EGL_BLUE_SIZE, 8, egl.EGL_NONE),
        ]
        configs, count = (egl.EGLConfig * 1)(), ctypes.c_long()
        egl.eglChooseConfig(display, wanted, configs, 1, count)
        if not count.value:
            raise OpenGLError("it offers no OpenGL")
        small = [egl.EGL_WIDTH, 1, egl.EGL_HEIGHT, 1, egl.EGL_NONE]
        self._display = display
        self._surface = egl.eglCreatePbufferSurface(display, configs[0], small)
        self._context = egl.eglCreateContext(display, configs[0], egl.EGL_NO_CONTEXT, None)
        self.make_current()

    def make_current(self) -> None:
        """Draw with this context from now on."""
        self._egl.eglMakeCurrent(self._display, self._surface, self._surface, self._context)


def _egl_displays(egl: ModuleType) -> Iterator[tuple[str, object]]:
    """The EGL displays to try, best first: graphics cards, Mesa without one, the default.

    A user who set EGL_PLATFORM gets that and nothing else.
    """
    if "EGL_PLATFORM" in os.environ:
        yield os.environ["EGL_PLATFORM"], egl.eglGetDisplay(egl.EGL_DEFAULT_DISPLAY)
        return
    from OpenGL.EGL.EXT import device_enumeration, device_query, platform_base, platform_device

    if device_enumeration.eglQueryDevicesEXT:
        devices, count = (egl.EGLDeviceEXT * 16)(), ctypes.c_int32()
        device_enumeration.eglQueryDevicesEXT(16, devices, count)
        for device in devices[: count.value]:
            about = device_query.eglQueryDeviceStringEXT(device, egl.EGL_EXTENSIONS) or b""
            if b"EGL_MESA_device_software" not in about:
                kind = platform_device.EGL_PLATFORM_DEVICE_EXT
                yield "graphics card", platform_base.eglGetPlatformDisplayEXT(kind, device, None)
    if platform_base.eglGetPlatformDisplayEXT:
        yield "surfaceless", platform_base.eglGetPlatformDisplayEXT(_SURFACELESS, None, None)
    yield "default", egl.eglGetDisplay(egl.EGL_DEFAULT_DISPLAY)
