# SPDX-License-Identifier: GPL-3.0-or-later
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from bacsim_gui.bootstrap import child_environment
from bacsim_gui.offscreen import render, surface
from bacsim_gui.view import View, ViewError, camera
from tests.gui.conftest import one_rod, swarm

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


TOLD = View(title="Swarm", show_time=True, zoom=1.3, parameters=("F_prop",))


@pytest.mark.parametrize("supersample", [1, 2])
@pytest.mark.parametrize("size", [(500, 320), (333, 211)])
@pytest.mark.parametrize("background", ["white", "dark"])
def test_a_picture_in_tiles_has_no_seam(
    supersample: Literal[1, 2], size: tuple[int, int], background: str
) -> None:
    scene, view = swarm(300), replace(TOLD, background=background)
    scene = replace(scene, values={"F_prop": 3.0})
    whole = surface().render(scene, view, size, supersample).astype(int)
    for largest in (128, 200):
        parts = surface().render(scene, view, size, supersample, largest=largest).astype(int)
        assert np.abs(parts - whole).max() <= 1
    # a seam of one pixel would be seen
    assert np.abs(np.roll(whole, 1, axis=1) - whole).max() > 100


@pytest.mark.parametrize("size", [(500, 320), (7680, 4320), (4097, 3), (129, 128)])
@pytest.mark.parametrize("largest", [128, 2048])
def test_tiles_cover_a_picture_and_are_of_one_size(size: tuple[int, int], largest: int) -> None:
    from bacsim_gui.rods import tiles

    parts = tiles(size, largest)
    assert len({(tile.width, tile.height) for tile in parts}) == 1
    covered = np.zeros(size[::-1], bool)
    for tile in parts:
        assert max(tile.width, tile.height) <= largest
        part = covered[tile.top : tile.top + tile.height, tile.left : tile.left + tile.width]
        assert part.shape == (tile.height, tile.width)
        part[:] = True
    assert covered.all()
    assert len(parts) == -(-size[0] // largest) * -(-size[1] // largest)


def test_supersampled_rods_are_the_mean_of_a_larger_picture_under_a_sharp_legend() -> None:
    from bacsim_gui.legend import legend

    bare = View(show_color_bar=False, show_scale_bar=False, zoom=1.2)
    scene, size = swarm(200), (640, 480)
    large = render(scene, bare, (1280, 960)).astype(float)
    mean = large.reshape(480, 2, 640, 2, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(render(scene, bare, size, supersample=2), mean, atol=1.01)
    assert np.abs(render(scene, bare, size).astype(float) - mean).max() > 20
    view = View(title="Swarm", zoom=0.5)
    plain, fine = (render(scene, view, size, supersample=n) for n in (1, 2))
    for panel in legend(scene, view, size):
        height, width, _ = panel.image.shape
        part = np.s_[panel.top : panel.top + height, panel.left : panel.left + width]
        np.testing.assert_array_equal(plain[part], fine[part])
    assert (plain != fine).any()


def test_obstacles_are_drawn_under_the_rods_and_across_the_edges() -> None:
    view = View(show_scale_bar=False, show_color_bar=False, show_box=False)
    rod = one_rod(10, 10)
    plain = render(rod, view, (200, 200)).astype(int)
    size, at = 200, camera(view, rod.space_size, (200, 200))

    def differs(obstacles: list[list[float]], x: float, y: float) -> bool:
        drawn = render(replace(rod, obstacles=obstacles), view, (size, size)).astype(int)
        column, row = (int(v) for v in at.to_picture(x, y))
        return bool(np.abs(drawn - plain)[row, column].max() > 12)

    disc = [[3.0, 3.0, 0.0, 0.0, 2.0]]
    assert differs(disc, 3, 3)
    assert not differs(disc, 6, 6)
    # A rod hides what it lies on.
    assert not differs([[10.0, 10.0, 0.0, 0.0, 3.0]], 10, 10)
    box = [[0.0, 15.0, 6.0, 3.0, 0.0]]
    assert differs(box, 2, 15)
    assert differs(box, 18, 15)
    endless = [[5.0, 15.0, 20.0, 2.0, 0.0]]
    assert differs(endless, 15.5, 15)
    assert differs(endless, 14.5, 15)
