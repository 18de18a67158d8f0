# SPDX-License-Identifier: GPL-3.0-or-later
"""Auto K and the frame clock, played with a fake clock: nothing here measures real time."""

import pytest

from bacsim_gui.pace import READINGS, AutoSteps, FrameClock, FrameRate


def play(auto, cost, frames):
    """Run `frames` frames of an engine whose frame of K steps takes cost(K) seconds."""
    seen = []
    for _ in range(frames):
        K = auto.K
        auto.after_frame(K, cost(K))
        seen.append(K)
    return seen


@pytest.mark.parametrize("per_step", [2e-6, 3e-5, 4e-4])
@pytest.mark.parametrize("overhead", [0.0, 4e-3])
def test_auto_K_fills_the_budget_and_never_exceeds_it(per_step, overhead):
    auto = AutoSteps(budget=1 / 60, K=1)
    K = play(auto, lambda K: overhead + per_step * K, 20 * READINGS)[-1]
    used = overhead + per_step * K
    assert used <= 1 / 60
    assert used >= 0.7 / 60


def test_auto_K_settles():
    auto = AutoSteps(budget=1 / 60, K=25)
    seen = play(auto, lambda K: 1e-3 + 1e-4 * K, 200)
    assert len(set(seen[-100:])) == 1


def test_auto_K_follows_an_engine_that_becomes_slower():
    auto = AutoSteps(budget=1 / 60, K=100)
    fast = play(auto, lambda K: 1e-4 * K, 50)[-1]
    slow = play(auto, lambda K: 1e-3 * K, 50)[-1]
    assert slow == pytest.approx(fast / 10, rel=0.2)


def test_one_slow_frame_does_not_change_K():
    auto = AutoSteps(budget=1 / 60, K=100)
    settled = play(auto, lambda K: 1e-4 * K, 50)[-1]
    auto.after_frame(settled, 0.06)
    assert play(auto, lambda K: 1e-4 * K, 50)[-1] == settled


def test_a_frame_cut_short_is_acted_on_at_once():
    auto = AutoSteps(budget=1 / 60, K=100_000)
    assert not auto.cut(1 / 60)
    assert auto.cut(0.1)
    auto.after_frame(20, 0.1)
    assert auto.K == 2


def test_K_stays_at_least_one_when_one_step_is_too_much():
    auto = AutoSteps(budget=1 / 60, K=50)
    assert play(auto, lambda K: 0.5 * K, 30)[-1] == 1


def test_restart_forgets_what_was_measured():
    auto = AutoSteps(budget=1 / 60, K=1)
    play(auto, lambda K: 1e-3 * K, READINGS - 1)
    auto.restart(7)
    auto.after_frame(7, 1.0)
    assert auto.K == 7


def show(clock, now, frames, computing):
    """The times at which frames that take `computing` seconds each are shown."""
    shown = []
    for _ in range(frames):
        now += computing
        now += clock.wait(now)
        clock.shown(now)
        shown.append(now)
    return shown


def test_frames_are_spaced_evenly_when_the_engine_is_fast():
    shown = show(FrameClock(50), 10.0, 12, computing=0.001)
    assert shown[-1] - shown[2] == pytest.approx(9 / 50)


def test_a_slow_engine_does_not_wait():
    shown = show(FrameClock(50), 10.0, 12, computing=0.05)
    assert shown[-1] - shown[2] == pytest.approx(9 * 0.05)


def test_a_late_frame_is_not_made_up_for_by_a_burst():
    clock = FrameClock(50)
    show(clock, 0.0, 10, computing=0.001)
    shown = show(clock, 9.0, 5, computing=0.001)
    assert shown[-1] - shown[2] == pytest.approx(2 / 50)


def test_frame_rate_counts_the_last_second_only():
    rate = FrameRate()
    for i in range(200):
        rate.tick(i / 40)
    assert rate.value(199 / 40) == pytest.approx(40)
    assert rate.value(100.0) == 0
