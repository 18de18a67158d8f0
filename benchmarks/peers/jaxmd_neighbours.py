# SPDX-License-Identifier: GPL-3.0-or-later
"""jax-md's neighbour list with the engine's pair law: force and torque written out, no `grad`."""

import sys
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import jaxmd
from jax import lax
from jax_md import space


def make_sums(p: SimpleNamespace, displacement: Any) -> jaxmd.Sums:
    """The law of engine/interaction.py over the pairs of the list."""
    width = 2 * p.radius

    def sums(pos: Any, theta: Any, activity: Any, neighbours: Any) -> tuple:
        n, (i, j) = theta.size, neighbours.idx
        c, s = jnp.cos(theta), jnp.sin(theta)
        main, neighb = (c[i], s[i]), (c[j], s[j])
        rx, ry = space.map_bond(displacement)(pos[i], pos[j]).T
        u, t = jaxmd.contact(rx, ry, main, neighb, p)
        x, y = rx + u * main[0] - t * neighb[0], ry + u * main[1] - t * neighb[1]
        squared = jnp.where(i < n, x * x + y * y, jnp.inf)
        push = p.k_cc * (width * lax.rsqrt(jnp.maximum(squared, 1e-20)) - 1)
        push = jnp.where(squared < width**2, push, 0)
        fx, fy = push * x, push * y
        heard = squared < p.sensing_range**2
        force = [jaxmd.add_both(n, i, j, f, -f) for f in (fx, fy)]
        on_main = u * (main[0] * fy - main[1] * fx)
        on_neighb = t * (neighb[1] * fx - neighb[0] * fy)
        sensed = jaxmd.add_both(
            n, i, j,
            jnp.where(heard, p.w_d + p.w_a * activity[j], 0),
            jnp.where(heard, p.w_d + p.w_a * activity[i], 0),
        )  # fmt: skip
        return jnp.stack(force, axis=1), jaxmd.add_both(n, i, j, on_main, on_neighb), sensed

    return sums


if __name__ == "__main__":
    jaxmd.main(sys.argv[1], "jax-md, its neighbour list with the same pair law", make_sums)
