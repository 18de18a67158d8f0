# SPDX-License-Identifier: GPL-3.0-or-later
"""One rod against each law that a setup may choose, and what stands in its way: closed forms."""

import math
from collections.abc import Iterator

import numpy as np

from engine.obstacle import Obstacle
from engine.params import Params, Setup
from engine.study.validate.check import Reading, near, none_of, sampled
from engine.study.validate.lab import ALWAYS_ACTIVE, KEPT_ACTIVE, Lab, moved, random_rods
from engine.study.validate.single import GRAIN, start_of

# The kernel that is compiled soonest, where it is native code: each law has a program of its own.
SOON = "neighbours"


def memory(lab: Lab) -> Iterator[Reading]:
    """Rods that wake and rods that fall asleep, each from an activity of its own."""
    tau_a, rods = 0.5, 100
    before = np.linspace(0, 1, rods)
    for word, threshold, target in (("wake", -9.0, 1.0), ("fall asleep", 9.0, 0.0)):
        params = Params(space_size=100.0, F_prop=0.0, dt=0.003, w_d=0.0, w_a=0.0, tau_a=tau_a,
                        activity_thresh=threshold, activity_width=0.0)  # fmt: skip
        driver = lab.engine(params, start=random_rods(6, rods, params, before))
        for K in (1, 200):
            after = driver.advance(K - driver.step)
            expected = target + (before - target) * math.exp(-after.time / tau_a)
            off = np.abs(after.activity - expected).max()
            yield near(f"rods that {word}: largest difference after {K} steps", 0.0, off, 1e-5)


def activation(lab: Lab) -> Iterator[Reading]:
    """Two rods that sense each other, and one that senses nobody."""
    weights = {"w_d": 1.0, "w_a": 2.0, "activity_thresh": 1.5, "activity_width": 0.5}
    params = Params(space_size=60.0, F_prop=0.0, sensing_range=3.0, **weights)
    start = start_of([[10, 10], [10, 12], [40, 40]], [0, 0, 0], [0.25, 0.75, 1.0])
    for law, sign in (("rising", 1), ("falling", -1)):
        driver = lab.engine(params, start=start, setup=Setup(activation=law, kernel=SOON))
        after = driver.advance(1)
        sensed = (1 + 2 * 0.75, 1 + 2 * 0.25, 0.0)
        for rod, s in enumerate(sensed):
            expected = 1 / (1 + math.exp(-sign * (s - 1.5) / 0.5))
            yield near(f"{law}: activity where S = {s:g}", expected, after.activity[rod], 1e-5)


# Where a rod that swims along x meets the wall of each kind, in a box of 40.
_MIDDLE = 20.0
_MET = {
    "obstacle": ("periodic", (Obstacle(30.0, _MIDDLE, width=4.0, height=100.0),), 28.0),
    "disc": ("periodic", (Obstacle(30.0, _MIDDLE, radius=3.0),), 27.0),
    "walls": ("walls", (), 40.0),
    "circle": ("circle", (), 40.0),
}


def walls(lab: Lab) -> Iterator[Reading]:
    """A rod that swims straight against each kind of wall, after each law of contacts."""
    q = 0.05
    for name, (boundary, obstacles, place) in _MET.items():
        for contact, deep in (("hooke", q), ("hertz", q ** (2 / 3))):
            setup = Setup(boundary=boundary, contact=contact, kernel=SOON)
            params = Params(space_size=40.0, F_prop=2 * q * 60.0, k_cc=60.0, dt=0.003,
                            **ALWAYS_ACTIVE)  # fmt: skip
            start = start_of([[place - 2.6, _MIDDLE]], [0.0], [1.0])
            driver = lab.engine(params, start=start, setup=setup, obstacles=obstacles)
            tip = float(driver.advance(1500).pos[0, 0]) + params.length / 2
            yield near(f"overlap with {name}, {contact}", deep, tip + params.radius - place,
                       2e-3 * deep + 2 * GRAIN)  # fmt: skip


def hand(lab: Lab) -> Iterator[Reading]:
    """Passive rods at shares of the hand's range, which pushes or pulls."""
    for force in (6.0, -6.0):
        params = Params(space_size=80.0, F_prop=0.0, dt=0.003, push_x=20.0, push_y=20.0,
                        push_range=16.0, push_force=force, **KEPT_ACTIVE)  # fmt: skip
        shares = (0.25, 0.5, 1.25)
        at = [[20 + 16 * shares[0], 20], [20, 20 + 16 * shares[1]], [20 - 16 * shares[2], 20]]
        driver = lab.engine(params, start=start_of(at, [0.0, 1.0, 2.0], [0.0] * 3))
        before = driver.snapshot()
        way = moved(before, driver.advance(1)) / params.dt
        away = np.array([[1, 0], [0, 1], [-1, 0]])
        for share, along in zip(shares, (way * away).sum(1), strict=True):
            expected = 4 * force * share * (1 - share) / 4.0 if share < 1 else 0.0
            yield near(f"speed away from a hand of {force:g} at ρ = {share:g}", expected, along,
                       3e-3)  # fmt: skip


def noise_of_active(lab: Lab) -> Iterator[Reading]:
    """Rods alone: how far they come is as their activity, and how much they turn."""
    n, each = 3000, (1.0, 0.25, 0.0)
    params = Params(space_size=200.0, k_cc=0.0, sensing_range=0.0, F_prop=0.0, D_t=0.05, D_r=0.02,
                    dt=0.01, **KEPT_ACTIVE)  # fmt: skip
    rng = np.random.default_rng(2)
    pos, activity = rng.uniform(0, 200, (n, 2)), np.repeat(each, n // len(each))
    start = start_of(pos.tolist(), [0.0] * n, activity.tolist())
    driver = lab.engine(params, start=start, seed=3, setup=Setup(noise_of="active"))
    before = driver.snapshot()
    after = driver.advance(100)
    square, turn = (moved(before, after) ** 2).sum(1), after.theta.astype(np.float64) ** 2
    for a in each[:2]:
        these = activity == a
        yield sampled(f"⟨Δr²⟩ at activity {a:g}", 4 * 0.05 * a, square[these])
        yield sampled(f"⟨Δθ²⟩ at activity {a:g}", 2 * 0.02 * a, turn[these])
    still = activity == 0
    yield none_of("passive rods that noise moves", int(((square + turn)[still] > 0).sum()))


def adaptive(lab: Lab) -> Iterator[Reading]:
    """A rod so fast that a tenth of its width takes less than dt, and one that is slow."""
    for speed, expected in ((20.0, 0.1 / 20.0), (2.0, 0.02)):
        params = Params(space_size=60.0, F_prop=2 * 4.0 * speed, dt=0.02, **ALWAYS_ACTIVE)
        driver = lab.engine(
            params,
            start=start_of([[10, 30]], [0.0], [1.0]),
            setup=Setup(time_step="adaptive", kernel=SOON),
        )
        before = driver.snapshot()
        after = driver.advance(100)
        yield near(f"length of a step at v₀ = {speed:g}, dt = 0.02", expected, after.time / 100,
                   1e-5 * expected)  # fmt: skip
        way = float(moved(before, after)[0, 0]) / (speed * after.time)
        yield near(f"way over v₀ t at v₀ = {speed:g}", 1.0, way, 1e-4)
