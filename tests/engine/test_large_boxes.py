# SPDX-License-Identifier: GPL-3.0-or-later
"""Boxes of a million rods: float32 positions are coarse there, and rods must move all the same.

Near 4,000 two neighbouring float32 numbers are 2.4e-4 apart, near 1,700 half of that. A rod that
moves by less in a step would stand still, or go at a wrong speed, if each step were rounded for
itself.
"""

import numpy as np
import pytest

from engine import Driver, Params, Setup, Start
from tests.engine.programs import shared_programs
from tests.oracle import reference

# The standard benchmark's box for 10⁶ rods, the presets', and one whose reciprocal is rounded up:
# times that, the last place inside is 1.
BOXES = pytest.mark.parametrize("box", [1742.0, 2000.0, 3990.0])
DIRECTIONS = np.pi * np.array([0.0, 1.0, 0.5, 0.25, -0.75, 0.76])
# Steps in a length of 4 and a time step of 0.001, from far below the grain of a place to above it.
STRIDES = 4e-4 * np.array([1.0, 0.075, 0.0025])


@pytest.fixture(scope="module")
def large_crowd() -> Driver:
    """Twenty rods on neighbour lists."""
    params = Params(space_size=1000.0)
    with shared_programs():
        return Driver(Setup(rods=20, kernel="neighbours"), params, start=patch(params))


def patch(params: Params, where: float = 0.5) -> Start:
    """Twenty active rods at phi = 0.4 about a place on the diagonal of the box."""
    rng = np.random.default_rng(3)
    pos = np.mod(where * params.space_size + rng.uniform(-8, 8, (20, 2)), params.space_size)
    return Start(pos, rng.uniform(-np.pi, np.pi, 20), np.ones(20))


def travellers(box: float, steps: int) -> tuple[Start, np.ndarray]:
    """Lone rods of every stride in every direction, and the way (N, 2) that each will go.

    A third of them starts inside the box; the others cross an edge after 3/10 of their way.
    """
    theta, stride, kind = (a.ravel() for a in np.meshgrid(DIRECTIONS, STRIDES, np.arange(3)))
    activity = np.float32(stride / STRIDES[0])
    theta = np.float64(np.float32(theta))
    heading = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    way = steps * STRIDES[0] * np.float64(activity)[:, None] * heading
    # Twenty rod lengths apart.
    beside = 100.0 + 30.0 * np.arange(len(theta))
    pos = np.stack([beside, 0.7 * box - beside / 3], axis=1)
    for edge, axis in ((1, 0), (2, 1)):
        at = kind == edge
        pos[at, axis], pos[at, 1 - axis] = -0.3 * way[at, axis], beside[at]
    return Start(np.float64(np.float32(np.mod(pos, box))), theta, activity), way


@BOXES
def test_slow_rods_travel_at_their_speed(large_crowd, box):
    steps = 10_000
    # A hard threshold and a long memory keep the activities.
    params = Params(
        space_size=box, F_prop=8 * STRIDES[0] / 0.001, dt=0.001,
        tau_a=1e9, activity_thresh=9.0, activity_width=0.0,
    )  # fmt: skip
    start, way = travellers(box, steps)
    large_crowd.rebuild(Setup(rods=len(way), kernel="neighbours"), params, start=start)
    end = large_crowd.advance(steps)
    assert np.array_equal(end.activity, start.activity)
    travelled = reference.minimum_image(np.float64(end.pos) - start.pos, box)
    # What float32 can say of a place, and of a speed.
    grain = float(np.spacing(np.float32(box)))
    np.testing.assert_allclose(travelled, way, rtol=2e-6, atol=1.01 * grain)


@BOXES
@pytest.mark.parametrize("where", [0.6, 0.0], ids=["far from the origin", "across the corner"])
def test_a_crowd_follows_the_reference(large_crowd, box, where):
    """400 steps of at most 3e-4, a tenth of a body width: before chaos."""
    params = Params(
        space_size=box, F_prop=0.8, k_cc=20.0, dt=0.003, sensing_range=0.0,
        activity_thresh=-9.0, activity_width=0.0,
    )  # fmt: skip
    start = patch(params, where)
    large_crowd.rebuild(Setup(rods=20, kernel="neighbours"), params, start=start)
    start = large_crowd.snapshot()
    got = large_crowd.advance(400)
    exact = Params(**{k: float(np.float32(v)) for k, v in vars(params).items()})
    true = reference.run(reference.rods(start.pos, start.theta, start.activity), exact, 400)
    off = np.hypot(*reference.minimum_image(got.pos - true.pos, box).T)
    grain = float(np.spacing(np.float32(box)))
    assert np.median(off) < grain
    assert off.max() < 20 * grain
