# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces on a rod that no rod exerts: those of obstacles, and of a hand that pushes or pulls.

An obstacle pushes as another rod does, with the contact stiffness `k_cc`: at the point of the core
that is deepest in it, along the shortest way out, by how far the rod's surface has come in, at most
a body width. So a rod that an obstacle is put on is pushed out at a speed that is safe. All of this
is ours: equations (12) and (13) of docs/model.md.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from engine.geometry import Number, periodic_displacement
from engine.interaction import Rod, Scalar
from engine.params import Params

# A point of the core counts as less deep than it is, at an end by this share of a body width, so
# that a rod which lies flat against a wall is pushed at its middle and does not rattle.
FLAT = 0.02
# Half the size of an obstacle without end, in sides of the periodic box.
ENDLESS = 4.0


class Wall(NamedTuple):
    """One obstacle: its centre, half of its width and of its height, and its radius."""

    x: Scalar
    y: Scalar
    half_width: Scalar
    half_height: Scalar
    radius: Scalar


class Push(NamedTuple):
    """Force (fx, fy) and torque on a rod."""

    x: Scalar
    y: Scalar
    torque: Scalar


class Way(NamedTuple):
    """How far a point is from an obstacle, negative inside, and the unit vector out of it."""

    distance: Scalar
    x: Scalar
    y: Scalar


class Contact(NamedTuple):
    """Where on its core, from its centre, a rod is touched, and the way out from there."""

    s: Scalar
    way: Way


def way_out(x: Scalar, y: Scalar, wall: Wall, space_size: Number) -> Way:
    """From the point that lies at (x, y) from the obstacle's centre, in its nearest image."""
    x, y = periodic_displacement(x, space_size), periodic_displacement(y, space_size)
    out_x, out_y = jnp.abs(x) - wall.half_width, jnp.abs(y) - wall.half_height
    sideways = out_x > out_y
    inside = jnp.maximum(out_x, out_y) <= 0
    near_x, near_y = jnp.maximum(out_x, 0), jnp.maximum(out_y, 0)
    outside = jnp.sqrt(near_x * near_x + near_y * near_y)
    per_distance = 1 / jnp.where(inside, 1, outside)
    sign_x, sign_y = jnp.where(x < 0, -1, 1), jnp.where(y < 0, -1, 1)
    return Way(
        jnp.where(inside, jnp.maximum(out_x, out_y), outside) - wall.radius,
        sign_x * jnp.where(inside, sideways.astype(x.dtype), near_x * per_distance),
        sign_y * jnp.where(inside, 1 - sideways.astype(x.dtype), near_y * per_distance),
    )


def beside(x: Scalar, y: Scalar, rod: Rod, wall: Wall, bend: Number, params: Params) -> Contact:
    """Where an obstacle touches a rod whose core does not cross its rectangle.

    At the s that minimises the distance from it plus `bend` s². Both are convex along a line, so
    that is at an end of the core, beside a corner, or where the distance from a side falls as fast
    as the other term rises: the least of these is the one.
    """
    box, half = params.space_size, 0.5 * params.length
    sides = jnp.array([-1.0, 1.0])
    corner_x = periodic_displacement(sides * wall.half_width - x, box) * rod.cos
    corner_y = periodic_displacement(sides * wall.half_height - y, box) * rod.sin
    points = (
        sides * half, sides * (rod.cos / (2 * bend)), sides * (rod.sin / (2 * bend)),
        (corner_x[:, None] + corner_y[None, :]).ravel(),
    )  # fmt: skip
    along = jnp.clip(jnp.concatenate(points), -half, half)
    ways = way_out(x + along * rod.cos, y + along * rod.sin, wall, box)
    best = jnp.argmin(ways.distance + bend * along * along)
    return Contact(along[best], jax.tree.map(lambda each: each[best], ways))


def across(x: Scalar, y: Scalar, rod: Rod, wall: Wall, bend: Number, params: Params) -> Contact:
    """The same for a core that crosses the rectangle: out of the side that is nearest to all of it.

    So a rod on which an obstacle was put finds one way out.
    """
    half = 0.5 * params.length
    # In rows the ways along x and y, in columns back and forth.
    sides = jnp.array([[-1.0, 1.0]])
    along, across = (jnp.stack(pair)[:, None] for pair in ((rod.cos, rod.sin), (rod.sin, rod.cos)))
    center, beyond = (jnp.stack(pair)[:, None] for pair in ((x, y), (y, x)))
    size, other = (
        jnp.stack(pair)[:, None]
        for pair in ((wall.half_width, wall.half_height), (wall.half_height, wall.half_width))
    )
    # The part of the core between the two lines along the sides that it leaves through.
    level = jnp.abs(across) < 1e-6
    ends = (sides * other - beyond) / jnp.where(level, 1, across)
    low = jnp.where(level, -half, jnp.clip(jnp.min(ends, axis=1, keepdims=True), -half, half))
    high = jnp.where(level, half, jnp.clip(jnp.max(ends, axis=1, keepdims=True), -half, half))
    farthest = jnp.where(sides * along > 0, low, high)
    depth = (size - sides * (center + farthest * along)).ravel()
    s = jnp.clip(-sides * along / (2 * bend), low, high).ravel()
    best = jnp.argmin(depth)
    out = jnp.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])[best]
    return Contact(s[best], Way(-depth[best] - wall.radius, out[0], out[1]))


def crosses(x: Scalar, y: Scalar, rod: Rod, wall: Wall, params: Params) -> Bool[Array, "..."]:
    """Whether a core crosses the rectangle: no line along a side or the core parts them."""
    half = 0.5 * params.length
    cos, sin = jnp.abs(rod.cos), jnp.abs(rod.sin)
    return (
        (jnp.abs(x) < wall.half_width + half * cos)
        & (jnp.abs(y) < wall.half_height + half * sin)
        & (jnp.abs(x * rod.sin - y * rod.cos) < wall.half_width * sin + wall.half_height * cos)
    )


def obstacle_push(rod: Rod, wall: Wall, params: Params) -> Push:
    """What one rod takes from one obstacle."""
    box, width = params.space_size, 2 * params.radius
    half_width, half_height = (
        jnp.where(2 * half < box, half, ENDLESS * box)
        for half in (wall.half_width, wall.half_height)
    )
    wall = wall._replace(half_width=half_width, half_height=half_height)
    x = periodic_displacement(rod.x - wall.x, box)
    y = periodic_displacement(rod.y - wall.y, box)
    bend = 4 * FLAT * width / (params.length * params.length)
    where = crosses(x, y, rod, wall, params)
    contact = jax.tree.map(
        lambda a, b: jnp.where(where, a, b),
        across(x, y, rod, wall, bend, params), beside(x, y, rod, wall, bend, params),
    )  # fmt: skip
    push = params.k_cc * jnp.clip(params.radius - contact.way.distance, 0, width)
    force_x, force_y = push * contact.way.x, push * contact.way.y
    return Push(force_x, force_y, contact.s * (rod.cos * force_y - rod.sin * force_x))


def hand_push(rods: Rod, params: Params) -> Push:
    """A hand at (push_x, push_y) pushes rods' centres away, or pulls for `push_force` below 0.

    4 push_force q (1 - q) at the distance q push_range, so at most push_force, and 0 at the hand.
    """
    box, within = params.space_size, params.push_range
    x = periodic_displacement(rods.x - params.push_x, box)
    y = periodic_displacement(rods.y - params.push_y, box)
    part = jnp.sqrt(x * x + y * y) / within
    # Times the unit vector (x, y) / (q push_range).
    per_length = 4 * params.push_force * jnp.maximum(1 - part, 0) / within
    return Push(per_length * x, per_length * y, jnp.zeros_like(x))


def external(
    rods: Rod, obstacles: Float[Array, "places 5"], count: Int[Array, ""], params: Params
) -> tuple[Float[Array, "rods 2"], Float[Array, "rods"]]:
    """Force (N, 2) and torque (N,) of the hand and the first `count` obstacles on each rod.

    Without either this costs next to nothing.
    """
    zero = jnp.zeros_like(rods.x)
    begin = lax.cond(
        params.push_force == 0,
        lambda: Push(zero, zero, zero),
        lambda: hand_push(rods, params),
    )

    def add(number: Int[Array, ""], total: Push) -> Push:
        wall = Wall(*obstacles[number])
        push = jax.vmap(lambda rod: obstacle_push(rod, wall, params))(rods)
        return Push(*(a + b for a, b in zip(total, push, strict=True)))

    total = lax.fori_loop(0, count, add, begin)
    return jnp.stack([total.x, total.y], axis=1), total.torque
