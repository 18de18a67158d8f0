# SPDX-License-Identifier: GPL-3.0-or-later
"""What `bacsim run` keeps: trajectory, table of observables, checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bacsim_gui import __version__
from bacsim_gui.command import RunError, counted
from bacsim_gui.order import Order
from bacsim_gui.presets import Run
from bacsim_gui.recorder import RecordingError
from bacsim_gui.recording import Recording
from bacsim_gui.timeline import Head, Timeline
from engine.schema import ParameterError
from engine.storage import checkpoint as checkpoints
from engine.storage.errors import StorageError
from engine.storage.series import SUFFIXES, SeriesWriter

if TYPE_CHECKING:
    from engine.driver import Driver
    from engine.snapshot import Checkpoint


@dataclass(frozen=True)
class Going:
    """A run under way: its Driver, its timeline, and the checkpoint that it goes on from."""

    driver: Driver
    timeline: Timeline
    kept: Checkpoint | None = None


def begin(run: Run) -> Going:
    """A run from its beginning. Raises `ParameterError`."""
    driver = run.driver()
    return Going(driver, Timeline(Head.of(driver, run.title, run.K, run.fps)))


def resume(path: Path, values: Mapping[str, object]) -> Going:
    """A run that goes on from the checkpoint in a file, with some live parameters set.

    Raises `StorageError` and `ParameterError`.
    """
    from engine.driver import Driver

    kept = checkpoints.load(path).checkpoint
    driver = Driver.resumed(kept)
    timeline = Timeline(Head.of(driver, path.stem))
    if values:
        driver.set(**values)
        timeline.add(driver.step, {name: getattr(driver.params, name) for name in values})
    return Going(driver, timeline, kept)


def check_outputs(table: str | None, checkpoint: str | None) -> None:
    """Refuse at once what could not be written in the end, with `ParameterError`."""
    for name, text in (("observables", table), ("checkpoint", checkpoint)):
        if text is None:
            continue
        path = Path(text)
        if os.path.lexists(path):
            raise ParameterError(name, text, "exists already", "Give another name.")
        if not path.name or not os.access(path.parent, os.W_OK | os.X_OK):
            raise ParameterError(
                name, text, "cannot be written", f"Is there a folder {path.parent} of yours?"
            )
    if table is not None and Path(table).suffix.lower() not in SUFFIXES:
        raise ParameterError(
            "observables",
            table,
            "is no name for a table",
            f"Let it end in {' or '.join(SUFFIXES)}.",
        )


class Outputs:
    """The files of a run. Those that exist are kept: a trajectory's name gets a number.

    `notes` are plain sentences for the user. Raises `RecordingError` or `StorageError` where one
    cannot be written.
    """

    def __init__(
        self, going: Going, order: Order | None, table: str | None, checkpoint: str | None
    ) -> None:
        self._going = going
        self._recording: Recording | None = None
        self._table: SeriesWriter | None = None
        self._checkpoint = None if checkpoint is None else Path(checkpoint)
        self._saved = False
        try:
            if table is not None:
                self._table = SeriesWriter(Path(table))
            if order is not None:
                self._recording = Recording(order, going.timeline, going.driver.step, going.kept)
        except BaseException:
            self.abandon()
            raise
        note = "" if self._recording is None else self._recording.note
        self.notes = (note,) if note else ()

    def write(self) -> None:
        """Add the present state to the trajectory and to the table.

        Raises `RunError`, whose message says what is kept.
        """
        snapshot = self._going.driver.snapshot()
        try:
            if self._table is not None:
                self._table.write(snapshot)
            if self._recording is not None:
                self._recording.put(snapshot)
        except (RecordingError, StorageError) as error:
            raise RunError(str(error)) from error

    def save(self) -> None:
        """Write the checkpoint, in place of the one before. Raises `RunError`."""
        if self._checkpoint is None:
            return
        try:
            kept = self._going.driver.checkpoint()
            timeline = self._going.timeline
            notes = {"title": timeline.head.title, "timeline": timeline.told()}
            checkpoints.save(self._checkpoint, kept, __version__, notes, overwrite=self._saved)
        except StorageError as error:
            raise RunError(str(error)) from error
        self._saved = True

    def finish(self) -> str:
        """Write what is left; a line on each file. Raises `RunError`."""
        told = []
        try:
            if self._recording is not None:
                path = self._recording.finish()
                told.append(_line(path, counted(self._recording.frames_written, "frame")))
            if self._table is not None:
                self._table.close()
                told.append(_line(self._table.path, counted(self._table.rows, "row")))
        except (RecordingError, StorageError) as error:
            raise RunError(str(error)) from error
        self.save()
        if self._checkpoint is not None:
            told.append(_line(self._checkpoint, f"step {self._going.driver.step:,}"))
        return "\n".join(told)

    def abandon(self) -> None:
        """Close what is open; does nothing to what is finished."""
        if self._recording is not None:
            self._recording.abandon()
        if self._table is not None:
            self._table.close()


def _line(path: Path, what: str) -> str:
    return f"{path.resolve()}: {what}, {path.stat().st_size / 1e6:.1f} MB"
