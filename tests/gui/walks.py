# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten things that people come for, done with mouse and keys on the real window.

Each walk checks what it arrives at. The tests walk them all, and so does the script that makes the
guide; `look(name)` is called where the guide has a picture.
"""

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PyQt6.QtCore import QPoint, Qt, QTimer
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication, QCheckBox, QFileDialog, QLineEdit, QWidget

from bacsim_gui.encoder import ffmpeg_program
from bacsim_gui.window import Window
from engine.pick import distances, rods_within
from tests.gui.events import live, type_into, until
from tests.gui.windows import drag, shown

Look = Callable[[str], None]
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
LEFT = Qt.MouseButton.LeftButton


def press(window: Window, key: Qt.Key, keys: Qt.KeyboardModifier | None = None) -> None:
    """Press a key of the window, with nothing else in the hand."""
    window.activateWindow()
    until(window.isActiveWindow)
    QTest.keyClick(window, key, keys or Qt.KeyboardModifier.NoModifier)


def click(widget: QWidget) -> None:
    """Click what is in sight."""
    assert widget.isEnabled()
    assert widget.isVisible(), widget
    # The box of a check box is at its left.
    at = (
        QPoint(9, widget.height() // 2) if isinstance(widget, QCheckBox) else widget.rect().center()
    )
    QTest.mouseClick(widget, LEFT, pos=at)


def panel(window: Window, title: str) -> None:
    """Go to a panel by its key."""
    docks = [dock.windowTitle().split(" (")[0] for dock in window.arrangement.docks]
    press(window, Qt.Key(Qt.Key.Key_1 + docks.index(title)), CTRL)
    live(0.05)


def run_on(window: Window, steps: int) -> None:
    """Press Space, wait for so many steps, and press it again."""
    to = window.frame.snapshot.step + steps
    press(window, Qt.Key.Key_Space)
    until(lambda: window.frame.snapshot.step >= to)
    press(window, Qt.Key.Key_Space)
    shown(window)


def answer_with(path: Path) -> None:
    """Type a file into the next dialog that asks for one."""

    def answer() -> None:
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, QFileDialog):
            QTimer.singleShot(20, answer)
            return
        field = dialog.findChild(QLineEdit, "fileNameEdit")
        assert field is not None
        field.setText(str(path))
        QTest.keyClick(field, Qt.Key.Key_Return)

    QTimer.singleShot(20, answer)


def rod_in_the_open(window: Window) -> int:
    """A rod in the middle part of the box."""
    box = window.session.params.space_size
    inside = np.all(np.abs(window.shown.pos - box / 2) < 0.3 * box, axis=1)
    return int(np.flatnonzero(inside)[0])


def find_the_transition(window: Window, folder: Path, look: Look) -> None:
    """Raise the threshold until the swarm falls asleep, and read where."""
    panel(window, "Plots")
    until(lambda: window.plotting._pages is not None)
    panel(window, "Statistics")
    active = []
    for threshold in ("0.5", "2", "4", "8", "16"):
        type_into(window.parameters.rows["activity_thresh"].number, threshold)
        run_on(window, 400)
        window._refresh()
        active.append(float(window.statistics.state.text("active fraction")))
        if threshold == "4":
            panel(window, "Plots")
            live(0.6)
            look("transition")
            panel(window, "Statistics")
    assert active[0] > 0.6, active
    assert active[-1] < 0.1, active
    assert active == sorted(active, reverse=True), active


def follow_one_rod(window: Window, folder: Path, look: Look) -> None:
    """Pick a rod and let the picture follow it."""
    rod = rod_in_the_open(window)
    press(window, Qt.Key.Key_Q)
    x, y = (float(part) for part in window.shown.pos[rod])
    drag(window, (x, y))
    card = window.tools.picking._card
    until(card.isVisible)
    click(card.follow)
    run_on(window, 60)
    x, y = (float(part) for part in window.shown.pos[rod])
    assert window.canvas.view.center == (x, y)
    assert window.canvas.view.zoom > 1
    look("follow")
    press(window, Qt.Key.Key_Escape)
    assert not card.isVisible()


def paint_activity(window: Window, folder: Path, look: Look) -> None:
    """Put a patch to sleep with the brush; it wakes from its edge."""
    box = window.session.params.space_size
    type_into(window.parameters.rows["tau_a"].number, "2")
    press(window, Qt.Key.Key_T)
    for _ in range(3):
        press(window, Qt.Key.Key_BracketRight)
    places = [(share * box, 0.5 * box) for share in (0.3, 0.5, 0.7)]
    drag(window, *places, keys=SHIFT)
    until(lambda: not window.session._strokes)
    inside = rods_within(window.frame.snapshot, *places[1], window.tools._bench.radius / 2)
    assert len(inside)
    assert np.all(window.frame.snapshot.activity[inside] == 0)
    look("paint")
    run_on(window, 200)
    again = rods_within(window.frame.snapshot, *places[1], window.tools._bench.radius / 2)
    assert 0 < window.frame.snapshot.activity[again].mean() < 0.9
    press(window, Qt.Key.Key_Escape)


def place_an_obstacle(window: Window, folder: Path, look: Look) -> None:
    """Draw a disc and a wall into the running swarm; no rod stays inside."""
    box = window.session.params.space_size
    press(window, Qt.Key.Key_Space)
    press(window, Qt.Key.Key_O)
    drag(window, (0.35 * box, 0.35 * box), (0.42 * box, 0.35 * box), (0.48 * box, 0.35 * box))
    press(window, Qt.Key.Key_B)
    drag(window, (0.55 * box, 0.7 * box), (0.7 * box, 0.72 * box), (0.9 * box, 0.75 * box))
    until(lambda: len(window.frame.snapshot.obstacles) == 2)
    disc = window.frame.snapshot.obstacles[0]

    def free() -> bool:
        return distances(window.frame.snapshot, disc.x, disc.y).min() > 0.8 * disc.radius

    until(free)
    look("obstacle")
    press(window, Qt.Key.Key_Space)
    shown(window)
    press(window, Qt.Key.Key_Escape)


def export_a_plot(window: Window, folder: Path, look: Look) -> None:
    """Save what is plotted as numbers."""
    panel(window, "Plots")
    until(lambda: window.plotting._pages is not None)
    run_on(window, 300)
    live(0.6)
    look("plots")
    path = folder / "plots.csv"
    menu = window.plots.export.menu()
    (action,) = [a for a in menu.actions() if "CSV" in a.text()]
    answer_with(path)
    action.trigger()
    until(path.exists)
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    assert any("polar" in name for name in rows[0])
    assert len(rows) > 3
    panel(window, "Statistics")


def share_a_run(window: Window, folder: Path, look: Look) -> None:
    """Copy a run as text, change everything, and paste it back."""
    type_into(window.parameters.rows["F_prop"].number, "6")
    type_into(window.transport.seed, "12")
    shown(window)
    began = window.frame.snapshot
    window.canvas.native.setFocus()
    press(window, Qt.Key.Key_C, CTRL)
    text = QApplication.clipboard().text()
    assert "F_prop=6" in text
    type_into(window.parameters.rows["F_prop"].number, "3")
    type_into(window.transport.seed, "1")
    shown(window)
    QApplication.clipboard().setText(text)
    window.canvas.native.setFocus()
    build = window.session.wanted.build
    press(window, Qt.Key.Key_V, CTRL)
    until(lambda: window.session.wanted.build is not build)
    window.session.set_running(False)
    until(lambda: window.frame.build == window.session.wanted.build.serial)
    assert (window.session.params.F_prop, window.session.seed) == (6, 12)
    press(window, Qt.Key.Key_R)
    shown(window)
    assert np.array_equal(window.frame.snapshot.rods, began.rods)
    look("share")


def undo(window: Window, folder: Path, look: Look) -> None:
    """Take away a part of the swarm by mistake, and have it back."""
    run_on(window, 30)
    before, box = window.frame.snapshot, window.session.params.space_size
    press(window, Qt.Key.Key_D)
    for _ in range(9):
        press(window, Qt.Key.Key_BracketRight)
    drag(window, (0.2 * box, 0.5 * box), (0.5 * box, 0.5 * box), (0.8 * box, 0.5 * box))
    until(lambda: not window.session._strokes)
    assert window.frame.snapshot.n < 0.8 * before.n
    look("removed")
    press(window, Qt.Key.Key_Z, CTRL)
    until(lambda: window.frame.snapshot.n == before.n)
    assert np.array_equal(window.frame.snapshot.rods, before.rods)
    press(window, Qt.Key.Key_Escape)


def record_at_4k(window: Window, folder: Path, look: Look) -> None:
    """Record some frames of 3840 × 2160 pixels."""
    panel(window, "Recording")
    recording = window.recording
    recording.kind.setFocus()
    QTest.keyClick(recording.kind, Qt.Key.Key_Home)
    assert "MP4" in recording.kind.currentText()
    type_into(recording.width_field, "3840")
    type_into(recording.height_field, "2160")
    look("record")
    had = window.engine.status.saved
    press(window, Qt.Key.Key_Space)
    press(window, Qt.Key.Key_M)
    until(lambda: window.engine.status.movie_frames >= 2)
    press(window, Qt.Key.Key_M)
    press(window, Qt.Key.Key_Space)
    until(lambda: window.engine.status.saved != had, 120)
    shown(window)
    about = subprocess.run(
        [ffmpeg_program(), "-hide_banner", "-i", str(window.engine.status.saved)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "3840x2160" in about.stderr


def resume(window: Window, folder: Path, look: Look) -> None:
    """Save a checkpoint, go on, and come back to go on with the same bits."""
    run_on(window, 30)
    kept, path = window.frame.snapshot, folder / "kept.bacsim"
    answer_with(path)
    press(window, Qt.Key.Key_S, CTRL | SHIFT)
    until(lambda: window.engine.status.kept == path)
    press(window, Qt.Key.Key_S)
    until(lambda: window.frame.snapshot.step == kept.step + 1)
    then = window.frame.snapshot.rods
    press(window, Qt.Key.Key_N)
    shown(window)
    answer_with(path)
    press(window, Qt.Key.Key_O, CTRL)
    until(lambda: window.session.wanted.build.reason == "checkpoint")
    shown(window)
    assert window.frame.snapshot.step == kept.step
    assert np.array_equal(window.frame.snapshot.rods, kept.rods)
    press(window, Qt.Key.Key_S)
    until(lambda: window.frame.snapshot.step == kept.step + 1)
    assert np.array_equal(window.frame.snapshot.rods, then)


def read_the_compile_time(window: Window, folder: Path, look: Look) -> None:
    """Read what the compile took, and that a new value costs none."""
    panel(window, "Statistics")
    window._refresh()
    figures = window.statistics.compile
    compiles = figures.text("compiles")
    assert int(compiles) >= 1
    assert figures.text("compiling")
    type_into(window.parameters.rows["k_cc"].number, "55")
    run_on(window, 20)
    window._refresh()
    assert figures.text("compiles") == compiles
    look("compile")


WALKS = (
    find_the_transition, follow_one_rod, paint_activity, place_an_obstacle, export_a_plot,
    share_a_run, undo, record_at_4k, resume, read_the_compile_time,
)  # fmt: skip
