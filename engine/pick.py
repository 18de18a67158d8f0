# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rods are at a place of the box. Plain NumPy on a snapshot."""

import math

import numpy as np
from jaxtyping import Float, Int32, Int64

from engine.boundary import difference
from engine.snapshot import Snapshot


def distances(
    snapshot: Snapshot, x: float, y: float, rows: Int64[np.ndarray, "some"] | None = None
) -> Float[np.ndarray, "some"]:
    """How far (x, y) is from the surfaces of all rods, or of those in `rows`; negative inside."""
    params = snapshot.params
    half = params.length / 2
    pos, theta = snapshot.pos, snapshot.theta
    if rows is not None:
        pos, theta = pos[rows], theta[rows]
    delta = _apart(np.array([x, y]) - pos, snapshot)
    along = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    s = np.clip((delta * along).sum(axis=1), -half, half)
    return np.linalg.norm(delta - s[:, None] * along, axis=1) - params.radius


def _apart(delta: np.ndarray, snapshot: Snapshot) -> np.ndarray:
    """The shortest way that `delta` stands for in the box of `snapshot`."""
    return difference(delta, snapshot.params.space_size, snapshot.laws.boundary)


def _near(snapshot: Snapshot, x: float, y: float, within: float) -> Int64[np.ndarray, "near"]:
    """The rows of all rods whose surface may be nearer to (x, y) than `within`; cheap for many."""
    params = snapshot.params
    reach = np.float32((params.length / 2 + params.radius + max(within, 0.0)) * 1.001)
    box = np.float32(params.space_size)
    near = np.ones(snapshot.n, bool)
    for column, place in enumerate((x, y)):
        if snapshot.laws.periodic:
            apart = np.abs(snapshot.rods[:, column] - np.float32(place % params.space_size))
            apart = np.minimum(apart, box - apart)
        else:
            apart = np.abs(snapshot.rods[:, column] - np.float32(place))
        near &= apart <= reach
    return np.flatnonzero(near)


def names_of(snapshot: Snapshot) -> Int32[np.ndarray, "rods"]:
    """The ids of the rods (N,), in order of rows."""
    if snapshot.ids is not None:
        return snapshot.ids
    return np.arange(snapshot.n, dtype=np.int32)


def rods_within(
    snapshot: Snapshot, x: float, y: float, radius: float, way: tuple[float, float] = (0.0, 0.0)
) -> Int32[np.ndarray, "found"]:
    """The ids, rising, of the rods that the disc of `radius` touches on its `way` from (x, y)."""
    params = snapshot.params
    half = params.length / 2
    # In pieces so short that the nearest copy of a rod is the same one all along a piece.
    pieces = max(1, math.ceil(4 * math.hypot(*way) / params.space_size))
    along = np.array(way) / (2 * pieces)
    touched = np.zeros(snapshot.n, bool)
    for piece in range(pieces):
        middle = np.array([x, y]) + (2 * piece + 1) * along
        rows = _near(snapshot, middle[0], middle[1], radius + math.hypot(*along))
        apart = _apart(snapshot.pos[rows] - middle, snapshot)
        nearest = _segments_apart(along, half * _along(snapshot.theta[rows]), apart)
        touched[rows[nearest <= radius + params.radius]] = True
    return names_of(snapshot)[touched]


def nearest_rod(snapshot: Snapshot, x: float, y: float, within: float) -> int | None:
    """The id of the rod whose surface is nearest to (x, y), if any is nearer than `within`."""
    rows = _near(snapshot, x, y, within)
    if not len(rows):
        return None
    apart = distances(snapshot, x, y, rows)
    nearest = int(np.argmin(apart))
    return int(names_of(snapshot)[rows[nearest]]) if apart[nearest] <= within else None


def row_of(snapshot: Snapshot, rod: int) -> int | None:
    """The row of the rod of that id; None where there is none any more."""
    if snapshot.ids is None:
        return rod if 0 <= rod < snapshot.n else None
    row = int(np.searchsorted(snapshot.ids, rod))
    return row if row < snapshot.n and snapshot.ids[row] == rod else None


def contacts_of(snapshot: Snapshot, row: int) -> int:
    """With how many others the rod in that row overlaps: core lines nearer than 2 R."""
    params = snapshot.params
    x, y = (float(part) for part in snapshot.pos[row])
    rows = _near(snapshot, x, y, params.length / 2 + params.radius)
    rows = rows[rows != row]
    if not len(rows):
        return 0
    half = params.length / 2
    here = half * _along(snapshot.theta[row : row + 1])
    there = half * _along(snapshot.theta[rows])
    apart = _apart(snapshot.pos[rows] - snapshot.pos[row], snapshot)
    return int(np.count_nonzero(_segments_apart(here[0], there, apart) < 2 * params.radius))


def _segments_apart(here: np.ndarray, there: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """How far the segment from -`here` to `here` (2,) is from those of `there` (M, 2).

    `apart` (M, 2) is where their middles are, from its own.
    """
    # Two segments that do not cross are nearest at an end of one of them.
    nearest = np.minimum.reduce([
        _from_segment(end - apart, there) for end in (here, -here)
    ] + [
        _from_segment(apart + end, np.broadcast_to(here, there.shape)) for end in (there, -there)
    ])  # fmt: skip
    cross = _cross(here, there)
    with np.errstate(divide="ignore", invalid="ignore"):
        s, t = _cross(apart, there) / cross, _cross(apart, here) / cross
    crosses = (np.abs(s) <= 1) & (np.abs(t) <= 1) & (cross != 0)
    return np.where(crosses, 0.0, nearest)


def _along(theta: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(theta, dtype=float), np.sin(theta, dtype=float)], axis=1)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _from_segment(points: np.ndarray, half: np.ndarray) -> np.ndarray:
    """How far each point is from the segment between `half` and `-half`."""
    s = np.clip((points * half).sum(axis=1) / np.maximum((half * half).sum(axis=1), 1e-30), -1, 1)
    return np.linalg.norm(points - s[:, None] * half, axis=1)
