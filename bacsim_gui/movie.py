# SPDX-License-Identifier: GPL-3.0-or-later
"""A movie without a window: the same engine, renderer and recorder, in a plain loop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bacsim_gui.mp4 import frame_count
from bacsim_gui.presets import Run
from bacsim_gui.recorder import Recorder, RecordingError
from bacsim_gui.view import View


@dataclass(frozen=True)
class MovieOrder:
    """A movie of `seconds` at `fps` frames a second, `size` pixels wide and high."""

    out: Path
    seconds: float = 10.0
    fps: float = 30.0
    size: tuple[int, int] = (1280, 720)
    view: View = field(default_factory=View)

    @property
    def frames(self) -> int:
        """How many frames it has: exactly so many are recorded."""
        return max(1, round(self.seconds * self.fps))


class MovieError(RuntimeError):
    """A movie that ended early; the message says why and what is left of it."""


def make_movie(
    run: Run, order: MovieOrder, on_frame: Callable[[int, int], None], on_start: Callable[[], None]
) -> Path:
    """Simulate, draw and encode; returns where the movie is.

    `on_start` is called once everything is compiled, and `on_frame` with the frames recorded and
    their number in all. The first frame is the start.

    Raises `RecordingError` or `ParameterError` before anything is simulated, and `MovieError` where
    the simulation or the recording stops: what was recorded stays. So it does on
    `KeyboardInterrupt`.
    """
    # Not above: a command line is read before JAX is imported.
    from engine.driver import Driver, SimulationError

    steps, frames = run.movie_steps(order.fps), order.frames
    recorder = Recorder(
        order.out, size=order.size, fps=order.fps, view=order.view,
        metadata=run.movie_metadata(steps), frames=frames,
    )  # fmt: skip
    try:
        driver = Driver(run.setup, run.params, seed=run.seed, start=run.start)
    except BaseException:
        recorder.abandon(delete=True)
        raise
    try:
        on_start()
        recorder.put(driver.snapshot())
        for done in range(1, frames):
            on_frame(done, frames)
            recorder.put(driver.advance(steps))
        on_frame(frames, frames)
        return recorder.finish()
    except SimulationError as error:
        raise MovieError(f"{error} {_cut_short(recorder, frames)}") from error
    except RecordingError as error:
        raise MovieError(str(error)) from error
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_cut_short(recorder, frames)) from None
    finally:
        recorder.abandon()  # does nothing to a finished movie


def _cut_short(recorder: Recorder, frames: int) -> str:
    """Finish a movie early; what there is of it, in words."""
    try:
        path = recorder.finish()
    except RecordingError as error:
        return str(error)
    return f"The first {frame_count(path)} of {frames} frames are in {path}."
