# SPDX-License-Identifier: GPL-3.0-or-later
"""The ffmpeg that turns pictures into an H.264 movie, and the last touch to a finished file.

While recording, the file is written in pieces of half a second, each complete in itself, so that
it can be played whenever the recording ends. B frames and look-ahead would hold frames back.
"""

import contextlib
import json
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

_OVER_SIZE_LIMIT = getattr(signal, "SIGXFSZ", 0)  # Windows has no such limit


class EncoderError(RuntimeError):
    """The movie cannot be written; the message says why in plain words."""


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
    ) -> None:
        self._on_progress = on_progress
        self._on_death = on_death
        self._closing = False
        self._said: deque[str] = deque(maxlen=20)
        self._process = subprocess.Popen(
            _recording_command(program, path, size, fps, metadata),
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


def make_fast_start(program: str, recorded: Path, finished: Path) -> None:
    """Copy a recording to a file whose tables come first, so that it plays while it loads.

    Raises:
        EncoderError: the copy could not be written.
    """
    command = [program, "-hide_banner", "-nostdin", "-loglevel", "error", "-i", str(recorded)]
    command += ["-map", "0", "-c", "copy", "-map_metadata", "0", "-movflags", "+faststart"]
    done = subprocess.run(
        [*command, "-f", "mp4", "-y", str(finished)], capture_output=True, check=False
    )
    if done.returncode:
        raise EncoderError(plain_reason(done.stderr.decode(errors="replace"), done.returncode))


def plain_reason(said: str, status: int) -> str:
    """What went wrong in ffmpeg, from its messages and its exit status."""
    if "No space left on device" in said:
        return "the disk is full"
    if "Disk quota exceeded" in said:
        return "your disk quota is used up"
    if "File too large" in said or status == -_OVER_SIZE_LIMIT:
        return "the file may not grow any further (a limit on the size of files)"
    if "Unknown encoder 'libx264'" in said:
        return "this ffmpeg has no H.264 encoder (libx264); use the one of imageio-ffmpeg"
    if os.name == "posix" and status < 0:
        return f"the encoder ffmpeg was ended from outside (signal {-status})"
    last = said.strip().splitlines()[-1:] or ["no message"]
    return f"the encoder ffmpeg failed: {last[0]}"


def _recording_command(
    program: str, path: Path, size: tuple[int, int], fps: float, metadata: Mapping[str, str]
) -> list[str]:
    command = [program, "-hide_banner", "-nostdin", "-loglevel", "error"]
    command += ["-progress", "pipe:1", "-stats_period", "0.05"]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb0", "-video_size", f"{size[0]}x{size[1]}"]
    # Nothing is unknown about raw pictures, so ffmpeg need not wait for some to look at.
    command += ["-probesize", "32", "-analyzeduration", "0"]
    command += ["-framerate", f"{fps:.12g}", "-i", "pipe:0", "-an", "-fps_mode", "passthrough"]
    # Players assume BT.709 in a movie of this size; the numbers are made so, and tagged.
    exact = "bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"
    tags = "range=tv:colorspace=bt709:color_primaries=bt709:color_trc=bt709"
    scale = f"scale=out_color_matrix=bt709:out_range=tv:flags={exact}"
    command += ["-vf", f"{scale},format=yuv420p,setparams={tags}", "-c:v", "libx264"]
    command += ["-preset", "veryfast", "-tune", "zerolatency", "-crf", "18"]
    command += ["-threads", str(min(8, os.cpu_count() or 1)), "-g", str(max(1, round(fps)))]
    command += ["-movflags", "+frag_keyframe+empty_moov+default_base_moof"]
    command += ["-frag_duration", "500000", "-flush_packets", "1"]
    if "title" in metadata:
        command += ["-metadata", f"title={metadata['title']}"]
    comment = {name: _readable(text) for name, text in metadata.items()}
    command += ["-metadata", f"comment={json.dumps(comment, ensure_ascii=False, sort_keys=True)}"]
    return [*command, "-f", "mp4", "-y", str(path)]


def _readable(text: str) -> object:
    """A text that is JSON itself is written as such, and not as one quoted string."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


def _widen(pipe) -> None:
    """Let a pipe hold more of a picture where the system can (Linux), to switch less often."""
    if sys.platform == "linux":
        import fcntl

        # Over the user's limit it is refused, and works with the small pipe too.
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, 1 << 20)
