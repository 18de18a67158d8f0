# SPDX-License-Identifier: GPL-3.0-or-later
"""What is at the edge of the box, on the host: plain NumPy, no JAX.

`periodic`: who leaves the square box on one side comes in on the other. `walls`: hard walls around
it. `circle`: a round wall of the diameter `space_size`, which touches the sides of that box.
"""

import math

import numpy as np
from jaxtyping import Bool, Float, Float32

from engine.params import Params
from engine.schema import ParameterError

PERIODIC, WALLS, CIRCLE = "periodic", "walls", "circle"

# How far beyond a wall a centre may seem to be for rounding, in sides of the box.
_ROUNDING = 1e-6


def difference(
    delta: Float[np.ndarray, "..."], space_size: float, boundary: str
) -> Float[np.ndarray, "..."]:
    """A difference of places, as the shortest way between them goes."""
    if boundary != PERIODIC:
        return delta
    return delta - space_size * np.round(delta / space_size)


def side_apart(space_size: float, boundary: str) -> float:
    """The side of a periodic box in which rods are as far apart as they are here, l.

    Within walls it is twice that of the box: then nothing is near across an edge.
    """
    return space_size if boundary == PERIODIC else 2 * space_size


def place_in(x: float, y: float, space_size: float, boundary: str) -> tuple[float, float]:
    """The place of the box that (x, y) stands for: across its edges, or the nearest within walls.

    A circle is taken as the square around it.
    """
    if boundary == PERIODIC:
        return x % space_size, y % space_size
    return min(max(x, 0.0), space_size), min(max(y, 0.0), space_size)


def depth(
    points: Float[np.ndarray, "*points 2"], space_size: float, boundary: str
) -> Float[np.ndarray, "*points"]:
    """How far points are from the wall; negative outside, and infinite without a wall."""
    if boundary == PERIODIC:
        return np.full(points.shape[:-1], math.inf)
    if boundary == CIRCLE:
        return space_size / 2 - np.hypot(*np.moveaxis(points - space_size / 2, -1, 0))
    return np.minimum(points, space_size - points).min(axis=-1)


def is_within(
    pos: Float[np.ndarray, "rods 2"], space_size: float, boundary: str
) -> Bool[np.ndarray, "rods"]:
    """Which centres are not beyond a wall."""
    return depth(pos, space_size, boundary) >= -_ROUNDING * space_size


def folded(
    pos: Float[np.ndarray, "rods 2"], params: Params, boundary: str
) -> Float32[np.ndarray, "rods 2"]:
    """Finite centres in float32, in [0, L)².

    Raises `ParameterError` for one that is beyond a wall.
    """
    box = np.float32(params.space_size)
    if boundary == PERIODIC:
        found = np.mod(pos, np.float64(box)).astype(np.float32)
        found[found >= box] = 0
        return found
    outside = np.flatnonzero(~is_within(pos, float(box), boundary))
    if outside.size:
        x, y = pos[outside[0]]
        raise ParameterError(
            "start", f"rod {outside[0]} at ({x:g}, {y:g})", f"lies outside the {_named(boundary)}",
            f"Give centres from 0 to {box:g}"
            + (f", no farther than {box / 2:g} from ({box / 2:g}, {box / 2:g})."
               if boundary == CIRCLE else "."),
        )  # fmt: skip
    return np.clip(pos.astype(np.float32), 0, np.nextafter(box, np.float32(0)))


def _named(boundary: str) -> str:
    return "circle" if boundary == CIRCLE else "walls"


def random_rods(
    rng: np.random.Generator, rods: int, params: Params, boundary: str
) -> tuple[Float[np.ndarray, "rods 2"], Float[np.ndarray, "rods"]]:
    """Random places (N, 2) and angles (N,) of rods that no wall touches."""
    side, half = params.space_size, params.length / 2
    if boundary == PERIODIC:
        pos = rng.uniform(0, params.space_size, (rods, 2))
        return pos, rng.uniform(-math.pi, math.pi, rods)
    side, half = params.space_size, params.length / 2
    pos, theta = np.empty((rods, 2)), np.empty(rods)
    left = np.arange(rods)
    while left.size:
        pos[left] = rng.uniform(0, side, (left.size, 2))
        theta[left] = rng.uniform(-math.pi, math.pi, left.size)
        along = half * np.stack([np.cos(theta[left]), np.sin(theta[left])], axis=1)
        # Walls are convex: a core whose ends are far enough from them is so all along.
        nearest = np.minimum(
            depth(pos[left] + along, side, boundary), depth(pos[left] - along, side, boundary)
        )
        left = left[nearest < params.radius]
    return pos, theta
