# SPDX-License-Identifier: GPL-3.0-or-later
"""Building the neighbour list, on the device and inside the compiled program.

Rods are put in the order of a fine grid, each is tried against the runs of rods near it, and what
passes is kept as one bit. Then rods are put in the order of how many they have, and their bits are
written out as a table. Every stage is a plain loop over arrays or a scatter of whole numbers, which
XLA's CPU backend does in nanoseconds a rod; its sort and its scans are avoided where they cost
more.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt32

from engine.geometry import closest_points, displacement
from engine.kernels.cells import LENGTH, Runs, candidate, grid_for, in_order, runs_near
from engine.kernels.gather import gather, inverse
from engine.kernels.neighbours import any_turn, cutoff, made_for
from engine.kernels.skin import next_skin
from engine.params import Physics
from engine.state import NeighbourList, State

# The regularisation with which the distance of two cores is taken here: as good as none, so that
# the list misses nothing, but enough for parallel rods in float32. It overestimates the distance by
# at most √(2ε) ℓ/2.
SEARCH_EPSILON = 1e-7

# Chunks that are sorted together by the number of their neighbours; with more, neighbours would no
# longer lie near in memory.
SORTED_TOGETHER = 32


# x, y, cos θ and sin θ of rods, in the order of the grid.
Rods = tuple[Float[Array, "rods"], ...]


class Tried(NamedTuple):
    """For each rod its candidates, a bit for each that is near, and how many these are."""

    runs: Runs
    near: UInt32[Array, "words rods"]
    found: Int[Array, "rods"]


def with_list(state: State, params: Physics, words: int) -> tuple[State, Bool[Array, ""]]:
    """`state` in a new order with a new list, and whether that list fits the capacities.

    Where it does not fit only `most` and `candidates` of the list are new, which tell what would;
    `most` counts no neighbours among candidates that there was no room for. `words` is the capacity
    for candidates, 32 to a word.
    """
    old = state.neighbours
    assert old is not None
    skin = next_skin(old, state.n, params)
    alive = jnp.arange(state.theta.size) < state.n
    # Half a step in the last place of a position and what SEARCH_EPSILON adds to a distance.
    within = cutoff(params) + skin + 1e-6 * params.space_size + 5e-4 * params.length
    reach = params.length + within
    grid = grid_for(reach, params.space_size, state.theta.size)
    x, y = state.pos.T
    order, start = in_order(grid, x, y, alive)
    x, y, cos, sin = (gather(values, order) for values in (x, y, *state.direction.T))
    # Each is needed by several stages, and XLA would compute it again in every one of them.
    runs = lax.optimization_barrier(runs_near(grid, start, x, y, reach, alive))
    tried = _tried((x, y, cos, sin), runs, within, skin, params, words, old.used.size)

    by_count = _by_count(tried.found, old.used.size, old.table.shape[1])
    table, used = _table(tried, by_count, old.used.size, old.table.shape[1])
    most, candidates = jnp.max(tried.found), jnp.max(runs[LENGTH].sum(axis=0))
    fits = (most <= old.table.shape[1]) & (candidates <= 32 * words)
    built = _ordered(state, gather(order, by_count))
    new = NeighbourList(
        table, used, built.pos, built.theta, made_for(params), skin,
        jnp.zeros_like(old.age), old.builds + 1,
        _mean(tried.found, state.n), most, candidates,
    )  # fmt: skip
    refused = state._replace(neighbours=old._replace(most=most, candidates=candidates))
    built = built._replace(neighbours=new)
    # A branch copies where a choice for each array would be a loop of its own to compile.
    return lax.cond(fits, lambda: built, lambda: refused), fits


def _tried(
    rods: Rods, runs: Runs, within: Array, skin: Array, params: Physics, words: int, chunks: int
) -> Tried:
    """Every candidate of every rod tried, as far as `words` hold them.

    Only bits are kept: XLA's CPU backend would compute the distance again for a count beside them.
    """
    size = rods[0].size
    chunk = size // chunks

    def try_chunk(c: Array, near: Array) -> Array:
        begin = c * chunk
        own, main = jax.tree.map(
            lambda values: lax.dynamic_slice_in_dim(values, begin, chunk, axis=values.ndim - 1),
            (runs, rods),
        )
        i = begin + jnp.arange(chunk)
        total = own[LENGTH].sum(axis=0)

        def try_one(t: Array, bits: Array) -> Array:
            there = t < total
            j = jnp.where(there, candidate(own, jnp.full_like(i, t)), i)
            neighb = tuple(gather(values, j) for values in rods)
            near = there & (i != j) & _is_near(main, neighb, within, skin, params)
            word, bit = t // 32, near.astype(jnp.uint32) << (t % 32).astype(jnp.uint32)
            kept = lax.dynamic_index_in_dim(bits, word, keepdims=False) | bit
            return lax.dynamic_update_index_in_dim(bits, kept, word, 0)

        none = jnp.zeros((words, chunk), jnp.uint32)
        last = jnp.minimum(jnp.max(total), 32 * words)
        bits = lax.fori_loop(0, last, try_one, none)
        return lax.dynamic_update_slice(near, bits, (0, begin))

    near = lax.fori_loop(0, chunks, try_chunk, jnp.zeros((words, size), jnp.uint32))
    return Tried(runs, near, lax.population_count(near).astype(jnp.int32).sum(axis=0))


def _is_near(
    main: Rods, neighb: Rods, within: Array, skin: Array, params: Physics
) -> Bool[Array, "rods"]:
    """Whether the cores of two rods are nearer than `within`, or soon may be, however they turn.

    A pair near the place where its shortest image changes is kept as well: the other image may be
    the near one before the list is built again.
    """
    dx = displacement(main[0] - neighb[0], params)
    dy = displacement(main[1] - neighb[1], params)
    at = closest_points(
        dx, dy, *main[2:], *neighb[2:], length=params.length, epsilon=SEARCH_EPSILON
    )
    centres = dx * dx + dy * dy < (params.length + within) ** 2
    near = jnp.where(any_turn(params), centres, at.x * at.x + at.y * at.y < within * within)
    if not params.periodic:
        return near
    return near | (jnp.maximum(jnp.abs(dx), jnp.abs(dy)) > 0.5 * params.space_size - skin)


def _by_count(count: Int[Array, "rods"], chunks: int, slots: int) -> Int[Array, "rods"]:
    """The order of falling `count`, and of rank among equals, within groups of chunks.

    One sort of a key in one word, because XLA sorts pairs five times as slowly.
    """
    divisors = [g for g in range(1, chunks // SORTED_TOGETHER + 1) if chunks % g == 0]
    groups = max(divisors, default=1)
    group = count.size // groups
    index_bits = max(1, (group - 1).bit_length())
    top = min(slots, 2 ** (32 - index_bits) - 1)
    missing = (top - jnp.minimum(count, top)).astype(jnp.uint32).reshape(groups, group)
    index = jnp.arange(group, dtype=jnp.uint32)[None, :]
    key = jnp.sort((missing << index_bits) | index, axis=1)
    within = (key & (2**index_bits - 1)).astype(jnp.int32)
    return (within + group * jnp.arange(groups, dtype=jnp.int32)[:, None]).reshape(-1)


def _table(
    tried: Tried, order: Int[Array, "rods"], chunks: int, slots: int
) -> tuple[Int[Array, "chunks slots chunk"], Int[Array, "chunks"]]:
    """The bits written out as a table of rods in `order`, and the slots in use in each chunk."""
    size, chunk = order.size, order.size // chunks
    place = inverse(order)
    runs, near = jax.tree.map(
        lambda values: values.at[..., order].get(mode="promise_in_bounds"), (tried.runs, tried.near)
    )
    used = jnp.minimum(gather(tried.found, order).reshape(chunks, chunk).max(axis=1), slots)
    words = jnp.arange(near.shape[0])[:, None]

    def fill_chunk(c: Array, table: Array) -> Array:
        begin = c * chunk
        own = lax.dynamic_slice_in_dim(runs, begin, chunk, axis=2)
        i = begin + jnp.arange(chunk)

        def fill_slot(k: Array, loop: tuple[Array, Array]) -> tuple[Array, Array]:
            table, bits = loop
            word, at = _first_word(bits)
            lowest = lax.population_count((word & (~word + 1)) - 1).astype(jnp.int32)
            rank = candidate(own, 32 * at + lowest)
            j = jnp.where(word != 0, gather(place, jnp.where(word != 0, rank, 0)), i)
            bits = jnp.where(words == at[None, :], bits & (bits - 1), bits)
            return lax.dynamic_update_slice(table, j[None, None, :], (c, k, 0)), bits

        bits = lax.dynamic_slice(near, (0, begin), (near.shape[0], chunk))
        return lax.fori_loop(0, used[c], fill_slot, (table, bits))[0]

    places = jnp.arange(size, dtype=jnp.int32).reshape(chunks, 1, chunk)
    itself = jnp.broadcast_to(places, (chunks, slots, chunk))
    return lax.fori_loop(0, chunks, fill_chunk, itself), used


def _first_word(
    bits: UInt32[Array, "words rods"],
) -> tuple[UInt32[Array, "rods"], Int[Array, "rods"]]:
    """Of each rod the first word that is not 0, and its number; 0 and 0 where there is none."""
    words, size = bits.shape

    def take(step: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        w = words - 1 - step
        word = lax.dynamic_index_in_dim(bits, w, keepdims=False)
        return jnp.where(word != 0, word, found[0]), jnp.where(word != 0, w, found[1])

    none = jnp.zeros(size, jnp.uint32), jnp.zeros(size, jnp.int32)
    # A few words are one stage; many would make a program that compiles for minutes.
    return lax.fori_loop(0, words, take, none, unroll=words <= 8)


def _mean(neighbours: Int[Array, "rods"], count: Int[Array, ""]) -> Float[Array, ""]:
    return jnp.sum(neighbours).astype(jnp.float32) / jnp.maximum(count, 1).astype(jnp.float32)


def _ordered(state: State, order: Int[Array, "rods"]) -> State:
    arrays = ("pos", "theta", "direction", "activity", "rest", "id", "row")
    return state._replace(**{name: gather(getattr(state, name), order) for name in arrays})
