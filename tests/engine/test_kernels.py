# SPDX-License-Identifier: GPL-3.0-or-later
"""Both kernels against the float64 reference, on random and on degenerate rods."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine import seam
from tests.oracle import reference
from tests.oracle.reference import Rods, defaults

KERNELS = pytest.mark.parametrize("kernel", seam.KERNEL_NAMES)


def box_for(n: int, phi: float, length: float, radius: float) -> float:
    return math.sqrt(n * (2 * radius * length + math.pi * radius**2) / phi)


def check_against_reference(
    kernel: str, rods: Rods, values, size: int = seam.SUMS_SIZE
) -> tuple[reference.Sums, reference.Sums]:
    """The kernel's sums, each within its honest rounding of the reference's; returns both."""
    params = seam.params_of(values)
    rods = seam.single(rods, params)
    got = seam.kernel_sums(kernel, rods, params, size)
    return got, seam.agrees(got, rods, params)


@KERNELS
@pytest.mark.parametrize("phi", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("aspect", [2, 3, 5, 10, 16])
def test_random_rods(kernel, aspect, phi):
    length, n = aspect - 1.0, 333
    values = defaults(
        length=length,
        space_size=max(box_for(n, phi, length, 0.5), 2 * (length + 2)),
        w_d=0.75,
        w_a=1.5,
    )
    rods = seam.random_rods(np.random.default_rng(aspect), n, values)
    got, expected = check_against_reference(kernel, rods, values)

    # The bound above covers the worst rod; on the whole the kernel is far better than that.
    for mine, true in zip(got, expected, strict=True):
        assert np.sqrt(np.mean(true**2)) > 0
        error = np.sqrt(np.mean((mine - true) ** 2)) / np.sqrt(np.mean(true**2))
        assert error < 2e-4


@KERNELS
def test_other_sizes_and_weights(kernel):
    """Radius, stiffness and box far from one, so that no unit hides; w_d negative."""
    values = defaults(
        length=0.031, radius=0.004, space_size=0.35, k_cc=7000.0, sensing_range=0.02, w_d=-1, w_a=0
    )
    rods = seam.random_rods(np.random.default_rng(0), 333, values)
    _, expected = check_against_reference(kernel, rods, values)
    assert np.abs(expected.force).max() > 1
    assert np.all(expected.sensed <= 0)


# In arrays of just their size: of one rod, and of one block (64 on a CPU) and one more; other tests
# have arrays of several blocks, of which the last is not filled.
@pytest.mark.parametrize(
    ("kernel", "n"), [("naive", 1), ("rowsum", 1), ("rowsum", 64), ("rowsum", 65)]
)
def test_any_number_of_rods(kernel, n):
    values = defaults(space_size=max(12.0, box_for(n, 0.6, 4.0, 0.5)))
    rods = seam.random_rods(np.random.default_rng(n), n, values)
    check_against_reference(kernel, rods, values, size=n)


@KERNELS
def test_a_lone_rod_feels_and_senses_nothing(kernel):
    params = seam.params_of(defaults(space_size=12.0))
    lone = [
        seam.single(reference.rods([[3.0, 11.0]], [theta], [1.0]), params)
        for theta in np.linspace(-3, 3, 7)
    ]
    for sums in seam.kernel_sums_of_each(kernel, lone, params):
        assert not any(values.any() for values in sums)


# Two rods of length 4 and width 1: (offset of the second rod, its angle, exact overlap or None).
# The offset is along and across the first rod, which lies at an arbitrary angle.
PAIRS = {
    "side by side": ((0.0, 0.7), 0.0, 0.3),
    "side by side, shifted": ((1.5, 0.7), 0.0, None),
    "antiparallel": ((0.0, 0.7), math.pi, 0.3),
    "touching exactly": ((0.0, 1.0), 0.0, None),
    "tip to tip": ((4.6, 0.0), 0.0, 0.4),
    "tip to tip, head on": ((4.6, 0.0), math.pi, 0.4),
    "collinear, overlapping cores": ((2.0, 0.0), 0.0, None),
    "tip on the side": ((0.0, 2.7), math.pi / 2, 0.3),
    "crossing off centre": ((0.5, 0.3), math.pi / 2, None),
    "nearly parallel 1e-7": ((0.0, 0.8), 1e-7, None),
    "nearly parallel 1e-5": ((0.5, 0.8), 1e-5, None),
    "nearly parallel 3e-4": ((-0.5, 0.8), 3e-4, None),
    "nearly parallel 1e-2": ((0.0, 0.8), 1e-2, None),
    "nearly parallel, nearly coincident": ((0.0, 0.01), 1e-3, None),
    "out of touch": ((0.0, 1.5), 0.3, None),
    "out of reach": ((7.0, 7.0), 0.3, None),
}


EDGES = [
    (20, 20), (0, 20), (39.999, 20), (20, 0), (20, 39.999), (0, 0), (39.999, 0), (39.999, 39.999),
]  # fmt: skip


@KERNELS
@pytest.mark.parametrize("name", PAIRS)
def test_two_rods_inside_and_across_every_edge(kernel, name):
    (along, across), turn, overlap = PAIRS[name]
    params = seam.params_of(defaults(space_size=40.0, k_cc=10.0))
    pairs = []
    for where, angle in itertools.product(EDGES, (0.0, 0.7, math.pi / 2, -2.5)):
        u, v = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        other = np.array(where) + along * u + across * v
        rods = reference.rods([where, other], [angle, angle + turn], [0.3, 1.0])
        pairs.append(seam.single(rods, params))
    for rods, sums in zip(pairs, seam.kernel_sums_of_each(kernel, pairs, params), strict=True):
        seam.agrees(sums, rods, params)
        force, torque, sensed = sums
        np.testing.assert_allclose(force[0], -force[1], rtol=0, atol=1e-4)
        if overlap is not None:
            assert np.hypot(*force[0]) == pytest.approx(10.0 * overlap, rel=1e-3)
        if name.startswith("tip to tip"):
            np.testing.assert_allclose(torque, 0, atol=1e-3)
        if name == "out of reach":
            assert not sensed.any()
        else:
            np.testing.assert_allclose(sensed, [2.0, 1.3], rtol=1e-6)


@KERNELS
def test_rods_with_the_same_centre(kernel):
    """e = 0 has no direction: whatever is taken must be finite, bounded and act on both alike.
    The rods are two, so they sense each other; only a rod itself is masked."""
    params = seam.params_of(defaults(space_size=40.0))
    pairs = [
        seam.single(reference.rods([[3.0, 4.0]] * 2, [0.4, 0.4 + turn], [1.0, 0.0]), params)
        for turn in (0.0, math.pi, math.pi / 2, 1.0)
    ]
    for force, torque, sensed in seam.kernel_sums_of_each(kernel, pairs, params):
        assert np.isfinite(force).all()
        assert np.isfinite(torque).all()
        assert np.hypot(*force.T).max() <= 60.0 * 1.001
        np.testing.assert_allclose(force.sum(0), 0, atol=1e-5)
        np.testing.assert_allclose(sensed, [1.0, 2.0])


@KERNELS
def test_many_coincident_rods_stay_finite(kernel):
    values = defaults(space_size=40.0)
    rods = reference.rods(np.full((200, 2), 7.0), np.full(200, 0.3), np.ones(200))
    sums = seam.kernel_sums(kernel, rods, seam.params_of(values))
    assert all(np.isfinite(s).all() for s in sums)
    np.testing.assert_allclose(sums.sensed, 2.0 * 199)


def layouts(n: int, box: float) -> dict[str, np.ndarray]:
    """Places (n, 2) that are hard on a kernel that sorts rods or cuts the box into strips."""
    rng = np.random.default_rng(7)
    free = rng.uniform(0, box, (n, 2))
    last = np.nextafter(np.float32(box), np.float32(0))
    column = free.copy()
    column[:, 0] = 5.0
    on_edge = free.copy()
    on_edge[:, 0] = np.where(np.arange(n) % 2, 0.0, last)
    clumps = free.copy()
    clumps[:, 0] = np.where(np.arange(n) % 3 == 0, free[:, 0] * 0.02, box - 0.02 * free[:, 0])
    corner = np.mod(rng.normal(0, 3.0, (n, 2)), box)
    void = free.copy()
    void[:, 0] = box * (0.3 + 0.1 * rng.uniform(size=n))
    row = free.copy()
    row[:, 1] = 5.0
    return {
        "one column": column,
        "one row": row,
        "on the edges": on_edge,
        "clumps at both edges": clumps,
        "around the corner": corner,
        "one strip, empty elsewhere": void,
        "sorted along x": free[np.argsort(free[:, 0])],
        "sorted backwards": free[np.argsort(-free[:, 0])],
    }


@KERNELS
@pytest.mark.parametrize("box", [12.0, 40.0, 700.0], ids=["least box", "box", "huge box"])
@pytest.mark.parametrize("name", list(layouts(2, 12.0)))
def test_crowded_and_empty_strips(kernel, box, name):
    n = 200
    values = defaults(space_size=box)
    rng = np.random.default_rng(8)
    rods = Rods(layouts(n, box)[name], rng.uniform(-np.pi, np.pi, n), rng.uniform(0, 1, n))
    check_against_reference(kernel, rods, values)


@KERNELS
def test_one_far_pair_in_an_almost_empty_box_is_found(kernel):
    """Two rods that touch only across an edge, 198 others far away: no strip may be skipped."""
    rng = np.random.default_rng(9)
    for gap in (0.0, 2.3, 4.9):
        pos = np.column_stack([rng.uniform(300, 400, 200), rng.uniform(0, 700, 200)])
        pos[17], pos[101] = (0.0, 30.0), (700.0 - gap, 30.0)
        theta = np.zeros(200)
        rods = Rods(pos, theta, np.ones(200))
        values = defaults(space_size=700.0, sensing_range=0.0 if gap else 1.0)
        _, expected = check_against_reference(kernel, rods, values)
        assert (np.hypot(*expected.force[17]) > 0.1) or gap == 0.0


@KERNELS
@pytest.mark.parametrize("shift", [10.0, -2.0], ids=["inside", "across the edge"])
@pytest.mark.parametrize(
    ("sensing", "gap"), [(2.0, 1.95), (0.5, 0.95)], ids=["at the sensing range", "at contact"]
)
def test_two_blocks_that_only_just_reach_each_other(kernel, shift, sensing, gap):
    """Two columns of 64 rods, tip to tip along x: each rod has one partner, in another block."""
    values = defaults(space_size=210.0, sensing_range=sensing)
    y = 3.2 * np.arange(64)
    pos = np.concatenate([np.column_stack([np.full(64, x), y]) for x in (shift, shift + 4 + gap)])
    _, sums = check_against_reference(kernel, Rods(pos, np.zeros(128), np.ones(128)), values)
    assert np.all(sums.sensed == (2.0 if gap < sensing else 0.0))
    assert np.all((np.abs(sums.force[:, 0]) > 1) == (gap < 1.0))


@KERNELS
def test_sensing_reaches_exactly_its_range(kernel):
    """Tip to tip along x across the edge, gap just below and just above the range, range > 2R."""
    params = seam.params_of(defaults(space_size=40.0, sensing_range=3.0))
    pairs = [
        reference.rods([[1.0, 20.0], [1.0 - 4.0 - gap + 40.0, 20.0]], [0, 0], [0.5, 0.25])
        for gap in (2.999, 3.001)
    ]
    near, far = seam.kernel_sums_of_each(kernel, pairs, params)
    np.testing.assert_allclose(near.sensed, [1.25, 1.5], rtol=1e-6)
    np.testing.assert_array_equal(far.sensed, [0, 0])


def test_nothing_is_sensed_at_range_zero_and_nothing_pushes_at_zero_stiffness():
    values = defaults(space_size=20.0, sensing_range=0.0, k_cc=0.0)
    rods = seam.random_rods(np.random.default_rng(3), 64, values)
    for kernel in seam.KERNEL_NAMES:
        assert not any(s.any() for s in seam.kernel_sums(kernel, rods, seam.params_of(values)))


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    spread=st.sampled_from([0.0, 1e-6, 0.05, 0.3, 1.0]),
    turn=st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 3.2]),
    length=st.floats(0.5, 9.0),
    radius=st.floats(0.2, 1.0),
    sensing=st.floats(0.0, 4.0),
    slack=st.floats(1.0, 5.0),
    w_d=st.floats(-2, 2),
    w_a=st.floats(-2, 2),
)
def test_arbitrary_clusters(seed, spread, turn, length, radius, sensing, slack, w_d, w_a):
    """24 rods, from coincident to scattered, from parallel to isotropic, about a random place."""
    rng = np.random.default_rng(seed)
    box = slack * 2.001 * (length + max(2 * radius, sensing))
    values = defaults(
        space_size=box, length=length, radius=radius, sensing_range=sensing, w_d=w_d, w_a=w_a
    )
    rods = Rods(
        rng.uniform(0, box, 2) + spread * rng.uniform(-box / 2, box / 2, (24, 2)),
        rng.uniform(-3, 3) + turn * rng.uniform(-1, 1, 24),
        rng.uniform(0, 1, 24),
    )
    for kernel in seam.KERNEL_NAMES:
        check_against_reference(kernel, rods, values)
