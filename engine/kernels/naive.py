# SPDX-License-Identifier: GPL-3.0-or-later
"""The double `vmap`: the measured "before".

It is how the problem reads on paper and how the original program had it. XLA keeps N × N arrays for
it, so time and memory are lost to traffic; `rowsum` is the cure.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from engine.interaction import PairTerm, Rod, single_pair_interaction
from engine.kernels.sums import PairSums
from engine.params import Physics
from engine.state import NeighbourList


def per_particle_sum(
    rods: Rod, count: Int[Array, ""], params: Physics, neighbours: NeighbourList | None = None
) -> PairSums:
    """Sums over all pairs of the first `count` of `rods`, arrays (N,), through (N, N) arrays."""
    index = jnp.arange(rods.x.size)

    def pair(main: Rod, i: jax.Array, neighb: Rod, j: jax.Array) -> PairTerm:
        empty = (i >= count) | (j >= count)
        return single_pair_interaction(main, neighb, params, (i == j) | empty)

    rows = jax.vmap(jax.vmap(pair, in_axes=(None, None, 0, 0)), in_axes=(0, 0, None, None))
    terms = jax.tree.map(lambda term: term.sum(axis=1), rows(rods, index, rods, index))
    return PairSums(jnp.stack([terms.force_x, terms.force_y], axis=1), terms.torque, terms.sensed)
