# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep observes of the rods of a sample."""

import math

import numpy as np
import pytest

from engine.params import Params, Setup
from engine.study.sweep.observing import OBSERVED, PARTS

PARAMS = Params(space_size=40.0)


def observed(name: str, rods: np.ndarray, boundary: str = "periodic") -> float:
    of_rods = OBSERVED[name].of_rods
    assert of_rods is not None
    return of_rods(rods, Setup(rods=len(rods), boundary=boundary), PARAMS)


@pytest.mark.parametrize("boundary", ["periodic", "walls", "circle"])
def test_only_in_a_periodic_box_are_rods_near_across_an_edge(boundary):
    up = math.pi / 2
    rods = np.array([[0.3, 20, up, 1], [39.7, 20, up, 1], [20, 20, 0, 0]], np.float32)
    found = {name: observed(name, rods, boundary) for name, one in OBSERVED.items() if one.of_rods}
    across = boundary == "periodic"
    assert found["largest_overlap"] == pytest.approx(0.4 if across else 0, abs=1e-5)
    assert found["largest_cluster"] == pytest.approx(2 / 3 if across else 1 / 3)
    assert found["mean_cluster"] == pytest.approx(5 / 9 if across else 1 / 3)
    assert found["crossed_pairs"] == 0
    assert math.isfinite(found["number_variance"]) == across


def test_crossed_rods_are_counted():
    rods = np.array([[20, 20, 0, 1], [20, 20, 1.5, 1], [5, 5, 0, 1]], np.float32)
    assert observed("crossed_pairs", rods) == 1


def test_the_number_in_a_part_of_the_box_varies_as_chance_has_it():
    rng = np.random.default_rng(3)
    many = [rng.uniform(0, 40, (320, 4)).astype(np.float32) for _ in range(400)]
    # Of 320 rods each is in a part with the chance 1/16.
    mean = np.mean([observed("number_variance", rods) for rods in many])
    assert mean == pytest.approx(1 - 1 / PARTS**2, abs=0.05)
    even = np.zeros((PARTS**2, 4), np.float32)
    even[:, :2] = 10 * np.stack(np.divmod(np.arange(PARTS**2), PARTS), axis=1) + 5
    assert observed("number_variance", even) == 0
    assert observed("number_variance", np.repeat(even[:1], 32, axis=0)) == pytest.approx(30)


def test_a_triangular_lattice_has_hexatic_order():
    column, row = np.meshgrid(np.arange(20), np.arange(20))
    rods = np.zeros((400, 4), np.float32)
    rods[:, 0] = (2 * column + row % 2).ravel()
    rods[:, 1] = (2 * row).ravel()  # nearly: 2 and √5 apart
    assert observed("hexatic_order", rods) > 0.9
    scattered = np.random.default_rng(1).uniform(0, 40, (400, 4)).astype(np.float32)
    assert observed("hexatic_order", scattered) < 0.2
