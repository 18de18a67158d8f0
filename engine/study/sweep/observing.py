# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep can observe of a system: averages from the device, and more from its rods."""

import difflib
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from engine.params import Params
from engine.schema import ParameterError


class Observed(NamedTuple):
    """An observable: symbol, unit, meaning, and how it follows from rods (N, 4); None: device."""

    symbol: str
    unit: str
    doc: str
    of_rods: Callable[[np.ndarray, Params], float] | None = None


def _sizes(rods: np.ndarray, params: Params) -> np.ndarray:
    from engine.observables.clusters import cluster_labels, cluster_sizes

    label = cluster_labels(rods[:, :2], rods[:, 2], params.space_size, params.length, params.radius)
    return cluster_sizes(label)


def _largest_cluster(rods: np.ndarray, params: Params) -> float:
    return float(_sizes(rods, params).max() / len(rods))


def _mean_cluster(rods: np.ndarray, params: Params) -> float:
    from engine.observables.clusters import weighted_mean_size

    return weighted_mean_size(_sizes(rods, params)) / len(rods)


OBSERVED: Mapping[str, Observed] = {
    "active_fraction": Observed("", "", "Share of rods with activity above ½."),
    "mean_activity": Observed("⟨a⟩", "", "Mean activity."),
    "polar_order": Observed("P", "", "|⟨û⟩|; 1 for rods that all head the same way."),
    "nematic_order": Observed("S", "", "|⟨exp 2iθ⟩|; 1 for rods that are all parallel."),
    "mean_speed": Observed("⟨v⟩", "l/t", "Mean speed over the last step, without noise."),
    "mean_cluster": Observed(
        "M/N", "", "Mean share of the rods in a rod's cluster, Σm²/N².",
        _mean_cluster,
    ),
    "largest_cluster": Observed(
        "", "", "Share of all rods in the largest cluster.", _largest_cluster
    ),
}  # fmt: skip


def checked_names(names: object, key: str = "observe") -> tuple[str, ...]:
    """`names` of observables, as the entry `key` gives them.

    Raises `ParameterError` for what is no list of them.
    """
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise ParameterError(
            key, names, "is no list of names", f"Known are: {', '.join(OBSERVED)}."
        )
    for name in names:
        if name not in OBSERVED:
            near = difflib.get_close_matches(name, OBSERVED, n=1)
            remedy = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(OBSERVED)}."
            raise ParameterError(key, name, "is not known", remedy)
    if len(set(names)) < len(names):
        raise ParameterError(key, names, "names one twice", "Give each once.")
    return tuple(names)
