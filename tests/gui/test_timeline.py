# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written of a run comes back and runs again with the same bits; damage is told."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bacsim_gui import timeline as timelines
from bacsim_gui.order import Order
from bacsim_gui.recorder import RecordingError
from bacsim_gui.recording import Recording
from bacsim_gui.replay import driver_for, other_bits, play
from bacsim_gui.timeline import Event, Head, Timeline, TimelineError, digest, load, sidecar
from bacsim_gui.view import View
from engine import Driver, Params, Setup
from engine.params import GIVEN
from engine.snapshot import Start
from engine.storage.errors import StorageError
from engine.storage.trajectory import Trajectory

SETUP, PARAMS = Setup(rods=90), Params(space_size=40.0, D_r=0.05)


@pytest.fixture(scope="module")
def driver() -> Driver:
    """Compiled once; each test begins it anew."""
    return Driver(SETUP, PARAMS, seed=3)


def begun(driver: Driver, start: Start | None = None) -> Timeline:
    driver.rebuild(SETUP, PARAMS, seed=3, start=start)
    return Timeline(Head.of(driver, "a run", 25, 60.0))


def edit(driver: Driver, timeline: Timeline, **values: float) -> None:
    driver.set(**values)
    timeline.add(driver.step, values)


def recorded(driver: Driver, timeline: Timeline, path: Path, kept=None) -> Path:
    """A trajectory with edits of every kind before and while it is recorded."""
    driver.advance(13)
    edit(driver, timeline, F_prop=12.0)
    driver.advance(20)
    recording = Recording(Order(path, steps=10), timeline, driver.step, kept)
    for frame in range(12):
        recording.put(driver.snapshot())
        if frame == 3:
            edit(driver, timeline, space_size=38.0, length=4.2)
        if frame == 6:
            driver.advance(4)
            edit(driver, timeline, dt=0.002)
            edit(driver, timeline, D_t=0.01, tau_a=0.3)
        driver.advance(10)
    return recording.finish()


def replayed(path: Path) -> list[bool | None]:
    line = load(path)
    again, _ = driver_for(line.head, path.parent)
    assert other_bits(line.head, again) == ""
    return [m.same for m in play(line, again, lambda _: None) if m.event.kind == "frame"]


def test_a_live_run_is_replayed_with_the_same_bits(driver, tmp_path):
    path = recorded(driver, begun(driver), tmp_path / "run.gsd")
    assert replayed(sidecar(path)) == [True] * 12


def test_a_run_from_arrays_at_a_later_step_is_replayed_with_the_same_bits(driver, tmp_path):
    rng = np.random.default_rng(0)
    start = Start(
        rng.uniform(-40, 80, (90, 2)), rng.uniform(-9, 9, 90), rng.random(90), 1234, 5.5,
        np.arange(5, 95, dtype=np.int32),
    )  # fmt: skip
    driver.set(k_cc=1.0)
    path = recorded(driver, begun(driver, start), tmp_path / "run.gsd")
    kept = load(sidecar(path)).head.start
    assert kept.step == 1234
    np.testing.assert_array_equal(kept.ids, start.ids)
    assert replayed(sidecar(path)) == [True] * 12


def test_a_run_from_a_checkpoint_is_replayed_with_the_same_bits(driver, tmp_path):
    begun(driver)
    driver.advance(77)
    kept = driver.checkpoint()
    driver.resume(kept)
    path = recorded(driver, Timeline(Head.of(driver)), tmp_path / "run.gsd", kept)
    assert load(sidecar(path)).head.checkpoint == "run.gsd.start.bacsim"
    assert replayed(sidecar(path)) == [True] * 12
    (tmp_path / "run.gsd.start.bacsim").unlink()
    with pytest.raises(StorageError, match=r"run\.gsd\.start\.bacsim"):
        replayed(sidecar(path))


def test_a_run_whose_rods_came_and_went_is_replayed_from_its_checkpoint(driver, tmp_path):
    begun(driver, Start(*_crowd()))
    driver.remove([3, 7])
    driver.advance(5)
    kept = driver.checkpoint()
    driver.resume(kept)
    path = recorded(driver, Timeline(Head.of(driver)), tmp_path / "run.gsd", kept)
    assert replayed(sidecar(path)) == [True] * 12


def _crowd() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places = np.stack(np.divmod(np.arange(90.0), 10), axis=1)
    return 4.4 * places + 1, np.zeros(90), np.ones(90)


def test_a_state_with_other_bits_is_told(driver, tmp_path):
    path = sidecar(recorded(driver, begun(driver), tmp_path / "run.gsd"))
    lines = path.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if 'F_prop": 12' in line and "step" in line)
    lines[at] = json.dumps({"step": 13, "set": {"F_prop": 12.000001}})
    path.write_text("\n".join(lines) + "\n")
    assert False in replayed(path)


def test_head_events_and_frames_come_back(driver, tmp_path):
    line = begun(driver)
    recording = Recording(Order(tmp_path / "a.gsd", steps=5), line, 0)
    recording.put(driver.snapshot())
    line.add(0, {"F_prop": 3.5})
    recording.put(driver.advance(5), View(zoom=2.0))
    recording.finish()
    line.add(5, {"F_prop": 4.0})  # after its end a file is left alone
    found = load(tmp_path / "a.gsd.timeline")
    assert found.head == line.head
    assert [(e.step, e.kind) for e in found.events] == [
        (0, "record"), (0, "frame"), (0, "set"), (5, "view"), (5, "frame"),
    ]  # fmt: skip
    assert found.events[-1].value == digest(driver.snapshot())
    assert View.from_dict(found.events[3].value) == View(zoom=2.0)
    assert found.params.F_prop == 3.5
    with Trajectory(tmp_path / "a.gsd") as frames:
        about = frames.about
    assert about["command"] == "bacsim replay a.gsd.timeline --out a.gsd"
    assert about["seed"] == "3"
    assert json.loads(about["parameters"])["params"]["D_r"] == 0.05


def test_a_timeline_from_before_there_were_laws_and_tumbles_is_of_those_given(driver, tmp_path):
    path = tmp_path / "a.timeline"
    wrote = begun(driver)
    wrote.forget(wrote.keep(path))
    head = json.loads(path.read_text(encoding="utf-8"))
    assert head["params"].pop("tumble_rate") == 0
    assert [head["setup"].pop(law) for law in vars(GIVEN)] == list(vars(GIVEN).values())
    path.write_text(json.dumps(head), encoding="utf-8")
    assert load(path).head == wrote.head


def test_digests_tell_states_apart(driver):
    begun(driver)
    one, same = driver.advance(1), driver.snapshot()
    assert digest(one) == digest(same)
    other = replace(one, rods=one.rods.copy())
    other.rods[5, 2] = np.nextafter(other.rods[5, 2], np.float32(9))
    assert digest(other) != digest(one)


def test_a_file_cut_at_any_byte_loses_its_last_line_only(driver, tmp_path):
    path = sidecar(recorded(driver, begun(driver), tmp_path / "run.gsd"))
    whole, cut = path.read_bytes(), tmp_path / "cut.timeline"
    ends = [i for i, byte in enumerate(whole) if byte == ord("\n")]
    for at in range(ends[0], len(whole), 7):
        cut.write_bytes(whole[:at])
        lines = sum(end < at for end in ends)
        assert len(load(cut).events) in (lines - 1, lines)
    for at in (0, 10, ends[0] // 2):
        cut.write_bytes(whole[:at])
        with pytest.raises(TimelineError, match=r"cut\.timeline"):
            load(cut)


HEAD = Head(SETUP, PARAMS, 1, "native", "native, avx2", "CPU")
WRONG = {
    "a text": ("not a timeline", "no timeline"),
    "JSON": ('{"a": 1}', "no timeline"),
    "bytes": ("\udcff", "no timeline"),
}


@pytest.mark.parametrize("name", WRONG)
def test_another_file_is_no_timeline(tmp_path, name):
    text, says = WRONG[name]
    path = tmp_path / "a.timeline"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(TimelineError, match=says):
        load(path)
    with pytest.raises(TimelineError, match="is no file"):
        load(tmp_path)
    with pytest.raises(TimelineError, match="cannot be read"):
        load(tmp_path / "none.timeline")


HEADS = {
    "newer": ({timelines._MARK: 99}, "newer"),
    "seed": ({"seed": -1}, "seed"),
    "rods": ({"setup": {"rods": 0}}, "rods"),
    "unknown": ({"params": {"F_porp": 1}}, "Did you mean F_prop"),
    "start": ({"start": {"step": 0, "time": 0, "rods": "eJwDAAAAAAE="}}, "90 rods"),
    "bomb": ({"start": {"step": 0, "time": 0, "rods": "AAAA"}}, "damaged"),
    "path": ({"checkpoint": "../../etc/passwd"}, "no name of a file"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_cannot_be_is_refused(tmp_path, name):
    change, says = HEADS[name]
    path = tmp_path / "a.timeline"
    path.write_text(json.dumps({**timelines._head_to_json(HEAD), **change}) + "\n")
    with pytest.raises(TimelineError, match=says):
        load(path)


RECORD = {"file": "a.mp4", "steps": 1, "size": [64, 64], "fps": 30, "quality": "share", "view": {}}
EVENTS = {
    "fixed": {"step": 9, "set": {"rods": 5}}, "record of nothing": {"step": 9, "record": {}},
    "size": {"step": 9, "record": {**RECORD, "size": "x"}},
    "rate": {"step": 9, "record": {**RECORD, "fps": None}},
    "look": {"step": 9, "record": {**RECORD, "view": {"colormap": None}}},
    "deep": {"step": 9, "view": {"title": json.loads("[" * 400 + "]" * 400)}},
    "no step": {"set": {}}, "backwards": {"step": 2, "frame": ""}, "kind": {"step": 9, "jump": 1},
    "two": {"step": 9, "set": {}, "view": {}}, "value": {"step": 9, "set": {"F_prop": "fast"}},
    "name": {"step": 9, "set": {"speed": 1}}, "view": {"step": 9, "view": {"zoom": -1}},
    "record": {"step": 9, "record": 5}, "number": 7,
}  # fmt: skip


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_that_cannot_be_is_refused_with_its_line(tmp_path, name):
    path = tmp_path / "a.timeline"
    lines = [
        timelines._head_to_json(HEAD),
        {"step": 8, "frame": ""},
        EVENTS[name],
        {"step": 10, "frame": ""},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(TimelineError, match="line 3"):
        load(path)


def test_an_event_before_the_first_step_is_refused(driver):
    begun(driver)
    driver.advance(5)
    line = Timeline(Head.of(driver), [Event(2, "set", {"F_prop": 1.0})])
    with pytest.raises(TimelineError, match="step 2, before"):
        list(play(line, driver, lambda _: None))


def test_names_that_are_taken_are_kept(driver, tmp_path):
    line = begun(driver)
    for taken in ("a.gsd", "a-2.gsd.timeline"):
        (tmp_path / taken).write_text("mine")
    recording = Recording(Order(tmp_path / "a.gsd"), line, 0)
    recording.put(driver.snapshot())
    assert recording.finish() == tmp_path / "a-3.gsd"
    assert "a-3.gsd" in recording.note
    assert (tmp_path / "a.gsd").read_text() == (tmp_path / "a-2.gsd.timeline").read_text() == "mine"
    assert load(tmp_path / "a-3.gsd.timeline").events[-1].kind == "frame"


def test_a_recording_that_was_deleted_leaves_nothing(driver, tmp_path):
    kept = driver.checkpoint()
    recording = Recording(Order(tmp_path / "a.gsd"), begun(driver), 0, kept)
    recording.put(driver.snapshot())
    recording.abandon(delete=True)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_named(driver, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match=str(tmp_path / "file")):
        Recording(Order(tmp_path / "file" / "a.gsd"), begun(driver), 0)


FULL = """
import resource, signal, sys
from pathlib import Path
from bacsim_gui.timeline import Head, Timeline, TimelineError
from engine.params import Params, Setup
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
line = Timeline(Head(Setup(), Params(), 1, "native", "JAX", "CPU"))
line.keep(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    for step in range(1000):
        line.add(step, {"F_prop": 1.0})
except TimelineError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_full_disk_is_told_and_what_was_written_is_whole(tmp_path):
    path = tmp_path / "a.timeline"
    command = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert "a.timeline cannot be written" in done.stdout
    assert len(load(path).events) > 50
