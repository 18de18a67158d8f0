# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rods are at a place of the periodic box. Plain NumPy on a snapshot."""

import numpy as np
from jaxtyping import Float, Int32

from engine.snapshot import Snapshot


def distances(snapshot: Snapshot, x: float, y: float) -> Float[np.ndarray, "rods"]:
    """How far (x, y) is from the surface of each rod (N,); negative inside."""
    params = snapshot.params
    box, half = float(params.space_size), params.length / 2
    delta = np.array([x, y]) - snapshot.pos
    delta -= box * np.round(delta / box)
    along = np.stack([np.cos(snapshot.theta), np.sin(snapshot.theta)], axis=1)
    s = np.clip((delta * along).sum(axis=1), -half, half)
    return np.linalg.norm(delta - s[:, None] * along, axis=1) - params.radius


def names_of(snapshot: Snapshot) -> Int32[np.ndarray, "rods"]:
    """The ids of the rods (N,), in order of rows."""
    if snapshot.ids is not None:
        return snapshot.ids
    return np.arange(snapshot.n, dtype=np.int32)


def rods_within(
    snapshot: Snapshot, x: float, y: float, radius: float
) -> Int32[np.ndarray, "found"]:
    """The ids of the rods that the disc of `radius` around (x, y) touches."""
    return names_of(snapshot)[distances(snapshot, x, y) <= radius]


def nearest_rod(snapshot: Snapshot, x: float, y: float, within: float) -> int | None:
    """The id of the rod whose surface is nearest to (x, y), if any is nearer than `within`."""
    if not snapshot.n:
        return None
    apart = distances(snapshot, x, y)
    row = int(np.argmin(apart))
    return int(names_of(snapshot)[row]) if apart[row] <= within else None


def row_of(snapshot: Snapshot, rod: int) -> int | None:
    """The row of the rod of that id; None where there is none any more."""
    names = names_of(snapshot)
    row = int(np.searchsorted(names, rod))
    return row if row < len(names) and names[row] == rod else None
