# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step of kernel `neighbours` asks of a card, and what the card gives to plain programs.

XLA counts the body of a loop once, since it does not know the number of turns. So a step is counted
in two pieces without loops, what is done once and what in each turn over the slots of the list; a
run tells how many turns there were. The counts are of optimised programs: a transcendental is one
operation; bytes are those that the fused operations read and write, as if nothing were found in a
cache, which a gather of near neighbours often is. Both are upper bounds.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from engine.capacity import capacity_for
from engine.interaction import Rod, single_pair_interaction
from engine.kernels.neighbours import is_current, per_particle_sum
from engine.kernels.sums import PairSums
from engine.params import Params, Physics
from engine.state import Batch, State, state_shapes
from engine.step import checked_step, rods_of

REPEATS = 5


def cost_a_rod(rods: int, params: Params) -> dict[str, Any]:
    """Operations and bytes a rod, once a step and in each turn over its slots, counted at `rods`.

    Building the list is not in it, nor are obstacles.
    """
    shapes = state_shapes(capacity_for(rods, params, "gpu", "neighbours"), listed=True)
    places, physics = shapes.theta.shape[0], Physics(**asdict(params))

    def once(state: State) -> tuple[Batch, Any]:
        zero, yes = jnp.zeros(places), jnp.asarray(True)
        no_sums = PairSums(jnp.zeros((places, 2)), zero, zero)
        # A loop over obstacles that are not there would count as one of them.
        state = state._replace(obstacle_count=jnp.asarray(0))
        batch = Batch(state, jnp.asarray(0), yes, yes, zero[0], jnp.asarray(0), zero[0])
        batch = checked_step(batch, physics, lambda *_: no_sums, jnp.asarray(jnp.inf))
        assert state.neighbours is not None
        # The list itself stays where it is.
        batch = batch._replace(state=batch.state._replace(neighbours=None))
        return batch, is_current(state.neighbours, state.pos, state.theta, physics)

    def turn(state: State) -> PairSums:
        return per_particle_sum(rods_of(state), state.n, physics, state.neighbours)

    scalar: Any = jax.ShapeDtypeStruct((), np.float32)
    rod, same = Rod(*[scalar] * 5), jax.ShapeDtypeStruct((), bool)
    roots = [
        str(jax.make_jaxpr(f)(*given)).count(" rsqrt ")
        for f, given in (
            (turn, (shapes,)),
            (lambda a, b, same: single_pair_interaction(a, b, physics, same), (rod, rod, same)),
        )
    ]
    return {
        # Each pair takes the same number of roots.
        "slots_a_turn": roots[0] // roots[1],
        "once": _count(once, shapes, places),
        "turn": _count(turn, shapes, places),
    }


def measured_limits(copied_bytes: int, side: int) -> dict[str, float]:
    """Bytes a second of a large copy, and float32 operations a second of a large product.

    The matrices have `side` rows; the product is of full precision.
    """
    values = jnp.zeros(copied_bytes // 4, jnp.float32)
    matrix = jnp.ones((side, side), jnp.float32)
    copy = jax.jit(lambda a: a + 1)
    product = jax.jit(lambda a: jnp.matmul(a, a, precision=jax.lax.Precision.HIGHEST))
    return {
        "bytes_per_s": 2 * copied_bytes / _seconds(copy, values),
        "flops_per_s": 2 * side**3 / _seconds(product, matrix),
    }


def _count(function: Callable[..., Any], shapes: State, rods: int) -> dict[str, float]:
    counted = jax.jit(function).lower(shapes).compile().cost_analysis() or {}
    if isinstance(counted, list):
        counted = counted[0]
    operations = counted.get("flops", 0.0) + counted.get("transcendentals", 0.0)
    return {"flops": operations / rods, "bytes": counted.get("bytes accessed", 0.0) / rods}


def _seconds(call: Callable[..., Any], given: jax.Array) -> float:
    """Median seconds of a call, warmed up and waited for."""
    jax.block_until_ready(call(given))
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        jax.block_until_ready(call(given))
        times.append(time.perf_counter() - begin)
    return statistics.median(times)
