# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to sum the same interaction over all pairs, with one signature."""

from engine.kernels import naive, neighbours, rowsum
from engine.kernels.sums import Kernel
from engine.params import Setup

KERNELS: dict[str, Kernel] = {
    "neighbours": neighbours.per_particle_sum,
    "rowsum": rowsum.per_particle_sum,
    "naive": naive.per_particle_sum,
}

# Below this many rods a step takes less than 0.04 ms either way, and the row sum compiles in less
# time; above, a neighbour list is the faster way (docs/performance.md).
CROSSOVER = 64


def resolve(setup: Setup) -> tuple[str, str]:
    """The kernel that `setup` asks for, and why, in words."""
    if setup.kernel != "auto":
        return setup.kernel, "as asked for"
    if setup.rods < CROSSOVER:
        return "rowsum", f"auto: fewer than {CROSSOVER} rods"
    return "neighbours", f"auto: {CROSSOVER} rods or more"


def is_listed(kernel: str) -> bool:
    """Whether `kernel` sums over a neighbour list, which the state then has."""
    return kernel == "neighbours"
