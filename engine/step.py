# SPDX-License-Identifier: GPL-3.0-or-later
"""One time step as a list of stages, and K of them in one compiled loop.

Everything is synchronous: forces, sensing and thrust all read the state at time t.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Float32, Int

from engine.geometry import Number, wrap_angle, wrap_position
from engine.interaction import Rod
from engine.kernels import Kernel
from engine.observables import Observables, observe
from engine.params import Params
from engine.state import State

PARAM_NAMES = tuple(f.name for f in dataclasses.fields(Params))

# The share of a body width that a rod's tip may advance in one relaxation step.
RELAX_MOVE = 0.1


def pack(params: Params) -> Float32[np.ndarray, "parameters"]:
    """`params` as one float32 vector: one small upload for any number of edits."""
    return np.array([getattr(params, name) for name in PARAM_NAMES], np.float32)


def unpack(packed: Float[Array, "parameters"]) -> Params:
    """The inverse of `pack`, inside the compiled program.

    Every field is then a traced scalar, which computes as the declared number does.
    """
    traced: list[Any] = [packed[i] for i in range(len(PARAM_NAMES))]
    return Params(*traced)


class Motion(NamedTuple):
    """Velocity (N, 2) and angular velocity (N,) of every rod."""

    velocity: Float[Array, "rods 2"]
    angular: Float[Array, "rods"]


def rods_of(state: State) -> Rod:
    """The rods of `state` as the kernels read them."""
    x, y = state.pos.T
    return Rod(x, y, jnp.cos(state.theta), jnp.sin(state.theta), state.activity)


def activation(
    local_density: Float[Array, "..."],
    activity_thresh: Number,
    activity_width: Number,
) -> Float[Array, "..."]:
    """The activity that a rod tends to: 1/(1 + exp(-(S - S*)/w)), for w = 0 the step S ≥ S*."""
    excess = local_density - activity_thresh
    smooth = jax.nn.sigmoid(excess / jnp.where(activity_width > 0, activity_width, 1))
    return jnp.where(activity_width > 0, smooth, (excess >= 0).astype(smooth.dtype))


def update_activity(
    activity: Float[Array, "rods"], target: Float[Array, "rods"], params: Params
) -> Float[Array, "rods"]:
    """`activity` relaxed towards `target` with the memory `tau_a`; at once for `tau_a` = 0."""
    memory = jnp.where(
        params.tau_a > 0, jnp.exp(-params.dt / jnp.where(params.tau_a > 0, params.tau_a, 1)), 0
    )
    return target + (activity - target) * memory


def propulsion(rods: Rod, params: Params) -> tuple[Float[Array, "rods 2"], Float[Array, "rods"]]:
    """Thrust (N, 2) and torque (N,) of active rods.

    F_prop · activity · (p - pos)/ℓ = ½ F_prop · activity · û, and T_prop · activity.
    """
    thrust = 0.5 * params.F_prop * rods.activity
    force = jnp.stack([thrust * rods.cos, thrust * rods.sin], axis=1)
    return force, params.T_prop * rods.activity


def update_velocity(
    force: Float[Array, "rods 2"], torque: Float[Array, "rods"], params: Params
) -> Motion:
    """Overdamped motion: ẋ = F/ζ, θ̇ = T/ζ_R with ζ = γℓ, ζ_R = γℓ³/12."""
    return Motion(
        force / (params.gamma * params.length), torque * 12 / (params.gamma * params.length**3)
    )


def noise(state: State, params: Params) -> tuple[Float[Array, "rods 2"], Float[Array, "rods"]]:
    """Random displacements √(2 D_t dt) (N, 2) and turns √(2 D_r dt) (N,), from (seed, step, rod).

    Counter-based, so that neither K nor the number of rods changes what a rod draws.
    """
    n = state.theta.size

    def draw() -> Float[Array, "rods 3"]:
        key = jax.random.fold_in(jax.random.key(state.seed), state.step)
        return jax.random.normal(key, (n, 3))

    silent = (params.D_r <= 0) & (params.D_t <= 0)
    normal = lax.cond(silent, lambda: jnp.zeros((n, 3)), draw)
    return (
        normal[:, :2] * jnp.sqrt(2 * params.D_t * params.dt),
        normal[:, 2] * jnp.sqrt(2 * params.D_r * params.dt),
    )


def update_position(
    state: State, move: Float[Array, "rods 2"], turn: Float[Array, "rods"], params: Params
) -> tuple[Float[Array, "rods 2"], Float[Array, "rods"]]:
    """Positions and angles after one explicit Euler step, wrapped."""
    return wrap_position(state.pos + move, params.space_size), wrap_angle(state.theta + turn)


def tip_moves(motion: Motion, params: Params) -> Float[Array, "rods"]:
    """How far the fastest tip of each rod would go in one step."""
    speed = jnp.hypot(motion.velocity[:, 0], motion.velocity[:, 1])
    return (speed + 0.5 * params.length * jnp.abs(motion.angular)) * params.dt


def one_timestep(
    state: State, params: Params, kernel: Kernel, most_move: Float[Array, ""]
) -> tuple[State, Motion]:
    """The state one `dt` later, and the motion without noise that led there.

    A step in which a rod's tip would move by more than `most_move` is shortened for that rod:
    relaxation needs it; a run passes infinity, which changes no bit.
    """
    with jax.named_scope("directions"):
        rods = rods_of(state)
    with jax.named_scope("pair_sums"):
        sums = kernel(rods, params)
    with jax.named_scope("propulsion"):
        thrust, thrust_torque = propulsion(rods, params)
    with jax.named_scope("velocity"):
        motion = update_velocity(sums.force + thrust, sums.torque + thrust_torque, params)
    with jax.named_scope("limit"):
        share = jnp.minimum(1, most_move / jnp.maximum(tip_moves(motion, params), 1e-30))
        motion = Motion(motion.velocity * share[:, None], motion.angular * share)
    with jax.named_scope("noise"):
        shift, twist = noise(state, params)
    with jax.named_scope("activity"):
        target = activation(sums.local_density, params.activity_thresh, params.activity_width)
        activity = update_activity(state.activity, target, params)
    with jax.named_scope("position"):
        move, turn = motion.velocity * params.dt + shift, motion.angular * params.dt + twist
        pos, theta = update_position(state, move, turn, params)
    return State(pos, theta, activity, state.step + 1, state.seed), motion


class Report(NamedTuple):
    """What leaves a batch of steps besides the state.

    `rods` (N, 4): x, y, theta, activity. `steps_done` is less than K where a step had to be
    refused: the state is then the last good one, and `largest_move` and `worst_rod` tell of the
    refused step.
    """

    rods: Float[Array, "rods 4"]
    observables: Observables
    steps_done: Int[Array, ""]
    ok: Bool[Array, ""]
    largest_move: Float[Array, ""]
    worst_rod: Int[Array, ""]


def advance(
    state: State,
    packed: Float[Array, "parameters"],
    K: Int[Array, ""],
    most_move: Float[Array, ""],
    *,
    kernel: Kernel,
) -> tuple[State, Report]:
    """K fused steps. K, the parameters and `most_move` are traced: changing them compiles nothing.

    A step that is not finite, or in which a rod would move by more than a body width, is not taken.
    """
    params = unpack(packed)

    def going(loop: tuple) -> Bool[Array, ""]:
        i, ok = loop[:2]
        return ok & (i < K)

    def step(loop: tuple) -> tuple:
        i, _, old, _, _, speed = loop
        new, motion = one_timestep(old, params, kernel, most_move)
        with jax.named_scope("check"):
            moves = tip_moves(motion, params)
            # NaN fails the comparison, as it must. Noise is no part of `moves`.
            ok = jnp.all(moves <= 2 * params.radius)
            ok &= jnp.isfinite(jnp.stack([*new.pos.T, new.theta, new.activity])).all()
            worst = jnp.argmax(jnp.where(jnp.isnan(moves), jnp.inf, moves))
            state = jax.tree.map(lambda a, b: jnp.where(ok, a, b), new, old)
            moved = jnp.hypot(motion.velocity[:, 0], motion.velocity[:, 1])
            speed = jnp.where(ok, moved, speed)
        return i + ok.astype(i.dtype), ok, state, moves[worst], worst, speed

    zero = jnp.zeros(state.theta.size)
    start = (jnp.zeros_like(K), jnp.asarray(True), state, zero[0], jnp.asarray(0), zero)
    done, ok, state, largest, worst, speed = lax.while_loop(going, step, start)
    with jax.named_scope("snapshot"):
        rods = jnp.concatenate([state.pos, state.theta[:, None], state.activity[:, None]], axis=1)
        observed = observe(state.theta, state.activity, speed)
    return state, Report(rods, observed, done, ok, largest, worst)
