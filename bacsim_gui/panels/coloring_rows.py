# SPDX-License-Identifier: GPL-3.0-or-later
"""What rods are coloured by, the colour map, and the values at its two ends."""

from collections.abc import Mapping

from PyQt6.QtCore import QObject, QSignalBlocker, QSize, pyqtSignal
from PyQt6.QtGui import QIcon, QImage, QPixmap
from PyQt6.QtWidgets import QCheckBox, QHBoxLayout, QWidget

from bacsim_gui import theme
from bacsim_gui.colors import colors
from bacsim_gui.fields import NO_FIELD
from bacsim_gui.panels.layout import Choice, Group, label
from bacsim_gui.panels.number import NumberField
from bacsim_gui.quantities import QUANTITIES, automatic_range
from bacsim_gui.view import View

_END_WIDTH = 54
_RANGE = (
    "The values at the two ends of the colours. auto: they follow from the parameters, so that "
    "colours mean the same in every frame."
)
# Why rows cannot be used.
_FIELD = "Colours tell of the field. Without one they tell of rods again."
_NO_RODS = "No rods are drawn."
_FIXED = "All rods are of one colour."
_CYCLIC = "An angle goes round once: it has no range."


class ColoringRows(QObject):
    """Three rows of a group; `edited(name, value)` carries a field of `View`."""

    edited = pyqtSignal(str, object)

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        self._shown_for = ""
        self._ends = (0.0, 1.0)
        self.color_by = Choice()
        for name in QUANTITIES:
            self.color_by.addItem(name.replace("_", " "), name)
        self.color_by.activated.connect(
            lambda at: self.edited.emit("color_by", self.color_by.itemData(at))
        )
        self._by_row = group.add_named("colour by", self.color_by)
        self.colormap = Choice()
        self.colormap.setIconSize(QSize(56, 12))
        self.colormap.textActivated.connect(lambda text: self.edited.emit("colormap", text))
        self._map_row = group.add_named("colour map", self.colormap)
        self.low, self.high = self._field(0), self._field(1)
        self.auto = QCheckBox("auto")
        self.auto.clicked.connect(self._set_auto)
        ends = QWidget()
        line = QHBoxLayout(ends)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(4)
        for widget in (self.low, label("–"), self.high, self.auto):
            line.addWidget(widget)
        line.addStretch(1)
        self._range_row = group.add_named("range", ends, _RANGE)
        self.reason = label(wrap=True)
        self.reason.setContentsMargins(0, 2, 4, 5)
        self.reason.hide()
        group.add(self.reason)

    def show_values(self, view: View, values: Mapping[str, float]) -> None:
        """Show the view of a run with these parameters; no signal is emitted."""
        quantity = view.quantity
        with QSignalBlocker(self.color_by):
            self.color_by.setCurrentIndex(self.color_by.findData(view.color_by))
        reason = _reason(view)
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
        self._by_row.setToolTip(reason if not view.colors_rods else quantity.doc)
        self._by_row.setEnabled(view.colors_rods)
        with QSignalBlocker(self.colormap):
            if self._shown_for != view.color_by:
                self._shown_for = view.color_by
                self.colormap.clear()
                for name in quantity.maps:
                    self.colormap.addItem(_strip(name), name)
            self.colormap.setCurrentText(view.map_name)
        self._map_row.setToolTip(
            reason if not view.colors_rods
            else f"Colours of {quantity.label}." if quantity.label else ""
        )  # fmt: skip
        self._map_row.setEnabled(view.colors_rods and bool(quantity.label))
        self._ends = view.color_range or automatic_range(view.color_by, values)
        for field, value in zip((self.low, self.high), self._ends, strict=True):
            field.show_value(value)
        with QSignalBlocker(self.auto):
            self.auto.setChecked(view.color_range is None)
        self._range_row.setToolTip(reason or _RANGE)
        self._range_row.setEnabled(view.colors_rods and quantity.has_range)

    def _field(self, end: int) -> NumberField:
        field = NumberField()
        theme.fix_width(field, _END_WIDTH)
        field.setAccessibleName(("lowest", "highest")[end] + " value of the colours")
        field.typed.connect(lambda text: self._type(end, text))
        return field

    def _type(self, end: int, text: str) -> None:
        ends: list[float | str] = list(self._ends)
        try:
            ends[end] = float(text)
        except ValueError:
            ends[end] = text  # to be refused by its own words
        self.edited.emit("color_range", tuple(ends))

    def _set_auto(self, on: bool) -> None:
        self.edited.emit("color_range", None if on else self._ends)


def _reason(view: View) -> str:
    """Why some of the rows cannot be used; empty where all of them can."""
    if not view.colors_rods:
        return _FIELD if view.field != NO_FIELD else _NO_RODS
    if view.quantity.cyclic:
        return _CYCLIC
    return "" if view.quantity.has_range else _FIXED


def _strip(name: str) -> QIcon:
    """A colour map as a strip, from the lowest value at the left to the highest."""
    row = colors(name)
    image = QImage(row.tobytes(), len(row), 1, 3 * len(row), QImage.Format.Format_RGB888)
    return QIcon(QPixmap.fromImage(image).scaled(56, 12))
