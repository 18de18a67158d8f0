# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of rods that are near each other: how far their cores are, how they overlap, who cross.

Pairs come from a k-d tree in a periodic box, some thousand rods at a time, so memory follows the
number of near pairs.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64

from engine.observables import checked
from engine.observables.checked import above_zero, numbers, places, same_number

# Rods whose neighbours are looked up at a time.
_AT_ONCE = 8192


class Pairs(NamedTuple):
    """Rods `i` < `j`, and the shortest way `r` = x_i − x_j between their centres."""

    i: Int64[np.ndarray, "pairs"]
    j: Int64[np.ndarray, "pairs"]
    r: Float64[np.ndarray, "pairs 2"]


def near_centres(pos: np.ndarray, space_size: float, reach: float) -> Iterator[Pairs]:
    """Every pair whose centres are at most `reach` apart, once, in parts.

    `pos` must be in [0, L)², float64; `reach` at most L/2.
    """
    from scipy.spatial import KDTree

    tree = KDTree(pos, boxsize=space_size)
    for first in range(0, len(pos), _AT_ONCE):
        part = KDTree(pos[first : first + _AT_ONCE], boxsize=space_size)
        found = part.sparse_distance_matrix(tree, reach, output_type="ndarray")
        i, j = found["i"] + first, found["j"].astype(np.int64)
        once = i < j
        i, j = i[once].astype(np.int64), j[once]
        r = pos[i] - pos[j]
        r -= space_size * np.round(r / space_size)
        yield Pairs(i, j, r)


def core_distance(
    r: Float64[np.ndarray, "pairs 2"],
    theta_i: Float64[np.ndarray, "pairs"],
    theta_j: Float64[np.ndarray, "pairs"],
    length: float,
) -> Float64[np.ndarray, "pairs"]:
    """The least distance between two core lines, l; 0 where they cross.

    Two segments that do not cross are nearest at one of their four ends (Vega & Lago, Computers &
    Chemistry 18, 55 (1994)). Without the regularisation of the contact force, equation (2) of
    docs/model.md.
    """
    half = length / 2
    u, w = _unit(theta_i), _unit(theta_j)
    ends = [_to_core(r + side * half * u, w, half) for side in (-1, 1)]
    ends += [_to_core(-r + side * half * w, u, half) for side in (-1, 1)]
    return np.where(cross(r, theta_i, theta_j, length), 0.0, np.minimum.reduce(ends))


def cross(
    r: Float64[np.ndarray, "pairs 2"],
    theta_i: Float64[np.ndarray, "pairs"],
    theta_j: Float64[np.ndarray, "pairs"],
    length: float,
) -> Bool[np.ndarray, "pairs"]:
    """Whether two core lines cross: each has its ends on two sides of the other.

    Lines that only touch, and parallel ones, do not cross.
    """
    half = length / 2
    u, w = _unit(theta_i), _unit(theta_j)
    turn = u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]
    along_i = (r[:, 1] * w[:, 0] - r[:, 0] * w[:, 1]) / np.where(turn == 0, np.inf, turn)
    along_j = (r[:, 1] * u[:, 0] - r[:, 0] * u[:, 1]) / np.where(turn == 0, np.inf, turn)
    return (turn != 0) & (np.abs(along_i) < half) & (np.abs(along_j) < half)


class Contacts(NamedTuple):
    """What the rods of a state do to each other.

    `mean_overlap` is the mean over pairs that overlap, 0 where none does, and `largest_overlap` the
    largest, both in body widths; `overlapping` is the number of such pairs and `crossed` that of
    pairs whose core lines cross.
    """

    mean_overlap: float
    largest_overlap: float
    overlapping: int
    crossed: int


def contacts(
    pos: np.ndarray, theta: np.ndarray, space_size: float, length: float, radius: float
) -> Contacts:
    """Overlaps 1 − |e|/d of the contact points e, equation (3) of docs/model.md, and crossings.

    `pos` (N, 2), l, and `theta` (N,). |e| is that of the force law, regularised as it is. Crossed
    pairs overlap too.
    """
    from engine.geometry import CONTACT_EPSILON

    width = 2 * above_zero("radius", radius)
    total, largest, overlapping, crossed = 0.0, 0.0, 0, 0
    epsilon = CONTACT_EPSILON * (width / length) ** 2
    for pairs, angle in _near_rods(pos, theta, space_size, length, width):
        ways = pairs.r, angle[pairs.i], angle[pairs.j]
        overlap = 1 - _contact_distance(*ways, length, epsilon) / width
        overlap = overlap[overlap > 0]
        total += float(overlap.sum())
        largest = max(largest, float(overlap.max(initial=0)))
        overlapping += len(overlap)
        crossed += int(cross(*ways, length).sum())
    return Contacts(total / max(overlapping, 1), largest, overlapping, crossed)


def near_cores(
    pos: np.ndarray, theta: np.ndarray, space_size: float, length: float, reach: float
) -> Iterator[tuple[Pairs, Float64[np.ndarray, "pairs"]]]:
    """Every pair whose core lines are nearer than `reach`, in parts, with |Δθ| in [0, π].

    `pos` (N, 2), l, and `theta` (N,). Raises `ObservableError` where a box is too small for rods of
    that length.
    """
    for pairs, angle in _near_rods(pos, theta, space_size, length, reach):
        near = core_distance(pairs.r, angle[pairs.i], angle[pairs.j], length) < reach
        kept = Pairs(*(part[near] for part in pairs))
        turn = angle[kept.i] - angle[kept.j]
        yield kept, np.abs(turn - 2 * np.pi * np.round(turn / (2 * np.pi)))


def _near_rods(
    pos: np.ndarray, theta: np.ndarray, space_size: float, length: float, reach: float
) -> Iterator[tuple[Pairs, Float64[np.ndarray, "rods"]]]:
    """Pairs whose cores may be nearer than `reach`, in parts, and all angles."""
    same_number(pos=pos, theta=theta)
    at, angle = places(pos, space_size), numbers("theta", theta)
    far = above_zero("length", length) + above_zero("reach", reach)
    checked.reach("length + reach", far, space_size)
    for pairs in near_centres(at, float(space_size), far):
        yield pairs, angle


def _unit(theta: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(theta), np.sin(theta)], axis=-1)


def _to_core(point: np.ndarray, axis: np.ndarray, half: float) -> np.ndarray:
    """The distance of points from the core along `axis` through the origin."""
    along = np.clip((point * axis).sum(axis=-1), -half, half)
    away = point - along[:, None] * axis
    return np.hypot(away[:, 0], away[:, 1])


def _contact_distance(
    r: np.ndarray, theta_i: np.ndarray, theta_j: np.ndarray, length: float, epsilon: float
) -> np.ndarray:
    """|e|, as `engine.geometry.closest_points` has it, in float64."""
    half, u, w = length / 2, _unit(theta_i), _unit(theta_j)
    turn = u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]
    dot = (u * w).sum(-1)
    along_i, along_j = (u * r).sum(-1), (w * r).sum(-1)
    across = w[:, 0] * r[:, 1] - w[:, 1] * r[:, 0]
    s = (turn * across - epsilon * along_i) / (turn * turn + epsilon * (2 + epsilon))
    s = np.clip(s, -half, half)
    t = np.clip((dot * s + along_j) / (1 + epsilon), -half, half)
    s = np.clip((dot * t - along_i) / (1 + epsilon), -half, half)
    e = r + s[:, None] * u - t[:, None] * w
    return np.hypot(e[:, 0], e[:, 1])
