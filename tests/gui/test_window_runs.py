# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that outlive the window: recorded, looked back at, saved, opened and gone on with.

One window and its one compile serve all tests of this file; each leaves it paused and usable.
"""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from PyQt6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer
from PyQt6.QtGui import QMouseEvent
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication, QFileDialog, QLineEdit, QPushButton, QSlider

from bacsim_gui import autosaves, documents
from bacsim_gui import timeline as timelines
from bacsim_gui.movie_files import metadata
from bacsim_gui.replay import driver_for, play
from engine.storage.trajectory import Trajectory
from tests.gui.events import live, type_into, until
from tests.gui.windows import RODS, a_window, begin, image, shown, step

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def one_window(qapp, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    autosave = folder / "autosave" / "own.bacsim"
    with a_window(qapp, folder, autosave=autosave, autosave_seconds=0.5) as made:
        made.autosave = autosave
        yield made


@pytest.fixture
def window(one_window):
    """The window, paused at the start of its preset."""
    begin(one_window)
    one_window.session.set_speed("3")
    return one_window


def drag(slider: QSlider, to: QPoint):
    """Sent as it is: QTest moves the pointer, which a screen may tell of late or never."""
    where, left = QPointF(to), Qt.MouseButton.LeftButton
    QApplication.sendEvent(
        slider,
        QMouseEvent(
            QEvent.Type.MouseMove, where, QPointF(slider.mapToGlobal(to)),
            Qt.MouseButton.NoButton, left, Qt.KeyboardModifier.NoModifier,
        ),
    )  # fmt: skip


def click(button: QPushButton):
    assert button.isEnabled()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def empty(field):
    """Delete what is in a field."""
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClick(field, Qt.Key.Key_Return)


def record(window, kind, frames, size=("128", "96")):
    """Begin to record by the panel, a run that goes on, and wait for so many frames."""
    panel = window.recording
    panel.kind.setCurrentIndex(panel.kind.findData(kind))
    panel.kind.activated.emit(panel.kind.currentIndex())
    type_into(panel.width_field, size[0])
    type_into(panel.height_field, size[1])
    had = window.engine.status.saved
    window.session.set_running(True)
    click(panel.record)
    until(lambda: window.session.movie is None or written(window) >= frames)
    return had


def written(window):
    status = window.engine.status
    return status.movie_frames if status.movie is not None and status.finishing is None else 0


def saved(window, had):
    """Wait until another file than `had` is saved; the run is paused then."""
    until(lambda: window.engine.status.saved != had)
    window.session.set_running(False)
    shown(window)
    return window.engine.status.saved


def look_back(window, to):
    """Drag the slider, key by key, to the state of step `to`."""
    bar = window.past_bar
    until(lambda: bar.slider.maximum() == len(window.scrubber.past) - 1)
    bar.slider.setFocus()
    for _ in range(len(window.scrubber.past)):
        QTest.keyClick(bar.slider, Qt.Key.Key_Left)
        if window.session.looking.step <= to:
            break
    assert window.session.looking.step == to


def test_a_trajectory_is_recorded_by_the_panel_and_its_frames_are_looked_at(window):
    panel = window.recording
    assert panel.quality.isVisible()
    panel.kind.setCurrentIndex(panel.kind.findData(".gsd"))
    panel.kind.activated.emit(panel.kind.currentIndex())
    assert not panel.quality.isVisible()
    assert not panel.width_field.isVisible()
    type_into(panel.until, "30")
    had = window.engine.status.saved
    click(panel.record)
    QTest.keyClick(window, Qt.Key.Key_Space)
    until(lambda: window.session.movie is None)
    path = saved(window, had)
    empty(panel.until)
    until(lambda: path.name in panel.progress.text())
    with Trajectory(path) as kept:
        assert [frame.step for frame in kept] == list(range(0, 31, 3))
        frames = [frame.rods for frame in kept]
    assert timelines.sidecar(path).exists()

    present = window.frame.snapshot
    window.files.open(path)
    until(lambda: window.session.looking is not None)
    bar = window.past_bar
    bar.slider.setFocus()
    for _ in range(4):
        QTest.keyClick(bar.slider, Qt.Key.Key_Right)
    until(lambda: window.session.looking.step == 12)
    assert np.array_equal(window.shown.rods, frames[4])
    assert path.name in bar.what.toolTip() + bar.what.text()
    assert not window.transport.run.isEnabled()
    click(bar.now)
    assert window.shown is present
    assert window.transport.run.isEnabled()
    assert window.session.problem is None


def test_a_run_goes_on_from_a_frame_of_a_file(window):
    panel = window.recording
    panel.kind.setCurrentIndex(panel.kind.findData(".gsd"))
    panel.kind.activated.emit(panel.kind.currentIndex())
    had = window.engine.status.saved
    click(panel.record)
    for _ in range(6):
        step(window)
    click(panel.record)
    path = saved(window, had)
    window.session.new_seed()
    shown(window)
    window.files.open(path)
    until(lambda: window.session.looking is not None)
    QTest.keyClick(window.past_bar.slider, Qt.Key.Key_End)
    until(lambda: window.session.looking.step == 6)
    rods = window.session.looking.rods
    click(window.past_bar.go_on)
    shown(window)
    assert np.array_equal(window.frame.snapshot.rods, rods)
    assert step(window).step == 7
    assert len(window.scrubber.past) == 2


def test_a_gif_is_made_with_progress_and_can_be_cancelled(window):
    panel = window.recording
    record(window, ".gif", 40, ("640", "480"))
    assert window.past_bar.slider.isEnabled() is False
    assert "recording" in window.past_bar.toolTip()
    click(panel.record)
    until(lambda: window.engine.status.finishing is not None)
    until(panel.progress.cancel.isVisible)
    assert "Making" in panel.progress.text()
    click(panel.progress.cancel)
    until(lambda: window.session.problem is not None)
    assert "cancelled" in window.session.problem.message
    assert window.session.running
    assert not panel.progress.cancel.isVisible()
    window.session.dismiss_problem()
    had = record(window, ".gif", 10)
    click(panel.record)
    path = saved(window, had)
    with Image.open(path) as made:
        assert made.size == (128, 96)
        assert made.n_frames >= 10


def test_a_recording_may_begin_later_and_says_so(window):
    panel = window.recording
    type_into(panel.delay, "60")
    click(panel.record)
    until(lambda: "Begins in" in panel.progress.text())
    assert window.engine.status.movie is None
    click(panel.record)
    empty(panel.delay)
    assert window.session.movie_settings.delay == 0


def test_a_branch_goes_on_from_an_earlier_state_and_replays_with_the_same_bits(window):
    for _ in range(8):
        step(window)
    present = window.frame.snapshot
    look_back(window, 5)
    seen, rods = window.session.looking, window.session.looking.rods.copy()
    assert window.shown is seen
    assert "step 5" in window.past_bar.when.text()
    assert window.past_bar.what.text() == "looking back"
    type_into(window.parameters.rows["F_prop"].number, "11")
    assert window.session.wanted.params == present.params
    live(0.1)
    assert window.frame.snapshot.params.F_prop == 8
    click(window.past_bar.go_on)
    shown(window)
    until(lambda: window.frame.snapshot.params.F_prop == 11)
    assert window.frame.snapshot.step == 5
    assert np.array_equal(window.frame.snapshot.rods, rods)
    window.scrubber.show()
    assert window.past_bar.slider.maximum() == len(window.scrubber.past) - 1
    assert window.scrubber.past.at(-1).step == 5
    assert window.scrubber.past.at(0).step == 0

    panel = window.recording
    panel.kind.setCurrentIndex(panel.kind.findData(".gsd"))
    panel.kind.activated.emit(panel.kind.currentIndex())
    had = window.engine.status.saved
    click(panel.record)
    for _ in range(3):
        assert step(window).params.F_prop == 11
    type_into(window.parameters.rows["w_a"].number, "1.5")
    until(lambda: window.frame.snapshot.params.w_a == 1.5)
    step(window)
    click(panel.record)
    path = saved(window, had)
    line = timelines.load(timelines.sidecar(path))
    assert line.head.first_step == 5
    driver, _ = driver_for(line.head, path.parent)
    moments = list(play(line, driver, lambda _: None, until=9))
    assert [moment.same for moment in moments if moment.event.kind == "frame"] == [True] * 2
    assert np.array_equal(driver.snapshot().rods, window.frame.snapshot.rods)
    assert driver.params == replace(present.params, F_prop=11.0, w_a=1.5)


def test_what_is_kept_is_played_to_the_present(window):
    for _ in range(6):
        step(window)
    present, bar, seen = window.frame.snapshot, window.past_bar, []
    window.session.changed.connect(lambda: seen.append(window.shown.step))
    click(bar.play)
    assert window.session.looking.step == 0
    until(lambda: not bar.play.isChecked())
    assert window.session.looking is None
    assert window.shown is present
    assert list(dict.fromkeys(seen)) == list(range(7))
    look_back(window, 2)
    click(bar.play)
    click(bar.play)  # held
    live(0.1)
    assert window.session.looking.step < 6
    click(bar.now)


def test_back_to_now_restores_the_present(window):
    for _ in range(4):
        step(window)
    present = window.frame.snapshot
    look_back(window, 2)
    type_into(window.parameters.rows["F_prop"].number, "11")
    click(window.past_bar.now)
    assert window.shown is present
    assert window.session.params == present.params
    assert step(window).step == 5
    # The last state of the bar is the present as well.
    look_back(window, 4)
    QTest.keyClick(window.past_bar.slider, Qt.Key.Key_Right)
    assert window.session.looking is None


def test_a_drag_shows_the_past_at_once_and_pauses(window):
    window.session.set_running(True)
    until(lambda: window.past_bar.slider.maximum() >= 8)
    slider = window.past_bar.slider
    middle = slider.rect().center()
    QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=middle)
    first = window.session.looking
    assert window.shown is first
    assert not window.session.wanted.running
    assert abs(slider.value() / slider.maximum() - 0.5) < 0.2
    drag(slider, QPoint(2, middle.y()))
    assert window.session.looking is window.scrubber.past.at(0)
    live(0.3)
    assert window.shown is window.scrubber.past.at(0)
    QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=QPoint(2, middle.y()))
    window.files.draw()
    until(lambda: not window.files.drawing.busy)
    (picture,) = window.session.movie_settings.folder.glob("*.png")
    assert metadata(picture)["step"] == "0"
    assert np.abs(image(picture) - window.canvas.grab().astype(int)).mean() < 6
    # It goes on, as it ran before.
    click(window.past_bar.now)
    assert window.session.running


def test_another_run_forgets_the_past_and_a_refused_one_does_not(window):
    for _ in range(3):
        step(window)
    type_into(window.parameters.rows["rods"].number, "2000000000")
    click(window.parameters.apply)
    until(window.parameters.rows["rods"].refusal.isVisible)
    live(0.1)
    assert len(window.scrubber.past) == 4
    window.parameters.rows["rods"].back.click()
    QTest.keyClick(window, Qt.Key.Key_R)
    shown(window)
    assert len(window.scrubber.past) == 1


def test_a_checkpoint_brings_back_rods_view_and_speed(window, tmp_path):
    for _ in range(5):
        step(window)
    window.canvas.view = replace(window.canvas.view, zoom=2.5, center=(9.0, 9.0))
    kept, then = window.frame.snapshot, []
    path = tmp_path / "kept.bacsim"

    def answer():
        dialog = window.findChild(QFileDialog)
        # The ending is added by the dialog.
        dialog.findChild(QLineEdit, "fileNameEdit").setText(str(path.with_suffix("")))
        dialog.accept()

    QTimer.singleShot(300, answer)
    window.files.save_checkpoint()
    until(lambda: window.engine.status.kept == path)
    window.activateWindow()
    until(window.isActiveWindow)
    then = [step(window).rods for _ in range(3)]
    type_into(window.parameters.rows["F_prop"].number, "2")
    window.session.set_speed("9")
    window.canvas.reset_view()
    step(window)
    window.files.open(path)
    until(lambda: window.session.wanted.build.reason == "checkpoint")
    shown(window)
    assert window.frame.snapshot.step == 5
    assert np.array_equal(window.frame.snapshot.rods, kept.rods)
    assert window.session.params == kept.params
    assert (window.session.K, window.canvas.view.zoom) == (3, 2.5)
    assert [np.array_equal(step(window).rods, rods) for rods in then] == [True] * 3
    window.canvas.reset_view()


def test_an_autosave_is_written_and_resumed(window, monkeypatch):
    monkeypatch.setattr(autosaves, "folder", lambda: window.autosave.parent)
    window.autosave.unlink(missing_ok=True)
    QTest.keyClick(window, Qt.Key.Key_Space)
    until(window.autosave.exists)
    window.session.set_running(False)
    until(lambda: window.engine.status.phase == "paused")
    kept = documents.read(window.autosave).kept
    window.session.new_seed()
    shown(window)
    window.files.resume_autosave()
    until(lambda: window.session.wanted.build.reason == "checkpoint")
    shown(window)
    assert window.frame.snapshot.step >= kept.step > 0
    assert window.session.seed == kept.seed
    assert window.session.run.title == "Swarming"
    assert window.engine.status.autosave_problem == ""


def test_a_timeline_opens_as_its_run_and_says_how_to_follow_it(window, tmp_path):
    line = timelines.Timeline(window.engine._worker._timeline.head)
    line.keep(tmp_path / "told.timeline").close()
    window.session.new_seed()
    shown(window)
    window.files.open(tmp_path / "told.timeline")
    until(lambda: window.session.wanted.build.reason == "file")
    shown(window)
    assert window.session.seed == line.head.seed
    assert "bacsim replay" in window.status_bar.said


@pytest.mark.parametrize("name", ["x.bacsim", "x.gsd", "x.timeline", "x.toml", "x.txt"])
def test_a_file_that_is_none_is_refused_in_the_banner(window, tmp_path, name):
    (tmp_path / name).write_bytes(b"\x00\xff nonsense")
    window.files.open(tmp_path / name)
    until(lambda: window.session.problem is not None)
    assert name in window.banner.message.text()
    assert window.session.setup.rods == RODS
    window.session.dismiss_problem()


def test_a_state_of_another_size_cannot_replace_a_recording_under_way(window):
    had = record(window, ".gsd", 3)
    window.session.set_running(False)
    click(window.recording.record)
    path = saved(window, had)
    click(window.recording.record)
    until(lambda: window.engine.status.movie is not None)
    window.files.open(path)
    until(lambda: window.session.problem is not None)
    assert "was not opened" in window.session.problem.message
    window.session.dismiss_problem()
    click(window.recording.record)
