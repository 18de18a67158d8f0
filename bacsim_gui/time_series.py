# SPDX-License-Identifier: GPL-3.0-or-later
"""Observables over time, in bounded memory. Pure."""

from collections.abc import Iterable

import numpy as np

from engine.snapshot import Snapshot

# More than a plot has pixels; twice as many are kept before every other one is given up.
LIMIT = 2000
OBSERVABLES = ("active_fraction", "mean_activity", "polar_order", "nematic_order", "mean_speed")
COLUMNS = ("step", "time", *OBSERVABLES)


class TimeSeries:
    """The observables of one run, at most `limit` rows, equally far apart but for the newest.

    Each time the rows are too many, every other one is given up, and half as many are taken from
    then on.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self.clear()

    def __len__(self) -> int:
        return len(self._kept) + (self._newest is not None)

    def clear(self) -> None:
        """Forget everything."""
        self._kept: list[tuple[float, ...]] = []
        # The newest row, until the next one comes, where it is none that is kept.
        self._newest: tuple[float, ...] | None = None
        self._every, self._count = 1, 0

    def add(self, snapshot: Snapshot) -> None:
        """Take a state; it replaces those of its own step and of later ones."""
        self.drop_from(snapshot.step)
        values = (snapshot.observables.get(name, np.nan) for name in OBSERVABLES)
        self._newest = (float(snapshot.step), snapshot.time, *values)
        if self._count % self._every == 0:
            self._kept.append(self._newest)
            self._newest = None
        self._count += 1
        if len(self) > self._limit:
            if len(self._kept) % 2 == 0 and self._newest is None:
                self._newest = self._kept[-1]
            self._kept = self._kept[::2]
            self._every *= 2

    def fill(self, snapshots: Iterable[Snapshot]) -> None:
        """Take states of rising steps."""
        for snapshot in snapshots:
            self.add(snapshot)

    def drop_from(self, step: int) -> None:
        """Forget the states of that step and of later ones."""
        if self._newest is not None and self._newest[0] >= step:
            self._newest = None
        while self._kept and self._kept[-1][0] >= step:
            self._kept.pop()
            self._newest, self._count = None, len(self._kept) * self._every

    def table(self) -> np.ndarray:
        """The rows, (M, 7) float64; columns as in `COLUMNS`."""
        rows = self._kept if self._newest is None else [*self._kept, self._newest]
        return np.array(rows, float).reshape(-1, len(COLUMNS))


def outline(values: np.ndarray, groups: int) -> np.ndarray:
    """Which of the values, (M,), a line through them needs to look as it does through all.

    Of each of so many groups of neighbours the least and the greatest, and the ends; all values
    where they are few. What is not a number stands for none of those that are.
    """
    if len(values) <= 2 * groups:
        return np.arange(len(values))
    size = -(-len(values) // groups)
    padded = np.full((-(-len(values) // size), size), np.nan)
    padded.flat[: len(values)] = values
    first = size * np.arange(len(padded))
    least = first + np.where(np.isnan(padded), np.inf, padded).argmin(axis=1)
    greatest = first + np.where(np.isnan(padded), -np.inf, padded).argmax(axis=1)
    return np.unique(np.concatenate(([0, len(values) - 1], least, greatest)))
