# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep is to do, as declared in a table such as a TOML file holds."""

import difflib
import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.params import Params, Setup
from engine.schema import ParameterError, Value, seed_from
from engine.study.sweep import observing
from engine.study.sweep.names import FIGURES, checked, is_number

Point = Mapping[str, Value]

# More would not fit the memory of the process that collects them.
MOST_SYSTEMS = 1_000_000

_TOP = (
    "title", "preset", "config", "seed", "seeds", "batch", "observe", "fixed", "grid", "points",
    "time", "diagram", "states",
)  # fmt: skip


@dataclass(frozen=True)
class Times:
    """Simulated times: `warm_up`, then `samples` samples, each `every` later than the last."""

    warm_up: float
    every: float
    samples: int

    @property
    def all(self) -> tuple[float, ...]:
        """The end of the warm-up and the time of each sample."""
        return tuple(self.warm_up + k * self.every for k in range(self.samples + 1))


@dataclass(frozen=True)
class State:
    """A named state: where each observable of `ranges`, averaged, lies in [low, high)."""

    name: str
    ranges: Mapping[str, tuple[float, float]]

    def holds(self, means: Mapping[str, float]) -> bool:
        """Whether means of observables are in this state; NaN is in none."""
        return all(low <= means[name] < high for name, (low, high) in self.ranges.items())


@dataclass(frozen=True)
class Diagram:
    """What the picture shows: axes by name, None for what varies first, and observables."""

    x: str | None = None
    y: str | None = None
    show: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spec:
    """A sweep as it is declared.

    `varied` are the names that differ from point to point, and `grid` the values of each where the
    points are all combinations of them, None where they are a list. `replicates` systems of each
    point differ by their seeds, which follow from `seed`. `batch` systems are run side by side;
    None leaves it to how many there are.
    """

    title: str
    base: tuple[Setup, Params]
    fixed: Point
    varied: tuple[str, ...]
    grid: tuple[tuple[Value, ...], ...] | None
    points: tuple[Point, ...]
    times: Times
    observe: tuple[str, ...]
    seed: int = 1
    replicates: int = 1
    batch: int | None = None
    diagram: Diagram = Diagram()
    states: tuple[State, ...] = ()

    @property
    def systems(self) -> int:
        """How many systems there are."""
        return len(self.points) * self.replicates


def read(table: Mapping[str, Any], base: tuple[Setup, Params]) -> Spec:
    """The sweep that `table` declares upon `base`. Raises `ParameterError` with name and value."""
    _known(table, _TOP, "")
    fixed = {name: checked(name, v) for name, v in _table(table, "fixed", {}).items()}
    if ("grid" in table) == ("points" in table):
        raise ParameterError(
            "grid", table.get("grid"), "is not what a sweep needs",
            "Give either a table [grid] or a list of tables [[points]].",
        )  # fmt: skip
    varied, grid, points = _gridded(table) if "grid" in table else _listed(table["points"])
    _no_conflict(fixed, varied)
    observe = table.get("observe", ["active_fraction", "polar_order", "nematic_order"])
    spec = Spec(
        title=str(table.get("title", "Sweep")), base=base, fixed=fixed, varied=varied, grid=grid,
        points=points, times=_times(_table(table, "time")),
        observe=observing.checked_names(observe), seed=seed_from(table.get("seed", 1)),
        replicates=_whole(table, "seeds", 1, 1, 10_000),
        batch=_whole(table, "batch", 16, 1, 65_536) if "batch" in table else None,
    )  # fmt: skip
    if spec.systems > MOST_SYSTEMS:
        raise ParameterError(
            "grid", spec.systems, "systems are too many", f"Take at most {MOST_SYSTEMS:,}."
        )
    return _with_picture(spec, table)


def _known(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for name, value in table.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            remedy = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(names)}."
            raise ParameterError(name, value, f"is not known{where}", remedy)


def _table(table: Mapping[str, Any], name: str, default: Any = None) -> Mapping[str, Any]:
    found = table.get(name, default)
    if not isinstance(found, Mapping):
        raise ParameterError(
            name,
            found,
            "is no table" if name in table else "is missing",
            f"Write a table [{name}].",
        )
    return found


def _whole(table: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = table.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ParameterError(
            name, value, "is not possible", f"Give a whole number from {least} to {most}."
        )
    return value


def _number(table: Mapping[str, Any], name: str, least: float, *, above: bool = False) -> float:
    value = table.get(name)
    if not is_number(value) or value < least or (above and value == least):
        word = "above" if above else "of at least"
        raise ParameterError(
            name, value, "is not possible" if name in table else "is missing",
            "Give a number." if least == -math.inf else f"Give a number {word} {least:g}.",
        )  # fmt: skip
    return float(value)


def _times(table: Mapping[str, Any]) -> Times:
    _known(table, ("warm_up", "every", "samples"), " in [time]")
    return Times(
        _number(table, "warm_up", 0.0), _number(table, "every", 0.0, above=True),
        _whole(table, "samples", 0, 1, 1_000_000),
    )  # fmt: skip


def _gridded(
    table: Mapping[str, Any],
) -> tuple[tuple[str, ...], tuple[tuple[Value, ...], ...], tuple[Point, ...]]:
    grid = _table(table, "grid")
    if not grid:
        raise ParameterError("grid", {}, "is empty", "Give at least one name with its values.")
    names = tuple(grid)
    # Before any value is looked at, which takes time where they are many.
    if (count := math.prod(map(_asked, grid.values()))) > MOST_SYSTEMS:
        raise ParameterError(
            "grid", count, "points are too many", f"Take at most {MOST_SYSTEMS:,}."
        )
    values = tuple(_values(name, grid[name]) for name in names)
    points = [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*values)]
    return names, values, tuple(points)


def _asked(given: Any) -> int:
    """How many values of an axis are asked for, as far as that can be told; else 1."""
    count = given.get("points") if isinstance(given, Mapping) else None
    if isinstance(count, int):
        return max(1, count)
    return max(1, len(given)) if isinstance(given, list) else 1


def _values(name: str, given: Any) -> tuple[Value, ...]:
    """The values of one axis: a list, or so many numbers from one to another."""
    if isinstance(given, Mapping):
        try:
            given = _spaced(name, given)
        except ParameterError as error:
            error.name, error.value = name, given  # whose line is told
            raise
    if not isinstance(given, list) or not given:
        raise ParameterError(
            name, given, "is no list of values",
            "Give [1, 2, 3] or { from = 1, to = 3, points = 3 }; one value belongs in [fixed].",
        )  # fmt: skip
    values = tuple(checked(name, value) for value in given)
    twice = _twice(values)
    if twice is not None:
        raise ParameterError(name, values[twice], "is there twice", "Give each value once.")
    return values


def _spaced(name: str, given: Mapping[str, Any]) -> list[Any]:
    _known(given, ("from", "to", "points", "log"), f" for {name}")
    log = given.get("log", False)
    low, high = (_number(given, end, -math.inf) for end in ("from", "to"))
    count = _whole(given, "points", 0, 2, MOST_SYSTEMS)
    if log not in (True, False) or (log and min(low, high) <= 0):
        raise ParameterError(
            name, given, "has no logarithm", "Give numbers above 0 or log = false."
        )
    spaced = np.geomspace(low, high, count) if log else np.linspace(low, high, count)
    # As a person would have typed them: 0.3, not 0.30000000000000004.
    return [float(f"{value:.12g}") for value in spaced]


def _listed(tables: Any) -> tuple[tuple[str, ...], None, tuple[Point, ...]]:
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise ParameterError(
            "points", tables, "is no list of tables", "Write each point as a table [[points]]."
        )
    points = [{name: checked(name, value) for name, value in one.items()} for one in tables]
    names = tuple(points[0])
    for point in points:
        if set(point) != set(names) or not names:
            raise ParameterError(
                "points", dict(point), "has other names than the first point",
                "Let all points give the same parameters, at least one.",
            )  # fmt: skip
    twice = _twice([tuple(point[name] for name in names) for point in points])
    if twice is not None:
        again = dict(points[twice])
        raise ParameterError("points", again, "is there twice", "Give each point once.")
    return names, None, tuple(points)


def _twice(values: Sequence[Hashable]) -> int | None:
    """Where the first value stands that was there before; there may be a million of them."""
    seen: set[Hashable] = set()
    for at, value in enumerate(values):
        if value in seen:
            return at
        seen.add(value)
    return None


def _no_conflict(fixed: Point, varied: tuple[str, ...]) -> None:
    """Raise where a parameter is decided twice: by itself and by a figure, fixed and varied."""
    decided: dict[str, str] = {}
    for name in (*fixed, *varied):
        decides = FIGURES[name].decides if name in FIGURES else name
        if decides in decided:
            other = decided[decides]
            why = "is fixed as well" if other == name else f"decides {decides}, and so does {other}"
            raise ParameterError(name, fixed.get(name, "…"), why, "Give one of them.")
        decided[decides] = name


def _with_picture(spec: Spec, table: Mapping[str, Any]) -> Spec:
    diagram = _table(table, "diagram", {})
    _known(diagram, ("x", "y", "show"), " in [diagram]")
    for axis in ("x", "y"):
        if diagram.get(axis, spec.varied[0]) not in spec.varied:
            raise ParameterError(
                axis, diagram[axis], "does not vary", f"Choose among {', '.join(spec.varied)}."
            )
    if diagram.get("x") is not None and diagram.get("x") == diagram.get("y"):
        raise ParameterError("y", diagram["y"], "is x as well", "Choose another.")
    show = observing.checked_names(diagram.get("show", list(spec.observe)), "show")
    named = table.get("states", [])
    if not isinstance(named, list):
        raise ParameterError(
            "states", named, "is no list of tables", "Write each state as a table [[states]]."
        )
    states = tuple(_state(one, spec.observe) for one in named)
    for name in show:
        if name not in spec.observe:
            raise ParameterError("show", name, "is not observed", "Name it in observe as well.")
    return replace(spec, diagram=Diagram(diagram.get("x"), diagram.get("y"), show), states=states)


def _state(table: Any, observe: tuple[str, ...]) -> State:
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise ParameterError(
            "states", table, "has no name", 'Write [[states]] with name = "a word".'
        )
    ranges = {}
    for name, given in table.items():
        if name == "name":
            continue
        if name not in observe:
            raise ParameterError(
                name, given, "is not observed", f"Observed are {', '.join(observe)}."
            )
        if not isinstance(given, Mapping) or not given:
            raise ParameterError(
                name, given, "is no range", "Write { above = 0.1, below = 0.5 } or one of the two."
            )
        _known(given, ("above", "below"), f" for {name}")
        low = _number(given, "above", -math.inf) if "above" in given else -math.inf
        high = _number(given, "below", -math.inf) if "below" in given else math.inf
        if low >= high:
            raise ParameterError(name, given, "holds for no value", "Let above be less than below.")
        ranges[name] = (low, high)
    return State(table["name"], ranges)
