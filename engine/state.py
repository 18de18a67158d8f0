# SPDX-License-Identifier: GPL-3.0-or-later
"""The state on the device, the snapshot that leaves it, and how a run starts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Float32, UInt32

from engine.params import Params, Setup
from engine.schema import ParameterError


class State(NamedTuple):
    """All that the next step depends on besides the parameters.

    `pos` (N, 2) in [0, L)², `theta` (N,), `activity` (N,); `step` and `seed` number the random
    draws.
    """

    pos: Float[Array, "rods 2"]
    theta: Float[Array, "rods"]
    activity: Float[Array, "rods"]
    step: UInt32[Array, ""]
    seed: UInt32[Array, ""]


@dataclass(frozen=True)
class Snapshot:
    """What leaves the engine after a batch of steps: plain NumPy, 16 bytes a rod.

    `rods` (N, 4) float32 holds x, y, theta, activity of each rod; `time` is simulated time;
    `observables` are those of `engine.observables`, taken at this step.
    """

    rods: Float32[np.ndarray, "rods 4"]
    step: int
    time: float
    params: Params
    observables: Mapping[str, float] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of rods."""
        return len(self.rods)

    @property
    def pos(self) -> Float32[np.ndarray, "rods 2"]:
        """Centres (N, 2) in [0, L)²."""
        return self.rods[:, :2]

    @property
    def theta(self) -> Float32[np.ndarray, "rods"]:
        """Angles (N,)."""
        return self.rods[:, 2]

    @property
    def activity(self) -> Float32[np.ndarray, "rods"]:
        """Activities (N,) in [0, 1]."""
        return self.rods[:, 3]


@dataclass(frozen=True)
class Start:
    """Arrays to start from: `pos` (N, 2) in [0, L)², `theta` (N,), `activity` (N,)."""

    pos: Float[np.ndarray, "rods 2"]
    theta: Float[np.ndarray, "rods"]
    activity: Float[np.ndarray, "rods"]


def random_start(setup: Setup, params: Params, seed: int) -> Start:
    """Rods at random places and angles; they overlap, so relax them before the first frame."""
    rng = np.random.default_rng(seed)
    pos = rng.uniform(0, params.space_size, (setup.rods, 2))
    theta = rng.uniform(-math.pi, math.pi, setup.rods)
    return Start(pos, theta, np.zeros(setup.rods))


def start_activity(setup: Setup, params: Params, pos: np.ndarray) -> np.ndarray:
    """The activity (N,) with which rods at `pos` (N, 2) start, as `setup.start_activity` says."""
    if setup.start_activity == "disc":
        from_centre = np.hypot(*(pos - params.space_size / 2).T)
        return (from_centre < setup.start_radius).astype(np.float32)
    return np.full(len(pos), float(setup.start_activity == "all"), np.float32)


def to_device(start: Start, params: Params, step: int, seed: int) -> State:
    """`start` as a `State` on the default device.

    Raises `ParameterError` for arrays whose shapes disagree or that are not finite.
    """
    pos, theta, activity = (
        np.asarray(a, np.float32) for a in (start.pos, start.theta, start.activity)
    )
    n = len(pos)
    shapes = pos.shape, theta.shape, activity.shape
    if shapes != ((n, 2), (n,), (n,)):
        raise ParameterError(
            "start", shapes, "has arrays of unequal shapes", "Give (N, 2), (N,), (N,)."
        )
    if not all(np.isfinite(a).all() for a in (pos, theta, activity)):
        raise ParameterError(
            "start", "NaN or infinity", "cannot be simulated", "Give finite numbers."
        )
    box = np.float32(params.space_size)
    pos = np.mod(pos, box)
    pos[pos >= box] = 0
    host = (pos, theta, activity, np.uint32(step % 2**32), np.uint32(seed % 2**32))
    return State(*[jax.device_put(array) for array in host])
