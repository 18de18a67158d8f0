# SPDX-License-Identifier: GPL-3.0-or-later
"""What one frame is like: a number for each quantity, and arrays that are averaged over time."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine import schema
from engine.observables import clusters, correlation, defects, density, fields, order, pairs
from engine.observables.checked import ObservableError
from engine.params import Laws, Params
from engine.snapshot import Snapshot
from engine.study.analyse.quantities import RECORDED

# Rods that must be near a defect for it to say something.
NEAR_DEFECT = 2.0
# How far g(r) reaches, in body lengths, and how many of its rings make a body width.
_PAIR_REACH, _RINGS = 3, 5

Velocities = Callable[[Snapshot], np.ndarray]


@dataclass(frozen=True)
class Scales:
    """The lengths at which frames of these parameters are looked at."""

    body: float
    width: float
    smoothing: fields.Smoothing
    parts: np.ndarray
    pair_reach: float
    rings: int

    @classmethod
    def of(cls, params: Params, side: float) -> "Scales":
        """Those in a box of `side`: a body length for fields, as the window's, three for g(r)."""
        width = 2 * params.radius
        body = params.length + width
        reach = min(_PAIR_REACH * body, side / 2)
        return cls(
            body, width, fields.smoothing_for(side, body), density.divisions(side, body), reach,
            max(10, min(500, round(_RINGS * reach / width))),
        )  # fmt: skip


@dataclass
class Measured:
    """A frame: `numbers` by quantity, NaN for what is not known, and `arrays` to be averaged.

    `missing` tells in plain words why something is not known.
    """

    numbers: dict[str, float] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def recorded(snapshot: Snapshot) -> Measured:
    """What the run itself noted of all rods, for a trajectory that keeps a share of them."""
    return Measured({name: snapshot.observables.get(name, math.nan) for name in RECORDED})


def measured(snapshot: Snapshot, scales: Scales, velocity: np.ndarray, side: float) -> Measured:
    """All quantities of a frame that holds all rods, one at least; `velocity` (N, 2) is theirs.

    `side` is that of the periodic box that they are taken to be in (`Span.side`). Within walls only
    what pairs of rods tell is known.
    """
    found = Measured()
    doubles = snapshot.rods.astype(np.float64)
    rods = Rods(
        doubles[:, :2], doubles[:, 2], doubles[:, 3], velocity.astype(np.float64), snapshot.laws,
        side,
    )  # fmt: skip
    parts = [_order, _contacts, _near, _clusters, _alike]
    if snapshot.laws.periodic:
        parts += [_pairs, _counts, _flow, _defects]
    for part in parts:
        try:
            part(rods, snapshot.params, scales, found)
        except ObservableError as problem:
            found.missing[part.__name__] = str(problem)
    return found


@dataclass(frozen=True)
class Rods:
    """The rods of a frame in float64."""

    pos: np.ndarray
    theta: np.ndarray
    activity: np.ndarray
    velocity: np.ndarray
    laws: Laws
    side: float


def _order(rods: Rods, params: Params, _scales: Scales, found: Measured) -> None:
    psi = order.hexatic(rods.pos, rods.side)
    found.numbers |= {
        "polar_order": order.polar_order(rods.theta),
        "nematic_order": order.nematic_order(rods.theta),
        "hexatic_order": abs(complex(psi.mean())),
        "local_hexatic_order": order.mean(np.abs(psi)),
        "active_fraction": order.active_fraction(rods.activity),
        "mean_activity": order.mean(rods.activity),
        "mean_speed": order.mean_speed(rods.velocity),
    }
    if speed := schema.free_speed(rods.laws, params):
        found.numbers["progress"] = order.progress(rods.velocity, rods.theta, speed)


def _contacts(rods: Rods, params: Params, _scales: Scales, found: Measured) -> None:
    seen = pairs.contacts(rods.pos, rods.theta, rods.side, params.length, params.radius)
    found.numbers |= {
        "mean_overlap": seen.mean_overlap, "largest_overlap": seen.largest_overlap,
        "crossed_pairs": seen.crossed,
    }  # fmt: skip


def _near(rods: Rods, params: Params, scales: Scales, found: Measured) -> None:
    sensed = density.sensed(rods.pos, rods.theta, rods.side, params.length, params.sensing_range)
    found.numbers["neighbours"] = order.mean(np.asarray(sensed, np.float64))
    around = density.local_density(rods.pos, rods.side, scales.body)
    found.numbers["local_packing"] = order.mean(around) * schema.rod_area(params)


def _clusters(rods: Rods, params: Params, _scales: Scales, found: Measured) -> None:
    label = clusters.cluster_labels(rods.pos, rods.theta, rods.side, params.length, params.radius)
    sizes = clusters.cluster_sizes(label)
    found.numbers["cluster_size"] = clusters.weighted_mean_size(sizes)
    found.numbers["largest_cluster"] = float(sizes.max()) / len(rods.pos)
    number = clusters.size_distribution(sizes, len(rods.pos))
    found.arrays["clusters"] = number * np.arange(len(number)) / len(rods.pos)


def _alike(rods: Rods, _params: Params, scales: Scales, found: Measured) -> None:
    seen = correlation.velocity_correlation(rods.pos, rods.velocity, rods.side, scales.width)
    found.numbers["velocity_length"] = correlation.correlation_length(seen)
    found.arrays["velocity_correlation"] = seen.value


def _pairs(rods: Rods, _params: Params, scales: Scales, found: Measured) -> None:
    found.arrays["pair_correlation"] = correlation.pair_correlation(
        rods.pos, rods.side, scales.pair_reach, scales.rings
    ).value


def _counts(rods: Rods, _params: Params, scales: Scales, found: Measured) -> None:
    seen = density.counts(rods.pos, rods.side, scales.parts)
    found.arrays["number_mean"], found.arrays["number_square"] = seen.mean, seen.square


def _flow(rods: Rods, _params: Params, scales: Scales, found: Measured) -> None:
    u = fields.velocity_field(rods.pos, rods.velocity, rods.side, scales.smoothing)
    found.numbers["enstrophy"] = fields.enstrophy(fields.vorticity(u, rods.side))
    found.arrays["energy_spectrum"] = fields.energy_spectrum(u, rods.side).energy


def _defects(rods: Rods, _params: Params, scales: Scales, found: Measured) -> None:
    seen = defects.defects(rods.pos, rods.theta, rods.side, scales.smoothing)
    found.numbers["defects"] = float((seen.rods >= NEAR_DEFECT).sum()) / rods.side**2
