# SPDX-License-Identifier: GPL-3.0-or-later
"""What must change no bit, and what may change bits but no average."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import fields, replace

import jax
import numpy as np

from engine.capacity import capacity_for
from engine.driver import Driver
from engine.kernels import resolve, rowsum
from engine.params import Laws, Params, Setup
from engine.snapshot import Start
from engine.state import to_device
from engine.step import pack, rods_of, unpack
from engine.study.validate.check import SIGMAS, Reading, absent, band, near, none_of
from engine.study.validate.lab import Lab, kernels_here, moved, packed, turned
from engine.study.validate.numerics import CROWD

NOISY = {"D_r": 0.02, "D_t": 0.001, "tau_a": 0.5}
# With every stage of a step at work.
EVERYTHING = {
    "T_prop": 2.0, "tau_a": 0.05, "D_r": 0.2, "D_t": 0.01, "tumble_rate": 5.0, "w_a": 0.5,
}  # fmt: skip
ALL_KERNELS = ("native", "neighbours", "rowsum", "naive")


def batches(lab: Lab) -> Iterator[Reading]:
    """64 steps in batches of any length."""
    params = packed(150, 0.4, **CROWD, **NOISY)
    here = kernels_here()
    for kernel in ALL_KERNELS:
        what = f"{kernel}: numbers that differ between K = 64, 16 and 1"
        if kernel not in here:
            yield absent(what, "there is no such kernel here")
            continue
        setup, ends = replace(here[kernel], rods=150), []
        for K in (64, 16, 1):
            driver = lab.engine(params, setup=setup, seed=3)
            for _ in range(64 // K):
                driver.advance(K)
            ends.append(driver.snapshot().rods)
        yield none_of(what, sum(int((end != ends[0]).sum()) for end in ends))


def growth(lab: Lab) -> Iterator[Reading]:
    """A list of neighbours that outgrows its arrays, and one that has had the room all along."""
    setup = Setup(rods=600)
    near_only = packed(600, 0.3, **CROWD | {"sensing_range": 1.0})
    far = replace(near_only, sensing_range=8.0)
    lab.say("a list that grows")
    grows = Driver(setup, near_only, seed=3)
    start = Start.of(grows.snapshot())
    roomy = Driver(setup, far, start=start)
    rooms, ends = [], []
    for driver in (grows, roomy):
        driver.rebuild(params=near_only, start=start)
        rooms.append(driver.program.capacity.slots)
        driver.advance(100)
        driver.set(sensing_range=8.0)
        ends.append(driver.advance(200).rods)
    few, many = rooms
    what = f"numbers that differ with room for {many} neighbours at first in place of {few}"
    yield none_of(what, int((ends[0] != ends[1]).sum()))
    yield band("how often the list has grown", 1, 9, grows.stats.growths - roomy.stats.growths)


def threads(lab: Lab) -> Iterator[Reading]:
    """Native code on one thread and on more."""
    params, setup = packed(2000, 0.3, **CROWD, **NOISY), Setup(rods=2000)
    what = "numbers that differ on 1, 2 and 3 threads"
    if resolve(setup).kernel != "native":
        yield absent(what, "there is no native code here")
        return
    ends = []
    for count in (1, 2, 3):
        lab.say(f"native code on {count} threads")
        ends.append(Driver(setup, params, seed=3, threads=count).advance(200).rods)
    yield none_of(what, sum(int((end != ends[0]).sum()) for end in ends))


def choices(lab: Lab) -> Iterator[Reading]:
    """Soon after the same start, under each choice of the model, native code and JAX's agree."""
    n, here = 100, kernels_here()
    if "native" not in here:
        yield absent("native code and JAX's", "there is no native code here")
        return
    params = packed(n, 0.3, **CROWD | EVERYTHING)
    others = [
        {f.name: word} for f in fields(Laws) for word in f.metadata["choices"] if word != f.default
    ]
    for laws in ({}, *others):
        both = [replace(here[code], rods=n, **laws) for code in ("native", "rowsum")]
        start = Start.of(lab.engine(params, setup=both[0], seed=5).snapshot())
        start = replace(start, activity=np.linspace(0, 1, n))
        ends = [lab.engine(params, start=start, setup=s, seed=5).advance(10) for s in both]
        gap = max(
            np.abs(moved(*ends)).max(), np.abs(turned(*ends)).max(),
            np.abs(ends[0].activity - ends[1].activity).max(),
        )  # fmt: skip
        told = ", ".join(f"{name} = {word}" for name, word in laws.items()) or "as given"
        yield near(f"largest difference after 10 steps, {told}", 0.0, gap, 1e-4)


def blocks(lab: Lab) -> Iterator[Reading]:
    """The row sum in blocks of other sizes: forces on the same rods, to rounding."""
    n = 300
    params = packed(n, 0.5, **CROWD)
    driver = lab.engine(params, setup=Setup(rods=n), seed=3)
    start = Start.of(driver.advance(200))
    room = capacity_for(n, params, "cpu", "rowsum")
    state = to_device(start, params, room, listed=False)
    sums = {}
    for block in ((64, 64), (16, 16), (7, 50), (384, 384)):
        summed = jax.jit(
            lambda state, block=block: rowsum.per_particle_sum(
                rods_of(state), state.n, unpack(jax.device_put(pack(params))), block=block
            )
        )(state)
        sums[block] = np.column_stack([summed.force, summed.torque, summed.local_density])
    usual = sums.pop((64, 64))
    for (rows, columns), other in sums.items():
        off = np.abs(other - usual).max() / params.k_cc
        yield near(f"largest difference of a sum over k d, {rows} × {columns} rods", 0.0, off, 1e-5)


def kernels(lab: Lab) -> Iterator[Reading]:
    """Trajectories part after some body widths, since they are chaotic; averages must not."""
    n = 200
    params, here = packed(n, 0.3, **CROWD), kernels_here()
    start = Start.of(lab.engine(params, setup=Setup(rods=n), seed=1).snapshot())
    soon, found = {}, {}
    for kernel in ALL_KERNELS:
        if kernel not in here:
            yield absent(f"{kernel}", "there is no such kernel here")
            continue
        lab.say(f"averages of {kernel}")
        setup = replace(here[kernel], rods=n)
        soon[kernel] = lab.engine(params, start=start, setup=setup).advance(60)
        found[kernel] = np.array([_averages(lab, params, setup, seed) for seed in range(4)])
    for one, other in itertools.combinations(soon, 2):
        gap = np.abs(moved(soon[one], soon[other])).max()
        yield near(f"{one}, {other}: largest difference of places after 60 steps", 0.0, gap, 1e-3)
        for i, name in enumerate(("mean activity", "mean speed")):
            a, b = found[one][:, i], found[other][:, i]
            error = math.hypot(*(v.std(ddof=1) / math.sqrt(len(v)) for v in (a, b)))
            yield near(f"{one}, {other}: {name}", a.mean(), b.mean(), SIGMAS * error + 0.005, error)


def _averages(lab: Lab, params: Params, setup: Setup, seed: int) -> list[float]:
    """Mean activity and mean speed of a run, after a while."""
    driver = lab.engine(params, setup=setup, seed=seed)
    driver.advance(2000)
    seen = [driver.advance(200).observables for _ in range(10)]
    return [float(np.mean([s[key] for s in seen])) for key in ("mean_activity", "mean_speed")]


def devices(lab: Lab) -> Iterator[Reading]:
    """The device that steps run on beside the CPU, where they differ."""
    n = 300
    params, setup = packed(n, 0.3, **CROWD), Setup(rods=n, native="off")
    what = "on a card and on the CPU"
    if jax.default_backend() == "cpu":
        yield absent(f"averages {what}", "JAX sees no card")
        return
    start = Start.of(lab.engine(params, setup=setup, seed=1).snapshot())
    soon, found = [], []
    for device in (jax.devices()[0], jax.devices("cpu")[0]):
        with jax.default_device(device):
            there = Lab(lab.say)
            soon.append(there.engine(params, start=start, setup=setup).advance(60))
            found.append(np.array([_averages(there, params, setup, seed) for seed in range(4)]))
    gap = np.abs(moved(*soon)).max()
    yield near(f"largest difference of places after 60 steps, {what}", 0.0, gap, 1e-3)
    for i, name in enumerate(("mean activity", "mean speed")):
        card, cpu = found[0][:, i], found[1][:, i]
        error = math.hypot(*(v.std(ddof=1) / math.sqrt(len(v)) for v in (card, cpu)))
        yield near(f"{name} {what}", cpu.mean(), card.mean(), SIGMAS * error + 0.005, error)
