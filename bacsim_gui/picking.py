# SPDX-License-Identifier: GPL-3.0-or-later
"""The rod that is picked: what is told of it, and the camera that follows it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from PyQt6.QtCore import QObject, pyqtSignal

from bacsim_gui.canvas import RodCanvas
from bacsim_gui.gestures import Bench, Gesture, Place
from bacsim_gui.panels.rod_card import RodCard, RodShown
from bacsim_gui.shapes import Shape
from bacsim_gui.view import View, camera
from engine.boundary import difference
from engine.pick import contacts_of, nearest_rod, row_of
from engine.snapshot import Snapshot

# How near the mouse must be to a rod, in pixels and in body widths.
_PIXELS, _WIDTHS = 8.0, 0.5
# How many body lengths are in sight at most when a rod begins to be followed, and how far the
# picture is zoomed at the least.
_IN_SIGHT, _NEAR = 24.0, 1.5
# Why a rod is not there: it was taken away, it comes or went at another time than the one that is
# looked at, or the file has a part of the rods.
GONE, NOT_HERE, NOT_KEPT = "is gone", "is not in this state", "is not in this file"


class Picking(QObject):
    """Holds the id of the rod that is picked. `changed` says that it is another, or none.

    `shown` gives the state in the picture, `before` the one that was kept before a state, `looks`
    whether it is no state of now, and `thinned` whether rods are missing in it.
    """

    changed = pyqtSignal()

    def __init__(
        self, canvas: RodCanvas, card: RodCard,
        shown: Callable[[], Snapshot | None], before: Callable[[Snapshot], Snapshot | None],
        looks: Callable[[], bool], thinned: Callable[[], bool],
    ) -> None:  # fmt: skip
        super().__init__()
        self._looks, self._thinned = looks, thinned
        self._before = before
        self._canvas, self._card, self._shown = canvas, card, shown
        self.rod: int | None = None
        self.following = False
        self._sets_view = False
        card.closed.connect(lambda: self.pick(None))
        card.follow_toggled.connect(self.follow)
        canvas.view_changed.append(self._view_changed)

    def pick_at(self, x: float, y: float) -> None:
        """Pick the rod that is there; none where there is none."""
        snapshot = self._shown()
        if snapshot is None:
            return
        scale = camera(self._canvas.view, snapshot.params.space_size, self._canvas.size).scale
        within = max(_PIXELS / scale, 2 * _WIDTHS * snapshot.params.radius)
        self.pick(nearest_rod(snapshot, x, y, within))

    def pick(self, rod: int | None) -> None:
        """Tell of the rod of that id, or of none any more."""
        self.rod = rod
        if rod is None:
            self.following = False
        self.show()
        self.changed.emit()

    def follow(self, following: bool) -> None:
        """Keep the picked rod in the middle of the picture, or let it go its way."""
        self.following = following and self.rod is not None
        snapshot = self._shown()
        if self.following and snapshot is not None:
            params = snapshot.params
            near = params.space_size / (_IN_SIGHT * (params.length + 2 * params.radius))
            self._look(replace(self._canvas.view, zoom=max(self._canvas.view.zoom, near, _NEAR)))
        self.show()

    def show(self) -> None:
        """Tell of the rod as it is in the picture now; call it for each new state."""
        snapshot = self._shown()
        row = None if snapshot is None or self.rod is None else row_of(snapshot, self.rod)
        if snapshot is None or self.rod is None or row is None:
            missing = NOT_KEPT if self._thinned() else NOT_HERE if self._looks() else GONE
            self._card.show_rod(None if self.rod is None else RodShown(self.rod, missing=missing))
            return
        if self.following:
            x, y = (float(part) for part in snapshot.pos[row])
            self._look(replace(self._canvas.view, center=(x, y)))
        x, y, theta, activity = (float(part) for part in snapshot.rods[row])
        self._card.show_rod(RodShown(
            self.rod, (x, y), math.degrees(theta) % 360, activity, self._speed(snapshot, row),
            None if self._thinned() else contacts_of(snapshot, row), self.following,
        ))  # fmt: skip

    def _speed(self, snapshot: Snapshot, row: int) -> float | None:
        """How fast the rod went since the state before; None where there is none."""
        before = self._before(snapshot)
        was = None if before is None or self.rod is None else row_of(before, self.rod)
        if before is None or was is None or snapshot.time <= before.time:
            return None
        way = snapshot.pos[row].astype(float) - before.pos[was]
        way = difference(way, snapshot.params.space_size, snapshot.laws.boundary)
        return math.hypot(*way) / (snapshot.time - before.time)

    def marks(self) -> tuple[Shape, ...]:
        """The outline of the picked rod."""
        snapshot = self._shown()
        row = None if snapshot is None or self.rod is None else row_of(snapshot, self.rod)
        if snapshot is None or row is None:
            return ()
        params = snapshot.params
        x, y, theta = (float(part) for part in snapshot.rods[row, :3])
        return (Shape(x, y, params.length / 2, 0.0, params.radius, theta, outline=True),)

    def _look(self, view: View) -> None:
        self._sets_view = True
        self._canvas.view = view
        self._sets_view = False

    def _view_changed(self, view: View) -> None:
        """Who moves the picture by hand follows no more; zooming goes on with it."""
        snapshot = self._shown()
        if self._sets_view or not self.following or snapshot is None or self.rod is None:
            return
        row = row_of(snapshot, self.rod)
        if view.center is None:
            self.follow(False)
        elif row is not None:
            apart = [
                abs(there - float(here))
                for there, here in zip(view.center, snapshot.pos[row], strict=True)
            ]
            if max(apart) > 1e-3 * snapshot.params.space_size / view.zoom:
                self.follow(False)


class Pick(Gesture):
    """Picks the rod under the mouse."""

    def __init__(self, bench: Bench, picking: Picking) -> None:
        super().__init__(bench)
        self._picking = picking

    def press(self, at: Place, *, shift: bool) -> None:  # noqa: D102
        self._picking.pick_at(*at)

    def marks(self, at: Place) -> tuple[Shape, ...]:  # noqa: D102
        return ()
