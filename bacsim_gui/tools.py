# SPDX-License-Identifier: GPL-3.0-or-later
"""What the mouse does to the run: one tool at a time, chosen by a button or a letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PyQt6.QtCore import QObject, Qt, pyqtSignal
from PyQt6.QtGui import QAction, QActionGroup
from PyQt6.QtWidgets import QWidget

from bacsim_gui import theme
from bacsim_gui.canvas import RodCanvas
from bacsim_gui.gestures import Adding, Bench, Brush, Gesture, Hand, Place, Placing
from bacsim_gui.panels.rod_card import RodCard
from bacsim_gui.picking import Pick, Picking
from bacsim_gui.session import Session
from bacsim_gui.undo import Undo
from engine.snapshot import Snapshot

# The radius of a brush in body lengths, at first; a press of a key makes it so many times larger.
BRUSH, LARGER = 1.5, 1.25
# It stays within these, in body lengths and in sides of the box.
LEAST, MOST = 0.25, 0.5
BACK = "This is an earlier state. Go on from it, or back to now, before you change anything in it."
OUTSIDE = "This is outside of the edge: tools act within it."
NOT_YET = "Another run is being made: tools act in it once it is in the picture."
# The builds after which a rod is still the one of that number.
SAME_RODS = ("earlier state", "reset")
MOVE, PICK = "move", "pick"


class Tool(NamedTuple):
    """A tool: the name of its icon, what it is called, its key, what it does, if it is a brush."""

    name: str
    text: str
    key: str
    tip: str
    is_brush: bool = False


TOOLS = (
    Tool(MOVE, "Pan picture", "V", "Drag moves the picture; the wheel zooms, with any tool."),
    Tool(PICK, "Pick rod", "Q", "Click a rod to read its speed and activity, and to follow it."),
    Tool("push", "Push rods", "W", "Rods move away from the mouse while its button is down.", True),
    Tool("pull", "Pull rods", "E", "Rods come to the mouse while its button is down.", True),
    Tool("add", "Add rod", "A", "Click adds a rod; drag gives its direction."),
    Tool("remove", "Remove rods", "D", "Takes rods away; a click on an obstacle takes that.", True),
    Tool("paint", "Paint activity", "T", "Makes rods active; with Shift passive.", True),
    Tool("disc", "Round obstacle", "O", "Drag from its middle; drag one that is there to move it."),
    Tool("box", "Box obstacle", "B", "Drag corner to corner; drag one that is there to move it."),
)


class Tools(QObject):
    """Lends the mouse on `canvas` to the tool that is chosen.

    `actions` choose a tool, `sizes` make the brush smaller and larger, `others` are for the menu
    alone. `told` carries what the status bar is to say, `shown` gives the state in the picture,
    `present` the newest one of the run, `before` the one before a state.
    """

    told = pyqtSignal(str)

    def __init__(
        self, window: QWidget, session: Session, canvas: RodCanvas, undo: Undo,
        shown: Callable[[], Snapshot | None], present: Callable[[], Snapshot | None],
        before: Callable[[Snapshot], Snapshot | None],
    ) -> None:  # fmt: skip
        super().__init__(window)
        self._session, self._canvas = session, canvas
        self.picking = Picking(
            canvas, RodCard(canvas.native), shown, before,
            lambda: session.looking is not None, lambda: session.thinned,
        )  # fmt: skip
        self._bench = Bench(session, undo, present, self.told.emit)
        self._relative = BRUSH
        self._at: Place | None = None
        self._build = session.wanted.build
        self._gestures: dict[str, Gesture] = {
            PICK: Pick(self._bench, self.picking),
            "push": Hand(self._bench, 1.0),
            "pull": Hand(self._bench, -1.0),
            "add": Adding(self._bench),
            "remove": Brush(self._bench, "remove"),
            "paint": Brush(self._bench, "paint"),
            "disc": Placing(self._bench, box=False),
            "box": Placing(self._bench, box=True),
        }
        self.tool = TOOLS[0]
        self._group = QActionGroup(window)
        self.actions = [self._action(tool) for tool in TOOLS]
        self.actions[0].setChecked(True)
        self.sizes = (
            self._size_action("smaller", "Smaller brush", "[", -1.0),
            self._size_action("larger", "Larger brush", "]", 1.0),
        )
        self.others = (
            self._plain_action("Follow the picked rod", "F", self._toggle_follow),
            self._plain_action("Cancel or deselect", "Esc", self.let_go),
        )
        self.others[0].setEnabled(False)
        self.picking.changed.connect(self._follow_pick)
        session.changed.connect(self._follow_session)

    # What the user does

    def choose(self, name: str) -> None:
        """Take another tool."""
        self._end()
        self.tool = next(tool for tool in TOOLS if tool.name == name)
        moves = name == MOVE
        self._canvas.handle = None if moves else self
        cursor = Qt.CursorShape.ArrowCursor if moves else Qt.CursorShape.CrossCursor
        self._canvas.set_cursor(cursor)
        self.told.emit("" if moves else f"{self.tool.text}: {self.tool.tip}")
        for action, tool in zip(self.actions, TOOLS, strict=True):
            action.setChecked(tool is self.tool)
        for action in self.sizes:
            action.setEnabled(self.tool.is_brush)
        self.show()

    def let_go(self) -> None:
        """End what is being done; where nothing is, deselect the rod, then the tool."""
        gesture = self._gesture
        if gesture is not None and gesture.held:
            gesture.cancel()
        elif self.picking.rod is not None:
            self.picking.pick(None)
        else:
            self.choose(MOVE)
        self.show()

    def resize(self, notches: float) -> None:
        """Make the brush larger, or smaller with a negative number."""
        self._relative *= LARGER**notches
        self._fit()
        self.told.emit(f"Brush: {2 * self._bench.radius:.1f} l across")
        self.show()

    # From the canvas: what the left button and the mouse do

    def pressed(self, x: float, y: float, *, shift: bool) -> None:  # noqa: D102
        self._at = x, y
        gesture = self._gesture
        self._bench.undo.begin_gesture()
        if self._canvas.place_at(x, y) is None:
            self.told.emit(OUTSIDE)
        elif self._session.looking is not None and self.tool.name != PICK:
            self.told.emit(BACK)
        elif self._session.looking is None and self._bench.present() is None:
            self.told.emit(NOT_YET)
        elif gesture is not None:
            gesture.press(self._at, shift=shift)
        self.show()

    def moved(self, x: float, y: float) -> None:  # noqa: D102
        self._at = x, y
        gesture = self._gesture
        if gesture is not None and gesture.held:
            gesture.drag(self._at)
        self.show()

    def released(self, x: float, y: float) -> None:  # noqa: D102
        gesture = self._gesture
        if gesture is not None and gesture.held:
            gesture.release((x, y))
        self.show()

    def resized(self, notches: float) -> None:  # noqa: D102
        if self.tool.is_brush:
            self.resize(notches)

    def dropped(self) -> None:  # noqa: D102
        self._end()
        self.show()

    def left(self) -> None:  # noqa: D102
        gesture = self._gesture
        if gesture is None or not gesture.held:
            self._at = None
            self.show()

    # What is shown

    def show(self) -> None:
        """Outline what the tool and the picked rod are about; call it for each new state too."""
        self._fit()
        gesture, marks = self._gesture, self.picking.marks()
        held = gesture is not None and gesture.held
        if (
            gesture is not None
            and self._at is not None
            and (held or self._canvas.place_at(*self._at))
        ):
            marks += gesture.marks(self._at)
        self._canvas.show_marks(marks)

    def follow_state(self) -> None:
        """There is another state in the picture."""
        self.picking.show()
        self.show()

    @property
    def _gesture(self) -> Gesture | None:
        return self._gestures.get(self.tool.name)

    def _fit(self) -> None:
        params = self._session.params
        body = params.length + 2 * params.radius
        most = MOST * params.space_size / body
        self._relative = max(min(self._relative, most), min(LEAST, most))
        self._bench.radius = self._relative * body

    def _end(self) -> None:
        gesture = self._gesture
        if gesture is not None and gesture.held:
            gesture.cancel()

    def _follow_session(self) -> None:
        build = self._session.wanted.build
        if self._session.looking is not None or build is not self._build:
            # What is in the hand belongs to the run of before.
            self._end()
        if build is not self._build:
            self._build = build
            if build is not None and build.reason not in SAME_RODS:
                self.picking.pick(None)
        self.show()

    def _follow_pick(self) -> None:
        self.others[0].setEnabled(self.picking.rod is not None)
        self.show()

    def _toggle_follow(self) -> None:
        self.picking.follow(not self.picking.following)

    def _action(self, tool: Tool) -> QAction:
        action = QAction(theme.icon(f"tool-{tool.name}"), tool.text, self._group)
        action.setCheckable(True)
        action.setShortcut(tool.key)
        action.setToolTip(f"<p><b>{tool.text}</b> ({tool.key})<br>{tool.tip}</p>")
        action.triggered.connect(lambda _: self.choose(tool.name))
        return action

    def _size_action(self, icon: str, text: str, key: str, notches: float) -> QAction:
        action = self._plain_action(text, key, lambda: self.resize(notches))
        action.setIcon(theme.icon(icon))
        action.setToolTip(f"{text} ({key}, or the wheel with Ctrl)")
        action.setEnabled(False)
        return action

    def _plain_action(self, text: str, key: str, act: Callable[[], None]) -> QAction:
        action = QAction(text, self)
        action.setShortcut(key)
        action.triggered.connect(lambda _: act())
        return action
