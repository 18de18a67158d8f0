# SPDX-License-Identifier: GPL-3.0-or-later
"""Random numbers of rods from a counter, written from the paper: Salmon, Moraes, Dror & Shaw,
Parallel random numbers: as easy as 1, 2, 3 (2011), Threefry-2x32 with 20 rounds; nothing of JAX."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfinv

Words = NDArray[np.uint32]

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key: tuple[ArrayLike, ArrayLike], counter: tuple[ArrayLike, ArrayLike]):
    """Two words of random bits for each key and counter, which are two words each."""
    given = np.broadcast_arrays(*key, *counter)
    first, second, x, y = (np.array(values, np.uint32) for values in given)
    keys = (first, second, first ^ second ^ np.uint32(0x1BD11BDA))
    x, y = x + keys[0], y + keys[1]
    for group in range(5):
        for by in ROTATIONS[group % 2]:
            x = x + y
            y = (y << np.uint32(by)) | (y >> np.uint32(32 - by))
            y = y ^ x
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def words(seed: int, step: int, ids: ArrayLike, count: int) -> Words:
    """(N, count): the random words of each rod in one step."""
    key = threefry((seed, step), (0, ids))
    drawn = [threefry(key, (0, which)) for which in range(count)]
    return np.stack([x ^ y for x, y in drawn], axis=-1)


def normal(bits: Words) -> NDArray[np.float64]:
    """Standard normal numbers from the upper 23 bits of each word, by the inverse of their
    distribution; the least of them is the number next to -1."""
    share = (bits >> np.uint32(9)) * 2.0**-23
    return np.sqrt(2.0) * erfinv(np.maximum(2.0 * share - 1.0, -1.0 + 2.0**-24))
