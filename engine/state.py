# SPDX-License-Identifier: GPL-3.0-or-later
"""The state on the device, and how a run starts."""

import math
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, UInt32

from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.snapshot import Start


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

    Raises `ParameterError` for arrays whose shapes disagree, that are not finite, or whose
    activity leaves [0, 1].
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
    # As much as rounding may do to a weighted mean of values in [0, 1].
    outside = activity[(activity < -1e-6) | (activity > 1 + 1e-6)]
    if outside.size:
        raise ParameterError(
            "start", float(outside[0]), "is not possible as an activity", "Give 0 to 1."
        )
    box = np.float32(params.space_size)
    pos = np.mod(pos, box)
    pos[pos >= box] = 0
    host = (pos, theta, activity, np.uint32(step % 2**32), np.uint32(seed % 2**32))
    return State(*[jax.device_put(array) for array in host])
