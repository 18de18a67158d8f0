# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays that are outgrown in the midst of a run: nobody can tell from its bits that they were."""

import jax
import numpy as np
import pytest

import engine.program
import engine.runner
from engine import Driver, Params, Setup, SimulationError, Start, schema
from engine.capacity import CROWD, NATIVE_CHUNK, Capacity, Demand, capacity_for, grown
from engine.kernels import CROSSOVER, resolve
from engine.state import State
from tests.engine.programs import NATIVE_ROOM, ROOM, compile_once, setup_for, shared_programs

# Active rods on a ring, which swim to its centre: neighbours become more all the time.
RODS, STEPS = 60, 500
# Until then no array is outgrown.
CALM = 200
PARAMS = Params(
    space_size=80.0, k_cc=5.0, dt=0.02, activity_thresh=-2.0, activity_width=1.0, D_r=0.002
)
LARGE = {"neighbours": ROOM, "native": NATIVE_ROOM}
FEW_SLOTS = {kernel: room._replace(slots=16) for kernel, room in LARGE.items()}
FEW_CANDIDATES = {"neighbours": ROOM._replace(candidates=32)}
EITHER = pytest.mark.parametrize("kernel", LARGE)
TIGHT = pytest.mark.parametrize(
    ("kernel", "room"),
    [
        *((kernel, room) for kernel, room in FEW_SLOTS.items()),
        ("neighbours", FEW_CANDIDATES["neighbours"]),
    ],
    ids=["few slots", "few slots, native", "few candidates"],
)


def ring() -> Start:
    rng = np.random.default_rng(4)
    angle, radius = rng.uniform(-np.pi, np.pi, RODS), rng.uniform(8, 26, RODS)
    pos = 40 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Start(pos, angle + np.pi, np.ones(RODS))


def begun_with(room: Capacity, kernel: str) -> Driver:
    """The ring, in arrays of that size."""
    with shared_programs(room, room):
        return Driver(setup_for(kernel, RODS), PARAMS, 3, ring())


@pytest.fixture(autouse=True)
def _compile_once(monkeypatch):
    """For growths as well."""
    monkeypatch.setattr("engine.runner.compile_program", compile_once)


def in_slices(driver: Driver, K: int) -> list[np.ndarray]:
    """The rods after every 100 steps, taken in batches of K, or in one while lists do not grow."""
    seen = []
    for stop in range(100, STEPS + 1, 100):
        while driver.step < stop:
            left = stop - driver.step
            driver.advance(min(K, left) if stop > CALM else left)
        seen.append(driver.snapshot().rods.copy())
    return seen


def same_state(one: State, other: State) -> None:
    """To the last bit, but for what the lists have room for."""
    assert one.neighbours is not None
    assert other.neighbours is not None
    slots = min(one.neighbours.table.shape[1], other.neighbours.table.shape[1])
    assert int(one.neighbours.most) <= slots
    jax.tree.map(np.testing.assert_array_equal, *[in_use(state) for state in (one, other)])


def in_use(state: State) -> State:
    """`state` with 0 in its table where nothing reads."""
    lists = jax.device_get(state.neighbours)
    slot = np.arange(lists.table.shape[1])[None, :, None]
    table = np.where(slot < lists.used[:, None, None], lists.table, 0)[:, : lists.used.max()]
    return state._replace(neighbours=lists._replace(table=table))


@TIGHT
@pytest.mark.parametrize("K", [1, 64, STEPS])
def test_a_run_that_grew_has_the_bits_of_one_that_began_large(kernel, room, K):
    large, small = begun_with(LARGE[kernel], kernel), begun_with(room, kernel)
    expected = in_slices(large, 100)
    got = in_slices(small, K)
    assert small.step == STEPS
    assert small.time == large.time == pytest.approx(STEPS * 0.02)
    np.testing.assert_array_equal(got, expected)
    assert small.snapshot().observables == large.snapshot().observables
    same_state(small._now.held.state, large._now.held.state)
    assert small.program.capacity == LARGE[kernel]
    assert small.program.kernel == kernel

    stats = small.stats
    assert (stats.compiles, stats.growths) == (1, 1)
    assert stats.last.reason == "growth: longer neighbour lists"
    assert stats.compile_seconds > stats.last.seconds
    assert large.stats.growths == 0
    of, room = stats.neighbours, small.program.capacity
    assert (of.slots, of.candidate_room) == (room.slots, room.candidates)
    assert 0 < of.mean < of.most <= of.slots
    if kernel == "native":
        assert of.candidates == of.candidate_room == 0
    else:
        assert of.most < of.candidates <= of.candidate_room
    assert of.rebuilds_per_1000 > 0


@TIGHT
def test_it_grows_in_the_midst_of_a_batch(kernel, room):
    """Or the tests above would show little."""
    driver = begun_with(room, kernel)
    driver.advance(CALM)
    assert driver.stats.growths == 0


def test_step_times_leave_out_the_compile_of_a_growth(monkeypatch):
    """By a clock that only moves when a batch ends, by a second, and by a day for a compile."""
    now = iter(range(10**6))
    driver = begun_with(FEW_SLOTS["neighbours"], "neighbours")

    def slowly(*arguments):
        for _ in range(86400):
            next(now)
        return compile_once(*arguments)

    monkeypatch.setattr(engine.runner, "compile_program", slowly)
    monkeypatch.setattr(engine.runner.time, "perf_counter", lambda: next(now))
    driver.advance(STEPS)
    stats = driver.stats
    assert stats.growths == 1
    # Two runs of the program, one on each side of the growth.
    assert stats.step_seconds * STEPS == pytest.approx(2)


@EITHER
def test_a_growth_that_finds_no_memory_is_told_and_the_run_can_go_on(monkeypatch, kernel):
    large, small = begun_with(LARGE[kernel], kernel), begun_with(FEW_SLOTS[kernel], kernel)
    with monkeypatch.context() as full:
        full.setattr(engine.program, "available_bytes", lambda: 1000)
        with pytest.raises(SimulationError) as caught:
            small.advance(STEPS)
        stopped = small.snapshot()
        assert 50 < stopped.step < STEPS
        assert caught.value.step == stopped.step
        assert caught.value.snapshot is stopped
        said = str(caught.value)
        for part in (f"Step {stopped.step + 1} ", f"rods = {RODS}", "memory", "Take fewer rods"):
            assert part in said
        assert said == said.strip()
        assert "fewer rods" in caught.value.remedy
        # As long as nothing changes, the same again; no step is lost or taken twice.
        with pytest.raises(SimulationError):
            small.advance(STEPS)
        assert np.array_equal(small.snapshot().rods, stopped.rods)
        assert np.array_equal(large.advance(stopped.step).rods, stopped.rods)
        assert small.stats.growths == 0
    end = small.advance(STEPS - stopped.step)
    assert end.step == STEPS
    assert np.array_equal(end.rods, large.advance(STEPS - stopped.step).rods)
    assert small.stats.growths == 1


@EITHER
def test_a_step_refused_right_after_a_growth_keeps_the_speed_before_it(monkeypatch, kernel):
    """The run of the program after the growth takes no step, the batch has taken many."""
    small = begun_with(FEW_SLOTS[kernel], kernel)
    whole, seen = engine.runner.with_capacity, []

    def spoilt(state: State, room: Capacity) -> State:
        """The larger state, of which no step can be taken."""
        state = whole(state, room)
        seen.append(jax.device_get(state.step))
        return state._replace(activity=state.activity.at[0].set(np.nan))

    monkeypatch.setattr(engine.runner, "with_capacity", spoilt)
    with pytest.raises(SimulationError):
        small.advance(STEPS)
    stopped = small.snapshot()
    assert seen == [stopped.step]
    large = begun_with(LARGE[kernel], kernel)
    speed = large.advance(stopped.step).observables["mean_speed"]
    assert stopped.observables["mean_speed"] == speed > 0


@pytest.mark.parametrize("edit", [{"sensing_range": 0.5}, {"F_prop": 2.0}], ids=str)
@EITHER
def test_an_edit_helps_where_there_is_no_memory_for_longer_lists(monkeypatch, kernel, edit):
    """A shorter range makes the lists fit; where it does not, that is told again."""
    driver = begun_with(FEW_SLOTS[kernel], kernel)
    monkeypatch.setattr(engine.program, "available_bytes", lambda: 1000)
    with pytest.raises(SimulationError):
        driver.advance(STEPS)
    driver.set(**edit)
    if "sensing_range" in edit:
        step = driver.step
        assert driver.advance(20).step == step + 20
    else:
        with pytest.raises(SimulationError):
            driver.advance(20)


@EITHER
def test_a_list_that_found_no_memory_is_not_used_when_the_old_range_is_back(monkeypatch, kernel):
    """The search for the longer list may have written over the table."""
    driver, again = begun_with(FEW_SLOTS[kernel], kernel), begun_with(LARGE[kernel], kernel)
    before = driver.advance(20)
    with monkeypatch.context() as full:
        full.setattr(engine.program, "available_bytes", lambda: 1000)
        driver.set(sensing_range=14.0)
        with pytest.raises(SimulationError):
            driver.advance(1)
    driver.set(sensing_range=before.params.sensing_range)
    went, wanted = driver.advance(30), again.advance(50)
    assert went.step == wanted.step
    np.testing.assert_allclose(went.rods, wanted.rods, atol=1e-4)


@pytest.mark.parametrize("rods", [1, 2, 63, 64, 65, 100, 1000, 1024, 1025, 5000, 10**6])
@pytest.mark.parametrize(
    ("platform", "kernel"), [("cpu", "neighbours"), ("cpu", "native"), ("gpu", "neighbours")]
)
def test_capacities_leave_room_and_divide_into_chunks(rods, platform, kernel):
    params = Params(space_size=max(12.0, 4.0 * rods**0.5))
    room = capacity_for(rods, params, platform, kernel)
    assert rods <= room.rods <= max(64, 1.25 * rods + 1)
    assert room.rods % room.chunks == 0
    if kernel == "native":
        assert room.rods // room.chunks == NATIVE_CHUNK
        assert room.candidates == 0
    else:
        assert room.rods // room.chunks <= (1024 if platform == "cpu" else room.rods)
    assert room.slots % 8 == room.candidates % 32 == 0
    assert 32 * room.words == room.candidates
    # Nobody has more neighbours than there are others.
    assert 8 <= room.slots <= max(room.rods, 8)


@pytest.mark.parametrize("kernel", ["neighbours", "native"])
def test_a_long_range_in_a_dilute_box_has_the_room_of_the_mean_density(kernel):
    """A crowd does not fill a range of many bodies: with its density lists would hold all rods."""
    rods, reach = 66_000, 300.0
    params = Params(space_size=9000.0, sensing_range=reach)
    room = capacity_for(rods, params, "cpu", kernel)
    rng = np.random.default_rng(0)
    pos = rng.uniform(0, params.space_size, (rods, 2))
    off = pos[:100, None] - pos[None]
    off -= params.space_size * np.round(off / params.space_size)
    near = ((off**2).sum(-1) < (reach + params.length) ** 2).sum(1)
    assert near.max() < room.slots < 4 * near.max()
    if kernel == "neighbours":
        assert near.max() < room.candidates < 10 * near.max()


@pytest.mark.parametrize("reach", [1.0, 3.0, 8.0])
@pytest.mark.parametrize("kernel", ["neighbours", "native"])
def test_a_crowd_has_room_as_far_as_sliders_reach_however_large_the_box(kernel, reach):
    side = schema.space_size_for(2000, CROWD, Params())
    crowd, lone = (
        capacity_for(2000, Params(space_size=box, sensing_range=reach), "cpu", kernel)
        for box in (side, 10 * side)
    )
    assert lone == crowd


def test_a_few_more_rods_fit_the_same_arrays():
    sizes = {
        capacity_for(rods, Params(), "cpu", "neighbours").rods for rods in range(1025, 2049, 7)
    }
    assert len(sizes) == 4


def test_growing_meets_the_demand_with_room_to_spare():
    room = Capacity(1000, 1, 16, 64)
    assert grown(room, Demand(16, 64)) == room
    assert grown(room, Demand(17, 64)) == room._replace(slots=32)
    assert grown(room, Demand(3, 65)) == room._replace(candidates=128)
    # No rod can have more than all.
    assert grown(room, Demand(990, 999)) == room._replace(slots=1000, candidates=1024)


@pytest.mark.parametrize("rods", [1, CROSSOVER - 1, CROSSOVER, 10**6])
def test_auto_takes_lists_from_the_crossover_on_and_says_why(rods):
    choice = resolve(Setup(rods=rods))
    assert choice.name == ("neighbours" if rods >= CROSSOVER else "rowsum")
    assert choice.reason.startswith("auto: ")
    assert str(CROSSOVER) in choice.reason
    for asked in ("naive", "rowsum"):
        assert resolve(Setup(rods=rods, kernel=asked)) == (asked, "as asked for")
    asked = resolve(Setup(rods=rods, kernel="neighbours", native="off"))
    assert asked == ("neighbours", "as asked for; without native code: native = off")


def test_the_figures_tell_kernel_and_room(crowd, pair):
    crowd.advance(5)
    choice = resolve(Setup(rods=150))
    assert (crowd.stats.kernel, crowd.stats.kernel_reason) == (choice.name, choice.reason)
    assert crowd.stats.code == choice.code
    assert (crowd.stats.rods, crowd.stats.capacity) == (150, 160)
    assert crowd.stats.neighbours is not None
    assert (pair.stats.kernel, pair.stats.kernel_reason) == resolve(Setup(rods=2))
    assert (pair.stats.rods, pair.stats.capacity) == (2, 64)
    assert pair.stats.neighbours is None
