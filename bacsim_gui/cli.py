# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim`: movies, checks, benchmarks, traces, a look at the installation; without a window.

Statuses: 0, 2 for a command line that cannot be followed, 1 for a run that failed, 130 for Ctrl-C.
Each of these is said in one line on standard error. Neither Qt nor OpenGL is imported here, and JAX
not before the command line is known to be good.
"""

import argparse
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bacsim_gui import (
    __version__,
    analysis,
    record_commands,
    show,
    sweep_command,
    validation,
)
from bacsim_gui.command import (
    Commands,
    RunError,
    add_command,
    checked,
    in_one_line,
    prepare,
    say_run,
)
from bacsim_gui.flags import (
    PlainParser,
    add_run_flags,
    make_run,
    print_anywhere,
    whole,
    whole_numbers,
)
from bacsim_gui.logfile import log_path, start_log
from bacsim_gui.recorder import RecordingError
from bacsim_gui.timeline import TimelineError
from engine.schema import ParameterError
from engine.snapshot import CheckpointError
from engine.storage.errors import StorageError

if TYPE_CHECKING:
    from bacsim_gui.presets import Run

logger = logging.getLogger(__name__)

# A traced frame is short: the profiler notes every operation of every step.
TRACE_STEPS, TRACE_FRAMES = 10, 4


def parser() -> argparse.ArgumentParser:
    """The command line of `bacsim`."""
    made = PlainParser(
        prog="bacsim", description="Swarming bacteria without a window. bacsim-gui opens one.",
        allow_abbrev=False,
    )  # fmt: skip
    made.add_argument("--version", action="version", version=f"bacsim {__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    record_commands.add(commands)
    show.add(commands)
    analysis.add(commands)
    validation.add(commands)
    _add_bench(commands)
    _add_trace(commands)
    sweep_command.add(commands)
    text = "say what is installed here and what works"
    command = add_command(commands, "doctor", text, doctor)
    command.add_argument("--json", action="store_true", help="all of it as JSON")
    return made


def _add_bench(commands: "Commands[PlainParser]") -> None:
    from engine.study.bench import Plan

    text = "time the kernels on the standard benchmark, compiling apart from running"
    command = add_command(commands, "bench", text, bench)
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


def _add_trace(commands: "Commands[PlainParser]") -> None:
    text = "profile some frames for ui.perfetto.dev, and sum up the stages of a step"
    command = add_command(commands, "trace", text, trace)
    command.add_argument("--out", metavar="DIR", required=True, help="folder for the trace")
    command.add_argument(
        "--frames", metavar="INT", default=str(TRACE_FRAMES), help=f"default {TRACE_FRAMES}"
    )
    add_run_flags(command, K=f"steps of a traced frame; default {TRACE_STEPS}")


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

    wanted = checked(command, plan)
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

    run, frames, K = checked(command, order)
    prepare()
    from bacsim_gui.progress import Progress
    from engine.driver import SimulationError
    from engine.study.trace import TraceError
    from engine.study.trace import trace as trace_frames

    with Progress() as progress:
        say_run(run, progress)
        progress.update(0.0, "compiling")
        try:
            driver = run.driver()
            progress.update(0.5, f"tracing {frames} frames of {K} steps")
            files = trace_frames(driver, Path(arguments.out), frames=frames, K=K)
        except (SimulationError, TraceError) as error:
            raise RunError(str(error)) from error
    print(files.text.read_text(encoding="utf-8"))
    print(f"{files.perfetto.resolve()}: drop it on https://ui.perfetto.dev")


def doctor(arguments: argparse.Namespace, _command: PlainParser) -> None:
    """Print what is installed and what works, as it is found."""
    from bacsim_gui.doctor import as_json, as_text, findings

    if arguments.json:
        print(as_json(list(findings())))
        return
    for found in findings():
        print(as_text(found), flush=True)


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",")))


def main(argv: Sequence[str] | None = None) -> int:
    """Follow the command line; the status to leave with."""
    print_anywhere()
    arguments = parser().parse_args(argv)
    start_log("bacsim", arguments.log_level)
    logger.info("bacsim %s %s", __version__, " ".join(sys.argv[1:] if argv is None else argv))
    # A scheduler's request to end is as good as Ctrl-C: what was recorded is finished in order.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        arguments.job(arguments, arguments.command)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has enough, `head` say. What is left is not worth a word at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt as stop:
        return _fail(130, f"Stopped. {stop}".rstrip())
    except ParameterError as error:
        return _fail(2, in_one_line(error))
    except (RunError, RecordingError, StorageError, CheckpointError, TimelineError) as error:
        return _fail(1, in_one_line(error))
    except (OSError, MemoryError) as error:
        return _fail(1, in_one_line(error))
    except Exception as error:
        logger.exception("Unexpected")
        first = f"{type(error).__name__}: {error}".splitlines()[0]
        return _fail(1, f"Unexpected error ({first}). Details are in {log_path('bacsim')}.")
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _fail(status: int, message: str) -> int:
    logger.error("%s", message)
    print(f"bacsim: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
