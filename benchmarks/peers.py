# SPDX-License-Identifier: GPL-3.0-or-later
"""bacsim's step beside what a user would pick instead; `make peers` runs it.

Every case is a process of its own with its own number of threads. All compile and warm up, what
they compute is compared with the float64 oracle, and then each round asks one after the other for a
number of steps, list rebuilds included, while the others wait. So a machine that slows down slows
them all, and each ratio is taken within a round. Nothing else should run meanwhile.
"""

import argparse
import itertools
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bacsim_gui.flags import PlainParser, number, whole
from benchmarks.checks import LEAST_RODS, LONGEST, writable
from benchmarks.figures import FIGURES
from benchmarks.process import PEERS_PYTHON
from benchmarks.report import print_report, record
from benchmarks.rounds import Bench
from engine.schema import ParameterError

LEAST_ROUNDS = 5


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write JSON where that is asked for."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        _check(chosen)
    except ParameterError as error:
        parser.error(str(error))
    figures = [f for f in FIGURES if not chosen.only or f.key in chosen.only]
    with tempfile.TemporaryDirectory(prefix="bacsim-peers-") as folder, ExitStack() as open_peers:
        bench = Bench(chosen, Path(folder), open_peers)
        measured = bench.measure(figures)
    found = record(bench.machine, measured, [figure.row(measured) for figure in figures])
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print_report(found)


def _check(chosen: argparse.Namespace) -> None:
    """Turn what was typed into values; raises `ParameterError` for what is impossible."""
    chosen.rounds = whole("rounds", chosen.rounds, LEAST_ROUNDS)
    chosen.seconds = number("seconds", chosen.seconds, 0, LONGEST)
    chosen.rods = _four_numbers(chosen.rods)
    if shutil.which(chosen.peers_python) is None:
        raise ParameterError(
            "peers-python", chosen.peers_python, "is no program that can be run",
            "Give the path of a Python that has numba and jax-md, or run: make peers.",
        )  # fmt: skip
    writable("json", chosen.json)
    if chosen.states and chosen.states.exists() and not chosen.states.is_dir():
        raise ParameterError("states", str(chosen.states), "is no folder", "Give one.")


def _four_numbers(text: str) -> tuple[int, ...]:
    rods = tuple(whole("rods", part.strip(), LEAST_RODS) or 0 for part in text.split(","))
    if len(rods) != 4 or any(a >= b for a, b in itertools.pairwise(rods)):
        raise ParameterError(
            "rods", text, "is not four rising numbers",
            "Give FEWEST,FEW,N,MANY as in 1024,4096,16384,65536.",
        )  # fmt: skip
    return rods


def _parser() -> PlainParser:
    parser = PlainParser(prog="benchmarks.peers", description=__doc__, allow_abbrev=False)
    keys = [figure.key for figure in FIGURES]
    parser.add_argument(
        "--rounds", default="7", help=f"default %(default)s, at least {LEAST_ROUNDS}"
    )
    parser.add_argument("--seconds", default="2", help="length of a turn; default %(default)s")
    parser.add_argument(
        "--rods", metavar="FEWEST,FEW,N,MANY", default="1024,4096,16384,65536",
        help="numbers of rods; default %(default)s",
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
