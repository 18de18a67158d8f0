# SPDX-License-Identifier: GPL-3.0-or-later
"""Diffusion and tumbles, equations (11) and (14) of docs/model.md.

All is drawn from a counter (seed, step, id of the rod), so that neither K, nor the number of rods,
nor their order in memory changes what a rod draws.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, UInt32

from engine.params import Params, Physics
from engine.state import State, alive


class Noise(NamedTuple):
    """Displacements (N, 2) and turns (N,); and where a rod `tumbles`, its new angle `heading`."""

    shift: Float[Array, "rods 2"]
    turn: Float[Array, "rods"]
    tumbles: Bool[Array, "rods"]
    heading: Float[Array, "rods"]


def tumble_chance(params: Params) -> Float[Array, ""]:
    """1 - exp(-tumble_rate dt): the probability that a fully active rod tumbles in one step."""
    return -jnp.expm1(-jnp.asarray(params.tumble_rate * params.dt, jnp.float32))


def noise(state: State, params: Physics) -> Noise:
    """√(2 D_t dt) and √(2 D_r dt) times normal draws, and which rods take which angle instead.

    Where noise is of active rods alone, D_t, D_r and the chance to tumble are times the activity.
    """
    normal, words = _drawn(state, params)
    normal = normal.astype(state.theta.dtype)
    chance, there = tumble_chance(params), alive(state)
    if params.noise_of == "active":
        normal = normal * _root(state.activity)[:, None]
        chance = chance * state.activity.astype(jnp.float32)
    # Of 31 bits: float32 would round the chances of rare tumbles. The number is the largest below.
    level = jnp.rint(jnp.minimum(chance * 2.0**31, 2147483520.0)).astype(jnp.int32)
    turns = (words[:, 1] >> 8).astype(state.theta.dtype) * 2.0**-24 - 0.5
    return Noise(
        normal[:, :2] * _root(2 * params.D_t * params.dt),
        normal[:, 2] * _root(2 * params.D_r * params.dt),
        there & ((words[:, 0] >> 1).astype(jnp.int32) < level),
        (turns * (2 * math.pi)).astype(state.theta.dtype),
    )


def _drawn(state: State, params: Params) -> tuple[Float[Array, "rods 3"], UInt32[Array, "rods 2"]]:
    """Three normal numbers and two random words of each rod; all are 0 where nothing needs them.

    In float32 also where all else is in float64: those draws would be other numbers.
    """
    n = state.theta.size

    def normal_of(rod: Array) -> Array:
        return jax.random.normal(_key(state, rod), (3,), jnp.float32)

    def words_of(rod: Array) -> Array:
        return jax.random.bits(_key(state, rod), (5,), jnp.uint32)[
            3:
        ]  # those after the normal numbers'

    def no_words() -> Array:
        return jnp.zeros((n, 2), jnp.uint32)

    def draw() -> tuple[Array, Array]:
        normal = jnp.where(alive(state)[:, None], jax.vmap(normal_of)(state.id), 0)
        # Within the other branch, so that a step without noise asks only once: a GPU waits for it.
        tumbling = params.tumble_rate > 0
        return normal, lax.cond(tumbling, lambda: jax.vmap(words_of)(state.id), no_words)

    silent = (params.D_r <= 0) & (params.D_t <= 0) & (params.tumble_rate <= 0)
    return lax.cond(silent, lambda: (jnp.zeros((n, 3), jnp.float32), no_words()), draw)


def _root(of: Any) -> Array:
    """√, whose gradient at 0 is 0 here: it would not be finite, and spoil those of all else."""
    positive = of > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, of, 1)), 0)


def _key(state: State, rod: Array) -> Array:
    # Seed and step are the key itself: one hash less to compile and to compute.
    key = jax.random.wrap_key_data(jnp.stack([state.seed, state.step]), impl="threefry2x32")
    return jax.random.fold_in(key, rod)
