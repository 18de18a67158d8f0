# SPDX-License-Identifier: GPL-3.0-or-later
"""The bar below the picture: a slider over earlier states, and the ways on from one of them."""

from dataclasses import dataclass

from PyQt6.QtCore import QSignalBlocker, QSize, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QMouseEvent, QResizeEvent
from PyQt6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSlider,
    QStyle,
    QStyleOptionSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from bacsim_gui import theme
from bacsim_gui.panels.elided import ElidedLabel
from engine.snapshot import Snapshot

# The shortest slider that the bar shows in one row with the rest.
SHORTEST = 80
# States that are played follow so many milliseconds after one another.
FRAME_MS = 33


@dataclass(frozen=True)
class PastShown:
    """What the bar is to show.

    There are `count` states, of which number `at` is the one to be seen, `snapshot`, if it is there
    yet. `looking` says that it is no state of the present; `file` names the file that it is from.
    `hindered` says why nobody can look back now, and `stuck` why the run cannot go on from here.
    """

    count: int
    at: int
    snapshot: Snapshot | None
    looking: bool = False
    file: str = ""
    hindered: str = ""
    stuck: str = ""


class _Scrub(QSlider):
    """A slider whose handle is always where it is pressed or dragged to.

    While it is down its range stays: a state that arrives must not move the handle away.
    """

    def mousePressEvent(self, ev: QMouseEvent | None) -> None:
        if ev is not None and ev.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self._go_to(ev)

    def mouseMoveEvent(self, ev: QMouseEvent | None) -> None:
        if ev is not None and self.isSliderDown():
            self._go_to(ev)

    def mouseReleaseEvent(self, ev: QMouseEvent | None) -> None:
        if ev is not None and ev.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(False)

    def _go_to(self, event: QMouseEvent) -> None:
        style = self.style()
        if style is not None:
            option = QStyleOptionSlider()
            self.initStyleOption(option)
            wide = style.pixelMetric(QStyle.PixelMetric.PM_SliderLength, option, self)
            at, room = event.position().toPoint().x() - wide // 2, self.width() - wide
            low, high = self.minimum(), self.maximum()
            self.setValue(QStyle.sliderValueFromPosition(low, high, at, room))


class PastBar(QFrame):
    """Emits `moved` with the number of a state, and what the two buttons ask for."""

    moved = pyqtSignal(int)
    go_on_wanted = pyqtSignal()
    now_wanted = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "past-bar")
        rows = QVBoxLayout(self)
        rows.setContentsMargins(12, 5, 8, 5)
        rows.setSpacing(4)
        self._row, self._below = QHBoxLayout(), QHBoxLayout()
        for row in (self._row, self._below):
            row.setSpacing(8)
            rows.addLayout(row)
        self._below.addStretch(1)
        words = QVBoxLayout()
        words.setSpacing(0)
        self.what, self.when = ElidedLabel(Qt.TextElideMode.ElideMiddle), ElidedLabel()
        self.what.setProperty("role", "past")
        self.when.setProperty("role", "value")
        words.addWidget(self.what)
        words.addWidget(self.when)
        self._words = QWidget()
        self._words.setLayout(words)
        words.setContentsMargins(0, 0, 0, 0)
        theme.fix_width(self._words, theme.PAST_WIDTH)
        self.slider = _Scrub(Qt.Orientation.Horizontal)
        self.slider.setMinimumWidth(24)
        self.slider.setAccessibleName("earlier states")
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.setRange(0, 0)
        self.slider.valueChanged.connect(self.moved)
        self.go_on = QPushButton("Continue from here")
        self.go_on.clicked.connect(self.go_on_wanted)
        self.now = QPushButton("Back to now")
        self.now.clicked.connect(self.now_wanted)
        for button in (self.go_on, self.now):
            # Space is for run and pause.
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.play = QToolButton()
        self.play.setProperty("role", "small")
        self.play.setCheckable(True)
        self.play.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.play.setAccessibleName("play what is kept")
        self.play.toggled.connect(self._play)
        self._pace = QTimer(self)
        self._pace.setInterval(FRAME_MS)
        self._pace.timeout.connect(self._next)
        self._show_play()
        self._row.addWidget(self._words)
        self._row.addWidget(self.play)
        self._row.addWidget(self.slider, 1)
        self._stacked: bool | None = None
        self._place()

    def _play(self, on: bool) -> None:
        if on and self.slider.value() >= self.slider.maximum():
            self.slider.setValue(self.slider.minimum())
        self._pace.start() if on else self._pace.stop()
        self._show_play()

    def _show_play(self) -> None:
        on = self.play.isChecked()
        self.play.setIcon(theme.icon("pause" if on else "run"))
        self.play.setToolTip("Hold" if on else "Play from here to the end; at the end, all of it.")

    def _next(self) -> None:
        """Go one on, or end; while the handle is held it stays there."""
        if self.slider.value() >= self.slider.maximum() or not self.slider.isEnabled():
            self.play.setChecked(False)
        elif not self.slider.isSliderDown():
            self.slider.setValue(self.slider.value() + 1)

    def _place(self) -> None:
        """Put all into one row, or the buttons below where that is too narrow."""
        buttons = self.go_on.sizeHint().width() + self.now.sizeHint().width()
        room = self.width() - 68 - self.play.sizeHint().width()  # margins, spaces
        stacked = room < self._words.minimumWidth() + buttons + SHORTEST
        if stacked == self._stacked:
            return
        self._stacked = stacked
        row = self._below if stacked else self._row
        for button in (self.go_on, self.now):
            row.addWidget(button)

    def minimumSizeHint(self) -> QSize:
        """That of the stacked form: the bar takes it where it must."""
        buttons = self.go_on.sizeHint().width() + self.now.sizeHint().width()
        words = self._words.minimumWidth() + self.slider.minimumWidth()
        words += self.play.sizeHint().width() + 8
        return QSize(max(buttons, words) + 40, super().minimumSizeHint().height())

    def resizeEvent(self, a0: QResizeEvent | None) -> None:  # noqa: D102
        super().resizeEvent(a0)
        self._place()

    def show_values(self, shown: PastShown) -> None:
        """Show what there is; no signal is emitted, and a drag is not disturbed."""
        if not self.slider.isSliderDown():
            with QSignalBlocker(self.slider):
                self.slider.setRange(0, max(0, shown.count - 1))
                self.slider.setPageStep(max(1, shown.count // 20))
                self.slider.setValue(shown.at)
        what = "now"
        if shown.looking:
            what = f"looking at {shown.file}" if shown.file else "looking back"
        self.what.setText(what)
        if self.what.property("looking") != shown.looking:
            self.what.setProperty("looking", shown.looking)
            style = self.what.style()
            if style is not None:
                style.polish(self.what)
        state = shown.snapshot
        text = "" if state is None else f"step {state.step:,}, t = {state.time:.6g}"
        self.when.setText(text)
        self.setToolTip(self._tip(shown))
        self.slider.setEnabled(shown.count > 1 and not shown.hindered)
        self.play.setEnabled(self.slider.isEnabled())
        self.go_on.setEnabled(shown.looking and not shown.stuck)
        self.go_on.setToolTip(
            shown.stuck
            or "A branch: the run goes on from this state, with the parameters as they "
            "are set now. Later states are forgotten."
        )
        self.now.setEnabled(shown.looking)
        self.now.setText("Close the file" if shown.file else "Back to now")
        self.now.setToolTip("Show the present run again; what was changed here is undone.")

    def _tip(self, shown: PastShown) -> str:
        if shown.hindered:
            return shown.hindered
        if shown.file:
            return f"{shown.count:,} frames in the file. Left and Right move by one."
        return (
            f"{shown.count:,} states are kept in memory. Drag to look back; Left and Right move by "
            "one. The run pauses meanwhile."
        )
