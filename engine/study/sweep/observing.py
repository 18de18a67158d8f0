# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep can observe of a system: averages from the device, and more from its rods."""

import difflib
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.boundary import side_apart
from engine.params import Params, Setup
from engine.schema import ParameterError

if TYPE_CHECKING:
    from engine.observables.pairs import Contacts


# Into how many parts a side is divided where the number of rods in a part is looked at.
PARTS = 4


class Observed(NamedTuple):
    """An observable: symbol, unit, meaning, and how it follows from rods (N, 4); None: device."""

    symbol: str
    unit: str
    doc: str
    of_rods: Callable[[np.ndarray, Setup, Params], float] | None = None


def _sizes(rods: np.ndarray, setup: Setup, params: Params) -> np.ndarray:
    from engine.observables.clusters import cluster_labels, cluster_sizes

    side = side_apart(params.space_size, setup.boundary)
    return cluster_sizes(
        cluster_labels(rods[:, :2], rods[:, 2], side, params.length, params.radius)
    )


def _largest_cluster(rods: np.ndarray, setup: Setup, params: Params) -> float:
    return float(_sizes(rods, setup, params).max() / len(rods))


def _mean_cluster(rods: np.ndarray, setup: Setup, params: Params) -> float:
    from engine.observables.clusters import weighted_mean_size

    return weighted_mean_size(_sizes(rods, setup, params)) / len(rods)


def _contacts(rods: np.ndarray, setup: Setup, params: Params) -> "Contacts":
    from engine.observables.pairs import contacts

    side = side_apart(params.space_size, setup.boundary)
    return contacts(rods[:, :2], rods[:, 2], side, params.length, params.radius)


def _largest_overlap(rods: np.ndarray, setup: Setup, params: Params) -> float:
    return _contacts(rods, setup, params).largest_overlap


def _crossed_pairs(rods: np.ndarray, setup: Setup, params: Params) -> float:
    return float(_contacts(rods, setup, params).crossed)


def _hexatic_order(rods: np.ndarray, setup: Setup, params: Params) -> float:
    from engine.observables.order import hexatic

    side = side_apart(params.space_size, setup.boundary)
    return abs(complex(hexatic(rods[:, :2], side).mean()))


def _number_variance(rods: np.ndarray, setup: Setup, params: Params) -> float:
    from engine.observables.density import counts, fluctuation

    if not setup.periodic:
        # Parts of the box differ there by what of them is within the walls.
        return math.nan
    found = counts(rods[:, :2], params.space_size, np.array([PARTS]))
    return float(fluctuation(found)[0] ** 2 / found.mean[0])


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
    "number_variance": Observed(
        "σ_N²/N̄", "",
        "Variance of the number of rods in a sixteenth of the box over its mean; 15/16 for "
        "independent places. NaN within walls.",
        _number_variance,
    ),
    "hexatic_order": Observed("|⟨ψ₆⟩|", "", "Hexatic order of the centres.", _hexatic_order),
    "largest_overlap": Observed("", "", "Largest 1 − |e|/d of a pair.", _largest_overlap),
    "crossed_pairs": Observed("", "", "Number of pairs whose core lines cross.", _crossed_pairs),
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
