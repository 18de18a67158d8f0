# SPDX-License-Identifier: GPL-3.0-or-later
"""Return presses the button that has the keyboard: Space, which does elsewhere, runs and pauses."""

from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtWidgets import QAbstractButton, QComboBox, QMainWindow


class ReturnKey(QObject):
    """Takes what key presses the widgets of a window have left over."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        window.installEventFilter(self)

    def eventFilter(self, a0: QObject | None, a1: QEvent | None) -> bool:  # noqa: D102
        if not isinstance(a1, QKeyEvent) or a1.type() != QEvent.Type.KeyPress:
            return False
        widget = self._window.focusWidget()
        if a1.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not a1.isAutoRepeat():
            if isinstance(widget, QAbstractButton):
                widget.click()
                return True
            if isinstance(widget, QComboBox):
                widget.showPopup()
                return True
        return False
