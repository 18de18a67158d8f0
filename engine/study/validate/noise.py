# SPDX-License-Identifier: GPL-3.0-or-later
"""Rods alone with noise: how far they come, and how long they remember where they went."""

import math
from collections.abc import Iterator

import numpy as np

from engine.params import Params
from engine.study.validate.check import Reading, sampled
from engine.study.validate.lab import ALWAYS_ACTIVE, Lab, path, random_rods

N = 3000


def alone(**values: float) -> Params:
    """Active rods that feel nothing of each other."""
    return Params(space_size=200.0, k_cc=0.0, sensing_range=0.0, **ALWAYS_ACTIVE, **values)


def mean_square(steps: int, dt: float, D_r: float, turn: float) -> float:
    """⟨Δr²⟩ of a rod of speed 1 after so many Euler steps, exactly.

    For dt → 0 it is 2 Re(t/λ − (1 − e^{−λt})/λ²) with λ = D_r − iω: without torque the persistent
    random walk (2/D_r²)(D_r t − 1 + e^{−D_r t}).
    """
    memory = np.exp((-D_r + 1j * turn) * dt)
    apart = np.arange(1, steps)
    pairs = ((steps - apart) * memory**apart).sum().real
    return dt**2 * (steps + 2 * pairs)


def _walk(lab: Lab, T_prop: float, noise: str = "D_r") -> Iterator[Reading]:
    D_r, dt = 0.5, 0.01
    params = alone(F_prop=8.0, T_prop=T_prop, dt=dt, **{noise: D_r})
    driver = lab.engine(params, start=random_rods(1, N, params), seed=4)
    places, snapshots = path(driver, 20, 50)
    turn = T_prop / (4.0**3 / 12)
    for batches in (1, 5, 10, 20):
        snapshot, t = snapshots[batches], snapshots[batches].time
        angle = np.float64(snapshot.theta) - snapshots[0].theta
        expected = math.exp(-D_r * t) * math.cos(turn * t)
        yield sampled(f"⟨û·û₀⟩ at t = {t:.3g}", expected, np.cos(angle))
        square = ((places[batches] - places[0]) ** 2).sum(1)
        yield sampled(f"⟨Δr²⟩ at t = {t:.3g}", mean_square(snapshot.step, dt, D_r, turn), square)


def straight_walk(lab: Lab) -> Iterator[Reading]:
    """Rods that would go straight."""
    yield from _walk(lab, 0.0)


def circular_walk(lab: Lab) -> Iterator[Reading]:
    """Rods that would swim in circles."""
    yield from _walk(lab, 4.0)


def tumbling_walk(lab: Lab) -> Iterator[Reading]:
    """Rods that now and then take any direction: they forget theirs as by diffusion."""
    yield from _walk(lab, 0.0, "tumble_rate")


def diffusion(lab: Lab) -> Iterator[Reading]:
    """Rods without thrust."""
    params = alone(F_prop=0.0, D_t=0.05, dt=0.01)
    driver = lab.engine(params, start=random_rods(1, N, params), seed=4)
    places, snapshots = path(driver, 10, 100)
    each = snapshots[1].time
    seconds = (np.diff(places, axis=0) ** 2).sum(2)  # independent of each other
    yield sampled(f"⟨Δr²⟩ in t = {each:.3g}, ten times", 4 * 0.05 * each, seconds)
    whole = snapshots[10].time
    square = ((places[10] - places[0]) ** 2).sum(1)
    yield sampled(f"⟨Δr²⟩ at t = {whole:.3g}", 4 * 0.05 * whole, square)
