# SPDX-License-Identifier: GPL-3.0-or-later
"""The measuring itself: compile cold, warm up, time rounds that were waited for, show the traps."""

import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from engine import schema
from engine.capacity import NATIVE_CHUNK, capacity_for
from engine.kernels import is_listed, resolve
from engine.params import Params, Setup
from engine.program import Program, check_memory, compile_program, device_name
from engine.schema import ParameterError
from engine.snapshot import Start
from engine.state import State, to_device
from engine.step import Packed, Report, advance, pack, steps_for
from engine.study import standard
from engine.study.bench import Row, Trap
from engine.timing import seconds_of_others, watch_compiles

Say = Callable[[dict[str, Any]], None]
# Kernel, setting of native code and number of rods, as in `Plan.cases`.
Name = tuple[str, str, int]

# A warm-up batch is made longer until it takes this share of a round; the clock is good enough then
# to say how many steps a round should have.
WARM_SHARE = 0.3
# Calls of each trap.
TRAP_CALLS = 3


@dataclass(eq=False)
class Case:
    """A compiled kernel at one N with the state that every one of its rounds starts from."""

    start: Start
    params: Params
    program: Program
    packed: Packed
    steps: int = 1
    times: list[float] = field(default_factory=list)

    def state(self, *, smaller: bool = False) -> State:
        """A fresh copy of the start on the device, or without its last rods and their room."""
        start, room = self.start, self.program.capacity
        if smaller:
            native = self.program.kernel == "native"
            fewer = NATIVE_CHUNK if native else 1
            size, kept = room.rods - fewer, len(start.theta) - fewer
            start = Start(start.pos[:kept], start.theta[:kept], start.activity[:kept])
            room = room._replace(rods=size, chunks=size // NATIVE_CHUNK if native else 1)
        listed = is_listed(self.program.kernel)
        state = to_device(start, self.params, room, listed=listed, seed=standard.SEED)
        return jax.block_until_ready(state)

    def batch(self, K: int) -> float:
        """Seconds that K steps from the start take, the result waited for."""
        state, count, limit = self.state(), jax.device_put(np.int32(K)), _no_limit()
        begin = time.perf_counter()
        done = jax.block_until_ready(self.program(state, self.packed, count, limit))
        seconds = time.perf_counter() - begin
        _require_done(done[1], K)
        return seconds


class Refused(RuntimeError):
    """A case that cannot be measured; the message is the reason."""


def measure(job: dict[str, Any], notes: Sequence[str], say: Say) -> None:
    """Do the job of one process: say how far it is, a row for each case, then the traps of one."""
    machine, begin, before = _machine(notes), time.perf_counter(), seconds_of_others()
    cases, refused = _prepare(job, say)
    _rounds(job, cases, say)
    busy = max(0.0, seconds_of_others() - before) / (time.perf_counter() - begin)
    machine["busy_cpus"] = round(busy, 2)
    for name in _names(job):
        kernel, native, n = name
        code = resolve(_setup(name)).code
        row = Row(kernel, n, _threads(job), code=code, native=native, **machine)
        row = _filled(row, cases[name]) if name in cases else replace(row, refused=refused[name])
        say({"row": asdict(row)})
    if cases:
        name = min(cases, key=lambda name: name[2])
        say({"share": 0.9, "doing": f"the three traps, {_in_words(name)}"})
        traps = [asdict(trap) for trap in _traps(cases[name])]
        say({"case": name, "traps": traps})


def _names(job: dict[str, Any]) -> list[Name]:
    return [(kernel, native, n) for kernel, native, n in job["cases"]]


def _setup(name: Name) -> Setup:
    kernel, native, n = name
    return Setup(rods=n, kernel=kernel, native=native)


def _in_words(name: Name) -> str:
    kernel, native, n = name
    return f"{Row(kernel, n, 1, native=native).label} at {n:,} rods"


def _threads(job: dict[str, Any]) -> int:
    """The CPUs that this process really may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else job["threads"]


def _machine(notes: Sequence[str]) -> dict[str, Any]:
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    return {
        "device": device_name(),
        "jax": jax.__version__,
        "cpu": f"{_cpu_name()}, {os.cpu_count()} CPUs",
        "load": load,
        "notes": tuple(notes),
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _prepare(job: dict[str, Any], say: Say) -> tuple[dict[Name, Case], dict[Name, str]]:
    """Compile and warm up every case; those that cannot be measured, with the reason."""
    cases, refused, names = {}, {}, _names(job)
    for i, name in enumerate(names):
        say({"share": 0.4 * i / len(names), "doing": f"preparing {_in_words(name)}"})
        try:
            start, params = _start(job, name[2])
            program = _compiled(_setup(name), params, _threads(job))
            case = Case(start, params, program, jax.device_put(pack(params)))
            case.steps = _steps_for(case, job["round_seconds"])
            cases[name] = case
        except (ParameterError, Refused) as error:
            refused[name] = str(error)
    return cases, refused


def _start(job: dict[str, Any], n: int) -> tuple[Start, Params]:
    """The state of `n` rods: the user's file, or ours, made once for all processes of a run."""
    if job["state"]:
        return standard.load_state(Path(job["state"]))
    kept = Path(job["folder"]) / f"{n}.npz"
    if not kept.exists():
        standard.save_state(kept, standard.relaxed_start(n), standard.standard_params(n))
    return standard.load_state(kept)


def _compiled(setup: Setup, params: Params, threads: int) -> Program:
    kernel = resolve(setup).kernel
    capacity = capacity_for(setup.rods, params, jax.default_backend(), kernel)
    check_memory(setup, kernel, capacity)
    # Without this the second kernel would find parts of the first one traced already.
    jax.clear_caches()
    return compile_program(setup, kernel, capacity, "first start", threads)


def _steps_for(case: Case, seconds: float) -> int:
    """How many steps a round of about `seconds` has; warms the case up on the way."""
    try:
        K, took = 1, case.batch(1)
        while took < WARM_SHARE * seconds:
            K *= 4
            took = case.batch(K)
        steps = max(1, round(K * seconds / took))
        # As long as a round will be, so that a state which cannot stand that is refused here.
        case.batch(steps)
    except jax.errors.JaxRuntimeError as error:
        raise Refused(f"The device failed: {str(error).splitlines()[0]}") from error
    return steps


def _rounds(job: dict[str, Any], cases: dict[Name, Case], say: Say) -> None:
    """Each round times every case once, so that what disturbs the machine disturbs all cases."""
    total, done = job["rounds"] * len(cases), 0
    for i in range(job["rounds"]):
        for name, case in cases.items():
            doing = f"round {i + 1} of {job['rounds']}, {_in_words(name)}"
            say({"share": 0.4 + 0.5 * done / total, "doing": doing})
            case.times.append(case.batch(case.steps) / case.steps)
            done += 1


def _filled(row: Row, case: Case) -> Row:
    step = statistics.median(case.times)
    setup = Setup(rods=row.n)
    return replace(
        row,
        compile_s=case.program.record.seconds,
        step_ms=1e3 * step,
        step_ms_min=1e3 * min(case.times),
        step_ms_max=1e3 * max(case.times),
        temp_bytes=case.program.temp_bytes,
        rod_steps_per_s=row.n / step,
        packing_fraction=schema.packing_fraction(setup, case.params),
        rounds=len(case.times),
        steps_per_round=case.steps,
    )


def _no_limit() -> jax.Array:
    return jax.device_put(np.float32(math.inf))


def _require_done(report: Report, K: int) -> None:
    done = int(report.steps_done)
    if report.neighbours is not None and not report.neighbours.fits:
        raise Refused(f"At step {done + 1} the neighbour lists outgrew their room.")
    if done != K:
        raise Refused(
            f"Step {done + 1} from this state cannot be trusted (rod {int(report.worst_row)} would "
            f"move {float(report.largest_move):.3g}): give a relaxed state."
        )


# The three traps, each measured as people fall into it


def _traps(case: Case) -> list[Trap]:
    right = 1e3 * statistics.median(case.times)
    return [
        Trap(
            "not waited for", _not_waited_for(case), right,
            "the call returns before the steps are done; wait with block_until_ready",
        ),
        Trap(
            "first call", _first_call(case), right,
            "the compile is in it; compile ahead, or time a later call",
        ),
        Trap(
            "changing inputs", _changing_inputs(case), right,
            "another type (K a Python number) or shape (fewer rods) compiles again",
        ),
    ]  # fmt: skip


def _not_waited_for(case: Case) -> float:
    """Ms a step as read by a clock that is stopped when the call returns."""
    readings = []
    for _ in range(TRAP_CALLS):
        state, K, limit = case.state(), jax.device_put(np.int32(case.steps)), _no_limit()
        begin = time.perf_counter()
        result = case.program(state, case.packed, K, limit)
        readings.append(time.perf_counter() - begin)
        jax.block_until_ready(result)
    return 1e3 * statistics.median(readings) / case.steps


def _first_call(case: Case) -> float:
    """Ms a step of a first call: waited for, but with the compile in it."""
    call, state = _fresh(case), case.state()
    begin = time.perf_counter()
    jax.block_until_ready(call(state, case.packed, np.int32(case.steps), np.float32(math.inf)))
    return 1e3 * (time.perf_counter() - begin) / case.steps


def _changing_inputs(case: Case) -> float:
    """Ms a step of a loop, warmed up, whose calls differ in a type and in a shape."""
    call = _fresh(case)
    limit = np.float32(math.inf)
    jax.block_until_ready(call(case.state(), case.packed, np.int32(case.steps), limit))
    changing = [(case.state(), case.steps), (case.state(smaller=True), np.int32(case.steps))]
    with watch_compiles() as seen:
        begin = time.perf_counter()
        for state, K in changing:
            jax.block_until_ready(call(state, case.packed, K, limit))
        seconds = time.perf_counter() - begin
    if seen.compiles < len(changing):
        raise RuntimeError(f"Of {len(changing)} calls only {seen.compiles} compiled again.")
    return 1e3 * seconds / (len(changing) * case.steps)


def _fresh(case: Case) -> Callable[..., Any]:
    """The step as an ordinary `jax.jit` of the kind that compiles on its first call."""
    jax.clear_caches()
    steps = steps_for(case.program.kernel, case.program.capacity)
    return jax.jit(partial(advance, steps=steps, laws=case.program.laws), donate_argnums=0)
