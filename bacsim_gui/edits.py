# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tools do to a run besides its parameters: rods come, go and are painted; obstacles.

A `Stroke` is what the user did, at a place; what became of it, an `Edit`, names the rods, and is
what a timeline holds. No Qt and no JAX.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.obstacle import Obstacle
from engine.pick import rods_within

if TYPE_CHECKING:
    from engine.driver import Driver
    from engine.snapshot import Snapshot

EDITS = ("add", "remove", "paint", "obstacles")


@dataclass(frozen=True)
class Stroke:
    """Something done with a tool at (x, y).

    `kind` is `add` (one rod of angle `theta`), `remove` or `paint` (all rods that the disc of
    `radius` touches on its `way`, with `activity`).
    """

    kind: str
    x: float
    y: float
    radius: float = 0.0
    theta: float = 0.0
    activity: float = 1.0
    way: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Edit:
    """A change of rods or obstacles, as a timeline holds it.

    `kind` is one of `EDITS`; `value` fits JSON: for `add` pos, theta and activity, for `remove` the
    ids, for `paint` ids and activity, for `obstacles` the values of all.
    """

    kind: str
    value: Any


def alike(strokes: Iterable[tuple[int, Stroke]]) -> Iterator[tuple[int, list[Stroke]]]:
    """Strokes in their order, those together that one edit can do, with the last one's serial."""
    for _, group in groupby(strokes, lambda pair: (pair[1].kind, pair[1].activity)):
        serials, together = zip(*group, strict=True)
        yield serials[-1], list(together)


def edit_of(strokes: Sequence[Stroke], snapshot: Snapshot) -> Edit | None:
    """What strokes that are `alike` do to the rods of `snapshot`; None where they touch none.

    A run needs a rod: where all would be removed, the first stays.
    """
    kind, activity = strokes[0].kind, strokes[0].activity
    if kind == "add":
        about = {"pos": [[one.x, one.y] for one in strokes], "theta": [s.theta for s in strokes]}
        return Edit("add", about | {"activity": activity})
    touched = [rods_within(snapshot, s.x, s.y, s.radius, s.way) for s in strokes]
    ids = np.unique(np.concatenate(touched)).tolist()
    if kind == "remove" and len(ids) == snapshot.n:
        ids = ids[1:]
    if not ids:
        return None
    return Edit(kind, ids if kind == "remove" else {"ids": ids, "activity": activity})


def edit_for(obstacles: Sequence[Obstacle]) -> Edit:
    """The edit that makes `obstacles` the only ones."""
    return Edit("obstacles", [one.values for one in obstacles])


def apply(driver: Driver, edit: Edit) -> None:
    """Do it. Raises `ParameterError` where it cannot be done, and changes nothing then."""
    value = edit.value
    if edit.kind == "add":
        driver.add(value["pos"], value["theta"], value["activity"])
    elif edit.kind == "remove":
        driver.remove(value)
    elif edit.kind == "paint":
        driver.set_activity(value["ids"], value["activity"])
    else:
        driver.set_obstacles(Obstacle.from_values(one) for one in value)


def checked(kind: str, value: Any) -> Any:
    """The value of an edit from a file, or `ValueError` for one that cannot be."""
    if kind == "add":
        pos = [[_number(part) for part in place] for place in value["pos"]]
        if any(len(place) != 2 for place in pos) or len(pos) != len(value["theta"]):
            raise ValueError("rods without a place or an angle")
        theta = [_number(angle) for angle in value["theta"]]
        return {"pos": pos, "theta": theta, "activity": _number(value["activity"])}
    if kind == "remove":
        return [_id(rod) for rod in value]
    if kind == "paint":
        ids = [_id(rod) for rod in value["ids"]]
        return {"ids": ids, "activity": _number(value["activity"])}
    return [Obstacle.from_values(one).values for one in value]


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError(f"{value!r} is no number")
    return number


def _id(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise ValueError(f"{value!r} names no rod")
    return value
