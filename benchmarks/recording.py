# SPDX-License-Identifier: GPL-3.0-or-later
"""What recording costs: frames a second, the simulation's slowdown, files.

    python -m benchmarks.recording [--rods N] [--rounds N] [--only PARTS] [--json FILE]

PARTS are some of encode, slowdown, files, with commas between. Cases of one part take turns in each
round; medians and ranges are printed. `benchmarks.lateness` has what the window does meanwhile.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bacsim_gui.bootstrap import prepare_headless
from bacsim_gui.flags import PlainParser, whole
from bacsim_gui.movie_formats import QUALITIES
from benchmarks.checks import writable

SIZES = ((1280, 720), (1920, 1080))
FRAMES = 24  # recorded in a turn
QUEUED = 30  # more than may wait to be drawn, so that after them drawing sets the pace
K = 25  # steps to a frame, about the pace of the presets
PIPE_WIDTH = 110
CHECKPOINT_RODS = 1_000_000
PARTS = ("encode", "slowdown", "files")


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, its unit, and a value for each round."""

    what: str
    unit: str
    values: Sequence[float]

    @property
    def told(self) -> str:
        """Median and range."""
        low, high = min(self.values), max(self.values)
        return f"{statistics.median(self.values):.4g} ({low:.4g} to {high:.4g})"


def encode(rods: int, rounds: int, folder: Path) -> list[Row]:
    """Frames a second that are drawn and encoded, for each size and quality."""
    from bacsim_gui.recorder import Recorder

    snapshots = _snapshots(rods, FRAMES)
    cases = [(size, quality) for size in SIZES for quality in QUALITIES]
    found: dict[tuple, list[float]] = {case: [] for case in cases}
    for number in range(rounds):
        for size, quality in cases:
            recorder = Recorder(folder / f"{number}.mp4", size=size, quality=quality)
            # The process starts, and the drivers of the card load, before the clock does.
            recorder.put(snapshots[0])
            _wait_for(lambda recorder=recorder: recorder.frames_written >= 1)
            began = time.perf_counter()
            for snapshot in snapshots[1:]:
                recorder.put(snapshot)
            recorder.finish()
            found[size, quality].append((FRAMES - 1) / (time.perf_counter() - began))
    return [
        Row(f"{width}x{height}, {quality}", "frames/s", found[(width, height), quality])
        for (width, height), quality in cases
    ]


def slowdown(rods: int, rounds: int, folder: Path) -> list[Row]:
    """How many times as long a run takes while it is recorded."""
    from bacsim_gui.recorder import Recorder

    driver = _driver(rods)
    driver.advance(K)
    plain, movie, ratio = [], [], []
    for number in range(rounds):
        began = time.perf_counter()
        for _ in range(FRAMES):
            driver.advance(K)
        plain.append((time.perf_counter() - began) / FRAMES * 1e3)
        recorder = Recorder(folder / f"slow-{number}.mp4", size=SIZES[0])
        recorder.put(driver.snapshot())
        _wait_for(lambda recorder=recorder: recorder.frames_written >= 1)
        for _ in range(QUEUED):
            recorder.put(driver.advance(K))
        began = time.perf_counter()
        for _ in range(FRAMES):
            recorder.put(driver.advance(K))
        movie.append((time.perf_counter() - began) / FRAMES * 1e3)
        recorder.finish()
        ratio.append(movie[-1] / plain[-1])
    return [
        Row(f"{K} steps, not recorded", "ms", plain),
        Row(f"{K} steps and a frame of 1280x720, share", "ms", movie),
        Row("recorded over not recorded, as fast as the engine can", "x", ratio),
    ]


def files(rods: int, rounds: int, folder: Path) -> list[Row]:
    """Bytes of a trajectory, and seconds to save and to load a checkpoint."""
    import numpy as np

    from engine import Driver, Params, Setup
    from engine.snapshot import Start
    from engine.storage import checkpoint
    from engine.storage.trajectory import TrajectoryWriter

    path = folder / "run.gsd"
    with TrajectoryWriter(path, {}) as writer:
        for snapshot in _snapshots(rods, FRAMES):
            writer.write(snapshot)
    size = path.stat().st_size / rods / FRAMES
    n = CHECKPOINT_RODS
    params = Params(space_size=float(np.sqrt(n * 4.8 / 0.3)))
    rng = np.random.default_rng(1)
    start = Start(
        rng.uniform(0, params.space_size, (n, 2)), rng.uniform(-3, 3, n), np.zeros(n)
    )  # fmt: skip
    driver = Driver(Setup(rods=n), params, start=start)
    saved, loaded = [], []
    for number in range(rounds):
        path = folder / f"{number}.bacsim"
        began = time.perf_counter()
        checkpoint.save(path, driver.checkpoint(), "", {})
        saved.append(time.perf_counter() - began)
        began = time.perf_counter()
        driver.resume(checkpoint.load(path).checkpoint)
        loaded.append(time.perf_counter() - began)
        path.unlink()
    return [
        Row(f"trajectory of {rods:,} rods", "bytes a rod and frame", [size]),
        Row(f"save a checkpoint of {n:,} rods", "s", saved),
        Row("load it and go on", "s", loaded),
    ]


def _snapshots(rods: int, number: int) -> list:
    driver = _driver(rods)
    return [driver.advance(K) for _ in range(number)]


def _driver(rods: int):
    from bacsim_gui.presets import load_preset
    from engine import Driver

    run = load_preset("swarming", rods=rods)
    return Driver(run.setup, run.params, seed=run.seed, start=run.start)


def _wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.001)


def _asked(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = PlainParser(prog="benchmarks.recording", allow_abbrev=False)
    parser.add_argument("--rods", metavar="INT", default="2000", help="default 2000")
    parser.add_argument("--rounds", metavar="INT", default="5", help="default 5")
    parser.add_argument("--only", metavar="PARTS", default=",".join(PARTS))
    parser.add_argument("--json", metavar="FILE", help="write the figures of every round")
    asked = parser.parse_args(argv)
    try:
        asked.rods, asked.rounds = whole("rods", asked.rods, 64), whole("rounds", asked.rounds, 1)
        asked.only = [part.strip() for part in asked.only.split(",")]
        for part in asked.only:
            if part not in PARTS:
                raise ValueError(f"--only {part} is not known: it has {', '.join(PARTS)}")
        asked.json = None if asked.json is None else Path(asked.json)
        writable("json", asked.json)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    return asked


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    asked = _asked(argv)
    prepare_headless()
    jobs = {"encode": encode, "slowdown": slowdown, "files": files}
    rows: list[Row] = []
    console = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    table = Table(title=f"Recording, {asked.rods:,} rods, {asked.rounds} rounds")
    for name in ("what", "unit", "median (range)"):
        table.add_column(name)
    with tempfile.TemporaryDirectory() as folder:
        for part in asked.only:
            for row in jobs[part](asked.rods, asked.rounds, Path(folder)):
                rows.append(row)
                table.add_row(row.what, row.unit, row.told)
    console.print(table)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
