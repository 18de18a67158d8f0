# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim`: movies, benchmarks, traces and a look at the installation, without a window.

Statuses: 0, 2 for a command line that cannot be followed, 1 for a run that failed, 130 for Ctrl-C.
Each of these is said in one line on standard error. Neither Qt nor OpenGL is imported here, and JAX
not before the command line is known to be good.
"""

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bacsim_gui import __version__
from bacsim_gui.device import device_note
from bacsim_gui.flags import (
    PlainParser,
    add_run_flags,
    make_run,
    number,
    print_anywhere,
    whole,
    whole_numbers,
)
from bacsim_gui.logfile import LEVELS, log_path, start_log
from engine import schema
from engine.schema import ParameterError

if TYPE_CHECKING:
    from bacsim_gui.movie import MovieOrder
    from bacsim_gui.presets import Run
    from bacsim_gui.progress import Progress

logger = logging.getLogger(__name__)
Found = TypeVar("Found")

# A traced frame is short: the profiler notes every operation of every step.
TRACE_STEPS, TRACE_FRAMES = 10, 4
# Seconds; far more than anybody waits for.
LONGEST_MOVIE = 1e6


class RunError(RuntimeError):
    """A run that failed, in plain words."""


def parser() -> argparse.ArgumentParser:
    """The command line of `bacsim`."""
    made = PlainParser(
        prog="bacsim", description="Swarming bacteria without a window. bacsim-gui opens one.",
        allow_abbrev=False,
    )  # fmt: skip
    made.add_argument("--version", action="version", version=f"bacsim {__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_movie(commands)
    _add_bench(commands)
    _add_trace(commands)
    text = "say what is installed here and what works"
    _add_command(commands, "doctor", text, doctor)
    return made


def _add_command(
    commands: "argparse._SubParsersAction[PlainParser]",
    name: str,
    text: str,
    job: Callable[[argparse.Namespace, PlainParser], None],
) -> PlainParser:
    command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    command.set_defaults(job=job, command=command)
    command.add_argument(
        "--log-level", choices=LEVELS, default="info",
        help=f"what goes into the log file, {log_path('bacsim')}; default info",
    )  # fmt: skip
    return command


def _add_movie(commands: "argparse._SubParsersAction[PlainParser]") -> None:
    text = "simulate, draw and encode a movie (H.264, MP4)"
    command = _add_command(commands, "movie", text, movie)
    picture = command.add_argument_group("movie")
    picture.add_argument(
        "--out", metavar="FILE", default="swarm.mp4",
        help="default swarm.mp4; an existing file is kept, and the movie's name gets a number",
    )  # fmt: skip
    picture.add_argument("--seconds", metavar="FLOAT", default="10", help="length; default 10")
    picture.add_argument("--fps", metavar="FLOAT", default="30", help="frames a second; default 30")
    picture.add_argument(
        "--size", metavar="WIDTHxHEIGHT", default="1280x720", help="in pixels; default 1280x720"
    )
    add_run_flags(command)


def _add_bench(commands: "argparse._SubParsersAction[PlainParser]") -> None:
    from engine.study.bench import Plan

    text = "time the kernels on the standard benchmark, compiling apart from running"
    command = _add_command(commands, "bench", text, bench)
    command.add_argument(
        "--kernels", metavar="NAMES", default=",".join(Plan.kernels),
        help=f"kernels with commas between; default {','.join(Plan.kernels)}",
    )  # fmt: skip
    command.add_argument(
        "--rods",
        metavar="NUMBERS",
        help=f"numbers of rods with commas between; default {','.join(map(str, Plan.rods))}",
    )
    command.add_argument(
        "--native", metavar="NAMES", default=",".join(Plan.native),
        help="whose code sums over neighbour lists on a CPU, with commas between: auto, which is "
        "native code where it is installed, and off, JAX's; default auto",
    )  # fmt: skip
    command.add_argument("--rounds", metavar="INT", default="5", help="at least 5, the default")
    command.add_argument(
        "--threads", metavar="NUMBERS", default="1",
        help="numbers of CPU threads with commas between, each measured in a process of its own; "
        "default 1",
    )  # fmt: skip
    command.add_argument(
        "--state", metavar="FILE", help="start from pos, theta, activity, space_size of an .npz"
    )
    command.add_argument("--json", action="store_true", help="print records instead of tables")


def _add_trace(commands: "argparse._SubParsersAction[PlainParser]") -> None:
    text = "profile some frames for ui.perfetto.dev, and sum up the stages of a step"
    command = _add_command(commands, "trace", text, trace)
    command.add_argument("--out", metavar="DIR", required=True, help="folder for the trace")
    command.add_argument(
        "--frames", metavar="INT", default=str(TRACE_FRAMES), help=f"default {TRACE_FRAMES}"
    )
    add_run_flags(command, K=f"steps of a traced frame; default {TRACE_STEPS}")


def movie(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Make a movie and print where it is."""
    order, run = _checked(command, lambda: (_movie_order(arguments), make_run(arguments)))
    _prepare()
    from bacsim_gui.bootstrap import missing_libraries_message, missing_system_libraries

    missing = missing_system_libraries(headless=True)
    if missing:
        raise RunError(missing_libraries_message(missing))
    from bacsim_gui.movie import MovieError, make_movie
    from bacsim_gui.movie_files import unfinished_recordings
    from bacsim_gui.progress import Progress
    from bacsim_gui.recorder import RecordingError

    with Progress() as progress:
        _say_run(run, progress)
        for left in unfinished_recordings(order.out.parent):
            progress.say(f"Note: {left.message}")
        steps = run.movie_steps(order.fps)
        pace = schema.pace(run.params, steps * order.fps)
        progress.say(
            f"{order.frames} frames of {steps} steps, each {steps * run.params.dt:.4g} t: active "
            f"rods pass {pace:.1f} body widths a second of movie."
        )
        progress.update(0.0, "compiling")
        try:
            path = make_movie(
                run, order,
                on_frame=lambda i, n: progress.update(i / n, f"{i} of {n} frames"),
                on_start=progress.begin,
            )  # fmt: skip
        except RecordingError as error:
            command.error(str(error))
        except MovieError as error:
            raise RunError(str(error)) from error
    print(f"{path.resolve()}: {order.frames} frames, {path.stat().st_size / 1e6:.1f} MB")


def _movie_order(arguments: argparse.Namespace) -> "MovieOrder":
    from bacsim_gui.movie import MovieOrder
    from bacsim_gui.recorder import RecordingError, check

    width, cross, height = arguments.size.lower().partition("x")
    if not (cross and width.strip().isdecimal() and height.strip().isdecimal()):
        raise ParameterError(
            "size", arguments.size, "is not possible", "Give width and height, as in 1280x720."
        )
    order = MovieOrder(
        Path(arguments.out),
        seconds=number("seconds", arguments.seconds, 0, LONGEST_MOVIE),
        fps=number("fps", arguments.fps, 0, 240),
        size=(int(width), int(height)),
    )
    try:
        check(order.size, order.fps)
    except RecordingError as error:
        raise ValueError(str(error)) from error
    return order


def bench(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Measure, then print tables or records."""
    from bacsim_gui.progress import Progress
    from engine.study.bench import BenchError, Plan, check, run, to_records

    def plan() -> Plan:
        state = None if arguments.state is None else Path(arguments.state)
        if state is not None and arguments.rods is not None:
            raise ValueError("--rods and --state exclude each other: the file decides the rods.")
        return check(
            Plan(
                kernels=_words(arguments.kernels),
                native=_words(arguments.native),
                rods=whole_numbers("rods", arguments.rods, 1) if arguments.rods else Plan.rods,
                rounds=whole("rounds", arguments.rounds, 1) or 0,
                threads=whole_numbers("threads", arguments.threads, 1),
                state=state,
            )
        )

    wanted = _checked(command, plan)
    with Progress() as progress:
        try:
            rows = run(wanted, lambda done: progress.update(done.share, done.doing))
        except BenchError as error:
            raise RunError(str(error)) from error
    if arguments.json:
        print(json.dumps(to_records(rows), indent=1, ensure_ascii=False))
        return
    from bacsim_gui.bench_report import print_report

    print_report(rows, wanted.state)


def trace(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Trace some frames and print the summary."""

    def order() -> "tuple[Run, int, int]":
        run = make_run(arguments)
        frames = whole("frames", arguments.frames, 1) or TRACE_FRAMES
        return run, frames, TRACE_STEPS if arguments.K is None else run.K

    run, frames, K = _checked(command, order)
    _prepare()
    from bacsim_gui.progress import Progress
    from engine.driver import Driver, SimulationError
    from engine.study.trace import TraceError
    from engine.study.trace import trace as trace_frames

    with Progress() as progress:
        _say_run(run, progress)
        progress.update(0.0, "compiling")
        try:
            driver = Driver(run.setup, run.params, seed=run.seed, start=run.start)
            progress.update(0.5, f"tracing {frames} frames of {K} steps")
            files = trace_frames(driver, Path(arguments.out), frames=frames, K=K)
        except (SimulationError, TraceError) as error:
            raise RunError(str(error)) from error
    print(files.text.read_text(encoding="utf-8"))
    print(f"{files.perfetto.resolve()}: drop it on https://ui.perfetto.dev")


def doctor(_arguments: argparse.Namespace, _command: PlainParser) -> None:
    """Print what is installed and what works, as it is found."""
    from bacsim_gui.doctor import findings

    for name, found in findings():
        print(f"{name:14} {found}", flush=True)


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",")))


def _checked(command: PlainParser, read: Callable[[], Found]) -> Found:
    """What `read` makes of the command line; what it refuses ends the program with status 2."""
    try:
        return read()
    except (ValueError, OSError) as error:
        command.error(_in_one_line(error))


def _prepare() -> None:
    """The environment of a program without a window, before JAX is imported."""
    from bacsim_gui.bootstrap import prepare_headless

    prepare_headless()


def _say_run(run: "Run", progress: "Progress") -> None:
    from engine.kernels import resolve
    from engine.program import device_name

    setup, phi = run.setup, schema.packing_fraction(run.setup, run.params)
    choice = resolve(setup)
    progress.say(
        f"{run.title}: {setup.rods:,} rods, packing fraction {phi:.2f}, kernel {choice.name} "
        f"({choice.reason}; code: {choice.code}), seed {run.seed}, on {device_name()}."
    )
    for text in (device_note(), *schema.warnings_for(setup, run.params)):
        if text:
            progress.say(f"Note: {text}")


def _in_one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def main(argv: Sequence[str] | None = None) -> int:
    """Follow the command line; the status to leave with."""
    print_anywhere()
    arguments = parser().parse_args(argv)
    start_log("bacsim", arguments.log_level)
    logger.info("bacsim %s %s", __version__, " ".join(sys.argv[1:] if argv is None else argv))
    try:
        arguments.job(arguments, arguments.command)
    except KeyboardInterrupt as stop:
        return _fail(130, f"Stopped. {stop}".rstrip())
    except ParameterError as error:
        return _fail(2, _in_one_line(error))
    except (RunError, OSError, MemoryError) as error:
        return _fail(1, _in_one_line(error))
    except Exception as error:
        logger.exception("Unexpected")
        first = f"{type(error).__name__}: {error}".splitlines()[0]
        return _fail(1, f"Unexpected error ({first}). Details are in {log_path('bacsim')}.")
    return 0


def _fail(status: int, message: str) -> int:
    logger.error("%s", message)
    print(f"bacsim: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
