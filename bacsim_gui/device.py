# SPDX-License-Identifier: GPL-3.0-or-later
"""What set-up found out about a card that does not compute."""

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
