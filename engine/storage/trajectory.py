# SPDX-License-Identifier: GPL-3.0-or-later
"""Trajectories: snapshots of a run in a GSD file, which OVITO, freud and notebooks open too.

Frames follow the hoomd schema; what it has no place for is logged. docs/files.md lists the content.
"""

import contextlib
import errno
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import gsd.fl
import numpy as np

from engine.obstacle import Obstacle, checked_obstacles
from engine.params import GIVEN, Laws, Params, Setup
from engine.schema import PARAM_FIELDS, Declared, ParameterError, with_values
from engine.snapshot import Snapshot
from engine.storage.container import ENTRY_BYTES, Container, grown_index, index_place
from engine.storage.errors import StorageError

SUFFIX = ".gsd"

NOTHING: Mapping[str, str] = MappingProxyType({})

# Goes up when an older program could no longer read what is written.
FORMAT = 1

_APPLICATION = "bacsim"
_LOG = "log/bacsim/"
# Written last: a frame that has it is whole, since gsd keeps the chunks of a frame in the order of
# the first one.
_CLOSING = _LOG + "step"
# These differ in each frame; others are written again only where they differ from the first frame.
_MOVING = ("particles/position", "particles/orientation", "log/particles/activity", _CLOSING)
# Half the width of the core of the shape, in radii: OVITO refuses a polygon of two corners.
_CORE = 1e-4
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# Room for what gsd writes beside the data: names, and parts of blocks.
_SPARE_BYTES = 1 << 16


class TrajectoryWriter:
    """Writes snapshots to a new GSD file, a frame each.

    After `write` a frame is on the disk whatever happens to the program. A file that was begun and
    got no frame is removed again.

    Args:
        path: the file; it must not exist.
        about: texts about the run, kept in the first frame; by default none.
        rods: about how many rods a frame keeps, None for all. Those are kept whose id is a multiple
            of one number, which follows from the first frame: so each is followed all its life,
            and where rods come and go the share stays. Observables are of all rods.

    Attributes:
        path: the file.
        frames: how many are written.

    Raises:
        StorageError: there is such a file already, or it cannot be written.
        ParameterError: `rods` is below 1.
    """

    def __init__(
        self, path: Path | str, about: Mapping[str, str] = NOTHING, *, rods: int | None = None
    ) -> None:
        if rods is not None and rods < 1:
            raise ParameterError("rods", rods, "are too few for a trajectory", "Keep at least 1.")
        self.path = Path(path)
        self.frames = 0
        self._about = dict(about)
        self._rods = rods
        self._one_in = 1
        self._first: dict[str, np.ndarray] = {}
        self._observables: tuple[str, ...] = ()
        self._entries = 0
        try:
            # By us, since gsd hides a file that it makes from others.
            self.path.touch(exist_ok=False)
            self._file: Any = gsd.fl.open(
                self.path, "w", application=_APPLICATION, schema="hoomd", schema_version=[1, 4]
            )
        except FileExistsError:
            raise StorageError(
                f"{path} exists already. Give another name for the trajectory."
            ) from None
        except OSError as problem:
            with contextlib.suppress(OSError):
                self.path.unlink()  # if it was begun, it is of no use
            raise StorageError(
                f"The trajectory cannot be written to {path}: {problem.strerror}. Choose another "
                "place, or make room."
            ) from problem

    def write(self, snapshot: Snapshot) -> None:
        """Append `snapshot` and see it to the disk.

        Raises `StorageError` where that fails; the file is closed then and keeps the frames that
        it had.
        """
        if self._file is None:
            raise StorageError(f"The trajectory {self.path} is closed; no frame can be added.")
        if not self._first:
            self._begin(snapshot)
        frame = self._frame(snapshot)
        new = {n: a for n, a in frame.items() if n in _MOVING or not self._has(n, a)}
        try:
            grows = self._make_room(new)
            for name, array in new.items():
                self._file.write_chunk(name, array)
            self._file.end_frame()
            self._file.flush()
            self._first = self._first or frame
            self._entries += len(new)
            self.frames += 1
            if grows:
                self._fill_index()
        except OSError as problem:
            raise self._failed(problem) from problem

    def close(self) -> None:
        """End the file; more than once does no harm."""
        if self._file is not None:
            file, self._file = self._file, None
            with contextlib.suppress(OSError):  # each frame was flushed
                file.close()
            if not self.frames:
                with contextlib.suppress(OSError):
                    self.path.unlink()

    def __enter__(self) -> "TrajectoryWriter":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self, snapshot: Snapshot) -> None:
        if self._rods is not None:
            self._one_in = max(1, round(snapshot.n / self._rods))
        self._observables = tuple(snapshot.observables)

    def _has(self, name: str, array: np.ndarray) -> bool:
        """Whether readers, who fall back on the first frame, find `array` there."""
        return name in self._first and np.array_equal(self._first[name], array)

    def _frame(self, snapshot: Snapshot) -> dict[str, np.ndarray]:
        """The chunks of a frame, in the order in which they are written."""
        ids = np.arange(snapshot.n, dtype=np.int32) if snapshot.ids is None else snapshot.ids
        rods, params, side = snapshot.rods, snapshot.params, np.float32(snapshot.params.space_size)
        if self._one_in > 1:
            kept = ids % self._one_in == 0
            ids, rods = ids[kept], rods[kept]
        chunks = {
            "configuration/dimensions": np.array([2], np.uint8),
            "configuration/box": np.array([side, side, 0, 0, 0, 0], np.float32),
            "configuration/step": np.array([snapshot.step], np.uint64),
            "particles/N": np.array([len(ids)], np.uint32),
            "particles/types": _characters("rod"),
            "particles/type_shapes": _characters(json.dumps(shape(params))),
            "particles/position": _centred(rods[:, :2], side),
            "particles/orientation": _quaternions(rods[:, 2]),
            "log/particles/activity": np.ascontiguousarray(rods[:, 3]),
            "log/particles/id": np.asarray(ids, np.int32),
        }
        if not self._first:
            chunks[_LOG + "about"] = np.frombuffer(self._head(snapshot.laws).encode(), np.uint8)
        values = [getattr(params, f.name) for f in PARAM_FIELDS]
        chunks[_LOG + "params"] = np.array(values, np.float64)
        obstacles = json.dumps([one.values for one in snapshot.obstacles])
        chunks[_LOG + "obstacles"] = np.frombuffer(obstacles.encode(), np.uint8)
        chunks[_LOG + "time"] = np.array([snapshot.time], np.float64)
        for name in self._observables:
            value = snapshot.observables.get(name, math.nan)
            chunks[_LOG + name] = np.array([value], np.float64)
        chunks[_CLOSING] = np.array([snapshot.step], np.int64)
        return chunks

    def _head(self, laws: Laws) -> str:
        return json.dumps({
            "format": FORMAT, "about": self._about, "params": [f.name for f in PARAM_FIELDS],
            "observables": list(self._observables), "one_rod_in": self._one_in,
            "laws": asdict(laws),
        })  # fmt: skip

    def _make_room(self, chunks: Mapping[str, np.ndarray]) -> bool:
        """Raise `OSError` where gsd would do harm for want of room, or where the file is gone.

        Whether its index will grow. When it cannot, gsd writes over its own list of names; when it
        cannot write an array that it does not buffer, it may keep a part of the frame.
        """
        with self.path.open("r+b") as file:
            _, allocated = index_place(file)
            used = self._entries + len(chunks)
            sizes = [array.nbytes for array in chunks.values()]
            grows = used > allocated
            unbuffered = max(sizes) >= self._file.maximum_write_buffer_size
            if grows or unbuffered or not self.frames:
                wanted = grown_index(allocated, used) * ENTRY_BYTES if grows else 0
                size = os.fstat(file.fileno()).st_size
                try:
                    _allocate(file, size, sum(sizes) + wanted + _SPARE_BYTES)
                finally:
                    os.ftruncate(file.fileno(), size)
        return grows

    def _fill_index(self) -> None:
        """Give the index, of which gsd leaves holes, its room on the disk once and for all."""
        with self.path.open("r+b") as file:
            location, allocated = index_place(file)
            _allocate(file, location, allocated * ENTRY_BYTES)

    def _failed(self, problem: OSError) -> StorageError:
        kept = f"The {self.frames} before are kept in it." if self.frames else "Nothing was kept."
        if not self.path.exists():
            kept = "It is gone."
        self.close()
        return StorageError(
            f"Frame {self.frames} of the trajectory {self.path} cannot be written: "
            f"{problem.strerror}. {kept} Make room, and go on in another file."
        )


class Moment(NamedTuple):
    """What a frame is, without its rods: how many they are, and under what they moved."""

    step: int
    time: float
    rods: int
    params: Params
    obstacles: tuple[Obstacle, ...]


class Trajectory:
    """The snapshots in a GSD file that a `TrajectoryWriter` has written.

    A sequence: `len`, `[i]`, iteration. A file that was cut short holds its whole frames; one that
    is still being written, those of the moment when it was opened.

    Attributes:
        path: the file.
        about: the texts about the run.
        laws: those of the model that the run follows.
        cut: whether the file was to hold more frames than can be read.
        one_rod_in: 1 where frames hold all rods, else of how many rods one is kept.

    Raises:
        StorageError: the file is missing, of another program, of a newer version or damaged, or
            holds no whole frame. Frames that are damaged are refused when they are read.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._container = Container(self.path, _APPLICATION, _CLOSING)
        self.cut = self._container.cut
        try:
            self._read_head()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def __len__(self) -> int:
        return self._container.frames

    def __iter__(self) -> Iterator[Snapshot]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, frame: int) -> Snapshot:
        """The snapshot of frame `frame`; negative numbers count from the end.

        Positions are exact to float32 and angles to 1e-6. Raises `IndexError` beyond the last, and
        `StorageError` for a damaged frame.
        """
        frame = self._number_of(frame)
        step, time, n, params, obstacles = self.moment(frame)
        pos = self._array(frame, "particles/position", "f4", (n, 3))
        orientation = self._array(frame, "particles/orientation", "f4", (n, 4))
        activity = self._array(frame, "log/particles/activity", "f4", (n,))
        ids = self._array(frame, "log/particles/id", "i4", (n,))
        rods = np.stack([
            *_from_centre(
                pos[:, :2], np.float32(params.space_size), periodic=self.laws.periodic
            ).T,
            _angles(orientation), activity,
        ], axis=1)  # fmt: skip
        if not np.isfinite(rods).all():
            raise self._container.damaged(frame, "a place, angle or activity is no number")
        return Snapshot(
            rods=rods,
            step=step,
            time=time,
            params=params,
            observables={name: self._number(frame, name) for name in self._observables},
            ids=None if np.array_equal(ids, np.arange(n)) else ids,
            obstacles=obstacles,
            laws=self.laws,
        )

    def moment(self, frame: int) -> Moment:
        """What frame `frame` is, without reading its rods; raises as `[frame]` does."""
        frame = self._number_of(frame)
        params = self._params(frame)
        return Moment(
            step=int(self._array(frame, _CLOSING, "i8", (1,))[0]),
            time=self._number(frame, "time"),
            rods=int(self._array(frame, "particles/N", "u4", (1,))[0]),
            params=params,
            obstacles=self._obstacles_at(frame, params.space_size),
        )

    def __enter__(self) -> "Trajectory":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _number_of(self, frame: int) -> int:
        if not -len(self) <= frame < len(self):
            raise IndexError(f"{self.path} has {len(self)} frames, and no frame {frame}.")
        return frame % len(self)

    def _read_head(self) -> None:
        raw = self._container.chunk(0, _LOG + "about").tobytes()
        try:
            head = json.loads(raw)
            made_for = int(head["format"])
            self.about = {str(name): str(text) for name, text in head["about"].items()}
            self.one_rod_in = int(head["one_rod_in"])
            self._names = [str(name) for name in head["params"]]
            self._observables = [str(name) for name in head["observables"]]
            laws = dict(head.get("laws", {}))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            raise self._container.damaged(0, "what it says about the run is garbled") from problem
        if made_for > FORMAT:
            raise StorageError(
                f"{self.path} was written by a newer version of bacsim. Open it with that one."
            )
        # None are told where the file is older than they are.
        self.laws = self._known(Setup(), laws).laws if laws else GIVEN

    def _array(self, frame: int, name: str, kind: str, shape: tuple[int, ...]) -> np.ndarray:
        array = self._container.chunk(frame, name)
        if array.shape != shape or array.dtype != np.dtype(kind):
            raise self._container.damaged(frame, f"{name} has the shape {array.shape}, not {shape}")
        return array

    def _number(self, frame: int, name: str) -> float:
        return float(self._array(frame, _LOG + name, "f8", (1,))[0])

    def _obstacles_at(self, frame: int, space_size: float) -> tuple[Obstacle, ...]:
        text = self._container.chunk(frame, _LOG + "obstacles").tobytes()
        try:
            found = [Obstacle.from_values(one) for one in json.loads(text)]
            return checked_obstacles(found, space_size, self.laws.boundary)
        except (ValueError, TypeError, RecursionError) as problem:
            raise self._container.damaged(
                frame, "what it says of obstacles is garbled"
            ) from problem

    def _params(self, frame: int) -> Params:
        values = self._array(frame, _LOG + "params", "f8", (len(self._names),))
        given = dict(zip(self._names, values.tolist(), strict=True))
        return self._known(Params(), given)

    def _known(self, declared: Declared, given: Mapping[str, Any]) -> Declared:
        """`declared` with values from the file. Raises `StorageError` for what is not known."""
        try:
            return with_values(declared, **given)
        except ParameterError as problem:
            raise StorageError(
                f"{self.path} was written by another version: {problem}"
            ) from problem


def _allocate(file: BinaryIO, start: int, size: int) -> None:
    """Have bytes of `file` on the disk, where the system can; raises `OSError` without room."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), start, size)


def shape(params: Params) -> dict[str, Any]:
    """A rod as an entry of `type_shapes`: a spheropolygon along x, its end caps of `radius`.

    Its width is exact, and its length but for 1e-4 radii: the core has a little width of its own.
    """
    half, core = params.length / 2, _CORE * params.radius
    corners = [[-half, -core], [half, -core], [half, core], [-half, core]]
    return {"type": "Polygon", "rounding_radius": params.radius - core, "vertices": corners}


def _characters(text: str) -> np.ndarray:
    """`text` as the schema wants it: one row of bytes that ends with a zero."""
    return np.frombuffer(text.encode() + b"\0", np.int8)[None, :]


def _centred(pos: np.ndarray, side: np.float32) -> np.ndarray:
    """Places (N, 2) in [0, L)² as (N, 3) in [-L/2, L/2)²."""
    out = np.zeros((len(pos), 3), np.float32)
    out[:, :2] = np.float64(pos) - float(side) / 2
    return out


def _from_centre(pos: np.ndarray, side: np.float32, *, periodic: bool) -> np.ndarray:
    """The inverse of `_centred`, (N, 2)."""
    with np.errstate(all="ignore"):  # of a damaged file, which is refused for them
        back = np.asarray(np.float64(pos) + float(side) / 2, np.float32)
    back[back >= side] = 0 if periodic else np.nextafter(side, np.float32(0))
    return back


def _quaternions(theta: np.ndarray) -> np.ndarray:
    """Turns (N, 4) about z that take the x axis to the angles (N,)."""
    half = np.float64(theta) / 2
    out = np.zeros((len(theta), 4), np.float32)
    out[:, 0], out[:, 3] = np.cos(half), np.sin(half)
    return out


def _angles(orientation: np.ndarray) -> np.ndarray:
    """The inverse of `_quaternions`."""
    with np.errstate(all="ignore"):  # as above
        w, z = np.float64(orientation[:, 0]), np.float64(orientation[:, 3])
        return (2 * np.arctan2(z, w)).astype(np.float32)
