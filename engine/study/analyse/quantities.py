# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured of each frame and averaged over time, declared once: table, report, series."""

from typing import NamedTuple


class Quantity(NamedTuple):
    """A number of each frame: its unit, its name in words, its formula, and whence that is.

    `recorded`: whether a trajectory itself holds it of all rods, also where it keeps a share of
    them.
    """

    unit: str
    label: str
    formula: str
    source: str
    recorded: bool = False


QUANTITIES: dict[str, Quantity] = {
    "polar_order": Quantity("", "polar order", "|⟨û⟩|", "Vicsek 1995", True),
    "nematic_order": Quantity("", "nematic order", "|⟨exp 2iθ⟩|", "de Gennes & Prost 1993", True),
    "hexatic_order": Quantity(
        "", "hexatic order", "|⟨ψ₆⟩|, ψ₆ = ⟨exp 6iφ⟩ over the 6 nearest centres",
        "Nelson & Halperin 1979; nearest neighbours as freud",
    ),
    "local_hexatic_order": Quantity(
        "", "local hexatic order", "⟨|ψ₆|⟩", "Nelson & Halperin 1979; nearest neighbours as freud"
    ),
    "active_fraction": Quantity("", "active fraction", "share of rods with a > ½", "ours", True),
    "mean_activity": Quantity("", "mean activity", "⟨a⟩", "ours", True),
    "mean_speed": Quantity("l/t", "mean speed", "⟨|v|⟩, without noise", "ours", True),
    "progress": Quantity("", "progress", "⟨v·û⟩/v₀, v₀ = F_prop/(2ζ∥)", "Stenhammar 2013"),
    "mean_overlap": Quantity("", "mean overlap", "⟨1 − |e|/d⟩ over pairs that overlap", "ours"),
    "largest_overlap": Quantity("", "largest overlap", "largest 1 − |e|/d", "ours"),
    "crossed_pairs": Quantity("", "crossed pairs", "pairs whose core lines cross", "ours"),
    "neighbours": Quantity(
        "", "neighbours", "mean number of others whose core is nearer than sensing_range", "ours"
    ),
    "local_packing": Quantity(
        "", "local packing fraction",
        "mean number of other centres nearer than ℓ + d, times the area of a rod, over π(ℓ + d)²",
        "as freud's LocalDensity",
    ),
    "cluster_size": Quantity(
        "", "weighted mean cluster size", "Σm²/Σm; cores nearer than 1.1 d and |Δθ| < 30°",
        "Stauffer & Aharony 1994; criterion ours, after Peruani 2006",
    ),
    "largest_cluster": Quantity(
        "", "largest cluster", "share of rods in the largest cluster", "as above"
    ),
    "velocity_length": Quantity(
        "l", "velocity correlation length", "where C(r) = ⟨v·v'⟩/⟨v²⟩ falls below 1/e", "ours"
    ),
    "enstrophy": Quantity(
        "1/t²", "enstrophy", "½⟨ω²⟩ of the velocity field over a body length", "Wensink 2012"
    ),
    "defects": Quantity(
        "1/l²", "defect density",
        "±½ defects of the axes over a body length, where 2 rods or more are near, over L²",
        "de Gennes & Prost 1993; Huterer & Vachaspati 2005",
    ),
}  # fmt: skip

RECORDED = tuple(name for name, one in QUANTITIES.items() if one.recorded)
