# SPDX-License-Identifier: GPL-3.0-or-later
"""Row sums over a neighbour list: time and memory grow with the number of rods.

The list holds, for each rod, the others whose core line may come into reach before rods have moved
by half the skin (`neighbour_search` builds it). Its rods are in order of the number of their
neighbours, so that a chunk of rods walks over as many slots as its busiest rod has, and few of them
are padding. Sums gather in the order of the list, so they have the same bits in every run.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Complex, Float, Int

from engine.geometry import displacement, wrap_angle
from engine.interaction import Rod, single_pair_interaction
from engine.kernels.gather import gather
from engine.kernels.sums import PairSums
from engine.noise import tumble_chance
from engine.params import Params, Physics
from engine.state import NeighbourList

Sums = tuple[Complex[Array, "rods"], Complex[Array, "rods"]]


def per_particle_sum(
    rods: Rod, count: Int[Array, ""], params: Physics, neighbours: NeighbourList | None
) -> PairSums:
    """Sums over the rods that `neighbours` lists; `rods` are arrays (N,) in the order of the list.

    The list must be current (`is_current`).
    """
    if neighbours is None:
        raise ValueError("This kernel sums over a neighbour list; the state has none.")
    size, chunks = rods.x.size, neighbours.used.size
    chunk = size // chunks

    def add_chunk(c: Array, sums: Sums) -> Sums:
        begin = c * chunk
        force, other = _sum_of_chunk(rods, c, params, neighbours)
        return (
            lax.dynamic_update_slice(sums[0], force, (begin,)),
            lax.dynamic_update_slice(sums[1], other, (begin,)),
        )

    zero = jnp.zeros(size, jnp.complex64)
    force, other = lax.fori_loop(0, chunks, add_chunk, (zero, zero))
    return PairSums(jnp.stack([force.real, force.imag], axis=1), other.real, other.imag)


def is_current(
    neighbours: NeighbourList,
    pos: Float[Array, "rods 2"],
    theta: Float[Array, "rods"],
    params: Physics,
) -> Bool[Array, ""]:
    """Whether the list still holds every pair in reach.

    Not once the range, the rods' length or the box has changed, nor once any point of a rod may
    have moved by half the skin; NaN, which stands for no list, fails every comparison.
    """
    shift = displacement(pos - neighbours.pos, params)
    turn = jnp.abs(wrap_angle(theta - neighbours.theta))
    x, y = shift.T
    tip = jnp.where(any_turn(params), 0, 0.5 * jnp.asarray(params.length))
    moved = jnp.sqrt(x * x + y * y) + tip * turn
    still = jnp.all(moved <= 0.5 * neighbours.skin)
    return still & jnp.all(neighbours.made_for == made_for(params))


def made_for(params: Params) -> Float[Array, "3"]:
    """What a list depends on: the distance beyond which rods do nothing, ℓ and L.

    Of cores; and of centres, where rods may turn by any angle.
    """
    length = jnp.asarray(params.length)
    reach = cutoff(params) + jnp.where(any_turn(params), length, 0)
    return jnp.stack([reach, length, jnp.asarray(params.space_size)])


def any_turn(params: Params) -> Bool[Array, ""]:
    """Whether a rod may turn by any angle in one step, for it tumbles.

    Lists then hold whoever comes into reach however rods turn: two to three times as many rods, but
    a list that ended with each tumble would be built in almost every step of a large swarm.
    """
    return tumble_chance(params) > 0


def cutoff(params: Params) -> Float[Array, ""]:
    """The distance of cores beyond which rods neither touch nor sense each other."""
    return jnp.maximum(2 * params.radius, params.sensing_range)


def _sum_of_chunk(rods: Rod, c: Array, params: Physics, neighbours: NeighbourList) -> Sums:
    """The sums of one chunk of rods: force as x + i y, and torque + i local density.

    Complex, because XLA's CPU backend compiles each output of a stage to a loop of its own that
    computes the pair again: two outputs cost half of four. On a GPU a turn of the loop costs a
    launch, so there a turn does several slots.
    """
    _, slots, chunk = neighbours.table.shape
    begin, used = c * chunk, neighbours.used[c]
    main = Rod(*[lax.dynamic_slice(values, (begin,), (chunk,)) for values in rods])
    i = begin + jnp.arange(chunk)
    at_once = 1 if jax.default_backend() == "cpu" else min(8, slots)

    def add_slots(turn: Array, sums: Sums) -> Sums:
        for k in range(at_once):
            slot = turn * at_once + k
            # Slots come in multiples of eight, so the last turn stays inside the table.
            j = lax.dynamic_slice(neighbours.table, (c, slot, 0), (1, 1, chunk))[0, 0]
            neighb = Rod(*[gather(values, j) for values in rods])
            term = single_pair_interaction(main, neighb, params, i == j)
            sums = (
                sums[0] + lax.complex(term.force_x, term.force_y),
                sums[1] + lax.complex(term.torque, term.sensed),
            )
        return sums

    zero = jnp.zeros(chunk, jnp.complex64)
    turns = (used + at_once - 1) // at_once
    return lax.fori_loop(0, turns, add_slots, (zero, zero))
