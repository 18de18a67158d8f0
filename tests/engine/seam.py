# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's pure functions, called from tests with plain NumPy arrays.

One compiled program for each kernel and size of arrays, shared by all tests of the session, so the
sizes are few; the parameters are traced, as in the program that users run.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from engine.capacity import NATIVE_CHUNK, Capacity
from engine.kernels import KERNELS, is_listed, native
from engine.kernels.neighbour_search import with_list
from engine.native import library
from engine.params import Laws, Params, Physics
from engine.snapshot import Start
from engine.state import State, to_device
from engine.step import one_timestep, pack, rods_of, unpack
from tests.conftest import AS_FOR_USERS
from tests.oracle import reference, rounding
from tests.oracle.reference import Rods, Sums

KERNEL_NAMES = tuple(
    name for name in sorted(KERNELS) if name != "native" or library.native().target
)

# A step is compiled without most optimizations of the machine's code, which takes half the time.
# Sums are compiled as for users, and so are the steps of a Driver, which have tests of their own.
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
# Places without a rod, which every kernel must leave alone.
SPARE = 3
STEP_SIZE = 104
SUMS_SIZE = 336
# Systems of so many rods at most may be given together; so many are taken at a time.
FEW = 8 - SPARE
TOGETHER = 32


def single(rods: Rods, params: SimpleNamespace) -> Rods:
    """`rods` rounded to what the engine holds: float32, positions in [0, L)."""
    box = np.float32(params.space_size)
    pos = np.mod(np.float32(rods.pos), box)
    pos[pos >= box] = 0
    theta, activity = np.float32(rods.theta), np.float32(rods.activity)
    return reference.rods(pos, theta, activity)


def params_of(values: SimpleNamespace) -> Physics:
    """The engine's parameters and laws, with the numbers as they are after rounding to float32."""
    given = vars(values).items()
    rounded: dict[str, Any] = {
        n: v if isinstance(v, str) else float(np.float32(v)) for n, v in given
    }
    return Physics(**rounded)


def laws_of(params: Params) -> Laws:
    """The laws that come with `params`; plain parameters are under those that were given."""
    return params.laws if isinstance(params, Physics) else Laws()


def room_for(n: int, kernel: str, size: int) -> Capacity:
    """`size` places, or where those are too few for `n` rods a few more than these.

    With room for as many neighbours and candidates as there may be.
    """
    size = size if size >= n else n + SPARE
    chunk = NATIVE_CHUNK if kernel == "native" else size
    size = -(-size // chunk) * chunk
    candidates = 0 if kernel == "native" else -(-size // 32) * 32
    return Capacity(size, size // chunk, -(-size // 8) * 8, candidates)


def state_of(
    rods: Rods, params: Params, kernel: str = "naive", step: int = 0, seed: int = 0,
    size: int = STEP_SIZE,
) -> State:  # fmt: skip
    """`rods` as a State of `size` places on the device, with a list if `kernel` needs one.

    The room for neighbours is that of any two of them.
    """
    room = room_for(len(rods.theta), kernel, size)
    start = Start(rods.pos, rods.theta, rods.activity)
    return to_device(start, params, room, listed=is_listed(kernel), step=step, seed=seed)


def listed(state: State, params: Physics, kernel: str) -> State:
    """`state` with its neighbour list built, which must fit; as it is where it has none."""
    if state.neighbours is None:
        return state
    if kernel == "native":
        built, fits = native.with_list(state, params)
    else:
        built, fits = with_list(state, params, -(-state.theta.size // 32))
    return built._replace(theta=jnp.where(fits, built.theta, jnp.nan))


def _sums_and_row(state: State, packed: jax.Array, kernel: str, laws: Laws):
    params = unpack(packed, laws)
    state = listed(state, params, kernel)
    return KERNELS[kernel](rods_of(state), state.n, params, state.neighbours), state.row


@functools.cache
def _sums(kernel: str, laws: Laws):
    sums = functools.partial(_sums_and_row, kernel=kernel, laws=laws)
    return jax.jit(sums, compiler_options=AS_FOR_USERS)


@functools.cache
def _sums_of_each(kernel: str, laws: Laws):
    def sums(state: State, rods: tuple[jax.Array, ...], packed: jax.Array):
        def one(given: tuple[jax.Array, ...]):
            pos, theta, direction, activity = given
            system = state._replace(pos=pos, theta=theta, direction=direction, activity=activity)
            return _sums_and_row(system, packed, kernel, laws)

        return jax.lax.map(one, rods)

    return jax.jit(sums, compiler_options=AS_FOR_USERS)


def _found(sums: Any, row: Any, n: int) -> Sums:
    empty = [np.asarray(values)[n:] for values in sums]
    assert not any(values.any() for values in empty), "an empty place took part"
    return Sums(*(np.asarray(values, np.float64)[in_rows(row, n)] for values in sums))


def kernel_sums(kernel: str, rods: Rods, params: Params, size: int = SUMS_SIZE) -> Sums:
    """The kernel's sums as float64 NumPy."""
    state = state_of(rods, params, kernel, size=size)
    return _found(*_sums(kernel, laws_of(params))(state, pack(params)), len(rods.theta))


def kernel_sums_of_each(kernel: str, systems: list[Rods], params: Params) -> list[Sums]:
    """The sums of each of several systems of equally few rods, as the engine can hold them."""
    n = len(systems[0].theta)
    assert n <= FEW
    empty = state_of(systems[0], params, kernel, size=FEW + SPARE)
    program, size, found = _sums_of_each(kernel, laws_of(params)), empty.theta.size, []
    for first in range(0, len(systems), TOGETHER):
        taken = systems[first : first + TOGETHER]
        pos, theta, activity = (
            np.zeros((TOGETHER, size, *values.shape[1:]), np.float32) for values in taken[0]
        )
        for i, rods in enumerate(taken):
            pos[i, :n], theta[i, :n], activity[i, :n] = rods
        direction = np.stack([np.cos(theta), np.sin(theta)], axis=-1)
        sums, rows = jax.device_get(program(empty, (pos, theta, direction, activity), pack(params)))
        found += [_found([s[i] for s in sums], rows[i], n) for i in range(len(taken))]
    return found


def agrees(got: Sums, rods: Rods, params: Physics) -> Sums:
    """Each sum must lie within its honest rounding of the reference's, which is returned."""
    expected = reference.per_particle_sum(rods, params)
    allowed = rounding.bounds(reference.pairs(rods, params), rods, params)
    floor = 1e-6 * params.k_cc
    assert np.all(np.hypot(*(got.force - expected.force).T) <= allowed.force + floor)
    assert np.all(np.abs(got.torque - expected.torque) <= allowed.torque + floor * params.length)
    assert np.all(np.abs(got.sensed - expected.sensed) <= allowed.sensed + 1e-5)
    return expected


def in_rows(row: jax.Array, n: int) -> np.ndarray:
    """Where each of the first `n` rows lies in arrays whose order is `row`."""
    return np.argsort(np.asarray(row))[:n]


@functools.cache
def _step(kernel: str, laws: Laws):
    def step(state: State, packed: jax.Array):
        params = unpack(packed, laws)
        state, no_limit = listed(state, params, kernel), jnp.float32(jnp.inf)
        return one_timestep(state, params, KERNELS[kernel], no_limit)

    return jax.jit(step, compiler_options=QUICKLY)


@functools.cache
def _native_step(laws: Laws):
    """Native code makes the whole step, with the list that it needs."""

    def step(state: State, packed: jax.Array):
        no_limit = jnp.float32(jnp.inf)
        return native.advance(state, unpack(packed, laws), jnp.int32(1), no_limit, threads=1)

    return jax.jit(step)


def step_of(
    rods: Rods, params: Params, kernel: str = "naive", step: int = 0, seed: int = 0
) -> tuple[Rods, np.ndarray, np.ndarray]:
    """One time step: the new rods, and the velocity (N, 2) and spin (N,) that led there."""
    start = state_of(rods, params, kernel, step, seed)
    state, motion = _step(kernel, laws_of(params))(start, pack(params))
    place = in_rows(state.row, len(rods.theta))
    found = motion.velocity, motion.angular
    velocity, angular = (np.asarray(values, np.float64)[place] for values in found)
    new = moved(rods, params, kernel, step, seed) if kernel == "native" else _rods(state, place)
    return new, velocity, angular


def moved(
    rods: Rods, params: Params, kernel: str = "naive", step: int = 0, seed: int = 0
) -> Rods:  # fmt: skip
    """The rods after one time step."""
    if kernel != "native":
        return step_of(rods, params, kernel, step, seed)[0]
    start = state_of(rods, params, kernel, step, seed)
    ended = _native_step(laws_of(params))(start, pack(params))
    assert (ended.done, ended.ok, ended.fits) == (1, True, True)
    return _rods(ended.state, in_rows(ended.state.row, len(rods.theta)))


def _rods(state: State, place: np.ndarray) -> Rods:
    return reference.rods(*(np.asarray(a)[place] for a in (state.pos, state.theta, state.activity)))


def random_rods(rng: np.random.Generator, n: int, params: SimpleNamespace | Params) -> Rods:
    """Rods at random places, angles and activities, as the engine can hold them."""
    rods = Rods(
        rng.uniform(0, params.space_size, (n, 2)),
        rng.uniform(-np.pi, np.pi, n),
        rng.uniform(0, 1, n),
    )
    return single(rods, params)
