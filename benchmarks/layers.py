# SPDX-License-Identifier: GPL-3.0-or-later
"""What fields and trails add to a frame: to compute them, and to draw them.

    python -m benchmarks.layers [--rods N …] [--size WIDTHxHEIGHT]

Rods are at random at a packing fraction of 0.4 and go straight on. Prints milliseconds, the fastest
of several and the median. Drawing ends with reading the picture back.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bacsim_gui.coarse import places
from bacsim_gui.fields import FIELDS, NO_FIELD, rod_area
from bacsim_gui.offscreen import surface
from bacsim_gui.picture_flags import size_from
from bacsim_gui.scene import Scene
from bacsim_gui.trails import trail_time, with_trails
from bacsim_gui.view import View
from engine.params import Params
from engine.snapshot import Snapshot

# Of a second there are so many states of which trails are made, as in the window.
FRAMES, REPEATS = 240, 9


def states(rods: int) -> list[Scene]:
    """A state, and those before it as far as its trails reach back, the oldest first."""
    rng, params = np.random.default_rng(0), Params()
    area = rod_area(params.length, params.radius)
    params = replace(params, space_size=float((rods * area / 0.4) ** 0.5))
    start = rng.random((rods, 4)) * (params.space_size, params.space_size, 2 * np.pi, 1)
    moving = np.column_stack([np.cos(start[:, 2]), np.sin(start[:, 2])])
    scene = Scene.of(Snapshot(start.astype(np.float32), 0, 0.0, params))
    measures = {
        "velocity_x": moving[:, 0].astype(np.float32),
        "velocity_y": moving[:, 1].astype(np.float32),
    }
    # A million rods have no room for as many states in the window's memory either.
    count = min(FRAMES, max(8, (256 << 20) // (16 * rods)))
    apart, made = trail_time(scene) / count, []
    for step in range(count + 1):
        now = start.copy()
        now[:, :2] = np.mod(start[:, :2] + apart * step * moving, params.space_size)
        found = now.astype(np.float32)
        made.append(replace(scene, rods=found, step=step, time=apart * step, measures=measures))
    return made


def milliseconds(do: Callable[..., object], *arguments: object) -> str:
    """How long that takes, the first time left out: the fastest, and the median."""
    do(*arguments)
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        do(*arguments)
        taken.append(1e3 * (time.perf_counter() - began))
    return f"{min(taken):7.1f} ({statistics.median(taken):.1f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rods", type=int, nargs="+", default=[5000, 100_000, 1_000_000])
    parser.add_argument("--size", type=size_from, default=(1280, 720))
    arguments = parser.parse_args()
    fields = [name for name in FIELDS if name != NO_FIELD]
    print("ms to compute")
    for rods in arguments.rods:
        *earlier, scene = states(rods)
        for name in fields:
            print(f"{rods:10,} rods  {name:10}", milliseconds(places, scene, View(field=name)))
        print(f"{rods:10,} rods  trails    ", milliseconds(with_trails, scene, earlier))
    *earlier, scene = states(arguments.rods[0])
    scene, paper, bare = with_trails(scene, earlier), surface(), View(show_rods=False)
    print(f"ms for a picture of {arguments.size[0]} x {arguments.size[1]} by {paper.renderer}")
    looks = {"nothing": bare, "rods": View(), "trails": replace(bare, show_trails=True)}
    for name, view in (looks | {name: replace(bare, field=name) for name in fields}).items():
        # Another scene each time, so that nothing is drawn that was uploaded before.
        taken = milliseconds(lambda look: paper.render(replace(scene), look, arguments.size), view)
        print(f"{arguments.rods[0]:10,} rods  {name:10}", taken)


if __name__ == "__main__":
    main()
