# SPDX-License-Identifier: GPL-3.0-or-later
"""The recordings of the engine's thread: the one under way, and those that are being finished."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bacsim_gui.seam import Movie
from bacsim_gui.timeline import Timeline
from bacsim_gui.view import View

if TYPE_CHECKING:
    from engine.snapshot import Checkpoint, Snapshot


class Recorded(Protocol):
    """What the engine needs of a recording; `put` may block, and so holds the engine back."""

    path: Path

    @property
    def frames_written(self) -> int: ...  # noqa: D102
    @property
    def error(self) -> str | None: ...  # noqa: D102
    @property
    def finishing(self) -> float | None: ...  # noqa: D102
    def put(self, snapshot: "Snapshot", view: View | None = None) -> None: ...  # noqa: D102
    def finish(self) -> Path: ...  # noqa: D102
    def cancel(self) -> None: ...  # noqa: D102


# Begins a recording of a run with that timeline at a step; the checkpoint is the one that the run
# goes on from, if it does.
OpenRecording = Callable[[Movie, Timeline, int, "Checkpoint | None"], Recorded]


class MovieError(RuntimeError):
    """A recording that could not be begun or finished; the simulation is not to blame."""


class _Finish(threading.Thread):
    """Makes the wanted file, which may take long, while the simulation goes on."""

    def __init__(self, movie: Movie, recorded: Recorded) -> None:
        super().__init__(name="finish-recording")
        self.movie, self.recorded = movie, recorded
        self.began = time.monotonic()
        self.saved: Path | None = None
        self.problem = ""

    def run(self) -> None:
        try:
            self.saved = self.recorded.finish()
        except Exception as error:
            self.problem = str(error) or type(error).__name__


class Recordings:
    """At most one recording is under way; any number may be being finished.

    `on_change` is called where one has begun or is over, or goes from the one to the other.
    """

    def __init__(self, open_recording: OpenRecording, on_change: Callable[[], None]) -> None:
        self._open = open_recording
        self._on_change = on_change
        self._tried = 0
        self._cancelled = 0
        self._movie: Movie | None = None
        self._recorded: Recorded | None = None
        self._steps = self._to_frame = 0
        self._ending: list[_Finish] = []
        self._saved: Path | None = None
        self._frames = 0
        self._ended = 0

    @property
    def busy(self) -> bool:
        """Whether anything goes on that no new order will tell of."""
        return self._recorded is not None or bool(self._ending)

    @property
    def steps_to_frame(self) -> int | None:
        """Steps to the next frame; None where nothing is recorded."""
        return None if self._recorded is None else self._to_frame

    def begins(self, wanted: Movie | None) -> bool:
        """Whether `follow` will begin a recording now."""
        if wanted is None or wanted.serial == self._tried:
            return False
        return wanted.begin_at <= time.monotonic()

    def follow(
        self,
        wanted: Movie | None,
        timeline: Timeline,
        kept: "Checkpoint | None",
        snapshot: "Snapshot",
    ) -> float | None:
        """Begin or end what is wanted; seconds until a recording that is to begin later.

        Raises `MovieError`.
        """
        if self._movie is not None and (wanted is None or wanted.serial != self._movie.serial):
            self.end()
        if wanted is None or wanted.serial == self._tried:
            return None
        wait = wanted.begin_at - time.monotonic()
        if wait > 0:
            return wait
        self._tried = wanted.serial
        try:
            self._recorded = self._open(wanted, timeline, snapshot.step, kept)
        except Exception as error:
            self._ended = wanted.serial
            self._on_change()
            raise MovieError(str(error)) from error
        self._movie = wanted
        self._steps = self._to_frame = wanted.order.steps
        self._on_change()
        self._put(snapshot, wanted.order.view)
        return None

    def took(self, snapshot: "Snapshot", steps: int, view: View) -> None:
        """Record the state after `steps` steps if a frame is due. Raises `MovieError`."""
        movie = self._movie
        if movie is None:
            return
        self._to_frame -= steps
        if self._to_frame <= 0:
            self._to_frame = self._steps
            self._put(snapshot, view)
        if movie.until is not None and snapshot.step >= movie.until:
            self.end()

    def scale(self, factor: float) -> None:
        """Take `factor` times as many steps for a frame: each spans the same simulated time."""
        self._steps = max(1, round(self._steps * factor))
        self._to_frame = max(1, round(self._to_frame * factor))

    def end(self) -> None:
        """Finish the recording under way, in a thread of its own."""
        movie, recorded = self._movie, self._recorded
        self._movie = self._recorded = None
        if movie is not None and recorded is not None:
            self._ending.append(_Finish(movie, recorded))
            self._ending[-1].start()
            self._on_change()

    def drop(self) -> None:
        """Forget the recording under way, which has failed."""
        if self._movie is not None:
            self._ended = self._movie.serial
        self._movie = self._recorded = None
        self._on_change()

    def cancel(self, serial: int) -> None:
        """Give up making the file of the recordings up to that serial; they stay and play."""
        if serial > self._cancelled:
            self._cancelled = serial
            for ending in self._ending:
                if ending.movie.serial <= serial:
                    ending.recorded.cancel()

    def poll(self) -> None:
        """See what has been finished. Raises `MovieError` where that, or a recording, failed."""
        done = [ending for ending in self._ending if not ending.is_alive()]
        self._ending = [ending for ending in self._ending if ending not in done]
        for ending in done:
            self._ended = max(self._ended, ending.movie.serial)
            self._frames = ending.recorded.frames_written
            self._saved = ending.saved or self._saved
        if done:
            self._on_change()
        problems = [ending.problem for ending in done if ending.problem]
        if problems:
            raise MovieError(" ".join(problems))
        if self._recorded is not None and self._recorded.error is not None:
            problem = self._recorded.error
            self.drop()
            raise MovieError(problem)

    def wait(self) -> None:
        """Finish everything, and wait for it. Raises `MovieError`."""
        self.end()
        for ending in self._ending:
            ending.join()
        self.poll()

    def status(self) -> dict[str, Any]:
        """What the window is told; see `Status`."""
        ending = self._ending[-1] if self._ending else None
        now = self._recorded or (ending.recorded if ending else None)
        return {
            "movie": None if now is None else now.path,
            "movie_frames": self._frames if now is None else now.frames_written,
            "finishing": None if self._recorded or not ending else ending.recorded.finishing or 0.0,
            "finishing_since": ending.began if ending else 0.0,
            "saved": self._saved,
            "ended": self._ended,
        }

    def _put(self, snapshot: "Snapshot", view: View) -> None:
        assert self._recorded is not None
        try:
            self._recorded.put(snapshot, view)
        except Exception as error:
            self.drop()
            raise MovieError(str(error)) from error
