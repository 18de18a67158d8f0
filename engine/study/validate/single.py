# SPDX-License-Identifier: GPL-3.0-or-later
"""One rod, two rods, and what holds for any rods: closed forms without statistics."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.params import Params, Setup
from engine.snapshot import Snapshot, Start
from engine.study.validate.check import Reading, near
from engine.study.validate.lab import (
    ALWAYS_ACTIVE,
    KEPT_ACTIVE,
    Lab,
    directions,
    moved,
    packed,
    path,
    random_rods,
    turned,
)

# Coordinates near 10 are known to 1e-6 in float32.
GRAIN = 3e-6


def start_of(pos: list[list[float]], theta: list[float], activity: list[float]) -> Start:
    """Rods at these places."""
    return Start(np.array(pos, float), np.array(theta, float), np.array(activity, float))


def free_rods(lab: Lab) -> Iterator[Reading]:
    """Rods of three activities far from each other go straight on."""
    params = Params(space_size=64.0, F_prop=11.0, gamma=0.8, dt=0.01, **KEPT_ACTIVE)
    activity = [1.0, 0.4, 0.0]
    start = start_of([[16, 16], [40, 20], [20, 50]], [0.0, 1.0, -2.7], activity)
    driver = lab.engine(params, start=start)
    before = driver.snapshot()
    after = driver.advance(200)
    along = (moved(before, after) * directions(before)).sum(1) / after.time
    for a, speed in zip(activity, along, strict=True):
        expected = 11.0 / (2 * 0.8 * 4.0) * a
        yield near(f"speed at activity {a:g}", expected, speed, 1e-5 * expected + GRAIN)


def circle_swimmers(lab: Lab) -> Iterator[Reading]:
    """The circle through three places of a rod that swims round."""
    for dt, K in ((0.3, 9), (0.01, 270)):
        params = Params(space_size=40.0, F_prop=8.0, T_prop=4.0, dt=dt, **ALWAYS_ACTIVE)
        driver = lab.engine(params, start=start_of([[20, 20]], [0.3], [1]))
        places, _ = path(driver, 2, K)
        corners = places[[0, 1, 2, 0], 0]
        sides = corners[1:] - corners[:-1]
        twice_area = abs(sides[0, 0] * sides[1, 1] - sides[0, 1] * sides[1, 0])
        radius = np.hypot(*sides.T).prod() / (2 * twice_area)
        turn = 4.0 / (4.0**3 / 12)
        polygon = dt / (2 * math.sin(turn * dt / 2))
        yield near(f"radius of the polygon at dt = {dt:g}", polygon, radius, 2e-5)
        if dt == 0.01:
            yield near("radius v₀ ζ_R/T", 1 / turn, radius, 2e-5)


def contact_through_the_centres(lab: Lab) -> Iterator[Reading]:
    """Two rods side by side push each other apart without turning."""
    params = Params(space_size=40.0, F_prop=0.0, k_cc=60.0, dt=0.003)
    start = start_of([[5, 5], [5, 5.75]], [0, 0], [0, 0])
    driver = lab.engine(params, start=start)
    share = 1 - 2 * 60.0 / 4.0 * 0.003
    for K in (2, 20):
        one, other = driver.advance(K - driver.step).pos
        overlap = 1 - np.hypot(*(np.float64(other) - one))
        yield near(f"overlap after {K} steps", 0.25 * share**K, overlap, GRAIN)
    spin = np.abs(driver.snapshot().theta).max()
    yield near("turned meanwhile", 0.0, spin, 1e-4)


def tip_on_tip(lab: Lab) -> Iterator[Reading]:
    """Two tips pushed apart across their rods: the stiffest contact."""
    dt = 3e-4
    params = Params(space_size=40.0, F_prop=0.0, k_cc=60.0, dt=dt)
    # The tips are 0.03 apart along the rods, so that ε draws no contact point inwards.
    start = start_of([[8, 8], [12.03, 8.75]], [0, math.pi], [0, 0])
    driver = lab.engine(params, start=start)
    before, after = gap_of_tips(driver.snapshot()), gap_of_tips(driver.advance(1))
    rate = (after - before) / dt / (1 - before)
    # The normal leans from the perpendicular by 0.04: of 4 F/ζ a share of 3 F/ζ counts the less.
    lean = (0.03**2) / (0.03**2 + 0.75**2)
    yield near("rate λ₀ = 8k/γℓ", 8 * 60.0 / 4.0 * (1 - 0.75 * lean), rate, 0.12)


def gap_of_tips(snapshot: Snapshot) -> float:
    """The distance of the two heads."""
    heads = np.float64(snapshot.pos) + snapshot.params.length / 2 * directions(snapshot)
    return float(np.hypot(*(heads[1] - heads[0])))


def head_on(lab: Lab) -> Iterator[Reading]:
    """Two active rods that push head on come to rest.

    The balance is unstable sideways, so it is read before round-off has grown.
    """
    for q in (0.02, 0.067, 0.1):
        params = Params(space_size=40.0, F_prop=2 * q * 60.0, k_cc=60.0, dt=0.003, **ALWAYS_ACTIVE)
        driver = lab.engine(params, start=start_of([[10, 10], [14.9, 10]], [0, math.pi], [1, 1]))
        after = driver.advance(150)
        overlap = 1 - (np.float64(after.pos[1, 0]) - after.pos[0, 0] - 4.0)
        yield near(f"overlap at q = {q:g}", q, overlap, 1e-3 * q + GRAIN)


def broadside(lab: Lab) -> Iterator[Reading]:
    """An active rod pushes a passive one that lies across its way."""
    params = Params(space_size=40.0, F_prop=8.0, k_cc=60.0, dt=0.003, **KEPT_ACTIVE)
    driver = lab.engine(params, start=start_of([[10, 10], [12.95, 10]], [0, math.pi / 2], [1, 0]))
    before = driver.advance(300)
    after = driver.advance(100)
    gap = np.float64(after.pos[1, 0]) - after.pos[0, 0] - 2.0
    yield near("overlap F_eff/2k", 4 / 120, 1 - gap, 2e-3 * 4 / 120 + GRAIN)
    seconds = after.time - before.time
    for name, way in zip(("active", "passive"), moved(before, after)[:, 0], strict=True):
        yield near(f"speed of the {name} rod", 0.5, way / seconds, 1e-3)


def head_on_after_hertz(lab: Lab) -> Iterator[Reading]:
    """As `head_on`, with the contact that grows as δ^{3/2}."""
    for q in (0.02, 0.067, 0.1):
        params = Params(space_size=40.0, F_prop=2 * q * 60.0, k_cc=60.0, dt=0.003, **ALWAYS_ACTIVE)
        start = start_of([[10, 10], [14.9, 10]], [0, math.pi], [1, 1])
        after = lab.engine(params, start=start, setup=Setup(contact="hertz")).advance(200)
        overlap = 1 - (np.float64(after.pos[1, 0]) - after.pos[0, 0] - 4.0)
        expected = q ** (2 / 3)
        yield near(f"overlap at q = {q:g}", expected, overlap, 2e-3 * expected + GRAIN)


def anisotropic_drag(lab: Lab) -> Iterator[Reading]:
    """A rod of the aspect ratio 5 that swims straight, one that turns, one that is pushed aside."""
    setup = Setup(drag="anisotropic")
    along, across, turning = 3.9440, 5.0371, 23.1919
    params = Params(space_size=40.0, F_prop=8.0, T_prop=4.0, dt=0.003, **KEPT_ACTIVE)
    driver = lab.engine(params, start=start_of([[20, 20]], [0.3], [1]), setup=setup)
    before = driver.snapshot()
    after = driver.advance(1)
    speed, turn = np.hypot(*moved(before, after)[0]) / 0.003, turned(before, after)[0] / 0.003
    yield near("speed F_prop/2ζ∥", 8.0 / (2 * along), speed, 2e-3)
    yield near("turns at T_prop/ζ_R", 4.0 / turning, turn, 5e-4)
    # The overlap of two rods side by side, as in `contact_through_the_centres`.
    quiet = replace(params, k_cc=60.0, F_prop=0.0, T_prop=0.0)
    driver = lab.engine(quiet, start=start_of([[5, 5], [5, 5.75]], [0, 0], [0, 0]), setup=setup)
    one, other = driver.advance(20).pos
    share = 1 - 2 * 60.0 / across * 0.003
    yield near("overlap after 20 steps, across ζ⊥", 0.25 * share**20, 1 - (other - one)[1], 2e-5)


def conservation(lab: Lab) -> Iterator[Reading]:
    """Contacts, however many, neither push the whole nor turn it."""
    params = packed(100, 0.45, F_prop=8.0, k_cc=60.0, dt=0.003, **ALWAYS_ACTIVE)
    driver = lab.engine(params, start=random_rods(11, 100, params))
    way, thrust = np.zeros(2), np.zeros(2)
    before = driver.snapshot()
    for _ in range(50):
        after = driver.advance(1)
        way += moved(before, after).mean(0)
        thrust += 8.0 / (2 * 4.0) * directions(before).mean(0) * params.dt
        before = after
    for axis, got, expected in zip("xy", way, thrust, strict=True):
        yield near(f"way of the centre in 50 steps, {axis}", expected, got, 1e-5)

    quiet = replace(params, F_prop=0.0, space_size=60.0)
    cluster = random_rods(2, 100, params)
    cluster = replace(cluster, pos=cluster.pos * 0.6 + 20)
    driver = lab.engine(quiet, start=cluster)
    before = driver.snapshot()
    after = driver.advance(1)
    drag, drag_r = 4.0, 4.0**3 / 12
    about = np.float64(before.pos) - before.pos.mean(0)
    move, turn = drag * moved(before, after), drag_r * turned(before, after)
    torques = about[:, 0] * move[:, 1] - about[:, 1] * move[:, 0] + turn
    scale = (np.hypot(*about.T) * np.hypot(*move.T) + np.abs(turn)).sum()
    yield near("torque of a cluster on itself, over the sum of sizes", 0.0, torques.sum() / scale,
               1e-4)  # fmt: skip
    yield near("force of a cluster on itself, over the sum of sizes", 0.0,
               np.hypot(*move.sum(0)) / np.hypot(*move.T).sum(), 1e-4)  # fmt: skip


def scaling(lab: Lab) -> Iterator[Reading]:
    """Stronger in all forces, and shorter in time by as much, is the same motion."""
    values = {"F_prop": 8.0, "T_prop": 0.5, "k_cc": 60.0, "dt": 0.0025}
    params = packed(100, 0.35, activity_thresh=3.0, activity_width=0.7, **values)
    start = random_rods(12, 100, params)
    plain = lab.engine(params, start=start).advance(40)
    for factor, allowed in ((0.25, 0.0), (8.0, 0.0), (3.0, 1e-3)):
        scaled = {k: v / factor if k == "dt" else v * factor for k, v in values.items()}
        other = lab.engine(replace(params, **scaled), start=start).advance(40)
        largest = np.abs(moved(plain, other)).max() + np.abs(turned(plain, other)).max()
        yield near(f"largest difference for × {factor:g}", 0.0, largest, allowed)
