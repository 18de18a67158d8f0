# SPDX-License-Identifier: GPL-3.0-or-later
"""Write docs/parameters.md from the declaration: `python docs/make_parameters.py`."""

from pathlib import Path

from bacsim_gui.presets import load_preset, preset_names
from engine import schema
from engine.params import Params, Setup

CONFIGURATION = """## A configuration file

`--config FILE` begins with it, and Ctrl+S in the window writes one. What is left out takes its
default. `--config` and `--preset` exclude each other.

```toml
title = "My run"

[setup]
rods = 500

[params]
space_size = 89.3
F_prop = 12

[run]
K = 25       # steps between two frames
fps = 60     # frames a second
seed = 1
```

## Presets

| name | what to look for |
| --- | --- |""".splitlines()

PAGE = Path(__file__).with_name("parameters.md")


def page() -> str:
    """The text of docs/parameters.md."""
    lines = [
        "# Parameters",
        "",
        "Made by `python docs/make_parameters.py` from `engine/params.py`; a test keeps it true.",
        "",
        f"Units are reduced: {schema.unit_words()}.",
        "The range is the slider's: a typed value outside it is taken unless it is physically",
        "meaningless. *Live* parameters act on the next step and compile nothing; the others are",
        "applied by a rebuild. Each is a flag of `bacsim-gui`, `bacsim movie` and `bacsim trace`",
        "(`--NAME`) and an entry of a configuration file (`[params]` if live, else `[setup]`).",
        "Of defaults, *given* are those of the program that bacsim grew from, *ours* the others.",
        "",
    ]
    for group in dict.fromkeys(f.group for f in schema.FIELDS):
        lines += [
            f"## {group.capitalize()}",
            "",
            "| name | symbol | unit | default | where it comes from | range | live | meaning |",
        ]
        lines += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
        lines += [_row(f) for f in schema.FIELDS if f.group == group]
        lines.append("")
    lines += [
        "## Derived, shown and never typed",
        "",
        "| name | symbol | unit | value for the defaults | meaning |",
    ]
    lines += ["| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {d.name} | {d.symbol} | {d.unit} | {d.value:.4g} | {_cell(d.doc)} |"
        for d in schema.derived(Setup(), Params())
    ]
    lines += ["", *CONFIGURATION]
    lines += [f"| `{name}` | {load_preset(name).look_for} |" for name in preset_names()]
    return "\n".join(lines) + "\n"


def _row(f: schema.Field) -> str:
    span = ", ".join(f.choices) if f.choices else f"{f.low:g} to {f.high:g}"
    live = "yes" if f.live else "no"
    return (
        f"| `{f.name}` | {f.symbol} | {f.unit} | {f.default} | {_cell(f.source)} | {span} | {live} "
        f"| {_cell(f.doc)} |"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
