# SPDX-License-Identifier: GPL-3.0-or-later
"""A run as a short text: a preset, what differs from it, the seed. No Qt, no JAX.

The text is a command line of `bacsim-gui`, so it opens the same run from a terminal as well.
"""

import difflib
import shlex
from dataclasses import dataclass

import numpy as np

from bacsim_gui.changes import changes
from bacsim_gui.flags import obstacle_text, preset_run
from bacsim_gui.presets import Run, load_preset, preset_names
from engine import schema
from engine.schema import ParameterError
from engine.snapshot import Start

PROGRAM = "bacsim-gui"
# What may stand before the values, as it is copied from a terminal.
_BEFORE = ("$", ">", "python", "python3", "-m", "bacsim_gui", PROGRAM, "bacsim", "bacsim:")
# What pages and chats make of spaces, and put around what is code.
_SPACES = str.maketrans({"\N{NO-BREAK SPACE}": " "} | dict.fromkeys("\u200b\u2060\ufeff"))
_AROUND = " \t\r\n`“”"
# Longer than any text of ours, with every parameter in it.
_LONGEST = 5000
_OTHERS = ("preset", "seed", "K", "obstacle")


@dataclass(frozen=True)
class Shared:
    """A run that a text tells of: the `preset`, the `base` that it is, and the `run` to begin."""

    preset: str
    base: Run
    run: Run


def write(run: Run, preset: str = "") -> str:
    """The text of `run`, told as changes of `preset`; of the nearest one where that is none.

    The text does not hold rods: where the run begins with others than the preset's, it tells to
    begin at random places, with the run's seed (`tells_rods`). Frames a second are not in it.
    """
    if preset in preset_names():
        return " ".join(_words(run, preset))
    # The fewest changes; of equal ones the shorter text, then the first preset.
    texts = [_words(run, name) for name in preset_names()]
    return " ".join(min(texts, key=lambda words: (len(words), len(" ".join(words)))))


def tells_rods(run: Run, text: str) -> bool:
    """Whether `text`, of `run`, begins with the same rods as the run does."""
    return run.start is None or _same(run.start, read(text).run.start)


def read(text: str) -> Shared:
    """The run that a text tells of. Raises `ParameterError` that names what is not possible."""
    values, obstacles = _values(text)
    preset = values.pop("preset", None)
    if preset is None:
        names = ", ".join(preset_names())
        raise ParameterError(
            "run text", _short(text), "names no preset",
            f"It should look like '{PROGRAM} --preset=swarming --F_prop=12'; presets are {names}.",
        )  # fmt: skip
    seed, K = values.pop("seed", None), values.pop("K", None)
    run = preset_run(preset, {**values}, seed, K, obstacles)
    return Shared(preset, load_preset(preset), run)


def _words(run: Run, preset: str) -> list[str]:
    base, values = load_preset(preset), dict[str, object]()
    begun = base
    if run.setup.rods != base.setup.rods:
        # The box follows, unless it is told as well.
        values["rods"] = run.setup.rods
        begun = base.with_rods(run.setup.rods)
    values |= {change.name: change.then for change in changes(begun, run)}
    values.pop("seed", None)
    told = preset_run(preset, {n: v for n, v in values.items() if n != "K"}, None, None)
    if run.seed != base.seed or not _same(run.start, told.start):
        values["seed"] = run.seed
    obstacles = [f"--obstacle={obstacle_text(one)}" for one in run.obstacles]
    told = [f"--{name}={_text(value)}" for name, value in values.items()]
    return [PROGRAM, f"--preset={preset}", *told, *obstacles]


def _text(value: object) -> str:
    # The shortest text that is this very number.
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _same(one: Start | None, other: Start | None) -> bool:
    if one is None or other is None:
        return one is other
    pairs = (one.pos, other.pos), (one.theta, other.theta), (one.activity, other.activity)
    return all(np.array_equal(a, b) for a, b in pairs)


def _values(text: str) -> tuple[dict[str, str], list[str]]:
    """What stands in a text: a value for each name, and any number of obstacles."""
    if len(text) > _LONGEST:
        raise ParameterError(
            "run text", _short(text), "is no run", "Copy one with 'Copy run as text'."
        )
    try:
        plain = text.translate(_SPACES).strip(_AROUND)
        words = shlex.split(plain.replace("\\\n", " "))
    except ValueError as error:
        raise ParameterError(
            "run text", _short(text), "has a quote without its end", "Copy it whole."
        ) from error
    while words and words[0] in _BEFORE:
        words.pop(0)
    values: dict[str, str] = {}
    obstacles: list[str] = []
    if len(words) > 1 and not any(word[:1] in "-–—" or "=" in word for word in words):
        raise ParameterError(
            "run text", _short(text), "is no run", "Copy one with 'Copy run as text'."
        )
    while words:
        word = words.pop(0)
        # Programs for letters make one dash of two.
        bare = word.lstrip("-–—")
        name, equals, value = bare.partition("=")
        if not equals and bare == word:
            name, value = "preset", word
        elif not equals:
            if not words:
                raise ParameterError(name, "", "has no value", f"Write --{name}=VALUE.")
            value = words.pop(0)
        name = _known(name, value)
        if name == "obstacle":
            obstacles.append(value)
            continue
        if name in values:
            raise ParameterError(name, value, f"comes after {values[name]!r}", "Give it once.")
        values[name] = value
    return values, obstacles


def _known(name: str, value: str) -> str:
    name = name if name in _OTHERS else name.replace("-", "_")
    if name not in _OTHERS:
        near = difflib.get_close_matches(name, _OTHERS, n=1)
        if near:
            raise ParameterError(name, value, "is not known", f"Did you mean {near[0]}?")
        schema.field(name, value)
    return name


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:59]}…"
