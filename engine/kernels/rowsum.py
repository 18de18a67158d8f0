# SPDX-License-Identifier: GPL-3.0-or-later
"""Row sums in blocks: no N × N array, and no pair that is out of reach along x.

`vmap` followed by `sum` is not a row-summed kernel: XLA materialises the pair terms before it
reduces them. So the blocks are explicit. Rods are sorted along x; a block of rows walks over the
blocks of columns that its strip of the box can reach, and adds their terms to accumulators the
size of one block. Memory is O(N); work is O(N²) in a small box and O(N^3/2) in a large one, and
nothing has a capacity that could overflow.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float, Int

from engine.geometry import Number
from engine.interaction import Rod, single_pair_interaction
from engine.kernels.sums import PairSums
from engine.params import Params, Physics
from engine.state import NeighbourList

Indexed = tuple[Rod, Int[Array, "..."]]


def per_particle_sum(
    rods: Rod,
    count: Int[Array, ""],
    params: Physics,
    neighbours: NeighbourList | None = None,
    block: tuple[int, int] | None = None,
    *,
    backwards: bool = False,
) -> PairSums:
    """Sums over all pairs of the first `count` of `rods`, arrays (N,); temporary memory O(N).

    `block` is how many rows and columns are summed at a time, by default what suits the device.
    `backwards` makes loops of fixed length, which alone can be differentiated backwards; the sums
    are the same.
    """
    n = rods.x.size
    rows, columns = (min(n, side) for side in block or _block_shape(jax.default_backend()))
    index = jnp.arange(n)
    # Empty places come last. Order and reach are whole numbers, which have no gradient.
    x = lax.stop_gradient(rods.x)
    order = jnp.argsort(jnp.where(index < count, x, jnp.inf))
    ordered = (Rod(*[values[order] for values in rods]), jnp.where(index < count, index, -1))
    main_blocks, neighb_blocks = _blocks(ordered, rows), _blocks(ordered, columns)
    reach = _columns_in_reach(x[order], count, rows, columns, params)
    blocks = _blocks_of(count, columns)

    def sum_of_rows(block: tuple[Indexed, Array, Array]) -> tuple[Array, Array]:
        main, first, turns = block
        return _sum_of_rows(main, first, turns, blocks, neighb_blocks, params, backwards)

    sums = lax.map(sum_of_rows, (main_blocks, *reach))
    place = jnp.zeros_like(order).at[order].set(jnp.arange(n), unique_indices=True)
    force, other = (block.reshape(-1)[place] for block in sums)
    return PairSums(jnp.stack([force.real, force.imag], axis=1), other.real, other.imag)


def _block_shape(platform: str) -> tuple[int, int]:
    """Rows and columns of one block.

    On a CPU a block must be long against the microsecond that a turn of a compiled loop costs, its
    accumulators should fit the cache, and a narrow strip reaches few columns; a GPU must be filled.
    """
    return (64, 64) if platform == "cpu" else (2**12, 2**9)


def _blocks(indexed: Indexed, size: int) -> Indexed:
    """Each array (N,) as (blocks, size); the index of padding is -1."""

    def cut(values: Array, padding: int) -> Array:
        missing = -values.size % size
        return jnp.pad(values, (0, missing), constant_values=padding).reshape(-1, size)

    rods, index = indexed
    return Rod(*[cut(values, 0) for values in rods]), cut(index, -1)


def _blocks_of(count: Int[Array, ""], columns: int) -> Int[Array, ""]:
    """The number of blocks of columns that hold rods."""
    return jnp.maximum((count + columns - 1) // columns, 1)


def _columns_in_reach(
    x: Float[Array, "rods"], count: Int[Array, ""], rows: int, columns: int, params: Params
) -> tuple[Int[Array, "blocks"], Int[Array, "blocks"]]:
    """For each block of rows the first block of columns that it can reach and how many follow it.

    Blocks are counted round the periodic box, so the first may be negative. The first `count` of
    `x` (N,) are sorted; a block of empty places reaches nothing.
    """
    blocks = _blocks_of(count, columns)
    begin = jnp.arange(0, x.size, rows)
    start = jnp.minimum(begin, jnp.maximum(count - 1, 0))
    stop = jnp.clip(begin + rows, 1, jnp.maximum(count, 1))
    x = jnp.where(jnp.arange(x.size) < count, x, jnp.inf)
    # Centres farther apart than this share no contact and sense nothing. The allowance covers the
    # rounding of positions.
    reach = params.length + jnp.maximum(2 * params.radius, params.sensing_range)
    reach = reach * (1 + 1e-5) + params.space_size * 1e-6
    turns, rank = _rank(x, x[start] - reach, params.space_size, "left")
    first = turns * blocks + rank // columns
    turns, rank = _rank(x, x[stop - 1] + reach, params.space_size, "right")
    last = turns * blocks + (rank - 1) // columns
    return first, jnp.where(begin < count, jnp.minimum(last - first + 1, blocks), 0)


def _rank(
    x: Float[Array, "rods"], at: Float[Array, "blocks"], space_size: Number, side: str
) -> tuple[Int[Array, "blocks"], Int[Array, "blocks"]]:
    """Which image of the box `at` lies in, and how many of the sorted `x` lie before it there."""
    turns = jnp.floor(at / space_size)
    rank = jnp.searchsorted(x, lax.stop_gradient(at - turns * space_size), side=side)
    return turns.astype(int), rank.astype(int)


def _sum_of_rows(
    main: Indexed,
    first: Array,
    turns: Array,
    blocks: Array,
    neighb_blocks: Indexed,
    params: Physics,
    backwards: bool,
) -> tuple[Complex[Array, "rows"], Complex[Array, "rows"]]:
    """The sums of one block of rows: force as x + i y, and torque + i local density.

    Complex, because XLA's CPU backend compiles each output of a stage to a loop of its own that
    computes the pair again: two outputs cost half of four.
    """
    rods, i = jax.tree.map(lambda values: values[None, :], main)
    columns = neighb_blocks[1].shape[1]

    def add_columns(b: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        block = jnp.mod(first + b, blocks)
        neighb, j = jax.tree.map(lambda values: values[block][:, None], neighb_blocks)
        empty = (i < 0) | (j < 0)
        term = single_pair_interaction(rods, neighb, params, (i == j) | empty)
        force, other = sums
        return (
            force + lax.complex(term.force_x, term.force_y),
            other + lax.complex(term.torque, term.sensed),
        )

    zero = lax.complex(*[jnp.zeros((columns, i.size), rods.x.dtype)] * 2)
    if backwards:
        # What a block is made of is computed again for its gradient, not kept.
        add = jax.checkpoint(add_columns)

        def add_if_in_reach(b: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
            return lax.cond(b < turns, add, lambda _, sums: sums, b, sums)

        force, other = lax.fori_loop(0, neighb_blocks[1].shape[0], add_if_in_reach, (zero, zero))
    else:
        force, other = lax.fori_loop(0, turns, add_columns, (zero, zero))
    return force.sum(axis=0), other.sum(axis=0)
