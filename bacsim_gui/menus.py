# SPDX-License-Identifier: GPL-3.0-or-later
"""The menus of the window."""

from collections.abc import Callable, Iterable

from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QDockWidget, QMainWindow, QMenu, QMessageBox

from bacsim_gui.files import Files

# A text, its keys, and what it does; None is a line between.
Entry = tuple[str, str, Callable[[], object]] | None


def add_menus(
    window: QMainWindow, files: Files, docks: Iterable[QDockWidget], show_all: Callable[[], None]
) -> None:
    """Fill the menu bar; `show_all` shows the whole box."""
    bar = window.menuBar()
    if bar is None:
        return
    _fill(window, bar.addMenu("&File"), (
        ("Open…", "Ctrl+O", files.ask_and_open),
        ("Resume autosave", "", files.resume_autosave),
        None,
        ("Save parameters…", "Ctrl+S", files.save_parameters),
        ("Save checkpoint…", "Ctrl+Shift+S", files.save_checkpoint),
        None,
        ("Screenshot", "", files.draw),
        ("Save picture…", "Ctrl+Shift+P", files.ask_and_draw),
        None,
        ("Quit", "Ctrl+Q", window.close),
    ))  # fmt: skip
    view = bar.addMenu("&View")
    if view is not None:
        for dock in docks:
            view.addAction(dock.toggleViewAction())
        view.addAction("Show the whole box", show_all)
    _fill(window, bar.addMenu("&Help"), (("About bacsim", "", lambda: _about(window)),))


def _fill(window: QMainWindow, menu: QMenu | None, entries: Iterable[Entry]) -> None:
    if menu is None:
        return
    for entry in entries:
        if entry is None:
            menu.addSeparator()
            continue
        text, keys, act = entry
        action = QAction(text, window)
        action.setShortcut(keys)
        action.triggered.connect(lambda _, act=act: act())
        menu.addAction(action)


def _about(window: QMainWindow) -> None:
    QMessageBox.about(
        window, "About bacsim",
        "<b>bacsim</b><br>A desktop laboratory for swarming bacteria.<br><br>"
        "Free software under the GNU General Public License, version 3 or later, without any "
        "warranty.",
    )  # fmt: skip
