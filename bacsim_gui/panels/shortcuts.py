# SPDX-License-Identifier: GPL-3.0-or-later
"""The overview of all keys, made from the actions of the window each time that it is opened."""

from collections.abc import Iterator

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QAction, QKeySequence
from PyQt6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QMainWindow,
    QMenu,
    QScrollArea,
    QToolBar,
    QVBoxLayout,
    QWidget,
)

from bacsim_gui.panels.layout import label

OTHERS = "Elsewhere"
# What no action tells of: the mouse over the picture.
MOUSE = "Mouse over the picture"
BY_MOUSE = (
    ("Zoom, with any tool", "wheel"),
    ("Move the picture, with any tool", "middle button"),
    ("Show the whole box, with Pan picture", "double click"),
    ("Size of the brush", "Ctrl+wheel"),
    ("Make rods passive, with Paint activity", "Shift+drag"),
)


def keys_by_group(window: QMainWindow) -> dict[str, list[tuple[str, str]]]:
    """For each group the texts of its actions and their keys, in the order of the menus.

    A group is a menu, or what the property "group" of an action says, or the tool bar that it
    stands in.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    seen: set[QAction] = set()
    for group, action in (*_of_menus(window), *_others(window)):
        keys = [key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts()]
        if keys and action not in seen:
            seen.add(action)
            text = action.text().replace("&", "").removesuffix("…")
            found.setdefault(group, []).append((text, " or ".join(keys)))
    return found


def _of_menus(window: QMainWindow) -> Iterator[tuple[str, QAction]]:
    bar = window.menuBar()
    for top in bar.actions() if bar is not None else ():
        for action in _inside(top.menu()):
            yield action.property("group") or top.text().replace("&", ""), action


def _inside(menu: QMenu | None) -> Iterator[QAction]:
    for action in menu.actions() if menu is not None else ():
        yield action
        yield from _inside(action.menu())


def _others(window: QMainWindow) -> Iterator[tuple[str, QAction]]:
    for action in window.findChildren(QAction):
        parent = action.parent()
        bar = parent.windowTitle() if isinstance(parent, QToolBar) else ""
        yield action.property("group") or bar or OTHERS, action


class ShortcutsDialog(QDialog):
    """Shows the keys of `window`; it may stay open beside it."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self.setWindowTitle("Keyboard and mouse")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        inside = QWidget()
        grid = QGridLayout(inside)
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(1, 1)
        for group, entries in (*keys_by_group(window).items(), (MOUSE, BY_MOUSE)):
            heading = label(group, "heading")
            heading.setContentsMargins(0, 8, 0, 2)
            grid.addWidget(heading, grid.rowCount(), 0, 1, 2)
            for text, keys in entries:
                row = grid.rowCount()
                grid.addWidget(label(text, "value"), row, 0)
                grid.addWidget(label(keys), row, 1, Qt.AlignmentFlag.AlignRight)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setWidget(inside)
        area.setAccessibleName("All keys")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.close)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(14, 14, 14, 12)
        rows.addWidget(area)
        rows.addWidget(buttons)
        wanted = inside.sizeHint()
        self.resize(wanted.width() + 60, min(wanted.height() + 80, window.height()))
