# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold for any configuration: conservation laws and symmetries of the sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine import seam
from tests.oracle import reference, rounding
from tests.oracle.reference import Rods, Sums, defaults

N = 100
BOX = 32.0  # a power of two, so that shifts by eighths and reflections are exact in float32


def crowd(seed: int, spread: float = 1.0, turn: float = 1.0):
    """Rods whose coordinates are multiples of 2^-10, and the parameters."""
    params = seam.params_of(defaults(space_size=BOX, w_d=0.5, w_a=1.25))
    rng = np.random.default_rng(seed)
    pos = np.mod(BOX / 2 + spread * rng.uniform(-BOX / 2, BOX / 2, (N, 2)), BOX)
    pos = np.mod(np.round(pos * 1024) / 1024, BOX)
    theta = turn * rng.uniform(-np.pi, np.pi, N)
    return seam.single(Rods(pos, theta, rng.uniform(0, 1, N)), params), params


def bounds(rods: Rods, params) -> Sums:
    allowed = rounding.bounds(reference.pairs(rods, params), rods, params)
    return Sums(allowed.force + 1e-5, allowed.torque + 1e-4, allowed.sensed + 1e-5)


def same(got: Sums, expected: Sums, allowed: Sums) -> None:
    """Equal, each of the two having its own rounding."""
    assert np.all(np.hypot(*(got.force - expected.force).T) <= 2 * allowed.force)
    assert np.all(np.abs(got.torque - expected.torque) <= 2 * allowed.torque)
    assert np.all(np.abs(got.sensed - expected.sensed) <= 2 * allowed.sensed)


CROWDS = pytest.mark.parametrize(
    ("spread", "turn"), [(1.0, 1.0), (0.4, 1.0), (0.4, 0.001), (0.1, 0.3)]
)
KERNELS = pytest.mark.parametrize("kernel", seam.KERNEL_NAMES)


@KERNELS
@CROWDS
def test_forces_sum_to_zero(kernel, spread, turn):
    rods, params = crowd(1, spread, turn)
    force = seam.kernel_sums(kernel, rods, params).force
    scale = np.abs(reference.pairs(rods, params).force).sum()
    assert np.abs(force.sum(0)).max() <= 2e-6 * scale + np.sqrt(N) * 1e-5


@KERNELS
@CROWDS
def test_an_isolated_cluster_exerts_no_torque_on_itself(kernel, spread, turn):
    """Sum of x F plus sum of torques = 0; the cluster fits in half a box, so no image enters."""
    rods, params = crowd(2, min(spread, 0.4), turn)
    force, torque, _ = seam.kernel_sums(kernel, rods, params)
    about = rods.pos - BOX / 2
    total = (about[:, 0] * force[:, 1] - about[:, 1] * force[:, 0] + torque).sum()
    p = reference.pairs(rods, params)
    # Positions and arms are at most a quarter of the box; float32 sums of N x contacts terms.
    scale = np.abs(p.force).sum() * BOX / 4 + np.abs(p.torque).sum()
    assert scale > 10
    assert abs(total) <= 1e-6 * scale + rounding.bounds(p, rods, params).torque.max()


@KERNELS
@CROWDS
def test_translation(kernel, spread, turn):
    rods, params = crowd(3, spread, turn)
    expected, allowed = seam.kernel_sums(kernel, rods, params), bounds(rods, params)
    for shift in ([16.0, 0.0], [0.0, 16.0], [7.125, -3.25], [31.875, 31.875]):
        moved = rods._replace(pos=np.mod(rods.pos + shift, BOX))
        same(seam.kernel_sums(kernel, moved, params), expected, allowed)


@KERNELS
@CROWDS
def test_rotation_by_a_right_angle(kernel, spread, turn):
    rods, params = crowd(4, spread, turn)
    expected, allowed = seam.kernel_sums(kernel, rods, params), bounds(rods, params)
    # (x, y) -> (L - y, x), an exact map of the torus onto itself.
    turned = Rods(
        np.mod(np.stack([BOX - rods.pos[:, 1], rods.pos[:, 0]], axis=1), BOX),
        rods.theta + np.pi / 2,
        rods.activity,
    )
    back = np.stack([-expected.force[:, 1], expected.force[:, 0]], axis=1)
    got = seam.kernel_sums(kernel, seam.single(turned, params), params)
    same(got, Sums(back, expected.torque, expected.sensed), allowed)


@KERNELS
@CROWDS
def test_mirror(kernel, spread, turn):
    """y -> -y turns forces over and torques about."""
    rods, params = crowd(5, spread, turn)
    expected, allowed = seam.kernel_sums(kernel, rods, params), bounds(rods, params)
    mirrored = Rods(
        np.mod(np.stack([rods.pos[:, 0], BOX - rods.pos[:, 1]], axis=1), BOX),
        -rods.theta,
        rods.activity,
    )
    got = seam.kernel_sums(kernel, mirrored, params)
    same(got, Sums(expected.force * np.array([1, -1]), -expected.torque, expected.sensed), allowed)


@KERNELS
@CROWDS
def test_permutation(kernel, spread, turn):
    rods, params = crowd(6, spread, turn)
    expected, allowed = seam.kernel_sums(kernel, rods, params), bounds(rods, params)
    order = np.random.default_rng(0).permutation(N)
    got = seam.kernel_sums(kernel, Rods(*(values[order] for values in rods)), params)
    same(
        got,
        Sums(*(values[order] for values in expected)),
        Sums(*(values[order] for values in allowed)),
    )


@KERNELS
@CROWDS
def test_contacts_know_no_head_and_tail(kernel, spread, turn):
    """Turning every second rod end for end changes neither force nor torque nor sensing."""
    rods, params = crowd(7, spread, turn)
    expected, allowed = seam.kernel_sums(kernel, rods, params), bounds(rods, params)
    flipped = rods._replace(theta=rods.theta + np.pi * (np.arange(N) % 2))
    same(seam.kernel_sums(kernel, seam.single(flipped, params), params), expected, allowed)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), spread=st.floats(0.05, 1), turn=st.floats(0, 1))
def test_both_kernels_agree(seed, spread, turn):
    rods, params = crowd(seed, spread, turn)
    first, second = (seam.kernel_sums(kernel, rods, params) for kernel in ("naive", "rowsum"))
    same(first, second, bounds(rods, params))
