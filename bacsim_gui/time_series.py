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
        return len(self._rows)

    def clear(self) -> None:
        """Forget everything."""
        self._rows: list[tuple[float, ...]] = []
        self._every = 1
        self._count, self._passing = 0, False

    def add(self, snapshot: Snapshot) -> None:
        """Take a state; it replaces those of its own step and of later ones."""
        self.drop_from(snapshot.step)
        observed = dict(snapshot.observables)
        if not observed.get("mean_speed") and snapshot.params.F_prop:
            observed["mean_speed"] = np.nan  # no step has been taken since rods were placed
        row = (
            float(snapshot.step), snapshot.time, *(observed.get(n, np.nan) for n in OBSERVABLES)
        )  # fmt: skip
        # The newest row is always there; it makes room for the next one unless it is to stay.
        if self._passing:
            self._rows[-1] = row
        else:
            self._rows.append(row)
        self._passing = self._count % self._every != 0
        self._count += 1
        if len(self._rows) > self._limit:
            self._rows = self._rows[(len(self._rows) - 1) % 2 :: 2]
            self._every *= 2
            self._count, self._passing = 1, False

    def fill(self, snapshots: Iterable[Snapshot]) -> None:
        """Take states of rising steps."""
        for snapshot in snapshots:
            self.add(snapshot)

    def drop_from(self, step: int) -> None:
        """Forget the states of that step and of later ones."""
        while self._rows and self._rows[-1][0] >= step:
            self._rows.pop()
            self._count, self._passing = 0, False

    def table(self) -> np.ndarray:
        """The rows, (M, 7) float64; columns as in `COLUMNS`."""
        return np.array(self._rows, float).reshape(-1, len(COLUMNS))
