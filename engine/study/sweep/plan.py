# SPDX-License-Identifier: GPL-3.0-or-later
"""The systems of a sweep and the jobs that they are run in; all follows from the spec."""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import numpy as np

from engine import schema
from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.study.sweep.names import applied
from engine.study.sweep.seeds import seeds_of
from engine.study.sweep.spec import Spec, Times

# Where a spec does not say how many systems make a job: no more than that, and so few that there
# are enough jobs to keep several processes busy and to lose little where one is stopped.
MOST_IN_A_JOB, FEWEST_JOBS = 16, 8


@dataclass(frozen=True)
class System:
    """One simulation: number in the sweep, point, and what it begins with.

    `problem` tells why it cannot be simulated, empty where it can.
    """

    number: int
    point: int
    setup: Setup
    params: Params
    seed: int
    problem: str = ""

    def steps(self, times: Times) -> tuple[int, ...]:
        """The step of each sample, of so many at least where steps are of adaptive length.

        The first entry is that of the end of the warm-up.
        """
        return tuple(self.steps_in(time) for time in times.all)

    def steps_in(self, time: float) -> int:
        """How many steps of length dt come nearest to `time`, t."""
        # dt as the compiled program knows it. Not by `round`, which takes halves to even numbers
        # and so may lay two samples on one step.
        return math.floor(time / float(np.float32(self.params.dt)) + 0.5)


@dataclass(frozen=True)
class Job:
    """Systems that are run side by side, by one program.

    `batch` is how many the program is made for, and `alike` names the parameters of which all
    systems of the sweep have one value. Both decide bits where programs are JAX's.
    """

    number: int
    systems: tuple[System, ...]
    batch: int
    alike: tuple[str, ...]
    times: Times
    observe: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What is to be done. `digest` tells plans apart by all that decides what comes out."""

    spec: Spec
    systems: tuple[System, ...]
    jobs: tuple[Job, ...]
    digest: str

    @property
    def steps(self) -> int:
        """Steps of all systems that can be simulated, relaxation apart."""
        found = (s.steps(self.spec.times)[-1] for s in self.systems if not s.problem)
        return sum(found)


def plan(spec: Spec, version: str) -> Plan:
    """The plan of `spec` for this `version` of bacsim.

    Raises `ParameterError` where no point of it can be simulated.
    """
    systems = tuple(_systems(spec))
    good = [system for system in systems if not system.problem]
    if not good:
        raise ParameterError(
            "grid", spec.systems, "systems, of which none can be simulated", systems[0].problem
        )
    jobs = tuple(_jobs(spec, good))
    told = json.dumps(
        [version, asdict(spec.times), spec.observe, spec.replicates,
         [[asdict(s.setup), asdict(s.params), s.seed, s.problem] for s in systems],
         [[j.batch, j.alike, [s.number for s in j.systems]] for j in jobs]],
        sort_keys=True,
    )  # fmt: skip
    return Plan(spec, systems, jobs, hashlib.sha256(told.encode()).hexdigest())


def _systems(spec: Spec) -> Iterable[System]:
    for number, seed in enumerate(seeds_of(spec.seed, spec.systems).tolist()):
        at = number // spec.replicates
        values = {**spec.fixed, **spec.points[at]}
        setup, params, problem = *spec.base, ""
        try:
            setup, params = applied(spec.base, values)
            schema.check(setup, params)
            _check_times(params, spec.times)
        except ParameterError as error:
            problem = str(error)
        yield System(number, at, setup, params, seed, problem)


def _check_times(params: Params, times: Times) -> None:
    if times.every < params.dt:
        raise ParameterError("every", times.every, f"is less than dt = {params.dt:g}", "Raise it.")
    if (times.warm_up + times.samples * times.every) / params.dt >= 2**31:
        raise ParameterError("samples", times.samples, "take more than 2³¹ steps", "Take fewer.")


def _jobs(spec: Spec, systems: list[System]) -> Iterable[Job]:
    alike = _alike(systems)
    most = spec.batch or min(MOST_IN_A_JOB, max(1, len(systems) // FEWEST_JOBS))
    groups: dict[Setup, list[System]] = {}
    for system in systems:
        groups.setdefault(same_program(system.setup), []).append(system)
    number = 0
    for group in groups.values():
        batch = min(most, len(group))
        for begin in range(0, len(group), batch):
            yield Job(
                number, tuple(group[begin : begin + batch]), batch, alike, spec.times, spec.observe
            )
            number += 1


def same_program(setup: Setup) -> Setup:
    """A setup that is the same for all that one compiled program can run side by side."""
    return replace(setup, start_activity="all", start_radius=0.0)


def _alike(systems: list[System]) -> tuple[str, ...]:
    names = [field.name for field in schema.PARAM_FIELDS]
    values = [
        {getattr(p, name) for s in systems for p in (s.params, schema.quiet(s.setup, s.params))}
        for name in names
    ]
    return tuple(name for name, found in zip(names, values, strict=True) if len(found) == 1)
