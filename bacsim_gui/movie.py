# SPDX-License-Identifier: GPL-3.0-or-later
"""Recording without a window: the same engine, renderer and recorder, in a plain loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bacsim_gui.order import Order
from bacsim_gui.recorder import RecordingError
from bacsim_gui.recording import Sink
from bacsim_gui.view import View

if TYPE_CHECKING:
    from engine.driver import Driver
    from engine.snapshot import Snapshot

Frame = tuple["Snapshot", View | None]


class MovieError(RuntimeError):
    """A recording that ended early; the message says why and what is left of it."""


def run_frames(driver: Driver, order: Order) -> Iterator[Frame]:
    """`order.frames` frames of a run, its present state first, with what the view needs of rods."""
    for number in range(order.frames or 1):
        snapshot = driver.advance(order.steps) if number else driver.snapshot()
        yield replace(snapshot, measures=driver.measure(order.view.measures)), None


def write_frames(
    sink: Sink, frames: Iterable[Frame], total: int, on_frame: Callable[[int, int], None]
) -> Path:
    """Record `frames`, of which there are `total`; returns where they are.

    `on_frame` is called with the frames recorded and their number in all.

    Raises `MovieError` where the simulation or the recording stops: what was recorded stays. So it
    does on `KeyboardInterrupt`.
    """
    # Not above: a command line is read before JAX is imported.
    from engine.driver import SimulationError

    whole = False
    try:
        for done, (snapshot, view) in enumerate(frames, start=1):
            sink.put(snapshot, view)
            on_frame(done, total)
        whole = True
        return sink.finish()
    except SimulationError as error:
        raise MovieError(f"{error} {_cut_short(sink, total)}") from error
    except RecordingError as error:
        raise MovieError(str(error)) from error
    except KeyboardInterrupt:
        if whole:  # the wanted file is being made of what is recorded
            sink.cancel()
        raise KeyboardInterrupt(_cut_short(sink, total)) from None
    finally:
        sink.abandon()  # does nothing to what is finished


def _cut_short(sink: Sink, total: int) -> str:
    """Finish early; what there is, in words."""
    try:
        path = sink.finish()
    except RecordingError as error:
        return str(error)
    return f"The first {sink.frames_written} of {total} frames are in {path}."
