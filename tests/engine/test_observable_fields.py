# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields, spectra, defects and motion, against closed forms and what must hold of them."""

import math

import numpy as np
import pytest

from engine.observables import defects, fields, motion
from engine.observables.checked import ObservableError
from engine.observables.fields import Smoothing

SIDE = 30.0
K = math.tau / SIDE


def grid(cells: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(cells) * SIDE / cells
    return np.meshgrid(x, x)


@pytest.mark.parametrize("cells", [32, 33])
def test_vorticity_in_closed_form(cells):
    x, y = grid(cells)
    u = np.stack([-np.cos(K * x) * np.sin(2 * K * y), np.sin(3 * K * x)])
    expected = 3 * K * np.cos(3 * K * x) + 2 * K * np.cos(K * x) * np.cos(2 * K * y)
    omega = fields.vorticity(u, SIDE)
    np.testing.assert_allclose(omega, expected, atol=1e-12)
    assert fields.enstrophy(omega) == pytest.approx((9 / 2 + 4 / 4) * K**2 / 2)


@pytest.mark.parametrize("cells", [16, 17, 64])
def test_the_spectrum_sums_to_the_energy(cells):
    u = np.random.default_rng(cells).normal(size=(2, cells, cells)) + 0.3
    found = fields.energy_spectrum(u, SIDE)
    assert (found.energy * K).sum() == pytest.approx((u**2).sum(0).mean() / 2, rel=1e-12)
    np.testing.assert_allclose(found.k, K * np.arange(len(found.energy)))
    np.testing.assert_allclose(found.k, fields.wave_numbers(SIDE, cells))


def test_the_spectrum_of_one_wave():
    x, y = grid(32)
    found = fields.energy_spectrum(np.stack([2 * np.sin(K * (3 * x + 4 * y)), 0 * x]), SIDE)
    expected = np.zeros(len(found.energy))
    expected[5] = 1 / K
    np.testing.assert_allclose(found.energy, expected, atol=1e-12)


def test_a_rod_is_smoothed_to_a_gaussian_across_the_edge():
    how = Smoothing(120, 2.0)
    (found,) = fields.smoothed(np.array([[0.25, 29.9]]), np.array([[3.0]]), SIDE, how)
    x, y = grid(120)
    away = [np.abs(a - b) for a, b in ((x, 0.25), (y, 29.9))]
    square = sum(np.minimum(a, SIDE - a) ** 2 for a in away)
    expected = 3 / (math.tau * 4) * np.exp(-square / 8)
    # Cloud in cell widens it a little.
    np.testing.assert_allclose(found, expected, atol=0.01 * expected.max())
    assert found.sum() * (SIDE / 120) ** 2 == pytest.approx(3)
    assert fields.within(found, 2.0).max() == pytest.approx(3, rel=0.01)


def test_sums_are_kept_wherever_rods_are():
    rng = np.random.default_rng(0)
    pos = np.concatenate([rng.uniform(0, SIDE, (50, 2)), [[0, 0], [np.nextafter(SIDE, 0), -1e-18]]])
    weights = rng.normal(size=(2, 52))
    found = fields.smoothed(pos, weights, SIDE, Smoothing(20, 3.0))
    np.testing.assert_allclose(found.sum((1, 2)) * (SIDE / 20) ** 2, weights.sum(1))


def test_the_velocity_field_is_the_local_mean():
    how = Smoothing(64, 1.5)
    pos = np.random.default_rng(1).uniform(0, SIDE, (20000, 2))
    u = fields.velocity_field(pos, np.tile([2.0, -1.0], (20000, 1)), SIDE, how)
    np.testing.assert_allclose(u[0], 2)
    np.testing.assert_allclose(u[1], -1)
    shear = np.column_stack([np.sin(K * pos[:, 1]), np.zeros(len(pos))])
    u = fields.velocity_field(pos, shear, SIDE, how)
    _, y = grid(64)
    # The Gaussian leaves e^{−k²σ²/2} of a wave.
    np.testing.assert_allclose(u[0], np.sin(K * y) * math.exp(-((K * 1.5) ** 2) / 2), atol=0.05)


def test_a_lone_rod_moves_its_surroundings_alone():
    u = fields.velocity_field(
        np.array([[5.0, 5.0]]), np.array([[1.0, 0.0]]), SIDE, Smoothing(60, 2.0)
    )
    assert u[0].max() == pytest.approx(1, rel=0.02)
    x, y = grid(60)
    assert np.all(u[0][np.hypot(x - 5, y - 5) > 2.6] == 0)
    still = fields.velocity_field(np.zeros((0, 2)), np.zeros((0, 2)), SIDE, Smoothing(16, 4.0))
    assert np.all(still == 0)


def test_a_grid_fits_the_smoothing():
    assert fields.smoothing_for(100.0, 5.0) == Smoothing(40, 5.0)
    assert fields.smoothing_for(10.0, 5.0) == Smoothing(16, 5.0)
    assert fields.smoothing_for(1e4, 1.0, most=100) == Smoothing(100, 200.0)


def two_defects(apart: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rods about two +½ and two −½ defects in a periodic box."""
    rng = np.random.default_rng(seed)
    pos = rng.uniform(0, SIDE, (n, 2))
    x, y = math.tau * pos.T / SIDE
    # The phase of a product of theta-like functions, periodic, with four simple zeros.
    field = np.sin(x) + 1j * np.sin(y)
    return pos, np.angle(field) / 2 + apart


def test_defects_are_where_the_axes_turn():
    pos, theta = two_defects(0.4, 20000, 0)
    how = Smoothing(60, 0.8)
    found = defects.defects(pos, theta, SIDE, how)
    half = SIDE / 2
    # sin x + i sin y turns once about its zeros: the same way at (0, 0) and (½, ½), else the other.
    expected = {(0, 0): 0.5, (half, half): 0.5, (half, 0): -0.5, (0, half): -0.5}
    assert len(found.charge) == 4
    assert found.charge.sum() == 0
    for at, charge in expected.items():
        way = found.pos - np.array(at)
        way -= SIDE * np.round(way / SIDE)
        near = np.hypot(*way.T) < 1.0
        assert near.sum() == 1
        assert found.charge[near] == charge
    mean = 20000 / SIDE**2 * math.tau * 0.8**2
    np.testing.assert_allclose(found.rods, mean, rtol=0.2)


def test_turning_all_rods_or_by_half_turns_leaves_defects():
    pos, theta = two_defects(0.0, 5000, 3)
    how = Smoothing(40, 1.5)
    one = defects.defects(pos, theta, SIDE, how)
    flips = np.random.default_rng(1).integers(0, 2, 5000) * math.pi
    other = defects.defects(pos, theta + flips + 0.9, SIDE, how)
    np.testing.assert_array_equal(one.pos, other.pos)
    np.testing.assert_array_equal(one.charge, other.charge)


@pytest.mark.parametrize("seed", range(5))
def test_charges_sum_to_zero_whatever_the_rods(seed):
    rng = np.random.default_rng(seed)
    pos, theta = rng.uniform(0, SIDE, (40, 2)), rng.uniform(-9, 9, 40)
    found = defects.defects(pos, theta, SIDE, Smoothing(40, 1.5))
    assert len(found.charge) > 4
    assert found.charge.sum() == 0
    # Ties too: axes at right angles to their neighbours.
    axis = rng.integers(0, 4, (12, 12)) * math.pi / 4
    assert defects.charges(axis).sum() == 0
    assert np.all(defects.charges(axis) * 2 == np.rint(defects.charges(axis) * 2))


def test_aligned_rods_and_no_rod_have_no_defect():
    pos = np.random.default_rng(1).uniform(0, SIDE, (100, 2))
    assert len(defects.defects(pos, np.full(100, 1.2), SIDE, Smoothing(16, 4.0)).charge) == 0
    assert len(defects.defects(pos[:0], np.zeros(0), SIDE, Smoothing(16, 4.0)).charge) == 0
    assert len(defects.defects(pos[:1], np.zeros(1), SIDE, Smoothing(16, 4.0)).charge) == 0


TIMES = np.arange(400)
LAGS = (0, 1, 7, 64)


def walk(kind: str, rods: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Paths (T, N, 2) and angles (T, N)."""
    rng = np.random.default_rng(8)
    start = rng.uniform(0, SIDE, (rods, 2))
    if kind == "straight":
        angle = rng.uniform(0, math.tau, rods)
        way = TIMES[:, None, None] * 0.3 * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return start + way, np.tile(angle, (len(TIMES), 1))
    steps = rng.normal(0, 0.5, (len(TIMES), rods, 2))
    turns = rng.normal(0, 0.1, (len(TIMES), rods))
    return start + np.cumsum(steps, axis=0), np.cumsum(turns, axis=0)


def test_straight_motion_and_diffusion():
    path, theta = walk("straight")
    tau = np.array(LAGS, float)
    np.testing.assert_allclose(motion.mean_square_displacement(path, LAGS), (0.3 * tau) ** 2)
    np.testing.assert_allclose(motion.orientation_autocorrelation(theta, LAGS), 1)
    path, theta = walk("diffusion")
    msd = motion.mean_square_displacement(path, LAGS)
    np.testing.assert_allclose(msd, 2 * 0.25 * tau, rtol=0.12)
    # Each step of variance s² leaves e^{−s²/2}.
    alike = motion.orientation_autocorrelation(theta, LAGS)
    np.testing.assert_allclose(alike, np.exp(-0.005 * tau), atol=0.01)


@pytest.mark.parametrize("kind", ["straight", "diffusion"])
def test_paths_are_found_again_in_the_box(kind):
    path, _ = walk(kind)
    folded, images = path % SIDE, np.floor(path / SIDE).astype(np.int32)
    assert images.any()
    np.testing.assert_allclose(motion.paths(folded, images, SIDE), path)
    np.testing.assert_allclose(
        motion.unwrapped(folded, SIDE) - folded[0], path - path[0], atol=1e-9
    )


@pytest.mark.parametrize("kind", ["straight", "diffusion"])
def test_what_comes_state_by_state_is_what_whole_paths_say(kind):
    path, theta = walk(kind, rods=30)
    follow, found = motion.Motion(SIDE, 200), {}
    for at in range(len(TIMES)):
        for one in follow.add(path[at] % SIDE, theta[at], np.arange(30)):
            found.setdefault(one.lag, []).append((at, one.square, one.alike))
    assert sorted(found)[:12] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]
    assert max(found) == 192
    for lag, seen in found.items():
        for at, square, alike in seen:
            away = path[at] - path[at - lag]
            assert square == pytest.approx((away**2).sum(1).mean(), rel=1e-9)
            assert alike == pytest.approx(np.cos(theta[at] - theta[at - lag]).mean())
    for lag in (1, 5, 8):
        assert len(found[lag]) == len(TIMES) - lag
        mean = np.mean([square for _, square, _ in found[lag]])
        assert mean == pytest.approx(motion.mean_square_displacement(path, [lag])[0])
    steps = np.hypot(*np.moveaxis(np.diff(path, axis=0), -1, 0))
    assert follow.farthest == pytest.approx(steps.max())


def test_rods_that_come_and_go_are_followed_by_their_ids():
    path, theta = walk("straight", rods=20)
    follow, rng, checked = motion.Motion(SIDE, 4), np.random.default_rng(3), 0
    there: list[np.ndarray] = []
    for at in range(10):
        ids = rng.permutation(20)[: 20 - (at > 4) * 5] + (at > 6) * 2
        ids = ids[ids < 20]
        there.append(ids)
        for one in follow.add(path[at, ids] % SIDE, theta[at, ids], ids):
            # One that was away meanwhile may have gone round the box unseen.
            same = [i for i in ids if all(i in seen for seen in there[at - one.lag :])]
            away = path[at, same] - path[at - one.lag, same]
            assert one.square == pytest.approx((away**2).sum(1).mean())
            turn = theta[at, same] - theta[at - one.lag, same]
            assert one.alike == pytest.approx(np.cos(turn).mean())
            checked += len(same) < len(ids)
    assert checked > 5


def test_a_rod_that_comes_back_begins_a_new_path():
    follow = motion.Motion(10.0, 3)
    for x, expected in ((9.5, 0), (None, 0), (0.5, 0), (1.0, 1)):
        here = np.array([] if x is None else [[x, 0.0]]).reshape(-1, 2)
        ids = np.full(len(here), 7)
        found = follow.add(here, np.zeros(len(here)), ids)
        assert [one.lag for one in found] == [1] * expected  # none across the frame without it
    assert found[0].square == pytest.approx(0.25)


def test_motion_of_nothing_and_of_strangers():
    follow = motion.Motion(SIDE, 3)
    none = np.zeros((0, 2)), np.zeros(0), np.zeros(0, int)
    assert follow.add(*none) == []
    assert follow.add(np.ones((1, 2)), np.zeros(1), np.array([3])) == []
    assert follow.add(np.ones((1, 2)), np.zeros(1), np.array([4])) == []
    assert [one.lag for one in follow.add(np.ones((1, 2)), np.zeros(1), np.array([4]))] == [1]
    with pytest.raises(ObservableError, match="pos of rod 0"):
        follow.add(np.full((1, 2), math.nan), np.zeros(1), np.array([4]))


def test_lags_beyond_the_path_are_refused():
    path, theta = walk("straight", rods=1)
    with pytest.raises(ObservableError, match="lag = 400 is not possible: there are 400 frames"):
        motion.mean_square_displacement(path, [400])
    with pytest.raises(ObservableError, match="lag = -1"):
        motion.orientation_autocorrelation(theta, [-1])
