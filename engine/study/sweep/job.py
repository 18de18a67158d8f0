# SPDX-License-Identifier: GPL-3.0-or-later
"""Running one job: the start of its systems, warm-up, and samples, all side by side."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from engine.driver import RELAX_BATCH, RELAX_BATCHES, relaxed_move, why_refused
from engine.kernels import is_listed, resolve
from engine.program import device_name
from engine.schema import quiet
from engine.snapshot import Start
from engine.state import on_host, random_start, remainders, start_activity
from engine.step import RELAX_MOVE, Report
from engine.study.sweep.batch import Batch, Ran, kind_for, merged
from engine.study.sweep.observing import OBSERVED
from engine.study.sweep.plan import Job

# A warm-up is cut into so many pieces at most, between which a job tells how far it is.
PIECES = 200


@dataclass(frozen=True)
class Done:
    """What came of a job.

    `values` (systems, samples, observables) are NaN from where a system failed; `failed` tells why,
    empty for the others. `code` and `device` are whose code it was and what it ran on.
    """

    number: int
    values: Float64[np.ndarray, "systems samples observables"]
    failed: tuple[str, ...]
    code: str
    device: str


class _Running:
    """The systems of a job under way."""

    def __init__(self, job: Job) -> None:
        self.job, self.systems = job, job.systems
        self.params = [system.params for system in job.systems]
        setup = job.systems[0].setup
        self.choice = resolve(setup)
        self.failed = [""] * len(job.systems)
        self.at = np.zeros(len(job.systems), np.int64)
        self.fixed = setup.time_step == "fixed"
        # Of each system that of the last step that it took.
        self.report: Report | None = None
        self.rods: Any = None
        self.batch = Batch(kind_for(setup, self.choice.kernel, job.batch, job.alike), self.params)

    def start(self) -> None:
        """Put rods at random places, let overlaps push them apart, give them their activity.

        As `Driver` does: on a CPU a system has the bits that it has alone.
        """
        begun = [random_start(s.setup, s.params, s.seed) for s in self.systems]
        self._place(begun, [None] * len(begun))
        params = [quiet(s.setup, s.params) for s in self.systems]
        width = np.array([2 * one.radius for one in self.params])
        move, count = (RELAX_MOVE * width).tolist(), len(self.systems)
        ran = self.batch.run(params, [0] * count, move)
        relaxed = np.array([relaxed_move(s.setup, s.params) for s in self.systems], np.float32)
        relaxing = np.array([one.k_cc > 0 for one in self.params])
        for _ in range(RELAX_BATCHES):
            if not relaxing.any():
                break
            ran = self.batch.run(params, np.where(relaxing, RELAX_BATCH, 0).tolist(), move)
            self._note(ran)
            still = ran.report.largest_move[:count] < relaxed
            relaxing &= ~still & np.array([not why for why in self.failed])
        rods, states = np.asarray(ran.rods), self.batch.take()
        starts = []
        for at, system in enumerate(self.systems):
            pos, theta = rods[at, : system.setup.rods, :2], rods[at, : system.setup.rods, 2]
            starts.append(Start(pos, theta, start_activity(system.setup, system.params, pos)))
        self._place(starts, [remainders(state) for state in states])

    def _place(self, starts: list[Start], rests: list[np.ndarray | None]) -> None:
        listed = is_listed(self.choice.kernel)
        self.batch.place([
            on_host(start, s.params, self.batch.capacity, listed=listed, seed=s.seed, rest=rest,
                    boundary=s.setup.boundary)
            for s, start, rest in zip(self.systems, starts, rests, strict=True)
        ])  # fmt: skip

    def go_to(self, time: float) -> None:
        """Take steps until no system that has not failed could come nearer to `time`."""
        while any(steps := self._steps_to(time)):
            self._take(steps)

    def _steps_to(self, time: float) -> list[int]:
        """How many steps each system has to take, at least where they are of adaptive length."""
        gone = np.zeros(len(self.systems))
        if not self.fixed and self.report is not None:
            gone = self.report.elapsed[: len(gone)].astype(np.float64).sum(axis=1)
        done = self.at if self.fixed else np.zeros_like(self.at)
        return [
            0 if why else max(0, system.steps_in(time - passed) - int(before))
            for why, system, passed, before in zip(
                self.failed, self.systems, gone, done, strict=True
            )
        ]

    def _take(self, steps: list[int]) -> None:
        ran = self.batch.run(self.params, steps, [math.inf] * len(steps))
        self.at += ran.report.steps_done[: len(steps)]
        self.rods = ran.rods
        took = np.zeros(self.job.batch, bool)
        took[: len(steps)] = ran.report.steps_done[: len(steps)] > 0
        self.report = ran.report if self.report is None else merged(took, ran.report, self.report)
        self._note(ran)
        for at, ok in enumerate(ran.report.ok[: len(steps)]):
            if steps[at] and not ok and not self.failed[at]:
                worst = int(ran.report.worst_row[at])
                what, remedy = why_refused(
                    self.systems[at].setup,
                    self.params[at],
                    worst,
                    float(ran.report.largest_move[at]),
                )
                self.failed[at] = f"Step {self.at[at] + 1} was not taken: {what}. {remedy}"

    def _note(self, ran: Ran) -> None:
        for at, problem in ran.problems.items():
            self.failed[at] = self.failed[at] or problem

    def observe(self) -> Float64[np.ndarray, "systems observables"]:
        """The observables of each system, NaN for those that have failed."""
        found = np.full((len(self.systems), len(self.job.observe)), math.nan)
        if self.report is None:
            return found
        rods = None
        for k, name in enumerate(self.job.observe):
            of_rods = OBSERVED[name].of_rods
            if of_rods is None:
                found[:, k] = getattr(self.report.observables, name)[: len(found)]
                continue
            rods = np.asarray(self.rods) if rods is None else rods
            for at, system in enumerate(self.systems):
                if not self.failed[at]:
                    found[at, k] = of_rods(
                        rods[at, : system.setup.rods], system.setup, system.params
                    )
        found[[bool(why) for why in self.failed]] = math.nan
        return found


def run_job(job: Job, tell: Callable[[float], None] = lambda share: None) -> Done:
    """Run `job` on this machine; `tell` is called with the share that is done.

    Systems that fail are told of in what is returned, and change nothing about the others. Raises
    `ParameterError` where there is no memory for the batch.
    """
    running = _Running(job)
    running.start()
    tell(0.0)
    times, count = job.times, len(job.systems)
    pieces = min(PIECES, math.ceil(times.warm_up / times.every))
    for piece in range(pieces):
        running.go_to(times.warm_up * (piece + 1) / pieces)
        tell(times.warm_up * (piece + 1) / pieces / times.all[-1])
    values = np.empty((count, times.samples, len(job.observe)))
    for k, time in enumerate(times.all[1:]):
        running.go_to(time)
        values[:, k] = running.observe()
        tell(time / times.all[-1])
    choice = running.choice
    return Done(job.number, values, tuple(running.failed), choice.code, device_name())
