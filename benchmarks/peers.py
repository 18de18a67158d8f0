# SPDX-License-Identifier: GPL-3.0-or-later
"""bacsim's step beside what a user would pick instead; `make peers` runs it.

Every case is a process of its own with its own number of threads. All compile and warm up, what
they compute is compared with the float64 oracle, and then each round asks one after the other for a
number of steps, list rebuilds included, while the others wait. So a machine that slows down slows
them all, and each ratio is taken within a round. Nothing else should run meanwhile.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.figures import FIGURES
from benchmarks.process import PEERS_PYTHON
from benchmarks.report import print_report, record
from benchmarks.rounds import Bench

LEAST_ROUNDS = 5


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write JSON where that is asked for."""
    chosen = _parser().parse_args(arguments)
    if chosen.rounds < LEAST_ROUNDS:
        sys.exit(f"--rounds {chosen.rounds} is too few to show a spread: give {LEAST_ROUNDS}.")
    if len(chosen.rods) != 3:
        sys.exit(f"--rods {','.join(map(str, chosen.rods))} is not three numbers: FEW,N,MANY.")
    figures = [f for f in FIGURES if not chosen.only or f.key in chosen.only]
    with tempfile.TemporaryDirectory(prefix="bacsim-peers-") as folder, ExitStack() as open_peers:
        bench = Bench(chosen, Path(folder), open_peers)
        measured = bench.measure(figures)
    found = record(bench.machine, measured, [figure.row(measured) for figure in figures])
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print_report(found)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    keys = [figure.key for figure in FIGURES]
    parser.add_argument("--rounds", type=int, default=7, help="default %(default)s, at least 5")
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="length of a turn; default %(default)s"
    )
    parser.add_argument(
        "--rods", type=_numbers, metavar="FEW,N,MANY",
        default=(4096, 16384, 65536), help="numbers of rods; default 4096,16384,65536",
    )  # fmt: skip
    parser.add_argument("--only", nargs="+", choices=keys, metavar="KEY", help=" ".join(keys))
    parser.add_argument("--json", type=Path, help="write everything that was measured here")
    parser.add_argument("--states", type=Path, help="a folder to keep the starting states in")
    parser.add_argument(
        "--peers-python", metavar="PYTHON",
        default=str(PEERS_PYTHON) if PEERS_PYTHON.exists() else sys.executable,
        help="the Python that has numba and jax-md; default %(default)s",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    main()
