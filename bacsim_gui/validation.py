# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim validate`: the checks of the physics, run, printed and written down.

JAX is imported when the command line is known to be good.
"""

import argparse
import json
import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bacsim_gui import __version__
from bacsim_gui.command import Commands, RunError, add_command, checked, counted, prepare
from bacsim_gui.flags import PlainParser, set_threads
from bacsim_gui.progress import Progress
from engine.storage.atomic import whole_file

if TYPE_CHECKING:
    from rich.table import Table

    from engine.study.validate.check import Check, Result

# A pipe has no width; the table must not be cut there.
PIPE_WIDTH = 160


def add(commands: "Commands[PlainParser]") -> None:
    """Add the command."""
    text = "check the physics against closed forms and the literature; status 1 where one fails"
    command = add_command(commands, "validate", text, validate)
    command.add_argument(
        "--quick", action="store_true", help="only what takes less than two minutes together"
    )
    command.add_argument(
        "--only", metavar="NAMES", help="these checks, with commas between; a wrong name lists all"
    )
    command.add_argument("--json", metavar="FILE", help="write all figures as JSON, to a new file")
    command.add_argument(
        "--write", metavar="FILE.md", help="write the table as a page, such as docs/validation.md"
    )
    command.add_argument(
        "--threads", metavar="INT",
        help="threads of native code; they change no bit. Default: one less than there are cores",
    )  # fmt: skip


def validate(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Run the checks, print the table, write what is asked for; `RunError` where one fails."""

    def wanted() -> "tuple[Check, ...]":
        from engine.study.validate.table import chosen

        if arguments.quick and arguments.only is not None:
            raise ValueError("--quick and --only exclude each other: give one of them.")
        set_threads(arguments)
        return chosen(arguments.only, arguments.quick)

    checks = checked(command, wanted)
    as_json, as_page = (Path(p) if p else None for p in (arguments.json, arguments.write))
    _check_writable(as_json, as_page)
    prepare()
    from engine.study.validate.report import Circumstances, page, summary
    from engine.timing import seconds_of_others

    results: list[Result] = []
    began, others = time.monotonic(), seconds_of_others()
    try:
        with Progress() as progress:
            _run(checks, results, progress)
    finally:
        # Also of what was done before Ctrl-C.
        _print(results)
        if as_json is not None:
            _write_json(as_json, results)
    seconds = time.monotonic() - began
    if as_page is not None:
        chose = ["--quick"] * arguments.quick + ["--only", arguments.only] * bool(arguments.only)
        command_line = shlex.join(["bacsim", "validate", *chose, "--write", arguments.write])
        busy = (seconds_of_others() - others) / seconds
        told = Circumstances(__version__, command_line, time.strftime("%Y-%m-%d"), seconds, busy)
        with whole_file(as_page, "page", overwrite=True) as part:
            part.write_text(page(results, told), encoding="utf-8")
        print(as_page.resolve())
    if any(result.status == "FAIL" for result in results):
        raise RunError(summary(results))
    print(summary(results))


def _check_writable(as_json: Path | None, as_page: Path | None) -> None:
    """Raise `RunError` for what could not be written in the end, before anything is computed."""
    for path in filter(None, (as_json, as_page)):
        folder = path.absolute().parent
        if path.is_dir() or not folder.is_dir():
            raise RunError(f"{path} cannot be written: give a file in a folder that exists.")
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as problem:
            raise RunError(f"{path} cannot be written: {problem.strerror}.") from problem
    if as_json is not None and as_json.exists():
        raise RunError(f"{as_json} exists already. Give another name for the figures.")
    if as_page is not None and as_page.exists() and not as_page.is_file():
        raise RunError(f"{as_page} cannot be written: it is no file.")
    if as_json is not None and as_page is not None and as_json.resolve() == as_page.resolve():
        raise RunError(f"{as_json} cannot be both figures and page. Give two names.")


def _run(checks: "Sequence[Check]", results: "list[Result]", progress: Progress) -> None:
    from engine.study.validate.run import run

    def say(name: str, doing: str) -> None:
        share = len(results) / len(checks)
        progress.update(share, f"{name}: {doing}" if doing else name)

    progress.begin()
    for result in run(checks, say):
        results.append(result)
        figures = counted(len(result.readings), "figure")
        progress.say(
            f"{result.status:8} {result.check.name} ({figures}, {result.seconds:.1f} s)"
            + (f": {result.problem}" if result.problem else "")
        )


def _print(results: "Sequence[Result]") -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=PIPE_WIDTH)
    if results:
        console.print(_table(results))


def _table(results: "Sequence[Result]") -> "Table":
    from rich.table import Table

    from engine.study.validate.report import rows_of

    table = Table(title="Checks of the physics", title_justify="left")
    for column in ("check", "expected", "got", "error bar", "allowed", "source", "pass"):
        figures = column in ("got", "error bar", "allowed")
        table.add_column(column, justify="right" if figures else "left", no_wrap=column == "pass")
    for result in results:
        for number, (check, *cells) in enumerate(rows_of(result)):
            if number:
                table.add_row(f"  {check}", *cells)
            else:
                table.add_section()
                table.add_row(check.strip("*"), *cells, style="bold")
    return table


def _write_json(path: Path, results: "Sequence[Result]") -> None:
    from engine.study.validate.report import records

    text = json.dumps(records(results), indent=1, ensure_ascii=False, allow_nan=False)
    with whole_file(path, "figures") as part:
        part.write_text(text + "\n", encoding="utf-8")
