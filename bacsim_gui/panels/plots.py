# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel of live plots: its buttons, and room for the plots, loaded when first seen."""

from html import escape

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from bacsim_gui.panels.layout import label
from engine.schema import unit_words

TIME, DISTRIBUTIONS = 0, 1


class PlotsPanel(QWidget):
    """Two pages of plots, and buttons for them."""

    page_chosen = pyqtSignal(int)
    paused = pyqtSignal(bool)
    reset_wanted = pyqtSignal()
    csv_wanted = pyqtSignal()
    picture_wanted = pyqtSignal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.over_time, self.spread = QPushButton("Over time"), QPushButton("Distributions")
        self.pause, self.reset = QPushButton("Pause"), QPushButton("Reset")
        self.export = QPushButton("Export")
        units = f"{escape(unit_words('l/t'))}."
        self.over_time.setToolTip(
            f"<p>Averages over all rods, since the run began or Reset. {units}</p>"
        )
        self.spread.setToolTip("How the rods that are shown are distributed.")
        self.pause.setToolTip("Let the plots stand still; the run goes on, and they catch up.")
        self.reset.setToolTip("Forget what was plotted so far, and show everything again.")
        for number, button in enumerate((self.over_time, self.spread)):
            button.setCheckable(True)
            button.clicked.connect(lambda _, number=number: self.page_chosen.emit(number))
        self.pause.setCheckable(True)
        self.pause.toggled.connect(self.paused)
        self.reset.clicked.connect(self.reset_wanted)
        menu = QMenu(self.export)
        menu.addAction("Numbers (CSV)…", self.csv_wanted.emit)
        menu.addAction("Picture (PNG)…", lambda: self.picture_wanted.emit(".png"))
        menu.addAction("Picture (SVG)…", lambda: self.picture_wanted.emit(".svg"))
        self.export.setMenu(menu)
        self.export.setToolTip("Save what this page shows.")
        self.pages = QStackedWidget()
        waiting = label("loading…")
        waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.pages.addWidget(waiting)
        above, below = QHBoxLayout(), QHBoxLayout()
        for button in (self.over_time, self.spread):
            above.addWidget(button, 1)
        for button in (self.pause, self.reset, self.export):
            below.addWidget(button, 1)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(10, 8, 8, 8)
        rows.addLayout(above)
        rows.addWidget(self.pages, 1)
        rows.addLayout(below)
        self.show_page(TIME)

    def set_pages(self, *pages: QWidget) -> None:
        """Put the plots in, in place of the word that they are loaded."""
        for page in pages:
            # A low window scrolls them.
            around = QScrollArea()
            around.setWidgetResizable(True)
            around.setFrameShape(QFrame.Shape.NoFrame)
            around.setWidget(page)
            self.pages.addWidget(around)
        waiting = self.pages.widget(0)
        if waiting is not None:
            self.pages.removeWidget(waiting)
            waiting.deleteLater()

    def show_page(self, number: int) -> None:
        """Bring a page into sight."""
        self.over_time.setChecked(number == TIME)
        self.spread.setChecked(number == DISTRIBUTIONS)
        self.pages.setCurrentIndex(min(number, self.pages.count() - 1))
