# SPDX-License-Identifier: GPL-3.0-or-later
"""Order parameters and averages, on the device as part of each snapshot."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Observables(NamedTuple):
    """Averages over all rods.

    `active_fraction`: share of rods with activity above 1/2. `polar_order` |⟨û⟩| and
    `nematic_order` |⟨exp 2iθ⟩| are 1 for aligned rods and about √(π/4N) for random ones.
    `mean_speed`: ⟨|ẋ|⟩ over the last step; NaN in a snapshot before the first one.
    """

    active_fraction: Float[Array, ""]
    mean_activity: Float[Array, ""]
    polar_order: Float[Array, ""]
    nematic_order: Float[Array, ""]
    mean_speed: Float[Array, ""]


def observe(
    direction: Float[Array, "rods 2"],
    activity: Float[Array, "rods"],
    speed: Float[Array, ""],
    alive: Bool[Array, "rods"],
) -> Observables:
    """The observables of rods with `direction` (cos θ, sin θ) and `activity`.

    `speed` is the sum of theirs. `alive` (N,) is false for places that hold no rod, which count for
    nothing.
    """
    count = jnp.maximum(jnp.sum(alive), 1).astype(activity.dtype)
    cos, sin = direction.T
    # Together, so that they are one pass.
    averaged = jnp.stack([
        (activity > 0.5).astype(activity.dtype), activity,
        cos, sin, cos * cos - sin * sin, 2 * cos * sin,
    ])  # fmt: skip
    means = jnp.sum(jnp.where(alive[None, :], averaged, 0), axis=1) / count
    active_fraction, mean_activity = means[:2]
    polar = jnp.sqrt(means[2] * means[2] + means[3] * means[3])
    nematic = jnp.sqrt(means[4] * means[4] + means[5] * means[5])
    return Observables(active_fraction, mean_activity, polar, nematic, speed / count)
