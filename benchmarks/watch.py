# SPDX-License-Identifier: GPL-3.0-or-later
"""Ticks in the event loop of a real window, and how late they are."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PyQt6.QtCore import QEvent, QEventLoop, QObject, Qt, QTimer

from bacsim_gui.window import Window

if TYPE_CHECKING:
    from bacsim_gui.seam import Frame

TICK_MS = 5.0
# Far longer than anything takes; a window that hangs is to end the benchmark.
LIMIT_SECONDS = 300.0


class TimedWindow(Window):
    """A window that adds up the seconds that it spends on painting, as `painting`.

    That is in Qt's update requests, in which OpenGL draws and the window is put together.
    """

    painting = 0.0

    def event(self, event: QEvent | None) -> bool:  # noqa: D102
        began = time.perf_counter()
        try:
            return super().event(event)
        finally:
            if event is not None and event.type() == QEvent.Type.UpdateRequest:
                self.painting += time.perf_counter() - began


@dataclass
class Seen:
    """What was seen of a window for some `seconds`.

    `late` are the milliseconds that ticks came late, painting subtracted. A tick due every 5 ms
    stands for whatever a user may do then, so one that comes 50 ms late is followed by those that
    were due meanwhile, 45, 40 … ms late. `painting` are the milliseconds of painting between two
    ticks, where there was any.
    """

    late: list[float] = field(default_factory=list)
    painting: list[float] = field(default_factory=list)
    seconds: float = 0.0
    frames: int = 0
    steps: int = 0

    @staticmethod
    def all_of(parts: "Sequence[Seen]") -> "Seen":
        """What was seen in all the parts together."""
        return Seen(
            [late for part in parts for late in part.late],
            [took for part in parts for took in part.painting],
            sum(part.seconds for part in parts), sum(part.frames for part in parts),
            sum(part.steps for part in parts),
        )  # fmt: skip

    def note(self, gap: float, painting: float) -> None:
        """Take a tick that came `gap` ms after the one before, `painting` ms of it painted."""
        late = max(0.0, gap - painting - TICK_MS)
        self.late += [late - missed * TICK_MS for missed in range(1 + int(late / TICK_MS))]
        if painting:
            self.painting.append(painting)


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which `part` of the values are; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else math.nan


def median(values: Sequence[float]) -> float:
    """The median; not a number of none."""
    return statistics.median(values) if values else math.nan


class Watch(QObject):
    """Lets a window live in a loop of Qt's own, as the program does, and sees how late it is."""

    def __init__(self, window: TimedWindow) -> None:
        super().__init__()
        self._window = window
        self._loop = QEventLoop()
        self._over: Callable[[], bool] | None = None
        self._end = self._last = 0.0
        self._seen = Seen()
        self._frame: Frame | None = None
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(round(TICK_MS))
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def until(self, condition: Callable[[], bool]) -> Seen:
        """Let the window live until the condition holds; raises `RuntimeError` if it never does."""
        return self._live(condition, LIMIT_SECONDS, hangs=True)

    def look(self, seconds: float) -> Seen:
        """Let the window live for so long."""
        return self._live(lambda: False, seconds, hangs=False)

    def _live(self, condition: Callable[[], bool], seconds: float, *, hangs: bool) -> Seen:
        began = self._last = time.perf_counter()
        self._window.painting = 0.0
        self._seen, self._frame = Seen(), self._window.frame
        self._over, self._end = condition, began + seconds
        self._loop.exec()
        self._over = None
        self._seen.seconds = self._last - began
        if hangs and not condition():
            raise RuntimeError(f"The window has not got there in {seconds:.0f} s.")
        return self._seen

    def _tick(self) -> None:
        if self._over is None:
            return
        now, painting = time.perf_counter(), self._window.painting
        self._seen.note(1e3 * (now - self._last), 1e3 * painting)
        self._last, self._window.painting = now, 0.0
        self._count()
        if now >= self._end or self._over():
            self._loop.quit()

    def _count(self) -> None:
        before, self._frame = self._frame, self._window.frame
        if self._frame is None or before is None or self._frame is before:
            return
        self._seen.frames += self._frame.number - before.number
        if self._frame.build == before.build:
            self._seen.steps += self._frame.snapshot.step - before.snapshot.step
