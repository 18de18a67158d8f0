# SPDX-License-Identifier: GPL-3.0-or-later
"""The window for every screen and everybody: nothing cut off, all named, all reached by keys."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QTest

from bacsim_gui.bootstrap import child_environment
from bacsim_gui.panels.picture_dialog import PictureDialog
from tests.gui.events import live, until
from tests.gui.fitting import cut_off, faults, name_of, reachable
from tests.gui.windows import begin

pytestmark = pytest.mark.gl


@pytest.fixture
def window(one_window):
    one_window.resize(1200, 900)
    begin(one_window)
    one_window.canvas.native.setFocus()
    yield one_window
    one_window.desk.set_text_size(100)


def test_everything_that_can_have_the_keyboard_has_a_name(window):
    found = reachable(window)
    assert len(found) > 70
    assert [type(widget).__name__ for widget in found if not name_of(widget)] == []
    dialog = PictureDialog((640, 480), Path("movies"))
    assert len(reachable(dialog)) >= 5
    assert all(name_of(widget) for widget in reachable(dialog))


def test_names_tell_the_parameter_and_what_it_means(window):
    row = window.parameters.rows["k_cc"]
    for widget in (row.slider, row.number):
        assert widget.accessibleName() == "k_cc f/l"
        assert widget.accessibleDescription() == row.field.doc
    assert window.recording.width_field.accessibleName() == "width in pixels"


def test_the_tab_key_goes_through_the_window_as_one_reads_it(window):
    order = reachable(window)
    wanted = [
        window.transport.seed, window.transport.speed, window.transport.auto,
        window.transport.preset, window.canvas.native, window.past_bar.slider,
        window.parameters.rows["space_size"].slider, window.parameters.rows["space_size"].number,
        window.parameters.rows["start_radius"].number, window.view_panel.coloring.colormap,
        window.view_panel.reset, window.recording.kind, window.recording.record,
    ]  # fmt: skip
    assert [order.index(widget) for widget in wanted] == sorted(map(order.index, wanted))
    # And it leaves the picture again, which takes other keys for itself.
    window.canvas.native.setFocus()
    QTest.keyClick(window.canvas.native, Qt.Key.Key_Tab)
    assert window.focusWidget() is not window.canvas.native
    reached = set()
    for _ in range(len(order) + 5):
        reached.add(window.focusWidget())
        QTest.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
    missed = [w for w in order if w.isVisible() and w.isEnabled() and w not in reached]
    assert missed == []


def test_return_presses_what_has_the_keyboard_and_space_runs_all_the_same(window):
    box = window.transport.auto
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert window.session.auto
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert not window.session.auto
    QTest.keyClick(box, Qt.Key.Key_Space)
    assert window.session.running
    until(lambda: window.past_bar.slider.maximum() > 2)
    window.past_bar.slider.setFocus()
    QTest.keyClick(window.past_bar.slider, Qt.Key.Key_Home)
    until(lambda: window.session.looking is not None)
    window.past_bar.now.setFocus()
    QTest.keyClick(window.past_bar.now, Qt.Key.Key_Return)
    assert window.session.looking is None
    row = window.parameters.rows["w_a"]
    row.number.setFocus()
    QTest.keyClick(row.number, Qt.Key.Key_Up)
    row.back.setFocus()
    QTest.keyClick(row.back, Qt.Key.Key_Return)
    assert window.session.value("w_a") == window.session.default("w_a")
    preset = window.transport.preset
    preset.setFocus()
    QTest.keyClick(preset, Qt.Key.Key_Return)
    assert preset.view().isVisible()
    preset.hidePopup()


@pytest.mark.parametrize("text", [100, 200])
def test_nothing_is_cut_off_from_a_small_screen_to_a_large_one(window, text):
    window.desk.set_text_size(text)
    for size in ((1024, 700), (1500, 940), (3840, 2160)):
        window.resize(*size)
        live(0.1)
        assert (window.width(), window.height()) == size
        assert faults(window) == []


def test_what_has_no_room_is_found(window):
    """The check itself: a label and a button that are too small for their words."""
    window.resize(1024, 700)
    window.arrangement.show_panel(window.parameters)
    live(0.05)
    name, button = window.parameters.rows["k_cc"].name, window.past_bar.go_on
    wide = name.width()
    name.setFixedWidth(10)
    button.setMaximumWidth(40)
    live(0.05)
    found = cut_off(window)
    name.setFixedWidth(wide)
    button.setMaximumWidth(16777215)
    assert len(found) == 2


@pytest.mark.parametrize(("text", "sentences"), [(100, 12), (200, 3), (200, 30)])
def test_the_notes_of_a_run_and_of_a_problem_have_room(window, text, sentences):
    window.desk.set_text_size(text)
    window.resize(1024, 700)
    window.session.show_problem("Something went wrong. " * sentences)
    window.session.edit("dt", 0.2)
    window.session.edit("rods", 150)
    live(0.1)
    assert window.banner.isVisible()
    assert window.parameters.warning_box.isVisible()
    assert faults(window) == []
    window.session.dismiss_problem()


def test_a_problem_in_the_place_of_another_has_its_own_height(window):
    window.resize(1200, 900)
    for sentences in (1, 12, 1):
        window.session.show_problem("Something went wrong. " * sentences)
        live(0.1)
        message = window.banner.message
        needed = message.heightForWidth(message.width())
        assert needed <= message.height() <= needed + 20
        assert needed + 16 <= window.banner.height() <= needed + 40
    window.session.dismiss_problem()


SCALED = """
import sys
from pathlib import Path
from bacsim_gui.bootstrap import prepare_window
prepare_window()
from PyQt6.QtWidgets import QApplication
from tests.gui.windows import a_window, shown
from tests.gui.events import live
from tests.gui.fitting import faults
app, ratio, found = QApplication([]), float(sys.argv[1]), []
with a_window(app, Path(sys.argv[2])) as window:
    window.session.set_running(False)
    shown(window)
    for size in ((1024, 700), (1500, 940)):
        window.resize(*size)
        live(0.1)
        assert window.canvas.native.devicePixelRatioF() == ratio
        found += [f"{size}: {fault}" for fault in faults(window)]
print(*found, sep="\\n", end="")
"""


@pytest.mark.parametrize("ratio", ["1.25", "1.5", "2"])
def test_on_a_screen_of_another_resolution_nothing_is_cut_off(ratio, tmp_path):
    environment = {**child_environment(), "QT_SCALE_FACTOR": ratio}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", SCALED, ratio, str(tmp_path)],
        env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
