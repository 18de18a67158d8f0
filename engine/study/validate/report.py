# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as the page docs/validation.md, and as records for JSON."""

import math
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax

from engine.kernels import resolve
from engine.native.library import default_threads
from engine.params import Setup
from engine.program import device_name
from engine.study.validate.check import Reading, Result

PAGE_HEAD = """\
# Validation

Written by `{command}`; do not edit. The command runs the checks that
`engine/study/validate/table.py` declares, and leaves with status 1 where one fails. With `--quick`
it runs those that take less than two minutes together, with `--only NAMES` those that you name;
`pytest --validate` runs the same ones as tests, and the fast ones are in every `make test`.

A check passes where each of its figures lies where it must: within *allowed* of what is expected,
or in the band that stands in its place. The error bar is one standard error. Four of them are
allowed where a figure is a mean of independent samples and what is expected is exact, and more
where that leaves something out or has few digits: a finite box, a mean field, the averages of
another program. Bands stand where the literature has no sharp value. Equation numbers are those of
[model.md](model.md); lengths are in body widths, times in those that a rod takes to go one, unless
a unit is given.

Beyond this, `make test` compares every kernel with `tests/oracle`, a float64 NumPy program of the
same equations that shares no code with the engine.
"""


@dataclass(frozen=True)
class Circumstances:
    """What the checks ran on, and what they took.

    `others` is how many CPUs other programs kept busy meanwhile, in the mean.
    """

    version: str
    command: str
    date: str
    seconds: float
    others: float

    def sentence(self) -> str:
        """All of it in words."""
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
        shared = (
            f"on a shared machine, where other programs kept {self.others:.1f} CPUs busy"
            if self.others > 0.1
            else "on a machine that was idle otherwise"
        )
        minutes, seconds = divmod(round(self.seconds), 60)
        return (
            f"bacsim {self.version}, {self.date}, JAX {jax.__version__} on {device_name()}, code: "
            f"{resolve(Setup()).code}, threads: {default_threads()} ({machine}). It took "
            f"{minutes} min {seconds} s {shared}."
        )


def page(results: Sequence[Result], circumstances: Circumstances) -> str:
    """The text of docs/validation.md."""
    lines = [PAGE_HEAD.format(command=circumstances.command), summary(results), ""]
    lines += [circumstances.sentence(), ""]
    lines += ["| check | expected | got | error bar | allowed | source | pass |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for result in results:
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows_of(result)]
    return "\n".join(lines) + "\n"


def summary(results: Sequence[Result]) -> str:
    """How many passed, in one line."""
    failed = [result.check.name for result in results if result.status == "FAIL"]
    missing = [result.check.name for result in results if result.status == "not here"]
    passed = len(results) - len(failed) - len(missing)
    text = f"{passed} of {len(results)} checks passed"
    text += f"; FAILED: {', '.join(failed)}" if failed else ""
    text += f"; cannot be made here: {', '.join(missing)}" if missing else ""
    return text + "."


def rows_of(result: Result) -> Iterator[tuple[str, str, str, str, str, str, str]]:
    """A row for the check, then one for each figure: the columns of the page."""
    check = result.check
    yield f"**{check.name}**", check.law, "", "", "", check.source, result.status
    for reading in result.readings:
        if reading.absent:
            yield reading.what, "", reading.absent, "", "", "", reading.status
            continue
        expected, allowed = _expected(reading)
        error = "" if reading.error is None else f"{reading.error:.2g}"
        got = f"{reading.got:.{_digits(reading)}g}"
        yield reading.what, expected, got, error, allowed, "", reading.status
    if result.problem:
        yield "ended early", "", " ".join(result.problem.split()), "", "", "", "FAIL"


def _expected(reading: Reading) -> tuple[str, str]:
    if reading.expected is None:
        return f"{reading.low:g} to {reading.high:g}", ""
    allowed = reading.high - reading.expected
    return f"{reading.expected:.{_digits(reading)}g}", f"{allowed:.2g}"


def _digits(reading: Reading) -> int:
    """So many that one sees that a figure is as near as is allowed."""
    allowed = 0.0 if reading.expected is None else reading.high - reading.expected
    if not reading.expected or not allowed:
        return 5
    return max(5, 2 + math.ceil(math.log10(abs(reading.expected) / allowed)))


def records(results: Sequence[Result]) -> list[dict[str, Any]]:
    """A dictionary for each check, in numbers that JSON has: what is no number is null."""
    return [
        {
            "name": result.check.name, "law": result.check.law, "source": result.check.source,
            "status": result.status, "seconds": round(result.seconds, 2),
            "problem": result.problem,
            "readings": [_record(reading) for reading in result.readings],
        }
        for result in results
    ]  # fmt: skip


def _record(reading: Reading) -> dict[str, Any]:
    values = {**asdict(reading), "status": reading.status}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
