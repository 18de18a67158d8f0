# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim sweep`: a grid of parameters, its systems side by side, in several processes."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bacsim_gui import __version__
from bacsim_gui.command import Commands, RunError, add_command, checked, counted, prepare
from bacsim_gui.flags import PlainParser, whole
from bacsim_gui.presets import line_of, load_config, load_preset, read_toml
from engine import schema
from engine.params import Params, Setup
from engine.schema import ParameterError

if TYPE_CHECKING:
    from bacsim_gui.progress import Progress
    from engine.study.sweep.job import Done
    from engine.study.sweep.parts import Parts
    from engine.study.sweep.plan import Job, Plan

# How many reasons and warnings are told before "and more".
MOST_TOLD = 5


def add(commands: "Commands[PlainParser]") -> None:
    """Add the command `sweep`."""
    text = "run a grid of parameters, as a TOML file declares it, and draw the diagram"
    command = add_command(commands, "sweep", text, sweep)
    command.add_argument("spec", metavar="SPEC.toml", help="what to run; see docs/sweeps.md")
    command.add_argument(
        "-o", "--output", metavar="RESULT.nc",
        help="the result, NetCDF; the picture beside it has the ending .png. Default: the name of "
        "the spec, in this folder",
    )  # fmt: skip
    command.add_argument(
        "--workers",
        metavar="INT",
        help="processes on this machine; default: as many as there are cores, 1 with a card",
    )
    command.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on the workers of this Dask scheduler, tcp://HOST:8786 say, in place of own ones",
    )
    command.add_argument(
        "--dry-run", action="store_true", help="only check the spec and tell what would be run"
    )


def sweep(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Run what is not done yet, write the result, draw the picture."""

    def order() -> "tuple[Plan, str, Path, int | None]":
        plan, text = load(Path(arguments.spec))
        workers = whole("workers", arguments.workers, 1)
        if workers is not None and arguments.scheduler is not None:
            raise ValueError("--workers and --scheduler exclude each other: give one of them.")
        result = Path(arguments.output or f"{Path(arguments.spec).stem}.nc")
        if result.suffix.lower() != ".nc":
            raise ValueError(f"{result} is no name for a result. Let it end in .nc.")
        return plan, text, result, workers

    plan, text, result, workers = checked(command, order)
    if arguments.dry_run:
        print("\n".join(told(plan)))
        return
    prepare()
    from bacsim_gui.progress import Progress

    with Progress() as progress:
        for line in told(plan):
            progress.say(line)
        if result.exists():
            _check_same(result, plan)
            progress.say(f"{result} is there already, of this sweep; only the picture is drawn.")
        else:
            _run(plan, text, result, workers, arguments.scheduler, progress)
    _finish(plan, result)


def load(path: Path) -> "tuple[Plan, str]":
    """The plan of the spec in a file, and its text.

    Raises `ParameterError` that names the file, the line and the value.
    """
    from engine.study.sweep.plan import plan
    from engine.study.sweep.spec import read

    text, table = read_toml(path)
    try:
        return plan(read(table, _base(table, path.parent)), __version__), text
    except ParameterError as error:
        line = _line(text, table, error)
        where = f"{path}, line {line}" if line else str(path)
        error.args = (f"{where}: {error}",)
        raise


def _base(table: Mapping[str, Any], folder: Path) -> tuple[Setup, Params]:
    """What the sweep begins with: a preset, a configuration beside the spec, or the defaults."""
    if "preset" in table and "config" in table:
        raise ParameterError("config", table["config"], "stands beside a preset", "Give one.")
    if "preset" in table:
        run = load_preset(str(table["preset"]))
    elif "config" in table:
        run = load_config(folder / str(table["config"]))
    else:
        return Setup(), Params()
    if run.obstacles:
        raise ParameterError(
            "config", table.get("config"), "has obstacles, which a sweep does not know",
            "Take them out.",
        )  # fmt: skip
    return run.setup, run.params


def _line(text: str, table: Mapping[str, Any], error: ParameterError) -> int | None:
    """The line on which the value stands that was refused; None where that cannot be told."""
    for head in ("points", "states"):
        tables = table.get(head)
        for at, one in enumerate(tables if isinstance(tables, list) else ()):
            if isinstance(one, dict) and one.get(error.name, table) is error.value:
                return _line_in(text, head, at, error.name)
    return line_of(text, table, error.name, error.value)


def _line_in(text: str, head: str, which: int, name: str) -> int | None:
    """The line of `name` in table number `which` of the list of tables `head`."""
    seen, inside = -1, False
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line.startswith("["):
            inside = line.replace(" ", "").startswith(f"[[{head}]]")
            seen += inside
        elif inside and seen == which and line.split("=")[0].strip(" \"'") == name:
            return number
    return None


def told(plan: "Plan") -> list[str]:
    """What a plan comes to, in lines for people."""
    spec = plan.spec
    axes = ", ".join(
        f"{name} ({len({point[name] for point in spec.points})} values)" for name in spec.varied
    )
    bad = [system for system in plan.systems if system.problem]
    lines = [
        f"{spec.title}: {axes}.",
        f"{counted(len(spec.points), 'point')} × {counted(spec.replicates, 'seed')} = "
        f"{counted(len(plan.systems), 'system')} in {counted(len(plan.jobs), 'job')}, "
        f"{plan.steps:.3g} steps of systems; warm-up {spec.times.warm_up:g} t, then "
        f"{counted(spec.times.samples, 'sample')}, {spec.times.every:g} t apart.",
    ]
    lines += _a_few([f"Note: {len(bad)} cannot be simulated: {s.problem}" for s in bad[:1]])
    notes = {
        text: s
        for s in plan.systems
        if not s.problem
        for text in schema.warnings_for(s.setup, s.params)
    }
    return lines + _a_few([f"Note: {text}" for text in notes])


def _a_few(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_TOLD
    return [*lines[:MOST_TOLD], *([f"Note: and {more:,} more of the kind."] if more > 0 else [])]


def _check_same(result: Path, plan: "Plan") -> None:
    from engine.study.sweep.result import read

    if read(result).attrs["digest"] != plan.digest:
        raise RunError(
            f"{result} exists already, and is of another sweep: the spec, or bacsim, has changed "
            "since. Give another name with -o, or remove it."
        )


def _run(
    plan: "Plan",
    text: str,
    result: Path,
    workers: int | None,
    scheduler: str | None,
    progress: "Progress",
) -> None:
    from engine.study.sweep.parts import Parts
    from engine.study.sweep.result import dataset, write

    parts = Parts(result, plan, text)
    done, notes = parts.done(plan.jobs)
    for note in notes:
        progress.say(f"Note: {note}")
    if done:
        progress.say(f"{counted(len(done), 'job')} of {len(plan.jobs)} are done already.")
    left = [job for job in plan.jobs if job.number not in done]
    try:
        problems = _Round(parts, done, left, progress).run(workers, scheduler) if left else []
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"{counted(len(done), 'job')} of {len(plan.jobs)} are kept in {parts.folder}; the same "
            "command goes on from there."
        ) from None
    if problems:
        reasons = "; ".join(dict.fromkeys(problems))
        raise RunError(
            f"{counted(len(problems), 'job')} of {len(plan.jobs)} could not be run: {reasons}. "
            f"What is done is kept in {parts.folder}; the same command tries the rest again."
        )
    import jax
    import numpy as np

    versions = {"bacsim": __version__, "jax": jax.__version__, "numpy": np.__version__}
    write(dataset(plan, done, text, versions), result)
    parts.remove()


class _Round:
    """The jobs that are left, run in one go; what is done goes to `parts` and `done`."""

    def __init__(
        self, parts: "Parts", done: "dict[int, Done]", left: "list[Job]", progress: "Progress"
    ) -> None:
        self._parts, self._done, self._left, self._progress = parts, done, left, progress
        self._weight = {
            job.number: sum(system.steps(job.times)[-1] for system in job.systems) for job in left
        }

    def run(self, workers: int | None, scheduler: str | None) -> list[str]:
        """Run all of them; returns what went wrong, a line for each job."""
        self._progress.update(0.0, "starting")
        workers = workers or _default_workers()
        if scheduler is None and min(workers, len(self._left)) == 1:
            return self._here()
        from bacsim_gui.sweep_cluster import run_on_workers

        return run_on_workers(
            self._left, min(workers, len(self._left)), scheduler, self._keep, self._tell
        )

    def _here(self) -> list[str]:
        from engine.study.sweep.job import run_job

        problems = []
        for job in self._left:
            try:
                done = run_job(job, lambda share, job=job: self._tell({job.number: share}))
            except ParameterError as error:  # no memory
                problems.append(str(error))
                continue
            self._keep(done)
        return problems

    def _keep(self, done: "Done") -> None:
        self._parts.keep(done)
        self._done[done.number] = done

    def _tell(self, shares: dict[int, float]) -> None:
        ended = [number for number in self._weight if number in self._done]
        steps = sum(self._weight[number] for number in ended)
        steps += sum(share * self._weight[n] for n, share in shares.items() if n not in self._done)
        doing = f"{len(ended)} of {counted(len(self._left), 'job')}"
        self._progress.update(steps / sum(self._weight.values()), doing)


def _default_workers() -> int:
    import jax

    if jax.default_backend() != "cpu":
        return 1  # processes would share the card
    have = getattr(os, "sched_getaffinity", None)
    return len(have(0)) if have else os.cpu_count() or 1


def _finish(plan: "Plan", result: Path) -> None:
    """Draw the picture, and say what came of it all."""
    from bacsim_gui.sweep_picture import draw
    from engine.study.sweep.result import read

    found = read(result)
    failed = found["failed"].to_numpy().ravel()
    reasons = [str(why) for why in failed if why]
    print(f"{result}: {len(failed) - len(reasons):,} of {counted(len(failed), 'system')} ran.")
    for line in _a_few([f"Failed: {why}" for why in dict.fromkeys(reasons)]):
        print(line)
    picture = result.with_suffix(".png")
    print(f"{picture}" if draw(found, plan.spec, picture) else "More than two parameters vary, so "
          "there is no picture; xarray.open_dataset reads the result.")  # fmt: skip
