# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark measures what it says. No time is asserted, only what was timed and how."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from engine import schema
from engine.native.library import native
from engine.params import Setup
from engine.schema import ParameterError
from engine.snapshot import Start
from engine.study import bench, standard
from engine.timing import watch_compiles
from tests.conftest import QUICKLY

KEYS = (
    "kernel", "n", "threads", "device", "compile_s", "step_ms", "step_ms_min", "step_ms_max",
    "temp_bytes", "rod_steps_per_s", "speedup_over_naive",
)  # fmt: skip


NATIVE = ("off",) if native().problem else ("auto", "off")


def plan(**values) -> bench.Plan:
    return bench.Plan(**{"rods": (64,), "round_seconds": 0.02, **values})


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> tuple[list[bench.Row], list[bench.Progress], os.PathLike]:
    """Lists in each code and naive at 64 rods, with a persistent cache that the user has on.

    The first case falls into the traps, of which most compile: it takes native code no time.
    """
    cache, seen = tmp_path_factory.mktemp("cache"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_ENABLE_COMPILATION_CACHE", "true")
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(cache))
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        patch.setenv("XLA_FLAGS", QUICKLY)
        rows = bench.run(plan(kernels=("neighbours", "naive"), native=NATIVE), seen.append)
    return rows, seen, cache


def test_rows_are_records_with_the_promised_keys(measured):
    records = json.loads(json.dumps(bench.to_records(measured[0]), allow_nan=False))
    kernels = [*["neighbours"] * len(NATIVE), "naive"]
    assert [(r["kernel"], r["n"]) for r in records] == [(kernel, 64) for kernel in kernels]
    for record in records:
        assert tuple(record)[: len(KEYS)] == KEYS
        assert all(record[key] is not None for key in KEYS)
        assert record["refused"] is None


def test_figures_of_a_row_agree_with_one_another(measured):
    *others, naive = measured[0]
    for row in (naive, *others):
        assert 0 < row.step_ms_min <= row.step_ms <= row.step_ms_max
        assert row.rod_steps_per_s == pytest.approx(64 / (row.step_ms * 1e-3))
        assert row.compile_s > 0
        assert row.temp_bytes > 0
        assert row.rounds == 5
        assert row.packing_fraction == pytest.approx(0.4)
    assert naive.speedup_over_naive == 1
    for row in others:
        assert row.speedup_over_naive == pytest.approx(naive.step_ms / row.step_ms)


def test_a_compile_is_cold_whatever_cache_the_user_has(measured):
    assert list(measured[2].iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity")
def test_the_process_may_use_the_asked_number_of_cpus(measured):
    assert [row.threads for row in measured[0]] == [1] * (len(NATIVE) + 1)


def test_the_three_traps_stand_beside_the_right_value(measured):
    traps = measured[0][0].traps
    assert [trap.name for trap in traps] == ["not waited for", "first call", "changing inputs"]
    assert {trap.right_ms for trap in traps} == {measured[0][0].step_ms}
    assert measured[0][1].traps == ()


def test_progress_runs_forward_and_names_what_is_done(measured):
    shares = [progress.share for progress in measured[1]]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    assert any("round 5 of 5, naive at 64 rods" in progress.doing for progress in measured[1])


def test_what_cannot_be_measured_is_a_row_with_the_reason(quick_processes):
    # Of copies of few rods.
    few, many = bench.run(plan(kernels=("naive",), rods=(5, 257 * 64**2)))
    assert "space_size" in few.refused
    assert "memory" in many.refused
    assert "1052672" in many.refused
    assert many.step_ms is None
    assert many.speedup_over_naive is None


@pytest.mark.skipif(bool(native().problem), reason="the native code is not built")
def test_neighbour_lists_are_measured_in_each_code(measured):
    assert [(row.kernel, row.label, row.code, row.native) for row in measured[0][:2]] == [
        ("neighbours", "neighbours", f"native, {native().target}", "auto"),
        ("neighbours", "neighbours, JAX", "JAX", "off"),
    ]


def test_only_neighbour_lists_have_a_second_code():
    assert plan(native=("off", "auto"), rods=(64, 65)).cases() == [
        (kernel, setting, n)
        for n in (64, 65)
        for kernel, setting in (
            ("naive", "auto"), ("rowsum", "auto"), ("neighbours", "off"), ("neighbours", "auto"),
        )
    ]  # fmt: skip


@pytest.mark.skipif(bool(native().problem), reason="the native code is not built")
def test_native_code_is_measured_with_as_many_threads_as_asked_for():
    from engine.study import measure

    setup, params = Setup(rods=64, kernel="neighbours"), standard.standard_params(64)
    for threads in (1, 2):
        assert f"threads = {threads}" in measure._compiled(setup, params, threads).text()


def test_steps_are_timed_from_one_state_without_a_compile_and_traps_with_one():
    from engine.study import measure

    # Native code, where there is one, takes no time to compile.
    start, params = standard.relaxed_start(64), standard.standard_params(64)
    setup = Setup(rods=64, kernel="naive" if native().problem else "neighbours")
    packed = measure.jax.device_put(measure.pack(params))
    case = measure.Case(start, params, measure._compiled(setup, params, 1), packed)
    before = np.asarray(case.state().pos)
    case.batch(1)
    with watch_compiles() as timed:
        case.batch(4)
        case.batch(7)
    assert (timed.traces, timed.compiles) == (0, 0)
    np.testing.assert_array_equal(case.state().pos, before)
    with watch_compiles() as first:
        measure._first_call(case)
    assert first.compiles == 1
    with watch_compiles() as changing:
        measure._changing_inputs(case)
    assert changing.compiles == 3


def test_a_state_that_blows_up_is_refused_not_timed(tmp_path, quick_processes):
    """The uppermost of rods that lie on one another is pushed at one end by all: away in the first
    step.

    The first, since a slow machine times no more than that. So few fit into the lists.
    """
    pos = np.stack([np.full(30, 5.0), 5.0 + 1e-4 * np.arange(30)], axis=1)
    pos[-1, 0] += 1.9
    file = tmp_path / "heap.npz"
    start = Start(pos, np.zeros(30), np.ones(30))
    standard.save_state(file, start, standard.standard_params(60))
    (row,) = bench.run(plan(kernels=("neighbours",), rods=(1,), state=file))
    assert "Step 1 from this state" in row.refused
    assert "relaxed" in row.refused


# The state


def test_copies_are_periodic_images_of_a_relaxed_state():
    from tests.engine import seam

    base = standard.relaxed_start(100)
    params = standard.standard_params(100)
    whole = standard.copied(base, params.space_size, 3)
    large = standard.standard_params(900)
    assert large.space_size == pytest.approx(3 * params.space_size, rel=1e-12)

    def sums(start, params):
        rods = seam.reference.rods(start.pos, start.theta, start.activity)
        return seam.kernel_sums("naive", rods, params)

    small, big = sums(base, params), sums(whole, large)
    np.testing.assert_array_equal(big.sensed.reshape(9, 100), np.tile(small.sensed, (9, 1)))
    np.testing.assert_allclose(big.force.reshape(9, 100, 2), np.tile(small.force, (9, 1, 1)),
                               atol=2e-3)  # fmt: skip
    overlap = np.hypot(*small.force.T).max() / params.k_cc
    assert overlap < 0.1 * 2 * params.radius


@pytest.mark.parametrize(
    ("rods", "m"), [(64, 1), (1024, 1), (4096, 2), (16384, 4), (65536, 8), (4099, 1), (8192, 4)]
)
def test_large_states_are_made_of_copies_where_that_is_possible(rods, m):
    assert standard.copies_for(rods) == m


def test_the_standard_benchmark_is_the_one_of_the_design():
    params = standard.standard_params(1000)
    assert schema.packing_fraction(Setup(rods=1000), params) == pytest.approx(0.4)
    named = ("length", "radius", "sensing_range", "k_cc", "F_prop", "dt", "gamma")
    assert [getattr(params, name) for name in named] == [2, 0.25, 0.6, 50, 2, 1e-3, 1]
    assert schema.warnings_for(Setup(rods=1000), params) == ()


# What is refused at once


def good_state() -> dict[str, object]:
    return {"pos": np.ones((40, 2)), "theta": np.zeros(40), "activity": np.zeros(40),
            "space_size": 12.0}  # fmt: skip


def test_a_state_file_decides_rods_and_box(tmp_path):
    file = tmp_path / "state.npz"
    np.savez(file, **good_state())
    start, params = standard.load_state(file)
    assert len(start.theta) == 40
    assert params.space_size == 12.0
    assert bench.check(plan(rods=(64, 100), state=file)).rods == (40,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"theta": None}, "lacks theta"),
        ({"theta": np.zeros(39)}, "shapes"),
        ({"pos": np.full((40, 2), np.nan)}, "finite"),
        ({"space_size": np.zeros(2)}, "space_size"),
        ({"space_size": 1.0}, "space_size = 1.0 is too small"),
        ({"space_size": -1.0}, "above 0"),
        ({"activity": np.array(["a"] * 40)}, "finite"),
    ],
)
def test_a_spoilt_state_file_is_refused_by_name(tmp_path, change, words):
    file = tmp_path / "state.npz"
    np.savez(file, **{k: v for k, v in {**good_state(), **change}.items() if v is not None})
    with pytest.raises(ParameterError, match=words):
        standard.load_state(file)


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 cut short"])
def test_a_file_that_is_no_npz_is_refused(tmp_path, content):
    file = tmp_path / "state.npz"
    file.write_bytes(content)
    with pytest.raises(ParameterError, match="is not an"):
        standard.load_state(file)


def test_a_spoilt_or_single_array_is_refused(tmp_path):
    whole = tmp_path / "whole.npz"
    np.savez_compressed(whole, **good_state())
    spoilt = bytearray(whole.read_bytes())
    spoilt[60] ^= 0xFF
    (tmp_path / "spoilt.npz").write_bytes(spoilt)
    np.save(tmp_path / "one.npy", np.zeros(3))
    for name in ("spoilt.npz", "one.npy"):
        with pytest.raises(ParameterError, match=f"{name}' is not an .npz file"):
            standard.load_state(tmp_path / name)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"kernels": ("rowsums",)}, "kernel"),
        ({"native": ("on",)}, "native"),
        ({"rods": (0,)}, "rods"),
        ({"rounds": 4}, "rounds"),
        ({"threads": (10_000,)}, "threads"),
        ({"threads": (0,)}, "threads"),
    ],
)
def test_an_impossible_plan_is_refused_by_name(values, name):
    with pytest.raises(ParameterError) as refused:
        bench.run(plan(**values))
    assert refused.value.name == name


def test_planning_needs_no_jax_and_the_affinity_comes_before_it():
    """XLA counts its CPUs when it is loaded; and a command line must answer at once."""
    script = "import engine.study.bench, engine.study.standard, sys; print('jax' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert said.stdout.split() == [b"False"]
    script = "import jax; from engine.study.bench_process import bind; bind(1)"
    failed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert b"before the affinity" in failed.stderr
