# SPDX-License-Identifier: GPL-3.0-or-later
"""Systems side by side: their states stacked, advanced by one compiled program.

On a CPU the program takes one system after the other: a state then stays in the cache, and the bits
of a system are its own whatever else is in the batch. On a card, which one small system leaves
nearly empty, it takes all of them at once (`jax.vmap`). There too no number of one system enters
another, and the size of a batch, which the compiler knows, is the same for all of a sweep; empty
places take no steps.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from engine.capacity import Capacity, Demand, capacity_for, grown
from engine.kernels import is_listed
from engine.params import Params, Setup
from engine.program import check_memory, compiled_ahead
from engine.schema import ParameterError
from engine.state import NeighbourList, State, state_shapes
from engine.step import PARAM_NAMES, Report, advance, pack, steps_for


@dataclass(frozen=True)
class Kind:
    """What decides a program besides its capacity.

    `at_once` tells whether it takes all systems at once, and then `alike` names the parameters that
    are the same in all of them, which leaves out what none of them needs, noise say.
    """

    setup: Setup
    kernel: str
    batch: int
    at_once: bool
    alike: tuple[str, ...]


class Ran(NamedTuple):
    """What came of steps.

    `report` holds those of all systems in NumPy, `rods` (batch, N, 4) is on the device; `problems`
    tells why systems could not go on for want of memory, by their places.
    """

    report: Report
    rods: Any
    problems: dict[int, str]


def kind_for(setup: Setup, kernel: str, batch: int, alike: tuple[str, ...]) -> Kind:
    """The kind of program for this machine."""
    at_once = jax.default_backend() != "cpu"
    return Kind(setup, kernel, batch, at_once, alike if at_once else ())


class Batch:
    """Up to `kind.batch` systems with `params`, one for each; `place` them before they `run`."""

    # Programs and the room that they have are kept for the next batch of the same kind.
    _programs: ClassVar[dict[tuple[Kind, Capacity], Any]] = {}
    _room: ClassVar[dict[Kind, Capacity]] = {}

    def __init__(self, kind: Kind, params: Sequence[Params]) -> None:
        self.kind = kind
        self.size = len(params)
        platform, rods = jax.default_backend(), kind.setup.rods
        needed = [capacity_for(rods, one, platform, kind.kernel) for one in params]
        room = self._room.get(kind, needed[0])
        self.capacity = room._replace(
            slots=max(one.slots for one in (*needed, room)),
            candidates=max(one.candidates for one in (*needed, room)),
        )
        self._check_memory()
        self._room[kind] = self.capacity
        self._states: State | None = None

    def place(self, states: Sequence[State]) -> None:
        """Take `states`, of NumPy arrays, in place of those before."""
        filled = [*states, *[states[-1]] * (self.kind.batch - self.size)]
        self._states = jax.device_put(jax.tree.map(lambda *each: np.stack(each), *filled))

    def take(self) -> list[State]:
        """The states in NumPy."""
        held = jax.device_get(self._states)
        return [jax.tree.map(lambda leaf, at=at: leaf[at], held) for at in range(self.size)]

    def run(
        self, params: Sequence[Params], steps: Sequence[int], most_move: Sequence[float]
    ) -> Ran:
        """Take so many steps of each system, or as many as can be trusted, and wait for them."""
        packed, limit = self._packed(params), self._filled(most_move, np.float32)
        left = self._filled(steps, np.int32, padding=0)
        done, told, rods = np.zeros_like(left), None, None
        while True:
            program = self._program()
            self._states, report = program(self._states, packed, left, limit)
            rods = report.rods
            small = jax.device_get(report._replace(rods=()))
            done = done + small.steps_done
            told = small if told is None else merged(left > 0, small, told)
            told = told._replace(steps_done=done)
            unfit = _unfit(small)
            if not unfit.any():
                return Ran(told, rods, {})
            try:
                self._grow(small, unfit)
            except ParameterError as problem:
                return Ran(told, rods, {int(at): str(problem) for at in np.flatnonzero(unfit)})
            left = np.where(unfit, self._filled(steps, np.int32, padding=0) - done, 0)

    def _filled(self, values: Sequence[Any], of: type, padding: float | None = None) -> np.ndarray:
        last = values[-1] if padding is None else padding
        return np.array([*values, *[last] * (self.kind.batch - self.size)], of)

    def _packed(self, params: Sequence[Params]) -> tuple[np.ndarray | np.float32, ...]:
        each = zip(*(pack(one) for one in params), strict=True)
        return tuple(
            values[0] if name in self.kind.alike else self._filled(values, np.float32)
            for name, values in zip(PARAM_NAMES, each, strict=True)
        )

    def _check_memory(self) -> None:
        all_of_them = Setup(rods=self.kind.setup.rods * self.kind.batch)
        size = self.capacity._replace(rods=self.capacity.rods * self.kind.batch)
        check_memory(all_of_them, self.kind.kernel, size)

    def _program(self) -> Callable:
        key = (self.kind, self.capacity)
        if key not in self._programs:
            self._programs[key] = _compiled(self.kind, self.capacity)
        return self._programs[key]

    def _grow(self, report: Report, unfit: Bool[np.ndarray, "batch"]) -> None:
        """Make room in all lists for the longest that was asked for."""
        asked = report.neighbours
        assert asked is not None
        old = self.capacity
        demand = Demand(
            int(np.max(np.where(unfit, asked.most, 0))),
            int(np.max(np.where(unfit, asked.candidates, 0))),
        )
        self.capacity = grown(old, demand)
        self._check_memory()
        self._room[self.kind] = self.capacity
        states = jax.device_get(self._states)
        self._states = jax.device_put(_widened(states, old, self.capacity, unfit))


def _compiled(kind: Kind, room: Capacity) -> Callable:
    step = partial(advance, steps=steps_for(kind.kernel, room), laws=kind.setup.laws)
    listed = is_listed(kind.kernel)
    shapes = jax.tree.map(
        lambda one: jax.ShapeDtypeStruct((kind.batch, *one.shape), one.dtype),
        state_shapes(room, listed=listed),
    )
    packed = tuple(
        jax.ShapeDtypeStruct(() if name in kind.alike else (kind.batch,), np.float32)
        for name in PARAM_NAMES
    )
    each: Any = jax.ShapeDtypeStruct((kind.batch,), np.int32)
    limit: Any = jax.ShapeDtypeStruct((kind.batch,), np.float32)
    axes = tuple(None if name in kind.alike else 0 for name in PARAM_NAMES)
    at_once: Callable = jax.vmap(step, in_axes=(0, axes, 0, 0))

    def in_turn(*arguments: Any) -> Any:
        return jax.lax.map(lambda one: step(*one), arguments)

    together = at_once if kind.at_once else in_turn
    compiled, _ = compiled_ahead(
        jax.jit(together, donate_argnums=0), (shapes, packed, each, limit), "sweep"
    )
    return compiled


def _unfit(report: Report) -> Bool[np.ndarray, "batch"]:
    """Which systems have outgrown their lists."""
    if report.neighbours is None:
        return np.zeros(len(report.ok), bool)
    return ~np.asarray(report.neighbours.fits)


def merged(active: Bool[np.ndarray, "batch"], new: Report, old: Report) -> Report:
    """`new` where a system had steps to take, `old` where it had not."""

    def chosen(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where(active.reshape(-1, *[1] * (a.ndim - 1)), a, b)

    return jax.tree.map(chosen, new, old)


def _widened(states: State, old: Capacity, new: Capacity, unfit: np.ndarray) -> State:
    """`states` with room for longer lists; those that did not fit are to be built again.

    As `engine.state.with_capacity`; the lists of the others stay as they are.
    """
    listed = states.neighbours
    assert listed is not None
    own = np.arange(new.rods, dtype=np.int32).reshape(new.chunks, 1, -1)
    table = np.broadcast_to(own, (len(unfit), *new.table)).copy()
    table[:, :, : old.slots] = listed.table
    made: NeighbourList = listed._replace(
        table=jnp.asarray(table),
        used=jnp.asarray(np.where(unfit[:, None], 0, listed.used)),
        # NaN is near no place, so the list is not current.
        pos=jnp.asarray(np.where(unfit[:, None, None], np.float32(math.nan), listed.pos)),
    )
    return states._replace(neighbours=made)
