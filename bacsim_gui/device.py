# SPDX-License-Identifier: GPL-3.0-or-later
"""Which device computes here, and what set-up found out about a card that does not."""

import json
import sys
from pathlib import Path
from typing import Literal


def device_kind() -> Literal["cpu", "gpu"]:
    """The kind of device that steps run on; imports JAX."""
    import jax

    return "cpu" if jax.default_backend() == "cpu" else "gpu"


def device_note() -> str:
    """What set-up wrote about a card that is present but unused, with the remedy; or nothing."""
    try:
        note = json.loads((Path(sys.prefix) / "bacsim-device.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    if note.get("device") != "cpu" or not note.get("card"):
        return ""
    reason, remedy = note.get("reason", ""), note.get("remedy", "")
    return f"{note['card']} is not used: {reason}. To use it, {remedy}".strip()
