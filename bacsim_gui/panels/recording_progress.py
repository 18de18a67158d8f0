# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a recording is: what it waits for, its frames, and the making of the wanted file."""

import math
import time

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from bacsim_gui.panels.elided import ElidedLabel
from bacsim_gui.panels.layout import label
from bacsim_gui.seam import Movie, Status
from bacsim_gui.session import Session
from bacsim_gui.timeline import sidecar

# An estimate from less than this share of the work would jump.
_TELLING_SHARE = 0.03


def frames_text(count: int) -> str:
    """A number of frames, in words."""
    return f"{count:,} frame{'' if count == 1 else 's'}"


def time_left(share: float, since: float, now: float) -> str:
    """How long the rest of a work takes of which `share` is done, as far as that can be told."""
    if share < _TELLING_SHARE:
        return ""
    rest = (now - since) * (1 - share) / share
    return f"about {math.ceil(rest)} s left" if rest < 90 else f"about {rest / 60:.0f} min left"


class RecordingProgress(QWidget):
    """Shows a `Status`; hidden while there is nothing to say. `cancelled` is for the user's wish.

    What is cancelled is the making of the wanted file; the recording stays and plays.
    """

    cancelled = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 2, 4, 2)
        rows.setSpacing(4)
        # A long name of a file shows its beginning and its end.
        self.words, self.more = ElidedLabel(Qt.TextElideMode.ElideMiddle), label()
        self.words.setProperty("role", "value")
        rows.addWidget(self.words)
        rows.addWidget(self.more)
        self._making = QWidget()
        line = QHBoxLayout(self._making)
        line.setContentsMargins(0, 0, 0, 0)
        self.bar = QProgressBar()
        self.bar.setRange(0, 100)
        self.cancel = QPushButton("Cancel")
        self.cancel.setToolTip("Do not make this file. What was recorded stays, and plays.")
        self.cancel.clicked.connect(self.cancelled)
        line.addWidget(self.bar, 1)
        line.addWidget(self.cancel)
        rows.addWidget(self._making)
        self._making.hide()
        self.hide()

    def text(self) -> str:
        """What it says."""
        return f"{self.words.text()} {self.more.text()}".strip()

    def show_values(self, session: Session, status: Status) -> None:
        """Show how far the recording is, or where the last one lies."""
        now, share = time.monotonic(), status.finishing
        words, more, tip = self.words.text(), "", ""
        if session.movie is not None:
            words, more = _recording(session.movie, status, now)
        elif share is not None and status.movie is not None:
            words, tip = f"Making {status.movie.name}", str(status.movie)
            more = time_left(share, status.finishing_since, now)
            self.bar.setValue(round(100 * share))
        elif status.saved is not None:
            words = f"Saved {status.saved.name}"
            more = f"{frames_text(status.movie_frames)}; the timeline is beside it"
            tip = f"{status.saved}\n{sidecar(status.saved)}"
        elif status.movie is None:
            words = ""
        self._making.setVisible(session.movie is None and share is not None)
        self.words.setText(words)
        self.more.setText(more)
        self.more.setVisible(bool(more))
        self.setToolTip(tip)
        self.setVisible(bool(words))


def _recording(movie: Movie, status: Status, now: float) -> tuple[str, str]:
    more = "" if movie.until is None else f"It ends at step {movie.until:,}."
    wait = movie.begin_at - now
    if wait > 0:
        return f"Begins in {math.ceil(wait)} s", more
    if status.movie is None or status.finishing is not None:
        return "Begins …", more
    words = f"{frames_text(status.movie_frames)} written"
    if not movie.order.is_trajectory:
        words += f", {status.movie_frames / movie.order.fps:.1f} s of movie"
    return words, more
