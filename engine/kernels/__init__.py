# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to sum the same interaction over all pairs, with one signature."""

from collections.abc import Callable

from engine.interaction import Rod
from engine.kernels import naive, rowsum
from engine.kernels.sums import PairSums
from engine.params import Params

Kernel = Callable[[Rod, Params], PairSums]

KERNELS: dict[str, Kernel] = {
    "rowsum": rowsum.per_particle_sum,
    "naive": naive.per_particle_sum,
}
