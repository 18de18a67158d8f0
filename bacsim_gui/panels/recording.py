# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next movie is like, and how far the present one is."""

from pathlib import Path

from PyQt6.QtCore import QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from bacsim_gui.panels.layout import Choice, Group, label
from bacsim_gui.panels.number import NumberField
from bacsim_gui.seam import Status
from bacsim_gui.session import Session
from engine import schema

SIZES = ("1280 × 720", "1920 × 1080", "1080 × 1080", "2560 × 1440", "3840 × 2160")
RATES = ("24", "30", "60")


def frames_text(count: int) -> str:
    """A number of frames, in words."""
    return f"{count:,} frame{'' if count == 1 else 's'}"


class RecordingPanel(Group):
    """Emits `edited(name, value)` for the movie's settings; asks for a folder, start and end."""

    edited = pyqtSignal(str, object)
    folder_wanted = pyqtSignal()
    open_wanted = pyqtSignal(Path)
    toggled_recording = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("recording", parent)
        self.size_choice = Choice()
        self.size_choice.setToolTip("A usual size in pixels.")
        self.size_choice.addItems(SIZES)
        self.size_choice.textActivated.connect(self._choose_size)
        self.add_named("size", self.size_choice)
        self.width_field, self.height_field = NumberField("px"), NumberField("px")
        for name, field in (("width", self.width_field), ("height", self.height_field)):
            field.setToolTip("An even number of pixels; free of the window's size.")
            field.typed.connect(lambda text, name=name: self.edited.emit(name, text))
            self.add_named(name, field)
        self.rate = Choice()
        self.rate.addItems(RATES)
        self.rate.setToolTip("Frames of the movie a second.")
        self.rate.textActivated.connect(lambda text: self.edited.emit("fps", text))
        self.add_named("frames/s", self.rate)
        self.folder = QPushButton()
        self.folder.clicked.connect(self.folder_wanted)
        self.add_named("folder", self.folder)
        self.pace = label(wrap=True)
        self.pace.setContentsMargins(0, 5, 4, 2)
        self.add(self.pace)
        self.progress = label(role="value", wrap=True)
        self.progress.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.add(self.progress)
        self.record = QPushButton("Record")
        self.record.clicked.connect(self.toggled_recording)
        self.open = QPushButton("Open folder")
        self.open.clicked.connect(self._open)
        buttons = QWidget()
        line = QHBoxLayout(buttons)
        line.setContentsMargins(0, 6, 4, 2)
        line.addWidget(self.record, 1)
        line.addWidget(self.open)
        self.add(buttons)
        self._saved: Path | None = None
        self.open.hide()

    def show_values(self, session: Session, K: int) -> None:
        """Show the settings; no signal is emitted."""
        settings, recording = session.movie_settings, session.movie is not None
        self.width_field.show_value(settings.width)
        self.height_field.show_value(settings.height)
        for box, text in (
            (self.size_choice, f"{settings.width} × {settings.height}"),
            (self.rate, f"{settings.fps:g}"),
        ):
            with QSignalBlocker(box):
                index = box.findText(text)
                box.setCurrentIndex(index)
                if index < 0:
                    box.setPlaceholderText(text if box is self.rate else "another")
        metrics = self.folder.fontMetrics()
        path = str(settings.folder)
        self.folder.setText(metrics.elidedText(path, Qt.TextElideMode.ElideMiddle, 190))
        self.folder.setToolTip(path)
        order = None if session.movie is None else session.movie.order
        steps = order.steps if order else session.movie_steps(K)
        fps = order.fps if order else settings.fps
        pace = schema.pace(session.params, steps * fps)
        self.pace.setText(f"{steps} steps a movie frame: {pace:.3g} body widths a second")
        for widget in (
            self.size_choice, self.width_field, self.height_field, self.rate, self.folder,
        ):  # fmt: skip
            widget.setEnabled(not recording)
        self.record.setText("Finish the movie" if recording else "Record")

    def show_progress(self, session: Session, status: Status) -> None:
        """Show the frames written so far, or the last file."""
        if status.movie is not None and session.movie is not None:
            seconds = status.movie_frames / session.movie.order.fps
            self.progress.setText(
                f"{frames_text(status.movie_frames)} written, {seconds:.1f} s of movie"
            )
        elif status.movie is not None:
            self.progress.setText(f"Finishing {status.movie.name} …")
        elif status.saved is not None:
            self.progress.setText(f"Saved {status.saved.name}, {frames_text(status.movie_frames)}")
        self.progress.setVisible(bool(self.progress.text()))
        self._saved = status.saved
        self.open.setVisible(status.saved is not None)

    def _choose_size(self, text: str) -> None:
        width, height = text.split(" × ")
        self.edited.emit("width", width)
        self.edited.emit("height", height)

    def _open(self) -> None:
        if self._saved is not None:
            self.open_wanted.emit(self._saved.parent)
