# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the real window share."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QImage
from PyQt6.QtTest import QTest

from bacsim_gui import theme
from bacsim_gui.presets import load_preset
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


def begin(window):
    """Pause the window at the start of its preset."""
    window.session.set_running(False)
    window.session.load_run(load_preset("swarming", rods=RODS), "swarming")
    shown(window)
    window.activateWindow()


def shown(window):
    """Wait until the newest build is on the screen and the engine stands still."""
    build = window.session.wanted.build.serial
    until(lambda: window.frame is not None and window.frame.build == build)
    until(lambda: window.engine.status.phase == "paused")
    live(0.02)  # its last frame may still be on the way
    until(lambda: window.frame.number == window._acknowledged)


def step(window, key=Qt.Key.Key_S):
    """Take one step by its key and wait until it is on the screen."""
    before = window.frame.snapshot.step
    QTest.keyClick(window, key)
    until(lambda: window.frame.snapshot.step == before + 1)
    until(lambda: window.frame.number == window._acknowledged)
    return window.frame.snapshot


def image(path: Path) -> np.ndarray:
    """The pixels of a picture, (height, width, 3)."""
    picture = QImage(str(path)).convertToFormat(QImage.Format.Format_RGB888)
    raw = picture.constBits().asstring(picture.sizeInBytes())
    rows = np.frombuffer(raw, np.uint8).reshape(picture.height(), picture.bytesPerLine())
    return rows[:, : 3 * picture.width()].reshape(picture.height(), picture.width(), 3).astype(int)
