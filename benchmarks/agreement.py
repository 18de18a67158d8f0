# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what a peer computes is this model: its sums and one step, against the float64 oracle.

The oracle works on N x N arrays, so the box is cut into tiles, and each tile is given to it with
all rods that its own rods can meet.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from engine.params import Params
from tests.oracle import reference, rounding
from tests.oracle.reference import Rods, Sums

# Side of a tile in reaches of a rod: larger ones square the number of pairs, smaller ones repeat
# the rods at their borders.
TILE = 4.0
# The bounds of `rounding` hold for the worst rod. Over all rods a float32 kernel is far nearer: to
# 1e-4 of the forces in the engine, 1e-3 where jax-md takes displacements modulo a box of 220. A
# list that lacks pairs, or another law, is not. What is sensed needs no such limit, since its bound
# is tight but for pairs at the very edge of the range.
MOST_RMS = 3e-3
# A step adds a small move to a position: its rounding, and that of wrapping, in units in the last
# place of the box.
STEP_ULPS = 2.0


class Disagreement(Exception):
    """What a peer computes is not the model; the message says where and by how much."""


class Save:
    """A state and its sums as a peer wrote them, in float64."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.rods = reference.rods(file["pos"], file["theta"], file["activity"])
            self.sums = Sums(
                *[np.asarray(file[name], np.float64) for name in ("force", "torque", "sensed")]
            )


# Another law by design, which must stay near: a share of the rms of the forces.
ALIKE_RMS = 0.1


def single(params: Params) -> Params:
    """`params` rounded to float32, as every peer has them."""
    return Params(**{name: float(np.float32(value)) for name, value in asdict(params).items()})


def check(before: Save, after: Save, params: Params) -> None:
    """Raise `Disagreement` unless the sums of `before` are right, and a step led to `after`."""
    expected, allowed = _reference(before.rods, params)
    _check_sums(before.sums, expected, allowed, params)
    _check_step(before.rods, after.rods, expected, allowed, params)


def check_alike(state: Save, params: Params) -> None:
    """Raise `Disagreement` unless forces are near the model's, and what is sensed equal to it."""
    expected, allowed = _reference(state.rods, params)
    error = state.sums.force - expected.force
    size, rms = (math.sqrt(np.mean(values**2)) for values in (expected.force, error))
    if not rms <= ALIKE_RMS * size:
        raise Disagreement(f"its force is off by {rms:.3g} (rms) where the rms is {size:.3g}")
    _require("its sensed", np.abs(state.sums.sensed - expected.sensed), allowed.sensed + 1e-5)


def _reference(rods: Rods, params: Params) -> tuple[Sums, Sums]:
    """The oracle's sums of all rods, and how far an honest float32 kernel may be from each."""
    n = len(rods.theta)
    expected = Sums(np.zeros((n, 2)), np.zeros(n), np.zeros(n))
    allowed = Sums(np.zeros(n), np.zeros(n), np.zeros(n))
    for own, met in _tiles(rods, params):
        part = Rods(rods.pos[met], rods.theta[met], rods.activity[met])
        pairs = reference.pairs(part, params)
        sums = Sums(pairs.force.sum(1), pairs.torque.sum(1), pairs.weight.sum(1))
        bounds, inside = rounding.bounds(pairs, part, params), np.isin(met, own)
        for whole, found in ((expected, sums), (allowed, bounds)):
            for values, of_tile in zip(whole, found, strict=True):
                values[met[inside]] = of_tile[inside]
    return expected, allowed


def _tiles(rods: Rods, params: Params) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The indices of the rods of each tile, and of all rods that these can meet."""
    box = params.space_size
    reach = params.length + max(2 * params.radius, params.sensing_range) + 1e-3 * params.length
    across = max(1, int(box / (TILE * reach)))
    side = box / across
    place = np.minimum((rods.pos / side).astype(int), across - 1)
    for column in range(across):
        for row in range(across):
            own = np.flatnonzero((place == (column, row)).all(axis=1))
            middle = (np.array([column, row]) + 0.5) * side
            off = np.abs(reference.minimum_image(rods.pos - middle, box))
            met = np.flatnonzero((off <= side / 2 + reach).all(axis=1))
            if own.size:
                yield own, met


def _check_sums(found: Sums, expected: Sums, allowed: Sums, params: Params) -> None:
    floor = 1e-6 * params.k_cc
    for name, least in (("force", floor), ("torque", floor * params.length), ("sensed", 1e-5)):
        true = getattr(expected, name)
        error = getattr(found, name) - true
        if error.ndim == 2:
            error, true = np.hypot(*error.T), np.hypot(*true.T)
        _require(f"its {name}", np.abs(error), getattr(allowed, name) + least)
        size, rms = (math.sqrt(np.mean(values**2)) for values in (true, error))
        if name != "sensed" and rms > MOST_RMS * size + least:
            raise Disagreement(f"its {name} is off by {rms:.3g} (rms) where the rms is {size:.3g}")


def _check_step(before: Rods, after: Rods, expected: Sums, allowed: Sums, params: Params) -> None:
    velocity, spin = reference.velocities(before, params, expected)
    zeta, _, zeta_r = reference.drag(params)
    ulp = float(np.spacing(np.float32(params.space_size)))
    away = after.pos - (before.pos + velocity * params.dt)
    off = np.hypot(*reference.minimum_image(away, params.space_size).T)
    _require("a step to its position", off, STEP_ULPS * ulp + params.dt / zeta * allowed.force)
    turned = after.theta - (before.theta + spin * params.dt)
    turned = np.abs(reference.minimum_image(turned, math.tau))
    _require("a step to its angle", turned, 1e-6 + params.dt / zeta_r * allowed.torque)
    target = reference.new_activity(before.activity, expected.sensed, params)
    # The slope of the activation is at most 1/(4 w).
    leeway = 1e-5 + allowed.sensed / (4 * params.activity_width)
    _require("a step to its activity", np.abs(after.activity - target), leeway)


def _require(what: str, error: np.ndarray, limit: np.ndarray) -> None:
    """Raise `Disagreement` where any `error` (N,) is above its `limit` (N,), or NaN."""
    if not np.all(error <= limit):
        worst = int(np.argmax(np.where(np.isnan(error), np.inf, error - limit)))
        raise Disagreement(
            f"{what} is off by {error[worst]:.3g} for rod {worst}, where rounding explains "
            f"{limit[worst]:.3g}"
        )
