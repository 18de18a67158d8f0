# SPDX-License-Identifier: GPL-3.0-or-later
"""Recording a run: pictures or a trajectory, and beside them the timeline. No Qt, no JAX."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bacsim_gui import __version__
from bacsim_gui.engine_recordings import Recorded
from bacsim_gui.movie_files import free_paths, part_path
from bacsim_gui.order import Order
from bacsim_gui.recorder import Recorder, RecordingError
from bacsim_gui.timeline import Event, Timeline, TimelineError, TimelineFile, digest, sidecar
from bacsim_gui.view import View
from engine.storage import checkpoint as checkpoints
from engine.storage import trajectory
from engine.storage.errors import StorageError

if TYPE_CHECKING:
    from engine.snapshot import Checkpoint, Snapshot


# Bytes of a name that leave room for what is added to it meanwhile.
LONGEST_NAME = 200


class Sink(Recorded, Protocol):
    """Where frames go: a `Recorder`, a `TrajectorySink`, or either with a timeline."""

    note: str

    def abandon(self, *, delete: bool = False) -> None: ...  # noqa: D102


class TrajectorySink:
    """A trajectory as a place for frames; an existing file is kept, and the name gets a number."""

    finishing: float | None = None

    def __init__(self, order: Order) -> None:
        self.error: str | None = None
        self.note = ""
        about = {"bacsim": __version__, **order.metadata}
        try:
            order.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _trajectory(order, about)
        except OSError as problem:
            raise RecordingError(
                f"The trajectory cannot be written to the folder {order.path.parent}: "
                f"{problem.strerror}. Choose another folder."
            ) from problem
        except StorageError as problem:
            raise RecordingError(str(problem)) from problem
        self.path = self._file.path
        if self.path != order.path:
            self.note = f"{order.path} is taken, so the trajectory goes to {self.path}."

    @property
    def frames_written(self) -> int:
        """Frames that are on the disk."""
        return self._file.frames

    def put(self, snapshot: Snapshot, view: View | None = None) -> None:
        """Write one frame. Raises `RecordingError` where that fails."""
        try:
            self._file.write(snapshot)
        except StorageError as problem:
            self.error = str(problem)
            raise RecordingError(self.error) from problem

    def finish(self) -> Path:
        """End the file; where it is. Raises `RecordingError` for one without a frame."""
        self._file.close()
        if not self._file.frames:
            raise RecordingError("No frame was recorded, so there is no trajectory.")
        return self.path

    def cancel(self) -> None:
        """Nothing is made at the end of a trajectory that could be stopped."""

    def abandon(self, *, delete: bool = False) -> None:
        """Stop; the frames until now stay, or are deleted."""
        self._file.close()
        if delete:
            self.path.unlink(missing_ok=True)


class Recording:
    """Frames on their way into a file, and the timeline of the run beside it (`sidecar`).

    `kept` is the checkpoint that the run goes on from, where it does; it is kept beside them, with
    .start.bacsim after the name. Raises `RecordingError` where nothing can be written.
    """

    def __init__(
        self, order: Order, timeline: Timeline, step: int, kept: Checkpoint | None = None
    ) -> None:
        self._timeline = timeline
        self._view = order.view
        self._start: Path | None = None
        wanted, order = order.path, _told(order, timeline, step)
        self._sink: Sink = _sink(order)
        self.path = self._sink.path
        self._recorded = [self.path]
        if not order.is_trajectory:
            self._recorded.append(part_path(self.path))
        self.note = f"{wanted} is taken, so the file is {self.path}." if self.path != wanted else ""
        try:
            if kept is not None:
                self._start = _keep(kept, self.path)
            start = None if self._start is None else self._start.name
            self._file: TimelineFile = timeline.keep(sidecar(self.path), start)
            self._note(step, "record", _record(order, self.path))
        except (RecordingError, TimelineError, StorageError, FileExistsError) as problem:
            self._sink.abandon(delete=True)
            raise RecordingError(str(problem)) from problem

    @property
    def frames_written(self) -> int:
        """Frames that are in the file."""
        return self._sink.frames_written

    @property
    def error(self) -> str | None:
        """Why it ended early, in plain words."""
        return self._sink.error

    @property
    def finishing(self) -> float | None:
        """The share of the wanted file that is made from the recording; None before that."""
        return self._sink.finishing

    def put(self, snapshot: Snapshot, view: View | None = None) -> None:
        """Record one frame; `view` holds from it on. Raises `RecordingError`."""
        if view is not None and view != self._view:
            self._view = view
            self._note(snapshot.step, "view", view.to_dict())
        self._sink.put(snapshot, view)
        self._note(snapshot.step, "frame", digest(snapshot))

    def finish(self) -> Path:
        """Write what is left; where the file is. Raises `RecordingError`."""
        try:
            path = self._sink.finish()
        except RecordingError:
            self._forget()
            raise
        self._forget()
        if path != self.path and not sidecar(path).exists():
            # Another program has taken the name while this one recorded.
            self._file.path = self._file.path.rename(sidecar(path))
        return path

    def cancel(self) -> None:
        """Give up making the wanted file of what is recorded, which stays and plays."""
        self._sink.cancel()

    def abandon(self, *, delete: bool = False) -> None:
        """Stop at once; what was recorded stays, or is deleted with the timeline."""
        self._sink.abandon(delete=delete)
        self._forget()

    def _forget(self) -> None:
        """End the timeline; where nothing was recorded, it is of no use."""
        self._timeline.forget(self._file)
        if not any(path.exists() for path in self._recorded):
            for path in (self._file.path, self._start):
                if path is not None:
                    path.unlink(missing_ok=True)

    def _note(self, step: int, kind: str, value: Any) -> None:
        try:
            self._file.note(Event(step, kind, value))
        except TimelineError as problem:
            raise RecordingError(str(problem)) from problem


def _told(order: Order, timeline: Timeline, step: int) -> Order:
    """`order` with a free name, and with what the file is to say of itself."""
    if len(os.fsencode(order.path.name)) > LONGEST_NAME:
        raise RecordingError(
            f"The name {order.path.name[:40]}… is too long: use at most {LONGEST_NAME} letters."
        )
    # One whose timeline is left from a file that is gone would get the timeline of that.
    path = next(p for p in free_paths(order.path) if not os.path.lexists(sidecar(p)))
    verb = "replay" if order.is_trajectory else "render"
    again = f"bacsim {verb} {sidecar(path).name} --out {path.name}"
    metadata = {**timeline.metadata(step, order.steps), "command": again, **order.metadata}
    return replace(order, path=path, metadata=metadata)


def _record(order: Order, path: Path) -> dict[str, Any]:
    """What the timeline says of what is recorded."""
    about: dict[str, Any] = {"file": path.name, "steps": order.steps}
    if not order.is_trajectory:
        about |= {
            "fps": order.fps, "size": list(order.size), "quality": order.quality,
            "view": order.view.to_dict(),
        }  # fmt: skip
    return about


def _sink(order: Order) -> Sink:
    return TrajectorySink(order) if order.is_trajectory else picture_sink(order)


def picture_sink(order: Order) -> Recorder:
    """Pictures alone, without a timeline. Raises `RecordingError`."""
    return Recorder(
        order.path, size=order.size, fps=order.fps, view=order.view, metadata=order.metadata,
        frames=order.frames, quality=order.quality,
    )  # fmt: skip


def _trajectory(order: Order, about: Mapping[str, str]) -> trajectory.TrajectoryWriter:
    for path in free_paths(order.path):
        try:
            return trajectory.TrajectoryWriter(path, about, rods=order.rods)
        except StorageError:
            if not path.exists():
                raise
            # Another program has taken the name meanwhile.
    raise AssertionError("there is always another name")


def _keep(kept: Checkpoint, recorded: Path) -> Path:
    """Write the checkpoint that a run goes on from beside what is recorded; where it is."""
    wanted = recorded.with_name(f"{recorded.name}.start{checkpoints.SUFFIX}")
    path = next(free_paths(wanted))
    checkpoints.save(path, kept, __version__, {})
    return path
