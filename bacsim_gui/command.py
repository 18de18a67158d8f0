# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands of `bacsim` have in common. Neither Qt, OpenGL nor JAX is imported here."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bacsim_gui.device import device_note
from bacsim_gui.flags import PlainParser
from bacsim_gui.logfile import LEVELS, log_path
from engine import schema

if TYPE_CHECKING:
    from bacsim_gui.presets import Run
    from bacsim_gui.progress import Progress

Found = TypeVar("Found")
Commands = argparse._SubParsersAction  # argparse names the type of its sub-commands nowhere else


class RunError(RuntimeError):
    """A run that failed, in plain words."""


def add_command(
    commands: "Commands[PlainParser]",
    name: str,
    text: str,
    job: Callable[[argparse.Namespace, PlainParser], None],
) -> PlainParser:
    """Add the command `name`, which does `job`; `text` is its help."""
    command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    command.set_defaults(job=job, command=command)
    command.add_argument(
        "--log-level", choices=LEVELS, default="info",
        help=f"what goes into the log file, {log_path('bacsim')}; default info",
    )  # fmt: skip
    return command


def checked(command: PlainParser, read: Callable[[], Found]) -> Found:
    """What `read` makes of the command line; what it refuses ends the program with status 2."""
    try:
        return read()
    except (ValueError, OSError) as error:
        command.error(in_one_line(error))


def prepare(*, draws: bool = False) -> None:
    """The environment of a program without a window, before JAX is imported.

    Raises `RunError` where it draws and a system library for that is missing.
    """
    from bacsim_gui.bootstrap import (
        missing_libraries_message,
        missing_system_libraries,
        prepare_headless,
    )

    prepare_headless()
    missing = missing_system_libraries(headless=True) if draws else {}
    if missing:
        raise RunError(missing_libraries_message(missing))


def say_run(run: "Run", progress: "Progress") -> None:
    """Say what is to be run, on what, and what is to be known of it."""
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


def in_one_line(error: BaseException) -> str:
    """What `error` says, in one line."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def counted(number: int, what: str) -> str:
    """`number` things, in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def source_file(text: str) -> Path:
    """A file or a folder that is to be read. Raises `RunError` for anything else."""
    path = Path(text)
    try:
        found = path.name and (path.is_file() or path.is_dir())
        there = path.exists()
    except OSError as problem:
        raise RunError(f"{path} cannot be read: {problem.strerror}.") from problem
    if not found:
        raise RunError(f"{path} is no file." if there else f"There is no file {path}.")
    return path
