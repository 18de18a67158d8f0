# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture by keyboard: arrows move it, + and - zoom, 0 shows the whole box."""

from collections.abc import Callable

from PyQt6.QtCore import QObject, Qt
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QWidget

from bacsim_gui.canvas import RodCanvas
from bacsim_gui.view import camera, panned, zoomed
from engine.snapshot import Snapshot

# A press zooms by this factor, and moves the picture by this share of its shorter side.
ZOOM, SHARE = 1.25, 0.1


class CanvasKeys(QObject):
    """Actions for a canvas, which act while it has the keyboard. `shown` gives what it shows.

    `zooming` are those for a menu; there they act at any time.
    """

    def __init__(
        self, canvas: RodCanvas, shown: Callable[[], Snapshot | None], window: QWidget
    ) -> None:
        super().__init__(window)
        self._canvas, self._shown, self._window = canvas, shown, window
        canvas.native.setAccessibleName("picture of the rods")
        canvas.native.setAccessibleDescription(
            "Arrows move it, plus and minus zoom, 0 shows the whole box."
        )
        self.zooming = (
            self._action("Zoom in", ("+", "="), lambda: self._zoom(ZOOM)),
            self._action("Zoom out", ("-",), lambda: self._zoom(1 / ZOOM)),
            self._action("Show the whole box", ("0", "Home"), canvas.reset_view),
        )
        for text, key, right, down in (
            ("Look left", "Left", -1, 0), ("Look right", "Right", 1, 0),
            ("Look up", "Up", 0, -1), ("Look down", "Down", 0, 1),
        ):  # fmt: skip
            self._action(text, (key,), lambda right=right, down=down: self._look(right, down))

    def _action(self, text: str, keys: tuple[str, ...], act: Callable[[], None]) -> QAction:
        action = QAction(text, self._window)
        action.setShortcuts(keys)
        # Elsewhere these keys belong to sliders and fields.
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.setProperty("group", "Picture, while it has the keyboard")
        action.triggered.connect(lambda _: act())
        self._canvas.native.addAction(action)
        return action

    def _zoom(self, factor: float) -> None:
        shown, size, view = self._shown(), self._canvas.size, self._canvas.view
        if shown is not None:
            box = shown.params.space_size
            middle = camera(view, box, size).to_picture(*(view.center or (box / 2, box / 2)))
            self._canvas.view = zoomed(view, box, size, middle, factor)

    def _look(self, right: int, down: int) -> None:
        shown, size = self._shown(), self._canvas.size
        if shown is not None:
            by = SHARE * min(size)
            self._canvas.view = panned(
                self._canvas.view, shown.params.space_size, size, -right * by, -down * by
            )
