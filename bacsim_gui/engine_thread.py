# SPDX-License-Identifier: GPL-3.0-or-later
"""The thread that owns the Driver and everything of JAX, compiling included, as Qt sees it."""

import logging
import threading
from pathlib import Path

from PyQt6.QtCore import QObject, pyqtSignal

from bacsim_gui.engine_recordings import OpenRecording
from bacsim_gui.engine_worker import AUTOSAVE_SECONDS, Worker
from bacsim_gui.interpreter import Interpreter
from bacsim_gui.seam import Frame, Seam, Status, Wanted

log = logging.getLogger(__name__)


class EngineThread(QObject):
    """Runs the engine beside the window. All methods are for the main thread; only `join` blocks.

    `frame_ready` and `status_changed` carry nothing: the receiver takes the newest. `failed`
    carries a `Problem`. `finished` is the thread's last word. Every `autosave_seconds` the run is
    kept in the file `autosave`, if there is one.
    """

    frame_ready = pyqtSignal()
    status_changed = pyqtSignal()
    failed = pyqtSignal(object)
    finished = pyqtSignal()

    def __init__(
        self,
        open_recording: OpenRecording,
        autosave: Path | None = None,
        autosave_seconds: float = AUTOSAVE_SECONDS,
    ) -> None:
        super().__init__()
        self._seam = Seam(self.frame_ready.emit, self.status_changed.emit, self.failed.emit)
        self._worker = Worker(self._seam, open_recording, autosave, autosave_seconds)
        # Not a daemon: a thread of JAX that is cut off while it compiles takes the process with it.
        self._thread = threading.Thread(target=self._main, name="engine")
        self._interpreter = Interpreter(self, lambda: self.status.starting)
        self.finished.connect(self._interpreter.stop)

    def start(self) -> None:
        """Start the thread."""
        self._interpreter.start()
        self._thread.start()

    def request(self, wanted: Wanted) -> None:
        """Replace the order; it acts within one slice."""
        self._seam.request(wanted)

    def take(self) -> Frame | None:
        """The newest frame, once; None when it was taken already."""
        return self._seam.take()

    def painted(self, number: int) -> None:
        """Acknowledge that frame `number` is on the screen, so that the next may come."""
        self._seam.painted(number)

    @property
    def status(self) -> Status:
        """What the engine is doing."""
        return self._seam.status

    def stop(self) -> None:
        """Ask the thread to end. It finishes a movie and a compile in progress first."""
        self._seam.stop()

    def is_alive(self) -> bool:
        """Whether the thread still runs."""
        return self._thread.is_alive()

    def join(self, seconds: float | None = None) -> bool:
        """Wait for the end; whether it has come. For the very end of the program and for tests."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _main(self) -> None:
        try:
            self._worker.run()
        except Exception:
            log.exception("the engine's thread ended early")
        finally:
            self._seam.tell(phase="stopped")
            self.finished.emit()
