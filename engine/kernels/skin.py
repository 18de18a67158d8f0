# SPDX-License-Identifier: GPL-3.0-or-later
"""How thick the skin of a neighbour list should be, from what the run itself has shown.

A thicker skin lists more pairs, each of which costs time in every step; a thinner one makes the
list be built more often. Rods whose fastest tip moves by v a step make a list last skin / 2v steps,
so a step costs, in units of one listed pair, m(skin) + 2 v BUILD_COST / skin, which is least where
m'(skin) = 2 v BUILD_COST / skin². No clock decides: the skin follows from the state, so that a
run that is resumed or replayed has the same bits.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from engine.geometry import mean_neighbours
from engine.kernels.neighbours import cutoff, made_for
from engine.params import Params
from engine.state import NeighbourList

# What building the list costs for each rod, in listed pairs of one step (docs/performance.md).
BUILD_COST = 25
# Limits, in body widths: below, rounding matters; above, lists grow without end.
THINNEST_SKIN, THICKEST_SKIN = 0.05, 2.0


def next_skin(old: NeighbourList, count: Int[Array, ""], params: Params) -> Float[Array, ""]:
    """The skin of the list that follows `old`: half way, in ratio, to the best for what it saw.

    Kept where `old` did not end by the motion of rods.
    """
    ended = jnp.all(old.made_for == made_for(params)) & (old.age > 0)
    move = old.skin / (2 * jnp.maximum(old.age, 1).astype(old.skin.dtype))
    density = count.astype(old.skin.dtype) / (params.space_size * params.space_size)
    distance = cutoff(params) + old.skin
    # Rods crowd together: what the list has over what random places would give.
    crowding = old.mean / jnp.maximum(mean_neighbours(density, params.length, distance), 1e-6)
    slope = crowding * density * (4 * params.length + 2 * math.pi * distance)
    best = jnp.sqrt(2 * move * BUILD_COST / jnp.maximum(slope, 1e-6))
    width = 2 * params.radius
    skin = jnp.clip(jnp.sqrt(old.skin * best), THINNEST_SKIN * width, THICKEST_SKIN * width)
    # In boxes whose area overflows float32 nothing is known; a list with no skin at all would be
    # built again for ever.
    return jnp.where(ended & jnp.isfinite(skin), skin, old.skin)
