# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of adaptive length: shorter where rods are fast, the same whatever K, and all summed."""

from dataclasses import replace

import numpy as np
import pytest

from engine import Driver, SimulationError
from tests.engine import seam
from tests.engine.programs import FIFTY, setup_for, shared_programs

# A free rod goes 0.6 body widths in a step of dt, and more where it is pushed.
FAST = replace(FIFTY, F_prop=1600.0, k_cc=60.0, D_r=0.01, dt=0.003, tau_a=0.4, activity_thresh=1.0)
# The shortest program of JAX, and native code.
CODES = [name for name in ("naive", "native") if name in seam.KERNEL_NAMES]


def driver_for(kernel: str, time_step: str = "adaptive") -> Driver:
    with shared_programs():
        driver = Driver(replace(setup_for(kernel, 50), time_step=time_step), FIFTY, seed=5)
        driver.set(**vars(FAST))
        return driver


@pytest.mark.parametrize("kernel", CODES)
def test_no_tip_goes_farther_than_a_tenth_of_a_width_and_time_is_the_sum_of_all_steps(
    kernel, quickly_compiled
):
    driver = driver_for(kernel)
    times, total, before = [], 0.0, driver.snapshot()
    for _ in range(60):
        now = driver.advance(1)
        way = np.abs(np.mod(now.pos - before.pos + 14, 28) - 14)
        assert np.hypot(*way.T).max() < 0.1001
        step = now.time - before.time
        assert 0 < step <= FAST.dt * 1.00001
        total += step
        times.append(step)
        before = now
    assert min(times) < 0.3 * FAST.dt, "no step was shortened"
    assert driver.time == pytest.approx(total, rel=1e-12)
    # A calm run takes dt.
    driver.set(F_prop=1.0, dt=0.001)
    last = driver.advance(400)
    assert driver.advance(10).time - last.time == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize("kernel", CODES)
def test_bits_and_time_do_not_depend_on_K_nor_on_a_checkpoint(kernel, quickly_compiled):
    driver = driver_for(kernel)
    driver.advance(7)
    kept = driver.checkpoint()
    together = driver.advance(50)
    with shared_programs():
        again = Driver.resumed(kept)
        for K in (1, 4, 30, 15):
            apart = again.advance(K)
    assert apart.rods.tobytes() == together.rods.tobytes()
    assert apart.time == together.time
    assert apart.time < 57 * FAST.dt
    # What places rods anew goes on from the time that it was.
    again.set_activity(again.ids[:3], 0.5)
    assert again.time == together.time
    assert again.advance(1).time > together.time


def test_a_step_that_would_be_refused_is_shortened():
    values = {"F_prop": 5000.0, "activity_thresh": -5.0}
    fixed, adaptive = (driver_for(CODES[-1], word) for word in ("fixed", "adaptive"))
    for driver in (fixed, adaptive):
        driver.set(**values)
    with pytest.raises(SimulationError, match="body widths"):
        fixed.advance(200)
    assert adaptive.advance(200).step == 200
