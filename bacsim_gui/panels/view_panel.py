# SPDX-License-Identifier: GPL-3.0-or-later
"""What the picture looks like: colours, box, bars, and what is written into it."""

from PyQt6.QtCore import QSignalBlocker, pyqtSignal
from PyQt6.QtGui import QAction, QMouseEvent
from PyQt6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QWidget,
)

from bacsim_gui import theme
from bacsim_gui.fields import FIELDS
from bacsim_gui.panels.coloring_rows import ColoringRows
from bacsim_gui.panels.layout import Choice, Group, label
from bacsim_gui.panels.number import NumberField
from bacsim_gui.session import Session
from bacsim_gui.view import BACKGROUNDS, LONGEST_TITLE, SHOWABLE

_BACKGROUND = (
    "Colour behind the rods, in the window, in pictures and in movies, whatever the theme: white "
    "for paper, black for talks."
)
# What is meant by the boxes to be checked.
_TIPS = {
    "show_rods": "The rods; without them a field, arrows and trails are seen alone.",
    "show_heads": "Marks the head of each rod.",
    "show_trails": "The ways that rods came, over the time in which a free one goes four body "
    "lengths. Of many rods some have one.",
    "show_flow": "Arrows of the rods' mean velocity, cell by cell.",
    "show_box": "The outline of the periodic box.",
    "show_copies": "The box again beyond its edges, where the picture shows a part of it: what "
    "leaves on one side comes in on the other.",
    "show_color_bar": "What colours tell, with its unit and range.",
    "show_scale_bar": "How long so many body widths are.",
    "show_time": "The simulated time.",
}


class ViewPanel(Group):
    """Emits `edited(name, value)` for a field of `View`, and `reset_wanted` for zoom and centre.

    `drawing_toggled` and `draw_every_typed` say how often the picture follows the simulation.
    """

    edited = pyqtSignal(str, object)
    drawing_toggled = pyqtSignal(bool)
    draw_every_typed = pyqtSignal(str)
    reset_wanted = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("view", parent)
        self.shown: dict[str, QCheckBox] = {}
        self.add_heading("colours")
        self.coloring = ColoringRows(self)
        self.coloring.edited.connect(self.edited)
        self.field = Choice()
        self.field.addItems(list(FIELDS))
        self.field.textActivated.connect(lambda text: self.edited.emit("field", text))
        self._field_row = self.add_named("field", self.field, "What is drawn under the rods.")
        self.background = Choice()
        self.background.addItems(list(BACKGROUNDS))
        self.background.textActivated.connect(lambda text: self.edited.emit("background", text))
        self.add_named("background", self.background, _BACKGROUND)
        self.add_heading("what is drawn")
        self._checks("rods", "heads", "trails", "flow", "box", "copies", "color_bar", "scale_bar")
        self.add_heading("what is written")
        self.title = QLineEdit()
        self.title.setPlaceholderText("none")
        self.title.setMaxLength(LONGEST_TITLE)
        self.title.textEdited.connect(lambda text: self.edited.emit("title", text))
        self.add_named("title", self.title, "One line over the picture.")
        self.parameters = QPushButton()
        self._entries: dict[str, QAction] = {}
        self._menu()
        self.add_named("values", self.parameters, "Parameters whose values the picture tells.")
        self._checks("time")
        self.add_heading("drawing and zoom")
        self._add_drawing()
        self.reset = QPushButton("Show the whole box")
        self.reset.setToolTip("Undo zoom and pan, as 0 does, and a double click with Pan picture.")
        self.reset.clicked.connect(self.reset_wanted)
        buttons = QWidget()
        line = QHBoxLayout(buttons)
        line.setContentsMargins(0, 4, 4, 0)
        line.addWidget(self.reset)
        self.add(buttons)

    def _add_drawing(self) -> None:
        self.draw_every = NumberField()
        theme.fix_width(self.draw_every, 56)
        self.draw_every.setAccessibleName("frames of which one is drawn")
        self.draw_every.typed.connect(self.draw_every_typed)
        self.draw_every.nudged.connect(
            lambda by: self.draw_every_typed.emit(str(max(1, int(self.draw_every.text()) + by)))
        )
        self.paused = QCheckBox("pause drawing")
        self.paused.toggled.connect(lambda on: self.drawing_toggled.emit(not on))
        cells = QWidget()
        line = QHBoxLayout(cells)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.draw_every)
        line.addWidget(label("frames"))
        line.addStretch(1)
        self.add_named(
            "draw every", cells,
            "Drawing fewer frames, or none, leaves more time to the simulation. Recordings keep "
            "all of theirs.",
        )  # fmt: skip
        self.add(self.paused)

    def show_values(self, session: Session) -> None:
        """Show the session's view; no signal is emitted."""
        self.draw_every.show_value(session.draw_every)
        with QSignalBlocker(self.paused):
            self.paused.setChecked(not session.drawing)
        view = session.view
        self.coloring.show_values(view, {**vars(session.params), "rods": session.setup.rods})
        with QSignalBlocker(self.field):
            self.field.setCurrentText(view.field)
        self._field_row.setToolTip(f"What is drawn under the rods. {FIELDS[view.field].doc}")
        with QSignalBlocker(self.background):
            self.background.setCurrentText(view.background)
        if self.title.text() != view.title:
            self.title.setText(view.title)
        for name, entry in self._entries.items():
            with QSignalBlocker(entry):
                entry.setChecked(name in view.parameters)
        count = len(view.parameters)
        few = view.parameters[0] if count else "none"
        self.parameters.setText(few if count < 2 else f"{count} parameters")
        for name, box in self.shown.items():
            with QSignalBlocker(box):
                box.setChecked(getattr(view, name))

    def entry(self, name: str) -> QAction:
        """The entry of the menu that has the value of parameter `name` written."""
        return self._entries[name]

    def _menu(self) -> None:
        menu = _StayingMenu(self.parameters)
        for name in SHOWABLE:
            entry = QAction(name, menu)
            entry.setCheckable(True)
            entry.toggled.connect(self._choose)
            menu.addAction(entry)
            self._entries[name] = entry
        self.parameters.setMenu(menu)

    def _choose(self) -> None:
        chosen = tuple(name for name, entry in self._entries.items() if entry.isChecked())
        self.edited.emit("parameters", chosen)

    def _checks(self, *names: str) -> None:
        """Boxes to be checked for fields of `View` that begin with show_, two in a row."""
        cells = QWidget()
        grid = QGridLayout(cells)
        grid.setContentsMargins(0, 0, 4, 0)
        grid.setVerticalSpacing(0)
        for column in (0, 1):
            grid.setColumnStretch(column, 1)
        for number, name in enumerate(f"show_{name}" for name in names):
            box = QCheckBox(name.removeprefix("show_").replace("_", " ").replace("color", "colour"))
            box.setToolTip(_TIPS[name])
            box.toggled.connect(lambda on, name=name: self.edited.emit(name, on))
            self.shown[name] = box
            grid.addWidget(box, number // 2, number % 2)
        self.add(cells)


class _StayingMenu(QMenu):
    """A menu of entries to be checked, which stays open for the next one."""

    def mouseReleaseEvent(self, a0: QMouseEvent | None) -> None:
        entry = self.actionAt(a0.position().toPoint()) if a0 is not None else None
        if entry is not None and entry.isCheckable():
            entry.trigger()
        else:
            super().mouseReleaseEvent(a0)
