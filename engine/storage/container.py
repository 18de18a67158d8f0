# SPDX-License-Identifier: GPL-3.0-or-later
"""The container of GSD files (file layer 2), read without trust in what it says.

gsd refuses a file that was cut short, and takes the sizes in it as they stand. Here each size is
checked against the file's before anything is allocated, and a cut file is read as far as it goes.
"""

import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from engine.storage.errors import StorageError

_MAGIC = 0x65DF65DF65DF65DF
_HEADER = np.dtype([
    ("magic", "<u8"), ("index_location", "<u8"), ("index_allocated", "<u8"),
    ("names_location", "<u8"), ("names_allocated", "<u8"), ("schema_version", "<u4"),
    ("gsd_version", "<u4"), ("application", "S64"), ("schema", "S64"), ("reserved", "V80"),
])  # fmt: skip
_ENTRY = np.dtype([
    ("frame", "<u8"), ("n", "<u8"), ("location", "<i8"), ("m", "<u4"), ("id", "<u2"),
    ("type", "u1"), ("flags", "u1"),
])  # fmt: skip
ENTRY_BYTES = _ENTRY.itemsize
_TYPES = {
    1: "u1", 2: "<u2", 3: "<u4", 4: "<u8", 5: "i1", 6: "<i2", 7: "<i4", 8: "<i8", 9: "<f4",
    10: "<f8",
}  # fmt: skip
_SIZES = np.array([np.dtype(_TYPES.get(t, "V0")).itemsize for t in range(256)], np.uint64)
_NAME_BYTES = 64
_MOST_NAME_BYTES = _NAME_BYTES << 16  # an id has 16 bits
_BLOCK = 1 << 16  # entries of the index that are read at a time


def index_place(file: BinaryIO) -> tuple[int, int]:
    """Where the index of `file` begins, and how many entries it has room for."""
    file.seek(0)
    head = np.frombuffer(file.read(_HEADER.itemsize), _HEADER)[0]
    return int(head["index_location"]), int(head["index_allocated"])


def grown_index(allocated: int, wanted: int) -> int:
    """Entries in the index that gsd makes when `allocated` are too few for `wanted`."""
    while allocated <= wanted:
        allocated *= 2
    return allocated


class Container:
    """The frames of a GSD file, each some named arrays (chunks).

    Args:
        path: the file.
        application: what must have written it.
        closing: the chunk that each frame ends with; a frame without it is not whole.

    Attributes:
        path: the file.
        frames: whole frames from the first on, at least one.
        cut: whether the file was to hold more than these.

    Raises:
        StorageError: the file is missing, of another program, damaged, or holds no whole frame.
    """

    def __init__(self, path: Path, application: str, closing: str) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except FileNotFoundError:
            raise StorageError(f"There is no file {path}.") from None
        except OSError as problem:
            raise StorageError(f"{path} cannot be read: {problem.strerror}.") from problem
        try:
            self._size = os.fstat(self._file.fileno()).st_size
            head = self._header(application)
            names = self._names(head)
            self._ids = {name: number for number, name in enumerate(names)}
            self._entries, whole = self._index(head, len(names))
            self.frames = self._whole_frames(closing)
        except OSError as problem:
            self.close()
            raise StorageError(f"{path} cannot be read: {problem.strerror}.") from problem
        except BaseException:
            self.close()
            raise
        wanted = np.arange(self.frames + 1, dtype=np.uint64)
        self._starts = np.searchsorted(self._entries["frame"], wanted)
        self.cut = not whole or int(self._starts[-1]) < len(self._entries)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def chunk(self, frame: int, name: str) -> np.ndarray:
        """The array (n,) or (n, m) called `name`, that of the first frame where `frame` has none.

        Raises `StorageError` where neither has it, and where it cannot be read.
        """
        entry = self._entry(frame, name)
        entry = self._entry(0, name) if entry is None else entry
        if entry is None:
            raise self.damaged(frame, f"it lacks {name}")
        dtype, n, m = np.dtype(_TYPES[int(entry["type"])]), int(entry["n"]), int(entry["m"])
        try:
            self._file.seek(int(entry["location"]))
            array = np.frombuffer(self._file.read(n * m * dtype.itemsize), dtype)
        except OSError as problem:
            raise self.damaged(frame, problem.strerror or str(problem)) from problem
        if array.size != n * m:
            raise self.damaged(frame, "the file has become shorter")
        return array if m == 1 else array.reshape(n, m)

    def damaged(self, frame: int, what: str) -> StorageError:
        """The error to raise for a frame of which `what` is wrong."""
        return StorageError(f"Frame {frame} of {self.path} is damaged: {what}.")

    def _entry(self, frame: int, name: str) -> Any:
        within = self._entries[self._starts[frame] : self._starts[frame + 1]]
        found = np.flatnonzero(within["id"] == self._ids.get(name, -1))
        return within[found[0]] if found.size else None

    def _header(self, application: str) -> np.void:
        raw = self._file.read(_HEADER.itemsize)
        if len(raw) < _HEADER.itemsize or np.frombuffer(raw, _HEADER)[0]["magic"] != _MAGIC:
            raise StorageError(
                f"{self.path} is no trajectory. Give a GSD file that bacsim has written."
            )
        head = np.frombuffer(raw, _HEADER)[0]
        writer = head["application"].decode(errors="replace")
        if writer != application or head["schema"] != b"hoomd" or head["gsd_version"] >> 16 != 2:
            raise StorageError(
                f"{self.path} is a GSD file of another program ({writer!r}). Give one that bacsim "
                "has written: others do not say what a rod's length and activity are."
            )
        return head

    def _names(self, head: np.void) -> list[str]:
        location = int(head["names_location"])
        size = min(int(head["names_allocated"]) * _NAME_BYTES, _MOST_NAME_BYTES)
        self._file.seek(min(location, self._size))
        listed = self._file.read(size).split(b"\0\0", 1)[0]
        return [name.decode(errors="replace") for name in listed.rstrip(b"\0").split(b"\0") if name]

    def _index(self, head: np.void, names: int) -> tuple[np.ndarray, bool]:
        """The entries up to the first that cannot be right, and whether those are all.

        One cannot be right, among others, if its data is not in the file.
        """
        location = int(head["index_location"])
        self._file.seek(min(location, self._size))
        left, blocks = int(head["index_allocated"]), [np.empty(0, _ENTRY)]
        ended = False
        while left > 0 and not ended:
            wanted = min(left, _BLOCK)
            raw = self._file.read(wanted * ENTRY_BYTES)
            block = np.frombuffer(raw, _ENTRY, len(raw) // ENTRY_BYTES)
            unused = block["location"] == 0
            ended = bool(unused.any())
            blocks.append(block[: int(np.argmax(unused))] if ended else block)
            if len(block) < wanted:
                break
            left -= wanted
        entries = np.concatenate(blocks)
        bytes_each = entries["m"] * _SIZES[entries["type"]]
        good = (entries["location"] > 0) & (entries["location"] <= self._size)
        good &= (bytes_each > 0) & (entries["flags"] == 0) & (entries["id"] < names)
        room = np.maximum(self._size - entries["location"], 0).astype(np.uint64)
        good &= entries["n"] <= room // np.maximum(bytes_each, 1)
        good[1:] &= entries["frame"][1:] >= entries["frame"][:-1]
        if not good.all():
            return entries[: int(np.argmin(good))], False
        return entries, ended or left <= 0

    def _whole_frames(self, closing: str) -> int:
        ends = self._entries["frame"][self._entries["id"] == self._ids.get(closing, -1)]
        whole = ends == np.arange(len(ends), dtype=np.uint64)
        frames = len(ends) if whole.all() else int(np.argmin(whole))
        if not frames:
            raise StorageError(
                f"{self.path} holds no whole frame: nothing was written to it, or too much of it "
                "is lost. Give another file."
            )
        return frames
