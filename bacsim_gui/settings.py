# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept from one start to the next: the user's taste, and how the window was left.

One small TOML file. Nothing in it is needed: what is missing or cannot be taken has its default,
and a file that is damaged is put aside. No Qt.
"""

import base64
import binascii
import logging
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import tomli_w

from bacsim_gui.view import View, ViewError
from engine.storage.atomic import whole_file
from engine.storage.errors import StorageError

log = logging.getLogger(__name__)

THEMES = ("system", "light", "dark")
# Per cent of the system's own size of text.
TEXT_SIZES = (100, 125, 150, 175, 200)
# Fields of a `View` that are taste and not part of a run.
TASTE = (
    "background", "color_by", "colormap", "field", "show_rods", "show_heads", "show_trails",
    "show_flow", "show_box", "show_copies", "show_color_bar", "show_scale_bar",
)  # fmt: skip


class SettingsError(ValueError):
    """A setting that cannot be taken; the message names it and its value."""


@dataclass(frozen=True)
class Settings:
    """What is kept.

    Attributes:
        theme: one of `THEMES`.
        text_size: one of `TEXT_SIZES`.
        reduced_motion: never move what need not move; otherwise as the system wishes.
        folder: where movies and pictures went last; empty for the user's folder for videos.
        view: values of the fields of a `View` that are in `TASTE`.
        geometry: place and size of the window, as Qt writes them.
        layout: where panels stand, as Qt writes it; empty while nobody has moved one.
    """

    theme: str = "system"
    text_size: int = 100
    reduced_motion: bool = False
    folder: str = ""
    view: Mapping[str, Any] = field(default_factory=dict)
    geometry: bytes = b""
    layout: bytes = b""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> tuple["Settings", list[str]]:
        """What can be taken of the values of a file, and a sentence on each that cannot.

        A name that is unknown here may be a newer version's and is passed over.
        """
        taken, problems = {}, []
        for name in (f.name for f in fields(cls)):
            if name in values:
                try:
                    taken[name] = _checked(name, values[name])
                except SettingsError as error:
                    problems.append(str(error))
        return cls(**taken), problems

    def to_dict(self) -> dict[str, Any]:
        """As TOML has it."""
        values = asdict(self)
        for name, value in values.items():
            if isinstance(value, bytes):
                values[name] = base64.b64encode(value).decode("ascii")
        return values


def _checked(name: str, value: Any) -> Any:
    kind = type(getattr(Settings(), name))
    if kind is bytes and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise SettingsError(f"{name} is damaged.") from None
    if type(value) is not kind:
        raise SettingsError(f"{name} = {value!r} is not possible.")
    for chosen, possible in (("theme", THEMES), ("text_size", TEXT_SIZES)):
        if name == chosen and value not in possible:
            some = ", ".join(str(one) for one in possible)
            raise SettingsError(f"{name} = {value!r} is not possible: use one of {some}.")
    if name == "view":
        value = {key: value[key] for key in TASTE if key in value}
        try:
            View.from_dict(value)
        except ViewError as error:
            raise SettingsError(f"view: {error}") from None
    return value


def settings_path() -> Path | None:
    """Where settings are kept; `BACSIM_SETTINGS` names another file, or none by "off"."""
    chosen = os.environ.get("BACSIM_SETTINGS", "")
    if chosen.strip().lower() == "off":
        return None
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_config_path

    return user_config_path("bacsim", appauthor=False) / "settings.toml"


class SettingsFile:
    """The file at `path`; without one nothing is read or kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> tuple[Settings, str]:
        """The settings, and what the user should be told, if anything; raises nothing.

        A file of which something cannot be taken is put aside, and what can be is written anew.
        """
        try:
            text = "" if self._path is None else self._path.read_text(encoding="utf-8")
            settings, problems = Settings.from_dict(tomllib.loads(text))
        except FileNotFoundError:
            return Settings(), ""
        except OSError as error:
            return (
                Settings(),
                f"Settings could not be read: {error}. Those of the program are used.",
            )
        except ValueError as error:  # of TOML and of UTF-8
            settings, problems = Settings(), [f"{error}."]
        if not problems:
            return settings, ""
        told = f"Settings were damaged: {problems[0]} {self._put_aside()}"
        if settings != Settings():
            self._write(settings)
        return settings, told

    def keep(self, **changes: Any) -> None:
        """Write these settings, and leave the others as another window may have written them.

        Where nothing can be written nothing is kept, and the log says so.
        """
        if self._path is None:
            return
        self._write(replace(self.read()[0], **changes))

    def _write(self, settings: Settings) -> None:
        assert self._path is not None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(self._path, "settings", overwrite=True) as part:
                part.write_text(tomli_w.dumps(settings.to_dict()), encoding="utf-8")
        except (OSError, StorageError) as error:
            log.warning("settings: %s", error)

    def reset(self) -> str:
        """Begin afresh; tells what became of the old settings."""
        if self._path is None or not self._path.exists():
            return "There are no settings to reset."
        return f"Settings are reset. {self._put_aside()}"

    def _put_aside(self) -> str:
        assert self._path is not None
        aside = self._path.with_suffix(".old.toml")
        try:
            self._path.replace(aside)
        except OSError as error:
            return f"{self._path} cannot be put aside: {error}."
        return f"The old file is {aside}."
