# SPDX-License-Identifier: GPL-3.0-or-later
"""Recording a movie: states go in, a file comes out. No Qt, no OpenGL, no JAX.

A process of its own draws and encodes, so neither the window nor the engine does any of it, the
picture has its own size, and a crash here harms no recording. No frame is ever dropped: where
drawing is slower than the engine, `put` waits.
"""

from __future__ import annotations

import contextlib
import logging
import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bacsim_gui import __version__
from bacsim_gui import movie_protocol as protocol
from bacsim_gui.bootstrap import own_program, own_program_environment
from bacsim_gui.colors import view_colors
from bacsim_gui.encoder import EncoderError, ffmpeg_program
from bacsim_gui.movie_files import delete as delete_recording
from bacsim_gui.movie_files import frame_count, reserve
from bacsim_gui.movie_formats import (
    GIF_FPS,
    GIF_SIDE,
    MOVIES,
    PICTURE,
    QUALITIES,
    Quality,
    ending,
)
from bacsim_gui.scene import Scene
from bacsim_gui.trails import Trails
from bacsim_gui.view import View, checked

if TYPE_CHECKING:
    from engine.snapshot import Snapshot

logger = logging.getLogger(__name__)

# Frames that are put but not yet in the hands of the file's writer, in seconds of the movie, and at
# least two, as ffmpeg asks for two before it begins. With the half second that the writer gathers
# before it writes, a kill loses less than two seconds.
_AHEAD_SECONDS = 0.75
# States that wait to be sent, in bytes; there is always room for one.
_QUEUE_BYTES = 64 << 20
_LARGEST_SIDE = 16384
_FFMPEG_END_SECONDS = 20.0
_CANCEL_SECONDS = 5.0


class RecordingError(RuntimeError):
    """A movie cannot be recorded or finished; the message is plain and says what is left."""


class Recorder:
    """Records one movie; may be used from any thread.

    While it records, the movie is NAME.part.mp4, which plays even if everything is killed, except
    for its last two seconds at most. `finish` makes it NAME.mp4, NAME.webm or NAME.gif. Pictures
    are gathered in the folder NAME.part, which becomes NAME. An existing file is never overwritten:
    the movie takes the next free name, NAME-2.mp4 and so on.

    Args:
        path: where the movie goes. Its ending decides what it is: .mp4, .webm, .gif, .png (one
            picture, of the first state that is put; others are not taken), or none: a folder of
            PNG pictures, 000000.png and so on.
        size: width and height in pixels, of a movie both even.
        fps: frames a second of the movie, 2 to 240.
        view: how the states are looked at.
        metadata: texts about the movie, for the file: `title` becomes its title, and all of it
            its comment, as JSON, with our version as `bacsim`.
        frames: how many frames the movie is to have, if that is known; only written down, so that
            an interrupted recording can say what it lacks.
        quality: "share" for a movie that plays everywhere, its rods drawn at twice the size;
            "high" keeps the colour of every pixel, "lossless" is exact.

    Attributes:
        path: where the movie will be, once the free name is known.
        part: where it is until then.
        note: a plain sentence if another name than the wanted one was taken, else "".

    Raises:
        RecordingError: the folder cannot be written, ffmpeg is missing, or an argument is
            impossible.
        ViewError: the view cannot be shown.
    """

    def __init__(
        self,
        path: Path | str,
        size: tuple[int, int] = (1280, 720),
        fps: float = 30,
        view: View | None = None,
        metadata: Mapping[str, str] | None = None,
        frames: int | None = None,
        quality: Quality | str = QUALITIES[0],
    ) -> None:
        view = View() if view is None else checked(view)
        view_colors(view)
        check(size, fps, Path(path))
        if quality not in QUALITIES:
            raise RecordingError(
                f"quality = {quality!r} is unknown: use one of {', '.join(QUALITIES)}."
            )
        about = {"bacsim": __version__, **{k: str(text) for k, text in (metadata or {}).items()}}
        if frames is not None:
            about["frames_asked"] = str(frames)
        try:
            self._kind = _ending(Path(path))
            program = ffmpeg_program() if self._kind in MOVIES else ""
        except EncoderError as missing:
            raise RecordingError(str(missing)) from missing
        self.path, self.part = _reserve(Path(path))
        taken = f"{path} is taken, so the movie goes to {self.path}."
        self.note = taken if self.path != Path(path) else ""
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Scene, View]] = deque()
        self._view, self._trails = view, Trails()
        self._ahead = max(2, int(_AHEAD_SECONDS * fps))
        self._put = self._written = 0
        self._closed = self._cancelled = False
        self._replied = False  # with a failure
        self._finishing: float | None = None
        self._error: str | None = None
        self._done: Path | None = None
        self._last_words: deque[str] = deque(maxlen=40)
        self._process = _start_process()
        self._threads = self._jobs({
            "protocol": protocol.VERSION, "part": str(self.part), "path": str(self.path),
            "size": list(size), "fps": fps, "view": view.to_dict(), "metadata": about,
            "ffmpeg": program, "quality": quality,
        })  # fmt: skip
        for thread in self._threads:
            thread.start()

    def _jobs(self, order: Mapping[str, Any]) -> list[threading.Thread]:
        """The threads that send `order` and what follows, and listen; not started."""
        return [
            threading.Thread(target=job, args=arguments, name=f"recorder-{name}", daemon=True)
            for name, job, arguments in (
                ("send", self._send, (order,)),
                ("replies", self._read_replies, ()),
                ("messages", self._read_messages, ()),
            )
        ]

    @property
    def frames_written(self) -> int:
        """Frames that are encoded; up to half a second of them is not in the file yet."""
        return self._written

    @property
    def finishing(self) -> float | None:
        """The share of the wanted file that is made from the recording; None before that."""
        return self._finishing

    @property
    def error(self) -> str | None:
        """Why the recording ended early, in plain words; None while all is well."""
        return self._error

    def put(self, snapshot: Snapshot | Scene, view: View | None = None) -> None:
        """Add one frame; waits while the recording is too far behind.

        The rods are not copied: the snapshot must stay as it is. A view given here holds from this
        frame on. Trails are those through the frames before, where a scene has none of its own.

        Raises:
            RecordingError: the recording has failed, was finished or was abandoned.
            ViewError: the view cannot be shown.
        """
        scene = Scene.of(snapshot)
        if view is not None:
            view_colors(checked(view))
        if (view or self._view).show_trails and scene.trails is None:
            scene = self._trails.add(scene)
        size = scene.rods.nbytes + (0 if scene.trails is None else scene.trails.nbytes)
        room = max(1, _QUEUE_BYTES // max(1, size))

        def may_go_on() -> bool:
            behind = self._put - self._written >= self._ahead
            full = len(self._waiting) >= room
            return self._closed or self._error is not None or not (behind or full)

        with self._changed:
            self._changed.wait_for(may_go_on)
            if self._error is not None:
                raise RecordingError(self._error)
            if self._closed:
                raise RecordingError(f"The movie {self.path} is finished already.")
            if self._kind == PICTURE and self._put:
                return
            self._view = self._view if view is None else view
            self._waiting.append((scene, self._view))
            self._put += 1
            self._changed.notify_all()

    def finish(self) -> Path:
        """Write what is left, and wait until the movie is complete; returns where it is.

        Raises:
            RecordingError: the recording has failed, has no frame, or `cancel` was called. What
                was recorded stays as `part`.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            empty = self._put == 0 and self._error is None
        if empty:
            self.abandon(delete=True)
            with self._changed:
                self._error = "No frame was recorded, so there is no movie."
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or self._done is not None)
        self._end()
        if self._done is None:
            raise RecordingError(self._error or "")
        return self._done

    def cancel(self) -> None:
        """End the making of the wanted file, which `finish` waits for; `part` stays.

        Does nothing before `finish` is called, and to what is finished.
        """
        with self._changed:
            self._cancelled = self._closed
            self._changed.notify_all()

    def abandon(self, *, delete: bool = False) -> None:
        """Stop at once; what was recorded stays as `part`, or is deleted."""
        with self._changed:
            if self._done is not None:
                return
            if self._error is None:
                kept = "" if delete else f" What was recorded until then is in {self.part}."
                self._error = f"The recording was stopped.{kept}"
            self._closed = self._cancelled = True
            self._waiting.clear()
            self._changed.notify_all()
        if self._finishing is not None:
            # The process takes what it has made until now away with it.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_CANCEL_SECONDS)
        self._process.kill()
        self._end()
        if delete:
            delete_recording(self.part)

    def _end(self) -> None:
        """Wait for the process and the threads to end."""
        self._process.wait()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _send(self, order: Mapping[str, Any]) -> None:
        """Thread: send what waits, then say that there is no more."""
        pipe, shown = self._process.stdin, order["view"]
        assert pipe is not None
        try:
            with pipe:
                protocol.send_json(pipe, protocol.START, order)
                while (waiting := self._next()) is not None:
                    scene, view = waiting
                    if view.to_dict() != shown:
                        shown = view.to_dict()
                        protocol.send_json(pipe, protocol.VIEW, shown)
                    protocol.send_frame(pipe, scene, view.measures)
                if self._error is None:
                    protocol.send(pipe, protocol.FINISH)
                    self._wait_for_end(or_cancel=True)
                    if self._cancelled:
                        protocol.send(pipe, protocol.CANCEL)
                        self._wait_for_end()
        except OSError:
            pass  # the process is gone; its last reply, or the lack of one, tells why

    def _next(self) -> tuple[Scene, View] | None:
        """What to send next, waiting for it; None when there will be no more."""

        def ready() -> bool:
            return bool(self._waiting) or self._closed or self._error is not None

        with self._changed:
            self._changed.wait_for(ready)
            if not self._waiting or self._error is not None:
                return None
            waiting = self._waiting.popleft()
            self._changed.notify_all()
            return waiting

    def _wait_for_end(self, or_cancel: bool = False) -> None:
        """Wait until the process has said how the recording ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: (or_cancel and self._cancelled) or self._done or self._replied
            )

    def _read_replies(self) -> None:
        """Thread: follow how far the process is, and how it ends."""
        pipe = self._process.stdout
        assert pipe is not None
        try:
            with pipe:
                while (reply := protocol.receive(pipe)) is not None:
                    self._take(protocol.json_of(reply[1]))
        except (OSError, protocol.ProtocolError) as problem:
            self._fail(f"its answer could not be read ({problem})")
        if self._done is None:
            with self._changed:
                self._replied = True
                self._changed.notify_all()
            status = self._process.wait()
            how = f"signal {-status}" if status < 0 else f"exit status {status}"
            # Without the process ffmpeg finishes its file, and holds the messages open until then.
            self._threads[-1].join(_FFMPEG_END_SECONDS)
            self._fail(f"the process that records ended unexpectedly ({how})")

    def _take(self, reply: Mapping[str, Any]) -> None:
        """Act on one reply."""
        if "error" in reply:
            self._fail(str(reply["error"]))
        if "cancelled" in reply:
            self._fail(f"the making of {self.path.name} was cancelled")
        with self._changed:
            self._replied = self._replied or "error" in reply or "cancelled" in reply
            self._finishing = reply.get("making", self._finishing)
            self._written = max(self._written, int(reply.get("written", 0)))
            if "done" in reply:
                self._done = Path(reply["done"])
            self._changed.notify_all()

    def _fail(self, reason: str) -> None:
        """Note why the recording ends, unless it has ended already."""
        if self._error is not None:
            return
        logger.warning("Recording to %s failed: %s", self.part, reason)
        for line in self._last_words:
            logger.info("The process that records said: %s", line)
        kept = _what_is_left(self.part, self._put)
        with self._changed:
            self._error = f"The recording stopped: {reason.rstrip('.')}. {kept}"
            self._changed.notify_all()

    def _read_messages(self) -> None:
        """Thread: keep the last lines that the process printed, for the log."""
        pipe = self._process.stderr
        assert pipe is not None
        with pipe:
            for line in pipe:
                self._last_words.append(line.decode(errors="replace").rstrip())


def check(size: tuple[int, int], fps: float, path: Path | None = None) -> None:
    """Raise `RecordingError` for a size or a rate that no movie can have, or not that one."""
    kind = ".mp4" if path is None else _ending(path)
    largest = GIF_SIDE if kind == ".gif" else _LARGEST_SIDE
    for name, value in zip(("width", "height"), size, strict=True):
        if not isinstance(value, int) or not 16 <= value <= largest:
            of = " in a GIF" if kind == ".gif" else ""
            raise RecordingError(f"{name} = {value} is not possible{of}: use 16 to {largest}.")
        if value % 2 and kind in MOVIES:
            raise RecordingError(
                f"{name} = {value} is odd, which movies cannot be: use {value - 1} or {value + 1}."
            )
    fastest, of = (GIF_FPS, " in a GIF") if kind == ".gif" else (240, "")
    if not 2 <= fps <= fastest:
        raise RecordingError(
            f"fps = {fps:g} is not possible{of}: use 2 to {fastest} frames a second."
        )


def _ending(path: Path) -> str:
    try:
        return ending(path)
    except ValueError as problem:
        raise RecordingError(str(problem)) from problem


def _reserve(wanted: Path) -> tuple[Path, Path]:
    """Find a free name and create that in which it is recorded."""
    try:
        return reserve(wanted)
    except OSError as problem:
        raise RecordingError(
            f"The movie cannot be written to the folder {wanted.parent}: {problem.strerror}. "
            "Choose another folder."
        ) from problem


def _start_process() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        own_program("record_process"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=own_program_environment(),
        # Ctrl-C in a terminal is for the program, which then ends the recording in order.
        start_new_session=True,
    )


def _what_is_left(part: Path, put: int) -> str:
    """A sentence on what a failed recording left behind."""
    try:
        frames = frame_count(part)
    except (OSError, ValueError):
        return "Nothing is left of it."
    if frames == 0:
        # The folder may be read-only by now.
        with contextlib.suppress(OSError):
            delete_recording(part)
        return "Nothing was recorded."
    if part.suffix != ".mp4":
        return f"The first {frames} of {put} pictures are in {part}."
    return f"The first {frames} of {put} frames are in {part}, which can be played."
