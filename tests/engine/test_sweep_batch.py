# SPDX-License-Identifier: GPL-3.0-or-later
"""Systems side by side: each has the bits that it has alone, and fails alone."""

from dataclasses import replace

import numpy as np
import pytest

from engine import Driver, Params, Setup
from engine.study.sweep import batch as batches
from engine.study.sweep import job as jobs
from engine.study.sweep.plan import Job, plan
from engine.study.sweep.spec import read

OBSERVE = ["polar_order", "active_fraction", "mean_speed"]
TIME = {"warm_up": 0.3, "every": 0.06, "samples": 3}


def a_job(batch: int = 3, **changes: object) -> Job:
    """Three systems of 64 rods that differ in density, dt, noise and seed."""
    table = {
        "batch": batch, "time": TIME, "observe": OBSERVE,
        "fixed": {"rods": 64, "activity_thresh": 2.0},
        "points": [
            {"packing_fraction": 0.2, "dt": 0.003, "D_r": 0.0},
            {"packing_fraction": 0.5, "dt": 0.002, "D_r": 0.01},
            {"packing_fraction": 0.3, "dt": 0.003, "D_r": 0.02},
        ],
    } | changes  # fmt: skip
    return plan(read(table, (Setup(), Params())), "1").jobs[0]


def alone(job: Job, at: int) -> Job:
    """The same program with one system in it."""
    return replace(job, systems=(job.systems[at],))


@pytest.fixture(scope="module")
def done() -> jobs.Done:
    return jobs.run_job(a_job())


def test_a_system_has_the_bits_that_a_driver_gives_it(done):
    job = a_job()
    driver = None
    for at, system in enumerate(job.systems):
        if driver is None:
            driver = Driver(system.setup, system.params, seed=system.seed, threads=1)
        else:
            driver.rebuild(system.setup, system.params, system.seed)
        steps = system.steps(job.times)
        driver.advance(steps[0])
        for k in range(job.times.samples):
            seen = driver.advance(steps[k + 1] - steps[k]).observables
            assert [seen[name] for name in OBSERVE] == done.values[at, k].tolist()
        assert done.code == driver.stats.code
        assert done.device == driver.stats.device


def test_steps_of_adaptive_length_are_taken_until_a_sample_is_due(monkeypatch):
    fast = {"rods": 64, "time_step": "adaptive", "F_prop": 600.0, "k_cc": 400.0, "dt": 0.002}
    points = [{"packing_fraction": 0.2, "D_r": 0.01}, {"packing_fraction": 0.5, "D_r": 0.02}]
    job = a_job(points=points, fixed=fast)
    seen: list[np.ndarray] = []
    real = jobs._Running.observe

    def observe(running: jobs._Running) -> np.ndarray:
        assert running.report is not None
        seen.append(running.report.elapsed[:2].sum(axis=1))
        return real(running)

    monkeypatch.setattr(jobs._Running, "observe", observe)
    done = jobs.run_job(job)
    assert done.failed == ("", "")
    np.testing.assert_allclose(np.transpose(seen), [job.times.all[1:]] * 2, atol=0.0011)
    for at, system in enumerate(job.systems):
        driver = Driver(system.setup, system.params, seed=system.seed, threads=1)
        took = [driver.advance(1)]
        while took[-1].time < job.times.all[-1]:
            took.append(driver.advance(1))
        assert len(took) > 1.2 * system.steps(job.times)[-1]
        for k, time in enumerate(job.times.all[1:]):
            due = next(one for one in took if time - one.time < system.params.dt / 2)
            expected = [due.observables[name] for name in OBSERVE]
            assert expected == done.values[at, k].tolist()


def test_a_system_has_the_same_bits_alone_and_in_other_company(done):
    for at in range(3):
        single = jobs.run_job(alone(a_job(), at))
        np.testing.assert_array_equal(single.values[0], done.values[at])
    turned = replace(a_job(), systems=a_job().systems[::-1])
    np.testing.assert_array_equal(jobs.run_job(turned).values[::-1], done.values)


def test_how_many_fit_side_by_side_changes_no_bit_on_a_cpu(done):
    wider = jobs.run_job(replace(a_job(), batch=5))
    np.testing.assert_array_equal(wider.values, done.values)


def test_lists_that_are_outgrown_change_no_bit(done, monkeypatch):
    real = batches.capacity_for
    monkeypatch.setattr(
        batches, "capacity_for", lambda *given: real(*given)._replace(slots=8, candidates=0)
    )
    monkeypatch.setattr(batches.Batch, "_room", {})
    monkeypatch.setattr(batches.Batch, "_programs", {})
    small = jobs.run_job(a_job())
    assert next(iter(batches.Batch._room.values())).slots > 8
    np.testing.assert_array_equal(small.values, done.values)


def test_a_system_that_fails_is_told_and_changes_nothing_about_the_others(done):
    job = a_job()
    wild = replace(job.systems[1].params, F_prop=1e6)
    broken = replace(job.systems[2].params, w_a=3e38, w_d=3e38, activity_thresh=-3e38)
    systems = (
        job.systems[0],
        replace(job.systems[1], params=wild),
        replace(job.systems[2], params=broken),
    )
    told = jobs.run_job(replace(job, systems=systems))
    assert told.failed[0] == ""
    np.testing.assert_array_equal(told.values[0], done.values[0])
    assert told.failed[1].startswith("Step 1 was not taken: rod ")
    assert "body widths. Lower" in told.failed[1]
    assert np.isnan(told.values[1]).all()


def test_an_unstable_step_is_told_with_the_largest_safe_one():
    job = a_job()
    unstable = replace(job.systems[1].params, dt=0.06, k_cc=3000.0, F_prop=80.0)
    told = jobs.run_job(replace(job, systems=(replace(job.systems[1], params=unstable),)))
    assert "above the largest safe step" in told.failed[0]


def test_samples_before_a_failure_are_kept():
    """With so much noise a contact sooner or later throws a rod too far."""
    job = a_job()
    params = replace(job.systems[1].params, dt=0.012, k_cc=60.0, F_prop=8.0)
    many = [replace(job.systems[1], params=params, seed=seed) for seed in range(3)]
    told = jobs.run_job(replace(job, systems=tuple(many)))
    for why, values in zip(told.failed, told.values, strict=True):
        missing = np.isnan(values).any(axis=1)
        assert (not why) == (not missing.any())
        assert (np.diff(missing.astype(int)) >= 0).all()


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs be as they are on a card: all systems in each step."""
    real = batches.kind_for

    def kind(setup, kernel, batch, alike):
        return replace(real(setup, kernel, batch, alike), at_once=True, alike=alike)

    monkeypatch.setattr(jobs, "kind_for", kind)


def test_all_at_once_as_on_a_card(monkeypatch, request):
    """Bits are those that a system has alone in the same program; other programs round otherwise,
    so with native code it is compared before chaos sets in.
    """
    short = {"warm_up": 0.03, "every": 0.01, "samples": 2}
    other = jobs.run_job(a_job(time=short))
    request.getfixturevalue("quickly_compiled")
    at_once(monkeypatch)
    fixed = {"rods": 64, "activity_thresh": 2.0, "kernel": "naive"}
    job = a_job(fixed=fixed, time=short)
    assert "gamma" in job.alike
    assert not {"dt", "D_r", "space_size"} & set(job.alike)
    together = jobs.run_job(job)
    assert not any(together.failed)
    for at in range(3):
        single = jobs.run_job(alone(job, at))
        np.testing.assert_array_equal(single.values[0], together.values[at])
    np.testing.assert_allclose(other.values, together.values, atol=2e-3)
