# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim-gui` as a command: help, refusals, and a whole run of few frames in its own process."""

import os
import subprocess
import sys

import pytest

from bacsim_gui import __main__ as program
from bacsim_gui import __version__
from bacsim_gui.presets import load_preset, save_config
from engine import Driver, Params, Setup
from engine.schema import FIELDS
from engine.storage import checkpoint
from engine.storage.trajectory import TrajectoryWriter
from tests.gui.windows import image


def run(*flags, **options):
    command = [sys.executable, "-W", "error", "-m", "bacsim_gui", *flags]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=200, **options
    )


def test_help_lists_every_parameter_with_unit_and_default():
    text = " ".join(run("--help").stdout.split())
    for field in FIELDS:
        assert f"--{field.name} " in text
        assert f"default {field.default}" in text
        if field.unit:
            assert f"in {field.unit};" in text
    for flag in ("--preset", "--config", "--seed", "--K", "--frames", "--screenshot", "--version"):
        assert flag in text


def test_help_is_printed_where_a_terminal_has_no_greek_letters():
    done = run("--help", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "force k \\u03b4" in " ".join(done.stdout.split())


def test_version():
    assert run("--version").stdout.strip() == f"bacsim {__version__}"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--preset", "swarmin"], "Did you mean swarming?"),
        (["--length", "long"], "length = 'long'"),
        (["--radius", "-1"], "radius = '-1'"),
        (["--lenght", "4"], "Did you mean --length?"),
        (["--rods", "0"], "rods = '0'"),
        (["--space_size", "3"], "space_size = 3.0 is too small"),
        (["--frames", "0"], "frames = '0'"),
        (["--seed", "x"], "seed = 'x'"),
        (["--config", "no-such-file.toml"], "no-such-file.toml"),
        (["--preset", "dilute", "--config", "a.toml"], "exclude each other"),
        (["--kernel", "fast"], "kernel = 'fast'"),
        (["--screenshot", "window"], "ends in .png"),
        (["--screenshot", "no/such/window.png"], "no folder"),
        (["no-such-run.bacsim"], "no-such-run.bacsim"),
        (["no-such-run.toml"], "no-such-run.toml"),
        (["swarm.mp4"], "There is no file swarm.mp4"),
        (["a.toml", "--config", "b.toml"], "exclude each other"),
        (["--autosave-minutes", "-1"], "autosave-minutes = '-1'"),
    ],
)
def test_a_bad_flag_is_refused_in_plain_words(flags, words, capsys, monkeypatch):
    monkeypatch.setattr(program, "show_window", lambda *_: pytest.fail("it was not refused"))
    with pytest.raises(SystemExit) as left:
        program.main(flags)
    assert left.value.code == 2
    assert words in capsys.readouterr().err


def test_neither_help_nor_a_refusal_waits_for_qt_or_jax():
    code = (
        "import sys; from bacsim_gui.__main__ import main\n"
        "try: main(['--radius', '-1'])\n"
        "except SystemExit: pass\n"
        "sys.exit(sum(name in sys.modules for name in ('jax', 'PyQt6', 'vispy', 'OpenGL')))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == 0
    assert b"radius" in done.stderr
    assert b"Traceback" not in done.stderr


def test_the_window_does_not_wait_for_what_it_does_not_need():
    """JAX is loaded by the engine's thread, while the window is there already; plots when seen."""
    code = (
        "from bacsim_gui.bootstrap import prepare_window; prepare_window()\n"
        "import sys, bacsim_gui.window\n"
        "late = ('jax', 'scipy', 'ml_dtypes', 'pyqtgraph', 'qtpy', 'pyarrow', 'PIL')\n"
        "sys.exit(' '.join(name for name in late if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the import does it")
def test_the_library_of_jax_is_loaded_before_jax_is():
    code = (
        "from pathlib import Path; from bacsim_gui.loading import LIBRARY, load_jaxlib\n"
        "import sys; loaded = lambda: LIBRARY in Path('/proc/self/maps').read_text()\n"
        "assert not loaded(); load_jaxlib(); assert loaded(); assert 'jaxlib' not in sys.modules\n"
        "before = Path('/proc/self/maps').read_text().count(LIBRARY); import jax; jax.devices()\n"
        "assert Path('/proc/self/maps').read_text().count(LIBRARY) == before"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.gl
def test_it_leaves_after_so_many_frames_with_a_picture_of_the_window(tmp_path):
    config, picture = tmp_path / "mine.toml", tmp_path / "window.png"
    save_config(config, load_preset("swarming", rods=200))
    done = run("--config", str(config), "--K=2", "--frames=3", "--screenshot", str(picture))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    pixels = image(picture)
    assert pixels.shape[1] >= 900
    # Rods in the middle of the window: bright, and of more than one colour.
    middle = pixels[200:-200, 500:-500]
    assert (middle.max(axis=2) > 150).mean() > 0.02
    assert (middle[..., 0] - middle[..., 2]).max() > 60
    assert (middle[..., 2] - middle[..., 0]).max() > 60


@pytest.mark.gl
def test_nothing_of_the_window_is_left_for_the_end_of_python():
    """PyQt's own end of a process crashes where an event filter of ours is still called."""
    code = (
        "import atexit, os; from bacsim_gui import bootstrap; bootstrap.prepare_window()\n"
        "from PyQt6.QtWidgets import QApplication\n"
        # After what the window has asked for, before what PyQt has.
        "atexit.register(lambda: os._exit(len(QApplication.allWidgets())))\n"
        "from bacsim_gui.__main__ import main\n"
        "assert main(['--preset=swarming', '--rods=200', '--frames=2']) == 0"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.gl
def test_it_opens_a_checkpoint_that_is_named(tmp_path):
    kept, picture = tmp_path / "kept.bacsim", tmp_path / "window.png"
    driver = Driver(Setup(rods=70), Params(space_size=60), seed=3)
    driver.advance(5)
    checkpoint.save(kept, driver.checkpoint(), __version__, {"title": "A run kept"})
    done = run(str(kept), "--frames=3", "--screenshot", str(picture))
    assert done.returncode == 0, done.stderr
    assert picture.exists()
    refused = run(str(kept), "--F_prop", "3")
    assert refused.returncode == 2
    assert "--F_prop cannot be given with kept.bacsim" in refused.stderr
    with TrajectoryWriter(tmp_path / "kept.gsd", {}) as file:
        file.write(driver.snapshot())
    refused = run(str(tmp_path / "kept.gsd"), "--frames=3")
    assert refused.returncode == 2
    assert "--frames" in refused.stderr


@pytest.mark.gl
def test_a_run_of_so_many_frames_that_cannot_go_on_says_why_and_fails():
    done = run("--preset=swarming", "--rods=200", "--dt=1e30", "--frames=50")
    assert done.returncode == 1
    assert "dt" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_display_it_says_so(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    done = run()
    assert done.returncode == 1
    assert "no display" in done.stderr
    assert "bacsim movie" in done.stderr
