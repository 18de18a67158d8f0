# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever ends an operation early, Ctrl-C above all: the Driver is as it was, and can go on."""

import _thread
import signal
import threading
from dataclasses import replace

import jax
import numpy as np
import pytest

from engine import Driver, ParameterError, Setup
from engine.runner import Runner
from tests.engine import seam
from tests.engine.programs import FIFTY, fifty, setup_for, shared_programs
from tests.engine.test_capacity import FEW_SLOTS, LARGE, PARAMS, RODS, STEPS, ring

PLACES = 2.0 + 5 * np.stack(np.divmod(np.arange(5.0), 3), axis=1)


@pytest.fixture(params=seam.KERNEL_NAMES)
def driver(request) -> Driver:
    """Fifty rods on each kernel."""
    return fifty(request.param)


class Watched:
    """A driver whose relaxations are interrupted when asked for."""

    def __init__(self, kernel: str) -> None:
        self.left = -1
        with shared_programs():
            self.driver = Driver(
                setup_for(kernel, 50), FIFTY, seed=5,
                while_relaxing=self._ask,
            )  # fmt: skip

    def _ask(self) -> bool:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return False


def seen(driver: Driver) -> tuple:
    """All that a user can read, but for counts of compiles and times."""
    stats = driver.stats
    return (
        driver.snapshot(), driver.setup, driver.params, driver.seed, driver.step, driver.time,
        driver.ids.tolist(), stats.rods, stats.kernel, stats.kernel_reason, stats.capacity,
        stats.neighbours,
    )  # fmt: skip


def of_one_mind(driver: Driver) -> None:
    """Snapshot, figures and the device say the same, and the next step starts from there."""
    snapshot = driver.snapshot()
    assert (driver.step, driver.time) == (snapshot.step, snapshot.time)
    assert driver.params == snapshot.params
    assert driver.setup.rods == snapshot.n == len(driver.ids) == driver.stats.rods
    state = jax.device_get(driver._whole().held.state)
    place = seam.in_rows(state.row, snapshot.n)
    assert int(state.n) == snapshot.n
    assert int(state.step) == snapshot.step
    assert np.array_equal(state.pos[place], snapshot.pos)
    assert np.array_equal(state.theta[place], snapshot.theta)
    assert np.array_equal(state.activity[place], snapshot.activity)
    assert np.array_equal(state.id[place], driver.ids)
    assert driver.advance(1).step == snapshot.step + 1


@pytest.mark.parametrize(
    "operation",
    [
        lambda d: d.set(length=5.0),
        lambda d: d.set(length=5.5, space_size=30.0, dt=0.001),
        lambda d: d.rebuild(seed=7),
        lambda d: d.rebuild(Setup(rods=40, kernel=d.setup.kernel, native=d.setup.native)),
        lambda d: d.reset(),
    ],
    ids=["longer rods", "longer rods in a larger box", "another seed", "fewer rods", "reset"],
)
def test_an_interrupted_relaxation_leaves_no_trace(operation):
    """Not a bit: what is held on the device is kept until the new state stands."""
    for kernel in seam.KERNEL_NAMES:
        watched, plain = Watched(kernel), fifty(kernel)
        driver = watched.driver
        for one in (driver, plain):
            one.advance(20)
            one.set(dt=0.002)
            one.advance(20)
        before = seen(driver)
        watched.left = 1
        with pytest.raises(KeyboardInterrupt):
            operation(driver)
        assert watched.left == 0
        after = seen(driver)
        assert after[0] is before[0]
        assert after[1:] == before[1:]
        assert np.array_equal(driver.advance(30).rods, plain.advance(30).rods)
        assert driver.time == plain.time


@pytest.mark.parametrize("kernel", LARGE)
def test_steps_that_are_interrupted_at_a_growth_are_as_if_never_taken(kernel):
    """The state was donated and half the steps were done: the snapshot is what there is."""
    stop = False

    def on_compile(_: str) -> None:
        if stop:
            raise KeyboardInterrupt

    room = FEW_SLOTS[kernel]
    with shared_programs(room, room):
        driver = Driver(setup_for(kernel, RODS), PARAMS, 3, ring(), on_compile=on_compile)
        before = driver.advance(40)
        stop = True
        with pytest.raises(KeyboardInterrupt):
            driver.advance(STEPS)
        assert driver.snapshot() is before
        stop = False
        of_one_mind(driver)
        assert driver.advance(STEPS).step == 41 + STEPS


def test_an_interrupt_after_the_steps_and_before_their_snapshot(driver, monkeypatch):
    before, whole = driver.advance(10), Runner.run

    def late(*arguments):
        whole(*arguments)
        raise KeyboardInterrupt

    ours = {
        "advance": lambda: driver.advance(10),
        "set": lambda: driver.set(space_size=30.0),
        "add": lambda: driver.add(PLACES, np.zeros(5)),
        "remove": lambda: driver.remove(np.arange(5)),
        "rebuild": lambda: driver.rebuild(seed=3),
    }
    told = seen(driver)[1:-1]
    for operation in ours.values():
        with monkeypatch.context() as patch:
            patch.setattr(Runner, "run", late)
            with pytest.raises(KeyboardInterrupt):
                operation()
        assert driver.snapshot() is before
        assert seen(driver)[1:-1] == told
    of_one_mind(driver)


@pytest.fixture
def ctrl_c():
    """Raises KeyboardInterrupt here too where tests are shared out among processes."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# It may fall into a library that is about to close a file, or into a destructor.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_ctrl_c_at_any_moment(driver, ctrl_c):
    """From another thread, as a terminal sends it, at eight moments of each operation."""
    cut = 0
    for delay in np.geomspace(1e-4, 3e-2, 8):
        for operation in (
            lambda: driver.advance(3000),
            lambda: driver.set(length=4.3 if driver.params.length < 4.2 else 4.0),
            lambda: driver.set(space_size=29.0 if driver.params.space_size < 28.5 else 28.0),
            lambda: driver.add(PLACES, np.zeros(5), np.ones(5)),
            lambda: driver.remove(driver.ids[-5:]),
            lambda: driver.rebuild(setup=Setup(50, driver.setup.kernel, driver.setup.native)),
        ):
            timer = threading.Timer(delay, _thread.interrupt_main)
            try:
                timer.start()
                try:
                    operation()
                finally:
                    timer.join()
            except KeyboardInterrupt:
                cut += 1
            of_one_mind(driver)
    assert cut > 40


@pytest.mark.parametrize("kernel", LARGE)
@pytest.mark.parametrize(
    "operation",
    [
        # All rods near all others, so that both need the same room.
        lambda d: d.set(length=4.5, sensing_range=34.0),
        lambda d: d.rebuild(params=replace(PARAMS, sensing_range=34.0), seed=8),
    ],
    ids=["set", "rebuild"],
)
def test_no_memory_for_lists_in_a_relaxation_leaves_no_trace(monkeypatch, kernel, operation):
    room = FEW_SLOTS[kernel]
    with shared_programs(room, room):
        driver, twin = (Driver(setup_for(kernel, RODS), PARAMS, 3, ring()) for _ in range(2))
        for one in (driver, twin):
            one.advance(40)
        before = seen(driver)
        with monkeypatch.context() as full:
            # Enough for the lists there are, not for longer ones.
            full.setattr("engine.program.available_bytes", lambda: 60_000)
            with pytest.raises(ParameterError, match="memory"):
                operation(driver)
        after = seen(driver)
        assert after[0] is before[0]
        assert after[1:] == before[1:]
        assert np.array_equal(driver.advance(20).rods, twin.advance(20).rods)
        if kernel == "native":  # what JAX compiles for it takes seconds
            operation(driver)
            of_one_mind(driver)
            assert driver.stats.growths == 1
