# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's own presets: a TOML file each, with a picture and rods beside it. No Qt, no JAX."""

import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from bacsim_gui.presets import Run, load_config, preset_names, read_start, save_config, write_start
from engine.schema import ParameterError
from engine.snapshot import Snapshot
from engine.storage.atomic import whole_file
from engine.storage.errors import StorageError

CONFIG, PICTURE, START = ".toml", ".png", ".npz"
LONGEST_NAME = 60
# What no file system takes in a name, and what Windows keeps for itself.
_UNFIT = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
_TAKEN = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


@dataclass(frozen=True)
class OwnPreset:
    """One of them. `run` is None where its file is broken, and `problem` says why."""

    name: str
    run: Run | None
    problem: str = ""


def folder() -> Path:
    """Where they lie, in the user's folder for configuration."""
    return platformdirs.user_config_path("bacsim", appauthor=False) / "presets"


def found() -> tuple[OwnPreset, ...]:
    """All of them by name, without the rods that they begin with; never an error."""
    names: list[str] = []
    with suppress(OSError):
        names += [p.name.removesuffix(CONFIG) for p in folder().glob(f"*{CONFIG}")]
    return tuple(_read(name) for name in sorted(names, key=str.casefold))


def load(name: str) -> Run:
    """One of them, with the rods that it begins with. Raises `ParameterError`."""
    run, start = load_config(_path(name, CONFIG)), _path(name, START)
    return replace(run, start=read_start(start, run)) if start.exists() else run


def picture_of(name: str) -> Path:
    """Where the picture of one of them is, if it has one."""
    return _path(name, PICTURE)


def checked_name(text: str) -> str:
    """`text` as a name. Raises `ParameterError` for what is none."""
    name = unicodedata.normalize("NFC", text).strip()
    unfit = _UNFIT.search(name)
    remedy = f"Give one of at most {LONGEST_NAME} letters."
    if not name:
        raise ParameterError("name", text, "is empty", remedy)
    if unfit:
        raise ParameterError("name", text, f"cannot hold {unfit[0]!r}", "Leave it out.")
    if len(name) > LONGEST_NAME or len(name.encode()) > 4 * LONGEST_NAME:
        raise ParameterError("name", text, "is too long", remedy)
    if name[0] in ".-" or name.endswith(".") or _TAKEN.match(name):
        raise ParameterError("name", text, "is no name for a file", "Begin it with a letter.")
    if name.casefold() in preset_names():
        raise ParameterError("name", text, "is a preset of bacsim", "Give another one.")
    return name


def existing(name: str) -> str | None:
    """The name of the preset that is in the way of `name`: the same, or but for capitals."""
    for other in found():
        if other.name.casefold() == name.casefold():
            return other.name
    return None


def keep(name: str, run: Run, rods: Snapshot | None, draw: Callable[[Path], None]) -> None:
    """Write `run` as the preset `name`, in place of one of that name.

    It begins with `rods` where they are given, else at random places. `draw` writes its picture.
    Raises `ParameterError` for a name that is none, and `StorageError`.
    """
    name = checked_name(name)
    old = existing(name)
    if old is not None and old != name:
        delete(old)
    try:
        folder().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder()} cannot be made: {error.strerror}.") from error
    with whole_file(_path(name, PICTURE), "picture", overwrite=True) as part:
        draw(part)
    start = _path(name, START)
    if rods is None:
        start.unlink(missing_ok=True)
    else:
        with whole_file(start, "rods", overwrite=True) as part:
            write_start(part, rods)
    save_config(_path(name, CONFIG), replace(run, title=name))


def delete(name: str) -> None:
    """Delete one of them with all that belongs to it. Raises `StorageError`."""
    try:
        for suffix in (CONFIG, START, PICTURE):
            _path(name, suffix).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{name} cannot be deleted: {error.strerror}.") from error


def _path(name: str, suffix: str) -> Path:
    return folder() / f"{name}{suffix}"


def _read(name: str) -> OwnPreset:
    path = _path(name, CONFIG)
    try:
        return OwnPreset(name, load_config(path))
    except ParameterError as error:
        return OwnPreset(name, None, str(error).replace(str(path), path.name))
