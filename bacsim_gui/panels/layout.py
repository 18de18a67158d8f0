# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape that all side panels share: collapsible groups in a column that scrolls."""

from PyQt6.QtCore import QSize, Qt
from PyQt6.QtGui import QWheelEvent
from PyQt6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from superqt import QCollapsible, QElidingLabel

from bacsim_gui import theme


class Group(QCollapsible):
    """A titled group of rows that folds away."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(title, parent, theme.icon("chevron-down"), theme.icon("chevron-right"))
        self.setDuration(0)
        self.setFrameShape(QFrame.Shape.NoFrame)
        button = self.toggleButton()
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        # It has a style sheet of its own, of fixed colours.
        button.setStyleSheet("")
        button.setProperty("role", "fold")
        button.setAccessibleDescription("Folds this group away, or unfolds it.")
        outer = self.layout()
        if outer is not None:
            outer.setContentsMargins(0, 0, 0, 0)
            outer.setSpacing(0)
        content = QWidget()
        self.rows = QVBoxLayout(content)
        self.rows.setContentsMargins(2, 0, 0, 8)
        self.rows.setSpacing(0)
        self.setContent(content)
        self.expand(animate=False)

    def add(self, widget: QWidget) -> None:
        """Put a row at the end of the group."""
        self.rows.addWidget(widget)

    def _expand_collapse(self, direction, animate=True, emit=True) -> None:
        # Rows grow when they explain a refusal: an open group is as high as its content wants.
        super()._expand_collapse(direction, animate=False, emit=emit)
        if self.isExpanded():
            self.content().setMaximumHeight(16777215)

    def add_named(self, name: str, widget: QWidget, tip: str = "") -> QWidget:
        """Put `widget` at the end, with its name at the left; returns the row of both."""
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 1, 4, 1)
        title = label(name, "value")
        theme.fix_width(title, theme.SIDE_NAME_WIDTH)
        line.addWidget(title)
        line.addWidget(widget, 1)
        row.setToolTip(tip)
        widget.setAccessibleName(name)
        widget.setAccessibleDescription(tip)
        self.add(row)
        return row


class Column(QScrollArea):
    """A column of groups that scrolls up and down, never sideways.

    Alone in it, the group `only` needs no title: the dock of the column has it.
    """

    def __init__(self, only: Group | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        inside = QWidget()
        self._rows = QVBoxLayout(inside)
        self._rows.setContentsMargins(12, 6, 8, 8)
        self._rows.setSpacing(2)
        self._rows.addStretch(1)
        self.setWidget(inside)
        if only is not None:
            only.toggleButton().hide()
            self.add(only)

    def add(self, widget: QWidget) -> None:
        """Put a group at the end of the column."""
        self._rows.insertWidget(self._rows.count() - 1, widget)

    def minimumSizeHint(self) -> QSize:
        """Wide enough for every row, since the column never scrolls sideways."""
        inside, bar = self.widget(), self.verticalScrollBar()
        width = inside.minimumSizeHint().width() if inside is not None else 0
        return QSize(width + (bar.sizeHint().width() if bar is not None else 0), 80)


class Choice(QComboBox):
    """A choice of one among a few; the wheel scrolls the panel around it and chooses nothing."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, e: QWheelEvent | None) -> None:  # noqa: D102
        if e is not None:
            e.ignore()


class Figures(QWidget):
    """Names at the left, values at the right; a row appears when it is first shown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        self._values: dict[str, QLabel] = {}

    def put(self, name: str, text: str, doc: str = "", symbol: str = "") -> None:
        """Show `text` as the value of `name`."""
        if name not in self._values:
            row = self._grid.rowCount()
            title, value = label(f"{name} {symbol}".strip()), QElidingLabel()
            value.setProperty("role", "value")
            value.setAlignment(Qt.AlignmentFlag.AlignRight)
            title.setToolTip(doc)
            self._grid.addWidget(title, row, 0)
            self._grid.addWidget(value, row, 1)
            self._values[name] = value
        self._values[name].setText(text.strip())
        self._values[name].setToolTip(doc)

    def text(self, name: str) -> str:
        """The value shown for `name`; empty when there is none."""
        return self._values[name].text() if name in self._values else ""


def label(text: str = "", role: str = "muted", *, wrap: bool = False) -> QLabel:
    """A label in one of the roles that the style sheet knows: muted, heading, error."""
    made = QLabel(text)
    made.setProperty("role", role)
    made.setWordWrap(wrap)
    return made
