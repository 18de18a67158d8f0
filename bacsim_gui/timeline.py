# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened in a run, and at which step: enough to run it again with the same bits.

In a file it is JSON, a line each, flushed: a head, then events. Whatever ends the program, the
lines before are whole. No Qt and no JAX.
"""

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from bacsim_gui import __version__
from bacsim_gui.edits import EDITS, Edit
from bacsim_gui.edits import checked as checked_edit
from bacsim_gui.movie_formats import MOVIES
from bacsim_gui.view import View
from engine import schema
from engine.obstacle import Obstacle, checked_obstacles
from engine.params import Params, Setup
from engine.snapshot import Snapshot, Start

if TYPE_CHECKING:
    from engine.driver import Driver

SUFFIX = ".timeline"
# Goes up when an older program could no longer read what is written.
FORMAT = 1
# Live parameters that were changed; what tools did; and of the file beside: what is recorded,
# another view of it, a recorded state (its digest).
KINDS = ("set", *EDITS, "record", "view", "frame")
_MARK = "bacsim timeline"
# What comes of values that no program of ours has written.
_IMPOSSIBLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


class TimelineError(RuntimeError):
    """A timeline that cannot be written, read or followed; the message is plain."""


@dataclass(frozen=True)
class Head:
    """How a run began.

    `kernel` is the one of `engine.kernels.KERNELS` that was in use, `code` whose it was, on
    `device`. `start` are the arrays that it began with, None for random places, unless it goes on
    from the `checkpoint` of that name beside the timeline. `obstacles` are those at the begin.
    """

    setup: Setup
    params: Params
    seed: int
    kernel: str
    code: str
    device: str
    title: str = ""
    K: int = 1
    fps: float = 60.0
    start: Start | None = None
    checkpoint: str | None = None
    obstacles: tuple[Obstacle, ...] = ()
    version: str = __version__

    @classmethod
    def of(cls, driver: "Driver", title: str = "", K: int = 1, fps: float = 60.0) -> "Head":
        """The head of a run that has just begun, or that goes on from a checkpoint."""
        stats = driver.stats
        return cls(
            driver.setup, driver.params, driver.seed, driver.program.kernel, stats.code,
            stats.device, title, K, fps, driver.start, obstacles=driver.obstacles,
        )  # fmt: skip

    @property
    def first_step(self) -> int:
        """The step that the run began with, unless a checkpoint tells it."""
        return 0 if self.start is None else self.start.step


@dataclass(frozen=True)
class Event:
    """Something that happened when `step` steps were done; `kind` is one of `KINDS`."""

    step: int
    kind: str
    value: Any


class Timeline:
    """The head and the events of a run; `keep` writes them to a file, those to come as well."""

    def __init__(self, head: Head, events: list[Event] | None = None) -> None:
        self.head = head
        self.events = [] if events is None else events
        self._files: list[TimelineFile] = []

    def add(self, step: int, values: Mapping[str, Any]) -> None:
        """Note that live parameters were set when `step` steps were done.

        Raises `TimelineError` where a file of it cannot be written.
        """
        self._add(Event(step, "set", dict(values)))

    def add_edit(self, step: int, edit: Edit) -> None:
        """Note what a tool did when `step` steps were done. Raises as `add` does."""
        self._add(Event(step, edit.kind, edit.value))

    def _add(self, event: Event) -> None:
        self.events.append(event)
        for file in self._files:
            file.note(event)

    def keep(self, path: Path, checkpoint: str | None = None) -> "TimelineFile":
        """Write what there is to a new file, and from now on what is added.

        `checkpoint` is the name of the file beside it that the run goes on from, if it does. Raises
        `FileExistsError` where there is such a file, and `TimelineError` where it cannot be
        written.
        """
        head = self.head
        if checkpoint is not None:
            # What the run once began with may have been other rods.
            head = replace(head, checkpoint=checkpoint, start=None)
        file = TimelineFile(path, head, self.events)
        self._files.append(file)
        return file

    def forget(self, file: "TimelineFile") -> None:
        """Write no more to `file`; more than once does no harm."""
        if file in self._files:
            self._files.remove(file)
        file.close()

    @property
    def params(self) -> Params:
        """The live parameters after the last event."""
        params = self.head.params
        for event in self.events:
            if event.kind == "set":
                params = replace(params, **event.value)
        return params

    def told(self) -> list[dict[str, Any]]:
        """The events as plain values, fit for JSON."""
        return [{"step": event.step, event.kind: event.value} for event in self.events]

    def metadata(self, step: int, steps: int) -> dict[str, str]:
        """What a file says of itself of which frames are `steps` steps apart, from `step` on."""
        head = self.head
        start = "random" if head.start is None else "kept arrays"
        return {
            "title": head.title, "bacsim": head.version, "seed": str(head.seed),
            "first_step": str(step), "steps_a_frame": str(steps), "start": start,
            "kernel": head.kernel, "code": head.code, "device": head.device,
            "parameters": json.dumps(schema.to_mapping(head.setup, self.params)),
        }  # fmt: skip

    @property
    def last_step(self) -> int:
        """The last step that is known."""
        return max([self.head.first_step, *(event.step for event in self.events)])


class TimelineFile:
    """A timeline that is being written; see `Timeline.keep`."""

    def __init__(self, path: Path, head: Head, events: Sequence[Event]) -> None:
        self.path = path
        try:
            self._file: TextIO = path.open("x", encoding="utf-8")
        except FileExistsError:
            raise
        except OSError as problem:
            raise _cannot_write(path, problem) from problem
        try:
            self._line(_head_to_json(head))
            for event in events:
                self.note(event)
        except BaseException:
            self.close()
            path.unlink(missing_ok=True)
            raise

    def note(self, event: Event) -> None:
        """Add one line. Raises `TimelineError` where it cannot be written."""
        self._line({"step": event.step, event.kind: event.value})

    def _line(self, content: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(content, ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError as problem:
            raise _cannot_write(self.path, problem) from problem

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):  # what could not be flushed was told already
            self._file.close()


def sidecar(recorded: Path) -> Path:
    """Where the timeline of a recorded file lies: beside it, swarm.mp4.timeline for swarm.mp4.

    That of a movie that was never finished, swarm.part.mp4, is the same. Raises `TimelineError` for
    a path without a name.
    """
    if not recorded.name:
        raise TimelineError(f"'{recorded}' is no name of a file.")
    stem = recorded.name.removesuffix(".part.mp4")
    if stem == recorded.name:
        return recorded.with_name(recorded.name + SUFFIX)
    # Every movie is recorded as MP4 first.
    wanted = [recorded.with_name(stem + kind + SUFFIX) for kind in MOVIES]
    return next((path for path in wanted if path.exists()), wanted[0])


def digest(snapshot: Snapshot) -> str:
    """What equal states have in common, and others have not."""
    rods = np.ascontiguousarray(snapshot.rods, "<f4")
    return hashlib.blake2b(rods.data, digest_size=8).hexdigest()


def load(path: Path) -> Timeline:
    """The timeline in a file; a last line that was cut off is left out.

    Raises `TimelineError` for a file that is none, is damaged, or of a newer version.
    """
    try:
        if not path.is_file() and path.exists():
            raise TimelineError(f"{path} is no file.")
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as problem:
        raise TimelineError(f"{path} cannot be read: {problem.strerror}.") from problem
    except UnicodeDecodeError:
        raise TimelineError(f"{path} is no timeline of bacsim.") from None
    head = _head_from_json(path, lines[0])
    return Timeline(head, list(_events(path, lines[1:])))


def _events(path: Path, lines: list[str]) -> Iterator[Event]:
    before = 0
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        try:
            content = json.loads(line)
            step = content.pop("step")
            ((kind, value),) = content.items()
            if isinstance(step, bool) or not isinstance(step, int) or step < before:
                raise ValueError(f"step {step} after step {before}")
            if kind not in KINDS:
                raise ValueError(f"an unknown event {kind!r}")
            before = step
            yield Event(step, kind, _checked(kind, value))
        except _IMPOSSIBLE as problem:
            if number > len(lines):
                return  # the program was ended while it wrote
            raise TimelineError(f"{path}, line {number}, is damaged: {problem}.") from problem


def _checked(kind: str, value: Any) -> Any:
    """The value of an event, or `ValueError` for one that cannot be."""
    if kind == "set":
        for name in value:
            if not schema.field(name).live:
                raise ValueError(f"{name} is no live parameter")
        return {name: schema.coerce(name, v) for name, v in value.items()}
    if kind in EDITS:
        return checked_edit(kind, value)
    if kind == "view":
        return View.from_dict(value).to_dict()
    if kind == "record":
        return _checked_record(value)
    return value


def _checked_record(value: Any) -> dict[str, Any]:
    """What is said of a recording; pictures have a view, a trajectory has none."""
    about = {"file": str(value["file"]), "steps": _whole(value["steps"], 1)}
    if "view" not in value:
        return about
    width, height = value["size"]
    fps = float(value["fps"])
    if not 0 < fps < math.inf:
        raise ValueError(f"{fps} frames a second")
    return about | {
        "size": [_whole(width, 1), _whole(height, 1)], "fps": fps,
        "quality": str(value["quality"]), "view": View.from_dict(value["view"]).to_dict(),
    }  # fmt: skip


def _whole(value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{value!r} is no whole number of at least {least}")
    return value


def _head_to_json(head: Head) -> dict[str, Any]:
    start = None
    if head.start is not None:
        rods = _columns(head.start)
        start = {
            "step": head.start.step,
            "time": head.start.time,
            "rods": _packed(rods),
        }
        if head.start.ids is not None:
            start["ids"] = _packed(np.ascontiguousarray(head.start.ids, "<i4"))
    return {
        _MARK: FORMAT, "version": head.version, "title": head.title, "device": head.device,
        "kernel": head.kernel, "code": head.code, "seed": head.seed, "K": head.K, "fps": head.fps,
        **schema.to_mapping(head.setup, head.params), "start": start,
        "checkpoint": head.checkpoint, "obstacles": [one.values for one in head.obstacles],
    }  # fmt: skip


def _head_from_json(path: Path, line: str) -> Head:
    try:
        content = json.loads(line)
        written = content[_MARK]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TimelineError(f"{path} is no timeline of bacsim.") from None
    try:
        if written > FORMAT:
            raise TimelineError(
                f"{path} was written by bacsim {content['version']}, which is newer than this one. "
                "Install that version to replay it."
            )
        setup, params = schema.from_mapping(content)
        schema.check(setup, params)
        name = content["checkpoint"]
        if name is not None and Path(name).name != name:
            raise ValueError(f"{name!r} is no name of a file beside it")
        obstacles = [Obstacle.from_values(one) for one in content["obstacles"]]
        return Head(
            setup, params, schema.seed_from(content["seed"]), str(content["kernel"]),
            str(content["code"]), str(content["device"]), str(content["title"]),
            int(content["K"]), float(content["fps"]), _start(content["start"], setup.rods), name,
            checked_obstacles(obstacles, params.space_size, setup.boundary),
            str(content["version"]),
        )  # fmt: skip
    except (*_IMPOSSIBLE, zlib.error) as problem:
        raise TimelineError(f"{path} is damaged: {problem} in its first line.") from problem


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(values.tobytes())).decode()


def _unpacked(text: str, kind: str, rods: int, columns: int) -> np.ndarray:
    wanted = 4 * rods * columns
    raw = zlib.decompressobj().decompress(base64.b64decode(text), wanted + 1)
    if len(raw) != wanted:
        raise ValueError(f"its start is not of {rods} rods")
    return np.frombuffer(raw, kind).astype(kind[1:])


def _columns(start: Start) -> np.ndarray:
    columns = np.column_stack([start.pos, start.theta, start.activity])
    return np.ascontiguousarray(columns, "<f4")


def _start(content: Any, rods: int) -> Start | None:
    if content is None:
        return None
    columns = _unpacked(content["rods"], "<f4", rods, 4).reshape(rods, 4)
    ids = _unpacked(content["ids"], "<i4", rods, 1) if "ids" in content else None
    step, time = int(content["step"]), float(content["time"])
    return Start(columns[:, :2], columns[:, 2], columns[:, 3], step, time, ids)


def _cannot_write(path: Path, problem: OSError) -> TimelineError:
    return TimelineError(
        f"The timeline {path} cannot be written: {problem.strerror}. Choose another folder, or "
        "make room."
    )
