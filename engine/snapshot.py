# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes into the engine and what leaves it, as plain NumPy; nothing here needs JAX."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Int32

from engine.obstacle import Obstacle
from engine.params import GIVEN, Laws, Params, Setup


class Measure(NamedTuple):
    """What can be measured of each rod: its unit and its meaning."""

    unit: str
    doc: str


# All of them follow from a state and its parameters alone; `engine.measures` computes them.
MEASURES: Mapping[str, Measure] = {
    "speed": Measure("l/t", "How fast the rod is driven and pushed at this moment, without noise."),
    "velocity_x": Measure("l/t", "The part of that along x."),
    "velocity_y": Measure("l/t", "The part of that along y."),
    "local_density": Measure(
        "", "Number of others that the rod senses, whose core line is nearer than sensing_range."
    ),
    "overlap": Measure("", "Its largest overlap with another rod, in body widths; 0 is none."),
    "contacts": Measure("", "Number of rods that it overlaps with."),
    "cluster": Measure("", "Number of rods that hang together with it by contacts, itself too."),
}


@dataclass(frozen=True)
class Snapshot:
    """What leaves the engine after a batch of steps: plain NumPy, 16 bytes a rod.

    `rods` (N, 4) float32 holds x, y, theta, activity of each rod, in order of `ids`; `time` is
    simulated time; `observables` are those of `engine.observables`, taken at this step. `ids` (N,)
    names each rod for as long as it lives, None where they are 0 … N - 1. `obstacles` are those of
    now. `measures` holds those of `MEASURES` that were asked for, (N,) float32 each: 4 bytes a rod
    more. `laws` are those that the run follows.
    """

    rods: Float32[np.ndarray, "rods 4"]
    step: int
    time: float
    params: Params
    observables: Mapping[str, float] = field(default_factory=dict)
    ids: Int32[np.ndarray, "rods"] | None = None
    obstacles: tuple[Obstacle, ...] = ()
    measures: Mapping[str, Float32[np.ndarray, "rods"]] = field(default_factory=dict)
    laws: Laws = GIVEN

    @property
    def n(self) -> int:
        """Number of rods."""
        return len(self.rods)

    @property
    def pos(self) -> Float32[np.ndarray, "rods 2"]:
        """Centres (N, 2) in [0, L)²."""
        return self.rods[:, :2]

    @property
    def theta(self) -> Float32[np.ndarray, "rods"]:
        """Angles (N,)."""
        return self.rods[:, 2]

    @property
    def activity(self) -> Float32[np.ndarray, "rods"]:
        """Activities (N,) in [0, 1]."""
        return self.rods[:, 3]


class Trust(NamedTuple):
    """How near a state is to where the model says nothing about rods any more.

    `deepest_overlap` of any two rods, in body widths; `crossed_pairs` of rods whose core lines meet
    or cross; at that `step`.
    """

    deepest_overlap: float
    crossed_pairs: int
    step: int


@dataclass(frozen=True)
class Start:
    """Arrays to start from: `pos` (N, 2) in [0, L)², `theta` (N,), `activity` (N,).

    `step` and simulated `time` are those that the run begins with; the step numbers the noise.
    `ids` (N,), rising, name the rods; None stands for 0 … N - 1.
    """

    pos: Float[np.ndarray, "rods 2"]
    theta: Float[np.ndarray, "rods"]
    activity: Float[np.ndarray, "rods"]
    step: int = 0
    time: float = 0.0
    ids: Int32[np.ndarray, "rods"] | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Start":
        """The rods of `snapshot`, at its step and time, by the names that they have."""
        return cls(
            snapshot.pos, snapshot.theta, snapshot.activity, snapshot.step, snapshot.time,
            snapshot.ids,
        )  # fmt: skip


class CheckpointError(ValueError):
    """Arrays that no run can have left; `why` names the first of them."""

    def __init__(self, why: str) -> None:
        self.why = why.removesuffix(".")
        super().__init__(f"The checkpoint is damaged: {self.why}. Give another one.")


@dataclass(frozen=True)
class Checkpoint:
    """A run at one step, so that it can go on with the same bits.

    `kernel` is one of `engine.kernels.KERNELS` and `reason` why it was chosen; `code` and `device`
    are whose code it was and what it ran on: with others the run goes on with other bits. `arrays`
    are those of the `State` by name, in their order on the device. `ids` (N,) name the rods in the
    order of rows, `next_id` is the next one to come. Since `origin`, a step and its time, dt has
    been that of `params`. `began` are the setup, the parameters and, if there were any, the arrays
    that a reset goes back to. `observables` are the latest, `obstacles` those of now.
    """

    setup: Setup
    params: Params
    seed: int
    kernel: str
    reason: str
    code: str
    device: str
    capacity: tuple[int, int, int, int]
    step: int
    time: float
    origin: tuple[int, float]
    next_id: int
    ids: Int32[np.ndarray, "rods"]
    observables: Mapping[str, float]
    arrays: Mapping[str, np.ndarray]
    began: tuple[Setup, Params, Start | None]
    obstacles: tuple[Obstacle, ...] = ()
