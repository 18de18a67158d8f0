# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures without a window: screenshots, movie frames, pictures of the command line, tests.

On Linux, in a process without a window, this draws through EGL and needs no display server; in a
process with a window, and on other systems, through a hidden surface of Qt.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from bacsim_gui.bootstrap import prepare_headless
from bacsim_gui.scene import Scene
from bacsim_gui.view import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from bacsim_gui.rods import Surface
    from engine.snapshot import Snapshot


def render(
    snapshot: Snapshot | Scene,
    view: View,
    size: tuple[int, int],
    supersample: Literal[1, 2] = 1,
) -> np.ndarray:
    """The picture of a state, as the window shows it at that size.

    Always call it from the same thread; in a process with a window from the window's thread.

    Args:
        snapshot: the state, or a scene of it.
        view: how it is looked at.
        size: width and height in pixels.
        supersample: 2 draws the rods twice as large and halves them.

    Returns:
        (height, width, 3) uint8; the first row is the top.

    Raises:
        PictureError: there is no OpenGL here, or the picture is too large for it.
        ViewError: the view cannot be shown.
    """
    return surface().render(Scene.of(snapshot), view, size, supersample)[..., :3].copy()


@lru_cache(maxsize=1)
def surface() -> Surface:
    """The off-screen surface of this process, opened by the first call."""
    qt = sys.modules.get("PyQt6.QtGui")
    if qt is None or qt.QGuiApplication.instance() is None:
        prepare_headless()
    from bacsim_gui.rods import EglContext, Surface

    if os.environ.get("PYOPENGL_PLATFORM") == "egl":
        return Surface(EglContext().make_current)
    return Surface(_qt_context())


def _qt_context() -> Callable[[], None]:
    """An OpenGL context of Qt with a hidden surface; returns what makes it current."""
    from PyQt6.QtGui import QGuiApplication, QOffscreenSurface, QOpenGLContext

    from bacsim_gui.rods import PictureError

    application = QGuiApplication.instance() or QGuiApplication(["bacsim"])
    hidden = QOffscreenSurface()
    hidden.create()
    context = QOpenGLContext()
    if not (context.create() and context.makeCurrent(hidden)):
        raise PictureError(
            "No OpenGL was found for drawing. Install a graphics driver, or Mesa "
            "(Debian, Ubuntu: sudo apt-get install -y libgl1 libgl1-mesa-dri)."
        )

    def make_current() -> None:
        _ = application  # as long as the context lives, so must its application
        context.makeCurrent(hidden)

    return make_current
