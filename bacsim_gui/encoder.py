# SPDX-License-Identifier: GPL-3.0-or-later
"""The ffmpeg that turns pictures into an H.264 movie.

While recording, the file is written in pieces of half a second, each complete in itself, so that
it can be played whenever the recording ends. B frames and look-ahead would hold frames back.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from bacsim_gui.movie_formats import Quality, comment_of

_OVER_SIZE_LIMIT = getattr(signal, "SIGXFSZ", 0)  # Windows has no such limit


class EncoderError(RuntimeError):
    """The movie cannot be written; the message says why in plain words."""


def url(path: Path) -> str:
    """`path` as ffmpeg takes it, whatever is in the name: a colon, or a dash before it."""
    return f"file:{path.absolute()}"


def ffmpeg_program() -> str:
    """The ffmpeg that imageio-ffmpeg ships, or the one named by IMAGEIO_FFMPEG_EXE.

    Raises:
        EncoderError: there is none.
    """
    try:
        import imageio_ffmpeg

        program = imageio_ffmpeg.get_ffmpeg_exe()
        if shutil.which(program) is None:
            raise FileNotFoundError(program)
        return program
    except (ImportError, RuntimeError, OSError) as missing:
        raise EncoderError(
            "The program ffmpeg, which writes movies, was not found. Install it with "
            "'pip install imageio-ffmpeg', or set IMAGEIO_FFMPEG_EXE to an ffmpeg of yours."
        ) from missing


class Encoder:
    """One ffmpeg that takes pictures and writes a movie.

    Args:
        program: the ffmpeg to run.
        path: the file to write; an existing one is overwritten.
        size: width and height in pixels, both even.
        fps: frames a second.
        metadata: goes into the file, `title` as its title and all of it as a JSON comment.
        on_progress: called from another thread with the number of frames handed to the file.
        on_death: called from another thread with a plain reason if ffmpeg ends by itself.
        held: file descriptors that stay open as long as ffmpeg lives (not on Windows), by which
            others see that it has ended.
        quality: how much of the pictures is kept.
    """

    def __init__(
        self,
        program: str,
        path: Path,
        size: tuple[int, int],
        fps: float,
        metadata: Mapping[str, str],
        on_progress: Callable[[int], None],
        on_death: Callable[[str], None],
        held: tuple[int, ...] = (),
        quality: Quality = "share",
    ) -> None:
        self._on_progress = on_progress
        self._on_death = on_death
        self._closing = False
        self._said: deque[str] = deque(maxlen=20)
        self._process = subprocess.Popen(
            _recording_command(program, path, size, fps, metadata, quality),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=held if os.name == "posix" else (),
        )
        _widen(self._process.stdin)
        self._listeners = [
            threading.Thread(target=self._listen, daemon=True),
            threading.Thread(target=self._follow, daemon=True),
        ]
        for listener in self._listeners:
            listener.start()

    def write(self, picture: np.ndarray) -> None:
        """Add one frame, (height, width, 4) uint8 of which the fourth channel is ignored.

        Raises:
            EncoderError: ffmpeg has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(picture).data)
            self._process.stdin.flush()
        except OSError:
            raise EncoderError(self.close()) from None

    def close(self) -> str:
        """Let ffmpeg write what it has and end; a plain reason if it failed, else ''."""
        self._closing = True
        assert self._process.stdin is not None
        # What ffmpeg said on its way out explains more than a broken pipe.
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        status = self._process.wait()
        for listener in self._listeners:
            listener.join()
        return plain_reason("\n".join(self._said), status) if status else ""

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as messages:
            for line in messages:
                self._said.append(line.decode(errors="replace").strip())

    def _follow(self) -> None:
        """Pass on how far ffmpeg is, and that it has ended where nobody asked it to."""
        assert self._process.stdout is not None
        with self._process.stdout as progress:
            for line in progress:
                name, _, value = line.partition(b"=")
                if name == b"frame":
                    self._on_progress(int(value))
        status = self._process.wait()
        if not self._closing:
            self._listeners[0].join()
            self._on_death(plain_reason("\n".join(self._said), status))


_REASONS = {
    "No space left on device": "the disk is full",
    "Disk quota exceeded": "your disk quota is used up",
    "File too large": "the file may not grow any further (a limit on the size of files)",
    "Read-only file system": "the disk can only be read",
    "Permission denied": "you may not write there",
    "Unknown encoder": "this ffmpeg lacks an encoder for it; use the one of imageio-ffmpeg",
}


def known_reason(said: str) -> str:
    """What a message of the system or of ffmpeg means, in plain words; '' if that is unknown."""
    return next((reason for words, reason in _REASONS.items() if words in said), "")


def plain_reason(said: str, status: int) -> str:
    """What went wrong in ffmpeg, from its messages and its exit status."""
    if known := known_reason("File too large" if status == -_OVER_SIZE_LIMIT else said):
        return known
    if os.name == "posix" and status < 0:
        return f"the encoder ffmpeg was ended from outside (signal {-status})"
    last = said.strip().splitlines()[-1:] or ["no message"]
    return f"the encoder ffmpeg failed: {last[0]}"


# Players assume BT.709 in a movie of this size; the numbers are made so, and tagged.
_EXACT = "bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"
_TAGS = "range=tv:colorspace=bt709:color_primaries=bt709:color_trc=bt709"


def in_bt709(pixels: str) -> str:
    """The filter that turns pictures into pixels of that kind, as BT.709 has them."""
    scale = f"scale=out_color_matrix=bt709:out_range=tv:flags={_EXACT}"
    return f"{scale},format={pixels},setparams={_TAGS}"


# Preset and rate: what is recorded must be encoded while it is simulated.
_CODECS: Mapping[Quality, tuple[str, ...]] = {
    "share": ("-vf", in_bt709("yuv420p"), "-c:v", "libx264", "-preset", "veryfast", "-crf", "18"),
    "high": ("-vf", in_bt709("yuv444p"), "-c:v", "libx264", "-preset", "veryfast", "-crf", "14"),
    "lossless": ("-c:v", "libx264rgb", "-preset", "ultrafast", "-qp", "0"),
}


def _recording_command(
    program: str,
    path: Path,
    size: tuple[int, int],
    fps: float,
    metadata: Mapping[str, str],
    quality: Quality,
) -> list[str]:
    command = [program, "-hide_banner", "-nostdin", "-loglevel", "error"]
    command += ["-progress", "pipe:1", "-stats_period", "0.05"]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb0", "-video_size", f"{size[0]}x{size[1]}"]
    # Nothing is unknown about raw pictures, so ffmpeg need not wait for some to look at.
    command += ["-probesize", "32", "-analyzeduration", "0"]
    command += ["-framerate", f"{fps:.12g}", "-i", "pipe:0", "-an", "-fps_mode", "passthrough"]
    command += [*_CODECS[quality], "-tune", "zerolatency"]
    command += ["-threads", str(min(8, os.cpu_count() or 1)), "-g", str(max(1, round(fps)))]
    command += ["-movflags", "+frag_keyframe+empty_moov+default_base_moof"]
    command += ["-frag_duration", "500000", "-flush_packets", "1"]
    return [*command, *metadata_options(metadata), "-f", "mp4", "-y", url(path)]


def metadata_options(metadata: Mapping[str, str]) -> list[str]:
    """What writes the metadata into a file: the title, and all of it as the comment."""
    title = ["-metadata", f"title={metadata['title']}"] if "title" in metadata else []
    return [*title, "-metadata", f"comment={comment_of(metadata)}"]


def _widen(pipe) -> None:
    """Let a pipe hold more of a picture where the system can (Linux), to switch less often."""
    if sys.platform == "linux":
        import fcntl

        # Over the user's limit it is refused, and works with the small pipe too.
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, 1 << 20)
