# SPDX-License-Identifier: GPL-3.0-or-later
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bacsim_gui.bootstrap import child_environment
from bacsim_gui.offscreen import render
from bacsim_gui.view import View, ViewError
from tests.gui.conftest import swarm

pytestmark = pytest.mark.gl

HEADLESS = """
import sys
import numpy as np
from bacsim_gui.offscreen import render
from bacsim_gui.scene import Scene
from bacsim_gui.view import View
rods = np.load(sys.argv[1])
picture = render(Scene(rods, 40.0, 4.0, 0.5), View(zoom=1.5), (500, 300))
assert "jax" not in sys.modules and "PyQt6" not in sys.modules, "loads more than it needs"
np.save(sys.argv[2], picture)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="EGL is for Linux")
def test_without_a_display_the_picture_is_the_same(tmp_path: Path) -> None:
    scene = swarm(300)
    np.save(tmp_path / "rods.npy", scene.rods)
    environment = {k: v for k, v in child_environment().items() if k != "DISPLAY"}
    subprocess.run(
        [sys.executable, "-c", HEADLESS, tmp_path / "rods.npy", tmp_path / "picture.npy"],
        check=True,
        env={**environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        cwd=Path(__file__).parents[2],
    )
    headless = np.load(tmp_path / "picture.npy").astype(int)
    here = render(scene, View(zoom=1.5), (500, 300)).astype(int)
    assert headless.shape == (300, 500, 3)
    assert np.abs(headless - here).max() <= 8
    assert np.abs(headless - here).mean() < 0.1
    assert headless.std() > 10


def test_pictures_of_any_size_one_after_another() -> None:
    scene = swarm(100)
    for size in ((640, 360), (321, 123), (16, 16), (200, 900), (640, 360)):
        picture = render(scene, View(), size)
        assert picture.shape == (size[1], size[0], 3)
        assert picture.dtype == np.uint8
        assert picture.std() > 1


def test_a_picture_is_not_changed_by_the_next_one() -> None:
    first = render(swarm(100), View(), (320, 180))
    kept = first.copy()
    render(swarm(100, seed=2), View(), (320, 180))
    np.testing.assert_array_equal(first, kept)


def test_the_same_state_gives_the_same_picture() -> None:
    first, second = (render(swarm(100), View(), (320, 180)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_picture_too_large_for_the_card_is_refused_by_its_size() -> None:
    from bacsim_gui.rods import PictureError

    with pytest.raises(PictureError, match="A picture of 100000x200 is too large"):
        render(swarm(3), View(), (100_000, 200))


def test_an_unknown_colour_map_is_refused_and_the_next_picture_is_fine() -> None:
    scene = swarm(100)
    before = render(scene, View(), (320, 180))
    with pytest.raises(ViewError, match="no-such-map"):
        render(scene, View(colormap="no-such-map"), (320, 180))
    np.testing.assert_array_equal(render(scene, View(), (320, 180)), before)
