# SPDX-License-Identifier: GPL-3.0-or-later
"""A measuring process of `gpu`. Its one argument is the job as JSON; each line it says is JSON.

Everything goes through the `Driver`, whose `advance` waits for the steps and their snapshot. Before
each piece of work a process looks whether that will fit into the time that is left.
"""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bacsim_gui import bootstrap

if __name__ == "__main__":
    bootstrap.prepare_headless()

import jax

from benchmarks.limits import card_named
from benchmarks.step_cost import cost_a_rod, measured_limits
from engine.driver import Driver
from engine.params import Params, Setup
from engine.program import available_bytes, device_name
from engine.schema import ParameterError
from engine.snapshot import Start
from engine.study import standard
from engine.study.measure import WARM_SHARE

# Batches with and without a build of the list, to tell what a build costs.
BUILDS = 9
# Frames that are drawn at least, seconds after which no more are, and steps between two frames.
FRAMES, FRAMES_SECONDS, FRAME_K = 5, 4.0, 8
# What work is given beyond the longest of its kind so far.
ALLOWANCE = 1.3


@dataclass
class Work:
    """What is to be done, and the time for it; `until` by the monotonic clock."""

    say: Callable[[dict[str, Any]], None]
    until: float

    def attempt(
        self, what: str, needs: float, work: Callable[[], None], *, finishes: bool = True
    ) -> None:
        """Do it if `needs` seconds are left, and say so; say what kept it from being done.

        `finishes` is false for what has a second part, which says by itself that it is done.
        """
        left, why = max(self.until - time.monotonic(), 0), ""
        if left < needs:
            why = f"it would take about {needs:.0f} s, and {left:.0f} s were left"
        else:
            self.say({"doing": what})
            try:
                work()
            except _PROBLEMS as error:
                why = _in_a_line(error)
        if why:
            self.skip(what, why)
        elif finishes:
            self.say({"done": what})

    def skip(self, what: str, why: str) -> None:
        """Say that something was not done."""
        self.say({"skipped": {"what": what, "why": why}, "done": what})


@dataclass(eq=False)
class Case:
    """A running kernel, and how it started; `times` are seconds a step, round by round."""

    driver: Driver
    cold: dict[str, Any]
    steps: int = 1
    times: list[float] = field(default_factory=list)

    def batch(self, K: int) -> float:
        """Seconds that K steps and their snapshot take; of others where an array had to grow."""
        while True:
            before, growths = self.driver.step, self.driver.stats.growths
            begin = time.perf_counter()
            self.driver.advance(K)
            seconds = time.perf_counter() - begin
            if self.driver.step != before + K:
                raise RuntimeError(f"Of {K} steps only {self.driver.step - before} were taken.")
            if self.driver.stats.growths == growths:
                return seconds

    def warm_up(self, seconds: float) -> None:
        """Find how many steps a round of about `seconds` has."""
        K, took = 1, self.batch(1)
        while took < WARM_SHARE * seconds:
            K *= 4
            took = self.batch(K)
        self.steps = max(1, round(K * seconds / took))
        self.batch(self.steps)

    def build_ms(self) -> float:
        """What a build of the list costs: a step that has to begin with one less one that has not.

        A range that differs in its last digits wears the list out and compiles nothing.
        """
        usual = self.driver.params.sensing_range
        built, kept = [], []
        for i in range(BUILDS):
            self.driver.set(sensing_range=usual * (1 + 1e-5 * (i % 2 == 0)))
            built.append(self.batch(1))
            kept.append(self.batch(1))
        self.driver.set(sensing_range=usual)
        return 1e3 * (median(built) - median(kept))

    def row(self) -> dict[str, Any]:
        """What was found of the steps."""
        stats, step = self.driver.stats, median(self.times)
        row: dict[str, Any] = {
            "kernel": stats.kernel, "code": stats.code, "rods": stats.rods, "step_ms": 1e3 * step,
            "step_ms_min": 1e3 * min(self.times), "step_ms_max": 1e3 * max(self.times),
            "rounds": len(self.times), "steps_a_round": self.steps,
            "rod_steps_per_s": stats.rods / step, "temp_bytes": stats.temp_bytes,
            "temp_bytes_a_rod": stats.temp_bytes / stats.rods,
            # Of float32: 1 and more where pair terms are kept for all pairs.
            "temp_n_by_n_arrays": stats.temp_bytes / (4 * stats.rods**2),
            "growths": stats.growths, "cold": self.cold,
        }  # fmt: skip
        if stats.neighbours:
            row |= {"list": asdict(stats.neighbours), "build_ms": self.build_ms()}
            row["build_in_steps"] = row["build_ms"] / row["step_ms"]
        return row


class Measuring:
    """The first process, which does everything but the second start."""

    def __init__(self, job: dict[str, Any], work: Work) -> None:
        self.job, self.work, self.say = job, work, work.say
        self.params = standard.standard_params(job["base"])
        self.start: Start | None = None
        self.cases: dict[str, Case] = {}
        # Seconds: of the longest preparation, of a step a rod by kernel, of drawing a rod.
        self.longest, self.a_rod, self.a_drawn = 0.0, dict[str, float](), 0.0

    def run(self) -> None:
        """Do everything, what is wanted most first."""
        sizes = [self.job["base"] * copies**2 for copies in self.job["copies"]]
        planned = [_LIMITS]
        for n in sizes:
            planned += [_name(kernel, n) for kernel in _kernels(self.job, n)]
            planned += [_name(what, n) for what in ("calls", "frames") if n in self.job[what]]
        self.say({"planned": planned, "machine": about_card()})
        for n in sizes:
            if n > max(self.job["calls"]) and _LIMITS in planned:
                self.work.attempt(planned.pop(0), 2 * self.longest, self.limits)
            self.cases = {}
            for kernel in _kernels(self.job, n):
                needs = ALLOWANCE * self.longest + (self.job["rounds"] + 3) * max(
                    self.a_rod.get(kernel, 0.0) * n, self.job["round_seconds"]
                )
                doing = _name(kernel, n)
                prepare = partial(self.prepare, kernel, n)
                self.work.attempt(doing, needs, prepare, finishes=False)
            self.rounds()
            for what, measure in (("calls", self.calls), ("frames", self.frames)):
                if n in self.job[what]:
                    self.beside_steps(what, n, measure)
        if _LIMITS in planned:
            self.work.attempt(_LIMITS, 2 * self.longest, self.limits)

    def prepare(self, kernel: str, n: int) -> None:
        """Compile a kernel for n rods and warm it up."""
        begin = time.perf_counter()
        if self.start is None:
            # All other states are copies of this one: relaxed, then developed.
            driver = Driver(Setup(rods=n, kernel=kernel), self.params, seed=standard.SEED)
            last = driver.advance(self.job["developed"])
            self.start = Start(last.pos, last.theta, last.activity)
            standard.save_state(_state_file(self.job), self.start, self.params)
            case = Case(driver, _compile_of(driver))
        else:
            case = first_frame(kernel, n, self.start, self.params)
        self.longest = max(self.longest, time.perf_counter() - begin)
        case.warm_up(self.job["round_seconds"])
        self.cases[kernel] = case

    def rounds(self) -> None:
        """Each round times every kernel once, so that what disturbs one disturbs all."""
        for i in range(self.job["rounds"] + 1):
            for kernel, case in list(self.cases.items()):
                what = _name(kernel, case.driver.setup.rods)
                try:
                    if i < self.job["rounds"]:
                        case.times.append(case.batch(case.steps) / case.steps)
                    else:
                        self.say({"steps": self.seen(kernel, case.row()), "done": what})
                except _PROBLEMS as error:
                    self.work.skip(what, _in_a_line(error))
                    del self.cases[kernel]

    def seen(self, kernel: str, row: dict[str, Any]) -> dict[str, Any]:
        """`row`, from which the time that more rods will need is guessed."""
        # With more rods a step costs more for each where the kernel looks at more of them.
        self.a_rod[kernel] = (1 if kernel == "neighbours" else 2) / row["rod_steps_per_s"]
        return row

    def beside_steps(self, what: str, n: int, measure: Callable[[Case], None]) -> None:
        """Calls or frames at n rods, where the kernel that they are taken with runs."""
        case = self.cases.get("neighbours")

        def work() -> None:
            if case is None:
                raise RuntimeError(f"{_name('neighbours', n)} could not be measured")
            measure(case)

        a_frame = n * (FRAME_K * self.a_rod.get("neighbours", 0.0) + self.a_drawn)
        needs = max(FRAMES_SECONDS, (FRAMES + 2) * a_frame)
        self.work.attempt(_name(what, n), needs, work)

    def calls(self, case: Case) -> None:
        """Calls of few steps, whose cost is mostly that of a call."""
        took: dict[int, list[float]] = {K: [] for K in self.job["K"]}
        for K in took:
            case.batch(K)
        for _ in range(self.job["rounds"]):
            for K, times in took.items():
                until = time.perf_counter() + self.job["round_seconds"] / len(took)
                some = [case.batch(K)]
                while time.perf_counter() < until:
                    some.append(case.batch(K))
                times.append(median(some))
        for K, times in took.items():
            ms = 1e3 * median(times)
            n = case.driver.setup.rods
            self.say({"calls": {"rods": n, "K": K, "ms_a_call": ms, "ms_a_step": ms / K}})

    def frames(self, case: Case) -> None:
        """Frames one after the other: steps, then a picture drawn off screen and read back.

        The window overlaps the two.
        """
        missing = bootstrap.missing_system_libraries(headless=True)
        if missing:
            raise RuntimeError(bootstrap.missing_libraries_message(missing))
        from bacsim_gui.offscreen import render, surface
        from bacsim_gui.view import View

        size, took = tuple(self.job["picture"]), []
        until = time.perf_counter() + FRAMES_SECONDS
        while len(took) <= FRAMES or time.perf_counter() < until:
            steps = case.batch(FRAME_K)
            begin = time.perf_counter()
            render(case.driver.snapshot(), View(), size)
            took.append((steps, time.perf_counter() - begin))
        steps, drawing = (median(times) for times in zip(*took[1:], strict=True))
        n = case.driver.setup.rods
        self.a_drawn = drawing / n
        self.say({"frames": {
            "rods": n, "K": FRAME_K, "picture": size, "renderer": surface().renderer,
            "frames_per_s": 1 / (steps + drawing), "steps_ms": 1e3 * steps,
            "drawing_ms": 1e3 * drawing, "frames": len(took) - 1,
        }})  # fmt: skip

    def limits(self) -> None:
        """What the card can do, by its data sheet and as measured, and what a step asks for."""
        card, n = card_named(device_name()), max(self.job["calls"])
        measured = measured_limits(self.job["copied_bytes"], self.job["matrix"])
        self.say({"limits": {"data_sheet": card and card._asdict(), "measured": measured}})
        self.say({"cost": {"counted_at": n, **cost_a_rod(n, standard.standard_params(n))}})


def start_again(job: dict[str, Any], work: Work) -> None:
    """The second process: compile again what the first one has left in the cache."""
    cases = [(kernel, n) for kernel, n in job["measured"] if n <= job["again"]]
    work.say({"planned": [f"second start, {_name(*case)}" for case in cases]})
    jax.devices()
    start, params = standard.load_state(_state_file(job))

    def again(kernel: str, n: int) -> None:
        warm = first_frame(kernel, n, start, params).cold
        work.say({"warm": {"kernel": kernel, "rods": n, "start": warm}})

    for kernel, n in cases:
        doing = f"second start, {_name(kernel, n)}"
        work.attempt(doing, 0, partial(again, kernel, n))


def first_frame(kernel: str, n: int, base: Start, params: Params) -> Case:
    """A kernel at n rods, copies of `base`, with the seconds from asked to the first frame."""
    copies = round((n / len(base.theta)) ** 0.5)
    start = standard.copied(base, params.space_size, copies)
    begin = time.perf_counter()
    driver = Driver(Setup(rods=n, kernel=kernel), standard.standard_params(n), start=start)
    driver.advance(1)
    seconds = time.perf_counter() - begin
    return Case(driver, {**_compile_of(driver), "first_frame_s": seconds})


def about_card() -> dict[str, Any]:
    """The device, its driver and the versions of what drives it."""
    device = jax.devices()[0]
    return {
        "device": device_name(),
        "platform": device.platform,
        "platform_version": device.client.platform_version,
        "driver": _driver(),
        "free_bytes": available_bytes(),
        "python": platform.python_version(),
        **{name: sys.modules[name].__version__ for name in ("jax", "jaxlib", "numpy")},
    }


def _driver() -> str | None:
    """What NVIDIA's tool says of the cards, a line each: name, driver, memory, power limit."""
    asked = "--query-gpu=name,driver_version,memory.total,power.limit"
    command = ["nvidia-smi", asked, "--format=csv,noheader"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip()


_LIMITS = "the card's limits"
_PROBLEMS = (ParameterError, RuntimeError, ImportError, OSError)


def _in_a_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _kernels(job: dict[str, Any], n: int) -> list[str]:
    """The kernels that are measured at n rods; the first is there at every n."""
    return ["neighbours", *(kernel for kernel, most in job["most"].items() if n <= most)]


def _name(what: str, n: int) -> str:
    return f"{what} at {n:,} rods"


def _state_file(job: dict[str, Any]) -> Path:
    return Path(job["folder"]) / "base.npz"


def _compile_of(driver: Driver) -> dict[str, Any]:
    assert driver.stats.last is not None
    return {**asdict(driver.stats.last), "seconds": driver.stats.last.seconds}


def main(arguments: Sequence[str]) -> None:
    """Do the part of the job that is named in it."""
    job = json.loads(arguments[0])
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not end up among the messages

    def say(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=messages, flush=True)

    work = Work(say, time.monotonic() + job["seconds"])
    if job["part"] == "measure":
        Measuring(job, work).run()
    else:
        start_again(job, work)


if __name__ == "__main__":
    main(sys.argv[1:])
