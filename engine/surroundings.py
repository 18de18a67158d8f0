# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces on a rod that no rod exerts: of walls, obstacles, and a hand that pushes or pulls.

An obstacle pushes as another rod does, with the contact stiffness `k_cc`: at the point of the core
that is deepest in it, along the shortest way out, by how far the rod's surface has come in, at most
a body width. So a rod that an obstacle is put on is pushed out at a speed that is safe. All of this
is ours: equations (12) and (13) of docs/model.md.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Complex, Float, Int

from engine.geometry import Number, displacement
from engine.interaction import Rod, Scalar, root_of_overlap
from engine.params import Physics
from engine.walls import FLAT, Push, wall_push

# Half the size of an obstacle without end, in sides of the periodic box.
ENDLESS = 4.0


class Wall(NamedTuple):
    """One obstacle: its centre, half of its width and of its height, and its radius."""

    x: Scalar
    y: Scalar
    half_width: Scalar
    half_height: Scalar
    radius: Scalar


# The least value so far and what belongs to it, as one complex number: XLA's CPU backend compiles
# each output of a loop anew, with all that leads to it. A loop over the few candidates, not an
# array of them, is four times faster there and takes half as long to compile.
Choice = Complex[Array, "..."]


class Way(NamedTuple):
    """How far a point is from an obstacle, negative inside, and the unit vector out of it."""

    distance: Scalar
    x: Scalar
    y: Scalar


class Contact(NamedTuple):
    """Where on its core, from its centre, a rod is touched, and the way out from there."""

    s: Scalar
    way: Way


def way_out(x: Scalar, y: Scalar, wall: Wall, params: Physics) -> Way:
    """From the point that lies at (x, y) from the obstacle's centre, in its nearest image."""
    x, y = displacement(x, params), displacement(y, params)
    out_x, out_y = jnp.abs(x) - wall.half_width, jnp.abs(y) - wall.half_height
    sideways = out_x > out_y
    inside = jnp.maximum(out_x, out_y) <= 0
    near_x, near_y = jnp.maximum(out_x, 0), jnp.maximum(out_y, 0)
    # Where it is not used the root is of 1, since the gradient of that of 0 is not finite.
    outside = jnp.sqrt(jnp.where(inside, 1, near_x * near_x + near_y * near_y))
    per_distance = 1 / outside
    sign_x, sign_y = jnp.where(x < 0, -1, 1), jnp.where(y < 0, -1, 1)
    return Way(
        jnp.where(inside, jnp.maximum(out_x, out_y), outside) - wall.radius,
        sign_x * jnp.where(inside, sideways.astype(x.dtype), near_x * per_distance),
        sign_y * jnp.where(inside, 1 - sideways.astype(x.dtype), near_y * per_distance),
    )


def beside(x: Scalar, y: Scalar, rod: Rod, wall: Wall, bend: Number, params: Physics) -> Contact:
    """Where an obstacle touches a rod whose core does not cross its rectangle.

    At the s that minimises the distance from it plus `bend` s². Both are convex along a line, so
    that is at an end of the core, beside a corner, or where the distance from a side falls as fast
    as the other term rises: the least of these ten is the one.
    """
    half = 0.5 * params.length

    def nearer(k: Int[Array, ""], best: Choice) -> Choice:
        # Two ends, then where distances from the sides fall so, then corners.
        first, odd = (k & 2) == 2, (k & 1) == 1
        side, other = jnp.where(odd, 1.0, -1.0), jnp.where(first, -1.0, 1.0)
        corner_x = displacement(side * wall.half_width - x, params) * rod.cos
        corner_y = displacement(other * wall.half_height - y, params) * rod.sin
        level = jnp.where(first, rod.cos, rod.sin) * (side / (2 * bend))
        s = jnp.where(k < 2, side * half, jnp.where(k < 6, level, corner_x + corner_y))
        s = jnp.clip(s, -half, half)
        way = way_out(x + s * rod.cos, y + s * rod.sin, wall, params)
        value = way.distance + bend * s * s
        return jnp.where(value < best.real, lax.complex(value, s), best)

    s = lax.fori_loop(0, 10, nearer, _none(x), unroll=_at_once()).imag
    return Contact(s, way_out(x + s * rod.cos, y + s * rod.sin, wall, params))


def across(x: Scalar, y: Scalar, rod: Rod, wall: Wall, bend: Number, params: Physics) -> Contact:
    """The same for a core that crosses the rectangle: out of the side that is nearest to all of it.

    So a rod on which an obstacle was put finds one way out.
    """
    half = 0.5 * params.length

    def nearer(k: Int[Array, ""], best: tuple[Choice, Choice]) -> tuple[Choice, Choice]:
        sideways, side = k < 2, jnp.where((k & 1) == 1, 1.0, -1.0)
        along, across = _swap(sideways, rod.cos, rod.sin)
        center, beyond = _swap(sideways, x, y)
        size, other = _swap(sideways, wall.half_width, wall.half_height)
        # The part of the core between the two lines along the sides that it leaves through.
        level = jnp.abs(across) < 1e-6
        per_across = 1 / jnp.where(level, 1, across)
        one, two = (-other - beyond) * per_across, (other - beyond) * per_across
        low = jnp.where(level, -half, jnp.clip(jnp.minimum(one, two), -half, half))
        high = jnp.where(level, half, jnp.clip(jnp.maximum(one, two), -half, half))
        farthest = jnp.where(side * along > 0, low, high)
        depth = size - side * (center + farthest * along)
        s = jnp.clip(-side * along / (2 * bend), low, high)
        found = depth < best[0].real
        out = lax.complex(*_swap(sideways, side, jnp.zeros_like(side)))
        return jnp.where(found, lax.complex(depth, s), best[0]), jnp.where(found, out, best[1])

    begin = _none(x)
    best, out = lax.fori_loop(0, 4, nearer, (begin, jnp.zeros_like(begin)), unroll=_at_once())
    return Contact(best.imag, Way(-best.real - wall.radius, out.real, out.imag))


def _none(like: Scalar) -> Choice:
    return lax.complex(jnp.full_like(like, jnp.inf), jnp.zeros_like(like))


def _swap(keep: Bool[Array, ""], a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """(a, b), or (b, a) where it is not to be kept."""
    return jnp.where(keep, a, b), jnp.where(keep, b, a)


def _at_once() -> bool:
    """Whether loops over a few candidates are written out: on a GPU each turn costs a launch."""
    return jax.default_backend() != "cpu"


def crosses(x: Scalar, y: Scalar, rod: Rod, wall: Wall, params: Physics) -> Bool[Array, "..."]:
    """Whether a core crosses the rectangle: no line along a side or the core parts them."""
    half = 0.5 * params.length
    cos, sin = jnp.abs(rod.cos), jnp.abs(rod.sin)
    return (
        (jnp.abs(x) < wall.half_width + half * cos)
        & (jnp.abs(y) < wall.half_height + half * sin)
        & (jnp.abs(x * rod.sin - y * rod.cos) < wall.half_width * sin + wall.half_height * cos)
    )


def obstacle_push(rod: Rod, wall: Wall, params: Physics) -> Push:
    """What one rod, or each of an array of rods, takes from one obstacle."""
    box, width = params.space_size, 2 * params.radius
    half_width, half_height = (
        jnp.where(2 * half < box, half, ENDLESS * box)
        for half in (wall.half_width, wall.half_height)
    )
    wall = wall._replace(half_width=half_width, half_height=half_height)
    x = displacement(rod.x - wall.x, params)
    y = displacement(rod.y - wall.y, params)
    bend = 4 * FLAT * width / (params.length * params.length)
    where = crosses(x, y, rod, wall, params)
    contact = jax.tree.map(
        lambda a, b: jnp.where(where, a, b),
        across(x, y, rod, wall, bend, params), beside(x, y, rod, wall, bend, params),
    )  # fmt: skip
    overlap = jnp.clip(params.radius - contact.way.distance, 0, width)
    push = params.k_cc * overlap
    if params.contact == "hertz":
        push *= root_of_overlap(overlap / width)
    force_x, force_y = push * contact.way.x, push * contact.way.y
    return Push(force_x, force_y, contact.s * (rod.cos * force_y - rod.sin * force_x))


def hand_push(rods: Rod, params: Physics) -> Push:
    """A hand at (push_x, push_y) pushes rods' centres away, or pulls for `push_force` below 0.

    4 push_force q (1 - q) at the distance q push_range, so at most push_force, and 0 at the hand.
    """
    within = params.push_range
    x = displacement(rods.x - params.push_x, params)
    y = displacement(rods.y - params.push_y, params)
    squared = x * x + y * y
    # At the hand the gradient of the root would not be finite.
    part = jnp.sqrt(jnp.where(squared > 0, squared, 1e-30)) / within
    # Times the unit vector (x, y) / (q push_range).
    per_length = 4 * params.push_force * jnp.maximum(1 - part, 0) / within
    return Push(per_length * x, per_length * y, jnp.zeros_like(x))


def external(
    rods: Rod, obstacles: Float[Array, "places 5"], count: Int[Array, ""] | int, params: Physics
) -> tuple[Float[Array, "rods 2"], Float[Array, "rods"]]:
    """Force (N, 2) and torque (N,) of walls, hand and the first `count` obstacles on each rod.

    Without any of them this costs next to nothing. A plain number as `count` makes a loop that can
    be differentiated backwards.
    """
    zero = jnp.zeros_like(rods.x)
    begin = lax.cond(
        params.push_force == 0,
        lambda: Push(zero, zero, zero),
        lambda: hand_push(rods, params),
    )

    def add(number: Int[Array, ""], total: Push) -> Push:
        wall = Wall(*obstacles[number])
        return _sum(total, obstacle_push(rods, wall, params))

    if not params.periodic:
        begin = _sum(begin, wall_push(rods, params))
    total = lax.fori_loop(0, count, add, begin)
    return jnp.stack([total.x, total.y], axis=1), total.torque


def _sum(one: Push, other: Push) -> Push:
    return Push(*(a + b for a, b in zip(one, other, strict=True)))
