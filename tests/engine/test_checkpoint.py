# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that was kept goes on with the same bits, and a file that is no checkpoint is refused."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engine import Driver, Params, Setup
from engine.native.library import native
from engine.params import GIVEN
from engine.schema import ParameterError
from engine.snapshot import CheckpointError, Start
from engine.storage import checkpoint
from engine.storage.errors import StorageError
from tests.engine.programs import setup_for, shared_programs

PARAMS = Params(space_size=50.0, D_r=0.1, F_prop=8.0)
SETUPS = {
    "native": Setup(rods=300),
    "lists of JAX": setup_for("neighbours", 50),
    "row sum": setup_for("rowsum", 50),
}


def a_run(setup: Setup) -> Driver:
    """In the middle of a life: noise, edits, rods that came and went."""
    driver = Driver(setup, PARAMS, seed=1)
    driver.advance(137)
    driver.set(F_prop=15.0)
    driver.remove([3])
    driver.add([[1.0, 1.0]], [2.0])
    driver.advance(20)
    return driver


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "run.bacsim"
    checkpoint.save(path, a_run(SETUPS["native"]).checkpoint(), "0.1", {"title": "a run"})
    return path


@pytest.mark.parametrize("name", SETUPS)
def test_a_kept_run_goes_on_with_the_same_bits(name: str, tmp_path: Path) -> None:
    if name == "native" and native().problem:
        pytest.skip(native().problem)
    path, shared = tmp_path / "run.bacsim", nullcontext() if name == "native" else shared_programs()
    with shared:
        driver = a_run(SETUPS[name])
        checkpoint.save(path, driver.checkpoint(), "0.1", {})
        again = Driver.resumed(checkpoint.load(path).checkpoint)
    old, new = driver.advance(333), again.advance(333)
    np.testing.assert_array_equal(old.rods, new.rods)
    assert (old.step, old.time, old.observables) == (new.step, new.time, new.observables)
    np.testing.assert_array_equal(driver.add([[2.0, 2.0]], [1.0]), again.add([[2.0, 2.0]], [1.0]))


def test_a_checkpoint_from_before_there_were_laws_and_tumbles_is_under_those_given(
    kept: Path, tmp_path: Path
) -> None:
    def age(about: dict[str, Any], _: dict[str, np.ndarray]) -> None:
        for told in (about, about["began"]):
            assert told["params"].pop("tumble_rate") == 0
            for law in GIVEN.__dict__:
                told["setup"].pop(law)

    old, new = checkpoint.load(rewritten(kept, tmp_path, age)), checkpoint.load(kept)
    assert old.checkpoint.setup == new.checkpoint.setup
    assert old.checkpoint.params == new.checkpoint.params
    assert old.checkpoint.began[:2] == new.checkpoint.began[:2]


def test_a_kept_run_is_as_it_was_then(kept: Path) -> None:
    found = checkpoint.load(kept)
    driver = a_run(SETUPS["native"])
    again = Driver.resumed(found.checkpoint)
    assert (found.version, found.notes) == ("0.1", {"title": "a run"})
    assert (again.setup, again.params, again.seed) == (driver.setup, driver.params, driver.seed)
    assert again.snapshot().observables == driver.snapshot().observables
    np.testing.assert_array_equal(again.ids, driver.ids)
    assert again.stats.compiles == 1


def test_a_reset_goes_back_to_what_the_run_began_with() -> None:
    driver = a_run(SETUPS["native"])
    again = Driver.resumed(driver.checkpoint())
    driver.reset()
    again.reset()
    np.testing.assert_array_equal(driver.advance(10).rods, again.advance(10).rods)


def test_a_checkpoint_does_not_change_while_the_run_goes_on() -> None:
    driver = a_run(SETUPS["native"])
    taken = driver.checkpoint()
    before = {name: array.copy() for name, array in taken.arrays.items()}
    driver.advance(50)
    for name, array in taken.arrays.items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_a_driver_takes_up_another_run_without_a_compile() -> None:
    driver = a_run(SETUPS["native"])
    taken = driver.checkpoint()
    wanted = driver.advance(30).rods
    driver.rebuild(seed=5)
    compiles = driver.stats.compiles
    driver.resume(taken)
    np.testing.assert_array_equal(driver.advance(30).rods, wanted)
    assert driver.stats.compiles == compiles


def test_a_start_may_have_a_step_and_a_time() -> None:
    driver = a_run(SETUPS["native"])
    last = driver.snapshot()
    again = Driver(driver.setup, driver.params, seed=driver.seed, start=Start.of(last))
    assert (again.step, again.time) == (last.step, last.time)
    again.advance(7)
    again.reset()
    assert (again.step, again.time) == (last.step, last.time)
    np.testing.assert_array_equal(again.snapshot().rods, last.rods)


def test_a_reset_after_a_file_knows_the_rods_by_their_names(tmp_path: Path) -> None:
    driver = a_run(SETUPS["native"])
    begun = driver.snapshot()
    driver.rebuild(start=Start.of(begun))
    driver.remove([5])
    checkpoint.save(tmp_path / "run.bacsim", driver.checkpoint(), "0.1", {})
    again = Driver.resumed(checkpoint.load(tmp_path / "run.bacsim").checkpoint)
    again.reset()
    np.testing.assert_array_equal(again.ids, begun.ids)


@pytest.mark.parametrize("wrong", [{"step": -1}, {"time": np.nan}, {"time": -1.0}])
def test_a_start_at_no_step_is_refused(wrong: dict[str, Any]) -> None:
    start = replace(Start.of(a_run(SETUPS["native"]).snapshot()), **wrong)
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Driver(SETUPS["native"], PARAMS, start=start)


def test_an_existing_file_is_kept_unless_it_is_to_go(kept: Path) -> None:
    before, taken = kept.read_bytes(), a_run(SETUPS["native"]).checkpoint()
    with pytest.raises(StorageError, match="exists already"):
        checkpoint.save(kept, taken, "0.1", {})
    assert kept.read_bytes() == before
    copy = kept.with_name("copy.bacsim")
    copy.write_bytes(before)
    checkpoint.save(copy, taken, "0.2", {}, overwrite=True)
    assert checkpoint.load(copy).version == "0.2"
    assert sorted(path.name for path in kept.parent.iterdir()) == ["copy.bacsim", "run.bacsim"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"nowhere.*No such file"):
        checkpoint.save(
            tmp_path / "nowhere" / "a.bacsim", a_run(SETUPS["native"]).checkpoint(), "", {}
        )
    with pytest.raises(StorageError, match="no file"):
        checkpoint.load(tmp_path / "a.bacsim")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.999])
def test_a_truncated_file_is_refused(kept: Path, tmp_path: Path, share: float) -> None:
    whole = kept.read_bytes()
    path = tmp_path / "cut.bacsim"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(StorageError, match=r"cut\.bacsim"):
        checkpoint.load(path)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    text, other = tmp_path / "a.bacsim", tmp_path / "b.bacsim"
    text.write_text("no checkpoint at all, but long enough to hold a head")
    save_file({"weights": np.zeros(3, np.float32)}, other)
    for path in (text, other, tmp_path):
        with pytest.raises(StorageError, match=str(path)):
            checkpoint.load(path)


def test_a_head_that_names_a_huge_array_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "huge.bacsim"
    entry = {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}
    head = json.dumps({"a": entry}).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"0" * 100)
    with pytest.raises(StorageError, match="damaged"):
        checkpoint.load(path)


def test_a_bit_that_has_changed_anywhere_is_seen(kept: Path, tmp_path: Path) -> None:
    whole, path = kept.read_bytes(), tmp_path / "flipped.bacsim"
    rng = np.random.default_rng(4)
    for place in rng.integers(8, len(whole), 300).tolist():
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        with pytest.raises(StorageError, match=r"flipped\.bacsim"):
            checkpoint.load(path)


def rewritten(
    kept: Path, tmp_path: Path, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]
) -> Path:
    """The file with its head and its arrays changed."""
    from safetensors import safe_open

    with safe_open(kept, framework="numpy") as file:
        about = json.loads(file.metadata()["bacsim checkpoint"])
    arrays = load_file(kept)
    change(about, arrays)
    path = tmp_path / "changed.bacsim"
    text = json.dumps(about)
    save_file(arrays, path, {"bacsim checkpoint": text, "digest": checkpoint.digest(text, arrays)})
    return path


HEADS: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "of a newer version": ("newer", lambda about: about.update(format=99)),
    "without a seed": ("seed", lambda about: about.pop("seed")),
    "with a parameter of the future": (
        "is not a parameter",
        lambda about: about["params"].update(x=1),
    ),
    "of no capacity": ("damaged", lambda about: about.update(capacity=[1, 2])),
    "of a huge capacity": ("damaged", lambda about: about.update(capacity=[64, 64, 1e308, 0])),
    "of a seed in words": ("damaged", lambda about: about.update(seed="one")),
    "of no step": ("damaged", lambda about: about.update(step=None)),
    "of a kernel that is a list": ("damaged", lambda about: about.update(kernel=["native"])),
    "of an endless time": ("damaged", lambda about: about.update(origin=[0, float("inf")])),
    "of a next rod in words": ("damaged", lambda about: about.update(next_id="x")),
    "without notes": ("damaged", lambda about: about.update(notes=None)),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_cannot_be_is_refused(kept: Path, tmp_path: Path, name: str) -> None:
    says, change = HEADS[name]
    path = rewritten(kept, tmp_path, lambda about, _: change(about))
    with pytest.raises(StorageError, match=says):
        checkpoint.load(path)


def put(name: str, value: float) -> Callable[[dict[str, np.ndarray]], None]:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name].reshape(-1)[0] = value

    return change


def cut(name: str) -> Callable[[dict[str, np.ndarray]], None]:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = arrays[name][:-1]

    return change


ARRAYS = {
    "row": put("state.row", 10**6), "two in a row": put("state.row", 7), "n": put("state.n", 5),
    "id": put("state.id", -4), "ids": cut("ids"), "step": put("state.step", 1),
    "pos": put("state.pos", np.nan), "theta": cut("state.theta"),
    "turns": put("state.theta", -1e38),
    "skin": put("state.list.skin", np.nan),
    "activity": put("state.activity", 3),
    "rest": put("state.rest", np.inf), "outside": put("state.pos", 51.0),
    "table": put("state.list.table", 10**6), "used": put("state.list.used", 10**6),
    "missing": lambda arrays: arrays.pop("state.list.skin"),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_cannot_be_are_refused(kept: Path, tmp_path: Path, name: str) -> None:
    path = rewritten(kept, tmp_path, lambda _, arrays: ARRAYS[name](arrays))
    with pytest.raises(
        CheckpointError, match=r"^The checkpoint is damaged: its array .*\. Give another one\.$"
    ):
        Driver.resumed(checkpoint.load(path).checkpoint)


def test_a_checkpoint_of_another_number_of_rods_is_refused(kept: Path, tmp_path: Path) -> None:
    path = rewritten(kept, tmp_path, lambda about, _: about["setup"].update(rods=299))
    driver = a_run(SETUPS["native"])
    before = driver.snapshot()
    with pytest.raises(CheckpointError, match="299 rods"):
        driver.resume(checkpoint.load(path).checkpoint)
    assert driver.snapshot() is before


def test_without_native_code_a_native_run_says_how_to_go_on(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = checkpoint.load(kept).checkpoint
    if found.kernel != "native":
        pytest.skip("there is no native code here")
    monkeypatch.setattr("engine.native.library.native", lambda: type(native())("", "switched off"))
    with pytest.raises(ParameterError, match=r"switched off.*native = off"):
        Driver.resumed(found)


FULL = """
import resource, sys
from pathlib import Path
from engine import Driver, Params, Setup
from engine.storage import checkpoint
from engine.storage.errors import StorageError
path = Path(sys.argv[1])
taken = Driver(Setup(rods=40), Params(space_size=50.0), seed=1).checkpoint()
checkpoint.save(path, taken, "first", {})
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    checkpoint.save(path, taken, "second", {}, overwrite=True)
except StorageError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    path = tmp_path / "run.bacsim"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"}, timeout=100,
    )  # fmt: skip
    assert "run.bacsim" in done.stdout
    assert "large" in done.stdout
    assert checkpoint.load(path).version == "first"
    assert [found.name for found in tmp_path.iterdir()] == ["run.bacsim"]
