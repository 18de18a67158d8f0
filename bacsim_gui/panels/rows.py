# SPDX-License-Identifier: GPL-3.0-or-later
"""One row for each declared parameter: name, slider, exact field, way back to the default."""

from html import escape

from PyQt6.QtCore import QSignalBlocker, QSize, Qt, pyqtSignal
from PyQt6.QtWidgets import QGridLayout, QLabel, QToolButton, QWidget

from bacsim_gui import theme
from bacsim_gui.panels.layout import Choice
from bacsim_gui.panels.number import NumberField, ValueSlider, nudged, shown
from engine.schema import Field, Value, unit_words


def meaning(field: Field, default: Value) -> str:
    """The tooltip of a parameter: its symbol, meaning, unit, range and default."""
    unit = f" {field.unit}" if field.unit else ""
    lines = [f"<b>{field.name}</b>{f' · {escape(field.symbol)}' if field.symbol else ''}"]
    lines.append(escape(field.doc))
    if field.kind == "choice":
        lines.append(f"One of: {', '.join(field.choices)}")
    else:
        limits = f"Slider {field.low:g} to {field.high:g}{unit}"
        if field.above is not None:
            limits += f"; must be above {field.above:g}"
        if field.least is not None:
            limits += f"; at least {field.least:g}"
        lines.append(escape(limits))
    lines.append(escape(f"Default {shown(default)}{unit}"))
    if words := unit_words(field.unit):
        lines.append(f"<i>{escape(words)}</i>")
    if not field.live:
        lines.append("A change is applied by a rebuild.")
    return "<br>".join(lines)


class ParameterRow(QWidget):
    """Shows one parameter. `edited(name, value)` and `restored(name)` say what the user did.

    `grasped` says that a drag begins.
    """

    edited = pyqtSignal(str, object)
    restored = pyqtSignal(str)
    grasped = pyqtSignal()

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = field
        self._value: Value = field.default
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 1, 0, 1)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        self.name = QLabel()
        theme.fix_width(self.name, theme.NAME_WIDTH)
        self.name.setTextFormat(Qt.TextFormat.RichText)
        grid.addWidget(self.name, 0, 0)
        self.slider = self.number = self.choice = None
        if field.kind == "choice":
            self.choice = Choice()
            self.choice.addItems(field.choices)
            self.choice.textActivated.connect(lambda text: self.edited.emit(field.name, text))
            grid.addWidget(self.choice, 0, 1, 1, 2)
        else:
            self.slider = ValueSlider(field)
            self.slider.slid.connect(lambda value: self.edited.emit(field.name, value))
            self.slider.grasped.connect(self.grasped)
            grid.addWidget(self.slider, 0, 1)
            self.number = NumberField(field.unit)
            theme.fix_width(self.number, theme.FIELD_WIDTH)
            self.number.typed.connect(lambda text: self.edited.emit(field.name, text))
            self.number.nudged.connect(self._nudge)
            grid.addWidget(self.number, 0, 2)
        self.back = QToolButton()
        self.back.setIcon(theme.icon("restore"))
        self.back.setIconSize(QSize(12, 12))
        self.back.setFixedWidth(20)
        self.back.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.back.setProperty("role", "small")
        self.back.clicked.connect(lambda: self.restored.emit(field.name))
        policy = self.back.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.back.setSizePolicy(policy)
        grid.addWidget(self.back, 0, 3)
        self.note = QLabel()
        self.note.setProperty("role", "muted")
        self.note.hide()
        grid.addWidget(self.note, 2, 1, 1, 3)
        self.refusal = QLabel()
        self.refusal.setProperty("role", "error")
        self.refusal.setWordWrap(True)
        self.refusal.hide()
        grid.addWidget(self.refusal, 1, 0, 1, 4)

        for widget in (self.slider, self.number, self.choice):
            if widget is not None:
                widget.setAccessibleName(f"{field.name} {field.unit}".strip())
                widget.setAccessibleDescription(field.doc)
        self.back.setAccessibleName(f"{field.name} back to its default")

    def show_value(
        self, value: Value, default: Value, *, pending: bool = False, refusal: str = ""
    ) -> None:
        """Show the value, whether it waits for a rebuild, and why the last one was refused."""
        self._value = value
        mark = f' <span style="color:{theme.colors().warn}">●</span>' if pending else ""
        symbol = ""
        if self.field.symbol and self.field.symbol != self.field.name:
            symbol = (
                f' <span style="color:{theme.colors().muted}">{escape(self.field.symbol)}</span>'
            )
        self.name.setText(f"{self.field.name}{symbol}{mark}")
        tip = meaning(self.field, default)
        if pending:
            tip += "<br><b>Changed, but not yet applied.</b>"
        self.setToolTip(tip)
        if self.choice is not None:
            with QSignalBlocker(self.choice):
                self.choice.setCurrentText(str(value))
        elif self.slider is not None and self.number is not None:
            self.slider.show_value(float(value))
            self.number.show_value(value)
            if self.number.property("refused") != bool(refusal):
                self.number.setProperty("refused", bool(refusal))
                style = self.number.style()
                if style is not None:
                    style.polish(self.number)
        self.back.setVisible(value != default)
        self.back.setToolTip(f"Back to {shown(default)}")
        self.refusal.setText(refusal)
        self.refusal.setVisible(bool(refusal))

    def say(self, note: str) -> None:
        """Show a few words under the value, or none."""
        self.note.setText(note)
        self.note.setVisible(bool(note))

    def _nudge(self, direction: int) -> None:
        self.edited.emit(self.field.name, nudged(self.field, float(self._value), direction))
