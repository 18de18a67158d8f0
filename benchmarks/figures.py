# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of the comparison: what each is computed from, and what it is meant to be."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmarks.cases import CASES, FRAME_STEPS, LARGE, MIDDLE, SMALL, TINY, Case, Code

# The engine's share of a frame, of which a window shows 60 a second.
FRAME_S = 16e-3


class Fresh(NamedTuple):
    """A kind of fresh process that makes one frame.

    `cache` tells whether it finds its program in the persistent cache, `every` whether it may use
    all CPUs instead of one.
    """

    code: Code
    cache: bool = False
    every: bool = False

    @property
    def name(self) -> str:
        """What it is called where it is refused."""
        return f"first frame, {self.code}"


@dataclass
class Measured:
    """What the rounds gave.

    `step_s` seconds a step of each case, round by round; `rebuild_s` seconds of a rebuild and of a
    step by case; `fresh` what fresh processes said (`first_frame`); `ready` what each case said of
    itself; `refused` the cases without figures, and why.
    """

    rods: tuple[int, int, int, int]
    step_s: dict[str, list[float]] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    rebuilds: dict[str, int] = field(default_factory=dict)
    rebuild_s: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    fresh: dict[Fresh, list[dict[str, Any]]] = field(default_factory=dict)
    ready: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One line of the table. `measured` is the median of the rounds unless `figure` says otherwise.

    `code` is the code of ours that it is about. All figures are None where the row was `refused`,
    which then tells why.
    """

    key: str
    code: Code
    figure: str
    unit: str
    target: str
    measured: float | None = None
    least: float | None = None
    most: float | None = None
    met: bool | None = None
    refused: str | None = None


@dataclass(frozen=True)
class Figure:
    """How to make a row. `text` may name {fewest}, {few}, {rods}, {many}; `needs` names cases.

    `limit` None is a figure for comparison, without a target. `builds` asks for the time of
    building the list of `needs`, `fresh` for fresh processes.
    """

    key: str
    code: Code
    text: str
    needs: tuple[str, ...]
    values: Callable[[Measured], Sequence[float]]
    limit: float | None
    sense: Literal["≤", "≥"] = "≤"
    unit: str = "×"
    remark: str = ""
    pick: Callable[[Sequence[float]], float] = statistics.median
    builds: bool = False
    fresh: Fresh | None = None

    def row(self, measured: Measured) -> Row:
        """The row, or why there is none."""
        fewest, few, rods, many = (f"{n:,}" for n in measured.rods)
        text = self.text.format(fewest=fewest, few=few, rods=rods, many=many)
        target = "" if self.limit is None else f"{self.sense} {self.limit:,g} {self.unit}"
        target += self.remark
        row = Row(self.key, self.code, text, self.unit, target)
        for name in (*self.needs, *((self.fresh.name,) if self.fresh else ())):
            if name in measured.refused:
                return replace(row, refused=f"{name}: {measured.refused[name]}")
        values = self.values(measured)
        value = self.pick(values)
        met = None
        if self.limit is not None:
            met = value <= self.limit if self.sense == "≤" else value >= self.limit
        return replace(row, measured=value, least=min(values), most=max(values), met=met)


def _ratio(key: str, code: Code, text: str, over: str, under: str, *more: Any) -> Figure:
    """A figure of step times, those of the case `over` through those of `under`."""
    return Figure(key, code, text, (over, under), _times(over, under), *more)


def _times(over: str, under: str) -> Callable[[Measured], list[float]]:
    """Step time of `over` over that of `under`, in each round."""

    def ratios(of: Measured) -> list[float]:
        return [a / b for a, b in zip(of.step_s[over], of.step_s[under], strict=True)]

    return ratios


def _threads(one: str, two: str) -> Callable[[Measured], list[float]]:
    """Of the best rounds, which a busy machine disturbs least; then those of all rounds."""

    def ratios(of: Measured) -> list[float]:
        return [min(of.step_s[one]) / min(of.step_s[two]), *_times(one, two)(of)]

    return ratios


def _first(values: Sequence[float]) -> float:
    return values[0]


def _growth(many: str, few: str) -> Callable[[Measured], list[float]]:
    def growth(of: Measured) -> list[float]:
        return [ratio * of.rods[SMALL] / of.rods[LARGE] for ratio in _times(many, few)(of)]

    return growth


def _memory(of: Measured) -> list[float]:
    small, large = (of.ready[f"bacsim, JAX, {name}"]["temp_bytes"] for name in ("few", "many"))
    return [large / of.rods[LARGE] / (small / of.rods[SMALL])]


def _rebuild(key: str, code: Code, limit: float | None) -> Figure:
    case = f"bacsim, {code}"

    def in_steps(of: Measured) -> list[float]:
        return [build / step for build, step in of.rebuild_s[case]]

    text = "one rebuild of the list, in steps, at {rods}"
    return Figure(key, code, text, (case,), in_steps, limit, unit="steps", builds=True)


def _fresh(key: str, text: str, what: str, limit: float | None, kind: Fresh) -> Figure:
    def seconds(of: Measured) -> list[float]:
        return [said[what] for said in of.fresh[kind]]

    return Figure(key, kind.code, text, (), seconds, limit, unit="s", fresh=kind)


def _step(case: str, factor: float) -> Callable[[Measured], list[float]]:
    return lambda of: [factor * seconds for seconds in of.step_s[case]]


def _ns(key: str, size: int, of_size: str, case: str) -> Figure:
    def nanoseconds(of: Measured) -> list[float]:
        return [1e9 * seconds / of.rods[size] for seconds in of.step_s[case]]

    text = f"time a rod and step at {of_size}"
    return Figure(key, "native", text, (case,), nanoseconds, None, unit="ns")


_FRAMES = "bacsim, native, frames", "bacsim, native, many, frames"


def _rods_a_frame(of: Measured) -> list[float]:
    """The rods whose steps fill the engine's share of a frame, by each round.

    On the line from no rods through the two numbers that were timed, and beyond in proportion.
    """
    n, found = (0, of.rods[MIDDLE], of.rods[LARGE]), []
    for middle, large in zip(*[of.step_s[case] for case in _FRAMES], strict=True):
        seconds = [0, FRAME_STEPS * middle, FRAME_STEPS * large]
        beyond = n[2] * FRAME_S / seconds[2]
        found.append(beyond if beyond >= n[2] else float(np.interp(FRAME_S, seconds, n)))
    return found


_NUMBA = "step at {rods} over that of a numba Verlet-list loop of the same physics"
_GROWTH = "time a rod and step at {many} over that at {few}"
_COMPILE, _FRAME = "cold compile at {few}", "asked to first frame at {few}, persistent cache warm"
_OURS, _FAST = "bacsim, JAX", "bacsim, native"

FIGURES = (
    _ratio("numba", "JAX", _NUMBA, _OURS, "numba", 1.5),
    _ratio(
        "numba-blocks", "JAX", "the same, its pairs in blocks that LLVM vectorises",
        _OURS, "numba in blocks", None,
    ),
    _ratio(
        "jaxmd", "JAX", "jax-md's neighbour list with the same pair law, over ours, at {rods}",
        "jax-md", _OURS, 3, "≥",
    ),
    _ratio(
        "grad", "JAX", "jax-md as its users write it (rod energy, jax.grad), over ours, at {rods}",
        "jax-md grad", _OURS, 12, "≥",
    ),
    _ratio(
        "grad-held", "JAX",
        "the same, contact points held constant, which gives exactly our law",
        "jax-md grad, our law", _OURS, None,
    ),
    _ratio(
        "vmap", "JAX", "the double vmap over ours, at {few}",
        "double vmap", "bacsim, JAX, few", 500, "≥",
    ),
    Figure(
        "threads", "JAX", "one thread over two, at {rods} (best rounds)",
        (_OURS, "bacsim, JAX, two threads"), _threads(_OURS, "bacsim, JAX, two threads"), 1, "≥",
        remark=", aim 1.4", pick=_first,
    ),
    _rebuild("rebuild", "JAX", 10),
    Figure(
        "growth", "JAX", _GROWTH, ("bacsim, JAX, few", "bacsim, JAX, many"),
        _growth("bacsim, JAX, many", "bacsim, JAX, few"), 1.3,
    ),
    Figure(
        "memory", "JAX", "temporary memory a rod at {many} over that at {few}",
        ("bacsim, JAX, few", "bacsim, JAX, many"), _memory, 1.1,
    ),
    _fresh("compile", _COMPILE + ", one CPU", "compile_s", 4, Fresh("JAX")),
    _fresh("compile-all", "the same, on all CPUs", "compile_s", None, Fresh("JAX", every=True)),
    _fresh("first-frame", _FRAME, "first_frame_s", 1.5, Fresh("JAX", cache=True)),
    _ratio(
        "native-numba", "native",
        "a numba Verlet-list loop of the same physics over ours, at {rods}",
        "numba", _FAST, 5, "≥",
    ),
    _ratio(
        "native-numba-blocks", "native", "the same, its pairs in blocks that LLVM vectorises",
        "numba in blocks", _FAST, None,
    ),
    _ratio("native-jax", "native", "our JAX code over it, at {rods}", _OURS, _FAST, None),
    _ratio(
        "native-jax-fewest", "native", "the same at {fewest}",
        "bacsim, JAX, fewest", "bacsim, native, fewest", None,
    ),
    _ratio(
        "native-jaxmd", "native",
        "jax-md's neighbour list with the same pair law, over ours, at {rods}",
        "jax-md", _FAST, None,
    ),
    Figure(
        "native-ms-fewest", "native", "step at {fewest}", ("bacsim, native, fewest",),
        _step("bacsim, native, fewest", 1e3), None, unit="ms",
    ),
    _ns("native-ns-fewest", TINY, "{fewest}", "bacsim, native, fewest"),
    _ns("native-ns", MIDDLE, "{rods}", _FAST),
    _ns("native-ns-many", LARGE, "{many}", "bacsim, native, many"),
    Figure(
        "native-threads", "native", "one thread over two, at {many} (best rounds)",
        ("bacsim, native, many", "bacsim, native, many, two threads"),
        _threads("bacsim, native, many", "bacsim, native, many, two threads"), 1.6, "≥",
        pick=_first,
    ),
    Figure(
        "native-frame", "native",
        f"rods with which {FRAME_STEPS} steps and their snapshot take {1e3 * FRAME_S:g} ms of one "
        "thread (linear, from such frames at {rods} and {many})",
        _FRAMES, _rods_a_frame, 24_000, "≥", unit="rods",
    ),
    _rebuild("native-rebuild", "native", None),
    Figure(
        "native-growth", "native", _GROWTH, ("bacsim, native, few", "bacsim, native, many"),
        _growth("bacsim, native, many", "bacsim, native, few"), 1.3,
    ),
    _fresh("native-compile", _COMPILE + ", one CPU", "compile_s", 4, Fresh("native")),
    _fresh("native-first-frame", _FRAME, "first_frame_s", 1.5, Fresh("native", cache=True)),
)  # fmt: skip


def cases_for(figures: Sequence[Figure]) -> dict[str, Case]:
    """The cases that `figures` need, in the order in which a round asks them."""
    needed = {name for figure in figures for name in figure.needs}
    return {name: case for name, case in CASES.items() if name in needed}
