# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures that a running simulation shows."""

from dataclasses import dataclass

from engine.timing import CompileRecord


@dataclass(frozen=True)
class ListStats:
    """Figures of the neighbour list.

    `skin` is a length; `mean` the listed neighbours of a rod in the mean, `most` those of the
    busiest, of `slots` that there is room for; `candidates` and `candidate_room` the same for what
    a rod is tried against when the list is built. `rebuilds_per_1000` counts builds in 1,000 steps,
    over the recent batches.
    """

    skin: float
    mean: float
    most: int
    slots: int
    candidates: int
    candidate_room: int
    rebuilds_per_1000: float


@dataclass(frozen=True)
class Stats:
    """Figures of a `Driver`, times in seconds.

    `temp_bytes` is what the K-step program takes for temporaries; `last` is the latest
    compile; step times are those of recent waited-for batches. `growths` are the compiles because
    an array was outgrown, which `compiles` leaves out; seconds are of both. `kernel` is the one
    in use, `kernel_reason` why, and `code` whose code it is; `threads` is how many native code
    uses, None where it is JAX's. `neighbours` is None for kernels without a list.
    """

    compiles: int
    growths: int
    trace_seconds: float
    lower_seconds: float
    backend_seconds: float
    last: CompileRecord | None
    step_seconds: float
    step_seconds_p95: float
    rod_steps_per_second: float
    temp_bytes: int
    device: str
    kernel: str
    kernel_reason: str
    code: str
    threads: int | None
    rods: int
    capacity: int
    neighbours: ListStats | None

    @property
    def compile_seconds(self) -> float:
        """Seconds of tracing, lowering and compiling, all together."""
        return self.trace_seconds + self.lower_seconds + self.backend_seconds
