# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters: rods that are near each other and head about the same way."""

import math

import numpy as np
from jaxtyping import Int64

from engine.observables.checked import places
from engine.observables.pairs import near_cores

# Of two neighbours in a cluster: how far their cores may be apart, in body widths, and how
# far one may be turned.
NEAR = 1.1
TURNED = math.radians(30)


def cluster_labels(
    pos: np.ndarray, theta: np.ndarray, space_size: float, length: float, radius: float
) -> Int64[np.ndarray, "rods"]:
    """Which cluster each rod of `pos` (N, 2), l, and `theta` (N,) belongs to, from 0.

    Two rods belong together whose core lines are nearer than 1.1 body widths and whose headings
    differ by less than 30° (ours, after Peruani et al., Phys. Rev. E 74, 030904 (2006)), and so do
    rods that are linked by others. Time and memory follow the number of near pairs.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    at = places(pos, space_size)
    linked = [np.zeros((2, 0), np.int64)]
    for pairs, turn in near_cores(at, theta, space_size, length, NEAR * 2 * radius):
        aligned = turn < TURNED
        linked.append(np.stack([pairs.i[aligned], pairs.j[aligned]]))
    i, j = np.concatenate(linked, axis=1)
    graph = coo_array((np.ones(len(i), np.int8), (i, j)), (len(at), len(at)))
    if not len(at):
        return np.zeros(0, np.int64)
    _, label = connected_components(graph, directed=False)
    return label.astype(np.int64)


def cluster_sizes(label: Int64[np.ndarray, "rods"]) -> Int64[np.ndarray, "clusters"]:
    """How many rods each cluster has."""
    return np.bincount(label).astype(np.int64)


def weighted_mean_size(sizes: Int64[np.ndarray, "clusters"]) -> float:
    """Σm²/Σm, m the rods of a cluster: the mean size of the cluster that a rod is in.

    Stauffer & Aharony, Introduction to Percolation Theory (1994). Of no cluster it is NaN.
    """
    m = sizes.astype(np.float64)
    return float((m * m).sum() / m.sum()) if len(m) else math.nan


def size_distribution(
    sizes: Int64[np.ndarray, "clusters"], rods: int
) -> Int64[np.ndarray, "size_from_0"]:
    """How many clusters have m rods, for m = 0 … `rods`; Σ m n(m) is the number of rods.

    Peruani & Bär, New J. Phys. 15, 065009 (2013), whose p(m) is m n(m)/N.
    """
    return np.bincount(sizes, minlength=rods + 1).astype(np.int64)
