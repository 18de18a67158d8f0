# SPDX-License-Identifier: GPL-3.0-or-later
"""Single-rod geometry against exact geometry in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.geometry import (
    CONTACT_EPSILON,
    closest_points,
    endpoints,
    periodic_displacement,
    wrap_angle,
    wrap_position,
)
from tests.oracle import segments

ASPECTS = [2, 3, 5, 10, 16]
PAIRS = 4000


def f32(values):
    return jnp.asarray(values, jnp.float32)


def random_pairs(seed: int, length: float):
    """r, and two angles; a third of the pairs nearly parallel down to 1e-7."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(-np.pi, np.pi, PAIRS)
    b = rng.uniform(-np.pi, np.pi, PAIRS)
    close = slice(None, None, 3)
    b[close] = (
        a[close]
        + 10.0 ** rng.uniform(-7, -1, len(b[close]))
        + np.pi * rng.integers(0, 2, len(b[close]))
    )
    r = rng.uniform(-1, 1, (PAIRS, 2)) * (length + 1)
    return np.float32(r), np.float32(a), np.float32(b)


def engine_contact(r, a, b, length: float, eps: float):
    points = jax.jit(closest_points)(
        *f32(r).T, jnp.cos(a), jnp.sin(a), jnp.cos(b), jnp.sin(b), f32(length), f32(eps)
    )
    return (np.asarray(values, np.float64) for values in points)


def exact_distance(r, a, b, length: float) -> np.ndarray:
    """NaN where the segments cross."""
    found = []
    for centre, first, second in zip(np.float64(r), np.float64(a), np.float64(b), strict=True):
        d = segments.segment_distance(
            *segments.ends(centre, first, length), *segments.ends(np.zeros(2), second, length)
        )
        found.append(d if d > 0 else np.nan)
    return np.array(found)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_closest_points_without_regularisation_are_those_of_segments(aspect):
    """Physics, Checks: to 1e-4 d with eps = 1e-9. In float32 nearly parallel rods need a larger eps
    to keep any digit of s, so these are compared in the next test only."""
    length = aspect - 1.0
    r, a, b = random_pairs(aspect, length)
    apart = np.abs(np.sin(np.float64(a) - b)) > 0.05
    r, a, b = r[apart], a[apart], b[apart]
    _, _, x, y = engine_contact(r, a, b, length, 1e-9)
    exact = exact_distance(r, a, b, length)
    uncrossed = ~np.isnan(exact)
    assert uncrossed.sum() > 500
    np.testing.assert_allclose(np.hypot(x, y)[uncrossed], exact[uncrossed], rtol=0, atol=1e-4)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_regularised_distance_of_true_contacts_is_within_2_5_percent(aspect):
    length = aspect - 1.0
    r, a, b = random_pairs(10 + aspect, length)
    _, _, x, y = engine_contact(r, a, b, length, CONTACT_EPSILON / length**2)
    exact = exact_distance(r, a, b, length)
    contact = (exact >= 0.8) & (exact < 1.0)
    assert contact.sum() > 40
    assert np.abs(np.hypot(x, y) - exact)[contact].max() < 0.025


@pytest.mark.parametrize("aspect", ASPECTS)
def test_contact_points_solve_the_contact_problem(aspect):
    """Against an enumeration of all candidates, nearly parallel rods included."""
    length = aspect - 1.0
    eps = CONTACT_EPSILON / length**2
    r, a, b = random_pairs(20 + aspect, length)
    s, t, x, y = engine_contact(r, a, b, length, eps)
    axes = [np.stack([np.cos(q), np.sin(q)], axis=1) for q in (np.float64(a), np.float64(b))]
    expected = np.array(
        [
            segments.contact_by_enumeration(*case, length / 2, float(np.float32(eps)))
            for case in zip(np.float64(r), *axes, strict=True)
        ]
    )
    # Round-off of r, 1e-7 of the length, amplified by 1/(2 eps) (tests/oracle/rounding.py).
    arc = 8 * 2.0**-24 * (2 * length + 1) / (2 * eps)
    np.testing.assert_allclose(s, expected[:, 0], rtol=0, atol=arc)
    np.testing.assert_allclose(t, expected[:, 1], rtol=0, atol=arc)
    e = np.float64(r) + expected[:, :1] * axes[0] - expected[:, 1:] * axes[1]
    near = np.hypot(*e.T) < 1.0
    error = np.hypot(x - e[:, 0], y - e[:, 1])
    assert error[near].max() < 8 * 2.0**-24 * (2 * length + 1) / np.sqrt(eps)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_contact_points_are_the_same_seen_from_either_rod(aspect):
    """Else torques do not cancel; the plain closest point fails this by half a length."""
    length = aspect - 1.0
    eps = CONTACT_EPSILON / length**2
    r, a, b = random_pairs(30 + aspect, length)
    s, t, x, y = engine_contact(r, a, b, length, eps)
    t2, s2, x2, y2 = engine_contact(-r, b, a, length, eps)
    arc = 8 * 2.0**-24 * (2 * length + 1) / (2 * eps)
    assert arc < 0.03 * length
    near = np.hypot(x, y) < 1.0
    for first, second in ((s, s2), (t, t2), (x, -x2), (y, -y2)):
        np.testing.assert_allclose(first[near], second[near], rtol=0, atol=arc)


def test_parallel_rods_touch_at_the_middle_of_their_shared_part():
    length, eps = 4.0, CONTACT_EPSILON / 16
    for shift in (0.0, 1.0, -2.0, 3.0):
        s, t, x, y = (
            float(v)
            for v in closest_points(
                f32(shift), f32(0.9), f32(1), f32(0), f32(1), f32(0), f32(length), f32(eps)
            )
        )
        # x stays within the regularisation of zero: eps/(2 + eps) of the shift.
        assert s == pytest.approx(-shift / 2, abs=0.011 * abs(shift) + 1e-6)
        assert t == pytest.approx(shift / 2, abs=0.011 * abs(shift) + 1e-6)
        assert x == pytest.approx(0, abs=0.011 * abs(shift) + 1e-6)
        assert y == pytest.approx(0.9)


def test_coincident_rods_give_finite_points():
    points = closest_points(*(f32(v) for v in (0, 0, 0.6, 0.8, 0.6, 0.8, 4, 0.01)))
    assert all(np.isfinite(np.asarray(v)) for v in points)
    assert float(points.x) == float(points.y) == 0.0


@given(
    st.floats(-3e3, 3e3, width=32),
    st.floats(12, 1e3, width=32),
)
def test_periodic_displacement_is_the_least_image(delta, space_size):
    got = float(periodic_displacement(f32(delta), f32(space_size)))
    images = np.float64(delta) + np.float64(space_size) * np.arange(-300, 301)
    least = np.abs(images).min()
    # One rounding of the largest number that occurs.
    assert abs(got) == pytest.approx(least, abs=2.0**-23 * max(abs(delta), space_size))
    assert np.abs(images - got).min() <= 2.0**-23 * max(abs(delta), space_size)


@given(st.floats(-1e4, 1e4, width=32), st.floats(12, 1e3, width=32))
def test_wrapped_positions_lie_in_the_box(pos, space_size):
    got = float(wrap_position(f32(pos), f32(space_size))[0])
    assert 0.0 <= got < space_size
    exact = np.mod(np.float64(pos), np.float64(space_size))
    off = abs(got - exact)
    assert min(off, space_size - off) <= 2.0**-23 * max(abs(pos), space_size)


def test_the_known_trap_of_float32_mod():
    """mod(-1e-6, 100) is exactly 100 in float32."""
    got = np.asarray(wrap_position(f32([-1e-6, -1e-30, 100.0, 0.0]), f32(100.0))[0])
    assert np.all((got >= 0) & (got < 100))


@given(st.floats(-100, 100, width=32))
def test_wrapped_angles_are_small_and_point_the_same_way(theta):
    got = float(wrap_angle(f32(theta)))
    assert abs(got) <= np.float32(np.pi)
    assert np.cos(got) == pytest.approx(np.cos(theta), abs=2e-5)
    assert np.sin(got) == pytest.approx(np.sin(theta), abs=2e-5)


def test_an_angle_that_needs_no_wrap_keeps_its_bits():
    theta = np.float32([0.0, 1e-6, 0.1, -3.1, 3.1])
    assert np.array_equal(np.asarray(wrap_angle(f32(theta))), theta)


def test_endpoints_are_half_a_length_ahead_and_behind():
    """The given form: q lies `length` behind p, and p - pos along the heading."""
    pos, theta = f32([[1.0, 2.0], [5.0, 5.0]]), f32([0.0, np.pi / 2])
    p, q = endpoints(pos, theta, f32(4.0))
    np.testing.assert_allclose(p, [[3.0, 2.0], [5.0, 7.0]], atol=1e-6)
    np.testing.assert_allclose(q, [[-1.0, 2.0], [5.0, 3.0]], atol=1e-6)
