# SPDX-License-Identifier: GPL-3.0-or-later
"""jax-md as its users write it: a pair energy over the list, and forces and torques by `jax.grad`.

The energy is jax-md's `soft_sphere` (harmonic in the overlap) of the distance between two rods, R
being (x, y, θ), and everything in it is differentiated. Since the contact points are regularised,
their own motion does some work, so forces and torques differ a little from those of
engine/interaction.py. With `--held` they count as constants in the derivative, as somebody would
write it who knows that: exactly our law, in less than half the time.
"""

import sys
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import jaxmd
from jax import lax
from jax_md import energy, smap, space


def make_sums(p: SimpleNamespace, displacement: Any) -> jaxmd.Sums:
    """Forces and torques from the gradient of the total energy; sensing by the same distance."""
    held = lax.stop_gradient if "--held" in sys.argv else tuple
    width = 2 * p.radius

    def distance(main: Any, neighb: Any) -> Any:
        rx, ry = displacement(main[:2], neighb[:2])
        u, v = [(jnp.cos(rod[2]), jnp.sin(rod[2])) for rod in (main, neighb)]
        s, t = held(jaxmd.contact(rx, ry, u, v, p))
        x, y = rx + s * u[0] - t * v[0], ry + s * u[1] - t * v[1]
        return jnp.sqrt(jnp.maximum(x * x + y * y, 1e-20))

    total = smap.pair_neighbor_list(
        energy.soft_sphere, distance,
        sigma=width, epsilon=p.k_cc * width**2, alpha=jnp.float32(2),
    )  # fmt: skip
    gradient = jax.grad(lambda rods, neighbours: total(rods, neighbor=neighbours))

    def sums(pos: Any, theta: Any, activity: Any, neighbours: Any) -> tuple:
        n, (i, j) = theta.size, neighbours.idx
        rods = jnp.concatenate([pos, theta[:, None]], axis=1)
        pull = gradient(rods, neighbours)
        heard = (space.map_bond(distance)(rods[i], rods[j]) < p.sensing_range) & (i < n)
        sensed = jaxmd.add_both(
            n, i, j,
            jnp.where(heard, p.w_d + p.w_a * activity[j], 0),
            jnp.where(heard, p.w_d + p.w_a * activity[i], 0),
        )  # fmt: skip
        return -pull[:, :2], -pull[:, 2], sensed

    return sums


if __name__ == "__main__":
    jaxmd.main(sys.argv[1], "jax-md, rod energy and jax.grad", make_sums)
