# SPDX-License-Identifier: GPL-3.0-or-later
"""A run through which JAX differentiates: a scan of fixed length over the same `one_timestep`.

A `Driver` runs as many steps as it is told in a loop of no fixed length, over neighbour lists that
are made anew in it; neither has a gradient. Importing this makes `Params` a pytree.
"""

import dataclasses
import math
import operator
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple, SupportsIndex

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Float, Int, UInt32

from engine import schema
from engine.kernels import naive, rowsum
from engine.kernels.sums import Kernel
from engine.obstacle import Obstacle, checked_obstacles
from engine.params import GIVEN, Laws, Params, Setup
from engine.program import available_bytes
from engine.schema import ParameterError
from engine.snapshot import Snapshot, Start
from engine.state import State, obstacle_arrays, start_from
from engine.step import PARAM_NAMES, one_timestep, step_length, tip_moves, unpack

jax.tree_util.register_dataclass(Params, data_fields=list(PARAM_NAMES), meta_fields=[])

# Up to here the double vmap is the faster of the two, and its arrays are small.
FEW_RODS = 256

# The kernels that can be differentiated backwards.
BACKWARDS: dict[str, Kernel] = {
    "naive": naive.per_particle_sum,
    "rowsum": partial(rowsum.per_particle_sum, backwards=True),
}
# What a step changes of a state.
_CHANGED = ("pos", "theta", "direction", "activity", "rest", "step", "elapsed")


class Rods(NamedTuple):
    """Rods as plain arrays, which JAX differentiates, maps and compiles over.

    `pos` (N, 2), `theta` (N,), `activity` (N,) in [0, 1]. Along a path each has one axis more, the
    first.
    """

    pos: Float[Any, "*path rods 2"]
    theta: Float[Any, "*path rods"]
    activity: Float[Any, "*path rods"]


def rollout(
    state: Rods | Snapshot | Start,
    params: Params,
    steps: SupportsIndex,
    *,
    setup: Setup | None = None,
    seed: int = 0,
    step: int | None = None,
    obstacles: Iterable[Obstacle] | None = None,
    path: bool = False,
) -> Rods:
    """The rods `steps` time steps later, by a program that `jax.grad` differentiates.

    The model, and to rounding the result, are those of `Driver.advance`. It computes in float32, or
    in float64 where JAX is told to (`jax_enable_x64`). `jax.grad`, `jacfwd`, `vmap` and `jit` work
    over `state`, as `Rods`, and over `params`; all else is plain values. docs/library.md tells
    where the model is not smooth, and what a gradient is there.

    Args:
        state: the rods to begin with. Of a snapshot, step, ids and obstacles are taken too.
        params: the live parameters; each may be a number or an array of shape ().
        steps: how many, a plain number: the program is made for it.
        setup: the kernel (auto, rowsum or naive) and the laws, by default those of a snapshot, else
            the given ones; the number of rods is that of `state`.
        seed: of the noise, as for a `Driver`.
        step: that `state` is at, which numbers the noise; by default that of a snapshot, else 0.
        obstacles: by default those of a snapshot, else none.
        path: return every state on the way, the first and the last too.

    Returns:
        The last rods, or with `path` all of them, along a first axis of `steps` + 1. From a step on
        in which a rod would move by more than a body width, which a Driver refuses, all is NaN.

    Raises:
        ParameterError: a state, params or setup of another kind, a kernel that cannot be
            differentiated, a number of steps that is no plain number, a path that would not fit
            into memory, and, as far as values are known yet, whatever a Driver would refuse.
    """
    _require("state", state, (Rods, Snapshot, Start))
    _require("params", params, (Params,))
    _require("setup", setup, (Setup, type(None)))
    if setup is None:
        laws = state.laws if isinstance(state, Snapshot) else GIVEN
        setup = Setup(**dataclasses.asdict(laws))
    steps = _whole("steps", steps, 2**31)
    if isinstance(state, Snapshot | Start):
        step = state.step if step is None else step
        if obstacles is None and isinstance(state, Snapshot):
            obstacles = state.obstacles
    step = 0 if step is None else _whole("step", step, 2**63)
    n = _checked_shapes(state)
    if path:
        _require_memory(steps, n)
    ids = None if isinstance(state, Rods) else state.ids
    kernel = _kernel_for(setup, n)
    params = jax.tree.map(lambda value: jnp.asarray(value, jnp.result_type(float)), params)
    found = tuple(obstacles or ())
    if _is_known(params):
        plain = Params(**{name: float(getattr(params, name)) for name in PARAM_NAMES})
        schema.check(dataclasses.replace(setup, rods=n), plain)
        found = checked_obstacles(found, plain.space_size, setup.boundary)
        if _is_known((state.pos, state.theta, state.activity)):
            start_from(state.pos, state.theta, state.activity, plain, setup.boundary)
    places, count = obstacle_arrays(found)
    rods = Rods(*[
        jnp.asarray(array, jnp.result_type(float))
        for array in (state.pos, state.theta, state.activity)
    ])  # fmt: skip
    return _rolled(
        rods, params, np.uint32(step % 2**32), np.uint32(schema.seed_from(seed) % 2**32),
        np.arange(n, dtype=np.int32) if ids is None else ids, jnp.asarray(places, rods.pos.dtype),
        steps=steps, kernel=kernel, laws=setup.laws, count=int(count), path=path,
    )  # fmt: skip


@partial(jax.jit, static_argnames=("steps", "kernel", "laws", "count", "path"))
def _rolled(
    rods: Rods,
    params: Params,
    step: UInt32[Array, ""],
    seed: UInt32[Array, ""],
    ids: Int[Array, "rods"],
    obstacles: Float[Array, "places 5"],
    *,
    steps: int,
    kernel: str,
    laws: Laws,
    count: int,
    path: bool,
) -> Rods:
    n, theta = rods.theta.size, rods.theta
    physics = unpack(tuple(getattr(params, name) for name in PARAM_NAMES), laws)
    # A plain number of obstacles: a loop over them of no fixed length has no gradient.
    number: Any = count
    first = State(
        rods.pos, theta, jnp.stack([jnp.cos(theta), jnp.sin(theta)], axis=1), rods.activity,
        jnp.zeros((n, 3), theta.dtype), ids, jnp.arange(n), jnp.asarray(n), step, seed,
        obstacles, number, jnp.zeros(2, theta.dtype), None,
    )  # fmt: skip

    def one(changed: tuple[Array, ...], _: None) -> tuple[tuple[Array, ...], Rods | None]:
        state = first._replace(**dict(zip(_CHANGED, changed, strict=True)))
        new, motion = one_timestep(state, physics, BACKWARDS[kernel], None)
        # What a Driver refuses, nobody could be told of here in another way.
        motion = lax.stop_gradient(motion)
        taken = dataclasses.replace(physics, dt=step_length(motion, physics))
        trusted = jnp.all(tip_moves(motion, taken) <= 2 * params.radius)
        new = new._replace(pos=jnp.where(trusted, new.pos, math.nan))
        told = Rods(new.pos, new.theta, new.activity) if path else None
        return tuple(getattr(new, name) for name in _CHANGED), told

    # What a step is made of, N × N arrays among it, is computed again for its gradient.
    begin = tuple(getattr(first, name) for name in _CHANGED)
    last, passed = lax.scan(jax.checkpoint(one, prevent_cse=False), begin, length=steps)
    if not path:
        pos, theta, _, activity, *_ = last
        return Rods(pos, theta, activity)
    return jax.tree.map(lambda a, rest: jnp.concatenate([a[None], rest]), rods, passed)


def _require(name: str, value: object, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds):
        known = [kind.__name__ for kind in kinds if kind is not type(None)]
        raise ParameterError(
            name, type(value).__name__, "is of a kind that is not known",
            f"Give {' or '.join(known)}, from engine.",
        )  # fmt: skip


def _whole(name: str, value: SupportsIndex, below: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < below:
        raise ParameterError(
            name, value, "is no plain whole number of steps",
            "Give one of at least 0; under jax.jit name it in static_argnames.",
        )  # fmt: skip
    return number


def _require_memory(steps: int, n: int) -> None:
    """Raise `ParameterError` where all states on the way would not fit into memory."""
    # Place, angle and activity, twice while the first is put before the others.
    a_step = 2 * 4 * n * jnp.dtype(jnp.result_type(float)).itemsize
    needed, available = (steps + 1) * a_step, available_bytes()
    if needed > available:
        raise ParameterError(
            "steps", steps,
            f"with path = True needs {needed / 1e9:,.1f} GB of memory for {n} rods, and "
            f"{available / 1e9:,.1f} GB are free",
            f"Take at most {max(0, available // a_step - 1):,}, or go on from the last rods.",
        )  # fmt: skip


def _kernel_for(setup: Setup, n: int) -> str:
    if setup.kernel == "auto":
        return "naive" if n <= FEW_RODS else "rowsum"
    if setup.kernel not in BACKWARDS:
        raise ParameterError(
            "kernel", setup.kernel, "cannot be differentiated: neighbour lists, in native code or "
            "JAX's, are made anew in the midst of a run",
            "Use 'rowsum' or 'naive', or leave it at 'auto'.",
        )  # fmt: skip
    return setup.kernel


def _checked_shapes(state: Rods | Snapshot | Start) -> int:
    """The number of rods. Raises `ParameterError` for arrays whose shapes disagree."""
    shapes = tuple(np.shape(array) for array in (state.pos, state.theta, state.activity))
    n = shapes[1][0] if shapes[1] else 0
    if shapes != ((n, 2), (n,), (n,)) or not n:
        raise ParameterError(
            "state", shapes, "has arrays of unequal shapes", "Give (N, 2), (N,), (N,)."
        )
    return n


def _is_known(values: Any) -> bool:
    """Whether these are numbers already, and not what stands for them while JAX traces."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values))
