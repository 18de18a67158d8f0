# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep may vary: every declared parameter, and figures that people think in."""

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from engine import schema
from engine.params import Params, Setup
from engine.schema import ParameterError, Value

Both = tuple[Setup, Params]


@dataclass(frozen=True)
class Figure:
    """A figure that decides a declared parameter.

    `decides` names that parameter, and `apply` gives setup and parameters with the figure at a
    value. Values are above `above` and at most `most`.
    """

    symbol: str
    unit: str
    doc: str
    decides: str
    apply: Callable[[Setup, Params, float], Params]
    above: float = 0.0
    most: float = math.inf


def _derived(setup: Setup, params: Params, name: str) -> float:
    return next(one.value for one in schema.derived(setup, params) if one.name == name)


def _length(setup: Setup, params: Params, aspect: float) -> Params:
    return replace(params, length=(aspect - 1) * 2 * params.radius)


def _thrust(setup: Setup, params: Params, speed: float) -> Params:
    unit = replace(params, F_prop=1.0)
    return replace(params, F_prop=speed / _derived(setup, unit, "free_speed"))


def _stiffness(setup: Setup, params: Params, softness: float) -> Params:
    unit = replace(params, k_cc=1.0)
    k = _derived(setup, unit, "softness") / softness
    if not k > 0:
        raise ParameterError(
            "softness", softness, "cannot be had without propulsion", "Give F_prop or free_speed."
        )
    return replace(params, k_cc=k)


def _step(setup: Setup, params: Params, share: float) -> Params:
    return replace(params, dt=share * _derived(setup, params, "largest_safe_dt"))


def _box(setup: Setup, params: Params, phi: float) -> Params:
    return replace(
        params, space_size=schema.space_size_for(setup.rods, phi, params, setup.boundary)
    )


# In the order in which they act, each on what those before have made.
FIGURES: Mapping[str, Figure] = {
    "aspect_ratio": Figure("a", "", "Length over width of a rod, (ℓ + 2R)/2R.", "length",
                           _length, above=1.0),
    "free_speed": Figure("v₀", "l/t", "Speed of a fully active rod alone.", "F_prop", _thrust),
    "softness": Figure("q", "", "F_eff/(k 2R), the overlap of two rods that push head on.",
                       "k_cc", _stiffness),
    "dt_share": Figure("Δt/Δt_max", "", "Time step over the largest safe one.", "dt", _step),
    "packing_fraction": Figure("φ", "", "N A/L².", "space_size", _box,
                               most=schema.MAX_PACKING_FRACTION),
}  # fmt: skip


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether `value` is a finite number, of which TOML also has others, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= float(np.finfo(np.float32).max)


def described(name: str) -> tuple[str, str, str]:
    """Symbol, unit and meaning of a parameter or figure."""
    if name in FIGURES:
        figure = FIGURES[name]
        return figure.symbol, figure.unit, figure.doc
    field = schema.field(name)
    return field.symbol or field.name, field.unit, field.doc


def checked(name: str, value: object) -> Value:
    """`value` for a parameter or figure, through the gate. Raises `ParameterError`."""
    if name not in FIGURES:
        near = difflib.get_close_matches(name, FIGURES, n=1, cutoff=0.75)
        if near and name not in {field.name for field in schema.FIELDS}:
            raise ParameterError(name, value, "is not a parameter", f"Did you mean {near[0]}?")
        return schema.coerce(name, value)
    figure = FIGURES[name]
    if not is_number(value) or not figure.above < value <= figure.most:
        most = f", at most {figure.most:g}" if figure.most < math.inf else ""
        raise ParameterError(
            name, value, "is not possible", f"Give a number above {figure.above:g}{most}."
        )
    return float(value)


def applied(base: Both, values: Mapping[str, Value]) -> Both:
    """`base` with `values` of parameters and figures, which must have passed `checked`.

    A new number of rods keeps the packing fraction, unless the box is given.
    """
    setup, params = base
    phi = schema.packing_fraction(setup, params)
    declared = {name: value for name, value in values.items() if name not in FIGURES}
    live = {name: value for name, value in declared.items() if schema.field(name).live}
    fixed = {name: value for name, value in declared.items() if name not in live}
    setup = schema.with_values(setup, **fixed)
    if "rods" in values and "space_size" not in values:
        params = replace(
            params, space_size=schema.space_size_for(setup.rods, phi, params, setup.boundary)
        )
    params = schema.with_values(params, **live)
    for name, figure in FIGURES.items():
        if name in values:
            params = figure.apply(setup, params, float(values[name]))
    return setup, params
