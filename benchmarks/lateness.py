# SPDX-License-Identifier: GPL-3.0-or-later
"""How late the event loop of a real window is, while it runs, records and makes a GIF.

    python -m benchmarks.lateness --rods N --folder DIR

Started by `benchmarks.recording`; prints JSON. A timer is to tick every 5 ms; how much later it
ticks is its lateness, less the time spent painting in between, which depends on the card: that of
Qt's update requests, in which OpenGL draws and the window is put together. The idle control is the
same window with nothing to do.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bacsim_gui.bootstrap import prepare_window

TICK_MS = 5
PHASE_SECONDS = 8.0
WAIT_SECONDS = 120.0


def main() -> int:
    """Drive the window and print what was seen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rods", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    prepare_window()
    from PyQt6.QtWidgets import QApplication

    from bacsim_gui import theme
    from bacsim_gui.presets import load_preset

    application = QApplication(["lateness"])
    theme.apply(application)
    run = load_preset("swarming", rods=asked.rods)
    window = _timed_window()(run, "swarming", movie_folder=asked.folder)
    window.show()
    seen = _Watch(application, window)
    session = window.session
    seen.until(lambda: window.frame is not None and window.engine.status.phase == "running")
    session.set_running(False)
    seen.watch("idle")
    session.set_running(True)
    seen.watch("running")
    session.set_movie("kind", ".gif")
    for name, size in (("width", "640"), ("height", "360")):
        session.set_movie(name, size)
    session.start_movie(window.canvas.view, window.showing.K)
    seen.until(lambda: window.engine.status.movie_frames > 0)
    seen.watch("recording 640x360")
    session.stop_movie()
    seen.until(lambda: window.engine.status.finishing is not None)
    seen.watch("making a GIF of it", lambda: window.engine.status.finishing is not None)
    session.set_movie("kind", ".mp4")
    for name, size in (("width", "1280"), ("height", "720")):
        session.set_movie(name, size)
    session.start_movie(window.canvas.view, window.showing.K)
    seen.until(lambda: window.engine.status.movie_frames > 0)
    seen.watch("recording 1280x720, share")
    session.stop_movie()
    session.set_running(False)
    seen.watch("idle again")
    window.close()
    seen.until(lambda: not window.engine.is_alive())
    print(json.dumps(seen.rows))
    return 0


def _timed_window():
    """A window that adds up the seconds that it spends on painting, as `painting`."""
    from PyQt6.QtCore import QEvent

    from bacsim_gui.window import Window

    class Timed(Window):
        painting = 0.0

        def event(self, event):
            began = time.perf_counter()
            try:
                return super().event(event)
            finally:
                if event is not None and event.type() == QEvent.Type.UpdateRequest:
                    self.painting += time.perf_counter() - began

    return Timed


class _Watch:
    """Ticks in the window's event loop, and how late they are."""

    def __init__(self, application, window) -> None:
        from PyQt6.QtCore import Qt, QTimer

        self._application, self._window = application, window
        self._last = time.perf_counter()
        self._late: list[float] = []
        self.rows: list[dict] = []
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def _tick(self) -> None:
        now = time.perf_counter()
        late = (now - self._last - self._window.painting) * 1e3 - TICK_MS
        self._late.append(max(0.0, late))
        self._last, self._window.painting = now, 0.0

    def until(self, condition: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
        """Let the window live until the condition holds, or for so long."""
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            self._application.processEvents()
            time.sleep(0.0002)

    def watch(self, what: str, going: Callable[[], bool] = lambda: True) -> None:
        """Note how late ticks are for a while, as long as `going` is true."""
        self._tick()
        self._late = []
        began, first = time.monotonic(), self._window.frame.snapshot.step
        self.until(lambda: not going(), PHASE_SECONDS)
        rate = (self._window.frame.snapshot.step - first) / (time.monotonic() - began)
        self.rows.append({"what": f"window, {what}", "unit": "steps/s", "values": [rate]})
        late = sorted(self._late)
        p99 = late[min(len(late) - 1, int(0.99 * len(late)))]
        for name, value in (("p50", statistics.median(late)), ("p99", p99), ("max", late[-1])):
            row = {"what": f"window, {what}: lateness, {name}", "unit": "ms", "values": [value]}
            self.rows.append(row)


if __name__ == "__main__":
    sys.exit(main())
