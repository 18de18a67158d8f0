# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeds of the systems of a sweep: by a counter, so that none comes twice."""

import numpy as np
from jaxtyping import UInt32


def seeds_of(base: int, count: int) -> UInt32[np.ndarray, "systems"]:
    """The seeds of `count` systems, at most 2³², in a sweep of seed `base`.

    Noise knows a seed by 32 bits. These are a bijection of the system's number, keyed by `base`, so
    they differ for sure, where random draws would collide among some ten thousand.
    """
    offset, key = np.random.SeedSequence(base).generate_state(2)
    number = np.arange(count, dtype=np.uint32)
    return _mixed(_mixed(number + offset) ^ key)


def _mixed(x: UInt32[np.ndarray, "systems"]) -> UInt32[np.ndarray, "systems"]:
    """The finaliser of MurmurHash3 (Appleby, public domain), a bijection of 32 bits."""
    x = (x ^ x >> 16) * np.uint32(0x85EBCA6B)
    x = (x ^ x >> 13) * np.uint32(0xC2B2AE35)
    return x ^ x >> 16
