# SPDX-License-Identifier: GPL-3.0-or-later
"""What cards can do at most, and how near a step of kernel `neighbours` comes to it; no JAX."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple


class Card(NamedTuple):
    """Bytes a second of the memory, and float32 operations a second without tensor cores."""

    bytes_per_s: float
    flops_per_s: float


# From the makers' data sheets, by a part of JAX's name for the card; the first that fits.
CARDS = {
    "H200": Card(4.8e12, 67e12),
    "H100 PCIe": Card(2.0e12, 51e12),
    "H100 NVL": Card(3.9e12, 60e12),
    "H100": Card(3.35e12, 67e12),
    "A100-SXM4-80GB": Card(2.039e12, 19.5e12),
    "A100 80GB PCIe": Card(1.935e12, 19.5e12),
    "A100": Card(1.555e12, 19.5e12),
    "L40S": Card(864e9, 91.6e12),
    "L4": Card(300e9, 30.3e12),
    "V100": Card(900e9, 15.7e12),
    "T4": Card(320e9, 8.1e12),
    "RTX 5090": Card(1792e9, 104.8e12),
    "RTX 4090": Card(1008e9, 82.6e12),
    "RTX 3090": Card(936e9, 35.6e12),
}


def card_named(name: str) -> Card | None:
    """The limits of a card by JAX's name for it; None for one that is not in the table."""
    return next((card for part, card in CARDS.items() if part in name), None)


def with_limits(
    rows: Sequence[dict[str, Any]],
    cost: dict[str, Any] | None,
    limits: dict[str, Any] | None,
) -> list[dict[str, Any]]:
    """`rows`, those of kernel `neighbours` with what a step asks for as against what there is.

    `cost` and `limits` are what the measuring process found (`step_cost`); None where it did not
    come to that, which leaves the rows as they are.
    """
    if not cost or not limits:
        return list(rows)
    of = limits["data_sheet"] or limits["measured"]
    return [_with_limits(row, cost, of) if row.get("list") else row for row in rows]


def _with_limits(row: dict[str, Any], cost: dict[str, Any], of: dict[str, Any]) -> dict[str, Any]:
    turns = math.ceil(row["list"]["most"] / cost["slots_a_turn"])
    flops, moved = (
        row["rods"] * (cost["once"][what] + turns * cost["turn"][what])
        for what in ("flops", "bytes")
    )
    by_flops, by_bytes = 1e3 * flops / of["flops_per_s"], 1e3 * moved / of["bytes_per_s"]
    return row | {
        "limits": {
            "flops": flops, "bytes": moved, "turns": turns,
            "ms_by_flops": by_flops, "ms_by_bytes": by_bytes,
            "share_of_limit": max(by_flops, by_bytes) / row["step_ms"],
            # Where this stays the same from few rods to many, turns are bound by their launches.
            "us_a_turn": 1e3 * row["step_ms"] / turns,
        }
    }  # fmt: skip
