# SPDX-License-Identifier: GPL-3.0-or-later
"""What is found and kept: gallery, own presets, runs as text, dropped and recent files, badges.

One window and its one compile serve all tests of this file; each leaves it paused and usable.
"""

import ctypes
import struct
import sys

import numpy as np
import pytest
from PyQt6.QtCore import QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from PyQt6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication, QMessageBox, QPushButton

from bacsim_gui import own_presets, recent, run_text
from bacsim_gui.panels.save_preset import SavePresetDialog
from bacsim_gui.presets import load_config, load_preset, preset_names, save_config
from engine.obstacle import Obstacle
from tests.gui.events import live, type_into, until
from tests.gui.windows import RODS, begin, image, shown, step

pytestmark = pytest.mark.gl


@pytest.fixture
def window(one_window):
    """The window, paused at the start of its preset, with no own preset and no recent file."""
    for own in own_presets.found():
        own_presets.delete(own.name)
    recent.clear()
    begin(one_window)
    active(one_window)
    yield one_window
    if one_window.gallery.dialog is not None:
        one_window.gallery.dialog.reject()


def active(window):
    """Give the keyboard back to the window; this display has no window manager that would."""
    window.activateWindow()
    until(window.isActiveWindow)


def gallery(window):
    """Open the gallery by its keys."""
    active(window)
    QTest.keyClick(window, Qt.Key.Key_G, Qt.KeyboardModifier.ControlModifier)
    dialog = window.gallery.dialog
    until(lambda: dialog is not None and dialog.isVisible())
    active(dialog)
    assert dialog.cards.hasFocus()
    return dialog


def click_card(dialog, row):
    item = dialog.cards.item(row)
    dialog.cards.scrollToItem(item)
    at = dialog.cards.visualItemRect(item).center()
    QTest.mouseClick(dialog.cards.viewport(), Qt.MouseButton.LeftButton, pos=at)


def answer(text):
    """Press the button of that text in the question that comes next; its words, once it came."""
    asked = []

    def press():
        box = QApplication.activeModalWidget()
        if not isinstance(box, QMessageBox):
            QTimer.singleShot(20, press)
            return
        asked.append(box.text())
        (button,) = [b for b in box.findChildren(QPushButton) if b.text() == text]
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    QTimer.singleShot(20, press)
    return asked


def save_as(window, name, rods=True):
    """Keep the present run by the menu's dialog, typing its name."""
    said = []

    def fill():
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, SavePresetDialog):
            QTimer.singleShot(20, fill)
            return
        QTest.keyClicks(dialog.name, name)
        said.append(dialog.verdict.text())
        if not rods:
            dialog.with_rods.click()
        if dialog.save.isEnabled():
            QTest.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
        else:
            dialog.reject()

    QTimer.singleShot(20, fill)
    window.gallery.save_preset()
    return said[0]


# The gallery


def test_every_preset_has_its_card_with_its_picture_and_the_arrows_reach_all(window):
    dialog = gallery(window)
    assert dialog.current.name == "swarming"
    QTest.keyClick(dialog.cards, Qt.Key.Key_Home)
    reached = [dialog.current.name]
    for _ in preset_names()[1:]:
        QTest.keyClick(dialog.cards, Qt.Key.Key_Right)
        reached.append(dialog.current.name)
    assert reached == list(preset_names())
    QTest.keyClick(dialog.cards, Qt.Key.Key_Home)
    QTest.keyClick(dialog.cards, Qt.Key.Key_Down)
    assert dialog.current.name not in ("swarming", preset_names()[-1])
    for row in range(dialog.cards.count()):
        picture = dialog.cards.item(row).data(Qt.ItemDataRole.DecorationRole)
        assert picture.width() == 448
    # Rods are drawn on the card that is in sight.
    live(0.05)
    card = dialog.cards.grab(dialog.cards.visualItemRect(dialog.cards.item(0))).toImage()
    assert len({card.pixel(x, 60) for x in range(10, card.width() - 10)}) > 10


def test_enter_opens_the_chosen_preset(window):
    dialog = gallery(window)
    QTest.keyClick(dialog.cards, Qt.Key.Key_End)
    chosen = dialog.current.name
    QTest.keyClick(dialog.cards, Qt.Key.Key_Return)
    assert not dialog.isVisible()
    assert window.session.preset == chosen == preset_names()[-1]
    assert window.session.params == load_preset(chosen).params


def test_a_click_opens_and_while_comparing_only_chooses(window):
    type_into(window.parameters.rows["F_prop"].number, "11")
    dialog = gallery(window)
    QTest.mouseClick(dialog.compare, Qt.MouseButton.LeftButton)
    row = preset_names().index("dilute")
    click_card(dialog, row)
    assert dialog.isVisible()
    told = {
        dialog.table.item(i, 0).text(): [dialog.table.item(i, j).text() for j in (1, 2)]
        for i in range(dialog.table.rowCount())
    }
    assert told["F_prop"] == ["11 f", "8 f"]
    assert told["rods"] == [str(RODS), "2000"]
    assert "length" not in told
    # The table follows what is edited behind it.
    window.session.edit("F_prop", 8)
    assert "F_prop" not in [dialog.table.item(i, 0).text() for i in range(dialog.table.rowCount())]
    QTest.mouseClick(dialog.compare, Qt.MouseButton.LeftButton)
    click_card(dialog, row)
    assert not dialog.isVisible()
    assert window.session.preset == "dilute"


def test_the_gallery_is_opened_from_the_tool_bar_and_left_by_escape(window):
    button = window.transport.widgetForAction(window.transport.gallery)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    dialog = window.gallery.dialog
    until(dialog.isVisible)
    build = window.session.wanted.build
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert window.session.wanted.build is build


def test_the_whole_gallery_fits_into_a_small_window(window):
    size = window.size()
    window.resize(1024, 700)
    window.gallery.dialog = None
    dialog = gallery(window)
    live(0.1)
    assert dialog.width() <= 1024
    assert dialog.height() <= 700
    right = [dialog.cards.visualItemRect(dialog.cards.item(i)).right() for i in range(3)]
    assert len(set(right)) == 3  # three in a row
    assert max(right) <= dialog.cards.viewport().width()
    dialog.reject()
    window.resize(size)


# Own presets


def test_the_present_run_is_kept_as_a_preset_opened_and_deleted(window):
    type_into(window.parameters.rows["F_prop"].number, "11")
    until(lambda: window.frame.snapshot.params.F_prop == 11)
    kept = step(window)
    save_as(window, "Fast one")
    dialog = gallery(window)
    QTest.keyClick(dialog.cards, Qt.Key.Key_End)
    assert (dialog.current.title, dialog.current.own) == ("Fast one", True)
    picture = image(dialog.current.picture)
    assert picture.shape == (288, 448, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100
    dialog.reject()
    window.session.load_run(load_preset("dilute", rods=RODS), "dilute")
    dialog = gallery(window)
    QTest.keyClick(dialog.cards, Qt.Key.Key_End)
    QTest.keyClick(dialog.cards, Qt.Key.Key_Return)
    shown(window)
    assert window.session.params == kept.params
    assert window.session.run.title == "Fast one"
    assert np.abs(window.frame.snapshot.pos - kept.pos).max() < 0.01
    dialog = gallery(window)
    QTest.keyClick(dialog.cards, Qt.Key.Key_End)
    for text, left in (("Keep", 1), ("Delete", 0)):
        asked = answer(text)
        QTest.keyClick(dialog.cards, Qt.Key.Key_Delete)
        assert asked == ["Delete your preset Fast one?"]
        assert len(own_presets.found()) == left
    assert dialog.cards.count() == len(preset_names())
    QTest.keyClick(dialog.cards, Qt.Key.Key_Home)
    QTest.keyClick(dialog.cards, Qt.Key.Key_Delete)
    assert QApplication.activeModalWidget() is dialog
    assert not dialog.delete.isVisible()


def test_a_name_that_cannot_be_is_said_at_once_and_nothing_is_kept(window):
    assert "'/'" in save_as(window, "a/b")
    assert "preset of bacsim" in save_as(window, "dilute")
    assert own_presets.found() == ()
    save_as(window, "one", rods=False)
    assert own_presets.load("one").start is None
    assert "Replaces your preset one" in save_as(window, "ONE")
    assert [own.name for own in own_presets.found()] == ["ONE"]


def test_a_broken_own_preset_is_shown_as_broken_and_opens_nothing(window):
    own_presets.folder().mkdir(parents=True, exist_ok=True)
    (own_presets.folder() / "bad.toml").write_text("[params]\nradius = -1")
    dialog = gallery(window)
    QTest.keyClick(dialog.cards, Qt.Key.Key_End)
    assert "bad.toml, line 2: radius = -1" in dialog.current.about
    build = window.session.wanted.build
    QTest.keyClick(dialog.cards, Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert window.session.wanted.build is build
    QTest.mouseClick(dialog.compare, Qt.MouseButton.LeftButton)
    assert not dialog.open_button.isEnabled()
    QTest.mouseClick(dialog.compare, Qt.MouseButton.LeftButton)


# A run as text


def press(window, key, shift=True):
    active(window.window())
    keys = Qt.KeyboardModifier.ControlModifier
    QTest.keyClick(window, key, keys | Qt.KeyboardModifier.ShiftModifier if shift else keys)


def test_a_run_is_copied_and_pasted_back(window):
    type_into(window.parameters.rows["F_prop"].number, "11")
    QTest.keyClick(window, Qt.Key.Key_N)
    shown(window)
    rods, seed = window.frame.snapshot.rods, window.session.seed
    press(window, Qt.Key.Key_C)
    text = QApplication.clipboard().text()
    assert text == f"bacsim-gui --preset=swarming --rods={RODS} --F_prop=11 --seed={seed}"
    window.session.load_run(load_preset("dilute", rods=RODS), "dilute")
    shown(window)
    window.canvas.native.setFocus()
    press(window, Qt.Key.Key_V, shift=False)
    shown(window)
    assert np.array_equal(window.frame.snapshot.rods, rods)
    assert (window.session.preset, window.session.seed) == ("swarming", seed)
    # What differs from the preset can be put back.
    row = window.parameters.rows["F_prop"]
    QTest.mouseClick(row.back, Qt.MouseButton.LeftButton)
    assert window.session.params.F_prop == 8


def test_obstacles_are_copied_and_pasted(window):
    obstacles = (Obstacle(5.0, 5.0, radius=2.0), Obstacle(9.0, 3.0, 1.5, 4.0))
    window.session.set_obstacles(obstacles)
    press(window, Qt.Key.Key_C)
    assert window.status_bar.said == f"Copied {QApplication.clipboard().text()}"
    window.session.set_obstacles([])
    window.canvas.native.setFocus()
    press(window, Qt.Key.Key_V, shift=False)
    shown(window)
    assert window.frame.snapshot.obstacles == obstacles


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "no text"), ("swarming F_prop=fast", "F_prop = 'fast'"), ("hello", "hello")],
)
def test_a_text_that_is_no_run_is_refused_by_name(window, text, words):
    QApplication.clipboard().setText(text)
    build = window.session.wanted.build
    press(window, Qt.Key.Key_V)
    assert words in window.banner.message.text()
    assert window.session.wanted.build is build
    window.session.dismiss_problem()


def test_keys_of_copy_and_paste_belong_to_a_field_that_has_the_keyboard(window):
    field = window.parameters.rows["F_prop"].number
    field.setFocus()
    field.selectAll()
    QApplication.clipboard().setText("7")
    press(field, Qt.Key.Key_V, shift=False)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert window.session.params.F_prop == 7
    assert window.session.problem is None


def test_what_a_copied_text_leaves_out_is_said(window):
    type_into(window.parameters.rows["rods"].number, "150")
    press(window, Qt.Key.Key_C)
    assert "not applied yet (rods)" in window.status_bar.said
    assert run_text.read(QApplication.clipboard().text()).run.setup.rods == RODS


# Files


def drag(window, *paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    copy, at = Qt.DropAction.CopyAction, QPoint(300, 300)
    for event in (
        QDragEnterEvent(at, copy, data, left, none), QDragMoveEvent(at, copy, data, left, none)
    ):  # fmt: skip
        QApplication.sendEvent(window, event)
        if not event.isAccepted():
            return None
    return data, QDropEvent(QPointF(at), copy, data, left, none)


def test_a_dropped_file_is_opened_and_the_window_says_so_before(window, tmp_path):
    path = tmp_path / "mine.toml"
    save_config(path, load_preset("contagion", rods=RODS))
    _data, drop = drag(window, path)
    assert window.drops.hint.isVisible()
    assert window.drops.text.text() == "Open mine.toml"
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert not window.drops.hint.isVisible()
    _data, drop = drag(window, path)
    QApplication.sendEvent(window, drop)
    assert not window.drops.hint.isVisible()
    until(lambda: window.session.run.title == "Contagion wave")
    assert window.session.params == load_config(path).params


def test_several_files_or_none_are_not_opened(window, tmp_path):
    build = window.session.wanted.build
    _data, drop = drag(window, tmp_path / "a.toml", tmp_path / "b.gsd")
    QApplication.sendEvent(window, drop)
    assert "One file at a time" in window.banner.message.text()
    window.session.dismiss_problem()
    _data, drop = drag(window, tmp_path / "notes.txt")
    QApplication.sendEvent(window, drop)
    until(lambda: window.session.problem is not None)
    assert "notes.txt" in window.banner.message.text()
    window.session.dismiss_problem()
    assert drag(window) is None
    assert window.session.wanted.build is build


def recent_menu(window):
    (file,) = [a.menu() for a in window.menuBar().actions() if a.text() == "&File"]
    (menu,) = [a.menu() for a in file.actions() if a.text() == "Open recent"]
    menu.aboutToShow.emit()
    return menu


def test_files_that_were_opened_are_in_the_menu_and_missing_ones_leave_it(window, tmp_path):
    assert [a.text() for a in recent_menu(window).actions()] == ["No file yet"]
    here, gone = tmp_path / "here & now.toml", tmp_path / "gone.toml"
    for path in (gone, here):
        save_config(path, load_preset("contagion", rods=RODS))
        window.files.open(path)
        until(lambda path=path: recent.read()[:1] == (path,))
    gone.unlink()
    begin(window)
    first, second, *_ = recent_menu(window).actions()
    assert "here && now.toml" in first.text()
    first.trigger()
    until(lambda: window.session.run.title == "Contagion wave")
    second.trigger()
    assert "gone.toml is no longer there" in window.banner.message.text()
    assert recent.read() == (here,)
    window.session.dismiss_problem()


# What is not applied yet


def test_values_that_wait_are_counted_on_the_button_and_in_the_title(window):
    panel, dock = window.parameters, window.arrangement.docks[0]
    assert dock.windowTitle() == "Parameters"
    type_into(panel.rows["rods"].number, "150")
    assert (panel.apply.text(), dock.windowTitle()) == ("Apply", "Parameters · 1")
    type_into(panel.rows["start_radius"].number, "15")
    assert panel.apply.text() == "Apply 2 changes"
    assert dock.windowTitle() == "Parameters · 2"
    QTest.mouseClick(panel.rows["start_radius"].back, Qt.MouseButton.LeftButton)
    QTest.mouseClick(panel.apply, Qt.MouseButton.LeftButton)
    assert dock.windowTitle() == "Parameters"
    shown(window)


def test_reset_keeps_what_waits_and_the_three_ways_say_how_they_differ(window):
    type_into(window.parameters.rows["rods"].number, "150")
    QTest.keyClick(window, Qt.Key.Key_R)
    assert window.session.unapplied == ("rods",)
    tips = [window.parameters.apply.toolTip(), *(
        action.toolTip() for action in (window.transport.reset, window.transport.new_seed)
    )]  # fmt: skip
    assert len(set(tips)) == 3
    assert "not applied" in window.transport.reset.toolTip()


@pytest.mark.parametrize("way", ["preset", "gallery", "paste", "file"])
def test_opening_something_else_asks_before_it_gives_up_what_waits(window, tmp_path, way):
    save_config(tmp_path / "mine.toml", load_preset("dilute", rods=RODS))
    QApplication.clipboard().setText(f"dilute rods={RODS}")

    def act():
        if way == "preset":
            window.transport.preset.setCurrentText("dilute")
            window.transport.preset.textActivated.emit("dilute")
        elif way == "gallery":
            dialog = gallery(window)
            click_card(dialog, preset_names().index("dilute"))
        elif way == "paste":
            press(window, Qt.Key.Key_V)
        else:
            window.files.open(tmp_path / "mine.toml")

    type_into(window.parameters.rows["rods"].number, "150")
    for button, title in (("Stay", "Swarming"), ("Open without", "Dilute")):
        asked = answer(button)
        act()
        until(lambda asked=asked: len(asked) > 0)
        until(lambda: QApplication.activeModalWidget() is None)
        assert "rods 200 → 150" in asked[0]
        assert window.session.run.title == title
        assert window.transport.preset.currentText() == window.session.preset
    assert window.session.unapplied == ()


def close_as_a_window_manager_does(window):
    """Send what the button in the frame of a window sends; Qt tells it from a call of close()."""
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = xcb.xcb_intern_atom_reply.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))

    def atom(name):
        asked = xcb.xcb_intern_atom(connection, 0, len(name), name)
        reply = xcb.xcb_intern_atom_reply(connection, asked, None)
        return ctypes.c_uint32.from_address(reply + 8).value

    atoms = atom(b"WM_PROTOCOLS"), atom(b"WM_DELETE_WINDOW")
    message = struct.pack("=BBHII5I", 33, 32, 0, int(window.winId()), *atoms, 0, 0, 0, 0)
    xcb.xcb_send_event(connection, 0, int(window.winId()), 0, message)
    atom(b"WM_PROTOCOLS")  # its answer says that the message has arrived before
    xcb.xcb_disconnect(connection)


@pytest.mark.skipif(sys.platform != "linux", reason="the message is one of X")
def test_closing_asks_before_it_gives_up_what_waits(window):
    type_into(window.parameters.rows["rods"].number, "150")
    for by_keys in (False, True):
        asked = answer("Stay")
        if by_keys:
            press(window, Qt.Key.Key_Q, shift=False)
        else:
            close_as_a_window_manager_does(window)
        until(lambda asked=asked: len(asked) > 0)
        live(0.05)
        assert window.isVisible()
        assert window.engine.is_alive()
        assert not window._closing
