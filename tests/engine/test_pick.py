# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rods are at a place, and which a rod touches, against a search over all pairs."""

import itertools
import math

import numpy as np
import pytest

from engine import Params
from engine.pick import contacts_of, distances, nearest_rod, rods_within
from engine.snapshot import Snapshot
from tests.oracle.segments import ends, segment_distance


def rods(*rows: tuple[float, float, float], box: float = 20.0) -> Snapshot:
    table = np.array([(*row, 1.0) for row in rows], np.float32)
    return Snapshot(table, 0, 0.0, Params(space_size=box, length=4.0, radius=0.5))


def crowd(seed: int) -> Snapshot:
    values = np.random.default_rng(seed).random((60, 3)) * (20, 20, 2 * math.pi)
    return rods(*map(tuple, values))


def touching(snapshot: Snapshot, row: int) -> int:
    """With how many the rod overlaps, by the exact distance over all images."""
    box, length = snapshot.params.space_size, snapshot.params.length
    here = ends(snapshot.pos[row].astype(float), float(snapshot.theta[row]), length)
    found = 0
    for other in range(snapshot.n):
        images = itertools.product((-box, 0.0, box), repeat=2)
        apart = [
            segment_distance(
                *here,
                *ends(snapshot.pos[other] + np.array(by), float(snapshot.theta[other]), length),
            )
            for by in images
        ]
        found += other != row and min(apart) < 2 * snapshot.params.radius
    return found


def test_contacts_are_those_of_a_search_over_all_pairs() -> None:
    snapshot = crowd(1)
    expected = [touching(snapshot, row) for row in range(snapshot.n)]
    assert max(expected) > 4
    assert [contacts_of(snapshot, row) for row in range(snapshot.n)] == expected


@pytest.mark.parametrize(
    ("other", "touches"),
    [
        ((10.0, 10.0, 0.0), True),  # in the same place
        ((10.0, 10.99, 0.0), True),  # side by side
        ((10.0, 11.01, 0.0), False),
        ((14.99, 10.0, 0.0), True),  # head on
        ((15.01, 10.0, math.pi), False),
        ((10.5, 10.5, math.pi / 2), True),  # crossing
        ((12.0, 12.99, math.pi / 2), True),  # upon an end
        ((12.0, 13.01, math.pi / 2), False),
    ],
)
def test_contacts_in_the_plainest_positions(other: tuple, touches: bool) -> None:
    assert contacts_of(rods((10, 10, 0), other), 0) == int(touches)


def test_contacts_reach_across_the_edge_and_a_lone_rod_has_none() -> None:
    assert contacts_of(rods((0.3, 0.3, 0.4), (19.6, 19.9, 0.4)), 1) == 1
    assert contacts_of(rods((0.3, 0.3, 0.4)), 0) == 0


@pytest.mark.parametrize("within", [0.0, 0.7, 3.0])
def test_no_rod_is_missed_by_the_coarse_search(within: float) -> None:
    snapshot = crowd(3)
    for x, y in np.random.default_rng(4).random((40, 2)) * 20:
        apart = distances(snapshot, x, y)
        expected = np.flatnonzero(apart <= within)
        assert rods_within(snapshot, x, y, within).tolist() == expected.tolist()
        nearest = nearest_rod(snapshot, x, y, within)
        assert nearest == (int(np.argmin(apart)) if len(expected) else None)
