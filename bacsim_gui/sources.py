# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded runs as frames to be drawn: trajectories, and timelines, which are run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bacsim_gui import timeline as timelines
from bacsim_gui.command import RunError
from bacsim_gui.fields import NO_FIELD
from bacsim_gui.order import Order
from bacsim_gui.timeline import Timeline, sidecar
from bacsim_gui.view import View
from engine.params import Laws, Setup
from engine.storage import trajectory
from engine.storage.trajectory import Trajectory

if TYPE_CHECKING:
    import numpy as np

    from engine.snapshot import Snapshot

# Says something to the user.
Say = Callable[[str], None]
# How a state is to be looked at, from how it was.
Look = Callable[[View], View]


@dataclass(frozen=True)
class Source:
    """Frames from a file. `order` is how they were recorded, `view` how they were looked at first.

    `count` is how many there are, `wanted` the indices of them; of all rods, one in `one_rod_in` is
    in each.
    """

    path: Path
    order: Order
    view: View
    metadata: dict[str, str]
    wanted: range
    timeline: Timeline | None = None
    one_rod_in: int = 1

    @property
    def count(self) -> int:
        """How many frames there are."""
        return len(self.wanted)

    def only_last(self) -> Source:
        """The same, but for all frames before the last."""
        return replace(self, wanted=self.wanted[-1:])

    def check(self, view: View) -> None:
        """Raise `RunError` where the file does not hold what `view` is to show."""
        unknown = (*view.measures, *(() if view.field == NO_FIELD else (view.field,)))
        if unknown and self.one_rod_in > 1:
            raise RunError(
                f"Only one rod in {self.one_rod_in} is in {self.path.name}, so what comes of a "
                f"rod's neighbours, its {unknown[0]}, cannot be known: colour by activity, "
                "heading or fixed, and leave out arrows and fields."
            )

    def frames(self, say: Say, look: Look) -> Iterator[tuple[Snapshot, View]]:
        """The frames and the view of each, with what that needs of rods.

        Raises `StorageError`, `TimelineError`.
        """
        return self._from_trajectory(look) if self.timeline is None else self._run_again(say, look)

    def _from_trajectory(self, look: Look) -> Iterator[tuple[Snapshot, View]]:
        view = look(self.view)
        with Trajectory(self.path) as found:
            measure = _measuring(found.laws) if view.measures else None
            for at in self.wanted:
                snapshot = found[at]
                if measure is not None:
                    measured = measure(snapshot, view.measures)
                    snapshot = replace(snapshot, measures=measured)
                yield snapshot, view

    def _run_again(self, say: Say, look: Look) -> Iterator[tuple[Snapshot, View]]:
        from bacsim_gui.replay import driver_for, other_bits, play

        assert self.timeline is not None
        driver, _ = driver_for(self.timeline.head, self.path.parent)
        difference, number, changed = other_bits(self.timeline.head, driver), 0, 0
        view = look(self.view)
        if difference:
            say(f"Note: {difference}")
        last = _steps(self.timeline)[self.wanted[-1]]
        for moment in play(self.timeline, driver, lambda _: None, last):
            if moment.event.kind == "view":
                view = look(View.from_dict(moment.event.value))
            elif moment.event.kind == "frame":
                changed += not moment.same
                if number in self.wanted:
                    measures = driver.measure(view.measures)
                    yield replace(moment.snapshot, measures=measures), view
                number += 1
        if changed:
            say(f"Note: {changed} of {number} states differ from those that were recorded.")


def _measuring(laws: Laws) -> Callable[[Snapshot, Iterable[str]], Mapping[str, np.ndarray]]:
    """What measures states that no run has."""
    # Not above: a command line is read before JAX is imported.
    from engine.measures import Meter, list_kernel
    from engine.native.library import default_threads

    return Meter(list_kernel(Setup()), default_threads(), laws=laws).of_snapshot


def opened(path: Path, first: int | None, last: int | None) -> Source:
    """The frames of a trajectory, a timeline, or a movie with its timeline beside it.

    `first` and `last` are steps. Raises `StorageError`, `TimelineError`, and `RunError` where there
    is nothing to draw.
    """
    if path.suffix.lower() == trajectory.SUFFIX:
        with Trajectory(path) as found:
            steps = [found[at].step for at in range(len(found))]
            about = {str(name): str(text) for name, text in found.about.items()}
            one_rod_in = found.one_rod_in
        about["source"] = path.name
        wanted = _between(path, steps, first, last)
        return Source(path, Order(path), View(), about, wanted, one_rod_in=one_rod_in)
    line = path if path.suffix == timelines.SUFFIX else sidecar(path)
    if not line.exists():
        raise RunError(
            f"There is no {line}, which tells how {path.name} came about. Give a trajectory "
            "(.gsd), a timeline, or a movie that has its timeline beside it."
        )
    timeline = timelines.load(line)
    recorded = _recorded(timeline)
    about = {
        **timeline.metadata(timeline.head.first_step, int(recorded["steps"])), "source": line.name,
    }  # fmt: skip
    wanted = _between(path, _steps(timeline), first, last)
    order, view = Order(path), View()
    if "view" in recorded:  # pictures were recorded, and not a trajectory
        view, (width, height) = View.from_dict(recorded["view"]), recorded["size"]
        order = Order(
            path, (int(width), int(height)), float(recorded["fps"]), str(recorded["quality"]),
            int(recorded["steps"]),
        )  # fmt: skip
    return Source(line, order, view, about, wanted, timeline)


def _recorded(timeline: Timeline) -> dict[str, Any]:
    for event in timeline.events:
        if event.kind == "record":
            return event.value
    raise timelines.TimelineError("The timeline does not say that anything was recorded.")


def _steps(timeline: Timeline) -> list[int]:
    return [event.step for event in timeline.events if event.kind == "frame"]


def _between(path: Path, steps: list[int], first: int | None, last: int | None) -> range:
    low = 0 if first is None else first
    high = max(steps, default=0) if last is None else last
    inside = [at for at, step in enumerate(steps) if low <= step <= high]
    if not inside:
        known = f"steps {steps[0]} to {steps[-1]}" if steps else "no frame"
        raise RunError(f"{path} has {known}: there is nothing from {low} to {high}.")
    return range(inside[0], inside[-1] + 1)
