# SPDX-License-Identifier: GPL-3.0-or-later
"""What one rod takes from another: contact force, contact torque, and what it senses."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from engine.geometry import (
    CONTACT_EPSILON,
    ContactPoints,
    closest_points,
    displacement,
)
from engine.params import Physics

Scalar = Float[Array, "..."]


class Rod(NamedTuple):
    """One rod, or arrays of rods: centre (x, y), direction (cos θ, sin θ), activity in [0, 1].

    A direction, not two endpoints: endpoints lose float32 digits in large boxes.
    """

    x: Scalar
    y: Scalar
    cos: Scalar
    sin: Scalar
    activity: Scalar


class PairTerm(NamedTuple):
    """Force (fx, fy) and torque on the main rod, and the activity contribution it senses."""

    force_x: Scalar
    force_y: Scalar
    torque: Scalar
    sensed: Scalar


def contact_points(main: Rod, neighb: Rod, params: Physics) -> ContactPoints:
    """Where `main` and the nearest image of `neighb` touch, or would."""
    return closest_points(
        displacement(main.x - neighb.x, params),
        displacement(main.y - neighb.y, params),
        main.cos, main.sin, neighb.cos, neighb.sin,
        params.length, CONTACT_EPSILON * (2 * params.radius / params.length) ** 2,
    )  # fmt: skip


def single_pair_interaction(
    main: Rod, neighb: Rod, params: Physics, same: Bool[Array, "..."]
) -> PairTerm:
    """What the rod `main` takes from the rod `neighb`.

    Contact: F = k_cc δ e/|e|, after Hertz times √(δ/2R), δ = max(0, 2R - |e|), with e between the
    contact points; torque s û × F. Sensing: w_d + w_a activity where |e| < sensing_range, else 0
    (both ours, docs/model.md).
    `same` is true where both are the same rod, which takes nothing from itself.
    """
    contact = contact_points(main, neighb, params)
    # A rod is infinitely far from itself: masked before any division, in force and sensing alike.
    squared = jnp.where(same, jnp.inf, contact.x * contact.x + contact.y * contact.y)
    width = 2 * params.radius
    # Coincident contact points have no normal: what depends on it is 0, in force and gradient.
    per_distance = lax.rsqrt(jnp.where(squared > 1e-20, squared, jnp.inf))
    pressed = params.k_cc * (width * per_distance - 1)
    touching = squared < width * width
    if params.contact == "hertz":
        # Of those that touch alone: that of a rod to itself is ∞ · 0.
        distance = jnp.where(touching, squared, 0) * per_distance
        pressed *= root_of_overlap(1 - distance / width)
    push = jnp.where(touching, pressed, 0)
    force_x, force_y = push * contact.x, push * contact.y
    sensed = jnp.where(
        squared < params.sensing_range**2, params.w_d + params.w_a * neighb.activity, 0
    )
    return PairTerm(force_x, force_y, contact.s * (main.cos * force_y - main.sin * force_x), sensed)


def root_of_overlap(share: Scalar) -> Scalar:
    """√(δ/2R), by which a contact after Hertz is softer than one after Hooke; 0 without overlap.

    The floor gives it a derivative where rods only just touch.
    """
    return jnp.sqrt(jnp.maximum(share, 1e-12))
