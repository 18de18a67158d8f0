# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the pictures and the movie of the documentation anew: `python docs/make_pictures.py`.

Needs an X display for the picture of the window; without one, run it under `xvfb-run -a -s
"-screen 0 1600x1000x24"`.
"""

import subprocess
import sys
from pathlib import Path

from PyQt6.QtGui import QImage

from bacsim_gui.bootstrap import prepare_headless
from bacsim_gui.offscreen import render
from bacsim_gui.presets import load_preset
from bacsim_gui.timeline import sidecar
from bacsim_gui.view import View
from engine import Driver

DOCS = Path(__file__).parent
MOVIE = ["--preset", "swarming", "--seconds", "8", "--fps", "30", "--size", "480x480"]
WINDOW = ["--preset", "swarming", "--frames", "120"]


def main() -> None:
    """Make a movie, a picture of the rods, and one of the window."""
    run("bacsim_gui.cli", "movie", *MOVIE, "--out", fresh("swarming.mp4"))
    # The pages need no replay; left behind, it would keep the name from the next movie.
    sidecar(DOCS / "swarming.mp4").unlink()
    run("bacsim_gui", *WINDOW, "--screenshot", fresh("window.png"))
    prepare_headless()
    begun = load_preset("swarming")
    driver = Driver(begun.setup, begun.params, begun.seed, begun.start)
    rgb = render(driver.snapshot(), View(), (1280, 720))
    height, width, _ = rgb.shape
    image = QImage(rgb.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
    image.save(fresh("swarming.png"))


def fresh(name: str) -> str:
    """The path of a page's picture, with the old one out of the way."""
    path = DOCS / name
    path.unlink(missing_ok=True)
    return str(path)


def run(module: str, *arguments: str) -> None:
    """Run `python -m module` and stop where it fails."""
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)


if __name__ == "__main__":
    main()
