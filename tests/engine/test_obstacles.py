# SPDX-License-Identifier: GPL-3.0-or-later
"""Obstacles and the hand: against a search along the core, in all kernels, in a run."""

import functools
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine import Driver, Obstacle, ParameterError, Params, Setup, Start
from engine.capacity import capacity_for
from engine.interaction import Rod
from engine.kernels import native
from engine.native import library
from engine.obstacle import MOST_OBSTACLES
from engine.snapshot import CheckpointError
from engine.state import obstacle_arrays, to_device
from engine.step import pack, steps_for, unpack
from engine.surroundings import external
from tests.oracle import walls

BOX = 50.0
PARAMS = Params(space_size=BOX, length=4.0, radius=0.5, k_cc=60.0)


def pushes():
    """The forces of the hand and of obstacles, to be compiled for each number of rods."""
    return jax.jit(lambda rods, rows, count, packed: external(rods, rows, count, unpack(packed)))


PUSHES = pushes()
SHAPES = {
    "disc": Obstacle(11.0, 30.0, radius=5.0),
    "small disc": Obstacle(11.0, 30.0, radius=0.3),
    "box": Obstacle(25.0, 25.0, 8.0, 5.0),
    "thin box": Obstacle(25.0, 25.0, 12.0, 0.2),
    "rounded box": Obstacle(20.0, 20.0, 6.0, 3.0, 1.5),
    "box at the corner of the periodic box": Obstacle(0.5, 49.5, 7.0, 9.0),
    "wall without end": Obstacle(25.0, 49.0, BOX, 3.0),
}


def rods_near(one: Obstacle, number: int = 160, seed: int = 1) -> Start:
    """Rods around and in an obstacle, some of them across the edge of the periodic box."""
    rng = np.random.default_rng(seed)
    half = np.array([one.width, one.height]) / 2 + one.radius + 3.5
    pos = np.array([one.x, one.y]) + rng.uniform(-1, 1, (number, 2)) * np.minimum(half, BOX / 2)
    theta = rng.uniform(-math.pi, math.pi, number)
    # Along the sides too, where the contact point is hard to find.
    theta[:20] = rng.integers(-2, 3, 20) * (math.pi / 2)
    return Start((pos % BOX).astype(np.float32), theta.astype(np.float32), np.zeros(number))


def pushed(start: Start, obstacles: list[Obstacle], params: Params = PARAMS, compiled=PUSHES):
    """Force (N, 2) and torque (N,) as the engine computes them."""
    x, y = np.float32(start.pos).T
    theta = np.float64(np.float32(start.theta))
    rods = Rod(x, y, np.float32(np.cos(theta)), np.float32(np.sin(theta)), np.zeros_like(x))
    rows, count = obstacle_arrays(obstacles)
    force, torque = compiled(jax.tree.map(jnp.asarray, rods), rows, count, pack(params))
    return np.float64(force), np.float64(torque)


@pytest.mark.parametrize("name", SHAPES)
def test_an_obstacle_pushes_as_the_search_along_the_core_says(name: str) -> None:
    one = SHAPES[name]
    start = rods_near(one)
    force, torque = pushed(start, [one])
    wall = walls.Wall(one.x, one.y, one.width, one.height, one.radius)
    if one.width >= BOX:
        wall = wall._replace(width=8 * BOX)
    touched = compared = 0
    for i, (pos, theta) in enumerate(zip(start.pos, start.theta, strict=True)):
        want = walls.push(
            np.float64(pos), float(theta), wall,
            length=PARAMS.length, radius=PARAMS.radius, k=PARAMS.k_cc, space_size=BOX,
        )  # fmt: skip
        size = np.linalg.norm(force[i])
        # How hard is never in doubt.
        assert abs(size - PARAMS.k_cc * want.overlap) < 5e-2 + 3e-3 * size
        touched += size > 0
        clear = np.linalg.norm(force[i] - want.force) < 2e-2 * max(size, 1)
        compared += clear and abs(torque[i] - want.torque) < 5e-2 * max(size, 1)
    assert touched > 10
    # But for ties: two ways out, or two points, that are equal.
    assert compared > len(start.theta) - 0.05 * touched


def test_the_force_is_minus_the_gradient_of_a_harmonic_energy() -> None:
    one, h = SHAPES["rounded box"], 1e-3
    start = rods_near(one)
    force, _ = pushed(start, [one])
    size = np.linalg.norm(force, axis=1)
    smooth = (size > 3) & (size < 50)
    smooth[:20] = False
    moved = []
    for shift in ([h, 0], [0, h]):
        energy = [
            (pushed(replace(start, pos=start.pos + sign * np.float32(shift)), [one])[0] ** 2).sum(1)
            / (2 * PARAMS.k_cc)
            for sign in (1, -1)
        ]
        moved.append(-(energy[0] - energy[1]) / (2 * h))
    error = np.linalg.norm(np.stack(moved, axis=1) - force, axis=1)
    assert smooth.sum() > 12
    assert np.median(error[smooth] / size[smooth]) < 0.02


def test_a_rod_flat_on_a_wall_is_pushed_at_its_middle() -> None:
    wall = Obstacle(25.0, 10.0, 20.0, 4.0)
    start = Start(np.array([[25.0, 12.3], [31.0, 7.7]]), np.array([0.0, math.pi]), np.zeros(2))
    force, torque = pushed(start, [wall])
    np.testing.assert_allclose(force, [[0, 60 * 0.2], [0, -60 * 0.2]], atol=1e-3)
    np.testing.assert_allclose(torque, 0, atol=1e-3)


def test_pushes_of_several_obstacles_and_the_hand_add_up() -> None:
    discs = [Obstacle(10.0, 10.0, radius=3.0), Obstacle(12.0, 10.0, 2.0, 2.0)]
    start = rods_near(discs[0])
    hand = replace(PARAMS, push_x=11.0, push_y=12.0, push_range=5.0, push_force=7.0)
    force, torque = pushed(start, discs, hand)
    alone = [pushed(start, [one]) for one in discs]
    pull, none = pushed(start, [], hand)
    np.testing.assert_allclose(force, pull + alone[0][0] + alone[1][0], atol=1e-3)
    np.testing.assert_allclose(torque, alone[0][1] + alone[1][1], atol=1e-3)
    away = np.float64(start.pos) - (11.0, 12.0)
    part = np.linalg.norm(away, axis=1) / 5.0
    wanted = 4 * 7.0 * part * np.clip(1 - part, 0, None)
    np.testing.assert_allclose(np.linalg.norm(pull, axis=1), wanted, atol=1e-4)
    inside = (part < 1) & (part > 0)
    assert np.all((pull[inside] * away[inside]).sum(axis=1) > 0)
    assert not none.any()


def test_loops_that_are_written_out_push_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, where each turn of a loop costs a launch."""
    start = rods_near(SHAPES["rounded box"])
    force, torque = pushed(start, MIXED)
    assert np.linalg.norm(force, axis=1).max() > 50
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    again, turned = pushed(start, MIXED, compiled=pushes())
    np.testing.assert_allclose(again, force, atol=1e-3)
    np.testing.assert_allclose(turned, torque, atol=1e-3)


def test_a_shift_of_all_across_the_edge_changes_nothing() -> None:
    one = SHAPES["box"]
    start = rods_near(one)
    force, torque = pushed(start, [one])
    shift = np.array([24.0, 26.5])
    there = replace(start, pos=np.float32((np.float64(start.pos) + shift) % BOX))
    moved = replace(one, x=(one.x + shift[0]) % BOX, y=(one.y + shift[1]) % BOX)
    again, turned = pushed(there, [moved])
    # Rods along a side and those in the middle of the box have two ways out.
    same = np.linalg.norm(again - force, axis=1) < 0.05
    assert same[20:].mean() > 0.97
    np.testing.assert_allclose(turned[20:][same[20:]], torque[20:][same[20:]], atol=0.2)


def test_a_rod_at_the_very_centre_of_an_obstacle_is_pushed_somewhere() -> None:
    for one in (Obstacle(10.0, 10.0, radius=3.0), Obstacle(10.0, 10.0, 4.0, 4.0)):
        force, torque = pushed(Start(np.array([[10.0, 10.0]]), np.zeros(1), np.zeros(1)), [one])
        assert np.linalg.norm(force) == pytest.approx(60.0)
        assert np.isfinite(torque).all()


MIXED = [SHAPES[name] for name in SHAPES if name != "small disc"]
PULLED = replace(PARAMS, push_x=20.0, push_y=20.0, push_range=12.0, push_force=-30.0, dt=0.002)
LIMIT, K = jnp.float32(0.05), jnp.int32(3)


@functools.cache
def by_jax() -> np.ndarray:
    """Where rods are after K steps of what JAX compiles."""
    start, room = rods_near(SHAPES["rounded box"], 300), capacity_for(300, PULLED, "cpu", "naive")
    state = to_device(start, PULLED, room, listed=False, obstacles=MIXED)
    steps = steps_for("naive", room)
    done = jax.jit(lambda s, p: steps(s, unpack(p), K, LIMIT))(state, pack(PULLED))
    assert int(done.done) == K
    return np.asarray(done.state.pos)[:300]


@pytest.mark.skipif(not library.native().target, reason="no native code here")
@pytest.mark.parametrize("target", library.targets())
def test_native_code_pushes_as_the_other_kernels_do(target: str, quickly_compiled: None) -> None:
    start = rods_near(SHAPES["rounded box"], 300)
    room = capacity_for(300, PULLED, "cpu", "native")._replace(slots=255, candidates=0)
    state = to_device(start, PULLED, room, listed=True, obstacles=MIXED)
    ours = jax.jit(lambda s, p: native.advance(s, unpack(p), K, LIMIT, threads=2, target=target))(
        state, pack(PULLED)
    )
    assert int(ours.done) == K
    moved = np.asarray(ours.state.pos)[np.argsort(ours.state.row)][:300]
    apart = np.abs(moved - by_jax())
    apart = np.minimum(apart, BOX - apart)
    # A rod with two ways out may take the other one.
    assert np.quantile(apart.max(axis=1), 0.99) < 1e-3


@pytest.fixture(scope="module")
def _driver() -> Driver:
    return Driver(Setup(rods=200), Params(space_size=BOX, F_prop=10.0), seed=4)


@pytest.fixture
def driver(_driver: Driver) -> Driver:
    _driver.rebuild(Setup(rods=200), Params(space_size=BOX, F_prop=10.0), 4, obstacles=())
    return _driver


def deepest(driver: Driver) -> float:
    """How deep any rod's surface has come into any obstacle, in body widths."""
    snapshot, params = driver.snapshot(), driver.params
    most = 0.0
    for one in snapshot.obstacles:
        wall = walls.Wall(one.x, one.y, one.width, one.height, one.radius)
        reach = (params.length + one.width + one.height) / 2 + one.radius + params.radius
        apart = np.abs(snapshot.pos - (one.x, one.y))
        apart = np.minimum(apart, params.space_size - apart)
        for rod in np.flatnonzero(np.linalg.norm(apart, axis=1) < reach):
            pos, theta = snapshot.pos[rod], snapshot.theta[rod]
            found = walls.push(
                np.float64(pos), float(theta), wall, length=params.length, radius=params.radius,
                k=params.k_cc, space_size=params.space_size,
            )  # fmt: skip
            most = max(most, found.overlap / (2 * params.radius))
    return most


def test_an_obstacle_put_on_rods_pushes_them_out_without_a_compile(driver: Driver) -> None:
    before = driver.stats.compiles + driver.stats.growths
    driver.set_obstacles([Obstacle(25.0, 25.0, radius=8.0), Obstacle(5.0, 5.0, 6.0, 10.0)])
    assert deepest(driver) == 1
    driver.advance(3000)
    assert deepest(driver) < 0.35
    assert driver.stats.compiles + driver.stats.growths == before
    driver.set_obstacles([])
    driver.advance(1)
    assert driver.snapshot().obstacles == ()


def test_rods_placed_at_random_are_placed_outside(driver: Driver) -> None:
    driver.rebuild(obstacles=[Obstacle(25.0, 25.0, 14.0, 14.0)])
    assert deepest(driver) < 0.35


def test_K_steps_once_are_one_step_K_times_among_obstacles(driver: Driver) -> None:
    obstacles = [Obstacle(25.0, 25.0, radius=6.0)]
    driver.rebuild(obstacles=obstacles)
    once = driver.advance(12).rods.copy()
    driver.rebuild(obstacles=obstacles)
    for _ in range(12):
        driver.advance(1)
    np.testing.assert_array_equal(driver.snapshot().rods, once)


def test_a_larger_box_takes_obstacles_along(driver: Driver) -> None:
    driver.set_obstacles([Obstacle(10.0, 20.0, 4.0, 5.0, 1.0)])
    driver.set(space_size=100.0)
    assert driver.obstacles == (Obstacle(20.0, 40.0, 4.0, 5.0, 1.0),)


def test_a_reset_keeps_obstacles_and_other_rods_too(driver: Driver) -> None:
    one = Obstacle(10.0, 20.0, radius=4.0)
    driver.set_obstacles([one])
    driver.reset()
    assert driver.obstacles == (one,)
    driver.add([[30.0, 30.0]], [0.0])
    driver.advance(1)
    assert driver.snapshot().obstacles == (one,)


def test_what_is_no_obstacle_is_refused_and_changes_nothing(driver: Driver) -> None:
    driver.set_obstacles([Obstacle(1.0, 1.0, radius=2.0)])
    for wrong, word in (
        (Obstacle(math.nan, 1.0, radius=1.0), "finite"),
        (Obstacle(1.0, 1.0), "size"),
        (Obstacle(1.0, 1.0, -1.0, 2.0), "size"),
        (Obstacle(1.0, 1.0, radius=1e39), "size"),
    ):
        with pytest.raises(ParameterError, match=word):
            driver.set_obstacles([wrong])
    with pytest.raises(ParameterError, match=f"at most {MOST_OBSTACLES}"):
        driver.set_obstacles([Obstacle(1.0, 1.0, radius=1.0)] * (MOST_OBSTACLES + 1))
    assert driver.obstacles == (Obstacle(1.0, 1.0, radius=2.0),)
    assert Obstacle.from_values([1, 2, 3, 4, 5]) == Obstacle(1.0, 2.0, 3.0, 4.0, 5.0)
    with pytest.raises(ValueError, match="width"):
        Obstacle.from_values([1.0, 2.0])


def test_a_checkpoint_holds_obstacles(driver: Driver) -> None:
    driver.set_obstacles([Obstacle(25.0, 25.0, 4.0, 5.0, 1.5)])
    driver.advance(20)
    kept = driver.checkpoint()
    driver.advance(30)
    there = driver.snapshot()
    driver.rebuild(obstacles=())
    driver.resume(kept)
    assert driver.obstacles == kept.obstacles
    driver.advance(30)
    np.testing.assert_array_equal(driver.snapshot().rods, there.rods)
    with pytest.raises(CheckpointError, match="obstacles"):
        driver.resume(replace(kept, obstacles=()))
    with pytest.raises(CheckpointError, match="finite"):
        driver.resume(replace(kept, obstacles=(Obstacle(math.nan, 0.0, radius=1.0),)))


def test_rods_are_given_an_activity(driver: Driver) -> None:
    driver.set(tau_a=5.0)
    driver.set_activity([3, 7], 0.25)
    activity = driver.snapshot().activity
    np.testing.assert_array_equal(activity[[3, 7]], np.float32(0.25))
    assert np.all(activity[[0, 1, 2]] == 1)
    driver.advance(1)
    assert 0.2 < driver.snapshot().activity[3] < 0.3
    driver.set_activity([], 0.5)
    with pytest.raises(ParameterError, match="no rods"):
        driver.set_activity([4000], 0.5)
    with pytest.raises(ParameterError, match="activity"):
        driver.set_activity([1], 1.5)
    driver.set(tau_a=0.0)
