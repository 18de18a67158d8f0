# SPDX-License-Identifier: GPL-3.0-or-later
"""Develop the presets and keep their states, so that the first frame already swarms.

    python assets/make_starts.py [PRESET ...]

Each preset runs from its random start for so many seconds of viewing, and is written beside its
TOML file.
"""

import argparse

from bacsim_gui.presets import load_preset, preset_names, write_start
from bacsim_gui.resources import assets_dir
from engine import Driver

# A spreading wave has to begin with its spark.
SECONDS = {"contagion": 1}
DEFAULT_SECONDS = 30


def main() -> None:
    """Develop what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="*", default=preset_names())
    for name in parser.parse_args().presets:
        run = load_preset(name)
        driver = Driver(run.setup, run.params, run.seed)
        for _ in range(int(SECONDS.get(name, DEFAULT_SECONDS) * run.fps)):
            driver.advance(run.K)
        path = assets_dir() / "presets" / f"{name}-{run.setup.rods}.npz"
        write_start(path, driver.snapshot())
        seen = driver.snapshot().observables
        print(f"{path.name}: {path.stat().st_size:,} bytes, {seen}", flush=True)


if __name__ == "__main__":
    main()
