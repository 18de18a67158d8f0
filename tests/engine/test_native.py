# SPDX-License-Identifier: GPL-3.0-or-later
"""Native code: every instruction set of the machine, any number of threads, and what is malformed.

What it shares with the other kernels is tested with them (test_kernels, test_neighbours and others
take it as one more kernel).
"""

import functools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine import Driver, Params, Setup, Start
from engine.capacity import capacity_for
from engine.kernels import native, resolve
from engine.native import library
from engine.state import State, to_device
from engine.step import PARAM_NAMES, pack, rods_of, steps_for, unpack
from engine.study.standard import standard_params
from tests.conftest import AS_FOR_USERS
from tests.engine import seam
from tests.engine.programs import setup_for
from tests.oracle import reference
from tests.oracle.reference import Sums

pytestmark = pytest.mark.skipif(not library.native().target, reason="no native code here")

TARGETS = library.targets()
# JAX raises the one from a first call and the other from a later one.
REFUSED = (jax.errors.JaxRuntimeError, ValueError)
N = 300
PARAMS = Params(
    space_size=80.0, D_r=0.05, D_t=0.01, T_prop=0.4, tau_a=0.3, activity_thresh=2.0, dt=0.002
)


def crowd(n: int = N, params: Params = PARAMS, seed: int = 3) -> Start:
    """Rods at random places, at most pressed together as hard as a step can stand."""
    rods = seam.random_rods(np.random.default_rng(seed), n, params)
    return Start(rods.pos, rods.theta, rods.activity)


def placed(start: Start, params: Params = PARAMS) -> State:
    room = capacity_for(len(start.theta), params, "cpu", "native")._replace(slots=128)
    return to_device(start, params, room, listed=True, seed=5)


@functools.cache
def _program(target: str, threads: int):
    return jax.jit(
        lambda state, packed, K: native.advance(
            state, unpack(packed), K, jnp.float32(jnp.inf), threads=threads, target=target
        )
    )


def batch(state: State, params: Params, K: int, *, target: str = "", threads: int = 1):
    """What `native.advance` makes of a state."""
    return jax.device_get(_program(target, threads)(state, pack(params), jnp.int32(K)))


def by_row(ended, n: int = N) -> np.ndarray:
    """(n, 7): place, angle, activity and what rounding has left, in order of row."""
    state = ended.state
    arrays = [state.pos, state.theta[:, None], state.activity[:, None], state.rest]
    return np.concatenate(arrays, axis=1)[seam.in_rows(state.row, n)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("aspect", [2, 5, 16])
def test_the_sums_of_every_instruction_set_agree_with_the_reference(target, aspect):
    n, values = 333, reference.defaults(length=aspect - 1.0, w_d=0.75, w_a=1.5)
    values.space_size = float(max(np.sqrt(n * (values.length + 0.8) / 0.5), 2 * aspect + 2))
    params = seam.params_of(values)
    rods = seam.random_rods(np.random.default_rng(aspect), n, values)
    state = placed(Start(rods.pos, rods.theta, rods.activity), params)

    @jax.jit
    def sums(state: State, packed):
        params = unpack(packed)
        state, fits = native.with_list(state, params, target=target)
        rods, lists = rods_of(state), state.neighbours
        return native.per_particle_sum(rods, state.n, params, lists, target=target), state.row, fits

    found, row, fits = sums(state, pack(params))
    assert fits
    place = seam.in_rows(row, n)
    got = Sums(*(np.asarray(values, np.float64)[place] for values in found))
    seam.agrees(got, rods, params)


@pytest.mark.parametrize("target", TARGETS)
def test_a_step_of_every_instruction_set_is_that_of_jax(target):
    """With noise, torque, memory and the soft threshold; the noise is that of `jax.random`."""
    start, params = relaxed(), PARAMS
    ours = batch(placed(start), params, 1, target=target)
    theirs = _step_of_jax()
    assert ours.done == theirs.done == 1
    a, b = by_row(ours), by_row(theirs)
    moved = np.abs(reference.minimum_image(a[:, :2] - start.pos, params.space_size))
    assert np.median(moved) > 1e-3
    apart = np.abs(reference.minimum_image(np.float64(a[:, :2]) - b[:, :2], params.space_size))
    assert apart.max() < 2e-5
    assert np.abs(np.sin(a[:, 2] - b[:, 2])).max() < 2e-6
    np.testing.assert_allclose(a[:, 3], b[:, 3], rtol=0, atol=3e-6)
    assert ours.speed == pytest.approx(float(theirs.speed), rel=1e-5)
    assert ours.largest_move == pytest.approx(float(theirs.largest_move), rel=1e-4)
    assert ours.state.row[ours.worst] == theirs.state.row[theirs.worst]


@functools.cache
def _step_of_jax():
    """By sums over all pairs, which compile faster than a search for neighbours."""
    room = capacity_for(N, PARAMS, "cpu", "naive")
    start = relaxed()
    state = to_device(start, PARAMS, room, listed=False, seed=5)
    steps = steps_for("naive", room)
    step = jax.jit(
        lambda state, packed: steps(state, unpack(packed), jnp.int32(1), jnp.float32(jnp.inf)),
        compiler_options=AS_FOR_USERS,
    )
    return jax.device_get(step(state, pack(PARAMS)))


@functools.cache
def relaxed() -> Start:
    last = Driver(setup_for("native", N), PARAMS, 2).snapshot()
    rng = np.random.default_rng(1)
    return Start(last.pos.copy(), last.theta.copy(), rng.uniform(0, 1, N))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("sensed", "values"),
    [
        (np.linspace(-60, 60, 49), {"activity_width": 0.5}),
        (np.linspace(-60, 60, 49), {"activity_width": 1e-3}),
        (np.linspace(-3, 3, 49), {"activity_width": 0.0}),
        (np.linspace(-3, 3, 49), {"activity_width": 1.0, "tau_a": 0.01}),
    ],
    ids=["soft", "almost hard", "hard", "with memory"],
)
def test_activity_follows_the_threshold_in_every_case(target, sensed, values):
    """A pair of rods; the weight of presence, and so what is sensed, is given by the threshold:
    S - S* = w_d - S*."""
    start = Start(np.array([[10.0, 10.0], [10.0, 11.5]]), np.zeros(2), np.array([0.25, 0.75]))
    usual = replace(PARAMS, w_d=1.0, w_a=0.0, D_r=0.0, D_t=0.0, **{"tau_a": 0.0, **values})
    state = placed(start, usual)
    for excess in sensed:
        params = replace(usual, activity_thresh=1.0 - float(excess))
        ended = batch(state, params, 1, target=target)
        activity = ended.state.activity[seam.in_rows(ended.state.row, 2)]
        x = np.float64(np.float32(1.0) - np.float32(params.activity_thresh))
        width = params.activity_width
        with np.errstate(over="ignore"):
            to = 1 / (1 + np.exp(-x / width)) if width else float(x >= 0)
        memory = np.exp(-params.dt / params.tau_a) if params.tau_a else 0.0
        expected = to + (start.activity - to) * memory
        np.testing.assert_allclose(activity, expected, rtol=0, atol=3e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_directions_are_those_of_the_angles(target):
    """All round the circle, and on both sides of ±π, to two units in the last place."""
    n = 4096
    params = replace(PARAMS, space_size=2000.0, D_t=0.0, D_r=0.3, dt=0.01, F_prop=0.0, T_prop=0.0)
    side = np.arange(64) * 31.0
    pos = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    start = Start(pos, np.linspace(-np.pi, np.pi, n), np.zeros(n))
    state = batch(placed(start, params), params, 3, target=target).state
    theta = np.float64(state.theta)
    assert np.abs(theta).max() < np.pi + 1e-6
    assert np.abs(np.sin(theta[:n] - start.theta[np.asarray(state.row)[:n]])).max() > 0.1
    exact = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    assert np.abs(state.direction - exact)[:n].max() < 1.2e-7


@pytest.mark.parametrize("values", [{}, {"w_a": 0.0}, {"D_r": 0.0, "D_t": 0.0}], ids=str)
def test_threads_change_no_bit(values):
    n, params = 5000, replace(standard_params(5000), **{"D_r": 0.02, **values})
    start = crowd(n, params, 1)
    driver = Driver(Setup(rods=n), params, start=start)
    driver.set(k_cc=5.0)  # of random places
    ends = []
    for threads in (1, 2, 3, 8):
        state = placed(start, driver.params)
        ended = batch(state, driver.params, 60, threads=threads)
        assert ended.done == 60
        assert ended.state.neighbours.builds >= 2
        ends.append(ended)
    for other in ends[1:]:
        jax.tree.map(np.testing.assert_array_equal, in_use(other), in_use(ends[0]))


def in_use(ended):
    """Without what the table holds where nobody reads."""
    lists = ended.state.neighbours
    slot = np.arange(lists.table.shape[1])[None, :, None]
    table = np.where(slot < lists.used[:, None, None], lists.table, 0)
    return ended._replace(state=ended.state._replace(neighbours=lists._replace(table=table)))


def test_a_step_that_cannot_be_trusted_changes_nothing_and_names_the_rod():
    start, params = relaxed(), replace(PARAMS, D_t=0.0)
    before = batch(placed(start), params, 5)
    wild = replace(params, F_prop=1e5)
    after = batch(jax.device_put(before.state), wild, 7)
    assert (after.done, after.ok, after.fits) == (0, False, True)
    assert after.largest_move > 2 * params.radius
    np.testing.assert_array_equal(by_row(after), by_row(before))
    row = after.state.row[after.worst]
    # The most active rod is the fastest where propulsion is all that counts.
    assert before.state.activity[seam.in_rows(before.state.row, N)][row] > 0.9
    nothing = batch(jax.device_put(before.state), replace(params, k_cc=np.nan), 7)
    assert (nothing.done, nothing.ok) == (0, False)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (lambda s: s._replace(n=jnp.int32(400)), "more rods than places"),
        (lambda s: s._replace(n=jnp.int32(-1)), "more rods than places"),
        (lambda s: s._replace(obstacle_count=jnp.int32(65)), "more obstacles than places"),
        (lambda s: s._replace(obstacle_count=jnp.int32(-1)), "more obstacles than places"),
        (lambda s: s._replace(theta=s.theta[:-1]), "whole blocks"),
        (lambda s: s._replace(theta=s.theta.astype(jnp.int32)), "dtype"),
        (lambda s: s._replace(rest=s.rest[:, :2]), "shape"),
        (lambda s: s._replace(id=s.id[:-16]), "shape"),
        (lambda s: with_lists(s, table=s.neighbours.table[:-1]), "shape"),
        (lambda s: with_lists(s, table=s.neighbours.table.at[0, 0, 3].set(320)), "no rod"),
        (lambda s: with_lists(s, table=s.neighbours.table.at[2, 0, 0].set(-1)), "no rod"),
        (lambda s: with_lists(s, used=s.neighbours.used.at[1].set(129)), "longer than its room"),
        (lambda s: with_lists(s, used=s.neighbours.used.at[1].set(-2)), "longer than its room"),
    ],
    ids=[
        "too many", "negative", "obstacles", "obstacles -1", "odd size", "whole numbers",
        "two columns", "few ids", "few blocks", "unknown rod", "rod -1", "long list",
        "negative list",
    ],
)  # fmt: skip
def test_malformed_arrays_are_refused_and_the_process_lives(changed, why):
    state = jax.device_put(batch(placed(relaxed()), PARAMS, 3).state)
    with pytest.raises(REFUSED, match=why):
        batch(changed(state), PARAMS, 3)
    assert batch(state, PARAMS, 3).done == 3


def with_lists(state: State, **arrays) -> State:
    return state._replace(neighbours=state.neighbours._replace(**arrays))


@pytest.mark.parametrize("place", [np.nan, np.inf, -1e30, 1e30, -1.0, 80.5, -79.9, 200.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_places_that_no_rod_can_have_lead_nowhere(place, axis):
    """The list is searched without leaving its arrays; the step is taken or refused."""
    state = placed(relaxed())
    ended = batch(state._replace(pos=state.pos.at[7, axis].set(place)), PARAMS, 2)
    assert ended.ok == np.isfinite(place)


@pytest.mark.parametrize(
    "values",
    [
        dict.fromkeys(PARAM_NAMES, np.nan), {"space_size": 0.0}, {"space_size": -5.0},
        {"length": np.inf}, {"radius": 1e30}, {"sensing_range": np.inf}, {"dt": np.nan},
    ],
    ids=str,
)  # fmt: skip
def test_parameters_that_are_impossible_do_not_crash(values):
    ended = batch(placed(relaxed()), replace(PARAMS, **values), 2)
    assert np.isfinite(by_row(ended)).all()


def test_an_unknown_instruction_set_is_refused():
    with pytest.raises(REFUSED, match="instructions"):
        batch(placed(relaxed()), PARAMS, 1, target="avx1024")


def test_without_native_code_it_runs_on_what_jax_compiles_and_says_so():
    """In a process that never had it; each of the files in turn, and a driver at last."""
    files = {
        "/nowhere/bacsim_native.so": "/nowhere/bacsim_native.so cannot be loaded",
        sys.executable: "cannot be loaded",
        "nowhere.so": f"{Path.cwd()}/nowhere.so cannot be loaded",
        "off": "BACSIM_NATIVE=off was set",
    }
    script = """
import os, sys
from engine import Driver, Params, Setup
from engine.kernels import resolve
from engine.native import library
for file in sys.argv[1:]:
    os.environ["BACSIM_NATIVE"] = file
    library.native.cache_clear()
    choice = resolve(Setup(rods=70))
    print(choice.code, choice.reason, sep="|")
print(Driver(Setup(rods=10), Params(space_size=40.0)).stats.threads)
"""
    *said, threads = subprocess.run(
        [sys.executable, "-c", script, *files], capture_output=True, text=True, check=True,
        env=_environment(),
    ).stdout.splitlines()  # fmt: skip
    for line, words in zip(said, files.values(), strict=True):
        code, reason = line.split("|")
        assert code == "JAX"
        assert reason.startswith("auto: at least 64 rods; without native code: ")
        assert words in reason
    assert threads == "None"


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.parametrize(
    ("asked", "threads"), [("3", 3), ("0", None), ("many", None), ("", None), ("9" * 30, 4096)]
)
def test_the_number_of_threads_follows_the_environment(monkeypatch, asked, threads):
    monkeypatch.setenv("BACSIM_THREADS", asked)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert library.default_threads() == (threads or max(1, cores - 1))


def test_a_driver_has_as_many_threads_as_the_environment_says_or_it_is_given(monkeypatch):
    monkeypatch.setenv("BACSIM_THREADS", "3")
    setup, params = setup_for("native", 70), Params(space_size=40.0)
    assert Driver(setup, params).stats.threads == 3
    assert Driver(setup, params, threads=2).stats.threads == 2


def test_only_lists_on_a_cpu_are_native(monkeypatch):
    assert resolve(Setup(rods=500)).code == f"native, {TARGETS[0]}"
    assert resolve(Setup(rods=500, kernel="rowsum")).code == "JAX"
    assert resolve(Setup(rods=500, native="off")).kernel == "neighbours"
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    on_a_card = resolve(Setup(rods=500))
    assert (on_a_card.kernel, on_a_card.code) == ("neighbours", "JAX")
    assert "native" not in on_a_card.reason
