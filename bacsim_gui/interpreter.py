# SPDX-License-Identifier: GPL-3.0-or-later
"""Python's own share in what holds up a window: threads that take turns, and garbage."""

import gc
import sys
from collections.abc import Callable

from PyQt6.QtCore import QObject, QTimer

COLLECT_MS = 500
# For how long, in seconds, a thread that computes in Python may keep the window from going on.
# Python's own 5 ms would be waited for at each turn of the event loop while a program is traced.
SWITCH_SECONDS = 0.001


class Interpreter(QObject):
    """Keeps Python itself from holding up the window, for as long as an engine runs.

    Garbage is collected in the main thread only: a cycle of it may hold widgets, and Python
    collects in whatever thread allocates: mostly the engine's, where Qt does not allow them to be
    destroyed. What is there when the engine has started, and `starting` is over for the first time,
    stays for good, most of it JAX's, and is never looked through: that would take a tenth of a
    second each time. All of it is for the main thread.
    """

    _users = 0
    _plain_interval = 0.0

    def __init__(self, parent: QObject, starting: Callable[[], bool]) -> None:
        super().__init__(parent)
        self._starting, self._frozen = starting, False
        self._timer = QTimer(self)
        self._timer.setInterval(COLLECT_MS)
        self._timer.timeout.connect(self._collect)

    def start(self) -> None:
        """Begin; an engine runs from now on."""
        if Interpreter._users == 0:
            Interpreter._plain_interval = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_SECONDS)
            gc.disable()
        Interpreter._users += 1
        self._timer.start()

    def stop(self) -> None:
        """Leave Python as it was, unless another engine runs."""
        self._timer.stop()
        Interpreter._users -= 1
        if Interpreter._users == 0:
            sys.setswitchinterval(Interpreter._plain_interval)
            gc.unfreeze()
            gc.enable()

    def _collect(self) -> None:
        if self._starting():
            return
        if not self._frozen:
            self._frozen = True
            gc.freeze()
        counts, limits = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > limits[generation]:
                gc.collect(generation)
                return
