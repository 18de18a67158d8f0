# SPDX-License-Identifier: GPL-3.0-or-later
"""One time step as a list of stages, and K of them in one compiled loop.

Everything is synchronous: forces, sensing and thrust all read the state at time t.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from engine.capacity import Capacity
from engine.drag import drag_of
from engine.geometry import Number, wrap_angle, wrap_position
from engine.interaction import Rod
from engine.kernels import KERNELS, native
from engine.kernels.neighbour_search import with_list
from engine.kernels.neighbours import is_current
from engine.kernels.sums import Kernel
from engine.noise import Noise, noise
from engine.observables.device import Observables, observe
from engine.params import GIVEN, Laws, Params, Physics
from engine.state import Batch, State, alive
from engine.surroundings import external
from engine.walls import held

PARAM_NAMES = tuple(f.name for f in dataclasses.fields(Params))

# The share of a body width that a rod's tip may advance in one relaxation step.
RELAX_MOVE = 0.1
# The same for a step of adaptive length: twenty times what a free rod goes in the largest safe step
# at q = 0.1, the softest that is trusted, and a tenth of what is refused.
ADAPTIVE_MOVE = 0.1


# The values of Params in the order of its fields. Scalars, not one vector: XLA's CPU backend would
# compile a loop to take each of them out of it.
Packed = tuple[Float[Array, ""], ...]


def pack(params: Params) -> tuple[np.float32, ...]:
    """`params` as float32 scalars, which `jax.device_put` uploads together."""
    return tuple(np.float32(getattr(params, name)) for name in PARAM_NAMES)


def unpack(packed: Packed, laws: Laws = GIVEN) -> Physics:
    """The inverse of `pack`, inside the compiled program, under `laws`.

    Every parameter is then a traced scalar, which computes as the declared number does; the laws
    are words still, which decide what is compiled.
    """
    traced: dict[str, Any] = dict(zip(PARAM_NAMES, packed, strict=True))
    return Physics(**dataclasses.asdict(laws), **traced)


class Motion(NamedTuple):
    """Velocity (N, 2) and angular velocity (N,) of every rod."""

    velocity: Float[Array, "rods 2"]
    angular: Float[Array, "rods"]


def rods_of(state: State) -> Rod:
    """The rods of `state` as the kernels read them."""
    x, y = state.pos.T
    cos, sin = state.direction.T
    return Rod(x, y, cos, sin, state.activity)


def activation(
    local_density: Float[Array, "..."],
    activity_thresh: Number,
    activity_width: Number,
    law: str = "rising",
) -> Float[Array, "..."]:
    """The activity that a rod tends to: 1/(1 + exp(-(S - S*)/w)), for w = 0 the step S ≥ S*.

    By the law `falling` it is 1 less that: 1/(1 + exp((S - S*)/w)), and the step S < S*.
    """
    excess = local_density - activity_thresh
    above, sign = (excess < 0, -1) if law == "falling" else (excess >= 0, 1)
    smooth = jax.nn.sigmoid(sign * excess / jnp.where(activity_width > 0, activity_width, 1))
    return jnp.where(activity_width > 0, smooth, above.astype(smooth.dtype))


def update_activity(
    activity: Float[Array, "rods"], target: Float[Array, "rods"], params: Physics
) -> Float[Array, "rods"]:
    """`activity` relaxed towards `target` with the memory `tau_a`; at once for `tau_a` = 0."""
    memory = jnp.where(
        params.tau_a > 0, jnp.exp(-params.dt / jnp.where(params.tau_a > 0, params.tau_a, 1)), 0
    )
    return target + (activity - target) * memory


def propulsion(rods: Rod, params: Physics) -> tuple[Float[Array, "rods 2"], Float[Array, "rods"]]:
    """Thrust (N, 2) and torque (N,) of active rods.

    F_prop · activity · (p - pos)/ℓ = ½ F_prop · activity · û, and T_prop · activity.
    """
    thrust = 0.5 * params.F_prop * rods.activity
    force = jnp.stack([thrust * rods.cos, thrust * rods.sin], axis=1)
    return force, params.T_prop * rods.activity


def update_velocity(
    force: Float[Array, "rods 2"], torque: Float[Array, "rods"], rods: Rod, params: Physics
) -> Motion:
    """Overdamped motion: ẋ = F∥/ζ∥ + F⊥/ζ⊥ along and across a rod, θ̇ = T/ζ_R; see `drag_of`."""
    drag = drag_of(params, params.drag, jnp.log)
    velocity = force / drag.across
    if params.drag != "isotropic":
        along = force[:, 0] * rods.cos + force[:, 1] * rods.sin
        more = along * (1 / drag.along - 1 / drag.across)
        velocity += jnp.stack([more * rods.cos, more * rods.sin], axis=1)
    return Motion(velocity, torque / drag.turning)


def update_position(
    state: State, move: Float[Array, "rods 2"], turn: Float[Array, "rods"], params: Physics
) -> tuple[Float[Array, "rods 2"], Float[Array, "rods"], Float[Array, "rods 3"]]:
    """Positions and angles after one explicit Euler step, and what rounding left of them.

    Positions are wrapped, or held within walls.

    What the addition of `move` and `turn` loses in float32 is kept and added in the next step
    (Kahan's sum), so a rod slower than the resolution of its place still travels at its speed.
    """
    now = jnp.concatenate([state.pos, state.theta[:, None]], axis=1)
    wanted = jnp.concatenate([move, turn[:, None]], axis=1) + state.rest
    moved = now + wanted
    rest = wanted - (moved - now)
    if params.periodic:
        pos, lost = wrap_position(moved[:, :2], params.space_size)
        return pos, wrap_angle(moved[:, 2]), rest.at[:, :2].add(lost)
    # An empty place is where no wall looks for it.
    pos = jnp.where(alive(state)[:, None], held(moved[:, :2], params), moved[:, :2])
    rest = rest.at[:, :2].set(jnp.where(pos == moved[:, :2], rest[:, :2], 0))
    return pos, wrap_angle(moved[:, 2]), rest


def tumble(
    theta: Float[Array, "rods"], rest: Float[Array, "rods 3"], drawn: Noise
) -> tuple[Float[Array, "rods"], Float[Array, "rods 3"]]:
    """Angles, and what rounding left, after the tumbles of this step: new ones are exact."""
    kept = jnp.where(drawn.tumbles, 0, rest[:, 2])
    return jnp.where(drawn.tumbles, drawn.heading, theta), rest.at[:, 2].set(kept)


def speed(motion: Motion) -> Float[Array, "rods"]:
    """|ẋ| of each rod. Not by `hypot`, whose care for huge numbers costs more than all the rest."""
    x, y = motion.velocity.T
    squared = x * x + y * y
    moves = squared > 0
    # At rest the gradient of the root would not be finite.
    return jnp.where(moves, jnp.sqrt(jnp.where(moves, squared, 1)), 0)


def step_length(motion: Motion, params: Physics) -> Number:
    """`dt`; where it is adaptive, less if a tip would go farther than ADAPTIVE_MOVE body widths.

    It (ours) follows from the motion at this moment alone, without noise: neither K nor a clock
    decides it, and noise is drawn for a step whose length does not depend on the draw.
    """
    if params.time_step == "fixed":
        return params.dt
    farthest = jnp.max(tip_moves(motion, params))
    return params.dt * jnp.minimum(
        1, ADAPTIVE_MOVE * 2 * params.radius / jnp.maximum(farthest, 1e-30)
    )


def later(elapsed: Float[Array, "2"], dt: Number) -> Float[Array, "2"]:
    """The sum of steps so far and what rounding left of it, one step later (Kahan's sum)."""
    add = dt + elapsed[1]
    total = elapsed[0] + add
    return jnp.stack([total, add - (total - elapsed[0])])


def tip_moves(motion: Motion, params: Physics) -> Float[Array, "rods"]:
    """How far the fastest tip of each rod would go in one step."""
    return (speed(motion) + 0.5 * params.length * jnp.abs(motion.angular)) * params.dt


def surrounding(
    state: State, rods: Rod, params: Physics
) -> tuple[Float[Array, "rods 2"], Float[Array, "rods"]]:
    """Force and torque that no rod exerts, on those places of `state` that hold a rod."""
    there = alive(state)
    force, torque = external(rods, state.obstacles, state.obstacle_count, params)
    return jnp.where(there[:, None], force, 0), jnp.where(there, torque, 0)


def one_timestep(
    state: State, params: Physics, kernel: Kernel, most_move: Float[Array, ""] | None
) -> tuple[State, Motion]:
    """The state one step later, and the motion without noise that led there.

    A step in which a rod's tip would move by more than `most_move` is shortened for that rod:
    relaxation needs it; a run passes infinity, which changes no bit. None stands for that too, and
    leaves out a stage that has no gradient.
    """
    rods = rods_of(state)
    with jax.named_scope("pair_sums"):
        sums = kernel(rods, state.n, params, state.neighbours)
    with jax.named_scope("surroundings"):
        push, push_torque = surrounding(state, rods, params)
    with jax.named_scope("propulsion"):
        thrust, thrust_torque = propulsion(rods, params)
    with jax.named_scope("velocity"):
        force = sums.force + thrust + push
        torque = sums.torque + thrust_torque + push_torque
        motion = update_velocity(force, torque, rods, params)
    if most_move is not None:
        with jax.named_scope("limit"):
            share = jnp.minimum(1, most_move / jnp.maximum(tip_moves(motion, params), 1e-30))
            motion = Motion(motion.velocity * share[:, None], motion.angular * share)
    with jax.named_scope("time_step"):
        params = replace(params, dt=step_length(motion, params))
    with jax.named_scope("noise"):
        drawn = noise(state, params)
    with jax.named_scope("activity"):
        target = activation(
            sums.local_density, params.activity_thresh, params.activity_width, params.activation
        )
        activity = update_activity(state.activity, target, params)
        # An empty place stays passive, and so at rest.
        activity = jnp.where(alive(state), activity, 0)
    with jax.named_scope("position"):
        move = motion.velocity * params.dt + drawn.shift
        turn = motion.angular * params.dt + drawn.turn
        pos, theta, rest = update_position(state, move, turn, params)
        theta, rest = tumble(theta, rest, drawn)
    with jax.named_scope("directions"):
        direction = jnp.stack([jnp.cos(theta), jnp.sin(theta)], axis=1)
        fixed = params.time_step == "fixed"
        elapsed = state.elapsed if fixed else later(state.elapsed, params.dt)
    return state._replace(
        pos=pos, rest=rest, theta=theta, direction=direction, activity=activity,
        step=state.step + 1, elapsed=elapsed,
    ), motion  # fmt: skip


class ListReport(NamedTuple):
    """What a neighbour list tells of itself; see `NeighbourList`.

    `fits` is false where the next list would not fit, and the batch ended before it was used.
    """

    fits: Bool[Array, ""]
    builds: Int[Array, ""]
    skin: Float[Array, ""]
    mean: Float[Array, ""]
    most: Int[Array, ""]
    candidates: Int[Array, ""]


class Report(NamedTuple):
    """What leaves a batch of steps besides the state.

    `rods` (N, 4): x, y, theta, activity, in order of `row`. `elapsed` is that of the `State`.
    `steps_done` is less than K where a step had to be refused (`ok` is false): the state is then
    the last good one, and `largest_move` and `worst_row` tell of the refused step. It is also less
    where a neighbour list outgrew its capacity; `neighbours` tells of that.
    """

    rods: Float[Array, "rods 4"]
    observables: Observables
    steps_done: Int[Array, ""]
    ok: Bool[Array, ""]
    largest_move: Float[Array, ""]
    worst_row: Int[Array, ""]
    elapsed: Float[Array, "2"]
    neighbours: ListReport | None


# How a batch is run: from the state, the parameters, K and the farthest that a tip may move.
Steps = Callable[[State, Physics, Int[Array, ""], Float[Array, ""]], Batch]


def advance(
    state: State,
    packed: Packed,
    K: Int[Array, ""],
    most_move: Float[Array, ""],
    *,
    steps: Steps,
    laws: Laws,
) -> tuple[State, Report]:
    """K fused steps. K, the parameters and `most_move` are traced: changing them compiles nothing.

    The `laws` are not: others make another program.

    A step that is not finite, or in which a rod would move by more than a body width, is not taken;
    nor is one whose neighbour list would not fit its capacity.
    """
    batch = steps(state, unpack(packed, laws), K, most_move)
    return batch.state, report(batch)


def steps_for(kernel: str, capacity: Capacity, threads: int = 1) -> Steps:
    """Batches with one of `KERNELS`: a loop of stages around it, or one call of native code."""
    if kernel == "native":
        return partial(_native_steps, threads=threads)
    return partial(_loop, kernel=KERNELS[kernel], words=capacity.words)


def _native_steps(
    state: State,
    params: Physics,
    K: Int[Array, ""],
    most_move: Float[Array, ""],
    *,
    threads: int,
) -> Batch:
    with jax.named_scope("native_steps"):
        return native.advance(state, params, K, most_move, threads=threads)


def _loop(
    state: State,
    params: Physics,
    K: Int[Array, ""],
    most_move: Float[Array, ""],
    *,
    kernel: Kernel,
    words: int,
) -> Batch:
    def going(batch: Batch) -> Bool[Array, ""]:
        return batch.ok & batch.fits & (batch.done < K)

    def step(batch: Batch) -> Batch:
        return checked_step(batch, params, kernel, most_move)

    def usable(batch: Batch) -> Bool[Array, ""]:
        assert batch.state.neighbours is not None
        with jax.named_scope("list_check"):
            return is_current(batch.state.neighbours, batch.state.pos, batch.state.theta, params)

    def life_of_a_list(batch: Batch) -> Batch:
        batch = lax.while_loop(lambda b: going(b) & usable(b), step, batch)
        with jax.named_scope("neighbour_list"):
            state, fits = lax.cond(
                going(batch),
                lambda state: with_list(state, params, words),
                lambda state: (state, batch.fits),
                batch.state,
            )
        return batch._replace(state=state, fits=fits)

    zero = jnp.float32(0)
    yes = jnp.asarray(True)
    batch = Batch(state, jnp.zeros_like(K), yes, yes, zero, jnp.asarray(0), zero)
    whole = step if state.neighbours is None else life_of_a_list
    return lax.while_loop(going, whole, batch)


def checked_step(
    batch: Batch, params: Physics, kernel: Kernel, most_move: Float[Array, ""]
) -> Batch:
    """One step more, or the batch as it was, not `ok`, where the step cannot be trusted."""
    old = batch.state
    new, motion = one_timestep(old, params, kernel, most_move)
    with jax.named_scope("check"):
        moves = tip_moves(motion, replace(params, dt=step_length(motion, params)))
        # NaN fails the comparison, as it must. Noise is no part of `moves`.
        ok = jnp.all(moves <= 2 * params.radius)
        ok &= jnp.isfinite(jnp.stack([*new.pos.T, new.theta, new.activity])).all()
        worst = jnp.argmax(jnp.where(jnp.isnan(moves), jnp.inf, moves))
        changed = ("pos", "theta", "direction", "activity", "rest", "step", "elapsed")
        state = old._replace(
            **{name: jnp.where(ok, getattr(new, name), getattr(old, name)) for name in changed}
        )
        if old.neighbours is not None:
            age = old.neighbours.age + ok.astype(jnp.int32)
            state = state._replace(neighbours=old.neighbours._replace(age=age))
        latest = jnp.where(ok, jnp.sum(speed(motion)), batch.speed)
    done = batch.done + ok.astype(batch.done.dtype)
    return Batch(state, done, ok, batch.fits, moves[worst], worst, latest)


def report(batch: Batch) -> Report:
    """What is to be known of a finished batch."""
    state = batch.state
    with jax.named_scope("snapshot"):
        rods = jnp.concatenate([state.pos, state.theta[:, None], state.activity[:, None]], axis=1)
        listed = None
        if state.neighbours is not None:
            at = jnp.zeros_like(rods).at[state.row]
            rods = at.set(rods, mode="promise_in_bounds", unique_indices=True)
            of = state.neighbours
            listed = ListReport(batch.fits, of.builds, of.skin, of.mean, of.most, of.candidates)
        observed = observe(state.direction, state.activity, batch.speed, alive(state))
    worst = state.row[batch.worst]
    return Report(
        rods, observed, batch.done, batch.ok, batch.largest_move, worst, state.elapsed, listed
    )
