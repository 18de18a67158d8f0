# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets and configuration files: what they hold, what they refuse, how they start."""

import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from bacsim_gui.presets import load_config, load_preset, preset_names, save_config, write_start
from bacsim_gui.resources import assets_dir
from engine import Driver, Obstacle, ParameterError, Snapshot, Start, schema
from engine.storage.errors import StorageError


def test_the_first_preset_is_swarming_and_the_promised_ones_are_there():
    names = preset_names()
    assert names[0] == "swarming"
    assert {"dilute", "turbulence", "contagion", "circle-swimmers"} <= set(names)


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_can_be_simulated_without_a_warning(name):
    run = load_preset(name)
    schema.check(run.setup, run.params)
    assert schema.warnings_for(run.setup, run.params) == ()
    assert run.look_for
    # Some five body widths a second of viewing; three in a crowd, whose contacts need small steps.
    assert 3 < schema.pace(run.setup, run.params, run.K * run.fps) < 5.5


@pytest.mark.parametrize("name", preset_names())
def test_a_developed_start_fits_its_preset(name):
    run = load_preset(name)
    assert run.start is not None
    assert run.start.pos.shape == (run.setup.rods, 2)
    assert run.start.pos.min() >= 0
    assert run.start.pos.max() < run.params.space_size
    assert 0 <= run.start.activity.min() <= run.start.activity.max() <= 1


def test_the_first_frame_of_swarming_swarms():
    """Flocks: both hues are there, and rods beside each other point the same way."""
    run = load_preset("swarming")
    driver = Driver(run.setup, run.params, run.seed, run.start)
    first = driver.snapshot()
    assert 0.3 < first.observables["active_fraction"] < 0.9
    delta = first.pos[:, None] - first.pos[None]
    delta -= run.params.space_size * np.round(delta / run.params.space_size)
    i, j = np.nonzero(np.triu(np.hypot(*delta.T) < 1.5, 1))
    assert len(i) > 100
    assert np.cos(first.theta[i] - first.theta[j]).mean() > 0.7
    driver.advance(50)


def test_other_numbers_of_rods_keep_the_packing_fraction_and_drop_the_arrays():
    run = load_preset("swarming")
    more = run.with_values(rods=700)
    assert more.start is None
    assert schema.packing_fraction(more.setup, more.params) == pytest.approx(0.3)
    fixed = run.with_values(rods=550, space_size=120)
    assert fixed.params.space_size == 120
    assert load_preset("swarming", rods=700).params == more.params


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({"activity_thresh": 3.0}, True),
        ({"kernel": "naive"}, True),
        ({"native": "off"}, True),
        ({"length": 5.0}, False),
        ({"space_size": 300.0}, False),
        ({"start_activity": "none"}, False),
    ],
)
def test_the_developed_start_is_kept_only_where_it_fits(values, kept):
    run = load_preset("swarming").with_values(**values)
    assert (run.start is not None) == kept


def test_an_unknown_preset_gets_a_suggestion():
    with pytest.raises(ParameterError, match="Did you mean swarming"):
        load_preset("swaming")


def test_a_configuration_comes_back_as_it_was_saved(tmp_path):
    run = load_preset("contagion")
    save_config(tmp_path / "mine.toml", run)
    again = load_config(tmp_path / "mine.toml")
    assert (again.setup, again.params, again.K, again.fps, again.seed, again.title) == (
        run.setup, run.params, run.K, run.fps, run.seed, run.title
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = ", ["not a TOML file"]),
        ("[params]\nlenght = 3", ["lenght", "length", "mine.toml"]),
        ("[params]\nlength = -3", ["length", "-3", "above 0"]),
        ("[params]\nlength = 'long'", ["length", "long"]),
        ("[params]\nlength = nan", ["length", "nan"]),
        ("[setup]\nrods = 2.5", ["rods", "2.5", "whole number"]),
        ("[setup]\nkernel = 'fast'", ["kernel", "fast", "rowsum"]),
        ("params = 3", ["params", "table"]),
        ("[parms]\nlength = 3", ["parms", "params"]),
        ("[run]\nK = 0", ["K", "0"]),
        ("[run]\nk = 2", ["k", "K and seed"]),
        ("[run]\nK = 99999999999", ["K", "99999999999", "below 2147483648"]),
        ("[run]\nfps = 1e300", ["fps", "1 to 1000"]),
        (f"[run]\nseed = {10**400}", ["seed", "below 2147483648"]),
        (f"packing_fraction = {10**400}", ["packing_fraction", "at most"]),
        (f"[params]\nlength = {10**400}", ["length", "finite number"]),
        (f"[setup]\nrods = {10**400}", ["rods", "finite number"]),
        ("run = 3", ["run", "table"]),
        ("packing_fraction = 3", ["packing_fraction", "3"]),
        ("packing_fraction = true", ["packing_fraction", "True"]),
        ("[params]\nspace_size = 5", ["space_size", "5", "too small"]),
        ("[params]\nspace_size = 30", ["rods", "600", "fewer"]),
    ],
)
def test_a_bad_configuration_is_refused_by_name(tmp_path, text, words):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        load_config(path)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("title = 'a'\n\n[params]\nlength = 4\nradius = -1\n", 5),
        ("[params]\nlength = 4\n  lenght = 3", 3),
        ("[setup]\nrods = 600\n[params]\nrods = 600.0", 4),
        ("[params]\n'dt' = 'soon'", 2),
        ("# dt = 3\nparams.dt = -2", 2),
        ("params = { length = -3, dt = 0.1 }", None),
        ("[params]\ndt = 0.001\n[run]\nfps = 60\nK = 0", 5),
        ("title = 'a'\n[parms]\ndt = 0.001", 2),
        ("packing_fraction = 0.1\nparams = 3", 2),
        ("packing_fraction = 3\n[setup]\nrods = 600", 1),
        ("title = 'a'\ntitle = 'b'", 2),
        ("[params]\nsensing_range = 300", None),  # space_size, which is not there, is too small
    ],
)
def test_a_refusal_names_the_line_of_the_fault(tmp_path, text, line):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        load_config(path)
    found = re.search(r"\bline (\d+)", str(caught.value))
    assert (int(found[1]) if found else None) == line, caught.value
    assert "mine.toml" in str(caught.value)


def test_a_configuration_that_cannot_be_written_leaves_the_one_that_was(tmp_path):
    path = tmp_path / "mine.toml"
    save_config(path, load_preset("dilute"))
    was = path.read_bytes()
    save_config(path, load_preset("contagion"))
    assert path.read_bytes() != was
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(StorageError, match=r"none.*mine\.toml"):
        save_config(tmp_path / "none" / "mine.toml", load_preset("dilute"))


def test_a_start_file_loses_little(tmp_path):
    run = load_preset("swarming")
    rng = np.random.default_rng(1)
    side = run.params.space_size
    rods = rng.uniform([0, 0, -np.pi, 0], [side - 1, side - 1, np.pi, 1], (50, 4))
    rods = rods.astype(np.float32)
    write_start(tmp_path / "kept.npz", Snapshot(rods, 0, 0.0, run.params))
    with np.load(tmp_path / "kept.npz") as kept:
        assert np.abs(kept["pos"] * (side / 2**16) - rods[:, :2]).max() <= side / 2**17 * 1.01
        assert np.abs(kept["activity"] / 255 - rods[:, 3]).max() <= 0.5 / 255 * 1.01
        turn = kept["theta"] * (2 * np.pi / 2**16) - rods[:, 2]
        assert np.abs((turn + np.pi) % (2 * np.pi) - np.pi).max() <= np.pi / 2**16 * 1.01


def test_a_missing_configuration_is_said_plainly(tmp_path):
    with pytest.raises(ParameterError, match=r"none\.toml.*cannot be read"):
        load_config(tmp_path / "none.toml")


def test_a_file_that_asks_for_a_kernel_gets_it_and_one_that_does_not_gets_auto(tmp_path):
    path = tmp_path / "old.toml"
    path.write_text("[setup]\nrods = 600\nkernel = 'rowsum'\n", encoding="utf-8")
    assert load_config(path).setup.kernel == "rowsum"
    assert load_preset("swarming").setup.kernel == "auto"


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_has_a_picture_of_its_rods(name):
    path = assets_dir() / "presets" / f"{name}.png"
    assert path.stat().st_size <= 60_000
    with Image.open(path) as picture:
        assert picture.size == (448, 288)
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    # Rods of many colours on a dark ground, the active ones yellow.
    assert (pixels[..., 0] > pixels[..., 2] + 60).mean() > 0.01
    assert 0.02 < (pixels.max(axis=2) > 100).mean() < 0.99
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20


def test_a_run_is_begun_with_all_that_belongs_to_it():
    wall = Obstacle(4.0, 5.0, radius=1.0)
    run = replace(load_preset("swarming", rods=64), seed=3, obstacles=(wall,))
    driver = run.driver(threads=1)
    assert (driver.setup, driver.params, driver.seed) == (run.setup, run.params, 3)
    assert driver.obstacles == (wall,)
    start = Start.of(driver.snapshot())
    again = replace(run, start=start).driver()
    assert again.snapshot().rods.tobytes() == driver.snapshot().rods.tobytes()
