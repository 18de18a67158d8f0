# SPDX-License-Identifier: GPL-3.0-or-later
"""What the window opens: every kind of file of ours, and a plain word for any other."""

import json
import os

import numpy as np
import pytest

from bacsim_gui import __version__, autosaves, documents
from bacsim_gui.background import Background
from bacsim_gui.pictures import write_picture
from bacsim_gui.presets import load_preset, save_config
from bacsim_gui.timeline import Head, Timeline, TimelineError
from bacsim_gui.view import View
from engine import Driver
from engine.schema import ParameterError, to_mapping
from engine.storage import checkpoint
from engine.storage.errors import StorageError
from engine.storage.trajectory import TrajectoryWriter
from tests.gui.events import until

RUN = load_preset("swarming", rods=64)


@pytest.fixture(scope="module")
def driver():
    made = Driver(RUN.setup, RUN.params, seed=7)
    made.advance(20)
    return made


def trajectory(driver, path, rods=None):
    about = {
        "title": "kept",
        "seed": "7",
        "parameters": json.dumps(to_mapping(RUN.setup, RUN.params)),
    }
    with TrajectoryWriter(path, about, rods=rods) as file:
        file.write(driver.snapshot())
    return documents.read(path)


def test_parameters_are_a_run(tmp_path):
    save_config(tmp_path / "mine.toml", RUN)
    opened = documents.read(tmp_path / "mine.toml")
    assert opened.run is not None
    assert (opened.run.setup, opened.run.params) == (RUN.setup, RUN.params)


def test_a_checkpoint_brings_what_was_noted(driver, tmp_path):
    path, view = tmp_path / "kept.bacsim", View(zoom=3.0, center=(1.0, 2.0), title="near")
    notes = {"title": "mine", "K": 7, "fps": 30.0, "view": view.to_dict(), "more": 1}
    checkpoint.save(path, driver.checkpoint(), __version__, notes)
    opened = documents.read(path)
    assert opened.kept is not None
    assert opened.kept.step == 20
    assert View.from_dict(opened.notes["view"]) == view
    assert (opened.notes["title"], opened.notes["K"]) == ("mine", 7)


@pytest.mark.parametrize(
    "notes", [{"K": 0}, {"K": "many"}, {"fps": -1}, {"view": {"zoom": 1e9}}, {"view": 3}]
)
def test_notes_that_cannot_be_are_refused(driver, tmp_path, notes):
    path = tmp_path / "odd.bacsim"
    checkpoint.save(path, driver.checkpoint(), __version__, notes)
    with pytest.raises(StorageError, match="damaged"):
        documents.read(path)


def test_a_timeline_is_its_run_from_the_first_step_and_says_how_to_follow_it(driver, tmp_path):
    timeline = Timeline(Head.of(driver, "told", 9, 50.0))
    timeline.keep(tmp_path / "run.timeline").close()
    opened = documents.read(tmp_path / "run.timeline")
    assert opened.run is not None
    assert (opened.run.seed, opened.run.K, opened.run.title) == (7, 9, "told")
    assert "'bacsim replay'" in opened.note
    assert "run.timeline" in opened.note
    checkpoint.save(tmp_path / "run.start.bacsim", driver.checkpoint(), __version__, {})
    timeline.keep(tmp_path / "on.timeline", "run.start.bacsim").close()
    opened = documents.read(tmp_path / "on.timeline")
    assert opened.kept is not None
    assert opened.kept.step == 20


def test_a_movie_is_opened_by_the_timeline_beside_it(driver, tmp_path):
    movie = tmp_path / "swarm.mp4"
    movie.write_bytes(b"a movie")
    with pytest.raises(StorageError, match="movie or picture of bacsim"):
        documents.read(movie)
    Timeline(Head.of(driver, "filmed", 25, 60.0)).keep(tmp_path / "swarm.mp4.timeline").close()
    opened = documents.read(movie)
    assert opened.run is not None
    assert (opened.run.title, opened.run.K) == ("filmed", 25)


def test_a_picture_begins_anew_the_run_that_is_written_in_it(tmp_path):
    pixels = np.zeros((4, 4, 4), np.uint8)
    about = {"title": "seen", "bacsim": "1", "seed": "12",
             "parameters": json.dumps(to_mapping(RUN.setup, RUN.params))}  # fmt: skip
    path = tmp_path / "picture.png"
    write_picture(path, pixels, about)
    opened = documents.read(path)
    assert opened.run is not None
    assert (opened.run.setup, opened.run.params) == (RUN.setup, RUN.params)
    assert (opened.run.title, opened.run.seed, opened.run.start) == ("seen", 12, None)
    assert "Begun anew with the parameters and the seed" in opened.note
    for damaged in ('{"params": {"F_prop": "fast"}}', "{", '{"params": {"speed": 3}}'):
        write_picture(path, pixels, {**about, "parameters": damaged})
        with pytest.raises(StorageError, match="run that cannot be"):
            documents.read(path)
    write_picture(path, pixels, {})
    with pytest.raises(StorageError, match="cannot be opened"):
        documents.read(path)


def test_a_run_goes_on_from_a_frame_that_holds_all_rods(driver, tmp_path):
    opened = trajectory(driver, tmp_path / "all.gsd")
    assert opened.frames is not None
    run = documents.run_of(opened.frames, opened.frames[0])
    assert run is not None
    assert (run.setup, run.params, run.seed, run.title) == (RUN.setup, RUN.params, 7, "kept")
    assert run.start is not None
    assert run.start.step == 20
    assert np.allclose(run.start.pos, driver.snapshot().pos)
    few = trajectory(driver, tmp_path / "few.gsd", rods=20)
    assert few.frames is not None
    assert documents.run_of(few.frames, few.frames[0]) is None
    opened.frames.close()
    few.frames.close()


@pytest.mark.parametrize("name", ["a.txt", "a", "a.mp4"])
def test_another_ending_is_refused_with_those_that_can_be_opened(tmp_path, name):
    (tmp_path / name).write_text("x")
    with pytest.raises(StorageError, match=r"\.toml.*\.bacsim.*\.timeline.*\.gsd"):
        documents.read(tmp_path / name)


@pytest.mark.parametrize("suffix", documents.SUFFIXES)
@pytest.mark.parametrize("content", [None, b"", b"\x00\xff nonsense"])
def test_a_file_that_is_missing_or_foreign_is_refused_by_name(tmp_path, suffix, content):
    path = tmp_path / f"foreign{suffix}"
    if content is not None:
        path.write_bytes(content)
    if suffix == ".toml" and content == b"":
        return  # an empty table: all defaults
    with pytest.raises((StorageError, TimelineError, ParameterError), match="foreign"):
        documents.read(path)


def test_the_newest_five_autosaves_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(autosaves, "folder", lambda: tmp_path / "autosave")
    assert autosaves.newest() is None
    autosaves.tidy()
    (tmp_path / "autosave").mkdir()
    for number in range(8):
        path = tmp_path / "autosave" / f"{number}.bacsim"
        path.touch()
        os.utime(path, (1000, 1000 + (number * 3) % 8))
    autosaves.tidy()
    left = {path.name for path in (tmp_path / "autosave").iterdir()}
    assert left == {f"{n}.bacsim" for n in range(8) if (n * 3) % 8 >= 3}
    newest = autosaves.newest()
    assert newest is not None
    assert newest.name == "5.bacsim"


def test_work_beside_the_window_comes_back_in_order_and_failures_are_plain(qapp):
    background, told, idle = Background(), [], []
    background.idle.connect(lambda: idle.append(1))

    def refused():
        raise StorageError("There is no file x.")

    def broken():
        raise KeyError("y")

    background.do(lambda: 3, told.append, told.append)
    background.do(refused, told.append, told.append)
    background.do(broken, told.append, told.append)
    assert background.busy
    until(lambda: not background.busy)
    assert told[:2] == [3, "There is no file x."]
    assert "unexpected" in told[2]
    assert "KeyError" in told[2]
    assert idle
