# SPDX-License-Identifier: GPL-3.0-or-later
"""Neighbour lists by native code: the K-step loop as one call in the compiled program, on a CPU.

XLA compiles a step to some two hundred loops over all rods, of which none uses more than a part of
the machine; here sums and motion of sixteen rods are one pass in registers. The state is the same,
and so are the physics, to rounding.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from engine.drag import drag_of
from engine.geometry import CONTACT_EPSILON
from engine.interaction import Rod
from engine.kernels.sums import PairSums
from engine.native.library import PARAMS, native
from engine.noise import tumble_chance
from engine.params import Physics
from engine.state import Batch, NeighbourList, State

# What native code takes for a batch and for building a list besides the state: two copies of the
# rods, where they were, ranks and cells.
BYTES_A_ROD = 148


def advance(
    state: State,
    params: Physics,
    K: Int[Array, ""],
    most_move: Float[Array, ""],
    *,
    threads: int,
    target: str = "",
) -> Batch:
    """K steps with the lists that they need, on `threads` threads; their number changes no bit.

    `target` names the instruction set, by default the best of the machine.
    """
    number = _like(most_move)
    shapes = (_like(K), _flag(), _flag(), number, _shape((), np.int32), number)
    more = (_packed(params), K, most_move)
    state, rest = _call("bacsim_advance", state, more, shapes, _how(params, threads, target))
    return Batch(state, *rest)


def with_list(
    state: State, params: Physics, *, threads: int = 1, target: str = ""
) -> tuple[State, Bool[Array, ""]]:
    """`state` in a new order with a new list, and whether that fits; see `neighbour_search`."""
    how = _how(params, threads, target)
    state, (fits,) = _call("bacsim_build", state, (_packed(params),), (_flag(),), how)
    return state, fits


def per_particle_sum(
    rods: Rod,
    count: Int[Array, ""],
    params: Physics,
    neighbours: NeighbourList | None,
    *,
    threads: int = 1,
    target: str = "",
) -> PairSums:
    """Sums over the rods that `neighbours` lists, which must be current."""
    if neighbours is None:
        raise ValueError("This kernel sums over a neighbour list; the state has none.")
    _require()
    size = rods.x.size
    call = jax.ffi.ffi_call(
        "bacsim_sums",
        (
            _shape((size, 2), np.float32),
            _shape((size,), np.float32),
            _shape((size,), np.float32),
        ),
    )
    arguments = (*rods, count, neighbours.table, neighbours.used, _packed(params))
    return PairSums(*call(*arguments, **_how(params, threads, target)))


def _call(
    name: str, state: State, more: tuple, results: tuple, how: dict[str, Any]
) -> tuple[State, tuple]:
    """`state` after a call that changes it in place, and the other results."""
    _require()
    leaves, structure = jax.tree.flatten(state)
    call = jax.ffi.ffi_call(
        name,
        (*[_like(leaf) for leaf in leaves], *results),
        input_output_aliases={i: i for i in range(len(leaves))},
    )
    found = call(*leaves, *more, **how)
    return jax.tree.unflatten(structure, found[: len(leaves)]), tuple(found[len(leaves) :])


def _require() -> None:
    if problem := native().problem:
        raise RuntimeError(f"There is no native code here: {problem}.")


def _how(params: Physics, threads: int, target: str) -> dict[str, Any]:
    """The static attributes of a call: every law by its word, which native code refuses if new."""
    return {"threads": np.int64(threads), "target": target, **dataclasses.asdict(params.laws)}


def _packed(params: Physics) -> Float[Array, "numbers"]:
    """The parameters in the order of `PARAMS`, and what both codes derive from them here."""
    width_over_length = 2 * jnp.asarray(params.radius) / params.length
    epsilon = CONTACT_EPSILON * width_over_length * width_over_length
    per_drag = [1 / drag for drag in drag_of(params, params.drag, jnp.log)]
    values = [getattr(params, name) for name in PARAMS]
    derived = (epsilon, *per_drag, tumble_chance(params))
    return jnp.stack([jnp.asarray(value, jnp.float32) for value in (*values, *derived)])


def _shape(shape: tuple[int, ...], of: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, of)


def _like(array: Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _flag() -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((), np.bool_)
