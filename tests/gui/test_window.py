# SPDX-License-Identifier: GPL-3.0-or-later
"""The real window on the real engine, driven as a user drives it.

One window and its one compile serve all tests of this file; each leaves it paused and usable.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import Qt, QTimer
from PyQt6.QtTest import QTest

from bacsim_gui.colors import colors
from bacsim_gui.movie_files import metadata
from bacsim_gui.panels.picture_dialog import PictureDialog
from bacsim_gui.presets import load_preset
from bacsim_gui.view import camera
from engine import schema
from engine.schema import PARAM_FIELDS
from tests.gui.conftest import decoded
from tests.gui.events import live, type_into, until
from tests.gui.windows import RODS, begin, image, shown, step

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module", autouse=True)
def no_trust():
    """The program that measures trust is compiled after seconds, in the midst of any test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bacsim_gui.engine_worker.FIRST_TRUST_SECONDS", math.inf)
        yield


@pytest.fixture
def window(one_window):
    """The window, paused at the start of its preset."""
    begin(one_window)
    return one_window


def compiles(window):
    return window.engine.status.stats.compiles


def colours_of_rods(window):
    """The pixel at each rod's centre, and the colour that its activity should have."""
    snapshot, picture = window.frame.snapshot, window.canvas.grab()
    at = camera(window.canvas.view, snapshot.params.space_size, window.canvas.size)
    table = colors(window.canvas.view.map_name)
    seen, meant = [], []
    for x, y, _, activity in snapshot.rods:
        px, py = at.to_picture(float(x), float(y))
        seen.append(picture[int(py), int(px)])
        meant.append(table[round(float(activity) * 255)])
    return np.array(seen, int), np.array(meant, int)


def test_every_rod_is_shown_in_the_colour_of_its_activity(window):
    type_into(window.parameters.rows["activity_thresh"].number, "4")
    for _ in range(3):
        step(window)
    seen, meant = colours_of_rods(window)
    off = np.abs(seen - meant).max(axis=1)
    assert len(off) == RODS
    # A soft rod may lie a little over the centre of another.
    assert np.mean(off < 25) > 0.95
    activity = window.frame.snapshot.activity
    assert activity.min() < 0.2
    assert activity.max() > 0.8


def test_a_moved_slider_changes_the_next_step_and_compiles_nothing(window):
    slider = window.parameters.rows["activity_thresh"].slider
    had = compiles(window)
    slider.setFocus()
    QTest.keyClick(slider, Qt.Key.Key_End)
    assert window.session.params.activity_thresh == 20
    assert window.parameters.rows["activity_thresh"].number.text() == "20"
    step(window)
    assert step(window).activity.max() < 0.2
    asleep, _ = colours_of_rods(window)
    QTest.keyClick(slider, Qt.Key.Key_Home)
    step(window)
    assert step(window).activity.min() > 0.8
    awake, _ = colours_of_rods(window)
    assert np.abs(awake - asleep).mean() > 40
    assert compiles(window) == had


def test_every_slider_reaches_the_engine_and_compiles_nothing(window):
    had = compiles(window)
    for field in (f for f in PARAM_FIELDS if f.name in window.parameters.rows):
        slider = window.parameters.rows[field.name].slider
        slider.setFocus()
        QTest.keyClick(slider, Qt.Key.Key_Right)
        assert window.session.value(field.name) != window.session.default(field.name), field.name
    until(lambda: window.frame.snapshot.params == window.session.params)
    step(window)
    assert compiles(window) == had
    assert window.session.problem is None


def test_a_typed_value_outside_the_slider_is_taken(window):
    row = window.parameters.rows["activity_thresh"]
    type_into(row.number, "35.25")
    until(lambda: window.frame.snapshot.params.activity_thresh == 35.25)
    assert row.slider.value() == row.slider.maximum()
    assert row.refusal.isHidden()


def test_a_meaningless_value_is_refused_by_name_and_the_field_goes_back(window):
    row = window.parameters.rows["radius"]
    type_into(row.number, "-1")
    assert row.number.text() == "0.5"
    assert row.refusal.isVisible()
    assert "radius" in row.refusal.text()
    assert "-1" in row.refusal.text()
    assert window.session.params.radius == 0.5
    type_into(row.number, "0.45")
    assert row.refusal.isHidden()
    until(lambda: window.frame.snapshot.params.radius == 0.45)


def test_a_changed_parameter_can_be_put_back(window):
    row = window.parameters.rows["F_prop"]
    assert not row.back.isVisible()
    type_into(row.number, "3")
    assert row.back.isVisible()
    QTest.mouseClick(row.back, Qt.MouseButton.LeftButton)
    assert window.session.params.F_prop == 8
    assert not row.back.isVisible()


def test_an_unsafe_dt_is_warned_of_and_mended_by_a_button(window):
    panel = window.parameters
    assert panel.warning_box.isHidden()
    type_into(panel.rows["dt"].number, "0.006")
    assert panel.warning_box.isVisible()
    assert "dt" in panel.warning.text()
    QTest.mouseClick(panel.safe_dt, Qt.MouseButton.LeftButton)
    assert panel.warning_box.isHidden()
    assert window.session.params.dt == schema.largest_safe_dt(
        window.session.setup, window.session.params
    )


def test_space_runs_and_pauses(window):
    QTest.keyClick(window, Qt.Key.Key_Space)
    assert window.session.running
    until(lambda: window.frame.snapshot.step > 0)
    QTest.keyClick(window, Qt.Key.Key_Space)
    assert not window.session.running
    until(lambda: window.engine.status.phase == "paused")
    live(0.1)
    stood = window.frame.snapshot.step
    live(0.3)
    assert window.frame.snapshot.step == stood


def test_space_also_pauses_while_a_number_field_has_the_keyboard(window):
    field = window.parameters.rows["length"].number
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Space)
    assert window.session.running
    assert field.text() == "4"


def test_reset_gives_the_same_bits_and_a_new_seed_others(window):
    QTest.keyClick(window, Qt.Key.Key_N)
    shown(window)
    first = window.frame.snapshot.rods
    for _ in range(3):
        after = step(window).rods
    QTest.keyClick(window, Qt.Key.Key_R)
    shown(window)
    assert window.frame.snapshot.step == 0
    assert np.array_equal(window.frame.snapshot.rods, first)
    type_into(window.transport.speed, "3")
    QTest.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ShiftModifier)
    until(lambda: window.frame.snapshot.step == 3)
    assert np.array_equal(window.frame.snapshot.rods, after)
    QTest.keyClick(window, Qt.Key.Key_N)
    shown(window)
    assert not np.array_equal(window.frame.snapshot.rods, first)


def test_a_seed_can_be_typed_and_nonsense_is_refused(window):
    type_into(window.transport.seed, "many")
    assert "seed" in window.status_bar.said
    type_into(window.transport.seed, "77")
    shown(window)
    assert window.session.seed == 77
    assert window.transport.seed.text() == "77"


def test_auto_speed_is_shown_and_left_again(window):
    type_into(window.transport.speed, "1")
    had = compiles(window)
    window.session.set_running(True)
    window.transport.auto.click()
    until(lambda: window.frame.K > 3)
    until(lambda: window.transport.speed.text() == str(window.frame.K))
    assert not window.transport.speed.isEnabled()
    window.transport.auto.click()
    assert window.transport.speed.isEnabled()
    assert window.session.K > 3
    assert compiles(window) == had


def test_an_engine_error_is_shown_and_the_run_resumed(window):
    window.session.set_running(True)
    until(lambda: window.frame.snapshot.step > 0)
    type_into(window.parameters.rows["dt"].number, "1e30")
    until(lambda: window.session.problem is not None)
    assert window.banner.isVisible()
    assert "dt" in window.banner.message.text()
    assert not window.session.running
    assert np.isfinite(window.frame.snapshot.rods).all()
    QTest.mouseClick(window.parameters.safe_dt, Qt.MouseButton.LeftButton)
    stood = window.frame.snapshot.step
    QTest.keyClick(window, Qt.Key.Key_Space)
    until(lambda: window.frame.snapshot.step > stood)
    assert window.banner.isHidden()


def test_a_rebuild_that_is_refused_keeps_the_run_that_was(window):
    type_into(window.parameters.rows["start_radius"].number, "15")
    type_into(window.parameters.rows["rods"].number, "2000000000")
    QTest.mouseClick(window.parameters.apply, Qt.MouseButton.LeftButton)
    row = window.parameters.rows["rods"]
    until(row.refusal.isVisible)
    assert "memory" in row.refusal.text()
    assert window.session.setup.rods == RODS
    step(window)


def test_the_view_changes_the_picture_and_keeps_the_mouse_s_zoom(window):
    window.canvas.view = replace(window.canvas.view, center=(10.0, 10.0), zoom=3.0)
    window.view_panel.edited.emit("background", "white")
    assert window.canvas.view.zoom == 3
    live(0.1)
    assert window.canvas.grab()[2, 2].min() > 240
    QTest.mouseClick(window.view_panel.reset, Qt.MouseButton.LeftButton)
    assert window.canvas.view.zoom == 1
    window.view_panel.edited.emit("background", "dark")


def test_a_recorded_movie_shows_rods_that_move(window):
    panel = window.recording
    type_into(panel.width_field, "321")
    assert "even" in window.status_bar.said
    type_into(panel.width_field, "320")
    type_into(panel.height_field, "240")
    window.session.set_running(True)
    QTest.mouseClick(panel.record, Qt.MouseButton.LeftButton)
    until(lambda: window.engine.status.movie_frames > 10)
    live(0.3)
    assert "frames written" in panel.progress.text()
    assert not panel.kind.isEnabled()
    # A letter typed into a field is no shortcut; a value entered gives the keyboard back.
    number = window.parameters.rows["F_prop"].number
    number.setFocus()
    QTest.keyClicks(number, "mn")
    assert window.engine.status.movie_frames > 0
    number.selectAll()
    QTest.keyClicks(number, "9")
    QTest.keyClick(number, Qt.Key.Key_Return)
    assert not number.hasFocus()
    assert window.engine.status.saved is None
    QTest.keyClick(window, Qt.Key.Key_M)
    until(lambda: window.engine.status.saved is not None)
    path = window.engine.status.saved
    frames = decoded(path, (320, 240)).astype(int)
    assert len(frames) > 10
    # Rods in several colours, and they move.
    assert len(np.unique(frames[0].reshape(-1, 3), axis=0)) > 100
    assert np.abs(frames[-1] - frames[0]).max() > 60
    until(lambda: path.name in panel.progress.text())


def test_a_profiler_trace_is_written(window):
    window.transport.trace_wanted.emit()
    until(lambda: window.engine.status.traced is not None)
    summary = window.engine.status.traced
    assert summary.stat().st_size > 0
    assert list(summary.parent.glob("*.json.gz"))


def drawn(window):
    """Wait until no picture is being made."""
    until(lambda: not window.files.drawing.busy)


def test_a_screenshot_shows_what_the_window_shows_and_tells_the_parameters(window):
    folder = window.session.movie_settings.folder
    QTest.keyClick(window, Qt.Key.Key_P)
    drawn(window)
    (path,) = folder.glob("*.png")
    assert f"Saved {path}" in window.status_bar.said
    made, seen = image(path), window.canvas.grab().astype(int)
    assert made.shape == seen.shape
    # Its edges are smoothed, those in the window are not.
    assert np.abs(made - seen).mean() < 6
    about = metadata(path)
    assert about["seed"] == str(window.session.seed)
    assert json.loads(about["parameters"])["params"]["F_prop"] == 8


def test_a_picture_of_another_size_is_asked_for_in_a_dialog(window):
    folder = window.session.movie_settings.folder
    had = set(folder.glob("*.png"))

    def answer():
        dialog = window.findChild(PictureDialog)
        dialog.choice.setCurrentIndex(2)
        dialog.choice.activated.emit(2)
        assert dialog.size_wanted == (1920, 1080)
        dialog.height_field.setValue(1000)
        assert dialog.choice.currentIndex() == -1
        dialog.accept()

    QTimer.singleShot(200, answer)
    window.files.ask_and_draw()
    drawn(window)
    (path,) = set(folder.glob("*.png")) - had
    made = image(path)
    assert made.shape == (1000, 1920, 3)
    assert len(np.unique(made.reshape(-1, 3), axis=0)) > 100


def test_two_screenshots_in_one_second_are_two_files(window):
    folder = window.session.movie_settings.folder
    had = set(folder.glob("*.png"))
    for _ in range(3):
        QTest.keyClick(window, Qt.Key.Key_P)
    drawn(window)
    assert len(set(folder.glob("*.png")) - had) == 3


def test_a_folder_that_cannot_be_written_is_said_plainly(window, tmp_path):
    (tmp_path / "file").touch()
    folder = window.session.movie_settings.folder
    window.session.set_movie("folder", tmp_path / "file")
    QTest.keyClick(window, Qt.Key.Key_P)
    drawn(window)
    assert "The picture could not be saved" in window.session.problem.message
    window.session.dismiss_problem()
    window.transport.trace_wanted.emit()
    until(lambda: window.session.problem is not None)
    assert "The trace cannot be written" in window.session.problem.message
    window.session.set_movie("folder", folder)
    window.session.dismiss_problem()


def test_rods_within_the_capacity_are_added_and_taken_without_a_compile(window):
    had, capacity = compiles(window), window.engine.status.stats.capacity
    assert capacity > RODS
    for rods in (capacity, RODS - 5):
        type_into(window.parameters.rows["rods"].number, str(rods))
        QTest.mouseClick(window.parameters.apply, Qt.MouseButton.LeftButton)
        shown(window)
        assert window.frame.snapshot.n == rods
        step(window)
    assert (compiles(window), window.engine.status.stats.capacity) == (had, capacity)


# What compiles another program comes last, so that the others share one.


def test_a_setup_change_waits_for_the_button_and_compiles_once(window):
    had, phi = (
        compiles(window),
        schema.packing_fraction(window.session.setup, window.session.params),
    )
    row = window.parameters.rows["rods"]
    type_into(row.number, "150")
    assert "●" in row.name.text()
    live(0.1)
    assert window.frame.snapshot.n == RODS
    QTest.mouseClick(window.parameters.apply, Qt.MouseButton.LeftButton)
    shown(window)
    assert window.frame.snapshot.n == 150
    assert "●" not in row.name.text()
    assert compiles(window) == had + 1
    assert window.engine.status.stats.last.reason == "rods"
    assert schema.packing_fraction(window.session.setup, window.session.params) == pytest.approx(
        phi
    )
    assert window.statistics.compile.text("compiles") == str(had + 1)


def test_presets_can_be_chosen_and_say_what_to_look_for(window):
    names = [window.transport.preset.itemText(i) for i in range(window.transport.preset.count())]
    assert {"dilute", "swarming", "turbulence", "contagion", "circle-swimmers"} <= set(names)
    window.transport.preset_chosen.emit("dilute")
    shown(window)
    run = load_preset("dilute")
    assert window.session.params == run.params
    assert window.frame.snapshot.n == run.setup.rods
    assert run.look_for in window.parameters.about.text()


def test_the_statistics_show_a_list_only_where_there_is_one(window):
    until(lambda: window.statistics.program.text("kernel") == "neighbours")
    assert window.statistics.program.text("chosen").startswith("auto")
    assert window.statistics.lists.text("neighbours a rod") == "–"
    step(window)
    until(lambda: "most" in window.statistics.lists.text("neighbours a rod"))
    assert not window.statistics.lists.isHidden()
    window.parameters.edited.emit("kernel", "rowsum")
    QTest.mouseClick(window.parameters.apply, Qt.MouseButton.LeftButton)
    shown(window)
    until(lambda: window.statistics.program.text("kernel") == "rowsum")
    assert window.statistics.program.text("chosen") == "as asked for"
    assert window.statistics.lists.isHidden()
