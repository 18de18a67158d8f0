# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether everything in a window can be read, and everything in it can be named."""

import numpy as np
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollArea,
    QTabBar,
    QWidget,
)

from bacsim_gui.panels.elided import ElidedLabel
from bacsim_gui.window import Window
from tests.gui.events import live


def cut_off(window: QWidget) -> list[str]:
    """What is shown in `window` smaller than it asks for, or sticks out to the side."""
    found = []
    for widget in window.findChildren(QWidget):
        if not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        if not isinstance(widget, QLabel | QAbstractButton | QComboBox | QLineEdit):
            continue
        if isinstance(widget, QLineEdit) and isinstance(widget.parent(), QComboBox):
            continue
        asked, has = _asked(widget), widget.size()
        if has.width() < asked[0] or has.height() < asked[1]:
            found.append(f"{_about(widget)}: {has.width()}x{has.height()} for {asked}")
        for frame in {_frame(widget), window}:
            left = widget.mapTo(frame, QPoint(0, 0)).x()
            if left < 0 or left + widget.width() > frame.width():
                found.append(f"{_about(widget)}: from {left} on in {frame.width()}")
    return found


def _asked(widget: QWidget) -> tuple[int, int]:
    hint = widget.sizeHint()
    if isinstance(widget, ElidedLabel):  # elided on purpose; its tool tip or field has the rest
        return 0, hint.height()
    if isinstance(widget, QLabel) and widget.wordWrap():
        return 0, widget.heightForWidth(widget.width())
    if isinstance(widget, QLineEdit):
        text = widget.text() or widget.placeholderText()
        margins = widget.textMargins()
        wide = widget.fontMetrics().horizontalAdvance(text) + margins.left() + margins.right()
        return wide, min(hint.height(), widget.fontMetrics().height())
    if isinstance(widget, QComboBox):
        shown = widget.fontMetrics().horizontalAdvance(widget.currentText())
        return shown + widget.iconSize().width() * (not widget.itemIcon(0).isNull()), hint.height()
    return hint.width(), hint.height()


def _frame(widget: QWidget) -> QWidget:
    """What a widget must not stick out of: the column that it is scrolled in, or the window."""
    parent = widget.parentWidget()
    while parent is not None and not parent.isWindow():
        if isinstance(parent, QScrollArea):
            return parent.viewport()
        parent = parent.parentWidget()
    return widget.window()


def faults(window: Window) -> list[str]:
    """What is cut off, with each of the panels in sight in turn, and a picture that is not full."""
    found = []
    for dock in window.arrangement.docks:
        window.arrangement.go_to(dock)
        live(0.05)
        found += [f"{dock.windowTitle()}: {fault}" for fault in cut_off(window)]
    native, middle = window.canvas.native, window.centralWidget()
    room = middle.width() - window.tool_bar.width()
    if native.width() != room:
        found.append(f"the picture is {native.width()} wide in {room}")
    picture = window.canvas.grab()
    ratio = native.devicePixelRatioF()
    whole = tuple(int(side * ratio + 0.5) for side in (native.height(), native.width()))
    # The box fills what is left beside the legend, and something is drawn in each quarter.
    quarters = [part for half in np.array_split(picture, 2) for part in np.array_split(half, 2, 1)]
    if picture.shape[:2] != whole or min(part.std() for part in quarters) < 5:
        found.append(f"the picture does not fill {whole}")
    return found


def name_of(widget: QWidget) -> str:
    """What a screen reader calls a widget."""
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    return widget.accessibleName() or text.replace("&", "")


def reachable(window: QWidget) -> list[QWidget]:
    """What the Tab key goes to, in its order, in sight or not."""
    found, widget = [], window.nextInFocusChain()
    while widget is not None and widget is not window:
        tabbed = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        # A bar of tabs tells the names of its tabs.
        inside = isinstance(widget.parent(), QComboBox | QAbstractScrollArea)
        inside = inside or isinstance(widget, QTabBar)
        if tabbed and widget.focusProxy() is None and widget.window() is window and not inside:
            found.append(widget)
        widget = widget.nextInFocusChain()
    return found


def _about(widget: QWidget) -> str:
    text = getattr(widget, "text", lambda: "")()
    return f"{type(widget).__name__} {text or widget.accessibleName()!r}"
