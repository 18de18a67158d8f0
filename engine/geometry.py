# SPDX-License-Identifier: GPL-3.0-or-later
"""Geometry of rods in a periodic plane, for single rods.

Every function is made of elementwise arithmetic, so it serves scalars and arrays alike and never
needs to know how pairs are arranged. Equations are those of docs/model.md.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from engine.params import Physics

Scalar = Float[Array, "..."]
# A parameter: traced in the compiled program, a plain number elsewhere.
Number = Scalar | float

# The regularisation of the contact points, ε = CONTACT_EPSILON (2R/ℓ)². With ε = 0 the closest
# point of two nearly parallel rods jumps from tip to tip, and in float32 it differs between (i, j)
# and (j, i), so torques do not cancel. The price: distances of true contacts (0.8 to 1 body width)
# are off by at most 2.4 % of a width for aspect ratios 2 to 16. Below dt F d/(2ζ_R), F the contact
# force, the contact chatters again; with the time-step rule this value holds up to overlaps of
# half a width.
CONTACT_EPSILON = 0.16


class ContactPoints(NamedTuple):
    """Where two rods are nearest.

    Signed distances `s`, `t` from the centres along the rods, and the vector (`x`, `y`) from the
    neighbour's point to the main rod's.
    """

    s: Scalar
    t: Scalar
    x: Scalar
    y: Scalar


def periodic_displacement(delta: Scalar, space_size: Number) -> Scalar:
    """The shortest image of a difference of coordinates, in [-L/2, L/2]."""
    images = lax.round(delta * (1 / space_size), lax.RoundingMethod.TO_NEAREST_EVEN)
    return delta - space_size * images


def displacement(delta: Scalar, params: Physics) -> Scalar:
    """The shortest way that a difference of coordinates stands for; within walls that itself."""
    return periodic_displacement(delta, params.space_size) if params.periodic else delta


def wrap_position(pos: Scalar, space_size: Number) -> tuple[Scalar, Scalar]:
    """`pos` folded into [0, L), and what rounding took from it there.

    A rod that leaves the box at 0 comes back near L, where float32 is coarse: without the second a
    slow one would never pass.
    """
    shift = space_size * jnp.floor(pos / space_size)
    wrapped = pos - shift
    lost = pos - (wrapped + shift)
    # -1e-6 + L is exactly L in float32, and far from the box a rounding falls outside it. NaN stays
    # NaN, so that the step which made it is refused.
    return jnp.where((wrapped < 0) | (wrapped >= space_size), 0, wrapped), lost


def wrap_angle(theta: Scalar) -> Scalar:
    """`theta` folded into [-π, π], where float32 resolves the smallest turns."""
    return periodic_displacement(theta, 2 * math.pi)


def closest_points(
    rx: Scalar, ry: Scalar,
    main_cos: Scalar, main_sin: Scalar, neighb_cos: Scalar, neighb_sin: Scalar,
    length: Number, epsilon: Number,
) -> ContactPoints:  # fmt: skip
    """Contact points of two rods whose centres differ by (rx, ry) = main - neighbour.

    They minimise |r + s û - t v̂|² + ε(s² + t²) over |s|, |t| ≤ ℓ/2 (ours; see CONTACT_EPSILON).
    The result is the same seen from either rod, and the midpoint for parallel rods side by side.
    """
    half = 0.5 * length
    cross = main_cos * neighb_sin - main_sin * neighb_cos
    dot = main_cos * neighb_cos + main_sin * neighb_sin
    along_main = main_cos * rx + main_sin * ry
    along_neighb = neighb_cos * rx + neighb_sin * ry
    across_neighb = neighb_cos * ry - neighb_sin * rx
    shrink = 1 / (1 + epsilon)
    # cross² in place of 1 - dot²: the latter loses all digits for nearly parallel rods in float32.
    s = (cross * across_neighb - epsilon * along_main) / (cross * cross + epsilon * (2 + epsilon))
    s = _clamp(s, half)
    t = _clamp((dot * s + along_neighb) * shrink, half)
    s = _clamp((dot * t - along_main) * shrink, half)
    x = rx + s * main_cos - t * neighb_cos
    y = ry + s * main_sin - t * neighb_sin
    return ContactPoints(s, t, x, y)


def cores_meet(
    rx: Scalar, ry: Scalar,
    main_cos: Scalar, main_sin: Scalar, neighb_cos: Scalar, neighb_sin: Scalar,
    length: Number,
) -> Bool[Array, "..."]:  # fmt: skip
    """Whether two core lines have a point in common; centres differ by (rx, ry).

    Their lines meet at s = -(r × v̂)/(û × v̂), t = -(r × û)/(û × v̂), which must both be on a core.
    Without the division that holds for parallel cores as well: both products must be 0 then, so
    that they are on one line, and the last condition tells whether they reach each other.
    """
    half = 0.5 * length
    cross = jnp.abs(main_cos * neighb_sin - main_sin * neighb_cos)
    return (
        (jnp.abs(rx * neighb_sin - ry * neighb_cos) <= half * cross)
        & (jnp.abs(rx * main_sin - ry * main_cos) <= half * cross)
        & (jnp.abs(rx * main_cos + ry * main_sin) <= length)
    )


def _clamp(value: Scalar, half: Number) -> Scalar:
    return jnp.minimum(jnp.maximum(value, -half), half)


def endpoints(
    pos: Float[Array, "*rods 2"], theta: Float[Array, "*rods"], length: Number
) -> tuple[Float[Array, "*rods 2"], Float[Array, "*rods 2"]]:
    """The two ends (p, q) of each core line, p at the head; not wrapped into the box."""
    half = 0.5 * length * jnp.stack([jnp.cos(theta), jnp.sin(theta)], axis=-1)
    return pos + half, pos - half


def mean_neighbours(density: Number, length: Number, distance: Number) -> Number:
    """ρ (2ℓ²/π + 4ℓD + πD²): how many rods have a core nearer than D to that of one rod.

    For random places and angles, with `density` rods an area (excluded area of two spherocylinders,
    Onsager 1949, averaged over angles).
    """
    area = 2 * length * length / math.pi + 4 * length * distance + math.pi * distance * distance
    return density * area
