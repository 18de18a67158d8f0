# SPDX-License-Identifier: GPL-3.0-or-later
"""The card over the picture that tells of one rod."""

from typing import NamedTuple

from PyQt6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from bacsim_gui import theme
from bacsim_gui.panels.layout import Figures, label
from engine.schema import unit_words
from engine.snapshot import MEASURES

WIDTH, GAP = 216, 12


class RodShown(NamedTuple):
    """What is known of a rod; without a place `missing` says why. `heading` is in degrees."""

    rod: int
    place: tuple[float, float] | None = None
    heading: float = 0.0
    activity: float = 0.0
    speed: float | None = None
    contacts: int | None = 0
    following: bool = False
    missing: str = "is gone"


class RodCard(QFrame):
    """Lies in the top left corner of `picture`. Emits when it is closed, or following is wished."""

    closed = pyqtSignal()
    follow_toggled = pyqtSignal(bool)

    def __init__(self, picture: QWidget) -> None:
        super().__init__(picture.parentWidget())
        self._picture = picture
        self.setProperty("role", "rod-card")
        self.setAccessibleName("picked rod")
        rows = QVBoxLayout(self)
        rows.setContentsMargins(12, 8, 10, 10)
        rows.setSpacing(6)
        top = QHBoxLayout()
        self.title = label("", "heading")
        close = QToolButton()
        close.setProperty("role", "small")
        close.setIcon(theme.icon("close"))
        close.setIconSize(QSize(12, 12))
        close.setToolTip("Deselect the rod (Esc)")
        close.setAccessibleName("deselect the rod")
        close.clicked.connect(self.closed)
        top.addWidget(self.title, 1)
        top.addWidget(close)
        rows.addLayout(top)
        self.figures = Figures()
        rows.addWidget(self.figures)
        self.follow = QCheckBox("Follow it (F)")
        self.follow.setToolTip("Keep the rod in the middle of the picture. Moving that ends it.")
        self.follow.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.follow.toggled.connect(self.follow_toggled)
        rows.addWidget(self.follow)
        picture.installEventFilter(self)
        self.hide()

    def show_rod(self, shown: RodShown | None) -> None:
        """Show what is known of a rod; None hides the card."""
        self.setVisible(shown is not None)
        if shown is None:
            return
        there = shown.place is not None
        self.title.setText(f"Rod {shown.rod:,}" + (f" {shown.missing}" if not there else ""))
        for widget in (self.figures, self.follow):
            widget.setVisible(there)
        with QSignalBlocker(self.follow):
            self.follow.setChecked(shown.following)
        if shown.place is not None:
            x, y = shown.place
            put = self.figures.put
            units = {unit: f" {unit_words(unit)}." for unit in ("l", "l/t")}
            put("position", f"{x:.1f}, {y:.1f} l", f"x and y of its centre.{units['l']}")
            put("heading", f"{shown.heading:.0f}°", "Its direction, from x on against the clock.")
            speed = "–" if shown.speed is None else f"{shown.speed:.3g} l/t"
            doc = f"How fast it went since the picture before this one.{units['l/t']}"
            put("speed", speed, doc)
            put("activity", f"{shown.activity:.2f}", "From 0, passive, to 1, active.")
            contacts = "–" if shown.contacts is None else f"{shown.contacts}"
            put("contacts", contacts, MEASURES["contacts"].doc)
        self._place()

    def event(self, e: QEvent | None) -> bool:  # noqa: D102
        # Rows that are new ask for their room only when Qt has shown them.
        if e is not None and e.type() == QEvent.Type.LayoutRequest:
            self._place()
        return super().event(e)

    def eventFilter(self, a0: QObject | None, a1: QEvent | None) -> bool:  # noqa: D102
        if a1 is not None and a1.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        return False

    def _place(self) -> None:
        if not self.isHidden():
            # Large text in a narrow window would push its values and its button out of sight.
            room = self._picture.width() - 2 * GAP
            self.setFixedWidth(min(theme.scaled(WIDTH), room))
            self.adjustSize()
            corner = self._picture.geometry().topLeft()
            self.move(corner.x() + GAP, corner.y() + GAP)
            self.raise_()
