# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the real window share."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PyQt6 import sip
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtGui import QImage
from PyQt6.QtTest import QTest

from bacsim_gui import theme
from bacsim_gui.presets import load_preset
from bacsim_gui.view import camera
from bacsim_gui.window import Window
from tests.gui.events import live, until

RODS = 200


@contextmanager
def a_window(qapp, folder: Path, **options):
    """A window on a few rods, closed at the end."""
    theme.apply(qapp)
    made = Window(load_preset("swarming", rods=RODS), "swarming", movie_folder=folder, **options)
    made.resize(1200, 900)
    made.show()
    yield made
    made.close()
    until(lambda: not made.isVisible())
    assert not made.engine.is_alive()
    # Left to Python, its end may come in the midst of a later test, whose OpenGL it takes away, or
    # of PyQt's own end, which crashes.
    sip.delete(made)


def begin(window):
    """Pause the window at the start of its preset, with no tool in the hand."""
    window.session.set_running(False)
    window.tools.picking.pick(None)
    window.tools.choose("move")
    window.canvas.reset_view()
    window.session.load_run(load_preset("swarming", rods=RODS), "swarming")
    shown(window)
    window.activateWindow()
    until(window.isActiveWindow)  # else its keys do nothing


def shown(window):
    """Wait until the newest build is on the screen and the engine stands still."""
    build = window.session.wanted.build.serial
    until(lambda: window.frame is not None and window.frame.build == build)
    until(lambda: window.engine.status.phase == "paused")
    live(0.02)  # its last frame may still be on the way
    until(lambda: window.frame.number == window.showing.acknowledged)


def step(window, key=Qt.Key.Key_S):
    """Take one step by its key and wait until it is on the screen."""
    before = window.frame.snapshot.step
    QTest.keyClick(window, key)
    until(lambda: window.frame.snapshot.step == before + 1)
    until(lambda: window.frame.number == window.showing.acknowledged)
    return window.frame.snapshot


def look_back(window, step: int):
    """Look at the state of that step, by the slider."""
    past, slider = window.scrubber.past, window.past_bar.slider
    # It learns of new states a few times a second; its end stands for the present.
    until(lambda: slider.maximum() == len(past) - 1)
    slider.setValue(past.find(step))
    assert window.session.looking.step == step


def image(path: Path) -> np.ndarray:
    """The pixels of a picture, (height, width, 3)."""
    picture = QImage(str(path)).convertToFormat(QImage.Format.Format_RGB888)
    raw = picture.constBits().asstring(picture.sizeInBytes())
    rows = np.frombuffer(raw, np.uint8).reshape(picture.height(), picture.bytesPerLine())
    return rows[:, : 3 * picture.width()].reshape(picture.height(), picture.width(), 3).astype(int)


def pixel(window, x: float, y: float) -> QPoint:
    """Where a place of the model is in the picture, as the mouse has it."""
    canvas = window.canvas
    at = camera(canvas.view, window.session.params.space_size, canvas.size)
    ratio = canvas.native.devicePixelRatioF()
    return QPoint(*(round(part / ratio) for part in at.to_picture(x, y)))


def drag(window, *places, keys=Qt.KeyboardModifier.NoModifier, up=True):
    """Move the mouse to the first place of the model, press, go to the others, and let go."""
    native, left = window.canvas.native, Qt.MouseButton.LeftButton
    QTest.mouseMove(native, pixel(window, *places[0]))
    QTest.mousePress(native, left, keys, pixel(window, *places[0]))
    for place in places[1:]:
        live(0.03)  # VisPy drops moves that follow too quickly
        QTest.mouseMove(native, pixel(window, *place))
    live(0.03)
    if up:
        let_go(window, places[-1], keys)


def let_go(window, place, keys=Qt.KeyboardModifier.NoModifier):
    """Release the mouse at a place of the model."""
    QTest.mouseRelease(window.canvas.native, Qt.MouseButton.LeftButton, keys, pixel(window, *place))
