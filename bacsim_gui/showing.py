# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings what the engine has come to into the picture, and tells the engine when it is there."""

import time
from dataclasses import replace

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtWidgets import QWidget

from bacsim_gui.canvas import RodCanvas
from bacsim_gui.engine_thread import EngineThread
from bacsim_gui.pace import FrameRate
from bacsim_gui.scrubbing import Scrubber
from bacsim_gui.seam import Frame
from bacsim_gui.session import Session
from engine.snapshot import Snapshot


class Showing(QObject):
    """Takes frames from the engine and shows the newest, or the earlier state that is looked at.

    `frame` is the newest one and `acknowledged` the number of the last that the engine knows to be
    on the screen. `pictured` says that there is another state in the picture; `drawn` that a frame
    was acknowledged.
    """

    pictured = pyqtSignal()
    drawn = pyqtSignal()

    def __init__(
        self, window: QWidget, session: Session, engine: EngineThread, canvas: RodCanvas,
        scrubber: Scrubber,
    ) -> None:  # fmt: skip
        super().__init__(window)
        self._window, self._session, self._engine = window, session, engine
        self._canvas, self._scrubber = canvas, scrubber
        self.frame: Frame | None = None
        self.acknowledged = 0
        self._rate = FrameRate()
        self._pictured: Snapshot | None = None

    @property
    def K(self) -> int:
        """Steps of a frame: those set by hand, or those that auto has arrived at."""
        if self._session.auto and self.frame is not None:
            return self.frame.K
        return self._session.K

    @property
    def shown(self) -> Snapshot | None:
        """The state in the picture: the newest one, or the earlier one that is looked at."""
        looking = self._session.looking
        if looking is not None:
            # With what has been measured of its rods meanwhile, if that is wanted.
            found = None if self.frame is None else self.frame.looked_at
            return found if found is not None and found.rods is looking.rods else looking
        return None if self.frame is None else self.frame.snapshot

    @property
    def present(self) -> Snapshot | None:
        """The newest state; None where that is of a run which another is to replace."""
        build, frame = self._session.wanted.build, self.frame
        if frame is None or build is None or frame.build != build.serial:
            return None
        return frame.snapshot

    @property
    def rate(self) -> float:
        """Frames a second; what is not drawn tells none."""
        return self._rate.value(time.monotonic()) if self._session.drawing else 0.0

    def take(self) -> Frame | None:
        """Take what the engine has come to, and show it; None where that was taken already."""
        frame = self._engine.take()
        if frame is None:
            return None
        self.frame = frame
        self._scrubber.take(frame)
        self.show(anew=True)
        handle, native = self._window.windowHandle(), self._canvas.native
        hidden = handle is None or not handle.isExposed() or not native.isVisible()
        if hidden or not self._session.drawing or self._session.looking is not None:
            # What is not shown is never painted; time goes on all the same.
            self.painted()
        return frame

    def show(self, *, anew: bool = False) -> None:
        """Draw the state that is to be in the picture if it is another one, or must be `anew`."""
        shown = self.shown
        still = not self._session.drawing and self._session.looking is None
        if shown is None or still or (shown is self._pictured and not anew):
            return
        self._pictured = shown
        self._canvas.show_snapshot(self._scrubber.scene(shown))
        self.pictured.emit()

    def painted(self) -> None:
        """The picture is on the screen."""
        frame = self.frame
        if frame is None or frame.number == self.acknowledged:
            return
        self.acknowledged = frame.number
        self._rate.tick(time.monotonic())
        self._engine.painted(frame.number)
        self.drawn.emit()

    def keep_looking(self) -> None:
        """Let the present not flash up before a branch of what is looked at is built."""
        if self.frame is not None and self._session.looking is not None:
            self.frame = replace(self.frame, snapshot=self._session.looking)
