# SPDX-License-Identifier: GPL-3.0-or-later
"""Obstacles: fixed discs and boxes that rods cannot enter. Plain values, no JAX."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float32

from engine.schema import ParameterError

# Room for them in the compiled program: another number of them compiles nothing.
MOST_OBSTACLES = 64


@dataclass(frozen=True)
class Obstacle:
    """All that is nearer than `radius` to a rectangle `width` × `height` centred at (x, y).

    So a disc is a rectangle of no size, and a box has the radius 0. Sides are along x and y. One
    that is as wide, or as high, as the periodic box goes on without end.
    """

    x: float
    y: float
    width: float = 0.0
    height: float = 0.0
    radius: float = 0.0

    @classmethod
    def from_values(cls, values: Sequence[float]) -> "Obstacle":
        """The inverse of `values`. Raises `ValueError` for what is no obstacle."""
        numbers = [float(value) for value in values]
        if len(numbers) != len(NAMES):
            raise ValueError(f"{values!r} is no obstacle: give {', '.join(NAMES)}")
        return cls(*numbers)

    @property
    def values(self) -> list[float]:
        """x, y, width, height and radius, fit for JSON."""
        return list(astuple(self))

    def scaled(self, factor: float) -> "Obstacle":
        """The same obstacle in a box that is so many times as large: only its place changes."""
        return replace(self, x=self.x * factor, y=self.y * factor)


# Larger than any periodic box, and a number of float32.
_MOST = 1e30

# How far beyond a wall a centre may seem to be for rounding, in sides of the box.
_ROUNDING = 1e-9

NAMES = tuple(Obstacle.__dataclass_fields__)


def checked_obstacles(
    obstacles: Iterable[Obstacle], space_size: float, boundary: str = "periodic"
) -> tuple[Obstacle, ...]:
    """`obstacles` with their places folded into the box.

    Raises `ParameterError` for one that is none or whose centre is outside of walls, and for more
    than there is room for.
    """
    found = tuple(obstacles)
    if len(found) > MOST_OBSTACLES:
        raise ParameterError(
            "obstacles", len(found), "are too many", f"Use at most {MOST_OBSTACLES}."
        )
    return tuple(_checked(one, space_size, boundary) for one in found)


def _checked(one: Any, space_size: float, boundary: str) -> Obstacle:
    values = one.values
    if not all(math.isfinite(value) for value in values):
        raise ParameterError("obstacles", values, "is not possible", "Give finite numbers.")
    sizes = (one.width, one.height, one.radius)
    if min(sizes) < 0 or max(sizes) <= 0 or max(sizes) > _MOST:
        raise ParameterError(
            "obstacles", values, "has no size",
            "Give a radius, or a width and a height, above 0.",
        )  # fmt: skip
    if boundary == "periodic":
        return replace(one, x=one.x % space_size, y=one.y % space_size)
    # A place at a wall that is scaled with the box may be rounded to beyond it.
    x, y = (min(max(part, 0.0), space_size) for part in (one.x, one.y))
    if max(abs(one.x - x), abs(one.y - y)) > _ROUNDING * space_size:
        raise ParameterError(
            "obstacles", values, "has its centre outside of the walls",
            f"Give an x and a y from 0 to {space_size:g}.",
        )  # fmt: skip
    return replace(one, x=x, y=y)


def table(obstacles: Sequence[Obstacle]) -> Float32[np.ndarray, "places 5"]:
    """The obstacles as rows x, y, half width, half height, radius; the rest are zeros."""
    rows = np.zeros((MOST_OBSTACLES, len(NAMES)), np.float32)
    for row, one in zip(rows, obstacles, strict=False):
        row[:] = one.x, one.y, one.width / 2, one.height / 2, one.radius
    return rows
