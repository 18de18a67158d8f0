# SPDX-License-Identifier: GPL-3.0-or-later
"""The question what an own preset is to be called."""

from collections.abc import Callable

from PyQt6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from bacsim_gui.panels.layout import label
from engine.schema import ParameterError


class SavePresetDialog(QDialog):
    """Asks for a name and a sentence; says at once what is wrong with a name.

    `check` gives the name that a text makes, or raises `ParameterError`; `existing` gives the
    preset that a name would replace.
    """

    def __init__(
        self,
        look_for: str,
        check: Callable[[str], str],
        existing: Callable[[str], str | None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Save as preset")
        self._check, self._existing = check, existing
        self.name, self.look_for = QLineEdit(), QLineEdit(look_for)
        self.name.setPlaceholderText("Fast swarm")
        self.name.textChanged.connect(self._judge)
        self.with_rods = QCheckBox("Begin with the rods as they are now")
        self.with_rods.setChecked(True)
        self.with_rods.setToolTip("Otherwise it begins at random places.")
        self.verdict = label(wrap=True)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        for row, (name, field) in enumerate(
            (("name", self.name), ("what to look for", self.look_for))
        ):
            field.setAccessibleName(name)
            grid.addWidget(label(name), row, 0)
            grid.addWidget(field, row, 1)
        buttons = QDialogButtonBox()
        self.save = QPushButton("Save")
        self.save.setProperty("accent", True)
        buttons.addButton(self.save, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.addButton(QPushButton("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(18, 16, 18, 14)
        rows.setSpacing(12)
        rows.addLayout(grid)
        rows.addWidget(self.with_rods)
        rows.addWidget(self.verdict)
        rows.addWidget(buttons)
        self.setMinimumWidth(460)
        self._judge("")

    def _judge(self, text: str) -> None:
        try:
            old = self._existing(self._check(text))
            problem = ""
        except ParameterError as error:
            old, problem = None, str(error)
        self.save.setEnabled(not problem)
        self.save.setText("Save" if old is None else "Replace")
        said = f"Replaces your preset {old}." if old is not None else problem
        self.verdict.setText(
            said if text else "It is kept with its parameters, seed, K and a picture."
        )
