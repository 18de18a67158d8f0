# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's pure functions, called from tests with plain NumPy arrays.

One compiled program for each number of rods and kernel, shared by all tests of the session; the
parameters are traced, as in the program that users run.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from engine.kernels import KERNELS
from engine.params import Params
from engine.state import State
from engine.step import one_timestep, pack, rods_of, unpack
from tests.oracle import reference
from tests.oracle.reference import Rods, Sums

KERNEL_NAMES = tuple(sorted(KERNELS))


def single(rods: Rods, params: SimpleNamespace) -> Rods:
    """`rods` rounded to what the engine holds: float32, positions in [0, L)."""
    box = np.float32(params.space_size)
    pos = np.mod(np.float32(rods.pos), box)
    pos[pos >= box] = 0
    theta, activity = np.float32(rods.theta), np.float32(rods.activity)
    return reference.rods(pos, theta, activity)


def params_of(values: SimpleNamespace) -> Params:
    """The engine's Params, with the values as they are after rounding to float32."""
    return Params(**{name: float(np.float32(value)) for name, value in vars(values).items()})


def state_of(rods: Rods, step: int = 0, seed: int = 0) -> State:
    """`rods` as a State on the device."""
    return State(
        jnp.float32(rods.pos),
        jnp.float32(rods.theta),
        jnp.float32(rods.activity),
        jnp.uint32(step),
        jnp.uint32(seed),
    )


@functools.cache
def _sums(kernel: str):
    return jax.jit(lambda state, packed: KERNELS[kernel](rods_of(state), unpack(packed)))


def kernel_sums(kernel: str, rods: Rods, params: Params) -> Sums:
    """The kernel's sums as float64 NumPy."""
    sums = _sums(kernel)(state_of(rods), pack(params))
    return Sums(*(np.asarray(values, np.float64) for values in sums))


@functools.cache
def _step(kernel: str):
    def step(state, packed):
        return one_timestep(state, unpack(packed), KERNELS[kernel], jnp.float32(jnp.inf))

    return jax.jit(step)


def step_of(
    rods: Rods, params: Params, kernel: str = "naive", step: int = 0, seed: int = 0
) -> tuple[Rods, np.ndarray, np.ndarray]:
    """One time step: the new rods, and the velocity (N, 2) and spin (N,) that led there."""
    state, motion = _step(kernel)(state_of(rods, step, seed), pack(params))
    return (
        reference.rods(state.pos, state.theta, state.activity),
        np.asarray(motion.velocity, np.float64),
        np.asarray(motion.angular, np.float64),
    )


def random_rods(rng: np.random.Generator, n: int, params: SimpleNamespace | Params) -> Rods:
    """Rods at random places, angles and activities, as the engine can hold them."""
    rods = Rods(
        rng.uniform(0, params.space_size, (n, 2)),
        rng.uniform(-np.pi, np.pi, n),
        rng.uniform(0, 1, n),
    )
    return single(rods, params)
