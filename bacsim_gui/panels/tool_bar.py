# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools, in a column at the left of the picture."""

from collections.abc import Sequence

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QToolBar, QToolButton, QWidget

from bacsim_gui import theme


class ToolBar(QToolBar):
    """Buttons for the tools and for the size of the brush."""

    def __init__(
        self, tools: Sequence[QAction], sizes: Sequence[QAction], parent: QWidget | None = None
    ) -> None:
        super().__init__("Tools", parent)
        self.setOrientation(Qt.Orientation.Vertical)
        self.setProperty("role", "tools")
        theme.fix_icons(self, 18)
        self.addActions(tools)
        self.addSeparator()
        self.addActions(sizes)
        for action in (*tools, *sizes):
            button = self.widgetForAction(action)
            if isinstance(button, QToolButton):
                button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
                button.setAccessibleName(action.text())
        more = self.findChild(QToolButton, "qt_toolbar_ext_button")
        if more is not None:
            more.setIcon(theme.icon("more"))
