# SPDX-License-Identifier: GPL-3.0-or-later
"""How set-up runs other programs and shows what they are at."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class SetupError(Exception):
    """Set-up cannot go on; the text tells the user why and what to do."""


class Progress:
    """One line that is rewritten on a terminal, with the seconds that its step has taken.

    Elsewhere only what `keep` says is printed.
    """

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._text = ""
        self._since = 0.0
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        if self._live:
            self._ticker.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live:
            self._over.set()
            self._ticker.join()
            print("\r\033[K", end="", flush=True)

    def _tick(self) -> None:
        while not self._over.wait(1.0):
            seconds = time.monotonic() - self._since
            if self._text and seconds > 2:
                self._write(f"{self._text} … {seconds:.0f} s")

    def _write(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        print("\r\033[K" + text[:width], end="", flush=True)

    def show(self, text: str, *, keep: bool = False) -> None:
        """Show `text` as the present step; off a terminal only where `keep` is true."""
        if self._live:
            self._text, self._since = text, time.monotonic()
            self._write(text)
        elif keep:
            print(text, flush=True)


def child_environment() -> dict[str, str]:
    """Return the environment for the programs that are started, free of other Pythons' settings."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV")
    return {key: value for key, value in os.environ.items() if key not in dropped}


def stream(
    command: list[str], on_line: Callable[[str], object], settings: dict[str, str] | None = None
) -> None:
    """Run `command`, hand each line of its output to `on_line`, and raise with its last lines.

    `settings` are environment variables for it besides those that are inherited.
    """
    last: collections.deque[str] = collections.deque(maxlen=15)
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**child_environment(), **(settings or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            last.append(line.rstrip())
            on_line(line.rstrip())
    if process.returncode:
        raise SetupError("\n".join(["", *last]))
