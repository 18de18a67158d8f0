# SPDX-License-Identifier: GPL-3.0-or-later
"""The canvas in a real window on a real display."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, QPoint, QPointF, Qt
from PyQt6.QtGui import QMouseEvent, QWheelEvent
from PyQt6.QtWidgets import QApplication, QMainWindow

from bacsim_gui.bootstrap import child_environment
from bacsim_gui.canvas import RodCanvas
from bacsim_gui.offscreen import render
from bacsim_gui.view import View, ViewError, camera
from tests.gui.conftest import one_rod, swarm

pytestmark = pytest.mark.gl


@pytest.fixture
def window(qtbot):
    """A main window of an odd size with a canvas in it, painted once."""
    window = QMainWindow()
    canvas = RodCanvas(view=View(background="dark"))
    window.setCentralWidget(canvas.native)
    window.resize(501, 401)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    window.canvas = canvas
    qtbot.waitUntil(canvas.native.isValid)
    settle()
    return window


def settle() -> None:
    """Let every waiting paint happen."""
    for _ in range(5):
        QApplication.processEvents()


def wheel(canvas: RodCanvas, at: QPoint, notches: float) -> None:
    there = QPointF(canvas.native.mapToGlobal(at))
    event = QWheelEvent(
        QPointF(at), there, QPoint(), QPoint(0, int(120 * notches)), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(canvas.native, event)


def mouse(canvas: RodCanvas, kind: QEvent.Type, at: QPoint) -> None:
    moved = kind == QEvent.Type.MouseMove
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    event = QMouseEvent(
        kind, QPointF(at), QPointF(canvas.native.mapToGlobal(at)), none if moved else left,
        none if kind == QEvent.Type.MouseButtonRelease else left, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(canvas.native, event)


def test_before_the_first_state_there_is_plain_background(window) -> None:
    picture = window.canvas.grab()
    assert picture.shape == (window.canvas.size[1], window.canvas.size[0], 3)
    assert (picture == View().colors.outside).all()
    assert window.canvas.problem is None


def test_the_screen_shows_what_the_off_screen_picture_shows(window) -> None:
    canvas, scene = window.canvas, swarm(300)
    canvas.show_snapshot(scene)
    settle()
    here, there = canvas.grab().astype(int), render(scene, canvas.view, canvas.size).astype(int)
    assert here.shape == there.shape == (401, 501, 3)
    assert np.abs(here - there).max() <= 2
    assert here.std() > 10


def test_states_that_come_too_fast_are_painted_once(window) -> None:
    canvas, paints = window.canvas, []
    canvas.frame_painted.append(lambda: paints.append(1))
    for seed in range(20):
        canvas.show_snapshot(swarm(50, seed))
    settle()
    assert len(paints) == 1
    newest = render(swarm(50, 19), canvas.view, canvas.size).astype(int)
    assert np.abs(canvas.grab().astype(int) - newest).max() <= 2
    # A picture that is only grabbed was not painted on the screen.
    assert len(paints) == 1


def test_every_paint_calls_the_hooks(window) -> None:
    canvas, calls = window.canvas, []
    canvas.frame_painted += [lambda: calls.append("a"), lambda: calls.append("b")]
    for seed in range(3):
        canvas.show_snapshot(swarm(50, seed))
        settle()
    assert calls == ["a", "b"] * 3


def test_the_wheel_zooms_about_the_mouse(window) -> None:
    canvas, scene = window.canvas, swarm(100)
    canvas.show_snapshot(scene)
    settle()
    at = QPoint(180, 120)
    under = camera(canvas.view, 40.0, canvas.size).to_model(at.x(), at.y())
    wheel(canvas, at, 3)
    assert canvas.view.zoom == pytest.approx(1.2**3)
    zoomed = camera(canvas.view, 40.0, canvas.size)
    assert zoomed.to_model(at.x(), at.y()) == pytest.approx(under)
    settle()
    there = render(scene, canvas.view, canvas.size).astype(int)
    assert np.abs(canvas.grab().astype(int) - there).max() <= 2
    wheel(canvas, at, -3)
    assert canvas.view.zoom == pytest.approx(1.0)


def test_dragging_moves_the_picture_and_a_double_click_shows_the_whole_box(window) -> None:
    canvas = window.canvas
    canvas.show_snapshot(one_rod(10, 10))
    canvas.view = replace(canvas.view, zoom=3.0)
    settle()
    before = camera(canvas.view, 20.0, canvas.size).to_picture(10, 10)
    mouse(canvas, QEvent.Type.MouseButtonPress, QPoint(200, 200))
    for x in (210, 220, 240):
        mouse(canvas, QEvent.Type.MouseMove, QPoint(x, 190))
    mouse(canvas, QEvent.Type.MouseButtonRelease, QPoint(240, 190))
    after = camera(canvas.view, 20.0, canvas.size).to_picture(10, 10)
    assert after == pytest.approx((before[0] + 40, before[1] - 10))
    # Moving without the button held does nothing.
    kept = canvas.view
    mouse(canvas, QEvent.Type.MouseMove, QPoint(300, 300))
    assert canvas.view == kept
    mouse(canvas, QEvent.Type.MouseButtonDblClick, QPoint(50, 50))
    assert canvas.view == replace(kept, center=None, zoom=1.0)


def test_a_view_that_cannot_be_shown_is_refused_and_the_old_one_kept(window) -> None:
    canvas = window.canvas
    kept = canvas.view
    with pytest.raises(ViewError):
        canvas.view = replace(kept, colormap="no-such-map")
    with pytest.raises(ViewError):
        canvas.view = replace(kept, zoom=-1.0)
    assert canvas.view == kept
    canvas.view = replace(kept, colormap="viridis", background="white")
    canvas.show_snapshot(swarm(100))
    settle()
    there = render(swarm(100), canvas.view, canvas.size).astype(int)
    assert np.abs(canvas.grab().astype(int) - there).max() <= 2


def test_the_picture_follows_the_window_size(window) -> None:
    canvas, scene = window.canvas, swarm(100)
    canvas.show_snapshot(scene)
    for size in ((640, 480), (401, 777), (901, 403)):
        window.resize(*size)
        settle()
        assert canvas.size == size
        there = render(scene, canvas.view, size).astype(int)
        assert np.abs(canvas.grab().astype(int) - there).max() <= 2


def test_a_change_of_screen_repaints(window) -> None:
    canvas, paints = window.canvas, []
    canvas.frame_painted.append(lambda: paints.append(1))
    handle = window.windowHandle()
    handle.screenChanged.emit(handle.screen())
    settle()
    assert paints == [1]


SCALED = """
import sys
from bacsim_gui.bootstrap import prepare_window
prepare_window()
import numpy as np
from PyQt6.QtWidgets import QApplication, QMainWindow
from PyQt6.QtTest import QTest
app = QApplication([])
from bacsim_gui.canvas import RodCanvas
from bacsim_gui.offscreen import render
from bacsim_gui.scene import Scene
window, canvas = QMainWindow(), RodCanvas()
window.setCentralWidget(canvas.native)
window.resize(401, 321)
window.show()
assert QTest.qWaitForWindowExposed(window)
rods = np.load(sys.argv[1])
scene = Scene(rods, 40.0, 4.0, 0.5)
canvas.show_snapshot(scene)
QTest.qWait(100)
here = canvas.grab()
ratio = float(sys.argv[2])
assert canvas.native.devicePixelRatioF() == ratio, canvas.native.devicePixelRatioF()
assert canvas.size == (int(401 * ratio + 0.5), int(321 * ratio + 0.5)), canvas.size
assert here.shape == (canvas.size[1], canvas.size[0], 3), here.shape
there = render(scene, canvas.view, canvas.size)
assert abs(here.astype(int) - there).max() <= 2
window.close()
"""


@pytest.mark.parametrize("ratio", ["1.25", "1.5", "2"])
def test_on_a_screen_of_another_resolution_the_picture_is_as_sharp(
    ratio: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "rods.npy", swarm(200).rods)
    environment = {**child_environment(), "QT_SCALE_FACTOR": ratio}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", SCALED, tmp_path / "rods.npy", ratio],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
