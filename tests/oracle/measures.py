# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures of rods in float64, from all pairs; clusters by walking from rod to rod."""

from __future__ import annotations

import numpy as np

from tests.oracle.reference import Array, ModelParams, Rods, pairs, velocities


def distances(state: Rods, params: ModelParams) -> Array:
    """Between the contact points of every two rods (N, N); infinite of a rod from itself."""
    found = np.sqrt((pairs(state, params).e ** 2).sum(-1))
    np.fill_diagonal(found, np.inf)
    return found


def measures(state: Rods, params: ModelParams) -> dict[str, Array]:
    """Every measure by its name, (N,) each."""
    apart, width = distances(state, params), 2 * params.radius
    velocity, _ = velocities(state, params)
    touching = apart < width
    return {
        "speed": np.sqrt((velocity**2).sum(-1)),
        "velocity_x": velocity[:, 0],
        "velocity_y": velocity[:, 1],
        "local_density": (apart < params.sensing_range).sum(1).astype(float),
        "overlap": np.maximum(0, 1 - apart / width).max(1),
        "contacts": touching.sum(1).astype(float),
        "cluster": cluster_sizes(touching),
    }


def cluster_sizes(touching: np.ndarray) -> Array:
    """How many rods can be walked to from each, over those that touch (N, N), itself too."""
    n = len(touching)
    sizes, seen = np.zeros(n), np.zeros(n, bool)
    for first in range(n):
        if seen[first]:
            continue
        members, waiting = [], [first]
        seen[first] = True
        while waiting:
            at = waiting.pop()
            members.append(at)
            for other in np.flatnonzero(touching[at] | touching[:, at]):
                if not seen[other]:
                    seen[other] = True
                    waiting.append(int(other))
        sizes[members] = len(members)
    return sizes
