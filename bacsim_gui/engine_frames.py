# SPDX-License-Identifier: GPL-3.0-or-later
"""Which states leave the engine's thread for the picture, and what is measured of them before."""

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from bacsim_gui.pace import FrameClock
from bacsim_gui.seam import Frame, Seam, Wanted

if TYPE_CHECKING:
    from engine.driver import Driver
    from engine.snapshot import Snapshot

# While the picture stands still, states still come this often: figures and the past follow.
STILL_SECONDS = 0.2


class Frames:
    """Numbers the states that are shown, and has measured of them what is wanted.

    What cannot be measured is not tried again until something else is wanted, so that it stops
    nothing but itself.
    """

    def __init__(self, seam: Seam) -> None:
        self._seam = seam
        self._clock = FrameClock(60)
        self._number = 0
        self._skipped = 0
        self._shown_at = 0.0
        self._refused: tuple[str, ...] = ()
        self._last: Frame | None = None
        # The earlier state that was last measured, and what came of it.
        self._looked: tuple[Snapshot, Snapshot] | None = None

    def is_due(self, wanted: Wanted) -> bool:
        """Whether the frame that is whole now is to be shown, while time runs; asked once a frame.

        Where the picture stands still, or leaves frames out, the engine waits for nobody.
        """
        self._skipped += 1
        if not wanted.drawing:
            return time.monotonic() - self._shown_at >= STILL_SECONDS
        return self._skipped >= wanted.draw_every

    def lacks(self, snapshot: "Snapshot", wanted: Wanted) -> bool:
        """Whether something that is wanted, and can be measured, is not known of a state."""
        missing = set(wanted.measures) - set(snapshot.measures)
        return bool(missing) and wanted.measures != self._refused

    def measured(self, driver: "Driver", snapshot: "Snapshot", wanted: Wanted) -> "Snapshot":
        """`snapshot`, the state of `driver`, with what is wanted of its rods. Raises what fails."""
        return self._with(driver, snapshot, wanted) if self.lacks(snapshot, wanted) else snapshot

    def look(self, driver: "Driver", wanted: Wanted) -> bool:
        """Show the earlier state that is looked at with what is wanted of it, if that is new."""
        earlier = wanted.looking
        if earlier is None or self._last is None:
            self._looked = None
            return False
        known = self._looked[1] if self._looked and self._looked[0] is earlier else earlier
        if not self.lacks(known, wanted):
            return False
        found = self._with(driver, known, wanted, known)
        self._looked = earlier, found
        self._offer(replace(self._last, looked_at=found), None)
        return True

    def show(
        self, snapshot: "Snapshot", wanted: Wanted, K: int, build: int, stroked: int, *,
        running: bool,
    ) -> None:  # fmt: skip
        """Hand a state over, once the one before is on the screen and, in a run, it is due."""
        self._clock.fps = wanted.fps
        clock = self._clock if running and wanted.drawing else None
        self._skipped, self._shown_at = 0, time.monotonic()
        # A frame that nobody has taken is replaced, and with it what it told of an earlier state.
        earlier, found = self._looked or (None, None)
        looked_at = found if earlier is wanted.looking else None
        self._offer(Frame(0, snapshot, K, build, stroked, looked_at), clock)

    def _offer(self, frame: Frame, clock: FrameClock | None) -> None:
        self._number += 1
        self._last = replace(frame, number=self._number)
        self._seam.offer(self._last, clock)

    def _with(
        self,
        driver: "Driver",
        snapshot: "Snapshot",
        wanted: Wanted,
        of: "Snapshot | None" = None,
    ) -> "Snapshot":
        missing: Iterable[str] = [n for n in wanted.measures if n not in snapshot.measures]
        try:
            found = driver.measure(missing, of)
        except Exception:
            self._refused = wanted.measures
            raise
        self._refused = ()
        return replace(snapshot, measures={**snapshot.measures, **found})
