# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose code sums over bacsim's neighbour lists: `JAX`, or `native`."""

import protocol

from engine.native.library import native

# What `Setup.native` is for each.
SETTING = {"JAX": "off", "native": "auto"}


def require(code: str) -> None:
    """End this peer where `code` is not to be had here, and say why."""
    if code == "native" and (problem := native().problem):
        protocol.refuse(f"without native code: {problem}")
