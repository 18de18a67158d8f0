# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the pictures of the presets anew: `python assets/make_pictures.py [PRESET ...]`.

Each shows its preset's start, which is developed, so that it is what one sees at first.
"""

import argparse
from pathlib import Path

from PIL import Image

from bacsim_gui.bootstrap import prepare_headless
from bacsim_gui.presets import load_preset, preset_names
from bacsim_gui.resources import assets_dir
from bacsim_gui.view import View
from engine import Driver

# Twice the size on a card, for screens of high resolution.
SIZE = (448, 288)
# Body widths from bottom to top, and seconds of viewing before the picture.
HEIGHT, SECONDS = 60.0, 0.0
HEIGHTS = {"contagion": 140.0, "dilute": 90.0, "circle-swimmers": 75.0, "swarming": 75.0}
LATER = {"contagion": 13.0}
# So few colours make a picture a third as large and are not seen.
COLORS = 48


def main() -> None:
    """Draw what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="*", default=preset_names())
    prepare_headless()
    for name in parser.parse_args().presets:
        path = assets_dir() / "presets" / f"{name}.png"
        draw(name, path)
        print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)


def draw(name: str, path: Path) -> None:
    """Write the picture of the preset `name`."""
    from bacsim_gui.offscreen import render

    run = load_preset(name)
    driver = Driver(run.setup, run.params, run.seed, run.start)
    for _ in range(int(LATER.get(name, SECONDS) * run.fps)):
        driver.advance(run.K)
    view = View(
        zoom=run.params.space_size / HEIGHTS.get(name, HEIGHT), show_box=False,
        show_color_bar=False, show_scale_bar=False,
    )  # fmt: skip
    picture = Image.fromarray(render(driver.snapshot(), view, SIZE, 2))
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(path, "PNG", optimize=True)


if __name__ == "__main__":
    main()
