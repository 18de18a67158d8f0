# SPDX-License-Identifier: GPL-3.0-or-later
"""Running a timeline again: on the same code and device every state has the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bacsim_gui.edits import EDITS, Edit, apply
from bacsim_gui.timeline import Event, Head, Timeline, TimelineError, digest
from engine.schema import ParameterError
from engine.storage import checkpoint as checkpoints

if TYPE_CHECKING:
    from engine.driver import Driver
    from engine.snapshot import Checkpoint, Snapshot

# Steps between two words on how far it is.
SLICE = 2000


@dataclass(frozen=True)
class Moment:
    """An event of a timeline, the state at it, and whether that has the bits that it had then.

    `same` is None where the timeline does not tell.
    """

    event: Event
    snapshot: Snapshot
    same: bool | None


def driver_for(head: Head, folder: Path) -> tuple[Driver, Checkpoint | None]:
    """The run at its first step, and the checkpoint that it goes on from, if it does.

    `folder` is where the timeline lies.

    Raises `ParameterError` for what cannot be run, `StorageError` for a checkpoint that is missing.
    """
    # Not above: a command line is read before JAX is imported.
    from engine.driver import Driver
    from engine.kernels import name_of

    if head.checkpoint is not None:
        kept = checkpoints.load(folder / head.checkpoint).checkpoint
        return Driver.resumed(kept), kept
    # What `auto` stood for then, and not what it stands for here.
    native = "auto" if head.kernel == "native" else "off"
    setup = replace(head.setup, kernel=name_of(head.kernel), native=native)
    driver = Driver(setup, head.params, seed=head.seed, start=head.start, obstacles=head.obstacles)
    return driver, None


def other_bits(head: Head, driver: Driver) -> str:
    """Why the states may not have the bits of then, in a plain sentence, or nothing."""
    from bacsim_gui import __version__

    now, then = driver.stats, head
    if (now.code, now.device) != (then.code, then.device):
        return (
            f"The run was computed by {then.code} code on {then.device}; here it is {now.code} on "
            f"{now.device}, so rounding differs, and a crowd soon with it."
        )
    if head.version != __version__:
        return f"The run was made by bacsim {head.version}; this is {__version__}."
    return ""


def play(
    timeline: Timeline, driver: Driver, on_step: Callable[[int], None], until: int | None = None
) -> Iterator[Moment]:
    """Follow `timeline`; yields a moment for each of its events up to step `until`.

    `on_step` is called now and then with the step. Raises `SimulationError` as the run did, if it
    did, and `TimelineError` for events that do not fit it.
    """
    for event in timeline.events:
        if until is not None and event.step > until:
            break
        if event.step < driver.step:
            raise TimelineError(
                f"The timeline has an event at step {event.step}, before the run's first "
                f"{driver.step}."
            )
        _go_to(driver, event.step, on_step)
        if event.kind == "set":
            driver.set(**event.value)
        elif event.kind in EDITS:
            _follow(driver, event)
        snapshot = driver.snapshot()
        same = digest(snapshot) == event.value if event.kind == "frame" else None
        yield Moment(event, snapshot, same)
    if until is not None:
        _go_to(driver, until, on_step)


def _follow(driver: Driver, event: Event) -> None:
    try:
        apply(driver, Edit(event.kind, event.value))
    except ParameterError as problem:
        raise TimelineError(f"At step {event.step}: {problem}") from problem


def _go_to(driver: Driver, step: int, on_step: Callable[[int], None]) -> None:
    while driver.step < step:
        driver.advance(min(SLICE, step - driver.step))
        on_step(driver.step)
