# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the declaration in `engine.params`: fields, the gate, derived figures.

Nothing here needs JAX, so a command line can answer `--help` and refuse a bad value at once.
"""

import dataclasses
import difflib
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from engine.drag import LONGEST, SHORTEST, drag_of
from engine.params import Laws, Params, Setup

Declared = TypeVar("Declared", Params, Setup)
Value = float | int | str


class ParameterError(ValueError):
    """A value that cannot be used. `str(error)` is the whole plain message.

    Attributes: `name` of the parameter, the `value` refused, and the `remedy`.
    """

    def __init__(self, name: str, value: object, problem: str, remedy: str) -> None:
        super().__init__(f"{name} = {value!r} {problem}. {remedy}")
        self.name = name
        self.value = value
        self.remedy = remedy


@dataclass(frozen=True)
class Field:
    """One declared parameter, as widgets, flags, files and documents need it."""

    name: str
    default: Value
    kind: Literal["float", "int", "choice"]
    symbol: str
    unit: str
    group: str
    doc: str
    low: float
    high: float
    step: float
    log: bool
    above: float | None
    least: float | None
    choices: tuple[str, ...]
    source: str
    live: bool


def _fields_of(declared: type, live: bool) -> tuple[Field, ...]:
    rows = []
    for f in dataclasses.fields(declared):
        kind = "choice" if f.metadata["choices"] else "int" if f.type is int else "float"
        default: Any = f.default
        rows.append(Field(name=f.name, default=default, kind=kind, live=live, **f.metadata))
    return tuple(rows)


PARAM_FIELDS = _fields_of(Params, live=True)
SETUP_FIELDS = _fields_of(Setup, live=False)
FIELDS = PARAM_FIELDS + SETUP_FIELDS
_BY_NAME = {f.name: f for f in FIELDS}


def field(name: str, value: object = None) -> Field:
    """The declared parameter `name`; an unknown one raises `ParameterError` with a suggestion."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    folded = {known.lower(): known for known in _BY_NAME}
    near = [folded[key] for key in difflib.get_close_matches(name.lower(), folded, n=1)]
    remedy = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(_BY_NAME)}."
    raise ParameterError(name, value, "is not a parameter", remedy)


# What the letters of units stand for; in the presets 2 `radius` and F/(2γℓ) are 1.
UNITS = {
    "l": "a length, in the presets the width of a body",
    "t": "a time, in the presets that in which a free active rod goes a body width",
    "f": "a force",
}


def unit_words(unit: str = "f l/t") -> str:
    """What the letters of a unit stand for, or of all: 'l is a length, …; t is a time, …'.

    Empty where there is none of them in it.
    """
    letters = [letter for letter in UNITS if letter in unit]
    return "; ".join(f"{letter} is {UNITS[letter]}" for letter in letters)


def coerce(name: str, value: object) -> Value:
    """The one gate for values from panels, flags and files: the value, in its declared type.

    Raises `ParameterError` for an unknown name, a wrong type, and what is physically meaningless.
    """
    f = field(name, value)
    if f.kind == "choice":
        if value not in f.choices:
            raise ParameterError(
                name, value, "is not possible", f"Choose one of: {', '.join(f.choices)}."
            )
        return str(value)
    number = _whole_number(f, value) if f.kind == "int" else _finite_number(f, value)
    if f.above is not None and not np.float32(number) > f.above:
        raise ParameterError(
            name,
            value,
            "is not possible",
            f"It must be above {f.above:g}; the default is {f.default}.",
        )
    if f.least is not None and not number >= f.least:
        raise ParameterError(
            name,
            value,
            "is not possible",
            f"It must be at least {f.least:g}; the default is {f.default}.",
        )
    return number


def _finite_number(f: Field, value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    # The engine computes in float32: what overflows there is as useless as infinity.
    if not abs(number) <= float(np.finfo(np.float32).max):
        problem = "is too large" if math.isfinite(number) else "is not a finite number"
        raise ParameterError(f.name, value, problem, f"Give a number such as {f.default}.")
    return number


def _whole_number(f: Field, value: object) -> int:
    number = _finite_number(f, value)
    if number != int(number) or abs(number) > 2**31 - 1:
        problem = "is not a whole number" if number != int(number) else "is out of range"
        raise ParameterError(f.name, value, problem, f"Give one such as {f.default}.")
    return int(number)


def with_values(declared: Declared, **values: object) -> Declared:
    """A copy of `Params` or `Setup` with some values changed, each passed through `coerce`."""
    own = {f.name for f in dataclasses.fields(declared)}
    changed = {name: coerce(name, value) for name, value in values.items()}
    for name in changed:
        if name not in own:
            where = (
                "Params, [params] in a file" if _BY_NAME[name].live else "Setup, [setup] in a file"
            )
            raise ParameterError(
                name, values[name], "cannot be set here", f"It belongs to {where}."
            )
    return dataclasses.replace(declared, **changed)


def to_mapping(setup: Setup, params: Params) -> dict[str, dict[str, Value]]:
    """`setup` and `params` as plain tables, ready for TOML or JSON."""
    return {"setup": dataclasses.asdict(setup), "params": dataclasses.asdict(params)}


def from_mapping(mapping: Mapping[str, Any]) -> tuple[Setup, Params]:
    """The inverse of `to_mapping`; what is missing takes its default. Raises `ParameterError`."""
    setup = with_values(Setup(), **_table(mapping, "setup"))
    return setup, with_values(Params(), **_table(mapping, "params"))


def _table(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = mapping.get(name, {})
    if not isinstance(table, Mapping):
        raise ParameterError(name, table, "is not a table", f"Write it as [{name}] name = value.")
    return table


# Derived figures. The equations are those of docs/model.md.


@dataclass(frozen=True)
class Derived:
    """A figure that follows from the parameters and is shown, never typed."""

    name: str
    symbol: str
    unit: str
    value: float
    doc: str


def rod_area(params: Params) -> float:
    """Area of one rod, 2Rℓ + πR²."""
    return 2 * params.radius * params.length + math.pi * params.radius**2


def space_area(space_size: float, boundary: str) -> float:
    """The area that rods have: L², in a circle π L²/4."""
    return space_size**2 * (math.pi / 4 if boundary == "circle" else 1)


def packing_fraction(setup: Setup, params: Params) -> float:
    """φ = N A / L², in a circle N A / (π L²/4)."""
    return setup.rods * rod_area(params) / space_area(params.space_size, setup.boundary)


def space_size_for(
    rods: int, packing_fraction: float, params: Params, boundary: str = "periodic"
) -> float:
    """The `space_size` at which `rods` rods have the given packing fraction."""
    return math.sqrt(rods * rod_area(params) / packing_fraction / space_area(1.0, boundary))


def smallest_space_size(params: Params, boundary: str = "periodic") -> float:
    """The least side for which the minimum image is unique: 2 (ℓ + max(2R, sensing_range)).

    Within walls ℓ + 4R, which leaves a rod room to turn.
    """
    if boundary != "periodic":
        return params.length + 4 * params.radius
    return 2 * (params.length + max(2 * params.radius, params.sensing_range))


def aspect_ratio(params: Params) -> float:
    """Length of the whole rod over its width, (ℓ + 2R)/2R."""
    return (params.length + 2 * params.radius) / (2 * params.radius)


def largest_safe_dt(laws: Laws, params: Params) -> float:
    """0.4/λ₀, λ₀ = 2k max(1/ζ⊥ + (ℓ/2)²/ζ_R, 1/ζ∥) being the rate of the stiffest single contact.

    That is a tip on a tip, pushed across or along; 0.05 γℓ/k for isotropic drag. A contact after
    Hertz is no stiffer up to an overlap of 4/9 of a body width.
    """
    drag, half = drag_of(params, laws.drag), params.length / 2
    mobility = max(1 / drag.across + half * half / drag.turning, 1 / drag.along)
    return 0.2 / (params.k_cc * mobility) if params.k_cc > 0 else math.inf


def free_speed(laws: Laws, params: Params) -> float:
    """v₀ = F_prop/(2ζ∥), the speed of a fully active rod alone."""
    return params.F_prop / (2 * drag_of(params, laws.drag).along)


def quiet(laws: Laws, params: Params) -> Params:
    """`params` under which overlaps relax: no thrust, no noise, no hand, the largest safe step.

    Only k_cc · dt matters then, so that step is the fastest.
    """
    dt = largest_safe_dt(laws, params)
    return dataclasses.replace(
        params, F_prop=0.0, T_prop=0.0, D_r=0.0, D_t=0.0, tumble_rate=0.0, push_force=0.0,
        dt=dt if dt < math.inf else params.dt,
    )  # fmt: skip


def pace(laws: Laws, params: Params, steps_per_second: float) -> float:
    """Body widths that a fully active rod advances in a second of viewing."""
    return abs(free_speed(laws, params)) * params.dt * steps_per_second / (2 * params.radius)


def derived(setup: Setup, params: Params) -> tuple[Derived, ...]:
    """The figures shown beside the parameters, in the order in which they are shown."""
    v0, width = free_speed(setup, params), 2 * params.radius
    turn = params.T_prop / drag_of(params, setup.drag).turning
    softness = abs(params.F_prop) / 2 / (params.k_cc * width) if params.k_cc > 0 else math.inf
    return (
        Derived("packing_fraction", "φ", "", packing_fraction(setup, params),
                "N A / L²; in a circle of the diameter L: N A / (π L²/4)"),
        Derived("aspect_ratio", "", "", aspect_ratio(params), "(ℓ + 2R) / 2R"),
        Derived("effective_force", "F_eff", "f", params.F_prop / 2,
                "thrust of a fully active rod, F/2"),
        Derived("free_speed", "v₀", "l/t", v0,
                "speed of a fully active rod alone, F / 2ζ∥: F / 2γℓ where drag is isotropic"),
        Derived("softness", "q", "", softness, "F_eff / (k 2R); above 0.1 rods begin to cross"),
        Derived("circle_radius", "r_c", "l", abs(v0 / turn) if turn else math.inf,
                "radius of a circle swimmer, v₀ ζ_R / T"),
        Derived("largest_safe_dt", "Δt_max", "t", largest_safe_dt(setup, params),
                "0.4 / λ₀, λ₀ being the rate of the stiffest contact: 0.05 γℓ / k where drag is "
                "isotropic"),
        Derived("body_width_steps", "", "steps", width / (abs(v0) * params.dt) if v0 else math.inf,
                "steps in which a fully active rod advances one body width"),
    )  # fmt: skip


_NUMBERS = {"float": (float, int, np.floating, np.integer), "int": (int, np.integer)}


def check(setup: Setup, params: Params) -> None:
    """Raise `ParameterError` for a value or a combination that cannot be simulated."""
    for f in FIELDS:
        given = getattr(params if f.live else setup, f.name)
        value = coerce(f.name, given)
        # 100.0 rods shape no array, and a number in words has no square.
        if f.kind != "choice" and not isinstance(given, _NUMBERS[f.kind]):
            raise ParameterError(
                f.name, given, f"is no number of type {f.kind}", f"Give {value!r}."
            )
    if 2 * params.radius < THINNEST * params.length:
        raise ParameterError(
            "radius", params.radius, f"is too thin for a length of {params.length:g}",
            f"Choose at least {THINNEST * params.length / 2:.3g}.",
        )  # fmt: skip
    least = smallest_space_size(params, setup.boundary)
    if params.space_size < least:
        raise ParameterError(
            "space_size", params.space_size, "is too small for these rods",
            f"Twice length + the larger of 2 radius and sensing_range is {least:g}: choose a box "
            "of at least that, or shorter rods or a shorter sensing_range."
            if setup.boundary == "periodic" else
            f"length + 4 radius is {least:g}: choose at least that, or shorter rods.",
        )  # fmt: skip
    phi = packing_fraction(setup, params)
    if phi > MAX_PACKING_FRACTION:
        fits = space_size_for(setup.rods, 0.8, params, setup.boundary)
        raise ParameterError(
            "rods", setup.rods, f"do not fit: the packing fraction would be {phi:.2f}",
            f"Take fewer rods, or a space_size of {fits:.4g} for 0.8.",
        )  # fmt: skip


def seed_from(value: object) -> int:
    """`value` as a seed. Raises `ParameterError` for what is no whole number, at least 0."""
    try:
        seed = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        seed = -1
    if seed < 0:
        raise ParameterError("seed", value, "is not possible", "Give a whole number, at least 0.")
    return seed


# Body width over length below which float32 no longer holds the regularised contact points.
THINNEST = 1e-3

# Beyond this even soft rods lie on top of one another and the model says nothing about bacteria.
MAX_PACKING_FRACTION = 1.2


# The share of a body width that a position must resolve for contact forces to be smooth.
COARSEST_GRAIN = 1e-3


# The overlap, in body widths, up to which the regularised contacts of rods are as they should be.
DEEPEST_OVERLAP = 0.5


def warnings_of_state(deepest_overlap: float, crossed_pairs: int) -> tuple[str, ...]:
    """Plain sentences about a state that should not be trusted."""
    found = []
    if deepest_overlap > DEEPEST_OVERLAP:
        found.append(
            f"rods overlap by up to {deepest_overlap:.1g} body widths, more than "
            f"{DEEPEST_OVERLAP:g}, so they may cross: raise k_cc, or lower F_prop or dt."
        )
    if crossed_pairs:
        pairs = "pair of rods lies" if crossed_pairs == 1 else "pairs of rods lie"
        found.append(
            f"{crossed_pairs} {pairs} across one another, as bacteria cannot: raise k_cc, or lower "
            "F_prop; Reset parts them."
        )
    return tuple(found)


# From here on many contacts act on one rod, and half of the largest safe step is enough (check
# `time-step-long` of `bacsim validate`, at 10 and 0.8; at 10 and 0.76 all of it will do).
LONG, DENSE = 8.0, 0.77


def _below(value: float) -> float:
    """The next number of two digits below `value`, which is above 0."""
    digits = 1 - math.floor(math.log10(value))
    return math.floor(value * 10**digits) / 10**digits


def warnings_for(setup: Setup, params: Params) -> tuple[str, ...]:
    """Plain sentences about values that run but should not be trusted."""
    found = []
    bound, width = largest_safe_dt(setup, params), 2 * params.radius
    # A relative allowance, so that a dt typed with a few digits of the bound is not scolded.
    if params.dt > bound * 1.0005:
        found.append(f"dt = {params.dt:g} is above the largest safe step {bound:.4g}: lower dt.")
    a, phi = aspect_ratio(params), packing_fraction(setup, params)
    if a >= LONG and phi >= DENSE and bound / 2 * 1.0005 < params.dt <= bound * 1.0005:
        found.append(
            f"dt = {params.dt:g} is too long for a crowd (φ = {phi:.2f}) of rods as long as these "
            f"(aspect ratio {a:.3g}): contacts push several ways at once. Take {bound / 2:.4g}."
        )
    if setup.drag == "anisotropic" and not SHORTEST <= a <= LONGEST:
        found.append(
            f"drag = anisotropic holds for aspect ratios from {SHORTEST:g} to {LONGEST:g}, and "
            f"these rods have {a:.3g}: change length or radius, or choose drag = isotropic."
        )
    q = abs(params.F_prop) / 2 / (params.k_cc * width) if params.k_cc > 0 else math.inf
    if q > 0.1 and params.F_prop:
        found.append(
            f"softness q = {q:.3g} is above 0.1, so crowded rods may cross: raise k_cc or lower "
            "F_prop."
        )
    far = math.sqrt(2 * params.D_r * params.dt) * params.length / 2
    for noise, does, move in (
        ("D_r", "kicks a rod's tip", far),
        ("D_t", "moves a rod", math.sqrt(2 * params.D_t * params.dt)),
    ):
        if (over := move / (0.025 * width)) > 1:
            found.append(
                f"{noise} = {getattr(params, noise):g} {does} by {move:.3g} l each step, more than "
                "1/40 of a body width, so noise makes rods collide: take "
                f"dt = {_below(params.dt / over**2):g} or less, or a lower {noise}."
            )
    grain = float(np.spacing(np.float32(params.space_size)))
    if grain > COARSEST_GRAIN * width:
        found.append(
            f"positions in a box of {params.space_size:g} are known to {grain:.3g} only, "
            f"{100 * grain / width:.2g} % of a body width, so contacts are rough: take a smaller "
            "space_size, or larger rods."
        )
    return tuple(found)
