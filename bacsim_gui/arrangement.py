# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the panels stand beside the picture: by the width of the window, until the user moves one.

Panels that share a place are tabs, so that each is one click away at any height of the window.
"""

from itertools import pairwise

from PyQt6.QtCore import QByteArray, QObject, Qt
from PyQt6.QtWidgets import QDockWidget, QMainWindow, QScrollArea, QTabWidget, QWidget

from bacsim_gui import theme

# From this width on, at the usual size of text, there is room at both sides of the picture.
WIDE = 1400
LEFT, RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
# Counted up when the docks are others, so that a layout that was kept of old ones is not taken.
VERSION = 2


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
        if not content.accessibleName():
            content.setAccessibleName(title)
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

    def go_to(self, dock: QDockWidget) -> None:
        """Bring a dock into sight and give it the keyboard."""
        dock.show()
        dock.raise_()
        dock.activateWindow()
        reached = [
            widget
            for widget in dock.findChildren(QWidget)
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
            and widget.isVisibleTo(dock) and widget.isEnabled()
        ]  # fmt: skip
        # A panel in which nothing can be set is scrolled.
        for widget in sorted(reached, key=lambda widget: isinstance(widget, QScrollArea))[:1]:
            widget.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def follow_size(self) -> None:
        """Take note of the window's size; nothing happens to docks that the user has moved."""
        wide = self._window.width() >= theme.scaled(WIDE)
        if wide != self._wide and not self._own:
            self._wide = wide
            self._arrange(wide)

    def follow_text_size(self) -> None:
        """Give the docks room for text of another size, unless the user has arranged them."""
        self.follow_size()
        if not self._own and self._wide is not None:
            self._resize(self._wide)

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
        others = self.docks[1:]
        for dock in others:
            # Out of the tabs that they stand in.
            shown = not dock.isHidden()
            self._window.removeDockWidget(dock)
            self._window.addDockWidget(LEFT if wide else RIGHT, dock)
            dock.setVisible(shown)
        tabs = others if wide else self.docks
        for before, dock in pairwise(tabs):
            self._window.tabifyDockWidget(before, dock)
        self._resize(wide)
        if tabs:
            tabs[0].raise_()
        self._arranging = False

    def _resize(self, wide: bool) -> None:
        docks = self.docks[: 2 if wide else 1]
        widths = [theme.scaled(self._widths[dock]) for dock in docks]
        self._window.resizeDocks(docks, widths, Qt.Orientation.Horizontal)
