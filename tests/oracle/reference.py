# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole model in float64 NumPy on N x N arrays, written from the equations of docs/model.md.

Slow and plain on purpose: each function is one paragraph of the model, so that it can be checked
against the text line by line. It shares no code with the engine. `params` is any object that
carries the parameters by the model's names (space_size, length, radius, ...).

Index convention: row i is the rod that is acted upon, column j the rod that acts.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tests.oracle import draws, walls

Array = NDArray[np.float64]


class ModelParams(Protocol):
    """What the reference reads; the engine's Params has the same names."""

    @property
    def space_size(self) -> float: ...
    @property
    def length(self) -> float: ...
    @property
    def radius(self) -> float: ...
    @property
    def w_a(self) -> float: ...
    @property
    def w_d(self) -> float: ...
    @property
    def k_cc(self) -> float: ...
    @property
    def F_prop(self) -> float: ...
    @property
    def T_prop(self) -> float: ...
    @property
    def activity_thresh(self) -> float: ...
    @property
    def activity_width(self) -> float: ...
    @property
    def sensing_range(self) -> float: ...
    @property
    def tau_a(self) -> float: ...
    @property
    def D_r(self) -> float: ...
    @property
    def D_t(self) -> float: ...
    @property
    def tumble_rate(self) -> float: ...
    @property
    def dt(self) -> float: ...
    @property
    def gamma(self) -> float: ...


class Rods(NamedTuple):
    """pos (N, 2), theta (N,), activity (N,), all float64."""

    pos: Array
    theta: Array
    activity: Array


class Pairs(NamedTuple):
    """All that rod i (row) feels of rod j (column); the diagonal is empty (no force, no sensing).

    e (N, N, 2) points from j's contact point to i's; s (N, N) is where i is touched, measured
    along its own axis; overlap (N, N); force (N, N, 2); torque (N, N); weight (N, N) is what j
    adds to i's local density.
    """

    e: Array
    s: Array
    overlap: Array
    force: Array
    torque: Array
    weight: Array


class Sums(NamedTuple):
    """force (N, 2), torque (N,), sensed (N,)."""

    force: Array
    torque: Array
    sensed: Array


def rods(pos: object, theta: object, activity: object) -> Rods:
    """Any three array-likes as float64 Rods."""
    return Rods(
        np.asarray(pos, dtype=np.float64).reshape(-1, 2),
        np.asarray(theta, dtype=np.float64).reshape(-1),
        np.asarray(activity, dtype=np.float64).reshape(-1),
    )


def regularisation(params: ModelParams) -> float:
    """eps = 0.16 (d/l)^2, the weight of s^2 + t^2 in the contact problem."""
    return 0.16 * (2.0 * params.radius / params.length) ** 2


def minimum_image(delta: Array, space_size: float) -> Array:
    """r - L round(r/L), componentwise."""
    return delta - space_size * np.round(delta / space_size)


# What holds where parameters come without laws: the model as it was given.
GIVEN = {
    "drag": "isotropic", "contact": "hooke", "activation": "rising", "noise_of": "all",
    "boundary": "periodic", "time_step": "fixed",
}  # fmt: skip


def law(params: ModelParams, name: str) -> str:
    """The choice of that name."""
    return getattr(params, name, GIVEN[name])


def between(delta: Array, params: ModelParams) -> Array:
    """A difference of places, by the nearest image where there are images."""
    if law(params, "boundary") != "periodic":
        return delta
    return minimum_image(delta, params.space_size)


def contact_points(
    r: Array, u: Array, v: Array, half_length: float, eps: float
) -> tuple[Array, Array]:
    """(s, t) that minimise |r + s u - t v|^2 + eps (s^2 + t^2) with |s|, |t| <= half_length.

    The three clamped lines of the model. r, u, v are (..., 2); u and v are unit vectors.
    """
    x = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    b = (u * v).sum(-1)
    c = (u * r).sum(-1)
    f = (v * r).sum(-1)
    n = r[..., 0] * (-v[..., 1]) + r[..., 1] * v[..., 0]
    s = np.clip((x * n - eps * c) / (x**2 + eps * (2.0 + eps)), -half_length, half_length)
    t = np.clip((b * s + f) / (1.0 + eps), -half_length, half_length)
    s = np.clip((b * t - c) / (1.0 + eps), -half_length, half_length)
    return s, t


def pairs(state: Rods, params: ModelParams) -> Pairs:
    """Every ordered pair: contact, force on i, torque on i, and what i senses of j."""
    n = len(state.theta)
    axis = np.stack([np.cos(state.theta), np.sin(state.theta)], axis=-1)
    u = np.broadcast_to(axis[:, None, :], (n, n, 2))
    v = np.broadcast_to(axis[None, :, :], (n, n, 2))
    r = between(state.pos[:, None, :] - state.pos[None, :, :], params)
    s, t = contact_points(r, u, v, params.length / 2.0, regularisation(params))
    e = r + s[..., None] * u - t[..., None] * v
    distance = np.sqrt((e**2).sum(-1))
    other = ~np.eye(n, dtype=bool)

    overlap = np.where(other, np.maximum(0.0, 2.0 * params.radius - distance), 0.0)
    normal = np.where(
        distance[..., None] > 0.0,
        e / np.where(distance > 0.0, distance, 1.0)[..., None],
        0.0,
    )
    force = contact_force(overlap, params)[..., None] * normal
    torque = s * (u[..., 0] * force[..., 1] - u[..., 1] * force[..., 0])

    sensed = other & (distance < params.sensing_range)
    weight = np.where(sensed, params.w_d + params.w_a * state.activity[None, :], 0.0)
    return Pairs(e, s, overlap, force, torque, weight)


def contact_force(overlap: Array, params: ModelParams) -> Array:
    """Hooke: k delta. Hertz: k d (delta/d)^(3/2)."""
    if law(params, "contact") == "hooke":
        return params.k_cc * overlap
    assert law(params, "contact") == "hertz"
    width = 2.0 * params.radius
    return params.k_cc * width * (overlap / width) ** 1.5


def per_particle_sum(state: Rods, params: ModelParams) -> Sums:
    """Row sums of the pair terms."""
    p = pairs(state, params)
    return Sums(p.force.sum(1), p.torque.sum(1), p.weight.sum(1))


def activation(local_density: Array, thresh: float, width: float, law: str = "rising") -> Array:
    """1/(1 + exp(-(S - thresh)/width)); the step S >= thresh for width 0. Falling: 1 less that."""
    if law == "falling":
        return 1.0 - activation(local_density, thresh, width)
    assert law == "rising"
    if width == 0.0:
        return (local_density >= thresh).astype(np.float64)
    z = (local_density - thresh) / width
    # exp of a negative argument only, so that no input overflows.
    small = np.exp(-np.abs(z))
    return np.where(z >= 0.0, 1.0 / (1.0 + small), small / (1.0 + small))


def new_activity(activity: Array, local_density: Array, params: ModelParams) -> Array:
    """The target at once for tau_a = 0, else A + (a - A) exp(-dt/tau_a)."""
    target = activation(
        local_density, params.activity_thresh, params.activity_width, law(params, "activation")
    )
    if params.tau_a == 0.0:
        return target
    return target + (activity - target) * np.exp(-params.dt / params.tau_a)


def drag(params: ModelParams) -> tuple[float, float, float]:
    """(zeta along, zeta across, zeta_R).

    Isotropic, uniform drag per length: gamma l twice and gamma l^3 / 12. Anisotropic: gamma d f,
    gamma d f and gamma d^3 f with the three f of a = (l + d)/d after Tirado.
    """
    if law(params, "drag") == "isotropic":
        zeta = params.gamma * params.length
        return zeta, zeta, params.gamma * params.length**3 / 12.0
    assert law(params, "drag") == "anisotropic"
    d = 2.0 * params.radius
    a = (params.length + d) / d
    along = 2.0 * np.pi / (np.log(a) - 0.207 + 0.980 / a - 0.133 / a**2)
    across = 4.0 * np.pi / (np.log(a) + 0.839 + 0.185 / a + 0.233 / a**2)
    turning = (np.pi * a**2 / 3.0) / (np.log(a) - 0.662 + 0.917 / a - 0.050 / a**2)
    return params.gamma * d * along, params.gamma * d * across, params.gamma * d**3 * turning


def velocities(state: Rods, params: ModelParams, sums: Sums | None = None) -> tuple[Array, Array]:
    """Velocity (N, 2) and angular velocity (N,) without noise; `sums` where they are at hand."""
    sums = per_particle_sum(state, params) if sums is None else sums
    axis = np.stack([np.cos(state.theta), np.sin(state.theta)], axis=-1)
    wall, wall_torque = wall_forces(state, params)
    force = sums.force + wall + 0.5 * params.F_prop * state.activity[:, None] * axis
    torque = sums.torque + wall_torque + params.T_prop * state.activity
    along, across, turning = drag(params)
    parallel = (force * axis).sum(-1)[:, None] * axis
    return parallel / along + (force - parallel) / across, torque / turning


def wall_forces(state: Rods, params: ModelParams) -> tuple[Array, Array]:
    """Force (N, 2) and torque (N,) of the wall, found by searching; see tests.oracle.walls."""
    force, torque = np.zeros_like(state.pos), np.zeros_like(state.theta)
    if law(params, "boundary") != "periodic":
        for i, (pos, theta) in enumerate(zip(state.pos, state.theta, strict=True)):
            force[i], torque[i] = walls.box_push(
                pos, float(theta), law(params, "boundary"), length=params.length,
                radius=params.radius, k=params.k_cc, space_size=params.space_size,
                hertz=law(params, "contact") == "hertz",
            )  # fmt: skip
    return force, torque


def wrap(pos: Array, params: ModelParams) -> Array:
    """Into [0, L)^2, or back to the wall."""
    if law(params, "boundary") == "periodic":
        return np.mod(pos, params.space_size)
    if law(params, "boundary") == "circle":
        middle = params.space_size / 2
        out = np.linalg.norm(pos - middle, axis=1, keepdims=True)
        pos = middle + (pos - middle) * np.minimum(1.0, middle / np.maximum(out, 1e-12))
    return np.clip(pos, 0.0, params.space_size)


class Noise(NamedTuple):
    """shift (N, 2), turn (N,), tumbles (N,) bool, and the new angle (N,) of those that tumble."""

    shift: Array
    turn: Array
    tumbles: NDArray[np.bool_]
    heading: Array


def noise(state: Rods, params: ModelParams, seed: int, step: int) -> Noise:
    """sqrt(2 D dt) times a normal number in x, y and theta; a tumble with the probability
    1 - exp(-rate dt). Noise of active rods: D and the probability are times the activity.
    """
    share = np.ones_like(state.activity)
    if law(params, "noise_of") == "active":
        share = state.activity
    else:
        assert law(params, "noise_of") == "all"
    words = draws.words(seed, step, np.arange(len(share)), 5)
    x, y, turn = (draws.normal(words[:, :3]) * np.sqrt(share)[:, None]).T
    tumbles = words[:, 3] * 2.0**-32 < -np.expm1(-params.tumble_rate * params.dt) * share
    heading = 2.0 * np.pi * ((words[:, 4] >> np.uint32(8)) * 2.0**-24 - 0.5)
    shift = np.sqrt(2.0 * params.D_t * params.dt) * np.stack([x, y], axis=-1)
    return Noise(shift, np.sqrt(2.0 * params.D_r * params.dt) * turn, tumbles, heading)


def with_step(velocity: Array, spin: Array, params: ModelParams) -> ModelParams:
    """The same with the dt of this step: shorter where a tip would go farther than 0.1 d."""
    if law(params, "time_step") == "fixed":
        return params
    tip = np.linalg.norm(velocity, axis=1) + 0.5 * params.length * np.abs(spin)
    longest = 0.1 * 2.0 * params.radius / max(float(tip.max()), 1e-300)
    return SimpleNamespace(**{**vars(params), "dt": min(params.dt, longest)})


def one_timestep(state: Rods, params: ModelParams, seed: int | None = None, step: int = 0) -> Rods:
    """One explicit Euler step, without noise where there is no seed; every right-hand side reads
    the old state."""
    sums = per_particle_sum(state, params)
    velocity, spin = velocities(state, params, sums)
    params = with_step(velocity, spin, params)
    pos, theta = state.pos + velocity * params.dt, state.theta + spin * params.dt
    if seed is not None:
        drawn = noise(state, params, seed, step)
        pos = pos + drawn.shift
        theta = np.where(drawn.tumbles, drawn.heading, theta + drawn.turn)
    activity = new_activity(state.activity, sums.sensed, params)
    return Rods(wrap(pos, params), theta, activity)


def run(state: Rods, params: ModelParams, steps: int) -> Rods:
    """`steps` Euler steps."""
    for _ in range(steps):
        state = one_timestep(state, params)
    return state


def defaults(**values: float | str) -> SimpleNamespace:
    """Parameters of the checks: l = 4, R = 0.5, gamma = 1, no sensing, no thrust."""
    base = {
        "space_size": 40.0,
        "length": 4.0,
        "radius": 0.5,
        "w_a": 1.0,
        "w_d": 1.0,
        "k_cc": 60.0,
        "F_prop": 0.0,
        "T_prop": 0.0,
        "activity_thresh": 0.0,
        "activity_width": 1.0,
        "sensing_range": 2.0,
        "tau_a": 0.0,
        "D_r": 0.0,
        "D_t": 0.0,
        "tumble_rate": 0.0,
        "dt": 0.003,
        "gamma": 1.0,
        **GIVEN,
    }
    unknown = set(values) - set(base)
    if unknown:
        raise TypeError(f"no such parameter: {sorted(unknown)}")
    return SimpleNamespace(**{**base, **values})
