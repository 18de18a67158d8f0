# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's own presets and recent files: kept, found again, and never in the way when broken."""

from pathlib import Path

import numpy as np
import pytest

from bacsim_gui import own_presets, recent
from bacsim_gui.changes import changes
from bacsim_gui.presets import load_preset
from engine.schema import ParameterError
from engine.snapshot import Snapshot
from engine.storage.errors import StorageError

RUN = load_preset("swarming", rods=60).with_values(F_prop=12.5)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(own_presets, "folder", lambda: tmp_path / "presets")
    monkeypatch.setattr(recent, "list_path", lambda: tmp_path / "state" / "recent.json")
    return tmp_path


def draw(path: Path):
    path.write_bytes(b"a picture")


def rods(n=60):
    values = np.random.default_rng(1).random((n, 4), np.float32)
    return Snapshot(values * np.float32(20), 5, 1.0, RUN.params)


def test_a_preset_comes_back_with_its_rods_and_its_picture(home):
    assert own_presets.found() == ()
    own_presets.keep("Fast swärm", RUN, rods(), draw)
    (found,) = own_presets.found()
    assert found.name == "Fast swärm"
    assert found.run is not None
    assert found.run.title == "Fast swärm"
    assert changes(found.run, RUN) == ()
    again = own_presets.load("Fast swärm")
    assert again.start is not None
    assert np.abs(again.start.pos - rods().pos).max() < RUN.params.space_size / 2**16
    assert own_presets.picture_of("Fast swärm").read_bytes() == b"a picture"
    # Without rods it begins at random, and what was there before is gone.
    own_presets.keep("fast swärm", RUN, None, draw)
    assert [own.name for own in own_presets.found()] == ["fast swärm"]
    assert own_presets.load("fast swärm").start is None
    own_presets.delete("fast swärm")
    assert list((home / "presets").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "empty"), ("  ", "empty"), ("a/b", "'/'"), ("..", "file"), (".hidden", "file"),
        ("-rf", "file"), ("con", "file"), ("what?", r"\?"), ("x" * 61, "too long"),
        ("Swarming", "preset of bacsim"), ("a\nb", "cannot hold"), ("end.", "file"),
    ],
)  # fmt: skip
def test_a_name_that_is_none_is_refused_and_writes_nothing(home, name, words):
    with pytest.raises(ParameterError, match=words):
        own_presets.keep(name, RUN, None, draw)
    assert not (home / "presets").exists()


def test_a_broken_preset_is_shown_with_its_reason(home):
    own_presets.keep("good", RUN, rods(), draw)
    (home / "presets" / "bad.toml").write_text("[params]\nF_prop = 3\nradius = -1")
    (home / "presets" / "worse.toml").write_bytes(b"\xff\x00")
    bad, good, worse = own_presets.found()
    assert (bad.run, worse.run) == (None, None)
    assert good.run is not None
    assert "line 3" in bad.problem
    assert "radius" in bad.problem
    own_presets.delete("bad")
    assert len(own_presets.found()) == 2


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 nonsense"])
def test_rods_that_are_broken_are_refused_by_the_name_of_their_file(home, content):
    own_presets.keep("kept", RUN, rods(), draw)
    (home / "presets" / "kept.npz").write_bytes(content)
    with pytest.raises(ParameterError, match=r"kept\.npz.*Delete that file"):
        own_presets.load("kept")


def test_rods_of_another_number_are_refused():
    own_presets.keep("kept", RUN, rods(59), draw)
    with pytest.raises(ParameterError, match="60 rods"):
        own_presets.load("kept")


def test_a_folder_that_cannot_be_is_said_plainly(home):
    (home / "presets").touch()
    with pytest.raises(StorageError, match="presets"):
        own_presets.keep("kept", RUN, None, draw)
    assert own_presets.found() == ()


def test_recent_files_are_kept_in_order_and_only_ten():
    assert recent.read() == ()
    paths = [Path(f"/a/{number}.gsd") for number in range(12)]
    for path in paths:
        recent.add(path)
    assert recent.read() == tuple(reversed(paths))[:10]
    recent.add(paths[5])
    assert recent.read()[:2] == (paths[5], paths[11])
    recent.remove(paths[5])
    assert recent.read()[0] == paths[11]
    recent.clear()
    assert recent.read() == ()


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": 1}', b"[3, null]", b"\xff", b"[" * 99999])
def test_a_broken_list_of_recent_files_is_an_empty_one_and_is_written_anew(content):
    file = recent.list_path()
    file.parent.mkdir()
    file.write_bytes(content)
    assert recent.read() == ()
    recent.add(Path("/a/b.gsd"))
    assert recent.read() == (Path("/a/b.gsd"),)


def test_a_list_that_cannot_be_written_is_no_error(home):
    (home / "state").touch()
    recent.add(Path("/a/b.gsd"))
    assert recent.read() == ()
