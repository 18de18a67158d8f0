# SPDX-License-Identifier: GPL-3.0-or-later
"""What OpenGL Qt has here; run as a program it says so as JSON, in a process that may fail.

As a program it opens no window. Where Qt or a driver ends the process, the caller is still there.
"""

import json
import sys
from dataclasses import asdict
from typing import Any

from bacsim_gui.bootstrap import prepare_window, window_problem
from bacsim_gui.selftest import Graphics

_VENDOR, _RENDERER, _VERSION = 0x1F00, 0x1F01, 0x1F02


def graphics_of_current() -> Graphics | None:
    """The OpenGL of Qt's context that is current now; None where there is none."""
    from PyQt6.QtGui import QOpenGLContext
    from PyQt6.QtOpenGL import QOpenGLVersionFunctionsFactory, QOpenGLVersionProfile

    context = QOpenGLContext.currentContext()
    if context is None:
        return None
    number, es = context.format().version(), context.isOpenGLES()
    profile = QOpenGLVersionProfile()
    profile.setVersion(2, 0)
    # Typed by PyQt as what all versions have in common.
    asked: Any = None if es else QOpenGLVersionFunctionsFactory.get(profile, context)
    names = (
        ["unknown", "unknown", f"OpenGL ES {number[0]}.{number[1]}" if es else "unknown"]
        if asked is None
        else [asked.glGetString(name) or "unknown" for name in (_VENDOR, _RENDERER, _VERSION)]
    )
    instanced = context.hasExtension(b"GL_ARB_instanced_arrays")
    return Graphics(names[0], names[1], names[2], (number[0], number[1]), es, instanced)


def main() -> int:
    """Print what a window would find: its platform, its screens, its OpenGL, or why none opens."""
    prepare_window()
    problem = window_problem()
    if problem is not None:
        print(json.dumps({"problem": problem}))
        return 0
    from PyQt6.QtGui import QGuiApplication, QOffscreenSurface, QOpenGLContext

    app = QGuiApplication([])
    hidden, context = QOffscreenSurface(), QOpenGLContext()
    hidden.create()
    current = context.create() and context.makeCurrent(hidden)
    found = graphics_of_current() if current else None
    screens = [
        f"{screen.size().width()}x{screen.size().height()} at {screen.devicePixelRatio():g}"
        for screen in app.screens()
    ]
    graphics = None if found is None else asdict(found)
    print(json.dumps({"platform": app.platformName(), "screens": screens, "graphics": graphics}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
