# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim analyse`: a trajectory as figures, tables and a report."""

import argparse
import contextlib
import math
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bacsim_gui import __version__
from bacsim_gui.command import (
    Commands,
    RunError,
    add_command,
    checked,
    counted,
    prepare,
    source_file,
)
from bacsim_gui.flags import PlainParser, whole
from engine.params import Laws, Setup
from engine.schema import ParameterError
from engine.snapshot import Snapshot
from engine.storage.errors import StorageError

if TYPE_CHECKING:
    from bacsim_gui.progress import Progress
    from engine.study.analyse.collect import Results


def add(commands: "Commands[PlainParser]") -> None:
    """Add the command."""
    text = "average over a trajectory: figures, tables with error bars, a report"
    command = add_command(commands, "analyse", text, analyse)
    command.add_argument("trajectory", metavar="RUN.gsd")
    command.add_argument(
        "-o", "--out", metavar="FOLDER",
        help="new folder for what is written; default: RUN.analysis beside the trajectory",
    )  # fmt: skip
    command.add_argument(
        "--from", dest="first", metavar="TIME",
        help="leave out frames before this simulated time, so that a run has settled",
    )  # fmt: skip
    command.add_argument("--to", dest="last", metavar="TIME", help="leave out frames after it")
    command.add_argument(
        "--every", metavar="INT", default="1", help="one frame in so many; default 1"
    )
    command.add_argument("--no-figures", action="store_true", help="write report and tables only")


def analyse(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Analyse a trajectory and print the averages, and where everything is."""

    def ask() -> tuple[float, float, int]:
        first = _time("from", arguments.first, -math.inf)
        last = _time("to", arguments.last, math.inf)
        if first > last:
            raise ParameterError("from", arguments.first, f"is after --to {arguments.last}",
                                 "Give an earlier time.")  # fmt: skip
        return first, last, whole("every", arguments.every, 1) or 1

    first, last, every = checked(command, ask)
    source = source_file(arguments.trajectory)
    folder = Path(arguments.out or source.with_suffix(".analysis"))
    checked(command, lambda: _free(folder))
    from bacsim_gui.progress import Progress
    from engine.storage.trajectory import Trajectory
    from engine.study.analyse.collect import analyse as collect
    from engine.study.analyse.report import remarks, write_report, write_tables
    from engine.study.analyse.span import AnalysisError, choose

    with Progress() as progress, Trajectory(source) as trajectory:
        progress.update(0.0, "reading")
        try:
            span = choose(trajectory, first, last, every)
            made = _made(folder)
            try:
                # One rod in so many has no neighbours that could be known.
                velocities = (
                    _velocities(trajectory.laws) if trajectory.one_rod_in == 1 else _unknown
                )
                progress.begin()
                results = collect(
                    trajectory, span, velocities,
                    lambda share, doing: progress.update(0.85 * share, doing),
                )  # fmt: skip
                try:
                    write_tables(results, folder)
                    figures = [] if arguments.no_figures else _figures(results, folder, progress)
                    write_report(results, folder, _about(trajectory.about, source), figures)
                except StorageError:
                    _print(results)  # so that it was not computed for nothing
                    raise
            except BaseException:
                if made:
                    with contextlib.suppress(OSError):
                        folder.rmdir()  # where it is empty
                raise
        except AnalysisError as error:
            raise RunError(str(error)) from error
    _print(results)
    for text in remarks(results):
        print(f"Note: {text}", file=sys.stderr)
    words = f"report.md, 3 tables, {counted(len(figures), 'figure')}"
    print(f"{folder.resolve()}: {words}")


def _figures(results: "Results", folder: Path, progress: "Progress") -> list[str]:
    from engine.study.analyse.figures import draw_all

    names = []
    for name, number, count in draw_all(results, folder):
        progress.update(0.85 + 0.15 * number / count, f"drawing {name.replace('_', ' ')}")
        names.append(name)
    return names


def _print(results: "Results") -> None:
    from rich.console import Console
    from rich.table import Table

    from engine.study.analyse.quantities import QUANTITIES
    from engine.study.analyse.report import rounded, rounded_exponent

    table = Table(box=None, pad_edge=False)
    for head in ("quantity", "mean", "error", "unit"):
        table.add_column(head, justify="right" if head in ("mean", "error") else "left")
    for name, average in results.averages.items():
        mean, error = rounded(average)
        table.add_row(QUANTITIES[name].label, mean, _signed(error), QUANTITIES[name].unit)
    if (fit := results.exponent) is not None:
        value, error = rounded_exponent(fit)
        table.add_row("exponent of number fluctuations", value, _signed(error), "")
    Console(highlight=False).print(table)


def _signed(error: str) -> str:
    return f"± {error}" if error[0].isdigit() else error


def _velocities(laws: Laws) -> Callable[[Snapshot], np.ndarray]:
    """The drift velocities of a state by the program that measures them, (N, 2)."""
    prepare()
    from engine.measures import Meter, list_kernel
    from engine.native.library import default_threads

    meter = Meter(list_kernel(Setup()), default_threads(), laws=laws)

    def velocities(snapshot: Snapshot) -> np.ndarray:
        found = meter.of_snapshot(snapshot, ("velocity_x", "velocity_y"))
        return np.stack([found["velocity_x"], found["velocity_y"]], axis=1)

    return velocities


def _unknown(_snapshot: Snapshot) -> np.ndarray:
    raise AssertionError("velocities were asked for of a share of the rods")


def _about(about: Mapping[str, str], source: Path) -> dict[str, str]:
    told = {"trajectory": source.name}
    told |= {
        name: about[name] for name in ("title", "seed", "kernel", "code", "device") if name in about
    }
    if "bacsim" in about:
        told["run by bacsim"] = about["bacsim"]
    told["analysed by bacsim"] = __version__
    told["command"] = shlex.join(["bacsim", *sys.argv[1:]])
    return told


def _time(name: str, text: str | None, default: float) -> float:
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ParameterError(name, text, "is no time", "Give a simulated time in t, such as 12.5.")
    return value


def _free(folder: Path) -> None:
    """Refuse a folder that holds something already, and a name that cannot be one."""
    if not folder.exists():
        if not folder.parent.is_dir():
            raise ValueError(f"--out {folder} is not possible: there is no folder {folder.parent}.")
        return
    if not folder.is_dir():
        raise ValueError(f"--out {folder} is a file. Give another name.")
    if any(folder.iterdir()):
        raise ValueError(f"{folder} exists already and is not empty. Give another one with --out.")


def _made(folder: Path) -> bool:
    """Make the folder; whether it was not there."""
    if folder.exists():
        return False
    try:
        folder.mkdir()
    except OSError as problem:
        raise RunError(f"The folder {folder} cannot be made: {problem.strerror}.") from problem
    return True
