# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled program with the state on the device, grown when an array is outgrown."""

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from engine.capacity import Capacity, Demand, capacity_for, grown
from engine.kernels import is_listed
from engine.params import Params, Setup
from engine.program import Program, check_memory, compile_program
from engine.schema import ParameterError
from engine.snapshot import Start
from engine.state import State, to_device, with_capacity
from engine.stats import ListStats
from engine.step import ListReport, Packed, Report
from engine.timing import CompileRecord

# Batches that "recent" figures are taken over.
RECENT = 64


class Ran(NamedTuple):
    """What came of a batch: its report in NumPy, and the seconds that the steps took.

    `problem` tells why the batch ended early although its steps were good: an array was outgrown
    and there is no memory for a larger one.
    """

    report: Report
    seconds: float
    problem: ParameterError | None


class Runner:
    """Runs batches of steps; a batch that outgrows an array goes on in a larger one.

    `threads` is how many native code uses; `compiles` and `growths` are the compiles so far, for
    other reasons and for that one. `on_compile` is called with the reason before each.
    """

    def __init__(self, on_compile: Callable[[str], None], threads: int) -> None:
        self._on_compile = on_compile
        self.threads = threads
        self.compiles: list[CompileRecord] = []
        self.growths: list[CompileRecord] = []
        self._program: Program | None = None
        self._state: State | None = None
        self._listed: ListReport | None = None
        self._recent: deque[tuple[int, int]] = deque(maxlen=RECENT)

    @property
    def program(self) -> Program:
        """The compiled program in use."""
        assert self._program is not None
        return self._program

    @property
    def latest(self) -> CompileRecord | None:
        """The latest compile."""
        return self._latest if self.compiles or self.growths else None

    def program_for(self, setup: Setup, params: Params, kernel: str) -> Program:
        """A program for `setup`: the one in use where its arrays have the right size.

        Raises `ParameterError` where there is no memory for it.
        """
        capacity = capacity_for(setup.rods, params, jax.default_backend(), kernel)
        check_memory(setup, kernel, capacity)
        old = self._program
        if old and (old.capacity.rods, old.kernel) == (capacity.rods, kernel):
            return old
        reason = "first start" if not old else "kernel" if old.kernel != kernel else "rods"
        return self._compiled(setup, kernel, capacity, reason, self.compiles)

    def program_with_room(self, setup: Setup, params: Params) -> Program:
        """The program in use, or where `setup` has too many rods for it a larger one."""
        old = self.program
        if setup.rods <= old.capacity.rods:
            return old
        larger = capacity_for(setup.rods, params, jax.default_backend(), old.kernel)
        larger = grown(larger, Demand(old.capacity.slots, old.capacity.candidates))
        return self._compiled_larger(setup, larger, "more rods")

    def place(
        self,
        program: Program,
        start: Start,
        params: Params,
        *,
        step: int,
        seed: int,
        ids: np.ndarray | None,
    ) -> None:
        """Put rods on the device, to be run by `program`; nothing changes where that is refused."""
        state = to_device(
            start, params, program.capacity, listed=is_listed(program.kernel),
            step=step, seed=seed, ids=ids,
        )  # fmt: skip
        self._program, self._state, self._listed = program, state, None
        self._recent.clear()

    def run(self, setup: Setup, packed: Packed, K: int, most_move: float) -> Ran:
        """Take K steps, or as many as can be trusted, and wait for them.

        What a failing device raises passes; the state is lost then, since it was donated.
        """
        done, seconds, limit = 0, 0.0, jax.device_put(np.float32(most_move))
        while True:
            steps = jax.device_put(np.int32(K - done))
            begin = time.perf_counter()
            assert self._state is not None
            self._state, report = self.program(self._state, packed, steps, limit)
            report: Report = jax.device_get(jax.block_until_ready(report))
            seconds += time.perf_counter() - begin
            done += int(report.steps_done)
            self._see(report)
            report = report._replace(steps_done=np.int32(done))
            if report.neighbours is None or report.neighbours.fits:
                return Ran(report, seconds, None)
            try:
                self._grow(setup, report.neighbours)
            except ParameterError as problem:
                return Ran(report, seconds, problem)

    @property
    def list_stats(self) -> ListStats | None:
        """Figures of the neighbour list; None without one, and before its first build."""
        of, room = self._listed, self.program.capacity
        if of is None:
            return None
        steps = max(sum(steps for steps, _ in self._recent), 1)
        builds = sum(builds for _, builds in self._recent)
        return ListStats(
            float(of.skin), float(of.mean), int(of.most), room.slots, int(of.candidates),
            room.candidates, 1000 * builds / steps,
        )  # fmt: skip

    def _see(self, report: Report) -> None:
        if report.neighbours is not None and report.steps_done:
            before = 0 if self._listed is None else int(self._listed.builds)
            self._recent.append((int(report.steps_done), int(report.neighbours.builds) - before))
            self._listed = report.neighbours

    def _grow(self, setup: Setup, listed: ListReport) -> None:
        """Give the list room for what it has just asked for; its rods stay where they are."""
        demand = Demand(int(listed.most), int(listed.candidates))
        larger = grown(self.program.capacity, demand)
        self._program = self._compiled_larger(setup, larger, "longer neighbour lists")
        assert self._state is not None
        self._state = with_capacity(self._state, larger)

    def _compiled_larger(self, setup: Setup, capacity: Capacity, why: str) -> Program:
        check_memory(setup, self.program.kernel, capacity)
        kernel, reason = self.program.kernel, f"growth: {why}"
        return self._compiled(setup, kernel, capacity, reason, self.growths)

    def _compiled(
        self, setup: Setup, kernel: str, capacity: Capacity, reason: str,
        among: list[CompileRecord],
    ) -> Program:  # fmt: skip
        self._on_compile(reason)
        program = compile_program(setup, kernel, capacity, reason, self.threads)
        among.append(program.record)
        self._latest = program.record
        return program
