# SPDX-License-Identifier: GPL-3.0-or-later
"""The flags that every command shares, derived from the declaration of the parameters.

Nothing here imports JAX or Qt, so that `--help` and a refused value answer at once.
"""

import argparse
import difflib
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from bacsim_gui.presets import Run, load_config, load_preset, preset_names
from engine import schema
from engine.obstacle import Obstacle, checked_obstacles
from engine.schema import ParameterError

DEFAULT_PRESET = "swarming"
_PREFIX = "param_"


def print_anywhere() -> None:
    """Let what a terminal cannot show, a Greek letter say, be printed as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class PlainParser(argparse.ArgumentParser):
    """Says what is wrong in one line, with the nearest flag that exists, and leaves with 2."""

    def error(self, message: str) -> NoReturn:
        """Leave with status 2."""
        end = "" if message.endswith((".", "?")) else "."
        print(f"{self.prog}: {message}{end} See {self.prog} --help.", file=sys.stderr)
        raise SystemExit(2)

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[override]
        """As argparse does, but an unknown flag is refused here, with a suggestion."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            flags = [flag for action in self._actions for flag in action.option_strings]
            near = difflib.get_close_matches(unknown[0].split("=")[0], flags, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            what = "a flag" if unknown[0].startswith("-") else "an argument"
            self.error(f"{unknown[0]} is not known as {what}.{hint}")
        return known, unknown


def add_run_flags(
    parser: argparse.ArgumentParser, K: str = "steps between two frames; default: the preset's"
) -> None:
    """Add what says how a run begins: preset or file, seed, K, and every declared parameter.

    `K` is the help of that flag.
    """
    start = parser.add_argument_group("start")
    names = ", ".join(preset_names())
    start.add_argument("--preset", metavar="NAME", help=f"one of {names}; default {DEFAULT_PRESET}")
    start.add_argument("--config", metavar="FILE", help="begin with the parameters in a TOML file")
    start.add_argument("--seed", metavar="INT", help="seed of the start and of the noise")
    start.add_argument("--K", metavar="INT", help=K)
    start.add_argument(
        "--threads", metavar="INT",
        help="threads of native code on a CPU; they change no bit. Default: one less than there "
        "are cores, which is left to the window",
    )  # fmt: skip
    start.add_argument(
        "--obstacle", metavar="PLACE", action="append", default=[],
        help="a disc X,Y,RADIUS or a box X,Y,WIDTHxHEIGHT that rods cannot enter, in l; may come "
        "several times",
    )  # fmt: skip
    for group in dict.fromkeys(f.group for f in schema.FIELDS):
        flags = parser.add_argument_group(group)
        for field in schema.FIELDS:
            if field.group == group:
                _add_flag(flags, field)


def _add_flag(group: argparse._ArgumentGroup, field: schema.Field) -> None:
    unit = f" in {field.unit}" if field.unit else ""
    kind = f"one of {', '.join(field.choices)}" if field.kind == "choice" else f"{field.kind}{unit}"
    text = f"{field.doc} ({kind}; default {field.default})"
    metavar = "NAME" if field.kind == "choice" else field.kind.upper()
    names = [f"--{field.name}"]
    if "_" in field.name:
        names.append(f"--{field.name.replace('_', '-')}")
    group.add_argument(
        *names, dest=_PREFIX + field.name, metavar=metavar, help=text.replace("%", "%%")
    )


def whole(name: str, text: str | None, least: int) -> int | None:
    """A whole number from the command line, None where none was given; or `ParameterError`."""
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number < 2**31:
        raise ParameterError(
            name, text, "is not possible", f"Give a whole number from {least} to {2**31 - 1}."
        )
    return number


def number(name: str, text: str, above: float, most: float) -> float:
    """A number above `above`, at most `most`, from the command line; or `ParameterError`."""
    try:
        value = float(text)
    except ValueError:
        value = above
    if not above < value <= most:
        raise ParameterError(
            name, text, "is not possible", f"Give a number above {above:g}, at most {most:g}."
        )
    return value


def whole_numbers(name: str, text: str, least: int) -> tuple[int, ...]:
    """Whole numbers with commas between them; or `ParameterError`."""
    found = [whole(name, part.strip(), least) for part in text.split(",")]
    return tuple(dict.fromkeys(value for value in found if value is not None))


def given_values(arguments: argparse.Namespace) -> dict[str, str]:
    """The declared parameters that were given as flags, as they were typed."""
    return {
        name.removeprefix(_PREFIX): value
        for name, value in vars(arguments).items()
        if name.startswith(_PREFIX) and value is not None
    }


def set_threads(arguments: argparse.Namespace) -> None:
    """Let `--threads` hold for all of this process. Raises `ParameterError`."""
    threads = whole("threads", arguments.threads, 1)
    if threads is not None:
        os.environ["BACSIM_THREADS"] = str(threads)


def make_run(arguments: argparse.Namespace) -> Run:
    """What the flags of `add_run_flags` ask for; `--threads` holds for all of this process.

    Raises `ValueError` (mostly `ParameterError`) or `OSError` with a plain message.
    """
    if arguments.preset is not None and arguments.config is not None:
        raise ValueError("--preset and --config exclude each other: give one of them.")
    values: dict[str, object] = {**given_values(arguments)}
    set_threads(arguments)
    if arguments.config is None:
        name = arguments.preset or DEFAULT_PRESET
        return preset_run(name, values, arguments.seed, arguments.K, arguments.obstacle)
    run = load_config(Path(arguments.config)).with_values(**values)
    return _begun(run, arguments.seed, arguments.K, arguments.obstacle)


def preset_run(
    name: str, values: dict[str, object], seed: str | None, K: str | None,
    obstacles: Sequence[str] = (),
) -> Run:  # fmt: skip
    """A preset with other values of parameters, and another seed and K where they are given.

    `obstacles`, as `obstacle_text` writes them, come to those of the preset. Raises
    `ParameterError`.
    """
    others = {**values}
    rods = others.pop("rods", None)
    count = None if rods is None else int(schema.coerce("rods", rods))
    return _begun(load_preset(name, rods=count).with_values(**others), seed, K, obstacles)


def obstacle_text(one: Obstacle) -> str:
    """An obstacle as `--obstacle` takes it: X,Y,RADIUS, or X,Y,WIDTHxHEIGHT and the radius if any.

    A number is the shortest text that is that number.
    """
    x, y, width, height, radius = (repr(value).removesuffix(".0") for value in one.values)
    parts = [x, y, *([f"{width}x{height}"] if one.width or one.height else [])]
    return ",".join([*parts, *([radius] if one.radius else [])])


def _obstacle(text: str) -> Obstacle:
    x, y, *rest = text.split(",") if text.count(",") in (2, 3) else ("", "", "")
    try:
        width, height = rest.pop(0).split("x") if "x" in rest[0] else (0.0, 0.0)
        radius, *none = rest or [0.0]
        return Obstacle.from_values([float(part) for part in (x, y, width, height, radius, *none)])
    except ValueError:
        raise ParameterError(
            "obstacle", text, "is not possible",
            "Give a disc as X,Y,RADIUS, for example 30,30,9, or a box as X,Y,WIDTHxHEIGHT.",
        ) from None  # fmt: skip


def _begun(run: Run, seed: str | None, K: str | None, obstacles: Sequence[str]) -> Run:
    if obstacles:
        found = (*run.obstacles, *map(_obstacle, obstacles))
        run = replace(
            run, obstacles=checked_obstacles(found, run.params.space_size, run.setup.boundary)
        )
    number, steps = whole("seed", seed, 0), whole("K", K, 1)
    if number is not None:
        # Another seed means another start, and the arrays would not know of it.
        run = replace(run, seed=number, start=None)
    return run if steps is None else replace(run, K=steps)
