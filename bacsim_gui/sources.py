# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded runs as frames to be drawn: trajectories, and timelines, which are run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bacsim_gui import timeline as timelines
from bacsim_gui.command import RunError
from bacsim_gui.order import Order
from bacsim_gui.timeline import Timeline, sidecar
from bacsim_gui.view import View
from engine.storage import trajectory
from engine.storage.trajectory import Trajectory

if TYPE_CHECKING:
    from engine.snapshot import Snapshot

# Says something to the user.
Say = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """Frames from a file. `order` is how they were recorded, `view` how they were looked at first.

    `count` is how many there are, `wanted` the indices of them.
    """

    path: Path
    order: Order
    view: View
    metadata: dict[str, str]
    wanted: range
    timeline: Timeline | None = None

    @property
    def count(self) -> int:
        """How many frames there are."""
        return len(self.wanted)

    def only_last(self) -> Source:
        """The same, but for all frames before the last."""
        return replace(self, wanted=self.wanted[-1:])

    def frames(self, say: Say) -> Iterator[tuple[Snapshot, View]]:
        """The frames and the view of each. Raises `StorageError`, `TimelineError`."""
        if self.timeline is None:
            with Trajectory(self.path) as found:
                for at in self.wanted:
                    yield found[at], self.view
            return
        from bacsim_gui.replay import driver_for, other_bits, play

        driver, _ = driver_for(self.timeline.head, self.path.parent)
        difference, view, number, changed = other_bits(self.timeline.head, driver), self.view, 0, 0
        if difference:
            say(f"Note: {difference}")
        last = _steps(self.timeline)[self.wanted[-1]]
        for moment in play(self.timeline, driver, lambda _: None, last):
            if moment.event.kind == "view":
                view = View.from_dict(moment.event.value)
            elif moment.event.kind == "frame":
                changed += not moment.same
                if number in self.wanted:
                    yield moment.snapshot, view
                number += 1
        if changed:
            say(f"Note: {changed} of {number} states differ from those that were recorded.")


def opened(path: Path, first: int | None, last: int | None) -> Source:
    """The frames of a trajectory, a timeline, or a movie with its timeline beside it.

    `first` and `last` are steps. Raises `StorageError`, `TimelineError`, and `RunError` where there
    is nothing to draw.
    """
    if path.suffix.lower() == trajectory.SUFFIX:
        with Trajectory(path) as found:
            steps = [found[at].step for at in range(len(found))]
            about = {str(name): str(text) for name, text in found.about.items()}
        about["source"] = path.name
        return Source(path, Order(path), View(), about, _between(path, steps, first, last))
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
