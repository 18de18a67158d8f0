# SPDX-License-Identifier: GPL-3.0-or-later
"""Where checks get engines from, so that what is compiled for one serves the others."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from engine import schema
from engine.capacity import capacity_for
from engine.driver import Driver
from engine.kernels import resolve
from engine.obstacle import Obstacle
from engine.params import Params, Setup
from engine.snapshot import Snapshot, Start

# Fully active, whatever a rod senses.
ALWAYS_ACTIVE = {"w_d": 0.0, "w_a": 0.0, "activity_thresh": -9.0, "activity_width": 0.0}
# As active as at the start.
KEPT_ACTIVE = {"w_d": 0.0, "w_a": 0.0, "tau_a": 1e9}


class Lab:
    """Lends engines, one at a time for each kernel and size.

    `say` is told what is being done, in a few words; `threads` is how many native code uses.
    """

    def __init__(self, say: Callable[[str], None] = lambda _: None, threads: int | None = None):
        self.say = say
        self._threads = threads
        self._engines: dict[Setup, Driver] = {}

    def engine(
        self,
        params: Params,
        *,
        start: Start | None = None,
        seed: int = 0,
        setup: Setup | None = None,
        obstacles: Sequence[Obstacle] = (),
    ) -> Driver:
        """An engine at its beginning, in the caller's hands until the next call.

        From `start`, as it is, or from random places, relaxed. `setup` says how many rods the
        latter has, and is the default with as many rods as there are in the former.
        """
        rods = len(start.theta) if start else setup.rods if setup else Setup.rods
        setup = schema.with_values(setup or Setup(), rods=rods)
        # Engines of one size share a compiled program, whatever their parameters.
        size = capacity_for(rods, params, "cpu", "naive").rods
        key = schema.with_values(setup, rods=size)
        if key in self._engines:
            self._engines[key].rebuild(setup, params, seed, start, obstacles=obstacles)
        else:
            self._engines[key] = Driver(
                setup, params, seed, start, on_compile=self._compiling, threads=self._threads,
                obstacles=obstacles,
            )  # fmt: skip
        return self._engines[key]

    def _compiling(self, reason: str) -> None:
        self.say(f"compiling ({reason})")


def kernels_here() -> dict[str, Setup]:
    """Each way to sum pairs that this machine has, by name, and the setup that asks for it."""
    asked = {
        "native": Setup(kernel="neighbours"),
        "neighbours": Setup(kernel="neighbours", native="off"),
        "rowsum": Setup(kernel="rowsum"),
        "naive": Setup(kernel="naive"),
    }
    return {name: setup for name, setup in asked.items() if resolve(setup).kernel == name}


def random_rods(seed: int, rods: int, params: Params, activity: float | np.ndarray = 1.0) -> Start:
    """Rods at random places and angles that overlap as they come."""
    rng = np.random.default_rng(seed)
    return Start(
        rng.uniform(0, params.space_size, (rods, 2)),
        rng.uniform(-np.pi, np.pi, rods),
        np.broadcast_to(np.asarray(activity, np.float64), (rods,)),
    )


def packed(rods: int, packing_fraction: float, **values: float) -> Params:
    """Parameters with the box in which `rods` rods have this packing fraction."""
    params = Params(**values)
    box = schema.space_size_for(rods, packing_fraction, params)
    return schema.with_values(params, space_size=box)


def moved(before: Snapshot, after: Snapshot) -> np.ndarray:
    """How far each rod went (N, 2), float64, where none went half a box."""
    box = float(np.float32(after.params.space_size))
    delta = np.float64(after.pos) - before.pos
    return delta - box * np.round(delta / box)


def turned(before: Snapshot, after: Snapshot) -> np.ndarray:
    """How far each rod turned (N,), float64, in [-π, π]."""
    delta = np.float64(after.theta) - before.theta
    return delta - 2 * np.pi * np.round(delta / (2 * np.pi))


def directions(snapshot: Snapshot) -> np.ndarray:
    """û of each rod (N, 2), float64."""
    theta = np.float64(snapshot.theta)
    return np.stack([np.cos(theta), np.sin(theta)], axis=1)


def path(driver: Driver, batches: int, K: int) -> tuple[np.ndarray, list[Snapshot]]:
    """Unwrapped places (batches + 1, N, 2) and the snapshots that they are of."""
    snapshots: Sequence[Snapshot] = [driver.snapshot()]
    snapshots += [driver.advance(K) for _ in range(batches)]
    steps = [moved(*pair) for pair in itertools.pairwise(snapshots)]
    places = np.cumsum([np.float64(snapshots[0].pos), *steps], axis=0)
    return places, snapshots
