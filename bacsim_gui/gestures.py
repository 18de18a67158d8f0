# SPDX-License-Identifier: GPL-3.0-or-later
"""What a tool does between a press and a release of the mouse; places are in model units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bacsim_gui.edits import Stroke
from bacsim_gui.session import Session
from bacsim_gui.shapes import Shape, with_copies
from bacsim_gui.undo import Undo
from engine.boundary import difference, place_in
from engine.obstacle import Obstacle
from engine.snapshot import Snapshot

# The force of a hand, in thrusts of a rod, but at least this share of what a contact bears.
_THRUSTS, _SHARE = 2.0, 0.1
# A brush touches again after so much of its radius.
_NEXT = 0.35
AT_ONCE = "With tau_a = 0 activity follows the crowd at once: raise tau_a to see paint last."
PAUSED = "Time is paused: rods move once it runs (Space)."

Place = tuple[float, float]


@dataclass
class Bench:
    """What tools act on: the session, its newest state, and the radius of a brush."""

    session: Session
    undo: Undo
    present: Callable[[], Snapshot | None]
    say: Callable[[str], None]
    radius: float = 0.0

    def place_of(self, at: Place) -> Place:
        """The place of the box that a place in the picture stands for."""
        session = self.session
        return place_in(*at, session.params.space_size, session.setup.boundary)

    def copies(self, shape: Shape) -> tuple[Shape, ...]:
        """The shape, and its copies where the box is periodic."""
        session = self.session
        return tuple(with_copies(shape, session.params.space_size, periodic=session.setup.periodic))


class Gesture:
    """One use of a tool after the other; `marks` are to be drawn while the mouse is at a place."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.held = False

    def press(self, at: Place, *, shift: bool) -> None:
        """Begin."""
        self.held = True

    def drag(self, at: Place) -> None:
        """Go on, with the button down."""

    def release(self, at: Place) -> None:
        """End."""
        self.held = False

    def cancel(self) -> None:
        """End without doing what a release would do."""
        self.held = False

    def marks(self, at: Place) -> tuple[Shape, ...]:
        """What to outline."""
        ring = Shape(*self.bench.place_of(at), radius=self.bench.radius, outline=True)
        return self.bench.copies(ring)


class Hand(Gesture):
    """Pushes rods away from the mouse, or with `sign` -1 pulls them near."""

    def __init__(self, bench: Bench, sign: float) -> None:
        super().__init__(bench)
        self._sign = sign

    def press(self, at: Place, *, shift: bool) -> None:  # noqa: D102
        super().press(at, shift=shift)
        if not self.bench.session.running:
            self.bench.say(PAUSED)
        self.drag(at)

    def drag(self, at: Place) -> None:  # noqa: D102
        params = self.bench.session.params
        bears = params.k_cc * 2 * params.radius
        force = max(_THRUSTS * abs(params.F_prop), _SHARE * bears)
        x, y = self.bench.place_of(at)
        self.bench.session.hand(x, y, self.bench.radius, self._sign * force)

    def release(self, at: Place) -> None:  # noqa: D102
        self.cancel()

    def cancel(self) -> None:  # noqa: D102
        super().cancel()
        params = self.bench.session.params
        self.bench.session.hand(params.push_x, params.push_y, params.push_range, 0.0)


class Adding(Gesture):
    """Adds a rod where the button goes down, in the direction of the drag or of the one before."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._theta = 0.0
        self._from: Place = (0.0, 0.0)

    def press(self, at: Place, *, shift: bool) -> None:  # noqa: D102
        super().press(at, shift=shift)
        self._from = at

    def drag(self, at: Place) -> None:  # noqa: D102
        x, y = at[0] - self._from[0], at[1] - self._from[1]
        if math.hypot(x, y) > self.bench.session.params.radius:
            self._theta = math.atan2(y, x)

    def release(self, at: Place) -> None:  # noqa: D102
        self.held = False
        before = self.bench.present()
        if before is None:
            return
        x, y = self.bench.place_of(self._from)
        stroke = Stroke("add", x, y, theta=self._theta)
        self.bench.undo.note_rods("added rod", before).append(stroke)
        self.bench.session.stroke(stroke)

    def marks(self, at: Place) -> tuple[Shape, ...]:  # noqa: D102
        params = self.bench.session.params
        x, y = self._from if self.held else at
        rod = Shape(x, y, params.length / 2, 0.0, params.radius, self._theta, outline=True)
        # Its head, which a rod alone does not tell.
        reach = params.length / 2
        head = (x + reach * math.cos(self._theta), y + reach * math.sin(self._theta))
        return rod, Shape(*head, radius=0.3 * params.radius, outline=True)


class Brush(Gesture):
    """Removes rods, or paints their activity, wherever it is dragged."""

    def __init__(self, bench: Bench, kind: str) -> None:
        super().__init__(bench)
        self._kind = kind
        self._strokes: list[Stroke] | None = None
        self._last: Place = (0.0, 0.0)
        self._activity = 1.0

    def press(self, at: Place, *, shift: bool) -> None:  # noqa: D102
        hit = obstacle_at(self.bench.session, at) if self._kind == "remove" else None
        if hit is not None:
            obstacles = list(self.bench.session.obstacles)
            del obstacles[hit]
            self.bench.session.set_obstacles(obstacles)
            return
        super().press(at, shift=shift)
        if self._kind == "paint" and self.bench.session.params.tau_a == 0:
            self.bench.say(AT_ONCE)
        self._activity, self._strokes = 0.0 if shift else 1.0, None
        self._last = at
        self._touch(at)

    def drag(self, at: Place) -> None:  # noqa: D102
        if math.dist(at, self._last) >= _NEXT * self.bench.radius:
            self._touch(at)

    def release(self, at: Place) -> None:  # noqa: D102
        super().release(at)
        if at != self._last:
            self._touch(at)

    def _begin(self, x: float, y: float) -> Place:
        """Where a stroke begins; within walls that may be outside of them."""
        return self.bench.place_of((x, y)) if self.bench.session.setup.periodic else (x, y)

    def _touch(self, at: Place) -> None:
        """Touch all on the way from the last place to this one: mice are told of now and then."""
        before = self.bench.present()
        if before is None:
            return
        (x, y), self._last = self._last, at
        if self._strokes is None:
            named = "removed rods" if self._kind == "remove" else "painted rods"
            self._strokes = self.bench.undo.note_rods(named, before)
        stroke = Stroke(
            self._kind, *self._begin(x, y), self.bench.radius, activity=self._activity,
            way=(at[0] - x, at[1] - y),
        )  # fmt: skip
        self._strokes.append(stroke)
        self.bench.session.stroke(stroke)


class Placing(Gesture):
    """Places an obstacle by dragging, or drags one that is there."""

    def __init__(self, bench: Bench, *, box: bool) -> None:
        super().__init__(bench)
        self._box = box
        self._from: Place = (0.0, 0.0)
        self._to: Place = (0.0, 0.0)
        self._moves: int | None = None
        # All of them before this drag, and since its last move.
        self._before: tuple[Obstacle, ...] = ()
        self._now: tuple[Obstacle, ...] = ()

    def press(self, at: Place, *, shift: bool) -> None:  # noqa: D102
        super().press(at, shift=shift)
        self._from = self._to = at
        self._moves = obstacle_at(self.bench.session, at)
        self._before = self._now = self.bench.session.obstacles

    def drag(self, at: Place) -> None:  # noqa: D102
        self._to = at
        obstacles = list(self.bench.session.obstacles)
        if self._moves is None or self._moves >= len(obstacles):
            return
        if at == self._from and self._now is self._before:
            return  # a click is no move, and no edit
        # From where it was, not from its last place: a wall may have held it back since.
        was = self._before[self._moves]
        x, y = self.bench.place_of((was.x + at[0] - self._from[0], was.y + at[1] - self._from[1]))
        moved = replace(obstacles[self._moves], x=x, y=y)
        if moved != obstacles[self._moves]:
            obstacles[self._moves] = moved
            self.bench.session.set_obstacles(obstacles)
            self._now = self.bench.session.obstacles

    def release(self, at: Place) -> None:  # noqa: D102
        self.held = False
        session = self.bench.session
        if self._moves is not None:
            self._moves = None
        elif (made := self._made()) is not None:
            session.set_obstacles((*session.obstacles, made))
        else:
            self.bench.say("Drag to place an obstacle; drag one that is there to move it.")

    def cancel(self) -> None:  # noqa: D102
        super().cancel()
        # In another run, or an earlier state, there is nothing to put back.
        if self._moves is not None and self.bench.session.obstacles is self._now:
            self.bench.session.set_obstacles(self._before)
        self._moves = None

    def _made(self) -> Obstacle | None:
        """What a drag has drawn; None for what is smaller than a rod is wide."""
        (x, y), (to_x, to_y) = self._from, self._to
        least = self.bench.session.params.radius
        if self._box:
            width, height = abs(to_x - x), abs(to_y - y)
            if min(width, height) < least:
                return None
            return Obstacle(*self.bench.place_of(((x + to_x) / 2, (y + to_y) / 2)), width, height)
        radius = math.hypot(to_x - x, to_y - y)
        half = self.bench.session.params.space_size / 2
        if radius < least:
            return None
        return Obstacle(*self.bench.place_of((x, y)), radius=min(radius, half))

    def marks(self, at: Place) -> tuple[Shape, ...]:  # noqa: D102
        if self.held and self._moves is None:
            made = self._made()
            return () if made is None else self._outlines(made)
        obstacles = self.bench.session.obstacles
        hit = self._moves if self.held else obstacle_at(self.bench.session, at)
        return () if hit is None or hit >= len(obstacles) else self._outlines(obstacles[hit])

    def _outlines(self, one: Obstacle) -> tuple[Shape, ...]:
        """The marks around an obstacle and its copies across the edges of the box."""
        shape = Shape(one.x, one.y, one.width / 2, one.height / 2, one.radius, outline=True)
        return self.bench.copies(shape)


def obstacle_at(session: Session, at: Place) -> int | None:
    """The number of the obstacle that covers a place, the topmost of several."""
    for number, one in reversed(list(enumerate(session.obstacles))):
        away = difference(
            np.array(at) - (one.x, one.y), session.params.space_size, session.setup.boundary
        )
        beyond = np.maximum(np.abs(away) - np.array([one.width, one.height]) / 2, 0)
        if math.hypot(*beyond) <= one.radius:
            return number
    return None
