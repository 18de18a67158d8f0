# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the panels stand beside the picture: by the width of the window, until the user moves one.

Panels that share a place are tabs, so that each is one click away at any height of the window.
"""

from itertools import pairwise

from PyQt6.QtCore import QByteArray, QObject, Qt
from PyQt6.QtWidgets import QDockWidget, QMainWindow, QTabWidget, QWidget

from bacsim_gui import theme

# From this width on, at the usual size of text, there is room at both sides of the picture.
WIDE = 1400
LEFT, RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
# Counted up when the docks are others, so that a layout that was kept of old ones is not taken.
VERSION = 1


class Arrangement(QObject):
    """The docks of a window. `docks` has them in the order in which they were added."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.docks: list[QDockWidget] = []
        self._widths: dict[QDockWidget, int] = {}
        self._wide: bool | None = None
        self._own = self._arranging = False
        window.setDockOptions(
            QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks
        )
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)

    def add(self, title: str, content: QWidget, width: int) -> QDockWidget:
        """Put `content` into a dock, `width` wide at the usual size of text.

        The first one stands at the right. The others are tabs of one another at its opposite side,
        or of the first where the window is narrow.
        """
        dock = QDockWidget(title)
        dock.setObjectName(title)
        dock.setWidget(content)
        self._window.addDockWidget(RIGHT, dock)
        self.docks.append(dock)
        self._widths[dock] = width
        dock.dockLocationChanged.connect(self._moved)
        dock.topLevelChanged.connect(self._moved)
        return dock

    def show_panel(self, content: QWidget) -> None:
        """Bring the dock of `content` into sight."""
        for dock in self.docks:
            inside = dock.widget()
            if inside is content or (inside is not None and inside.isAncestorOf(content)):
                dock.show()
                dock.raise_()

    def follow_size(self) -> None:
        """Take note of the window's size; nothing happens to docks that the user has moved."""
        wide = self._window.width() >= theme.scaled(WIDE)
        if wide != self._wide and not self._own:
            self._wide = wide
            self._arrange(wide)

    def reset(self) -> None:
        """Give up what the user has moved or closed."""
        for dock in self.docks:
            dock.setFloating(False)
            dock.show()
        self._own, self._wide = False, None
        self.follow_size()

    def kept(self) -> bytes:
        """Where everything stands, to be restored; empty while nobody has moved anything."""
        return self._window.saveState(VERSION).data() if self._own else b""

    def restore(self, kept: bytes) -> None:
        """Put everything where it stood; nothing happens where that does not fit these docks."""
        self._arranging = True
        if kept and self._window.restoreState(QByteArray(kept), VERSION):
            self._own = True
        self._arranging = False

    def _moved(self) -> None:
        if not self._arranging and self._window.isVisible():
            self._own = True

    def _arrange(self, wide: bool) -> None:
        self._arranging = True
        first, *others = self.docks
        for dock in others:
            # Out of the tabs that they stand in.
            shown = not dock.isHidden()
            self._window.removeDockWidget(dock)
            self._window.addDockWidget(LEFT if wide else RIGHT, dock)
            dock.setVisible(shown)
        tabs = others if wide else self.docks
        for before, dock in pairwise(tabs):
            self._window.tabifyDockWidget(before, dock)
        widths = [theme.scaled(self._widths[dock]) for dock in (first, *others[:1])]
        self._window.resizeDocks(
            [first, *others[:1]] if wide else [first],
            widths if wide else widths[:1], Qt.Orientation.Horizontal,
        )  # fmt: skip
        if tabs:
            tabs[0].raise_()
        self._arranging = False
