# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs kept in files: the presets that come with the program, and the user's own."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard
from zipfile import BadZipFile

import numpy as np
import tomli_w

from bacsim_gui.resources import assets_dir
from engine import schema
from engine.obstacle import Obstacle, checked_obstacles
from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.snapshot import Snapshot, Start
from engine.storage.atomic import whole_file

if TYPE_CHECKING:
    from engine.driver import Driver

# Angles and positions of a start file are kept as shares of a turn and of the box.
_SHARES = 2**16


@dataclass(frozen=True)
class Run:
    """All that a run begins with: setup, parameters, seed, speed and, where there are any, arrays.

    `K` steps pass between two frames at `fps` frames a second.
    """

    title: str = "Own run"
    look_for: str = ""
    setup: Setup = field(default_factory=Setup)
    params: Params = field(default_factory=Params)
    K: int = 25
    fps: float = 60.0
    seed: int = 1
    start: Start | None = None
    obstacles: tuple[Obstacle, ...] = ()

    def driver(self, threads: int | None = None) -> Driver:
        """The run at its beginning: compiles, and relaxes rods at random places (seconds).

        `threads` is how many native code uses. Raises `ParameterError`.
        """
        # JAX takes a second to load, and whoever only reads a preset must not wait for it.
        from engine.driver import Driver

        return Driver(
            self.setup, self.params, self.seed, self.start, threads=threads,
            obstacles=self.obstacles,
        )  # fmt: skip

    def movie_steps(self, movie_fps: float) -> int:
        """Steps between two frames of a movie, so that it runs at the pace of the window."""
        # The compiled loop counts in int32.
        return min(2**31 - 1, max(1, round(self.K * self.fps / movie_fps)))

    def with_rods(self, rods: object) -> Run:
        """The same run with another number of rods at the same packing fraction.

        Few rods get the smallest box that is possible, and so a lower packing fraction.
        """
        setup = schema.with_values(self.setup, rods=rods)
        if setup == self.setup:
            return self
        phi = schema.packing_fraction(self.setup, self.params)
        boundary = setup.boundary
        side = schema.space_size_for(setup.rods, phi, self.params, boundary)
        least = schema.smallest_space_size(self.params, boundary)
        params = replace(self.params, space_size=max(side, least))
        return replace(self, setup=setup, params=params, start=None)

    def with_values(self, **values: object) -> Run:
        """The same run with some declared parameters changed.

        A new number of rods keeps the packing fraction, unless `space_size` is given as well. The
        arrays to start from are dropped where they would no longer fit. Raises `ParameterError`.
        """
        run = self.with_rods(values.pop("rods")) if "rods" in values else self
        live = {name: value for name, value in values.items() if schema.field(name, value).live}
        fixed = {name: value for name, value in values.items() if name not in live}
        setup = schema.with_values(run.setup, **fixed)
        params = schema.with_values(run.params, **live)
        schema.check(setup, params)
        placed = ("space_size", "length", "radius")
        # Another kernel starts from the same arrays, and so does other code.
        same = replace(setup, kernel=run.setup.kernel, native=run.setup.native) == run.setup
        fits = same and all(getattr(params, name) == getattr(run.params, name) for name in placed)
        return replace(run, setup=setup, params=params, start=run.start if fits else None)


def preset_names() -> tuple[str, ...]:
    """Names of the presets that come with the program, the first one first."""
    names = sorted(path.stem for path in (assets_dir() / "presets").glob("*.toml"))
    return tuple(sorted(names, key=lambda name: name != "swarming"))


def load_preset(name: str, *, rods: int | None = None) -> Run:
    """The preset `name`, or the same crowd of another number of rods.

    Raises `ParameterError` for an unknown name.
    """
    if name not in preset_names():
        near = difflib.get_close_matches(name, preset_names(), n=1)
        known = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(preset_names())}."
        raise ParameterError("preset", name, "is not known", known)
    path = assets_dir() / "presets" / f"{name}.toml"
    run = load_config(path)
    if rods is not None:
        run = run.with_rods(rods)
    start = path.with_name(f"{name}-{run.setup.rods}.npz")
    return replace(run, start=read_start(start, run)) if start.exists() else run


def load_config(path: Path) -> Run:
    """A run from a TOML file of the user's.

    Raises `ParameterError` that names the file, the line and the value, also where there is no such
    file.
    """
    text, table = read_toml(path)
    try:
        return _run_from(table)
    except ParameterError as error:
        line = line_of(text, table, error.name, error.value)
        where = f"{path}, line {line}" if line else str(path)
        error.args = (f"{where}: {error}",)
        raise


def save_config(path: Path, run: Run) -> None:
    """Write `run`, but for its start arrays, as TOML that `load_config` reads.

    What is there already is replaced. Raises `StorageError`.
    """
    table: dict[str, Any] = {"title": run.title, "look_for": run.look_for}
    table |= schema.to_mapping(run.setup, run.params)
    table["run"] = {"K": run.K, "fps": run.fps, "seed": run.seed}
    if run.obstacles:
        table["obstacles"] = [asdict(one) for one in run.obstacles]
    with whole_file(path, "parameters", overwrite=True) as part:
        part.write_text(tomli_w.dumps(table), encoding="utf-8")


def line_of(text: str, table: Mapping[str, Any], name: str, value: object) -> int | None:
    """The line of a TOML text, the first being 1, on which `name` gets `value`.

    None where that cannot be told. `table` is what the text holds.
    """
    homes = {"": table} | {key: inner for key, inner in table.items() if isinstance(inner, dict)}
    # Of a name that is in two tables it is the one of that value; a table itself is in its head.
    holders = {home for home, inner in homes.items() if name in inner and inner[name] is value}
    holders = holders or {home for home, inner in homes.items() if name in inner}
    here = ""
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line.startswith("["):
            here = line.split("]")[0].strip("[ \"'")
            if here == name and "" in holders:
                return number
        elif "=" in line:
            parts = [part.strip(" \"'") for part in line.split("=")[0].split(".")]
            if parts[-1] == name and ".".join([here, *parts[:-1]]).strip(".") in holders:
                return number
    return None


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file, and what it holds.

    Raises `ParameterError`, with the line, for what is no such file.
    """
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise ParameterError(
            "config",
            str(path),
            f"cannot be read: {error.strerror}",
            "Give the path of a TOML file.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        where = f"its end, line {len(text.splitlines())}"
        why = str(error).replace("end of document", where)
        raise ParameterError(
            "config", str(path), f"is not a TOML file: {why}",
            "Write values as name = 3.5, and words in quotes.",
        ) from error  # fmt: skip


_TOP = ("title", "look_for", "packing_fraction", "setup", "params", "run", "obstacles")
# The least and the largest value of each entry of [run].
_RUN = {"K": (1, 2**31 - 1), "fps": (1, 1000), "seed": (0, 2**31 - 1)}


def _run_from(table: Mapping[str, Any]) -> Run:
    for name in table:
        if name not in _TOP:
            near = difflib.get_close_matches(name, _TOP, n=1)
            remedy = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(_TOP)}."
            raise ParameterError(name, table[name], "is not known", remedy)
    setup, params = schema.from_mapping(table)
    speed = _speed(table.get("run", {}))
    if "packing_fraction" in table:
        phi = table["packing_fraction"]
        if not _is_number(phi) or not 0 < phi <= schema.MAX_PACKING_FRACTION:
            raise ParameterError(
                "packing_fraction", phi, "is not possible",
                f"Give a number above 0, at most {schema.MAX_PACKING_FRACTION}.",
            )  # fmt: skip
        side = schema.space_size_for(setup.rods, phi, params, setup.boundary)
        params = replace(params, space_size=side)
    schema.check(setup, params)
    title, look_for = str(table.get("title", Run.title)), str(table.get("look_for", ""))
    obstacles = _obstacles(table.get("obstacles", []), setup, params)
    return Run(title, look_for, setup, params, **speed, obstacles=obstacles)


def _obstacles(tables: Any, setup: Setup, params: Params) -> tuple[Obstacle, ...]:
    try:
        found = [Obstacle(**{name: float(v) for name, v in one.items()}) for one in tables]
    except (TypeError, ValueError, AttributeError):
        raise ParameterError(
            "obstacles", tables, "is not possible",
            "Give tables [[obstacles]] with x and y, and a radius, or a width and a height.",
        ) from None  # fmt: skip
    return checked_obstacles(found, params.space_size, setup.boundary)


def _speed(table: Any) -> dict[str, Any]:
    """The entries of [run], checked."""
    if not isinstance(table, Mapping):
        raise ParameterError("run", table, "is not a table", "Write it as [run] K = 25.")
    for name, value in table.items():
        if name not in _RUN:
            raise ParameterError(
                name, value, "is not known in [run]",
                "Known are K and seed, whole numbers, and fps, a number from 1 to 1000.",
            )  # fmt: skip
        low, high = _RUN[name]
        fits = _is_number(value) and low <= value <= high
        if not fits or (name != "fps" and value != int(value)):
            raise ParameterError(
                name, value, "is not possible in [run]",
                "Give K and seed as whole numbers below 2147483648, K at least 1, and fps as a "
                "number from 1 to 1000.",
            )  # fmt: skip
    return {name: float(v) if name == "fps" else int(v) for name, v in table.items()}


def _is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # Whole numbers of TOML may have any number of digits.
    return isinstance(value, int) or math.isfinite(value)


def write_start(path: Path, snapshot: Snapshot) -> None:
    """Keep the rods of `snapshot` as a start: 7 bytes a rod before compression."""
    side = snapshot.params.space_size
    share = np.round(snapshot.pos.astype(float) / side * _SHARES)
    # The last share is the first of a periodic box; within walls it stays the last.
    share = share % _SHARES if snapshot.laws.periodic else np.minimum(share, _SHARES - 1)
    turn = np.round(snapshot.theta.astype(float) / (2 * np.pi) * _SHARES) % _SHARES
    with path.open("wb") as file:  # a path of another ending would get one more
        np.savez_compressed(
            file,
            pos=share.astype(np.uint16),
            theta=turn.astype(np.uint16),
            activity=np.round(snapshot.activity * 255).astype(np.uint8),
        )


def read_start(path: Path, run: Run) -> Start:
    """The rods that `write_start` kept, in the box of `run`.

    Raises `ParameterError` for a file that does not hold as many.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            start = Start(
                pos=kept["pos"].astype(np.float32) * np.float32(run.params.space_size / _SHARES),
                theta=kept["theta"].astype(np.float32) * np.float32(2 * np.pi / _SHARES),
                activity=kept["activity"].astype(np.float32) / np.float32(255),
            )
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise ParameterError(
            "start", str(path), f"cannot be read: {error}", "Delete that file to begin at random."
        ) from error
    rods = run.setup.rods
    shapes = start.pos.shape, start.theta.shape, start.activity.shape
    if shapes != ((rods, 2), (rods,), (rods,)):
        raise ParameterError(
            "start", str(path), f"does not hold {rods} rods", "Delete that file to begin at random."
        )
    return start
