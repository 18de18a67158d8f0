# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rod takes from the wall around the box: equations (15) and (16) of docs/model.md.

A wall pushes as an obstacle does, with the contact stiffness `k_cc`, by how far the rod's surface
has come in, at most a body width. All of this is ours.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from engine.boundary import CIRCLE
from engine.geometry import Number, Scalar
from engine.interaction import Rod, root_of_overlap
from engine.params import Physics

# A point of the core counts as less deep than it is, at an end by this share of a body width, so
# that a rod which lies flat against a wall is pushed at its middle and does not rattle.
FLAT = 0.02
# Of 1 and the largest number of float32 below it.
_LAST = 1 - 2.0**-24


class Push(NamedTuple):
    """Force (fx, fy) and torque on a rod."""

    x: Scalar
    y: Scalar
    torque: Scalar


def wall_push(rods: Rod, params: Physics) -> Push:
    """What each of `rods` takes from the wall, where there is one."""
    is_round = params.boundary == CIRCLE
    return _round_push(rods, params) if is_round else _straight_push(rods, params)


def _pressed(depth: Scalar, params: Physics) -> Scalar:
    """The force on a rod whose core is so far inside of a wall."""
    width = 2 * params.radius
    overlap = jnp.clip(params.radius - depth, 0, width)
    push = params.k_cc * overlap
    return push * root_of_overlap(overlap / width) if params.contact == "hertz" else push


def _straight_push(rods: Rod, params: Physics) -> Push:
    """Of four straight walls. Each touches as an obstacle does, with the same small term.

    So a rod that lies flat against one is pushed at its middle. The farther wall of two touches at
    the mirror image of where the nearer one does.
    """
    half, side = 0.5 * params.length, params.space_size
    per_bend = params.length * params.length / (16 * FLAT * params.radius)

    def of_pair(at: Scalar, along: Scalar) -> tuple[Scalar, Scalar]:
        """The force of the walls at 0 and at L, and their torque over the arm's direction."""
        s = jnp.clip(-along * per_bend, -half, half)
        near, far = at + s * along, side - at + s * along
        low, high = _pressed(near, params), _pressed(far, params)
        return low - high, s * (low + high)

    force_x, turn_x = of_pair(rods.x, rods.cos)
    force_y, turn_y = of_pair(rods.y, rods.sin)
    return Push(force_x, force_y, turn_y * rods.cos - turn_x * rods.sin)


def _round_push(rods: Rod, params: Physics) -> Push:
    """Of a round wall, which meets the two ends of a core: no other point of it is as far out."""
    half, middle = 0.5 * params.length, 0.5 * params.space_size

    def of_end(arm: Number) -> Push:
        x = rods.x - middle + arm * rods.cos
        y = rods.y - middle + arm * rods.sin
        # The floor gives it a derivative in the middle, where no wall reaches.
        out = jnp.sqrt(jnp.maximum(x * x + y * y, 1e-20))
        inward = _pressed(middle - out, params) / out
        force_x, force_y = -inward * x, -inward * y
        return Push(force_x, force_y, arm * (rods.cos * force_y - rods.sin * force_x))

    head, tail = of_end(half), of_end(-half)
    return Push(head.x + tail.x, head.y + tail.y, head.torque + tail.torque)


def held(pos: Float[Array, "rods 2"], params: Physics) -> Float[Array, "rods 2"]:
    """`pos` with centres that would be beyond the wall put back to it; others keep their bits.

    A wall is as soft as a rod: a crowd that presses hard enough, or a thrust above `k_cc` times the
    body width, would push a rod out otherwise.
    """
    if params.boundary == CIRCLE:
        middle = 0.5 * params.space_size
        away = pos - middle
        square = away[:, :1] * away[:, :1] + away[:, 1:] * away[:, 1:]
        out = jnp.sqrt(jnp.maximum(square, 1e-20))
        pos = jnp.where(out > middle, middle + away * (middle / out), pos)
    # Not by `clip`, so that NaN stays NaN and the step that made it is refused.
    last = params.space_size * _LAST
    return jnp.where(pos < 0, 0, jnp.where(pos > last, last, pos))
