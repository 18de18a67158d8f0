# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of movies: free names, recordings in progress, recordings left behind.

A movie NAME.mp4 is recorded as NAME.part.mp4, which plays at any moment; when the recording is
finished it becomes NAME.mp4. No existing file is ever overwritten.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bacsim_gui.mp4 import frame_count, metadata

PART = ".part.mp4"


def part_path(path: Path) -> Path:
    """Where the movie `path` is recorded before it is finished."""
    return path.with_name(path.stem + PART)


def free_paths(path: Path) -> Iterator[Path]:
    """The path itself, NAME-2.mp4, NAME-3.mp4, …: those of which no file has the name."""
    for number in itertools.count(1):
        free = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        if not free.exists():
            yield free


@dataclass(frozen=True)
class Unfinished:
    """A recording whose program ended before it was finished.

    Attributes:
        path: the file; it plays as it is, if it holds a frame.
        frames: whole frames in it.
        asked: frames that the recording was to have; None if that was left open.
    """

    path: Path
    frames: int
    asked: int | None

    @property
    def message(self) -> str:
        """One plain sentence on it."""
        of = f" of {self.asked}" if self.asked is not None else ""
        left = f"{self.path} is left from a recording that was interrupted."
        if not self.frames:
            return f"{left} It holds no whole frame; delete it."
        return (
            f"{left} It holds {self.frames}{of} frames and plays as it is; rename it to keep it, "
            "or delete it."
        )


def unfinished_recordings(folder: Path) -> list[Unfinished]:
    """Recordings in a folder that nobody is writing any more, by name."""
    left = []
    for path in sorted(folder.glob(f"*{PART}")) if folder.is_dir() else []:
        try:
            if in_progress(path):
                continue
            about = metadata(path)
            if "bacsim" not in about:
                continue  # of another program
            asked = about.get("frames_asked", "")
            left.append(Unfinished(path, frame_count(path), int(asked) if asked else None))
        except (OSError, ValueError):
            continue  # it went away meanwhile, or may not be read
    return left


def in_progress(path: Path) -> bool:
    """Whether a recording process holds this file."""
    try:
        import fcntl
    except ImportError:
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
