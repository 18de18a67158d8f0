# SPDX-License-Identifier: GPL-3.0-or-later
"""In what two runs differ. Pure."""

from dataclasses import dataclass

from bacsim_gui.presets import Run
from engine import schema
from engine.schema import Value


@dataclass(frozen=True)
class Change:
    """One value that would become another; `unit` is empty where it has none."""

    name: str
    now: Value
    then: Value
    unit: str = ""


def changes(now: Run, then: Run) -> tuple[Change, ...]:
    """What would change from `now` to `then`: parameters as they are declared, then K and seed."""
    found = [
        Change(f.name, _value(now, f), _value(then, f), f.unit)
        for f in schema.FIELDS
        # A hand in the rods is a gesture and no part of a run.
        if f.group != "hand" and _value(now, f) != _value(then, f)
    ]
    for name, one, other in (("K", now.K, then.K), ("seed", now.seed, then.seed)):
        if one != other:
            found.append(Change(name, one, other))
    return tuple(found)


def _value(run: Run, field: schema.Field) -> Value:
    return getattr(run.params if field.live else run.setup, field.name)
