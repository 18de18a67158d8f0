# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Driver holds at one time, as one value."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Int32

from engine.kernels import Choice
from engine.obstacle import Obstacle
from engine.params import Params, Setup
from engine.runner import Held, Ran, place
from engine.snapshot import Snapshot, Start
from engine.state import obstacle_arrays
from engine.step import Packed, pack
from engine.timing import BatchTimes


class Begun(NamedTuple):
    """What a reset goes back to: the arrays, if any, and the parameters that they were made for."""

    setup: Setup
    params: Params
    start: Start | None


@dataclass(frozen=True)
class Current:
    """All that belongs to a run. A Driver replaces it as a whole when an operation has succeeded.

    So whatever ends one early, Ctrl-C too, leaves the Driver as it was, and of one mind.

    `packed` are `params` on the device; `choice` is the kernel that the program was compiled for.
    `ids` (N,) name the rods in the order of rows, read-only, and `next_id` the next one to come.
    Since `origin`, a step and its time, dt has been that of `params`; where its length is adaptive
    the steps since then are summed on the device. `held` are the rods of `snapshot` on the device.
    """

    setup: Setup
    params: Params
    packed: Packed
    seed: int
    choice: Choice
    ids: Int32[np.ndarray, "rods"]
    next_id: int
    begun: Begun
    origin: tuple[int, float]
    times: BatchTimes
    snapshot: Snapshot
    held: Held
    obstacles: tuple[Obstacle, ...] = ()

    def with_params(self, params: Params) -> "Current":
        """The same rods under other parameters."""
        last, same_dt = self.snapshot, params.dt == self.params.dt
        return replace(
            self,
            params=params,
            packed=uploaded(params),
            origin=self.origin if same_dt or self._adaptive else (last.step, last.time),
            snapshot=replace(last, params=params),
        )

    def placed(self, start: Start, rest: np.ndarray | None = None) -> "Current":
        """With its rods at `start` on the device, `rest` (N, 3) left over from rounding."""
        held = place(
            self.held.program, start, self.params,
            step=self.snapshot.step, seed=self.seed, ids=self.ids, rest=rest,
            obstacles=self.obstacles,
        )  # fmt: skip
        # Where steps differ their sum begins anew with the arrays.
        last = self.snapshot
        origin = (last.step, last.time) if self._adaptive else self.origin
        return replace(self, held=held, origin=origin)

    @property
    def _adaptive(self) -> bool:
        return self.setup.time_step == "adaptive"

    def with_obstacles(self, obstacles: tuple[Obstacle, ...]) -> "Current":
        """The same rods among other obstacles."""
        rows, count = jax.device_put(obstacle_arrays(obstacles))
        state = self.held.state._replace(obstacles=rows, obstacle_count=count)
        return replace(
            self, obstacles=obstacles, held=self.held._replace(state=state),
            snapshot=replace(self.snapshot, obstacles=obstacles),
        )  # fmt: skip

    def after(self, ran: Ran, steps: int) -> "Current":
        """With what came of a batch of `steps` steps; without a step rods keep their speed."""
        last, report, (origin_step, origin_time) = self.snapshot, ran.report, self.origin
        step = last.step + steps
        if self._adaptive:
            time = origin_time + sum(float(part) for part in report.elapsed)
        else:
            # The compiled program knows dt in float32, and so does simulated time.
            time = origin_time + (step - origin_step) * float(np.float32(self.params.dt))
        observables = {name: float(v) for name, v in report.observables._asdict().items()}
        if not steps:
            observables["mean_speed"] = last.observables.get("mean_speed", math.nan)
        rods = np.asarray(report.rods)[: self.setup.rods]
        ids = None if self.next_id == self.setup.rods else self.ids
        snapshot = Snapshot(
            rods, step, time, self.params, observables, ids, self.obstacles, laws=self.setup.laws
        )
        return replace(self, held=ran.held, snapshot=snapshot)


def uploaded(params: Params) -> Packed:
    """`params` as the compiled program takes them."""
    return jax.device_put(pack(params))


def names(ids: np.ndarray) -> Int32[np.ndarray, "rods"]:
    """`ids` as an array that nobody can write to, since it leaves the Driver as it is."""
    ids = ids.astype(np.int32)
    ids.flags.writeable = False
    return ids
