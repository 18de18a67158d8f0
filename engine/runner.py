# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled program with the state on the device, grown when an array is outgrown."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from engine.capacity import Capacity, Demand, capacity_for, grown
from engine.kernels import is_listed
from engine.obstacle import Obstacle
from engine.params import Laws, Params, Setup
from engine.program import Program, check_memory, compile_program
from engine.schema import ParameterError
from engine.snapshot import Start
from engine.state import State, to_device, with_capacity
from engine.stats import ListStats
from engine.step import ListReport, Packed, Report
from engine.timing import CompileRecord

# Batches that "recent" figures are taken over.
RECENT = 64


class Held(NamedTuple):
    """A program, and the state that it is to run on, which running takes away.

    `listed` is what the neighbour list has told last, `recent` the steps and builds of batches.
    """

    program: Program
    state: State
    listed: ListReport | None = None
    recent: tuple[tuple[int, int], ...] = ()

    @property
    def lost(self) -> bool:
        """Whether the state is gone: a batch took it and was ended before it gave one back."""
        return any(leaf.is_deleted() for leaf in jax.tree.leaves(self.state))

    @property
    def list_stats(self) -> ListStats | None:
        """Figures of the neighbour list; None without one, and before its first build."""
        of, room = self.listed, self.program.capacity
        if of is None:
            return None
        steps = max(sum(steps for steps, _ in self.recent), 1)
        builds = sum(builds for _, builds in self.recent)
        return ListStats(
            float(of.skin), float(of.mean), int(of.most), room.slots, int(of.candidates),
            room.candidates, 1000 * builds / steps,
        )  # fmt: skip

    def after(self, state: State, report: Report) -> "Held":
        """With the state after a batch, and what its report tells."""
        of, steps = report.neighbours, int(report.steps_done)
        if of is None or not steps:
            return self._replace(state=state)
        before = 0 if self.listed is None else int(self.listed.builds)
        recent = (*self.recent, (steps, int(of.builds) - before))[-RECENT:]
        return self._replace(state=state, listed=of, recent=recent)


def place(
    program: Program,
    start: Start,
    params: Params,
    *,
    step: int,
    seed: int,
    ids: np.ndarray | None,
    rest: np.ndarray | None = None,
    obstacles: tuple[Obstacle, ...] = (),
) -> Held:
    """Rods on the device, to be run by `program`; see `engine.state.to_device`."""
    state = to_device(
        start, params, program.capacity, listed=is_listed(program.kernel),
        step=step, seed=seed, ids=ids, rest=rest, obstacles=obstacles,
        boundary=program.laws.boundary,
    )  # fmt: skip
    return Held(program, state)


class Ran(NamedTuple):
    """What came of a batch: what is held now, the report in NumPy, the seconds of the steps.

    `problem` tells why the batch ended early although its steps were good: an array was outgrown
    and there is no memory for a larger one.
    """

    held: Held
    report: Report
    seconds: float
    problem: ParameterError | None


class Runner:
    """Compiles programs, and runs batches of steps; one that outgrows an array goes on in a larger.

    `threads` is how many native code uses; `compiles` and `growths` are the compiles so far, for
    other reasons and for that one. `on_compile` is called with the reason before each.
    """

    def __init__(self, on_compile: Callable[[str], None], threads: int) -> None:
        self._on_compile = on_compile
        self.threads = threads
        self.compiles: list[CompileRecord] = []
        self.growths: list[CompileRecord] = []

    @property
    def latest(self) -> CompileRecord | None:
        """The latest compile."""
        return self._latest if self.compiles or self.growths else None

    def note(self, record: CompileRecord) -> None:
        """Count a compile of something else than steps."""
        self.compiles.append(record)
        self._latest = record

    def program_for(
        self, old: Program | None, setup: Setup, params: Params, kernel: str
    ) -> Program:
        """A program for `setup`: `old` where its arrays have the right size, and it does the same.

        Raises `ParameterError` where there is no memory for it.
        """
        capacity = capacity_for(setup.rods, params, jax.default_backend(), kernel)
        check_memory(setup, kernel, capacity)
        if old and _made(old, old.capacity.rods) == (capacity.rods, kernel, setup.laws):
            return old
        reason = _reason(old, kernel, setup)
        return self._compiled(setup, kernel, capacity, reason, self.compiles)

    def program_with(
        self, old: Program | None, setup: Setup, kernel: str, capacity: Capacity
    ) -> Program:
        """A program of just this capacity: `old` if it has it. Raises as `program_for` does."""
        check_memory(setup, kernel, capacity)
        if old and _made(old, old.capacity) == (capacity, kernel, setup.laws):
            return old
        return self._compiled(setup, kernel, capacity, "checkpoint", self.compiles)

    def larger_for(self, old: Program, setup: Setup, params: Params, kernel: str) -> Program:
        """A program in place of `old` with room for the rods of `setup`, which `old` has not.

        Raises `ParameterError` where there is no memory for it.
        """
        larger = capacity_for(setup.rods, params, jax.default_backend(), kernel)
        if kernel == old.kernel:
            larger = grown(larger, Demand(old.capacity.slots, old.capacity.candidates))
        return self._compiled_larger(setup, kernel, larger, "more rods")

    def run(self, held: Held, setup: Setup, packed: Packed, K: int, most_move: float) -> Ran:
        """Take K steps, or as many as can be trusted, and wait for them.

        What a failing device raises passes, and so does Ctrl-C; the state of `held` is lost then.
        """
        done, seconds, speed = 0, 0.0, np.float32(math.nan)
        limit = jax.device_put(np.float32(most_move))
        while True:
            steps = jax.device_put(np.int32(K - done))
            begin = time.perf_counter()
            state, report = held.program(held.state, packed, steps, limit)
            report: Report = jax.device_get(jax.block_until_ready(report))
            seconds += time.perf_counter() - begin
            held = held.after(state, report)
            # A turn that takes no step knows no speed.
            speed = report.observables.mean_speed if report.steps_done else speed
            done += int(report.steps_done)
            observables = report.observables._replace(mean_speed=speed)
            report = report._replace(steps_done=np.int32(done), observables=observables)
            if report.neighbours is None or report.neighbours.fits:
                return Ran(held, report, seconds, None)
            try:
                held = self._grown(held, setup, report.neighbours)
            except ParameterError as problem:
                return Ran(held, report, seconds, problem)

    def _grown(self, held: Held, setup: Setup, listed: ListReport) -> Held:
        """With room in the list for what it has just asked for; its rods stay where they are."""
        old = held.program
        larger = grown(old.capacity, Demand(int(listed.most), int(listed.candidates)))
        program = self._compiled_larger(setup, old.kernel, larger, "longer neighbour lists")
        return held._replace(program=program, state=with_capacity(held.state, larger))

    def _compiled_larger(self, setup: Setup, kernel: str, capacity: Capacity, why: str) -> Program:
        check_memory(setup, kernel, capacity)
        return self._compiled(setup, kernel, capacity, f"growth: {why}", self.growths)

    def _compiled(
        self, setup: Setup, kernel: str, capacity: Capacity, reason: str,
        among: list[CompileRecord],
    ) -> Program:  # fmt: skip
        self._on_compile(reason)
        program = compile_program(setup, kernel, capacity, reason, self.threads)
        among.append(program.record)
        self._latest = program.record
        return program


def _made(program: Program, room: int | Capacity) -> tuple[int | Capacity, str, Laws]:
    """What decides whether `program` serves a run that needs `room`."""
    return room, program.kernel, program.laws


def _reason(old: Program | None, kernel: str, setup: Setup) -> str:
    """Why a program is compiled in place of `old`."""
    if old is None:
        return "first start"
    if old.kernel != kernel:
        return "kernel"
    return "rods" if old.laws == setup.laws else "model"
