# SPDX-License-Identifier: GPL-3.0-or-later
"""When the next frame is due, how many steps it may hold, and how many frames were shown.

Pure: every time is an argument, so that a test can play any clock.
"""

from collections import deque
from statistics import median

MOST_STEPS = 1_000_000
# The part of a frame that the engine may fill; the rest is for copying and for the display.
FILL = 0.85
# A change of K is worth it above this, else K would tremble with every reading.
DEAD_BAND = 0.1
# Readings that are taken before K changes: one slow frame among five does not.
READINGS = 5
# K may grow by this factor at once: a short frame is mostly overhead and promises little.
GROWTH = 4.0
# A frame that takes this many budgets is shown unfinished, so that a K far too large heals at once.
CUT = 4.0


class AutoSteps:
    """Follows a frame budget: the number of steps K whose computing just fits into a frame.

    `budget` and all `seconds` are those spent computing, without waiting for the display.
    """

    def __init__(self, budget: float, K: int = 1) -> None:
        self.budget = budget
        self._K = max(1, K)
        self._readings: deque[float] = deque(maxlen=READINGS)

    @property
    def K(self) -> int:
        """The number of steps of the next frame."""
        return self._K

    def restart(self, K: int) -> None:
        """Begin again at `K`, forgetting what was measured (another program, another N)."""
        self._K = max(1, K)
        self._readings.clear()

    def cut(self, seconds: float) -> bool:
        """Whether a frame that has taken `seconds` so far should be shown as it is."""
        return seconds > CUT * self.budget

    def after_frame(self, steps: int, seconds: float) -> None:
        """Take note that the last frame took `seconds` to compute its `steps`."""
        self._readings.append(seconds / max(1, steps))
        if len(self._readings) < READINGS and steps >= self._K:
            return
        fits = FILL * self.budget / max(median(self._readings), 1e-12)
        if abs(fits / self._K - 1) > DEAD_BAND:
            self._K = int(min(MOST_STEPS, max(1.0, min(fits, GROWTH * self._K))))
        self._readings.clear()


class FrameClock:
    """Spaces frames evenly: at most `fps` a second, however fast the engine is."""

    def __init__(self, fps: float) -> None:
        self.fps = fps
        self._next = 0.0

    def wait(self, now: float) -> float:
        """Seconds until the next frame may be shown; 0 when it is due."""
        return max(0.0, self._next - now)

    def shown(self, now: float) -> None:
        """Take note that a frame was shown at `now`. A late frame is not made up for by a burst."""
        self._next = max(self._next + 1 / self.fps, now)


class FrameRate:
    """Frames a second, counted over the last `span` seconds."""

    def __init__(self, span: float = 1.0) -> None:
        self._span = span
        self._ticks: deque[float] = deque()

    def tick(self, now: float) -> None:
        """Take note of a frame that was shown at `now`."""
        self._ticks.append(now)
        self._forget(now)

    def value(self, now: float) -> float:
        """Frames a second at `now`; 0 when none was shown lately."""
        self._forget(now)
        if len(self._ticks) < 2:
            return 0.0
        return (len(self._ticks) - 1) / max(self._ticks[-1] - self._ticks[0], 1e-9)

    def _forget(self, now: float) -> None:
        while self._ticks and self._ticks[0] < now - self._span:
            self._ticks.popleft()
