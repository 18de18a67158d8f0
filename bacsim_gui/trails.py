# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways that rods came, as lines to be drawn. No Qt, no OpenGL.

A trail reaches back by a simulated time, not by a number of frames, and bends at the first state
after each full piece of it: so whoever has seen the same run draws the same trails, at any pace.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bacsim_gui.quantities import free_speed
from bacsim_gui.scene import Scene

if TYPE_CHECKING:
    from engine.snapshot import Snapshot

# How many body lengths a free active rod goes meanwhile, and how many pieces that makes.
BODIES, PIECES = 4.0, 8
# Where there are more rods, every second has a trail, or every fourth, and so on.
MOST_TRAILS = 4000
# Columns of a line: x and y of its older and of its newer end, then how much is left of the time
# at each of them, from 0 at the end of the trail to 1 at the rod.
COLUMNS = 6
# Shorter lines are not seen, in radii of a rod.
_SHORTEST = 0.02


@dataclass(frozen=True, eq=False)
class _Stop:
    """Where some rods were at one time, in order of their ids."""

    time: float
    step: int
    space_size: float
    ids: np.ndarray
    places: np.ndarray
    periodic: bool = True

    @classmethod
    def of(cls, scene: Scene) -> "_Stop":
        count, every = len(scene.rods), 1
        while count > MOST_TRAILS * every:
            every *= 2
        if scene.ids is None:
            ids, places = np.arange(0, count, every, dtype=np.int32), scene.rods[::every, :2]
        else:
            chosen = scene.ids % every == 0
            ids, places = scene.ids[chosen], scene.rods[chosen, :2]
        # A copy: a state is not kept for a part of it.
        places = np.array(places, np.float32)
        return cls(scene.time, scene.step, scene.space_size, ids, places, scene.periodic)

    def places_of(self, ids: np.ndarray) -> np.ndarray:
        """Where the rods of these ids were, (M, 2); not a number for those that were not there."""
        if len(ids) == len(self.ids) and np.array_equal(ids, self.ids):
            return self.places
        at = np.searchsorted(self.ids, ids)
        there = at < len(self.ids)
        there[there] = self.ids[at[there]] == ids[there]
        found = np.full((len(ids), 2), np.nan, np.float32)
        found[there] = self.places[at[there]]
        return found


def trail_time(scene: Scene) -> float:
    """The simulated time that trails reach back by."""
    return BODIES * (scene.length + 2 * scene.radius) / free_speed(scene.values)


def trail_start(scene: Scene) -> float:
    """The time of the earliest state that decides the trails of a scene.

    A piece before they begin, so that it is known which state is the first of the next piece.
    """
    return scene.time - trail_time(scene) * (1 + 1 / PIECES)


def with_trails(scene: Scene, earlier: "Iterable[Snapshot | Scene]") -> Scene:
    """The scene with its trails, from states of the same run before it, the oldest first."""
    trails, time = Trails(), trail_time(scene)
    for state in earlier:
        trails.note(state, time)
    return trails.add(scene)


class Trails:
    """Follows the states of a run one by one; those that are not before the next are forgotten."""

    def __init__(self) -> None:
        self._stops: deque[_Stop] = deque()

    def add(self, scene: Scene) -> Scene:
        """The scene with its trails; it is noted itself."""
        time, now, stops = trail_time(scene), _Stop.of(scene), self._stops
        while stops and stops[-1].step >= scene.step:
            stops.pop()
        if stops and stops[-1].space_size != scene.space_size:
            stops.clear()  # of another box, and places with it
        while stops and stops[0].time < scene.time - time:
            stops.popleft()
        found = replace(scene, trails=_lines(now, stops, time, scene.radius))
        self.note(scene, time)
        return found

    def note(self, state: "Snapshot | Scene", time: float) -> None:
        """Keep a state if trails that reach back by that time bend there."""
        stops = self._stops
        if not stops or _piece(state.time, time) != _piece(stops[-1].time, time):
            stop = _Stop.of(Scene.of(state))
            if stops and stops[-1].space_size != stop.space_size:
                stops.clear()
            stops.append(stop)


def _piece(at: float, time: float) -> int:
    """The number of the piece that this moment is in."""
    return math.floor(at * PIECES / time)


def _lines(now: _Stop, stops: Sequence[_Stop], time: float, radius: float) -> np.ndarray:
    """All trails as lines, (S, 6) float32; see `COLUMNS`."""
    if not stops or not len(now.ids):
        return np.empty((0, COLUMNS), np.float32)
    side, count = np.float32(now.space_size), len(stops)
    places = np.empty((count + 1, len(now.ids), 2), np.float32)
    for at, stop in enumerate(stops):
        places[at] = stop.places_of(now.ids)
    places[count] = now.places
    moved = places[1:] - places[:-1]
    if now.periodic:
        moved -= side * np.rint(moved / side)
    moments = np.array([*(stop.time for stop in stops), now.time])
    left = np.clip(1 - (now.time - moments) / time, 0, 1)[:, None]
    lines = np.empty((count, len(now.ids), COLUMNS), np.float32)
    # Each from its place in the box: the piece before may end beyond an edge.
    lines[..., :2] = places[:-1]
    np.add(places[:-1], moved, out=lines[..., 2:4])
    lines[..., 4], lines[..., 5] = left[:-1], left[1:]
    squares = moved[..., 0] ** 2 + moved[..., 1] ** 2
    seen = np.flatnonzero(squares > (_SHORTEST * radius) ** 2)  # not what is no number
    lines = lines.reshape(-1, COLUMNS).take(seen, axis=0)
    return np.concatenate([lines, *_across(lines, side)]) if now.periodic else lines


def _across(lines: np.ndarray, side: np.float32) -> Iterator[np.ndarray]:
    """Copies of those lines that end outside of the box, with that end inside of it."""
    sideways = _shifted(lines, 0, side)
    yield sideways
    yield _shifted(lines, 1, side)
    yield _shifted(sideways, 1, side)


def _shifted(lines: np.ndarray, axis: int, side: np.float32) -> np.ndarray:
    end = lines[:, 2 + axis]
    out = np.flatnonzero((end < 0) | (end >= side))
    copies = lines[out].copy()
    copies[:, [axis, 2 + axis]] -= side * np.floor(end[out] / side)[:, None]
    return copies
