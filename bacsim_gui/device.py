# SPDX-License-Identifier: GPL-3.0-or-later
"""Which card is here, and what set-up found out about one that does not compute."""

import json
import sys
from pathlib import Path


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


def nvidia_card() -> str:
    """The first NVIDIA card that this Linux knows of, by its name; empty for none."""
    for file in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
        return (models or ["An NVIDIA card"])[0]
    return ""
