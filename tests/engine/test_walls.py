# SPDX-License-Identifier: GPL-3.0-or-later
"""Rods within walls, straight and round: forces, steps and runs against float64 references."""

import functools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine import Driver, Obstacle, ParameterError, Params, Setup, Start
from engine.boundary import depth
from engine.interaction import Rod, single_pair_interaction
from engine.native import library
from engine.params import Laws, Physics
from engine.schema import packing_fraction, smallest_space_size, space_size_for
from engine.step import pack, unpack
from engine.walls import held, wall_push
from tests.engine import seam
from tests.engine.programs import setup_for
from tests.engine.test_laws import OTHERS
from tests.oracle import reference, rounding, walls
from tests.oracle.reference import Rods, defaults

WALLED = ("walls", "circle")
BOX = 30.0
NATIVE = pytest.param(
    "native", marks=pytest.mark.skipif(not library.native().target, reason="no native code here")
)


def physics(boundary: str, **values: Any) -> Physics:
    return seam.params_of(defaults(space_size=BOX, boundary=boundary, **values))


def edge_cases(n: int = 100) -> Rods:
    """Random rods, of which many reach beyond a wall, then degenerate ones."""
    rng = np.random.default_rng(8)
    special = [
        (0.2, 15, np.pi / 2), (0.2, 15, np.pi / 2 + 1e-4), (29.9, 15, -np.pi / 2),  # flat
        (2.4, 15, 0), (2.4, 15, np.pi), (15, 27.7, np.pi / 2),  # tip on
        (0.1, 0.1, np.pi / 4), (29.9, 29.9, np.pi / 4), (29.9, 0.1, 0.3),  # in corners
        (0, 0, 0), (0, 15, 0.3), (15, 0, 0), (15, 15, 0), (15, 15, 1),  # on a wall, in the middle
        (15, 0.3, 0), (28.2, 15, np.pi / 2), (15 + 10.4, 15 + 10.4, -np.pi / 4),
    ]  # fmt: skip
    own = np.array(special)
    pos = np.concatenate([own[:, :2], rng.uniform(0, BOX, (n - len(own), 2))])
    theta = np.concatenate([own[:, 2], rng.uniform(-np.pi, np.pi, n - len(own))])
    near = rng.random(n) < 0.6
    near[: len(own)] = False
    pos[near, 0] = rng.choice([1.0, 29.0], near.sum()) + rng.uniform(-1, 1, near.sum())
    return seam.single(reference.rods(pos, theta, rng.uniform(0, 1, n)), defaults(space_size=BOX))


@functools.cache
def _push(laws: Laws):
    return jax.jit(lambda rods, packed: wall_push(rods, unpack(packed, laws)))


@pytest.mark.parametrize("contact", ["hooke", "hertz"])
@pytest.mark.parametrize("boundary", WALLED)
def test_a_wall_pushes_as_the_search_says(boundary, contact):
    params, rods = physics(boundary, contact=contact), edge_cases()
    single = [np.float32(part) for part in (*rods.pos.T, np.cos(rods.theta), np.sin(rods.theta))]
    got = _push(params.laws)(Rod(*single, np.float32(rods.activity)), pack(params))
    force, torque = reference.wall_forces(rods, params)
    # The search knows s to a ten-thousandth of the core; the slope of the energy is one of floats.
    slack = 2e-4 * params.k_cc
    off = np.hypot(np.asarray(got.x) - force[:, 0], np.asarray(got.y) - force[:, 1])
    flat = np.array([not np.allclose(np.cos(2 * t), np.round(np.cos(2 * t))) for t in rods.theta])
    assert off.max() < slack
    assert np.abs(np.asarray(got.torque) - torque)[flat].max() < 4 * slack
    assert (np.hypot(*force.T) > 1).sum() > 20, "hardly any rod was at a wall"


def test_a_straight_wall_pushes_as_an_obstacle_without_end_does():
    """Whose force is searched for along the core by code of its own."""
    rod = {"length": 4, "radius": 0.5, "k": 60}
    obstacle = walls.Wall(-20, 15, 40, 200, 0)
    for x in (0.2, 1.3, 2.2):
        for angle in np.linspace(-np.pi, np.pi, 41):
            if x <= 2 * abs(np.cos(angle)):
                continue  # an obstacle that a core crosses finds another way out
            pos = np.array([x, 15.0])
            force, torque = walls.box_push(pos, angle, "walls", **rod, space_size=BOX)
            other = walls.push(pos, angle, obstacle, **rod, space_size=1e6)
            np.testing.assert_allclose(force, other.force, atol=0.02)
            assert torque == pytest.approx(other.torque, abs=0.05)


# By what JAX compiles under all other laws at once, whose programs test_laws has as well.
@pytest.mark.parametrize(
    ("laws", "kernel"),
    [(laws, "naive") for laws in OTHERS]
    + [pytest.param({"boundary": b}, *NATIVE.values, marks=NATIVE.marks) for b in WALLED],
    ids=str,
)
def test_a_step_within_walls_is_the_reference_step(laws, kernel):
    values = {"F_prop": 8.0, "T_prop": 0.4, "activity_thresh": 2.5, "activity_width": 0.7}
    params = physics(**values, **laws)
    rods = edge_cases()
    got = seam.moved(rods, params, kernel)
    expected = reference.one_timestep(rods, params)

    allowed = rounding.bounds(reference.pairs(rods, params), rods, params)
    along, across, turning = reference.drag(params)
    # What the search leaves, see above; where a rod is flat its torque depends on the last digit.
    slack = 2e-4 * params.k_cc
    slow = (allowed.force + slack) / min(along, across)
    turn = (allowed.torque + 4 * slack) / turning
    flat = np.abs(np.sin(2 * rods.theta)) < 1e-3
    ulp = 2.0**-22 * params.space_size
    assert np.all(np.abs(got.pos - expected.pos) <= slow[:, None] * params.dt + ulp)
    turned = reference.minimum_image(got.theta - expected.theta, 2 * np.pi)
    assert np.all((np.abs(turned) <= turn * params.dt + 1e-6) | flat)
    np.testing.assert_allclose(got.activity, expected.activity, rtol=0, atol=3e-6)
    assert depth(got.pos, BOX, params.boundary).min() >= -1e-5
    assert np.all((got.pos >= 0) & (got.pos < BOX))


def test_a_wall_has_a_derivative_in_the_middle_too():
    def moved(x):
        rod = Rod(
            *[jnp.atleast_1d(part) for part in (x, jnp.float32(15), *map(jnp.float32, (1, 0, 1)))]
        )
        at = jnp.stack([rod.x, rod.y], axis=1)
        return wall_push(rod, params).x[0] + held(at, params)[0, 0]

    params = physics("circle")
    slope = jax.jit(jax.grad(moved))
    assert slope(jnp.float32(15)) == 1.0
    assert slope(jnp.float32(17)) == 1.0  # one end in the middle
    assert slope(jnp.float32(27.7)) == pytest.approx(1 - params.k_cc)


def pressed(boundary: str, kernel: str = "neighbours") -> Driver:
    """Two active rods far apart, one tip near the wall at the right, the other at the bottom."""
    reach = BOX - 2.3
    start = Start(np.array([[reach, 15], [15, 2.4]]), np.array([0, -np.pi / 2]), np.ones(2))
    params = Params(space_size=BOX, F_prop=6.0, activity_thresh=-5, activity_width=0, dt=0.003)
    setup = Setup(rods=2, boundary=boundary, kernel=kernel)
    return Driver(setup, params, start=start)


@pytest.mark.parametrize("boundary", WALLED)
def test_a_rod_at_rest_against_a_wall_is_in_it_by_its_thrust_over_the_stiffness(boundary):
    driver = pressed(boundary)
    last = driver.advance(1000)  # later a rod that stands on its tip falls over
    overlap = 3.0 / 60.0
    assert last.pos[0, 0] == pytest.approx(BOX - 2.5 + overlap, abs=1e-5)
    assert last.pos[1, 1] == pytest.approx(2.5 - overlap, abs=1e-5)
    assert last.observables["mean_speed"] < 1e-4
    # Wall force = thrust: the forces on each rod sum to nothing.
    params = Physics(**vars(driver.params), boundary=boundary)
    force, _ = reference.wall_forces(reference.rods(last.pos, last.theta, last.activity), params)
    np.testing.assert_allclose(force, [[-3, 0], [0, 3]], atol=2e-3)


@pytest.fixture(scope="module")
def round_crowd() -> Driver:
    """A dense crowd in a circle, with an obstacle in its middle; steps of adaptive length."""
    params = Params(space_size=26.0, D_r=0.02, T_prop=0.3, activity_thresh=2.0, dt=0.0033)
    setup = replace(setup_for("native", 66), boundary="circle", time_step="adaptive")
    return Driver(setup, params, seed=4, obstacles=[Obstacle(13, 13, radius=2)])


def test_no_rod_leaves_and_no_pair_meets_through_the_wall(round_crowd):
    round_crowd.reset()
    begun = round_crowd.snapshot()
    assert reference_depth(begun, 26.0).min() > 0.4, "a start that reaches into the wall"
    for _ in range(5):
        last = round_crowd.advance(700)
        # Never deeper than half a body: thrusts of several rods add up in a crowd.
        assert reference_depth(last, 26.0).min() > -0.5
        assert depth(last.pos.astype(float), 26.0, "circle").min() > 0


def reference_depth(snapshot, box: float) -> np.ndarray:
    """How far both ends of each core are inside of a round wall."""
    along = 2 * np.stack([np.cos(snapshot.theta), np.sin(snapshot.theta)], axis=1)
    ends = np.concatenate([snapshot.pos + along, snapshot.pos - along]) - box / 2
    return box / 2 - np.hypot(*ends.T)


def test_K_steps_at_once_are_K_steps_one_by_one_and_take_the_same_time(round_crowd):
    round_crowd.rebuild(seed=9)
    together = round_crowd.advance(90)
    round_crowd.rebuild(seed=9)
    for K in (1, 1, 28, 60):
        apart = round_crowd.advance(K)
    assert together.rods.tobytes() == apart.rods.tobytes()
    assert together.time == apart.time


def test_rods_keep_to_themselves_what_a_periodic_box_would_let_meet():
    """Two rods on opposite sides, which a periodic box brings into contact, feel nothing."""
    left, right = (Rod(*[jnp.float32(part) for part in (x, 15, 0, 1, 1)]) for x in (0.3, BOX - 0.3))
    for boundary in ("periodic", *WALLED):
        term = single_pair_interaction(left, right, physics(boundary), jnp.bool_(False))
        assert np.any(np.asarray(term)) == (boundary == "periodic")


@pytest.mark.parametrize("boundary", WALLED)
def test_what_lies_outside_is_refused_by_name(boundary, round_crowd):
    setup, params = Setup(rods=2, boundary=boundary), Params(space_size=BOX)
    outside = Start(np.array([[15, 15], [30.5, 15]]), np.zeros(2), np.zeros(2))
    with pytest.raises(ParameterError, match=r"rod 1 at \(30.5, 15\).*outside"):
        Driver(setup, params, start=outside)
    round_crowd.reset()
    before = round_crowd.snapshot()
    with pytest.raises(ParameterError, match="outside the circle"):
        round_crowd.add([[2.0, 2.0]], [0.0])
    with pytest.raises(ParameterError, match="outside of the walls"):
        round_crowd.set_obstacles([Obstacle(-1, 5, radius=3)])
    assert round_crowd.snapshot() is before


def test_another_size_takes_rods_and_obstacles_along(round_crowd):
    round_crowd.reset()
    before = round_crowd.snapshot()
    round_crowd.set(space_size=28.6)
    after = round_crowd.snapshot()
    np.testing.assert_allclose(after.pos, 1.1 * before.pos, rtol=1e-6)
    assert round_crowd.obstacles[0].x == pytest.approx(14.3)
    assert after.time == before.time
    # Into a smaller one: who sticks out is pushed in at a speed that is safe.
    round_crowd.set(space_size=24.0)
    assert reference_depth(round_crowd.advance(2000), 24.0).min() > -0.5


def test_a_thrust_that_no_wall_bears_leaves_the_centre_within(round_crowd):
    round_crowd.rebuild(params=replace(round_crowd.params, F_prop=300.0, k_cc=60.0))
    last = round_crowd.advance(1500)
    assert depth(last.pos.astype(float), last.params.space_size, "circle").min() >= -1e-5
    # A state of our own is none that is refused.
    round_crowd.rebuild(start=Start.of(last))


@pytest.mark.parametrize("boundary", WALLED)
def test_the_packing_fraction_is_that_of_the_room_there_is(boundary):
    params, setup = Params(), Setup(rods=80, boundary=boundary)
    side = space_size_for(80, 0.5, params, boundary)
    assert packing_fraction(setup, replace(params, space_size=side)) == pytest.approx(0.5)
    assert smallest_space_size(params, boundary) == 6.0


def test_native_code_and_jax_go_the_same_way():
    """As far as rounding lets them: two lone rods, on their way to the wall and along it."""
    start = Start(np.array([[22.0, 12], [8, 20]]), np.array([0.7, 2.5]), np.ones(2))
    one, other = (pressed("circle", kernel) for kernel in ("neighbours", "naive"))
    for driver in (one, other):
        driver.rebuild(start=start)
    a, b = one.advance(4000), other.advance(4000)
    np.testing.assert_allclose(a.rods, b.rods, atol=2e-3)
    assert one.stats.code != other.stats.code or not library.native().target
