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
from pathlib import Path
from typing import Any, BinaryIO

from bacsim_gui.bootstrap import (
    missing_libraries_message,
    missing_system_libraries,
    prepare_headless,
)
from bacsim_gui.encoder import Encoder, EncoderError, make_fast_start
from bacsim_gui.movie_files import free_paths
from bacsim_gui.movie_protocol import (
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
    part, program = Path(order["part"]), order["ffmpeg"]
    with part.open("rb") as held:
        _lock(held)
        frames, finished = _encode(orders, replies, order, part)
        if finished:
            path = _finish(program, part, Path(order["path"]), frames)
            replies.send(done=str(path), written=frames)


def _encode(
    orders: BinaryIO, replies: _Replies, order: dict[str, Any], part: Path
) -> tuple[int, bool]:
    """Draw and encode until the orders end: the number of frames, and whether to finish."""
    from bacsim_gui.offscreen import surface

    view, size = View.from_dict(order["view"]), (int(order["size"][0]), int(order["size"][1]))
    paper = surface()
    encoder = Encoder(
        order["ffmpeg"], part, size, float(order["fps"]), order["metadata"],
        on_progress=replies.progress, on_death=replies.fail,
        # The program waits for the end of our messages: until ffmpeg has written the file, too.
        held=(os.dup(sys.stderr.fileno()),),
    )  # fmt: skip
    frames, finished = 0, False
    try:
        while not finished and (message := receive(orders)) is not None:
            kind, content = message
            if kind == FRAME:
                encoder.write(paper.render(scene_of(content), view, size))
                frames += 1
            elif kind == VIEW:
                view = View.from_dict(json_of(content))
            elif kind == FINISH:
                finished = True
            else:
                raise ProtocolError(f"a message of kind {kind} came where a frame was due")
    finally:
        failure = encoder.close()
    if failure:
        raise EncoderError(failure)
    return frames, finished


def _finish(program: str, part: Path, path: Path, frames: int) -> Path:
    """Turn the recording into the finished file; where it is."""
    new = part.with_name(f"{path.stem}.finish.part.mp4")
    try:
        make_fast_start(program, part, new)
        written = frame_count(new)
        if written != frames:
            raise EncoderError(f"the file holds {written} of {frames} frames")
        path = next(free_paths(path))
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    part.unlink()
    return path


def _lock(file: BinaryIO) -> None:
    """Mark a recording as in progress, for as long as this process lives."""
    try:
        import fcntl
    except ImportError:
        return  # Windows: every unfinished file is taken as left over
    fcntl.flock(file, fcntl.LOCK_EX)


if __name__ == "__main__":
    sys.exit(main())
