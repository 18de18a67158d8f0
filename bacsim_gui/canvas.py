# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture in the window: shows the newest state; the mouse moves it, or is lent to a tool.

Import it after `bootstrap.prepare_window()`. It must not be re-parented once it was shown: a
floating dock, for example, takes its OpenGL context away.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtGui import QImage
from PyQt6.QtOpenGLWidgets import QOpenGLWidget
from vispy import app
from vispy.util import keys

from bacsim_gui.colors import view_colors
from bacsim_gui.graphics import graphics_of_current
from bacsim_gui.rods import Painter
from bacsim_gui.scene import Scene
from bacsim_gui.shapes import Shape
from bacsim_gui.view import View, camera, checked, images, panned, zoomed

if TYPE_CHECKING:
    from vispy.app.canvas import MouseEvent
    from vispy.util.event import Event

    from bacsim_gui.selftest import Graphics
    from engine.snapshot import Snapshot

# One notch of a mouse wheel.
_ZOOM_STEP = 1.2


class Handle(Protocol):
    """What the left button does in place of moving the picture; places are in model units."""

    def pressed(self, x: float, y: float, *, shift: bool) -> None:
        """The button went down."""

    def moved(self, x: float, y: float) -> None:
        """The mouse is there now, whether the button is down or not."""

    def released(self, x: float, y: float) -> None:
        """The button went up."""

    def dropped(self) -> None:
        """A dialog has come, which takes the release of the button."""

    def resized(self, notches: float) -> None:
        """The wheel was turned with Ctrl."""

    def left(self) -> None:
        """The mouse is no longer over the picture."""


class RodCanvas:
    """A widget that shows rods.

    A state that arrives while an older one still waits to be painted replaces it, so a fast
    engine costs no more paints than the screen shows.

    Attributes:
        frame_painted: functions of no argument, each called after a paint on the screen.
        pointed: functions of a place of the model, each called when the mouse is there, or with
            None when it is over nothing of it.
        view_changed: functions of a view, each called when it is looked at in another way.
        handle: what the left button is lent to; None while it moves the picture. The middle one
            always does.
        graphics: the OpenGL that draws; None before the first paint.
    """

    def __init__(self, view: View | None = None) -> None:
        self._view = View()
        self._scene: Scene | None = None
        self._painter: Painter | None = None
        self._grabbing = self._bare = False
        self.graphics: Graphics | None = None
        self.handle: Handle | None = None
        self._marks: tuple[Shape, ...] = ()
        self.frame_painted: list[Callable[[], None]] = []
        self.pointed: list[Callable[[tuple[float, float] | None], None]] = []
        self.view_changed: list[Callable[[View], None]] = []
        # VisPy would swap buffers, which Qt does for a QOpenGLWidget, and ask other programs for
        # the resolution of the screen, which nothing here uses.
        self._canvas = app.Canvas(
            app=app.use_app("pyqt6"), size=(960, 720), autoswap=False, dpi=96, show=False
        )
        self._canvas.events.ignore_callback_errors = False
        for name, react in {
            "initialize": self._initialize,
            "draw": self._draw,
            "mouse_wheel": self._mouse_wheel,
            "mouse_press": self._mouse_press,
            "mouse_move": self._mouse_move,
            "mouse_release": self._mouse_release,
            "mouse_double_click": self._mouse_double_click,
        }.items():
            self._canvas.events[name].connect(react)
        self._dragged_from: tuple[float, float] | None = None
        self._pointer: tuple[float, float] | None = None
        self._held: Handle | None = None
        self._cursor = Qt.CursorShape.ArrowCursor
        self._native: QOpenGLWidget = self._canvas.native
        self._native.setMinimumSize(320, 240)
        self._watch = _Watch(self._native, self._left, self._drop)
        if view is not None:
            self.view = view

    @property
    def native(self) -> QOpenGLWidget:
        """The widget, to be put into a window."""
        return self._native

    @property
    def problem(self) -> str | None:
        """Why nothing can be drawn, in plain words; None while all is well or not yet shown."""
        if self._native.isVisible() and not self._native.isValid():
            return (
                "OpenGL could not be started, so no rods can be shown. Install a graphics driver, "
                "or Mesa (Debian, Ubuntu: sudo apt-get install -y libgl1-mesa-dri)."
            )
        return None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture in pixels of the screen."""
        # From the widget at each use: VisPy keeps a copy that misses a change of the screen.
        # Rounded as Qt rounds, half up.
        ratio = self._native.devicePixelRatioF()
        width, height = self._native.width(), self._native.height()
        return int(width * ratio + 0.5), int(height * ratio + 0.5)

    @property
    def view(self) -> View:
        """How the state is looked at; the mouse changes its centre and zoom.

        Raises:
            ViewError: when set to a view that cannot be shown.
        """
        return self._view

    @view.setter
    def view(self, view: View) -> None:
        view_colors(checked(view))
        self._view = view
        self._native.update()
        for changed in self.view_changed:
            changed(view)
        # Under a mouse that stands still there is another place now.
        if self._pointer is not None and self._scene is not None:
            self._point(self._at(self._pointer, self._scene))

    def reset_view(self) -> None:
        """Show the whole box."""
        self.view = replace(self._view, center=None, zoom=1.0)

    def show_marks(self, marks: tuple[Shape, ...]) -> None:
        """Outline these at the next repaint, over the picture in the window."""
        if marks != self._marks:
            self._marks = marks
            self._native.update()

    def show_snapshot(self, snapshot: Snapshot | Scene) -> None:
        """Show this state at the next repaint; returns at once."""
        self._scene = Scene.of(snapshot)
        self._native.update()

    def grab(self, *, bare: bool = False) -> np.ndarray:
        """What is on the screen, as (height, width, 3) uint8 in pixels of the screen.

        `bare` leaves out what a tool points at.
        """
        self._grabbing, self._bare = True, bare
        try:
            image = self._native.grabFramebuffer().convertToFormat(QImage.Format.Format_RGB888)
        finally:
            self._grabbing = self._bare = False
        height, width, stride = image.height(), image.width(), image.bytesPerLine()
        bits = image.constBits()
        assert bits is not None, "an image of the framebuffer has pixels"
        rows = np.frombuffer(bits.asstring(height * stride), np.uint8).reshape(height, stride)
        return rows[:, : 3 * width].reshape(height, width, 3).copy()

    def _initialize(self, event: Event) -> None:
        # Qt calls this again with a new context, in which nothing of the old one is known.
        self._painter = Painter()
        self.graphics = graphics_of_current()

    def _draw(self, event: Event) -> None:
        assert self._painter is not None, "VisPy initializes before it draws"
        if self._scene is None:
            self._painter.clear(self._view, self.size)
        else:
            self._painter.paint(self._scene, self._view, self.size)
            marks = () if self._bare else self._marks
            self._painter.paint_marks(marks, self._scene, self._view, self.size)
        self._canvas.context.flush_commands()
        if not self._grabbing:
            for painted in self.frame_painted:
                painted()

    def _pixel(self, event: MouseEvent) -> tuple[float, float]:
        ratio = self._native.devicePixelRatioF()
        return float(event.pos[0]) * ratio, float(event.pos[1]) * ratio

    def _place(self, event: MouseEvent) -> tuple[float, float] | None:
        """Where that is in the model; None before the first state."""
        self._pointer = self._pixel(event)
        return None if self._scene is None else self._at(self._pointer, self._scene)

    def _at(self, pixel: tuple[float, float], scene: Scene) -> tuple[float, float]:
        return camera(self._view, scene.space_size, self.size).to_model(*pixel)

    def _point(self, place: tuple[float, float]) -> None:
        """Tell where the mouse is, and tell it to whom the button is lent."""
        self._tell(self.place_at(*place))
        handle = self._held or self.handle
        if handle is not None:
            handle.moved(*place)

    def _tell(self, place: tuple[float, float] | None) -> None:
        for pointed in self.pointed:
            pointed(place)

    def place_at(self, x: float, y: float) -> tuple[float, float] | None:
        """The place of the box that is seen there, in it or in a copy; None where there is none."""
        if self._scene is None:
            return None
        box = self._scene.space_size
        if self._scene.round:
            return (x, y) if math.hypot(x - box / 2, y - box / 2) <= box / 2 else None
        if 0 <= x <= box and 0 <= y <= box:
            return x, y
        copied = len(images(self._view, box, self.size, self._scene.periodic)) > 1
        return (x % box, y % box) if copied else None

    def _mouse_wheel(self, event: MouseEvent) -> None:
        event.handled = True
        notches = float(event.delta[1])
        if self.handle is not None and keys.CONTROL in event.modifiers:
            self.handle.resized(notches)
        elif self._scene is not None and notches:
            pixel, box = self._pixel(event), self._scene.space_size
            self.view = zoomed(self._view, box, self.size, pixel, _ZOOM_STEP**notches)

    def _mouse_press(self, event: MouseEvent) -> None:
        place = self._place(event)
        if event.button == 1 and self.handle is not None and place is not None:
            event.handled = True
            self._held = self.handle
            self._held.pressed(*place, shift=keys.SHIFT in event.modifiers)
        elif event.button == 3 or (event.button == 1 and self.handle is None):
            event.handled = True
            self._dragged_from = self._pixel(event)
            self._native.setCursor(Qt.CursorShape.ClosedHandCursor)

    def _mouse_move(self, event: MouseEvent) -> None:
        place = self._place(event)
        if self._dragged_from is not None:
            event.handled = True
            self._drag_to(self._pixel(event))
        elif place is not None:
            self._point(place)

    def _mouse_release(self, event: MouseEvent) -> None:
        place = self._place(event)
        if event.button == 1 and self._held is not None and place is not None:
            event.handled = True
            held, self._held = self._held, None
            # VisPy drops moves that come in quick succession, perhaps the last.
            held.moved(*place)
            held.released(*place)
        elif event.button in (1, 3) and self._dragged_from is not None:
            event.handled = True
            self._drag_to(self._pixel(event))
            self._dragged_from = None
            self.set_cursor(self._cursor)

    def _drop(self) -> None:
        """End what a button that is down does; its release goes elsewhere."""
        if self._dragged_from is not None:
            self._dragged_from = None
            self.set_cursor(self._cursor)
        held, self._held = self._held, None
        if held is not None:
            held.dropped()

    def set_cursor(self, cursor: Qt.CursorShape) -> None:
        """Show the mouse so, while it does not move the picture."""
        self._cursor = cursor
        if self._dragged_from is None:
            self._native.setCursor(cursor)

    def _left(self) -> None:
        self._pointer = None
        self._tell(None)
        if self.handle is not None:
            self.handle.left()

    def _drag_to(self, pixel: tuple[float, float]) -> None:
        start, self._dragged_from = self._dragged_from, pixel
        if start is not None and start != pixel and self._scene is not None:
            by, box = (pixel[0] - start[0], pixel[1] - start[1]), self._scene.space_size
            self.view = panned(self._view, box, self.size, *by)

    def _mouse_double_click(self, event: MouseEvent) -> None:
        event.handled = True
        if self.handle is None:
            self.reset_view()
        else:  # the second of two quick presses
            self._mouse_press(event)


class _Watch(QObject):
    """Repaints a widget when its window moves to a screen of another resolution.

    VisPy connects to the window's screen only where the canvas is a window of its own. `left` is
    called when the mouse goes, and `blocked` when a dialog takes it away, of which VisPy does not
    tell either.
    """

    def __init__(
        self, widget: QOpenGLWidget, left: Callable[[], None], blocked: Callable[[], None]
    ) -> None:
        super().__init__(widget)
        self._widget, self._left, self._blocked = widget, left, blocked
        self._window: QObject | None = None
        widget.installEventFilter(self)

    def eventFilter(self, a0: QObject | None, a1: QEvent | None) -> bool:
        if a0 is self._widget and a1 is not None and a1.type() == QEvent.Type.Leave:
            self._left()
        if a1 is not None and a1.type() == QEvent.Type.WindowBlocked:
            self._blocked()
        if a0 is self._widget and a1 is not None and a1.type() == QEvent.Type.Show:
            top = self._widget.window()
            window = top.windowHandle() if top is not None else None
            if window is not None and window is not self._window:
                self._window = window
                window.installEventFilter(self)
                window.screenChanged.connect(self._repaint)
        return False

    def _repaint(self) -> None:
        self._widget.update()
