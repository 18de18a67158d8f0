# SPDX-License-Identifier: GPL-3.0-or-later
"""What crosses between the window and the engine, and the slots through which it crosses.

Every value here is frozen. A slot holds one: a newer order replaces an older one, so that a drag
never queues, and the window always draws the newest frame. No Qt and no JAX.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bacsim_gui.edits import Stroke
from bacsim_gui.order import Order
from bacsim_gui.pace import FrameClock
from bacsim_gui.view import View
from engine.obstacle import Obstacle
from engine.params import Params, Setup

if TYPE_CHECKING:
    from engine.driver import Stats
    from engine.snapshot import Checkpoint, Snapshot, Start, Trust

DEFAULT_FPS = 60.0
# The longest wait for the display to acknowledge a frame: a hidden window paints nothing.
PAINT_SECONDS = 0.25


@dataclass(frozen=True)
class Build:
    """An order for a new state. Orders are told apart by `serial`.

    `start` are arrays to begin with; `kept` is a checkpoint to go on from, in place of all else.
    A `branch` begins with an earlier state of the run before; `began_with` is the number of rods
    that the run itself began with.
    """

    serial: int
    setup: Setup
    params: Params
    seed: int
    start: "Start | None"
    reason: str
    title: str = ""
    kept: "Checkpoint | None" = None
    branch: bool = False
    obstacles: tuple[Obstacle, ...] = ()
    began_with: int = 0


@dataclass(frozen=True)
class Movie:
    """An order to record, until it is withdrawn or `until` steps are done.

    It begins at `begin_at`, as `time.monotonic` tells it.
    """

    serial: int
    order: Order
    until: int | None = None
    begin_at: float = 0.0


@dataclass(frozen=True)
class Trace:
    """An order for a profiler trace, written into `folder`."""

    serial: int
    folder: Path


@dataclass(frozen=True)
class Save:
    """An order to write a checkpoint to `path`, with `notes` for whoever opens it."""

    serial: int
    path: Path
    notes: Mapping[str, Any]


@dataclass(frozen=True)
class Wanted:
    """All that the engine is asked for; a newer one replaces an older one.

    `extra_steps` counts all single steps asked for so far, so that none is lost when one order
    overwrites another; so `strokes` has every one, with its serial, until a frame tells that it
    was done. `view` is how a movie is to look from now on; what is recorded up to the
    serial `cancel` need not be finished. `failures` is the number of failures that the user has
    been shown: the engine stands still until this equals its own. `measures` are wanted of each rod
    in states that are shown or recorded, and in the earlier one that is looked at (`looking`). With
    `drawing` one frame in `draw_every` is shown; without, few are, and the engine waits for none.
    """

    build: Build | None = None
    params: Params = field(default_factory=Params)
    obstacles: tuple[Obstacle, ...] = ()
    strokes: tuple[tuple[int, Stroke], ...] = ()
    running: bool = False
    K: int = 1
    auto: bool = False
    fps: float = DEFAULT_FPS
    extra_steps: int = 0
    movie: Movie | None = None
    trace: Trace | None = None
    save: Save | None = None
    view: View = field(default_factory=View)
    cancel: int = 0
    failures: int = 0
    measures: tuple[str, ...] = ()
    looking: "Snapshot | None" = None
    drawing: bool = True
    draw_every: int = 1


@dataclass(frozen=True)
class Problem:
    """What went wrong in the engine, and what the engine has now.

    `parameter` names the parameter to blame, where there is one; `movie` says that a recording
    ended. `setup`, `params` and `seed` are None before the first successful build. `order` is what
    the engine followed: what the user has changed since then stands. `details` are for a report.
    """

    message: str
    parameter: str | None
    failures: int
    movie: bool
    setup: Setup | None
    params: Params | None
    seed: int | None
    order: Wanted | None = None
    obstacles: tuple[Obstacle, ...] = ()
    details: str = ""


@dataclass(frozen=True)
class Frame:
    """What is shown at one moment: the newest state and how it came about.

    Strokes up to the serial `stroked` are in it. `looked_at` is the earlier state that the user
    looks at, with what is wanted of its rods.
    """

    number: int
    snapshot: "Snapshot"
    K: int
    build: int
    stroked: int = 0
    looked_at: "Snapshot | None" = None


@dataclass(frozen=True)
class Status:
    """What the engine is doing, since when (`time.monotonic`), and what it last measured.

    `phase` is one of starting, placing, compiling, relaxing, paused, running, tracing, finishing,
    stopped; `reason` says why it compiles.
    `movie` is the file being recorded or finished and `movie_frames` what it holds so far;
    `finishing` is the share of the wanted file that is made, since `finishing_since`, None while
    nothing is being finished; orders up to the serial `ended` are over. `saved`, `traced` and
    `kept` are the last finished recording, the summary of the last trace and the last checkpoint
    that was asked for. `trust` was measured last, None before. `autosave_problem` tells why the
    latest autosave failed.
    """

    phase: str = "starting"
    since: float = 0.0
    reason: str = ""
    stats: "Stats | None" = None
    device: str = ""
    build: int = 0
    warnings: tuple[str, ...] = ()
    movie: Path | None = None
    movie_frames: int = 0
    finishing: float | None = None
    finishing_since: float = 0.0
    ended: int = 0
    saved: Path | None = None
    traced: Path | None = None
    kept: Path | None = None
    trust: "Trust | None" = None
    autosave_problem: str = ""

    @property
    def starting(self) -> bool:
        """Whether JAX is being loaded, or a run built."""
        return self.phase in ("placing", "compiling") or (
            self.phase == "starting" and not self.device
        )


class Seam:
    """The slots, and the bell that wakes the engine. Nothing in it waits on the window's side.

    The three hooks are called in the engine's thread: a new frame, a new status, a problem.
    """

    def __init__(
        self,
        on_frame: Callable[[], None],
        on_status: Callable[[], None],
        on_problem: Callable[[Problem], None],
    ) -> None:
        self.status = Status(since=time.monotonic())
        self._on_frame = on_frame
        self._on_status = on_status
        self.report = on_problem
        self._bell = threading.Condition()
        self._wanted = Wanted()
        self._frame: Frame | None = None
        self._stopping = False
        self._painted = 0

    # The window's side

    def request(self, wanted: Wanted) -> None:
        """Replace the order."""
        with self._bell:
            self._wanted = wanted
            self._bell.notify()

    def take(self) -> Frame | None:
        """The newest frame, once; None when it was taken already."""
        with self._bell:
            frame, self._frame = self._frame, None
            return frame

    def painted(self, number: int) -> None:
        """Acknowledge that frame `number` is on the screen."""
        with self._bell:
            self._painted = max(self._painted, number)
            self._bell.notify()

    def stop(self) -> None:
        """Ask the engine to end."""
        with self._bell:
            self._stopping = True
            self._bell.notify()

    # The engine's side

    @property
    def order(self) -> Wanted:
        """The newest order."""
        return self._wanted

    @property
    def stopping(self) -> bool:
        """Whether the engine was asked to end."""
        return self._stopping

    def rest(self, seen: Wanted, seconds: float | None) -> None:
        """Sleep until there is a newer order than `seen`, or the end, or `seconds` have passed."""
        with self._bell:
            self._bell.wait_for(lambda: self._stopping or self._wanted is not seen, seconds)

    def offer(self, frame: Frame, clock: FrameClock | None) -> None:
        """Hand over a frame once the one before is on the screen and, with a clock, it is due."""
        with self._bell:
            before = frame.number - 1
            self._bell.wait_for(lambda: self._stopping or self._painted >= before, PAINT_SECONDS)
            if clock is not None:
                self._bell.wait_for(lambda: self._stopping, clock.wait(time.monotonic()))
                clock.shown(time.monotonic())
            self._frame = frame
        self._on_frame()

    def tell(self, **values: Any) -> None:
        """Replace the status; a new phase also restarts its clock."""
        if values.get("phase", self.status.phase) != self.status.phase:
            values.setdefault("since", time.monotonic())
        status = replace(self.status, **values)
        if status != self.status:
            self.status = status
            self._on_status()
