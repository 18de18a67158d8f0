# SPDX-License-Identifier: GPL-3.0-or-later
"""Order parameters and averages, on the device as part of each snapshot."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


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
    theta: Float[Array, "rods"],
    activity: Float[Array, "rods"],
    speed: Float[Array, "rods"],
    alive: Bool[Array, "rods"],
) -> Observables:
    """The observables of rods with angles `theta`, `activity` and `speed`, each (N,).

    `alive` (N,) is false for places that hold no rod, which count for nothing.
    """
    count = jnp.maximum(jnp.sum(alive), 1).astype(theta.dtype)

    def mean(values: Array) -> Array:
        return jnp.sum(jnp.where(alive, values, 0)) / count

    def order(multiple: int) -> Array:
        return jnp.hypot(mean(jnp.cos(multiple * theta)), mean(jnp.sin(multiple * theta)))

    active = (activity > 0.5).astype(activity.dtype)
    return Observables(mean(active), mean(activity), order(1), order(2), mean(speed))
