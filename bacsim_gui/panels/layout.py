# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape that all side panels share: collapsible groups in a column that scrolls."""

from PyQt6.QtCore import QEvent, QSize, Qt
from PyQt6.QtGui import QKeyEvent, QWheelEvent
from PyQt6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from bacsim_gui import theme
from bacsim_gui.panels.elided import ElidedLabel


class Group(QFrame):
    """A titled group of rows that folds away; `heading` is the button that does it."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        # Rows grow when they explain a refusal: an open group is as high as its rows want.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._fold_icons = theme.icon("chevron-right"), theme.icon("chevron-down")
        self.heading = QPushButton(self._fold_icons[True], title)
        self.heading.setCheckable(True)
        self.heading.setChecked(True)
        self.heading.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.heading.setProperty("role", "fold")
        self.heading.setAccessibleDescription("Folds this group away, or unfolds it.")
        self.heading.toggled.connect(self._unfold)
        self._foldable = QWidget()
        self.rows = QVBoxLayout(self._foldable)
        self.rows.setContentsMargins(2, 0, 0, 8)
        self.rows.setSpacing(0)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.setAlignment(Qt.AlignmentFlag.AlignTop)
        outer.addWidget(self.heading)
        outer.addWidget(self._foldable)

    def add(self, widget: QWidget) -> None:
        """Put a row at the end of the group."""
        self.rows.addWidget(widget)

    def add_heading(self, title: str) -> QLabel:
        """Put the heading of some rows at the end; returns it."""
        heading = label(title, "heading")
        heading.setContentsMargins(0, 8 if self.rows.count() else 0, 0, 3)
        self.add(heading)
        return heading

    def _unfold(self, unfolded: bool) -> None:
        self.heading.setIcon(self._fold_icons[unfolded])
        self._foldable.setVisible(unfolded)

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
        # A click in it must not take the keyboard from the picture.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        inside = QWidget()
        self._rows = QVBoxLayout(inside)
        self._rows.setContentsMargins(12, 6, 8, 8)
        self._rows.setSpacing(2)
        self._rows.addStretch(1)
        self.setWidget(inside)
        if only is not None:
            only.heading.hide()
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
    """A choice of one among a few; the wheel scrolls the panel around it and chooses nothing.

    The mouse leaves the keyboard where it is, so that letters go on being tools. Who comes by Tab
    finds entries by their letters, as in any list.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def event(self, event: QEvent | None) -> bool:  # noqa: D102
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            held = event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier
            if event.text().isalnum() and held == Qt.KeyboardModifier.NoModifier:
                event.accept()
                return True
        return super().event(event)

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
            title, value = label(f"{name} {symbol}".strip()), ElidedLabel()
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
