# SPDX-License-Identifier: GPL-3.0-or-later
"""What systems side by side gain: systems × steps a second, batched against one by one.

    python -m benchmarks.sweep [--rods N] [--rounds R] [--systems S] [--steps STEPS] [--every E]
                               [--off] [--workers W] [--json FILE]

Swarms of N rods (256) at packing fraction 0.3, each relaxed, run and sampled. Four ways take turns,
every round all of them, each waited for: `batched` as `bacsim sweep` does; `rebuilt`, one `Driver`
after the other in one compiled program, as a careful script does; `compiled`, a new `Driver` for
each system, as most scripts do, of two systems only; and with --off `JAX`, `rebuilt` without native
code. Then the same jobs through one worker and through W (2) in processes of their own, once they
have compiled. All run on one thread each; starts, relaxation and samples are in the times.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bacsim_gui import __version__
from bacsim_gui.bootstrap import prepare_headless
from bacsim_gui.flags import PlainParser, whole
from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.study.sweep.plan import Plan, System, plan
from engine.study.sweep.spec import read

PACKING_FRACTION = 0.3
# Of compiling anew there is nothing to learn from more.
COMPILED = 2


def a_plan(rods: int, systems: int, batch: int, steps: int, every: int) -> Plan:
    """So many systems, and about so many steps of each, sampled every so many."""
    dt = 0.003
    samples = max(1, steps // (2 * every))
    table = {
        "seeds": systems, "batch": batch, "grid": {"packing_fraction": [PACKING_FRACTION]},
        "fixed": {"rods": rods, "dt": dt}, "observe": ["polar_order", "active_fraction"],
        "time": {
            "warm_up": (steps - samples * every) * dt, "every": every * dt, "samples": samples
        },
    }  # fmt: skip
    return plan(read(table, (Setup(), Params())), __version__)


def batched(made: Plan) -> None:
    """As `bacsim sweep` does in one process."""
    from engine.study.sweep.job import run_job

    for job in made.jobs:
        run_job(job)


class OneByOne:
    """Each system by itself; with `anew` each in a program that is compiled for it."""

    def __init__(self, made: Plan, *, anew: bool = False, native: str = "auto") -> None:
        self._made, self._anew, self._native = made, anew, native
        self._driver: Any = None

    def __call__(self) -> None:
        """Run all of them."""
        for system in self._made.systems[: COMPILED if self._anew else None]:
            self._run(system)

    def _run(self, system: System) -> None:
        from engine.driver import Driver

        setup = replace(system.setup, native=self._native)
        if self._driver is None or self._anew:
            self._driver = Driver(setup, system.params, system.seed, threads=1)
        else:
            self._driver.rebuild(setup, system.params, system.seed)
        steps = system.steps(self._made.spec.times)
        for before, after in zip((0, *steps), steps, strict=False):
            self._driver.advance(after - before)


def on_workers(made: Plan, numbers: Sequence[int], rounds: int) -> dict[int, list[float]]:
    """Seconds of all jobs by this many workers, which have compiled before."""
    from distributed import Client, LocalCluster

    from bacsim_gui.sweep_cluster import OWN_CLUSTER
    from engine.study.sweep.job import run_job

    found: dict[int, list[float]] = {number: [] for number in numbers}
    with LocalCluster(n_workers=max(numbers), **OWN_CLUSTER) as cluster, Client(cluster) as client:
        names = list(client.scheduler_info()["workers"])
        for name in names:
            client.submit(run_job, made.jobs[0], workers=[name], pure=False).result()
        for _ in range(rounds):
            for number in numbers:
                begin = time.perf_counter()
                futures = client.map(run_job, made.jobs, workers=names[:number], pure=False)
                client.gather(futures)
                found[number].append(time.perf_counter() - begin)
    return found


def measure(chosen: dict[str, int], *, off: bool, workers: int) -> dict[str, Any]:
    """All figures, as plain values: seconds of each round, and steps of systems in them."""
    batch = min(16, chosen["systems"])
    made = a_plan(chosen["rods"], chosen["systems"], batch, chosen["steps"], chosen["every"])
    ways: dict[str, Callable[[], None]] = {
        "batched": lambda: batched(made),
        "rebuilt": OneByOne(made),
        "compiled": OneByOne(made, anew=True),
    }
    if off:
        ways["JAX"] = OneByOne(made, native="off")
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for name, way in ways.items():
        if name != "compiled":
            way()
    for _ in range(chosen["rounds"]):
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - begin)
    share = min(COMPILED, chosen["systems"]) / chosen["systems"]
    steps = {name: made.steps * (share if name == "compiled" else 1) for name in ways}
    found = {**chosen, "seconds": seconds, "steps": steps}
    if workers > 1:
        many = a_plan(chosen["rods"], chosen["systems"], max(1, batch // 4), chosen["steps"],
                      chosen["every"])  # fmt: skip
        found["workers"] = on_workers(many, (1, workers), chosen["rounds"])
        found["worker_steps"] = many.steps
    return found


def told(found: dict[str, Any]) -> list[str]:
    """The figures in lines for people: median, least and most over the rounds."""
    lines = [
        f"{found['systems']} systems of {found['rods']} rods, {found['steps_each']} steps each, "
        f"sampled every {found['every']}; {found['rounds']} rounds; start and relaxation included.",
    ]
    rates = {
        name: [found["steps"][name] / one for one in seconds]
        for name, seconds in found["seconds"].items()
    }
    for name, rate in rates.items():
        gain = statistics.median(rates["batched"]) / statistics.median(rate)
        lines.append(f"{name:>9}: {_spread(rate)} systems × steps/s; batched is {gain:.2f} ×")
    base = None
    for number, seconds in found.get("workers", {}).items():
        rate = [found["worker_steps"] / one for one in seconds]
        base = base or statistics.median(rate)
        gain = statistics.median(rate) / base
        lines.append(f"{number} worker(s): {_spread(rate)} systems × steps/s, {gain:.2f} ×")
    return lines


def _spread(rate: Sequence[float]) -> str:
    return f"{statistics.median(rate):,.0f} ({min(rate):,.0f} to {max(rate):,.0f})"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status."""
    parser = PlainParser(prog="python -m benchmarks.sweep", allow_abbrev=False)
    defaults = {"rods": 256, "systems": 32, "steps": 2000, "every": 100, "rounds": 5, "workers": 2}
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", metavar="INT", default=str(value), help=f"default {value}")
    parser.add_argument("--off", action="store_true", help="also without native code; slow")
    parser.add_argument("--json", metavar="FILE", help="write all of it there as well")
    arguments = parser.parse_args(argv)
    try:
        chosen = {name: whole(name, getattr(arguments, name), 1) or 1 for name in defaults}
    except ParameterError as error:
        parser.error(str(error))
    prepare_headless()
    workers = chosen.pop("workers")
    found = measure(chosen, off=arguments.off, workers=workers)
    found["steps_each"] = chosen["steps"]
    print("\n".join(told(found)))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
