# SPDX-License-Identifier: GPL-3.0-or-later
"""Making the wanted file of a finished recording: a copy that starts at once, a WebM, a GIF."""

import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bacsim_gui.encoder import (
    EncoderError,
    in_bt709,
    known_reason,
    metadata_options,
    plain_reason,
    url,
)
from bacsim_gui.movie_formats import Quality
from bacsim_gui.pictures import add_comment

# A palette is chosen from about so many frames of a movie: colours hardly depend on more.
_PALETTE_FRAMES = 50
# The share of the work that choosing the palette is.
_PALETTE_SHARE = 0.1


class MakingCancelledError(RuntimeError):
    """The file was no longer wanted."""


@dataclass(frozen=True)
class FileOrder:
    """What is made of which recording.

    Attributes:
        program: the ffmpeg to run.
        recorded: the recording, an MP4.
        frames: how many it holds.
        fps: frames a second.
        ending: of the wanted file: .mp4, .webm or .gif.
        quality: how much of the pictures is kept.
        metadata: what the file says about itself.
    """

    program: str
    recorded: Path
    frames: int
    fps: float
    ending: str
    quality: Quality
    metadata: Mapping[str, str]


class Making:
    """Makes one file; `cancel` may be called from another thread."""

    def __init__(self, order: FileOrder, on_progress: Callable[[float], None]) -> None:
        self._order = order
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """End it: `make` raises `MakingCancelledError`."""
        with self._lock:
            self._cancelled = True
            if self._process is not None:
                self._process.kill()

    def make(self, path: Path) -> None:
        """Write the file; an existing one is replaced.

        Raises:
            MakingCancelledError: `cancel` was called.
            EncoderError: it could not be written; the message says why.
        """
        palette = path.with_name(f"{path.stem}.palette.part.png")
        raw = path.with_name(f"{path.stem}.raw.part.gif")
        try:
            if self._order.ending == ".gif":
                self._run(_palette(self._order, palette), 0.0, _PALETTE_SHARE)
                frames = self._run(_gif(self._order, palette, raw), _PALETTE_SHARE, 1.0)
                add_comment(raw, path, self._order.metadata)
            else:
                wanted = _webm if self._order.ending == ".webm" else _fast_start
                frames = self._run(wanted(self._order, path), 0.0, 1.0)
        except OSError as problem:
            said = problem.strerror or str(problem)
            raise EncoderError(known_reason(said) or said) from problem
        finally:
            palette.unlink(missing_ok=True)
            raw.unlink(missing_ok=True)
        if frames != self._order.frames:
            raise EncoderError(f"the file holds {frames} of {self._order.frames} frames")

    def _run(self, options: list[str], begin: float, end: float) -> int:
        """Run ffmpeg once, as this part of the whole work; how many frames it wrote."""
        command = [self._order.program, "-hide_banner", "-nostdin", "-loglevel", "error"]
        command += ["-progress", "pipe:1", "-stats_period", "0.1"]
        with tempfile.TemporaryFile() as said:
            with self._lock:
                if self._cancelled:
                    raise MakingCancelledError
                self._process = subprocess.Popen(
                    [*command, *options], stdout=subprocess.PIPE, stderr=said
                )
            frames = 0
            for frames in _frames(self._process):
                share = min(1.0, frames / self._order.frames)
                self._on_progress(begin + (end - begin) * share)
            status = self._process.wait()
            said.seek(0)
            if self._cancelled:
                raise MakingCancelledError
            if status:
                raise EncoderError(plain_reason(said.read().decode(errors="replace"), status))
        self._on_progress(end)
        return frames


def _frames(process: subprocess.Popen[bytes]) -> Iterator[int]:
    """How many frames are written, as ffmpeg says it, to its end."""
    assert process.stdout is not None
    with process.stdout as progress:
        for line in progress:
            name, _, value = line.partition(b"=")
            if name == b"frame":
                yield int(value)


def _fast_start(order: FileOrder, path: Path) -> list[str]:
    """A copy whose tables come first, so that it plays while it loads."""
    options = ["-i", url(order.recorded), "-map", "0", "-c", "copy", "-map_metadata", "0"]
    return [*options, "-movflags", "+faststart", "-f", "mp4", "-y", url(path)]


_VP9: Mapping[Quality, tuple[str, ...]] = {
    "share": ("-vf", in_bt709("yuv420p"), "-crf", "24"),
    "high": ("-vf", in_bt709("yuv444p"), "-crf", "16"),
    "lossless": ("-vf", "format=gbrp", "-lossless", "1"),
}


def _webm(order: FileOrder, path: Path) -> list[str]:
    options = ["-i", url(order.recorded), "-an", "-fps_mode", "passthrough", "-c:v", "libvpx-vp9"]
    options += [*_VP9[order.quality], "-b:v", "0", "-deadline", "good", "-cpu-used", "4"]
    options += ["-row-mt", "1", "-g", str(max(1, round(4 * order.fps)))]
    options += ["-map_metadata", "-1", *metadata_options(order.metadata)]
    return [*options, "-f", "webm", "-y", url(path)]


def _palette(order: FileOrder, palette: Path) -> list[str]:
    """The 256 colours that suit the movie best."""
    every = max(1, order.frames // _PALETTE_FRAMES)
    chosen = f"select=not(mod(n\\,{every})),palettegen=reserve_transparent=0"
    options = ["-i", url(order.recorded), "-vf", chosen, "-frames:v", "1", "-update", "1"]
    return [*options, "-f", "image2", "-y", url(palette)]


def _gif(order: FileOrder, palette: Path, path: Path) -> list[str]:
    # Undithered: dots that dance from frame to frame look worse than steps, and cost a lot.
    paint = "paletteuse=dither=none:diff_mode=rectangle"
    options = ["-i", url(order.recorded), "-i", url(palette), "-lavfi", paint]
    return [*options, "-fps_mode", "passthrough", "-loop", "0", "-f", "gif", "-y", url(path)]
