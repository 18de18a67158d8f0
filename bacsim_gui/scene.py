# SPDX-License-Identifier: GPL-3.0-or-later
"""What a picture shows: the rods and the few numbers that decide where they are drawn.

A `Scene` is taken from a Snapshot of the engine, but needs neither the engine nor JAX, so the
process that renders a movie starts quickly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engine.drag import drag_of

if TYPE_CHECKING:
    from engine.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class Scene:
    """One state, as far as a picture needs it.

    Attributes:
        rods: (N, 4) float32, C-contiguous; columns x, y (in [0, space_size)), theta (radians),
            activity (0..1). Not copied: the array must not change while the scene is in use.
        space_size: side of the box, or diameter of the circle.
        length: core length of a rod (distance of its two end points).
        radius: radius of a rod.
        step: number of time steps since the start.
        time: simulated time.
        values: the live parameters by name, for what a picture says of them, and what scales
            follow from besides: `rods`, and `drag_along`, the drag along a rod.
        obstacles: x, y, width, height and radius of each; see `engine.obstacle.Obstacle`.
        measures: what was measured of each rod, (N,) float32 by name.
        ids: names the rods, (N,) int32 ascending; None where they are 0 … N - 1.
        trails: lines (S, 6) float32 that lead to them, see `trails`; None where not known.
        boundary: what is at the edge; see `engine.params.Laws`.
    """

    rods: np.ndarray
    space_size: float
    length: float
    radius: float
    step: int = 0
    time: float = 0.0
    values: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, np.ndarray] = field(default_factory=dict)
    obstacles: Sequence[Sequence[float]] = ()
    ids: np.ndarray | None = None
    trails: np.ndarray | None = None
    boundary: str = "periodic"

    @classmethod
    def of(cls, snapshot: Snapshot | Scene) -> Scene:
        """The scene of a snapshot; a scene is returned as it is."""
        if isinstance(snapshot, Scene):
            return snapshot
        params = snapshot.params
        return cls(
            rods=np.ascontiguousarray(snapshot.rods, dtype=np.float32),
            space_size=float(params.space_size),
            length=float(params.length),
            radius=float(params.radius),
            step=int(snapshot.step),
            time=float(snapshot.time),
            values={
                **vars(params),
                "rods": len(snapshot.rods),
                "drag_along": drag_of(params, snapshot.laws.drag).along,
            },
            measures=snapshot.measures,
            obstacles=[one.values for one in snapshot.obstacles],
            ids=snapshot.ids,
            boundary=snapshot.laws.boundary,
        )

    @property
    def periodic(self) -> bool:
        """Whether what leaves the box on one side comes in on the other."""
        return self.boundary == "periodic"

    @property
    def round(self) -> bool:
        """Whether there is a circle, which touches the sides of the box, in place of it."""
        return self.boundary == "circle"

    @property
    def reach(self) -> float:
        """Distance from the centre of a rod to its farthest point."""
        return self.length / 2 + self.radius


# Fewer rods are drawn as fast as looked through, and so is what is nearly all of the box.
_MANY, _SMALL_PART = 10_000, 0.5


def rods_in_sight(
    scene: Scene, low: tuple[float, float], high: tuple[float, float]
) -> np.ndarray | None:
    """The numbers of those rods that may reach into a rectangle, or with a copy of theirs.

    Args:
        scene: the rods.
        low: x and y of the rectangle's lower left corner, in model units; it may lie outside of
            the box.
        high: those of its upper right corner.

    Returns:
        (M,) integers, or None where to draw all of them costs no more.
    """
    box = scene.space_size
    sides = [min(b - a + 2 * scene.reach, box) for a, b in zip(low, high, strict=True)]
    if len(scene.rods) < _MANY or sides[0] * sides[1] > _SMALL_PART * box * box:
        return None
    seen = None
    for axis, side in enumerate(sides):
        if side < box:
            at = scene.rods[:, axis] if seen is None else scene.rods[seen, axis]
            beyond = at - np.float32(low[axis] - scene.reach)
            beyond -= np.float32(box) * np.floor(beyond / np.float32(box))
            there = np.flatnonzero(beyond <= np.float32(side))
            seen = there if seen is None else seen[there]
    return seen


class EdgeCopies:
    """The copies of those rods that stick out of the periodic box, on its other side.

    Keeps its scratch arrays, so that a frame of many rods allocates only what it returns.
    """

    def __init__(self) -> None:
        self._mask = np.empty(0, dtype=bool)

    def of(self, scene: Scene, rods: np.ndarray | None = None) -> np.ndarray:
        """Rods to be drawn besides `rods`: (M, 4) float32, mostly a small fraction of N.

        They are those of the scene, or the same with another value in their last column.

        A rod near a corner is returned three times. A rod is taken as a disc of its reach, so some
        copies lie just outside the box, where they are clipped. Within walls there are none.
        """
        rods = scene.rods if rods is None else rods
        if not scene.periodic:
            return rods[:0]
        size, reach = np.float32(scene.space_size), np.float32(scene.reach)
        sideways = self._shifted(rods, 0, size, reach)
        upward = [self._shifted(part, 1, size, reach) for part in (rods, sideways)]
        return np.concatenate([sideways, *upward])

    def _shifted(self, rods: np.ndarray, axis: int, size: np.float32, reach: np.float32):
        """Copies of the rods whose disc crosses either edge of one axis, moved by the box."""
        if len(self._mask) < len(rods):
            self._mask = np.empty(2 * len(rods), dtype=bool)
        mask, at = self._mask[: len(rods)], rods[:, axis]
        low = rods[np.flatnonzero(np.less(at, reach, out=mask))]
        high = rods[np.flatnonzero(np.greater(at, size - reach, out=mask))]
        low[:, axis] += size
        high[:, axis] -= size
        return np.concatenate([low, high])
