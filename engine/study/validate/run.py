# SPDX-License-Identifier: GPL-3.0-or-later
"""Running checks: whatever one does, the others are run."""

import importlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator

from engine.study.validate.check import Check, Reading, Result
from engine.study.validate.lab import Lab

logger = logging.getLogger(__name__)


def run(
    checks: Iterable[Check],
    say: Callable[[str, str], None] = lambda _name, _doing: None,
    threads: int | None = None,
) -> Iterator[Result]:
    """The result of each of `checks`, as it comes.

    A check that raises has failed; what it has read by then is kept. `say` is told the name of the
    check that is under way and what it does; `threads` is how many native code uses.
    """
    name = ""
    lab = Lab(lambda doing: say(name, doing), threads)
    for check in checks:
        name = check.name
        say(name, "")
        yield result_of(check, lab)


def result_of(check: Check, lab: Lab) -> Result:
    """What comes of `check` with engines of `lab`."""
    began = time.perf_counter()
    readings: list[Reading] = []
    problem = ""
    try:
        module, function = check.read.rsplit(".", 1)
        read = getattr(importlib.import_module(f"engine.study.validate.{module}"), function)
        for reading in read(lab):
            readings.append(reading)  # noqa: PERF402 (what was read before a failure is kept)
    except Exception as error:
        logger.exception("Check %s", check.name)
        problem = f"{type(error).__name__}: {error}"
    return Result(check, tuple(readings), time.perf_counter() - began, problem)
