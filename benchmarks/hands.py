# SPDX-License-Identifier: GPL-3.0-or-later
"""Mouse and keys for the real window, as events that Qt hands out like those of a user."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from PyQt6.QtCore import QPoint, Qt, QTimer
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QScrollArea, QSlider, QStyle, QStyleOptionSlider, QWidget

from bacsim_gui.window import Window

LEFT = Qt.MouseButton.LeftButton
# Moves of a mouse come once a frame of the screen; a drag to and fro takes so many seconds.
MOVE_MS, TO_AND_FRO = 16, 3.0
# How far it goes to either side, as a share of the slider.
REACH = 0.15


class Hands:
    """Acts on widgets of `window`, wherever they have been scrolled to."""

    def __init__(self, window: Window) -> None:
        self._window = window

    def click(self, widget: QWidget) -> None:
        """Press and release the mouse in the middle of a widget."""
        _into_sight(widget)
        QTest.mouseClick(
            self._window.windowHandle(), LEFT, pos=self._at(widget, widget.rect().center())
        )

    def type_into(self, field: QWidget, text: str) -> None:
        """Click into a field, replace what it holds and enter it."""
        self.click(field)
        QTest.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)

    @contextmanager
    def dragging(self, slider: QSlider) -> Iterator[None]:
        """Drag the handle of a slider to and fro for as long as this lasts, and back at the end."""
        _into_sight(slider)
        handle, grip = self._window.windowHandle(), self._at(slider, _grip(slider))
        reach, began = REACH * slider.width(), time.perf_counter()

        def move() -> None:
            turn = (time.perf_counter() - began) / TO_AND_FRO
            QTest.mouseMove(handle, grip + QPoint(round(reach * math.sin(math.tau * turn)), 0))

        timer = QTimer()
        timer.setTimerType(Qt.TimerType.PreciseTimer)
        timer.timeout.connect(move)
        QTest.mousePress(handle, LEFT, pos=grip)
        timer.start(MOVE_MS)
        try:
            yield
        finally:
            timer.stop()
            QTest.mouseMove(handle, grip)
            QTest.mouseRelease(handle, LEFT, pos=grip)

    def _at(self, widget: QWidget, place: QPoint) -> QPoint:
        return widget.mapTo(self._window, place)


def _into_sight(widget: QWidget) -> None:
    above = widget.parentWidget()
    while above is not None:
        if isinstance(above, QScrollArea):
            above.ensureWidgetVisible(widget)
        above = above.parentWidget()


def _grip(slider: QSlider) -> QPoint:
    option, style = QStyleOptionSlider(), slider.style()
    slider.initStyleOption(option)
    assert style is not None
    box = style.subControlRect(
        QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, slider
    )
    return box.center()
