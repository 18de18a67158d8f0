# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that records: draws the states it is sent, and has ffmpeg encode the pictures.

Started by `recorder.Recorder` as `python -m bacsim_gui.record_process`; see `movie_protocol` for
what goes over its standard input and output. It knows neither the engine nor JAX.
"""

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bacsim_gui.bootstrap import (
    missing_libraries_message,
    missing_system_libraries,
    prepare_headless,
)
from bacsim_gui.encoder import Encoder, EncoderError, known_reason
from bacsim_gui.movie_files import picture_path, settle
from bacsim_gui.movie_formats import MOVIES, PICTURE, ending, supersample
from bacsim_gui.movie_making import FileOrder, Making, MakingCancelledError
from bacsim_gui.movie_protocol import (
    CANCEL,
    FINISH,
    FRAME,
    REPLY,
    START,
    VERSION,
    VIEW,
    ProtocolError,
    json_of,
    receive,
    scene_of,
    send_json,
)
from bacsim_gui.mp4 import frame_count
from bacsim_gui.pictures import write_picture
from bacsim_gui.view import View


class _Replies:
    """Answers to the program, from any thread; a program that is gone is not answered."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, **content: Any) -> None:
        # A program that is gone is noticed by the end of its orders.
        with self._lock, contextlib.suppress(OSError):
            send_json(self._pipe, REPLY, content)

    def progress(self, frames: int) -> None:
        self.send(written=frames)

    def making(self, share: float) -> None:
        self.send(making=share)

    def fail(self, reason: str) -> None:
        self.send(error=reason)


def main() -> int:
    """Record one movie; the exit status."""
    # The program alone decides when a recording ends, also when Ctrl-C reaches us both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare_headless()
    orders = sys.stdin.buffer
    # Whatever else is printed here must not get between the answers.
    replies = _Replies(os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        _record(orders, replies)
    except Exception as problem:
        traceback.print_exc()
        replies.fail(str(problem) or type(problem).__name__)
        return 1
    return 0


def _record(orders: BinaryIO, replies: _Replies) -> None:
    """Follow the orders to their end."""
    first = receive(orders)
    if first is None:
        return
    order = json_of(first[1])
    if first[0] != START or order.get("protocol") != VERSION:
        raise ProtocolError("the program and its recording process differ; start bacsim again")
    missing = missing_system_libraries(headless=True)
    if missing:
        raise EncoderError(missing_libraries_message(missing))
    part = Path(order["part"])
    with _locked(part):
        try:
            frames, finished = _encode(orders, replies, order, part)
            if finished:
                path = _finish(orders, replies, order, part, frames)
                replies.send(done=str(path), written=frames)
        except OSError as problem:
            raise EncoderError(_in_words(problem, part)) from problem
        except MakingCancelledError:
            replies.send(cancelled=True)


class _Pictures:
    """Writes pictures into a folder, or one to its own file, as `Encoder` writes a movie.

    Raises `OSError` where it cannot.
    """

    def __init__(self, part: Path, metadata: Mapping[str, str], replies: _Replies) -> None:
        self._part = part
        self._metadata = metadata
        self._replies = replies
        self._written = 0

    def write(self, picture: np.ndarray) -> None:
        folder = self._part.is_dir() or self._part.suffix != PICTURE
        path = picture_path(self._part, self._written) if folder else self._part
        write_picture(path, picture, self._metadata)
        self._written += 1
        self._replies.progress(self._written)

    def close(self) -> str:
        return ""


def _writer(order: dict[str, Any], part: Path, replies: _Replies) -> Encoder | _Pictures:
    """What takes the pictures."""
    wanted = Path(order["path"])
    if ending(wanted) not in MOVIES:
        return _Pictures(part, order["metadata"], replies)
    # What is made from the recording afterwards is made from exact pictures.
    direct = ending(wanted) == ".mp4"
    return Encoder(
        order["ffmpeg"], part, order["size"], float(order["fps"]), order["metadata"],
        on_progress=replies.progress, on_death=replies.fail,
        # The program waits for the end of our messages: until ffmpeg has written the file, too.
        held=(os.dup(sys.stderr.fileno()),), quality=order["quality"] if direct else "lossless",
    )  # fmt: skip


def _encode(
    orders: BinaryIO, replies: _Replies, order: dict[str, Any], part: Path
) -> tuple[int, bool]:
    """Draw and encode until the orders end: the number of frames, and whether to finish."""
    from bacsim_gui.offscreen import surface

    view, size = View.from_dict(order["view"]), (int(order["size"][0]), int(order["size"][1]))
    paper, enlarged, writer = (
        surface(),
        supersample(order["quality"]),
        _writer(order, part, replies),
    )
    frames, finished = 0, False
    try:
        while not finished and (message := receive(orders)) is not None:
            kind, content = message
            if kind == FRAME:
                writer.write(paper.render(scene_of(content), view, size, enlarged))
                frames += 1
            elif kind == VIEW:
                view = View.from_dict(json_of(content))
            elif kind == FINISH:
                finished = True
            else:
                raise ProtocolError(f"a message of kind {kind} came where a frame was due")
    finally:
        failure = writer.close()
    if failure:
        raise EncoderError(failure)
    return frames, finished


def _finish(
    orders: BinaryIO, replies: _Replies, order: dict[str, Any], part: Path, frames: int
) -> Path:
    """Turn the recording into the finished file; where it is."""
    path = Path(order["path"])
    kind = ending(path)
    part.stat()  # a recording that somebody has deleted is refused as such
    if kind not in MOVIES:
        return settle(part, path)
    new = part.with_name(f"{path.stem}.finish.part{kind}")
    replies.making(0.0)
    wanted = FileOrder(
        order["ffmpeg"], part, frames, float(order["fps"]), kind, order["quality"],
        order["metadata"],
    )  # fmt: skip
    making = Making(wanted, replies.making)
    # It ends when the program is gone or has its answer; the file is made in either case.
    threading.Thread(target=_heed, args=(orders, making)).start()
    try:
        making.make(new)
        if kind == ".mp4" and (written := frame_count(new)) != frames:
            raise EncoderError(f"the file holds {written} of {frames} frames")
        path = settle(new, path)
    finally:
        new.unlink(missing_ok=True)
    part.unlink()
    return path


def _heed(orders: BinaryIO, making: Making) -> None:
    """Wait until the orders end, or until the file is no longer wanted."""
    while (message := receive(orders)) is not None:
        if message[0] == CANCEL:
            making.cancel()


def _in_words(problem: OSError, part: Path) -> str:
    if not part.exists():
        return f"{part} is no longer there"
    said = problem.strerror or str(problem)
    return known_reason(said) or said


@contextlib.contextmanager
def _locked(part: Path) -> Iterator[None]:
    """Mark a recording as in progress, for as long as this process lives."""
    try:
        import fcntl
    except ImportError:
        yield  # Windows: every unfinished file is taken as left over
        return
    held = os.open(part, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


if __name__ == "__main__":
    sys.exit(main())
