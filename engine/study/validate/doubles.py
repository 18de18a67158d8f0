# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's own step in float64: what it would compute if numbers were wider.

The equations are those of the engine, stage by stage, so this finds what float32 does to a run and
not a wrong equation; the other checks find that. A driver runs float32 alone.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from engine.capacity import capacity_for
from engine.kernels import KERNELS
from engine.observables.device import observe
from engine.params import Params
from engine.snapshot import Snapshot, Start
from engine.state import State, to_device
from engine.step import PARAM_NAMES, alive, one_timestep, speed, unpack


class InDoubles:
    """A run of `rods` rods under `params`, all pairs summed. The time of a step is O(N²)."""

    def __init__(self, rods: int, params: Params) -> None:
        self._params = params
        self._capacity = capacity_for(rods, params, "cpu", "naive")
        self._steps = 0
        with jax.enable_x64(True):
            self._packed = tuple(jnp.float64(np.float32(getattr(params, n))) for n in PARAM_NAMES)
            self._advance = jax.jit(_advance)

    def begin(self, start: Start) -> None:
        """Go to `start`."""
        self._steps = 0
        with jax.enable_x64(True):
            state = to_device(start, self._params, self._capacity, listed=False)
            self._state = jax.tree.map(_widened, state)

    def advance(self, K: int) -> Snapshot:
        """Take K steps. The snapshot is float32, as all are."""
        self._steps += K
        with jax.enable_x64(True):
            self._state, observed = self._advance(self._state, self._packed, K)
            state = jax.device_get(self._state)
        rods = np.column_stack([state.pos, state.theta, state.activity])[: int(state.n)]
        return Snapshot(
            rods.astype(np.float32), self._steps, self._steps * self._params.dt, self._params,
            {name: float(value) for name, value in observed._asdict().items()},
        )  # fmt: skip


def _widened(leaf: Any) -> Any:
    return leaf.astype(jnp.float64) if leaf.dtype == jnp.float32 else leaf


def _advance(state: State, packed: tuple, K: Any) -> tuple[State, Any]:
    params, no_limit = unpack(packed), jnp.asarray(jnp.inf)

    def step(_: Any, carry: tuple[State, Any]) -> tuple[State, Any]:
        new, motion = one_timestep(carry[0], params, KERNELS["naive"], no_limit)
        return new, jnp.sum(speed(motion))

    state, fast = lax.fori_loop(0, K, step, (state, jnp.zeros(())))
    return state, observe(state.direction, state.activity, fast, alive(state))
