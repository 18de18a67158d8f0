# SPDX-License-Identifier: GPL-3.0-or-later
"""What an MP4 file holds: the number of whole frames, title and comment. Also of a cut-off file.

A file is a sequence of boxes, each its size, its kind and its content, which may be boxes again
(ISO/IEC 14496-12). A recording in progress is a head (`moov`) and pieces, each a table (`moof`)
and its data (`mdat`); a finished file has all tables in its head.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bacsim_gui.movie_formats import metadata_of

Box = tuple[bytes, int, int]


def frame_count(path: Path) -> int:
    """Frames whose data lie in the file completely. The file must hold one video track."""
    with path.open("rb") as file:
        whole = path.stat().st_size
        frames = announced = 0
        for kind, start, end in _boxes(file, 0, whole):
            if kind == b"moov":
                frames += sum(
                    _number(file, at + 8)
                    for at, _ in _find(file, start, min(end, whole), _SAMPLE_SIZES)
                )
            elif kind == b"moof":
                found = _find(file, start, min(end, whole), [b"traf", b"trun"])
                announced = sum(_number(file, at + 4) for at, _ in found)
            elif kind == b"mdat":
                frames += announced if end <= whole else 0
                announced = 0
        return frames


def metadata(path: Path) -> dict[str, str]:
    """What was written into the file about the movie: `title` and what the comment says.

    A comment that is no JSON object is returned whole under the key `comment`.
    """
    found: dict[str, str] = {}
    with path.open("rb") as file:
        whole = path.stat().st_size
        for start, end in _find(file, 0, whole, [b"moov", b"udta", b"meta"]):
            # The content of meta begins with four bytes of version and flags.
            for at, to in _find(file, start + 4, end, [b"ilst"]):
                for kind, inner, last in _boxes(file, at, to):
                    for text, stop in _find(file, inner, last, [b"data"]):
                        file.seek(text + 8)
                        value = file.read(stop - text - 8).decode("utf-8", "replace")
                        found[_TEXTS.get(kind, "")] = value
    return metadata_of(found.get("title"), found.get("comment"))


_SAMPLE_SIZES = [b"trak", b"mdia", b"minf", b"stbl", b"stsz"]
_TEXTS = {b"\xa9nam": "title", b"\xa9cmt": "comment"}


def _boxes(file: BinaryIO, start: int, end: int) -> Iterator[Box]:
    """The boxes in a range of the file: kind, and where the content begins and ends."""
    while start + 8 <= end:
        file.seek(start)
        head = file.read(16)
        if len(head) < 8:
            return  # the file was cut off
        size, kind = struct.unpack(">I4s", head[:8])
        content = start + 8
        if size == 1 and len(head) == 16:
            size, content = struct.unpack(">Q", head[8:])[0], start + 16
        elif size == 0:
            size = end - start
        if size < content - start:
            return
        yield kind, content, start + size
        start += size


def _find(file: BinaryIO, start: int, end: int, path: list[bytes]) -> list[tuple[int, int]]:
    """Where the boxes at this path of kinds begin and end."""
    found = [(at, to) for kind, at, to in _boxes(file, start, end) if kind == path[0]]
    if len(path) == 1:
        return found
    return [inner for at, to in found for inner in _find(file, at, to, path[1:])]


def _number(file: BinaryIO, at: int) -> int:
    file.seek(at)
    return int.from_bytes(file.read(4), "big")
