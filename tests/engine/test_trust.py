# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a state is to be trusted: crossed pairs and the deepest overlap."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from engine import Start
from engine.geometry import cores_meet
from engine.params import Physics
from engine.schema import warnings_of_state
from tests.engine import seam
from tests.engine.programs import FIFTY, fifty, setup_for
from tests.oracle import measures, reference, segments

# Centre and angle of two cores of length 4, exact in float32, and whether they have a point in
# common. Where they only touch, sines and cosines of both must be exact.
DEGENERATE = {
    "a cross": ((0, 0, 0), (0, 0, np.pi / 2), True),
    "a T": ((0, 0, 0), (0, 2, np.pi / 2), True),
    "a T with a gap": ((0, 0, 0), (0, 2.001, np.pi / 2), False),
    "a corner": ((0, 0, 0), (2, 2, np.pi / 2), True),
    "a corner with a gap": ((0, 0, 0), (2.001, 2, np.pi / 2), False),
    "the same": ((0, 0, 0), (0, 0, 0), True),
    "the same, turned about": ((0, 0, 0), (0, 0, np.pi), True),
    "on one line": ((0, 0, 0), (3, 0, 0), True),
    "end to end": ((0, 0, 0), (4, 0, 0), True),
    "end to end with a gap": ((0, 0, 0), (4.001, 0, 0), False),
    "side by side": ((0, 0, 0), (0, 0.001, 0), False),
    "side by side, aslant": ((0, 0, 0.7), (0.001, 0, 0.7), False),
    "nearly parallel, apart": ((0, 0, 0), (0, 0.001, 0.0001), False),
    "nearly parallel, crossed": ((0, 0, 0), (0.5, 0.0001, 0.001), True),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_cores_that_meet_are_told(name):
    one, other, meet = DEGENERATE[name]
    exact = {np.pi / 2: (0.0, 1.0), np.pi: (-1.0, 0.0)}
    cos_sin = [exact.get(rod[2], (np.cos(rod[2]), np.sin(rod[2]))) for rod in (one, other)]
    for sign in (1, -1):  # seen from either
        (a, b), (u, v) = ((one, other), cos_sin)[:2] if sign > 0 else ((other, one), cos_sin[::-1])
        numbers = (a[0] - b[0], a[1] - b[1], *u, *v, 4.0)
        assert bool(cores_meet(*(jnp.float32(number) for number in numbers))) == meet
    ends = [
        np.array(rod[:2]) + half * np.array(along)
        for rod, along in zip((one, other), cos_sin, strict=True) for half in (2, -2)
    ]  # fmt: skip
    assert segments.segments_meet(*ends) == meet


@pytest.mark.parametrize("kernel", seam.KERNEL_NAMES)
def test_crossed_pairs_and_the_deepest_overlap_are_those_of_all_pairs(kernel):
    rng = np.random.default_rng(2)
    rods = seam.random_rods(rng, 50, FIFTY)
    driver = fifty(kernel)
    begun = Start(rods.pos, rods.theta, rods.activity)
    driver.rebuild(setup_for(kernel, 50), FIFTY, 0, begun)
    before = driver.snapshot()
    found = driver.trust()
    assert found.crossed_pairs == crossed(rods, FIFTY.space_size)
    assert found.crossed_pairs > 5
    params = Physics(**vars(FIFTY))
    overlap = measures.measures(rods, params)["overlap"]
    assert found.deepest_overlap == pytest.approx(overlap.max(), abs=1e-4)
    assert found.step == 0
    assert driver.snapshot() is before
    # Pushed apart there are none.
    driver.rebuild(setup_for(kernel, 50), FIFTY, 3)
    assert driver.trust().crossed_pairs == 0
    assert driver.trust().deepest_overlap < 0.3


def crossed(rods: reference.Rods, box: float) -> int:
    """How many pairs have cores that meet, each by the nearest image."""
    total = 0
    for i in range(len(rods.theta)):
        for j in range(i):
            apart = reference.minimum_image(rods.pos[j] - rods.pos[i], box)
            one = segments.ends(np.zeros(2), rods.theta[i], 4.0)
            total += segments.segments_meet(*one, *segments.ends(apart, rods.theta[j], 4.0))
    return total


def test_a_pair_is_crossed_across_the_edge_too():
    driver = fifty("rowsum")
    pos = np.array([[0.5, 14.0], [27.5, 14.0]])
    start = Start(pos, np.array([0, np.pi / 2]), np.zeros(2))
    driver.rebuild(setup_for("rowsum", 2), replace(FIFTY, space_size=28.0), 0, start)
    assert driver.trust().crossed_pairs == 1


def test_a_state_that_is_not_to_be_trusted_is_told_of():
    assert warnings_of_state(0.5, 0) == ()
    (deep,) = warnings_of_state(0.72, 0)
    assert "0.7 body widths" in deep
    assert "raise k_cc" in deep
    (crossing,) = warnings_of_state(0.2, 3)
    assert crossing.startswith("3 pairs of rods lie across")
