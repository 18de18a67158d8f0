# SPDX-License-Identifier: GPL-3.0-or-later
"""Rods at random: what they sense, contagion among them, and the order that chance makes."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.params import Params, Setup
from engine.study.validate.check import Reading, near, sampled
from engine.study.validate.lab import Lab, random_rods

N = 4000
# Nobody moves; w_d = 0 makes it pure contagion.
FROZEN = Params(
    space_size=150.0, sensing_range=2.0, k_cc=0.0, F_prop=0.0, w_d=0.0, activity_width=0.0
)


def area_sensed(params: Params) -> float:
    """Where centres of random rods must be to be sensed: 2ℓ²/π + 4ℓD + πD², on average."""
    length, D = params.length, params.sensing_range
    return 2 * length**2 / math.pi + 4 * length * D + math.pi * D**2


def mean_neighbours(lab: Lab) -> Iterator[Reading]:
    """How many others a rod senses."""
    for D in (0.5, 1.0, 2.0, 4.0):
        params = replace(FROZEN, sensing_range=D)
        found = []
        for seed in range(8):
            driver = lab.engine(params, start=random_rods(seed, N, params))
            found.append(driver.measure(["local_density"])["local_density"].mean())
        expected = (N - 1) / params.space_size**2 * area_sensed(params)
        yield sampled(f"neighbours nearer than {D:g}", expected, found)


def at_least(needed: int, mean: float) -> float:
    """P(Poisson(mean) ≥ needed)."""
    return 1 - sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(needed))


def one_step_of_contagion(lab: Lab) -> Iterator[Reading]:
    """The share that wakes, or stays awake, in one step; a share p is awake."""
    w_a = 0.5
    for threshold in (1.0, 2.5, 4.0):
        for p in (0.1, 0.4, 0.8):
            params = replace(FROZEN, w_a=w_a, activity_thresh=threshold)
            woken = []
            for seed in range(6):
                awake = np.random.default_rng(100 + seed).uniform(size=N) < p
                driver = lab.engine(params, start=random_rods(seed, N, params, awake))
                woken.append(float(driver.advance(1).activity.mean()))
            z = (N - 1) / params.space_size**2 * area_sensed(params)
            expected = at_least(math.ceil(threshold / w_a), z * p)
            error = np.std(woken, ddof=1) / math.sqrt(len(woken))
            yield near(f"p' at p = {p:g}, S* = {threshold:g}", expected, np.mean(woken), 0.015,
                       error)  # fmt: skip


def critical_neighbours(needed: int) -> float:
    """The least z for which p = P(Poisson(z p) ≥ needed) has a solution p > 0.

    It is the least of m / P(Poisson(m) ≥ needed) over m = z p > 0; for 1 that is the limit m → 0.
    """
    means = np.linspace(1e-4, 12, 200_000)
    tail = 1 - sum(np.exp(-means) * means**k / math.factorial(k) for k in range(needed))
    ratio = means / np.maximum(tail, 1e-300)
    return float(ratio.min())


def contagion_threshold(lab: Lab) -> Iterator[Reading]:
    """How many neighbours contagion needs to last, where rods are placed anew each step."""
    width = 0.04
    for needed in (1, 2, 3, 4):
        expected = critical_neighbours(needed)
        low, high = 0.7 * expected, 1.4 * expected
        while high - low > width * expected:
            z = (low + high) / 2
            lab.say(f"{needed} needed, z = {z:.3g}")
            if _lasts(lab, needed, z):
                high = z
            else:
                low = z
        half = (high - low) / 2
        yield near(
            f"critical z for n* = {needed}", expected, (low + high) / 2, 0.06 * expected, half
        )


def _lasts(lab: Lab, needed: int, z: float, steps: int = 200) -> bool:
    """Whether anybody is awake after so many steps that began with all."""
    box = math.sqrt((N - 1) * area_sensed(FROZEN) / z)
    params = replace(FROZEN, space_size=box, w_a=1.0, activity_thresh=needed - 0.5)
    awake = np.ones(N)
    for step in range(steps):
        driver = lab.engine(params, start=random_rods(step, N, params, awake))
        awake = np.float64(driver.advance(1).activity)
        if not awake.any():
            return False
    return True


def random_order(lab: Lab) -> Iterator[Reading]:
    """Order parameters of rods that point anywhere."""
    n, params = 150, Params(space_size=300.0)
    found = []
    for seed in range(200):
        driver = lab.engine(params, start=random_rods(seed, n, params), setup=Setup(rods=n))
        observed = driver.snapshot().observables
        found.append((observed["polar_order"], observed["nematic_order"]))
    for name, values in zip(("polar", "nematic"), np.transpose(found), strict=True):
        yield sampled(f"{name} order of {n} rods", math.sqrt(math.pi / (4 * n)), values)
