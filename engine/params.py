# SPDX-License-Identifier: GPL-3.0-or-later
"""Every parameter of bacsim, declared once.

`Params` are traced: changing one is a small upload that acts on the next step. `Setup` decides
array shapes and the compiled program: changing it rebuilds. Widgets, flags, configuration files,
the table in docs/parameters.md and the metadata of movies are all derived from this file (see
`engine.schema`).

`Laws` are choices of the model, words that become a part of the program; a `Setup` holds them.
ARCHITECTURE.md tells how to add one.

Units are reduced: l a length, t a time, f a force. The presets choose l as the body width 2
`radius`.
"""

from dataclasses import dataclass, field, fields
from typing import Any


def param(
    default: Any,
    *,
    symbol: str,
    unit: str,
    group: str,
    doc: str,
    low: float = 0.0,
    high: float = 1.0,
    step: float = 0.01,
    log: bool = False,
    above: float | None = None,
    least: float | None = None,
    choices: tuple[str, ...] = (),
    source: str = "",
) -> Any:
    """Declare one parameter.

    `low`, `high` and `step` are the slider's; a typed value outside them is taken. `above` (strict)
    and `least` are physical: a value that breaks them is refused by name. `log` asks for a
    logarithmic slider. `choices` makes the parameter one of a few words. `source` says where the
    default comes from: a test asks for one of each, or for the word ours.
    """
    metadata = {
        "symbol": symbol,
        "unit": unit,
        "group": group,
        "doc": doc,
        "low": low,
        "high": high,
        "step": step,
        "log": log,
        "above": above,
        "least": least,
        "choices": choices,
        "source": source,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Params:
    """The live parameters of the model, in reduced units. Defaults are the swarming preset's."""

    space_size: float = param(
        97.8, symbol="L", unit="l", group="model", low=20, high=1000, step=0.1, log=True, above=0,
        doc="Side of the square box, or diameter of the circle. A live change scales all positions "
        "with it.",
        source="ours: 600 rods at φ = 0.3",
    )  # fmt: skip
    length: float = param(
        4.0, symbol="ℓ", unit="l", group="model", low=0.5, high=16, step=0.1, above=0,
        doc="Core length of a rod: the distance between the centres of its two round ends.",
        source="ours: aspect ratio 5, where Wensink & Löwen 2012 find swarms",
    )  # fmt: skip
    radius: float = param(
        0.5, symbol="R", unit="l", group="model", low=0.1, high=2, step=0.05, above=0,
        doc="Radius of a rod's round ends; its body width is 2R.",
        source="ours: the body width is the unit of length",
    )  # fmt: skip
    k_cc: float = param(
        60.0, symbol="k", unit="f/l", group="model", low=1, high=1000, step=1, log=True, least=0,
        doc="Contact stiffness: two rods that overlap by δ push each other with the force k δ "
        "(contact = hooke).",
        source="ours: softness q = 1/15, below 0.1",
    )  # fmt: skip
    gamma: float = param(
        1.0, symbol="γ", unit="f t/l²", group="model", low=0.1, high=10, step=0.01, log=True,
        above=0, doc="Drag per length. Where it is isotropic: translation ζ = γℓ, rotation "
        "ζ_R = γℓ³/12. Where it is anisotropic: raise it with the aspect ratio to compare "
        "rods of several lengths in one fluid.",
        source="ours: it sets the unit of force",
    )  # fmt: skip
    F_prop: float = param(
        8.0, symbol="F", unit="f", group="propulsion and activity", low=0, high=40, step=0.1,
        doc="Propulsion. A rod of activity a is driven along its axis by ½ F a.",
        source="ours: v₀ = 1, which sets the unit of time",
    )  # fmt: skip
    T_prop: float = param(
        0.0, symbol="T", unit="f l", group="propulsion and activity", low=-5, high=5, step=0.05,
        doc="Propulsive torque of an active rod; not 0 makes circle swimmers.",
        source="ours: straight swimmers",
    )  # fmt: skip
    w_d: float = param(
        1.0, symbol="w_d", unit="", group="propulsion and activity", low=-2, high=4, step=0.05,
        doc="Weight of a neighbour's mere presence in what a rod senses. 0 is pure contagion; "
        "negative, with a negative threshold, makes crowded rods stop (quorum quench).",
        source="ours: a neighbour counts, active or not",
    )  # fmt: skip
    w_a: float = param(
        1.0, symbol="w_a", unit="", group="propulsion and activity", low=-2, high=4, step=0.05,
        doc="Weight of a neighbour's activity in what a rod senses.",
        source="ours: an active neighbour counts twice",
    )  # fmt: skip
    sensing_range: float = param(
        2.0, symbol="r_s", unit="l", group="propulsion and activity", low=0, high=8, step=0.05,
        least=0, doc="A rod senses the others whose core line is nearer than this.",
        source="ours: two body widths",
    )  # fmt: skip
    activity_thresh: float = param(
        4.0, symbol="S*", unit="", group="propulsion and activity", low=-12, high=20, step=0.1,
        doc="What a rod must sense to become half active.",
        source="ours: rods wake in a crowd at φ = 0.3",
    )  # fmt: skip
    activity_width: float = param(
        0.7, symbol="w", unit="", group="propulsion and activity", low=0, high=4, step=0.05,
        least=0, doc="Width of the rise from passive to active; 0 is a hard threshold.",
        source="ours: as activity_thresh",
    )  # fmt: skip
    tau_a: float = param(
        0.0, symbol="τ_a", unit="t", group="propulsion and activity", low=0, high=20, step=0.1,
        least=0, doc="Memory of the activity; 0 takes the target value at once.",
        source="given: no memory",
    )  # fmt: skip
    D_r: float = param(
        0.0, symbol="D_r", unit="1/t", group="propulsion and activity", low=0, high=0.5, step=0.005,
        least=0, doc="Rotational diffusion of every rod.",
        source="given: no noise",
    )  # fmt: skip
    D_t: float = param(
        0.0, symbol="D_t", unit="l²/t", group="propulsion and activity", low=0, high=0.5,
        step=0.005, least=0, doc="Translational diffusion of every rod.",
        source="given: no noise",
    )  # fmt: skip
    tumble_rate: float = param(
        0.0, symbol="λ_t", unit="1/t", group="propulsion and activity", low=0, high=2, step=0.01,
        least=0, doc="How often a rod tumbles, that is takes a new angle at random: with the "
        "probability 1 - exp(-λ_t Δt) a step. 0 is never.",
        source="given: no tumbles",
    )  # fmt: skip
    push_x: float = param(
        0.0, symbol="", unit="l", group="hand", low=0, high=1000, step=0.1,
        doc="Where the hand is, in x. The window's tools push and pull set it.",
        source="ours: the tools of the window set it",
    )  # fmt: skip
    push_y: float = param(
        0.0, symbol="", unit="l", group="hand", low=0, high=1000, step=0.1,
        doc="Where the hand is, in y.",
        source="ours: the tools of the window set it",
    )  # fmt: skip
    push_range: float = param(
        10.0, symbol="", unit="l", group="hand", low=1, high=100, step=0.5, log=True, above=0,
        doc="How far the hand reaches.",
        source="ours: ten body widths",
    )  # fmt: skip
    push_force: float = param(
        0.0, symbol="", unit="f", group="hand", low=-100, high=100, step=1,
        doc="The largest force of the hand on a rod: above 0 it pushes away, below 0 it pulls, 0 "
        "is no hand.",
        source="ours: no hand",
    )  # fmt: skip
    dt: float = param(
        0.00333, symbol="Δt", unit="t", group="numerics", low=1e-5, high=0.05, step=1e-5, log=True,
        above=0, doc="Time step. Keep it at or below the largest safe one, 0.05 γℓ/k where drag is "
        "isotropic. With time_step = adaptive the longest that a step may be.",
        source="ours: the largest safe one",
    )  # fmt: skip


@dataclass(frozen=True)
class Laws:
    """Which laws the model follows, in words. The defaults are the model as it was given."""

    drag: str = param(
        "isotropic", symbol="", unit="", group="model", choices=("isotropic", "anisotropic"),
        doc="How the medium holds a rod back. isotropic: γ per length, alike along and across. "
        "anisotropic: a cylinder in a viscous fluid, which glides more easily along its axis; γ 2R "
        "is then the friction f₀ of Wensink & Löwen 2012, viscosity × length.",
        source="ours: uniform drag per length",
    )  # fmt: skip
    contact: str = param(
        "hooke", symbol="", unit="", group="model", choices=("hooke", "hertz"),
        doc="How a contact of rods, or of a rod and an obstacle, pushes back at the overlap δ. "
        "hooke: k δ. hertz: k δ √(δ/2R), softer at first and as hard at a whole body width.",
        source="ours: the simplest law",
    )  # fmt: skip
    activation: str = param(
        "rising", symbol="", unit="", group="propulsion and activity",
        choices=("rising", "falling"),
        doc="Where a rod is active. rising: where it senses at least the threshold. falling: where "
        "it senses less (quorum quench).",
        source="ours: crowded rods wake",
    )  # fmt: skip
    noise_of: str = param(
        "all", symbol="", unit="", group="propulsion and activity", choices=("all", "active"),
        doc="Which rods diffuse and tumble. all: every rod. active: each by its activity, so that "
        "passive rods lie still.",
        source="ours: as physical noise does",
    )  # fmt: skip
    boundary: str = param(
        "periodic", symbol="", unit="", group="model", choices=("periodic", "walls", "circle"),
        doc="What is at the edge. periodic: who leaves on one side comes in on the other. walls: "
        "hard walls around the square box. circle: a hard round wall of the diameter space_size.",
        source="given",
    )  # fmt: skip
    time_step: str = param(
        "fixed", symbol="", unit="", group="numerics", choices=("fixed", "adaptive"),
        doc="How long a step is. fixed: dt. adaptive: dt, or less where the tip of a rod would "
        "otherwise go farther than a tenth of a body width.",
        source="given: one dt",
    )  # fmt: skip

    @property
    def laws(self) -> "Laws":
        """The laws alone, without what a subclass adds."""
        return Laws(**{f.name: getattr(self, f.name) for f in fields(Laws)})

    @property
    def periodic(self) -> bool:
        """Whether who leaves the box on one side comes in on the other."""
        return self.boundary == "periodic"


# The model as it was given.
GIVEN = Laws()


@dataclass(frozen=True)
class Physics(Params, Laws):
    """All that the equations read: parameters and laws."""


@dataclass(frozen=True)
class Setup(Laws):
    """What decides shapes, the compiled program and the start: applied by a rebuild."""

    rods: int = param(
        600, symbol="N", unit="", group="numerics", low=1, high=1_000_000, step=1, log=True,
        least=1,
        doc="Number of rods. The window and --rods keep the packing fraction and scale the box; "
        "in a file and in Setup(rods=...) the box stays, so give space_size too.",
        source="ours: a swarm that any machine can show",
    )  # fmt: skip
    kernel: str = param(
        "auto", symbol="", unit="", group="numerics",
        choices=("auto", "neighbours", "rowsum", "naive"),
        doc="How pair terms are summed. auto: the fastest for this many rods. neighbours: over "
        "neighbour lists, time O(N). rowsum: in blocks, memory O(N). naive: the double vmap with "
        "N × N arrays, kept for comparison.",
        source="ours",
    )  # fmt: skip
    native: str = param(
        "auto", symbol="", unit="", group="numerics", choices=("auto", "off"),
        doc="Whose code sums over neighbour lists on a CPU. auto: native code where it is "
        "installed. off: JAX's own, which is slower.",
        source="ours",
    )  # fmt: skip
    start_activity: str = param(
        "all", symbol="", unit="", group="numerics", choices=("all", "none", "disc"),
        doc="Which rods start active: all, none, or those in a disc at the centre of the box.",
        source="ours: a swarm that is awake",
    )  # fmt: skip
    start_radius: float = param(
        20.0, symbol="", unit="l", group="numerics", low=1, high=200, step=1, log=True, least=0,
        doc="Radius of the active disc, for start_activity = disc.",
        source="ours: a fifth of the box",
    )  # fmt: skip
