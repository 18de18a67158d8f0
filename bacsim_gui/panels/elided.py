# SPDX-License-Identifier: GPL-3.0-or-later
"""A line of text that has … where there is no room for all of it."""

from PyQt6.QtCore import QSize, Qt
from PyQt6.QtGui import QPainter, QPaintEvent
from PyQt6.QtWidgets import QLabel, QStyle, QStyleOption, QWidget


class ElidedLabel(QLabel):
    """A label of one line of plain text, which may be narrower than its text.

    `mode` says which part gives way to the dots.
    """

    def __init__(
        self,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)

    def minimumSizeHint(self) -> QSize:  # noqa: D102
        margins = self.contentsMargins()
        width = self.fontMetrics().horizontalAdvance("…") + margins.left() + margins.right()
        return QSize(width, super().minimumSizeHint().height())

    def paintEvent(self, a0: QPaintEvent | None) -> None:  # noqa: D102
        style, box, option = self.style(), self.contentsRect(), QStyleOption()
        if style is None:
            return
        option.initFrom(self)
        text = self.fontMetrics().elidedText(self.text(), self.mode, box.width())
        align = QStyle.visualAlignment(self.layoutDirection(), self.alignment())
        painter = QPainter(self)
        style.drawItemText(
            painter, box, align.value, option.palette, self.isEnabled(), text, self.foregroundRole()
        )
        painter.end()
