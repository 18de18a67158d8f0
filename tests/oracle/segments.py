# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact geometry of two segments in float64, and the contact problem solved by enumeration.

Neither routine resembles the engine's clamped lines: the distance is the least of four
endpoint-segment distances (0 where the segments cross), and the regularised contact points come
from listing every candidate of the box-constrained quadratic and taking the best.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def cross(a: Array, b: Array) -> float:
    """The z component of a x b."""
    return float(a[0] * b[1] - a[1] * b[0])


def point_segment_distance(point: Array, start: Array, end: Array) -> float:
    """Distance from a point to the segment start-end, which may be a single point."""
    along = end - start
    square = float(along @ along)
    t = 0.0 if square == 0.0 else min(1.0, max(0.0, float((point - start) @ along) / square))
    return float(np.linalg.norm(point - (start + t * along)))


def segments_cross(p1: Array, q1: Array, p2: Array, q2: Array) -> bool:
    """Whether the interiors cross properly (touching and collinear cases have distance 0 anyway,
    which the endpoint distances already say)."""
    d1, d2 = cross(q2 - p2, p1 - p2), cross(q2 - p2, q1 - p2)
    d3, d4 = cross(q1 - p1, p2 - p1), cross(q1 - p1, q2 - p1)
    return (d1 > 0.0) != (d2 > 0.0) and (d3 > 0.0) != (d4 > 0.0)


def segment_distance(p1: Array, q1: Array, p2: Array, q2: Array) -> float:
    """The least distance of two segments: 0 if they cross, else that of an endpoint."""
    if segments_cross(p1, q1, p2, q2):
        return 0.0
    return min(
        point_segment_distance(p1, p2, q2),
        point_segment_distance(q1, p2, q2),
        point_segment_distance(p2, p1, q1),
        point_segment_distance(q2, p1, q1),
    )


def segments_meet(p1: Array, q1: Array, p2: Array, q2: Array) -> bool:
    """Whether two segments have a point in common, touching and lying on one another included.

    By which side of one the ends of the other are on (Cormen et al., Introduction to Algorithms).
    """

    def side(a: Array, b: Array, c: Array) -> float:
        return float(np.sign(cross(b - a, c - a)))

    def on(a: Array, b: Array, c: Array) -> bool:
        low, high = np.minimum(a, b), np.maximum(a, b)
        return side(a, b, c) == 0 and bool(np.all((low <= c) & (c <= high)))

    if side(p1, q1, p2) * side(p1, q1, q2) < 0 and side(p2, q2, p1) * side(p2, q2, q1) < 0:
        return True
    return on(p1, q1, p2) or on(p1, q1, q2) or on(p2, q2, p1) or on(p2, q2, q1)


def ends(centre: Array, theta: float, length: float) -> tuple[Array, Array]:
    """(p, q): the front end centre + l/2 u and the rear end centre - l/2 u."""
    half = 0.5 * length * np.array([np.cos(theta), np.sin(theta)])
    return centre + half, centre - half


def contact_by_enumeration(
    r: Array, u: Array, v: Array, half_length: float, eps: float
) -> tuple[float, float]:
    """argmin of |r + s u - t v|^2 + eps (s^2 + t^2) over |s|, |t| <= half_length.

    The objective is strictly convex (eps > 0), so its minimum over the square is the stationary
    point if that lies inside, else the best of the four edges' own minima (corners included).
    """

    def cost(s: float, t: float) -> float:
        e = r + s * u - t * v
        return float(e @ e) + eps * (s * s + t * t)

    def clip(value: float) -> float:
        return min(half_length, max(-half_length, value))

    b, c, f = float(u @ v), float(u @ r), float(v @ r)
    matrix = np.array([[1.0 + eps, -b], [-b, 1.0 + eps]])
    s, t = (float(value) for value in np.linalg.solve(matrix, np.array([-c, f])))
    if max(abs(s), abs(t)) <= half_length:
        return s, t
    candidates = list(itertools.product((-half_length, half_length), repeat=2))
    for fixed in (-half_length, half_length):
        candidates.append((fixed, clip((b * fixed + f) / (1.0 + eps))))
        candidates.append((clip((b * fixed - c) / (1.0 + eps)), fixed))
    return min(candidates, key=lambda st: cost(*st))
