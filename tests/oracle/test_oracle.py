# SPDX-License-Identifier: GPL-3.0-or-later
"""The references are checked against each other before the engine is checked against them."""

import numpy as np
import pytest

from tests.oracle import reference, segments


def random_pair(rng: np.random.Generator, length: float, parallel: bool):
    angle = rng.uniform(-np.pi, np.pi)
    # Nearly parallel pairs down to 1e-7, where the plain closest point is ill defined.
    other = angle + 10.0 ** rng.uniform(-7, 0) if parallel else rng.uniform(-np.pi, np.pi)
    return rng.uniform(-1.0, 1.0, 2) * (length + 1.0), angle, other


def axis(angle: float):
    return np.array([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("aspect", [2, 3, 5, 10, 16])
@pytest.mark.parametrize("parallel", [False, True])
def test_the_clamped_lines_solve_the_contact_problem(aspect, parallel):
    rng = np.random.default_rng(aspect)
    length, eps = aspect - 1.0, 0.16 / (aspect - 1.0) ** 2
    for _ in range(1500):
        r, a, b = random_pair(rng, length, parallel)
        u, v = axis(a), axis(b)
        found = reference.contact_points(r, u, v, length / 2, eps)
        expected = segments.contact_by_enumeration(r, u, v, length / 2, eps)
        assert np.allclose(found, expected, rtol=0, atol=1e-10 * length)


@pytest.mark.parametrize("aspect", [2, 5, 16])
def test_without_regularisation_the_distance_is_that_of_the_segments(aspect):
    rng = np.random.default_rng(100 + aspect)
    length = aspect - 1.0
    for k in range(1500):
        r, a, b = random_pair(rng, length, parallel=k % 2 == 0)
        u, v = axis(a), axis(b)
        exact = segments.segment_distance(
            *segments.ends(r, a, length), *segments.ends(np.zeros(2), b, length)
        )
        s, t = reference.contact_points(r, u, v, length / 2, 1e-9)
        # 0.1 % of the length is what eps = 1e-9 leaves where the segments cross.
        tolerance = 1e-4 if exact > 0 else 1e-3 * length
        assert np.linalg.norm(r + s * u - t * v) == pytest.approx(exact, abs=tolerance)


def test_crossing_and_touching_segments():
    def point(x, y):
        return np.array([x, y], dtype=float)

    cross = segments.segment_distance(point(-1, 0), point(1, 0), point(0, -1), point(0, 1))
    apart = segments.segment_distance(point(-1, 0), point(1, 0), point(3, 1), point(3, -1))
    tip_to_tip = segments.segment_distance(point(-1, 0), point(1, 0), point(1.5, 0), point(2, 0))
    parallel = segments.segment_distance(point(-1, 0), point(1, 0), point(-1, 0.3), point(1, 0.3))
    assert (cross, apart, tip_to_tip) == (0.0, 2.0, 0.5)
    assert parallel == pytest.approx(0.3)
