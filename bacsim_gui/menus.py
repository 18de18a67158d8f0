# SPDX-License-Identifier: GPL-3.0-or-later
"""The menus of the window. What a tool bar or a key does is in one of them too."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from PyQt6.QtGui import QAction, QActionGroup, QKeySequence
from PyQt6.QtWidgets import QMainWindow, QMenu

from bacsim_gui import autosaves, recent
from bacsim_gui.arrangement import Arrangement
from bacsim_gui.desk import Desk
from bacsim_gui.files import Files
from bacsim_gui.gallery import Gallery
from bacsim_gui.panels.about import AboutDialog
from bacsim_gui.panels.shortcuts import ShortcutsDialog
from bacsim_gui.panels.transport import TransportBar
from bacsim_gui.reports import Reports
from bacsim_gui.session import Session
from bacsim_gui.settings import TEXT_SIZES
from bacsim_gui.sharing import Sharing
from bacsim_gui.tools import Tools
from bacsim_gui.undo import Undo
from bacsim_gui.view import BACKGROUNDS

Choice = TypeVar("Choice")
_THEME_TEXTS = {"system": "As the system", "light": "Light", "dark": "Dark"}
RESUME = "Resume autosave"
# A text, its keys, and what it does; None is a line between.
Entry = tuple[str, str, Callable[[], object]] | None


def add_file_menu(
    window: QMainWindow, files: Files, gallery: Gallery, presets: QAction, quit_: Callable[[], None]
) -> None:
    """Add what reads and writes files; `presets` shows the gallery, `quit_` asks and closes."""
    menu = _menu(window, "&File")
    menu.addAction(presets)
    _fill(window, menu, (
        ("Save as preset…", "", gallery.save_preset),
        None,
        ("Open…", "Ctrl+O", files.ask_and_open),
    ))  # fmt: skip
    _add_recent(menu, files)
    _fill(window, menu, (
        (RESUME, "", files.resume_autosave),
        None,
        ("Save parameters…", "Ctrl+S", files.save_parameters),
        ("Save checkpoint…", "Ctrl+Shift+S", files.save_checkpoint),
        None,
        ("Save picture…", "Ctrl+Shift+P", files.ask_and_draw),
        None,
        ("Quit", "Ctrl+Q", quit_),
    ))  # fmt: skip
    (resume,) = (action for action in menu.actions() if action.text() == RESUME)

    def show() -> None:
        resume.setEnabled(autosaves.newest() is not None)

    menu.aboutToShow.connect(show)
    show()


def add_edit_menu(window: QMainWindow, sharing: Sharing, undo: Undo) -> None:
    """Add what takes back, and what goes by the clipboard.

    The shorter keys for the clipboard act while no field has the keyboard.
    """
    menu = _menu(window, "&Edit")
    _fill(window, menu, (
        ("Undo", "Ctrl+Z", undo.undo),
        ("Redo", "Ctrl+Shift+Z, Ctrl+Y", undo.redo),
        None,
    ))  # fmt: skip
    back, again = menu.actions()[:2]

    def show() -> None:
        for action, word, what in (
            (back, "Undo", undo.undo_text), (again, "Redo", undo.redo_text)
        ):  # fmt: skip
            action.setText(f"{word} {what}".strip())
            action.setEnabled(bool(what))

    undo.changed.connect(show)
    show()
    _fill(window, menu, (
        ("Copy run as text", "Ctrl+Shift+C, Ctrl+C", sharing.copy),
        ("Paste run", "Ctrl+Shift+V, Ctrl+V", sharing.paste),
        None,
        ("Copy picture", "Ctrl+Alt+C", sharing.copy_picture),
    ))  # fmt: skip


def add_run_menu(window: QMainWindow, transport: TransportBar) -> None:
    """Add what the tool bar has."""
    menu, t = _menu(window, "&Run"), transport
    menu.setToolTipsVisible(True)
    for part in ((t.run, t.step, t.steps), (t.reset, t.new_seed), (t.record, t.shot), (t.trace,)):
        menu.addActions(part)
        menu.addSeparator()


def add_tools_menu(window: QMainWindow, tools: Tools) -> None:
    """Add what the mouse does."""
    menu = _menu(window, "&Tools")
    for part in (tools.actions, tools.sizes, tools.others):
        menu.addActions(part)
        menu.addSeparator()


def add_view_menu(
    window: QMainWindow, desk: Desk, session: Session, arrangement: Arrangement,
    zooming: Iterable[QAction],
) -> None:  # fmt: skip
    """Add the ways to look at the picture, the panels, and the look of the window."""
    menu = _menu(window, "&View")
    menu.addActions(zooming)
    menu.addSeparator()
    panels = menu.addMenu("Panels")
    for number, dock in enumerate(arrangement.docks, 1):
        go = QAction(f"Go to {dock.windowTitle()}", window)
        go.setShortcut(f"Ctrl+{number}")
        go.triggered.connect(lambda _, dock=dock: arrangement.go_to(dock))
        menu.addAction(go)
        if panels is not None:
            panels.addAction(dock.toggleViewAction())
    if panels is not None:
        panels.addSeparator()
        panels.addAction("Reset layout", desk.reset_layout)
    menu.addSeparator()
    _choices(menu, "Theme", _THEME_TEXTS, lambda: desk.settings.theme, desk.set_theme)
    _choices(
        menu, "Background of the picture", {name: name.capitalize() for name in BACKGROUNDS},
        lambda: session.view.background, lambda name: session.set_view(background=name),
    )  # fmt: skip
    _choices(
        menu, "Size of text", {size: f"{size} %" for size in TEXT_SIZES},
        lambda: desk.settings.text_size, desk.set_text_size,
    )  # fmt: skip
    still = QAction("Reduce motion", window)
    still.setCheckable(True)
    still.setChecked(desk.settings.reduced_motion)
    still.toggled.connect(desk.set_reduced_motion)
    menu.addAction(still)
    menu.addSeparator()
    _fill(window, menu, (("Full screen", "F11", desk.toggle_full_screen),))


def add_help_menu(window: QMainWindow, reports: Reports) -> None:
    """Add what explains."""
    _fill(window, _menu(window, "&Help"), (
        ("Keyboard and mouse", "?", lambda: ShortcutsDialog(window).show()),
        None,
        ("This computer", "", reports.show_computer),
        ("Copy report for a bug", "", reports.copy_report),
        None,
        ("About bacsim", "", lambda: AboutDialog(window).show()),
    ))  # fmt: skip


def _menu(window: QMainWindow, title: str) -> QMenu:
    bar = window.menuBar()
    menu = bar.addMenu(title) if bar is not None else None
    assert menu is not None, "a window has a menu bar"
    return menu


def _fill(window: QMainWindow, menu: QMenu, entries: Iterable[Entry]) -> None:
    for entry in entries:
        if entry is None:
            menu.addSeparator()
            continue
        text, keys, act = entry
        action = QAction(text, window)
        action.setShortcuts([QKeySequence(key) for key in keys.split(", ") if key])
        action.triggered.connect(lambda _, act=act: act())
        menu.addAction(action)


def _choices(
    menu: QMenu, title: str, texts: Mapping[Choice, str], chosen: Callable[[], Choice],
    choose: Callable[[Choice], object],
) -> None:  # fmt: skip
    """Add a menu of texts of which one is chosen, looked up each time that it is opened."""
    inside = menu.addMenu(title)
    assert inside is not None, "a menu has menus"
    group = QActionGroup(inside)
    actions = {}
    for one, text in texts.items():
        action = actions[one] = QAction(text, group)
        action.setCheckable(True)
        action.triggered.connect(lambda _, one=one: choose(one))
        inside.addAction(action)

    def show() -> None:
        actions[chosen()].setChecked(True)

    inside.aboutToShow.connect(show)
    show()


def _add_recent(file: QMenu, files: Files) -> None:
    """A menu of the files that were opened or saved last, made anew each time it is opened."""
    menu = file.addMenu("Open recent")
    assert menu is not None, "a menu has menus"

    def fill() -> None:
        menu.clear()
        paths = recent.read()
        for number, path in enumerate(paths, 1):
            # An ampersand would be a key of the menu.
            text = f"{path.name}   –   {path.parent}".replace("&", "&&")
            action = menu.addAction(f"&{number % 10} {text}")
            if action is not None:
                action.triggered.connect(lambda _, path=path: files.open_recent(path))
        if paths:
            menu.addSeparator()
            menu.addAction("Clear this list", recent.clear)
        else:
            none = menu.addAction("No file yet")
            if none is not None:
                none.setEnabled(False)

    menu.aboutToShow.connect(fill)
    fill()
