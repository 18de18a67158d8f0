# SPDX-License-Identifier: GPL-3.0-or-later
"""What the window tells of itself: a problem, the state of the machine, a report for a bug."""

import os
import platform
import subprocess
from collections.abc import Callable
from datetime import datetime

from PyQt6.QtCore import PYQT_VERSION_STR, QObject, pyqtSignal, qVersion
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QWidget

from bacsim_gui import __version__
from bacsim_gui.background import Background
from bacsim_gui.bootstrap import own_program, own_program_environment
from bacsim_gui.canvas import RodCanvas
from bacsim_gui.device import nvidia_card
from bacsim_gui.logfile import log_path
from bacsim_gui.panels.details import DetailsDialog
from bacsim_gui.seam import Status
from bacsim_gui.selftest import Advice, judged
from bacsim_gui.session import Session

# bacsim doctor takes some seconds; one that hangs is not waited for.
DOCTOR_SECONDS = 120


class Reports(QObject):
    """Tells in dialogs beside the window, and copies; `told` carries words for the status bar.

    `note` is what set-up says about a card that is not used.
    """

    told = pyqtSignal(str)

    def __init__(
        self,
        window: QWidget,
        session: Session,
        canvas: RodCanvas,
        status: Callable[[], Status],
        background: Background,
        note: str,
    ) -> None:
        super().__init__(window)
        self._window, self._session, self._canvas = window, session, canvas
        self._status, self._background, self._note = status, background, note

    def advice(self) -> list[Advice]:
        """What is known to be wrong with this machine by now."""
        return judged(
            self._canvas.graphics, QGuiApplication.platformName(), self._status().device,
            self._note, nvidia_card(), os.environ,
        )  # fmt: skip

    def show_problem(self) -> None:
        """Show the problem of the session with all that a bug report needs."""
        problem = self._session.problem
        if problem is not None:
            details = f"{self.facts()}\n\n{problem.details}".strip()
            self._show("What went wrong", problem.message, details)

    def show_computer(self) -> None:
        """Show what is wrong with this machine, or that nothing is."""
        found = self.advice()
        words = "\n\n".join(str(one) for one in found)
        self._show(
            "This computer", words or "Nothing is wrong here, as far as can be told.", self.facts()
        )

    def facts(self) -> str:
        """Versions, the machine and what runs, in lines."""
        status, session = self._status(), self._session
        screen = self._window.screen()
        size = screen.size() if screen is not None else None
        lines = [
            f"{datetime.now():%Y-%m-%d %H:%M:%S}, bacsim {__version__}, "
            f"Python {platform.python_version()}, {platform.platform()}",
            f"Qt {qVersion()}, PyQt {PYQT_VERSION_STR}, platform {QGuiApplication.platformName()}",
            f"OpenGL {self._canvas.graphics or 'unknown'}",
            f"device {status.device or 'unknown'}; engine {status.phase}",
            f"{session.setup}",
            f"{session.params}",
            f"seed {session.seed}, K {session.K}",
            f"log file {log_path('bacsim-gui')}",
        ]
        if size is not None and screen is not None:
            ratio = screen.devicePixelRatio()
            lines.insert(3, f"screen {size.width()}x{size.height()} at {ratio:g}")
        return "\n".join(lines)

    def copy_report(self) -> None:
        """Put what bacsim doctor says, with the facts of this window, on the clipboard."""
        problem = self._session.problem
        facts = self.facts()
        if problem is not None:
            facts += f"\n\n{problem.message}\n{problem.details}"
        self.told.emit("Looking at this computer, for some seconds …")
        self._background.do(
            lambda: f"{_doctor()}\n\n{facts.strip()}\n", self._copy, self._session.show_problem
        )

    def _show(self, title: str, words: str, details: str) -> None:
        DetailsDialog(self._window, title, words, details, self._copy).show()

    def _copy(self, text: str) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard is not None:
            clipboard.setText(text)
        self.told.emit("Copied.")


def _doctor() -> str:
    """What bacsim doctor says, in a process of its own: it draws without a window."""
    try:
        done = subprocess.run(
            own_program("cli", "doctor"), env=own_program_environment(), capture_output=True,
            text=True, encoding="utf-8", check=False, timeout=DOCTOR_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"bacsim doctor did not end within {DOCTOR_SECONDS} s."
    return f"{done.stdout}{done.stderr}".strip()
