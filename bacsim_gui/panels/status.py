# SPDX-License-Identifier: GPL-3.0-or-later
"""What must be in sight at any size of the window: state, cost of a step, device; and problems."""

import time
from collections.abc import Sequence

from PyQt6.QtCore import QSize, Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStatusBar,
    QToolButton,
    QWidget,
)

from bacsim_gui import theme
from bacsim_gui.panels.elided import ElidedLabel
from bacsim_gui.panels.layout import label
from bacsim_gui.panels.recording_progress import frames_text
from bacsim_gui.panels.statistics import PHASES, WAITS, big, phase_text, seconds
from bacsim_gui.seam import Frame, Status
from bacsim_gui.selftest import Advice
from bacsim_gui.session import Session

# How long a word of the status bar stays; a long one longer.
SAID_SECONDS, LETTERS_A_SECOND = 6.0, 15.0


class StatusBar(QStatusBar):
    """The line at the bottom of the window.

    `words` has what goes on and what is said in passing, `figures` what was measured; where there
    is no room for both, figures give way.
    """

    hints_wanted = pyqtSignal()

    def __init__(self, device_note: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._note = device_note
        self._said, self._said_until = "", 0.0
        self._doing: list[str] = []
        self.phase = QLabel()
        self.phase.setContentsMargins(6, 0, 12, 0)
        self.words, self.figures = ElidedLabel(), ElidedLabel()
        self.words.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.figures.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.words.setProperty("role", "value")
        self.figures.setProperty("role", "muted")
        both = QWidget()
        line = QHBoxLayout(both)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(18)
        line.addWidget(self.words)
        line.addWidget(self.figures, 1)
        self.words.hide()
        # A long note shares the line with the figures; a device alone is shown whole.
        self.device: QLabel = ElidedLabel() if device_note else QLabel()
        self.device.setContentsMargins(0, 0, 0 if device_note else 12, 0)
        self.addWidget(self.phase)
        self.addWidget(both, 3)
        self.place = label()
        self.place.setToolTip("Where the mouse is in the box.")
        self.place.setContentsMargins(0, 0, 12, 0)
        theme.keep_least_width(self.place, 130)  # so that nothing moves with each digit
        self.place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.place.hide()
        self.addPermanentWidget(self.place)
        self.addPermanentWidget(self.device, 2 if device_note else 0)
        self.hints = QToolButton()
        self.hints.setProperty("role", "hints")
        self.hints.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hints.clicked.connect(self.hints_wanted)
        self.hints.hide()
        self.addPermanentWidget(self.hints)
        self.setSizeGripEnabled(False)

    def show_hints(self, found: Sequence[Advice]) -> None:
        """Offer the advice on this machine, where there is some."""
        count = len(found)
        self.hints.setText(f"{count} hint{'' if count == 1 else 's'}")
        self.hints.setToolTip("\n".join(one.what for one in found))
        self.hints.setAccessibleDescription(self.hints.toolTip())
        self.hints.setVisible(count > 0)

    def show_place(self, place: tuple[float, float] | None) -> None:
        """Show where the mouse is in the model; nowhere for None."""
        self.place.setVisible(place is not None)
        if place is not None:
            self.place.setText(f"x {place[0]:.1f}, y {place[1]:.1f} l")

    def say(self, text: str) -> None:
        """Show `text` for some seconds, or nothing any more."""
        self._said = text
        self._said_until = time.monotonic() + SAID_SECONDS + len(text) / LETTERS_A_SECOND
        self._show_words()

    @property
    def said(self) -> str:
        """What is said now."""
        return self._said if time.monotonic() < self._said_until else ""

    def _show_words(self) -> None:
        said = [self.said] if self.said else []
        text = "   ".join((*self._doing, *said))
        self.words.setText(text)
        self.words.setToolTip(text)
        self.words.setVisible(bool(text))

    def show_values(
        self, session: Session, status: Status, frame: Frame | None, frames_per_second: float
    ) -> None:
        """Show what the engine is doing and what it last measured."""
        phase = phase_text(status, time.monotonic())
        if status.phase == "running" and not session.running:
            phase = "paused"
        looking = session.looking is not None
        if looking:
            phase = "looking back"
        color = _color(phase, status)
        self.phase.setText(f'<span style="color:{color}">●</span> {phase}')
        doing, parts = [], []
        if status.finishing is not None and status.movie is not None:
            doing.append(f"making {status.movie.name}, {status.finishing:.0%}")
        elif status.movie is not None:
            doing.append(f"recording, {frames_text(status.movie_frames)}")
        if status.autosave_problem:
            doing.append(f"no autosave: {status.autosave_problem}")
        # What was measured of the present says nothing about an earlier state.
        if frames_per_second and not looking:
            parts.append(f"{frames_per_second:.0f} frames/s")
        if frame is not None and not looking:
            parts.append(f"K {frame.K}")
        if status.stats is not None and not looking:
            if status.stats.step_seconds:
                parts.append(f"{seconds(status.stats.step_seconds)} a step")
            if status.stats.rod_steps_per_second:
                parts.append(f"{big(status.stats.rod_steps_per_second)} rod-steps/s")
        if status.stats is not None:
            for name, count in (
                ("compile", status.stats.compiles), ("growth", status.stats.growths)
            ):  # fmt: skip
                if count or name == "compile":
                    parts.append(f"{count} {name}{'' if count == 1 else 's'}")
        self._doing = doing
        self._show_words()
        self.figures.setText("   ".join(parts))
        self.figures.setToolTip(self.figures.text())
        text = f"{status.device}  {self._note}".strip()
        if text != self.device.text():
            self.device.setText(text)
            self.device.setToolTip(text)


def _color(phase: str, status: Status) -> str:
    """The colour of the dot before the phase."""
    colors = theme.colors()
    if status.phase in WAITS:
        return colors.warn
    return colors.good if phase == PHASES["running"] else colors.muted


class Reading(QScrollArea):
    """A text that is as high as it needs to be where there is room, and scrolls where not."""

    def __init__(self, text: QLabel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = text
        self.setWidget(text)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizeAdjustPolicy(QScrollArea.SizeAdjustPolicy.AdjustToContents)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def heightForWidth(self, a0: int) -> int:
        """As high as all of the text."""
        return self._text.heightForWidth(a0)


class ProblemBanner(QFrame):
    """One plain sentence about what went wrong, above the picture, until it is dismissed."""

    dismissed = pyqtSignal()
    details_wanted = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "error-box")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 8, 8)
        self.message = label(role="value", wrap=True)
        close = QToolButton()
        close.setIcon(theme.icon("close"))
        close.setIconSize(QSize(12, 12))
        close.setToolTip("Dismiss")
        close.setAccessibleName("dismiss")
        close.clicked.connect(self.dismissed)
        self.details = QPushButton("Details…")
        self.details.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.details.setToolTip("What a bug report needs, to be copied.")
        self.details.clicked.connect(self.details_wanted)
        self._reading = Reading(self.message)
        self._reading.setAccessibleName("problem")
        row.addWidget(self._reading, 1)
        row.addWidget(self.details)
        row.addWidget(close)
        self.hide()

    def show_values(self, session: Session) -> None:
        """Show the session's problem, if there is one."""
        self.message.setText("" if session.problem is None else session.problem.message)
        # Of another text nobody else tells the layout, the label being out of it.
        self._reading.updateGeometry()
        self.setVisible(session.problem is not None)
