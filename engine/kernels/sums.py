# SPDX-License-Identifier: GPL-3.0-or-later
"""What every kernel returns."""

from typing import NamedTuple

from jaxtyping import Array, Float


class PairSums(NamedTuple):
    """Sums over all other rods.

    `force` (N, 2), `torque` (N,), and `local_density` (N,), which is what each rod senses.
    """

    force: Float[Array, "rods 2"]
    torque: Float[Array, "rods"]
    local_density: Float[Array, "rods"]
