# SPDX-License-Identifier: GPL-3.0-or-later
"""A table of what another run would change."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from bacsim_gui.changes import changes
from bacsim_gui.panels.number import shown
from bacsim_gui.presets import Run


class CompareTable(QTableWidget):
    """A row for each value that would change: its name, what it is now, what it would be."""

    def __init__(self) -> None:
        super().__init__(0, 3)
        self.setHorizontalHeaderLabels(("name", "now", "preset"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        if rows is not None:
            rows.hide()
            rows.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        if columns is not None:
            columns.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
            columns.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
            columns.setHighlightSections(False)

    def show_runs(self, now: Run | None, then: Run | None) -> int:
        """Show what changes from `now` to `then`; how many values that are."""
        found = () if now is None or then is None else changes(now, then)
        self.setRowCount(len(found))
        for row, change in enumerate(found):
            unit = f" {change.unit}" if change.unit else ""
            texts = (change.name, f"{shown(change.now)}{unit}", f"{shown(change.then)}{unit}")
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                if column:
                    item.setTextAlignment(
                        Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                    )
                self.setItem(row, column, item)
        return len(found)
