# SPDX-License-Identifier: GPL-3.0-or-later
"""A window may be closed at any moment: nothing aborts, nothing is lost, nothing keeps running."""

import threading

import pytest

from bacsim_gui import theme
from bacsim_gui.presets import load_preset
from bacsim_gui.window import Window
from engine.storage import checkpoint
from tests.gui.conftest import decoded
from tests.gui.events import until
from tests.gui.windows import RODS

pytestmark = pytest.mark.gl


@pytest.fixture
def rods():
    """As many as the windows of other tests have, whose program they compile too."""
    return RODS


@pytest.fixture
def window(qapp, tmp_path, rods):
    theme.apply(qapp)
    made = Window(load_preset("swarming", rods=rods), "swarming", movie_folder=tmp_path)
    made.resize(950, 650)
    made.show()
    yield made
    made.close()
    until(lambda: not made.isVisible())


def closes(window):
    window.close()
    until(lambda: not window.isVisible())
    return not window.engine.is_alive() and "engine" not in [t.name for t in threading.enumerate()]


# So few have no lists, and what sums over all of them compiles for seconds.
@pytest.mark.parametrize("rods", [60])
def test_closing_while_it_compiles(cold_compiles, window):
    until(lambda: window.engine.status.phase == "compiling")
    until(lambda: "compiling" in window.waiting.text())
    window.close()
    # It stays to say what it waits for.
    assert window.isVisible()
    assert "closing" in window.waiting.text()
    assert closes(window)
    assert window.frame is None


def test_closing_while_it_records_keeps_the_movie(window, tmp_path):
    window.session.set_movie("width", "160")
    window.session.set_movie("height", "120")
    until(lambda: window.frame is not None)
    window.transport.record.trigger()
    until(lambda: window.engine.status.movie_frames > 5)
    assert closes(window)
    (movie,) = tmp_path.glob("*.mp4")
    assert movie.with_name(f"{movie.name}.timeline").exists()
    assert ".part" not in movie.name
    assert len(decoded(movie, (160, 120))) > 5


def test_closing_at_once_keeps_the_checkpoint_that_was_asked_for(window, tmp_path):
    until(lambda: window.frame is not None)
    window.session.edit("F_prop", 3.0)
    window.session.save_checkpoint(tmp_path / "kept.bacsim", window.canvas.view)
    assert closes(window)
    kept = checkpoint.load(tmp_path / "kept.bacsim").checkpoint
    assert kept.params.F_prop == 3.0


def test_closing_before_the_engine_has_begun_and_twice(window):
    window.close()
    assert closes(window)


def test_closing_while_paused(window):
    until(lambda: window.frame is not None)
    window.session.set_running(False)
    until(lambda: window.engine.status.phase == "paused")
    assert closes(window)
