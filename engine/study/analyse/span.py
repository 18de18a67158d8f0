# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames of a trajectory are averaged over: those of one set of parameters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.boundary import side_apart
from engine.obstacle import Obstacle
from engine.params import Laws, Params
from engine.schema import PARAM_FIELDS
from engine.storage.trajectory import Moment, Trajectory

# Fewer say nothing of averages.
FEWEST = 3


class AnalysisError(RuntimeError):
    """A trajectory that cannot be analysed, in plain words."""


@dataclass(frozen=True)
class Span:
    """Frames that are averaged over.

    Attributes:
        frames: their numbers in the file.
        times: their simulated times, t.
        steps: their time steps.
        rods: the least and the largest number of rods that frames hold.
        params: the parameters of all of them.
        laws: the laws that the run follows.
        obstacles: the obstacles of all of them.
        notes: what was left out, and why, in plain sentences.
    """

    frames: tuple[int, ...]
    times: np.ndarray
    steps: tuple[int, ...]
    rods: tuple[int, int]
    params: Params
    laws: Laws
    obstacles: tuple[Obstacle, ...]
    notes: tuple[str, ...]

    @property
    def side(self) -> float:
        """The side of the periodic box that rods are taken to be in, l."""
        return side_apart(self.params.space_size, self.laws.boundary)

    @property
    def spacing(self) -> float:
        """The time between most neighbouring frames, t."""
        return float(np.median(np.diff(self.times)))

    @property
    def even(self) -> bool:
        """Whether all frames are equally far apart in time."""
        gaps = np.diff(self.times)
        return bool(np.all(np.abs(gaps - self.spacing) <= 1e-6 * self.spacing))


def choose(
    trajectory: Trajectory,
    first: float = -math.inf,
    last: float = math.inf,
    every: int = 1,
) -> Span:
    """Every `every`-th frame from the time `first` to `last`, of the longest span of one setting.

    A setting are the live parameters, but for a hand that does nothing, and the obstacles. Raises
    `AnalysisError` where less than three frames are left, or where time does not go on.
    """
    moments = [trajectory.moment(at) for at in range(len(trajectory))]
    for at, one in enumerate(moments):
        if not math.isfinite(one.time):
            raise AnalysisError(
                f"Frame {at} of {trajectory.path} is damaged: its time is {one.time}."
            )
    inside = [at for at, one in enumerate(moments) if first <= one.time <= last]
    if not inside:
        raise AnalysisError(
            f"{trajectory.path} goes from t = {moments[0].time:.6g} to {moments[-1].time:.6g}: "
            f"there is no frame between {first:.6g} and {last:.6g}."
        )
    notes = []
    if trajectory.cut:
        notes.append(f"The file was cut short: its {len(moments)} whole frames are read.")
    longest = _longest([moments[at] for at in inside])
    chosen = inside[longest.start : longest.stop]
    if len(chosen) < len(inside):
        notes.append(_told_changes(moments, inside, chosen))
    kept = _without_repeats(moments, chosen[::every])
    if len(kept) < len(chosen[::every]):
        notes.append("Frames of the same step are averaged over once.")
    if len(kept) < FEWEST:
        raise AnalysisError(
            f"{len(kept)} of the {len(moments)} frames of {trajectory.path} would be averaged "
            f"over, and {FEWEST} are the least. "
            + (notes[-1] + " " if notes else "")
            + "Record a longer run or more frames, or leave out --from, --to and --every."
        )
    times = np.array([moments[at].time for at in kept])
    if np.any(np.diff(times) <= 0):
        back = kept[int(np.flatnonzero(np.diff(times) <= 0)[0]) + 1]
        raise AnalysisError(
            f"Time goes back at frame {back} of {trajectory.path}, to t = {moments[back].time:.6g}."
            " Give --from or --to, so that it goes on."
        )
    rods = [moments[at].rods for at in kept]
    return Span(
        tuple(kept), times, tuple(moments[at].step for at in kept), (min(rods), max(rods)),
        moments[kept[0]].params, trajectory.laws, moments[kept[0]].obstacles, tuple(notes),
    )  # fmt: skip


def _setting(one: Moment) -> tuple:
    values = {f.name: getattr(one.params, f.name) for f in PARAM_FIELDS}
    if not values["push_force"]:
        values = {name: v for name, v in values.items() if not name.startswith("push_")}
    return (tuple(values.items()), one.obstacles)


def _longest(moments: Sequence[Moment]) -> range:
    """The longest run of equal settings, the last of those that are equally long."""
    settings = [_setting(one) for one in moments]
    begins = [at for at, one in enumerate(settings) if not at or one != settings[at - 1]]
    ends = [*begins[1:], len(moments)]
    spans = [range(low, high) for low, high in zip(begins, ends, strict=True)]
    return max(spans, key=lambda span: (len(span), span.start))


def _told_changes(moments: Sequence[Moment], inside: Sequence[int], chosen: Sequence[int]) -> str:
    changed: dict[str, list[str]] = {}
    obstacles = False
    for before, after in pairwise(inside):
        one, other = moments[before], moments[after]
        if _setting(one) == _setting(other):
            continue
        obstacles |= one.obstacles != other.obstacles
        for f in PARAM_FIELDS:
            was, now = getattr(one.params, f.name), getattr(other.params, f.name)
            if was != now:
                told = changed.setdefault(f.name, [f"{was:g}"])
                told.append(f"{now:g}")
    words = [f"{name} ({_shortened(values)})" for name, values in changed.items()]
    words += ["obstacles"] if obstacles else []
    low, high = moments[chosen[0]].time, moments[chosen[-1]].time
    return (
        f"During the run changed: {', '.join(words)}. Averaged over is the longest span without a "
        f"change, {len(chosen)} of {len(inside)} frames, t = {low:.6g} to {high:.6g}; --from and "
        "--to choose another."
    )


def _shortened(values: Sequence[str]) -> str:
    if len(values) > 4:
        values = [*values[:2], "…", values[-1]]
    return " → ".join(values)


def _without_repeats(moments: Sequence[Moment], chosen: Sequence[int]) -> list[int]:
    kept: list[int] = []
    for at in chosen:
        if not kept or moments[at].step != moments[kept[-1]].step:
            kept.append(at)
    return kept
