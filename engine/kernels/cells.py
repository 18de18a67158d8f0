# SPDX-License-Identifier: GPL-3.0-or-later
"""A grid of fine cells: rods in its order, and for each rod the runs of rods that may be near.

Rows are as high as the search reaches, so three of them hold all that is near. Within a row cells
are narrow, so the rods of a row lie almost in order of x, and those that are near one rod are one
run of each row. The grid in use is traced; only the number of cells that may be has a capacity,
which the grid is made to fit.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from engine.geometry import Number
from engine.kernels.gather import gather

# Cells for each rod. Finer cells mean fewer rods to a cell, and shorter runs, but more to add up.
CELLS_A_ROD = 2

Index = Int[Array, "rods"]


class Grid(NamedTuple):
    """`rows` × `columns` cells on a box of side `space_size`."""

    rows: Int[Array, ""]
    columns: Int[Array, ""]
    space_size: Number

    def row(self, y: Float[Array, "rods"]) -> Index:
        """The row of each y in [0, L)."""
        row = y * (self.rows.astype(y.dtype) / self.space_size)
        return jnp.minimum(row.astype(jnp.int32), self.rows - 1)

    def column(self, x: Float[Array, "rods"]) -> Index:
        """The column of each x, counted on beyond the box."""
        column = x * (self.columns.astype(x.dtype) / self.space_size)
        return jnp.floor(column).astype(jnp.int32)


# For each rod three runs of ranks (4, 3, N), one in each of three rows, which may wrap round their
# row: where each begins, how many ranks it has, where its row ends, and how many ranks earlier the
# row begins, where the run then goes on.
Runs = Int[Array, "4 3 rods"]
BEGIN, LENGTH, END, AROUND = range(4)


def candidate(runs: Runs, t: Int[Array, "rods"]) -> Index:
    """The rank of each rod's candidate number `t`, which must be below the sum of its lengths."""
    second = runs[LENGTH, 0]
    third = second + runs[LENGTH, 1]

    def of_run(first: Index, then: Index, last: Index) -> Index:
        return jnp.where(t < second, first, jnp.where(t < third, then, last))

    begin = runs[BEGIN]
    rank = t + of_run(begin[0], begin[1] - second, begin[2] - third)
    return jnp.where(rank >= of_run(*runs[END]), rank - of_run(*runs[AROUND]), rank)


def grid_for(reach: Number, space_size: Number, rods: int) -> Grid:
    """The finest grid for `rods` places whose rows are at least `reach` high."""
    most = CELLS_A_ROD * rods
    rows = jnp.clip(jnp.floor(space_size / reach), 1, math.isqrt(most)).astype(jnp.int32)
    return Grid(rows, most // rows, space_size)


def in_order(
    grid: Grid, x: Float[Array, "rods"], y: Float[Array, "rods"], alive: Bool[Array, "rods"]
) -> tuple[Index, Int[Array, "cells"]]:
    """The order of the cells, and the rank at which each cell begins.

    `order[rank]` is the rod of that rank; rods of a cell keep their order, and empty places stay
    at the end. A counting sort: XLA's own takes five times as long. The rank inside a cell comes
    from rounds, in each of which the first rod left in each cell gets the next one.
    """
    size = x.size
    most = CELLS_A_ROD * size
    index = jnp.arange(size, dtype=jnp.int32)
    column = jnp.minimum(grid.column(x), grid.columns - 1)
    cell = jnp.where(alive, grid.row(y) * grid.columns + column, most)
    count = jnp.zeros(most + 1, jnp.int32).at[cell].add(1, mode="promise_in_bounds")
    start = running_sum(count) - count
    fullest = jnp.max(count[:most])

    def rounds(loop: tuple[Index, Bool[Array, "rods"], Array]) -> tuple:
        rank, left, taken = loop
        first = jnp.full(most + 1, size, jnp.int32)
        first = first.at[jnp.where(left, cell, most)].min(index, mode="promise_in_bounds")
        now = left & (gather(first, cell) == index)
        return jnp.where(now, taken, rank), left & ~now, taken + 1

    begin = (jnp.zeros(size, jnp.int32), alive, jnp.zeros((), jnp.int32))
    rank, _, _ = lax.while_loop(lambda loop: loop[2] < fullest, rounds, begin)
    place = jnp.where(alive, gather(start, cell) + rank, index)
    order = jnp.zeros(size, jnp.int32)
    order = order.at[place].set(index, mode="promise_in_bounds", unique_indices=True)
    return order, start


def running_sum(values: Int[Array, "cells"]) -> Int[Array, "cells"]:
    """The sums of `values` up to and with each of them.

    In log₂ n passes over all of them (Hillis & Steele 1986): one loop to compile, where XLA makes
    dozens of `jnp.cumsum`.
    """
    size = values.size

    def add_shifted(turn: Array, sums: Array) -> Array:
        padded = jnp.concatenate([jnp.zeros_like(sums), sums])
        return sums + lax.dynamic_slice(padded, (size - (1 << turn),), (size,))

    return lax.fori_loop(0, (size - 1).bit_length(), add_shifted, values)


def runs_near(
    grid: Grid,
    start: Int[Array, "cells"],
    x: Float[Array, "rods"],
    y: Float[Array, "rods"],
    reach: Number,
    alive: Bool[Array, "rods"],
) -> Runs:
    """The runs that hold every rod nearer than `reach` to each rod at (`x`, `y`), in any order."""
    row, columns = grid.row(y), grid.columns
    first, last = grid.column(x - reach), grid.column(x + reach)
    # A box of which the search takes in the whole breadth, or of fewer than three rows.
    whole = last - first + 1 >= columns
    wraps = (first < 0) | (last >= columns)
    first = jnp.clip(jnp.where(first < 0, first + columns, first), 0, columns - 1)
    last = jnp.clip(jnp.where(last >= columns, last - columns, last), 0, columns - 1)
    neighb = jnp.arange(3)[:, None]
    cell = jnp.mod(row[None, :] - 1 + neighb, grid.rows) * columns
    row_begin, row_end = gather(start, cell), gather(start, cell + columns)
    in_row = row_end - row_begin
    begin = gather(start, cell + first[None, :])
    length = gather(start, cell + last[None, :] + 1) - begin
    length = length + jnp.where(wraps[None, :], in_row, 0)
    begin = jnp.where(whole[None, :], row_begin, begin)
    length = jnp.where(whole[None, :], in_row, length)
    length = jnp.where(alive[None, :] & (neighb < grid.rows), length, 0)
    return jnp.stack([begin, length, row_end, in_row])
