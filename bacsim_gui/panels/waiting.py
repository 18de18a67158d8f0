# SPDX-License-Identifier: GPL-3.0-or-later
"""The sign over the picture that says what is being waited for."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QLabel, QWidget

# From the top of the picture, in pixels.
TOP = 16


class WaitingSign(QLabel):
    """Lies over `picture`: in its middle while nothing is drawn there, else at its top."""

    def __init__(self, picture: QWidget) -> None:
        super().__init__(picture.parentWidget())
        self._picture = picture
        self._empty = True
        self.setProperty("role", "waiting")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hide()

    def say(self, text: str, *, empty: bool) -> None:
        """Show `text`, or nothing where it is empty; `empty` is whether nothing is drawn yet."""
        self._empty = empty
        self.setVisible(bool(text))
        if text:
            self.setText(text)
            self.place()

    def place(self) -> None:
        """Follow the picture."""
        picture = self._picture.geometry()
        self.adjustSize()
        top = picture.center().y() if self._empty else picture.top() + TOP
        self.move(picture.center().x() - self.width() // 2, top)
        self.raise_()
