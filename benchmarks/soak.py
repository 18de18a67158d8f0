# SPDX-License-Identifier: GPL-3.0-or-later
"""A long run: does memory stay flat, and a step as fast as at the start?

    python -m benchmarks.soak [--rods N] [--steps STEPS] [--native auto|off] [--output FILE]

The standard benchmark on neighbour lists, by default 4,096 rods and 10⁵ steps, on a CPU in native
code or with `--native off` in JAX's. Prints a verdict, and JSON with --output; the exit status is 0
where both hold. The medians of the first and of the
last tenth of the run are compared, so that a machine busy for a moment does not decide.
"""

import itertools
import json
import math
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from bacsim_gui.flags import PlainParser, whole
from benchmarks.checks import LEAST_RODS, writable
from engine import Driver, Setup
from engine.program import check_memory, device_name
from engine.schema import ParameterError
from engine.study.standard import relaxed_start, standard_params

# Steps to a batch, as of a window that draws while it runs: a leak a frame must show.
BATCH = 20
# A median of fewer than ten batches in a tenth of the run is an accident.
LEAST_STEPS = 100 * BATCH
# The share of the run that is left out first: lists find their length and pools of memory fill.
SETTLING = 0.02
# A step may take a tenth more at the end than at the start. Memory may grow by what the system's
# own bookkeeping moves to and fro; a snapshot of 4,096 rods left behind by every batch is 20 times
# as much.
SLOWER, GROWN = 1.10, 16 * 2**20


@dataclass(frozen=True)
class Soak:
    """What a run showed: medians of each tenth of it, in milliseconds a step and bytes."""

    rods: int
    steps: int
    device: str
    code: str
    step_ms: Sequence[float]
    memory: Sequence[int]
    growths: int
    rebuilds_per_1000: float

    @property
    def slower(self) -> float:
        """How much more a step takes at the end than at the start, as a share."""
        return self.step_ms[-1] / self.step_ms[0] - 1

    @property
    def grown(self) -> int:
        """Bytes that the process holds at the end beyond those at the start."""
        return self.memory[-1] - self.memory[0]

    @property
    def passed(self) -> bool:
        """Whether steps stayed as fast as they were, and memory flat."""
        return self.slower <= SLOWER - 1 and self.grown <= GROWN

    def verdict(self) -> str:
        """The same in words."""
        steady = "stays the same" if self.slower <= SLOWER - 1 else "GROWS"
        flat = "stays flat" if self.grown <= GROWN else "GROWS"
        return (
            f"{self.steps:,} steps of {self.rods:,} rods on {self.device} (code: {self.code}). "
            f"The time of a step {steady}: {self.step_ms[0]:.3f} ms in the first tenth, "
            f"{self.step_ms[-1]:.3f} ms in the last ({100 * self.slower:+.1f} %). Memory {flat}: "
            f"{self.memory[0] / 2**20:.0f} MiB, then {self.memory[-1] / 2**20:.0f} MiB "
            f"({self.grown / 2**20:+.1f})."
        )


def soak(rods: int, steps: int, native: str = "auto") -> Soak:
    """Run `steps` steps, in batches that are waited for, and watch.

    Raises `ParameterError` for more rods than memory has room for.
    """
    setup = Setup(rods=rods, kernel="neighbours", native=native)
    check_memory(setup, setup.kernel)
    driver = Driver(setup, standard_params(rods), start=relaxed_start(rods))
    process = psutil.Process()
    batches = math.ceil(steps / BATCH)
    for _ in range(math.ceil(SETTLING * batches)):
        driver.advance(BATCH)
    times, memory = [], []
    for _ in range(batches):
        begin = time.perf_counter()
        driver.advance(BATCH)
        times.append(1000 * (time.perf_counter() - begin) / BATCH)
        memory.append(process.memory_info().rss)
    stats = driver.stats
    assert stats.neighbours is not None
    return Soak(
        rods, batches * BATCH, device_name(), stats.code,
        [statistics.median(part) for part in _tenths(times)],
        [statistics.median_low(part) for part in _tenths(memory)],
        stats.growths, stats.neighbours.rebuilds_per_1000,
    )  # fmt: skip


def _tenths(values: list) -> list[list]:
    edges = [len(values) * k // 10 for k in range(11)]
    return [values[a:b] for a, b in itertools.pairwise(edges)]


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = PlainParser(prog="python -m benchmarks.soak", description=__doc__, allow_abbrev=False)
    parser.add_argument("--rods", default="4096", help="number of rods (%(default)s)")
    parser.add_argument("--steps", default="100000", help="number of steps (%(default)s)")
    parser.add_argument(
        "--native", choices=("auto", "off"), default="auto",
        help="whose code runs on a CPU: native where it is installed (%(default)s), or JAX's",
    )  # fmt: skip
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    options = parser.parse_args(arguments)
    try:
        rods = whole("rods", options.rods, LEAST_RODS) or 0
        steps = whole("steps", options.steps, LEAST_STEPS) or 0
        writable("output", options.output)
        result = soak(rods, steps, options.native)
    except ParameterError as error:
        parser.error(str(error))
    print(result.verdict())
    if options.output:
        found = {**asdict(result), "passed": result.passed}
        options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
