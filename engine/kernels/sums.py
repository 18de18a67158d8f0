# SPDX-License-Identifier: GPL-3.0-or-later
"""What every kernel takes and returns."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Array, Float, Int

from engine.interaction import Rod
from engine.params import Physics
from engine.state import NeighbourList


class PairSums(NamedTuple):
    """Sums over all other rods.

    `force` (N, 2), `torque` (N,), and `local_density` (N,), which is what each rod senses.
    """

    force: Float[Array, "rods 2"]
    torque: Float[Array, "rods"]
    local_density: Float[Array, "rods"]


# `rods` are arrays (N,), of which the first `count` are rods. Kernels without a list ignore it.
Kernel = Callable[[Rod, Int[Array, ""], Physics, NeighbourList | None], PairSums]
