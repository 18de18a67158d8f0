# SPDX-License-Identifier: GPL-3.0-or-later
"""What the time step and the width of numbers do: stability, convergence, float32, long runs."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.driver import Driver, SimulationError
from engine.params import Params, Setup
from engine.snapshot import Snapshot, Start
from engine.study.validate.check import SIGMAS, Reading, band, near, none_of
from engine.study.validate.doubles import InDoubles
from engine.study.validate.lab import ALWAYS_ACTIVE, Lab, moved, packed, turned

# A crowd whose activity depends on where rods are.
CROWD = {
    "F_prop": 8.0, "k_cc": 60.0, "dt": 0.00333, "activity_thresh": 4.0, "activity_width": 0.7,
}  # fmt: skip


def deepest_overlap(driver: Driver) -> float:
    """The largest overlap of any two rods, in body widths."""
    return float(driver.measure(["overlap"])["overlap"].max())


def time_step_rule(lab: Lab) -> Iterator[Reading]:
    """A dense run at the largest safe dt, at shares of it, and far above it."""
    n, values = 400, {"F_prop": 8.0, "k_cc": 133.0, **ALWAYS_ACTIVE}
    bound = 0.05 * 4.0 / 133.0
    spins = {}
    for share in (1.0, 0.25):
        params = packed(n, 0.7, dt=share * bound, **values)
        driver = lab.engine(params, setup=Setup(rods=n), seed=2)
        driver.advance(round(4000 / share))
        rates = []
        for _ in range(20):
            before = driver.snapshot()
            rates.append(np.abs(turned(before, driver.advance(1))).mean() / params.dt)
        spins[share] = float(np.mean(rates))
    # Contacts that chatter give a mean spin 10 to 40 times as large, which depends on dt.
    yield near("mean |spin| at the largest safe dt over that at a quarter", 1.0,
               spins[1.0] / spins[0.25], 0.25)  # fmt: skip

    params = packed(n, 0.7, dt=8 * bound, **values)
    driver = lab.engine(params, setup=Setup(rods=n), seed=2)
    refused = True
    try:
        driver.advance(4000)
        refused = False
    except SimulationError:
        pass
    yield none_of("runs at 8 × the largest safe dt that are not refused", int(not refused))


def convergence(lab: Lab) -> Iterator[Reading]:
    """Half the step, half the error: places after a time, from one start, for six steps.

    The difference of successive ones needs no exact solution; its slope is the order.
    """
    n, seconds, halvings = 100, 0.5, 5
    params = packed(n, 0.4, F_prop=8.0, k_cc=60.0, dt=seconds / 150, **ALWAYS_ACTIVE)
    orders, errors = [], []
    for seed in range(8):
        driver = lab.engine(params, setup=Setup(rods=n), seed=seed)
        start = Start.of(driver.advance(600))
        start = replace(start, step=0, time=0.0)
        ends = []
        for i in range(halvings + 1):
            finer = replace(params, dt=params.dt / 2**i)
            ends.append(lab.engine(finer, start=start).advance(150 * 2**i))
        apart = [math.sqrt((moved(*pair) ** 2).sum(1).mean()) for pair in itertools.pairwise(ends)]
        orders.append(-np.polyfit(range(halvings), np.log2(apart), 1)[0])
        errors.append(apart[0])
    error = np.std(orders, ddof=1) / math.sqrt(len(orders))
    yield near("order: error ∝ dt to the power", 1.0, np.mean(orders), SIGMAS * error + 0.05, error)
    yield band("error after half a body width at the largest safe dt, in body widths",
               0.0, 0.05, 2 * np.mean(errors))  # fmt: skip


def against_doubles(lab: Lab) -> Iterator[Reading]:
    """The engine beside the same equations in float64, from the same starts."""
    n = 150
    params, setup = packed(n, 0.3, **CROWD), Setup(rods=n)
    wide = InDoubles(n, params)
    names = ("mean_activity", "mean_speed", "polar_order", "nematic_order")
    found: dict[str, list[list[float]]] = {"single": [], "double": []}
    largest = 0.0
    for seed in range(6):
        lab.say(f"float32 against float64, start {seed + 1} of 6")
        driver = lab.engine(params, setup=setup, seed=seed)
        start = replace(Start.of(driver.advance(300)), step=0, time=0.0)
        driver = lab.engine(params, start=start)
        wide.begin(start)
        far = moved(driver.advance(60), wide.advance(60))
        largest = max(largest, float(np.abs(far).max()))
        driver.advance(2340)
        wide.advance(2340)
        runs = {"single": [], "double": []}
        for _ in range(20):
            runs["single"].append(_averages(names, driver.advance(150)))
            runs["double"].append(_averages(names, wide.advance(150)))
        for which, values in runs.items():
            found[which].append(np.mean(values, axis=0).tolist())
    yield near("largest difference of places after 60 steps", 0.0, largest, 1e-3)
    single, double = (np.array(found[which]) for which in ("single", "double"))
    for i, name in enumerate(names):
        # Runs from one start stay alike for long, so their differences scatter less than they do.
        apart = single[:, i] - double[:, i]
        error = apart.std(ddof=1) / math.sqrt(len(apart))
        yield near(name.replace("_", " "), double[:, i].mean(), single[:, i].mean(),
                   SIGMAS * error + 0.001, error)  # fmt: skip


def _averages(names: tuple[str, ...], snapshot: Snapshot) -> list[float]:
    return [snapshot.observables[name] for name in names]


def long_run(lab: Lab) -> Iterator[Reading]:
    """200,000 steps with torque, noise and memory: nothing drifts out of range."""
    params = Params(space_size=60.0, T_prop=1.0, D_r=0.02, D_t=0.001, tau_a=1.0)
    driver = lab.engine(params, setup=Setup(rods=150), seed=1)
    outside, deepest = 0, 0.0
    for _ in range(4):
        s = driver.advance(50_000)
        outside += int(np.sum((s.pos < 0) | (s.pos >= np.float32(60.0))))
        outside += int(np.sum(np.abs(s.theta) > np.float32(np.pi)))
        outside += int(np.sum((s.activity < 0) | (s.activity > 1)))
        deepest = max(deepest, deepest_overlap(driver))
    yield none_of("numbers out of range", outside)
    yield band("deepest overlap, in body widths", 0.0, 0.5, deepest)
    yield near("time after 200,000 steps", 200_000 * 0.00333, driver.time, 1e-3)
