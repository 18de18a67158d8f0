# SPDX-License-Identifier: GPL-3.0-or-later
"""The push of an obstacle on a rod in float64, by searching along the core; shares no formula."""

from typing import NamedTuple

import numpy as np


class Wall(NamedTuple):
    """Centre, full width and height of the rectangle, and how far around it the obstacle goes."""

    x: float
    y: float
    width: float
    height: float
    radius: float


class Push(NamedTuple):
    """Force (2,), torque, and how far the surface of the rod has come in."""

    force: np.ndarray
    torque: float
    overlap: float


def distance(points: np.ndarray, wall: Wall, space_size: float) -> np.ndarray:
    """How far points (M, 2) are from the obstacle and its eight images; negative inside."""
    best = np.full(len(points), np.inf)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            center = np.array([wall.x + i * space_size, wall.y + j * space_size])
            low = center - 0.5 * np.array([wall.width, wall.height])
            high = center + 0.5 * np.array([wall.width, wall.height])
            nearest = np.clip(points, low, high)
            outside = np.linalg.norm(points - nearest, axis=1)
            depth = np.minimum(points - low, high - points).min(axis=1)
            best = np.minimum(best, np.where(outside > 0, outside, -depth))
    return best - wall.radius


def push(
    pos: np.ndarray, theta: float, wall: Wall, *, length: float, radius: float, k: float,
    space_size: float,
) -> Push:  # fmt: skip
    """What a rod at `pos` (2,) takes from the obstacle."""
    along = np.array([np.cos(theta), np.sin(theta)])
    line = np.linspace(-length / 2, length / 2, 1001)

    def flat(s: np.ndarray) -> np.ndarray:
        # A rod that lies flat is touched at its middle.
        return 0.02 * 2 * radius * (2 * s / length) ** 2

    def depth_at(s: np.ndarray) -> np.ndarray:
        return distance(pos + np.multiply.outer(s, along), wall, space_size)

    points = pos + np.multiply.outer(line, along)
    from_center = points - (wall.x, wall.y)
    from_center -= space_size * np.round((pos - (wall.x, wall.y)) / space_size)
    half = 0.5 * np.array([wall.width, wall.height])
    if (depth_at(line) + wall.radius).min() < 0:
        # Out of the side behind which all of the core is soonest.
        overlap, normal, at = np.inf, np.zeros(2), 0.0
        for axis in (0, 1):
            between = np.abs(from_center[:, 1 - axis]) <= half[1 - axis]
            for side in (-1.0, 1.0):
                out = half[axis] - side * from_center[between, axis]
                if out.max() < overlap:
                    overlap, normal = out.max(), side * np.eye(2)[axis]
                    at = float(line[between][np.argmax(out - flat(line[between]))])
        overlap += radius + wall.radius
        force = k * min(overlap, 2 * radius) * normal
    else:
        s, step = line, length / 1000
        for _ in range(3):
            best = s[np.argmin(depth_at(s) + flat(s))]
            s = np.clip(np.linspace(best - step, best + step, 201), -length / 2, length / 2)
            step /= 100
        at = float(s[np.argmin(depth_at(s) + flat(s))])
        point, h = pos + at * along, 1e-6
        overlap = radius - distance(point[None], wall, space_size)[0]
        stencil = point + h * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        east, west, north, south = distance(stencil, wall, space_size)
        normal = np.array([east - west, north - south]) / (2 * h)
        force = k * np.clip(overlap, 0, 2 * radius) * normal
    overlap = float(np.clip(overlap, 0, 2 * radius))
    return Push(force, at * float(along[0] * force[1] - along[1] * force[0]), overlap)


def box_push(
    pos: np.ndarray, theta: float, boundary: str, *, length: float, radius: float, k: float,
    space_size: float, hertz: bool = False,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Force (2,) and torque of the wall around the box on a rod at `pos` (2,)."""
    rod = {"length": length, "radius": radius, "k": k, "space_size": space_size, "hertz": hertz}
    if boundary == "circle":
        return _round_push(pos, theta, **rod)
    force, torque = np.zeros(2), 0.0
    along = np.array([np.cos(theta), np.sin(theta)])
    line = np.linspace(-length / 2, length / 2, 401)
    for inward in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)):
        normal = np.array(inward)
        beyond = 0.0 if max(inward) > 0 else space_size
        points, step = line, line[1] - line[0]
        for _ in range(3):
            depth = (pos + points[:, None] * along) @ normal + beyond
            touched = int(np.argmin(depth + 0.02 * 2 * radius * (2 * points / length) ** 2))
            at, deepest = float(points[touched]), float(depth[touched])
            points = np.clip(np.linspace(at - step, at + step, 201), line[0], line[-1])
            step /= 100
        deep = np.clip(radius - deepest, 0, 2 * radius)
        push = k * deep * (np.sqrt(deep / (2 * radius)) if hertz else 1.0) * normal
        force += push
        torque += at * (along[0] * push[1] - along[1] * push[0])
    return force, float(torque)


def _round_push(
    pos: np.ndarray,
    theta: float,
    *,
    length: float,
    radius: float,
    k: float,
    space_size: float,
    hertz: bool,
) -> tuple[np.ndarray, float]:
    """The slope of the energy of the two ends in the wall, by differences."""

    def energy(x: float, y: float, angle: float) -> float:
        total = 0.0
        for side in (-0.5, 0.5):
            end = np.array([x, y]) + side * length * np.array([np.cos(angle), np.sin(angle)])
            overlap = np.linalg.norm(end - space_size / 2) + radius - space_size / 2
            deep = min(max(overlap, 0.0), 2 * radius)
            # As hard as at a body width beyond that.
            soft = 0.4 * deep**2.5 / np.sqrt(2 * radius) if hertz else 0.5 * deep**2
            total += k * (soft + 2 * radius * max(overlap - 2 * radius, 0.0))
        return float(total)

    at, by = np.array([*pos, theta]), 1e-5
    slopes = [
        (energy(*(at + by * axis)) - energy(*(at - by * axis))) / (2 * by) for axis in np.eye(3)
    ]
    return -np.array(slopes[:2]), -slopes[2]
