# SPDX-License-Identifier: GPL-3.0-or-later
"""Defects of the nematic order: places about which the axes of rods turn by half a turn."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from engine.observables.checked import numbers, same_number
from engine.observables.fields import Smoothing, smoothed, within


class Defects(NamedTuple):
    """Where axes turn: `pos` in [0, L)², l, and `charge`, +½ or −½ (rarely ±1).

    `rods` is about how many rods are within the Gaussian there: where hardly any are, the field
    about them, and so the defect, says nothing.
    """

    pos: Float64[np.ndarray, "defects 2"]
    charge: Float64[np.ndarray, "defects"]
    rods: Float64[np.ndarray, "defects"]


def defects(pos: np.ndarray, theta: np.ndarray, space_size: float, how: Smoothing) -> Defects:
    """Defects of the axes ψ = ½ arg Σ exp(2iθ_i) G(x − x_i) of `pos` (N, 2), l, and `theta` (N,).

    The charge of a cell of the grid is how often ψ turns on the way around it, by the shorter way
    along each side: de Gennes & Prost, The Physics of Liquid Crystals (1993), on a grid as Huterer
    & Vachaspati, Phys. Rev. D 72, 043004 (2005). Each side of a cell is passed once each way by its
    two cells, so all charges of the periodic box sum to zero. Places are known to half a cell.
    """
    same_number(pos=pos, theta=theta)
    angle = numbers("theta", theta)
    weights = np.stack([np.ones(len(angle)), np.cos(2 * angle), np.sin(2 * angle)])
    rods, cos, sin = smoothed(pos, weights, space_size, how)
    if not len(angle):
        return Defects(np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    turns = charges(np.arctan2(sin, cos) / 2)
    row, column = np.nonzero(turns)
    cell = float(space_size) / how.cells
    at = (np.stack([column, row], axis=1) + 0.5) * cell
    near = _at_middles(within(rods, how.sigma))
    return Defects(at, turns[row, column], near[row, column])


def charges(axis: Float64[np.ndarray, "n n"]) -> Float64[np.ndarray, "n n"]:
    """The charge, a multiple of ½, of each cell between four points of a periodic grid of axes.

    `axis` holds angles that count up to half turns. Entry [i, j] belongs to the cell whose corners
    are the points i, i + 1 and j, j + 1. Their sum is 0 to the last bit.
    """
    along_x = _shorter(np.roll(axis, -1, 1) - axis)
    along_y = _shorter(np.roll(axis, -1, 0) - axis)
    around = along_x + np.roll(along_y, -1, 1) - np.roll(along_x, -1, 0) - along_y
    return np.rint(around / math.pi) / 2


def _shorter(turn: np.ndarray) -> np.ndarray:
    """The turn of an axis, up to half turns, that is at most a quarter turn."""
    return turn - math.pi * np.rint(turn / math.pi)


def _at_middles(values: np.ndarray) -> np.ndarray:
    """Means over the four corners of each cell."""
    pairs = values + np.roll(values, -1, 1)
    return (pairs + np.roll(pairs, -1, 0)) / 4
