# SPDX-License-Identifier: GPL-3.0-or-later
"""A profiler trace of some frames for Perfetto, with the time of each stage in words beside it."""

import gzip
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from engine.driver import Driver, SimulationError
from engine.study.stages import (
    FRAME,
    IDLE,
    STAGES,
    UNKNOWN,
    Operations,
    StageTimes,
    read_operations,
    stage_times,
)

# The profiler drops what comes after so many events.
MOST_EVENTS = 1_000_000
# Operations named under each stage of the summary.
NAMED_OPERATIONS = 4


class TraceError(RuntimeError):
    """The profiler did not give what was asked for; the message says what to do."""


@dataclass(frozen=True)
class TraceFiles:
    """Where a trace lies: for ui.perfetto.dev, and the stages as a text and as JSON."""

    perfetto: Path
    text: Path
    json: Path


def trace(driver: Driver, out_dir: Path | str, frames: int = 4, K: int = 10) -> TraceFiles:
    """Trace `frames` frames of `K` steps, after as many untraced ones, and sum up the stages.

    Writes `perfetto_trace.json.gz`, `stages.txt` and `stages.json` into `out_dir`, in place of
    earlier ones; the folder `plugins` beside them is for TensorBoard. The simulation moves on by
    2 `frames` `K` steps.

    Raises `TraceError` where the profiler is in use or gives nothing, `SimulationError` where the
    simulation stops, and `OSError` where `out_dir` cannot be written.
    """
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    untraced = _seconds_of_frames(driver, frames, K)
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # every Python call would bury the operations
    try:
        with jax.profiler.trace(folder, create_perfetto_trace=True, profiler_options=options):
            _seconds_of_frames(driver, frames, K)
    except SimulationError:
        raise
    except (RuntimeError, ValueError) as error:
        raise TraceError(f"The profiler failed ({error}). Is another trace running?") from error
    perfetto = _latest_perfetto_file(folder)
    events = read_events(perfetto)
    operations = read_operations(driver.program.text())
    times = stage_times(events, operations)
    if not times.seconds or times.frames != frames:
        raise TraceError(
            f"The trace {perfetto} holds {times.frames} of {frames} frames and "
            f"{len(times.seconds)} operations of the program: trace fewer steps."
        )
    summary = _summary(driver, frames, K, untraced, times, operations)
    summary["complete"] = len(events) < MOST_EVENTS
    files = TraceFiles(perfetto, folder / "stages.txt", folder / "stages.json")
    files.json.write_text(json.dumps(summary, indent=1, ensure_ascii=False), encoding="utf-8")
    files.text.write_text(_in_words(summary), encoding="utf-8")
    return files


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of a Perfetto file; raises `TraceError` where it is none or holds none."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise TraceError(f"{path} is not a Perfetto trace ({error}).") from error
    if not events:
        raise TraceError(f"{path} holds no events: trace more steps.")
    return events


def _seconds_of_frames(driver: Driver, frames: int, K: int) -> float:
    begin = time.perf_counter()
    for i in range(frames):
        with jax.profiler.StepTraceAnnotation(FRAME, step_num=i):
            driver.advance(K)
    return time.perf_counter() - begin


def _latest_perfetto_file(folder: Path) -> Path:
    """The profiler's file, brought up from the folder that is named after the time."""
    written = folder.glob("plugins/profile/*/perfetto_trace.json.gz")
    latest = max(written, key=lambda path: path.stat().st_mtime, default=None)
    if latest is None:
        raise TraceError(f"The profiler wrote no Perfetto file into {folder}.")
    return latest.replace(folder / latest.name)


def _summary(
    driver: Driver, frames: int, K: int, untraced: float, times: StageTimes, operations: Operations
) -> dict[str, Any]:
    """The summary as plain values; times in ms a step of the traced frames."""
    ms, stats = 1e3 / (frames * K), driver.stats
    seen = set(times.seconds)
    fused = {
        stage: sorted(name for name in seen if stage in operations.inside.get(name, ()))
        for stage in STAGES
    }
    # Native code has one stage for the whole step.
    present = {stage for stage in STAGES if times.operations(stage) or fused[stage]}
    return {
        "rods": stats.rods,
        "kernel": stats.kernel,
        "device": stats.device,
        "jax": jax.__version__,
        "frames": frames,
        "K": K,
        "ms_a_step": times.frame_seconds * ms,
        "ms_a_step_untraced": untraced * ms,
        "stages": [
            {
                "stage": stage,
                "ms_a_step": times.of_stage(stage) * ms,
                "share": times.of_stage(stage) / times.frame_seconds,
                "operations": [
                    {"name": name, "ms_a_step": seconds * ms}
                    for name, seconds in times.operations(stage)
                ],
                "also_in": fused.get(stage, []),
            }
            for stage in (*filter(present.__contains__, STAGES), UNKNOWN, IDLE)
        ],
    }


def _in_words(summary: dict[str, Any]) -> str:
    """The summary as a plain text."""
    lines = [
        f"{summary['frames']} frames of {summary['K']} steps: {summary['rods']:,} rods, kernel "
        f"{summary['kernel']}, {summary['device']}, JAX {summary['jax']}",
        f"{summary['ms_a_step']:.4g} ms a step while traced, {summary['ms_a_step_untraced']:.4g} "
        "without the profiler, which costs every operation something:",
        "shares of stages with many small operations are upper bounds.",
        "",
        f"{'stage':14}{'ms a step':>11}{'share':>8}   longest operations, as Perfetto names them",
    ]
    for row in summary["stages"]:
        names = [f"{o['name']} {o['ms_a_step']:.3g}" for o in row["operations"][:NAMED_OPERATIONS]]
        if not row["operations"] and row["also_in"]:
            names = [f"no operation of its own: part of {', '.join(row['also_in'])}"]
        lines.append(
            f"{row['stage']:14}{row['ms_a_step']:11.4f}{row['share']:8.1%}   {', '.join(names)}"
        )
    lines += [
        "",
        f"{UNKNOWN}: operations whose stage the program does not tell, above all the loop over K.",
        f"{IDLE}: nothing of the program ran: the call, the copy to the host, waiting.",
        "An operation that computes parts of several stages counts for the one that it ends in.",
    ]
    if not summary["complete"]:
        lines.append(f"The profiler keeps {MOST_EVENTS:,} events: the end of the trace is missing.")
    return "\n".join(lines) + "\n"
