# SPDX-License-Identifier: GPL-3.0-or-later
"""Undo and redo: values go back and forth; edits of rods go back to the state before them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sized
from dataclasses import asdict
from typing import Any

from PyQt6.QtCore import QObject, Qt, pyqtSignal
from PyQt6.QtGui import QUndoCommand, QUndoStack
from PyQt6.QtWidgets import QApplication

from bacsim_gui.edits import Stroke
from bacsim_gui.session import Session
from bacsim_gui.session_values import HAND
from engine.snapshot import Snapshot

# Edits of the same values that follow each other so quickly are one: typing, or a held key.
TOGETHER_SECONDS = 0.8
MOST = 200
# What the states to go back to may take: the oldest make room for new ones.
MOST_BYTES = 256 << 20
# The builds after which a state of before is still one of this run.
_SAME_RUN = ("earlier state",)
# The builds that keep the values, but not the run.
_SAME_VALUES = ("setup applied", "reset", "new seed")
LOOKING = (
    "This is an earlier state: go on from it, or back to now, before you undo or redo anything."
)
RECORDING = "Finish the recording first: {} goes back to an earlier state, which would end it."
BACK_AT = "The run goes on from step {:,} again, as it was before that. Redo does it again."


class ValueEdit(QUndoCommand):
    """Other values, each with what it was before; those of one drag become one.

    `boxes` are the sides of the box before and after, in which obstacles had their places.
    """

    def __init__(
        self, session: Session, values: Mapping[str, tuple[Any, Any]],
        boxes: tuple[float, float], gesture: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self._session, self.values, self.boxes = session, dict(values), boxes
        self.at, self.gesture = time.monotonic(), gesture
        self._done = True
        self._name()

    def _name(self) -> None:
        names = [
            _obstacles_edit(*pair) if name == "obstacles" else name
            for name, pair in self.values.items()
        ]
        self.setText(" and ".join(names[:2]))

    def undo(self) -> None:  # noqa: D102
        self._done = False
        before = {name: old for name, (old, _) in self.values.items()}
        self._session.put_back(before, self.boxes[0])

    def redo(self) -> None:  # noqa: D102
        # Qt does what it is given; this has been done by the user.
        if not self._done:
            self._done = True
            after = {name: new for name, (_, new) in self.values.items()}
            self._session.put_back(after, self.boxes[1])

    def id(self) -> int:  # noqa: D102
        return 1

    def mergeWith(self, other: QUndoCommand | None) -> bool:  # noqa: D102
        if not isinstance(other, ValueEdit) or other.values.keys() != self.values.keys():
            return False
        if other.gesture != self.gesture:
            return False
        held = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        if not held and other.at - self.at > TOGETHER_SECONDS:
            return False
        self.at, self.boxes = other.at, (self.boxes[0], other.boxes[1])
        for name, (_, new) in other.values.items():
            self.values[name] = self.values[name][0], new
        self._name()
        # What was put back in the same drag, by Esc, is nothing to undo.
        self.setObsolete(all(old == new for old, new in self.values.values()))
        return True


def _obstacles_edit(old: Sized, new: Sized) -> str:
    if len(new) == len(old):
        return "moving an obstacle"
    return "placing an obstacle" if len(new) > len(old) else "removing an obstacle"


class RodEdit(QUndoCommand):
    """What a tool did to rods from `before` on; to undo it is to go on from there.

    With what was done by then and had not come into that state.
    """

    def __init__(self, undo: Undo, text: str, before: Snapshot) -> None:
        super().__init__()
        self._undo, self._what = undo, text
        self._before: Snapshot | None = None
        self._first: tuple[Stroke, ...] = ()
        self._begin_at(before)
        self.bytes = before.rods.nbytes
        self.strokes: list[Stroke] = []
        self._done = True

    def undo(self) -> None:  # noqa: D102
        self._done = False
        if self._before is not None:
            self._undo.session.take_back_rods(self._before)
            for stroke in self._first:
                self._undo.session.stroke(stroke)
            self._undo.told.emit(BACK_AT.format(self._before.step))

    def redo(self) -> None:  # noqa: D102
        if not self._done:
            self._done = True
            # Time has gone on: to undo it once more is to come back to here.
            self._begin_at(self._undo.present())
            for stroke in self.strokes:
                self._undo.session.stroke(stroke)

    def _begin_at(self, before: Snapshot | None) -> None:
        # Where the run is on its way back to the state of before, that is it.
        if before is not None:
            self._before, self._first = before, self._undo.session.strokes_to_do
            self.setText(f"{self._what} at step {before.step:,}")

    def give_up(self) -> None:
        """Keep no state to go back to."""
        self.setObsolete(True)
        self._before = None
        self._first = ()
        self.strokes = []


class Undo(QObject):
    """Keeps what the user did, and takes it back.

    `present` gives the newest state of the run. `changed` says that there is something else to undo
    or to redo; `told` carries what the status bar is to say.
    """

    changed = pyqtSignal()
    told = pyqtSignal(str)

    def __init__(
        self, parent: QObject, session: Session, present: Callable[[], Snapshot | None]
    ) -> None:
        super().__init__(parent)
        self.session, self.present = session, present
        self.stack = QUndoStack(self)
        self.stack.setUndoLimit(MOST)
        self.stack.indexChanged.connect(self.changed)
        self._gesture = 0
        self._edits, self._values = session.edits, self._now()
        self._build = session.wanted.build
        session.changed.connect(self._follow)

    @property
    def undo_text(self) -> str:
        """What would be undone, empty for nothing."""
        return self._text(self.stack.index() - 1, -1)

    @property
    def redo_text(self) -> str:
        """What would be redone, empty for nothing."""
        return self._text(self.stack.index(), 1)

    def undo(self) -> None:
        """Take back what was done last."""
        if self._looks_back():
            return
        if isinstance(self._next(self.stack.index() - 1, -1), RodEdit) and self.session.movie:
            self.session.show_problem(RECORDING.format("this"))
            return
        while self.stack.canUndo():
            gone = self._is_gone(self.stack.index() - 1)
            self.stack.undo()
            if not gone:
                break

    def redo(self) -> None:
        """Do again what was taken back last."""
        if self._looks_back():
            return
        while self.stack.canRedo():
            gone = self._is_gone(self.stack.index())
            self.stack.redo()
            if not gone:
                break

    def begin_gesture(self) -> None:
        """What is edited from now on is no part of what was edited before."""
        self._gesture += 1

    def note_rods(self, text: str, before: Snapshot) -> list[Stroke]:
        """Keep an edit of rods that begins with the state `before`; its strokes go into the list.

        The list is for the caller to fill, so that one drag is one edit.
        """
        made = RodEdit(self, text, before)
        self.stack.push(made)
        self._make_room()
        return made.strokes

    def _make_room(self) -> None:
        """Give up the oldest states where all of them take more than they may."""
        left = MOST_BYTES
        for at in reversed(range(self.stack.index())):
            command = self.stack.command(at)
            if isinstance(command, RodEdit) and not command.isObsolete():
                left -= command.bytes
                if left < 0 and at < self.stack.index() - 1:
                    command.give_up()

    def _looks_back(self) -> bool:
        """Say that what was done in the present is not taken back in an earlier state."""
        if self.session.looking is not None:
            self.session.show_problem(LOOKING)
        return self.session.looking is not None

    def _follow(self) -> None:
        """Keep what the user has edited since the last time; what else changes is no edit."""
        session = self.session
        if session.wanted.build is not self._build:
            self._build = session.wanted.build
            self._follow_build(self._build.reason if self._build is not None else "")
        elif session.looking is None and session.edits != self._edits:
            now = self._now()
            values = {name: (old, now[name]) for name, old in self._values.items()}
            values = {name: pair for name, pair in values.items() if pair[0] != pair[1]}
            if values:
                boxes = self._values["space_size"], now["space_size"]
                self.stack.push(ValueEdit(session, values, boxes, self._gesture))
        if session.looking is None:
            self._values = self._now()
        self._edits = session.edits

    def _follow_build(self, reason: str) -> None:
        if reason in _SAME_RUN:
            return
        if reason in _SAME_VALUES:
            # There is no way back to states of another run.
            for at in range(self.stack.count()):
                command = self.stack.command(at)
                if isinstance(command, RodEdit):
                    command.give_up()
            self.changed.emit()
        else:
            self.stack.clear()

    def _now(self) -> dict[str, Any]:
        """What can be edited, by name, but for what the hand does."""
        session = self.session
        values = asdict(session.params) | asdict(session.pending)
        values = {name: value for name, value in values.items() if name not in HAND}
        return {**values, "obstacles": session.obstacles}

    def _next(self, at: int, step: int) -> QUndoCommand | None:
        while 0 <= at < self.stack.count():
            if not self._is_gone(at):
                return self.stack.command(at)
            at += step
        return None

    def _is_gone(self, at: int) -> bool:
        command = self.stack.command(at)
        return command is None or command.isObsolete()

    def _text(self, at: int, step: int) -> str:
        found = self._next(at, step)
        return "" if found is None else found.text()
