# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program and the process that records say to each other, over two pipes.

A message is a head, one byte for its kind and eight for its length, and that many bytes. The
program sends START (JSON), FRAME after FRAME, a VIEW (JSON) before the frames that are looked at
in another way, and FINISH; the end of the pipe without a FINISH means that the program is gone.
After FINISH it may send CANCEL. The process answers with REPLY (JSON): how many frames are written,
how much of the wanted file is made, then either where the movie is, or what went wrong.
"""

import json
import struct
from collections.abc import Iterable, Mapping
from typing import IO, Any

import numpy as np

from bacsim_gui.scene import Scene
from bacsim_gui.trails import COLUMNS

VERSION = 5

START, FRAME, FINISH, REPLY, VIEW, CANCEL = range(1, 7)
_KINDS = (START, FRAME, FINISH, REPLY, VIEW, CANCEL)

_HEAD = struct.Struct("<BQ")
# Length of the JSON with which a frame begins; little-endian like the rods that follow.
_FRAME = struct.Struct("<I")
_NUMBERS = ("space_size", "length", "radius", "step", "time")
_ROD_BYTES = 16
# Far above any frame; a larger length means that the two sides lost step.
_LONGEST = 1 << 32


class ProtocolError(RuntimeError):
    """The other side sent what cannot be understood."""


def send(pipe: IO[bytes], kind: int, *parts: bytes | memoryview) -> None:
    """Write one message and flush it.

    Raises:
        OSError: the other side is gone.
    """
    pipe.write(_HEAD.pack(kind, sum(len(part) for part in parts)))
    for part in parts:
        pipe.write(part)
    pipe.flush()


def send_json(pipe: IO[bytes], kind: int, content: Mapping[str, Any]) -> None:
    """Write a message of JSON."""
    send(pipe, kind, json.dumps(content).encode("utf-8"))


def send_frame(pipe: IO[bytes], scene: Scene, measures: Iterable[str] = ()) -> None:
    """Write one frame: 16 bytes a rod and the few numbers that may change while recording.

    Those of `measures` that the scene has are sent too, 4 bytes a rod each, and its trails, 24
    bytes a line.
    """
    names = [name for name in measures if name in scene.measures]
    about = {name: getattr(scene, name) for name in _NUMBERS}
    lines = np.empty((0, COLUMNS), np.float32) if scene.trails is None else scene.trails
    about |= {"values": dict(scene.values), "measures": names, "trails": len(lines)}
    if not scene.periodic:
        about["boundary"] = scene.boundary
    about["obstacles"] = [list(one) for one in scene.obstacles]
    head = json.dumps(about).encode("utf-8")
    arrays = [scene.rods, *(scene.measures[name] for name in names), lines]
    parts = (np.ascontiguousarray(array, "<f4").reshape(-1).view(np.uint8) for array in arrays)
    send(pipe, FRAME, _FRAME.pack(len(head)), head, *(part.data for part in parts))


def receive(pipe: IO[bytes]) -> tuple[int, bytes] | None:
    """Read one message, its kind and its content, from a buffered pipe; None at its end.

    Raises:
        ProtocolError: a kind or a length that no message has, or the pipe ended inside a message.
    """
    head = pipe.read(_HEAD.size)
    if not head:
        return None
    if len(head) != _HEAD.size:
        raise ProtocolError("a message ended in its head")
    kind, length = _HEAD.unpack(head)
    if kind not in _KINDS or length > _LONGEST:
        raise ProtocolError(f"a message of kind {kind} and length {length} is unknown")
    content = pipe.read(length)
    if len(content) != length:
        raise ProtocolError(f"a message of {length} bytes ended after {len(content)}")
    return kind, content


def json_of(content: bytes) -> dict[str, Any]:
    """The content of a message of JSON.

    Raises:
        ProtocolError: it is no JSON object.
    """
    try:
        values = json.loads(content)
    except ValueError as problem:
        raise ProtocolError(f"a message is no JSON: {problem}") from problem
    if not isinstance(values, dict):
        raise ProtocolError("a message is no JSON object")
    return values


def scene_of(content: bytes) -> Scene:
    """The scene that a FRAME message carries.

    Raises:
        ProtocolError: its head is none, or what follows is no whole number of rods.
    """
    if len(content) < _FRAME.size:
        raise ProtocolError(f"a frame of {len(content)} bytes has no head")
    start = _FRAME.size + _FRAME.unpack_from(content)[0]
    if len(content) < start:
        raise ProtocolError(f"a frame of {len(content)} bytes ends in its head")
    about = json_of(content[_FRAME.size : start])
    try:
        names = [str(name) for name in about.pop("measures", [])]
        lines, a_rod = int(about.pop("trails", 0)), _ROD_BYTES + 4 * len(names)
        room = len(content) - start - 4 * COLUMNS * lines
        if lines < 0 or room < 0 or room % a_rod:
            raise ProtocolError(f"a frame has {room} bytes of rods")
        numbers, count = np.frombuffer(content, dtype="<f4", offset=start), room // a_rod
        rods, measured, trails = np.split(numbers, [4 * count, (4 + len(names)) * count])
        measures = dict(zip(names, measured.reshape(len(names), count), strict=True))
        shown = trails.reshape(lines, COLUMNS)
        return Scene(rods.reshape(-1, 4), **about, measures=measures, trails=shown)
    except TypeError as problem:
        raise ProtocolError(f"a frame has another head: {problem}") from problem
