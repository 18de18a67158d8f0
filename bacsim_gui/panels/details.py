# SPDX-License-Identifier: GPL-3.0-or-later
"""A few plain sentences, and all that belongs to them in a text to be copied."""

from collections.abc import Callable

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QFontDatabase
from PyQt6.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QPushButton, QVBoxLayout

from bacsim_gui import theme
from bacsim_gui.panels.layout import label

ROLE = QDialogButtonBox.ButtonRole


class DetailsDialog(QDialog):
    """Stays open beside the window, which goes on. `copy` puts a text on the clipboard."""

    def __init__(self, parent, title: str, words: str, details: str, copy: Callable[[str], None]):
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(16, 14, 16, 12)
        rows.setSpacing(10)
        self.words = label(words, "value", wrap=True)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.details = QPlainTextEdit(details)
        self.details.setReadOnly(True)
        self.details.setTabChangesFocus(True)
        self.details.setAccessibleName("details")
        fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        fixed.setPointSizeF(self.font().pointSizeF())
        self.details.setFont(fixed)
        buttons = QDialogButtonBox()
        self.copy = QPushButton("Copy")
        self.copy.clicked.connect(lambda: copy(f"{words}\n\n{details}"))
        buttons.addButton(self.copy, ROLE.ActionRole)
        buttons.addButton(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.close)
        rows.addWidget(self.words)
        rows.addWidget(self.details, 1)
        rows.addWidget(buttons)
        self.resize(theme.scaled(640), theme.scaled(380))
