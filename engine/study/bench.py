# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step costs, measured in processes of their own. Nothing here imports JAX.

Each number of threads gets a fresh process (`bench_process`), whose affinity is set before JAX is
imported, because XLA sizes its thread pool then. Inside it, `measure` compiles every case cold,
warms it up, and times rounds that are interleaved over all cases, so that a machine that slows down
slows them all.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from engine import schema
from engine.study import standard

# Fewer say nothing about the spread.
LEAST_ROUNDS = 5


@dataclass(frozen=True)
class Plan:
    """What to measure. `state` is a file for `standard.load_state`, which then decides `rods`.

    `native` are settings of native code; neighbour lists are measured with each of them.
    """

    kernels: tuple[str, ...] = ("naive", "rowsum", "neighbours")
    rods: tuple[int, ...] = (1024, 4096)
    rounds: int = 5
    threads: tuple[int, ...] = (1,)
    state: Path | None = None
    round_seconds: float = 0.3
    native: tuple[str, ...] = ("auto",)

    def cases(self) -> list[tuple[str, str, int]]:
        """Kernel, setting of native code and number of rods of each row of a process."""
        return [
            (kernel, native, n)
            for n in self.rods
            for kernel in self.kernels
            for native in (self.native if kernel == "neighbours" else ("auto",))
        ]


@dataclass(frozen=True)
class Trap:
    """A wrong way to time, what it reads in ms a step, and what is right."""

    name: str
    reads_ms: float
    right_ms: float
    why: str


@dataclass(frozen=True)
class Row:
    """One case. Times are of steps in batches that were waited for; compiling is apart.

    `compile_s` is tracing, lowering and compiling with the persistent cache off; `step_ms` the
    median over the rounds; `speedup_over_naive` is None where naive was not measured, and
    everything measured is None where the case was `refused`, which then holds the reason. `load` is
    the one-minute load average when the process began, `busy_cpus` how many CPUs other programs
    kept busy meanwhile. `code` is whose code the steps were, `native` the setting that it followed
    from. `traps` holds what wrong ways of timing read for this case.
    """

    kernel: str
    n: int
    threads: int
    device: str | None = None
    compile_s: float | None = None
    step_ms: float | None = None
    step_ms_min: float | None = None
    step_ms_max: float | None = None
    temp_bytes: int | None = None
    rod_steps_per_s: float | None = None
    speedup_over_naive: float | None = None
    packing_fraction: float | None = None
    rounds: int | None = None
    steps_per_round: int | None = None
    jax: str | None = None
    cpu: str | None = None
    load: float | None = None
    busy_cpus: float | None = None
    code: str | None = None
    native: str = "auto"
    notes: tuple[str, ...] = ()
    refused: str | None = None
    traps: tuple[Trap, ...] = field(default=())

    @property
    def label(self) -> str:
        """The kernel in words that tell its rows apart."""
        return f"{self.kernel}, JAX" if self.native == "off" else self.kernel


@dataclass(frozen=True)
class Progress:
    """How far the measuring is: a share from 0 to 1, and what is being done."""

    share: float
    doing: str


class BenchError(RuntimeError):
    """Nothing could be measured; the message says why."""


def check(plan: Plan) -> Plan:
    """`plan`, its rods taken from its state file; raises `ParameterError` for what is impossible.

    Cases that do not fit into memory are no error here: they become rows that say so.
    """
    for kernel in plan.kernels:
        schema.coerce("kernel", kernel)
    for native in plan.native:
        schema.coerce("native", native)
    for n in plan.rods:
        schema.coerce("rods", n)
    if plan.rounds < LEAST_ROUNDS:
        raise schema.ParameterError(
            "rounds", plan.rounds, "is too few to show a spread", f"Give at least {LEAST_ROUNDS}."
        )
    available = available_cpus()
    for threads in plan.threads:
        if not 1 <= threads <= available:
            raise schema.ParameterError(
                "threads", threads, "is not possible here", f"Give 1 to {available}."
            )
    if plan.state is None:
        return plan
    start, _ = standard.load_state(plan.state)
    return replace(plan, rods=(len(start.theta),))


def available_cpus() -> int:
    """CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(plan: Plan, on_progress: Callable[[Progress], None] = lambda _: None) -> list[Row]:
    """Measure `plan`: a row for each number of threads, N, kernel and code, in this order.

    Raises `ParameterError` for an impossible plan and `BenchError` where a process failed at once.
    """
    plan, rows = check(plan), []
    with tempfile.TemporaryDirectory(prefix="bacsim-bench-") as folder:
        for i, threads in enumerate(plan.threads):

            def report(share: float, doing: str, i: int = i, threads: int = threads) -> None:
                name = f"{threads} thread{'s' * (threads > 1)}: {doing}"
                on_progress(Progress((i + share) / len(plan.threads), name))

            rows += with_speedup(_measured(plan, threads, Path(folder), report))
    return rows


def with_speedup(rows: Sequence[Row]) -> list[Row]:
    """`rows` of one process with `speedup_over_naive`, from the medians at equal N."""
    naive = {row.n: row.step_ms for row in rows if row.kernel == "naive" and row.step_ms}
    return [
        replace(row, speedup_over_naive=naive[row.n] / row.step_ms)
        if row.step_ms and row.n in naive
        else row
        for row in rows
    ]


def to_records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """`rows` as plain values, ready for JSON."""
    return [asdict(row) for row in rows]


def _measured(
    plan: Plan, threads: int, folder: Path, report: Callable[[float, str], None]
) -> list[Row]:
    """The rows of one process. A case that the process died of, or after, is a row that says so."""
    cases = plan.cases()
    job = {
        "cases": cases,
        "rounds": plan.rounds,
        "round_seconds": plan.round_seconds,
        "threads": threads,
        "state": None if plan.state is None else str(plan.state),
        "folder": str(folder),
    }
    rows: dict[tuple[str, str, int], Row] = {}
    doing, end = "starting", ""
    for message in _messages(job, folder / f"errors-{threads}.txt"):
        if "row" in message:
            row = _row(message["row"])
            rows[row.kernel, row.native, row.n] = row
        elif "traps" in message:
            kernel, native, n = message["case"]
            case = kernel, native, n
            traps = tuple(Trap(**trap) for trap in message["traps"])
            rows[case] = replace(rows[case], traps=traps)
        elif "end" in message:
            end = message["end"]
        else:
            doing = message["doing"]
            report(message["share"], doing)
    if end and not rows:
        raise BenchError(f"The measuring process ended while {doing}: {end}")
    lost = f"Not measured: the process ended while {doing}: {end}"
    return [
        rows.get((kernel, native, n), Row(kernel, n, threads, native=native, refused=lost))
        for kernel, native, n in cases
    ]


def _row(values: dict[str, Any]) -> Row:
    """A row as it was before JSON made lists of its tuples; its traps come in a later message."""
    return Row(**{**values, "notes": tuple(values["notes"]), "traps": ()})


def _messages(job: dict[str, Any], errors: Path) -> Iterator[dict[str, Any]]:
    """What the measuring process says, one JSON object a line; `end` if it failed, with why."""
    root = str(Path(__file__).parents[2])
    environment = os.environ | {
        # A compile that is read from disk is not the compile that is to be timed.
        "JAX_ENABLE_COMPILATION_CACHE": "false",
        # The size of XLA's thread pool, which would otherwise be that of the program around it.
        "NPROC": str(job["threads"]),
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
    }
    environment.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    command = [sys.executable, "-P", "-m", "engine.study.bench_process", json.dumps(job)]
    with (
        errors.open("w+", encoding="utf-8", errors="replace") as log,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
            encoding="utf-8",
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield json.loads(line)
            status = process.wait()
        finally:
            process.kill()
        if status:
            log.seek(0)
            said = [line.strip() for line in log if line.strip()]
            killed = "it was killed, perhaps for want of memory" if status < 0 else f"exit {status}"
            yield {"end": f"{said[-1] if said and status > 0 else killed}."}
