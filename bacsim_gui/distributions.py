# SPDX-License-Identifier: GPL-3.0-or-later
"""How the rods of one state are distributed: by heading, activity, and what is measured. Pure."""

from dataclasses import dataclass

import numpy as np

from engine.snapshot import MEASURES, Snapshot

# Of more rods every second, third … is counted: the plot shows no difference.
MOST_RODS = 100_000
# The measures that are asked for; they are shown where a state has them.
MEASURED = ("speed", "local_density", "cluster")
_BINS = 36


@dataclass(frozen=True)
class Distribution:
    """Shares of rods: `shares` (B,) between `edges` (B + 1,). `log` wants a logarithmic axis."""

    name: str
    axis: str
    edges: np.ndarray
    shares: np.ndarray
    log: bool = False


def distributions(snapshot: Snapshot) -> tuple[Distribution, ...]:
    """All that can be told of `snapshot`: heading and activity, and the measures that it has."""
    every = -(-snapshot.n // MOST_RODS)
    turned = np.degrees(snapshot.theta[::every].astype(float))
    heading = (turned + 180) % 360 - 180
    found = [
        _counted("heading", "heading θ (°)", heading, np.linspace(-180, 180, _BINS + 1)),
        _counted("activity", "activity", snapshot.activity[::every], np.linspace(0, 1, 26)),
    ]
    for name in MEASURED:
        if name in snapshot.measures:
            values = snapshot.measures[name][::every].astype(float)
            values = values[np.isfinite(values)]
            if len(values):
                found.append(_measured(name, values))
    return tuple(found)


def _measured(name: str, values: np.ndarray) -> Distribution:
    most = float(values.max())
    if name == "cluster":
        # Sizes 1, 2 to 3, 4 to 7: each bin twice as wide as the one before.
        edges = 2.0 ** np.arange(int(np.log2(max(most, 1))) + 2)
        return _counted(name, "rods in the cluster of a rod", values, edges, log=True)
    if name == "local_density":
        edges = np.arange(max(1, int(most)) + 2) - 0.5
        return _counted(name, "neighbours within sensing range", values, edges)
    edges = np.linspace(0, round_up(most), _BINS + 1)
    return _counted(name, f"{name} ({MEASURES[name].unit})", values, edges)


def _counted(
    name: str, axis: str, values: np.ndarray, edges: np.ndarray, *, log: bool = False
) -> Distribution:
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    return Distribution(name, axis, edges, counts / max(1, len(values)), log)


def round_up(value: float) -> float:
    """The next number of one digit or 1.5, so that the axis does not tremble."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(
        power * next(step for step in (1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value)
    )
