# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of the comparison: what each is computed from, and what it is meant to be."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

# Which of the three numbers of rods.
SMALL, MIDDLE, LARGE = range(3)


@dataclass(frozen=True)
class Case:
    """A process that is timed: a script of benchmarks/peers at one number of rods.

    `own` ones run in bacsim's environment, the others in that of the peers. `alike` ones compute a
    law that differs a little from the model's, and are only required to be near it.
    """

    script: str
    size: int
    options: tuple[str, ...] = ()
    threads: int = 1
    own: bool = False
    alike: bool = False


def _bacsim(size: int, kernel: str = "neighbours", threads: int = 1) -> Case:
    return Case("bacsim_step.py", size, ("--kernel", kernel), threads, own=True)


CASES = {
    "bacsim": _bacsim(MIDDLE),
    "numba": Case("numba_verlet.py", MIDDLE),
    "numba in blocks": Case("numba_verlet.py", MIDDLE, ("--blocks",)),
    "jax-md": Case("jaxmd_neighbours.py", MIDDLE),
    "jax-md grad": Case("jaxmd_grad.py", MIDDLE, alike=True),
    "jax-md grad, our law": Case("jaxmd_grad.py", MIDDLE, ("--held",)),
    "bacsim, few": _bacsim(SMALL),
    "double vmap": _bacsim(SMALL, "naive"),
    "bacsim, many": _bacsim(LARGE),
    "bacsim, two threads": _bacsim(MIDDLE, threads=2),
}


@dataclass
class Measured:
    """What the rounds gave.

    `step_s` seconds a step of each case, round by round; `rebuild_s` seconds of a rebuild and of a
    step; `cold` and `warm` what fresh processes on one CPU said (`first_frame`), `cold_all` one on
    all of them; `ready` what each case said
    of itself; `refused` the cases without figures, and why.
    """

    rods: tuple[int, int, int]
    step_s: dict[str, list[float]] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    rebuilds: dict[str, int] = field(default_factory=dict)
    rebuild_s: list[tuple[float, float]] = field(default_factory=list)
    cold: list[dict[str, Any]] = field(default_factory=list)
    cold_all: list[dict[str, Any]] = field(default_factory=list)
    warm: list[dict[str, Any]] = field(default_factory=list)
    ready: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One line of the table. `measured` is the median of the rounds unless `figure` says otherwise.

    All figures are None where the row was `refused`, which then tells why.
    """

    key: str
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
    """How to make a row. `text` may name {few}, {rods} and {many}; `needs` names cases.

    `limit` None is a figure for comparison, without a target.
    """

    key: str
    text: str
    needs: tuple[str, ...]
    values: Callable[[Measured], Sequence[float]]
    limit: float | None
    sense: Literal["≤", "≥"] = "≤"
    unit: str = "×"
    remark: str = ""
    pick: Callable[[Sequence[float]], float] = statistics.median
    fresh: bool = False

    def row(self, measured: Measured) -> Row:
        """The row, or why there is none."""
        few, rods, many = (f"{n:,}" for n in measured.rods)
        text = self.text.format(few=few, rods=rods, many=many)
        target = "" if self.limit is None else f"{self.sense} {self.limit:g} {self.unit}"
        target += self.remark
        row = Row(self.key, text, self.unit, target)
        for name in (*self.needs, *(("first frame",) if self.fresh else ())):
            if name in measured.refused:
                return replace(row, refused=f"{name}: {measured.refused[name]}")
        values = self.values(measured)
        value = self.pick(values)
        met = None
        if self.limit is not None:
            met = value <= self.limit if self.sense == "≤" else value >= self.limit
        return replace(row, measured=value, least=min(values), most=max(values), met=met)


def _times(slow: str, fast: str) -> Callable[[Measured], list[float]]:
    """Step time of `slow` over that of `fast`, in each round."""

    def ratios(of: Measured) -> list[float]:
        return [a / b for a, b in zip(of.step_s[slow], of.step_s[fast], strict=True)]

    return ratios


def _growth(of: Measured) -> list[float]:
    few, _, many = of.rods
    return [ratio * few / many for ratio in _times("bacsim, many", "bacsim, few")(of)]


def _memory(of: Measured) -> list[float]:
    few, _, many = of.rods
    small, large = (of.ready[name]["temp_bytes"] for name in ("bacsim, few", "bacsim, many"))
    return [large / many / (small / few)]


def _threads(of: Measured) -> list[float]:
    """Of the best rounds, which a busy machine disturbs least; the least and most of all rounds."""
    one, two = of.step_s["bacsim"], of.step_s["bacsim, two threads"]
    return [min(one) / min(two), *_times("bacsim", "bacsim, two threads")(of)]


FIGURES = (
    Figure(
        "numba", "step at {rods} over that of a numba Verlet-list loop of the same physics",
        ("bacsim", "numba"), _times("bacsim", "numba"), 1.5,
    ),
    Figure(
        "numba-blocks", "the same, its pairs in blocks that LLVM vectorises",
        ("bacsim", "numba in blocks"), _times("bacsim", "numba in blocks"), None,
    ),
    Figure(
        "jaxmd", "jax-md's neighbour list with the same pair law, over ours, at {rods}",
        ("bacsim", "jax-md"), _times("jax-md", "bacsim"), 3, "≥",
    ),
    Figure(
        "grad", "jax-md as its users write it (rod energy, jax.grad), over ours, at {rods}",
        ("bacsim", "jax-md grad"), _times("jax-md grad", "bacsim"), 12, "≥",
    ),
    Figure(
        "grad-held", "the same, contact points held constant, which gives exactly our law",
        ("bacsim", "jax-md grad, our law"), _times("jax-md grad, our law", "bacsim"), None,
    ),
    Figure(
        "vmap", "the double vmap over ours, at {few}",
        ("bacsim, few", "double vmap"), _times("double vmap", "bacsim, few"), 500, "≥",
    ),
    Figure(
        "threads", "one thread over two, at {rods} (best rounds)",
        ("bacsim", "bacsim, two threads"), _threads, 1, "≥", remark=", aim 1.4",
        pick=lambda values: values[0],
    ),
    Figure(
        "rebuild", "one rebuild of the list, in steps, at {rods}",
        ("bacsim",), lambda of: [build / step for build, step in of.rebuild_s], 10, unit="steps",
    ),
    Figure(
        "growth", "time a rod and step at {many} over that at {few}",
        ("bacsim, few", "bacsim, many"), _growth, 1.3,
    ),
    Figure(
        "memory", "temporary memory a rod at {many} over that at {few}",
        ("bacsim, few", "bacsim, many"), _memory, 1.1,
    ),
    Figure(
        "compile", "cold compile at {few}",
        (), lambda of: [said["compile_s"] for said in of.cold], 4, unit="s", fresh=True,
    ),
    Figure(
        "compile-all", "the same, on all CPUs",
        (), lambda of: [said["compile_s"] for said in of.cold_all], None, unit="s", fresh=True,
    ),
    Figure(
        "first-frame", "asked to first frame at {few}, persistent cache warm",
        (), lambda of: [said["first_frame_s"] for said in of.warm], 1.5, unit="s", fresh=True,
    ),
)  # fmt: skip


def cases_for(figures: Sequence[Figure]) -> dict[str, Case]:
    """The cases that `figures` need, in the order in which a round asks them."""
    needed = {name for figure in figures for name in figure.needs}
    return {name: case for name, case in CASES.items() if name in needed}
