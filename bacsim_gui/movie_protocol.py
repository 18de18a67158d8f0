# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program and the process that records say to each other, over two pipes.

A message is a head, one byte for its kind and eight for its length, and that many bytes. The
program sends START (JSON), FRAME after FRAME, and FINISH; the end of the pipe without a FINISH
means that the program is gone. The process answers with REPLY (JSON): how many frames are
written, then either where the movie is, or what went wrong.
"""

import json
import struct
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from bacsim_gui.scene import Scene

VERSION = 1

START, FRAME, FINISH, REPLY = range(1, 5)
_KINDS = (START, FRAME, FINISH, REPLY)

_HEAD = struct.Struct("<BQ")
# step, time, space_size, length, radius, number of rods; little-endian like the rods that follow
_FRAME = struct.Struct("<qddddQ")
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


def send_frame(pipe: IO[bytes], scene: Scene) -> None:
    """Write one frame: 16 bytes a rod and the few numbers that may change while recording."""
    rods = np.ascontiguousarray(scene.rods, dtype="<f4")
    numbers = (scene.step, scene.time, scene.space_size, scene.length, scene.radius, len(rods))
    send(pipe, FRAME, _FRAME.pack(*numbers), rods.reshape(-1).view(np.uint8).data)


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
        ProtocolError: its length does not fit the number of rods that it names.
    """
    if len(content) < _FRAME.size:
        raise ProtocolError(f"a frame of {len(content)} bytes has no head")
    step, time, space_size, length, radius, rods = _FRAME.unpack_from(content)
    if len(content) != _FRAME.size + rods * _ROD_BYTES:
        raise ProtocolError(f"a frame of {rods} rods has {len(content)} bytes")
    array = np.frombuffer(content, dtype="<f4", offset=_FRAME.size).reshape(rods, 4)
    return Scene(array, space_size, length, radius, step, time)
