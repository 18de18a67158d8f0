# SPDX-License-Identifier: GPL-3.0-or-later
"""How late the event loop of the real window is, at rest and at work.

    xvfb-run -a -s "-screen 0 1600x1000x24" python -m benchmarks.lateness [--rounds N]
        [--only CASES] [--small] [--json FILE]
    xvfb-run -a -s "-screen 0 1600x1000x24" python -m benchmarks.lateness --minutes 10

A timer is to tick every 5 ms; how much later it ticks is its lateness, less the time spent on
painting in between, which depends on the card. What keeps a tick waiting keeps a click waiting.
Before each case the same window, at rest, is its idle control. CASES are some of start, running,
plots, drag, rods, record, with commas between. With --minutes one long run is watched instead: does
the frame rate hold, is memory flat?
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from bacsim_gui.bootstrap import prepare_window, window_problem
from bacsim_gui.flags import PlainParser, number, whole
from benchmarks.checks import LONGEST, writable

if TYPE_CHECKING:
    from benchmarks.lateness_cases import Bench, Part
    from benchmarks.watch import Seen

PIPE_WIDTH = 132
CASES = ("start", "running", "plots", "drag", "rods", "record")
MIB = 2**20


def table_of(bench: "Bench") -> Table:
    """What was seen of each case, beside its idle controls."""
    table = Table(title="Lateness of the event loop in ms, painting subtracted")
    for name in (
        "case", "p50", "p99 (of each round)", "max", "idle: p50", "p99", "max",
        "painting p50, p99", "frames/s", "steps/s",
    ):  # fmt: skip
        table.add_column(name, justify="left" if name == "case" else "right")
    for name, (seen, idle) in bench.seen.items():
        table.add_row(name, *_lateness(seen), *_lateness(idle), *_pace(seen))
    return table


def _lateness(parts: "Sequence[Seen]") -> tuple[str, str, str]:
    from benchmarks.watch import Seen, percentile

    if not parts:
        return "–", "–", "–"
    late = Seen.all_of(parts).late
    rounds = [percentile(part.late, 0.99) for part in parts]
    span = f" ({min(rounds):.1f}–{max(rounds):.1f})" if len(rounds) > 1 else ""
    p50, p99 = percentile(late, 0.5), percentile(late, 0.99)
    return f"{p50:.1f}", f"{p99:.1f}{span}", f"{max(late):.1f}"


def _pace(parts: "Sequence[Seen]") -> tuple[str, str, str]:
    from benchmarks.watch import Seen, percentile

    seen = Seen.all_of(parts)
    painting = [f"{percentile(seen.painting, part):.0f}" for part in (0.5, 0.99)]
    paces = (seen.frames / seen.seconds, seen.steps / seen.seconds)
    return ("; ".join(painting), *(f"{pace:.3g}" if pace else "–" for pace in paces))


def table_of_parts(parts: "Sequence[Part]", minutes: float, rods: int) -> Table:
    """How a long run went, in parts."""
    table = Table(title=f"{rods:,} rods for {minutes:g} minutes")
    for name in (
        "until minute", "frames/s", "steps/s", "lateness p99, max (ms)", "memory (MiB)",
        "of it states to look back at",
    ):  # fmt: skip
        table.add_column(name, justify="right")
    from benchmarks.watch import percentile

    names = [f"{minutes * part / (len(parts) - 2):.3g}" for part in range(1, len(parts) - 1)]
    for name, one in zip(("at rest", *names, "at rest"), parts, strict=True):
        seen = one.seen
        paces = [pace / seen.seconds for pace in (seen.frames, seen.steps)]
        table.add_row(
            name, *(f"{pace:.1f}" if pace else "–" for pace in paces),
            f"{percentile(seen.late, 0.99):.1f}, {max(seen.late):.1f}",
            f"{one.memory / MIB:.0f}", f"{one.past / MIB:.0f}",
        )  # fmt: skip
    return table


def _asked(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = PlainParser(prog="benchmarks.lateness", allow_abbrev=False)
    parser.add_argument("--rounds", metavar="INT", default="3", help="default 3")
    parser.add_argument("--only", metavar="CASES", default=",".join(CASES))
    parser.add_argument("--small", action="store_true", help="try it: few rods, for moments")
    parser.add_argument("--minutes", metavar="FLOAT", help="watch one long run instead")
    parser.add_argument("--json", metavar="FILE", help="write all that was seen")
    asked = parser.parse_args(argv)
    try:
        asked.rounds = whole("rounds", asked.rounds, 1)
        if asked.minutes is not None:
            asked.minutes = number("minutes", asked.minutes, 0, LONGEST)
        asked.only = [case.strip() for case in asked.only.split(",")]
        for case in asked.only:
            if case not in CASES:
                raise ValueError(f"--only {case} is not known: it has {', '.join(CASES)}")
        asked.json = None if asked.json is None else Path(asked.json)
        writable("json", asked.json)
    except ValueError as error:
        parser.error(str(error))
    return asked


def main(argv: Sequence[str] | None = None) -> int:
    """Drive the window and print what was seen."""
    asked = _asked(argv)
    # Every compile is to be a real one, and nothing of the user's is read or written.
    os.environ["BACSIM_CACHE"] = "off"
    os.environ["BACSIM_SETTINGS"] = "off"
    prepare_window()
    trouble = window_problem()
    if trouble is not None:
        print(f"benchmarks.lateness: {trouble}", file=sys.stderr)
        return 1
    from benchmarks.lateness_cases import SMALL, Plan, a_bench

    plan, console = SMALL if asked.small else Plan(), Console()
    if not sys.stdout.isatty():
        console = Console(width=PIPE_WIDTH)
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder, a_bench(plan, Path(folder)) as bench:
        if asked.minutes is not None:
            parts = bench.long_run(asked.minutes)
            console.print(table_of_parts(parts, asked.minutes, plan.plotted))
            found = [one.figures() for one in parts]
        else:
            bench.take_rounds(asked.only, asked.rounds)
            console.print(table_of(bench))
            found = bench.figures()
    load.append(os.getloadavg()[0])
    console.print(f"{os.cpu_count()} cores; load average {load[0]:.1f}, at the end {load[1]:.1f}")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
