# SPDX-License-Identifier: GPL-3.0-or-later
"""An exact number field with its unit, and a slider that knows its declared range."""

import math

from PyQt6.QtCore import QEvent, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PyQt6.QtWidgets import QLineEdit, QSlider, QWidget

from bacsim_gui import theme
from engine.schema import Field, Value

# The most positions of a linear slider; and those of a logarithmic one, so few that three digits
# tell neighbours apart.
LINEAR_STEPS, LOG_STEPS = 1000, 400


def shown(value: Value) -> str:
    """A value as a field shows it: what float32 can tell apart, without trailing noise."""
    return f"{value:.7g}" if isinstance(value, float) else str(value)


class NumberField(QLineEdit):
    """Takes any text; `typed` is emitted when it is entered and differs from the value shown.

    The text is judged elsewhere: a field that is given back its old value by `show_value` shows
    that again. The arrow keys emit `nudged` with +1 or -1. Return gives the keyboard back.
    """

    typed = pyqtSignal(str)
    nudged = pyqtSignal(int)

    def __init__(self, unit: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._unit = unit
        self._value: Value = ""
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._make_room()
        self.editingFinished.connect(self._enter)
        self.textChanged.connect(self._make_room)

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(theme.scaled(theme.FIELD_WIDTH), super().sizeHint().height())

    def _make_room(self) -> None:
        width = self.fontMetrics().horizontalAdvance(self._unit)
        self.setTextMargins(0, 0, width + 5 if self._unit_shown else 0, 0)

    @property
    def _unit_shown(self) -> bool:
        """Whether there is a unit to show: a word in place of a number has none."""
        return bool(self._unit) and bool(self.text() or not self.placeholderText())

    def setPlaceholderText(self, a0: str | None) -> None:
        """Show these words where there is no number."""
        super().setPlaceholderText(a0)
        self._make_room()

    def changeEvent(self, a0: QEvent | None) -> None:  # noqa: D102
        super().changeEvent(a0)
        if a0 is not None and a0.type() == QEvent.Type.FontChange:
            self._make_room()

    def show_value(self, value: Value) -> None:
        """Show `value`, except over what the user is typing."""
        if value == self._value and self.isModified():
            return
        self._value = value
        if self.text() != shown(value):
            self._write(shown(value))

    def give_up(self) -> None:
        """Forget what was typed and show the value again."""
        self._write(shown(self._value))

    def _write(self, text: str) -> None:
        self.setText(text)
        # Where a number is too long its leading digits are the ones to see.
        self.setCursorPosition(0)

    def _enter(self) -> None:
        text = self.text().strip()
        self.setModified(False)
        if text == shown(self._value):
            self.give_up()
            return
        # A refused text leaves the value as it was; show it again before the verdict arrives.
        self.give_up()
        self.typed.emit(text)

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:  # noqa: D102
        key = a0.key() if a0 is not None else None
        if key == Qt.Key.Key_Escape:
            self.give_up()
            self.clearFocus()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.nudged.emit(1 if key == Qt.Key.Key_Up else -1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(a0)
            # A number entered, the keyboard goes back to the window and its single letters.
            self.clearFocus()
        else:
            super().keyPressEvent(a0)

    def event(self, a0: QEvent | None) -> bool:  # noqa: D102
        if isinstance(a0, QKeyEvent) and a0.type() == QEvent.Type.ShortcutOverride:
            if a0.key() == Qt.Key.Key_Space:
                # No number holds a space: leave it to Run and Pause.
                a0.ignore()
                return True
            if a0.key() == Qt.Key.Key_Escape:
                # What is typed is given up before a tool is.
                a0.accept()
                return True
        return super().event(a0)

    def paintEvent(self, a0: QPaintEvent | None) -> None:  # noqa: D102
        super().paintEvent(a0)
        if self._unit_shown:
            painter = QPainter(self)
            painter.setPen(QColor(theme.colors().muted))
            right = self.rect().adjusted(0, 0, -7, 0)
            painter.drawText(
                right, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, self._unit
            )


class ValueSlider(QSlider):
    """A slider over a field's declared range, linear or logarithmic.

    `slid` carries the value; `grasped` says that a button of the mouse went down on it.
    """

    slid = pyqtSignal(object)
    grasped = pyqtSignal()

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._field = field
        steps = LOG_STEPS
        if not field.log:
            steps = min(LINEAR_STEPS, max(1, round((field.high - field.low) / field.step)))
        self.setRange(0, steps)
        self.setPageStep(max(1, steps // 20))
        self.setMinimumWidth(48)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.valueChanged.connect(lambda position: self.slid.emit(self.value_at(position)))

    def value_at(self, position: int) -> Value:
        """The value at a position of the slider, rounded to the declared step."""
        f, part = self._field, position / self.maximum()
        if f.log:
            value = f.low * (f.high / f.low) ** part
            # Three digits: the declared step is too coarse at one end or too fine at the other.
            value = float(f"{value:.3g}")
        else:
            value = f.low + round(part * (f.high - f.low) / f.step) * f.step
        value = float(f"{min(max(value, f.low), f.high):.9g}")
        return round(value) if f.kind == "int" else value

    def position_of(self, value: float) -> int:
        """The nearest position; a value outside the range is at the end."""
        f = self._field
        if f.log:
            value = max(value, f.low)
            part = math.log(value / f.low) / math.log(f.high / f.low)
        else:
            part = (value - f.low) / (f.high - f.low)
        return round(min(max(part, 0.0), 1.0) * self.maximum())

    def show_value(self, value: float) -> None:
        """Move the handle without telling anybody."""
        blocked = self.blockSignals(True)
        self.setValue(self.position_of(value))
        self.blockSignals(blocked)

    def mousePressEvent(self, ev: QMouseEvent | None) -> None:  # noqa: D102
        self.grasped.emit()
        super().mousePressEvent(ev)

    def wheelEvent(self, e: QWheelEvent | None) -> None:  # noqa: D102
        # In a panel that scrolls, a wheel over a slider must scroll, not change the model.
        if self.hasFocus():
            super().wheelEvent(e)
        elif e is not None:
            e.ignore()


def nudged(field: Field, value: float, direction: int) -> float:
    """`value` one step further: the declared step, or two per cent on a logarithmic range."""
    if field.log and field.kind == "float":
        return float(f"{value * 1.02**direction:.4g}")
    step = max(1, round(value * 0.02)) if field.log else field.step
    return float(f"{value + direction * step:.9g}")
