# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a command is, with an estimate, on standard error: a bar, or lines where it is no tty."""

import signal
import sys
import time
from types import FrameType, TracebackType

# Seconds between two lines where no bar can be drawn.
LINE_SECONDS = 10.0


class Progress:
    """A bar while the `with` block runs; `update` says how far it is.

    Ctrl-C raises KeyboardInterrupt as always. But Python drops an exception that is raised inside
    a callback of the garbage collector, and JAX has such a callback; so `begin` and `update` raise
    one that was lost.
    """

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self._console = Console(stderr=True)
        self._began = time.monotonic()
        self._begun = 0.0  # the share at which the estimate begins
        self._told = self._began
        self._bar = Bar(
            TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(),
            TimeElapsedColumn(), TextColumn("{task.fields[left]}", markup=False),
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=1.0, left="")
        self._interrupted = False

    def __enter__(self) -> "Progress":
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
        signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def _raise_a_lost_interrupt(self) -> None:
        if self._interrupted:
            raise KeyboardInterrupt

    def say(self, text: str) -> None:
        """Print one line that stays."""
        if self._console.is_terminal:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def begin(self) -> None:
        """Estimate from now on: what came before, compiling say, tells nothing of the rest."""
        self._raise_a_lost_interrupt()
        self._began, self._begun = time.monotonic(), self._bar.tasks[0].completed

    def update(self, share: float, doing: str) -> None:
        """Show that a `share` of 0 to 1 is done, and what is being done."""
        self._raise_a_lost_interrupt()
        now = time.monotonic()
        left = self._left(share, now - self._began)
        self._bar.update(self._task, completed=share, description=doing, left=left)
        if not self._console.is_terminal and now - self._told >= LINE_SECONDS:
            self._told = now
            print(
                f"{share:4.0%}  {doing}{', ' + left if left else ''}", file=sys.stderr, flush=True
            )

    def _left(self, share: float, elapsed: float) -> str:
        done = share - self._begun
        if done <= 0.02 or elapsed < 1:
            return ""
        return f"about {in_words(elapsed / done * (1 - share))} left"


def in_words(seconds: float) -> str:
    """A duration for people: 8 s, 3 min, 1 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
