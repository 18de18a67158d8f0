# SPDX-License-Identifier: GPL-3.0-or-later
"""Through the frames of a span, one at a time: what is kept does not grow with their number.

But for a few numbers of each frame, of which the series is made.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine.observables import correlation, density, fields
from engine.observables.checked import ObservableError
from engine.observables.motion import Motion
from engine.snapshot import Snapshot
from engine.storage.trajectory import Trajectory
from engine.study.analyse.frame import Measured, Scales, Velocities, measured, recorded
from engine.study.analyse.quantities import QUANTITIES, RECORDED
from engine.study.analyse.span import AnalysisError, Span
from engine.study.blocking import Average, average

# Blocks of time from whose scatter the errors of curves follow.
BLOCKS = 8
_CHANGING = (
    "The number of rods changes: the fluctuations of the number in parts of the box, and their "
    "exponent, hold that change."
)
_WITHIN_WALLS = (
    "Within walls there is no pair correlation, no number fluctuation, no energy spectrum, no "
    "enstrophy and no density of defects: those take the box to be periodic. The local packing "
    "fraction takes what lies beyond a wall for empty."
)
# Paths are told by places only while rods stay well below half the box between two frames.
_FARTHEST = 0.4


@dataclass(frozen=True)
class Curve:
    """A function that was averaged over time, with its standard error from `BLOCKS` blocks of it.

    Where a block holds nothing, and of less than two frames a block, the error is NaN.
    """

    x: np.ndarray
    y: np.ndarray
    error: np.ndarray


@dataclass(frozen=True)
class Exponent:
    """The exponent of σ_N against N̄, its standard error from blocks, and the factor.

    Where `trusted` is false the error is a lower bound: σ_N² of the largest parts that are fitted
    changes so slowly that blocking finds no plateau.
    """

    value: float
    error: float
    factor: float
    trusted: bool


@dataclass
class Results:
    """What a span of a trajectory tells.

    Attributes:
        span: the frames.
        scales: the lengths at which they were looked at; None where rods were left out.
        series: of each quantity that is known, its value in each frame.
        averages: of each of those, mean and error.
        curves: by name: `clusters`, `fluctuations`, `pair_correlation`, `velocity_correlation`,
            `energy_spectrum`, `msd`, `orientation`; those that are known.
        exponent: that of the number fluctuations, None where it is not known.
        last: the last frame, with `velocity` (N, 2) where that is known.
        velocity: of the rods of `last`.
        one_rod_in: of how many rods one is in the file.
        notes: what is to be known of all that, in plain sentences.
    """

    span: Span
    scales: Scales | None
    series: dict[str, np.ndarray]
    averages: dict[str, Average]
    curves: dict[str, Curve]
    exponent: Exponent | None
    last: Snapshot
    velocity: np.ndarray | None
    one_rod_in: int
    notes: list[str] = field(default_factory=list)


class _Blocks:
    """Sums of arrays over the frames of each block of time, entry by entry."""

    def __init__(self) -> None:
        self._sums: dict[str, np.ndarray] = {}
        self._counts: dict[str, np.ndarray] = {}

    def add(self, name: str, block: int, values: np.ndarray) -> None:
        long = len(values)
        if name not in self._sums or self._sums[name].shape[1] < long:
            self._sums[name] = _longer(self._sums.get(name), long)
            self._counts[name] = _longer(self._counts.get(name), long)
        known = np.isfinite(values)
        self._sums[name][block, :long] += np.where(known, values, 0)
        self._counts[name][block, :long] += known

    def __contains__(self, name: str) -> bool:
        return name in self._sums

    def of_blocks(self, name: str) -> np.ndarray:
        """The mean in each block (BLOCKS, …); NaN where it holds nothing."""
        sums, counts = self._sums[name], self._counts[name]
        return np.where(counts > 0, sums / np.maximum(counts, 1), math.nan)

    def mean(self, name: str) -> np.ndarray:
        """The mean over all frames; NaN where none holds anything."""
        sums, counts = self._sums[name].sum(axis=0), self._counts[name].sum(axis=0)
        return np.where(counts > 0, sums / np.maximum(counts, 1), math.nan)


def analyse(
    trajectory: Trajectory,
    span: Span,
    velocities: Velocities,
    progress: Callable[[float, str], None] = lambda *_: None,
) -> Results:
    """Measure the frames of `span` and average over them.

    `velocities` gives those of all rods of a snapshot, (N, 2). Raises `AnalysisError`, and
    `StorageError` for a frame that is damaged.
    """
    whole = trajectory.one_rod_in == 1
    scales = Scales.of(span.params, span.side) if whole else None
    names = tuple(QUANTITIES) if whole else RECORDED
    series = {name: np.full(len(span.frames), math.nan) for name in names}
    blocks, notes = _Blocks(), list(span.notes)
    # A block of one frame is no mean over time: then there is but one block, and so no error.
    count = BLOCKS if len(span.frames) >= 2 * BLOCKS else 1
    squares: list[np.ndarray] = []
    motion = Motion(span.side, len(span.frames) // 2) if span.even else None
    missing: dict[str, str] = {}
    last, velocity = None, None
    for k, at in enumerate(span.frames):
        progress(k / len(span.frames), f"frame {k + 1} of {len(span.frames)}")
        last = trajectory[at]
        block = k * count // len(span.frames)
        if scales is not None and last.n:
            velocity = np.asarray(velocities(last), np.float64)
            one = measured(last, scales, velocity, span.side)
        else:
            one, velocity = recorded(last), None
        if "clusters" in one.arrays:
            # A frame with fewer rods has no cluster as large as others may, which is no gap.
            shares = one.arrays["clusters"]
            one.arrays["clusters"] = np.pad(shares, (0, span.rods[1] + 1 - len(shares)))
        if "number_square" in one.arrays:
            squares.append(one.arrays["number_square"])
        _keep(one, k, block, series, blocks)
        missing |= one.missing
        if motion is not None:
            ids = np.arange(last.n) if last.ids is None else last.ids
            for moved in motion.add(last.pos, last.theta, ids):
                _keep_moved(blocks, block, moved.lag, moved.square, moved.alike)
    assert last is not None
    notes += [f"Not known: {text}" for text in dict.fromkeys(missing.values())]
    notes += _motion_notes(motion, span)
    if scales is not None and not span.laws.periodic:
        notes.append(_WITHIN_WALLS)
    known = {name: values for name, values in series.items() if np.isfinite(values).any()}
    if not known:
        raise AnalysisError(f"{trajectory.path} holds no rod in any of the frames looked at.")
    averages = {name: average(values) for name, values in known.items()}
    curves, exponent = _curves(blocks, scales, span, squares)
    if "fluctuations" in curves and span.rods[0] != span.rods[1]:
        notes.append(_CHANGING)
    return Results(
        span, scales, known, averages, curves, exponent, last, velocity, trajectory.one_rod_in,
        notes,
    )  # fmt: skip


def _keep(
    one: Measured, k: int, block: int, series: dict[str, np.ndarray], blocks: _Blocks
) -> None:
    for name, value in one.numbers.items():
        series[name][k] = value
    for name, values in one.arrays.items():
        blocks.add(name, block, values)


def _keep_moved(blocks: _Blocks, block: int, lag: int, square: float, alike: float) -> None:
    # Entry `lag` of a line that is empty elsewhere.
    line = np.full(lag + 1, math.nan)
    line[lag] = square
    blocks.add("msd", block, line)
    line[lag] = alike
    blocks.add("orientation", block, line)


def _motion_notes(motion: Motion | None, span: Span) -> list[str]:
    if motion is None:
        return [
            "Frames are not equally far apart in time, so there is no mean square displacement and "
            "no autocorrelation."
        ]
    side = span.side
    if span.laws.periodic and motion.farthest > _FARTHEST * side:
        return [
            f"A rod seems to go {motion.farthest:.3g} l between two frames in a box of {side:g} l: "
            "paths, and so the mean square displacement, are not to be trusted. Record more often."
        ]
    return []


def _curves(
    blocks: _Blocks, scales: Scales | None, span: Span, squares: list[np.ndarray]
) -> tuple[dict[str, Curve], Exponent | None]:
    curves = {}
    for name in ("msd", "orientation"):
        if name in blocks:
            y = blocks.mean(name)
            lags = np.flatnonzero(np.isfinite(y))
            errors = _scatter(blocks.of_blocks(name))
            curves[name] = Curve(lags * span.spacing, y[lags], errors[lags])
    if scales is None:
        return curves, None
    if "clusters" in blocks:
        y, error = blocks.mean("clusters"), _scatter(blocks.of_blocks("clusters"))
        curves["clusters"] = Curve(np.arange(len(y))[1:], y[1:], error[1:])
    rings = np.linspace(0, scales.pair_reach, scales.rings + 1)
    steps = {
        "pair_correlation": (rings[1:] + rings[:-1]) / 2,
        "velocity_correlation": correlation.ring_middles(span.side, scales.width),
        "energy_spectrum": fields.wave_numbers(span.side, scales.smoothing.cells),
    }
    for name, x in steps.items():
        if name in blocks:
            curves[name] = Curve(x, blocks.mean(name), _scatter(blocks.of_blocks(name)))
    if "number_mean" not in blocks or not len(scales.parts):
        return curves, None
    mean, square = blocks.mean("number_mean"), blocks.mean("number_square")
    each = np.sqrt(np.maximum(
        blocks.of_blocks("number_square") - blocks.of_blocks("number_mean") ** 2, 0
    ))  # fmt: skip
    sigma = density.fluctuation(density.Counts(scales.parts, mean, square))
    curves["fluctuations"] = Curve(mean, sigma, _scatter(each))
    return curves, _exponent(scales.parts, mean, sigma, each, squares)


def fitted(results: Results) -> np.ndarray:
    """Which points of the curve of fluctuations its exponent was fitted to."""
    assert results.scales is not None
    return _fits(results.scales.parts, results.curves["fluctuations"].x)


def _fits(parts: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return (parts >= 4) & (mean >= 1)


def _exponent(
    parts: np.ndarray,
    mean: np.ndarray,
    sigma: np.ndarray,
    each: np.ndarray,
    squares: list[np.ndarray],
) -> Exponent | None:
    """From parts of at most a quarter of the side: in larger ones the number varies less."""
    used = _fits(parts, mean)
    try:
        found = density.power_law(mean[used], sigma[used])
        others = [
            density.power_law(mean[used], one[used]).exponent
            for one in each if np.isfinite(one).all()
        ]  # fmt: skip
    except ObservableError:
        return None
    error = float(np.std(others, ddof=1)) / math.sqrt(len(others)) if len(others) > 1 else math.nan
    # Divisions rise, so the first that is used has the largest parts.
    slowest = average(np.array(squares)[:, np.flatnonzero(used)[0]])
    return Exponent(found.exponent, error, found.factor, slowest.trusted)


def _scatter(of_blocks: np.ndarray) -> np.ndarray:
    """The standard error of the mean over blocks, of those that hold something."""
    known = np.isfinite(of_blocks)
    count = known.sum(axis=0)
    mean = np.where(known, of_blocks, 0).sum(axis=0) / np.maximum(count, 1)
    square = np.where(known, (of_blocks - mean) ** 2, 0).sum(axis=0)
    error = np.sqrt(square / np.maximum(count * (count - 1), 1))
    return np.where(count > 1, error, math.nan)


def _longer(array: np.ndarray | None, long: int) -> np.ndarray:
    made = np.zeros((BLOCKS, long))
    if array is not None:
        made[:, : array.shape[1]] = array
    return made
