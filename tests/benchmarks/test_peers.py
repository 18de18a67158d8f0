# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison measures what it says, and refuses a peer that computes something else."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import agreement, peers, process
from benchmarks.cases import CASES
from benchmarks.figures import FIGURES, Fresh, Measured
from engine.native.library import native
from engine.study import standard
from tests.conftest import QUICKLY

RODS = 192


@pytest.fixture(scope="module", autouse=True)
def _quickly_compiled() -> Iterator[None]:
    """What peers compute is tested here, not how fast: they compile without optimization."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_OPT", "0")
        patch.setenv("XLA_FLAGS", QUICKLY)
        yield


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    """Random rods that overlap little: on a jittered grid, at random angles."""
    rng, params = np.random.default_rng(5), standard.standard_params(RODS)
    side = int(np.ceil(np.sqrt(RODS)))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)[:RODS]
    pos = (grid + rng.uniform(0.3, 0.7, (RODS, 2))) * params.space_size / side
    path = tmp_path_factory.mktemp("state") / f"{RODS}.npz"
    theta, activity = rng.uniform(-np.pi, np.pi, RODS), rng.uniform(0, 1, RODS)
    np.savez(path, pos=pos, theta=theta, activity=activity, **asdict(params))
    return path


PARAMS = agreement.single(standard.standard_params(RODS))


@dataclass(frozen=True)
class Stepped:
    """What a peer saved at its start, after some steps and one later; the rebuilds on the way."""

    start: agreement.Save
    second: agreement.Save
    before: agreement.Save
    after: agreement.Save
    rebuilds: int


def stepped(
    folder: Path, state: Path, steps: int, script: str, *options: str, python: str = sys.executable
) -> Stepped:
    command, found = [python, script, str(state), *options], []
    with process.PeerProcess(command, folder / "errors.txt") as peer:
        for more in (0, 1, steps, 1):
            _, rebuilds = peer.run(more)
            found.append((agreement.Save(saved(peer, folder / "save.npz")), rebuilds))
    return Stepped(*[save for save, _ in found], found[2][1])


def saved(peer: process.PeerProcess, path: Path) -> Path:
    assert peer.ask(f"save {path}") == "saved"
    return path


@pytest.fixture(scope="module", params=[(), ("--blocks",)], ids=["pair by pair", "in blocks"])
def numba(request, tmp_path_factory, state) -> Stepped:
    pytest.importorskip("numba")
    folder = tmp_path_factory.mktemp("numba")
    return stepped(folder, state, 1000, "numba_verlet.py", *request.param)


def test_numba_agrees_with_the_oracle(numba):
    """At the start, and after so many steps that its list was built anew."""
    assert numba.rebuilds > 0
    for save in (numba.start, numba.before):
        assert np.abs(save.sums.force).max() > 0.2
        assert np.abs(save.sums.torque).max() > 0.05
        assert save.sums.sensed.max() > 1
    assert not np.array_equal(numba.start.rods.pos, numba.before.rods.pos)
    agreement.check(numba.start, numba.second, PARAMS)
    agreement.check(numba.before, numba.after, PARAMS)


@pytest.mark.skipif(bool(native().problem), reason="the native code is not built")
@pytest.mark.parametrize("options", [(), ("--batch", "8")], ids=["one call", "frames"])
def test_native_code_agrees_with_the_oracle(tmp_path, state, options):
    found = stepped(tmp_path, state, 1001, "bacsim_step.py", "--code", "native", *options)
    assert 0 < found.rebuilds < 100
    agreement.check(found.start, found.second, PARAMS)
    agreement.check(found.before, found.after, PARAMS)


@pytest.mark.parametrize("script", ["bacsim_step.py", "first_frame.py"])
def test_without_native_code_its_peers_say_why(tmp_path, state, script):
    with pytest.raises(
        process.PeerError, match=r"^without native code: BACSIM_NATIVE=off was set$"
    ):
        process.PeerProcess(
            [sys.executable, script, str(state), "--code", "native"], tmp_path / "errors.txt",
            more={"BACSIM_NATIVE": "off", "BACSIM_CACHE": "off"},
        )  # fmt: skip


@pytest.mark.parametrize("script", ["jaxmd_neighbours.py", "jaxmd_grad.py"])
def test_jax_md_agrees_with_the_oracle(tmp_path, state, script):
    """In the environment that `make peers` made, or in this one where it has jax-md."""
    python = str(process.PEERS_PYTHON if process.PEERS_PYTHON.exists() else sys.executable)
    found = subprocess.run([python, "-c", "import jax_md"], check=False, capture_output=True)
    if found.returncode:
        pytest.skip("jax-md is not installed; make peers installs it")
    found = stepped(tmp_path, state, 300, script, python=python)
    agreement.check(found.before, found.after, PARAMS)


def test_another_law_is_refused(numba):
    """By one of the sums or by the step, which float32 rounding is not."""
    before, after = numba.start, numba.second
    for name, value in {
        "k_cc": 51.0, "radius": 0.252, "sensing_range": 0.63, "w_a": 1.01, "F_prop": 2.2,
        "dt": 1.05e-3, "activity_width": 0.72, "gamma": 1.05,
    }.items():  # fmt: skip
        with pytest.raises(agreement.Disagreement):
            agreement.check(before, after, replace(PARAMS, **{name: value}))


def test_a_refused_peer_has_no_figure():
    refused = {"numba": "its force is off", "first frame, native": "no native code"}
    measured = Measured((50, 100, RODS, 400), refused=refused)
    rows = {figure.key: figure for figure in FIGURES}
    for key, why in (
        ("numba", "numba: its force is off"), ("native-numba", "numba: its force is off"),
        ("native-compile", "first frame, native: no native code"),
    ):  # fmt: skip
        row = rows[key].row(measured)
        assert (row.measured, row.met, row.refused) == (None, None, why)


def test_a_lost_pair_is_refused(state):
    """A list that has lost one pair that touches, among all rods."""
    with np.load(state) as file:
        rods = agreement.reference.rods(file["pos"], file["theta"], file["activity"])
    pairs = agreement.reference.pairs(rods, PARAMS)
    sums = agreement.reference.per_particle_sum(rods, PARAMS)
    before, after = object.__new__(agreement.Save), object.__new__(agreement.Save)
    before.rods, before.sums = rods, sums
    after.rods = agreement.reference.one_timestep(rods, PARAMS)
    agreement.check(before, after, PARAMS)
    i, j = np.unravel_index(np.argmax(pairs.overlap), pairs.overlap.shape)
    sums.force[i] -= pairs.force[i, j]
    with pytest.raises(agreement.Disagreement, match="force"):
        agreement.check(before, after, PARAMS)


def run(tmp_path, *arguments: str) -> dict:
    """The record of a run with few rods, whose states were there before."""
    path = tmp_path / "found.json"
    peers.main(
        [
            *("--rounds", "5", "--seconds", "0.01", "--rods", f"50,100,{RODS},400"),
            *("--json", str(path), "--peers-python", sys.executable, *arguments),
        ]
    )
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_run_prints_and_writes_its_figures(tmp_path, state, capsys):
    pytest.importorskip("numba")
    found = run(tmp_path, "--states", str(state.parent), "--only", "numba", "rebuild")
    assert [row["key"] for row in found["rows"]] == ["numba", "rebuild"]
    for row in found["rows"]:
        assert row["refused"] is None, row
        assert 0 < row["least"] <= row["measured"] <= row["most"]
        assert row["met"] in (True, False)
    theirs, ours = found["cases"]
    assert (theirs["case"], ours["case"]) == ("numba", "bacsim, JAX")
    assert ours["code"] == "JAX"
    for case in (ours, theirs):
        assert (case["rounds"], case["rods"], case["threads"]) == (5, RODS, 1)
        assert 0 < case["step_ms_min"] <= case["step_ms"] <= case["step_ms_max"]
        assert case["compile_s"] > 0
    row = found["rows"][0]
    assert row["least"] >= ours["step_ms_min"] / theirs["step_ms_max"] * (1 - 1e-9)
    assert row["most"] <= ours["step_ms_max"] / theirs["step_ms_min"] * (1 + 1e-9)
    assert {"cpu", "cpus", "load_before", "load_after", "busy_cpus"} <= set(found["machine"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "Standard benchmark: packing fraction 0.4" in printed
    assert f"one rebuild of the list, in steps, at {RODS}" in printed


@pytest.mark.slow
def test_a_fresh_start_finds_what_an_earlier_one_compiled(tmp_path, state):
    said, code = [], "JAX" if native().problem else "native"
    for _ in range(2):
        with process.PeerProcess(
            [sys.executable, "first_frame.py", str(state), "--code", code],
            tmp_path / "errors.txt",
            more={"BACSIM_CACHE": str(tmp_path / "cache")},
        ) as fresh:  # fmt: skip
            said.append(fresh.ready)
    assert [start["cache"] for start in said] == ["miss", "hit"]
    assert all(0 < start["compile_s"] < start["first_frame_s"] for start in said)


def test_a_missing_package_is_named_with_the_remedy(tmp_path, state):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')  # without site-packages
    python.chmod(0o755)
    with pytest.raises(process.PeerError, match=r"^numpy is not installed for .*; run: make peers"):
        process.PeerProcess([str(python), "numba_verlet.py", str(state)], tmp_path / "errors.txt")


def test_a_peer_that_ends_says_why(tmp_path):
    with pytest.raises(process.PeerError, match="ended too soon: FileNotFoundError"):
        process.PeerProcess(
            [sys.executable, "bacsim_step.py", str(tmp_path / "none.npz")], tmp_path / "errors.txt"
        )


@pytest.mark.skipif(len(process.available_cpus()) < 2, reason="needs two CPUs")
def test_processes_use_as_many_cpus_as_they_are_given():
    before = process.available_cpus()
    ask = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    for threads in (1, 2):
        with process.bound(before[-threads:]):
            assert int(subprocess.run(ask, capture_output=True, check=True).stdout) == threads
        assert process.available_cpus() == before
        environment = process.environment(threads, {})
        for name in ("NPROC", "NUMBA_NUM_THREADS", "BACSIM_THREADS"):
            assert environment[name] == str(threads)
    assert not any(name.startswith("JAX_ENABLE") for name in process.environment(1, {}))


def test_figures_come_from_the_rounds():
    """Ratios are taken within a round; at 16 times the rods, growth is a sixteenth of the ratio."""
    measured = Measured(
        (2, 4, 16, 64),
        step_s={
            "bacsim, JAX": [2.0, 3.0, 2.0], "numba": [1.0, 3.0, 4.0],
            "bacsim, JAX, two threads": [1.0, 4.0, 2.5],
            "bacsim, JAX, few": [1.0, 1.0, 1.0], "bacsim, JAX, many": [16.0, 20.0, 24.0],
            "bacsim, native": [0.5, 0.5, 0.5], "bacsim, native, fewest": [2e-3, 3e-3, 1e-3],
            # Frames of 8 and 32 ms, of 20 and 24, and of 4 and 8.
            "bacsim, native, frames": [1e-3, 2.5e-3, 0.5e-3],
            "bacsim, native, many, frames": [4e-3, 3e-3, 1e-3],
        },
        rebuild_s={"bacsim, JAX": [(8.0, 2.0), (9.0, 3.0), (20.0, 2.0)]},
        ready={"bacsim, JAX, few": {"temp_bytes": 40}, "bacsim, JAX, many": {"temp_bytes": 704}},
        fresh={
            Fresh("JAX"): [{"compile_s": 3.0}, {"compile_s": 5.0}, {"compile_s": 4.5}],
            Fresh("native"): [{"compile_s": 0.5}],
            Fresh("JAX", cache=True): [{"first_frame_s": 1.0}],
        },
    )  # fmt: skip
    keys = (
        "numba", "threads", "rebuild", "growth", "memory", "compile", "first-frame",
        "native-numba", "native-ms-fewest", "native-ns-fewest", "native-frame", "native-compile",
    )  # fmt: skip
    rows = {figure.key: figure.row(measured) for figure in FIGURES if figure.key in keys}
    found = {key: (row.measured, row.least, row.most, row.met) for key, row in rows.items()}
    assert found == {
        "numba": (1.0, 0.5, 2.0, True),
        "threads": (2.0, 0.75, 2.0, True),
        "rebuild": (4.0, 3.0, 10.0, True),
        "growth": (1.25, 1.0, 1.5, True),
        "memory": pytest.approx((1.1, 1.1, 1.1, True)),
        "compile": (4.5, 3.0, 5.0, False),
        "first-frame": (1.0, 1.0, 1.0, True),
        "native-numba": (6.0, 2.0, 8.0, True),
        "native-ms-fewest": (2.0, 1.0, 3.0, None),
        "native-ns-fewest": pytest.approx((1e6, 5e5, 1.5e6, None)),
        "native-frame": pytest.approx((32.0, 12.8, 128.0, False)),
        "native-compile": (0.5, 0.5, 0.5, True),
    }
    assert {rows[key].code for key in keys if key.startswith("native")} == {"native"}
    assert rows["growth"].figure == "time a rod and step at 64 over that at 4"
    assert rows["threads"].target == "≥ 1 ×, aim 1.4"
    assert rows["native-frame"].target == "≥ 24,000 rods"


def test_figures_name_cases_that_exist():
    assert all(name in CASES for figure in FIGURES for name in figure.needs)
    assert len({figure.key for figure in FIGURES}) == len(FIGURES)
    scripts = {case.script for case in CASES.values()}
    assert all((process.SCRIPTS / script).exists() for script in scripts)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--rounds 4", "rounds = '4' is not possible. Give a whole number from 5"),
        ("--seconds 0", "seconds = '0' is not possible. Give a number above 0"),
        ("--rods 0,0,0,0", "rods = '0' is not possible. Give a whole number from 20"),
        ("--rods 64,128,256", "rods = '64,128,256' is not four rising numbers"),
        ("--rods 64,64,64,64", "is not four rising numbers"),
        ("--rods many", "rods = 'many' is not possible"),
        ("--peers-python /nope", "peers-python = '/nope' is no program that can be run"),
        ("--json /nope/found.json", "is in a folder that does not exist"),
        ("--states /dev/null", "states = '/dev/null' is no folder"),
        ("--round 7", "--round is not known as a flag. Did you mean --rounds?"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(arguments, said, capsys):
    with pytest.raises(SystemExit) as left:
        peers.main(arguments.split())
    assert left.value.code == 2
    words = capsys.readouterr().err
    assert said in words
    assert words.count("\n") == 1
