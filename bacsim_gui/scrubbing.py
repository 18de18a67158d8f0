# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bar below the picture ranges over: the states in memory, or the frames of a file."""

from functools import partial

import numpy as np
from PyQt6.QtCore import QObject

from bacsim_gui.background import Background
from bacsim_gui.documents import run_of
from bacsim_gui.panels.past_bar import PastBar, PastShown
from bacsim_gui.past import LIMIT_BYTES, Past
from bacsim_gui.scene import Scene
from bacsim_gui.seam import Frame
from bacsim_gui.session import Session
from bacsim_gui.trails import trail_start, with_trails
from engine.snapshot import Snapshot
from engine.storage.trajectory import Trajectory

RECORDING = "There is no looking back while a recording goes on or is about to begin: finish it."


class Scrubber(QObject):
    """Keeps what the engine shows, within `limit` bytes, and lets the session look back at it.

    Frames of a file are read one by one beside the window, always the one asked for last.
    """

    def __init__(
        self, session: Session, bar: PastBar, background: Background, limit: int = LIMIT_BYTES
    ) -> None:
        super().__init__()
        self.past = Past(limit)
        self._session, self._bar, self._background = session, bar, background
        self._build = 0
        self._file: Trajectory | None = None
        self._wanted = 0
        self._reading = self._arrived = False

    # From the engine and from files

    def take(self, frame: Frame) -> None:
        """Keep a state that the engine has come to; those of another run are forgotten."""
        snapshot = frame.snapshot
        if frame.build != self._build:
            self._build = frame.build
            build = self._session.wanted.build
            branch = build is not None and build.branch
            # A build that was refused leaves the run as it was.
            if not (branch or self._ends_with(snapshot)):
                self.past.clear()
        self.past.add(snapshot)

    def open(self, frames: Trajectory) -> None:
        """Range over the frames of a file from now on."""
        self.close()
        self._file, self._wanted, self._arrived = frames, 0, False
        self._read()

    def close(self) -> None:
        """Close the file, if one is open."""
        file, self._file = self._file, None
        if file is not None:
            # After a frame that is being read.
            self._background.do(file.close, lambda _: None, lambda _: None)

    def before(self, snapshot: Snapshot) -> Snapshot | None:
        """The state of this run that was kept before this one, if there is one."""
        at = self.past.find(snapshot.step)
        return self.past.at(at - 1) if self._file is None and at else None

    def scene(self, snapshot: Snapshot) -> Scene:
        """What is drawn of a state of the run: with the trails that lead to it, if wanted.

        The frames of a file have none: what came before them is not in memory.
        """
        scene = Scene.of(snapshot)
        if not self._session.view.show_trails or self._file is not None:
            return scene
        return with_trails(scene, self.past.before(scene.step, trail_start(scene)))

    # From the bar

    def move(self, at: int) -> None:
        """Look at state number `at`; the last of the run is the present."""
        if self._file is not None:
            self._wanted = at
            self._read()
        elif at >= self._bar.slider.maximum():
            self._session.look_at_now()
        else:
            self._session.look_back(self.past.at(min(at, len(self.past) - 1)))

    def go_on(self) -> None:
        """Make a branch of what is looked at."""
        if self._file is not None:
            # The branch has no past but its own.
            self.past.clear()
            self.close()
        self._session.go_on_from_here()

    def show(self) -> None:
        """Show in the bar what there is."""
        session = self._session
        if self._file is not None and self._arrived and session.looking is None:
            self.close()
        if self._file is not None:
            file, at = self._file, self._wanted
            shown = PastShown(
                len(file), at, session.looking, True, file.path.name, stuck=self._stuck()
            )
        else:
            count, looking = len(self.past), session.looking
            at = count - 1 if looking is None else self.past.find(looking.step)
            newest = self.past.at(-1) if count else None
            hindered = "" if session.movie is None else RECORDING
            shown = PastShown(count, at, looking or newest, looking is not None, hindered=hindered)
        self._bar.show_values(shown)

    def _stuck(self) -> str:
        if self._file is None or self._file.one_rod_in == 1:
            return ""
        return (
            f"Only one rod in {self._file.one_rod_in} is in {self._file.path.name}, so no run can "
            "go on from it, and nothing that needs a rod's neighbours can be shown."
        )

    def _ends_with(self, snapshot: Snapshot) -> bool:
        if not len(self.past):
            return False
        newest = self.past.at(-1)
        return newest.step == snapshot.step and np.array_equal(newest.rods, snapshot.rods)

    def _read(self) -> None:
        if self._reading or self._file is None:
            return
        self._reading = True
        file, at = self._file, self._wanted
        self._background.do(
            lambda: file[at], partial(self._got, file, at), partial(self._not_got, file)
        )

    def _got(self, file: Trajectory, at: int, snapshot: Snapshot) -> None:
        self._reading = False
        if file is self._file:
            self._arrived = True
            thinned = file.one_rod_in > 1
            self._session.look_back(snapshot, run_of(file, snapshot), thinned=thinned)
        if file is not self._file or at != self._wanted:
            self._read()

    def _not_got(self, file: Trajectory, problem: str) -> None:
        self._reading = False
        if file is self._file and not self._arrived:
            self.close()
        self._session.show_problem(problem)
        if file is not self._file:
            self._read()
