# SPDX-License-Identifier: GPL-3.0-or-later
"""Observables of arrays, against freud, loops over all pairs, scipy and closed forms."""

import math

import freud
import numpy as np
import pytest

from engine.observables import clusters, correlation, density, order, pairs
from engine.observables.checked import ObservableError
from tests.oracle.measures import cluster_sizes, distances
from tests.oracle.reference import defaults, rods
from tests.oracle.segments import ends, segment_distance

SIDE = 40.0
PLACES = ("random", "edge", "one spot", "lattice", "two", "one")


def swarm(kind: str = "random", n: int = 300, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-10, 10, n)
    if kind == "random":
        return rng.uniform(0, SIDE, (n, 2)), theta
    if kind == "edge":
        return (rng.normal(0, 1.5, (n, 2)) % SIDE), theta
    if kind == "one spot":
        return np.full((20, 2), 7.0), theta[:20]
    if kind == "lattice":
        x, y = np.meshgrid(np.arange(10) * 4.0, np.arange(10) * 4.0)
        return np.column_stack([x.ravel(), y.ravel()]), theta[:100]
    few = {"two": 2, "one": 1}[kind]
    return rng.uniform(0, SIDE, (few, 2)), theta[:few]


def flat(pos: np.ndarray) -> np.ndarray:
    """As freud wants places: around 0, with z."""
    return np.column_stack([pos - SIDE / 2, np.zeros(len(pos))])


BOX = freud.box.Box.square(SIDE)
KINDS = pytest.mark.parametrize("kind", PLACES)


@KINDS
def test_nematic_and_polar_order(kind):
    _, theta = swarm(kind)
    assert order.polar_order(theta) == pytest.approx(abs(np.exp(1j * theta).mean()), abs=1e-12)
    axes = np.column_stack([np.cos(theta), np.sin(theta), np.zeros(len(theta))])
    nematic = freud.order.Nematic()
    nematic.compute(axes)
    # freud's is that of three dimensions.
    assert order.nematic_order(theta) == pytest.approx((4 * nematic.order - 1) / 3, abs=1e-5)


def test_aligned_and_random_orders():
    assert order.polar_order(np.full(9, 0.7)) == pytest.approx(1)
    opposed = np.array([0.7, 0.7 + math.pi] * 5)
    assert order.polar_order(opposed) == pytest.approx(0, abs=1e-12)
    assert order.nematic_order(opposed) == pytest.approx(1)
    rng = np.random.default_rng(0)
    for of in (order.polar_order, order.nematic_order):
        found = np.mean([of(rng.uniform(0, 7 * math.pi, 200) % math.tau) for _ in range(20)])
        assert 0 < found < 1
    angles = rng.uniform(0, math.tau, (2000, 100))
    for of in (order.polar_order, order.nematic_order):
        found = [of(row) for row in angles]
        error = np.std(found) / math.sqrt(len(found))
        # The baseline is that of large N: for 100 rods it is right to about a hundredth.
        assert abs(np.mean(found) - order.random_order(100)) < 4 * error + 0.01 * np.mean(found)


@KINDS
def test_hexatic_order(kind):
    pos, _ = swarm(kind)
    if kind in ("one spot", "lattice", "two", "one"):
        # Neighbours are equally far, or there are less than six: freud takes others, or none.
        psi = order.hexatic(pos, SIDE)
        assert psi.shape == (len(pos),)
        assert np.all(np.abs(psi) <= 1 + 1e-12)
        return
    hexatic = freud.order.Hexatic(k=6)
    hexatic.compute((BOX, flat(pos)), neighbors={"num_neighbors": 6, "exclude_ii": True})
    np.testing.assert_allclose(order.hexatic(pos, SIDE), hexatic.particle_order, atol=2e-4)


def test_a_triangular_lattice_is_hexatic_and_turns_with_it():
    # 7 × 8 points of a lattice that is all but triangular in a square box.
    row, column = np.divmod(np.arange(56), 7)
    a = SIDE / 7
    pos = np.column_stack([(column + row % 2 / 2) * a, row * SIDE / 8])
    assert np.all(np.abs(order.hexatic(pos, SIDE)) > 0.9)
    turned = np.column_stack([pos[:, 1], pos[:, 0]])
    np.testing.assert_allclose(
        order.hexatic(turned, SIDE), -order.hexatic(pos, SIDE).conj(), atol=1e-9
    )


def test_averages_of_activity_and_motion():
    theta = np.array([0.0, math.pi / 2, math.pi])
    velocity = np.array([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]])
    assert order.mean_speed(velocity) == pytest.approx((5 + 2 + 1) / 3)
    assert order.progress(velocity, theta, 2.0) == pytest.approx((3 + 2 - 1) / 3 / 2)
    assert order.active_fraction(np.array([0.5, 0.51, 1.0, 0.0])) == 0.5


@KINDS
@pytest.mark.parametrize("reach", [2.0, 7.3, SIDE / 2])
def test_local_density(kind, reach):
    pos, _ = swarm(kind)
    if len(pos) == 1:
        assert density.local_density(pos, SIDE, reach) == 0
        return
    way = pos[:, None] - pos[None]
    way -= SIDE * np.round(way / SIDE)
    near = (np.hypot(*np.moveaxis(way, -1, 0)) < reach).sum(1) - 1
    expected = near / (math.pi * reach**2)
    np.testing.assert_allclose(density.local_density(pos, SIDE, reach), expected)
    if kind == "random" and reach < SIDE / 2:
        local = freud.density.LocalDensity(reach, 0.0)
        local.compute((BOX, flat(pos)), neighbors={"r_max": reach, "exclude_ii": True})
        np.testing.assert_allclose(expected, local.density, rtol=1e-6)


@pytest.mark.parametrize("kind", ["random", "edge", "lattice"])
def test_pair_correlation(kind):
    pos, _ = swarm(kind)
    found = correlation.pair_correlation(pos, SIDE, 9.7, 60)
    rdf = freud.density.RDF(bins=60, r_max=9.7)
    rdf.compute((BOX, flat(pos)), neighbors={"r_max": 9.7, "exclude_ii": True})
    np.testing.assert_allclose(found.r, rdf.bin_centers, rtol=1e-5)
    # freud is of single precision: pairs on the edge of a ring may fall to either side.
    expected, allowed = rdf.rdf, 0.02 if kind == "lattice" else 1e-4
    if kind == "lattice":
        found = correlation.pair_correlation(pos + 0.001, SIDE, 9.7, 60)
    np.testing.assert_allclose(found.value, expected, rtol=allowed, atol=1e-6)


def test_independent_places_have_a_flat_pair_correlation():
    pos = np.random.default_rng(3).uniform(0, SIDE, (1500, 2))
    found = correlation.pair_correlation(pos, SIDE, SIDE / 2, 10)
    count = 1500**2 / 2 * math.pi * np.diff(found.edges**2) / SIDE**2
    assert np.all(np.abs(found.value - (1 - 1 / 1500)) < 4 / np.sqrt(count))


def cores(pos: np.ndarray, theta: np.ndarray, length: float, side: float) -> np.ndarray:
    """Distances of cores (N, N), one pair after the other."""
    n, found = len(pos), np.full((len(pos), len(pos)), np.inf)
    for i in range(n):
        for j in range(n):
            if i != j:
                r = pos[i] - pos[j]
                r -= side * np.round(r / side)
                here, there = ends(r, theta[i], length), ends(np.zeros(2), theta[j], length)
                found[i, j] = segment_distance(*here, *there)
    return found


@pytest.mark.parametrize("kind", ["random", "edge", "one spot", "two", "one"])
def test_clusters(kind):
    pos, theta = swarm(kind, n=70)
    length, radius = 4.0, 0.5
    turn = theta[:, None] - theta[None]
    turn = np.abs(turn - math.tau * np.round(turn / math.tau))
    linked = (cores(pos, theta, length, SIDE) < 1.1 * 2 * radius) & (turn < math.pi / 6)
    label = clusters.cluster_labels(pos, theta, SIDE, length, radius)
    sizes = clusters.cluster_sizes(label)
    np.testing.assert_array_equal(sizes[label], cluster_sizes(linked))
    assert sizes.sum() == len(pos)
    number = clusters.size_distribution(sizes, len(pos))
    assert (number * np.arange(len(number))).sum() == len(pos)
    weighted = clusters.weighted_mean_size(sizes)
    assert weighted == pytest.approx((sizes[label]).mean())
    sensed = density.sensed(pos, theta, SIDE, length, 1.7)
    np.testing.assert_array_equal(sensed, (cores(pos, theta, length, SIDE) < 1.7).sum(1))


def test_clusters_of_points_are_those_of_freud():
    """Short rods of one heading cluster as their centres do."""
    pos, _ = swarm(n=400)
    label = clusters.cluster_labels(pos, np.zeros(400), SIDE, 1e-9, 0.8)
    cluster = freud.cluster.Cluster()
    cluster.compute((BOX, flat(pos)), neighbors={"r_max": 1.1 * 1.6})
    assert cluster.num_clusters > 20
    # The same parts, whatever their names.
    both = set(zip(label.tolist(), cluster.cluster_idx.tolist(), strict=True))
    assert len(both) == label.max() + 1 == cluster.num_clusters


def test_a_chain_round_the_box_is_one_cluster_and_turned_rods_are_none():
    x = np.arange(8) * 5.0
    pos = np.column_stack([x, np.full(8, 39.99)])
    assert set(clusters.cluster_labels(pos, np.zeros(8), SIDE, 4.0, 0.5)) == {0}
    turned = np.arange(8) * math.radians(31)
    assert len(set(clusters.cluster_labels(pos, turned, SIDE, 4.95, 0.5))) == 8


@pytest.mark.parametrize("kind", ["random", "edge", "one spot", "two", "one"])
def test_overlaps_are_those_of_the_force_law(kind):
    pos, theta = swarm(kind, n=80)
    state, values = rods(pos, theta, np.zeros(len(pos))), defaults(space_size=SIDE)
    found = pairs.contacts(pos, theta, SIDE, values.length, values.radius)
    apart = distances(state, values)
    overlap = np.maximum(0, 1 - apart[np.triu_indices(len(pos), 1)] / (2 * values.radius))
    assert found.overlapping == (overlap > 0).sum()
    assert found.largest_overlap == pytest.approx(overlap.max(initial=0))
    if found.overlapping:
        assert found.mean_overlap == pytest.approx(overlap[overlap > 0].mean())
    crossed = (cores(pos, theta, values.length, SIDE) == 0).sum() / 2
    assert found.crossed == crossed


def test_parallel_and_touching_rods_do_not_cross():
    r = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 1.9]])
    theta = np.array([0.0, 0.0, math.pi / 2, math.pi / 2, math.pi / 2])
    np.testing.assert_array_equal(
        pairs.cross(r, np.zeros(5), theta, 4.0), [False, False, False, True, True]
    )
    np.testing.assert_allclose(pairs.core_distance(r, np.zeros(5), theta, 4.0), 0, atol=1e-12)


def test_number_fluctuations_of_independent_places():
    rng = np.random.default_rng(5)
    cells = density.divisions(64.0, 2.0)
    assert cells[0] == 2
    assert cells[-1] <= 32
    kept = [density.counts(rng.uniform(0, 64, (5000, 2)), 64.0, cells) for _ in range(60)]
    mean = np.mean([one.mean for one in kept], axis=0)
    square = np.mean([one.square for one in kept], axis=0)
    sigma = density.fluctuation(density.Counts(cells, mean, square))
    expected = np.sqrt(mean * (1 - 1 / cells.astype(float) ** 2))
    free = 60 * (cells.astype(float) ** 2 - 1)
    assert np.all(np.abs(sigma / expected - 1) < 4 / np.sqrt(2 * free))
    fit = density.power_law(mean[cells >= 4], sigma[cells >= 4])
    assert fit.exponent == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(mean, 5000 / cells.astype(float) ** 2)


def test_rods_that_lie_together_fluctuate_in_proportion():
    x = np.repeat(np.random.default_rng(1).uniform(0, 64, (50, 2)), 100, axis=0)
    cells = density.divisions(64.0, 4.0)
    found = density.counts(x, 64.0, cells)
    # Fifty heaps of a hundred: a hundred times the σ of fifty single rods.
    single = density.counts(x[::100], 64.0, cells)
    np.testing.assert_allclose(density.fluctuation(found), 100 * density.fluctuation(single))


def test_numbers_in_a_vast_box_take_no_room_for_its_empty_parts():
    x = np.array([[0.1, 0.1], [0.2, 0.3], [9e5, 3.0]])
    found = density.counts(x, 1e6, np.array([3_000_000]))  # of 9 TB, a byte each
    np.testing.assert_allclose(found.mean, 3 / 9e12, rtol=1e-12)
    np.testing.assert_allclose(found.square, (2**2 + 1) / 9e12, rtol=1e-12)


def test_a_power_law_is_found():
    x = np.array([1.0, 2.0, 4.0, 9.0, 0.0])
    fit = density.power_law(x, 3 * x**0.8)
    assert (fit.exponent, fit.factor) == (pytest.approx(0.8), pytest.approx(3))
    assert fit.error < 1e-12
    with pytest.raises(ObservableError, match="needs 3 points above 0, and 2"):
        density.power_law(np.array([1.0, 2.0, 0.0]), np.ones(3))


def test_velocity_correlation_is_that_of_all_pairs():
    # Places in the middle of the cells that the function works on, so nothing is rounded.
    rng, width, n = np.random.default_rng(2), 1.0, 200
    cell = SIDE / 80
    pos = (rng.integers(0, 80, (n, 2)) + 0.5) * cell
    velocity = rng.normal(size=(n, 2)) + pos / SIDE
    found = correlation.velocity_correlation(pos, velocity, SIDE, width)
    way = pos[:, None] - pos[None]
    way -= SIDE * np.round(way / SIDE)
    apart = np.hypot(way[..., 0], way[..., 1])
    np.fill_diagonal(apart, np.inf)
    alike = velocity @ velocity.T / (velocity**2).sum(1).mean()
    for k, (low, high) in enumerate(zip(found.edges[:-1], found.edges[1:], strict=True)):
        ring = (apart >= low) & (apart < high)
        if ring.any():
            assert found.value[k] == pytest.approx(alike[ring].mean(), abs=1e-9)
        else:
            assert math.isnan(found.value[k])
    assert found.edges[-1] == SIDE / 2
    np.testing.assert_allclose(found.r, correlation.ring_middles(SIDE, width))


def test_velocities_in_closed_form():
    """v = (cos kx, 0) at random places correlates as J₀(kr)."""
    from scipy.special import j0

    pos = np.random.default_rng(4).uniform(0, SIDE, (20000, 2))
    k = math.tau / SIDE
    velocity = np.column_stack([np.cos(k * pos[:, 0]), np.zeros(len(pos))])
    found = correlation.velocity_correlation(pos, velocity, SIDE, 1.0)
    np.testing.assert_allclose(found.value, j0(k * found.r), atol=0.03)
    e = correlation.correlation_length(found)
    assert j0(k * e) == pytest.approx(math.exp(-1), abs=0.03)


def test_velocities_that_are_alike_or_none():
    pos, _ = swarm()
    alike = correlation.velocity_correlation(pos, np.ones((300, 2)), SIDE, 2.0)
    np.testing.assert_allclose(alike.value, 1)
    assert math.isnan(correlation.correlation_length(alike))
    still = correlation.velocity_correlation(pos, np.zeros((300, 2)), SIDE, 2.0)
    assert np.isnan(still.value).all()


NONE = (np.zeros((0, 2)), np.zeros(0))


def test_no_rod():
    pos, theta = NONE
    assert math.isnan(order.polar_order(theta))
    assert math.isnan(order.mean_speed(pos))
    assert order.hexatic(pos, SIDE).shape == (0,)
    assert clusters.cluster_labels(pos, theta, SIDE, 4.0, 0.5).shape == (0,)
    assert math.isnan(clusters.weighted_mean_size(np.zeros(0, np.int64)))
    assert pairs.contacts(pos, theta, SIDE, 4.0, 0.5) == (0, 0, 0, 0)
    assert density.local_density(pos, SIDE, 3.0).shape == (0,)
    assert density.sensed(pos, theta, SIDE, 4.0, 2.0).shape == (0,)
    assert density.counts(pos, SIDE, np.array([2, 4])).mean.sum() == 0
    with pytest.raises(ObservableError, match="needs a rod"):
        correlation.pair_correlation(pos, SIDE, 5.0, 5)
    assert np.isnan(correlation.velocity_correlation(pos, pos, SIDE, 2.0).value).all()


def test_what_cannot_be_is_refused_by_name():
    pos, theta = swarm()
    broken = pos.copy()
    broken[7, 1] = math.nan
    with pytest.raises(ObservableError, match=r"pos of rod 7 is .*no finite number; .* 1 of 300"):
        clusters.cluster_labels(broken, theta, SIDE, 4.0, 0.5)
    with pytest.raises(ObservableError, match="theta of rod 3"):
        order.polar_order(np.array([0, 0, 0, math.inf]))
    with pytest.raises(ObservableError, match="300 in pos, 299 in theta"):
        clusters.cluster_labels(pos, theta[1:], SIDE, 4.0, 0.5)
    with pytest.raises(ObservableError, match="reach = 21 is more than half of space_size = 40"):
        density.local_density(pos, SIDE, 21.0)
    with pytest.raises(ObservableError, match=r"length \+ reach = 20.1 is more than half"):
        clusters.cluster_labels(pos, theta, SIDE, 19.0, 0.5)
    with pytest.raises(ObservableError, match="space_size = -1 is not possible"):
        order.hexatic(pos, -1.0)
    with pytest.raises(ObservableError, match="nothing swims"):
        order.progress(pos, theta, 0.0)


def test_memory_follows_near_pairs():
    """A hundred thousand rods: N² doubles would be 80 GB."""
    import tracemalloc

    n, side = 100_000, 1100.0
    rng = np.random.default_rng(0)
    pos, theta = rng.uniform(0, side, (n, 2)), rng.uniform(0, math.tau, n)
    tracemalloc.start()
    label = clusters.cluster_labels(pos, theta, side, 4.0, 0.5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert label.max() > n / 4
    assert peak < 400e6
