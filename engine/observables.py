# SPDX-License-Identifier: GPL-3.0-or-later
"""Order parameters and averages, on the device as part of each snapshot."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Observables(NamedTuple):
    """Averages over all rods.

    `active_fraction`: share of rods with activity above 1/2. `polar_order` |⟨û⟩| and
    `nematic_order` |⟨exp 2iθ⟩| are 1 for aligned rods and about √(π/4N) for random ones.
    `mean_speed`: ⟨|ẋ|⟩ over the last step.
    """

    active_fraction: Float[Array, ""]
    mean_activity: Float[Array, ""]
    polar_order: Float[Array, ""]
    nematic_order: Float[Array, ""]
    mean_speed: Float[Array, ""]


def observe(
    theta: Float[Array, "rods"], activity: Float[Array, "rods"], speed: Float[Array, "rods"]
) -> Observables:
    """The observables of rods with angles `theta`, `activity` and `speed`, each (N,)."""

    def order(multiple: int) -> Array:
        return jnp.hypot(jnp.cos(multiple * theta).mean(), jnp.sin(multiple * theta).mean())

    return Observables((activity > 0.5).mean(), activity.mean(), order(1), order(2), speed.mean())
