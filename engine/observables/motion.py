# SPDX-License-Identifier: GPL-3.0-or-later
"""How rods move over time: mean square displacement and orientation autocorrelation.

The functions take whole paths; `Motion` is given one state after the other, keeps a few of them,
and so follows runs of any length.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Integer

from engine.observables.checked import ObservableError, above_zero, numbers, places

# States that are kept of each octave of lags.
_KEPT = 8


def unwrapped(pos: np.ndarray, space_size: float) -> Float64[np.ndarray, "times rods 2"]:
    """Paths (T, N, 2) out of places in a periodic box, l: from one to the next the shortest way.

    Right where no rod goes L/2 or more between two times; nothing in the places tells.
    """
    at = np.asarray(pos, np.float64)
    if not np.isfinite(at).all():
        raise ObservableError("A place is no finite number. Leave those rods out.")
    side = above_zero("space_size", space_size)
    steps = np.diff(at, axis=0)
    steps -= side * np.round(steps / side)
    return np.concatenate([at[:1], at[:1] + np.cumsum(steps, axis=0)])


def paths(
    pos: np.ndarray, images: Integer[np.ndarray, "times rods 2"], space_size: float
) -> Float64[np.ndarray, "times rods 2"]:
    """Paths (T, N, 2) from places in a box and counters of how often each side was passed, l."""
    return np.asarray(pos, np.float64) + above_zero("space_size", space_size) * images


def mean_square_displacement(
    path: Float64[np.ndarray, "times rods 2"], lags: Sequence[int]
) -> Float64[np.ndarray, "lags"]:
    """⟨|x(t + τ) − x(t)|²⟩ over rods and all t, l², for lags τ in numbers of frames.

    v²τ² for straight motion at speed v, 4Dτ for diffusion in the plane. Einstein 1905; Allen &
    Tildesley (2017).
    """
    return np.array([
        (_apart(path[_lag(lag, path) :], path[: len(path) - lag]) ** 2).sum(-1).mean()
        for lag in lags
    ])  # fmt: skip


def orientation_autocorrelation(
    theta: Float64[np.ndarray, "times rods"], lags: Sequence[int]
) -> Float64[np.ndarray, "lags"]:
    """⟨û(t + τ)·û(t)⟩ = ⟨cos(θ(t + τ) − θ(t))⟩ over rods and all t, for lags in frames.

    e^{−D_r τ} for rotational diffusion alone, times cos ω₀τ for circle swimmers (Howse et al.,
    Phys. Rev. Lett. 99, 048102 (2007); van Teeffelen & Löwen, Phys. Rev. E 78, 020101 (2008)).
    """
    return np.array([
        np.cos(theta[_lag(lag, theta) :] - theta[: len(theta) - lag]).mean() for lag in lags
    ])  # fmt: skip


class Moved(NamedTuple):
    """Between two frames: means over the rods in both of |Δx|² (l²) and cos Δθ."""

    lag: int
    square: float
    alike: float


class Motion:
    """MSD and orientation autocorrelation of a run whose states come one by one.

    Lags are 1 … 8 frames, then four an octave (10, 12, 14, 16, 20, …), up to `most`; of lags above
    8 not every start is used, but those that lie as far apart as the lags do (the scheme of
    Ramírez et al., J. Chem. Phys. 133, 154103 (2010), without its averages). Rods are followed by
    their ids and may come and go; one that comes back begins a new path, since how often it went
    round the box meanwhile is not known. Memory: 8 states for each octave.

    Attributes:
        farthest: the largest distance that a rod went between two frames, l. Near L/2 paths are
            not to be trusted.
    """

    def __init__(self, space_size: float, most: int) -> None:
        self._side = above_zero("space_size", space_size)
        self._most = most
        self._frame = -1
        self._before: _Rods | None = None
        self._at = np.zeros((0, 2))
        self._levels: list[deque[tuple[int, _Rods]]] = [deque(maxlen=_KEPT)]
        self.farthest = 0.0
        while 2 ** len(self._levels) * _KEPT // 2 < most:
            self._levels.append(deque(maxlen=_KEPT))

    def add(
        self, pos: np.ndarray, theta: np.ndarray, ids: Integer[np.ndarray, "rods"]
    ) -> list[Moved]:
        """What was between this state, (N, 2), (N,), and those that are kept."""
        self._frame += 1
        rods = self._followed(places(pos, self._side), numbers("theta", theta), ids)
        found = []
        for level, kept in enumerate(self._levels):
            step = 2**level
            if self._frame % step:
                break
            for frame, before in kept:
                lag = self._frame - frame
                # Shorter lags belong to the level below.
                if lag <= self._most and (level == 0 or lag > step * _KEPT // 2):
                    found += _moved(lag, before, rods)
            kept.append((self._frame, rods))
        return found

    def _followed(self, at: np.ndarray, theta: np.ndarray, ids: np.ndarray) -> "_Rods":
        """The rods with their places off the periodic box, where they were seen before."""
        order = np.argsort(ids, kind="stable")
        at, theta, ids = at[order], theta[order], np.asarray(ids)[order]
        path, since = at.copy(), np.full(len(ids), self._frame)
        if self._before is not None:
            now, then = _shared(ids, self._before.ids)
            way = at[now] - self._at[then]
            way -= self._side * np.round(way / self._side)
            path[now] = self._before.path[then] + way
            since[now] = self._before.since[then]
            self.farthest = max(self.farthest, float(np.hypot(*way.T).max(initial=0)))
        self._before, self._at = _Rods(ids, path, theta, since), at
        return self._before


class _Rods(NamedTuple):
    ids: np.ndarray
    path: np.ndarray
    theta: np.ndarray
    since: np.ndarray  # the frame in which each path began


def _shared(some: np.ndarray, others: np.ndarray) -> tuple[np.ndarray | slice, np.ndarray | slice]:
    """Where in each the ids are that both have; both rise."""
    if len(some) == len(others) and np.array_equal(some, others):
        return slice(None), slice(None)
    _, here, there = np.intersect1d(some, others, assume_unique=True, return_indices=True)
    return here, there


def _moved(lag: int, before: _Rods, now: _Rods) -> list[Moved]:
    here, there = _shared(now.ids, before.ids)
    on_one_path = now.since[here] == before.since[there]
    way = (now.path[here] - before.path[there])[on_one_path]
    if not len(way):
        return []
    turn = (now.theta[here] - before.theta[there])[on_one_path]
    return [Moved(lag, float((way * way).sum(1).mean()), float(np.cos(turn).mean()))]


def _apart(later: np.ndarray, before: np.ndarray) -> np.ndarray:
    return np.asarray(later, np.float64) - before


def _lag(lag: int, path: np.ndarray) -> int:
    if not 0 <= lag < len(path):
        raise ObservableError(f"lag = {lag} is not possible: there are {len(path)} frames.")
    return lag
