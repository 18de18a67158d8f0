# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next recording is like, and the button that begins and ends it."""

from pathlib import Path

from PyQt6.QtCore import QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from bacsim_gui import theme
from bacsim_gui.movie_formats import QUALITIES
from bacsim_gui.panels.layout import Choice, Group, label
from bacsim_gui.panels.number import NumberField
from bacsim_gui.panels.recording_progress import RecordingProgress
from bacsim_gui.seam import Status
from bacsim_gui.session import Session
from engine import schema

KINDS = {
    ".mp4": ("MP4 movie", "H.264: plays everywhere."),
    ".webm": ("WebM movie", "VP9, for web pages."),
    ".gif": ("GIF", "For slides and chats: few colours, at most 50 frames/s."),
    "": ("PNG pictures", "A folder with a picture for each frame."),
    ".gsd": ("GSD trajectory", "The states themselves, for OVITO, freud and notebooks."),
}
# Usual sizes in pixels, with what people call them.
SIZES = {
    (1280, 720): "HD", (1920, 1080): "Full HD", (1080, 1080): "square", (2560, 1440): "QHD",
    (3840, 2160): "4K", (7680, 4320): "8K",
}  # fmt: skip
RATES = ("12", "24", "30", "50", "60")


class RecordingPanel(Group):
    """Emits `edited(name, value)` for a field of `MovieSettings`, and what the buttons ask for."""

    edited = pyqtSignal(str, object)
    folder_wanted = pyqtSignal()
    open_wanted = pyqtSignal(Path)
    toggled_recording = pyqtSignal()
    cancelled = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("recording", parent)
        self._rows: dict[str, QWidget] = {}
        self.kind = self._choice("format", "kind", "")
        for kind, (name, doc) in KINDS.items():
            self.kind.addItem(name, kind)
            self.kind.setItemData(self.kind.count() - 1, doc, Qt.ItemDataRole.ToolTipRole)
        self.kind.activated.connect(lambda _: self.edited.emit("kind", self.kind.currentData()))
        self.quality = self._choice(
            "quality", "quality",
            "share: plays everywhere, edges smoothed; high: the colour of every pixel; lossless: "
            "exact, and large.",
        )  # fmt: skip
        self.quality.addItems(QUALITIES)
        self.quality.textActivated.connect(lambda text: self.edited.emit("quality", text))
        self.size_choice = self._choice("size", "size", "A usual size in pixels.")
        for (width, height), name in SIZES.items():
            self.size_choice.addItem(f"{width} × {height} ({name})", (width, height))
        self.size_choice.activated.connect(self._choose_size)
        self.width_field = NumberField()
        self.height_field = NumberField()
        self._pixels()
        self.rate = self._choice("frames/s", "fps", "Frames of the movie a second.")
        self.rate.addItems(RATES)
        self.rate.textActivated.connect(lambda text: self.edited.emit("fps", text))
        self.time_a_frame = self._number(
            "a frame every", "time_a_frame", "t", "as in the window",
            "Simulated time between two frames, in t. Empty: the movie runs as fast as the window.",
        )  # fmt: skip
        self.keep = self._number(
            "rods kept", "keep", "", "all",
            "About so many of the rods, each for all of its life; observables are of all rods.",
        )  # fmt: skip
        self.delay = self._number(
            "begin after",
            "delay",
            "s",
            "at once",
            "Seconds between the button and the first frame.",
        )
        self.until = self._number(
            "end at step", "until", "", "by hand", "The recording ends by itself at this step."
        )
        self.folder = QPushButton()
        self.folder.clicked.connect(self.folder_wanted)
        self._rows["folder"] = self.add_named("folder", self.folder)
        self.pace = label()
        self.pace.setContentsMargins(0, 5, 4, 2)
        self.add(self.pace)
        self.progress = RecordingProgress()
        self.progress.cancelled.connect(self.cancelled)
        self.add(self.progress)
        self._buttons()
        self._saved: Path | None = None

    def show_values(self, session: Session, K: int) -> None:
        """Show the settings; no signal is emitted."""
        settings, recording = session.movie_settings, session.movie is not None
        self.width_field.show_value(settings.width)
        self.height_field.show_value(settings.height)
        self.time_a_frame.show_value("" if settings.time_a_frame is None else settings.time_a_frame)
        self.delay.show_value(settings.delay or "")
        self.until.show_value(settings.until or "")
        self.keep.show_value(settings.keep or "")
        size = settings.width, settings.height
        for box, index in (
            (self.kind, list(KINDS).index(settings.kind)),
            (self.quality, QUALITIES.index(settings.quality)),
            (self.size_choice, list(SIZES).index(size) if size in SIZES else -1),
            (self.rate, self.rate.findText(f"{settings.fps:g}")),
        ):  # fmt: skip
            with QSignalBlocker(box):
                box.setCurrentIndex(index)
        self.size_choice.setPlaceholderText("own size")
        self.rate.setPlaceholderText(f"{settings.fps:g}")
        self.kind.setToolTip(KINDS[settings.kind][1])
        metrics = self.folder.fontMetrics()
        path = str(settings.folder)
        self.folder.setText(
            metrics.elidedText(path, Qt.TextElideMode.ElideMiddle, theme.scaled(150))
        )
        self.folder.setToolTip(path)
        for name in ("quality", "size", "pixels", "fps"):
            self._rows[name].setVisible(not settings.is_trajectory)
        self._rows["keep"].setVisible(settings.is_trajectory)
        for row in self._rows.values():
            row.setEnabled(not recording)
        self._show_pace(session, K)
        self.record.setText("Finish the recording" if recording else "Record")
        self.record.setEnabled(session.looking is None)

    def show_progress(self, session: Session, status: Status) -> None:
        """Show how far the recording is, or the last file."""
        self.progress.show_values(session, status)
        self._saved = status.saved
        self.open.setVisible(status.saved is not None)

    def _show_pace(self, session: Session, K: int) -> None:
        order = None if session.movie is None else session.movie.order
        steps = order.steps if order else session.movie_steps(K)
        text = (
            f"{steps:,} step{'' if steps == 1 else 's'} a frame, {steps * session.params.dt:.4g} t"
        )
        if not session.movie_settings.is_trajectory:
            fps = order.fps if order else session.movie_settings.fps
            pace = schema.pace(session.setup, session.params, steps * fps)
            text += f"\n{pace:.3g} body widths a second of movie"
        self.pace.setText(text)

    def _choice(self, title: str, name: str, tip: str) -> Choice:
        box = Choice()
        self._rows[name] = self.add_named(title, box, tip)
        return box

    def _number(self, title: str, name: str, unit: str, empty: str, tip: str) -> NumberField:
        field = NumberField(unit)
        field.setPlaceholderText(empty)
        # Nothing typed is a value too: that of the placeholder.
        none = "0" if name == "delay" else ""
        field.typed.connect(lambda text: self.edited.emit(name, text or none))
        self._rows[name] = self.add_named(title, field, tip)
        return field

    def _pixels(self) -> None:
        pair = QWidget()
        line = QHBoxLayout(pair)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(5)
        for name, field in (("width", self.width_field), ("height", self.height_field)):
            field.setToolTip(f"{name.capitalize()}: an even number; free of the window's size.")
            field.setMinimumWidth(60)
            field.setAccessibleName(f"{name} in pixels")
            field.typed.connect(lambda text, name=name: self.edited.emit(name, text))
            if name == "height":
                line.addWidget(label("×"))
            line.addWidget(field, 1)
        self._rows["pixels"] = self.add_named("pixels", pair)

    def _buttons(self) -> None:
        self.record = QPushButton("Record")
        self.record.clicked.connect(self.toggled_recording)
        self.open = QPushButton("Open folder")
        self.open.clicked.connect(self._open)
        self.open.hide()
        buttons = QWidget()
        line = QHBoxLayout(buttons)
        line.setContentsMargins(0, 6, 4, 2)
        line.addWidget(self.record, 1)
        line.addWidget(self.open)
        self.add(buttons)

    def _choose_size(self, at: int) -> None:
        for name, pixels in zip(("width", "height"), self.size_choice.itemData(at), strict=True):
            self.edited.emit(name, str(pixels))

    def _open(self) -> None:
        if self._saved is not None:
            self.open_wanted.emit(self._saved.parent)
