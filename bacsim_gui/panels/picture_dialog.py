# SPDX-License-Identifier: GPL-3.0-or-later
"""The question how large a picture is to be."""

from pathlib import Path

from PyQt6.QtCore import QSignalBlocker
from PyQt6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QSpinBox, QVBoxLayout, QWidget

from bacsim_gui.panels.layout import Choice, label
from bacsim_gui.panels.recording import SIZES

# What the process that draws takes.
SMALLEST, LARGEST = 16, 16384


class PictureDialog(QDialog):
    """Asks for the size of a picture that goes into `folder`; begins with that of the window."""

    def __init__(
        self, window_size: tuple[int, int], folder: Path, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Save picture")
        self._sizes = [window_size, *SIZES]
        self.choice = Choice()
        self.choice.addItem(f"as in the window, {window_size[0]} × {window_size[1]}")
        self.choice.addItems([f"{w} × {h} ({name})" for (w, h), name in SIZES.items()])
        self.choice.setPlaceholderText("own size")
        self.choice.activated.connect(self._choose)
        self.width_field, self.height_field = QSpinBox(), QSpinBox()
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setColumnStretch(1, 1)
        for row, (name, widget) in enumerate(
            (("size", self.choice), ("width", self.width_field), ("height", self.height_field))
        ):
            grid.addWidget(label(name), row, 0)
            widget.setAccessibleName(name)
            grid.addWidget(widget, row, 1)
        for value, field in zip(window_size, (self.width_field, self.height_field), strict=True):
            field.setRange(SMALLEST, LARGEST)
            field.setSuffix(" px")
            field.setButtonSymbols(QSpinBox.ButtonSymbols.NoButtons)
            field.setValue(value)
            field.valueChanged.connect(self._typed)
        where = label(
            f"A PNG of what the picture shows, with the parameters in it, goes to {folder}.",
            wrap=True,
        )
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(18, 16, 18, 14)
        rows.setSpacing(12)
        rows.addLayout(grid)
        rows.addWidget(where)
        rows.addWidget(buttons)
        self.setMinimumWidth(380)

    @property
    def size_wanted(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.width_field.value(), self.height_field.value()

    def _choose(self, index: int) -> None:
        for value, field in zip(
            self._sizes[index], (self.width_field, self.height_field), strict=True
        ):
            with QSignalBlocker(field):
                field.setValue(value)

    def _typed(self) -> None:
        known = self.size_wanted in self._sizes
        self.choice.setCurrentIndex(self._sizes.index(self.size_wanted) if known else -1)
