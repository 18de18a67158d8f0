# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check is, and what it reads."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Real = float | np.floating

Status = Literal["pass", "FAIL", "not here"]

# How many standard errors a mean may be off. With some hundred means one in two hundred sets of
# seeds would fail by chance; the seeds are fixed, so a set that passes passes again.
SIGMAS = 4.0


@dataclass(frozen=True)
class Reading:
    """One figure that was read: it must lie from `low` to `high`.

    `expected` is None for a band, whose middle means nothing. `error` is the standard error of
    `got`, None where nothing is drawn at random. `absent` tells why it could not be read here.
    """

    what: str
    got: float
    low: float
    high: float
    expected: float | None = None
    error: float | None = None
    absent: str = ""

    @property
    def status(self) -> Status:
        """Whether it lies where it must; NaN lies nowhere."""
        if self.absent:
            return "not here"
        return "pass" if self.low <= self.got <= self.high else "FAIL"


@dataclass(frozen=True)
class Check:
    """A check: what must hold, who says so, and what reads it off the engine.

    `read` is `module.function` of this package: it takes a `Lab` and yields `Reading`s, which hold
    the figures that are expected and what is allowed. Named, since the declaration must be there
    before JAX is. `quick` ones run with `--quick` too; `fast` ones take about a second each and run
    with every `make test`.
    """

    name: str
    law: str
    source: str
    read: str
    quick: bool = False
    fast: bool = False


@dataclass(frozen=True)
class Result:
    """What came of a check. `problem` is what ended it early, empty where nothing did."""

    check: Check
    readings: tuple[Reading, ...]
    seconds: float
    problem: str = ""

    @property
    def status(self) -> Status:
        """The worst of its readings; a check that ended early, or read nothing, has failed."""
        found = {reading.status for reading in self.readings}
        if self.problem or not found or "FAIL" in found:
            return "FAIL"
        return "pass" if "pass" in found else "not here"


def near(what: str, expected: Real, got: Real, allowed: Real, error: Real | None = None) -> Reading:
    """`got`, which must be `expected` to `allowed`."""
    return Reading(
        what, float(got), float(expected - allowed), float(expected + allowed), float(expected),
        None if error is None else float(error),
    )  # fmt: skip


def sampled(what: str, expected: float, samples: ArrayLike, more: float = 0.0) -> Reading:
    """The mean of independent `samples`: within `SIGMAS` standard errors of `expected`.

    `more` is allowed beyond, for what `expected` leaves out.
    """
    values = np.asarray(samples, np.float64).ravel()
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    return near(what, expected, float(values.mean()), SIGMAS * error + more, error)


def band(what: str, low: float, high: float, got: Real, error: Real | None = None) -> Reading:
    """`got`, which must lie from `low` to `high`."""
    return Reading(what, float(got), low, high, error=None if error is None else float(error))


def none_of(what: str, wrong: int) -> Reading:
    """How many of something went wrong: none may."""
    return near(what, 0.0, float(wrong), 0.0)


def absent(what: str, why: str) -> Reading:
    """A figure that this machine cannot give. It counts for nothing, and is never a pass."""
    return Reading(what, math.nan, math.nan, math.nan, absent=why)
