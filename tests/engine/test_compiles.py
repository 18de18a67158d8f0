# SPDX-License-Identifier: GPL-3.0-or-later
"""When the engine compiles, and that moving a slider is not one of those times.

Counted twice: by the Driver's own figures, and by JAX's monitoring events, which also see programs
that the Driver does not know of.
"""

import contextlib
import math

import jax
import numpy as np
import pytest

from engine import Driver, Params, Setup, SimulationError
from engine.schema import PARAM_FIELDS, Field, ParameterError, field
from tests.engine.conftest import CROWD, CROWD_PARAMS, with_params


@contextlib.contextmanager
def compile_events():
    """Every trace, lowering and compile while the block runs, as JAX reports it."""
    seen: list[str] = []

    def listen(event: str, seconds: float, **_) -> None:
        if "/compile/" in event:
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def test_the_count_sees_a_compile():
    with compile_events() as seen:
        jax.jit(lambda x: x * 3 + 1)(np.float32(2))
    assert any("backend_compile" in event for event in seen)


@pytest.fixture
def uncompiled(crowd):
    """The crowd; the test fails if anything at all was traced or compiled while it ran."""
    compiles = crowd.stats.compiles
    with compile_events() as seen:
        yield crowd
    assert seen == []
    assert crowd.stats.compiles == compiles


# What decides how far rods reach, and so how long their neighbour lists are.
REACHING = ("space_size", "length", "radius", "sensing_range")


def move(driver: Driver, f: Field) -> None:
    """Move a slider a step up and down, half way to its upper end, to both ends and back."""
    usual = getattr(CROWD_PARAMS, f.name)
    for value in [usual + f.step, usual - f.step, (usual + f.high) / 2, f.low, f.high, usual]:
        # The ends of a slider may be refused for this crowd; that must not compile either.
        with contextlib.suppress(ParameterError, SimulationError):
            driver.set(**{f.name: value})
            driver.advance(3)


@pytest.mark.parametrize("f", PARAM_FIELDS, ids=lambda f: f.name)
def test_moving_a_slider_compiles_nothing(crowd, f):
    """But where it makes rods reach so far that their lists outgrow their room; once."""
    if f.name in REACHING:
        move(crowd, f)
        crowd.rebuild(CROWD, CROWD_PARAMS, 1)
    compiles = crowd.stats.compiles
    with compile_events() as seen:
        move(crowd, f)
    assert seen == []
    assert crowd.stats.compiles == compiles


@pytest.mark.parametrize("name", REACHING)
def test_a_step_of_a_slider_outgrows_nothing(uncompiled, name):
    f = field(name)
    for value in (getattr(CROWD_PARAMS, name) + f.step, getattr(CROWD_PARAMS, name) - f.step):
        uncompiled.set(**{name: value})
        uncompiled.advance(3)
        uncompiled.rebuild(params=CROWD_PARAMS)


@pytest.mark.parametrize(
    "value", [8, 8.0, "8", np.float32(8), np.float64(8), np.int32(8), np.array(8.0)], ids=repr
)
def test_no_kind_of_number_compiles_anything(uncompiled, value):
    uncompiled.set(F_prop=value, length=np.float64(4.0))
    assert type(uncompiled.params.F_prop) is float
    uncompiled.advance(2)


def test_K_compiles_nothing(uncompiled):
    for K in (1, 2, 3, 25, 64, np.int64(5), 0, 1000):
        uncompiled.advance(K)


def test_noise_and_memory_switched_on_and_off_compile_nothing(uncompiled):
    for values in (
        {"D_r": 0.1},
        {"D_t": 0.1},
        {"D_r": 0.0},
        {"tau_a": 1.0},
        {"activity_width": 0.0},
    ):
        uncompiled.set(**values)
        uncompiled.advance(2)


def test_starting_anew_with_as_many_rods_compiles_nothing(uncompiled):
    uncompiled.reset()
    uncompiled.rebuild(seed=7)
    uncompiled.rebuild(setup=Setup(rods=150, start_activity="none"), params=with_params(length=5.0))
    uncompiled.advance(2)


def test_other_rods_or_another_kernel_compile_once_and_say_why(cold_compiles, quickly_compiled):
    driver = Driver(Setup(rods=3, kernel="naive"), Params(space_size=30.0))
    first = driver.stats
    assert first.compiles == 1
    assert first.last.reason == "first start"
    assert first.last.cache == "off"
    assert first.compile_seconds == pytest.approx(first.last.seconds)

    with compile_events() as seen:
        driver.rebuild(setup=Setup(rods=64, kernel="naive"))
    assert seen == []
    with compile_events() as seen:
        driver.rebuild(setup=Setup(rods=65, kernel="naive"), params=Params(space_size=60.0))
    assert driver.stats.last.reason == "rods"
    driver.rebuild(setup=Setup(rods=66, kernel="neighbours"))
    done = driver.stats
    assert sum("backend_compile" in event for event in seen) == 1
    assert done.compiles == 3
    assert done.growths == 0
    assert done.last.reason == "kernel"
    assert (done.kernel, done.rods) == ("neighbours", 66)
    for part in (done.trace_seconds, done.lower_seconds, done.backend_seconds):
        assert part > 0
    total = done.trace_seconds + done.lower_seconds + done.backend_seconds
    assert done.compile_seconds == pytest.approx(total)
    assert done.compile_seconds > first.compile_seconds


def test_a_frame_traces_nothing_and_moves_nothing_unasked(crowd):
    """After warm-up: around everything that a frame does, an edited parameter included."""
    crowd.advance(3)
    with jax.no_tracing(), jax.transfer_guard("disallow"):
        crowd.set(F_prop=7.0)
        snapshot = crowd.advance(4)
        crowd.set(space_size=43.0)
        crowd.advance(1)
    assert snapshot.step == 7


def test_the_compiled_call_itself_passes_the_guards(crowd):
    crowd.advance(1)
    state, packed = crowd._now.held.state, crowd._now.packed
    K, limit = jax.device_put((np.int32(3), np.float32(math.inf)))
    with jax.no_tracing(), jax.transfer_guard("disallow"):
        state, report = crowd.program(state, packed, K, limit)
        state, report = crowd.program(state, packed, K, limit)
    assert int(report.steps_done) == 3
    crowd.rebuild(CROWD, CROWD_PARAMS, 1)


def test_the_state_is_donated(crowd):
    crowd.advance(1)
    old = crowd._now.held.state
    crowd.advance(1)
    assert old.pos.is_deleted()


def test_step_times_are_those_of_batches_waited_for(crowd):
    assert math.isnan(crowd.stats.step_seconds)
    for _ in range(5):
        crowd.advance(20)
    stats = crowd.stats
    assert 0 < stats.step_seconds <= stats.step_seconds_p95
    assert stats.rod_steps_per_second == pytest.approx(150 / stats.step_seconds)
    assert stats.temp_bytes > 0
    assert stats.device
