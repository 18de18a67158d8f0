# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim` in one process for many command lines, so that JAX is loaded and compiles only once.

Run as a program it follows what comes on its standard input; `serving` is the side of the tests.
"""

import contextlib
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple


class Answer(NamedTuple):
    """What came of a command line."""

    status: int
    out: str
    err: str


class Commands:
    """A process in which command lines follow one another, each in the folder of the first."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process, self._folder = process, folder

    def many(self, *lines: tuple[str, ...], folder: Path | None = None) -> list[Answer]:
        """Run them one after the other; their statuses and what they said."""
        return [self._run(line, folder or self._folder) for line in lines]

    def all_of(self, *lines: tuple[str, ...], folder: Path | None = None) -> list[str]:
        """Run them, which have to succeed; what they put out."""
        done = self.many(*lines, folder=folder)
        assert [status for status, *_ in done] == [0] * len(lines), done
        return [answer.out for answer in done]

    def _run(self, line: tuple[str, ...], folder: Path) -> Answer:
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        print(json.dumps([str(folder), *line]), file=asked, flush=True)
        answer = answers.readline()
        assert answer, f"the process ended over {line}"
        return Answer(*json.loads(answer))


@contextlib.contextmanager
def serving(environment: dict[str, str], folder: Path) -> Iterator[Commands]:
    """Such a process, ended at the end."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.gui.commands"], env=environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield Commands(process, folder)


def _serve(asked: IO[str], answers: IO[str]) -> None:
    from bacsim_gui import cli

    for line in asked:
        folder, *argv = json.loads(line)
        os.chdir(folder)
        out, err = io.StringIO(), io.StringIO()
        status: Any
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = cli.main(argv)
            except SystemExit as leaving:
                status = leaving.code
        # Each command line begins a log of its own.
        logging.getLogger().handlers.clear()
        print(json.dumps([status, out.getvalue(), err.getvalue()]), file=answers, flush=True)


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    _serve(sys.stdin, answers)
