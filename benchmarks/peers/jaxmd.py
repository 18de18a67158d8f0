# SPDX-License-Identifier: GPL-3.0-or-later
"""What the two jax-md peers share: its neighbour list, its update pattern, the rods' own law.

The format is OrderedSparse: each pair once. Dense and Sparse, which need no scatter to the second
rod, took twice as long or more on a CPU, and larger skins cost more than their rarer rebuilds save.
"""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import protocol
from jax import lax
from jax_md import partition, space

SKIN = 0.3

# (pos, theta, activity, list) -> force (N, 2), torque (N,), sensed (N,).
Sums = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]


def contact(rx: Any, ry: Any, main: tuple, neighb: tuple, p: SimpleNamespace) -> tuple:
    """Contact points s, t along two rods of directions (cos, sin) (engine/geometry.py)."""
    (ci, si), (cj, sj), half = main, neighb, p.length / 2
    eps = 0.16 * (2 * p.radius / p.length) ** 2
    cross, dot = ci * sj - si * cj, ci * cj + si * sj
    c, f, n = ci * rx + si * ry, cj * rx + sj * ry, cj * ry - sj * rx
    s = jnp.clip((cross * n - eps * c) / (cross * cross + eps * (2 + eps)), -half, half)
    t = jnp.clip((dot * s + f) / (1 + eps), -half, half)
    return jnp.clip((dot * t - c) / (1 + eps), -half, half), t


def add_both(n: int, first: Any, second: Any, to_first: Any, to_second: Any) -> Any:
    """Sums (n,) over pairs of what each adds to its two rods; padding has an index of n."""
    return jnp.zeros(n).at[first].add(to_first).at[second].add(to_second)


class JaxMd:
    """A peer around `make_sums(params, displacement)`."""

    def __init__(self, path: str, make_sums: Callable[[SimpleNamespace, Any], Sums]) -> None:
        pos, theta, activity, p = protocol.load(path)
        displacement, self.shift = space.periodic(p.space_size)
        self.neighbour_fn = partition.neighbor_list(
            displacement, p.space_size, p.length + max(2 * p.radius, p.sensing_range),
            dr_threshold=SKIN, format=partition.OrderedSparse,
        )  # fmt: skip
        self.p, self.sums = p, make_sums(p, displacement)
        self.state = jnp.asarray(pos), jnp.asarray(theta), jnp.asarray(activity)
        self.neighbours = self.neighbour_fn.allocate(self.state[0])
        self.now = jax.jit(lambda state, neighbours: self.sums(*state, neighbours))
        self.loop = jax.jit(lambda *carry: lax.fori_loop(0, carry[0], self.step, carry[1:]))

    def step(self, _: Any, carry: tuple) -> tuple:
        """One step in the pattern of jax-md's documentation: update the list, then use it."""
        state, neighbours, rebuilds = carry
        (pos, theta, activity), p = state, self.p
        old = neighbours.reference_position
        neighbours = neighbours.update(pos)
        rebuilds += jnp.any(neighbours.reference_position != old)
        force, torque, sensed = self.sums(pos, theta, activity, neighbours)
        axis = jnp.stack([jnp.cos(theta), jnp.sin(theta)], axis=1)
        force += p.F_prop / 2 * activity[:, None] * axis
        pos = self.shift(pos, p.dt / (p.gamma * p.length) * force)
        theta += p.dt * 12 / (p.gamma * p.length**3) * torque
        theta -= 2 * jnp.pi * jnp.round(theta / (2 * jnp.pi))
        activity = jax.nn.sigmoid((sensed - p.activity_thresh) / p.activity_width)
        return (pos, theta, activity), neighbours, rebuilds

    def run(self, K: int) -> int:
        """Take K steps; where the list overflows, allocate a longer one and take them again."""
        while True:
            start = jnp.int32(K), self.state, self.neighbours, jnp.int32(0)
            state, neighbours, rebuilds = jax.block_until_ready(self.loop(*start))
            if not neighbours.did_buffer_overflow:
                self.state, self.neighbours = state, neighbours
                return int(rebuilds)
            self.neighbours = self.neighbour_fn.allocate(self.state[0], extra_capacity=1)

    def save(self) -> protocol.Saved:
        """The state and the sums of its next step."""
        neighbours = self.neighbours.update(self.state[0])
        return protocol.Saved(*self.state, *self.now(self.state, neighbours))


def main(path: str, what: str, make_sums: Callable[[SimpleNamespace, Any], Sums]) -> None:
    """Serve the peer."""
    begin = time.perf_counter()
    protocol.serve(JaxMd(path, make_sums), what, begin)
