# SPDX-License-Identifier: GPL-3.0-or-later
"""Work that would hold up the window, such as reading and writing files, in a thread beside it."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from PyQt6.QtCore import QObject, pyqtSignal

from bacsim_gui.engine_worker import is_plain

log = logging.getLogger(__name__)

Made = TypeVar("Made")


class Background(QObject):
    """Does one job after another. All methods are for the main thread.

    `idle` says that no job is left.
    """

    idle = pyqtSignal()
    _over = pyqtSignal(object)

    def __init__(self) -> None:
        super().__init__()
        # It makes its thread with the first job, and the end of the program waits for the last.
        self._threads = ThreadPoolExecutor(1, "background")
        self._left = 0
        self._over.connect(self._tell)

    @property
    def busy(self) -> bool:
        """Whether a job is under way or waits."""
        return self._left > 0

    def do(
        self, job: Callable[[], Made], then: Callable[[Made], None], failed: Callable[[str], None]
    ) -> None:
        """Do `job`; what it returns goes to `then`, or a plain sentence to `failed`."""

        def work() -> None:
            try:
                made = job()
            except Exception as error:
                if not is_plain(error):
                    log.exception("a job failed")
                self._over.emit(partial(failed, _plain(error)))
            else:
                self._over.emit(partial(then, made))

        self._left += 1
        self._threads.submit(work)

    def end(self) -> None:
        """Let the thread end; there are to be no more jobs."""
        self._threads.shutdown(wait=False)

    def _tell(self, call: Callable[[], None]) -> None:
        self._left -= 1
        try:
            call()
        finally:
            if not self._left:
                self.idle.emit()


def _plain(error: Exception) -> str:
    if is_plain(error):
        return str(error)
    why = f"{type(error).__name__}: {error}"
    return f"An unexpected error was met ({why}). The log file has the details."
