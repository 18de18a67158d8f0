# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of movies: free names, recordings in progress, recordings left behind.

A movie NAME.mp4, NAME.webm or NAME.gif is recorded as NAME.part.mp4, which plays at any moment; a
folder NAME of pictures as NAME.part. When the recording is finished it gets its name. No existing
file or folder is ever overwritten.
"""

import itertools
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bacsim_gui import mp4
from bacsim_gui.encoder import ffmpeg_program, url
from bacsim_gui.movie_formats import FOLDER, PICTURE, ending, metadata_of
from bacsim_gui.pictures import picture_metadata

PART = ".part.mp4"
FOLDER_PART = ".part"


def part_path(path: Path) -> Path:
    """Where the movie `path` is recorded before it is finished."""
    kind = ending(path)
    if kind == FOLDER:
        return path.with_name(path.name + FOLDER_PART)
    return path.with_name(path.stem + (".part.png" if kind == PICTURE else PART))


def picture_path(folder: Path, number: int) -> Path:
    """Where the picture of that number, from 0 on, lies in its folder."""
    return folder / f"{number:06}.png"


def free_paths(path: Path) -> Iterator[Path]:
    """The path itself, NAME-2.mp4, NAME-3.mp4, …: those of which no file has the name."""
    for number in itertools.count(1):
        free = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        if not free.exists():
            yield free


def reserve(wanted: Path) -> tuple[Path, Path]:
    """Find a free name for a movie and create that in which it is recorded: name and part.

    Raises:
        OSError: nothing can be created there.
    """
    wanted.parent.mkdir(parents=True, exist_ok=True)
    for path in free_paths(wanted):
        part = part_path(path)
        with suppress(FileExistsError):
            part.mkdir() if ending(wanted) == FOLDER else part.touch(exist_ok=False)
            return path, part
    raise AssertionError("there is always another name")


def settle(made: Path, wanted: Path) -> Path:
    """Give what is made the wanted name, or the next free one; the name that it has then.

    Raises:
        OSError: it cannot be renamed.
    """
    for path in free_paths(wanted):
        # The name is taken first, since a rename would replace what has it by then. Windows
        # replaces no folder, not even an empty one.
        if made.is_dir() and os.name == "nt":
            with suppress(FileExistsError):
                return made.rename(path)
            continue
        try:
            path.mkdir() if made.is_dir() else path.touch(exist_ok=False)
        except FileExistsError:
            continue
        try:
            return made.replace(path)
        except OSError:
            path.rmdir() if path.is_dir() else path.unlink()
            raise
    raise AssertionError("there is always another name")


def delete(part: Path) -> None:
    """Delete a recording; only pictures of ours are deleted with their folder."""
    if not part.is_dir():
        part.unlink(missing_ok=True)
        return
    for picture in pictures(part):
        picture.unlink(missing_ok=True)
    with suppress(OSError):
        part.rmdir()


def pictures(folder: Path) -> list[Path]:
    """The pictures in a folder that bacsim recorded, in order."""
    return sorted(p for p in folder.glob("*.png") if re.fullmatch(r"\d{6,}\.png", p.name))


def frame_count(path: Path) -> int:
    """Whole frames of a recording or of a movie in MP4, or pictures in a folder.

    Raises:
        OSError: it cannot be read.
    """
    if path.is_dir():
        return len(pictures(path))
    if path.suffix.lower() == PICTURE:
        return int(path.stat().st_size > 0)
    return mp4.frame_count(path)


def metadata(path: Path) -> dict[str, str]:
    """What was written into a movie or a picture about it; of a folder, into its first picture.

    Raises:
        OSError: it cannot be read.
        EncoderError: it is a WebM, and there is no ffmpeg to read it.
    """
    if path.is_dir():
        return metadata(pictures(path)[0]) if pictures(path) else {}
    kind = path.suffix.lower()
    if kind in (PICTURE, ".gif"):
        return picture_metadata(path)
    return _webm_metadata(path) if kind == ".webm" else mp4.metadata(path)


def _webm_metadata(path: Path) -> dict[str, str]:
    """The tags of a WebM, as ffmpeg writes them down: NAME=text, with backslashes."""
    path.stat()  # so that a missing file is refused as such
    command = [ffmpeg_program(), "-loglevel", "error", "-i", url(path), "-f", "ffmetadata", "-"]
    said = subprocess.run(command, capture_output=True, check=False).stdout
    tags = re.findall(r"(?ms)^(\w+)=((?:[^\\\n]|\\.)*)$", said.decode(errors="replace"))
    texts = {name.lower(): re.sub(r"(?s)\\(.)", r"\1", text) for name, text in tags}
    return metadata_of(texts.get("title"), texts.get("comment"))


@dataclass(frozen=True)
class Unfinished:
    """A recording whose program ended before it was finished.

    Attributes:
        path: the file or folder; it can be shown as it is, if it holds a frame.
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
        frames = "frames and plays as it is" if self.path.suffix == ".mp4" else "pictures"
        return f"{left} It holds {self.frames}{of} {frames}; rename it to keep it, or delete it."


def unfinished_recordings(folder: Path) -> list[Unfinished]:
    """Recordings in a folder that nobody is writing any more, by name."""
    left = []
    found = [*folder.glob(f"*{PART}"), *folder.glob(f"*{FOLDER_PART}")] if folder.is_dir() else []
    for path in sorted(found):
        try:
            if in_progress(path):
                continue
            about = metadata(path) if path.is_dir() else mp4.metadata(path)
            if "bacsim" not in about:
                continue  # of another program
            asked = about.get("frames_asked", "")
            left.append(Unfinished(path, frame_count(path), int(asked) if asked else None))
        except (OSError, ValueError):
            continue  # it went away meanwhile, or may not be read
    return left


def in_progress(path: Path) -> bool:
    """Whether a recording process holds this file or folder."""
    try:
        import fcntl
    except ImportError:
        return False
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
